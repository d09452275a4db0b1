//! What is known of the clusters of a flow, each with its source and age; every part may be absent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::content::{
    ByPartition, CheckpointFact, Content, Folded, GroupFacts, HeartbeatFact, PositionFact,
    StatusFact,
};
use super::copy_look::{CopyFact, TransactionalIds};
use super::properties::MirrorProperties;
use super::syncs::SyncsFacts;
use crate::terms::{LeaderEpoch, Offset, ProducerId, Timestamp};

/// The layout of facts as JSON; files of another one are refused.
pub const FACTS_SCHEMA: u32 = 1;

/// All that is known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The configuration of MirrorMaker 2, where its file was named.
    pub properties: Option<MirrorProperties>,
    /// The clusters by alias.
    pub clusters: BTreeMap<String, ClusterFacts>,
    /// Clusters that were asked and did not answer: where, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unreached: BTreeMap<String, String>,
}

/// What is known of one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClusterFacts {
    /// Its id.
    pub cluster_id: Option<String>,
    /// Where the facts are from.
    pub sources: Vec<FactSource>,
    /// What the cluster's metadata says; from disk as of its time.
    pub metadata: Option<ClusterMetadata>,
    /// The logs that were seen, by topic and partition.
    pub logs: ByPartition<LogFacts>,
    /// What only a live cluster tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveFacts>,
    /// Groups as a live cluster told them, instead of the content of `__consumer_offsets`.
    pub live_groups: Option<BTreeMap<String, GroupFacts>>,
    /// The first records that are not copied, by partition of this cluster, where somebody looked for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uncopied: ByPartition<UncopiedFact>,
    /// What the records of copies tell, by partition of this cluster, where somebody looked at them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub copies: ByPartition<CopyFact>,
    /// Which producer has which transactional id, where somebody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactional_ids: Option<TransactionalIds>,
    /// What was wrong with what was read.
    pub findings: Vec<FactFinding>,
}

/// The first record of a partition that a flow has not copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncopiedFact {
    /// Its offset, or the next one that is there.
    pub offset: Offset,
    /// The largest timestamp of its segment, by which retention goes; of its batch where a live cluster told.
    pub timestamp: Timestamp,
    /// Bytes of the segments behind its own; its share of the log where a live cluster told.
    #[serde(default)]
    pub bytes_behind: Option<u64>,
}

/// What only a live cluster tells.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LiveFacts {
    /// Brokers that make a topic which somebody asks for; `None` where their settings are not told.
    pub auto_create: Option<bool>,
    /// Grants and denials of topics; `None` where they are not told.
    pub acls: Option<Acls>,
    /// How long a group without members keeps its commits, in ms; `None` where brokers do not tell.
    #[serde(default)]
    pub offsets_retention_ms: Option<i64>,
    /// Producers with an id that a leader remembers, by partition of the copies.
    pub producers: ByPartition<Vec<ProducerFact>>,
}

/// Who may do what to topics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acls {
    /// The cluster has no authorizer: everybody may do everything.
    NoAuthorizer,
    /// These rules.
    Rules(Vec<AclFact>),
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "two facts apart, as Kafka tells them"
)]
pub struct AclFact {
    /// The topic, or its prefix; `*` for all.
    pub topic: String,
    /// Whether the name is a prefix.
    pub prefixed: bool,
    /// Whom it concerns, such as `User:alice`.
    pub principal: String,
    /// What, in Kafka's words, such as `WRITE`.
    pub operation: String,
    /// Whether it grants; else it denies.
    pub allows: bool,
}

impl AclFact {
    /// Says whether the rule is on `topic`.
    pub(super) fn names(&self, topic: &str) -> bool {
        match (self.prefixed, self.topic.as_str()) {
            (true, prefix) => topic.starts_with(prefix),
            (false, "*") => true,
            (false, name) => name == topic,
        }
    }

    /// Says whether it is on writing, that or with all else.
    pub(super) fn is_to_write(&self) -> bool {
        matches!(self.operation.as_str(), "WRITE" | "ALL")
    }
}

/// A producer that a leader remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProducerFact {
    /// Its id.
    pub producer_id: ProducerId,
    /// When its last batch was written.
    pub last_timestamp: Timestamp,
}

