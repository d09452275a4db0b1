//! How far mirrors have copied a living cluster's topics: the few topics that tell it are read, nothing else.

use super::contents::read_contents;
use super::read::metadata;
use crate::client::{Client, ClientError, Special};
use crate::mirror::{ClusterFacts, LogFacts, Thinning, tells_what_is_copied};
use crate::terms::{Offset, Timestamp, TopicPartition};

/// Reads the topics of a cluster that tell what of it is copied.
///
/// What cannot be read stays absent, with a finding.
///
/// # Errors
///
/// No broker answers.
pub async fn read_copied(client: &Client, now: Timestamp) -> Result<ClusterFacts, ClientError> {
    let mut described = client.metadata(None).await?;
    let mut facts = ClusterFacts {
        metadata: Some(metadata(&described, now)),
        ..ClusterFacts::default()
    };
    described
        .partitions
        .retain(|partition, _| tells_what_is_copied(&partition.topic) && partition.partition == 0);
    for (partition, known) in &described.partitions {
        if let Some(leader) = known.leader
            && let Some((start, end)) = ends(client, leader, partition).await
        {
            let log = LogFacts {
                host: format!("broker {leader}"),
                dir: String::new(),
                leader_epoch: known.leader_epoch,
                log_start_offset: start,
                log_end_offset: end.max(start),
                newest_timestamp: None,
                content: None,
            };
            facts.put(&partition.topic, partition.partition, log);
        }
    }
    read_contents(client, &described, Thinning::default(), &mut facts).await?;
    Ok(facts)
}

async fn ends(
    client: &Client,
    leader: i32,
    partition: &TopicPartition,
) -> Option<(Offset, Offset)> {
    let one = std::slice::from_ref(partition);
    let mut ends = [None; 2];
    for (place, special) in ends
        .iter_mut()
        .zip([Special::LogStart, Special::HighWatermark])
    {
        let mut answers = client.offsets(leader, special, one).await.ok()?;
        *place = answers.remove(partition)?.ok().flatten();
    }
    let [start, end] = ends;
    start.zip(end)
}
