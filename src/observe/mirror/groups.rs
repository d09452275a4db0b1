//! Groups, their members and commits, asked of their coordinators.

use std::collections::BTreeMap;

use super::read::found;
use crate::client::{Client, ClientError, Committed, ListedGroup};
use crate::mirror::{ClusterFacts, CommitFact, GroupFacts};
use crate::terms::Offset;

/// Reads every group; where groups are not told, they stay absent.
///
/// # Errors
///
/// None so far: what a broker refuses is a finding.
pub(super) async fn read_groups(
    client: &Client,
    facts: &mut ClusterFacts,
) -> Result<(), ClientError> {
    let mut groups = BTreeMap::new();
    let mut whole = true;
    for broker in client.brokers() {
        let listed = match client.groups(broker).await {
            Ok(listed) => listed,
            Err(error) => {
                whole = false;
                let text = format!("its groups are not told: {}", error.in_one_line());
                found(facts, format!("broker {broker}"), text);
                continue;
            }
        };
        for group in listed {
            match read_group(client, broker, &group).await {
                Ok(read) => {
                    groups.insert(group.id, read);
                }
                Err(error) => found(facts, format!("group {}", group.id), error.in_one_line()),
            }
        }
    }
    // Of groups that nobody told of it cannot be said that they are not there.
    if whole || !groups.is_empty() {
        facts.live_groups = Some(groups);
    }
    Ok(())
}

async fn read_group(
    client: &Client,
    broker: i32,
    group: &ListedGroup,
) -> Result<GroupFacts, ClientError> {
    let mut facts = GroupFacts {
        protocol_type: Some(group.protocol_type.clone()),
        state: group.state.clone(),
        ..GroupFacts::default()
    };
    if facts.state.is_none() || facts.is_active() {
        // Groups of the newer protocols are not described this way: their state alone says that they have members.
        facts.members = client.members(broker, &group.id).await.unwrap_or_default();
    }
    for commit in client.commits(broker, &group.id, None).await? {
        let Committed {
            partition,
            offset,
            leader_epoch,
            metadata,
        } = commit;
        facts.commits.entry(partition.topic).or_default().insert(
            partition.partition,
            CommitFact {
                offset,
                leader_epoch,
                metadata,
                timestamp: None,
                record_offset: Offset(0),
            },
        );
    }
    Ok(facts)
}
