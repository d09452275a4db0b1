//! Damage to batches.

use std::fs;

use super::{Kind, Victim, number};
use crate::support::batches::{Batch, seal};
use crate::support::random::Random;

pub(crate) const KINDS: &[Kind] = &[
    ("flip-last-batch", flip_last),
    ("flip-anywhere", flip),
    ("flip-header", flip_header),
    ("length", length),
    ("magic", magic),
    ("leader-epoch", leader_epoch),
    ("base-offset", base_offset),
    ("count", count),
    ("batch-missing", missing),
    ("batch-doubled", doubled),
    ("batches-swapped", swapped),
];

/// With right checksums: no crash does this, a writer with a fault does.
pub(crate) const FORGED: &[Kind] = &[
    ("forged-attributes", forged_attributes),
    ("forged-last-offset", forged_last_offset),
    ("forged-timestamp", forged_timestamp),
    ("forged-producer", forged_producer),
    ("forged-control-record", forged_control),
    ("forged-count", forged_count),
    ("offset-overflow", overflow),
];

/// Changes one batch of a segment by `change` and writes the segment back.
fn edit(
    victim: &Victim,
    random: &mut Random,
    change: impl FnOnce(&mut [u8], &Batch, &mut Random) -> Option<String>,
) -> Option<String> {
    let (base, mut bytes, batches) = victim.segment_with_batches(random)?;
    let batch = *random.pick(&batches);
    let what = change(
        &mut bytes[batch.position..batch.position + batch.length],
        &batch,
        random,
    )?;
    fs::write(victim.file(&base, "log"), bytes).unwrap();
    Some(format!(
        "{base}.log at {}, offset {}: {what}",
        batch.position, batch.base_offset
    ))
}

fn flip_bit(bytes: &mut [u8], from: usize, to: usize, random: &mut Random) -> String {
    let at = random.between(from, to - 1);
    let bit = 1 << random.below(8);
    bytes[at] ^= bit;
    format!("byte {at} xor {bit:#04x}")
}

fn flip_last(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = victim.last_segment();
    let (mut bytes, mut batches) = victim.log(&base);
    let last = batches.pop()?;
    let end = last.position + last.length;
    let what = flip_bit(&mut bytes[last.position..end], 16, last.length, random);
    fs::write(victim.file(&base, "log"), bytes).unwrap();
    Some(format!("{base}.log at {}: {what}", last.position))
}

fn flip(victim: &mut Victim, random: &mut Random) -> Option<String> {
    edit(victim, random, |bytes, batch, random| {
        Some(flip_bit(bytes, 17, batch.length, random))
    })
}

/// The fields behind the offset.
fn flip_header(victim: &mut Victim, random: &mut Random) -> Option<String> {
    edit(victim, random, |bytes, _, random| {
        Some(flip_bit(bytes, 8, 61, random))
    })
}

fn length(victim: &mut Victim, random: &mut Random) -> Option<String> {
    edit(victim, random, |bytes, batch, random| {
        let real = i32::try_from(batch.length).unwrap() - 12;
        let value = *random.pick(&[
            -5,
            -1,
            0,
            13,
            14,
            20,
            48,
            49,
            real - 1,
            real + 1,
            real + 100,
            1 << 20,
            i32::MAX,
            i32::MIN,
        ]);
        bytes[8..12].copy_from_slice(&value.to_be_bytes());
        Some(format!("length {real} becomes {value}"))
    })
}

fn magic(victim: &mut Victim, random: &mut Random) -> Option<String> {
    edit(victim, random, |bytes, _, random| {
        bytes[16] = *random.pick(&[0, 1, 3, 9, 127, 128, 255]);
        Some(format!("magic {}", bytes[16]))
    })
}

fn leader_epoch(victim: &mut Victim, random: &mut Random) -> Option<String> {
    edit(victim, random, |bytes, batch, random| {
        let value = *random.pick(&[
            -1,
            0,
            batch.leader_epoch - 1,
            batch.leader_epoch + 1,
            99,
            i32::MAX,
        ]);
        bytes[12..16].copy_from_slice(&value.to_be_bytes());
        Some(format!(
            "leader epoch {} becomes {value}",
            batch.leader_epoch
        ))
    })
}

/// Never below the segment's base: that is `offset-overflow`.
fn base_offset(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let end = victim.log_end();
    let (base, mut bytes, batches) = victim.segment_with_batches(random)?;
    let batch = random.pick(&batches);
    let (lowest, by) = (number(&base), i64::try_from(random.between(1, 40)).unwrap());
    let back = (batch.base_offset - by).max(lowest);
    let value = *random.pick(&[batch.base_offset + by, back, lowest, end, end + 10_000]);
    bytes[batch.position..batch.position + 8].copy_from_slice(&value.to_be_bytes());
    fs::write(victim.file(&base, "log"), bytes).unwrap();
    Some(format!(
        "{base}.log at {}: base offset {} becomes {value}",
        batch.position, batch.base_offset
    ))
}

fn count(victim: &mut Victim, random: &mut Random) -> Option<String> {
    edit(victim, random, |bytes, _, random| {
        let value = *random.pick(&[-1, 0, 1, 1000, i32::MAX]);
        bytes[57..61].copy_from_slice(&value.to_be_bytes());
        Some(format!("count becomes {value}, checksum as before"))
    })
}

