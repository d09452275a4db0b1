//! Inodes and blocks that a boot needs.

use super::facts::{BootFacts, LogDirFacts, VolumeFacts};
use super::problem::{AtBoot, Problem, offline, words};
use crate::format::file_name::{FileKind, PartitionFile};
use crate::log::FindingCode;
use crate::plan::EntryKind;

/// Blocks of one log's recovery: two snapshots and a checkpoint.
const BLOCKS_PER_LOG: u64 = 3;
/// Files that are there for a moment: a checkpoint's `.tmp` of each recovery thread, and those of the log dir.
const PASSING_FILES: u64 = 8;

/// The log dirs of one volume, as a boot writes to all of them.
struct OnVolume<'a> {
    volume: &'a VolumeFacts,
    dirs: Vec<&'a LogDirFacts>,
}

fn by_volume(facts: &BootFacts) -> Vec<OnVolume<'_>> {
    let mut all: Vec<OnVolume<'_>> = Vec::new();
    for dir in facts.dirs.iter().filter(|dir| dir.has_logs) {
        let Some(volume) = &dir.volume else { continue };
        // Nothing can be written there, which is told elsewhere.
        if volume.read_only {
            continue;
        }
        match all.iter_mut().find(|of| of.volume.device == volume.device) {
            Some(of) => of.dirs.push(dir),
            None => all.push(OnVolume {
                volume,
                dirs: vec![dir],
            }),
        }
    }
    all
}

/// Returns how many files a boot of the dir leaves that are not there now.
fn new_files(dir: &LogDirFacts) -> u64 {
    if dir.is_clean() {
        return 0;
    }
    let of_log = |log: &super::facts::PartitionFacts| {
        let scanned = log.scanned();
        let Some(first) = scanned.first() else {
            return 0;
        };
        // Those above the first segment that is read are deleted, and one is written for each segment's end.
        let deleted = log.entries.iter().filter(|entry| {
            entry.kind == EntryKind::File
                && matches!(PartitionFile::parse(&entry.name),
                    PartitionFile::Segment { offset, kind: FileKind::Snapshot } if offset > first.base_offset)
        });
        let missing = scanned.iter().filter(|segment| segment.index.is_none());
        (scanned.len() as u64 + missing.count() as u64 * 2).saturating_sub(deleted.count() as u64)
    };
    dir.logs().map(of_log).sum()
}

/// Free inodes against the files that a boot creates.
pub(super) fn inodes(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for of in by_volume(facts) {
        let Some(free) = of.volume.free_inodes else {
            continue;
        };
        let logs: u64 = of.dirs.iter().map(|dir| dir.logs().count() as u64).sum();
        if logs == 0 {
            continue;
        }
        let unclean: Vec<&LogDirFacts> = of
            .dirs
            .iter()
            .copied()
            .filter(|dir| !dir.is_clean())
            .collect();
        let needed = of.dirs.iter().map(|dir| new_files(dir)).sum::<u64>() + PASSING_FILES;
        let comfortable = logs * BLOCKS_PER_LOG + PASSING_FILES;
        if free >= needed.max(comfortable) {
            continue;
        }
        let mount = of.volume.mount_point.display();
        let dir = unclean.first().or(of.dirs.first());
        let Some(dir) = dir else { continue };
        let at_boot = match free < needed {
            true if unclean.is_empty() => offline(facts, &dir.path),
            true if facts.empties_on_io_error() => AtBoot::EmptiesSegments,
            true => offline(facts, &dir.path),
            false => AtBoot::FailsLater,
        };
        let text = format!(
            "{free} inodes are free on {mount} and a boot creates up to {needed} files: {}",
            words(at_boot)
        );
        problems.push(
            Problem::new(FindingCode::NoInodes, at_boot, text)
                .dir(&dir.path)
                .next(format!(
                    "free inodes before the start: df -i {mount} counts them, find {mount} -xdev -type f | wc -l \
                     their users; files that are not Kafka's go first"
                )),
        );
    }
    problems
}

/// Free blocks against the bytes that a boot writes.
pub(super) fn blocks(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for of in by_volume(facts) {
        let mut needed = 0;
        for dir in of.dirs.iter().filter(|dir| !dir.is_clean()) {
            for log in dir.logs() {
                let scanned = log.scanned();
                if scanned.is_empty() {
                    continue;
                }
                // An index that is there is written over in its own blocks.
                let unindexed = scanned.iter().filter(|segment| segment.index.is_none());
                let indexes: u64 = unindexed
                    .map(|segment| segment.bytes / 4096 * 20 + of.volume.block * 2)
                    .sum();
                needed += BLOCKS_PER_LOG * of.volume.block + indexes;
            }
        }
        let is_root = facts.user.as_ref().is_some_and(|user| user.uid == 0);
        let free = if is_root {
            of.volume.free
        } else {
            of.volume.available
        };
        let least = 4 * of.volume.block;
        if free >= needed.max(least) || of.dirs.iter().all(|dir| dir.logs().next().is_none()) {
            continue;
        }
        let Some(dir) = of.dirs.first() else { continue };
        let mount = of.volume.mount_point.display();
        let at_boot = AtBoot::Exits;
        let reserved = of.volume.free.saturating_sub(of.volume.available);
        let text = format!(
            "{free} bytes are free on {mount} and a boot writes up to {}: the broker dies of an InternalError about \
             unsafe memory access, or an I/O error{}",
            needed.max(least),
            if facts.empties_on_io_error() {
                " empties the segments that it recovers"
            } else {
                " takes the dir offline"
            }
        );
        let mut next = format!("free space on {mount} before the start");
        if reserved > 0 && !is_root {
            next = format!(
                "{next}; {reserved} bytes are reserved for root there: tune2fs -m 0 DEVICE gives an ext4 volume's away"
            );
        }
        problems.push(
            Problem::new(FindingCode::NoSpace, at_boot, text)
                .dir(&dir.path)
                .next(next),
        );
    }
    problems
}
