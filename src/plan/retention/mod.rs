//! What Kafka's retention does with each segment of a log, and why.
//!
//! [`LogFacts`] are what the disk says of a log, [`RetentionLimits`] what its configuration says; [`plan_retention`] gives a
//! verdict, its cause, its margin and its next change for every segment. The rules and their order are those of
//! `UnifiedLog.deleteOldSegments`: log start, then size, then time, each from the oldest segment on and up to the first that
//! survives; nothing goes that reaches the high watermark. Of a compacted log `LogCleanerManager` says what is due.
//!
//! [`plan_retention`] judges one moment: "deleted" means by the pass that a broker runs at that clock, under those limits.

mod arithmetic;
mod compaction;
mod facts;
mod host;
mod judge;
mod limits;
mod passes;
mod sources;
mod totals;
mod verdict;
mod what_if;

pub use arithmetic::TopicBudget;
pub use compaction::{CompactionFacts, DirtyPart};
pub use facts::{
    HighWatermark, LeftoverKind, LeftoverSegment, LogFacts, LogRole, OpenTransaction, SegmentFacts,
    TimeSource,
};
pub use host::{CleanerGaveUp, HostRetention, Placement, RetainedLog, TopicRetention, WhatIfScope};
pub use judge::plan_retention;
pub use limits::{BrokerRules, RetentionLimits, cleaner_map_keys, is_internal};
pub use sources::{CheckpointTimes, FactSources};
pub use totals::{Amount, RetentionTotals};
pub use verdict::{LogRetention, RetentionReason, RetentionVerdict, SegmentRetention};
pub use what_if::{WhatIf, parse_retention_bytes, parse_retention_ms};
