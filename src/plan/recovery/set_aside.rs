//! A whole replica that is set aside: its files go to the quarantine, the dir and its topic id stay, and a boot finds an
//! empty log there, which it fetches again from the leader.
//!
//! The log gets shorter from its end, so that a boot after any part of the steps finds its first part and no hole. What is
//! not Kafka's stays.

use std::cmp::Reverse;

use super::Recovery;
use crate::format::file_name::{DirName, FileKind, PARTITION_METADATA, PartitionFile};
use crate::format::partition_metadata::PartitionMetadata;
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::virtual_dir::{DirEntry, EntryKind};
use crate::plan::{Quarantine, Step, StepAction};
use crate::terms::{KafkaVersion, Offset};

/// When a file goes. A `.swap` that a `.cleaned` makes incomplete goes before it. Segments go from the last one down, and a
/// `.log.swap` behind the segments that it replaces. What is bound to a segment goes when no segment is left, and the epochs
/// last, since a log whose epochs are not known would not find where it differs from the leader's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    IncompleteSwaps,
    Cleaned,
    Deleted,
    Segment(Reverse<Offset>, u8),
    Rest,
    Epochs,
}

impl Recovery {
    /// Returns why the replica cannot be set aside; `None` if it can.
    pub(super) fn forbids_set_aside(&self) -> Option<String> {
        let inputs = &self.inputs;
        let Some(replicas) = &inputs.replicas else {
            return Some(
                "nothing on this host says which replicas are in sync, so this may be the last copy: it needs the \
                 metadata log (--config FILE names its dir)"
                    .to_owned(),
            );
        };
        if !matches!(DirName::parse(&self.dir_name), DirName::Normal(_)) {
            return Some("no broker fetches into a dir of this name".to_owned());
        }
        if inputs.quarantine.is_none() {
            return Some("without a quarantine nothing would be left of it".to_owned());
        }
        let in_the_way = self.listing.iter().find(|entry| {
            let parsed = PartitionFile::parse(&entry.stamp.name);
            entry.kind != EntryKind::File && matches!(parsed, PartitionFile::Segment { .. })
        });
        if let Some(entry) = in_the_way {
            return Some(format!("{} is not a file", entry.stamp.name));
        }
        if self.topic_id_is_bad() && inputs.version < KafkaVersion::new(3, 7, 1) {
            return Some("without its topic id a boot does not come up".to_owned());
        }
        replicas.forbids_set_aside(inputs.now)
    }

    /// Says whether `partition.metadata` is there and cannot be read.
    fn topic_id_is_bad(&self) -> bool {
        match self.facts.file(PARTITION_METADATA) {
            Ok(Some(bytes)) => PartitionMetadata::parse(bytes).is_err(),
            _ => false,
        }
    }

    /// Returns what is told of a replica that is set aside.
    pub(super) fn told_set_aside(&self) -> Option<Finding> {
        let replicas = self.inputs.replicas.as_ref()?;
        let others = replicas.others_in_words()?;
        let leader = replicas
            .leader
            .map_or_else(|| "none".to_owned(), |id| format!("broker {id}"));
        let text = format!(
            "set aside whole: {others} in sync {}, this broker is not, leader {leader}; a boot finds an empty replica here \
             and fetches all of it again",
            replicas.source(self.inputs.now)
        );
        let next = format!(
            "start this broker while {others} is up; keep the quarantine until this replica is in sync again"
        );
        Some(Finding::new(FindingCode::DecisionTaken, Severity::Warning, text).next(next))
    }

    /// Returns the steps that set the replica aside.
    pub(super) fn set_aside_steps(&self) -> Vec<Step> {
        steps(&self.listing, self.topic_id_is_bad())
    }
}

fn steps(listing: &[DirEntry], drops_topic_id: bool) -> Vec<Step> {
    let files = || {
        let files = listing.iter().filter(|entry| entry.kind == EntryKind::File);
        files.map(|entry| (&entry.stamp, PartitionFile::parse(&entry.stamp.name)))
    };
    let first_cleaned = files()
        .filter_map(|(_, parsed)| match parsed {
            PartitionFile::Cleaned { offset, .. } => Some(offset),
            _ => None,
        })
        .min();
    let turn = |parsed: &PartitionFile| match parsed {
        PartitionFile::Swap { offset, .. }
            if first_cleaned.is_some_and(|first| first <= *offset) =>
        {
            Some(Turn::IncompleteSwaps)
        }
        PartitionFile::Cleaned { .. } => Some(Turn::Cleaned),
        PartitionFile::Deleted => Some(Turn::Deleted),
        PartitionFile::Segment {
            offset,
            kind: FileKind::Log,
        } => Some(Turn::Segment(Reverse(*offset), 0)),
        PartitionFile::Swap {
            offset,
            kind: Some(FileKind::Log),
        } => Some(Turn::Segment(Reverse(*offset), 1)),
        PartitionFile::Segment { .. } | PartitionFile::Swap { .. } | PartitionFile::BadNumber => {
            Some(Turn::Rest)
        }
        PartitionFile::LeaderEpochCheckpoint => Some(Turn::Epochs),
        PartitionFile::PartitionMetadata if drops_topic_id => Some(Turn::Rest),
        _ => None,
    };
    let mut keyed: Vec<(Turn, Step)> = files()
        .filter_map(|(stamp, parsed)| {
            let index = |kind| {
                matches!(
                    kind,
                    FileKind::Index | FileKind::TimeIndex | FileKind::TxnIndex
                )
            };
            let quarantine = match parsed {
                PartitionFile::Segment { kind, .. } if index(kind) => Quarantine::Regenerable,
                _ => Quarantine::Keep,
            };
            let step = Step {
                file: stamp.name.clone(),
                action: StepAction::Remove { len: stamp.len },
                quarantine,
                after_sync: false,
                reason: "the replica is set aside".to_owned(),
            };
            Some((turn(&parsed)?, step))
        })
        .collect();
    keyed.sort_by_key(|(turn, _)| *turn);
    let mut before = None;
    for (turn, step) in &mut keyed {
        step.after_sync = before.is_some_and(|before| before != *turn);
        before = Some(*turn);
    }
    keyed.into_iter().map(|(_, step)| step).collect()
}
