//! How far mirrors have copied a cluster's topics, by the offset syncs that lie on the cluster itself.

use super::content::{ByPartition, Folded, InternalTopic};
use super::facts::{ClusterFacts, MissingPartition};
use crate::terms::{Offset, Timestamp, TopicPartition};

/// What a mirror has copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedTo {
    /// The mirror: the alias in the name of its topic of syncs.
    pub mirror: String,
    /// The last offset of each partition that is copied for certain; syncs come some records apart.
    pub partitions: ByPartition<Offset>,
    /// When its newest sync was written.
    pub last_sync: Option<Timestamp>,
}

impl CopiedTo {
    /// Returns the last offset of `partition` that is copied for certain, `None` within if there is none; `None` if nothing
    /// of its topic ever was copied.
    pub fn copied(&self, partition: &TopicPartition) -> Option<Option<Offset>> {
        let topic = self.partitions.get(&partition.topic)?;
        Some(topic.get(&partition.partition).copied())
    }
}

/// Says whether [`copied_to`] looks at a topic.
pub fn tells_what_is_copied(topic: &str) -> bool {
    matches!(
        InternalTopic::of(topic),
        Some(InternalTopic::OffsetSyncs | InternalTopic::Configs)
    )
}

/// Returns who copies topics of a cluster; mirrors whose syncs lie on their own cluster are told by [`super::hidden_mirrors`].
pub fn copied_to(facts: &ClusterFacts) -> Vec<CopiedTo> {
    let mut all = vec![];
    for name in facts.topics() {
        let mirror = alias(name);
        let Some(Folded::OffsetSyncs(syncs)) = facts.content(name, 0).map(|it| &it.folded) else {
            continue;
        };
        if is_a_source(facts, mirror) {
            continue;
        }
        let mut partitions = ByPartition::new();
        for (topic, of_topic) in &syncs.partitions {
            let last = of_topic.iter();
            let last = last.map(|(partition, syncs)| (*partition, syncs.last.upstream));
            partitions.insert(topic.clone(), last.collect());
        }
        all.push(CopiedTo {
            mirror: mirror.to_owned(),
            partitions,
            last_sync: syncs.newest(),
        });
    }
    all
}

/// Returns the topics of syncs that the cluster has and nobody read: what their mirrors have is not known. Those of another
/// cluster's topics are not among them.
pub fn unread_syncs(facts: &ClusterFacts) -> Vec<MissingPartition> {
    let mut missing = facts.missing();
    missing.retain(|it| {
        InternalTopic::of(&it.topic) == Some(InternalTopic::OffsetSyncs)
            && it.partition == 0
            && !is_a_source(facts, alias(&it.topic))
    });
    missing
}

/// Returns the alias in the name of a topic of syncs, whatever the separator.
fn alias(name: &str) -> &str {
    let rest = name.strip_prefix("mm2-offset-syncs").unwrap_or(name);
    let rest = rest.strip_suffix("internal").unwrap_or(rest);
    rest.trim_matches(|it: char| !it.is_alphanumeric())
}

/// Says whether this cluster is the target of a flow from `alias` that keeps its syncs here: they are of that cluster's topics.
fn is_a_source(facts: &ClusterFacts, alias: &str) -> bool {
    let all = facts.connectors();
    let mut configs = all.iter().map(|(_, _, config)| config);
    configs.any(|config| {
        let value = |key: &str| config.get(key).map(|it| it.trim());
        value("source.cluster.alias") == Some(alias)
            && value("offset-syncs.topic.location")
                .is_some_and(|place| place.eq_ignore_ascii_case("target"))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::format::mirror_record::OffsetSync;
    use crate::mirror::facts::{ClusterMetadata, TopicMetadata};
    use crate::mirror::{Content, InternalRecord, LogFacts, SyncsFacts, Thinning};

    fn log(folded: Folded) -> LogFacts {
        let mut content = Content::new(InternalTopic::OffsetSyncs, Thinning::default());
        content.folded = folded;
        LogFacts {
            host: String::new(),
            dir: String::new(),
            leader_epoch: None,
            log_start_offset: Offset(0),
            log_end_offset: Offset(9),
            newest_timestamp: None,
            content: Some(content),
        }
    }

    fn syncs(pairs: &[(&str, i32, i64)]) -> Folded {
        let mut syncs = SyncsFacts::new(Thinning::default());
        for ((topic, partition, upstream), at) in pairs.iter().zip(0..) {
            let sync = OffsetSync {
                topic,
                partition: *partition,
                upstream: Offset(*upstream),
                downstream: Offset(*upstream),
            };
            let record = InternalRecord {
                offset: Offset(at),
                timestamp: Timestamp(1000 + at),
                key: &[],
                value: None,
            };
            syncs.push(topic, *partition, Some(sync), &record);
        }
        Folded::OffsetSyncs(syncs)
    }

    #[test]
    fn the_last_sync_of_each_partition_is_copied_for_certain() {
        let mut facts = ClusterFacts::default();
        let pairs = [("orders", 0, 7), ("orders", 0, 19), ("clicks", 2, 3)];
        facts.put("mm2-offset-syncs.west.internal", 0, log(syncs(&pairs)));
        let all = copied_to(&facts);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].mirror, "west");
        assert_eq!(all[0].last_sync, Some(Timestamp(1002)));
        for (topic, partition, copied) in [
            ("orders", 0, Some(Some(Offset(19)))),
            ("orders", 1, Some(None)),
            ("clicks", 2, Some(Some(Offset(3)))),
            ("never", 0, None),
        ] {
            let of = TopicPartition::new(topic, partition);
            assert_eq!(all[0].copied(&of), copied, "{of}");
        }
    }

    #[test]
    fn syncs_of_another_clusters_topics_say_nothing_of_this_one() {
        let mut facts = ClusterFacts::default();
        facts.put(
            "mm2-offset-syncs.east.internal",
            0,
            log(syncs(&[("orders", 0, 7)])),
        );
        let config = BTreeMap::from([
            ("source.cluster.alias".to_owned(), "east".to_owned()),
            (
                "offset-syncs.topic.location".to_owned(),
                "Target ".to_owned(),
            ),
        ]);
        let connectors = BTreeMap::from([("MirrorSourceConnector".to_owned(), config)]);
        assert_eq!(copied_to(&facts).len(), 1);
        facts.put(
            "mm2-configs.east.internal",
            0,
            log(Folded::Configs(connectors)),
        );
        assert_eq!(copied_to(&facts), []);
    }

    #[test]
    fn syncs_that_lie_on_another_broker_are_named() {
        let mut facts = ClusterFacts::default();
        let topic = TopicMetadata {
            replicas: BTreeMap::from([(0, vec![2, 3])]),
            ..TopicMetadata::default()
        };
        let name = "mm2-offset-syncs.west.internal";
        facts.metadata = Some(ClusterMetadata {
            topics: BTreeMap::from([(name.to_owned(), topic)]),
            ..ClusterMetadata::default()
        });
        assert_eq!(unread_syncs(&facts)[0].brokers, [2, 3]);
        facts.put(name, 0, log(syncs(&[])));
        assert_eq!(unread_syncs(&facts), []);
    }

    #[test]
    fn the_alias_is_found_whatever_the_separator() {
        for name in [
            "mm2-offset-syncs.us-west.internal",
            "mm2-offset-syncs_us-west_internal",
            "mm2-offset-syncs__us-west__internal",
        ] {
            assert_eq!(alias(name), "us-west", "{name}");
        }
    }
}
