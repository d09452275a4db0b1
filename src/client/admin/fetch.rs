//! Records of a partition as its leader hands them out (`Fetch`), without a session and without a group.

use bytes::Bytes;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::{BrokerId, FetchRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use crate::client::cluster::{Client, Whom, refused};
use crate::client::error::ClientError;
use crate::terms::{Offset, ProducerId, TopicPartition};

/// Read what transactions have committed, and be told which were aborted.
const READ_COMMITTED: i8 = 1;
/// No session: every request stands for itself.
const NO_SESSION: i32 = -1;

/// What one answer held.
#[derive(Debug, Clone, Default)]
pub struct Fetched {
    /// Whole batches, the last perhaps torn; the first may begin before the offset that was asked for.
    pub records: Bytes,
    /// The first offset that the partition has.
    pub log_start_offset: Option<Offset>,
    /// Records behind it belong to transactions that are open; exclusive.
    pub last_stable_offset: Offset,
    /// Transactions that were aborted among the records: the producer, and the first offset.
    pub aborted: Vec<(ProducerId, Offset)>,
}

impl Client {
    /// Returns records of a partition from `from` on, up to its last stable offset, about `most` bytes; asked of its
    /// leader `id`.
    ///
    /// # Errors
    ///
    /// The broker does not answer, or refuses: it leads no longer, or the offset is gone.
    pub async fn fetch(
        &self,
        id: i32,
        partition: &TopicPartition,
        from: Offset,
        most: i32,
    ) -> Result<Fetched, ClientError> {
        let build = |_| {
            let wanted = FetchPartition::default()
                .with_partition(partition.partition)
                .with_current_leader_epoch(-1)
                .with_fetch_offset(from.0)
                .with_log_start_offset(-1)
                .with_partition_max_bytes(most);
            let topic = FetchTopic::default()
                .with_topic(TopicName(StrBytes::from_string(partition.topic.clone())))
                .with_partitions(vec![wanted]);
            FetchRequest::default()
                .with_replica_id(BrokerId(-1))
                .with_max_bytes(most)
                .with_isolation_level(READ_COMMITTED)
                .with_session_epoch(NO_SESSION)
                .with_topics(vec![topic])
        };
        let what = || format!("records of {partition}");
        let (response, _) = self.ask(Whom::Broker(id), build).await?;
        refused(response.error_code, None, what)?;
        let mut all = response
            .responses
            .into_iter()
            .flat_map(|topic| topic.partitions);
        let Some(answer) = all.next() else {
            return Ok(Fetched::default());
        };
        refused(answer.error_code, None, what)?;
        Ok(convert(answer))
    }
}

fn convert(answer: PartitionData) -> Fetched {
    let aborted = answer.aborted_transactions.unwrap_or_default();
    Fetched {
        records: answer.records.unwrap_or_default(),
        log_start_offset: Some(Offset(answer.log_start_offset)).filter(|it| it.0 >= 0),
        last_stable_offset: Offset(answer.last_stable_offset),
        aborted: aborted
            .iter()
            .map(|it| (ProducerId(it.producer_id.0), Offset(it.first_offset)))
            .collect(),
    }
}
