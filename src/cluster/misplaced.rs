//! Keys that stand where they have no effect: a broker's key on a topic, a topic's key on a broker, a key of another release.

use std::collections::BTreeMap;

use super::config_key::ConfigKey;
use super::image::MetadataImage;
use super::log_config::ConfigLevels;
use crate::terms::KafkaVersion;

/// Topic keys that name no setting of a log's retention; known so that they are not called wrong.
const OTHER_TOPIC_KEYS: [&str; 17] = [
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "errors.deadletterqueue.group.enable",
    "flush.messages",
    "flush.ms",
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "remote.copy.lag.bytes",
    "remote.copy.lag.ms",
    "remote.log.delete.on.disable",
    "unclean.leader.election.enable",
];
/// Topic keys that were given up with 4.0.
const UP_TO_3: [&str; 3] = [
    "message.downconversion.enable",
    "message.format.version",
    "message.timestamp.difference.max.ms",
];
/// The least `segment.bytes` that brokers take from 4.0 on (KIP-1030).
const LEAST_SEGMENT_BYTES_OF_4: i64 = 1 << 20;

/// Returns what is wrong with a topic's overrides, as fragments of a sentence.
pub fn misplaced_keys(
    topic: &str,
    levels: &ConfigLevels<'_>,
    version: KafkaVersion,
) -> Vec<String> {
    let mut overrides: BTreeMap<&str, &str> = BTreeMap::new();
    if let Some(image) = levels.image {
        overrides.extend(image.topic_configs(topic));
    }
    if let Some(named) = levels.named {
        overrides.extend(
            named
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str())),
        );
    }
    overrides
        .into_iter()
        .filter_map(|(key, value)| of_topic(key, value, version))
        .collect()
}

fn of_topic(key: &str, value: &str, version: KafkaVersion) -> Option<String> {
    let is_4 = version >= KafkaVersion::new(4, 0, 0);
    if UP_TO_3.contains(&key) {
        return is_4.then(|| format!("{key} has no effect since 4.0"));
    }
    if key == ConfigKey::INTERNAL_SEGMENT_BYTES.topic {
        let known = version >= KafkaVersion::new(4, 1, 0);
        return (!known).then(|| format!("{key} has no effect before 4.1"));
    }
    if key == ConfigKey::SEGMENT_BYTES.topic && is_4 {
        let small = value
            .trim()
            .parse()
            .is_ok_and(|bytes: i64| bytes < LEAST_SEGMENT_BYTES_OF_4);
        return small.then(|| format!("{key}={value} lies below the 1048576 that 4.0 asks for"));
    }
    if key == ConfigKey::CLEANUP_POLICY.topic && value.trim().is_empty() {
        let known = version >= KafkaVersion::new(4, 2, 0);
        return (!known).then(|| format!("an empty {key} is not taken before 4.2"));
    }
    let known = ConfigKey::ALL.iter().any(|of| of.topic == key) || OTHER_TOPIC_KEYS.contains(&key);
    if known {
        return None;
    }
    let meant = ConfigKey::ALL
        .iter()
        .find(|of| of.broker.iter().any(|(broker, _)| *broker == key));
    Some(match meant {
        Some(of) => format!(
            "{key} is a broker's key and has no effect on a topic: {}",
            of.topic
        ),
        None => format!("{key} is no key of a topic, and has no effect"),
    })
}

/// Returns what is wrong with a broker's own keys, dynamic and in its file, as sentences.
pub fn misplaced_broker_keys(
    image: Option<&MetadataImage>,
    broker_id: Option<i32>,
    server_properties: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let in_file = server_properties.keys().map(String::as_str);
    for key in in_file {
        if let Some(of) = topic_s_own(key) {
            wrong.push(format!(
                "server.properties: {key} is a topic's key and has no effect there: {of}"
            ));
        }
    }
    let own = broker_id.map(Some);
    for (image, id) in std::iter::once(None)
        .chain(own)
        .filter_map(|id| Some((image?, id)))
    {
        for (key, _) in image.broker_configs(id) {
            let whose = id.map_or_else(
                || "dynamic default of all brokers".to_owned(),
                |id| format!("dynamic config of broker {id}"),
            );
            if let Some(of) = topic_s_own(key) {
                wrong.push(format!(
                    "{whose}: {key} is a topic's key and has no effect there: {of}"
                ));
            } else if let Some(first) = not_dynamic(key) {
                wrong.push(format!(
                    "{whose}: {key} cannot be set dynamically and has no effect: {first}"
                ));
            }
        }
    }
    wrong
}

/// Returns the broker's key for a topic's, where they differ.
fn topic_s_own(key: &str) -> Option<&'static str> {
    let of = ConfigKey::ALL.iter().find(|of| of.topic == key)?;
    let (first, _) = of.broker.first()?;
    (*first != key).then_some(first)
}

/// Returns the key to set instead of one that is no first synonym.
fn not_dynamic(key: &str) -> Option<&'static str> {
    ConfigKey::ALL.iter().find_map(|of| {
        let (first, rest) = of.broker.split_first()?;
        rest.iter()
            .any(|(other, _)| *other == key)
            .then_some(first.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::ConfigMoment;

    fn of(key: &str, value: &str, version: KafkaVersion) -> Vec<String> {
        let named = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let levels = ConfigLevels {
            told: None,
            image: None,
            broker_id: None,
            named: Some(&named),
            server_properties: &BTreeMap::new(),
            moment: ConfigMoment::Running,
        };
        misplaced_keys("t", &levels, version)
    }

    #[test]
    fn a_broker_s_key_on_a_topic_names_the_topic_s() {
        let newest = KafkaVersion::NEWEST_KNOWN;
        let found = of("log.retention.ms", "5", newest);
        assert_eq!(
            found,
            ["log.retention.ms is a broker's key and has no effect on a topic: retention.ms"]
        );
        let found = of("log.retention.hours", "5", newest);
        assert!(found[0].ends_with(": retention.ms"), "{found:?}");
        assert_eq!(of("retention.ms", "5", newest), [""; 0]);
        assert_eq!(of("compression.type", "lz4", newest), [""; 0]);
        assert!(of("retention.hours", "5", newest)[0].contains("no key of a topic"));
    }

    #[test]
    fn a_release_knows_its_own_keys_and_values() {
        let (old, new) = (KafkaVersion::new(3, 9, 1), KafkaVersion::new(4, 4, 0));
        for (key, value, wrong_in) in [
            ("message.format.version", "3.0", new),
            ("segment.bytes", "100000", new),
            ("internal.segment.bytes", "100000", old),
            ("cleanup.policy", "", old),
        ] {
            let right_in = if wrong_in == old { new } else { old };
            assert_eq!(of(key, value, wrong_in).len(), 1, "{key}");
            assert_eq!(of(key, value, right_in), [""; 0], "{key}");
        }
    }

    #[test]
    fn a_topic_s_key_on_a_broker_is_named() {
        let file = BTreeMap::from([
            ("retention.ms".to_owned(), "5".to_owned()),
            ("min.insync.replicas".to_owned(), "2".to_owned()),
            ("log.retention.hours".to_owned(), "2".to_owned()),
        ]);
        let found = misplaced_broker_keys(None, None, &file);
        assert_eq!(
            found,
            [
                "server.properties: retention.ms is a topic's key and has no effect there: log.retention.ms"
            ]
        );
    }
}
