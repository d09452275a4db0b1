//! How far a flow is: what it copies, how many records of each partition it is behind, when it last gave a sign of life.

use std::collections::BTreeMap;

use super::content::{InternalTopic, StatusFact};
use super::facts::{ClusterFacts, Facts, LogFacts};
use super::flow::{Flow, FlowState, TopicVerdict};
use super::headroom::{Headroom, headroom};
use super::policy::HEARTBEATS;
use super::sync_store::SyncPair;
use super::translate::partition_syncs;
use crate::terms::{Offset, Timestamp};

/// The state of one flow.
#[derive(Debug, Clone)]
pub struct FlowStatus {
    /// The source's topics, each with why it is copied or not; those of Kafka and MirrorMaker 2 are left out.
    pub topics: Vec<(String, TopicVerdict)>,
    /// The partitions that are copied.
    pub partitions: Vec<PartitionLag>,
    /// When the newest offset sync was written.
    pub last_sync: Option<Timestamp>,
    /// When the newest checkpoint was written.
    pub last_checkpoint: Option<Timestamp>,
    /// The newest heartbeat that came through the flow.
    pub heartbeat: Option<Timestamp>,
    /// The newest heartbeat of the flow's own worker, on the target.
    pub worker_heartbeat: Option<Timestamp>,
    /// The last word of its connectors and tasks. After a kill they still say RUNNING.
    pub tasks: Vec<StatusFact>,
    /// The clusters whose heartbeats reach the target, with how many flows lie between (as `MirrorClient` counts them).
    pub hops: BTreeMap<String, u32>,
    /// How many members the workers' group has; `None` if the target's groups are not known.
    pub workers: Option<usize>,
}

/// How far one partition is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionLag {
    /// The topic by its name on the source.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The topic by its name on the target.
    pub remote_topic: Option<String>,
    /// The source's first offset and the one behind its last.
    pub source: Option<(Offset, Offset)>,
    /// The target's first offset and the one behind its last.
    pub target: Option<(Offset, Offset)>,
    /// The offset of the last record that Connect knows to be copied.
    pub position: Option<Offset>,
    /// The newest sync.
    pub last_sync: Option<SyncPair>,
    /// The last record of the source that was copied, as far as ends and syncs tell.
    pub copied: Option<Offset>,
    /// How many offsets of the source follow it; `None` where either is not known.
    pub behind: Option<u64>,
    /// The same by what is known for certain.
    pub behind_at_most: Option<u64>,
    /// How many offsets retention may take on the source before it takes one that is not copied; below 0 it did.
    pub headroom: Option<i64>,
    /// The same by the limits of retention.
    pub retention: Headroom,
    /// The timestamp of the last batch on the target.
    pub newest_copied: Option<Timestamp>,
    /// The timestamp of the last batch on the source.
    pub newest_written: Option<Timestamp>,
}

/// Returns the state of a flow; a flow that is not active has no partitions.
pub fn flow_status(facts: &Facts, flow: &Flow) -> FlowStatus {
    let source = facts.clusters.get(&flow.name.source);
    let target = facts.clusters.get(&flow.name.target);
    let (syncs_alias, syncs_topic) = flow.offset_syncs_topic();
    let syncs = facts.clusters.get(syncs_alias);
    let topics = topics(facts, flow);
    let heartbeats = flow.remote_topic(HEARTBEATS);
    let beat = |topic: &str| {
        let beats = target.map_or(&[][..], |target| target.heartbeats(topic));
        beats.iter()
    };
    let checkpoints = flow.checkpoints_topic();
    let workers = format!("{}-mm2", flow.name.source);
    FlowStatus {
        partitions: if flow.state == FlowState::Active {
            partitions(facts, flow, &topics)
        } else {
            vec![]
        },
        topics,
        last_sync: syncs
            .and_then(|cluster| cluster.offset_syncs(&syncs_topic))
            .and_then(super::SyncsFacts::newest),
        last_checkpoint: target
            .and_then(|target| target.content(&checkpoints, 0))
            .and_then(|content| content.newest_timestamp),
        heartbeat: heartbeats
            .iter()
            .flat_map(|topic| beat(topic))
            .map(|beat| beat.timestamp)
            .max(),
        worker_heartbeat: beat(HEARTBEATS)
            .filter(|it| it.source == flow.name.source && it.target == flow.name.target)
            .map(|beat| beat.timestamp)
            .max(),
        tasks: target
            .map(|target| target.statuses(&format!("status.{}.", flow.name.source)))
            .unwrap_or_default()
            .into_iter()
            .cloned()
            .collect(),
        hops: target.map_or_else(BTreeMap::new, |target| hops(flow, target)),
        workers: target.and_then(ClusterFacts::groups).map(|groups| {
            groups
                .get(workers.as_str())
                .map_or(0, |group| group.members.len())
        }),
    }
    .with_known(source.is_some())
}

