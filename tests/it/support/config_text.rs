//! A topic's settings as a broker tells them.

use krescue::cluster::{CleanupPolicy, ConfigSource, LogConfig, LogConfigValue};

/// Returns the number by which Kafka's protocol calls a source.
pub(crate) fn source_number(source: ConfigSource) -> i64 {
    match source {
        ConfigSource::Topic => 1,
        ConfigSource::Broker => 2,
        ConfigSource::AllBrokers => 3,
        ConfigSource::Static => 4,
        ConfigSource::Default => 5,
        ConfigSource::WhatIf => unreachable!(),
    }
}

/// Returns every setting as text, by the topic's key.
pub(crate) fn as_text(config: &LogConfig) -> Vec<(&'static str, String, ConfigSource)> {
    fn one<T: ToString>(
        key: &'static str,
        found: &LogConfigValue<T>,
    ) -> (&'static str, String, ConfigSource) {
        (key, found.value.to_string(), found.source)
    }
    let policy = match config.cleanup_policy.value {
        CleanupPolicy::Delete => "delete",
        CleanupPolicy::Compact => "compact",
        CleanupPolicy::CompactDelete => "compact,delete",
        CleanupPolicy::Nothing => "",
    };
    vec![
        one("index.interval.bytes", &config.index_interval_bytes),
        one("segment.index.bytes", &config.segment_index_bytes),
        one(config.segment_bytes.key, &config.segment_bytes),
        one("preallocate", &config.preallocate),
        one("segment.ms", &config.segment_ms),
        one("segment.jitter.ms", &config.segment_jitter_ms),
        one("retention.ms", &config.retention_ms),
        one("retention.bytes", &config.retention_bytes),
        one("file.delete.delay.ms", &config.file_delete_delay_ms),
        (
            "cleanup.policy",
            policy.to_owned(),
            config.cleanup_policy.source,
        ),
        one("min.insync.replicas", &config.min_insync_replicas),
        one("delete.retention.ms", &config.delete_retention_ms),
        one("min.compaction.lag.ms", &config.min_compaction_lag_ms),
        one("max.compaction.lag.ms", &config.max_compaction_lag_ms),
        one(
            "min.cleanable.dirty.ratio",
            &config.min_cleanable_dirty_ratio,
        ),
        one("remote.storage.enable", &config.remote_storage_enable),
    ]
}