/// One place that facts were read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactSource {
    /// The host that read them.
    pub host: String,
    /// The log dirs, or the address of a live cluster.
    pub places: Vec<String>,
    /// The broker's id, where its dirs tell it.
    pub node_id: Option<i32>,
    /// When they were read.
    pub read_at: Timestamp,
    /// Whether a live cluster answered.
    pub live: bool,
}

/// What was wrong while facts were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactFinding {
    /// Where: a dir, a file, a topic.
    pub place: String,
    /// What.
    pub text: String,
}

/// What a cluster's metadata says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClusterMetadata {
    /// The time of the last record in it.
    pub timestamp: Option<Timestamp>,
    /// The brokers by id, with their rack.
    pub brokers: BTreeMap<i32, Option<String>>,
    /// The topics.
    pub topics: BTreeMap<String, TopicMetadata>,
}

/// What a cluster's metadata says of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TopicMetadata {
    /// The replicas of each partition.
    pub replicas: BTreeMap<i32, Vec<i32>>,
    /// The topic's own settings.
    pub configs: BTreeMap<String, String>,
    /// What is in force for the topic, its brokers' settings and Kafka's defaults too; a live cluster alone tells it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub in_force: BTreeMap<String, String>,
}

/// One replica of a partition: its ends, and what it holds if it is one of MirrorMaker 2's topics or of the groups'.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFacts {
    /// The host that has it.
    pub host: String,
    /// Its partition dir; empty where a live cluster told.
    pub dir: String,
    /// The epoch of its last leader; `None` if it has none.
    pub leader_epoch: Option<LeaderEpoch>,
    /// The first offset.
    pub log_start_offset: Offset,
    /// The offset behind the last record.
    pub log_end_offset: Offset,
    /// The largest timestamp of its last batch, or of all where a live cluster told; `None` where it has no batch.
    pub newest_timestamp: Option<Timestamp>,
    /// What it holds.
    pub content: Option<Content>,
}

impl LogFacts {
    /// Says which of two replicas knows more.
    fn rank(&self) -> (Option<LeaderEpoch>, Offset) {
        (self.leader_epoch, self.log_end_offset)
    }
}

impl Facts {
    /// Takes the facts of another host; of two replicas the one with the higher leader epoch and end counts.
    pub fn merge(&mut self, other: Self) {
        if self.properties.is_none() {
            self.properties = other.properties;
        }
        self.unreached.extend(other.unreached);
        for (alias, facts) in other.clusters {
            self.clusters.entry(alias).or_default().merge(facts);
        }
    }
}

impl Facts {
    /// Takes the facts of one cluster.
    pub fn merge_cluster(&mut self, alias: &str, facts: ClusterFacts) {
        self.clusters
            .entry(alias.to_owned())
            .or_default()
            .merge(facts);
    }
}

impl ClusterFacts {
    fn merge(&mut self, other: Self) {
        self.cluster_id = self.cluster_id.take().or(other.cluster_id);
        self.sources.extend(other.sources);
        self.findings.extend(other.findings);
        for (topic, partitions) in other.uncopied {
            self.uncopied.entry(topic).or_default().extend(partitions);
        }
        for (topic, partitions) in other.copies {
            self.copies.entry(topic).or_default().extend(partitions);
        }
        self.transactional_ids = self.transactional_ids.take().or(other.transactional_ids);
        self.live_groups = self.live_groups.take().or(other.live_groups);
        self.live = self.live.take().or(other.live);
        let time = |metadata: &Option<ClusterMetadata>| {
            metadata.as_ref().and_then(|metadata| metadata.timestamp)
        };
        if time(&other.metadata) > time(&self.metadata) || self.metadata.is_none() {
            self.metadata = other.metadata;
        }
        for (topic, partitions) in other.logs {
            for (partition, log) in partitions {
                self.put(&topic, partition, log);
            }
        }
    }

    /// Takes a replica, unless one that knows more is there.
    pub fn put(&mut self, topic: &str, partition: i32, log: LogFacts) {
        let logs = self.logs.entry(topic.to_owned()).or_default();
        match logs.get(&partition) {
            Some(known) if known.rank() >= log.rank() => {}
            _ => {
                logs.insert(partition, log);
            }
        }
    }

    /// Returns what is known of a partition's log.
    pub fn log(&self, topic: &str, partition: i32) -> Option<&LogFacts> {
        self.logs.get(topic)?.get(&partition)
    }