/// Counts the flows behind each cluster whose heartbeats are on the target, by the names of their topics.
fn hops(flow: &Flow, target: &ClusterFacts) -> BTreeMap<String, u32> {
    let mut hops = BTreeMap::new();
    for topic in target.topics() {
        if !flow.policy.is_heartbeats(topic) {
            continue;
        }
        let mut name = topic;
        while let Some(source) = flow.policy.source(name) {
            if let Some(count) = flow.policy.hops(topic, source) {
                let known = hops.entry(source.to_owned()).or_insert(count);
                *known = count.min(*known);
            }
            match flow.policy.upstream(name) {
                Some(upstream) if upstream.len() < name.len() => name = upstream,
                _ => break,
            }
        }
    }
    hops
}

impl FlowStatus {
    /// Without the source's topics nothing can be said of those that are not copied.
    fn with_known(mut self, source_known: bool) -> Self {
        if !source_known {
            self.topics
                .retain(|(_, verdict)| verdict.is_copied() == Some(true));
        }
        self
    }

    /// Returns how many records all partitions are behind, and how many of them do not tell.
    pub fn behind(&self) -> (u64, usize) {
        let known = self.partitions.iter().filter_map(|it| it.behind);
        let unknown = self.partitions.iter().filter(|it| it.behind.is_none());
        (known.sum(), unknown.count())
    }

    /// Returns how many topics are copied.
    pub fn copied_topics(&self) -> usize {
        let copied = |verdict: &TopicVerdict| verdict.is_copied() == Some(true);
        self.topics.iter().filter(|(_, it)| copied(it)).count()
    }

    /// Returns the worst state of a connector or task: one that failed, else the first that does not run.
    pub fn task_state(&self) -> Option<&StatusFact> {
        let failed = self.tasks.iter().find(|it| it.state == "FAILED");
        failed
            .or_else(|| self.tasks.iter().find(|it| it.state != "RUNNING"))
            .or(self.tasks.first())
    }
}

/// Returns the source's topics with what becomes of them; without the source those that lie on the target.
fn topics(facts: &Facts, flow: &Flow) -> Vec<(String, TopicVerdict)> {
    if let Some(source) = facts.clusters.get(&flow.name.source) {
        return source
            .topics()
            .into_iter()
            .filter(|topic| !topic.starts_with("__"))
            .filter(|topic| {
                let own = InternalTopic::of(topic);
                matches!(own, None | Some(InternalTopic::Heartbeats))
            })
            .map(|topic| (topic.to_owned(), flow.topic(topic)))
            .collect();
    }
    let Some(target) = facts.clusters.get(&flow.name.target) else {
        return vec![];
    };
    let remote = target
        .topics()
        .into_iter()
        .filter(|topic| !flow.policy.is_internal(topic))
        .filter(|topic| flow.policy.source(topic) == Some(flow.name.source.as_str()))
        .filter_map(|topic| flow.policy.upstream(topic));
    remote
        .map(|topic| (topic.to_owned(), flow.topic(topic)))
        .collect()
}

