//! One file a command: from its arguments to an [`Exit`](super::Exit).

mod again;
mod audit;
#[cfg(feature = "tui")]
mod dashboard;
#[cfg(feature = "tui")]
mod demo;
mod dump;
mod generate;
mod jobs;
mod plan_run;
mod preconditions;
mod quarantine;
mod recover;
mod scan;
mod status;
mod truncate;
mod undo;
mod watch;

pub(super) use audit::audit;
#[cfg(feature = "tui")]
pub(super) use dashboard::{dashboard, has_terminal};
#[cfg(feature = "tui")]
pub(super) use demo::demo;
pub use dump::{DumpDepth, dump};
pub(super) use generate::{completions, man};
pub(super) use jobs::{job, jobs, stop};
pub(super) use quarantine::{quarantine_ls, quarantine_purge};
pub(super) use recover::recover;
pub(super) use scan::scan;
pub(super) use status::status;
pub(super) use truncate::truncate;
pub(super) use undo::undo;
pub(super) use watch::watch;
