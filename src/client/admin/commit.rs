//! Offsets committed for a group that has no members (`OffsetCommit`), as an admin client alters them.

use std::collections::BTreeMap;

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::{GroupId, OffsetCommitRequest, OffsetCommitResponse, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::groups::{Committed, RETRY_LIMIT};
use crate::client::cluster::{Client, Whom, refused};
use crate::client::error::ClientError;

impl Client {
    /// Commits offsets for a group, at its coordinator `id`; a group that is not there is made.
    ///
    /// # Errors
    ///
    /// The broker refuses: the group has members, a partition is unknown, or we may not.
    pub async fn commit(
        &self,
        id: i32,
        group: &str,
        commits: &[Committed],
    ) -> Result<(), ClientError> {
        let text = |text: &str| StrBytes::from_string(text.to_owned());
        let mut topics: BTreeMap<&str, Vec<OffsetCommitRequestPartition>> = BTreeMap::new();
        for commit in commits {
            let epoch = commit.leader_epoch.map_or(-1, |epoch| epoch.0);
            let partition = OffsetCommitRequestPartition::default()
                .with_partition_index(commit.partition.partition)
                .with_committed_offset(commit.offset.0)
                .with_committed_leader_epoch(epoch)
                .with_committed_metadata(Some(text(&commit.metadata)));
            topics
                .entry(&commit.partition.topic)
                .or_default()
                .push(partition);
        }
        let build = |version: i16| {
            let topics = topics.iter().map(|(name, partitions)| {
                let partitions = partitions.iter().cloned().map(|it| {
                    // The field came with version 6.
                    if version < 6 {
                        it.with_committed_leader_epoch(-1)
                    } else {
                        it
                    }
                });
                OffsetCommitRequestTopic::default()
                    .with_name(TopicName(text(name)))
                    .with_partitions(partitions.collect())
            });
            OffsetCommitRequest::default()
                .with_group_id(GroupId(text(group)))
                .with_topics(topics.collect())
        };
        let check = |response: &OffsetCommitResponse| {
            response.topics.iter().try_for_each(|topic| {
                topic.partitions.iter().try_for_each(|it| {
                    refused(it.error_code, None, || {
                        let (topic, partition) = (topic.name.as_str(), it.partition_index);
                        format!("setting group {group} in {topic}-{partition}")
                    })
                })
            })
        };
        self.insist(Whom::Broker(id), RETRY_LIMIT, build, check)
            .await
            .map(|_| ())
    }
}
