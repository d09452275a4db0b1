//! Locks, mounts and volumes of the log dirs.

use std::path::Path;

use super::facts::{BootFacts, DirState, ExpectedMount, LockFacts, LogDirFacts, VolumeKept};
use super::identity::format_command;
use super::problem::{AtBoot, Problem, offline, words};
use crate::format::file_name::LOCK;
use crate::log::FindingCode;

/// A lock that somebody holds; one that nobody holds is explained.
pub(super) fn lock(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        let problem = match &dir.lock {
            LockFacts::Absent | LockFacts::Unknown => continue,
            LockFacts::Free => Problem::new(
                FindingCode::LogDir,
                AtBoot::Nothing,
                ".lock lies there and nobody holds it: a killed broker leaves it, and it keeps nobody out",
            )
            .next("leave it: the lock is the kernel's, not the file's"),
            LockFacts::Held(pid) => {
                let who = pid.map_or_else(
                    || "a process that the system does not name".to_owned(),
                    |pid| format!("process {pid}"),
                );
                let text = format!(
                    ".lock is held by {who}: the boot ends after about 10 s with \"Failed to acquire lock\", before any log is \
                     touched"
                );
                let next = pid.map_or_else(
                    || "find it (fuser -v on the dir, other containers on the volume) and stop it; removing the file helps nobody".to_owned(),
                    |pid| format!("look what it is (ps -fp {pid}) and stop it; removing the file helps nobody"),
                );
                Problem::new(FindingCode::LockHeld, AtBoot::Exits, text).next(next)
            }
        };
        problems.push(problem.dir(&dir.path).file(LOCK));
    }
    problems
}

/// Returns the deepest mount that the host is meant to have over a path.
fn expected<'a>(facts: &'a BootFacts, path: &Path) -> Option<&'a ExpectedMount> {
    let over = facts.host.mounts.iter();
    over.filter(|mount| path.starts_with(&mount.mount_point))
        .max_by_key(|mount| mount.mount_point.components().count())
}

/// A log dir whose volume should be mounted and is not.
pub(super) fn mounts(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        let Some(mount) = expected(facts, &dir.path).filter(|mount| !mount.is_mounted) else {
            continue;
        };
        let seen = match &dir.state {
            DirState::Listed if dir.entries.is_empty() => {
                "what lies there is the empty mount point"
            }
            DirState::Listed => "what lies there is on the volume below",
            _ => "the dir is not there",
        };
        let cause = mount
            .error
            .as_ref()
            .map_or_else(String::new, |error| format!(" ({error})"));
        let text = format!(
            "{} ({}) is not mounted at {}{cause}: {seen}; the boot ends with \"No `meta.properties` found\", or writes to the \
             wrong volume",
            mount.source,
            mount.told_by,
            mount.mount_point.display()
        );
        problems.push(
            Problem::new(FindingCode::NotMounted, AtBoot::Exits, text)
                .dir(&dir.path)
                .next(format!(
                    "mount {}; dmesg and journalctl -b -u '*.mount' tell why it failed; never format it",
                    mount.mount_point.display()
                )),
        );
    }
    problems
}

/// A log dir that cannot be listed.
pub(super) fn log_dir(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        let off = offline(facts, &dir.path);
        let (at_boot, text, next) = match &dir.state {
            DirState::Listed => {
                problems.extend(temporary(dir));
                continue;
            }
            DirState::Missing if facts.config.is_kraft() => (
                AtBoot::Exits,
                "the log dir does not exist: the boot ends with \"No `meta.properties` found\""
                    .to_owned(),
                format!(
                    "mount its volume, or take it out of log.dirs{}; a new disk: {}",
                    line(facts),
                    format_command(facts)
                ),
            ),
            DirState::Missing => (
                AtBoot::FailsLater,
                "the log dir does not exist: the boot creates it".to_owned(),
                "look whether its volume is mounted".to_owned(),
            ),
            DirState::NotADir => (
                off,
                format!("the log dir is no directory: {}", words(off)),
                "look what lies there".to_owned(),
            ),
            DirState::Unreadable(cause) => (
                off,
                format!("{cause}: {}", words(off)),
                format!(
                    "dmesg tells whether the disk fails; to boot without it take it out of log.dirs{}",
                    line(facts)
                ),
            ),
        };
        problems.push(
            Problem::new(FindingCode::LogDir, at_boot, text)
                .dir(&dir.path)
                .next(next),
        );
    }
    problems
}

fn line(facts: &BootFacts) -> String {
    match (&facts.config.file, facts.config.log_dirs_line) {
        (Some(file), Some(line)) => format!(" ({} line {line})", file.display()),
        _ => String::new(),
    }
}

fn temporary(dir: &LogDirFacts) -> Option<Problem> {
    let volume = dir.volume.as_ref();
    let why = if dir.path.starts_with("/tmp") {
        "lies below /tmp, which the system empties"
    } else if volume.is_some_and(|volume| volume.kept == VolumeKept::Memory) {
        "lies in memory and is gone after a restart of the host"
    } else {
        return None;
    };
    Some(
        Problem::new(
            FindingCode::HostAdvice,
            AtBoot::Nothing,
            format!("the log dir {why}"),
        )
        .dir(&dir.path)
        .next("name a dir on a disk in log.dirs"),
    )
}

/// A volume that is mounted read-only.
pub(super) fn read_only(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        let Some(volume) = dir.volume.as_ref().filter(|volume| volume.read_only) else {
            continue;
        };
        let at_boot = offline(facts, &dir.path);
        let mount = volume.mount_point.display();
        let text = format!("{mount} is mounted read-only: {}", words(at_boot));
        problems.push(
            Problem::new(FindingCode::ReadOnlyVolume, at_boot, text)
                .dir(&dir.path)
                .next(format!(
                    "dmesg | grep -i 'remount\\|error' tells whether the kernel did that after an error: then the disk fails and \
                     fsck comes first; else mount -o remount,rw {mount}"
                )),
        );
    }
    problems
}

/// Mount options and file systems that make a crash dearer.
pub(super) fn advice(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        let Some(volume) = &dir.volume else { continue };
        let has = |option: &str| volume.options.split(',').any(|of| of == option);
        let mut say = |text: String, next: &str| {
            problems.push(
                Problem::new(FindingCode::HostAdvice, AtBoot::FailsLater, text)
                    .dir(&dir.path)
                    .next(next),
            );
        };
        let mount = volume.mount_point.display();
        if volume.kept == VolumeKept::Elsewhere {
            say(
                format!(
                    "{mount} is {}: locks and renames of open files do not behave there as Kafka expects",
                    volume.fs_type
                ),
                "put log dirs on local disks",
            );
        }
        if has("nobarrier") || has("barrier=0") {
            say(
                format!(
                    "{mount} is mounted with nobarrier: a power loss leaves torn and zeroed tails"
                ),
                "mount it with barriers",
            );
        }
        if has("data=writeback") {
            say(
                format!(
                    "{mount} is mounted with data=writeback: a power loss leaves old bytes in new files"
                ),
                "mount it with data=ordered",
            );
        }
        if has("sync") {
            say(
                format!("{mount} is mounted with sync: every write waits for the disk, a boot too"),
                "mount it without sync",
            );
        }
    }
    problems
}
