//! What consumer groups have committed, by the partitions of `__consumer_offsets` in these log dirs.

use super::read::{FactsRequest, read_facts};
use crate::disk::{Storage, SubDir};
use crate::format::file_name::DirName;
use crate::mirror::GROUPS_TOPIC;
use crate::plan::cleanup::GroupCommits;
use crate::terms::TopicPartition;

/// Reads the commits of all groups that lie here; `partitions` is how many partitions `__consumer_offsets` has, as far as that
/// is known. What cannot be read is named in the result.
pub fn read_group_commits(
    storage: &dyn Storage,
    request: FactsRequest<'_>,
    partitions: Option<i32>,
) -> GroupCommits {
    let mut commits = GroupCommits {
        partitions,
        ..GroupCommits::default()
    };
    let of_groups = |sub: &SubDir| matches!(&sub.parsed, DirName::Normal(partition) if partition.topic == GROUPS_TOPIC);
    let facts = match read_facts(storage, request, &of_groups) {
        Ok(facts) => facts,
        Err(error) => {
            commits.unread.push(error.sentence());
            return commits;
        }
    };
    let read = facts.logs.get(GROUPS_TOPIC).into_iter().flatten();
    commits.read = read.map(|(number, _)| *number).collect();
    let of_logs = facts
        .findings
        .iter()
        .filter(|of| of.place.contains(GROUPS_TOPIC));
    commits.unread = of_logs
        .map(|of| format!("{}: {}", of.place, of.text))
        .collect();
    for (group, known) in facts.groups().unwrap_or_default() {
        for (topic, partitions) in &known.commits {
            for (number, commit) in partitions {
                let partition = TopicPartition::new(topic, *number);
                let of_partition = commits.committed.entry(partition).or_default();
                of_partition.insert(group.to_owned(), commit.offset);
            }
        }
    }
    commits
}
