//! The metadata log of a KRaft node.

use super::facts::{BootFacts, LogDirFacts, MetadataKept, SmallFile};
use super::problem::{AtBoot, Problem};
use crate::format::file_name::{PartitionFile, QUORUM_STATE};
use crate::format::quorum_state::QuorumState;
use crate::log::{FindingCode, Severity};

const NAME: &str = "__cluster_metadata-0";

/// The metadata log: where it must lie, and what must be in it.
pub(super) fn metadata_log(facts: &BootFacts) -> Vec<Problem> {
    let Some(home) = facts.config.metadata_dir.as_ref() else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        let log = dir.partitions.iter().find(|log| log.is_metadata_log());
        if dir.path != *home {
            if log.is_some() && dir.has_logs {
                let text = format!(
                    "{NAME} lies here and the metadata log dir is {}: the boot ends with \"Found unexpected metadata location\"",
                    home.display()
                );
                problems.push(
                    Problem::new(FindingCode::MetadataLog, AtBoot::Exits, text)
                        .dir(&dir.path)
                        .partition(NAME)
                        .next("look which of the two is newer; name its dir in metadata.log.dir or first in log.dirs"),
                );
            }
            continue;
        }
        if let Some(problem) = quorum_state(dir) {
            problems.push(problem);
        }
        problems.extend(lost(facts, dir));
    }
    problems
}

fn quorum_state(dir: &LogDirFacts) -> Option<Problem> {
    let text = match &dir.quorum_state {
        SmallFile::Missing => return None,
        SmallFile::Unreadable(cause) => cause.clone(),
        SmallFile::Bytes(bytes) => match QuorumState::parse(bytes) {
            Ok(_) => return None,
            Err(error) => error.to_string(),
        },
    };
    let text = format!("{text}: the boot ends with \"Error while reading the Quorum status\"");
    Some(
        Problem::new(FindingCode::MetadataLog, AtBoot::Exits, text)
            .dir(&dir.path)
            .partition(NAME)
            .file(QUORUM_STATE)
            .line(Some(1))
            .next(
                "with other controllers alive: move the file away, the node learns the quorum again; a single controller: \
                 restore it from a backup",
            ),
    )
}

/// A metadata log that is gone or empty although logs are there.
fn lost(facts: &BootFacts, dir: &LogDirFacts) -> Option<Problem> {
    let log = dir.partitions.iter().find(|log| log.is_metadata_log());
    let has_records = log.is_some_and(|log| {
        let has_snapshot = log.entries.iter().any(|entry| {
            matches!(
                PartitionFile::parse(&entry.name),
                PartitionFile::MetadataSnapshot { .. }
            )
        });
        has_snapshot || log.bytes() > 0
    });
    let logs: u64 = facts.dirs.iter().map(|dir| dir.logs().count() as u64).sum();
    let bytes: u64 = facts
        .dirs
        .iter()
        .flat_map(LogDirFacts::logs)
        .map(super::PartitionFacts::bytes)
        .sum();
    if has_records || logs == 0 || dir.meta == SmallFile::Missing {
        return None;
    }
    let how = if log.is_some() { "is empty" } else { "is gone" };
    let only = facts.config.metadata == MetadataKept::HereAlone;
    let (text, severity, next) = if only {
        (
            format!(
                "{NAME} {how} and this is the only controller: the boot starts an empty cluster and renames all {logs} partition \
                 dirs -stray"
            ),
            Severity::Fatal,
            "restore it before the start; after such a boot: stop, restore it, rename the -stray dirs back",
        )
    } else {
        (
            format!(
                "{NAME} {how}: the node fetches it from the controllers; if they lost theirs too, the boot renames all {logs} \
                 partition dirs -stray"
            ),
            Severity::Warning,
            "look that the controllers are alive and of the same cluster before the start",
        )
    };
    Some(
        Problem::new(FindingCode::MetadataLog, AtBoot::MarksStray, text)
            .severity(severity)
            .loses(if only { bytes } else { 0 })
            .dir(&dir.path)
            .partition(NAME)
            .next(next),
    )
}
