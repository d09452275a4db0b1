//! Names that a boot does not expect, or that stand for something that is no file.

use super::facts::{BootFacts, EntryFacts, LogDirFacts};
use super::problem::{AtBoot, Fix, Problem, offline, words};
use crate::format::file_name::{
    CLEANER_CHECKPOINT, DirName, FileKind, HIGH_WATERMARK_CHECKPOINT, LOG_START_CHECKPOINT,
    META_PROPERTIES, PartitionFile, RECOVERY_POINT_CHECKPOINT,
};
use crate::log::FindingCode;
use crate::plan::{EntryKind, FileOwner, Mend};

/// Something that is no file under a name that a boot opens as one.
pub(super) fn not_a_file(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        for log in &dir.partitions {
            for entry in log
                .entries
                .iter()
                .filter(|entry| entry.kind != EntryKind::File)
            {
                let at_boot = match PartitionFile::parse(&entry.name) {
                    // A boot passes over dirs with a segment's name.
                    PartitionFile::Segment {
                        kind: FileKind::Log,
                        ..
                    } => continue,
                    PartitionFile::Segment {
                        kind: FileKind::Snapshot,
                        ..
                    } if dir.is_clean() => AtBoot::FailsLater,
                    PartitionFile::Segment { .. }
                        if facts.empties_on_io_error() && !dir.is_clean() =>
                    {
                        AtBoot::EmptiesSegments
                    }
                    PartitionFile::Segment { .. }
                    | PartitionFile::LeaderEpochCheckpoint
                    | PartitionFile::PartitionMetadata => offline(facts, &dir.path),
                    _ => continue,
                };
                problems.push(
                    no_file(entry, at_boot)
                        .dir(&dir.path)
                        .partition(&log.dir_name)
                        .file(&entry.name),
                );
            }
        }
        for name in [
            META_PROPERTIES,
            ".lock",
            RECOVERY_POINT_CHECKPOINT,
            LOG_START_CHECKPOINT,
            HIGH_WATERMARK_CHECKPOINT,
            CLEANER_CHECKPOINT,
        ] {
            if let Some(entry) = dir.entry(name)
                && entry.kind != EntryKind::File
            {
                let at_boot = offline(facts, &dir.path);
                problems.push(no_file(entry, at_boot).dir(&dir.path).file(name));
            }
        }
    }
    problems
}

fn no_file(entry: &EntryFacts, at_boot: AtBoot) -> Problem {
    let kind = match entry.kind {
        EntryKind::Dir => "a directory",
        EntryKind::File | EntryKind::Other => "no plain file",
    };
    Problem::new(
        FindingCode::NotAFile,
        at_boot,
        format!(
            "{} is {kind} where a boot opens a file: {}",
            entry.name,
            words(at_boot)
        ),
    )
    .next("move it out of the log dir")
}

/// Dirs in a log dir whose names are no partition's.
pub(super) fn dir_names(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in facts.dirs.iter().filter(|dir| dir.has_logs) {
        for entry in &dir.entries {
            if entry.kind == EntryKind::Dir && DirName::parse(&entry.name) == DirName::Invalid {
                problems.push(foreign(dir, entry));
            }
        }
    }
    problems
}

fn foreign(dir: &LogDirFacts, entry: &EntryFacts) -> Problem {
    let is_mount = dir
        .volume
        .as_ref()
        .is_some_and(|volume| volume.mount_point == dir.path);
    let is_empty = entry.children == Some(0);
    let is_fsck = entry.name == "lost+found";
    let holds = match entry.children {
        Some(0) => ", empty".to_owned(),
        Some(names) => format!(", {names} names in it"),
        None => String::new(),
    };
    let mut next = match (is_fsck, is_empty) {
        (true, true) => "krescue preflight --fix removes the empty dir".to_owned(),
        (true, false) => {
            "what fsck saved lies in it: look through it, then move it out of the log dir"
                .to_owned()
        }
        (false, _) => "move it out of the log dir".to_owned(),
    };
    if is_mount {
        next = format!(
            "{next}; the log dir is the root of a volume, where it comes back: move its content one level down and name \
             that dir in log.dirs"
        );
    }
    let fix = (is_fsck && is_empty).then(|| {
        Fix::Dir(Mend::RemoveDir {
            name: entry.name.clone(),
            owner: FileOwner {
                uid: entry.access.uid,
                gid: entry.access.gid,
                mode: entry.access.mode,
                attributes: Vec::new(),
            },
            reason: "a boot takes it for a partition's dir".to_owned(),
        })
    });
    Problem::new(
        FindingCode::ForeignName,
        AtBoot::Exits,
        format!(
            "dir \"{}\"{holds} is no partition's: the boot ends with \"Found directory … is not in the form of \
             topic-partition\"",
            entry.name
        ),
    )
    .dir(&dir.path)
    .file(&entry.name)
    .next(next)
    .fix(fix)
}

/// Files in a partition dir whose names ask for an offset and have none.
pub(super) fn file_names(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        for log in dir.logs() {
            for entry in &log.entries {
                let is_bad = PartitionFile::parse(&entry.name) == PartitionFile::BadNumber;
                if !is_bad || entry.kind == EntryKind::Dir {
                    continue;
                }
                problems.push(
                    Problem::new(
                        FindingCode::ForeignName,
                        AtBoot::Exits,
                        format!(
                            "{} has a segment's suffix and no offset before it: the boot ends with NumberFormatException, \
                             which names no file",
                            entry.name
                        ),
                    )
                    .dir(&dir.path)
                    .partition(&log.dir_name)
                    .file(&entry.name)
                    .next("move it out of the log dir"),
                );
            }
        }
    }
    problems
}
