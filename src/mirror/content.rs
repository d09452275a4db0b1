//! What the topics of MirrorMaker 2, Connect and the groups hold, folded record by record: the last of a key counts.
//!
//! Every fold is bounded by the keys of its topic, never by the number of records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::secrets::masked;
use super::syncs::SyncsFacts;
use crate::format::FormatError;
use crate::format::connect_record::{
    ConnectStatus, SourcePosition, connect_status, connector_config,
};
use crate::format::group_record::{ClassicGroupValue, GroupRecordKey, OffsetCommitValue};
use crate::format::mirror_record::{Heartbeat, MirrorCheckpoint, OffsetSync};
use crate::mirror::Thinning;
use crate::terms::{LeaderEpoch, Offset, Timestamp};

/// A record of one of these topics.
#[derive(Debug, Clone, Copy)]
pub struct InternalRecord<'a> {
    /// Its offset in the topic.
    pub offset: Offset,
    /// Its timestamp.
    pub timestamp: Timestamp,
    /// Its key; a record without one says nothing.
    pub key: &'a [u8],
    /// Its value; `None` removes the key.
    pub value: Option<&'a [u8]>,
}

/// What a topic holds, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InternalTopic {
    /// Offset syncs.
    OffsetSyncs,
    /// Checkpoints.
    Checkpoints,
    /// Heartbeats.
    Heartbeats,
    /// Positions of Connect's source connectors.
    Positions,
    /// Configurations of connectors.
    Configs,
    /// States of connectors and tasks.
    Statuses,
    /// Groups and their commits.
    Groups,
}

impl InternalTopic {
    /// Tells what the topic `name` holds, whatever the separator.
    pub fn of(name: &str) -> Option<Self> {
        let connect = |suffix: &str| {
            name.starts_with(&format!("mm2-{suffix}."))
                || name.ends_with(&format!("-cluster-{suffix}"))
                || name == format!("connect-{suffix}")
        };
        Some(if name == "__consumer_offsets" {
            Self::Groups
        } else if name.starts_with("mm2-offset-syncs") {
            Self::OffsetSyncs
        } else if name.ends_with("internal") && name.contains("checkpoints") {
            Self::Checkpoints
        } else if name.ends_with("heartbeats") {
            Self::Heartbeats
        } else if connect("offsets") {
            Self::Positions
        } else if connect("configs") {
            Self::Configs
        } else if connect("status") {
            Self::Statuses
        } else {
            return None;
        })
    }
}

/// What the records of one partition came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The values by key.
    pub folded: Folded,
    /// How many records were read.
    pub records: u64,
    /// How many could not be decoded.
    pub undecodable: u64,
    /// Why the first of them could not.
    pub first_error: Option<String>,
    /// The timestamp of the newest record.
    pub newest_timestamp: Option<Timestamp>,
}

/// The values of a partition by key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Folded {
    /// Of a topic of offset syncs.
    OffsetSyncs(SyncsFacts),
    /// Of a topic of checkpoints: by group, topic and partition.
    Checkpoints(ByGroup<CheckpointFact>),
    /// Of a topic of heartbeats.
    Heartbeats(Vec<HeartbeatFact>),
    /// Of a topic of positions: by cluster, topic and partition.
    Positions(ByGroup<PositionFact>),
    /// Of a topic of configs: by connector.
    Configs(BTreeMap<String, BTreeMap<String, String>>),
    /// Of a topic of states.
    Statuses(Vec<StatusFact>),
    /// Of a partition of `__consumer_offsets`.
    Groups(BTreeMap<String, GroupFacts>),
}

/// Values by topic and partition.
pub type ByPartition<T> = BTreeMap<String, BTreeMap<i32, T>>;
/// Values by group (or cluster), topic and partition.
pub type ByGroup<T> = BTreeMap<String, ByPartition<T>>;

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointFact {
    /// The group's commit on the source.
    pub upstream: Offset,
    /// Its translation.
    pub downstream: Offset,
    /// The largest commit of all checkpoints of the key that are left: larger where the group was set back.
    pub highest_upstream: Offset,
    /// When MirrorMaker 2 wrote it.
    pub timestamp: Timestamp,
}

