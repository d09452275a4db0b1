//! The steps from what lies on disk to what a boot would leave, in the order that may break off anywhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::format::file_name::{FileKind, PartitionFile};
use crate::plan::virtual_dir::{DirEntry, EntryKind, VirtualDir, VirtualFile};
use crate::plan::{Quarantine, Step, StepAction};
use crate::terms::Offset;

/// When a step runs. A boot on a half-done dir starts from the same recovery point, so later segments go before the
/// cut they follow from, and from the last one down. Originals go before the swap that
/// replaces them is renamed, and what Kafka makes for a swap without an index is there before. Snapshots behind the
/// first segment that a boot reads may come in any order, for it removes them all; those at or below it come after them,
/// ascending, as each is made from the one before. An index whose absence makes a boot read its segment comes after the snapshots that such a boot would write.
/// The epoch file comes late, since a boot adds to it only what is higher than all it knows; but before such an index if
/// its segment told of an epoch, and first where a boot deletes the whole log, since one that finds no segment would keep
/// its last epoch. The snapshot that the producers were loaded from goes last of all: no boot finds them without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Leftovers,
    EpochsOfDeletedLog,
    Segments,
    SwapIndexes,
    Pieces,
    Renames,
    Cuts,
    Indexes,
    OldSnapshots,
    NewerSnapshots,
    OlderSnapshots,
    AddedEpochs,
    NewIndexes,
    Epochs,
    LoadedSnapshots,
}

/// When the epoch file is written; see [`Turn`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EpochTurn {
    /// A boot deletes the whole log.
    First,
    /// It gets epochs that it did not know.
    BeforeNewIndexes,
    /// It only loses some.
    Last,
}

/// What decides the order beside the steps themselves.
pub(super) struct Order<'a> {
    /// Segments that are read only because an index is missing or corrupt.
    pub(super) repaired: &'a BTreeSet<Offset>,
    /// Swaps of an incomplete set.
    pub(super) invalid_swaps: &'a BTreeSet<String>,
    /// The offsets that a completed swap replaces, from inclusive to exclusive.
    pub(super) swap_range: Option<(Offset, Offset)>,
    /// Bases of segments that are split.
    pub(super) split_bases: &'a BTreeSet<Offset>,
    /// Bases of the pieces.
    pub(super) pieces: &'a BTreeSet<Offset>,
    /// The first segment that a boot reads.
    pub(super) first_read: Option<Offset>,
    /// The snapshots on disk that producers were loaded from.
    pub(super) loaded_snapshots: &'a BTreeSet<Offset>,
    /// The snapshots without producers that a clean load of a log without any makes.
    pub(super) empty_snapshots: &'a BTreeSet<Offset>,
    /// Whether segments behind a cut stay: a boot drops them as long as the first cut is not done, so that goes last.
    pub(super) cuts_from_last: bool,
    /// When the epoch file is written.
    pub(super) epochs: EpochTurn,
    /// The segment that a truncation cuts.
    pub(super) truncated: Option<Offset>,
}

