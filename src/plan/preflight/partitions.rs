//! Files of the partition dirs.

use super::facts::{BootFacts, LogDirFacts, PartitionFacts, SmallFile};
use super::problem::{AtBoot, Fix, Problem, offline, words};
use crate::format::file_name::{
    DirName, FileKind, PARTITION_METADATA, PartitionFile, segment_file_name,
};
use crate::format::leader_epoch_checkpoint;
use crate::format::partition_metadata::{PartitionMetadata, PartitionMetadataError};
use crate::log::FindingCode;
use crate::plan::{Content, Quarantine, Step, StepAction};
use crate::terms::Uuid;

/// The largest `.log` that Kafka opens.
const MAX_SEGMENT: u64 = 2_147_483_647;
/// How far a file's time may lie in the future, in ms.
const CLOCK_SLACK_MS: i64 = 3_600_000;

/// Each `partition.metadata` that a boot cannot read.
pub(super) fn partition_metadata(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        for log in dir.logs() {
            let (at_boot, text) = match &log.metadata {
                SmallFile::Missing => continue,
                SmallFile::Unreadable(cause) => (offline(facts, &dir.path), cause.clone()),
                SmallFile::Bytes(bytes) => match PartitionMetadata::parse(bytes) {
                    Ok(_) => continue,
                    Err(error) if error.is_fatal() => (AtBoot::Exits, error.to_string()),
                    Err(error) => (offline(facts, &dir.path), error.to_string()),
                },
            };
            let line =
                log.metadata
                    .bytes()
                    .and_then(|bytes| match PartitionMetadata::parse(bytes) {
                        Err(
                            PartitionMetadataError::MissingLine { number }
                            | PartitionMetadataError::MalformedLine { number, .. },
                        ) => Some(number),
                        Err(
                            PartitionMetadataError::TopicId(_)
                            | PartitionMetadataError::ZeroTopicId,
                        ) => Some(2),
                        _ => None,
                    });
            let fix = write_metadata(facts, log);
            let next = match &fix {
                Some(_) => {
                    "krescue preflight --fix writes it from the cluster's metadata on this host"
                }
                None => {
                    "write it with the topic's id, from another replica or kafka-topics.sh --describe"
                }
            };
            problems.push(
                Problem::new(
                    FindingCode::PartitionMetadata,
                    at_boot,
                    format!("{text}: {}", words(at_boot)),
                )
                .dir(&dir.path)
                .partition(&log.dir_name)
                .file(PARTITION_METADATA)
                .line(line)
                .next(next)
                .fix(fix),
            );
        }
    }
    problems
}

/// Returns the id that the cluster's metadata gives to the topic of a dir, if nothing speaks against it.
pub(super) fn expected_topic_id(facts: &BootFacts, log: &PartitionFacts) -> Option<Uuid> {
    let (DirName::Normal(partition) | DirName::Future(partition)) = &log.parsed else {
        return None;
    };
    let image = facts.image.as_ref()?;
    let of_partition = image.partition(partition)?;
    if !of_partition.replicas.contains(&facts.config.node_id?) {
        return None;
    }
    // A topic that was deleted and created again begins anew with its epochs.
    let last = log
        .epochs
        .bytes()
        .and_then(|bytes| leader_epoch_checkpoint::parse(bytes).ok())
        .and_then(|entries| entries.last().copied());
    if last.is_some_and(|last| last.epoch > of_partition.leader_epoch) {
        return None;
    }
    Some(image.topic(&partition.topic)?.topic_id)
}

/// Returns the step that writes `partition.metadata` from the cluster's metadata.
pub(super) fn write_metadata(facts: &BootFacts, log: &PartitionFacts) -> Option<Fix> {
    let topic_id = expected_topic_id(facts, log)?;
    let content = PartitionMetadata {
        version: 0,
        topic_id,
    }
    .encode();
    let replaces = log.metadata.bytes().map(|bytes| bytes.len() as u64);
    Some(Fix::Log(Step {
        file: PARTITION_METADATA.to_owned(),
        action: StepAction::Write {
            content: Content::new(content),
            replaces,
        },
        quarantine: Quarantine::Keep,
        after_sync: true,
        reason: "the topic's id by the cluster's metadata on this host".to_owned(),
    }))
}

/// Segments that no boot loads, or that something emptied.
pub(super) fn segments(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        for log in dir.logs() {
            let segments = log.segments();
            for (number, segment) in segments.iter().enumerate() {
                let is_last = number + 1 == segments.len();
                let file = segment_file_name(segment.base_offset, FileKind::Log);
                let problem = if segment.bytes > MAX_SEGMENT {
                    let text = format!(
                        "{file} has {} bytes, more than {MAX_SEGMENT}: the boot ends here",
                        segment.bytes
                    );
                    Problem::new(FindingCode::SegmentTooLarge, AtBoot::Exits, text)
                        .next("no broker wrote that: look what did, and take the partition dir from another replica")
                } else if segment.bytes == 0 && !is_last && segment.index.is_some_and(|len| len > 0)
                {
                    let text = format!(
                        "{file} is empty, its index is not, and segments follow: its records are gone, and a boot loads it \
                         without a word"
                    );
                    Problem::new(FindingCode::SegmentEmptied, AtBoot::Nothing, text)
                        .severity(crate::log::Severity::Loss)
                        .next("the records are with the other replicas, if there are any")
                } else {
                    continue;
                };
                problems.push(problem.dir(&dir.path).partition(&log.dir_name).file(file));
            }
            problems.extend(log.gaps.unread_words().map(|text| {
                Problem::new(FindingCode::NotLookedAt, AtBoot::Nothing, text)
                    .next(crate::log::GapSearch::NEXT)
                    .dir(&dir.path)
                    .partition(&log.dir_name)
            }));
            for gap in &log.gaps.gaps {
                let file = segment_file_name(gap.after, FileKind::Log);
                problems.push(
                    // What is gone is gone, and a boot loses nothing more.
                    Problem::new(FindingCode::SegmentMissing, AtBoot::Nothing, gap.words())
                        .severity(crate::log::Severity::Warning)
                        .next(gap.next())
                        .dir(&dir.path)
                        .partition(&log.dir_name)
                        .file(file),
                );
            }
            if let Some(cause) = &log.unreadable {
                let at_boot = offline(facts, &dir.path);
                problems.push(
                    Problem::new(
                        FindingCode::Unreadable,
                        at_boot,
                        format!("{cause}: {}", words(at_boot)),
                    )
                    .dir(&dir.path)
                    .partition(&log.dir_name),
                );
            }
        }
    }
    problems
}

