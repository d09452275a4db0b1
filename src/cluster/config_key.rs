//! Which key sets a log's setting on which level.
//!
//! A topic's key has one or more keys of the broker behind it; of those set on one level the first counts. Only the
//! first can be set dynamically (`DynamicLogConfig.ReconfigurableConfigs`).

/// What a broker's key counts, in the unit of the topic's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConfigUnit {
    /// The same.
    Same,
    /// Minutes, where the topic's key counts milliseconds.
    Minutes,
    /// Hours, where the topic's key counts milliseconds.
    Hours,
}

impl ConfigUnit {
    /// Returns what one of the broker's unit is in the topic's.
    pub fn factor(self) -> i64 {
        match self {
            Self::Same => 1,
            Self::Minutes => 60_000,
            Self::Hours => 3_600_000,
        }
    }
}

/// A setting of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigKey {
    /// The topic's key.
    pub topic: &'static str,
    /// The broker's keys, the one that counts most first.
    pub broker: &'static [(&'static str, ConfigUnit)],
    /// Kafka's default, as a topic's value.
    pub default: &'static str,
}

use ConfigUnit::{Hours, Minutes, Same};

impl ConfigKey {
    /// `index.interval.bytes`.
    pub const INDEX_INTERVAL_BYTES: Self = Self {
        topic: "index.interval.bytes",
        broker: &[("log.index.interval.bytes", Same)],
        default: "4096",
    };
    /// `segment.index.bytes`.
    pub const SEGMENT_INDEX_BYTES: Self = Self {
        topic: "segment.index.bytes",
        broker: &[("log.index.size.max.bytes", Same)],
        default: "10485760",
    };
    /// `segment.bytes`.
    pub const SEGMENT_BYTES: Self = Self {
        topic: "segment.bytes",
        broker: &[("log.segment.bytes", Same)],
        default: "1073741824",
    };
    /// `internal.segment.bytes`, of releases since 4.1: wins over `segment.bytes` where it is set.
    pub const INTERNAL_SEGMENT_BYTES: Self = Self {
        topic: "internal.segment.bytes",
        broker: &[],
        default: "",
    };
    /// `preallocate`.
    pub const PREALLOCATE: Self = Self {
        topic: "preallocate",
        broker: &[("log.preallocate", Same)],
        default: "false",
    };
    /// `segment.ms`.
    pub const SEGMENT_MS: Self = Self {
        topic: "segment.ms",
        broker: &[("log.roll.ms", Same), ("log.roll.hours", Hours)],
        default: "604800000",
    };
    /// `segment.jitter.ms`.
    pub const SEGMENT_JITTER_MS: Self = Self {
        topic: "segment.jitter.ms",
        broker: &[
            ("log.roll.jitter.ms", Same),
            ("log.roll.jitter.hours", Hours),
        ],
        default: "0",
    };
    /// `retention.ms`.
    pub const RETENTION_MS: Self = Self {
        topic: "retention.ms",
        broker: &[
            ("log.retention.ms", Same),
            ("log.retention.minutes", Minutes),
            ("log.retention.hours", Hours),
        ],
        default: "604800000",
    };
    /// `retention.bytes`.
    pub const RETENTION_BYTES: Self = Self {
        topic: "retention.bytes",
        broker: &[("log.retention.bytes", Same)],
        default: "-1",
    };
    /// `local.retention.ms`.
    pub const LOCAL_RETENTION_MS: Self = Self {
        topic: "local.retention.ms",
        broker: &[("log.local.retention.ms", Same)],
        default: "-2",
    };
    /// `local.retention.bytes`.
    pub const LOCAL_RETENTION_BYTES: Self = Self {
        topic: "local.retention.bytes",
        broker: &[("log.local.retention.bytes", Same)],
        default: "-2",
    };
    /// `file.delete.delay.ms`.
    pub const FILE_DELETE_DELAY_MS: Self = Self {
        topic: "file.delete.delay.ms",
        broker: &[("log.segment.delete.delay.ms", Same)],
        default: "60000",
    };
    /// `cleanup.policy`.
    pub const CLEANUP_POLICY: Self = Self {
        topic: "cleanup.policy",
        broker: &[("log.cleanup.policy", Same)],
        default: "delete",
    };
    /// `min.insync.replicas`.
    pub const MIN_INSYNC_REPLICAS: Self = Self {
        topic: "min.insync.replicas",
        broker: &[("min.insync.replicas", Same)],
        default: "1",
    };
    /// `delete.retention.ms`.
    pub const DELETE_RETENTION_MS: Self = Self {
        topic: "delete.retention.ms",
        broker: &[("log.cleaner.delete.retention.ms", Same)],
        default: "86400000",
    };
    /// `min.compaction.lag.ms`.
    pub const MIN_COMPACTION_LAG_MS: Self = Self {
        topic: "min.compaction.lag.ms",
        broker: &[("log.cleaner.min.compaction.lag.ms", Same)],
        default: "0",
    };
    /// `max.compaction.lag.ms`.
    pub const MAX_COMPACTION_LAG_MS: Self = Self {
        topic: "max.compaction.lag.ms",
        broker: &[("log.cleaner.max.compaction.lag.ms", Same)],
        default: "9223372036854775807",
    };
    /// `min.cleanable.dirty.ratio`.
    pub const MIN_CLEANABLE_DIRTY_RATIO: Self = Self {
        topic: "min.cleanable.dirty.ratio",
        broker: &[("log.cleaner.min.cleanable.ratio", Same)],
        default: "0.5",
    };
    /// `remote.storage.enable`.
    pub const REMOTE_STORAGE_ENABLE: Self = Self {
        topic: "remote.storage.enable",
        broker: &[],
        default: "false",
    };
    /// `remote.log.copy.disable`.
    pub const REMOTE_LOG_COPY_DISABLE: Self = Self {
        topic: "remote.log.copy.disable",
        broker: &[],
        default: "false",
    };
    /// Settings of a topic that decide nothing that krescue judges, and are shown with the others. Their defaults are those
    /// that no release from 3.7 on has changed; where one has, it is not named.
    pub const OTHERS: &'static [Self] = &[
        Self {
            topic: "compression.type",
            broker: &[("compression.type", Same)],
            default: "producer",
        },
        Self {
            topic: "flush.messages",
            broker: &[("log.flush.interval.messages", Same)],
            default: "9223372036854775807",
        },
        Self {
            topic: "flush.ms",
            broker: &[("log.flush.interval.ms", Same)],
            default: "9223372036854775807",
        },
        Self {
            topic: "max.message.bytes",
            broker: &[("message.max.bytes", Same)],
            default: "1048588",
        },
        Self {
            topic: "message.timestamp.type",
            broker: &[("log.message.timestamp.type", Same)],
            default: "CreateTime",
        },
        Self {
            topic: "message.timestamp.before.max.ms",
            broker: &[("log.message.timestamp.before.max.ms", Same)],
            default: "9223372036854775807",
        },
        Self {
            topic: "message.timestamp.after.max.ms",
            broker: &[("log.message.timestamp.after.max.ms", Same)],
            default: "",
        },
        Self {
            topic: "unclean.leader.election.enable",
            broker: &[("unclean.leader.election.enable", Same)],
            default: "false",
        },
    ];
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::INDEX_INTERVAL_BYTES,
        Self::SEGMENT_INDEX_BYTES,
        Self::SEGMENT_BYTES,
        Self::INTERNAL_SEGMENT_BYTES,
        Self::PREALLOCATE,
        Self::SEGMENT_MS,
        Self::SEGMENT_JITTER_MS,
        Self::RETENTION_MS,
        Self::RETENTION_BYTES,
        Self::LOCAL_RETENTION_MS,
        Self::LOCAL_RETENTION_BYTES,
        Self::FILE_DELETE_DELAY_MS,
        Self::CLEANUP_POLICY,
        Self::MIN_INSYNC_REPLICAS,
        Self::DELETE_RETENTION_MS,
        Self::MIN_COMPACTION_LAG_MS,
        Self::MAX_COMPACTION_LAG_MS,
        Self::MIN_CLEANABLE_DIRTY_RATIO,
        Self::REMOTE_STORAGE_ENABLE,
        Self::REMOTE_LOG_COPY_DISABLE,
    ];
}
