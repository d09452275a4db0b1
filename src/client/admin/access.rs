//! Who may do what to topics, and who writes to partitions (`DescribeAcls`, `DescribeProducers`).

use std::collections::BTreeMap;

use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::{DescribeAclsRequest, DescribeProducersRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::by_topic;
use crate::client::cluster::{Client, Whom, refused};
use crate::client::error::{ClientError, KafkaError};
use crate::terms::{ProducerId, Timestamp, TopicPartition};

const TOPIC: i8 = 2;
const ANY: i8 = 1;
const PREFIXED: i8 = 4;
const ALLOW: i8 = 3;

/// A rule of the authorizer for topics.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "two facts apart, as Kafka tells them"
)]
pub struct TopicAcl {
    /// The topic, or its prefix; `*` for all.
    pub topic: String,
    /// Whether the name is a prefix.
    pub prefixed: bool,
    /// Whom it concerns, such as `User:alice`.
    pub principal: String,
    /// What, in Kafka's words, such as `WRITE`.
    pub operation: &'static str,
    /// Whether it grants; else it denies.
    pub allows: bool,
}

/// A producer with an id that a leader remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveProducer {
    /// Its id.
    pub producer_id: ProducerId,
    /// When its last batch was written.
    pub last_timestamp: Timestamp,
}

fn operation(code: i8) -> &'static str {
    match code {
        2 => "ALL",
        3 => "READ",
        4 => "WRITE",
        5 => "CREATE",
        6 => "DELETE",
        7 => "ALTER",
        8 => "DESCRIBE",
        10 => "DESCRIBE_CONFIGS",
        11 => "ALTER_CONFIGS",
        _ => "?",
    }
}

impl Client {
    /// Returns the rules for topics; `None` where the cluster has no authorizer.
    ///
    /// # Errors
    ///
    /// No broker answers, or not to us.
    pub async fn topic_acls(&self) -> Result<Option<Vec<TopicAcl>>, ClientError> {
        let build = |_| {
            DescribeAclsRequest::default()
                .with_resource_type_filter(TOPIC)
                .with_pattern_type_filter(ANY)
                .with_operation(ANY)
                .with_permission_type(ANY)
        };
        let (response, _) = self.ask(Whom::Any, build).await?;
        if KafkaError::of(response.error_code) == Some(KafkaError::SECURITY_DISABLED) {
            return Ok(None);
        }
        let message = response.error_message.as_deref();
        refused(response.error_code, message, || {
            "the rules for topics".to_owned()
        })?;
        let mut rules = Vec::new();
        for resource in response.resources {
            rules.extend(resource.acls.iter().map(|acl| TopicAcl {
                topic: resource.resource_name.to_string(),
                prefixed: resource.pattern_type == PREFIXED,
                principal: acl.principal.to_string(),
                operation: operation(acl.operation),
                allows: acl.permission_type == ALLOW,
            }));
        }
        Ok(Some(rules))
    }

    /// Returns the producers with an id that wrote to `partitions`, as their leader `id` remembers them; partitions that it
    /// does not tell of are left out.
    ///
    /// # Errors
    ///
    /// The broker does not answer, or knows no such request (before 2.8).
    pub async fn producers(
        &self,
        id: i32,
        partitions: &[TopicPartition],
    ) -> Result<BTreeMap<TopicPartition, Vec<ActiveProducer>>, ClientError> {
        if partitions.is_empty() {
            return Ok(BTreeMap::new());
        }
        let build = |_| {
            let topics = by_topic(partitions).into_iter().map(|(name, numbers)| {
                TopicRequest::default()
                    .with_name(TopicName(StrBytes::from_string(name.to_owned())))
                    .with_partition_indexes(numbers)
            });
            DescribeProducersRequest::default().with_topics(topics.collect())
        };
        let (response, _) = self.ask(Whom::Broker(id), build).await?;
        let mut found = BTreeMap::new();
        for topic in response.topics {
            for it in topic.partitions.iter().filter(|it| it.error_code == 0) {
                let producer = |state: &kafka_protocol::messages::describe_producers_response::ProducerState| {
                    ActiveProducer {
                        producer_id: ProducerId(state.producer_id.0),
                        last_timestamp: Timestamp(state.last_timestamp),
                    }
                };
                let key = TopicPartition::new(topic.name.to_string(), it.partition_index);
                found.insert(key, it.active_producers.iter().map(producer).collect());
            }
        }
        Ok(found)
    }
}
