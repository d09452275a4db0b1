//! Logs and segments as lines name them.

use serde::{Deserialize, Serialize};

use crate::terms::{Offset, TopicPartition};

/// A log that a boot has loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedLog {
    /// Its partition dir, as a path.
    pub path: String,
    /// Its partition.
    pub partition: TopicPartition,
    /// How many segments it has.
    pub segments: u64,
    /// Its new end, exclusive.
    pub log_end_offset: Offset,
    /// How long it took, in ms.
    pub took_ms: u64,
}

/// A segment that recovery deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedSegment {
    /// Its first offset.
    pub base_offset: Offset,
    /// Its bytes.
    pub bytes: u64,
}
