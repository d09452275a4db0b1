//! The flows that facts tell of, with the configuration that is nearest to what runs.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{ClusterFacts, Facts};
use super::flow::{ConfigOrigin, Flow, FlowName, FlowState, flows_of_file};
use super::properties::ConfigValue;
use crate::terms::KafkaVersion;

/// The release that is assumed where nothing tells: the newest whose MirrorMaker 2 was compared.
const NEWEST_KNOWN: KafkaVersion = KafkaVersion::new(4, 3, 1);
/// What a worker is whose states carry no version.
const WITHOUT_VERSION: KafkaVersion = KafkaVersion::new(3, 9, 1);

/// How the release of MirrorMaker 2 is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VersionSource {
    /// It was given.
    Given,
    /// The connectors' states tell it.
    Status,
    /// The connectors' states tell none, as up to 4.0.
    StatusWithout,
    /// Nothing tells.
    Assumed,
}

impl std::fmt::Display for VersionSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Given => "given",
            Self::Status => "told by the connectors' states",
            Self::StatusWithout => "the connectors' states tell none, as up to 4.0",
            Self::Assumed => "assumed",
        })
    }
}

/// Returns the release of the MirrorMaker 2 that writes to a target.
pub fn version_of(
    target: Option<&ClusterFacts>,
    given: Option<KafkaVersion>,
) -> (KafkaVersion, VersionSource) {
    if let Some(given) = given {
        return (given, VersionSource::Given);
    }
    let statuses = target.map_or_else(Vec::new, |target| target.statuses("status"));
    let told = statuses
        .iter()
        .filter(|status| status.version.is_some())
        .max_by_key(|status| status.timestamp)
        .and_then(|status| status.version.as_ref()?.parse().ok());
    match told {
        Some(version) => (version, VersionSource::Status),
        None if statuses.is_empty() => (NEWEST_KNOWN, VersionSource::Assumed),
        None => (WITHOUT_VERSION, VersionSource::StatusWithout),
    }
}

/// Returns the flows: every pair of a file's clusters; without a file those whose connectors, syncs or checkpoints are
/// seen.
pub fn known_flows(facts: &Facts, given: Option<KafkaVersion>) -> Vec<Flow> {
    if let Some(file) = &facts.properties {
        let aliases = file.aliases();
        let mut flows = vec![];
        for target in &aliases {
            let (version, _) = version_of(facts.clusters.get(target), given);
            let here = flows_of_file(file, version);
            flows.extend(here.into_iter().filter(|flow| flow.name.target == *target));
        }
        flows.sort_by(|a, b| a.name.cmp(&b.name));
        return flows;
    }
    let mut flows: BTreeMap<FlowName, Flow> = BTreeMap::new();
    for cluster in facts.clusters.values() {
        let (version, _) = version_of(Some(cluster), given);
        for flow in flows_of_connectors(cluster, version) {
            flows.entry(flow.name.clone()).or_insert(flow);
        }
    }
    for (alias, cluster) in &facts.clusters {
        for name in seen_flows(alias, cluster) {
            flows.entry(name.clone()).or_insert_with(|| {
                let (version, _) = version_of(facts.clusters.get(&name.target), given);
                let origin = ConfigOrigin::Defaults;
                Flow::new(name, FlowState::Active, origin, BTreeMap::new(), version)
            });
        }
    }
    flows.into_values().collect()
}

/// Returns the flows whose connectors' configurations lie on their target.
pub fn flows_of_connectors(target: &ClusterFacts, version: KafkaVersion) -> Vec<Flow> {
    let mut flows: Vec<Flow> = vec![];
    let class = |config: &BTreeMap<String, String>, name: &str| {
        let class = config.get("connector.class");
        class.is_some_and(|class| class.rsplit('.').next() == Some(name))
    };
    let connectors = target.connectors();
    for (topic, _, config) in &connectors {
        if !class(config, "MirrorSourceConnector") {
            continue;
        }
        let ends = ["source.cluster.alias", "target.cluster.alias"].map(|key| config.get(key));
        let [Some(source), Some(target)] = ends else {
            continue;
        };
        let name = FlowName::new(source, target);
        let mut merged = values(config);
        // Group keys may stand with the connector of checkpoints alone.
        let beside = connectors.iter().find(|(_, _, other)| {
            class(other, "MirrorCheckpointConnector")
                && other.get("source.cluster.alias") == Some(source)
        });
        if let Some((_, _, other)) = beside {
            for (key, value) in values(other) {
                merged.entry(key).or_insert(value);
            }
        }
        let origin = ConfigOrigin::Connectors {
            topic: (*topic).to_owned(),
        };
        let mut flow = Flow::new(name, FlowState::Active, origin, merged, version);
        flow.state = match flow.bool("enabled", true) {
            Some(true) => FlowState::Active,
            Some(false) => FlowState::HeartbeatOnly,
            None => FlowState::Invalid,
        };
        flows.push(flow);
    }
    flows
}

