//! What equal to Kafka means, for the files of one partition dir.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::tree::{Content, Tree};

/// Whether the order of a producer snapshot's entries counts: from 4.0 on it is a Java map's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotOrder {
    Counts,
    Free,
}

/// Returns the rule of `version`.
pub(crate) fn order(version: &str) -> SnapshotOrder {
    if version.starts_with("3.") {
        SnapshotOrder::Free
    } else {
        SnapshotOrder::Counts
    }
}

/// Says whether a file of a partition dir takes part in a comparison.
pub(crate) fn counts(path: &str) -> bool {
    let leftover = |suffix| path.ends_with(suffix);
    !leftover(".deleted") && !leftover(".tmp") && !leftover(".lock")
}

/// Returns a line for each file in which `found` differs from what Kafka left, with the first difference decoded.
pub(crate) fn differences(order: SnapshotOrder, kafka: &Tree, found: &Tree) -> Vec<String> {
    let active = kafka
        .keys()
        .filter_map(|name| name.strip_suffix(".log"))
        .max();
    let active_is_empty = active.is_some_and(|base| kafka[&format!("{base}.log")].length == 0);
    let names: BTreeSet<_> = kafka
        .keys()
        .chain(found.keys())
        .filter(|name| counts(name))
        .collect();
    let mut lines = Vec::new();
    for name in names {
        let (left, right) = match (kafka.get(name), found.get(name)) {
            (Some(left), Some(right)) => (left, right),
            (Some(left), None) => {
                lines.push(format!("{name}: missing, Kafka has {} bytes", left.length));
                continue;
            }
            (None, right) => {
                let length = right.map_or(0, |content| content.length);
                lines.push(format!("{name}: {length} bytes, Kafka has none"));
                continue;
            }
        };
        let (base, suffix) = name.split_once('.').unwrap_or((name, ""));
        let is_active_index = Some(base) == active && matches!(suffix, "index" | "timeindex");
        let equal = match suffix {
            _ if is_active_index => active_is_empty || left.bytes == right.bytes,
            "snapshot" if order == SnapshotOrder::Free => {
                left == right || same_entries(left, right)
            }
            _ => left == right,
        };
        if !equal {
            lines.push(first_difference(name, left, right));
        }
    }
    lines
}

/// Says whether two snapshots hold the same producers in any order, each with a right checksum.
fn same_entries(left: &Content, right: &Content) -> bool {
    let [left, right] = [left, right].map(|content| {
        let bytes = content.whole();
        let right_sum =
            bytes.len() >= 10 && bytes[2..6] == crc32c::crc32c(&bytes[6..]).to_be_bytes();
        let mut entries: Vec<_> = bytes
            .get(10..)
            .unwrap_or_default()
            .chunks(46)
            .map(<[u8]>::to_vec)
            .collect();
        entries.sort();
        (right_sum, bytes.get(..2).map(<[u8]>::to_vec), entries)
    });
    left.0 && left == right
}

/// Describes where two files part, in the words of the file's own format.
fn first_difference(name: &str, kafka: &Content, found: &Content) -> String {
    let (left, right) = (kafka.whole(), found.whole());
    let mut at = left
        .iter()
        .zip(&right)
        .position(|(a, b)| a != b)
        .unwrap_or(left.len().min(right.len()));
    let mut text = format!(
        "{name}: Kafka has {} bytes, found {}, first difference at {at}",
        left.len(),
        right.len()
    );
    let (head, entry) = match name.rsplit('.').next() {
        Some("index") => (0, 8),
        Some("timeindex") => (0, 12),
        Some("txnindex") => (0, 34),
        Some("snapshot") => {
            // The checksum always differs; the first entry that does tells more.
            let entries = |bytes: &[u8]| bytes.get(10..).unwrap_or_default().to_vec();
            let (left, right) = (entries(&left), entries(&right));
            let parts = left.iter().zip(&right).position(|(a, b)| a != b);
            at = 10 + parts.unwrap_or(left.len().min(right.len()));
            (10, 46)
        }
        Some("log") => (0, 64),
        _ => {
            let [left, right] =
                [&left, &right].map(|bytes| String::from_utf8_lossy(bytes).replace('\n', " / "));
            let _ = write!(text, "\n      Kafka {left}\n      found {right}");
            return text;
        }
    };
    let begin = if at < head {
        0
    } else {
        head + (at - head) / entry * entry
    };
    for (whose, bytes) in [("Kafka", &left), ("found", &right)] {
        let end = (begin + entry.max(head)).min(bytes.len());
        let part = bytes.get(begin..end).unwrap_or_default();
        let _ = write!(text, "\n      {whose} at {begin}: {}", decoded(name, part));
    }
    text
}

fn decoded(name: &str, part: &[u8]) -> String {
    let number = |at: usize, length: usize| -> i64 {
        let mut value: i64 = if part.get(at).is_some_and(|byte| *byte >= 0x80) {
            -1
        } else {
            0
        };
        for byte in part.get(at..at + length).unwrap_or_default() {
            value = value << 8 | i64::from(*byte);
        }
        value
    };
    match name.rsplit('.').next() {
        _ if part.is_empty() => "nothing".to_owned(),
        Some("index") => format!(
            "relative offset {}, position {}",
            number(0, 4),
            number(4, 4)
        ),
        Some("timeindex") => format!(
            "timestamp {}, relative offset {}",
            number(0, 8),
            number(8, 4)
        ),
        Some("txnindex") => format!(
            "version {}, producer {}, first {}, last {}, stable {}",
            number(0, 2),
            number(2, 8),
            number(10, 8),
            number(18, 8),
            number(26, 8)
        ),
        Some("snapshot") if part.len() == 46 => format!(
            "producer {}, epoch {}, sequence {}, offset {}, delta {}, timestamp {}, coordinator {}, transaction from {}",
            number(0, 8),
            number(8, 2),
            number(10, 4),
            number(14, 8),
            number(22, 4),
            number(26, 8),
            number(34, 4),
            number(38, 8)
        ),
        _ => part.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        }),
    }
}
