//! Topics, leaders and in-sync replicas; the eligible leader replicas where the brokers know them.

use std::collections::BTreeMap;

use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    BrokerId, DescribeTopicPartitionsRequest, MetadataRequest, MetadataResponse, TopicName,
};
use kafka_protocol::protocol::StrBytes;

use crate::client::address::Address;
use crate::client::cluster::{BrokerNode, Client, Whom, refused};
use crate::client::error::{ClientError, KafkaError};
use crate::terms::{LeaderEpoch, TopicPartition, Uuid};

/// Partitions that one answer describes at most; brokers cut it to their own limit.
const PAGE: i32 = 2000;

/// What the brokers say of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterMetadata {
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// Living brokers.
    pub brokers: Vec<BrokerNode>,
    /// The controller; in `KRaft` some broker.
    pub controller: Option<i32>,
    /// Partitions.
    pub partitions: BTreeMap<TopicPartition, PartitionMetadata>,
    /// The topics' ids; none before 2.8. A topic that is deleted and made again has another.
    pub topic_ids: BTreeMap<String, Uuid>,
    /// Topics that the broker did not describe, with its error.
    pub refused: Vec<(String, KafkaError)>,
}

/// What the brokers say of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartitionMetadata {
    /// The leader; `None` if there is none.
    pub leader: Option<i32>,
    /// Its epoch; `None` before 2.1.
    pub leader_epoch: Option<LeaderEpoch>,
    /// Who holds the partition, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Those in sync.
    pub isr: Vec<i32>,
    /// Those that may be elected beside (KIP-966); `None` where brokers do not know it.
    pub eligible: Option<Vec<i32>>,
    /// Those whose broker or log dir is gone.
    pub offline: Vec<i32>,
    /// The error that the broker gave for it.
    pub error: Option<KafkaError>,
}

impl Client {
    /// Asks for all topics, or those of `topics`; the eligible leader replicas are asked for apart
    /// ([`Client::eligible_replicas`]).
    ///
    /// # Errors
    ///
    /// No broker answers.
    pub async fn metadata(
        &self,
        topics: Option<&[String]>,
    ) -> Result<ClusterMetadata, ClientError> {
        let build = |version: i16| {
            let topics = topics.map(|topics| {
                let topic = |name: &String| {
                    let name = StrBytes::from_string(name.clone());
                    MetadataRequestTopic::default().with_name(Some(TopicName(name)))
                };
                topics.iter().map(topic).collect()
            });
            // Before version 1 an empty list means all; brokers of 2.8 on have more.
            debug_assert!(version >= 1, "brokers from 2.8 on");
            MetadataRequest::default()
                .with_topics(topics)
                .with_allow_auto_topic_creation(version < 4)
        };
        let (response, _) = self.ask(Whom::Any, build).await?;
        refused(response.error_code, None, || "the metadata".to_owned())?;
        let metadata = convert(response);
        self.learn(&metadata.brokers, metadata.controller);
        Ok(metadata)
    }

    /// Asks for brokers and controller alone.
    pub(in crate::client) async fn refresh(&self) -> Result<(), ClientError> {
        self.metadata(Some(&[])).await.map(|_| ())
    }

    /// Asks for the eligible leader replicas of all topics, or those of `topics`, page by page.
    ///
    /// # Errors
    ///
    /// No broker answers, or none knows them (before 3.8).
    pub async fn eligible_replicas(
        &self,
        topics: Option<&[String]>,
    ) -> Result<BTreeMap<TopicPartition, Vec<i32>>, ClientError> {
        let mut found = BTreeMap::new();
        let mut cursor: Option<Cursor> = None;
        let topics: Vec<_> = topics
            .into_iter()
            .flatten()
            .map(|name| topic_request(name))
            .collect();
        loop {
            let build = |_| {
                DescribeTopicPartitionsRequest::default()
                    .with_topics(topics.clone())
                    .with_response_partition_limit(PAGE)
                    .with_cursor(cursor.clone())
            };
            let (response, _) = self.ask(Whom::Any, build).await?;
            let before = found.len();
            for topic in response.topics {
                let name = topic.name.map(|name| name.to_string()).unwrap_or_default();
                for partition in topic.partitions {
                    let eligible = partition.eligible_leader_replicas.unwrap_or_default();
                    let key = TopicPartition::new(name.clone(), partition.partition_index);
                    found.insert(key, ids(&eligible));
                }
            }
            cursor = response.next_cursor.map(|next| {
                Cursor::default()
                    .with_topic_name(next.topic_name)
                    .with_partition_index(next.partition_index)
            });
            // A page without anything new would go on for ever.
            if cursor.is_none() || found.len() == before {
                return Ok(found);
            }
        }
    }
}

fn topic_request(name: &str) -> TopicRequest {
    TopicRequest::default().with_name(TopicName(StrBytes::from_string(name.to_owned())))
}

fn ids(list: &[BrokerId]) -> Vec<i32> {
    list.iter().map(|id| id.0).collect()
}

fn convert(response: MetadataResponse) -> ClusterMetadata {
    let brokers = response.brokers.iter().filter_map(|broker| {
        Some(BrokerNode {
            id: broker.node_id.0,
            address: Address {
                host: broker.host.to_string(),
                port: u16::try_from(broker.port).ok()?,
            },
            rack: broker.rack.as_ref().map(ToString::to_string),
        })
    });
    let mut metadata = ClusterMetadata {
        cluster_id: response.cluster_id.as_ref().map(ToString::to_string),
        brokers: brokers.collect(),
        controller: Some(response.controller_id.0).filter(|id| *id >= 0),
        ..ClusterMetadata::default()
    };
    for topic in response.topics {
        let name = topic.name.map(|name| name.to_string()).unwrap_or_default();
        let id = Uuid(topic.topic_id.into_bytes());
        if id != Uuid::ZERO {
            metadata.topic_ids.insert(name.clone(), id);
        }
        if let Some(error) = KafkaError::of(topic.error_code) {
            metadata.refused.push((name.clone(), error));
        }
        for partition in topic.partitions {
            let key = TopicPartition::new(name.clone(), partition.partition_index);
            let known = PartitionMetadata {
                leader: Some(partition.leader_id.0).filter(|id| *id >= 0),
                leader_epoch: Some(LeaderEpoch(partition.leader_epoch))
                    .filter(|epoch| epoch.0 >= 0),
                replicas: ids(&partition.replica_nodes),
                isr: ids(&partition.isr_nodes),
                eligible: None,
                offline: ids(&partition.offline_replicas),
                error: KafkaError::of(partition.error_code),
            };
            metadata.partitions.insert(key, known);
        }
    }
    metadata
}
