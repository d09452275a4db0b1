//! Message sets of magic 0 and 1 in the place of batches, as brokers of before 0.11 left them: plain, wrapped, damaged.

use std::fs;
use std::io::Write as _;

use super::{Kind, Victim};
use crate::support::batches::Batch;
use crate::support::random::Random;

pub(crate) const KINDS: &[Kind] = &[
    ("messages-plain", |victim, random| {
        convert(victim, random, |random| How {
            codec: Codec::None,
            harm: Harm::None,
            ..How::any(random)
        })
    }),
    ("messages-wrapped", |victim, random| {
        convert(victim, random, |random| How {
            harm: Harm::None,
            ..How::any(random)
        })
    }),
    ("messages-flipped", |victim, random| {
        convert(victim, random, |random| How {
            harm: Harm::Flip,
            ..How::any(random)
        })
    }),
    ("messages-cut", |victim, random| {
        convert(victim, random, |random| How {
            harm: Harm::Cut,
            ..How::any(random)
        })
    }),
];

/// Records of a batch that are written as messages at most.
const MOST: i64 = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Codec {
    None,
    Gzip,
    Snappy,
    Lz4,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Harm {
    None,
    /// One bit of one message.
    Flip,
    /// The segment ends in the last message.
    Cut,
}

#[derive(Debug, Clone, Copy)]
struct How {
    magic: u8,
    codec: Codec,
    harm: Harm,
    append_time: bool,
}

impl How {
    fn any(random: &mut Random) -> Self {
        let magic = *random.pick(&[0, 1]);
        Self {
            magic,
            codec: *random.pick(&[Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4]),
            harm: Harm::None,
            append_time: magic == 1 && random.one_in(3),
        }
    }
}

/// Writes some batches of a segment, mostly from its beginning on, as messages with the same offsets.
fn convert(
    victim: &Victim,
    random: &mut Random,
    how: impl FnOnce(&mut Random) -> How,
) -> Option<String> {
    let (base, bytes, batches) = victim.segment_with_batches(random)?;
    let how = how(random);
    let from = if random.one_in(3) {
        random.below(batches.len())
    } else {
        0
    };
    let until = random.between(from, batches.len() - 1) + 1;
    let mut new = bytes[..batches[from].position].to_vec();
    let mut last = new.len();
    for batch in &batches[from..until] {
        last = new.len();
        new.extend(as_messages(batch, &bytes, how));
    }
    let end = new.len();
    let mut harm = String::new();
    match how.harm {
        Harm::Flip => {
            let at = random.between(last, end - 1);
            new[at] ^= 1 << random.below(8);
            harm = format!(", byte {at} flipped");
        }
        Harm::Cut => {
            new.truncate(random.between(last, end - 1));
            harm = format!(", cut to {}", new.len());
        }
        Harm::None => {}
    }
    if how.harm != Harm::Cut {
        let behind = batches[until - 1];
        new.extend(&bytes[behind.position + behind.length..]);
    }
    fs::write(victim.file(&base, "log"), new).unwrap();
    Some(format!(
        "{base}.log: batches {from} to {until} as {how:?}{harm}"
    ))
}

fn as_messages(batch: &Batch, log: &[u8], how: How) -> Vec<u8> {
    let at = batch.position + 35;
    let timestamp = i64::from_be_bytes(log[at..at + 8].try_into().unwrap());
    let first = batch.base_offset.max(batch.last_offset - MOST + 1);
    let offsets = first..=batch.last_offset;
    if how.codec == Codec::None {
        let plain = |offset: i64| {
            let value = offset.to_string();
            message((offset, timestamp), how, 0, value.as_bytes())
        };
        return offsets.flat_map(plain).collect();
    }
    // Inside a wrapper of magic 1 offsets count from its first message on.
    let inside = |offset: i64| {
        let shown = if how.magic == 0 {
            offset
        } else {
            offset - first
        };
        let value = offset.to_string();
        message((shown, timestamp), how, 0, value.as_bytes())
    };
    let inner: Vec<u8> = offsets.flat_map(inside).collect();
    let (id, packed) = match how.codec {
        Codec::None => (0, inner.clone()),
        Codec::Gzip => (1, gzip(&inner)),
        Codec::Snappy => (2, snappy(&inner)),
        Codec::Lz4 => (3, lz4(&inner, how.magic)),
    };
    message((batch.last_offset, timestamp), how, id, &packed)
}

/// One message without a key; `codec` is that of its value.
fn message((offset, timestamp): (i64, i64), how: How, codec: u8, value: &[u8]) -> Vec<u8> {
    let mut body = vec![how.magic, codec | u8::from(how.append_time) << 3];
    if how.magic == 1 {
        body.extend(timestamp.to_be_bytes());
    }
    body.extend((-1_i32).to_be_bytes());
    body.extend(i32::try_from(value.len()).unwrap().to_be_bytes());
    body.extend(value);
    let mut out = offset.to_be_bytes().to_vec();
    out.extend(i32::try_from(body.len() + 4).unwrap().to_be_bytes());
    out.extend(crc32fast::hash(&body).to_be_bytes());
    out.extend(body);
    out
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// One block in the frame of snappy-java.
fn snappy(plain: &[u8]) -> Vec<u8> {
    let block = snap::raw::Encoder::new().compress_vec(plain).unwrap();
    let mut out = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    out.extend(u32::try_from(block.len()).unwrap().to_be_bytes());
    out.extend(block);
    out
}

/// Clients of magic 0 wrote another checksum of the frame's head, which nobody looks at.
fn lz4(plain: &[u8], magic: u8) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(plain).unwrap();
    let mut out = encoder.finish().unwrap();
    if magic == 0 {
        out[6] ^= 0x5a;
    }
    out
}
