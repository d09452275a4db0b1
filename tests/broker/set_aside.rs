//! A replica that is set aside where its broker was killed: the broker comes up, fetches it again, and nobody loses a
//! record. As long as the broker is in the ISR it is refused: where all brokers die at once, a controller of any release may
//! let an empty replica lead, and the others follow it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::cluster::{batches, boot, bootstrap, lines, replicas, seat};
use crate::loading::work_folder;
use crate::support::broker::{Broker, PATIENCE};
use crate::support::checkpoint::RECOVERY_POINT;
use crate::support::kafka::{Kafka, run};
use crate::support::krescue::Target;
use crate::support::process::Process;
use crate::support::source::now_ms;

#[test]
fn a_replica_that_was_set_aside_is_fetched_again_3_9_1() {
    fetched_again("3.9.1");
}

#[test]
fn a_replica_that_was_set_aside_is_fetched_again_4_4_0() {
    fetched_again("4.4.0");
}

fn fetched_again(version: &str) {
    let kafka = Kafka::resolve(version);
    let folder = work_folder(&format!("set-aside-{version}"));
    let mut brokers = seat(&kafka, &folder);
    for broker in &brokers {
        broker.format(&[]);
    }
    boot(&mut brokers);
    let acknowledged = folder.join("acknowledged");
    let mut command = kafka.attached("256m", "Acknowledged");
    command
        .arg(bootstrap(&brokers))
        .arg(&acknowledged)
        .args(["2", "3"]);
    let mut producer = Process::spawn(&mut command, &folder.join("producer.log"));
    producer.wait_for("READY", PATIENCE);
    replicas(&kafka, &brokers, "1,2,3");

    brokers[0].kill();
    let name = "replicated-0-0";
    damage(&brokers[0], name);
    refused(&brokers[0], version, name);
    replicas(&kafka, &brokers, "2,3");
    let bytes = set_aside(&brokers[0], &brokers[1].bootstrap(), version, name);
    more(&acknowledged);
    brokers[0].launch();
    brokers[0].wait_until_up();
    let states = replicas(&kafka, &brokers, "1,2,3");
    more(&acknowledged);
    producer.stop(nix::sys::signal::Signal::SIGKILL);
    let file = folder.join("records");
    let mut read = kafka.java("256m", "ReadAll");
    read.arg(bootstrap(&brokers)).arg(&file);
    run(&mut read, "reading every record");
    let served: BTreeSet<String> = lines(&file).into_iter().collect();
    let expected = lines(&acknowledged);
    let lost = expected.iter().filter(|line| !served.contains(*line));
    let lost: Vec<_> = lost.collect();
    assert!(lost.is_empty(), "acknowledged records are lost: {lost:?}");

    // All die at once: whoever is in sync may be the first to lead again.
    brokers.iter_mut().for_each(Broker::kill);
    let logs = [0, 1, 2].map(|at| batches(brokers[at].folder()));
    assert_eq!(logs[0], logs[1], "brokers 1 and 2");
    assert_eq!(logs[0], logs[2], "brokers 1 and 3");
    let state = states.iter().rfind(|state| state.name == "replicated-1-1");
    let leader: usize = state.unwrap().leader.parse().unwrap();
    damage(&brokers[leader - 1], "replicated-1-1");
    refused(&brokers[leader - 1], version, "replicated-1-1");
    eprintln!(
        "{version}: a replica of {bytes} bytes was set aside and fetched again; {} records are served",
        served.len()
    );
    fs::remove_dir_all(&folder).unwrap();
}

/// Flips bits in the first batch of a replica: all that follows it is good.
fn damage(broker: &Broker, name: &str) {
    let dir = partition_dir(broker.folder(), name);
    // Where the broker has flushed that segment and noted it, no boot would read it again.
    let _ = fs::remove_file(dir.parent().unwrap().join(RECOVERY_POINT));
    let log = dir.join("00000000000000000000.log");
    let mut bytes = fs::read(&log).unwrap();
    bytes[100] ^= 0xff;
    fs::write(&log, &bytes).unwrap();
}

/// Lets krescue refuse what only the metadata on this host speaks for: it says that this broker is in sync itself.
fn refused(broker: &Broker, version: &str, name: &str) {
    let target = Target {
        folder: broker.folder(),
        version,
        now: now_ms(),
    };
    let decision = format!("{name}=set-aside");
    let answer = target.run(&["recover", "--json", "--decide", &decision]);
    assert_eq!(answer.exit, 3, "{}", answer.text);
    let mut lines = answer.lines.iter();
    let line = lines.find(|line| line["kind"] == "partition" && line["dir_name"] == name);
    let line = line.unwrap();
    assert_eq!(line["verdict"], "ask");
    assert_eq!(line["in_sync_elsewhere"].as_array().unwrap().len(), 2);
    let mut lines = answer.lines.iter();
    let finding = lines
        .find(|line| line["code"] == "decision_refused")
        .unwrap();
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("the first to lead again"), "{text}");
}

/// Sets a replica aside by what the living cluster says of it; returns its bytes.
fn set_aside(broker: &Broker, bootstrap: &str, version: &str, name: &str) -> u64 {
    let dir = partition_dir(broker.folder(), name);
    let target = Target {
        folder: broker.folder(),
        version,
        now: now_ms(),
    };
    let decision = format!("{name}=set-aside");
    let words = [
        "--bootstrap",
        bootstrap,
        "recover",
        "--json",
        "--partition",
        name,
        "--decide",
        &decision,
    ];
    // The broker that is asked may learn of the shrunk ISR after another has told of it.
    let begin = Instant::now();
    while (target.run(&words).lines.iter()).any(|line| line["code"] == "decision_refused") {
        assert!(begin.elapsed() < PATIENCE, "{bootstrap} stays behind");
    }
    let answer = target.run(&[&words[..], &["--apply", "--yes-to-all"]].concat());
    assert_eq!(answer.exit, 0, "{}", answer.tail());
    let mut lines = answer.lines.iter();
    let line = lines.find(|line| line["kind"] == "partition" && line["dir_name"] == name);
    assert_eq!(line.unwrap()["decided"], "set_aside");
    let left = fs::read_dir(&dir).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["partition.metadata"]);
    line.unwrap()["lost_bytes"].as_u64().unwrap()
}

fn partition_dir(folder: &Path, name: &str) -> PathBuf {
    let dirs = ["data1", "data2"].map(|dir| folder.join(dir).join(name));
    dirs.into_iter().find(|dir| dir.is_dir()).unwrap()
}

/// Waits until the producer wrote more.
fn more(acknowledged: &Path) {
    let (begin, before) = (Instant::now(), lines(acknowledged).len());
    while lines(acknowledged).len() < before + 1000 {
        assert!(begin.elapsed() < PATIENCE, "the producer stands still");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
