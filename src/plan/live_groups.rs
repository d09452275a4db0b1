//! Positions of consumer groups on a living cluster, set while nobody consumes.

use serde::{Deserialize, Serialize};

use crate::terms::{LeaderEpoch, Offset, TopicPartition};

/// Positions that are set together, so that the groups of a dead cluster go on here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPositions {
    /// The flow of MirrorMaker 2 that copied what the groups read, such as `primary->secondary`.
    pub flow: String,
    /// How its target was reached: `ALIAS=HOST:PORT`.
    pub target: String,
    /// Each group and partition once.
    pub changes: Vec<GroupPosition>,
}

/// Where one group goes on in one partition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupPosition {
    /// The group.
    pub group: String,
    /// The partition of the target.
    pub partition: TopicPartition,
    /// The next offset that the group reads.
    pub to: KeptCommit,
    /// What it had committed there before; `None` if it had not.
    pub before: Option<KeptCommit>,
}

/// A commit as it is put back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeptCommit {
    /// The next offset that the group reads.
    pub offset: Offset,
    /// The leader's epoch of the last record read.
    pub leader_epoch: Option<LeaderEpoch>,
    /// What the client added.
    pub metadata: String,
}

impl GroupPositions {
    /// Returns the groups, each once.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = self.changes.iter().map(|it| it.group.as_str()).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Says whether a commit that was there is written over.
    pub fn overwrites(&self) -> bool {
        self.changes.iter().any(|change| change.before.is_some())
    }

    /// Returns what puts the old commits back; positions that were not there before stay.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let turned = |change: &GroupPosition| {
            Some(GroupPosition {
                to: change.before.clone()?,
                before: Some(change.to.clone()),
                ..change.clone()
            })
        };
        Self {
            changes: self.changes.iter().filter_map(turned).collect(),
            ..self.clone()
        }
    }

    /// Returns what is done, in a sentence.
    pub fn sentence(&self) -> String {
        let before = self.changes.iter().filter(|it| it.before.is_some());
        format!(
            "{}: set {} positions of {} groups on the target ({} of them had another before)",
            self.flow,
            self.changes.len(),
            self.groups().len(),
            before.count()
        )
    }
}
