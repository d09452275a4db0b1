//! What a broker does with log dirs that krescue has handed over, and what krescue does beside a broker that lives.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::loading::work_folder;
use crate::support::broker::{Broker, PATIENCE};
use crate::support::checkpoint::{self, LOG_START, RECOVERY_POINT};
use crate::support::damage::{Victim, damage, tails};
use crate::support::kafka::{Kafka, run};
use crate::support::krescue::Target;
use crate::support::process::Process;
use crate::support::random::Random;
use crate::support::source::{SETTINGS, Source, now_ms};
use crate::support::tree;

#[test]
fn after_a_clean_hand_over_a_broker_recovers_nothing_and_serves_every_record_below_the_cut_3_9_1() {
    clean("3.9.1");
}

#[test]
fn after_a_clean_hand_over_a_broker_recovers_nothing_and_serves_every_record_below_the_cut_4_4_0() {
    clean("4.4.0");
}

#[test]
fn after_a_verify_hand_over_a_broker_reads_the_last_segment_of_each_log_3_9_1() {
    verify("3.9.1");
}

#[test]
fn after_a_verify_hand_over_a_broker_reads_the_last_segment_of_each_log_4_4_0() {
    verify("4.4.0");
}

#[test]
fn a_live_broker_is_left_alone_and_its_producers_go_on_after_its_death_3_9_1() {
    live("3.9.1");
}

#[test]
fn a_live_broker_is_left_alone_and_its_producers_go_on_after_its_death_4_4_0() {
    live("4.4.0");
}

fn clean(version: &str) {
    let source = Source::shared(version);
    let folder = work_folder(&format!("clean-{version}"));
    let [whole, hurt] = ["whole", "hurt"].map(|side| folder.join(side));
    source.copy_to(&whole);
    source.copy_to(&hurt);
    let damaged = cut_tails(&hurt);
    let target = Target {
        folder: &hurt,
        version,
        now: source.now,
    };
    let answer = target.recover("clean");
    assert_eq!(answer.exit, 0, "{}", answer.tail());
    for dir in ["data1", "data2"] {
        let marker = fs::read(hurt.join(dir).join(".kafka_cleanshutdown"));
        assert_eq!(
            marker.ok(),
            Some(Vec::new()),
            "the marker of {dir} is there and empty"
        );
    }
    let planned = answer.ends();

    let before = served(&source.kafka, &whole, |_| {});
    let after = served(&source.kafka, &hurt, nothing_recovered);
    let mut compared = 0;
    for (partition, records) in &after {
        // A cleaner that has had another look keeps fewer records.
        if partition.contains("compacted") || partition.starts_with("__") {
            continue;
        }
        let end = planned[partition];
        let expected: Vec<_> = before[partition]
            .iter()
            .filter(|record| record.0 < end)
            .collect();
        let found: Vec<_> = records.iter().collect();
        assert_eq!(
            expected,
            found,
            "{partition}, end {end}, damage {:?}",
            damaged.get(partition)
        );
        compared += found.len();
    }
    eprintln!(
        "{version}: {compared} records of {} partitions are served after a clean hand-over, {} of them had lost their tail",
        after.len(),
        damaged.len()
    );
    assert!(compared > 1000 && damaged.len() > 10);
    fs::remove_dir_all(&folder).unwrap();
}

/// Checks by a broker's log that its boot read no log again but the metadata's.
pub(crate) fn nothing_recovered(log: &str) {
    let recovering: Vec<_> = log
        .lines()
        .filter(|line| line.contains("Recovering") && !line.contains("__cluster_metadata-0"))
        .collect();
    assert!(recovering.is_empty(), "{}", recovering.join("\n"));
    assert!(log.contains("Skipping recovery of"), "{log}");
}

