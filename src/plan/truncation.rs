//! What a truncation is asked for, what it comes to, and when it is refused.

use serde::{Deserialize, Serialize};

use crate::log::{Finding, FindingCode, Severity};
use crate::terms::{LeaderEpoch, Offset, Timestamp};

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

/// Who else has a partition, by the metadata of this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaEvidence {
    /// This broker's id; `None` if it is not known.
    pub broker: Option<i32>,
    /// The brokers that are in sync.
    pub isr: Vec<i32>,
    /// The leader.
    pub leader: Option<i32>,
    /// The time of the last metadata record: how old the evidence is.
    pub as_of: Timestamp,
}

impl ReplicaEvidence {
    /// Returns the in-sync brokers beside this one.
    pub fn others(&self) -> impl Iterator<Item = i32> + '_ {
        self.isr
            .iter()
            .copied()
            .filter(|id| self.broker != Some(*id))
    }

    /// Returns what the evidence says of a replica that is cut.
    pub fn finding(&self, now: Timestamp) -> Finding {
        let age = now.0.saturating_sub(self.as_of.0).max(0) / 1000;
        let source = format!(
            "by this host's metadata of {} ({age} s ago)",
            self.as_of.rfc3339()
        );
        let others: Vec<String> = self.others().map(|id| id.to_string()).collect();
        if others.is_empty() {
            return Finding::new(
                FindingCode::LastInSyncCopy,
                Severity::Loss,
                format!("no other replica is in sync {source}: what is cut here is nowhere else"),
            )
            .next("keep the quarantine until the partition is whole again");
        }
        let leader = self
            .leader
            .map_or_else(|| "none".to_owned(), |id| id.to_string());
        Finding::new(
            FindingCode::OtherReplicas,
            Severity::Warning,
            format!(
                "in sync {source}: broker {}, leader {leader}; if this broker leads again before it has caught up, they are \
                 cut as well",
                others.join(", ")
            ),
        )
    }
}

/// What a truncation is decided by, beside what recovery knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TruncationInputs {
    /// Where the log is to end.
    pub target: TruncationTarget,
    /// Who else has the partition; `None` if nothing says.
    pub replicas: Option<ReplicaEvidence>,
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
