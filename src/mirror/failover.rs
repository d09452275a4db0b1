//! Where each group goes on on the target once the source is gone, and what that costs.

use std::collections::{BTreeMap, BTreeSet};

use super::content::GroupFacts;
use super::facts::{ClusterFacts, Facts};
use super::filter::Taken;
use super::flow::Flow;
use super::translate::{
    is_consumer_group, known_checkpoint, partition_syncs, read_again, translate,
};
use crate::terms::{Offset, Timestamp};

/// What told a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PositionSource {
    /// The group's own commit on the target.
    TargetCommit,
    /// A checkpoint.
    Checkpoint,
    /// The newest commit on the source, by the syncs that MirrorMaker 2 would use.
    Translation,
    /// The newest commit on the source, by all syncs that are left.
    AllSyncs,
}

impl std::fmt::Display for PositionSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TargetCommit => "commit on the target",
            Self::Checkpoint => "checkpoint",
            Self::Translation => "newest commit, MM2's syncs",
            Self::AllSyncs => "newest commit, all syncs",
        })
    }
}

/// What is odd about a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PositionNote {
    /// The group has members on the target: it is left alone.
    Active,
    /// The group was set back on the source, and its commit on the target was not.
    Rewound,
    /// The group's commit on the target lies beyond what the source's commit becomes: from there records would be skipped.
    TargetAhead,
    /// The position lay beyond the target's end; the end is taken.
    BeyondEnd,
    /// The position lay before the target's first record; that is taken, and what lies between is gone.
    BeforeStart,
}

impl std::fmt::Display for PositionNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Active => "has members on the target: left alone",
            Self::Rewound => "was set back on the source",
            Self::TargetAhead => "its commit on the target is ahead: records would be skipped",
            Self::BeyondEnd => "beyond the target's end: the end is taken",
            Self::BeforeStart => "before the target's first record: that is taken",
        })
    }
}

/// Where a group goes on in one partition of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailoverPosition {
    /// The group.
    pub group: String,
    /// The topic by its name on the source.
    pub topic: String,
    /// The topic by its name on the target.
    pub remote_topic: String,
    /// The partition.
    pub partition: i32,
    /// The group's newest commit on the source that is known.
    pub upstream: Option<Offset>,
    /// When that was made.
    pub committed_at: Option<Timestamp>,
    /// The group's commit on the target.
    pub target_commit: Option<Offset>,
    /// The checkpoint's position.
    pub checkpoint: Option<Offset>,
    /// Where to go on; `None` where nothing tells.
    pub position: Option<Offset>,
    /// What told it.
    pub source: Option<PositionSource>,
    /// How many offsets would be read again at most; `None` where that cannot be told.
    pub read_again: Option<u64>,
    /// What is odd.
    pub notes: Vec<PositionNote>,
}

impl FailoverPosition {
    /// Says whether the position is one to be set: it is told, and the group is not busy.
    pub fn can_be_set(&self) -> bool {
        self.position.is_some() && !self.notes.contains(&PositionNote::Active)
    }
}

/// Returns the positions of all groups that a flow's filters let pass, in the order of group, topic, partition.
///
/// Groups are those of the source and those with checkpoints, so a source whose disks are gone still has some.
pub fn failover_positions(facts: &Facts, flow: &Flow) -> Vec<FailoverPosition> {
    let source = facts.clusters.get(&flow.name.source);
    let target = facts.clusters.get(&flow.name.target);
    let mut places: BTreeSet<(String, String, i32)> = BTreeSet::new();
    for (name, group) in source.and_then(ClusterFacts::groups).unwrap_or_default() {
        if !is_consumer_group(group) || flow.filter_group(name) != Taken::Yes {
            continue;
        }
        for (topic, partitions) in &group.commits {
            if flow.filter_topic(topic) == Taken::Yes {
                let here = partitions.keys();
                places.extend(here.map(|it| (name.to_owned(), topic.clone(), *it)));
            }
        }
    }
    let checkpoints = target.and_then(|target| target.checkpoints(&flow.checkpoints_topic()));
    for (name, topics) in checkpoints.into_iter().flatten() {
        for (remote, partitions) in topics {
            let upstream = flow
                .policy
                .upstream(remote)
                .filter(|_| flow.policy.source(remote) == Some(flow.name.source.as_str()));
            let Some(topic) = upstream else { continue };
            let here = partitions.keys();
            places.extend(here.map(|it| (name.clone(), topic.to_owned(), *it)));
        }
    }
    let groups = [
        source.and_then(ClusterFacts::groups),
        target.and_then(ClusterFacts::groups),
    ];
    places
        .into_iter()
        .filter_map(|place| position(facts, flow, &groups, &place))
        .collect()
}