fn missing(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (base, mut bytes, batches) = victim.segment_with_batches(random)?;
    let batch = random.pick(&batches);
    bytes.drain(batch.position..batch.position + batch.length);
    fs::write(victim.file(&base, "log"), bytes).unwrap();
    Some(format!(
        "{base}.log without the batch at {}",
        batch.position
    ))
}

fn doubled(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (base, mut bytes, batches) = victim.segment_with_batches(random)?;
    let batch = *random.pick(&batches);
    let end = batch.position + batch.length;
    let copy = bytes[batch.position..end].to_vec();
    bytes.splice(end..end, copy);
    fs::write(victim.file(&base, "log"), bytes).unwrap();
    Some(format!(
        "{base}.log with the batch at {} twice",
        batch.position
    ))
}

fn swapped(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (base, mut bytes, batches) = victim.segment_with_batches(random)?;
    if batches.len() < 2 {
        return None;
    }
    let at = random.below(batches.len() - 1);
    let [first, second] = [batches[at], batches[at + 1]];
    bytes[first.position..second.position + second.length].rotate_left(first.length);
    fs::write(victim.file(&base, "log"), bytes).unwrap();
    Some(format!(
        "{base}.log with the batch at {} after its next",
        first.position
    ))
}

fn forge(
    victim: &Victim,
    random: &mut Random,
    change: impl FnOnce(&mut [u8], &mut Random) -> String,
) -> Option<String> {
    edit(victim, random, |bytes, _, random| {
        let what = change(bytes, random);
        seal(bytes);
        Some(what)
    })
}

fn forged_attributes(victim: &mut Victim, random: &mut Random) -> Option<String> {
    forge(victim, random, |bytes, random| {
        let bit = *random.pick(&[0x07, 0x08, 0x10, 0x20, 0x40, 0x80]);
        bytes[22] ^= bit;
        format!("attributes xor {bit:#04x}")
    })
}

fn forged_last_offset(victim: &mut Victim, random: &mut Random) -> Option<String> {
    forge(victim, random, |bytes, random| {
        let value: i32 = *random.pick(&[-1, 0, 3, 50]);
        bytes[23..27].copy_from_slice(&value.to_be_bytes());
        format!("last offset delta {value}")
    })
}

fn forged_timestamp(victim: &mut Victim, random: &mut Random) -> Option<String> {
    forge(victim, random, |bytes, random| {
        let value: i64 = *random.pick(&[i64::MIN, -1, 0, 1, 1 << 41, i64::MAX]);
        bytes[35..43].copy_from_slice(&value.to_be_bytes());
        format!("max timestamp {value}")
    })
}

fn forged_producer(victim: &mut Victim, random: &mut Random) -> Option<String> {
    forge(victim, random, |bytes, random| {
        let id = *random.pick(&[-1, 0, 1, 7, 16, 1 << 40]);
        let epoch: i16 = *random.pick(&[0, 0, 1, 5, i16::MAX]);
        let sequence: i32 = *random.pick(&[-1, 0, 77, i32::MAX]);
        bytes[43..51].copy_from_slice(&i64::to_be_bytes(id));
        bytes[51..53].copy_from_slice(&epoch.to_be_bytes());
        bytes[53..57].copy_from_slice(&sequence.to_be_bytes());
        format!("producer {id}, epoch {epoch}, sequence {sequence}")
    })
}

fn forged_control(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (base, mut bytes, batches) = victim.segment_with_batches(random)?;
    let controls: Vec<_> = batches.iter().filter(|batch| batch.control).collect();
    let batch = **controls.get(random.below(controls.len().max(1)))?;
    let part = &mut bytes[batch.position..batch.position + batch.length];
    let what = flip_bit(part, 61, batch.length, random);
    seal(part);
    fs::write(victim.file(&base, "log"), bytes).unwrap();
    Some(format!(
        "{base}.log, control batch at {}: {what}",
        batch.position
    ))
}

fn forged_count(victim: &mut Victim, random: &mut Random) -> Option<String> {
    forge(victim, random, |bytes, random| {
        let value = *random.pick(&[-1, 0, 1, 1000, i32::MAX]);
        bytes[57..61].copy_from_slice(&value.to_be_bytes());
        format!("count {value}")
    })
}

fn overflow(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let (base, mut bytes, batches) = victim.segment_with_batches(random)?;
    let far = match random.below(3) {
        0 => 1 << 40,
        1 => number(&base) + (1 << 31),
        _ => -5,
    };
    // One batch, or all from it to the end: then the overflow is real and Kafka splits the segment.
    let from = random.below(batches.len());
    let all = random.one_in(2);
    let changed = if all {
        &batches[from..]
    } else {
        &batches[from..=from]
    };
    for batch in changed {
        let value = far + (batch.base_offset - batches[from].base_offset);
        bytes[batch.position..batch.position + 8].copy_from_slice(&value.to_be_bytes());
    }
    fs::write(victim.file(&base, "log"), bytes).unwrap();
    Some(format!(
        "{base}.log: offset {far} at {}, {} batches",
        batches[from].position,
        changed.len()
    ))
}
