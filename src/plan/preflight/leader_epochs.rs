//! The leader epochs of each partition.

use super::checkpoints::line_of;
use super::facts::{BootFacts, LogDirFacts, PartitionFacts, SmallFile};
use super::problem::{AtBoot, Fix, Problem, offline, words};
use crate::format::checkpoint::{CheckpointError, CheckpointFailure};
use crate::format::file_name::LEADER_EPOCH_CHECKPOINT;
use crate::format::leader_epoch_checkpoint::{self, EpochEntry};
use crate::log::FindingCode;
use crate::plan::{Content, Quarantine, Step, StepAction};

/// What is often done instead, and what comes of it.
const NOT_EMPTIED: &str = "an emptied file lets the broker start too, but a replica without its epochs does not find where it \
                           parted from its leader, and logs may diverge";

/// Says whether the epochs have to be taken from the batches to mend the checkpoint.
pub fn needs_log_epochs(epochs: &SmallFile) -> bool {
    let bytes = epochs.bytes();
    bytes.is_some_and(|bytes| leader_epoch_checkpoint::parse(bytes).is_err())
}

/// Each leader-epoch checkpoint that a boot cannot read.
pub(super) fn leader_epochs(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        for log in dir.logs() {
            match &log.epochs {
                SmallFile::Missing => {}
                SmallFile::Unreadable(cause) => {
                    let at_boot = offline(facts, &dir.path);
                    let text = format!("{cause}: {}", words(at_boot));
                    problems.push(
                        Problem::new(FindingCode::Unreadable, at_boot, text)
                            .dir(&dir.path)
                            .partition(&log.dir_name)
                            .file(LEADER_EPOCH_CHECKPOINT),
                    );
                }
                SmallFile::Bytes(bytes) => {
                    if let Err(error) = leader_epoch_checkpoint::parse(bytes) {
                        problems.push(malformed(facts, dir, log, bytes, &error));
                    }
                }
            }
        }
    }
    problems
}

fn malformed(
    facts: &BootFacts,
    dir: &LogDirFacts,
    log: &PartitionFacts,
    bytes: &[u8],
    error: &CheckpointError,
) -> Problem {
    let at_boot = match error.failure() {
        CheckpointFailure::Io => offline(facts, &dir.path),
        CheckpointFailure::IllegalArgument => AtBoot::Exits,
    };
    let unnamed = match error.failure() {
        CheckpointFailure::Io => "",
        CheckpointFailure::IllegalArgument => ", and its message names neither file nor partition",
    };
    let path = dir.path.join(&log.dir_name).join(LEADER_EPOCH_CHECKPOINT);
    let problem = Problem::new(
        FindingCode::CheckpointMalformed,
        at_boot,
        format!(
            "{}: {}{unnamed}",
            error.kafka_text(&path.display().to_string()),
            words(at_boot)
        ),
    )
    .dir(&dir.path)
    .partition(&log.dir_name)
    .file(LEADER_EPOCH_CHECKPOINT)
    .line(line_of(error));
    match &log.epochs_in_log {
        None => problem.next(format!(
            "its batches could not be read, so nothing can be written in its place; {NOT_EMPTIED}"
        )),
        Some(in_log) => {
            let entries = merge(&salvaged(bytes), in_log);
            let next = format!(
                "krescue preflight --fix writes it from the batches: {} epochs; {NOT_EMPTIED}",
                entries.len()
            );
            problem.next(next).fix([Fix::Log(Step {
                file: LEADER_EPOCH_CHECKPOINT.to_owned(),
                action: StepAction::Write {
                    content: Content::new(leader_epoch_checkpoint::encode(&entries)),
                    replaces: Some(bytes.len() as u64),
                },
                quarantine: Quarantine::Keep,
                after_sync: true,
                reason: "malformed; rewritten from the batches".to_owned(),
            })])
        }
    }
}

/// Returns the entries of whole lines.
fn salvaged(bytes: &[u8]) -> Vec<EpochEntry> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let whole = lines.filter_map(|line| line.strip_suffix(b"\n"));
    whole
        .filter_map(|line| {
            let one = [b"0\n1\n".as_slice(), line, b"\n"].concat();
            leader_epoch_checkpoint::parse(&one).ok()?.pop()
        })
        .collect()
}

/// Adds to the epochs of the batches those that only the file knows (all batches of an epoch may be compacted away), as
/// long as both rise together.
fn merge(file: &[EpochEntry], in_log: &[EpochEntry]) -> Vec<EpochEntry> {
    let mut all = in_log.to_vec();
    for entry in file {
        let at = all.partition_point(|known| known.epoch < entry.epoch);
        let fits_before = at
            .checked_sub(1)
            .and_then(|before| all.get(before))
            .is_none_or(|before| before.start_offset < entry.start_offset);
        // Below the first batch lies what was deleted: the log does not know it any more.
        let behind = all.get(at);
        let fits_behind = behind.is_some_and(|behind| {
            behind.epoch > entry.epoch && behind.start_offset > entry.start_offset
        });
        let is_inside = in_log
            .first()
            .is_some_and(|first| entry.start_offset >= first.start_offset);
        if fits_before && fits_behind && is_inside {
            all.insert(at, *entry);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{LeaderEpoch, Offset};

    fn epochs(pairs: &[(i32, i64)]) -> Vec<EpochEntry> {
        let entry = |(epoch, offset): &(i32, i64)| EpochEntry {
            epoch: LeaderEpoch(*epoch),
            start_offset: Offset(*offset),
        };
        pairs.iter().map(entry).collect()
    }

    #[test]
    fn an_epoch_without_batches_stays_where_it_fits() {
        let in_log = epochs(&[(1, 0), (4, 100)]);
        let merged = merge(&epochs(&[(1, 0), (2, 50), (3, 100), (9, 20)]), &in_log);
        assert_eq!(merged, epochs(&[(1, 0), (2, 50), (4, 100)]));
        assert_eq!(
            merge(&epochs(&[(0, 0)]), &epochs(&[(3, 70)])),
            epochs(&[(3, 70)])
        );
    }

    #[test]
    fn whole_lines_are_salvaged() {
        assert_eq!(
            salvaged(b"0\n9\n1 0\nx 5\n3 70\n4 8"),
            epochs(&[(1, 0), (3, 70)])
        );
    }
}
