//! A partition that was moved offline, and logs whose heads went: a real broker boots, serves them from where the plan says,
//! and producers and consumer groups go on.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::loading::work_folder;
use crate::support::admin::Admin;
use crate::support::broker::{Broker, PATIENCE};
use crate::support::kafka::Kafka;
use crate::support::krescue::Answer;
use crate::support::process::Process;
use crate::support::source::SETTINGS;

const DIRS: [&str; 2] = ["data1", "data2"];
const EPOCHS: &str = "past-0/leader-epoch-checkpoint";
const CLEANUP: [&str; 5] = [
    "cleanup",
    "--past-retention",
    "past",
    "--quarantine",
    "none",
];

#[test]
fn a_broker_serves_what_was_moved_and_what_was_left_3_9_1() {
    moved_and_cleaned("3.9.1");
}

#[test]
fn a_broker_serves_what_was_moved_and_what_was_left_4_4_0() {
    moved_and_cleaned("4.4.0");
}

/// Runs krescue on the node in `folder`, by the clock.
pub(crate) fn krescue(folder: &Path, version: &str, words: &[&str]) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_krescue"))
        .env_remove("XDG_STATE_HOME")
        .arg("--config")
        .arg(folder.join("server.properties"))
        .args(["--kafka-version", version, "--state-dir"])
        .arg(folder.with_extension("state"))
        .args(words)
        .output()
        .unwrap();
    Answer::new(&output)
}

/// Applies; each selected partition reaches its end.
pub(crate) fn done(folder: &Path, version: &str, words: &[&str]) -> Answer {
    let all = [words, &["--apply", "--yes-to-all", "--json"]].concat();
    let answer = krescue(folder, version, &all);
    assert_eq!(answer.exit, 0, "{words:?}\n{}", answer.tail());
    answer
}

/// Returns the log dir that holds a partition, and the other one.
fn place(folder: &Path, partition: &str) -> (PathBuf, PathBuf) {
    let [one, other] = DIRS.map(|dir| folder.join(dir));
    if one.join(partition).is_dir() {
        (one, other)
    } else {
        assert!(other.join(partition).is_dir(), "{partition}");
        (other, one)
    }
}

/// Returns the new start of a log by the lines of an apply.
fn start_of(answer: &Answer, topic: &str) -> i64 {
    let mut lines = answer.lines.iter();
    let is_it = |line: &&serde_json::Value| {
        line["kind"] == "partition" && line["topic"] == topic && line["verdict"] == "delete"
    };
    let line = lines.find(is_it);
    let line = line.unwrap_or_else(|| panic!("no {topic} in {}", answer.tail()));
    // The group that reads it has not come so far.
    let [group] = line["groups"].as_array().unwrap().as_slice() else {
        panic!("{line}")
    };
    assert_eq!(group["group"], format!("readers-{topic}"));
    let start = line["log_start_offset"].as_i64().unwrap();
    assert!((10..start).contains(&group["committed"].as_i64().unwrap()));
    let mut findings = answer.lines.iter();
    let is_told = |line: &serde_json::Value| line["code"] == "groups_below_start";
    assert!(findings.any(is_told), "{}", answer.tail());
    start
}

fn moved_and_cleaned(version: &str) {
    let kafka = Kafka::resolve(version);
    let folder = work_folder(&format!("relocating-{version}"));
    let node = folder.join("node");
    // The broker's own retention comes after the test.
    let settings = [&SETTINGS[..], &["log.initial.task.delay.ms=3600000"]].concat();
    let mut broker = Broker::create(Arc::clone(&kafka), &node, &settings);
    broker.start();
    let mut shell = Admin::start(&kafka, &broker.bootstrap());
    let key = kafka.segment_key();
    for (topic, more) in [
        ("oldest", "retention.ms=-1"),
        ("past", "retention.bytes=150000"),
        ("moved", "retention.ms=-1"),
    ] {
        shell.run(&format!("create {topic} 1 {key}=65536 {more}"));
        shell.run(&format!("produce {topic} 0 60 10000"));
        let read = shell.run(&format!("consume readers {topic} 10"));
        assert_eq!(read, "0 9");
    }
    let mut command = kafka.attached("256m", "GoOn");
    let death = folder.join("death");
    command.arg(broker.bootstrap()).arg(&death);
    let mut producers = Process::spawn(&mut command, &folder.join("go-on.log"));
    producers.wait_for("READY", PATIENCE);
    broker.kill();
    fs::write(&death, "").unwrap();

    // Moved as the kill left them; what only one of the dirs knows of goes along.
    let mut went = Vec::new();
    for partition in ["moved-0", "go-on-idempotent-0", "go-on-transactions-0"] {
        let (from, to) = place(&node, partition);
        let answer = done(
            &node,
            version,
            &["move", partition, "--to", to.to_str().unwrap()],
        );
        let mut lines = answer.lines.iter();
        assert!(lines.any(|line| line["verdict"] == "move" && line["applied"] == true));
        assert!(!from.join(partition).exists() && to.join(partition).is_dir());
        went.push((partition, to));
    }
    let past = done(&node, version, &CLEANUP);
    let past = start_of(&past, "past");
    assert!((20..60).contains(&past), "{past}");
    let (on, _) = place(&node, "oldest-0");
    let words = [
        "cleanup",
        "--free",
        "150KiB",
        "--quarantine",
        "none",
        "--on",
    ];
    let freed = done(
        &node,
        version,
        &[&words[..], &[on.to_str().unwrap()]].concat(),
    );
    let oldest = start_of(&freed, "oldest");
    assert!(oldest > 0);

    // Both dirs under the final name, as a move leaves it that is killed between its renames: the boot refuses, and the move
    // asked for again mends it.
    let (partition, to) = went[0].clone();
    let mut dirs = DIRS.map(|dir| node.join(dir)).into_iter();
    let from = dirs.find(|dir| *dir != to).unwrap();
    copy(&to.join(partition), &from.join(partition));
    broker.launch();
    broker.wait_for("Duplicate log directories", PATIENCE);
    broker.wait_for_end(PATIENCE);
    done(
        &node,
        version,
        &["move", partition, "--to", to.to_str().unwrap()],
    );
    assert!(!from.join(partition).exists());

    broker.start();
    let status = producers.wait(PATIENCE);
    let said = producers.output();
    assert!(
        status.success() && said.contains("WENT ON"),
        "{status}\n{said}"
    );
    for (topic, start) in [("past", past), ("oldest", oldest), ("moved", 0)] {
        is_served(&mut shell, topic, start);
    }
    for (partition, to) in &went {
        let topic = partition.strip_suffix("-0").unwrap();
        let dirs = shell.run(&format!("dirs 1 {topic}"));
        assert_eq!(dirs, format!("{{0={}}}", to.display()), "{partition}");
    }
    let past = cleaned_once_more((&mut broker, &mut shell), &kafka, &node);
    for (partition, to) in &went {
        assert!(to.join(partition).is_dir(), "{partition}");
    }
    eprintln!(
        "{version}: {} partitions moved, log starts {past} and {oldest} as planned; producers and the group went on",
        went.len()
    );
    fs::remove_dir_all(&folder).unwrap();
}

