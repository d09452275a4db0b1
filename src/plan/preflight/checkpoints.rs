//! The offset checkpoints beside the partition dirs.

use std::collections::BTreeSet;

use super::facts::{BootFacts, CheckpointFacts, LogDirFacts, SmallFile};
use super::problem::{AtBoot, Fix, Problem, offline, words};
use super::salvage::salvage;
use crate::format::checkpoint::{CheckpointError, CheckpointFailure};
use crate::format::file_name::{
    CLEANER_CHECKPOINT, DirName, HIGH_WATERMARK_CHECKPOINT, LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
};
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::log::{FindingCode, Severity};
use crate::plan::Mend;
use crate::terms::TopicPartition;

/// Each checkpoint that a boot cannot read.
pub(super) fn checkpoints(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in facts.dirs.iter().filter(|dir| dir.has_logs) {
        for checkpoint in &dir.checkpoints {
            match &checkpoint.file {
                SmallFile::Missing => {}
                SmallFile::Unreadable(cause) => {
                    let at_boot = offline(facts, &dir.path);
                    let text = format!("{cause}: {}", words(at_boot));
                    problems.push(
                        Problem::new(FindingCode::Unreadable, at_boot, text)
                            .dir(&dir.path)
                            .file(checkpoint.name),
                    );
                }
                SmallFile::Bytes(bytes) => {
                    if let Err(error) = OffsetCheckpoint::parse(bytes) {
                        problems.push(malformed(facts, dir, checkpoint, bytes, &error));
                    }
                }
            }
        }
    }
    problems
}

/// Returns the line that an error names, from 1.
pub(super) fn line_of(error: &CheckpointError) -> Option<usize> {
    match error {
        CheckpointError::MalformedLine { number, .. }
        | CheckpointError::NotANumber { number, .. }
        | CheckpointError::NegativeEpoch { number, .. } => Some(*number),
        CheckpointError::Version { .. } => Some(1),
        CheckpointError::Count { .. } | CheckpointError::NegativeCount { .. } => Some(2),
        CheckpointError::NotUtf8 => None,
    }
}

fn malformed(
    facts: &BootFacts,
    dir: &LogDirFacts,
    checkpoint: &CheckpointFacts,
    bytes: &[u8],
    error: &CheckpointError,
) -> Problem {
    let is_io = error.failure() == CheckpointFailure::Io;
    let off = offline(facts, &dir.path);
    let all: u64 = dir.logs().map(super::PartitionFacts::bytes).sum();
    let here: BTreeSet<TopicPartition> = dir
        .logs()
        .filter_map(|log| match &log.parsed {
            DirName::Normal(partition) | DirName::Future(partition) => Some(partition.clone()),
            _ => None,
        })
        .collect();
    let salvaged = salvage(bytes, checkpoint.tmp.bytes(), |partition| {
        here.contains(partition)
    });
    let (at_boot, effect, absent) = match checkpoint.name {
        RECOVERY_POINT_CHECKPOINT => {
            let scan = format!("every log of the dir is read from its start ({all} bytes)");
            let effect = if is_io {
                format!("{scan}, then {}", words(off))
            } else {
                scan
            };
            let absent = "a log without an entry is read from its start";
            (
                if is_io { off } else { AtBoot::TakesLonger },
                effect,
                absent,
            )
        }
        LOG_START_CHECKPOINT => {
            let back = "every log starts at its first segment, so deleted records come back";
            let effect = if is_io {
                format!("{back}; after the logs are loaded {}", words(off))
            } else {
                back.to_owned()
            };
            let absent = "a log without an entry starts at its first segment";
            (
                if is_io { off } else { AtBoot::TakesLonger },
                effect,
                absent,
            )
        }
        HIGH_WATERMARK_CHECKPOINT => {
            let absent = "a log without an entry has high watermark 0 until its leader tells";
            if is_io {
                let effect = format!("after all logs are recovered {}", words(off));
                (off, effect, absent)
            } else {
                (
                    AtBoot::ServesSome,
                    words(AtBoot::ServesSome).to_owned(),
                    absent,
                )
            }
        }
        _ => {
            let absent = "a log without an entry is compacted from its start once";
            if is_io {
                (off, words(off).to_owned(), absent)
            } else {
                (
                    AtBoot::CleanerDies,
                    words(AtBoot::CleanerDies).to_owned(),
                    absent,
                )
            }
        }
    };
    let path = dir.path.join(checkpoint.name).display().to_string();
    let from = if salvaged.from_tmp {
        "its .tmp, which is whole"
    } else {
        "its whole lines"
    };
    let next = format!(
        "krescue preflight --fix writes it from {from}: {} of {} logs; {absent}",
        salvaged.entries.len(),
        here.len()
    );
    let fix = Fix::Dir(Mend::Write {
        file: checkpoint.name.to_owned(),
        text: salvaged.text(),
        replaces: Some(bytes.len() as u64),
        reason: format!("malformed; rewritten from {from}"),
    });
    let problem = Problem::new(
        FindingCode::CheckpointMalformed,
        at_boot,
        format!("{}: {effect}", error.kafka_text(&path)),
    )
    .dir(&dir.path)
    .file(checkpoint.name)
    .line(line_of(error))
    .next(next)
    .fix([fix]);
    if checkpoint.name == LOG_START_CHECKPOINT {
        problem.severity(problem_severity(at_boot))
    } else {
        problem
    }
}

/// Deleted records that come back are worth more than a warning.
fn problem_severity(at_boot: AtBoot) -> Severity {
    at_boot.severity().max(Severity::Loss)
}

/// The checkpoints beside the partition dirs.
pub(super) const CHECKPOINTS: [&str; 4] = [
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    CLEANER_CHECKPOINT,
];
