//! Damage to one partition, drawn from a seed.

#![expect(
    clippy::unnecessary_wraps,
    reason = "a kind that always applies has the type of those that do not"
)]

mod batch;
mod checkpoints;
mod index;
mod legacy;
mod segment;
mod state;
mod tail;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use checkpoints::spoil;

use super::batches::{Batch, batches};
use super::random::Random;
use super::tree::Content;

/// One way to damage a partition: its name, and what does it. It returns what it did, or nothing where it does not apply.
pub(crate) type Kind = (&'static str, fn(&mut Victim, &mut Random) -> Option<String>);

/// A partition dir about to be damaged, with its entries in the checkpoints beside it.
#[derive(Debug, Clone)]
pub(crate) struct Victim {
    pub(crate) path: PathBuf,
    pub(crate) recovery_point: Option<i64>,
    pub(crate) log_start: Option<i64>,
    /// Whether only the last segment is damaged: no boot sees what lies below the recovery point.
    pub(crate) only_last: bool,
}

/// What a crash, a power cut, a sick disk or a person leaves; krescue recovers all of it.
pub(crate) fn common() -> Vec<Kind> {
    [
        tail::KINDS,
        batch::KINDS,
        index::KINDS,
        state::KINDS,
        segment::KINDS,
    ]
    .concat()
}

/// What a power cut does to the end of a log.
pub(crate) fn tails() -> Vec<Kind> {
    tail::KINDS.to_vec()
}

/// Message sets of magic 0 and 1, as releases before 0.11 wrote them, whole and damaged.
pub(crate) fn legacy() -> Vec<Kind> {
    legacy::KINDS.to_vec()
}

/// What no crash leaves: batches, indexes, state files and segments that were forged.
pub(crate) fn extended() -> Vec<Kind> {
    [batch::FORGED, index::FORGED, state::FORGED, segment::FORGED].concat()
}

impl Victim {
    /// Returns the segments' base offsets as they stand in their names, ascending.
    pub(crate) fn segments(&self) -> Vec<String> {
        self.bases("log")
    }

    /// Returns the names before `.suffix`, ascending.
    pub(crate) fn bases(&self, suffix: &str) -> Vec<String> {
        let ending = format!(".{suffix}");
        let mut bases: Vec<_> = fs::read_dir(&self.path)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
            .filter_map(|name| name.strip_suffix(&ending).map(str::to_owned))
            .filter(|base| base.bytes().all(|byte| byte.is_ascii_digit()))
            .collect();
        bases.sort();
        bases
    }

    /// Returns the path of one of a segment's files.
    pub(crate) fn file(&self, base: &str, suffix: &str) -> PathBuf {
        self.path.join(format!("{base}.{suffix}"))
    }

    /// Reads a segment and where its batches lie.
    pub(crate) fn log(&self, base: &str) -> (Vec<u8>, Vec<Batch>) {
        let bytes = Content::read(&self.file(base, "log")).whole();
        let found = batches(&bytes);
        (bytes, found)
    }

    /// Returns a segment: mostly one that a boot scans.
    pub(crate) fn any_segment(&self, random: &mut Random) -> String {
        let segments = self.segments();
        if self.only_last {
            return self.last_segment();
        }
        let point = self.recovery_point.unwrap_or(0);
        let scanned = segments
            .iter()
            .rposition(|base| number(base) <= point)
            .unwrap_or(0);
        let begin = if random.one_in(4) { 0 } else { scanned };
        segments[random.between(begin, segments.len() - 1)].clone()
    }

    /// Returns a segment that has batches.
    pub(crate) fn segment_with_batches(
        &self,
        random: &mut Random,
    ) -> Option<(String, Vec<u8>, Vec<Batch>)> {
        (0..8).find_map(|_| {
            let base = self.any_segment(random);
            let (bytes, found) = self.log(&base);
            (!found.is_empty()).then_some((base, bytes, found))
        })
    }

    /// Returns the last segment.
    pub(crate) fn last_segment(&self) -> String {
        self.segments().pop().unwrap()
    }

    /// Returns the offset behind the last record, by what the last segment's batches say.
    pub(crate) fn log_end(&self) -> i64 {
        let base = self.last_segment();
        self.log(&base)
            .1
            .last()
            .map_or(number(&base), |batch| batch.last_offset + 1)
    }
}

/// Returns the offset that a file's name tells.
pub(crate) fn number(base: &str) -> i64 {
    base.parse().unwrap()
}

/// Returns the name of the file with `offset`, without its suffix; Kafka does not count a sign as a digit.
pub(crate) fn name(offset: i64) -> String {
    let sign = if offset < 0 { "-" } else { "" };
    format!("{sign}{:020}", offset.unsigned_abs())
}

/// Returns the name of `path` without its folder.
pub(crate) fn short(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Damages `victim` up to three times, first by `first`; returns what was done.
pub(crate) fn damage(
    victim: &mut Victim,
    kinds: &[Kind],
    first: usize,
    random: &mut Random,
) -> Vec<String> {
    let count = match random.below(10) {
        0 => 0,
        1..5 => 1,
        5..8 => 2,
        _ => 3,
    };
    let mut done = Vec::new();
    let mut next = first;
    // Not every kind applies to every log: an empty one has no batch to flip.
    for _ in 0..count * 6 {
        if done.len() == count || victim.segments().is_empty() {
            break;
        }
        let (name, apply) = kinds[next % kinds.len()];
        if let Some(what) = apply(victim, random) {
            done.push(format!("{name}: {what}"));
        }
        next = random.below(kinds.len());
    }
    done
}

/// Counts how often each kind was used.
pub(crate) fn tally<'a>(done: impl Iterator<Item = &'a String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for what in done {
        let kind = what.split(':').next().unwrap_or(what);
        *counts.entry(kind.to_owned()).or_default() += 1;
    }
    counts
}