/// Damages the ends of about half of the partitions, but internal ones; returns what was done by partition.
pub(crate) fn cut_tails(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut random = Random::new(5);
    let mut done = BTreeMap::new();
    for dir in ["data1", "data2"] {
        let points = checkpoint::read(&folder.join(dir).join(RECOVERY_POINT));
        let starts = checkpoint::read(&folder.join(dir).join(LOG_START));
        for name in partition_dirs(&folder.join(dir)) {
            let (topic, number) = name.rsplit_once('-').unwrap();
            let key = (topic.to_owned(), number.parse().unwrap());
            let mut victim = Victim {
                path: folder.join(dir).join(&name),
                recovery_point: points.get(&key).copied(),
                log_start: starts.get(&key).copied(),
                only_last: true,
            };
            if topic.starts_with("__") || random.one_in(2) {
                continue;
            }
            let first = random.below(tails().len());
            let what = damage(&mut victim, &tails(), first, &mut random);
            if !what.is_empty() {
                done.insert(name, what);
            }
        }
    }
    done
}

/// Returns the names of the partition dirs in a log dir, but the metadata log's.
pub(crate) fn partition_dirs(log_dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(log_dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name != "__cluster_metadata-0")
        .collect();
    names.sort();
    names
}

/// A record's offset, and a line of all that counts of it.
pub(crate) type Record = (i64, String);

/// Boots a broker on the log dirs in `folder`, lets `look` read its log, returns every record by partition and stops it.
fn served(
    kafka: &Arc<Kafka>,
    folder: &Path,
    look: impl FnOnce(&str),
) -> BTreeMap<String, Vec<Record>> {
    served_to(kafka, folder, "true", look)
}

/// The same, to a consumer that checks the batches' checksums or does not.
pub(crate) fn served_to(
    kafka: &Arc<Kafka>,
    folder: &Path,
    checks: &str,
    look: impl FnOnce(&str),
) -> BTreeMap<String, Vec<Record>> {
    let mut broker = Broker::at(Arc::clone(kafka), folder, &SETTINGS);
    let begin = Instant::now();
    broker.start();
    eprintln!("{}: up after {:?}", folder.display(), begin.elapsed());
    look(&broker.output());
    let file = folder.join("records");
    let mut read = kafka.java("256m", "ReadAll");
    read.arg(broker.bootstrap()).arg(&file).arg(checks);
    run(&mut read, "reading every record");
    broker.kill();
    let mut records: BTreeMap<String, Vec<Record>> = BTreeMap::new();
    for line in fs::read_to_string(file).unwrap().lines() {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        let of = records
            .entry(format!("{}-{}", words[0], words[1]))
            .or_default();
        if let Ok(offset) = words[2].parse() {
            of.push((offset, words[3].to_owned()));
        }
    }
    records
}

fn verify(version: &str) {
    let source = Source::shared(version);
    let folder = work_folder(&format!("verify-{version}"));
    let hurt = folder.join("hurt");
    source.copy_to(&hurt);
    cut_tails(&hurt);
    let target = Target {
        folder: &hurt,
        version,
        now: source.now,
    };
    let answer = target.recover("verify");
    assert_eq!(answer.exit, 0, "{}", answer.tail());
    let mut expected = Vec::new();
    for dir in ["data1", "data2"].map(|dir| hurt.join(dir)) {
        let names = partition_dirs(&dir).into_iter();
        expected.extend(names.map(|name| (last_segment(&dir.join(&name)), name)));
    }
    let mut broker = Broker::at(Arc::clone(&source.kafka), &hurt, &SETTINGS);
    broker.start();
    let log = broker.output();
    broker.kill();
    let mut read: Vec<_> = log
        .lines()
        .filter(|line| {
            line.contains("Recovering unflushed segment") && !line.contains("__cluster_metadata-0")
        })
        .map(|line| {
            // "... Recovering unflushed segment BASE. K/N recovered for TOPIC-PARTITION. (class)"
            let rest = line.split("Recovering unflushed segment ").nth(1).unwrap();
            let base: i64 = rest.split('.').next().unwrap().parse().unwrap();
            let partition = rest
                .split("recovered for ")
                .nth(1)
                .unwrap()
                .split(". (")
                .next()
                .unwrap();
            (base, partition.to_owned())
        })
        .collect();
    read.sort();
    expected.sort();
    assert_eq!(read, expected, "one line for the last segment of each log");
    assert!(!log.contains("Corruption found"), "{log}");
    eprintln!(
        "{version}: a boot reads {} last segments after a verify hand-over, and nothing else",
        read.len()
    );
    fs::remove_dir_all(&folder).unwrap();
}

