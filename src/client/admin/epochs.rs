//! Where the leader's epochs end (`OffsetForLeaderEpoch`).

use std::collections::BTreeMap;

use kafka_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use kafka_protocol::messages::{BrokerId, OffsetForLeaderEpochRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use crate::client::cluster::{Client, Whom};
use crate::client::error::{ClientError, KafkaError};
use crate::terms::{LeaderEpoch, Offset, TopicPartition};

/// Kafka's id for somebody who only looks.
const DEBUGGING_REPLICA: i32 = -2;

/// The leader's end of one epoch of a partition is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpochQuestion {
    /// The partition.
    pub partition: TopicPartition,
    /// The epoch.
    pub epoch: LeaderEpoch,
}

/// What the leader says: its largest epoch at or below the one asked for, and where that ends (exclusive). `None` each
/// where the leader knows none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    /// The epoch.
    pub epoch: Option<LeaderEpoch>,
    /// Its end.
    pub end: Option<Offset>,
}

impl Client {
    /// Asks broker `id`, which must lead, for the ends of epochs.
    ///
    /// # Errors
    ///
    /// The broker does not answer; what it refuses for one partition stands beside that partition.
    pub async fn epoch_ends(
        &self,
        id: i32,
        questions: &[EpochQuestion],
    ) -> Result<BTreeMap<TopicPartition, Result<EpochEnd, KafkaError>>, ClientError> {
        if questions.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut topics: BTreeMap<&str, Vec<OffsetForLeaderPartition>> = BTreeMap::new();
        for question in questions {
            let partition = OffsetForLeaderPartition::default()
                .with_partition(question.partition.partition)
                .with_current_leader_epoch(-1)
                .with_leader_epoch(question.epoch.0);
            topics
                .entry(&question.partition.topic)
                .or_default()
                .push(partition);
        }
        let build = |version| {
            let topics = topics.iter().map(|(name, partitions)| {
                OffsetForLeaderTopic::default()
                    .with_topic(TopicName(StrBytes::from_string((*name).to_owned())))
                    .with_partitions(partitions.clone())
            });
            let request = OffsetForLeaderEpochRequest::default().with_topics(topics.collect());
            // The field came with version 3.
            if version < 3 {
                return request;
            }
            request.with_replica_id(BrokerId(DEBUGGING_REPLICA))
        };
        let (response, _) = self.ask(Whom::Broker(id), build).await?;
        let mut ends = BTreeMap::new();
        for topic in response.topics {
            for partition in topic.partitions {
                let key = TopicPartition::new(topic.topic.to_string(), partition.partition);
                let answer = match KafkaError::of(partition.error_code) {
                    Some(error) => Err(error),
                    None => Ok(EpochEnd {
                        epoch: Some(LeaderEpoch(partition.leader_epoch))
                            .filter(|epoch| epoch.0 >= 0),
                        end: Some(Offset(partition.end_offset)).filter(|end| end.0 >= 0),
                    }),
                };
                ends.insert(key, answer);
            }
        }
        Ok(ends)
    }
}
