//! Pure decisions: no clock, no I/O, no channel. Same inputs, same plan; a plan names every byte it would change.

pub mod cleanup;
mod content;
mod follower;
mod inputs;
mod kept;
mod live;
mod live_freed;
mod live_groups;
mod live_mirrors;
mod live_wish;
mod mend;
mod policy;
pub mod preflight;
pub mod recovery;
mod recovery_plan;
pub mod relocation;
mod replicas;
pub mod retention;
mod step;
mod truncation;
mod undo_map;
mod verdict;
mod verify;
mod virtual_dir;
pub mod volumes;
mod whole_cluster;

pub use crate::format::quantity::{parse_rate, parse_size, size_text};
pub use content::Content;
pub(crate) use content::hex;
pub use follower::{
    CutCause, FollowerLog, LeaderAnswer, LeaderLog, TruncationForecast, TruncationSearch,
};
pub use inputs::{HandOver, LogConfig, OnLoss, RecoveryInputs};
pub use kept::{DirUndo, FileOwner, KeptFile};
pub use live::{CORDONED_LOG_DIRS, GroupBelow, KeyChange, LiveAct, LiveLoss, LivePlan};
pub use live_freed::{BrokerFreed, FreedSoFar, ReplicaSize, UNTOLD_LIMIT_MS, freed_by_broker};
pub use live_groups::{GroupPosition, GroupPositions, KeptCommit};
pub use live_mirrors::{LiveMirrors, MirrorBelow};
pub use live_wish::{Cap, LiveWish, RecordsTo, parse_topic_setting};
pub use mend::Mend;
pub use policy::{Policy, Rule, Wish};
pub use recovery_plan::{
    CheckpointEntry, FileStamp, LogDirPlan, LoweredCheckpoints, MovedCheckpoints, PartitionPlan,
    PlanAct, RecoveryPlan, SegmentSummary, StopState,
};
pub use replicas::{EvidenceSource, ReplicaEvidence};
pub use step::{Quarantine, Step, StepAction};
pub use truncation::{Truncation, TruncationTarget};
pub use verdict::{Ask, AskReason, Class, Verdict};
pub use verify::verify_segments;
pub use virtual_dir::{DirEntry, EntryKind};
pub use whole_cluster::{
    Behind, BootPlace, DownHost, HeldEnd, HostVote, NewestLog, QuorumOutlook, WholeCluster,
    plan_cold_start,
};
