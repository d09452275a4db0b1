//! One file a command: from its arguments to an [`Exit`](super::Exit).

mod again;
mod dump;
mod generate;
mod jobs;
mod preconditions;
mod recover;
mod scan;
mod status;

pub use dump::{DumpDepth, dump};
pub(super) use generate::{completions, man};
pub(super) use jobs::{job, jobs, stop};
pub(super) use recover::recover;
pub(super) use scan::scan;
pub(super) use status::status;
