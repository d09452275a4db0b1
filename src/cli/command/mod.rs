//! One file a command: from its arguments to an [`Exit`](super::Exit).

mod dump;
mod generate;

pub use dump::{DumpDepth, dump};
pub(super) use generate::{completions, man};
