//! One cluster's facts, asked of its brokers.

use std::collections::BTreeMap;

use super::commit_times::read_commit_times;
use super::contents::read_contents;
use super::groups::read_groups;
use crate::client::{
    AnsweredOffset, Client, ClientError, ClusterMetadata as Described, ConfigOrigin,
    ConfigResource, PartitionMetadata, Special, Whom,
};
use crate::mirror::{
    ClusterFacts, ClusterMetadata, FactFinding, FactSource, LiveFacts, LogFacts, Thinning,
    TopicMetadata,
};
use crate::terms::{Offset, Timestamp, TopicPartition};

/// Topics whose settings are asked for at once.
const TOPICS_AT_ONCE: usize = 200;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct LiveRequest<'a> {
    /// Where the cluster was found, as given.
    pub address: &'a str,
    /// The clock.
    pub now: Timestamp,
    /// How syncs thin out.
    pub thinning: Thinning,
}

/// Asks a cluster for everything that the model of MirrorMaker 2 can use.
///
/// What one broker refuses is a finding, and the fact stays absent.
///
/// # Errors
///
/// No broker answers.
pub async fn read_live_facts(
    client: &Client,
    request: LiveRequest<'_>,
) -> Result<ClusterFacts, ClientError> {
    let described = client.metadata(None).await?;
    let mut facts = ClusterFacts {
        cluster_id: described.cluster_id.clone(),
        sources: vec![FactSource {
            host: "its brokers".to_owned(),
            places: vec![request.address.to_owned()],
            node_id: None,
            read_at: request.now,
            live: true,
        }],
        metadata: Some(metadata(&described, request.now)),
        ..ClusterFacts::default()
    };
    read_configs(client, &mut facts).await?;
    read_ends(client, &described, &mut facts).await?;
    read_contents(client, &described, request.thinning, &mut facts).await?;
    read_groups(client, &mut facts).await?;
    read_commit_times(client, &described, &mut facts).await;
    facts.live = Some(LiveFacts {
        auto_create: auto_create(client).await,
        offsets_retention_ms: offsets_retention(client).await,
        ..LiveFacts::default()
    });
    Ok(facts)
}

/// Notes what was wrong.
pub(super) fn found(facts: &mut ClusterFacts, place: impl Into<String>, text: impl Into<String>) {
    facts.findings.push(FactFinding {
        place: place.into(),
        text: text.into(),
    });
}

pub(super) fn metadata(described: &Described, now: Timestamp) -> ClusterMetadata {
    let mut topics: BTreeMap<String, TopicMetadata> = BTreeMap::new();
    for (partition, known) in &described.partitions {
        topics
            .entry(partition.topic.clone())
            .or_default()
            .replicas
            .insert(partition.partition, known.replicas.clone());
    }
    ClusterMetadata {
        timestamp: Some(now),
        brokers: described
            .brokers
            .iter()
            .map(|broker| (broker.id, broker.rack.clone()))
            .collect(),
        topics,
    }
}

async fn read_configs(client: &Client, facts: &mut ClusterFacts) -> Result<(), ClientError> {
    let names: Vec<String> = facts.topics().into_iter().map(str::to_owned).collect();
    for names in names.chunks(TOPICS_AT_ONCE) {
        let resources: Vec<_> = names.iter().cloned().map(ConfigResource::Topic).collect();
        for (resource, answer) in client.configs(Whom::Any, &resources, &[]).await? {
            let ConfigResource::Topic(name) = resource else {
                continue;
            };
            let entries = match answer {
                Ok(entries) => entries,
                Err(error) => {
                    found(facts, &name, format!("its settings are not told: {error}"));
                    continue;
                }
            };
            let mut topics = facts.metadata.iter_mut().map(|it| &mut it.topics);
            let Some(topic) = topics.find_map(|topics| topics.get_mut(&name)) else {
                continue;
            };
            for (key, entry) in entries {
                let place = match entry.origin {
                    ConfigOrigin::Topic => &mut topic.configs,
                    _ => &mut topic.in_force,
                };
                place.extend(entry.value.map(|value| (key, value)));
            }
        }
    }
    Ok(())
}

