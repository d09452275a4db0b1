//! Dumps and old logs on a volume: space that costs no data.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How deep and how many names are looked at.
const MAX_DEPTH: usize = 4;
const MAX_NAMES: usize = 50_000;
/// Files that are worth a line, in bytes, and how many lines there are.
const LEAST: u64 = 1 << 20;
const MOST_FILES: usize = 10;

/// Returns heap dumps, core files and rotated or packed logs on the volume mounted at `mount`, outside of `log_dir`'s
/// partition dirs; the largest first, with the bytes that they take.
pub fn needless_files(mount: &Path, log_dir: &Path) -> Vec<(PathBuf, u64)> {
    let Ok(device) = std::fs::metadata(mount).map(|metadata| metadata.dev()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut dirs = vec![(mount.to_owned(), 0)];
    let mut names = 0;
    while let Some((dir, depth)) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            names += 1;
            if names > MAX_NAMES {
                break;
            }
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let path = entry.path();
            if metadata.dev() != device {
                continue;
            }
            // What lies in partition dirs is Kafka's, or told of by name elsewhere.
            if metadata.is_dir() && depth < MAX_DEPTH && !dir.starts_with(log_dir) {
                dirs.push((path, depth + 1));
            } else if metadata.is_file() && is_needless(&entry.file_name().to_string_lossy()) {
                let allocated = metadata.blocks().saturating_mul(512);
                found.push((path, allocated));
            }
        }
    }
    found.retain(|(_, allocated)| *allocated >= LEAST);
    found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(MOST_FILES);
    found
}

fn is_needless(name: &str) -> bool {
    let is_rotated = || {
        let (_, rest) = name.rsplit_once(".log")?;
        let rest = rest.strip_suffix(".gz").unwrap_or(rest);
        let is_number = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
        };
        let rest = rest.strip_prefix('.')?;
        Some(!rest.is_empty() && is_number(rest))
    };
    let has = |ending: &str| name.ends_with(ending);
    has(".hprof")
        || has(".log.gz")
        || name.starts_with("hs_err_pid")
        || name == "core"
        || name
            .strip_prefix("core.")
            .is_some_and(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
        || is_rotated() == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_and_rotated_logs_are_needless_and_segments_are_not() {
        for name in [
            "java_pid7.hprof",
            "server.log.2026-11-29-13",
            "server.log.1",
            "kafkaServer-gc.log.0",
            "controller.log.3.gz",
            "core.812",
        ] {
            assert!(is_needless(name), "{name}");
        }
        for name in [
            "00000000000000000000.log",
            "00000000000000000000.log.deleted",
            "server.log",
            "core.rs",
            "notes.txt",
        ] {
            assert!(!is_needless(name), "{name}");
        }
    }

    #[test]
    fn the_largest_comes_first_and_the_log_dir_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, len: usize| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, vec![1; len]).unwrap();
            path
        };
        let dump = write("dumps/java_pid7.hprof", 3 << 20);
        let log = write("server.log.1", 2 << 20);
        write("kafka/t-0/java_pid8.hprof", 4 << 20);
        write("small.log.1", 10);
        let found = needless_files(dir.path(), &dir.path().join("kafka"));
        let paths: Vec<PathBuf> = found.into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, [dump, log]);
    }
}
