//! Positions of groups on a living cluster: whether they may be set, setting them, reading them back.

use std::collections::BTreeMap;

use super::live_apply::Done;
use crate::client::{Client, ClientError, Committed};
use crate::plan::{GroupPosition, GroupPositions, KeptCommit};
use crate::terms::TopicPartition;

/// Returns what is another than the plan saw: a group that has members now, or one with another commit.
pub(super) async fn moved(
    client: &Client,
    positions: &GroupPositions,
) -> Result<Option<String>, ClientError> {
    let active = active_groups(client).await?;
    for (group, changes) in by_group(positions) {
        if active.contains(&group.to_owned()) {
            return Ok(Some(format!("group {group} (it has members now)")));
        }
        let there = commits(client, group, &changes).await?;
        for change in changes {
            if there.get(&change.partition) != change.before.as_ref() {
                return Ok(Some(format!("group {group} in {}", change.partition)));
            }
        }
    }
    Ok(None)
}

/// Returns the groups that have members.
async fn active_groups(client: &Client) -> Result<Vec<String>, ClientError> {
    client.metadata(Some(&[])).await?;
    let mut active = Vec::new();
    for broker in client.brokers() {
        let groups = client.groups(broker).await?.into_iter();
        let busy = groups.filter(|group| {
            let state = group.state.as_deref();
            // A broker that tells no state refuses a group with members itself.
            state.is_some_and(|state| !matches!(state, "Empty" | "Dead" | ""))
        });
        active.extend(busy.map(|group| group.id));
    }
    Ok(active)
}

/// Sets each group's positions and reads them back; a group that is refused stays as it is.
pub(super) async fn set(client: &Client, positions: &GroupPositions) -> Done {
    let (mut groups, mut count, mut left) = (0_usize, 0_usize, Vec::new());
    for (group, changes) in by_group(positions) {
        match set_group(client, group, &changes).await {
            Ok(None) => {
                groups += 1;
                count += changes.len();
            }
            Ok(Some(other)) => left.push(format!("group {group}: {other}")),
            Err(error) => left.push(format!("group {group}: {}", error.in_one_line())),
        }
    }
    let text = format!("{count} positions of {groups} groups are set, read back from the brokers");
    Done::new(vec![text], left)
}

/// Sets a group's positions; returns what was read back where that is another.
async fn set_group(
    client: &Client,
    group: &str,
    changes: &[&GroupPosition],
) -> Result<Option<String>, ClientError> {
    let coordinator = client.coordinator(group).await?;
    let commit = |change: &&GroupPosition| Committed {
        partition: change.partition.clone(),
        offset: change.to.offset,
        leader_epoch: change.to.leader_epoch,
        metadata: change.to.metadata.clone(),
    };
    let wanted: Vec<Committed> = changes.iter().map(commit).collect();
    client.commit(coordinator, group, &wanted).await?;
    let there = commits(client, group, changes).await?;
    for change in changes {
        let read = there.get(&change.partition);
        if read != Some(&change.to) {
            let offset = read.map_or_else(|| "nothing".to_owned(), |it| it.offset.to_string());
            return Ok(Some(format!(
                "{} reads back as {offset}, not {}",
                change.partition, change.to.offset
            )));
        }
    }
    Ok(None)
}

async fn commits(
    client: &Client,
    group: &str,
    changes: &[&GroupPosition],
) -> Result<BTreeMap<TopicPartition, KeptCommit>, ClientError> {
    let partitions: Vec<_> = changes.iter().map(|it| it.partition.clone()).collect();
    let coordinator = client.coordinator(group).await?;
    let there = client
        .commits(coordinator, group, Some(&partitions))
        .await?;
    Ok(there.into_iter().map(kept).collect())
}

fn kept(commit: Committed) -> (TopicPartition, KeptCommit) {
    let kept = KeptCommit {
        offset: commit.offset,
        leader_epoch: commit.leader_epoch,
        metadata: commit.metadata,
    };
    (commit.partition, kept)
}

fn by_group(positions: &GroupPositions) -> BTreeMap<&str, Vec<&GroupPosition>> {
    let mut groups: BTreeMap<&str, Vec<&GroupPosition>> = BTreeMap::new();
    for change in &positions.changes {
        groups.entry(&change.group).or_default().push(change);
    }
    groups
}
