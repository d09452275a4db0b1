//! What each group's commits on the source are on the target, as `RemoteClusterUtils` would say after MirrorMaker 2's next
//! pass: the syncs that are left, folded as at its start, then its rule on which checkpoints it writes.

use super::content::{CheckpointFact, GroupFacts};
use super::facts::{ClusterFacts, Facts};
use super::filter::Taken;
use super::flow::{Flow, FlowState};
use super::sync_store::{SyncPair, Translated};
use super::syncs::PartitionSyncs;
use crate::terms::{KafkaVersion, Offset, Timestamp};

/// One commit and its translation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translation {
    /// The group.
    pub group: String,
    /// The topic by its name on the source.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The topic by its name on the target; `None` where the policy is not known.
    pub remote_topic: Option<String>,
    /// The commit.
    pub upstream: Offset,
    /// When it was made.
    pub committed_at: Option<Timestamp>,
    /// What the syncs that are left make of it; `None` where the topic of syncs is not known.
    pub translated: Option<Translated>,
    /// The checkpoint that is there.
    pub checkpoint: Option<CheckpointFact>,
    /// What `RemoteClusterUtils` would say; `None` where there would be no checkpoint.
    pub downstream: Option<Offset>,
    /// Why it is that.
    pub why: Why,
    /// How many of the source's offsets would be read again at most; `None` where that cannot be told.
    pub read_again: Option<u64>,
}

/// Why a translation is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// A sync is at the commit: exact.
    Exact,
    /// The nearest sync that is left lies before the commit: the position is right behind it.
    BehindSync(SyncPair),
    /// The checkpoint that is there is at or beyond what a fresh one would say, so it stays.
    CheckpointStays,
    /// All syncs that are left are newer than the commit, and there is no checkpoint.
    TooOld,
    /// The partition has no sync, and there is no checkpoint: nothing of it was copied yet, or its syncs are lost.
    NoSync,
    /// The topic of syncs is not known, and there is no checkpoint.
    SyncsUnknown,
    /// The flow writes no checkpoints.
    NotEmitted,
    /// The partition has no sync, and a release up to 3.2 writes the commit as it is (KAFKA-12635).
    TakenOver,
}

/// Why a flow's commits cannot be translated at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotTranslate {
    /// Nothing is known of the source.
    #[error("nothing is known of cluster \"{0}\"")]
    NoCluster(String),
    /// The source's groups are not known.
    #[error(
        "the groups of cluster \"{0}\" are not known: no partition of __consumer_offsets was read"
    )]
    NoGroups(String),
    /// A filter cannot be applied.
    #[error("{0}")]
    Filter(String),
}

/// Translates the commits of a flow's source that its filters let pass, in the order of group, topic, partition; an
/// inactive flow has none.
pub fn translations(facts: &Facts, flow: &Flow) -> Result<Vec<Translation>, CannotTranslate> {
    if flow.state != FlowState::Active {
        return Ok(vec![]);
    }
    let source = cluster(facts, &flow.name.source)?;
    let groups = source
        .groups()
        .ok_or_else(|| CannotTranslate::NoGroups(flow.name.source.clone()))?;
    let mut all = vec![];
    for (name, group) in groups {
        if !is_consumer_group(group) || !passes(&flow.filter_group(name), "groups", name, flow)? {
            continue;
        }
        for (topic, partitions) in &group.commits {
            if !passes(&flow.filter_topic(topic), "topics", topic, flow)? {
                continue;
            }
            for (partition, commit) in partitions {
                let place = (name, topic.as_str(), *partition);
                let mut translation = translate(facts, flow, place, commit.offset);
                translation.committed_at = commit.timestamp;
                all.push(translation);
            }
        }
    }
    Ok(all)
}

fn cluster<'a>(facts: &'a Facts, alias: &str) -> Result<&'a ClusterFacts, CannotTranslate> {
    let known = facts.clusters.get(alias);
    known.ok_or_else(|| CannotTranslate::NoCluster(alias.to_owned()))
}

/// Says whether Kafka lists a group among those of consumers: not Connect's workers, for instance.
pub fn is_consumer_group(group: &GroupFacts) -> bool {
    group
        .protocol_type
        .as_deref()
        .is_none_or(|kind| kind.is_empty() || kind == "consumer")
}

fn passes(taken: &Taken, key: &str, name: &str, flow: &Flow) -> Result<bool, CannotTranslate> {
    taken.known().ok_or_else(|| {
        let filter = if key == "groups" {
            &flow.groups
        } else {
            &flow.topics
        };
        let cause = filter.error().map_or_else(
            || format!("{key}.exclude, or a filter class of your own, says nothing here about \"{name}\""),
            ToString::to_string,
        );
        CannotTranslate::Filter(format!("{key} of {}: {cause}", flow.name))
    })
}

