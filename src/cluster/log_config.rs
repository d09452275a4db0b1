//! A log's settings, each with the level that set it.

use std::collections::BTreeMap;
use std::fmt;

use crate::cluster::config_key::{ConfigKey, ConfigUnit};
use crate::cluster::image::MetadataImage;

/// Which level set a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigSource {
    /// An override of the topic.
    Topic,
    /// A dynamic config of this broker.
    Broker,
    /// A dynamic config of all brokers.
    AllBrokers,
    /// `server.properties`.
    Static,
    /// Nobody: Kafka's default.
    Default,
    /// A value that is only tried.
    WhatIf,
}

impl fmt::Display for ConfigSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Topic => "topic",
            Self::Broker => "dynamic broker",
            Self::AllBrokers => "dynamic default",
            Self::Static => "server.properties",
            Self::Default => "default",
            Self::WhatIf => "what-if",
        })
    }
}

/// A value, the level and the key that set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogConfigValue<T> {
    /// The value.
    pub value: T,
    /// The level.
    pub source: ConfigSource,
    /// The key, as it stands on that level.
    pub key: &'static str,
}

/// What `cleanup.policy` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CleanupPolicy {
    /// Old segments go.
    Delete,
    /// Old values of a key go.
    Compact,
    /// Both.
    CompactDelete,
    /// Nothing goes (4.2 and later).
    Nothing,
}

impl CleanupPolicy {
    /// Says whether size and time limits count.
    pub fn deletes(self) -> bool {
        matches!(self, Self::Delete | Self::CompactDelete)
    }

    /// Says whether the cleaner compacts the log.
    pub fn compacts(self) -> bool {
        matches!(self, Self::Compact | Self::CompactDelete)
    }
}

/// When the settings are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConfigMoment {
    /// While a broker loads its logs: its dynamic configs are not in force yet.
    Boot,
    /// Once it serves.
    Running,
}

/// A value in force as a broker told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldConfig {
    /// The value, in the unit of the topic's key.
    pub value: String,
    /// The level that set it, by the broker.
    pub source: ConfigSource,
}

/// The levels that a setting is looked up on.
#[derive(Debug, Clone, Copy)]
pub struct ConfigLevels<'a> {
    /// What the running broker says is in force, topic's key to value; it counts before all levels.
    pub told: Option<&'a BTreeMap<String, ToldConfig>>,
    /// The metadata, if there is any.
    pub image: Option<&'a MetadataImage>,
    /// The broker, if it is known.
    pub broker_id: Option<i32>,
    /// The topic's overrides as the operator named them, key to value; they count before the metadata's.
    pub named: Option<&'a BTreeMap<String, String>>,
    /// `server.properties`, key to value.
    pub server_properties: &'a BTreeMap<String, String>,
    /// When.
    pub moment: ConfigMoment,
}

/// A value that Kafka does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} has the value {value:?} ({origin}), which Kafka does not take")]
pub struct InvalidConfig {
    /// The key, as it stands on its level.
    pub key: &'static str,
    /// The value.
    pub value: String,
    /// The level.
    pub origin: ConfigSource,
}

