//! The settings of each topic's logs, each with the level that set it, and what is wrong with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Candidate, TopicSettings};
use crate::cluster::{
    ConfigLevels, ConfigMoment, InvalidConfig, LogConfig, MetadataImage, SettingsTable, ToldConfig,
    misplaced_keys,
};
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::retention::{BrokerRules, cleaner_map_keys};
use crate::settings::Overrides;
use crate::terms::{KafkaVersion, TopicPartition};

/// All levels of a broker's log settings.
#[derive(Debug, Clone)]
pub struct EffectiveConfig {
    image: Option<Arc<MetadataImage>>,
    named: BTreeMap<String, Overrides>,
    server_properties: BTreeMap<String, String>,
    broker_id: Option<i32>,
    version: KafkaVersion,
    /// What the running broker says is in force.
    told: TopicsTold,
}

/// What a running broker says is in force, by topic and then by key.
pub type TopicsTold = BTreeMap<String, BTreeMap<String, ToldConfig>>;

impl EffectiveConfig {
    /// Collects the levels of a broker.
    pub fn new(
        candidate: &Candidate,
        topics: &TopicSettings,
        broker_id: Option<i32>,
        version: KafkaVersion,
    ) -> Self {
        Self {
            image: topics.image.clone(),
            named: topics.named.clone(),
            server_properties: candidate.broker.properties.clone(),
            broker_id,
            version,
            told: TopicsTold::new(),
        }
    }

    /// Returns the same with what the running broker says is in force, which counts before all levels.
    #[must_use]
    pub fn told(self, told: TopicsTold) -> Self {
        Self { told, ..self }
    }

    /// Returns the settings of a topic's logs; where a value is none that Kafka takes, Kafka's defaults.
    pub fn of(&self, topic: &str) -> (LogConfig, Option<InvalidConfig>) {
        match LogConfig::resolve(topic, &self.levels(topic)) {
            Ok(config) => (config, None),
            Err(error) => (LogConfig::default(), Some(error)),
        }
    }

    /// Returns every setting of every topic, with the levels that set it.
    pub fn table(&self) -> SettingsTable {
        let mut overrides: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let image = self.image.as_deref();
        for (topic, _) in image.iter().flat_map(|image| image.topics()) {
            let own = image.iter().flat_map(|image| image.topic_configs(topic));
            let own: BTreeMap<String, String> = own
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect();
            if !own.is_empty() {
                overrides.insert(topic.to_owned(), own);
            }
        }
        for (topic, named) in &self.named {
            let named = named.iter();
            let named = named.map(|(key, value)| (key.clone(), value.clone()));
            overrides.entry(topic.clone()).or_default().extend(named);
        }
        SettingsTable::new(&self.levels(""), overrides, self.told.clone())
    }

    fn levels<'a>(&'a self, topic: &str) -> ConfigLevels<'a> {
        ConfigLevels {
            told: self.told.get(topic),
            image: self.image.as_deref(),
            broker_id: self.broker_id,
            named: self.named.get(topic),
            server_properties: &self.server_properties,
            moment: ConfigMoment::Running,
        }
    }

    /// Returns what the broker's own configuration says of retention.
    pub fn broker_rules(&self) -> BrokerRules {
        let text = |key: &str| self.server_properties.get(key).map(String::as_str);
        let boolean = |key: &str, default: bool| {
            text(key).map_or(default, |text| text.eq_ignore_ascii_case("true"))
        };
        let defaults = BrokerRules::default();
        BrokerRules {
            cleaner_enabled: boolean("log.cleaner.enable", defaults.cleaner_enabled),
            remote_storage: boolean("remote.log.storage.system.enable", defaults.remote_storage),
            check_interval_ms: text("log.retention.check.interval.ms")
                .and_then(|text| text.parse().ok())
                .unwrap_or(defaults.check_interval_ms),
            cleaner_map_keys: self.cleaner_map_keys(),
        }
    }

    /// Returns how many keys the map of a cleaner thread holds, by the broker's static and dynamic settings.
    fn cleaner_map_keys(&self) -> i64 {
        let text = |key: &str| {
            let image = self.image.as_deref();
            let own = image.and_then(|image| image.broker_config(self.broker_id, key));
            let of_all = image.and_then(|image| image.broker_config(None, key));
            let fixed = self.server_properties.get(key).map(String::as_str);
            own.or(of_all).or(fixed).map(str::trim)
        };
        let whole = |key: &str, default: i64| {
            let value = text(key).and_then(|text| text.parse().ok());
            value.unwrap_or(default)
        };
        let load = text("log.cleaner.io.buffer.load.factor").and_then(|text| text.parse().ok());
        cleaner_map_keys(
            whole("log.cleaner.dedupe.buffer.size", 128 << 20),
            whole("log.cleaner.threads", 1),
            load.unwrap_or(0.9),
        )
    }

    /// Says whether this broker alone is in sync with a partition, and that is enough for its high watermark to follow the
    /// log's end; `false` where the metadata does not say.
    pub fn is_sole_in_sync(&self, partition: &TopicPartition) -> bool {
        let Some((image, id)) = self.image.as_deref().zip(self.broker_id) else {
            return false;
        };
        image.partition(partition).is_some_and(|of_partition| {
            let (config, _) = self.of(&partition.topic);
            let replicas = i32::try_from(of_partition.replicas.len()).unwrap_or(i32::MAX);
            of_partition.isr == [id] && config.min_insync_replicas.value.min(replicas) <= 1
        })
    }

    /// Returns what is wrong with keys and values, for these topics.
    pub fn findings<'a>(&self, topics: impl IntoIterator<Item = &'a str>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let finding =
            |text: String| Finding::new(FindingCode::TopicConfigUnknown, Severity::Warning, text);
        for topic in topics {
            if let (_, Some(error)) = self.of(topic) {
                findings.push(
                    finding(format!("topic {topic}: {error}; Kafka's defaults were used"))
                        .next("Set a value that Kafka takes, or name the topic's settings with --topic-config FILE."),
                );
            }
            for text in misplaced_keys(topic, &self.levels(topic), self.version) {
                findings.push(finding(format!("topic {topic}: {text}")));
            }
        }
        for text in crate::cluster::misplaced_broker_keys(
            self.image.as_deref(),
            self.broker_id,
            &self.server_properties,
        ) {
            findings.push(finding(text));
        }
        findings
    }
}
