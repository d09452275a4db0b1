//! One file a command: from its arguments to an [`Exit`](super::Exit).

mod again;
mod ask_warning;
mod audit;
mod cleanup;
mod cluster_volumes;
mod cordon;
#[cfg(feature = "tui")]
mod dashboard;
mod delete_records;
#[cfg(feature = "tui")]
mod demo;
mod dump;
mod generate;
mod jobs;
mod mirror;
mod move_replica;
mod plan_run;
mod preconditions;
mod preflight;
mod quarantine;
mod quota;
mod recover;
mod relocate;
mod replay;
mod replicas;
mod retention;
mod scan;
mod segments;
mod status;
mod stored_flags;
mod truncate;
mod undo;
mod verify;
mod volumes;
mod watch;

pub(super) use audit::audit;
pub(super) use cleanup::cleanup;
pub(super) use cordon::cordon;
#[cfg(feature = "tui")]
pub(super) use dashboard::{dashboard, has_terminal};
pub(super) use delete_records::delete_records;
#[cfg(feature = "tui")]
pub(super) use demo::demo;
pub use dump::{DumpDepth, dump};
pub(super) use generate::{completions, man};
pub(super) use jobs::{job, jobs, stop};
pub(super) use mirror::mirror;
pub use mirror::read_mirror;
pub(super) use move_replica::move_replica;
pub(super) use preflight::preflight;
pub(super) use quarantine::{quarantine_ls, quarantine_purge};
pub(super) use quota::quota;
pub(super) use recover::recover;
pub use replay::Recording;
pub(super) use replay::replay;
pub(super) use replicas::replicas;
pub(super) use retention::retention;
pub(super) use scan::scan;
pub(super) use segments::segments;
pub(super) use status::status;
pub(super) use truncate::truncate;
pub(super) use undo::undo;
pub(super) use verify::verify;
pub(super) use volumes::volumes;
pub(super) use watch::watch;