/// The settings of a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogConfig {
    /// Bytes of data between two entries of an index.
    pub index_interval_bytes: LogConfigValue<i32>,
    /// The most bytes of an index.
    pub segment_index_bytes: LogConfigValue<i32>,
    /// The most bytes of a segment.
    pub segment_bytes: LogConfigValue<i32>,
    /// Whether new segments have their full length at once.
    pub preallocate: LogConfigValue<bool>,
    /// Ms between a segment's first record and the one that no longer goes in.
    pub segment_ms: LogConfigValue<i64>,
    /// The most ms that a segment is rolled earlier by chance.
    pub segment_jitter_ms: LogConfigValue<i64>,
    /// Ms that a segment's youngest record is kept for; −1 without end.
    pub retention_ms: LogConfigValue<i64>,
    /// Bytes that a partition is kept at; negative without end.
    pub retention_bytes: LogConfigValue<i64>,
    /// As `retention_ms` for the local part of a tiered log; −2 the same.
    pub local_retention_ms: LogConfigValue<i64>,
    /// As `retention_bytes` for the local part of a tiered log; −2 the same.
    pub local_retention_bytes: LogConfigValue<i64>,
    /// Ms between a segment's `.deleted` and its end.
    pub file_delete_delay_ms: LogConfigValue<i64>,
    /// What becomes of old records.
    pub cleanup_policy: LogConfigValue<CleanupPolicy>,
    /// Replicas that must be in sync for a write with all acks.
    pub min_insync_replicas: LogConfigValue<i32>,
    /// Ms that a tombstone is kept for.
    pub delete_retention_ms: LogConfigValue<i64>,
    /// Ms before a record may be compacted.
    pub min_compaction_lag_ms: LogConfigValue<i64>,
    /// Ms after which a record must be compacted.
    pub max_compaction_lag_ms: LogConfigValue<i64>,
    /// The part of dirty bytes from which on a log is compacted.
    pub min_cleanable_dirty_ratio: LogConfigValue<f64>,
    /// Whether the log is tiered, if the broker allows it.
    pub remote_storage_enable: LogConfigValue<bool>,
    /// Whether a tiered log copies no more.
    pub remote_log_copy_disable: LogConfigValue<bool>,
}

impl LogConfig {
    /// Resolves the settings of the logs of `topic`.
    pub fn resolve(topic: &str, levels: &ConfigLevels<'_>) -> Result<Self, InvalidConfig> {
        let at = Lookup { topic, levels };
        let segment_bytes = match at.topic_override(ConfigKey::INTERNAL_SEGMENT_BYTES) {
            Some(found) => found.parse(int(1, i32::MAX))?,
            None => at.get(ConfigKey::SEGMENT_BYTES, int(14, i32::MAX))?,
        };
        Ok(Self {
            index_interval_bytes: at.get(ConfigKey::INDEX_INTERVAL_BYTES, int(0, i32::MAX))?,
            segment_index_bytes: at.get(ConfigKey::SEGMENT_INDEX_BYTES, int(4, i32::MAX))?,
            segment_bytes,
            preallocate: at.get(ConfigKey::PREALLOCATE, boolean)?,
            segment_ms: at.get(ConfigKey::SEGMENT_MS, long(1))?,
            segment_jitter_ms: at.get(ConfigKey::SEGMENT_JITTER_MS, long(0))?,
            retention_ms: at.get(ConfigKey::RETENTION_MS, retention_ms)?,
            retention_bytes: at.get(ConfigKey::RETENTION_BYTES, long(i64::MIN))?,
            local_retention_ms: at.get(ConfigKey::LOCAL_RETENTION_MS, long(-2))?,
            local_retention_bytes: at.get(ConfigKey::LOCAL_RETENTION_BYTES, long(-2))?,
            file_delete_delay_ms: at.get(ConfigKey::FILE_DELETE_DELAY_MS, long(0))?,
            cleanup_policy: at.get(ConfigKey::CLEANUP_POLICY, policy)?,
            min_insync_replicas: at.get(ConfigKey::MIN_INSYNC_REPLICAS, int(1, i32::MAX))?,
            delete_retention_ms: at.get(ConfigKey::DELETE_RETENTION_MS, long(0))?,
            min_compaction_lag_ms: at.get(ConfigKey::MIN_COMPACTION_LAG_MS, long(0))?,
            max_compaction_lag_ms: at.get(ConfigKey::MAX_COMPACTION_LAG_MS, long(1))?,
            min_cleanable_dirty_ratio: at.get(ConfigKey::MIN_CLEANABLE_DIRTY_RATIO, ratio)?,
            remote_storage_enable: at.get(ConfigKey::REMOTE_STORAGE_ENABLE, boolean)?,
            remote_log_copy_disable: at.get(ConfigKey::REMOTE_LOG_COPY_DISABLE, boolean)?,
        })
    }
}

