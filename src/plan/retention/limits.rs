//! What a log's configuration says of its retention.

use super::what_if::WhatIf;
use crate::cluster::{CleanupPolicy, LogConfig};

/// What the broker's own configuration adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "Kafka's own settings")]
pub struct BrokerRules {
    /// `log.cleaner.enable`: without it logs with `compact` in their policy are never touched.
    pub cleaner_enabled: bool,
    /// `remote.log.storage.system.enable`.
    pub remote_storage: bool,
    /// `log.retention.check.interval.ms`.
    pub check_interval_ms: i64,
    /// Keys that a cleaner thread's map holds at once.
    pub cleaner_map_keys: i64,
}

impl Default for BrokerRules {
    fn default() -> Self {
        Self {
            cleaner_enabled: true,
            remote_storage: false,
            check_interval_ms: 300_000,
            cleaner_map_keys: cleaner_map_keys(128 << 20, 1, 0.9),
        }
    }
}

/// The limits of one log.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "Kafka's own settings")]
pub struct RetentionLimits {
    /// Ms that a segment's youngest record is kept for; negative without end.
    pub retention_ms: i64,
    /// Bytes that the log is kept at; negative without end.
    pub retention_bytes: i64,
    /// What becomes of old records.
    pub policy: CleanupPolicy,
    /// Whether segments go to a remote store before they may go here; then the limits are the local ones.
    pub tiered: bool,
    /// Whether a cleaner runs.
    pub cleaner_enabled: bool,
    /// Whether the cleaner has given this log up, until the broker's next start.
    pub cleaner_gave_up: bool,
    /// Keys that the cleaner's map holds at once.
    pub cleaner_map_keys: i64,
    /// Ms between a segment's first record and the one that no longer goes in, before jitter.
    pub segment_ms: i64,
    /// The most ms of jitter.
    pub segment_jitter_ms: i64,
    /// Ms before a record may be compacted.
    pub min_compaction_lag_ms: i64,
    /// Ms after which a record must be compacted.
    pub max_compaction_lag_ms: i64,
    /// The part of dirty bytes above which a log is compacted.
    pub min_cleanable_dirty_ratio: f64,
}

impl RetentionLimits {
    /// Returns the limits of a log of `topic`.
    pub fn of(topic: &str, config: &LogConfig, broker: BrokerRules) -> Self {
        let policy = config.cleanup_policy.value;
        let tiered = broker.remote_storage
            && config.remote_storage_enable.value
            && !config.remote_log_copy_disable.value
            && !policy.compacts()
            && !is_internal(topic);
        let local = |local: i64, all: i64| if tiered && local != -2 { local } else { all };
        let (ms, bytes) = (config.retention_ms.value, config.retention_bytes.value);
        Self {
            retention_ms: local(config.local_retention_ms.value, ms),
            retention_bytes: local(config.local_retention_bytes.value, bytes),
            policy,
            tiered,
            cleaner_enabled: broker.cleaner_enabled,
            cleaner_gave_up: false,
            cleaner_map_keys: broker.cleaner_map_keys,
            segment_ms: if policy.compacts() {
                let lag = config.max_compaction_lag_ms.value;
                config.segment_ms.value.min(lag)
            } else {
                config.segment_ms.value
            },
            segment_jitter_ms: config.segment_jitter_ms.value,
            min_compaction_lag_ms: config.min_compaction_lag_ms.value,
            max_compaction_lag_ms: config.max_compaction_lag_ms.value,
            min_cleanable_dirty_ratio: config.min_cleanable_dirty_ratio.value,
        }
    }

    /// Returns the limits with other values, as a topic's override would set them.
    #[must_use]
    pub fn what_if(mut self, wish: WhatIf) -> Self {
        self.retention_ms = wish.retention_ms.unwrap_or(self.retention_ms);
        self.retention_bytes = wish.retention_bytes.unwrap_or(self.retention_bytes);
        self
    }

    /// Says whether size and time limits count.
    pub fn deletes(&self) -> bool {
        self.policy.deletes() || (self.tiered && self.policy == CleanupPolicy::Nothing)
    }

    /// Says whether anything at all ever goes: logs with `compact` are the cleaner's, and it may be switched off or have given
    /// them up.
    pub fn is_visited(&self) -> bool {
        (self.cleaner_enabled && !self.cleaner_gave_up) || !self.policy.compacts()
    }

    /// Returns how much shorter than `segment.ms` a segment's time can be, in ms (`LogConfig.randomSegmentJitter`: it is drawn
    /// below both).
    pub fn most_jitter_ms(&self) -> i64 {
        self.segment_jitter_ms.min(self.segment_ms).max(0)
    }
}

/// Returns how many keys the map of one cleaner thread holds (`SkimpyOffsetMap`: 16 bytes of hash and 8 of offset a slot):
/// of `buffer` bytes for all `threads`, filled up to `load` of its slots.
pub fn cleaner_map_keys(buffer: i64, threads: i64, load: f64) -> i64 {
    const SLOT: i64 = 24;
    let slots = (buffer / threads.max(1)).min(i64::from(i32::MAX)) / SLOT;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "Kafka multiplies as doubles and cuts"
    )]
    let keys = (slots as f64 * load) as i64;
    keys
}

/// Says whether Kafka keeps a topic for itself: never tiered, and never deleted to free space.
pub fn is_internal(topic: &str) -> bool {
    matches!(
        topic,
        "__consumer_offsets"
            | "__transaction_state"
            | "__share_group_state"
            | "__remote_log_metadata"
            | "__cluster_metadata"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiered_topic_is_judged_by_its_local_limits_where_it_has_any() {
        let broker = BrokerRules {
            remote_storage: true,
            ..BrokerRules::default()
        };
        let mut config = LogConfig::default();
        config.remote_storage_enable.value = true;
        config.retention_bytes.value = 900;
        config.local_retention_ms.value = 3_600_000;
        let of = |topic: &str, config: &LogConfig, broker| {
            let limits = RetentionLimits::of(topic, config, broker);
            (limits.tiered, limits.retention_ms, limits.retention_bytes)
        };
        // −2 is "as retention.bytes".
        assert_eq!(of("t", &config, broker), (true, 3_600_000, 900));
        config.local_retention_bytes.value = 90;
        assert_eq!(of("t", &config, broker), (true, 3_600_000, 90));
        let plain = (false, 604_800_000, 900);
        assert_eq!(of("t", &config, BrokerRules::default()), plain);
        assert_eq!(of("__consumer_offsets", &config, broker), plain);
        let mut without = config;
        without.remote_log_copy_disable.value = true;
        assert_eq!(of("t", &without, broker), plain);
        let mut without = config;
        without.remote_storage_enable.value = false;
        assert_eq!(of("t", &without, broker), plain);
        config.cleanup_policy.value = CleanupPolicy::Compact;
        assert_eq!(of("t", &config, broker), plain);
    }

    #[test]
    fn the_cleaner_s_map_holds_what_brokers_have_said() {
        // "offset map can fit only 5033164", by the defaults.
        assert_eq!(BrokerRules::default().cleaner_map_keys, 5_033_164);
        assert_eq!(cleaner_map_keys(128 << 20, 2, 0.9), 2_516_581);
        assert_eq!(cleaner_map_keys(i64::MAX, 1, 0.9), 80_530_636);
        assert_eq!(cleaner_map_keys(0, 0, 0.9), 0);
    }
}
