//! One look at a cluster: every broker is asked of its own replicas, all brokers at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::sample::{BrokerSample, ClusterSample, Configs, ReplicaSample};
use crate::client::{AnsweredOffset, Client, ClientError, ClusterMetadata, Special};
use crate::terms::{Offset, Timestamp, TopicPartition};

/// How long one answer may take while only looking.
pub const LOOK_LIMIT: Duration = Duration::from_secs(5);

type Answers = BTreeMap<TopicPartition, AnsweredOffset>;

/// Looks at all topics, or those of `topics`. The leaders are asked before and after their followers, so that a lag
/// has a least and a most; `clock` dates the answers.
///
/// # Errors
///
/// No broker answers at all. A broker that does not is told of in the sample.
pub async fn look_at_cluster(
    client: &Arc<Client>,
    topics: Option<&[String]>,
    configs: &Configs,
    clock: fn() -> Timestamp,
) -> Result<ClusterSample, ClientError> {
    let (begin, requests) = (Instant::now(), client.requests());
    let at = clock();
    let mut metadata = client.metadata(topics).await?;
    add_eligible(client, &mut metadata, topics).await?;
    let mut look = Look {
        client,
        clock,
        brokers: metadata
            .brokers
            .iter()
            .map(|broker| (broker.id, BrokerSample::default()))
            .collect(),
        replicas: BTreeMap::new(),
    };
    let led = by_broker(&metadata, Role::Leader);
    let followed = by_broker(&metadata, Role::Follower);
    let held = by_broker(&metadata, Role::Any);
    for (broker, (answered, answers)) in look.ask(&led, Special::LogEnd).await {
        look.note(broker, answers, |replica, end| {
            replica.log_end = Some((end, answered));
        });
    }
    for (broker, (answered, answers)) in look.ask(&followed, Special::LogEnd).await {
        look.note(broker, answers, |replica, end| {
            replica.log_end = Some((end, answered));
        });
    }
    for (broker, (answered, answers)) in look.ask(&led, Special::LogEnd).await {
        look.note(broker, answers, |replica, end| {
            replica.log_end_after = Some((end, answered));
        });
    }
    for (broker, (_, answers)) in look.ask(&held, Special::LocalLogStart).await {
        look.note(broker, answers, |replica, start| {
            replica.log_start = Some(start);
        });
    }
    let mut high_watermarks = BTreeMap::new();
    for (_, (_, answers)) in look.ask(&led, Special::HighWatermark).await {
        let told = answers
            .into_iter()
            .filter_map(|(key, answer)| Some((key, answer.ok()??)));
        high_watermarks.extend(told);
    }
    look.log_dirs().await;
    Ok(ClusterSample {
        at,
        took_ms: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
        requests: client.requests() - requests,
        brokers: look.brokers,
        replicas: look.replicas,
        metadata,
        high_watermarks,
        configs: configs.clone(),
    })
}

/// Adds the eligible leader replicas, where the brokers know them.
async fn add_eligible(
    client: &Client,
    metadata: &mut ClusterMetadata,
    topics: Option<&[String]>,
) -> Result<(), ClientError> {
    let eligible = match client.eligible_replicas(topics).await {
        Ok(eligible) => eligible,
        Err(ClientError::Unsupported { .. } | ClientError::Refused { .. }) => return Ok(()),
        Err(error) if error.is_retriable() => return Ok(()),
        Err(error) => return Err(error),
    };
    for (partition, list) in eligible {
        if let Some(known) = metadata.partitions.get_mut(&partition) {
            known.eligible = Some(list);
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Leader,
    Follower,
    Any,
}

/// Returns the partitions of each living broker, in a role.
fn by_broker(metadata: &ClusterMetadata, role: Role) -> BTreeMap<i32, Vec<TopicPartition>> {
    let mut brokers: BTreeMap<i32, Vec<_>> = metadata
        .brokers
        .iter()
        .map(|broker| (broker.id, Vec::new()))
        .collect();
    for (partition, known) in &metadata.partitions {
        for broker in &known.replicas {
            let leads = known.leader == Some(*broker);
            let wanted = match role {
                Role::Leader => leads,
                Role::Follower => !leads,
                Role::Any => true,
            };
            if let (true, Some(list)) = (wanted, brokers.get_mut(broker)) {
                list.push(partition.clone());
            }
        }
    }
    brokers
}

struct Look<'a> {
    client: &'a Arc<Client>,
    clock: fn() -> Timestamp,
    brokers: BTreeMap<i32, BrokerSample>,
    replicas: BTreeMap<(TopicPartition, i32), ReplicaSample>,
}

impl Look<'_> {
    /// Asks each broker that has answered so far for an offset of its partitions, all at once.
    async fn ask(
        &mut self,
        partitions: &BTreeMap<i32, Vec<TopicPartition>>,
        special: Special,
    ) -> Vec<(i32, (Timestamp, Answers))> {
        let mut asked = JoinSet::new();
        for (broker, list) in partitions {
            if list.is_empty() || self.has_failed(*broker) {
                continue;
            }
            let (client, broker, list) = (Arc::clone(self.client), *broker, list.clone());
            asked.spawn(async move { (broker, client.offsets(broker, special, &list).await) });
        }
        let mut answers = Vec::new();
        while let Some(Ok((broker, answer))) = asked.join_next().await {
            match answer {
                Ok(answer) => answers.push((broker, ((self.clock)(), answer))),
                Err(error) => self.fail(broker, &error),
            }
        }
        answers
    }

    fn has_failed(&self, broker: i32) -> bool {
        self.brokers
            .get(&broker)
            .is_some_and(|broker| broker.failure.is_some())
    }

    fn fail(&mut self, broker: i32, error: &ClientError) {
        let broker = self.brokers.entry(broker).or_default();
        broker.failure.get_or_insert_with(|| error.in_one_line());
    }

    fn note(&mut self, broker: i32, answers: Answers, take: impl Fn(&mut ReplicaSample, Offset)) {
        for (partition, answer) in answers {
            let replica = self.replicas.entry((partition, broker)).or_default();
            match answer {
                Ok(Some(offset)) => take(replica, offset),
                Ok(None) => {}
                Err(error) => replica.error = Some(error),
            }
        }
    }

    async fn log_dirs(&mut self) {
        let mut asked = JoinSet::new();
        for broker in self.brokers.keys().copied() {
            if !self.has_failed(broker) {
                let client = Arc::clone(self.client);
                asked.spawn(async move { (broker, client.log_dirs(broker).await) });
            }
        }
        while let Some(Ok((broker, answer))) = asked.join_next().await {
            let dirs = match answer {
                Ok(dirs) => dirs,
                // We may look at the topics and not at the cluster: sizes are unknown then.
                Err(ClientError::Refused { .. } | ClientError::Unsupported { .. }) => continue,
                Err(error) => {
                    self.fail(broker, &error);
                    continue;
                }
            };
            for dir in &dirs {
                for found in &dir.replicas {
                    let key = (found.partition.clone(), broker);
                    let Some(replica) = self.replicas.get_mut(&key) else {
                        continue;
                    };
                    if found.is_future {
                        replica.moving = Some((dir.path.clone(), found.offset_lag));
                    } else {
                        replica.bytes = Some(found.bytes);
                        replica.dir = Some(dir.path.clone());
                    }
                }
            }
            self.brokers.entry(broker).or_default().log_dirs = Some(dirs);
        }
    }
}