impl Default for LogConfig {
    /// Returns Kafka's own defaults.
    fn default() -> Self {
        Self {
            index_interval_bytes: built_in(ConfigKey::INDEX_INTERVAL_BYTES, 4096),
            segment_index_bytes: built_in(ConfigKey::SEGMENT_INDEX_BYTES, 10 << 20),
            segment_bytes: built_in(ConfigKey::SEGMENT_BYTES, 1 << 30),
            preallocate: built_in(ConfigKey::PREALLOCATE, false),
            segment_ms: built_in(ConfigKey::SEGMENT_MS, 604_800_000),
            segment_jitter_ms: built_in(ConfigKey::SEGMENT_JITTER_MS, 0),
            retention_ms: built_in(ConfigKey::RETENTION_MS, 604_800_000),
            retention_bytes: built_in(ConfigKey::RETENTION_BYTES, -1),
            local_retention_ms: built_in(ConfigKey::LOCAL_RETENTION_MS, -2),
            local_retention_bytes: built_in(ConfigKey::LOCAL_RETENTION_BYTES, -2),
            file_delete_delay_ms: built_in(ConfigKey::FILE_DELETE_DELAY_MS, 60_000),
            cleanup_policy: built_in(ConfigKey::CLEANUP_POLICY, CleanupPolicy::Delete),
            min_insync_replicas: built_in(ConfigKey::MIN_INSYNC_REPLICAS, 1),
            delete_retention_ms: built_in(ConfigKey::DELETE_RETENTION_MS, 86_400_000),
            min_compaction_lag_ms: built_in(ConfigKey::MIN_COMPACTION_LAG_MS, 0),
            max_compaction_lag_ms: built_in(ConfigKey::MAX_COMPACTION_LAG_MS, i64::MAX),
            min_cleanable_dirty_ratio: built_in(ConfigKey::MIN_CLEANABLE_DIRTY_RATIO, 0.5),
            remote_storage_enable: built_in(ConfigKey::REMOTE_STORAGE_ENABLE, false),
            remote_log_copy_disable: built_in(ConfigKey::REMOTE_LOG_COPY_DISABLE, false),
        }
    }
}

fn built_in<T>(key: ConfigKey, value: T) -> LogConfigValue<T> {
    LogConfigValue {
        value,
        source: ConfigSource::Default,
        key: key.topic,
    }
}

struct Lookup<'a> {
    topic: &'a str,
    levels: &'a ConfigLevels<'a>,
}

/// A value as text, with what its unit is to be multiplied by.
struct Found<'a> {
    text: &'a str,
    unit: ConfigUnit,
    source: ConfigSource,
    key: &'static str,
}

impl<'a> Lookup<'a> {
    fn get<T>(
        &self,
        key: ConfigKey,
        parse: impl Fn(&str, ConfigUnit, ConfigSource) -> Option<T>,
    ) -> Result<LogConfigValue<T>, InvalidConfig> {
        self.find(key).parse(parse)
    }

    fn find(&self, key: ConfigKey) -> Found<'a> {
        self.told(key)
            .or_else(|| self.topic_override(key))
            .or_else(|| self.dynamic(key, self.levels.broker_id?, ConfigSource::Broker))
            .or_else(|| self.dynamic(key, None, ConfigSource::AllBrokers))
            .or_else(|| self.in_file(key))
            .unwrap_or(Found {
                text: key.default,
                unit: ConfigUnit::Same,
                source: ConfigSource::Default,
                key: key.topic,
            })
    }

    fn told(&self, key: ConfigKey) -> Option<Found<'a>> {
        let told = self.levels.told?.get(key.topic)?;
        Some(Found {
            text: &told.value,
            unit: ConfigUnit::Same,
            source: told.source,
            key: key.topic,
        })
    }

    fn topic_override(&self, key: ConfigKey) -> Option<Found<'a>> {
        let named = self.levels.named.and_then(|named| named.get(key.topic));
        let in_image = || self.levels.image?.topic_config(self.topic, key.topic);
        Some(Found {
            text: named.map(String::as_str).or_else(in_image)?,
            unit: ConfigUnit::Same,
            source: ConfigSource::Topic,
            key: key.topic,
        })
    }

    fn dynamic(
        &self,
        key: ConfigKey,
        broker_id: impl Into<Option<i32>>,
        source: ConfigSource,
    ) -> Option<Found<'a>> {
        if self.levels.moment == ConfigMoment::Boot {
            return None;
        }
        let (key, unit) = *key.broker.first()?;
        Some(Found {
            text: self.levels.image?.broker_config(broker_id.into(), key)?,
            unit,
            source,
            key,
        })
    }

    fn in_file(&self, key: ConfigKey) -> Option<Found<'a>> {
        key.broker.iter().find_map(|(key, unit)| {
            Some(Found {
                text: self.levels.server_properties.get(*key)?,
                unit: *unit,
                source: ConfigSource::Static,
                key,
            })
        })
    }
}

