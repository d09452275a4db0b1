//! Groups that have not read what a cut on a living cluster lets go.

use super::live_loss::Cuts;
use crate::client::{Client, ClientError};
use crate::plan::GroupBelow;
use crate::terms::TopicPartition;

/// Groups of one broker that are asked about at most.
const MAX_GROUPS: usize = 1000;
/// Where groups commit; a broker coordinates those whose partition of it it leads.
const COMMITS: &str = "__consumer_offsets";

/// What groups have committed below new log starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct GroupsBelow {
    /// The groups, sorted.
    pub(super) below: Vec<GroupBelow>,
    /// What could not be asked, each a sentence's fragment.
    pub(super) unasked: Vec<String>,
}

/// Returns the groups that have committed an offset below the first that stays, partition by partition; `None` stands for
/// cuts that are not known.
///
/// # Errors
///
/// No broker answers at all.
pub(super) async fn groups_below(
    client: &Client,
    cuts: Option<&Cuts>,
) -> Result<GroupsBelow, ClientError> {
    let mut found = GroupsBelow::default();
    let Some(cuts) = cuts else {
        let text = "how much goes is not known, so neither which groups have not read it";
        found.unasked.push(text.to_owned());
        return Ok(found);
    };
    let cut = cuts.iter().filter(|(_, (start, cut))| cut > start);
    let partitions: Vec<TopicPartition> = cut.map(|(partition, _)| partition.clone()).collect();
    if partitions.is_empty() {
        return Ok(found);
    }
    let metadata = client.metadata(Some(&[COMMITS.to_owned()])).await?;
    let leaderless = metadata.partitions.iter();
    let leaderless = leaderless.filter(|(_, known)| known.leader.is_none());
    found.unasked.extend(
        leaderless
            .map(|(of, _)| format!("{of} has no leader: groups that commit to it are unknown")),
    );
    for broker in client.brokers() {
        let groups = match client.groups(broker).await {
            Ok(groups) => groups,
            Err(error) => {
                found.unasked.push(error.in_one_line());
                continue;
            }
        };
        if groups.len() > MAX_GROUPS {
            let more = groups.len() - MAX_GROUPS;
            let text =
                format!("broker {broker} has {more} more groups, which were not asked about");
            found.unasked.push(text);
        }
        for group in groups.into_iter().take(MAX_GROUPS) {
            match client.commits(broker, &group.id, Some(&partitions)).await {
                Ok(commits) => {
                    let below = commits.into_iter().filter(|committed| {
                        let cut = cuts.get(&committed.partition);
                        cut.is_some_and(|(_, cut)| committed.offset < *cut)
                    });
                    found.below.extend(below.map(|committed| GroupBelow {
                        group: group.id.clone(),
                        partition: committed.partition,
                        committed: committed.offset,
                    }));
                }
                Err(error) => found.unasked.push(error.in_one_line()),
            }
        }
    }
    found.below.sort();
    found.below.dedup();
    Ok(found)
}
