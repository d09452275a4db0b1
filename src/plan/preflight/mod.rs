//! What the next boot will refuse, cut, delete or mark stray, by names, sizes and small files: rules as values.
//!
//! The order of [`RULES`] is that of harm: first what makes a 4.x boot empty segments, then what ends it, what takes a dir
//! offline, what fails later. A rule is pure; its facts are gathered by `engine`, `observe` and `settings`.

mod access;
mod boot_time;
mod checkpoints;
mod facts;
mod failed;
mod fixes;
mod identity;
mod leader_epochs;
mod limits;
mod metadata_log;
mod names;
mod partitions;
mod ports;
mod problem;
mod rules;
mod salvage;
mod space;
mod stop;
mod stray;
#[cfg(test)]
mod testing;
mod twice;
mod volumes;

pub use boot_time::{BootRates, BootTime, DirReads, boot_time, dir_reads};
pub use facts::{
    Access, BootFacts, BootUser, CheckpointFacts, ConfigFacts, ControllerFacts, DirState,
    EntryFacts, ExpectedMount, HostFacts, Limit, LockFacts, LogDirFacts, MetadataKept,
    PartitionFacts, PortFacts, SegmentFacts, SmallFile, VolumeFacts, VolumeKept,
};
pub use failed::check_failed;
pub use fixes::{FixInputs, plan_fixes};
pub use leader_epochs::needs_log_epochs;
pub use problem::{AtBoot, Fix, Problem, Rule};
pub use rules::{RULES, check_boot};
pub use stop::{Grace, StopFacts, check_stop, crash_cost, stop_seconds};