/// A cluster's groups; `None` where they are not known.
type Groups<'a> = Option<BTreeMap<&'a str, &'a GroupFacts>>;

fn position(
    facts: &Facts,
    flow: &Flow,
    [on_source, on_target]: &[Groups<'_>; 2],
    (group, topic, partition): &(String, String, i32),
) -> Option<FailoverPosition> {
    let (group, topic, partition) = (group.as_str(), topic.as_str(), *partition);
    let remote_topic = flow.checkpoint_topic_name(topic)?;
    let commit_of = |group: &GroupFacts, topic: &str| {
        let commit = group.commits.get(topic)?.get(&partition)?;
        Some((commit.offset, commit.timestamp))
    };
    let upstream = on_source
        .as_ref()
        .and_then(|groups| commit_of(groups.get(group)?, topic));
    let target_group = on_target.as_ref().and_then(|groups| groups.get(group));
    let target_commit = target_group
        .and_then(|group| commit_of(group, &remote_topic))
        .map(|(offset, _)| offset);
    let checkpoint = known_checkpoint(facts, flow, (group, &remote_topic, partition));
    let syncs = partition_syncs(facts, flow, topic, partition).flatten();
    let mut notes = vec![];
    if target_group.is_some_and(|group| group.is_active()) {
        notes.push(PositionNote::Active);
    }

    let mut told: Vec<(Offset, PositionSource)> = vec![];
    if let Some((commit, _)) = upstream {
        let fresh = translate(facts, flow, (group, topic, partition), commit)
            .translated
            .and_then(super::Translated::downstream);
        told.extend(fresh.map(|at| (at, PositionSource::Translation)));
        let best = syncs.and_then(|syncs| syncs.best_pair(commit));
        told.extend(best.map(|pair| {
            let behind = i64::from(pair.upstream < commit);
            (pair.downstream.plus(behind), PositionSource::AllSyncs)
        }));
    }
    // A checkpoint of a later commit than the group's last one is from before it was set back.
    let stale = checkpoint
        .zip(upstream)
        .is_some_and(|(checkpoint, (commit, _))| checkpoint.upstream > commit);
    if let Some(checkpoint) = checkpoint.filter(|_| !stale) {
        told.push((checkpoint.downstream, PositionSource::Checkpoint));
    }
    let rewound = stale
        || checkpoint.is_some_and(|checkpoint| checkpoint.highest_upstream > checkpoint.upstream);
    // Of equal positions the first word in the order of preference counts.
    let best = told
        .into_iter()
        .max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let chosen = match (target_commit, best) {
        (Some(commit), _) if notes.contains(&PositionNote::Active) => {
            Some((commit, PositionSource::TargetCommit))
        }
        (Some(commit), Some(best)) if commit > best.0 => {
            if rewound {
                notes.push(PositionNote::Rewound);
                Some(best)
            } else if upstream.is_some() {
                notes.push(PositionNote::TargetAhead);
                Some(best)
            } else {
                Some((commit, PositionSource::TargetCommit))
            }
        }
        (Some(commit), Some(best)) if commit == best.0 => {
            Some((commit, PositionSource::TargetCommit))
        }
        // From the target's commit a group that was set back before every sync would skip records.
        (Some(_), None) if stale => {
            notes.push(PositionNote::Rewound);
            None
        }
        (Some(commit), None) => Some((commit, PositionSource::TargetCommit)),
        (_, best) => best,
    };
    let log = facts
        .clusters
        .get(&flow.name.target)
        .and_then(|target| target.log(&remote_topic, partition));
    let mut at = chosen.map(|(at, _)| at);
    if let (Some(position), Some(log)) = (at, log) {
        if position > log.log_end_offset {
            notes.push(PositionNote::BeyondEnd);
            at = Some(log.log_end_offset);
        } else if position < log.log_start_offset {
            notes.push(PositionNote::BeforeStart);
            at = Some(log.log_start_offset);
        }
    }
    let known = upstream.map(|(commit, _)| commit);
    Some(FailoverPosition {
        group: group.to_owned(),
        topic: topic.to_owned(),
        partition,
        upstream: known.or(checkpoint.map(|it| it.upstream)),
        committed_at: upstream.and_then(|(_, at)| at),
        target_commit,
        checkpoint: checkpoint.map(|it| it.downstream),
        position: at,
        source: chosen.map(|(_, source)| source),
        read_again: known
            .zip(at)
            .and_then(|(commit, at)| read_again(syncs, commit, at)),
        notes,
        remote_topic,
    })
}
