//! The steps from what lies on disk to what a boot would leave, in the order that may break off anywhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::format::file_name::{FileKind, PartitionFile};
use crate::plan::virtual_dir::{DirEntry, EntryKind, VirtualDir, VirtualFile};
use crate::plan::{Quarantine, Step, StepAction};
use crate::terms::Offset;

/// When a step runs. A boot on a half-done dir starts from the same recovery point, so later segments go before the
/// cut they follow from, and from the last one down. Snapshots behind the first segment that a boot reads may come in
/// any order, for it removes them all; those at or below it come after them, ascending, as each is made from the one
/// before. An index whose absence makes a boot read its segment comes after the snapshots that such a boot would write.
/// The epoch file comes last, since a boot adds to it only what is higher than all it knows; but where a boot deletes
/// the whole log it comes first, since one that finds no segment would keep its last epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Leftovers,
    EpochsOfDeletedLog,
    Segments,
    Cuts,
    Indexes,
    OldSnapshots,
    NewerSnapshots,
    OlderSnapshots,
    NewIndexes,
    Epochs,
}

/// What decides the order beside the steps themselves.
pub(super) struct Order<'a> {
    /// Segments that are read only because an index is missing or corrupt.
    pub(super) repaired: &'a BTreeSet<Offset>,
    /// The first segment that a boot reads.
    pub(super) first_read: Option<Offset>,
    /// Whether a boot deletes the whole log.
    pub(super) deletes_log: bool,
}

/// Returns the steps from `listing` to `dir`.
pub(super) fn steps(listing: &[DirEntry], dir: &VirtualDir, order: &Order<'_>) -> Vec<Step> {
    let on_disk: BTreeMap<&str, u64> = listing
        .iter()
        .filter(|entry| entry.kind == EntryKind::File)
        .map(|entry| (entry.stamp.name.as_str(), entry.stamp.len))
        .collect();
    let mut steps = Vec::new();
    for (name, len) in &on_disk {
        let action = match dir.get(name) {
            None => StepAction::Remove { len: *len },
            Some(VirtualFile::OnDisk { len: to, .. }) if to == len => continue,
            Some(VirtualFile::OnDisk { len: to, .. }) => StepAction::SetLen {
                from: *len,
                to: *to,
            },
            Some(VirtualFile::New(content)) if content.len == 0 => {
                if *len == 0 {
                    continue;
                }
                StepAction::SetLen { from: *len, to: 0 }
            }
            Some(VirtualFile::New(content)) => StepAction::Write {
                content: content.clone(),
                replaces: Some(*len),
            },
        };
        steps.push(step(name, action));
    }
    for (name, file) in dir.iter().filter(|(name, _)| !on_disk.contains_key(name)) {
        if let VirtualFile::New(content) = file {
            steps.push(step(
                name,
                StepAction::Write {
                    content: content.clone(),
                    replaces: None,
                },
            ));
        }
    }
    steps.sort_by_cached_key(|step| order.key(step));
    steps
}

fn step(name: &str, action: StepAction) -> Step {
    let kind = match PartitionFile::parse(name) {
        PartitionFile::Segment { kind, .. } => Some(kind),
        _ => None,
    };
    let is_new = matches!(action, StepAction::Write { replaces: None, .. });
    let removes = matches!(action, StepAction::Remove { .. });
    let (quarantine, reason) = match kind {
        Some(FileKind::Log) if removes => (Quarantine::Keep, "a boot drops this segment"),
        Some(FileKind::Log) if is_new => (Quarantine::Regenerable, "a new, empty segment"),
        Some(FileKind::Log) => (Quarantine::Keep, "a boot cuts here"),
        Some(FileKind::Snapshot) if removes => (Quarantine::Keep, "a boot removes this snapshot"),
        Some(FileKind::Snapshot) if is_new => (Quarantine::Regenerable, "producers at this offset"),
        Some(FileKind::Snapshot) => (Quarantine::Keep, "producers differ"),
        Some(_) if removes => (Quarantine::Regenerable, "its segment is gone"),
        Some(_) => (Quarantine::Regenerable, "rebuilt from the log"),
        None if name.ends_with(".deleted") => {
            (Quarantine::Regenerable, "scheduled for deletion by Kafka")
        }
        None => (Quarantine::Keep, "leader epochs"),
    };
    let quarantine = if is_new {
        Quarantine::Regenerable
    } else {
        quarantine
    };
    Step {
        file: name.to_owned(),
        action,
        quarantine,
        reason: reason.to_owned(),
    }
}

impl Order<'_> {
    /// Returns the key that sorts the steps.
    fn key(&self, step: &Step) -> (Turn, i64, u8) {
        let PartitionFile::Segment { offset, kind } = PartitionFile::parse(&step.file) else {
            let turn = match () {
                () if step.file.ends_with(".deleted") => Turn::Leftovers,
                () if self.deletes_log => Turn::EpochsOfDeletedLog,
                () => Turn::Epochs,
            };
            return (turn, 0, 0);
        };
        let removes = matches!(step.action, StepAction::Remove { .. });
        let is_new = matches!(step.action, StepAction::Write { replaces: None, .. });
        let turn = match kind {
            FileKind::Snapshot if removes => Turn::OldSnapshots,
            FileKind::Snapshot if self.first_read.is_some_and(|first| offset > first) => {
                Turn::NewerSnapshots
            }
            FileKind::Snapshot => Turn::OlderSnapshots,
            _ if removes => Turn::Segments,
            FileKind::Log if is_new => Turn::NewIndexes,
            FileKind::Log => Turn::Cuts,
            // What made a boot read this segment stays until all that follows from it is done.
            FileKind::Index | FileKind::TxnIndex if self.repaired.contains(&offset) => {
                Turn::NewIndexes
            }
            _ => Turn::Indexes,
        };
        let rank = match kind {
            FileKind::Log => 0,
            FileKind::TimeIndex => 1,
            FileKind::TxnIndex => 2,
            FileKind::Index => 3,
            FileKind::Snapshot => 4,
        };
        (
            turn,
            if turn == Turn::Segments {
                offset.0.wrapping_neg()
            } else {
                offset.0
            },
            rank,
        )
    }
}