/// Checks that a log of 60 records starts at `start`, and that a group and a producer go on with it.
fn is_served(shell: &mut Admin, topic: &str, start: i64) {
    let earliest = shell.run(&format!("offset {topic} 0 earliest"));
    assert_eq!(earliest, start.to_string(), "{topic}");
    assert_eq!(
        shell.run(&format!("offset {topic} 0 latest")),
        "60",
        "{topic}"
    );
    // A group goes on where it was, or where the log starts now.
    let first = start.max(10);
    let read = shell.run(&format!("consume readers {topic} 5"));
    assert_eq!(read, format!("{first} {}", first + 4), "{topic}");
    shell.run(&format!("produce {topic} 0 3 1000"));
    assert_eq!(
        shell.run(&format!("offset {topic} 0 latest")),
        "63",
        "{topic}"
    );
}

/// Cleans behind a stop in order, of records of two leader epochs, beside a broker that deletes the same by itself: both leave
/// the same checkpoints. Returns the new log start.
fn cleaned_once_more(
    (broker, shell): (&mut Broker, &mut Admin),
    kafka: &Arc<Kafka>,
    node: &Path,
) -> i64 {
    shell.run("produce past 0 60 10000");
    broker.stop();
    let twin = node.with_extension("twin");
    fs::create_dir(&twin).unwrap();
    for dir in DIRS {
        copy(&node.join(dir), &twin);
    }
    let cleaned = done(node, &kafka.version, &CLEANUP);
    let past = start_of(&cleaned, "past");
    assert!((63..123).contains(&past), "{past}");
    let place = place(node, "past-0").0.file_name().unwrap().to_owned();
    let lines = |folder: &Path, file: &str| {
        // The version, the count, then an entry each; of partitions in no order.
        let text = fs::read_to_string(folder.join(&place).join(file)).unwrap();
        let mut lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        lines[1..].sort();
        lines
    };
    let ours = lines(node, EPOCHS);
    deletes_by_itself(kafka, &twin, &place, past);
    // The twin's boot added the epoch in which it led.
    let twins: Vec<String> = lines(&twin, EPOCHS)
        .into_iter()
        .filter(|line| !line.ends_with(" 123"))
        .collect();
    assert_eq!(ours[1..], twins[1..]);
    broker.start();
    assert_eq!(shell.run("offset past 0 earliest"), past.to_string());
    assert_eq!(shell.run("offset past 0 latest"), "123");
    let read = shell.run("consume readers past 3");
    assert_eq!(read, format!("{past} {}", past + 2));
    broker.stop();
    for file in [EPOCHS, "log-start-offset-checkpoint"] {
        assert_eq!(lines(node, file), lines(&twin, file), "{file}");
    }
    past
}

/// Lets a broker of its own delete what is past retention of `past-0`, and stops it in order.
fn deletes_by_itself(kafka: &Arc<Kafka>, twin: &Path, place: &OsStr, start: i64) {
    let settings = [
        &SETTINGS[..],
        &[
            "log.initial.task.delay.ms=100",
            "log.retention.check.interval.ms=200",
            "log.segment.delete.delay.ms=0",
        ],
    ]
    .concat();
    let mut broker = Broker::at(Arc::clone(kafka), twin, &settings);
    broker.start();
    let limit = Instant::now() + PATIENCE;
    let first = || {
        let names = fs::read_dir(twin.join(place).join("past-0")).unwrap();
        let bases = names.filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".log")?.parse::<i64>().ok()
        });
        bases.min()
    };
    while first() != Some(start) {
        assert!(Instant::now() < limit, "{:?}, not {start}", first());
        std::thread::sleep(Duration::from_millis(50));
    }
    broker.stop();
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(to)
        .status()
        .unwrap();
    assert!(status.success());
}
