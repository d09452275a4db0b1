//! Real boots, watched from the first second.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;

use crate::hand_over::cut_tails;
use crate::loading::work_folder;
use crate::support::broker::{Broker, PATIENCE};
use crate::support::krescue::watch_command;
use crate::support::process::Process;
use crate::support::source::{SETTINGS, Source};

#[test]
fn a_boot_is_watched_to_its_end_3_9_1() {
    watched("3.9.1");
}

#[test]
fn a_boot_is_watched_to_its_end_4_4_0() {
    watched("4.4.0");
}

fn watched(version: &str) {
    let source = Source::shared(version);
    let folder = work_folder(&format!("watch-{version}"));
    let node = folder.join("node");
    source.copy_to(&node);
    let structure = structure(&node);
    let mut broker = Broker::at(Arc::clone(&source.kafka), &node, &SETTINGS);
    // Begun before there is a broker: it waits for the process.
    let mut watch = Process::spawn(&mut watch_command(&node, &[]), &folder.join("watch"));
    broker.launch();
    let status = watch.wait(PATIENCE);
    broker.wait_until_up();
    let lines = lines(&watch.output());
    assert_eq!(status.code(), Some(0), "{}", watch.output());
    let progress: Vec<_> = lines
        .iter()
        .filter(|line| line["kind"] == "progress")
        .collect();
    let of = |line: &Value, name: &str| line[name].as_u64().unwrap_or(0);
    for pair in progress.windows(2) {
        assert!(
            of(pair[0], "bytes_done") <= of(pair[1], "bytes_done"),
            "{pair:?}"
        );
        assert!(
            of(pair[0], "logs_done") <= of(pair[1], "logs_done"),
            "{pair:?}"
        );
    }
    let last = progress.last().unwrap();
    assert_eq!(of(last, "bytes_total"), structure.0, "what this boot reads");
    assert_eq!(of(last, "bytes_done"), structure.0);
    assert_eq!(of(last, "logs_total"), structure.1);
    assert_eq!(of(last, "logs_done"), structure.1);
    broker.kill();

    // The next boot finds damage: the same watch ends with 3, or with 0 where only torn tails were cut.
    assert!(!cut_tails(&node).is_empty());
    let mut watch = Process::spawn(
        &mut watch_command(&node, &[]),
        &folder.join("watch-damaged"),
    );
    broker.start();
    let status = watch.wait(PATIENCE);
    let log = broker.output();
    let losing = [
        "Record is corrupt",
        "Deleting segments as part of log recovery",
        "Found invalid offset",
    ]
    .iter()
    .any(|words| log.contains(words));
    assert_eq!(
        status.code(),
        Some(if losing { 3 } else { 0 }),
        "{}",
        watch.output()
    );
    let cuts = log.matches("Corruption found in segment").count();
    let told = self::lines(&watch.output())
        .iter()
        .filter(|line| line["code"] == "cut")
        .count();
    assert_eq!(told, cuts);
    assert!(cuts > 5, "{log}");
    broker.kill();

    // A boot that is killed in the middle died.
    let mut watch = Process::spawn(&mut watch_command(&node, &[]), &folder.join("watch-killed"));
    broker.launch();
    let id = broker.process_id().unwrap();
    watch.wait_for("\"phase\":\"starting\"", PATIENCE);
    assert_eq!(broker.process_id(), Some(id));
    broker.kill();
    assert_eq!(watch.wait(PATIENCE).code(), Some(1), "{}", watch.output());
    eprintln!(
        "{version}: {} logs, {} bytes watched, {cuts} cuts told",
        structure.1, structure.0
    );
    fs::remove_dir_all(&folder).unwrap();
}

/// Returns bytes that a boot reads and logs there are.
fn structure(node: &Path) -> (u64, u64) {
    let logs = bytes_that_are_read(node);
    (logs.values().sum(), logs.len() as u64)
}

/// Returns what a boot reads of each log, by dir name, by the names and sizes in the log dirs.
pub(crate) fn bytes_that_are_read(node: &Path) -> BTreeMap<String, u64> {
    let output = Command::new(env!("CARGO_BIN_EXE_krescue"))
        .env_remove("XDG_STATE_HOME")
        .arg("--config")
        .arg(node.join("server.properties"))
        .args(["scan", "--structure", "--json"])
        .output()
        .unwrap();
    let mut reads = BTreeMap::new();
    for line in lines(&String::from_utf8_lossy(&output.stdout)) {
        if line["kind"] == "partition" && line["dir_name"] != "__cluster_metadata-0" {
            let name = line["dir_name"].as_str().unwrap().to_owned();
            reads.insert(name, line["scan_bytes"].as_u64().unwrap());
        }
    }
    reads
}

pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