/// The newest heartbeat of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeartbeatFact {
    /// The source of the flow whose worker wrote it.
    pub source: String,
    /// The target of that flow.
    pub target: String,
    /// When.
    pub timestamp: Timestamp,
}

/// How far a source connector got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PositionFact {
    /// The connector.
    pub connector: String,
    /// The offset of the last record replicated.
    pub offset: Offset,
    /// When it was written.
    pub timestamp: Timestamp,
}

/// The state of a connector or task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusFact {
    /// The connector.
    pub connector: String,
    /// The task; `None` for the connector itself.
    pub task: Option<i32>,
    /// The state.
    pub state: String,
    /// What failed: the last cause of the trace.
    pub cause: Option<String>,
    /// The worker that said so.
    pub worker_id: String,
    /// The release, where it is told (4.x).
    pub version: Option<String>,
    /// When.
    pub timestamp: Timestamp,
}

/// A group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupFacts {
    /// `consumer`, `connect`; empty for a group that only commits; `None` where no record of the group itself was seen.
    pub protocol_type: Option<String>,
    /// The members at the last word: clients' ids, or members' ids of the consumer protocol.
    pub members: Vec<String>,
    /// Its state in a live cluster's words, such as `Empty`; `None` from disk.
    #[serde(default)]
    pub state: Option<String>,
    /// When its state changed last.
    pub state_timestamp: Option<Timestamp>,
    /// Its commits by topic and partition.
    pub commits: ByPartition<CommitFact>,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitFact {
    /// The next offset that the group reads.
    pub offset: Offset,
    /// The leader's epoch of the last record read.
    pub leader_epoch: Option<LeaderEpoch>,
    /// What the client added.
    pub metadata: String,
    /// When; `None` where the source does not tell.
    pub timestamp: Option<Timestamp>,
    /// Where the record stands: of two commits the later record counts, whenever its transaction ended.
    pub record_offset: Offset,
}

impl GroupFacts {
    /// Says whether it has members, so that nobody else may set its offsets.
    pub fn is_active(&self) -> bool {
        let idle = |state: &str| matches!(state, "Empty" | "Dead" | "");
        !self.members.is_empty() || self.state.as_deref().is_some_and(|state| !idle(state))
    }
}

impl Content {
    /// Returns the content of a partition without records.
    pub fn new(topic: InternalTopic, thinning: Thinning) -> Self {
        Self {
            folded: match topic {
                InternalTopic::OffsetSyncs => Folded::OffsetSyncs(SyncsFacts::new(thinning)),
                InternalTopic::Checkpoints => Folded::Checkpoints(BTreeMap::new()),
                InternalTopic::Heartbeats => Folded::Heartbeats(vec![]),
                InternalTopic::Positions => Folded::Positions(BTreeMap::new()),
                InternalTopic::Configs => Folded::Configs(BTreeMap::new()),
                InternalTopic::Statuses => Folded::Statuses(vec![]),
                InternalTopic::Groups => Folded::Groups(BTreeMap::new()),
            },
            records: 0,
            undecodable: 0,
            first_error: None,
            newest_timestamp: None,
        }
    }

