//! Kafka's result: what its own log loading makes of log dirs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::kafka::{Kafka, run};

/// What became of one partition dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Loaded {
    /// The log is loaded; its files are as Kafka leaves them.
    Yes,
    /// Kafka does not load it; the cause is the exception's.
    Refused(String),
}

/// Where log dirs lie and how they are to be judged.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    pub(crate) properties: &'a Path,
    pub(crate) topics: &'a Path,
    pub(crate) now: i64,
    /// Empty: those of the settings.
    pub(crate) log_dirs: Vec<PathBuf>,
}

/// Loads every log with the version's own `LogManager` and ends its JVM right after; returns the outcome by partition dir.
pub(crate) fn load(kafka: &Kafka, node: &Node<'_>) -> BTreeMap<PathBuf, Loaded> {
    let mut command = kafka.java("768m", "LoadLogs");
    command
        .arg(node.properties)
        .arg(node.topics)
        .arg(node.now.to_string())
        .args(&node.log_dirs);
    let output = run(&mut command, "loading the logs with Kafka's own LogManager");
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(output.ends_with("DONE\n"), "{output}");
    output
        .lines()
        .filter_map(|line| {
            let words: Vec<_> = line.split('\t').collect();
            match words[..] {
                ["LOADED", path] => Some((path.into(), Loaded::Yes)),
                ["REFUSED", path, cause] => Some((path.into(), Loaded::Refused(cause.to_owned()))),
                _ => None,
            }
        })
        .collect()
}