fn partitions(facts: &Facts, flow: &Flow, topics: &[(String, TopicVerdict)]) -> Vec<PartitionLag> {
    let mut all = vec![];
    for (topic, verdict) in topics {
        if verdict.is_copied() != Some(true) {
            continue;
        }
        let remote = flow.remote_topic(topic);
        let mut numbers: Vec<i32> = vec![];
        for (alias, name) in [
            (&flow.name.source, Some(topic)),
            (&flow.name.target, remote.as_ref()),
        ] {
            if let (Some(cluster), Some(name)) = (facts.clusters.get(alias), name) {
                numbers.extend(cluster.partitions(name));
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        all.extend(
            numbers
                .into_iter()
                .map(|partition| partition_lag(facts, flow, topic, partition)),
        );
    }
    all
}

/// Returns how far one partition of the source is copied.
pub fn partition_lag(facts: &Facts, flow: &Flow, topic: &str, partition: i32) -> PartitionLag {
    let remote_topic = flow.remote_topic(topic);
    let log = |alias: &str, topic: &str| facts.clusters.get(alias)?.log(topic, partition);
    let source = log(&flow.name.source, topic);
    let target = remote_topic
        .as_deref()
        .and_then(|remote| log(&flow.name.target, remote));
    let position = facts
        .clusters
        .get(&flow.name.target)
        .and_then(|it| it.position(&flow.name.source, topic, partition))
        .map(|fact| fact.offset);
    let syncs = partition_syncs(facts, flow, topic, partition);
    let last_sync = syncs.flatten().map(|syncs| syncs.last);
    let ends = |log: &LogFacts| (log.log_start_offset, log.log_end_offset);
    let (from, to) = (source.map(ends), target.map(ends));
    // Connect's positions and the syncs say nothing of a partition of which nothing was copied yet.
    let told = syncs.is_some() || position.is_some();
    let certain = position.max(last_sync.map(|pair| pair.upstream));
    let copied = copied(certain, last_sync, from, to);
    PartitionLag {
        topic: topic.to_owned(),
        partition,
        remote_topic,
        source: from,
        target: to,
        position,
        last_sync,
        copied,
        behind: behind(from, copied, told),
        behind_at_most: behind(from, certain, told),
        headroom: match (from, copied) {
            (Some((start, _)), Some(copied)) => Some(copied.0 + 1 - start.0),
            _ => None,
        },
        retention: headroom(facts, flow, (topic, partition), copied),
        newest_copied: target.and_then(|log| log.newest_timestamp),
        newest_written: source.and_then(|log| log.newest_timestamp),
    }
}

/// Counts on from the newest sync to the target's end, as far as the source has records.
fn copied(
    certain: Option<Offset>,
    last_sync: Option<SyncPair>,
    from: Option<(Offset, Offset)>,
    to: Option<(Offset, Offset)>,
) -> Option<Offset> {
    let certain = certain?;
    let (Some(pair), Some((_, target_end))) = (last_sync, to) else {
        return Some(certain);
    };
    let behind_sync = target_end
        .0
        .saturating_sub(1)
        .saturating_sub(pair.downstream.0);
    let counted = pair.upstream.0.saturating_add(behind_sync.max(0));
    let end = from.map_or(i64::MAX, |(_, end)| end.0.saturating_sub(1));
    Some(Offset(counted.min(end)).max(certain))
}

fn behind(from: Option<(Offset, Offset)>, copied: Option<Offset>, told: bool) -> Option<u64> {
    let (start, end) = from?;
    let last = match copied {
        // A source that was made anew ends before what was copied of the old one.
        Some(copied) if copied >= end => return None,
        Some(copied) => copied.0.max(start.0 - 1),
        None if told => start.0 - 1,
        None if start == end => start.0 - 1,
        None => return None,
    };
    u64::try_from(end.0 - 1 - last).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_is_counted_from_the_last_sync_on() {
        let ends = |start, end| Some((Offset(start), Offset(end)));
        let pair = SyncPair::new(1990, 1490);
        let certain = Some(Offset(1999));
        let copied = copied(certain, Some(pair), ends(0, 2100), ends(0, 1500));
        assert_eq!(copied, Some(Offset(1999)));
        assert_eq!(behind(ends(0, 2100), copied, true), Some(100));
        assert_eq!(behind(ends(0, 2100), None, true), Some(2100));
        assert_eq!(behind(ends(0, 2100), None, false), None);
        assert_eq!(behind(ends(7, 7), None, false), Some(0));
        assert_eq!(behind(ends(0, 4), Some(Offset(9)), true), None);
        assert_eq!(behind(ends(35, 50), Some(Offset(9)), true), Some(15));
    }
}
