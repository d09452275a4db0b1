//! Settings that bear on replication: `min.insync.replicas` and throttles.

use std::sync::Arc;

use super::sample::{Configs, Throttle};
use crate::client::{Client, ClientError, ClusterMetadata, ConfigResource, ResourceConfigs, Whom};
use crate::terms::Timestamp;

const MIN_ISR: &str = "min.insync.replicas";
const UNCLEAN: &str = "unclean.leader.election.enable";
const THROTTLED_LEADERS: &str = "leader.replication.throttled.replicas";
const THROTTLED_FOLLOWERS: &str = "follower.replication.throttled.replicas";
const LEADER_RATE: &str = "leader.replication.throttled.rate";
const FOLLOWER_RATE: &str = "follower.replication.throttled.rate";

/// Asks for the settings of the topics and brokers of `metadata`. What we may not see stays unknown.
///
/// # Errors
///
/// No broker answers.
pub async fn read_configs(
    client: &Arc<Client>,
    metadata: &ClusterMetadata,
    at: Timestamp,
) -> Result<Configs, ClientError> {
    let mut configs = Configs {
        at: Some(at),
        ..Configs::default()
    };
    let mut topics: Vec<_> = metadata
        .partitions
        .keys()
        .map(|key| key.topic.clone())
        .collect();
    topics.dedup();
    if !topics.is_empty() {
        let resources: Vec<_> = topics.into_iter().map(ConfigResource::Topic).collect();
        let keys = [MIN_ISR, UNCLEAN, THROTTLED_LEADERS, THROTTLED_FOLLOWERS];
        for (resource, found) in client.configs(Whom::Any, &resources, &keys).await? {
            if let ConfigResource::Topic(topic) = resource {
                note_topic(&mut configs, topic, &found);
            }
        }
    }
    // Throttles hold somebody back only where a topic lists replicas.
    if !configs.throttled.is_empty() {
        for broker in &metadata.brokers {
            let resource = ConfigResource::Broker(broker.id);
            let keys = [LEADER_RATE, FOLLOWER_RATE];
            let found = client
                .configs(
                    Whom::Broker(broker.id),
                    std::slice::from_ref(&resource),
                    &keys,
                )
                .await;
            // A broker that does not answer is told of by the look.
            let Some(Ok(found)) = found.ok().and_then(|mut found| found.remove(&resource)) else {
                continue;
            };
            let rate = |key| {
                let value: u64 = found.get(key)?.value.as_ref()?.parse().ok()?;
                // Kafka's default is the largest number there is: none.
                (value < i64::MAX.unsigned_abs()).then_some(value)
            };
            let throttle = Throttle {
                leader: rate(LEADER_RATE),
                follower: rate(FOLLOWER_RATE),
            };
            configs.throttles.insert(broker.id, throttle);
        }
    }
    Ok(configs)
}

fn note_topic(configs: &mut Configs, topic: String, found: &ResourceConfigs) {
    let Ok(found) = found else { return };
    let text = |key: &str| found.get(key).and_then(|entry| entry.value.clone());
    let least = text(MIN_ISR).and_then(|text| text.parse().ok());
    if let Some(least) = least {
        configs.min_isr.insert(topic.clone(), least);
    }
    if text(UNCLEAN).as_deref() == Some("true") {
        configs.unclean.insert(topic.clone());
    }
    let lists = [THROTTLED_LEADERS, THROTTLED_FOLLOWERS].map(|key| text(key).unwrap_or_default());
    let [leaders, followers] = lists;
    if !(leaders.is_empty() && followers.is_empty()) {
        configs.throttled.insert(topic, (leaders, followers));
    }
}
