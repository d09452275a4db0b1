//! What consumer groups have committed, as far as `__consumer_offsets` here tells.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::GroupBelow;
use crate::terms::{Offset, TopicPartition};

/// Commits of consumer groups, and of which partitions of `__consumer_offsets` they are known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupCommits {
    /// The next offset that each group reads, by partition.
    pub committed: BTreeMap<TopicPartition, BTreeMap<String, Offset>>,
    /// Partitions of `__consumer_offsets` that were read.
    pub read: BTreeSet<i32>,
    /// How many it has, by the metadata; `None` if that does not say.
    pub partitions: Option<i32>,
    /// What stood in the way, each a sentence's fragment.
    pub unread: Vec<String>,
    /// Whether nobody looked, since no segment is to go.
    pub is_unasked: bool,
}

impl GroupCommits {
    /// Returns the groups that have committed less than `start`; `None` where no partition of `__consumer_offsets` was read.
    pub fn below(&self, partition: &TopicPartition, start: Offset) -> Option<Vec<GroupBelow>> {
        if self.read.is_empty() {
            return None;
        }
        let known = self.committed.get(partition).into_iter().flatten();
        let below = known.filter(|(_, committed)| **committed < start);
        Some(
            below
                .map(|(group, committed)| GroupBelow {
                    group: group.clone(),
                    partition: partition.clone(),
                    committed: *committed,
                })
                .collect(),
        )
    }

    /// Returns what stands for commits that nobody needs: no segment is to go.
    pub fn unasked() -> Self {
        Self {
            is_unasked: true,
            ..Self::default()
        }
    }

    /// Says of which groups nothing is known here; `None` where all are, and where nobody looked.
    pub fn gaps(&self) -> Option<String> {
        if self.is_unasked {
            return None;
        }
        let missing: Vec<i32> = (0..self.partitions.unwrap_or(0))
            .filter(|number| !self.read.contains(number))
            .collect();
        let why = self.unread.join("; ");
        let of = match (self.read.is_empty(), self.partitions) {
            (true, _) if why.is_empty() => {
                "no partition of __consumer_offsets lies here".to_owned()
            }
            (true, _) => "no partition of __consumer_offsets was read".to_owned(),
            (false, None) => format!(
                "only partitions {} of __consumer_offsets lie here, and no metadata says how many there are",
                ranges(&self.read.iter().copied().collect::<Vec<_>>())
            ),
            (false, Some(_)) if missing.is_empty() && why.is_empty() => return None,
            (false, Some(_)) if missing.is_empty() => {
                "__consumer_offsets was not read in full".to_owned()
            }
            (false, Some(_)) => format!(
                "partitions {} of __consumer_offsets do not lie here",
                ranges(&missing)
            ),
        };
        let why = if why.is_empty() {
            String::new()
        } else {
            format!(" ({why})")
        };
        Some(format!(
            "{of}{why}: groups that others coordinate may have committed below the new log starts too"
        ))
    }
}

/// Returns ascending numbers with ranges: `0-2, 7`.
fn ranges(numbers: &[i32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let words = runs.filter_map(|run| match run {
        [] => None,
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns groups in a few words: `billing (at 120), audit (at 4) and 2 more`.
pub fn groups_in_words(groups: &[GroupBelow]) -> String {
    const MOST: usize = 6;
    let named = groups.iter().take(MOST);
    let named: Vec<String> = named
        .map(|of| format!("{} (at {})", of.group, of.committed))
        .collect();
    match groups.len().saturating_sub(MOST) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commits(read: &[i32], partitions: Option<i32>) -> GroupCommits {
        let orders = BTreeMap::from([
            ("audit".to_owned(), Offset(7)),
            ("billing".to_owned(), Offset(20)),
        ]);
        GroupCommits {
            committed: BTreeMap::from([(TopicPartition::new("orders", 0), orders)]),
            read: read.iter().copied().collect(),
            partitions,
            unread: vec![],
            is_unasked: false,
        }
    }

    #[test]
    fn groups_at_the_new_start_lose_nothing() {
        let here = commits(&[0], Some(1));
        let orders = TopicPartition::new("orders", 0);
        let names = |start| {
            let below = here.below(&orders, Offset(start)).unwrap();
            below.into_iter().map(|of| of.group).collect::<Vec<_>>()
        };
        assert!(names(7).is_empty());
        assert_eq!(names(20), ["audit"]);
        assert_eq!(names(21), ["audit", "billing"]);
        let other = here.below(&TopicPartition::new("other", 0), Offset(9));
        assert_eq!(other, Some(vec![]));
        assert_eq!(commits(&[], Some(1)).below(&orders, Offset(99)), None);
    }

    #[test]
    fn partitions_that_are_not_here_are_named() {
        assert_eq!(commits(&[0, 1], Some(2)).gaps(), None);
        let gaps = |read: &[i32], all| commits(read, all).gaps().unwrap();
        assert!(gaps(&[1, 4], Some(8)).starts_with("partitions 0, 2-3, 5-7 of"));
        assert!(gaps(&[1, 2], None).starts_with("only partitions 1-2 of"));
        assert!(gaps(&[], Some(8)).starts_with("no partition of"));
        assert_eq!(GroupCommits::unasked().gaps(), None);
    }
}