fn values(config: &BTreeMap<String, String>) -> BTreeMap<String, ConfigValue> {
    let value = |text: &String| ConfigValue {
        value: text.clone(),
        line: None,
    };
    config
        .iter()
        .map(|(key, text)| (key.clone(), value(text)))
        .collect()
}

/// Returns the flows that the names of a cluster's topics tell of.
fn seen_flows(alias: &str, cluster: &ClusterFacts) -> BTreeSet<FlowName> {
    let mut flows = BTreeSet::new();
    for topic in cluster.topics() {
        let Some((other, kind)) = own_topic(topic) else {
            continue;
        };
        // Offset syncs lie on the source, unless the target has checkpoints of the same alias: then they may lie there.
        let flow = match kind {
            OwnTopic::Checkpoints | OwnTopic::Configs => FlowName::new(other, alias),
            OwnTopic::OffsetSyncs => FlowName::new(alias, other),
        };
        flows.insert(flow);
    }
    let back = |flow: &FlowName| FlowName::new(flow.target.clone(), flow.source.clone());
    let configured: Vec<FlowName> = cluster
        .topics()
        .into_iter()
        .filter(|topic| matches!(own_topic(topic), Some((_, OwnTopic::OffsetSyncs))))
        .filter_map(|topic| Some(FlowName::new(alias, own_topic(topic)?.0)))
        .filter(|flow| flows.contains(&back(flow)))
        .collect();
    for flow in configured {
        // Both directions seem to lie here: only connectors tell, and those of the other cluster are not known.
        let syncs = cluster
            .topics()
            .into_iter()
            .find(|topic| own_topic(topic) == Some((flow.target.as_str(), OwnTopic::OffsetSyncs)));
        let source_topics = syncs
            .and_then(|topic| cluster.offset_syncs(topic))
            .map(|syncs| {
                syncs
                    .partitions
                    .keys()
                    .all(|topic| cluster.logs.contains_key(topic))
            });
        if source_topics == Some(false) {
            flows.remove(&flow);
        }
    }
    flows
}

/// What a topic of MirrorMaker 2's own holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnTopic {
    OffsetSyncs,
    Checkpoints,
    Configs,
}

/// Tells the alias in a name of MirrorMaker 2's own, whatever the separator.
pub(super) fn own_topic(topic: &str) -> Option<(&str, OwnTopic)> {
    let between = |start: &str, end: &str| {
        let rest = topic.strip_prefix(start)?.strip_suffix(end)?;
        let separator = rest.chars().next().filter(|it| !it.is_alphanumeric())?;
        let alias = rest.strip_prefix(separator)?.strip_suffix(separator)?;
        (!alias.is_empty()).then_some(alias)
    };
    if let Some(alias) = between("mm2-offset-syncs", "internal") {
        return Some((alias, OwnTopic::OffsetSyncs));
    }
    if let Some(alias) = between("mm2-configs", "internal") {
        return Some((alias, OwnTopic::Configs));
    }
    let rest = topic.strip_suffix("internal")?;
    let separator = rest
        .chars()
        .next_back()
        .filter(|it| !it.is_alphanumeric())?;
    let rest = rest.strip_suffix(separator)?.strip_suffix("checkpoints")?;
    let alias = rest.strip_suffix(separator)?;
    (!alias.is_empty()).then_some((alias, OwnTopic::Checkpoints))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_topics_tell_the_other_cluster() {
        for (topic, told) in [
            (
                "mm2-offset-syncs.secondary.internal",
                Some(("secondary", OwnTopic::OffsetSyncs)),
            ),
            (
                "mm2-offset-syncs_us-west_internal",
                Some(("us-west", OwnTopic::OffsetSyncs)),
            ),
            (
                "primary.checkpoints.internal",
                Some(("primary", OwnTopic::Checkpoints)),
            ),
            (
                "mm2-configs.primary.internal",
                Some(("primary", OwnTopic::Configs)),
            ),
            ("xcheckpoints.internal", None),
            (".checkpoints.internal", None),
            ("mm2stuff.internal", None),
            ("orders", None),
        ] {
            assert_eq!(own_topic(topic), told, "{topic}");
        }
    }
}
