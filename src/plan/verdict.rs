//! What a plan decides of one log, and how a plan must be confirmed.

use serde::{Deserialize, Serialize};

use super::cleanup::Deletion;
use super::relocation::Relocation;
use super::{OnLoss, ReplicaEvidence, Truncation};

/// How dear a plan's steps are; decides how it is confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Class {
    /// Regenerable files only: y/N.
    A,
    /// What a broker would cut or delete anyway: type the topic-partition, or how many.
    B,
    /// Good data is lost: type host and bytes.
    C,
}

/// Why Kafka's way would cost good records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskReason {
    /// Good batches follow the bad place in the same segment.
    BatchesBehindCut,
    /// Later segments with good batches are deleted.
    LaterSegments,
    /// A segment is emptied because its offsets go back.
    SegmentEmptied,
    /// All is deleted because the log start lies beyond the end.
    LogStartBeyondEnd,
    /// Originals are replaced by a `.swap` that does not scan to its end.
    SwapIncomplete,
    /// A segment is replaced by a piece of another one that is split.
    SegmentReplaced,
    /// Kafka does not load the log at all; asked only where it was decided to set the replica aside.
    NotLoaded,
}

/// A decision that is the operator's: Kafka's way costs good records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Why.
    pub reason: AskReason,
    /// Bytes of good batches that Kafka's way removes.
    pub lost_bytes: u64,
    /// Their records, where they can be counted.
    pub lost_records: Option<u64>,
    /// Whole segments that Kafka's way removes.
    pub lost_segments: u64,
    /// Whether it is decided (`--like-kafka`, `--decide`, or on screen): then the steps are the plan's.
    pub accepted: bool,
    /// What was decided; [`OnLoss::Ask`] as long as it is open. The losses are those of what was decided, else of
    /// Kafka's way.
    pub decided: OnLoss,
    /// Who else has the partition; `None` if nothing says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Box<ReplicaEvidence>>,
    /// Why the replica cannot be set aside; `None` if it can, and then that is the first thing to think of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_set_aside: Option<String>,
}

impl Ask {
    /// Says whether the log may be cut at a bad place only: not where Kafka drops originals or all of the log, whatever
    /// their batches are.
    pub fn can_cut_here(&self) -> bool {
        match self.reason {
            AskReason::BatchesBehindCut | AskReason::LaterSegments | AskReason::SegmentEmptied => {
                true
            }
            // Of several reasons this one is the first only where no batch was bad before it.
            AskReason::LogStartBeyondEnd
            | AskReason::SwapIncomplete
            | AskReason::SegmentReplaced
            | AskReason::NotLoaded => false,
        }
    }

    /// Says whether a hand-over may keep a boot from what it would do; where that depends on no batch that it reads, none can.
    pub fn can_leave(&self) -> bool {
        // A segment is split only where a boot reads it.
        self.can_cut_here() || self.reason == AskReason::SegmentReplaced
    }
}

/// What a plan decides of one log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The files are what a boot would leave; no step.
    Nothing,
    /// The steps bring the log to what a boot would leave.
    Recover,
    /// The steps take away what a boot would stumble over; the records stay.
    Mend,
    /// The steps bring the log back to what it was before another plan was carried out.
    TakeBack,
    /// Kafka's way costs good records; untouched unless accepted.
    Ask(Ask),
    /// The steps bring the log to where a truncation leaves it.
    Truncate(Truncation),
    /// The steps delete leftovers of the dir, the dir, or the log's oldest segments.
    Delete(Deletion),
    /// The steps bring the log to another log dir.
    Move(Relocation),
    /// Kafka would not load this log, or the act would be wrong; untouched.
    Refused {
        /// The cause, as a sentence.
        cause: String,
    },
    /// It could not be read; untouched.
    Unreadable {
        /// The error, with file and position.
        cause: String,
    },
    /// Not a log that a boot loads (the metadata log), or not selected.
    Skipped {
        /// Why.
        why: String,
    },
}

impl Verdict {
    /// Says whether an apply would run the log's steps.
    pub fn is_applied(&self) -> bool {
        match self {
            Self::Recover
            | Self::Mend
            | Self::TakeBack
            | Self::Truncate(_)
            | Self::Delete(_)
            | Self::Move(_) => true,
            Self::Ask(ask) => ask.accepted,
            _ => false,
        }
    }

    /// Says whether the log was asked for and stays as it is, although a boot would not leave it so.
    pub fn is_left(&self) -> bool {
        match self {
            Self::Nothing
            | Self::Recover
            | Self::Mend
            | Self::TakeBack
            | Self::Truncate(_)
            | Self::Delete(_)
            | Self::Move(_)
            | Self::Skipped { .. } => false,
            Self::Ask(ask) => !ask.accepted,
            Self::Refused { .. } | Self::Unreadable { .. } => true,
        }
    }

    /// Says whether the log ends where a boot would leave it once its steps ran.
    pub fn reaches_end(&self) -> bool {
        matches!(self, Self::Nothing) || self.is_applied()
    }
}
