//! What log dirs tell of a copy's own records: who wrote them, and whether the source has their like.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::facts::{ClusterFacts, Facts};
use super::flow::{Flow, FlowState};
use super::lag::{PartitionLag, flow_status};
use super::sync_store::SyncPair;
use super::syncs::{PartitionSyncs, SyncEventKind};
use super::translate::partition_syncs;
use crate::terms::{Offset, Timestamp, TopicPartition};

/// What the batches of a copy tell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CopyFact {
    /// The first offset that was looked at; what lies before it was too much.
    pub from: Offset,
    /// Producers with an id that wrote records there, by that id.
    pub producers: BTreeMap<i64, CopyProducer>,
    /// The codecs of its batches, by Kafka's names.
    pub codecs: BTreeSet<String>,
    /// What lies before a sync that shows too much, by that sync's offset on the target.
    pub excesses: BTreeMap<i64, ExcessFact>,
    /// Its records against the source's; `None` where they were not compared.
    pub unlike: Option<UnlikeFact>,
}

/// What a producer with an id wrote to a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyProducer {
    /// The first offset of its first batch.
    pub first_offset: Offset,
    /// The last offset of its last one.
    pub last_offset: Offset,
    /// When that was written.
    pub last_timestamp: Timestamp,
}

/// What lies between two syncs of which the second shows more on the target than the source gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcessFact {
    /// Offsets that markers of transactions take there.
    pub markers: u64,
    /// Whether the records too many are the same as those from the second sync on: copied twice.
    pub copied_again: bool,
}

/// Records of a copy against the source's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlikeFact {
    /// How many were compared.
    pub compared: u64,
    /// How many have no record of the same timestamp, key and value on the source.
    pub unlike: u64,
    /// The first of those.
    pub first: Option<Offset>,
}

/// The transactional ids of a cluster, from `__transaction_state`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TransactionalIds {
    /// By the producer's id.
    pub by_producer: BTreeMap<i64, String>,
    /// Whether each partition of the topic was read.
    pub complete: bool,
}

/// A copy whose records are to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyLook {
    /// The alias and the partition of its source.
    pub source: (String, TopicPartition),
    /// The alias of its cluster, and the copy.
    pub target: (String, TopicPartition),
    /// Syncs in a row of which the second shows too much.
    pub excesses: Vec<(SyncPair, SyncPair)>,
    /// The offsets of the copy, both inclusive, that can be compared with the source.
    pub comparable: Option<(Offset, Offset)>,
}

/// Returns the copies whose records are worth a look.
pub fn copy_looks(facts: &Facts, flows: &[Flow]) -> Vec<CopyLook> {
    let mut looks = vec![];
    for flow in flows.iter().filter(|flow| flow.state == FlowState::Active) {
        for lag in flow_status(facts, flow).partitions {
            let (Some(remote), Some(_)) = (&lag.remote_topic, lag.target) else {
                continue;
            };
            let syncs = partition_syncs(facts, flow, &lag.topic, lag.partition).flatten();
            let events = syncs.into_iter().flat_map(|syncs| &syncs.events);
            let excesses = events.filter(|event| event.kind == SyncEventKind::Excess);
            looks.push(CopyLook {
                source: (
                    flow.name.source.clone(),
                    TopicPartition::new(lag.topic.clone(), lag.partition),
                ),
                target: (
                    flow.name.target.clone(),
                    TopicPartition::new(remote.clone(), lag.partition),
                ),
                excesses: excesses.map(|event| (event.before, event.after)).collect(),
                comparable: syncs.and_then(|syncs| comparable(facts, flow, &lag, syncs)),
            });
        }
    }
    looks
}

/// Returns the part of a copy that came from what the source still has.
fn comparable(
    facts: &Facts,
    flow: &Flow,
    lag: &PartitionLag,
    syncs: &PartitionSyncs,
) -> Option<(Offset, Offset)> {
    let (start, end) = lag.source?;
    let source = facts.clusters.get(&flow.name.source)?;
    let target = facts.clusters.get(&flow.name.target)?;
    let remote = lag.remote_topic.as_deref()?;
    // A source that was made anew, or that has lost its end, no longer has what was copied of it.
    let lost = syncs.last.upstream >= end
        || syncs.events.iter().any(|event| match event.kind {
            SyncEventKind::UpstreamRewind => {
                event.after.upstream < start || event.after.upstream.0 == 0
            }
            _ => false,
        });
    let keeps = |cluster: &ClusterFacts, topic: &str, key: &str, word: &str| {
        let value = cluster.topic_setting(topic, key);
        value.is_none_or(|value| !value.contains(word))
    };
    // A topic that is compacted loses records one by one; transforms and a broker's own time change them.
    let same = source.metadata.is_some()
        && keeps(source, &lag.topic, "cleanup.policy", "compact")
        && keeps(target, remote, "message.timestamp.type", "LogAppendTime")
        && flow.value("transforms").is_none_or(str::is_empty);
    let first = syncs.history.iter().find(|pair| pair.upstream >= start)?;
    (same && !lost).then_some((first.downstream, syncs.last.downstream))
}
