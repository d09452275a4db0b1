//! What the volumes of a broker's log dirs say: state, what fills them, how fast, and until when.
//!
//! [`VolumeFacts`] are what was seen; [`VolumeReport::of`] decides what they mean. Kafka's bytes are allocated bytes:
//! preallocated indexes look large and take little.

mod facts;
mod growth;
mod report;

pub use facts::{
    DirProblem, DirUsage, FileUsage, ForeignEntry, HeldBytes, LogUsage, SpaceFacts, VolumeFacts,
    Written,
};
pub use growth::{Growth, GrowthSource, SegmentTimes, UsedSample, WINDOWS_MS, growth};
pub use report::{DirState, VolumeReport, VolumeRow};
