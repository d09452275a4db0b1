//! Groups, their members and what they have committed (`ListGroups`, `DescribeGroups`, `FindCoordinator`, `OffsetFetch`).

use std::time::Duration;

use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::{
    DescribeGroupsRequest, FindCoordinatorRequest, FindCoordinatorResponse, GroupId,
    ListGroupsRequest, OffsetFetchRequest, TopicName,
};
use kafka_protocol::protocol::StrBytes;

use super::by_topic;
use crate::client::cluster::{Client, Whom, refused};
use crate::client::error::{ClientError, KafkaError};
use crate::terms::{LeaderEpoch, Offset, TopicPartition};

/// The first version of `OffsetFetch` that asks for several groups at once.
const SEVERAL_GROUPS: i16 = 8;
/// The first version of `FindCoordinator` that asks for several.
const SEVERAL_COORDINATORS: i16 = 4;
/// How long it is tried while coordinators move.
pub(super) const RETRY_LIMIT: Duration = Duration::from_secs(15);

/// A group that a broker coordinates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedGroup {
    /// Its id.
    pub id: String,
    /// `consumer`, `connect`; empty where it only commits.
    pub protocol_type: String,
    /// Its state in Kafka's words, such as `Empty`; `None` before 2.6.
    pub state: Option<String>,
}

/// What a group has committed for a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The partition.
    pub partition: TopicPartition,
    /// The next offset that the group reads.
    pub offset: Offset,
    /// The leader's epoch of the last record read.
    pub leader_epoch: Option<LeaderEpoch>,
    /// What the client added.
    pub metadata: String,
}

