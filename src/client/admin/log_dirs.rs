//! What lies in a broker's log dirs (`DescribeLogDirs`).

use std::path::PathBuf;

use kafka_protocol::messages::DescribeLogDirsRequest;

use crate::client::cluster::{Client, Whom, refused};
use crate::client::error::{ClientError, KafkaError};
use crate::terms::TopicPartition;

/// A log dir of a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDirReport {
    /// Its path on the broker's host.
    pub path: PathBuf,
    /// Why it is offline, if it is.
    pub error: Option<KafkaError>,
    /// Bytes of its volume; `None` before 3.3 and for an offline dir.
    pub total: Option<u64>,
    /// Bytes of it that the broker can use.
    pub usable: Option<u64>,
    /// Replicas in it.
    pub replicas: Vec<DirReplica>,
}

/// A replica in a log dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirReplica {
    /// The partition.
    pub partition: TopicPartition,
    /// Bytes of its segments; indexes are not counted.
    pub bytes: u64,
    /// Offsets that a move to this dir has still to copy; of no meaning for a current log.
    pub offset_lag: i64,
    /// Whether it is being moved here and not yet current.
    pub is_future: bool,
}

impl Client {
    /// Asks broker `id` for its log dirs and all replicas in them.
    ///
    /// # Errors
    ///
    /// The broker does not answer, or not to us.
    pub async fn log_dirs(&self, id: i32) -> Result<Vec<LogDirReport>, ClientError> {
        let build = |_| DescribeLogDirsRequest::default().with_topics(None);
        let (response, version) = self.ask(Whom::Broker(id), build).await?;
        refused(response.error_code, None, || {
            format!("the log dirs of broker {id}")
        })?;
        let bytes = |count: i64| u64::try_from(count).ok();
        let reports = response.results.into_iter().map(|dir| {
            let replicas = dir.topics.into_iter().flat_map(|topic| {
                let name = topic.name.to_string();
                topic
                    .partitions
                    .into_iter()
                    .map(move |partition| DirReplica {
                        partition: TopicPartition::new(name.clone(), partition.partition_index),
                        bytes: u64::try_from(partition.partition_size).unwrap_or(0),
                        offset_lag: partition.offset_lag,
                        is_future: partition.is_future_key,
                    })
            });
            LogDirReport {
                path: PathBuf::from(dir.log_dir.to_string()),
                error: KafkaError::of(dir.error_code),
                total: bytes(dir.total_bytes).filter(|_| version >= 4),
                usable: bytes(dir.usable_bytes).filter(|_| version >= 4),
                replicas: replicas.collect(),
            }
        });
        Ok(reports.collect())
    }
}