impl Found<'_> {
    fn parse<T>(
        self,
        parse: impl Fn(&str, ConfigUnit, ConfigSource) -> Option<T>,
    ) -> Result<LogConfigValue<T>, InvalidConfig> {
        match parse(self.text.trim(), self.unit, self.source) {
            Some(value) => Ok(LogConfigValue {
                value,
                source: self.source,
                key: self.key,
            }),
            None => Err(InvalidConfig {
                key: self.key,
                value: self.text.to_owned(),
                origin: self.source,
            }),
        }
    }
}

fn int(at_least: i32, at_most: i32) -> impl Fn(&str, ConfigUnit, ConfigSource) -> Option<i32> {
    move |text, _, _| {
        let value = text.parse().ok()?;
        (at_least..=at_most).contains(&value).then_some(value)
    }
}

fn long(at_least: i64) -> impl Fn(&str, ConfigUnit, ConfigSource) -> Option<i64> {
    move |text, unit, _| {
        let value = text.parse::<i64>().ok()?.checked_mul(unit.factor())?;
        (value >= at_least).then_some(value)
    }
}

/// Parses a retention time: a topic's is at least −1, of a broker's every negative one is −1.
fn retention_ms(text: &str, unit: ConfigUnit, source: ConfigSource) -> Option<i64> {
    let value = long(i64::MIN)(text, unit, source)?;
    match source {
        ConfigSource::Topic => (value >= -1).then_some(value),
        _ if value == 0 => None,
        _ => Some(value.max(-1)),
    }
}

fn boolean(text: &str, _: ConfigUnit, _: ConfigSource) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

fn ratio(text: &str, _: ConfigUnit, _: ConfigSource) -> Option<f64> {
    let value = text.parse().ok()?;
    (0.0..=1.0).contains(&value).then_some(value)
}

