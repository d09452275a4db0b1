//! The controllers' quorum (`DescribeQuorum`).

use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};
use kafka_protocol::messages::{DescribeQuorumRequest, TopicName};
use kafka_protocol::protocol::StrBytes;
use serde::{Deserialize, Serialize};

use crate::client::cluster::{Client, Whom, refused};
use crate::client::error::ClientError;
use crate::terms::{Offset, Timestamp};

const METADATA_TOPIC: &str = "__cluster_metadata";

/// The quorum of the metadata log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quorum {
    /// The active controller.
    pub leader: i32,
    /// Its epoch.
    pub epoch: i32,
    /// The committed end.
    pub high_watermark: Offset,
    /// Those that vote.
    pub voters: Vec<QuorumReplica>,
    /// Those that only follow: the brokers.
    pub observers: Vec<QuorumReplica>,
}

/// A replica of the metadata log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuorumReplica {
    /// The node.
    pub id: i32,
    /// Its log end offset.
    pub log_end_offset: Offset,
    /// When it fetched last, if the controller tells.
    pub last_fetch: Option<Timestamp>,
    /// When it had caught up last.
    pub last_caught_up: Option<Timestamp>,
}

/// How long a voter may not have fetched before it is taken for gone, in ms (`controller.quorum.fetch.timeout.ms` is 2 s).
const SILENT_MS: i64 = 10_000;

impl Quorum {
    /// Returns the voters that fetch, by the active controller's clock; `None` if it does not tell.
    pub fn current_voters(&self) -> Option<Vec<i32>> {
        let leader = self.voters.iter().find(|voter| voter.id == self.leader)?;
        let now = leader.last_fetch?;
        let is_current = |voter: &&QuorumReplica| {
            voter.id == self.leader
                || voter
                    .last_fetch
                    .is_some_and(|last| now.0.saturating_sub(last.0) <= SILENT_MS)
        };
        let current = self.voters.iter().filter(is_current);
        Some(current.map(|voter| voter.id).collect())
    }

    /// Returns how many of the current voters may fail before no controller can be elected.
    pub fn may_fail(&self) -> Option<usize> {
        let majority = self.voters.len() / 2 + 1;
        Some(self.current_voters()?.len().saturating_sub(majority))
    }
}

impl Client {
    /// Asks for the quorum's state.
    ///
    /// # Errors
    ///
    /// No broker answers, or the cluster has no such quorum (`ZooKeeper`), or we may not ask.
    pub async fn quorum(&self) -> Result<Quorum, ClientError> {
        let build = |_| {
            let topic = TopicData::default()
                .with_topic_name(TopicName(StrBytes::from_static_str(METADATA_TOPIC)))
                .with_partitions(vec![PartitionData::default()]);
            DescribeQuorumRequest::default().with_topics(vec![topic])
        };
        let (response, version) = self.ask(Whom::Any, build).await?;
        let what = || "the quorum".to_owned();
        refused(response.error_code, response.error_message.as_deref(), what)?;
        let first = response
            .topics
            .into_iter()
            .flat_map(|topic| topic.partitions)
            .next();
        let Some(partition) = first else {
            return Err(ClientError::Malformed {
                address: "the broker".to_owned(),
                what: "DescribeQuorum",
                cause: "it names no partition".to_owned(),
            });
        };
        refused(
            partition.error_code,
            partition.error_message.as_deref(),
            what,
        )?;
        let time = |ms: i64| Some(Timestamp(ms)).filter(|_| version >= 1 && ms >= 0);
        let replicas =
            |list: Vec<kafka_protocol::messages::describe_quorum_response::ReplicaState>| {
                let replica =
                    |state: kafka_protocol::messages::describe_quorum_response::ReplicaState| {
                        QuorumReplica {
                            id: state.replica_id.0,
                            log_end_offset: Offset(state.log_end_offset),
                            last_fetch: time(state.last_fetch_timestamp),
                            last_caught_up: time(state.last_caught_up_timestamp),
                        }
                    };
                list.into_iter().map(replica).collect()
            };
        Ok(Quorum {
            leader: partition.leader_id.0,
            epoch: partition.leader_epoch,
            high_watermark: Offset(partition.high_watermark),
            voters: replicas(partition.current_voters),
            observers: replicas(partition.observers),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quorum(fetched: &[Option<i64>]) -> Quorum {
        let voter = |(id, last): (i32, &Option<i64>)| QuorumReplica {
            id,
            log_end_offset: Offset(5),
            last_fetch: last.map(Timestamp),
            last_caught_up: None,
        };
        Quorum {
            leader: 1,
            epoch: 3,
            high_watermark: Offset(5),
            voters: (1..).zip(fetched).map(voter).collect(),
            observers: Vec::new(),
        }
    }

    #[test]
    fn a_voter_that_does_not_fetch_counts_as_failed() {
        let now = 100_000;
        let all = quorum(&[Some(now), Some(now - 400), Some(now - 9_000)]);
        assert_eq!(all.current_voters(), Some(vec![1, 2, 3]));
        assert_eq!(all.may_fail(), Some(1));
        let one_gone = quorum(&[Some(now), Some(now - 400), Some(now - 90_000)]);
        assert_eq!(one_gone.current_voters(), Some(vec![1, 2]));
        assert_eq!(one_gone.may_fail(), Some(0));
        assert_eq!(quorum(&[None, None, None]).may_fail(), None);
    }
}
