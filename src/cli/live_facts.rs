//! What plans for a living cluster are made of.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::CliError;
use crate::client::{
    Client, ClientError, ClusterMetadata, ConfigEntry, ConfigOrigin, ConfigResource, KafkaError,
    Special, Whom,
};
use crate::plan::{GroupBelow, KeyChange, LiveLoss, ReplicaSize};
use crate::terms::{Offset, Timestamp, TopicPartition};

/// Groups that are asked about at most.
const MAX_GROUPS: usize = 1000;
/// How long from one look at a move to the next.
const PAUSE: Duration = Duration::from_secs(1);

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

/// What goes of each partition: its first offset, and the first that stays.
pub(super) type Cuts = BTreeMap<TopicPartition, (Offset, Offset)>;

/// Returns what a change of settings lets go at most, on each replica, by the leaders' answers; no cuts where that is not known.
pub(super) async fn loss_of(
    client: &Client,
    metadata: &ClusterMetadata,
    changes: &[KeyChange],
    now: Timestamp,
) -> Result<(LiveLoss, Option<Cuts>), ClientError> {
    let number = |text: &str| text.trim().parse::<i64>().ok();
    let (mut time, mut size, mut unknown) = (None, None, false);
    for change in changes {
        let place = match change.key.as_str() {
            "retention.ms" => &mut time,
            "retention.bytes" => &mut size,
            // These say how soon, not whether.
            "file.delete.delay.ms" => continue,
            _ => {
                unknown = true;
                continue;
            }
        };
        let new = change.value.as_deref().and_then(number);
        let old = change
            .in_force
            .as_ref()
            .and_then(|(value, _)| number(value));
        match (new, old) {
            // What is kept longer lets nothing go; -1 is for ever.
            (Some(new), _) if new < 0 => {}
            (Some(new), Some(old)) if old >= 0 && new >= old => {}
            (Some(new), _) => *place = Some(new),
            (None, _) => unknown = true,
        }
    }
    if unknown {
        return Ok((LiveLoss::default(), None));
    }
    let mut cuts = Cuts::new();
    let mut loss = LiveLoss {
        bytes: Some(0),
        records: Some(0),
    };
    if time.is_none() && size.is_none() {
        return Ok((loss, Some(cuts)));
    }
    for (leader, partitions) in by_leader(metadata) {
        let ends = client.offsets(leader, Special::LogEnd, &partitions).await?;
        let starts = client
            .offsets(leader, Special::LocalLogStart, &partitions)
            .await?;
        let firsts = match time {
            Some(ms) => {
                client
                    .offsets(leader, Special::Since(now.0 - ms), &partitions)
                    .await?
            }
            None => BTreeMap::new(),
        };
        let sizes = sizes(client, leader).await?;
        for partition in &partitions {
            let offset = |answers: &BTreeMap<TopicPartition, crate::client::AnsweredOffset>| {
                answers
                    .get(partition)
                    .and_then(|answer| answer.ok().flatten())
            };
            let (Some(end), Some(start)) = (offset(&ends), offset(&starts)) else {
                return Ok((LiveLoss::default(), None));
            };
            let records = u64::try_from(end.0 - start.0).unwrap_or(0);
            let Some(bytes) = sizes.get(partition).copied() else {
                return Ok((LiveLoss::default(), None));
            };
            let by_time = time.map_or(0, |_| {
                // No record is as young: all go.
                let first = offset(&firsts).unwrap_or(end);
                u64::try_from(first.0 - start.0).unwrap_or(0)
            });
            let part = |of: u64, share: u64, whole: u64| {
                let scaled = u128::from(of) * u128::from(share) / u128::from(whole.max(1));
                u64::try_from(scaled).unwrap_or(u64::MAX)
            };
            let over = size.map_or(0, |most| {
                bytes.saturating_sub(u64::try_from(most).unwrap_or(0))
            });
            let bytes_gone = part(bytes, by_time, records).max(over);
            let records_gone = by_time.max(part(records, over, bytes));
            let cut = Offset(start.0.saturating_add_unsigned(records_gone));
            cuts.insert(partition.clone(), (start, cut));
            loss.bytes = loss.bytes.map(|sum| sum.saturating_add(bytes_gone));
            loss.records = loss.records.map(|sum| sum.saturating_add(records_gone));
        }
    }
    Ok((loss, Some(cuts)))
}

fn by_leader(metadata: &ClusterMetadata) -> BTreeMap<i32, Vec<TopicPartition>> {
    let mut leaders: BTreeMap<i32, Vec<_>> = BTreeMap::new();
    for (partition, known) in &metadata.partitions {
        if let Some(leader) = known.leader {
            leaders.entry(leader).or_default().push(partition.clone());
        }
    }
    leaders
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

/// Returns the groups that have committed an offset of `partition` below `before`.
pub(super) async fn groups_below(
    client: &Client,
    partition: &TopicPartition,
    before: Offset,
) -> Result<Vec<GroupBelow>, ClientError> {
    let mut below = Vec::new();
    for broker in client.brokers() {
        let groups = match client.groups(broker).await {
            Ok(groups) => groups,
            // Without the right to see groups none is told of.
            Err(ClientError::Refused { .. }) => continue,
            Err(error) => return Err(error),
        };
        for group in groups.into_iter().take(MAX_GROUPS) {
            let committed = client
                .commits(broker, &group.id, Some(std::slice::from_ref(partition)))
                .await;
            for committed in committed.unwrap_or_default() {
                if committed.offset < before {
                    below.push(GroupBelow {
                        group: group.id.clone(),
                        partition: partition.clone(),
                        committed: committed.offset,
                    });
                }
            }
        }
    }
    below.sort();
    Ok(below)
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

/// Follows a move until the replica lies in `to`; `tell` hears how many records are left.
pub(super) async fn follow_move(
    client: &Client,
    broker: i32,
    partition: &TopicPartition,
    to: &str,
    tell: &mut (dyn FnMut(i64) + Send),
) -> Result<String, ClientError> {
    let mut told = None;
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
            return Ok(format!(
                "{partition} lies in {to} now; the old copy goes 60 s later"
            ));
        }
        let left = here(true).map(|replica| replica.offset_lag);
        if told != Some(left) {
            told = Some(left);
            if let Some(left) = left {
                tell(left);
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