    /// Returns the topics that are known, sorted.
    pub fn topics(&self) -> Vec<&str> {
        let named = self.metadata.iter().flat_map(|it| it.topics.keys());
        let mut topics: Vec<&str> = named.chain(self.logs.keys()).map(String::as_str).collect();
        topics.sort_unstable();
        topics.dedup();
        topics
    }

    /// Returns the partitions of a topic that are known.
    pub fn partitions(&self, topic: &str) -> Vec<i32> {
        let named = self
            .topic(topic)
            .into_iter()
            .flat_map(|it| it.replicas.keys());
        let seen = self.logs.get(topic).into_iter().flat_map(BTreeMap::keys);
        let mut partitions: Vec<i32> = named.chain(seen).copied().collect();
        partitions.sort_unstable();
        partitions.dedup();
        partitions
    }

    /// Returns what the metadata says of a topic.
    pub fn topic(&self, topic: &str) -> Option<&TopicMetadata> {
        self.metadata.as_ref()?.topics.get(topic)
    }

    /// Returns a topic's own setting; `None` where no metadata is known or the topic has none.
    pub fn topic_config(&self, topic: &str, key: &str) -> Option<&str> {
        self.topic(topic)?.configs.get(key).map(String::as_str)
    }

    /// Returns what is in force for a topic: its own setting, else what a live cluster said; `None` where neither tells.
    pub fn topic_setting(&self, topic: &str, key: &str) -> Option<&str> {
        let topic = self.topic(topic)?;
        let own = topic.configs.get(key).or_else(|| topic.in_force.get(key));
        own.map(String::as_str)
    }

    /// Returns the content of a topic's partition.
    pub fn content(&self, topic: &str, partition: i32) -> Option<&Content> {
        self.log(topic, partition)?.content.as_ref()
    }

    /// Returns the contents of a topic's partitions.
    fn contents<'a>(&'a self, topic: &str) -> impl Iterator<Item = &'a Content> + use<'a> {
        self.logs
            .get(topic)
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter_map(|log| log.content.as_ref())
    }

    /// Returns the offset syncs in a topic; only its partition 0 is ever read.
    pub fn offset_syncs(&self, topic: &str) -> Option<&SyncsFacts> {
        match &self.content(topic, 0)?.folded {
            Folded::OffsetSyncs(syncs) => Some(syncs),
            _ => None,
        }
    }

    /// Returns the content of a topic of checkpoints.
    pub fn checkpoints(
        &self,
        topic: &str,
    ) -> Option<&BTreeMap<String, ByPartition<CheckpointFact>>> {
        match &self.content(topic, 0)?.folded {
            Folded::Checkpoints(checkpoints) => Some(checkpoints),
            _ => None,
        }
    }

    /// Returns the newest heartbeats of a topic.
    pub fn heartbeats(&self, topic: &str) -> &[HeartbeatFact] {
        match self.content(topic, 0).map(|content| &content.folded) {
            Some(Folded::Heartbeats(heartbeats)) => heartbeats,
            _ => &[],
        }
    }

    /// Returns how far Connect got with a partition of cluster `source`, by whichever topic of positions tells.
    pub fn position(&self, source: &str, topic: &str, partition: i32) -> Option<&PositionFact> {
        self.all_contents()
            .filter_map(|content| match &content.folded {
                Folded::Positions(positions) => positions.get(source)?.get(topic)?.get(&partition),
                _ => None,
            })
            .max_by_key(|fact| fact.timestamp)
    }

    /// Returns the connectors' configurations, each with its topic.
    pub fn connectors(&self) -> Vec<(&str, &str, &BTreeMap<String, String>)> {
        let mut connectors = vec![];
        for (topic, partitions) in &self.logs {
            for log in partitions.values() {
                if let Some(Folded::Configs(configs)) =
                    log.content.as_ref().map(|content| &content.folded)
                {
                    let here = configs.iter();
                    connectors
                        .extend(here.map(|(name, config)| (topic.as_str(), name.as_str(), config)));
                }
            }
        }
        connectors
    }

    /// Returns the states of connectors and tasks in topics whose name holds `word`.
    pub fn statuses(&self, word: &str) -> Vec<&StatusFact> {
        let topics = self.logs.keys().filter(|topic| topic.contains(word));
        topics
            .flat_map(|topic| self.contents(topic))
            .filter_map(|content| match &content.folded {
                Folded::Statuses(statuses) => Some(statuses),
                _ => None,
            })
            .flatten()
            .collect()
    }

    /// Returns the groups; `None` where neither a live cluster nor any partition of `__consumer_offsets` tells.
    pub fn groups(&self) -> Option<BTreeMap<&str, &GroupFacts>> {
        if let Some(groups) = &self.live_groups {
            return Some(
                groups
                    .iter()
                    .map(|(name, it)| (name.as_str(), it))
                    .collect(),
            );
        }
        self.logs.get(GROUPS_TOPIC)?;
        let mut all = BTreeMap::new();
        for content in self.contents(GROUPS_TOPIC) {
            if let Folded::Groups(groups) = &content.folded {
                all.extend(groups.iter().map(|(name, it)| (name.as_str(), it)));
            }
        }
        Some(all)
    }

    /// Returns what MirrorMaker 2 calls this cluster: the target in its connectors' configurations or heartbeats.
    pub fn own_alias(&self) -> Option<String> {
        let configured = self
            .connectors()
            .into_iter()
            .find_map(|(_, _, config)| config.get("target.cluster.alias").cloned());
        let beats = self.heartbeats(super::HEARTBEATS).first();
        configured.or_else(|| beats.map(|beat| beat.target.clone()))
    }

    fn all_contents(&self) -> impl Iterator<Item = &Content> {
        let logs = self.logs.values().flat_map(BTreeMap::values);
        logs.filter_map(|log| log.content.as_ref())
    }

    /// Returns the partitions of MirrorMaker 2's topics and of the groups' that the metadata names and nobody read, each
    /// with the brokers that hold it.
    pub fn missing(&self) -> Vec<MissingPartition> {
        let mut missing = vec![];
        for (topic, metadata) in self.metadata.iter().flat_map(|it| &it.topics) {
            let groups = topic == GROUPS_TOPIC && self.live_groups.is_some();
            if groups || super::content::InternalTopic::of(topic).is_none() {
                continue;
            }
            for (partition, brokers) in &metadata.replicas {
                if self.log(topic, *partition).is_none() {
                    missing.push(MissingPartition {
                        topic: topic.clone(),
                        partition: *partition,
                        brokers: brokers.clone(),
                    });
                }
            }
        }
        missing
    }
}