/// Returns the steps from `listing` to `dir`.
pub(super) fn steps(listing: &[DirEntry], dir: &VirtualDir, order: &Order<'_>) -> Vec<Step> {
    let on_disk: BTreeMap<&str, u64> = listing
        .iter()
        .filter(|entry| entry.kind == EntryKind::File)
        .map(|entry| (entry.stamp.name.as_str(), entry.stamp.len))
        .collect();
    let renamed: BTreeMap<&str, (&str, u64)> = dir
        .iter()
        .filter_map(|(name, file)| match file {
            VirtualFile::OnDisk {
                source,
                start: 0,
                len,
            } if source != name => Some((source.as_str(), (name, *len))),
            _ => None,
        })
        .collect();
    let mut steps = Vec::new();
    for (source, (name, len)) in &renamed {
        if let Some(from) = on_disk.get(source).filter(|from| *from > len) {
            steps.push(step(
                name,
                StepAction::SetLen {
                    from: *from,
                    to: *len,
                },
            ));
        }
    }
    for (name, len) in &on_disk {
        if let (true, Some(action)) = (order.deletes_log(name), dir.get(name).and_then(made_anew)) {
            steps.push(step(name, StepAction::Remove { len: *len }));
            steps.push(step(name, action));
            continue;
        }
        let action = match dir.get(name) {
            None => match renamed.get(name) {
                Some((to, _)) => StepAction::Rename {
                    to: (*to).to_owned(),
                },
                None => StepAction::Remove { len: *len },
            },
            Some(VirtualFile::OnDisk {
                source,
                start,
                len: part,
            }) if *start > 0 => StepAction::CopyPart {
                source: source.clone(),
                start: *start,
                len: *part,
                replaces: Some(*len),
            },
            // Another file takes this one's name.
            Some(VirtualFile::OnDisk { source, .. }) if source != name => {
                StepAction::Remove { len: *len }
            }
            Some(VirtualFile::OnDisk { len: to, .. }) if to == len => continue,
            Some(VirtualFile::OnDisk { len: to, .. }) => StepAction::SetLen {
                from: *len,
                to: *to,
            },
            Some(VirtualFile::Zeros(new)) => StepAction::Allocate {
                len: *new,
                replaces: Some(*len),
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
    let new = dir.iter().filter(|(name, _)| !on_disk.contains_key(name));
    steps.extend(
        new.filter_map(|(name, file)| Some(step(name, made_anew(file).or_else(|| copied(file))?))),
    );
    let mut steps = order.sort(steps);
    if let Some(base) = order.truncated {
        tear_first(&mut steps, base);
    }
    steps
}

/// Returns the step that makes a file which no byte of an older one is in; `None` for another file.
fn made_anew(file: &VirtualFile) -> Option<StepAction> {
    match file {
        VirtualFile::New(content) => Some(StepAction::Write {
            content: content.clone(),
            replaces: None,
        }),
        VirtualFile::Zeros(len) => Some(StepAction::Allocate {
            len: *len,
            replaces: None,
        }),
        VirtualFile::OnDisk { .. } => None,
    }
}

/// Returns the step that makes a file of a later part of an older one.
fn copied(file: &VirtualFile) -> Option<StepAction> {
    match file {
        VirtualFile::OnDisk { source, start, len } if *start > 0 => Some(StepAction::CopyPart {
            source: source.clone(),
            start: *start,
            len: *len,
            replaces: None,
        }),
        _ => None,
    }
}

/// Lets a truncation that drops segments begin with a torn batch in the segment that it cuts. From then on each boot cuts
/// there and drops what follows; before, it finds the whole log.
fn tear_first(steps: &mut Vec<Step>, base: Offset) {
    let is_log = |step: &Step| match PartitionFile::parse(&step.file) {
        PartitionFile::Segment {
            offset,
            kind: FileKind::Log,
        } => Some(offset),
        _ => None,
    };
    let mut drops = false;
    for step in steps.iter_mut() {
        let Some(offset) = is_log(step) else { continue };
        drops |= offset > base && matches!(step.action, StepAction::Remove { .. });
        "behind the truncation's target".clone_into(&mut step.reason);
    }
    if !drops {
        return;
    }
    let cut = steps.iter_mut().find(|step| is_log(step) == Some(base));
    let Some(cut) = cut else { return };
    let mut tear = cut.clone();
    if let (StepAction::SetLen { from, .. }, StepAction::SetLen { to, .. }) =
        (&mut cut.action, &mut tear.action)
    {
        *to += 1;
        *from = *to;
        tear.after_sync = false;
        if let Some(next) = steps.first_mut() {
            next.after_sync = true;
        }
        steps.insert(0, tear);
    }
}

fn step(name: &str, action: StepAction) -> Step {
    let kind = match PartitionFile::parse(name) {
        PartitionFile::Segment { kind, .. } => Some(kind),
        _ => None,
    };
    let is_new = is_new(&action);
    let removes = matches!(action, StepAction::Remove { .. });
    let (quarantine, reason) = match kind {
        Some(FileKind::Log) if matches!(action, StepAction::CopyPart { .. }) => {
            (Quarantine::Keep, "a boot splits the segment")
        }
        Some(FileKind::Log) if removes => (Quarantine::Keep, "a boot drops this segment"),
        Some(FileKind::Log) if is_new => (Quarantine::Regenerable, "a new, empty segment"),
        Some(FileKind::Log) => (Quarantine::Keep, "a boot cuts here"),
        Some(FileKind::Snapshot) if removes => (Quarantine::Keep, "a boot removes this snapshot"),
        Some(FileKind::Snapshot) if is_new => (Quarantine::Regenerable, "producers at this offset"),
        Some(FileKind::Snapshot) => (Quarantine::Keep, "producers differ"),
        Some(_) if removes => (Quarantine::Regenerable, "its segment is gone"),
        Some(_) => (Quarantine::Regenerable, "rebuilt from the log"),
        None if matches!(action, StepAction::Rename { .. }) => {
            (Quarantine::Regenerable, "a boot completes this swap")
        }
        None if removes => (Quarantine::Regenerable, "a leftover of Kafka's own"),
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
        after_sync: false,
        reason: reason.to_owned(),
    }
}

/// Says whether the file is not there before.
fn is_new(action: &StepAction) -> bool {
    matches!(
        action,
        StepAction::Write { replaces: None, .. }
            | StepAction::CopyPart { replaces: None, .. }
            | StepAction::Allocate { replaces: None, .. }
    )
}

/// What sorts a step: its turn, its class in that turn, its offset, its place among the files of that offset.
type Key = (Turn, u8, i64, u8);

impl Order<'_> {
    fn sort(&self, steps: Vec<Step>) -> Vec<Step> {
        let mut keyed: Vec<(Key, Step)> = steps
            .into_iter()
            .map(|step| (self.key(&step), step))
            .collect();
        keyed.sort_by_key(|(key, _)| *key);
        let mut before: Option<Key> = None;
        for (key, step) in &mut keyed {
            step.after_sync = before.is_some_and(|before| self.waits(before, *key));
            before = Some(*key);
        }
        keyed.into_iter().map(|(_, step)| step).collect()
    }

    /// Says whether a power cut that leaves the later step without the earlier one would mislead a boot.
    fn waits(&self, earlier: Key, later: Key) -> bool {
        let unread = |key: Key| self.first_read.is_none_or(|first| key.2 <= first.0);
        match earlier.0 {
            turn if turn != later.0 => true,
            // A boot removes all those behind the first segment that it reads.
            Turn::OldSnapshots | Turn::NewerSnapshots => unread(earlier) || unread(later),
            Turn::Cuts | Turn::OlderSnapshots | Turn::LoadedSnapshots => true,
            _ => earlier.1 != later.1,
        }
    }

    /// Returns the key that sorts the steps.
    fn key(&self, step: &Step) -> Key {
        let PartitionFile::Segment { offset, kind } = PartitionFile::parse(&step.file) else {
            return self.key_of_other(step);
        };
        let removes = matches!(step.action, StepAction::Remove { .. });
        let is_new = is_new(&step.action);
        let writes = matches!(
            step.action,
            StepAction::Write { .. } | StepAction::Allocate { .. }
        );
        let turn = match kind {
            FileKind::Log if matches!(step.action, StepAction::CopyPart { .. }) => Turn::Pieces,
            FileKind::Log if matches!(step.action, StepAction::Rename { .. }) => Turn::Renames,
            FileKind::Index | FileKind::TimeIndex if is_new && self.pieces.contains(&offset) => {
                Turn::Pieces
            }
            FileKind::Index | FileKind::TimeIndex | FileKind::TxnIndex
                if removes && self.split_bases.contains(&offset) =>
            {
                Turn::Indexes
            }
            FileKind::Snapshot if removes && self.is_swapped(offset) => Turn::Segments,
            FileKind::Snapshot if removes && self.loaded_snapshots.contains(&offset) => {
                Turn::LoadedSnapshots
            }
            FileKind::Snapshot if removes => Turn::OldSnapshots,
            FileKind::Snapshot if self.first_read.is_some_and(|first| offset > first) => {
                Turn::NewerSnapshots
            }
            FileKind::Snapshot => Turn::OlderSnapshots,
            _ if removes => Turn::Segments,
            FileKind::Index | FileKind::TimeIndex if writes && self.is_swapped(offset) => {
                Turn::SwapIndexes
            }
            FileKind::Log if is_new => Turn::NewIndexes,
            FileKind::Log => Turn::Cuts,
            // What made a boot read this segment, a missing index or a corrupt index of transactions, stays until all
            // that follows from it is done.
            FileKind::Index if is_new && self.repaired.contains(&offset) => Turn::NewIndexes,
            FileKind::TxnIndex if self.repaired.contains(&offset) => Turn::NewIndexes,
            _ => Turn::Indexes,
        };
        let rank = match kind {
            // A piece whose indexes are missing would be read as soon as it is opened.
            FileKind::Log if turn == Turn::Pieces => 5,
            FileKind::Log => 0,
            FileKind::TimeIndex => 1,
            FileKind::TxnIndex => 2,
            FileKind::Index => 3,
            FileKind::Snapshot => 4,
        };
        match turn {
            // Logs first: a boot would read a later segment whose index is gone before it drops it.
            Turn::Segments => {
                let class = match kind {
                    FileKind::Log => 0,
                    FileKind::Snapshot => 2,
                    _ => 1,
                };
                (turn, class, offset.0.wrapping_neg(), rank)
            }
            Turn::Cuts if self.cuts_from_last => (turn, rank, offset.0.wrapping_neg(), 0),
            // The newest first: a boot that finds an older one alone rebuilds the producers from there.
            Turn::OlderSnapshots if self.empty_snapshots.contains(&offset) => {
                (turn, 0, offset.0.wrapping_neg(), 0)
            }
            // Kind by kind: files of one kind may become durable in any order, so that they need one sync.
            _ => (turn, rank, offset.0, 0),
        }
    }

    /// Says whether this is a segment of a log that a boot deletes whole. One that lies where the new segment begins goes with
    /// the others, and comes anew: a boot that found it, without the damage before it, would take it for the log's end.
    fn deletes_log(&self, name: &str) -> bool {
        let is_log = matches!(
            PartitionFile::parse(name),
            PartitionFile::Segment {
                kind: FileKind::Log,
                ..
            }
        );
        is_log && self.epochs == EpochTurn::First
    }

    fn is_swapped(&self, offset: Offset) -> bool {
        self.swap_range
            .is_some_and(|(from, to)| from <= offset && offset < to)
    }

    /// Returns the key of a step on a file that is bound to no segment by its name.
    fn key_of_other(&self, step: &Step) -> Key {
        match PartitionFile::parse(&step.file) {
            // Without the `.cleaned` an incomplete swap would look complete.
            PartitionFile::Swap { .. } if self.invalid_swaps.contains(&step.file) => {
                (Turn::Leftovers, 0, 0, 0)
            }
            // A boot that finds the log renamed renames the rest; one that finds only the log still to be renamed would
            // remove indexes that were renamed before it.
            PartitionFile::Swap { offset, kind } => {
                let is_log = kind == Some(FileKind::Log);
                (Turn::Renames, u8::from(!is_log), offset.0, 0)
            }
            PartitionFile::Cleaned { .. } => (Turn::Leftovers, 1, 0, 0),
            PartitionFile::Deleted => (Turn::Leftovers, 2, 0, 0),
            _ => match self.epochs {
                EpochTurn::First => (Turn::EpochsOfDeletedLog, 0, 0, 0),
                EpochTurn::BeforeNewIndexes => (Turn::AddedEpochs, 0, 0, 0),
                EpochTurn::Last => (Turn::Epochs, 0, 0, 0),
            },
        }
    }
}