/// Refuses a partition whose commits may not be seen; one that is not there any more has none.
fn may_see(code: i16, group: &str, (topic, partition): (&str, i32)) -> Result<(), ClientError> {
    if KafkaError::of(code) == Some(KafkaError::UNKNOWN_TOPIC_OR_PARTITION) {
        return Ok(());
    }
    refused(code, None, || {
        format!("what group {group} has committed of {topic}-{partition}")
    })
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

impl Client {
    /// Returns the groups that broker `id` coordinates.
    ///
    /// # Errors
    ///
    /// The broker does not answer, or not to us.
    pub async fn groups(&self, id: i32) -> Result<Vec<ListedGroup>, ClientError> {
        let (response, version) = self
            .ask(Whom::Broker(id), |_| ListGroupsRequest::default())
            .await?;
        refused(response.error_code, None, || {
            format!("the groups of broker {id}")
        })?;
        Ok(response
            .groups
            .into_iter()
            .map(|group| ListedGroup {
                id: group.group_id.to_string(),
                protocol_type: group.protocol_type.to_string(),
                state: (version >= 4).then(|| group.group_state.to_string()),
            })
            .collect())
    }

    /// Returns the client ids of a classic group's members, asked of its coordinator `id`.
    ///
    /// # Errors
    ///
    /// The broker does not answer, or not to us, or the group is no classic one.
    pub async fn members(&self, id: i32, group: &str) -> Result<Vec<String>, ClientError> {
        let build = |_| DescribeGroupsRequest::default().with_groups(vec![GroupId(text(group))]);
        let (response, _) = self.ask(Whom::Broker(id), build).await?;
        let mut members = Vec::new();
        for described in response.groups {
            let message = described.error_message.as_deref();
            refused(described.error_code, message, || {
                format!("the members of group {group}")
            })?;
            let here = described.members.iter();
            members.extend(here.map(|member| member.client_id.to_string()));
        }
        Ok(members)
    }

    /// Returns the broker that coordinates a group, whether or not there is one of that name yet.
    ///
    /// # Errors
    ///
    /// No broker answers, or none coordinates it.
    pub async fn coordinator(&self, group: &str) -> Result<i32, ClientError> {
        let build = |version| {
            if version < SEVERAL_COORDINATORS {
                FindCoordinatorRequest::default().with_key(text(group))
            } else {
                FindCoordinatorRequest::default().with_coordinator_keys(vec![text(group)])
            }
        };
        let what = || format!("the coordinator of group {group}");
        let check = |response: &FindCoordinatorResponse| match response.coordinators.first() {
            Some(it) => refused(it.error_code, it.error_message.as_deref(), what),
            None => refused(response.error_code, response.error_message.as_deref(), what),
        };
        let (response, _) = self.insist(Whom::Any, RETRY_LIMIT, build, check).await?;
        let found = response.coordinators.first();
        Ok(found.map_or(response.node_id.0, |it| it.node_id.0))
    }

    /// Returns what a group has committed for `partitions`, or for all, asked of its coordinator `id`; partitions without a
    /// commit are left out.
    ///
    /// # Errors
    ///
    /// The broker does not answer, or not to us; nor of one of the partitions that are named.
    pub async fn commits(
        &self,
        id: i32,
        group: &str,
        partitions: Option<&[TopicPartition]>,
    ) -> Result<Vec<Committed>, ClientError> {
        let build = |version: i16| {
            let topics = partitions.map(by_topic);
            if version < SEVERAL_GROUPS {
                let topics = topics.map(|topics| {
                    let topic = |(name, numbers)| {
                        OffsetFetchRequestTopic::default()
                            .with_name(TopicName(text(name)))
                            .with_partition_indexes(numbers)
                    };
                    topics.into_iter().map(topic).collect()
                });
                return OffsetFetchRequest::default()
                    .with_group_id(GroupId(text(group)))
                    .with_topics(topics);
            }
            let topics = topics.map(|topics| {
                let topic = |(name, numbers)| {
                    OffsetFetchRequestTopics::default()
                        .with_name(TopicName(text(name)))
                        .with_partition_indexes(numbers)
                };
                topics.into_iter().map(topic).collect()
            });
            let group = OffsetFetchRequestGroup::default()
                .with_group_id(GroupId(text(group)))
                .with_topics(topics);
            OffsetFetchRequest::default().with_groups(vec![group])
        };
        let (response, version) = self.ask(Whom::Broker(id), build).await?;
        let group_of = group;
        let what = || format!("what group {group} has committed");
        let mut found = Vec::new();
        let mut add = |topic: &str, partition: i32, offset: i64, epoch: i32, metadata: &str| {
            if offset >= 0 {
                found.push(Committed {
                    partition: TopicPartition::new(topic, partition),
                    offset: Offset(offset),
                    leader_epoch: Some(LeaderEpoch(epoch)).filter(|epoch| epoch.0 >= 0),
                    metadata: metadata.to_owned(),
                });
            }
        };
        if version < SEVERAL_GROUPS {
            refused(response.error_code, None, what)?;
            for topic in &response.topics {
                for it in &topic.partitions {
                    may_see(it.error_code, group_of, (&topic.name, it.partition_index))?;
                    let metadata = it.metadata.as_deref().unwrap_or_default();
                    let epoch = it.committed_leader_epoch;
                    add(
                        &topic.name,
                        it.partition_index,
                        it.committed_offset,
                        epoch,
                        metadata,
                    );
                }
            }
            return Ok(found);
        }
        for group in &response.groups {
            // A group that nobody coordinates has committed nothing (4.0 on).
            if KafkaError::of(group.error_code) == Some(KafkaError::GROUP_ID_NOT_FOUND) {
                continue;
            }
            refused(group.error_code, None, what)?;
            for topic in &group.topics {
                for it in &topic.partitions {
                    may_see(it.error_code, group_of, (&topic.name, it.partition_index))?;
                    let metadata = it.metadata.as_deref().unwrap_or_default();
                    let epoch = it.committed_leader_epoch;
                    add(
                        &topic.name,
                        it.partition_index,
                        it.committed_offset,
                        epoch,
                        metadata,
                    );
                }
            }
        }
        Ok(found)
    }
}