/// Segments without an offset index, which every boot reads in full.
pub(super) fn indexes(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        let (mut count, mut bytes, mut first) = (0_u64, 0_u64, None);
        for log in dir.logs() {
            let segments = log.segments();
            let missing = segments
                .iter()
                .filter(|segment| segment.index.is_none() && segment.bytes > 0);
            for segment in missing {
                count += 1;
                bytes += segment.bytes;
                let file = segment_file_name(segment.base_offset, FileKind::Index);
                first.get_or_insert_with(|| format!("{}/{file}", log.dir_name));
            }
        }
        let Some(first) = first else { continue };
        let twice = if dir.is_clean() {
            ""
        } else {
            ", those above the recovery point twice"
        };
        let text = format!(
            "{count} segments have no .index: a boot reads their {bytes} bytes in full, below the recovery point and after a \
             clean stop too{twice}"
        );
        problems.push(
            Problem::new(FindingCode::IndexMissing, AtBoot::TakesLonger, text)
                .dir(&dir.path)
                .file(first)
                .next("krescue recover builds those that an unclean boot reads, on all cores"),
        );
    }
    problems
}

/// What deletions, moves and compactions left.
pub(super) fn leftovers(facts: &BootFacts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        for (what, is_one, effect) in [
            (
                "-delete",
                (|parsed| matches!(parsed, DirName::Delete(_))) as fn(&DirName) -> bool,
                "a boot loads them, and the broker deletes them a minute later",
            ),
            (
                "-stray",
                |parsed| matches!(parsed, DirName::Stray(_)),
                "a boot loads them and leaves them: nothing deletes them",
            ),
            (
                "-future",
                |parsed| matches!(parsed, DirName::Future(_)),
                "a move between log dirs that goes on after the boot",
            ),
        ] {
            let of_kind: Vec<&PartitionFacts> =
                dir.logs().filter(|log| is_one(&log.parsed)).collect();
            if of_kind.is_empty() {
                continue;
            }
            let bytes: u64 = of_kind.iter().map(|log| log.bytes()).sum();
            let text = format!("{} {what} dirs, {bytes} bytes: {effect}", of_kind.len());
            problems.push(leftover(
                dir,
                text,
                of_kind.first().map(|log| log.dir_name.as_str()),
            ));
        }
        let files = dir.logs().flat_map(|log| &log.entries).filter(|entry| {
            matches!(
                PartitionFile::parse(&entry.name),
                PartitionFile::Deleted | PartitionFile::Cleaned { .. } | PartitionFile::Swap { .. }
            )
        });
        let (count, bytes) = files.fold((0_u64, 0_u64), |(count, bytes), entry| {
            (count + 1, bytes + entry.len)
        });
        if count > 0 {
            let text = format!(
                "{count} files .deleted, .cleaned or .swap, {bytes} bytes: a boot deletes them, or finishes the swap"
            );
            problems.push(leftover(dir, text, None));
        }
    }
    problems.extend(clock(facts));
    problems
}

fn leftover(dir: &LogDirFacts, text: String, file: Option<&str>) -> Problem {
    let problem = Problem::new(FindingCode::Leftover, AtBoot::Nothing, text).dir(&dir.path);
    match file {
        Some(file) => problem.file(file),
        None => problem,
    }
}

/// A clock that lies behind the files.
fn clock(facts: &BootFacts) -> Option<Problem> {
    let now = facts.host.clock?;
    let logs = facts
        .dirs
        .iter()
        .flat_map(|dir| dir.logs().map(move |log| (dir, log)));
    let newest = logs
        .flat_map(|(dir, log)| log.entries.iter().map(move |entry| (dir, log, entry)))
        .max_by_key(|(_, _, entry)| entry.mtime_ns)?;
    let (dir, log, entry) = newest;
    let ahead = entry.mtime_ns / 1_000_000 - now.0;
    (ahead > CLOCK_SLACK_MS).then(|| {
        let text = format!(
            "{} was written {} minutes after this host's clock says it is: retention by time and the expiry of producers go \
             by the clock",
            entry.name,
            ahead / 60_000
        );
        Problem::new(FindingCode::HostAdvice, AtBoot::FailsLater, text)
            .dir(&dir.path)
            .partition(&log.dir_name)
            .file(&entry.name)
            .next("set the clock before the start: chronyc tracking, timedatectl")
    })
}
