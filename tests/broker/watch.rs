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
    let before = log_sizes(&node);
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
    let measured = bytes_cut(&watch.output(), &before, &log_sizes(&node));
    // A cut of the very last log may be told once the logs are loaded, when its file grows again.
    assert!(measured * 2 > cuts, "{measured} of {cuts}");

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

/// Returns the length of each segment, by its path.
fn log_sizes(node: &Path) -> BTreeMap<String, u64> {
    let mut sizes = BTreeMap::new();
    for dir in ["data1", "data2"].map(|dir| node.join(dir)) {
        for log in fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            let files = fs::read_dir(&log).into_iter().flatten().flatten();
            for file in files.filter(|file| file.path().extension().is_some_and(|of| of == "log")) {
                let len = file.metadata().unwrap().len();
                sizes.insert(file.path().display().to_string(), len);
            }
        }
    }
    sizes
}

/// Compares the bytes that cuts are said to have taken with the files before and after; returns how many told them.
fn bytes_cut(text: &str, before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> usize {
    let mut measured = 0;
    for line in lines(text).iter().filter(|line| line["code"] == "cut") {
        let Some(lost) = line["lost_bytes"].as_u64() else {
            continue;
        };
        let of = |name: &str| line[name].as_str().unwrap();
        let base: i64 = of("text").split(' ').nth(2).unwrap().parse().unwrap();
        let path = format!("{}/{}/{base:020}.log", of("dir"), of("partition"));
        // The broker's own topics are written to again once it is up.
        if !of("partition").starts_with("__") {
            assert_eq!(before[&path] - after[&path], lost, "{line}");
        }
        measured += 1;
    }
    measured
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
