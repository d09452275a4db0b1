//! A log dir whose disk failed: what was on it, what has no other copy, what to do before and after the boot.

use std::collections::BTreeSet;
use std::path::Path;

use super::facts::{BootFacts, LogDirFacts};
use super::identity::format_command;
use super::problem::{AtBoot, Problem, offline, words};
use crate::format::meta_properties::MetaProperties;
use crate::log::{FindingCode, Severity};
use crate::terms::{KafkaVersion, TopicPartition, Uuid};

/// Bytes a second at which replicas are fetched again, assumed.
const FETCH_RATE: u64 = 100_000_000;
/// Up to here leaders of a failed dir are created anew in another one.
const RECREATES_BELOW: KafkaVersion = KafkaVersion::new(4, 1, 0);

/// What lay on a dir.
struct Lost {
    partition: TopicPartition,
    /// The other brokers in sync.
    in_sync: Vec<i32>,
    /// Bytes, where the dir can be listed.
    bytes: Option<u64>,
}

fn id_of(dir: &LogDirFacts) -> Option<Uuid> {
    MetaProperties::parse(dir.meta.bytes()?).ok()?.directory_id
}

/// Returns the dir's id: by its own file, else the one that the broker registered and no other dir has.
fn failed_id(facts: &BootFacts, failed: &LogDirFacts, node: i32) -> Option<Uuid> {
    if let Some(id) = id_of(failed) {
        return Some(id);
    }
    let others: BTreeSet<Uuid> = facts
        .dirs
        .iter()
        .filter(|dir| dir.path != failed.path)
        .filter_map(id_of)
        .collect();
    let image = facts.image.as_ref()?;
    // A dir that failed is no more among those of the registration: what is assigned to it is.
    let mut ids: BTreeSet<Uuid> = BTreeSet::new();
    for (_, topic) in image.topics() {
        for partition in topic.partitions.values() {
            let at = partition.replicas.iter().position(|id| *id == node);
            ids.extend(at.and_then(|at| partition.directories.get(at)).copied());
        }
    }
    let mut left = ids
        .into_iter()
        .filter(|id| !others.contains(id) && !is_reserved(*id));
    let first = left.next()?;
    left.next().is_none().then_some(first)
}

/// Says whether an id stands for no dir: unassigned, lost, migrating.
fn is_reserved(id: Uuid) -> bool {
    let [.., last] = id.0;
    id.0.iter().take(15).all(|byte| *byte == 0) && last < 100
}

/// Returns what the operator has to know and do, in order; an error says why nothing can be told.
pub fn check_failed(facts: &BootFacts, path: &Path) -> Result<Vec<Problem>, String> {
    let failed = facts
        .dirs
        .iter()
        .find(|dir| dir.path == path)
        .ok_or_else(|| format!("{} is none of log.dirs", path.display()))?;
    let node = facts
        .config
        .node_id
        .ok_or("the broker's node.id is not known")?;
    let mut problems = Vec::new();
    let lost = on_dir(facts, failed, node);
    problems.extend(tell_lost(facts, failed, lost.as_deref()));
    problems.push(before_boot(facts, failed));
    problems.push(replacement(facts, failed));
    problems.extend(created_anew(facts, failed, lost.as_deref()));
    for problem in &mut problems {
        problem.rule = "failed_disk";
    }
    Ok(problems)
}

fn on_dir(facts: &BootFacts, failed: &LogDirFacts, node: i32) -> Option<Vec<Lost>> {
    let image = facts.image.as_ref()?;
    let id = failed_id(facts, failed, node)?;
    let mut all = Vec::new();
    for (name, topic) in image.topics() {
        for (number, partition) in &topic.partitions {
            let at = partition.replicas.iter().position(|id| *id == node);
            if at.and_then(|at| partition.directories.get(at)) != Some(&id) {
                continue;
            }
            let partition_of = TopicPartition::new(name, *number);
            let dir_name = partition_of.to_string();
            all.push(Lost {
                bytes: failed
                    .partitions
                    .iter()
                    .find(|log| log.dir_name == dir_name)
                    .map(super::PartitionFacts::bytes),
                in_sync: partition
                    .isr
                    .iter()
                    .copied()
                    .filter(|id| *id != node)
                    .collect(),
                partition: partition_of,
            });
        }
    }
    Some(all)
}

