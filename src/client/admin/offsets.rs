//! Offsets that a replica tells of its own log (`ListOffsets`).
//!
//! With replica id −2 ("debugging") a broker answers from its own log, leader or follower, from version 1 on
//! (`KafkaApis.handleListOffsetRequest`: only this id is let past the leader check). With −1 only the leader answers,
//! and the latest offset is the high watermark. An id from 0 on is never sent: the leader would take us for that follower.

use std::collections::BTreeMap;

use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{BrokerId, ListOffsetsRequest, ListOffsetsResponse, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::by_topic;
use crate::client::cluster::{Client, Whom};
use crate::client::error::{ClientError, KafkaError};
use crate::terms::{Offset, Timestamp, TopicPartition};

const DEBUGGING_REPLICA: i32 = -2;
const CONSUMER: i32 = -1;

/// Which offset is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// The log end offset of the replica that is asked.
    LogEnd,
    /// The first offset that the replica that is asked has in its own files.
    LocalLogStart,
    /// The first offset that the leader hands out, tiered storage too.
    LogStart,
    /// The leader's high watermark.
    HighWatermark,
    /// The leader's first offset whose timestamp is at or behind this one, in ms; none if there is no such record.
    Since(i64),
    /// The leader's record with the largest timestamp (3.0 on); ask for it by [`Client::newest`].
    Newest,
}

impl Special {
    fn replica(self) -> i32 {
        match self {
            Self::LogEnd | Self::LocalLogStart => DEBUGGING_REPLICA,
            Self::LogStart | Self::HighWatermark | Self::Since(_) | Self::Newest => CONSUMER,
        }
    }

    /// Returns Kafka's number; before version 8 there was no tiered storage, so the log start is the local one.
    fn timestamp(self, version: i16) -> i64 {
        match self {
            Self::LogEnd | Self::HighWatermark => -1,
            Self::LocalLogStart if version >= 8 => -4,
            Self::LocalLogStart | Self::LogStart => -2,
            Self::Newest => -3,
            Self::Since(timestamp) => timestamp.max(0),
        }
    }
}

/// An offset, or why there is none; `Ok(None)` where no record fits.
pub type AnsweredOffset = Result<Option<Offset>, KafkaError>;

impl Client {
    /// Asks broker `id` for an offset of each of `partitions`.
    ///
    /// # Errors
    ///
    /// The broker does not answer; what it refuses for one partition stands beside that partition.
    pub async fn offsets(
        &self,
        id: i32,
        special: Special,
        partitions: &[TopicPartition],
    ) -> Result<BTreeMap<TopicPartition, AnsweredOffset>, ClientError> {
        if partitions.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.list(id, special, partitions).await.map(convert)
    }

    /// Returns the largest timestamp of each of `partitions`, asked of their leader `id`; partitions without a record, or
    /// that the broker does not tell of, are left out.
    ///
    /// # Errors
    ///
    /// The broker does not answer.
    pub async fn newest(
        &self,
        id: i32,
        partitions: &[TopicPartition],
    ) -> Result<BTreeMap<TopicPartition, Timestamp>, ClientError> {
        if partitions.is_empty() {
            return Ok(BTreeMap::new());
        }
        let response = self.list(id, Special::Newest, partitions).await?;
        let mut newest = BTreeMap::new();
        for topic in response.topics {
            for it in topic.partitions {
                if it.error_code == 0 && it.timestamp >= 0 {
                    let key = TopicPartition::new(topic.name.to_string(), it.partition_index);
                    newest.insert(key, Timestamp(it.timestamp));
                }
            }
        }
        Ok(newest)
    }

    async fn list(
        &self,
        id: i32,
        special: Special,
        partitions: &[TopicPartition],
    ) -> Result<ListOffsetsResponse, ClientError> {
        let build = |version| {
            let topics = by_topic(partitions).into_iter().map(|(name, partitions)| {
                let partition = |number: &i32| {
                    ListOffsetsPartition::default()
                        .with_partition_index(*number)
                        .with_current_leader_epoch(-1)
                        .with_timestamp(special.timestamp(version))
                };
                ListOffsetsTopic::default()
                    .with_name(TopicName(StrBytes::from_string(name.to_owned())))
                    .with_partitions(partitions.iter().map(partition).collect())
            });
            ListOffsetsRequest::default()
                .with_replica_id(BrokerId(special.replica()))
                .with_topics(topics.collect())
        };
        let (response, _) = self.ask(Whom::Broker(id), build).await?;
        Ok(response)
    }
}

fn convert(response: ListOffsetsResponse) -> BTreeMap<TopicPartition, AnsweredOffset> {
    let mut offsets = BTreeMap::new();
    for topic in response.topics {
        for partition in topic.partitions {
            let key = TopicPartition::new(topic.name.to_string(), partition.partition_index);
            let answer = match KafkaError::of(partition.error_code) {
                None => Ok(Some(Offset(partition.offset)).filter(|offset| offset.0 >= 0)),
                Some(error) => Err(error),
            };
            offsets.insert(key, answer);
        }
    }
    offsets
}
