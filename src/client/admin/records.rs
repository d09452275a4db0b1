//! Deleting records below an offset (`DeleteRecords`).

use std::time::Duration;

use kafka_protocol::messages::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsTopic,
};
use kafka_protocol::messages::{DeleteRecordsRequest, DeleteRecordsResponse, TopicName};
use kafka_protocol::protocol::StrBytes;

use crate::client::cluster::{Client, Whom, refused};
use crate::client::error::ClientError;
use crate::terms::{Offset, TopicPartition};

/// How long the leader waits for its followers, in ms.
const FOLLOWERS_MS: i32 = 10_000;
/// How long it is tried while leaders move.
const RETRY_LIMIT: Duration = Duration::from_secs(15);

impl Client {
    /// Lets all records of a partition below `before` go, at its leader `leader`; returns the lowest log start of its
    /// living replicas then.
    ///
    /// # Errors
    ///
    /// The broker refuses: the offset lies behind the high watermark, the topic is only compacted, or followers did not
    /// confirm in time, though the leader has done it.
    pub async fn delete_records(
        &self,
        leader: i32,
        partition: &TopicPartition,
        before: Offset,
    ) -> Result<Offset, ClientError> {
        let build = |_| {
            let of_partition = DeleteRecordsPartition::default()
                .with_partition_index(partition.partition)
                .with_offset(before.0);
            let topic = DeleteRecordsTopic::default()
                .with_name(TopicName(StrBytes::from_string(partition.topic.clone())))
                .with_partitions(vec![of_partition]);
            DeleteRecordsRequest::default()
                .with_topics(vec![topic])
                .with_timeout_ms(FOLLOWERS_MS)
        };
        let check = |response: &DeleteRecordsResponse| {
            let mut all = response.topics.iter().flat_map(|topic| &topic.partitions);
            all.try_for_each(|answer| {
                refused(answer.error_code, None, || {
                    format!("deleting records of {partition}")
                })
            })
        };
        let whom = Whom::Broker(leader);
        let (response, _) = self.insist(whom, RETRY_LIMIT, build, check).await?;
        let mut all = response.topics.iter().flat_map(|topic| &topic.partitions);
        Ok(Offset(
            all.next().map_or(before.0, |answer| answer.low_watermark),
        ))
    }
}