fn tell_lost(facts: &BootFacts, failed: &LogDirFacts, lost: Option<&[Lost]>) -> Vec<Problem> {
    let Some(lost) = lost else {
        let text = "what was on it is not known: no readable metadata log on this host says which partitions it was given";
        return vec![
            Problem::new(FindingCode::FailedDisk, AtBoot::Nothing, text)
                .severity(Severity::Warning)
                .dir(&failed.path)
                .next("kafka-log-dirs.sh --describe on the living cluster tells what each dir of this broker has"),
        ];
    };
    let mut problems = Vec::new();
    let (alone, shared): (Vec<&Lost>, Vec<&Lost>) =
        lost.iter().partition(|lost| lost.in_sync.is_empty());
    for lost in &alone {
        let bytes = lost
            .bytes
            .map_or_else(|| "? bytes".to_owned(), |bytes| format!("{bytes} bytes"));
        problems.push(
            Problem::new(
                FindingCode::FailedDisk,
                AtBoot::Nothing,
                format!(
                    "{} had no other replica in sync ({bytes}): what is on this disk is the only whole copy",
                    lost.partition
                ),
            )
            .severity(Severity::Loss)
            .dir(&failed.path)
            .partition(&lost.partition.to_string())
            .next("copy it off the disk first (ddrescue reads what can be read), before anything else is tried"),
        );
    }
    let bytes: Option<u64> = shared.iter().map(|lost| lost.bytes).sum();
    let fetched = match bytes {
        Some(bytes) => format!(
            "{bytes} bytes, about {} min at {} MB/s",
            bytes / FETCH_RATE / 60 + 1,
            FETCH_RATE / 1_000_000
        ),
        None => "? bytes".to_owned(),
    };
    let as_of = facts
        .image
        .as_ref()
        .map_or_else(String::new, |image| image.timestamp.rfc3339());
    problems.push(
        Problem::new(
            FindingCode::FailedDisk,
            AtBoot::Nothing,
            format!(
                "{} partitions were on it, {} of them without another replica in sync; the others are fetched again: {fetched} \
                 (metadata of {as_of})",
                lost.len(),
                alone.len()
            ),
        )
        .severity(Severity::Warning)
        .dir(&failed.path),
    );
    problems
}

/// Takes the dir out of the configuration, before the boot: the line.
fn before_boot(facts: &BootFacts, failed: &LogDirFacts) -> Problem {
    let left: Vec<String> = facts
        .dirs
        .iter()
        .filter(|dir| dir.has_logs && dir.path != failed.path)
        .map(|dir| dir.path.display().to_string())
        .collect();
    let line = facts
        .config
        .log_dirs_line
        .map_or_else(String::new, |line| format!(" line {line}"));
    let file = facts.config.file.as_ref().map_or_else(
        || "server.properties".to_owned(),
        |file| file.display().to_string(),
    );
    let is_home = facts.config.metadata_dir.as_deref() == Some(&failed.path);
    let at_boot = offline(facts, &failed.path);
    let (text, next) = if is_home {
        (
            "it held the metadata log too: the broker does not start without it".to_owned(),
            format!(
                "{file}: metadata.log.dir={} and log.dirs={}; a controller fetches its log from the others, the only controller \
                 must have it from a backup",
                left.first().map_or("ANOTHER_DIR", String::as_str),
                left.join(",")
            ),
        )
    } else {
        (
            format!("as long as it is named in log.dirs {}", words(at_boot)),
            format!("before the boot, {file}{line}: log.dirs={}", left.join(",")),
        )
    };
    Problem::new(FindingCode::FailedDisk, at_boot, text)
        .severity(Severity::Warning)
        .dir(&failed.path)
        .next(next)
}

/// What makes a new disk one of this broker's.
fn replacement(facts: &BootFacts, failed: &LogDirFacts) -> Problem {
    let user = facts
        .user
        .as_ref()
        .map_or_else(|| "BROKER_USER".to_owned(), |user| user.name.clone());
    let path = failed.path.display();
    let text = format!(
        "a replacement: make a file system, mount it at the same place, then {}",
        format_command(facts)
    );
    Problem::new(FindingCode::FailedDisk, AtBoot::Nothing, text)
        .severity(Severity::Routine)
        .dir(&failed.path)
        .next(format!(
            "mkdir -p {path} && chown {user}: {path}; write {path} back into log.dirs, format as {user} (dirs that are formatted \
             stay as they are), mount by UUID in fstab, start: the broker fetches what is assigned to it"
        ))
}

/// What a 3.9 or 4.0 broker did meanwhile, and what comes of it when the old disk returns.
fn created_anew(facts: &BootFacts, failed: &LogDirFacts, lost: Option<&[Lost]>) -> Option<Problem> {
    if facts.version >= RECREATES_BELOW {
        return None;
    }
    let alone = lost?.iter().filter(|lost| lost.in_sync.is_empty()).count();
    let text = format!(
        "Kafka {} creates leaders of a failed dir anew and empty in another log dir ({alone} partitions without another \
         replica): once the old disk is back, the boot dies of \"Duplicate log directories\"",
        facts.version
    );
    Some(
        Problem::new(FindingCode::FailedDisk, AtBoot::Exits, text)
            .severity(Severity::Warning)
            .dir(&failed.path)
            .next(
                "keep the copy on the old disk, as long as nothing was written to the new one: krescue preflight says which is \
                 empty, and --fix sets it aside",
            ),
    )
}
