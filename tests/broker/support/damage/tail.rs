//! Damage to the end of a segment, as a power cut leaves it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use super::{Kind, Victim};
use crate::support::random::Random;

pub(crate) const KINDS: &[Kind] = &[
    ("tail-cut", cut),
    ("tail-zeroed", zeroed),
    ("zeros-added", zeros_added),
    ("preallocated-tail", preallocated),
    ("junk-added", junk_added),
    ("torn-append", torn_append),
    ("page-zeroed", page_zeroed),
];

/// Mostly the last segment; else one before it.
fn segment(victim: &Victim, random: &mut Random) -> String {
    if random.one_in(5) {
        victim.any_segment(random)
    } else {
        victim.last_segment()
    }
}

/// Returns a segment with the position behind its last batch.
fn end(victim: &Victim, random: &mut Random) -> Option<(String, usize)> {
    let base = segment(victim, random);
    let last = victim.log(&base).1.pop()?;
    Some((base, last.position + last.length))
}

fn cut(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (base, end) = end(victim, random)?;
    let most = if random.one_in(4) { end } else { end.min(1500) };
    let lost = random.between(1, most);
    let file = File::options()
        .write(true)
        .open(victim.file(&base, "log"))
        .unwrap();
    file.set_len((end - lost) as u64).unwrap();
    Some(format!("{base}.log loses {lost} of {end} bytes"))
}

fn zeroed(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (base, end) = end(victim, random)?;
    let count = random.between(1, end.min(5000));
    write(victim, &base, end - count, &vec![0; count]);
    Some(format!(
        "{base}.log has zeros from {} to {end}",
        end - count
    ))
}

fn page_zeroed(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = segment(victim, random);
    let (bytes, batches) = victim.log(&base);
    let pages = bytes.len() / 4096;
    if batches.is_empty() || pages == 0 {
        return None;
    }
    let page = random.below(pages) * 4096;
    write(victim, &base, page, &[0; 4096]);
    Some(format!("{base}.log lost its page at {page}"))
}

fn zeros_added(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = segment(victim, random);
    let count = match random.below(7) {
        0 => 1,
        1 => 12,
        2 => 17,
        3 => 18,
        4 => 61,
        5 => 4096,
        _ => random.between(1, 20_000),
    };
    append(victim, &base, &vec![0; count]);
    Some(format!("{count} zeros after {base}.log"))
}

/// A file system that gave blocks to the file but had not written them.
fn preallocated(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = segment(victim, random);
    let path = victim.file(&base, "log");
    let length = fs::metadata(&path).unwrap().len() + random.between(1, 64) as u64 * 16_384;
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(length)
        .unwrap();
    Some(format!("{base}.log grown to {length} bytes"))
}

fn junk_added(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = segment(victim, random);
    let count = random.between(1, 40);
    let junk = random.bytes(count);
    append(victim, &base, &junk);
    Some(format!("{count} bytes of junk after {base}.log"))
}

fn torn_append(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = segment(victim, random);
    let (bytes, batches) = victim.log(&base);
    let model = random.pick(batches.get(..).filter(|all| !all.is_empty())?);
    let mut next = bytes[model.position..model.position + model.length].to_vec();
    let end = batches.last().map_or(0, |last| last.last_offset + 1);
    next[..8].copy_from_slice(&end.to_be_bytes());
    next.truncate(random.between(1, model.length - 1));
    append(victim, &base, &next);
    Some(format!(
        "first {} bytes of a next batch after {base}.log",
        next.len()
    ))
}

/// Writes behind the last batch: over the zeros of a preallocated file, else at the end.
fn append(victim: &Victim, base: &str, bytes: &[u8]) {
    let (_, batches) = victim.log(base);
    let length = fs::metadata(victim.file(base, "log")).unwrap().len();
    let end = batches.last().map_or(0, |last| last.position + last.length);
    let at = if batches.is_empty() {
        usize::try_from(length).unwrap()
    } else {
        end
    };
    write(victim, base, at, bytes);
}

fn write(victim: &Victim, base: &str, at: usize, bytes: &[u8]) {
    let file = File::options()
        .write(true)
        .open(victim.file(base, "log"))
        .unwrap();
    file.write_all_at(bytes, at as u64).unwrap();
}
