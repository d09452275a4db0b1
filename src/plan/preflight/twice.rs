//! The same partition in two log dirs.

use std::collections::BTreeMap;

use super::facts::{BootFacts, LogDirFacts, PartitionFacts};
use super::problem::{AtBoot, Fix, Problem};
use crate::format::file_name::DirName;
use crate::format::leader_epoch_checkpoint;
use crate::format::meta_properties::MetaProperties;
use crate::log::FindingCode;
use crate::plan::Mend;
use crate::terms::{Offset, TopicPartition};

type Copy<'a> = (&'a LogDirFacts, &'a PartitionFacts);

/// Each partition that lies in more than one dir, with what tells its copies apart.
pub(super) fn twice(facts: &BootFacts) -> Vec<Problem> {
    let mut places: BTreeMap<(bool, TopicPartition), Vec<Copy<'_>>> = BTreeMap::new();
    for dir in &facts.dirs {
        for log in dir.logs() {
            let key = match &log.parsed {
                DirName::Normal(partition) => (false, partition.clone()),
                DirName::Future(partition) => (true, partition.clone()),
                _ => continue,
            };
            places.entry(key).or_default().push((dir, log));
        }
    }
    let several = places.into_iter().filter(|(_, copies)| copies.len() > 1);
    several
        .filter_map(|((_, partition), copies)| problem(facts, &partition, &copies))
        .collect()
}

fn problem(facts: &BootFacts, partition: &TopicPartition, copies: &[Copy<'_>]) -> Option<Problem> {
    let told: Vec<String> = copies.iter().map(|copy| describe(*copy)).collect();
    let full: Vec<&Copy<'_>> = copies.iter().filter(|(_, log)| log.bytes() > 0).collect();
    let mut next = match full.as_slice() {
        [(dir, _)] => format!(
            "keep the copy in {}: the other one is empty, as a broker creates it anew when a log dir fails; krescue preflight \
             --fix renames the empty one -stray",
            dir.path.display()
        ),
        _ => match newest(copies) {
            Some((dir, _)) => format!(
                "the copy in {} reaches further; compare both with the other replicas before one is moved out of log.dirs, and \
                 do not go by which dir failed last",
                dir.path.display()
            ),
            None => "neither copy reaches further: compare both with the other replicas before one is moved out of log.dirs"
                .to_owned(),
        },
    };
    if let Some(dir) = assigned(facts, partition, copies) {
        next = format!(
            "{next}; the controller takes {} for its place",
            dir.path.display()
        );
    }
    let (last_dir, last) = copies.last()?;
    let fixes = match full.as_slice() {
        [_] => copies
            .iter()
            .filter(|(_, log)| log.bytes() == 0)
            .filter_map(|copy| set_aside(partition, *copy).map(|mend| (*copy, mend)))
            .collect(),
        _ => Vec::new(),
    };
    // The problem is told of the dir that is changed.
    let (dir, log) = fixes
        .first()
        .map_or((*last_dir, *last), |((dir, log), _)| (*dir, *log));
    Some(
        Problem::new(
            FindingCode::DuplicatePartition,
            AtBoot::Exits,
            format!(
                "{partition} lies in {} log dirs: {}: the boot ends in the middle of the load with \"Duplicate log directories\"",
                copies.len(),
                told.join("; ")
            ),
        )
        .dir(&dir.path)
        .partition(&log.dir_name)
        .next(next)
        .fix(
            fixes
                .into_iter()
                .filter(|((of, _), _)| of.path == dir.path)
                .map(|(_, mend)| Fix::Dir(mend)),
        ),
    )
}

fn last_segment(log: &PartitionFacts) -> Option<(Offset, u64, i64)> {
    let segments = log.segments();
    let last = segments.last()?;
    Some((last.base_offset, last.bytes, last.mtime_ns))
}

fn last_epoch(log: &PartitionFacts) -> Option<i32> {
    let entries = leader_epoch_checkpoint::parse(log.epochs.bytes()?).ok()?;
    entries.last().map(|entry| entry.epoch.0)
}

fn describe((dir, log): Copy<'_>) -> String {
    let (base, bytes, mtime_ns) = last_segment(log).unwrap_or((Offset(0), 0, 0));
    let epoch = last_epoch(log).map_or_else(|| "none".to_owned(), |epoch| epoch.to_string());
    format!(
        "{} has {} bytes, its last segment begins at offset {base} with {bytes} bytes, written {}, last leader epoch {epoch}",
        dir.path.display(),
        log.bytes(),
        crate::terms::Timestamp(mtime_ns / 1_000_000).rfc3339()
    )
}

/// Returns the copy that is ahead in epoch, then in segments; `None` where they are equal.
fn newest<'a>(copies: &[Copy<'a>]) -> Option<Copy<'a>> {
    let key = |(_, log): &Copy<'_>| {
        let last = last_segment(log).map(|(base, bytes, _)| (base, bytes));
        (last_epoch(log), last)
    };
    let best = copies.iter().max_by_key(|copy| key(copy))?;
    let equal = copies.iter().filter(|copy| key(copy) == key(best)).count();
    (equal == 1).then_some(*best)
}

/// Returns the copy whose dir the cluster's metadata names.
fn assigned<'a>(
    facts: &BootFacts,
    partition: &TopicPartition,
    copies: &[Copy<'a>],
) -> Option<&'a LogDirFacts> {
    let of_partition = facts.image.as_ref()?.partition(partition)?;
    let node = facts.config.node_id?;
    let at = of_partition.replicas.iter().position(|id| *id == node)?;
    let id = of_partition.directories.get(at)?;
    copies.iter().map(|(dir, _)| *dir).find(|dir| {
        let meta = dir.meta.bytes().map(MetaProperties::parse);
        matches!(meta, Some(Ok(meta)) if meta.directory_id == Some(*id))
    })
}

/// Returns the change that takes an empty copy out of the way: a stray dir is loaded and left alone.
fn set_aside(partition: &TopicPartition, (_, log): Copy<'_>) -> Option<Mend> {
    let mark = log.entries.first()?;
    let id = format!("{:016x}{:016x}", mark.inode, mark.mtime_ns);
    let to = format!("{partition}.{id}-stray");
    let is_fine = to.len() <= 255 && matches!(DirName::parse(&to), DirName::Stray(_));
    is_fine.then(|| Mend::RenameDir {
        name: log.dir_name.clone(),
        to,
        reason: "an empty copy of a log that lies in another log dir".to_owned(),
    })
}
