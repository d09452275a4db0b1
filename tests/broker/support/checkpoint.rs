//! The offset checkpoints beside the partition dirs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The checkpoints that log loading reads.
pub(crate) const RECOVERY_POINT: &str = "recovery-point-offset-checkpoint";
pub(crate) const LOG_START: &str = "log-start-offset-checkpoint";
/// Those that it does not.
pub(crate) const HIGH_WATERMARK: &str = "replication-offset-checkpoint";
pub(crate) const CLEANER: &str = "cleaner-offset-checkpoint";

/// Offsets by topic and partition.
pub(crate) type Offsets = BTreeMap<(String, u32), i64>;

/// Reads a checkpoint that a broker wrote; one that is missing or empty has no entry.
pub(crate) fn read(path: &Path) -> Offsets {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .skip(2)
        .map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let key = (words[0].to_owned(), words[1].parse().unwrap());
            (key, words[2].parse().unwrap())
        })
        .collect()
}

/// Writes a checkpoint as Kafka does.
pub(crate) fn write(path: &Path, offsets: &Offsets) {
    let mut text = format!("0\n{}\n", offsets.len());
    for ((topic, partition), offset) in offsets {
        let _ = writeln!(text, "{topic} {partition} {offset}");
    }
    fs::write(path, text).unwrap();
}
