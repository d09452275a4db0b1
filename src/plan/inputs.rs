//! The facts a plan may use.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{ReplicaEvidence, StopState, TruncationTarget};
use crate::log::SegmentLimits;
use crate::terms::{KafkaVersion, Offset, Timestamp, TopicPartition};

/// What a log dir is handed over as once its logs are recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandOver {
    /// No checkpoint and no marker is written.
    None,
    /// Recovery points become the logs' ends: a boot reads the last segment of each log again.
    #[default]
    Verify,
    /// Recovery points, then an empty marker: a boot reads nothing again.
    Clean,
}

/// What a plan does where Kafka's way costs good records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLoss {
    /// It leaves the log as it is and asks.
    #[default]
    Ask,
    /// It does what Kafka does.
    LikeKafka,
    /// It cuts each bad segment at its last good batch and keeps the segments behind it. A boot then finds every segment
    /// whole, whatever the hand-over; offsets are missing in between.
    CutHere,
    /// It leaves the log as it is, and hands it over so that the next boot does not read the bad place.
    Leave,
    /// It takes the whole replica away, so that the broker fetches it again from another one that is in sync.
    SetAside,
}

/// A log's settings, as far as recovery and truncation depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "settings of Kafka's that are true or false"
)]
pub struct LogConfig {
    /// `index.interval.bytes`.
    pub index_interval_bytes: i32,
    /// `segment.index.bytes`.
    pub segment_index_bytes: i32,
    /// `segment.bytes`.
    pub segment_bytes: i32,
    /// `preallocate`.
    pub preallocate: bool,
    /// Whether `cleanup.policy` has `compact`.
    #[serde(default)]
    pub compact: bool,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            index_interval_bytes: 4096,
            segment_index_bytes: 10 << 20,
            segment_bytes: 1 << 30,
            preallocate: false,
            compact: false,
        }
    }
}

impl RecoveryInputs {
    /// Says whether the log dir had its clean-shutdown marker.
    pub fn is_clean(&self) -> bool {
        self.stop == StopState::Clean
    }

    /// Returns where recovery starts to read; 0 where no checkpoint says.
    pub fn recovery_point_or_zero(&self) -> Offset {
        self.recovery_point.unwrap_or(Offset::ZERO)
    }

    /// Returns the checkpointed log start offset; 0 where no checkpoint says.
    pub fn log_start_or_zero(&self) -> Offset {
        self.log_start_offset.unwrap_or(Offset::ZERO)
    }
}

impl LogConfig {
    /// Says whether a `cleanup.policy` has `compact`.
    pub fn is_compact(cleanup_policy: &str) -> bool {
        let mut policies = cleanup_policy.split(',');
        policies.any(|policy| policy.trim().eq_ignore_ascii_case("compact"))
    }

    /// Returns the part that a segment's scan needs.
    pub fn limits(&self) -> SegmentLimits {
        SegmentLimits {
            index_interval_bytes: self.index_interval_bytes,
            segment_index_bytes: self.segment_index_bytes,
        }
    }
}

/// All that decides the recovery of one log, beside its own files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryInputs {
    /// The partition; of a `-delete` dir the name may be cut short.
    pub topic_partition: TopicPartition,
    /// The release whose boot is planned for.
    pub version: KafkaVersion,
    /// The clock, for producer expiry.
    pub now: Timestamp,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: i64,
    /// How the log dir's broker stopped.
    pub stop: StopState,
    /// The recovery point of the dir's checkpoint, exclusive.
    pub recovery_point: Option<Offset>,
    /// The log start offset of the dir's checkpoint.
    pub log_start_offset: Option<Offset>,
    /// The high watermark of the dir's checkpoint, exclusive.
    pub high_watermark: Option<Offset>,
    /// The log's settings.
    pub config: LogConfig,
    /// What is done where Kafka's way costs good records.
    pub on_loss: OnLoss,
    /// The hand-over asked for: it decides whether a log can be left as it is.
    pub hand_over: HandOver,
    /// Whether the recovery-point or log-start checkpoint is malformed in a way that takes the dir offline.
    pub checkpoint_io_error: bool,
    /// Where the log is to end, if a truncation is asked for.
    pub truncation: Option<TruncationTarget>,
    /// Who else has the partition; `None` if nothing says.
    pub replicas: Option<ReplicaEvidence>,
    /// Where what goes is kept; `None` for nowhere.
    pub quarantine: Option<PathBuf>,
}
