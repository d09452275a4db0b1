//! What is asked once the flows are known.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::read::found;
use crate::client::{Client, ClientError};
use crate::format::record_batch::BatchHeader;
use crate::mirror::{
    AclFact, Acls, ClusterFacts, LogFacts, ProducerFact, SecondLook, UncopiedFact,
};
use crate::terms::{Offset, Timestamp, TopicPartition};

/// One batch is wanted.
const ONE_BATCH: i32 = 1;

/// Asks a living cluster what only the flows make worth asking; what it refuses stays absent.
///
/// # Errors
///
/// No broker answers.
pub async fn look_again(
    client: &Client,
    look: &SecondLook,
    facts: &mut ClusterFacts,
) -> Result<(), ClientError> {
    let described = client.metadata(None).await?;
    let leader = |partition: &TopicPartition| described.partitions.get(partition)?.leader;
    let mut sizes: BTreeMap<i32, BTreeMap<TopicPartition, u64>> = BTreeMap::new();
    for (partition, first) in &look.uncopied {
        let Some(leader) = leader(partition) else {
            continue;
        };
        if let Entry::Vacant(entry) = sizes.entry(leader) {
            entry.insert(replica_bytes(client, leader).await);
        }
        let bytes = sizes.get(&leader).and_then(|of| of.get(partition));
        let log = facts.log(&partition.topic, partition.partition);
        let share = bytes
            .zip(log)
            .map(|(bytes, log)| share(*bytes, log, *first));
        if let Some(fact) = first_record(client, (leader, partition), *first, share).await {
            let here = facts.uncopied.entry(partition.topic.clone()).or_default();
            here.insert(partition.partition, fact);
        }
    }
    let mut copies: BTreeMap<i32, Vec<TopicPartition>> = BTreeMap::new();
    for partition in &look.copies {
        if let Some(leader) = leader(partition) {
            copies.entry(leader).or_default().push(partition.clone());
        }
    }
    let mut live = facts.live.take().unwrap_or_default();
    for (leader, partitions) in copies {
        let told = client.producers(leader, &partitions).await;
        for (partition, producers) in told.unwrap_or_default() {
            let producers = producers.iter().map(|it| ProducerFact {
                producer_id: it.producer_id,
                last_timestamp: it.last_timestamp,
            });
            let here = live.producers.entry(partition.topic).or_default();
            here.insert(partition.partition, producers.collect());
        }
    }
    if !look.copies.is_empty() {
        match client.topic_acls().await {
            Ok(None) => live.acls = Some(Acls::NoAuthorizer),
            Ok(Some(rules)) => {
                let rule = |rule: crate::client::TopicAcl| AclFact {
                    topic: rule.topic,
                    prefixed: rule.prefixed,
                    principal: rule.principal,
                    operation: rule.operation.to_owned(),
                    allows: rule.allows,
                };
                live.acls = Some(Acls::Rules(rules.into_iter().map(rule).collect()));
            }
            Err(error) => found(facts, "rules for topics", error.in_one_line()),
        }
    }
    facts.live = Some(live);
    Ok(())
}

/// Returns the first record at or behind `first`, by its batch; `None` where there is none.
async fn first_record(
    client: &Client,
    (leader, partition): (i32, &TopicPartition),
    first: Offset,
    bytes_behind: Option<u64>,
) -> Option<UncopiedFact> {
    let fetched = client.fetch(leader, partition, first, ONE_BATCH).await;
    let header = BatchHeader::decode(&fetched.ok()?.records)?;
    let timestamp: Timestamp = header.max_timestamp;
    (timestamp.0 >= 0).then(|| UncopiedFact {
        offset: header.base_offset.max(first),
        timestamp,
        bytes_behind,
    })
}

/// Returns the bytes of each replica of a broker; none where it does not tell.
async fn replica_bytes(client: &Client, broker: i32) -> BTreeMap<TopicPartition, u64> {
    let dirs = client.log_dirs(broker).await.unwrap_or_default();
    let replicas = dirs.into_iter().flat_map(|dir| dir.replicas);
    let current = replicas.filter(|replica| !replica.is_future);
    current
        .map(|replica| (replica.partition, replica.bytes))
        .collect()
}

/// Returns the share of a log's bytes that lies from `first` on, by its offsets.
fn share(bytes: u64, log: &LogFacts, first: Offset) -> u64 {
    let count = |from: Offset, to: Offset| u128::try_from(to.0 - from.0).unwrap_or(0);
    let all = count(log.log_start_offset, log.log_end_offset).max(1);
    let behind = count(first.max(log.log_start_offset), log.log_end_offset).min(all);
    u64::try_from(u128::from(bytes) * behind / all).unwrap_or(u64::MAX)
}