    /// Takes the next record.
    pub fn push(&mut self, record: &InternalRecord<'_>) {
        self.records += 1;
        self.newest_timestamp = self.newest_timestamp.max(Some(record.timestamp));
        let taken = match &mut self.folded {
            Folded::OffsetSyncs(syncs) => {
                OffsetSync::decode(record.key, record.value).map(|(topic, partition, sync)| {
                    syncs.push(topic, partition, sync, record);
                })
            }
            Folded::Checkpoints(checkpoints) => push_checkpoint(checkpoints, record),
            Folded::Heartbeats(heartbeats) => push_heartbeat(heartbeats, record),
            Folded::Positions(positions) => {
                push_position(positions, record);
                Ok(())
            }
            Folded::Configs(configs) => {
                match connector_config(record.key, record.value) {
                    Some((name, Some(properties))) => {
                        configs.insert(name, properties.into_iter().map(masked).collect());
                    }
                    Some((name, None)) => {
                        configs.remove(&name);
                    }
                    None => {}
                }
                Ok(())
            }
            Folded::Statuses(statuses) => {
                push_status(statuses, record);
                Ok(())
            }
            Folded::Groups(groups) => push_group(groups, record),
        };
        if let Err(error) = taken {
            self.undecodable += 1;
            self.first_error
                .get_or_insert_with(|| format!("record at offset {}: {error}", record.offset));
        }
    }
}

/// Sets or removes a value, and what is empty above it.
fn put<T>(values: &mut ByPartition<T>, topic: &str, partition: i32, value: Option<T>) {
    match value {
        Some(value) => {
            if let Some(partitions) = values.get_mut(topic) {
                partitions.insert(partition, value);
            } else {
                values.insert(topic.to_owned(), BTreeMap::from([(partition, value)]));
            }
        }
        None => {
            if let Some(partitions) = values.get_mut(topic) {
                partitions.remove(&partition);
                if partitions.is_empty() {
                    values.remove(topic);
                }
            }
        }
    }
}

fn push_checkpoint(
    checkpoints: &mut ByGroup<CheckpointFact>,
    record: &InternalRecord<'_>,
) -> Result<(), FormatError> {
    let ((group, topic, partition), checkpoint) =
        MirrorCheckpoint::decode(record.key, record.value)?;
    let fact = |highest: Offset| {
        checkpoint.map(|it| CheckpointFact {
            upstream: it.upstream,
            downstream: it.downstream,
            highest_upstream: highest.max(it.upstream),
            timestamp: record.timestamp,
        })
    };
    let known = checkpoints
        .get_mut(group)
        .and_then(|topics| topics.get_mut(topic)?.get_mut(&partition));
    if let Some(known) = known
        && let Some(fact) = fact(known.highest_upstream)
    {
        *known = fact;
        return Ok(());
    }
    let fact = fact(Offset(i64::MIN));
    if !checkpoints.contains_key(group) {
        checkpoints.insert(group.to_owned(), BTreeMap::new());
    }
    if let Some(topics) = checkpoints.get_mut(group) {
        put(topics, topic, partition, fact);
    }
    Ok(())
}

fn push_heartbeat(
    heartbeats: &mut Vec<HeartbeatFact>,
    record: &InternalRecord<'_>,
) -> Result<(), FormatError> {
    let Some(beat) = Heartbeat::decode(record.key, record.value)? else {
        return Ok(());
    };
    let known = heartbeats
        .iter_mut()
        .find(|fact| fact.source == beat.source && fact.target == beat.target);
    match known {
        Some(fact) => fact.timestamp = beat.timestamp,
        None => heartbeats.push(HeartbeatFact {
            source: beat.source.to_owned(),
            target: beat.target.to_owned(),
            timestamp: beat.timestamp,
        }),
    }
    Ok(())
}

fn push_position(positions: &mut ByGroup<PositionFact>, record: &InternalRecord<'_>) {
    // Positions of other connectors lie beside them.
    let Some(position) = SourcePosition::parse(record.key, record.value) else {
        return;
    };
    let fact = position.offset.map(|offset| PositionFact {
        connector: position.connector,
        offset,
        timestamp: record.timestamp,
    });
    let topics = positions.entry(position.cluster).or_default();
    put(topics, &position.topic, position.partition, fact);
}

