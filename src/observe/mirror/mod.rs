//! Facts of MirrorMaker 2 from a living cluster: what its own topics hold, the ends of every log, groups and their commits.
//!
//! Nothing is written; no topic is made by asking for it. Records come at most up to the last stable offset.

mod commit_times;
mod contents;
mod copied;
mod groups;
mod read;
mod second_look;

pub use copied::read_copied;
pub use read::{LiveRequest, read_live_facts};
pub use second_look::look_again;
