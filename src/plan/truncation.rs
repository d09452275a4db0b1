//! What a truncation is asked for, and what it comes to.

use serde::{Deserialize, Serialize};

use crate::terms::{LeaderEpoch, Offset};

/// Where a log is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "to", content = "value", rename_all = "snake_case")]
pub enum TruncationTarget {
    /// At this offset (exclusive).
    Offset(Offset),
    /// At the checkpointed high watermark.
    HighWatermark,
    /// Where consumers that read committed records end: at the first open transaction below the high watermark, else there.
    LastStable,
    /// Where this leader epoch ends, by the log's own epochs.
    Epoch(LeaderEpoch),
}

impl TruncationTarget {
    /// Returns the target in words.
    pub fn words(self) -> String {
        match self {
            Self::Offset(offset) => format!("offset {offset}"),
            Self::HighWatermark => "the high watermark".to_owned(),
            Self::LastStable => "the last stable offset".to_owned(),
            Self::Epoch(epoch) => format!("the end of leader epoch {epoch}"),
        }
    }

    /// Says whether the target is a mark of the checkpoint, which is up to 5 s old.
    pub fn is_mark(self) -> bool {
        matches!(self, Self::HighWatermark | Self::LastStable)
    }
}

/// What a truncation comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncation {
    /// What was asked for.
    pub asked: TruncationTarget,
    /// The offset that Kafka would truncate to: the log's end in its memory, and the new recovery point at most.
    pub offset: Offset,
    /// The log's end before, as a boot finds it.
    pub end_before: Offset,
    /// The base offset of the last segment afterwards.
    pub active_base: Offset,
    /// The base offset of the last segment before.
    pub active_base_before: Offset,
    /// Bytes of good batches that go.
    pub lost_bytes: u64,
    /// Their records, where they were read.
    pub lost_records: Option<u64>,
    /// Whole segments that go.
    pub lost_segments: u64,
}