fn push_status(statuses: &mut Vec<StatusFact>, record: &InternalRecord<'_>) {
    // Most records tell which topics a connector used.
    let Some((connector, task, status)) = connect_status(record.key, record.value) else {
        return;
    };
    let known = statuses
        .iter()
        .position(|fact| fact.connector == connector && fact.task == task);
    let fact = status.map(|status| status_fact(connector, task, status, record.timestamp));
    match (known, fact) {
        (Some(at), Some(mut fact)) => {
            if let Some(old) = statuses.get_mut(at) {
                // A restart's record has no version.
                fact.version = fact.version.or_else(|| old.version.take());
                *old = fact;
            }
        }
        (Some(at), None) => {
            statuses.remove(at);
        }
        (None, Some(fact)) => statuses.push(fact),
        (None, None) => {}
    }
}

fn status_fact(
    connector: String,
    task: Option<i32>,
    status: ConnectStatus,
    timestamp: Timestamp,
) -> StatusFact {
    let cause = status.trace.as_deref().and_then(|trace| {
        let mut causes = trace
            .lines()
            .filter_map(|line| line.strip_prefix("Caused by: "));
        let cause = causes.next_back().or_else(|| trace.lines().next())?;
        Some(cause.trim().to_owned())
    });
    StatusFact {
        connector,
        task,
        state: status.state,
        cause,
        worker_id: status.worker_id,
        version: status.version,
        timestamp,
    }
}

fn push_group(
    groups: &mut BTreeMap<String, GroupFacts>,
    record: &InternalRecord<'_>,
) -> Result<(), FormatError> {
    let key = GroupRecordKey::decode(record.key)?;
    match key {
        GroupRecordKey::Commit {
            group,
            topic,
            partition,
        } => {
            let fact = match record.value {
                Some(value) => Some(commit(value, record)?),
                None => None,
            };
            let commits = &mut facts_of(groups, group).commits;
            let newer = commits
                .get(topic)
                .and_then(|partitions| partitions.get(&partition))
                .is_some_and(|known| known.record_offset > record.offset);
            if !newer {
                put(commits, topic, partition, fact);
            }
        }
        GroupRecordKey::Classic { group } => match record.value {
            Some(value) => {
                let value = ClassicGroupValue::decode(value)?;
                let facts = facts_of(groups, group);
                facts.protocol_type = Some(value.protocol_type.to_owned());
                facts.members = value.members.into_iter().map(str::to_owned).collect();
                facts.state_timestamp = value.current_state_timestamp;
            }
            None => forget(groups, group),
        },
        GroupRecordKey::Consumer { group } => match record.value {
            Some(_) => {
                let facts = facts_of(groups, group);
                facts.protocol_type = Some("consumer".to_owned());
                facts.state_timestamp = Some(record.timestamp);
            }
            None => forget(groups, group),
        },
        GroupRecordKey::Member { group, member } => {
            let members = &mut facts_of(groups, group).members;
            members.retain(|known| known != member);
            if record.value.is_some() {
                members.push(member.to_owned());
            }
        }
        GroupRecordKey::Other { .. } => {}
    }
    let known = key
        .group()
        .and_then(|group| Some((group, groups.get(group)?)));
    if let Some((group, _)) = known.filter(|(_, facts)| **facts == GroupFacts::default()) {
        groups.remove(group);
    }
    Ok(())
}

fn facts_of<'a>(groups: &'a mut BTreeMap<String, GroupFacts>, group: &str) -> &'a mut GroupFacts {
    groups.entry(group.to_owned()).or_default()
}

/// A removed group may have commits left: their removals follow.
fn forget(groups: &mut BTreeMap<String, GroupFacts>, group: &str) {
    if let Some(facts) = groups.get_mut(group) {
        facts.protocol_type = None;
        facts.members.clear();
        facts.state_timestamp = None;
    }
}

