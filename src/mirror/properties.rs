//! `mm2.properties`: which keys reach which flow, and by which rule (`MirrorMakerConfig`).
//!
//! The configuration of flow `S->T`, later wins: top-level keys that the connectors define; `S.*` and `T.*` as
//! `source.cluster.*` and `target.cluster.*`; `S->T.*`. Any other top-level key never arrives.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::filter::split_list;
use super::secrets::masked;
use crate::format::properties::Properties;

/// Keys that reach every flow from the top level: those that the connectors define, and Connect's of any connector.
const TOP_LEVEL: &[&str] = &[
    "enabled",
    "topics",
    "topics.exclude",
    "topics.blacklist",
    "groups",
    "groups.exclude",
    "groups.blacklist",
    "topic.filter.class",
    "group.filter.class",
    "config.property.filter.class",
    "config.properties.exclude",
    "config.properties.blacklist",
    "replication.factor",
    "offset-syncs.topic.replication.factor",
    "offset-syncs.topic.location",
    "checkpoints.topic.replication.factor",
    "heartbeats.topic.replication.factor",
    "heartbeats.replication.enabled",
    "emit.offset-syncs.enabled",
    "emit.heartbeats.enabled",
    "emit.heartbeats.interval.seconds",
    "emit.checkpoints.enabled",
    "emit.checkpoints.interval.seconds",
    "sync.group.offsets.enabled",
    "sync.group.offsets.interval.seconds",
    "refresh.topics.enabled",
    "refresh.topics.interval.seconds",
    "refresh.groups.enabled",
    "refresh.groups.interval.seconds",
    "sync.topic.configs.enabled",
    "sync.topic.configs.interval.seconds",
    "sync.topic.acls.enabled",
    "sync.topic.acls.interval.seconds",
    "offset.lag.max",
    "consumer.poll.timeout.ms",
    "admin.timeout.ms",
    "forwarding.admin.class",
    "use.incremental.alter.configs",
    "add.source.alias.to.metrics",
    "metric.names.formats",
    "metric.reporters",
    "security.protocol",
    "name",
    "connector.class",
    "tasks.max",
    "tasks.max.enforce",
    "key.converter",
    "value.converter",
    "header.converter",
    "config.action.reload",
    "transforms",
    "predicates",
    "errors.retry.timeout",
    "errors.retry.delay.max.ms",
    "errors.tolerance",
    "errors.log.enable",
    "errors.log.include.messages",
    "topic.creation.groups",
    "exactly.once.support",
    "transaction.boundary",
    "transaction.boundary.interval.ms",
    "offsets.storage.topic",
];
/// Beginnings of top-level keys that reach every flow.
const TOP_LEVEL_PREFIXES: &[&str] = &["config.providers", "replication.policy", "ssl.", "sasl."];
/// Beginnings of cluster-level keys that address one kind of client.
const CLIENTS: &[&str] = &["producer", "consumer", "admin"];

/// A value and the line that set it; no line where it is not from a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigValue {
    /// The value as written, blanks at its end included.
    pub value: String,
    /// The line, from 1.
    pub line: Option<usize>,
}

/// One property, with the lines on which earlier values of its key stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirrorProperty {
    /// The key.
    pub key: String,
    /// The value that counts.
    pub value: String,
    /// Its line, from 1.
    pub line: usize,
    /// Lines that set the key before, without effect.
    pub earlier_lines: Vec<usize>,
    /// Whether a single backslash before `.`, `-`, `d`, `s` or `w` was dropped, as Java drops it.
    pub lost_backslash: bool,
}

/// The properties of a file, each key once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MirrorProperties {
    /// The file, as it was named.
    pub file: String,
    /// The properties in the order of their keys.
    pub properties: Vec<MirrorProperty>,
}

impl MirrorProperties {
    /// Takes the properties of `file`.
    ///
    /// `text` is what the file holds.
    pub fn new(file: impl Into<String>, properties: &Properties, text: &[u8]) -> Self {
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let mut by_key: BTreeMap<&str, MirrorProperty> = BTreeMap::new();
        for entry in &properties.entries {
            let earlier_lines = by_key
                .remove(entry.key.as_str())
                .map_or_else(Vec::new, |was| {
                    let mut lines = was.earlier_lines;
                    lines.push(was.line);
                    lines
                });
            by_key.insert(
                &entry.key,
                MirrorProperty {
                    value: masked((entry.key.clone(), entry.value.clone())).1,
                    key: entry.key.clone(),
                    line: entry.line,
                    earlier_lines,
                    lost_backslash: loses_backslash(&lines, entry.line),
                },
            );
        }
        Self {
            file: file.into(),
            properties: by_key.into_values().collect(),
        }
    }

    /// Returns the property `key`.
    pub fn get(&self, key: &str) -> Option<&MirrorProperty> {
        self.properties
            .binary_search_by(|property| property.key.as_str().cmp(key))
            .ok()
            .and_then(|at| self.properties.get(at))
    }

    /// Returns the aliases in the order of the file, each once.
    pub fn aliases(&self) -> Vec<String> {
        let list = self.get("clusters").map_or("", |it| it.value.as_str());
        let mut seen = BTreeSet::new();
        split_list(list)
            .into_iter()
            .filter(|alias| seen.insert(alias.clone()))
            .collect()
    }

