//! Damage to the set of files: segments missing, empty or new, leftovers, and dirs with another name.

use std::fs;

use super::{Kind, Victim, name, number};
use crate::support::random::Random;
use crate::support::tree::copy_file;

pub(crate) const KINDS: &[Kind] = &[
    ("segment-missing", missing),
    ("log-missing", log_missing),
    ("log-emptied", emptied),
    ("segment-new-empty", new_empty),
    ("segment-gap", gap),
    ("leftover-deleted", leftover_deleted),
    ("leftover-tmp", leftover_tmp),
    ("orphan-index", orphan_index),
    ("dir-delete", |victim, random| {
        renamed(victim, random, "delete")
    }),
    ("dir-stray", |victim, random| {
        renamed(victim, random, "stray")
    }),
    ("dir-future", |victim, random| {
        renamed(victim, random, "future")
    }),
];

/// What compaction leaves when it is interrupted, put together in ways it does not.
pub(crate) const FORGED: &[Kind] = &[
    ("swap", swap),
    ("cleaned", cleaned),
    ("swap-and-cleaned", swap_and_cleaned),
];

const FILES: [&str; 4] = ["log", "index", "timeindex", "txnindex"];

fn not_last(victim: &Victim, random: &mut Random) -> Option<String> {
    let mut segments = victim.segments();
    segments.pop();
    (!segments.is_empty()).then(|| random.pick(&segments).clone())
}

fn missing(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = not_last(victim, random)?;
    for suffix in FILES {
        // A segment need not have each file.
        let _ = fs::remove_file(victim.file(&base, suffix));
    }
    Some(base)
}

fn log_missing(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = not_last(victim, random)?;
    fs::remove_file(victim.file(&base, "log")).unwrap();
    Some(base)
}

fn emptied(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = victim.any_segment(random);
    fs::write(victim.file(&base, "log"), "").unwrap();
    Some(base)
}

/// As after a roll, before the first append.
fn new_empty(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = name(victim.log_end());
    if victim.segments().contains(&base) {
        return None;
    }
    fs::write(victim.file(&base, "log"), "").unwrap();
    let with_indexes = random.one_in(2);
    if with_indexes {
        fs::write(victim.file(&base, "index"), "").unwrap();
        fs::write(victim.file(&base, "timeindex"), "").unwrap();
    }
    Some(format!("{base}, with indexes: {with_indexes}"))
}

/// The last segment begins later than the one before it ends.
fn gap(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = victim.last_segment();
    let (bytes, batches) = victim.log(&base);
    let first = batches.get(random.between(1, batches.len().max(2) - 1))?;
    let renamed = name(first.base_offset);
    fs::write(victim.file(&base, "log"), &bytes[first.position..]).unwrap();
    for suffix in FILES {
        let path = victim.file(&base, suffix);
        if path.exists() {
            fs::rename(path, victim.file(&renamed, suffix)).unwrap();
        }
    }
    Some(format!("{base} begins at {renamed}"))
}

fn leftover(victim: &Victim, random: &mut Random, ending: &str) -> String {
    let base = victim.any_segment(random);
    let target = if random.one_in(2) {
        base.clone()
    } else {
        name(number(&base) + 1)
    };
    for suffix in FILES {
        let path = victim.file(&base, suffix);
        if path.exists() && !random.one_in(3) {
            copy_file(&path, &victim.file(&target, &format!("{suffix}.{ending}")));
        }
    }
    format!("{base} as {target}")
}

fn leftover_deleted(victim: &mut Victim, random: &mut Random) -> Option<String> {
    Some(leftover(victim, random, "deleted"))
}

fn leftover_tmp(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let file = *random.pick(&[
        "leader-epoch-checkpoint.tmp",
        "partition.metadata.tmp",
        "notes.txt",
    ]);
    fs::write(victim.path.join(file), "0\n").unwrap();
    Some(file.to_owned())
}

fn orphan_index(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = victim.any_segment(random);
    let suffix = *random.pick(&["index", "timeindex", "txnindex"]);
    let path = victim.file(&base, suffix);
    let target = victim.file(&name(victim.log_end() + 1000), suffix);
    path.exists().then(|| copy_file(&path, &target))?;
    Some(format!("{base}.{suffix}"))
}

fn renamed(victim: &mut Victim, random: &mut Random, suffix: &str) -> Option<String> {
    let name = super::short(&victim.path);
    if name.contains('.') {
        return None;
    }
    let id = format!("{:016x}{:016x}", random.next(), random.next());
    let target = victim.path.with_file_name(format!("{name}.{id}-{suffix}"));
    fs::rename(&victim.path, &target).unwrap();
    victim.path = target;
    Some(format!("{name} is -{suffix}"))
}

fn swap(victim: &mut Victim, random: &mut Random) -> Option<String> {
    Some(leftover(victim, random, "swap"))
}

fn cleaned(victim: &mut Victim, random: &mut Random) -> Option<String> {
    Some(leftover(victim, random, "cleaned"))
}

fn swap_and_cleaned(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let swap = leftover(victim, random, "swap");
    let cleaned = leftover(victim, random, "cleaned");
    Some(format!("swap {swap}, cleaned {cleaned}"))
}