fn policy(text: &str, _: ConfigUnit, _: ConfigSource) -> Option<CleanupPolicy> {
    let words: Vec<String> = text
        .split(',')
        .map(|word| word.trim().to_ascii_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    let known = |word: &String| matches!(word.as_str(), "compact" | "delete");
    if !words.iter().all(known) {
        return None;
    }
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    Some(match (has("compact"), has("delete")) {
        (true, true) => CleanupPolicy::CompactDelete,
        (true, false) => CleanupPolicy::Compact,
        (false, true) => CleanupPolicy::Delete,
        (false, false) => CleanupPolicy::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::metadata_record::{ConfigRecord, MetadataRecord, ResourceType};

    fn image(configs: &[(ResourceType, &str, &str, &str)]) -> MetadataImage {
        let mut image = MetadataImage::default();
        for (resource_type, name, key, value) in configs {
            image.apply(MetadataRecord::Config(ConfigRecord {
                resource_type: *resource_type,
                resource_name: (*name).to_owned(),
                key: (*key).to_owned(),
                value: Some((*value).to_owned()),
            }));
        }
        image
    }

    fn resolve(
        image: &MetadataImage,
        file: &[(&str, &str)],
        moment: ConfigMoment,
    ) -> Result<LogConfig, InvalidConfig> {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let server_properties = file.iter().map(owned).collect();
        LogConfig::resolve(
            "t",
            &ConfigLevels {
                told: None,
                image: Some(image),
                broker_id: Some(1),
                named: None,
                server_properties: &server_properties,
                moment,
            },
        )
    }

    const BROKER: ResourceType = ResourceType::Broker;
    const TOPIC: ResourceType = ResourceType::Topic;

    #[test]
    fn the_nearest_level_counts() {
        use ConfigMoment::{Boot, Running};
        let file = [("log.retention.hours", "2"), ("log.retention.minutes", "3")];
        let of = |configs: &[_], moment| {
            let found = resolve(&image(configs), &file, moment)
                .unwrap()
                .retention_ms;
            (found.value, found.source, found.key)
        };
        let in_file = (180_000, ConfigSource::Static, "log.retention.minutes");
        assert_eq!(of(&[], Running), in_file);
        let all = (BROKER, "", "log.retention.ms", "4");
        let own = (BROKER, "1", "log.retention.ms", "-5");
        let topic = (TOPIC, "t", "retention.ms", "6");
        assert_eq!(
            of(&[all], Running),
            (4, ConfigSource::AllBrokers, "log.retention.ms")
        );
        assert_eq!(of(&[all], Boot), in_file);
        assert_eq!(
            of(&[all, own], Running),
            (-1, ConfigSource::Broker, "log.retention.ms")
        );
        assert_eq!(
            of(&[all, own, topic], Running),
            (6, ConfigSource::Topic, "retention.ms")
        );
        assert_eq!(of(&[topic], Boot), (6, ConfigSource::Topic, "retention.ms"));
    }

    #[test]
    fn what_the_running_broker_says_is_in_force_counts_before_all_levels() {
        let image = image(&[
            (TOPIC, "t", "retention.ms", "6"),
            (TOPIC, "t", "retention.bytes", "7"),
        ]);
        let told = ToldConfig {
            value: "10800000".to_owned(),
            source: ConfigSource::Static,
        };
        let told = BTreeMap::from([("retention.ms".to_owned(), told)]);
        let levels = ConfigLevels {
            told: Some(&told),
            image: Some(&image),
            broker_id: Some(1),
            named: None,
            server_properties: &BTreeMap::new(),
            moment: ConfigMoment::Running,
        };
        let found = LogConfig::resolve("t", &levels).unwrap();
        let ms = found.retention_ms;
        assert_eq!((ms.value, ms.source), (10_800_000, ConfigSource::Static));
        assert_eq!(found.retention_bytes.value, 7, "it told nothing of that");
    }

    #[test]
    fn keys_that_cannot_be_dynamic_are_stored_without_effect() {
        let configs = [
            (BROKER, "", "log.retention.hours", "1"),
            (BROKER, "", "retention.ms", "2"),
        ];
        let found = resolve(&image(&configs), &[], ConfigMoment::Running).unwrap();
        assert_eq!(found.retention_ms.source, ConfigSource::Default);
    }

    #[test]
    fn what_nobody_sets_is_kafka_s_default() {
        let found = resolve(&image(&[]), &[], ConfigMoment::Running).unwrap();
        assert_eq!(found, LogConfig::default());
    }

    #[test]
    fn the_internal_segment_size_wins() {
        let configs = [
            (TOPIC, "t", "segment.bytes", "1048576"),
            (TOPIC, "t", "internal.segment.bytes", "20000"),
        ];
        let found = resolve(&image(&configs), &[], ConfigMoment::Boot).unwrap();
        assert_eq!(found.segment_bytes.value, 20_000);
        assert_eq!(found.segment_bytes.key, "internal.segment.bytes");
    }

    #[test]
    fn a_value_that_kafka_refuses_names_its_level() {
        for (key, value) in [
            ("retention.ms", "-2"),
            ("segment.bytes", "13"),
            ("preallocate", "yes"),
            ("cleanup.policy", "keep"),
            ("min.cleanable.dirty.ratio", "1.5"),
        ] {
            let configs = [(TOPIC, "t", key, value)];
            let error = resolve(&image(&configs), &[], ConfigMoment::Boot).unwrap_err();
            assert_eq!((error.key, error.origin), (key, ConfigSource::Topic));
        }
        let zero = [("log.retention.ms", "0")];
        assert!(resolve(&image(&[]), &zero, ConfigMoment::Boot).is_err());
    }

    #[test]
    fn policies_are_read_in_any_order_and_case() {
        for (text, wanted) in [
            ("delete", CleanupPolicy::Delete),
            ("Compact", CleanupPolicy::Compact),
            ("delete, compact", CleanupPolicy::CompactDelete),
            ("", CleanupPolicy::Nothing),
        ] {
            let configs = [(TOPIC, "t", "cleanup.policy", text)];
            let found = resolve(&image(&configs), &[], ConfigMoment::Boot).unwrap();
            assert_eq!(found.cleanup_policy.value, wanted, "{text:?}");
        }
    }
}
