//! Pure decisions: no clock, no I/O, no channel. Same inputs, same plan; a plan names every byte it would change.

mod content;
mod inputs;
mod kept;
mod policy;
pub mod recovery;
mod recovery_plan;
mod step;
mod truncation;
mod undo_map;
mod verdict;
mod virtual_dir;

pub use content::Content;
pub(crate) use content::hex;
pub use inputs::{HandOver, LogConfig, OnLoss, RecoveryInputs};
pub use kept::{DirUndo, FileOwner, KeptFile};
pub use policy::{Policy, Rule, Wish};
pub use recovery_plan::{
    CheckpointEntry, FileStamp, LogDirPlan, LoweredCheckpoints, PartitionPlan, PlanAct,
    RecoveryPlan, SegmentSummary, StopState,
};
pub use step::{Quarantine, Step, StepAction};
pub use truncation::{ReplicaEvidence, Truncation, TruncationInputs, TruncationTarget};
pub use verdict::{Ask, AskReason, Class, Verdict};
pub use virtual_dir::{DirEntry, EntryKind};