/// Translates one commit of `(group, topic, partition)`.
pub fn translate(
    facts: &Facts,
    flow: &Flow,
    (group, topic, partition): (&str, &str, i32),
    commit: Offset,
) -> Translation {
    let remote_topic = flow.checkpoint_topic_name(topic);
    let syncs = partition_syncs(facts, flow, topic, partition);
    let translated = syncs
        .as_ref()
        .map(|syncs| syncs.map_or(Translated::NoSync, |syncs| syncs.store.translate(commit)));
    let checkpoint = remote_topic
        .as_deref()
        .and_then(|remote| known_checkpoint(facts, flow, (group, remote, partition)))
        .cloned();
    let emits = flow.bool("emit.checkpoints.enabled", true) != Some(false);
    let takes_over =
        translated == Some(Translated::NoSync) && flow.version < KafkaVersion::new(3, 3, 0);
    let fresh = translated
        .and_then(Translated::downstream)
        .or(takes_over.then_some(commit))
        .filter(|_| emits);
    let (downstream, why) = next_checkpoint(flow, commit, fresh, checkpoint.as_ref());
    let why = match why {
        Some(why) => why,
        None if !emits => Why::NotEmitted,
        None => match translated {
            None => Why::SyncsUnknown,
            Some(Translated::NoSync) if takes_over => Why::TakenOver,
            Some(Translated::NoSync) => Why::NoSync,
            Some(Translated::TooOld { .. }) => Why::TooOld,
            Some(Translated::At { pair, .. }) if pair.upstream == commit => Why::Exact,
            Some(Translated::At { pair, .. }) => Why::BehindSync(pair),
        },
    };
    let known = syncs.flatten();
    Translation {
        group: group.to_owned(),
        topic: topic.to_owned(),
        partition,
        remote_topic,
        upstream: commit,
        committed_at: None,
        translated,
        checkpoint,
        downstream,
        why,
        read_again: downstream.and_then(|at| read_again(known, commit, at)),
    }
}

/// Applies MirrorMaker 2's rule on which checkpoints it writes; says why only where an old one stays.
fn next_checkpoint(
    flow: &Flow,
    commit: Offset,
    fresh: Option<Offset>,
    last: Option<&CheckpointFact>,
) -> (Option<Offset>, Option<Why>) {
    // Up to 3.4.0 every checkpoint was written.
    let always = flow.version < KafkaVersion::new(3, 4, 1);
    match (fresh, last) {
        (Some(fresh), Some(last))
            if !always && last.upstream <= commit && fresh <= last.downstream =>
        {
            // The same place told twice is as exact as the fresh word.
            let why = (fresh != last.downstream).then_some(Why::CheckpointStays);
            (Some(last.downstream), why)
        }
        (Some(fresh), _) => (Some(fresh), None),
        (None, Some(last)) => (Some(last.downstream), Some(Why::CheckpointStays)),
        (None, None) => (None, None),
    }
}

/// Returns the syncs of a partition of the flow's source; `None` where the topic of syncs is not known.
pub fn partition_syncs<'a>(
    facts: &'a Facts,
    flow: &Flow,
    topic: &str,
    partition: i32,
) -> Option<Option<&'a PartitionSyncs>> {
    let (alias, name) = flow.offset_syncs_topic();
    let syncs = facts.clusters.get(alias)?.offset_syncs(&name)?;
    Some(syncs.get(topic, partition))
}

/// Returns the checkpoint of a group for a partition of the target.
pub fn known_checkpoint<'a>(
    facts: &'a Facts,
    flow: &Flow,
    (group, remote_topic, partition): (&str, &str, i32),
) -> Option<&'a CheckpointFact> {
    let target = facts.clusters.get(&flow.name.target)?;
    let checkpoints = target.checkpoints(&flow.checkpoints_topic())?;
    checkpoints.get(group)?.get(remote_topic)?.get(&partition)
}

/// Returns how many of the source's offsets between a position on the target and the commit would be read again, at most.
pub fn read_again(syncs: Option<&PartitionSyncs>, commit: Offset, position: Offset) -> Option<u64> {
    let pair = syncs?.pair_before_downstream(position)?;
    // Offsets grow at least as fast on the source as on the target, as long as nobody else writes there.
    let ahead = position.0.checked_sub(pair.downstream.0)?;
    let upstream = pair.upstream.0.checked_add(ahead)?;
    let again = commit.0.checked_sub(upstream)?;
    Some(u64::try_from(again).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::mirror::{ConfigOrigin, FlowName};

    fn flow(version: KafkaVersion) -> Flow {
        Flow::new(
            FlowName::new("primary", "secondary"),
            FlowState::Active,
            ConfigOrigin::Defaults,
            BTreeMap::new(),
            version,
        )
    }

    #[test]
    fn a_checkpoint_is_written_when_the_target_moves_on_or_the_group_goes_back() {
        let last = CheckpointFact {
            upstream: Offset(250),
            downstream: Offset(201),
            highest_upstream: Offset(250),
            timestamp: Timestamp(0),
        };
        let next = |commit, fresh| {
            let flow = flow(KafkaVersion::new(4, 3, 1));
            next_checkpoint(&flow, Offset(commit), Some(Offset(fresh)), Some(&last))
        };
        for (commit, fresh, told) in [
            (250, 176, 201),
            (370, 176, 201),
            (400, 376, 376),
            (240, 176, 176),
        ] {
            assert_eq!(next(commit, fresh).0, Some(Offset(told)), "{commit}");
        }
        let old = flow(KafkaVersion::new(3, 4, 0));
        assert_eq!(
            next_checkpoint(&old, Offset(250), Some(Offset(176)), Some(&last)).0,
            Some(Offset(176))
        );
        let flow = flow(KafkaVersion::new(4, 3, 1));
        assert_eq!(
            next_checkpoint(&flow, Offset(250), None, Some(&last)),
            (Some(Offset(201)), Some(Why::CheckpointStays))
        );
        assert_eq!(
            next_checkpoint(&flow, Offset(250), None, None),
            (None, None)
        );
    }
}
