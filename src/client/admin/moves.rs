//! Moving a replica to another log dir of its broker (`AlterReplicaLogDirs`).

use std::path::Path;

use kafka_protocol::messages::alter_replica_log_dirs_request::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic,
};
use kafka_protocol::messages::{AlterReplicaLogDirsRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use crate::client::cluster::{Client, Whom, refused};
use crate::client::error::ClientError;
use crate::terms::TopicPartition;

impl Client {
    /// Lets broker `id` begin to move its replica of a partition to the log dir `to`, written as the broker writes it. The
    /// dir where the replica lies ends a move that runs.
    ///
    /// # Errors
    ///
    /// The broker refuses, or does not answer.
    pub async fn move_replica(
        &self,
        id: i32,
        partition: &TopicPartition,
        to: &Path,
    ) -> Result<(), ClientError> {
        let path = to.display().to_string();
        let build = |_| {
            let topic = AlterReplicaLogDirTopic::default()
                .with_name(TopicName(StrBytes::from_string(partition.topic.clone())))
                .with_partitions(vec![partition.partition]);
            let dir = AlterReplicaLogDir::default()
                .with_path(StrBytes::from_string(path.clone()))
                .with_topics(vec![topic]);
            AlterReplicaLogDirsRequest::default().with_dirs(vec![dir])
        };
        let (response, _) = self.ask(Whom::Broker(id), build).await?;
        let mut all = response.results.iter().flat_map(|topic| &topic.partitions);
        all.try_for_each(|answer| {
            refused(answer.error_code, None, || {
                format!("moving {partition} to {path}")
            })
        })
    }
}
