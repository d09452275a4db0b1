//! Damage to the checkpoints beside the partition dirs: a boot loads every log of the dir all the same.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::support::checkpoint::{self, CLEANER, HIGH_WATERMARK, LOG_START, RECOVERY_POINT};
use crate::support::random::Random;

/// How one is damaged.
const WAYS: [&str; 14] = [
    "missing",
    "emptied",
    "zeros",
    "cut",
    "junk-line",
    "no-number",
    "count-large",
    "count-small",
    "version",
    "no-newline",
    "doubled",
    "too-small",
    "beyond-end",
    "negative",
];

/// Damages checkpoints of both log dirs of the node in `folder`; returns what was done. In seven rounds the two that log
/// loading reads are damaged in every way.
pub(crate) fn spoil(folder: &Path, round: usize, random: &mut Random) -> Vec<String> {
    let mut done = Vec::new();
    for (dir_number, dir) in ["data1", "data2"].into_iter().enumerate() {
        for (number, name) in [RECOVERY_POINT, LOG_START, CLEANER, HIGH_WATERMARK]
            .into_iter()
            .enumerate()
        {
            // Loading does not read the other two.
            if number > 1 && random.one_in(2) {
                continue;
            }
            let path = folder.join(dir).join(name);
            let way = WAYS[(round + 5 * number + 7 * dir_number) % WAYS.len()];
            one(&path, way, random);
            done.push(format!("{dir}/{name}: {way}"));
        }
    }
    done
}

fn one(path: &Path, way: &str, random: &mut Random) {
    let mut offsets = checkpoint::read(path);
    let whole = fs::read_to_string(path).unwrap_or_else(|_| "0\n0\n".to_owned());
    let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
    let count = lines.len().saturating_sub(2);
    let text = match way {
        "missing" => {
            let _ = fs::remove_file(path);
            return;
        }
        "too-small" | "beyond-end" | "negative" => {
            for offset in offsets.values_mut() {
                *offset = match way {
                    "too-small" => 0,
                    "negative" => -1,
                    _ => *offset + 5000,
                };
            }
            return checkpoint::write(path, &offsets);
        }
        "emptied" => String::new(),
        "zeros" => "\0".repeat(whole.len()),
        "cut" => whole[..random.below(whole.len())].to_owned(),
        "junk-line" => {
            lines.insert(2 + random.below(count + 1), "aa".to_owned());
            lines[1] = (count + 1).to_string();
            joined(&lines)
        }
        "no-number" => {
            lines.push("plain 0 five".to_owned());
            lines[1] = (count + 1).to_string();
            joined(&lines)
        }
        "count-large" => {
            lines[1] = (count + 1).to_string();
            joined(&lines)
        }
        "count-small" => {
            lines[1] = count.saturating_sub(1).to_string();
            joined(&lines)
        }
        "version" => {
            "1".clone_into(&mut lines[0]);
            joined(&lines)
        }
        "no-newline" => whole.trim_end().to_owned(),
        "doubled" => {
            lines.extend(lines.last().filter(|_| count > 0).cloned());
            lines[1] = (lines.len() - 2).to_string();
            joined(&lines)
        }
        way => unreachable!("{way}"),
    };
    fs::write(path, text).unwrap();
}

fn joined(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}
