//! What plans for a living cluster are made of.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::CliError;
use crate::client::{
    Client, ClientError, ConfigEntry, ConfigOrigin, ConfigResource, KafkaError, Special, Whom,
};
use crate::plan::{KeyChange, ReplicaSize};
use crate::terms::TopicPartition;

/// How long from one look at a move to the next.
const PAUSE: Duration = Duration::from_secs(1);
/// In how many looks in a row a broker names neither a copy that grows nor the moved replica before the move counts as ended.
const MISSING_LOOKS: u32 = 5;

/// Returns the settings of a topic by key.
pub(super) async fn topic_values(
    client: &Client,
    topic: &str,
) -> Result<BTreeMap<String, ConfigEntry>, ClientError> {
    let resource = ConfigResource::Topic(topic.to_owned());
    let mut found = client
        .configs(Whom::Any, std::slice::from_ref(&resource), &[])
        .await?;
    let refused = |code: KafkaError| ClientError::Refused {
        what: format!("the settings of topic {topic}"),
        code,
        message: None,
    };
    let missing = || Err(KafkaError::UNKNOWN_TOPIC_OR_PARTITION);
    found
        .remove(&resource)
        .unwrap_or_else(missing)
        .map_err(refused)
}

/// Returns the topic's own value of a key.
pub(super) fn own_value(values: &BTreeMap<String, ConfigEntry>, key: &str) -> Option<String> {
    let entry = values
        .get(key)
        .filter(|entry| entry.origin == ConfigOrigin::Topic)?;
    entry.value.clone()
}

/// Returns a change of a key with what is there before it.
pub(super) fn key_change(
    values: &BTreeMap<String, ConfigEntry>,
    key: &str,
    value: Option<String>,
) -> KeyChange {
    let entry = values.get(key);
    let origin = |origin: ConfigOrigin| match origin {
        ConfigOrigin::Topic => "topic",
        ConfigOrigin::Broker => "broker",
        ConfigOrigin::ClusterDefault => "all brokers",
        ConfigOrigin::File => "broker's file",
        ConfigOrigin::Default => "default",
        ConfigOrigin::Other => "?",
    };
    KeyChange {
        key: key.to_owned(),
        value,
        before: own_value(values, key),
        in_force: entry
            .and_then(|entry| Some((entry.value.clone()?, origin(entry.origin).to_owned()))),
    }
}

/// Returns the bytes of each replica that a broker holds.
pub(super) async fn sizes(
    client: &Client,
    broker: i32,
) -> Result<BTreeMap<TopicPartition, u64>, ClientError> {
    let dirs = client.log_dirs(broker).await?;
    let replicas = dirs.into_iter().flat_map(|dir| dir.replicas);
    let current = replicas.filter(|replica| !replica.is_future);
    Ok(current
        .map(|replica| (replica.partition, replica.bytes))
        .collect())
}

/// Returns the replicas of a topic by the brokers that hold them; what one does not tell is left out.
pub(super) async fn replica_sizes(client: &Client, topic: &str) -> Vec<ReplicaSize> {
    let mut found = Vec::new();
    for broker in client.brokers() {
        let sizes = sizes(client, broker).await.unwrap_or_default();
        let of_topic = sizes.into_iter().filter(|(key, _)| key.topic == topic);
        let of_topic: BTreeMap<_, _> = of_topic.collect();
        let keys: Vec<_> = of_topic.keys().cloned().collect();
        let starts = client.offsets(broker, Special::LocalLogStart, &keys).await;
        let starts = starts.unwrap_or_default();
        found.extend(of_topic.into_iter().map(|(key, bytes)| ReplicaSize {
            broker,
            partition: key.partition,
            bytes,
            log_start: starts.get(&key).and_then(|answer| answer.ok().flatten()),
        }));
    }
    found
}

/// Returns an error for a partition that the cluster does not know.
pub(super) fn unknown_partition(partition: &TopicPartition) -> CliError {
    CliError::failed(format!("the cluster has no partition {partition}"))
}

/// Returns the leader of a partition.
pub(super) async fn leader_of(
    client: &Client,
    partition: &TopicPartition,
) -> Result<i32, ClientError> {
    let metadata = client
        .metadata(Some(std::slice::from_ref(&partition.topic)))
        .await?;
    let refused = |code| ClientError::Refused {
        what: format!("the leader of {partition}"),
        code,
        message: None,
    };
    let known = metadata.partitions.get(partition);
    let known = known.ok_or_else(|| refused(KafkaError::UNKNOWN_TOPIC_OR_PARTITION))?;
    known
        .leader
        .ok_or_else(|| refused(KafkaError::LEADER_NOT_AVAILABLE))
}

/// Returns within how long each broker looks for what is to be deleted, in ms: the longest interval that one tells, and at
/// least what a broker that has just been started waits before its first pass.
pub(super) async fn check_interval(client: &Client) -> Option<u64> {
    const KEY: &str = "log.retention.check.interval.ms";
    // `log.initial.task.delay.ms`, which is not told.
    let mut longest = Some(30_000);
    for broker in client.brokers() {
        let resource = ConfigResource::Broker(broker);
        let found = client
            .configs(
                Whom::Broker(broker),
                std::slice::from_ref(&resource),
                &[KEY],
            )
            .await;
        let entries = found.ok()?.remove(&resource)?.ok()?;
        longest = longest.max(entries.get(KEY)?.value.as_ref()?.parse().ok());
    }
    longest
}

/// Follows a move until the replica lies in `to`, or the move is ended; `tell` hears how many records are left. `Err` says what
/// came of one that was ended.
pub(super) async fn follow_move(
    client: &Client,
    broker: i32,
    partition: &TopicPartition,
    to: &str,
    tell: &mut (dyn FnMut(i64) + Send),
) -> Result<Result<String, String>, ClientError> {
    let (mut told, mut missing) = (None, 0);
    loop {
        let dirs = client.log_dirs(broker).await?;
        let here = |future: bool| {
            let mut dirs = dirs.iter().filter(|dir| dir.path == Path::new(to));
            dirs.find_map(|dir| {
                let mut replicas = dir.replicas.iter();
                replicas
                    .find(|replica| replica.partition == *partition && replica.is_future == future)
            })
        };
        if here(false).is_some() {
            return Ok(Ok(format!(
                "{partition} lies in {to} now; the old copy goes 60 s later"
            )));
        }
        let left = here(true).map(|replica| replica.offset_lag);
        // For a moment, while the copy takes its place, a broker may name neither.
        missing = if left.is_some() { 0 } else { missing + 1 };
        if missing == MISSING_LOOKS {
            return Ok(Err(format!(
                "{partition} was not moved to {to}: broker {broker} copies it no more, as somebody ended the move or the dir failed"
            )));
        }
        if told != Some(left) {
            told = Some(left);
            if let Some(left) = left {
                tell(left);
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
