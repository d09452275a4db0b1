//! What retention does with a segment, why, and what would change it.

use serde::{Deserialize, Serialize};

use super::compaction::DirtyPart;
use super::totals::RetentionTotals;
use crate::terms::{Offset, Timestamp};

/// What the next pass does with a segment; its name in JSON is a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetentionVerdict {
    /// It goes.
    Delete,
    /// It stays: no rule takes it yet.
    Keep,
    /// A rule takes it, and something holds it.
    Held,
    /// The cleaner's next run over the log takes it in.
    Compact,
    /// It is no segment any more; a boot or a timer removes its file.
    Leftover,
}

/// Why; its name in JSON is a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetentionReason {
    /// The log starts behind it.
    LogStart,
    /// `retention.bytes`.
    Size,
    /// `retention.ms`.
    Time,
    /// It is the last segment, which takes the appends.
    Active,
    /// It reaches the high watermark, or that is not known.
    HighWatermark,
    /// A timestamp of the future lies in it, or in an older segment that stays.
    FutureTimestamp,
    /// An older segment stays, and only the oldest go.
    OlderSegment,
    /// Its policy deletes nothing.
    Policy,
    /// It has no limit.
    Unlimited,
    /// It may not have been copied to the remote store.
    NotUploaded,
    /// Its policy has `compact`, and the broker has no cleaner.
    CleanerOff,
    /// Its policy has `compact`, and the cleaner gave it up after an error, until the broker's next start.
    CleanerGaveUp,
    /// It is dirty: not compacted since it was written.
    DirtyRatio,
    /// It is compacted already.
    Compacted,
    /// `min.compaction.lag.ms` is not over.
    CompactionLag,
    /// An open transaction keeps the cleaner from it.
    OpenTransaction,
    /// Its file is `.deleted`.
    Deleted,
    /// Its file is that of a compaction that was broken off.
    Cleaned,
    /// Its file takes the place of others at the next boot.
    Swap,
}

impl RetentionVerdict {
    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Keep => "keep",
            Self::Held => "held",
            Self::Compact => "compact",
            Self::Leftover => "leftover",
        }
    }
}

impl RetentionReason {
    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::LogStart => "log_start",
            Self::Size => "size",
            Self::Time => "time",
            Self::Active => "active",
            Self::HighWatermark => "high_watermark",
            Self::FutureTimestamp => "future_timestamp",
            Self::OlderSegment => "older_segment",
            Self::Policy => "policy",
            Self::Unlimited => "unlimited",
            Self::NotUploaded => "not_uploaded",
            Self::CleanerOff => "cleaner_off",
            Self::CleanerGaveUp => "cleaner_gave_up",
            Self::DirtyRatio => "dirty_ratio",
            Self::Compacted => "compacted",
            Self::CompactionLag => "compaction_lag",
            Self::OpenTransaction => "open_transaction",
            Self::Deleted => "deleted",
            Self::Cleaned => "cleaned",
            Self::Swap => "swap",
        }
    }
}

/// The verdict on one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentRetention {
    /// What happens.
    pub verdict: RetentionVerdict,
    /// The rule that decides.
    pub reason: RetentionReason,
    /// A second rule that would take it too.
    pub also: Option<RetentionReason>,
    /// Ms by which it is past `retention.ms`, negative before; `None` without that limit.
    pub over_ms: Option<i64>,
    /// Bytes by which the log is past what takes this segment by size, negative before: as many must be appended; `None`
    /// without that limit.
    pub over_bytes: Option<i64>,
    /// When time alone changes the verdict; the pass that follows does it.
    pub changes_at: Option<Timestamp>,
    /// The older segment that keeps it.
    pub held_by: Option<Offset>,
}

/// The verdicts on one log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRetention {
    /// One for each segment, in their order.
    pub segments: Vec<SegmentRetention>,
    /// Log start offset once the pass is done.
    pub log_start_offset: Offset,
    /// Where an empty segment is made, since all go.
    pub rolls_at: Option<Offset>,
    /// When an append opens a new segment at the latest, by the clock of its records; `None` if nothing says.
    pub active_rolls_at: Option<Timestamp>,
    /// When it may do so at the earliest: each segment draws a part of `segment.jitter.ms` by which its time is shorter.
    pub active_rolls_from: Option<Timestamp>,
    /// How far it is compacted; `None` if its policy does not compact.
    pub dirty: Option<DirtyPart>,
    /// Sums.
    pub totals: RetentionTotals,
}

impl LogRetention {
    /// Returns how many segments go: the oldest.
    pub fn deleted(&self) -> usize {
        usize::try_from(self.totals.delete.segments).unwrap_or(usize::MAX)
    }
}