    /// Returns a cluster's `bootstrap.servers`: its own, else the top level's.
    pub fn bootstrap(&self, alias: &str) -> Option<&MirrorProperty> {
        self.get(&format!("{alias}.bootstrap.servers"))
            .or_else(|| self.get("bootstrap.servers"))
    }

    /// Returns what the connectors of flow `source->target` are configured with, but for `enabled=false`, the default.
    pub fn connector_config(&self, source: &str, target: &str) -> BTreeMap<String, ConfigValue> {
        let mut config = BTreeMap::new();
        let mut put = |key: String, property: &MirrorProperty| {
            let value = ConfigValue {
                value: property.value.clone(),
                line: Some(property.line),
            };
            config.insert(key, value);
        };
        for property in &self.properties {
            if reaches_every_flow(&property.key) {
                put(property.key.clone(), property);
            }
        }
        for (alias, role) in [(source, "source"), (target, "target")] {
            for (key, property) in self.below(&format!("{alias}.")) {
                let client = CLIENTS.iter().any(|client| key.starts_with(client));
                let infix = if client { "" } else { "cluster." };
                put(format!("{role}.{infix}{key}"), property);
            }
        }
        for (key, property) in self.below(&format!("{source}->{target}.")) {
            put(key.to_owned(), property);
        }
        config
    }

    /// Returns the keys behind `prefix`.
    pub fn below<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a MirrorProperty)> {
        self.properties
            .iter()
            .filter_map(move |property| Some((property.key.strip_prefix(prefix)?, property)))
    }

    /// Says whether a flow's activation reads `true`: in any case, and without blanks around it.
    pub fn is_loosely_true(&self, key: &str) -> Option<bool> {
        self.get(key)
            .map(|property| property.value.eq_ignore_ascii_case("true"))
    }
}

/// Looks for a backslash that Java drops, from a line on to where it is not continued.
fn loses_backslash(lines: &[&[u8]], first: usize) -> bool {
    for line in lines.iter().skip(first.saturating_sub(1)) {
        let mut bytes = line.trim_ascii_end().iter().copied();
        let mut continued = false;
        while let Some(byte) = bytes.next() {
            if byte == b'\\' {
                match bytes.next() {
                    Some(b'.' | b'-' | b'd' | b's' | b'w') => return true,
                    Some(_) => {}
                    None => continued = true,
                }
            }
        }
        if !continued {
            break;
        }
    }
    false
}

/// Says whether a top-level key reaches every flow.
pub fn reaches_every_flow(key: &str) -> bool {
    TOP_LEVEL.contains(&key)
        || TOP_LEVEL_PREFIXES
            .iter()
            .any(|prefix| key.starts_with(prefix))
}

/// Returns the keys that mean something for a flow.
pub fn flow_keys() -> impl Iterator<Item = &'static str> {
    TOP_LEVEL.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(text: &str) -> MirrorProperties {
        MirrorProperties::new(
            "mm2.properties",
            &Properties::parse(text.as_bytes()).unwrap(),
            text.as_bytes(),
        )
    }

    fn value(text: &str, key: &str) -> Option<String> {
        let config = properties(text).connector_config("a", "b");
        config.get(key).map(|it| it.value.clone())
    }

    #[test]
    fn the_flow_wins_over_the_top_level() {
        assert_eq!(value("topics=x\na->b.topics=y", "topics").unwrap(), "y");
        assert_eq!(value("topics=x\nb->a.topics=y", "topics").unwrap(), "x");
        assert_eq!(
            value("offset.flush.interval.ms=1", "offset.flush.interval.ms"),
            None
        );
        assert_eq!(value("a->b.anything=1", "anything").unwrap(), "1");
        assert_eq!(
            value(
                "replication.policy.separator=_",
                "replication.policy.separator"
            )
            .unwrap(),
            "_"
        );
    }

    #[test]
    fn clusters_keys_are_those_of_clients() {
        let text = "a.topics=x\na.consumer.isolation.level=read_committed\nb.producer.acks=1";
        assert_eq!(value(text, "topics"), None);
        assert_eq!(value(text, "source.cluster.topics").unwrap(), "x");
        assert_eq!(
            value(text, "source.consumer.isolation.level").unwrap(),
            "read_committed"
        );
        assert_eq!(value(text, "target.producer.acks").unwrap(), "1");
    }

    #[test]
    fn a_key_that_stands_twice_keeps_its_lines() {
        let file = properties("topics=a\ntopics=b\n# c\ntopics=d");
        let property = file.get("topics").unwrap();
        assert_eq!((property.value.as_str(), property.line), ("d", 4));
        assert_eq!(property.earlier_lines, [1, 2]);
        assert_eq!(properties("clusters = b, a,b").aliases(), ["b", "a"]);
    }

    #[test]
    fn backslashes_are_those_of_java() {
        let text = "a.topics=foo\\.bar\nc.topics=t\\d+\nb.topics=t\\\\d+";
        let file = properties(text);
        let get = |key: &str| file.get(key).unwrap().value.clone();
        assert_eq!(get("a.topics"), "foo.bar");
        assert_eq!(get("c.topics"), "td+");
        assert_eq!(get("b.topics"), "t\\d+");
        let lost = |key: &str| file.get(key).unwrap().lost_backslash;
        assert!(lost("a.topics") && lost("c.topics") && !lost("b.topics"));
    }
}
