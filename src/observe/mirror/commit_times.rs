//! When groups without members committed last and lost their last member: only `__consumer_offsets` itself tells it.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::read_content;
use crate::client::{Client, ClusterMetadata};
use crate::format::group_record::partition_of_group;
use crate::mirror::{ClusterFacts, Folded, GROUPS_TOPIC, GroupFacts, InternalTopic, Thinning};
use crate::terms::TopicPartition;

/// Offsets of one partition that are read at most; of a longer one nothing is, for a group's last commit may be its oldest
/// record.
const MOST_OFFSETS: i64 = 2_000_000;

/// Reads it for the groups that have checkpoints on the cluster, as their commits expire once nobody renews them.
///
/// A partition that cannot be read, or that is too long, leaves its groups' times absent: brokers do not tell them otherwise.
pub(super) async fn read_commit_times(
    client: &Client,
    described: &ClusterMetadata,
    facts: &mut ClusterFacts,
) {
    let count = described
        .partitions
        .keys()
        .filter(|partition| partition.topic == GROUPS_TOPIC)
        .count();
    let count = i32::try_from(count).unwrap_or(0);
    let wanted: BTreeSet<i32> = idle_groups(facts)
        .into_iter()
        .filter_map(|group| partition_of_group(&group, count))
        .collect();
    for number in wanted {
        let partition = TopicPartition::new(GROUPS_TOPIC, number);
        let leader = described
            .partitions
            .get(&partition)
            .and_then(|known| known.leader);
        let (Some(leader), Some(log)) = (leader, facts.log(GROUPS_TOPIC, number)) else {
            continue;
        };
        let (start, end) = (log.log_start_offset, log.log_end_offset);
        if end.0.saturating_sub(start.0) > MOST_OFFSETS {
            continue;
        }
        let place = (leader, &partition);
        let topic = (InternalTopic::Groups, Thinning::default());
        let read = read_content(client, topic, place, (start, end)).await;
        if read.error.is_some() {
            continue;
        }
        if let (Folded::Groups(told), Some(groups)) = (read.content.folded, &mut facts.live_groups)
        {
            take_times(groups, &told);
        }
    }
}

/// Returns the groups that have a checkpoint here, commits and no member.
fn idle_groups(facts: &ClusterFacts) -> BTreeSet<String> {
    let groups = facts.live_groups.as_ref();
    let is_idle = |name: &String| {
        let group = groups.and_then(|groups| groups.get(name));
        group.is_some_and(|group| !group.is_active() && !group.commits.is_empty())
    };
    let topics = facts.topics().into_iter();
    let named = topics.filter_map(|topic| facts.checkpoints(topic));
    named
        .flat_map(BTreeMap::keys)
        .filter(|name| is_idle(name))
        .cloned()
        .collect()
}

/// Adds times to what the coordinators told; a commit that has changed meanwhile keeps none.
fn take_times(groups: &mut BTreeMap<String, GroupFacts>, told: &BTreeMap<String, GroupFacts>) {
    for (name, from) in told {
        let Some(group) = groups.get_mut(name).filter(|group| !group.is_active()) else {
            continue;
        };
        group.state_timestamp = from.state_timestamp;
        for (topic, partitions) in &mut group.commits {
            for (partition, commit) in partitions {
                let same = from
                    .commits
                    .get(topic)
                    .and_then(|partitions| partitions.get(partition))
                    .filter(|it| it.offset == commit.offset);
                commit.timestamp = same.and_then(|it| it.timestamp);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::CommitFact;
    use crate::terms::{Offset, Timestamp};

    fn group(offset: i64, timestamp: Option<i64>, members: &[&str]) -> GroupFacts {
        let commit = CommitFact {
            offset: Offset(offset),
            leader_epoch: None,
            metadata: String::new(),
            timestamp: timestamp.map(Timestamp),
            record_offset: Offset(0),
        };
        GroupFacts {
            members: members.iter().map(|it| (*it).to_owned()).collect(),
            state_timestamp: timestamp.map(Timestamp),
            commits: BTreeMap::from([("t".to_owned(), BTreeMap::from([(0, commit)]))]),
            ..GroupFacts::default()
        }
    }

    #[test]
    fn times_are_those_of_the_same_commit_of_an_idle_group() {
        let mut groups = BTreeMap::from([
            ("same".to_owned(), group(7, None, &[])),
            ("moved".to_owned(), group(8, None, &[])),
            ("busy".to_owned(), group(7, None, &["a"])),
        ]);
        let told = ["same", "moved", "busy", "gone"]
            .map(|name| (name.to_owned(), group(7, Some(1000), &[])));
        take_times(&mut groups, &BTreeMap::from(told));
        let time = |name: &str| {
            let group: &GroupFacts = &groups[name];
            (group.state_timestamp, group.commits["t"][&0].timestamp)
        };
        let at = Some(Timestamp(1000));
        assert_eq!(time("same"), (at, at));
        assert_eq!(time("moved"), (at, None));
        assert_eq!(time("busy"), (None, None));
        assert!(!groups.contains_key("gone"));
    }
}