/// The topic of groups and commits.
pub const GROUPS_TOPIC: &str = "__consumer_offsets";

/// A partition that nobody read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPartition {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The brokers that hold it, by the metadata.
    pub brokers: Vec<i32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(host: &str, epoch: i32, end: i64) -> LogFacts {
        LogFacts {
            host: host.to_owned(),
            dir: format!("/data/{host}"),
            leader_epoch: Some(LeaderEpoch(epoch)),
            log_start_offset: Offset(0),
            log_end_offset: Offset(end),
            newest_timestamp: None,
            content: None,
        }
    }

    #[test]
    fn of_two_replicas_the_one_that_knows_more_counts() {
        let with = |log: LogFacts| {
            let mut cluster = ClusterFacts::default();
            cluster.put("t", 0, log);
            Facts {
                clusters: BTreeMap::from([("a".to_owned(), cluster)]),
                ..Facts::default()
            }
        };
        for (first, second, winner) in [
            (log("one", 3, 10), log("two", 3, 11), "two"),
            (log("one", 4, 5), log("two", 3, 11), "one"),
            (log("one", 3, 11), log("two", 3, 11), "one"),
        ] {
            let mut facts = with(first);
            facts.merge(with(second));
            assert_eq!(facts.clusters["a"].log("t", 0).unwrap().host, winner);
        }
    }

    #[test]
    fn a_partition_that_nobody_read_is_named_with_its_brokers() {
        let mut cluster = ClusterFacts::default();
        let replicas = BTreeMap::from([(0, vec![1]), (1, vec![2, 3])]);
        let topic = TopicMetadata {
            replicas,
            ..TopicMetadata::default()
        };
        let topics = BTreeMap::from([
            (GROUPS_TOPIC.to_owned(), topic.clone()),
            ("orders".to_owned(), topic),
        ]);
        cluster.metadata = Some(ClusterMetadata {
            topics,
            ..ClusterMetadata::default()
        });
        cluster.put(GROUPS_TOPIC, 0, log("one", 1, 1));
        let missing = cluster.missing();
        assert_eq!(missing.len(), 1);
        assert_eq!(
            (missing[0].partition, &missing[0].brokers),
            (1, &vec![2, 3])
        );
    }
}
