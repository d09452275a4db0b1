//! Owner and mode of each dir and file, as the broker's user meets them.

use super::facts::{
    Access, BootFacts, BootUser, DirState, EntryFacts, LogDirFacts, PartitionFacts,
};
use super::problem::{AtBoot, Fix, Problem, offline, words};
use crate::format::file_name::{FileKind, META_PROPERTIES, PartitionFile};
use crate::log::FindingCode;
use crate::plan::{EntryKind, FileOwner, Mend, Quarantine, Step, StepAction};

const READ: u32 = 4;
const WRITE: u32 = 2;
const SEARCH: u32 = 1;

/// Something that the broker's user may not do as a boot does it.
struct Refused<'a> {
    /// `.` for the dir itself.
    name: &'a str,
    access: Access,
    /// What is wanted beside reading: the mode that it gets has these bits.
    wanted: u32,
}

/// What a boot wants of a file in a partition dir.
fn wanted_of(entry: &EntryFacts) -> u32 {
    match PartitionFile::parse(&entry.name) {
        PartitionFile::Segment {
            kind: FileKind::Log | FileKind::Index | FileKind::TimeIndex | FileKind::TxnIndex,
            ..
        } => READ | WRITE,
        // Read, and replaced by a rename.
        PartitionFile::Segment { .. }
        | PartitionFile::LeaderEpochCheckpoint
        | PartitionFile::PartitionMetadata
        | PartitionFile::QuorumState
        | PartitionFile::MetadataSnapshot { .. } => READ,
        _ => 0,
    }
}

fn refused_in<'a>(user: &BootUser, log: &'a PartitionFacts) -> Vec<Refused<'a>> {
    let mut refused = Vec::new();
    let mut check = |name, access, wanted| {
        if wanted != 0 && !user.may(access, wanted) {
            refused.push(Refused {
                name,
                access,
                wanted,
            });
        }
    };
    check(".", log.access, READ | WRITE | SEARCH);
    for entry in log
        .entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::File)
    {
        check(&entry.name, entry.access, wanted_of(entry));
    }
    refused
}

fn refused_beside<'a>(user: &BootUser, dir: &'a LogDirFacts) -> Vec<Refused<'a>> {
    let mut refused = Vec::new();
    if !user.may(dir.access, READ | WRITE | SEARCH) {
        refused.push(Refused {
            name: ".",
            access: dir.access,
            wanted: READ | WRITE | SEARCH,
        });
    }
    for entry in &dir.entries {
        let wanted = match entry.name.as_str() {
            ".lock" => READ | WRITE,
            META_PROPERTIES | ".kafka_cleanshutdown" => READ,
            name if name.ends_with("-checkpoint") => READ,
            _ => continue,
        };
        if entry.kind == EntryKind::File && !user.may(entry.access, wanted) {
            refused.push(Refused {
                name: &entry.name,
                access: entry.access,
                wanted,
            });
        }
    }
    refused
}

fn owner_of(access: Access) -> FileOwner {
    FileOwner {
        uid: access.uid,
        gid: access.gid,
        mode: access.mode,
        attributes: Vec::new(),
    }
}

/// Returns owner and mode that a name gets: the broker's, with the bits that a boot needs of it.
fn mended(user: &BootUser, refused: &Refused<'_>) -> FileOwner {
    FileOwner {
        uid: user.uid,
        gid: user.gids.first().copied().unwrap_or(refused.access.gid),
        mode: refused.access.mode | (refused.wanted << 6),
        attributes: Vec::new(),
    }
}

const REASON: &str = "the broker's user must be able to change it";

fn mend(user: &BootUser, refused: &Refused<'_>) -> Fix {
    Fix::Dir(Mend::SetOwner {
        file: refused.name.to_owned(),
        from: owner_of(refused.access),
        to: mended(user, refused),
        reason: REASON.to_owned(),
    })
}

fn step(user: &BootUser, refused: &Refused<'_>) -> Fix {
    Fix::Log(Step {
        file: refused.name.to_owned(),
        action: StepAction::SetOwner {
            from: Box::new(owner_of(refused.access)),
            to: Box::new(mended(user, refused)),
        },
        quarantine: Quarantine::Regenerable,
        after_sync: false,
        reason: REASON.to_owned(),
    })
}

/// Every dir and file against the user who will boot.
pub(super) fn owner(facts: &BootFacts) -> Vec<Problem> {
    let Some(user) = &facts.user else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    // What is not there, or no dir, belongs to nobody, and another rule speaks of it.
    let is_dir = |dir: &&LogDirFacts| !matches!(dir.state, DirState::Missing | DirState::NotADir);
    for dir in facts.dirs.iter().filter(is_dir) {
        let beside = refused_beside(user, dir);
        if let Some(first) = beside.first() {
            let at_boot = offline(facts, &dir.path);
            problems.push(
                Problem::new(
                    FindingCode::WrongOwner,
                    at_boot,
                    text(user, first, beside.len(), at_boot),
                )
                .dir(&dir.path)
                .file(first.name)
                .next(chown(user, &dir.path.display().to_string()))
                .fix(beside.iter().map(|refused| mend(user, refused))),
            );
        }
        for log in &dir.partitions {
            let refused = refused_in(user, log);
            let Some(first) = refused.first() else {
                continue;
            };
            // Of a dir that cannot be changed old snapshots cannot be deleted: an I/O error in the middle of recovery. A
            // file that cannot be read is met before that.
            let unreadable = refused
                .iter()
                .any(|refused| refused.name != "." && !user.may(refused.access, READ));
            let in_recovery = !dir.is_clean() && !log.scanned().is_empty() && !unreadable;
            let dir_only = refused.iter().all(|refused| refused.name == ".")
                && user.may(log.access, READ | SEARCH);
            let at_boot = if log.is_metadata_log() {
                AtBoot::Exits
            } else if in_recovery && dir_only && facts.empties_on_io_error() {
                AtBoot::EmptiesSegments
            } else {
                offline(facts, &dir.path)
            };
            problems.push(
                Problem::new(
                    FindingCode::WrongOwner,
                    at_boot,
                    text(user, first, refused.len(), at_boot),
                )
                .dir(&dir.path)
                .partition(&log.dir_name)
                .file(first.name)
                .next(chown(
                    user,
                    &dir.path.join(&log.dir_name).display().to_string(),
                ))
                .fix(refused.iter().map(|refused| step(user, refused))),
            );
        }
    }
    problems
}

fn text(user: &BootUser, first: &Refused<'_>, count: usize, at_boot: AtBoot) -> String {
    let what = if first.name == "." {
        "the dir itself"
    } else {
        first.name
    };
    let others = match count {
        0 | 1 => String::new(),
        _ => format!(" and {} names more", count - 1),
    };
    format!(
        "{what}{others} cannot be {} by {} (uid {}, {}): it belongs to uid {} with mode {:o}; {}",
        if user.may(first.access, READ) {
            "changed"
        } else {
            "read"
        },
        user.name,
        user.uid,
        user.source,
        first.access.uid,
        first.access.mode & 0o7777,
        words(at_boot)
    )
}

fn chown(user: &BootUser, path: &str) -> String {
    format!(
        "krescue preflight --fix gives it to the broker's user; by hand: chown -R {}: {path}",
        user.name
    )
}