fn last_segment(partition: &Path) -> i64 {
    let bases = fs::read_dir(partition).unwrap().filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".log")
            .map(|base| base.parse::<i64>().unwrap())
    });
    bases.max().unwrap()
}

fn live(version: &str) {
    let kafka = Kafka::resolve(version);
    let folder = work_folder(&format!("live-{version}"));
    let node = folder.join("node");
    let mut broker = Broker::create(Arc::clone(&kafka), &node, &SETTINGS);
    broker.start();
    let mut command = kafka.attached("256m", "GoOn");
    let death = folder.join("death");
    command.arg(broker.bootstrap()).arg(&death);
    let mut producers = Process::spawn(&mut command, &folder.join("go-on.log"));
    producers.wait_for("READY", PATIENCE);

    let target = Target {
        folder: &node,
        version,
        now: now_ms(),
    };
    let identities = || identities(&node);
    let before = identities();
    let scan = target.run(&["scan", "--json"]);
    assert!(
        matches!(scan.exit, 0 | 3),
        "exit {}\n{}",
        scan.exit,
        scan.tail()
    );
    let torn: Vec<_> = scan
        .lines
        .iter()
        .filter(|line| line["code"] == "torn_tail" || line["code"] == "crc_mismatch")
        .collect();
    assert!(
        torn.is_empty(),
        "a last batch in the making is no finding: {torn:?}"
    );
    for hand_over in ["none", "verify", "clean"] {
        let answer = target.run(&[
            "recover",
            "--hand-over",
            hand_over,
            "--quarantine",
            "none",
            "--apply",
            "--yes-to-all",
        ]);
        assert_eq!(answer.exit, 4, "{}", answer.tail());
        let id = broker.process_id().unwrap().to_string();
        assert!(
            answer.text.contains(&id),
            "names process {id}: {}",
            answer.tail()
        );
    }
    assert_eq!(
        before,
        identities(),
        "no file was replaced, none came, none went"
    );

    broker.kill();
    fs::write(&death, "").unwrap();
    let answer = target.recover("clean");
    assert_eq!(answer.exit, 0, "{}", answer.tail());
    broker.start();
    let log = broker.output();
    assert!(
        log.contains("Skipping recovery of") && !log.contains("Recovering 2 logs"),
        "{log}"
    );
    let status = producers.wait(PATIENCE);
    assert!(
        status.success() && producers.output().contains("WENT ON"),
        "{status}\n{}",
        producers.output()
    );
    broker.stop();
    eprintln!(
        "{version}: an idempotent and a transactional producer went on after kill, clean hand-over and boot"
    );
    fs::remove_dir_all(&folder).unwrap();
}

/// Returns name, inode and mode of each file that a broker neither rolls nor rewrites in a few seconds.
fn identities(node: &Path) -> Vec<String> {
    let stable = |line: &&String| {
        line.contains("/go-on-") || line.contains(".kafka_cleanshutdown") || line.contains(".lock")
    };
    let mut lines = Vec::new();
    for dir in ["data1", "data2"] {
        let stamps = tree::stamps(&node.join(dir));
        let cut = |line: &String| line.split(" length ").next().unwrap_or(line).to_owned();
        lines.extend(
            stamps
                .iter()
                .map(|line| format!("{dir}/{line}"))
                .collect::<Vec<_>>()
                .iter()
                .filter(stable)
                .map(cut),
        );
    }
    lines
}
