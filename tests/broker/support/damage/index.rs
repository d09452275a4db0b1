//! Damage to the three indexes of a segment.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::{Kind, Victim, number, short};
use crate::support::random::Random;
use crate::support::tree::Content;

pub(crate) const KINDS: &[Kind] = &[
    ("index-missing", missing),
    ("index-all-missing", all_missing),
    ("index-emptied", emptied),
    ("index-cut", cut),
    ("index-zero-filled", zero_filled),
    ("index-oversized", oversized),
    ("index-odd-length", odd_length),
    ("index-not-rising", not_rising),
    ("txnindex-missing", txn_missing),
    ("txnindex-cut", txn_cut),
    ("txnindex-version", txn_version),
    ("txnindex-too-low", txn_too_low),
];

/// Bytes that no interrupted write leaves.
pub(crate) const FORGED: &[Kind] = &[("index-junk", junk), ("txnindex-junk", txn_junk)];

const ENTRIES: [(&str, u64); 2] = [("index", 8), ("timeindex", 12)];

/// Returns an offset or time index that is there, with the size of its entries.
fn any(victim: &Victim, random: &mut Random) -> Option<(PathBuf, u64)> {
    let base = victim.any_segment(random);
    let (suffix, entry) = *random.pick(&ENTRIES);
    let path = victim.file(&base, suffix);
    path.is_file().then_some((path, entry))
}

fn any_txn(victim: &Victim, random: &mut Random) -> Option<PathBuf> {
    let bases = victim.bases("txnindex");
    let base = bases.get(random.below(bases.len().max(1)))?;
    Some(victim.file(base, "txnindex"))
}

fn length(path: &PathBuf) -> u64 {
    fs::metadata(path).unwrap().len()
}

fn set_length(path: &PathBuf, length: u64) {
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(length)
        .unwrap();
}

fn missing(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (path, _) = any(victim, random)?;
    fs::remove_file(&path).unwrap();
    Some(short(&path))
}

fn all_missing(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let choices: [&[&str]; 3] = [
        &["index"],
        &["timeindex"],
        &["index", "timeindex", "txnindex"],
    ];
    let suffixes = random.pick(&choices);
    for suffix in *suffixes {
        for base in victim.bases(suffix) {
            fs::remove_file(victim.file(&base, suffix)).unwrap();
        }
    }
    Some(suffixes.join(", "))
}

fn emptied(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (path, _) = any(victim, random)?;
    set_length(&path, 0);
    Some(short(&path))
}

fn cut(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (path, entry) = any(victim, random)?;
    let used = Content::read(&path).bytes.len() as u64;
    let length =
        u64::try_from(random.between(0, usize::try_from(used).unwrap())).unwrap() / entry * entry;
    set_length(&path, length);
    Some(format!("{} at {length}", short(&path)))
}

fn zero_filled(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (path, _) = any(victim, random)?;
    let length = length(&path);
    set_length(&path, 0);
    set_length(&path, length);
    Some(format!("{}, {length} bytes", short(&path)))
}

fn oversized(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (path, entry) = any(victim, random)?;
    let grown = length(&path) + entry * random.between(1, 2000) as u64;
    set_length(&path, grown);
    Some(format!("{} grown to {grown}", short(&path)))
}

fn odd_length(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (path, _) = any(victim, random)?;
    let grown = length(&path) + random.between(1, 7) as u64;
    set_length(&path, grown);
    Some(format!("{} with {grown} bytes", short(&path)))
}

fn not_rising(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (path, entry) = any(victim, random)?;
    let content = Content::read(&path);
    let entry = usize::try_from(entry).unwrap();
    let used = content.bytes.len().next_multiple_of(entry);
    let mut bytes = content.bytes;
    bytes.resize(used, 0);
    let first = bytes.get(..entry)?.to_vec();
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(&first, used as u64).unwrap();
    Some(format!(
        "{} gets its first entry again at {used}",
        short(&path)
    ))
}

fn junk(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (path, entry) = any(victim, random)?;
    let count = usize::try_from(entry).unwrap() * random.between(1, 6);
    let bytes = random.bytes(count);
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(&bytes, 0).unwrap();
    Some(format!(
        "{} begins with {count} bytes of junk",
        short(&path)
    ))
}

fn txn_missing(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let path = any_txn(victim, random)?;
    fs::remove_file(&path).unwrap();
    Some(short(&path))
}

fn txn_cut(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let path = any_txn(victim, random)?;
    let kept = random.between(0, usize::try_from(length(&path)).unwrap());
    set_length(&path, kept as u64);
    Some(format!("{} at {kept}", short(&path)))
}

fn txn_version(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let path = any_txn(victim, random)?;
    let mut bytes = fs::read(&path).unwrap();
    let version: u16 = *random.pick(&[1, 2, 256]);
    bytes.get_mut(..2)?.copy_from_slice(&version.to_be_bytes());
    fs::write(&path, bytes).unwrap();
    Some(format!("{} with version {version}", short(&path)))
}

fn txn_too_low(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let path = any_txn(victim, random)?;
    let base = number(short(&path).strip_suffix(".txnindex")?);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend([0, 0]);
    for value in [77, 0, (base - 1).max(0), base] {
        bytes.extend(i64::to_be_bytes(value));
    }
    fs::write(&path, bytes).unwrap();
    Some(format!(
        "{} ends with an abort below its base",
        short(&path)
    ))
}

fn txn_junk(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let path = any_txn(victim, random)?;
    let count = random.between(1, 80);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(random.bytes(count));
    fs::write(&path, bytes).unwrap();
    Some(format!("{} with {count} bytes of junk", short(&path)))
}
