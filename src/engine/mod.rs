//! Runs jobs: scans that end in a plan, and plans that are applied. Knows no UI.

mod event;

pub use event::{DirProgress, JobEvent, JobOutcome, LogState, Phase, Progress};