/// Asks each leader where its logs begin and end, and for their newest timestamps.
async fn read_ends(
    client: &Client,
    described: &Described,
    facts: &mut ClusterFacts,
) -> Result<(), ClientError> {
    for (leader, partitions) in by_leader(described) {
        let starts = client.offsets(leader, Special::LogStart, &partitions).await;
        let ends = client
            .offsets(leader, Special::HighWatermark, &partitions)
            .await;
        let (starts, ends) = match (starts, ends) {
            (Ok(starts), Ok(ends)) => (starts, ends),
            (Err(error), _) | (_, Err(error)) => {
                let text = format!(
                    "the ends of {} partitions are not known: {}",
                    partitions.len(),
                    error.in_one_line()
                );
                found(facts, format!("broker {leader}"), text);
                continue;
            }
        };
        // Brokers before 3.0 do not tell it.
        let newest = client.newest(leader, &partitions).await.unwrap_or_default();
        for partition in &partitions {
            let offset = |answers: &BTreeMap<TopicPartition, AnsweredOffset>| {
                answers
                    .get(partition)
                    .and_then(|answer| answer.ok().flatten())
            };
            let (Some(start), Some(end)) = (offset(&starts), offset(&ends)) else {
                found(facts, partition.to_string(), "its ends are not told");
                continue;
            };
            let known = described.partitions.get(partition);
            let log = LogFacts {
                host: format!("broker {leader}"),
                dir: String::new(),
                leader_epoch: known.and_then(|known| known.leader_epoch),
                log_start_offset: start,
                log_end_offset: end.max(start),
                newest_timestamp: newest.get(partition).copied(),
                content: None,
            };
            facts.put(&partition.topic, partition.partition, log);
        }
    }
    for (partition, known) in &described.partitions {
        if known.leader.is_none() {
            found(facts, partition.to_string(), leaderless(known));
        }
    }
    for (topic, error) in &described.refused {
        found(facts, topic, format!("it is not described: {error}"));
    }
    Ok(())
}

fn leaderless(known: &PartitionMetadata) -> String {
    let cause = known
        .error
        .map_or_else(String::new, |error| format!(": {error}"));
    format!("it has no leader, so nothing is known of it{cause}")
}

fn by_leader(described: &Described) -> BTreeMap<i32, Vec<TopicPartition>> {
    let mut leaders: BTreeMap<i32, Vec<TopicPartition>> = BTreeMap::new();
    for (partition, known) in &described.partitions {
        if let Some(leader) = known.leader {
            leaders.entry(leader).or_default().push(partition.clone());
        }
    }
    leaders
}

/// Says whether a broker makes topics that somebody asks for; `None` if one does not tell.
async fn auto_create(client: &Client) -> Option<bool> {
    let told = broker_settings(client, "auto.create.topics.enable").await?;
    Some(told.iter().any(|value| value == "true"))
}

/// Returns how long commits are kept, in ms, by the broker that keeps them least; `None` if one does not tell.
async fn offsets_retention(client: &Client) -> Option<i64> {
    let told = broker_settings(client, "offsets.retention.minutes").await?;
    let minutes = told.iter().map(|value| value.parse::<i64>().ok());
    let minutes: Option<Vec<i64>> = minutes.collect();
    Some(minutes?.into_iter().min()?.saturating_mul(60_000))
}

/// Returns each broker's value of a key; `None` if one does not tell.
async fn broker_settings(client: &Client, key: &str) -> Option<Vec<String>> {
    let mut values = vec![];
    for broker in client.brokers() {
        let resource = ConfigResource::Broker(broker);
        let asked = std::slice::from_ref(&resource);
        let found = client.configs(Whom::Broker(broker), asked, &[key]).await;
        let mut entries = found.ok()?.remove(&resource)?.ok()?;
        values.push(entries.remove(key)?.value?);
    }
    Some(values)
}

/// The first offset that is read of a topic from which only the last records count.
pub(super) fn from_behind(start: Offset, end: Offset, most: i64) -> Offset {
    start.max(Offset(end.0.saturating_sub(most)))
}