fn commit(value: &[u8], record: &InternalRecord<'_>) -> Result<CommitFact, FormatError> {
    let value = OffsetCommitValue::decode(value)?;
    Ok(CommitFact {
        offset: value.offset,
        leader_epoch: value.leader_epoch,
        metadata: value.metadata.to_owned(),
        timestamp: Some(value.commit_timestamp),
        record_offset: record.offset,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::hex;

    fn push(content: &mut Content, offset: i64, key: &[u8], value: Option<&[u8]>) {
        content.push(&InternalRecord {
            offset: Offset(offset),
            timestamp: Timestamp(offset),
            key,
            value,
        });
    }

    fn commit(offset: i64) -> Vec<u8> {
        let mut value = vec![0, 3];
        value.extend(offset.to_be_bytes());
        value.extend(hex("ffffffff00000000018bcfe56800"));
        value
    }

    #[test]
    fn topics_are_told_by_their_names() {
        for (name, topic) in [
            ("__consumer_offsets", Some(InternalTopic::Groups)),
            (
                "mm2-offset-syncs.b.internal",
                Some(InternalTopic::OffsetSyncs),
            ),
            (
                "mm2-offset-syncs_b_internal",
                Some(InternalTopic::OffsetSyncs),
            ),
            ("a_checkpoints_internal", Some(InternalTopic::Checkpoints)),
            ("b.a.heartbeats", Some(InternalTopic::Heartbeats)),
            ("mm2-offsets.a.internal", Some(InternalTopic::Positions)),
            ("mirrormaker2-cluster-configs", Some(InternalTopic::Configs)),
            ("connect-status", Some(InternalTopic::Statuses)),
            ("orders", None),
            ("checkpoints", None),
        ] {
            assert_eq!(InternalTopic::of(name), topic, "{name}");
        }
    }

    #[test]
    fn the_later_commit_counts_whenever_it_is_told() {
        let mut content = Content::new(InternalTopic::Groups, Thinning::Cursor);
        let key = hex("0001000167000174" /* g, t */);
        let key = [key, vec![0, 0, 0, 0]].concat();
        push(&mut content, 7, &key, Some(&commit(70)));
        // Of a transaction that ended later.
        push(&mut content, 3, &key, Some(&commit(30)));
        let Folded::Groups(groups) = &content.folded else {
            panic!()
        };
        assert_eq!(groups["g"].commits["t"][&0].offset, Offset(70));
        push(&mut content, 8, &key, None);
        let Folded::Groups(groups) = &content.folded else {
            panic!()
        };
        assert!(groups.is_empty());
        push(&mut content, 9, &key, Some(&[0, 9]));
        assert_eq!(content.undecodable, 1);
        assert_eq!(
            content.first_error.as_deref(),
            Some("record at offset 9: unknown version 9 at 0")
        );
    }

    #[test]
    fn the_last_cause_of_a_trace_is_told() {
        let mut content = Content::new(InternalTopic::Statuses, Thinning::Cursor);
        let running = br#"{"state":"RUNNING","trace":null,"worker_id":"w","version":"4.3.1"}"#;
        let failed = br#"{"state":"FAILED","trace":"A: x\n\tat y\nCaused by: B: z\nCaused by: C: too large\n\tat q","worker_id":"w","version":null}"#;
        push(&mut content, 0, b"status-task-c-0", Some(running));
        push(&mut content, 1, b"status-task-c-0", Some(failed));
        let Folded::Statuses(statuses) = &content.folded else {
            panic!()
        };
        assert_eq!(statuses[0].cause.as_deref(), Some("C: too large"));
        assert_eq!(statuses[0].version.as_deref(), Some("4.3.1"));
    }

    #[test]
    fn secrets_are_hidden() {
        let mut content = Content::new(InternalTopic::Configs, Thinning::Cursor);
        let value = br#"{"properties":{"source.cluster.sasl.jaas.config":"x","topics":"t"}}"#;
        push(&mut content, 0, b"connector-c", Some(value));
        let Folded::Configs(configs) = &content.folded else {
            panic!()
        };
        assert_eq!(configs["c"]["source.cluster.sasl.jaas.config"], "[hidden]");
        assert_eq!(configs["c"]["topics"], "t");
    }
}
