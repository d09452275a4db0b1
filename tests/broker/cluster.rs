//! Three brokers that die one after the other and are handed over clean: who leads, who is in sync, what is served.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::hand_over::{cut_tails, nothing_recovered};
use crate::loading::work_folder;
use crate::support::broker::{Broker, PATIENCE, Seat};
use crate::support::kafka::{Kafka, run};
use crate::support::krescue::Target;
use crate::support::process::Process;
use crate::support::source::now_ms;
use crate::support::tree;

#[test]
fn three_brokers_handed_over_clean_lose_no_acknowledged_record_3_9_1() {
    survive("3.9.1", "no-elr", &[]);
}

#[test]
fn three_brokers_handed_over_clean_lose_no_acknowledged_record_4_4_0_with_elr() {
    survive("4.4.0", "elr", &["--feature", ELR_ON]);
}

#[test]
fn three_brokers_handed_over_clean_lose_no_acknowledged_record_4_4_0_without_elr() {
    survive("4.4.0", "no-elr", &["--feature", ELR_OFF]);
}

const ELR_ON: &str = "eligible.leader.replicas.version=1";
const ELR_OFF: &str = "eligible.leader.replicas.version=0";
const TOPICS: &str = "3";
const PARTITIONS: &str = "4";

/// A follower is found dead soon, and a broker waits for no one else at its end.
const SETTINGS: [&str; 6] = [
    "broker.session.timeout.ms=9000",
    "broker.heartbeat.interval.ms=500",
    "replica.lag.time.max.ms=9000",
    "log.segment.bytes=1048576",
    "num.recovery.threads.per.data.dir=2",
    "auto.leader.rebalance.enable=false",
];

/// Broker 2 dies and loses what its disk had not yet; the others go on, then die at once. All are recovered and booted.
fn survive(version: &str, name: &str, format: &[&str]) {
    let kafka = Kafka::resolve(version);
    let folder = work_folder(&format!("cluster-{version}-{name}"));
    let crashed = folder.join("crashed");
    let mut brokers = seat(&kafka, &crashed);
    for broker in &brokers {
        broker.format(format);
    }
    boot(&mut brokers);
    let acknowledged = folder.join("acknowledged");
    let mut command = kafka.attached("256m", "Acknowledged");
    command
        .arg(bootstrap(&brokers))
        .arg(&acknowledged)
        .args([TOPICS, PARTITIONS]);
    let mut producer = Process::spawn(&mut command, &folder.join("producer.log"));
    producer.wait_for("READY", PATIENCE);
    brokers[1].kill();
    replicas(&kafka, &brokers, "1,3");
    let (begin, before) = (Instant::now(), lines(&acknowledged).len());
    while lines(&acknowledged).len() < before + 2000 {
        assert!(begin.elapsed() < PATIENCE, "the producer stands still");
        std::thread::sleep(Duration::from_millis(20));
    }
    producer.stop(nix::sys::signal::Signal::SIGKILL);
    become_equal(&brokers[0], &brokers[2]);
    brokers[0].kill();
    brokers[2].kill();
    let damaged = cut_tails(brokers[1].folder());
    assert!(!damaged.is_empty());
    let now = now_ms();
    newest_logs_are_told(&kafka, &brokers, &damaged);

    let mut seen = BTreeMap::new();
    for side in ["kafka", "krescue"] {
        let side_folder = folder.join(side);
        tree::copy(&crashed, &side_folder);
        let mut brokers = seat(&kafka, &side_folder);
        if side == "krescue" {
            for broker in &brokers {
                let target = Target {
                    folder: broker.folder(),
                    version,
                    now,
                };
                let answer = target.recover("clean");
                assert_eq!(answer.exit, 0, "{}", answer.tail());
            }
        }
        boot(&mut brokers);
        let states = replicas(&kafka, &brokers, "1,2,3");
        if side == "krescue" {
            for broker in &brokers {
                nothing_recovered(&broker.output());
            }
        }
        for state in &states {
            assert_ne!(
                state.leader, "2",
                "{side}: {state:?} led by the one that had fallen behind"
            );
        }
        let file = side_folder.join("records");
        let mut read = kafka.java("256m", "ReadAll");
        read.arg(bootstrap(&brokers)).arg(&file);
        run(&mut read, "reading every record");
        let served: BTreeSet<String> = lines(&file).into_iter().collect();
        let expected = lines(&acknowledged);
        let lost: Vec<_> = expected
            .iter()
            .filter(|line| !served.contains(*line))
            .collect();
        assert!(
            lost.is_empty(),
            "{side}: {} of {} acknowledged records are lost, first {:?}",
            lost.len(),
            expected.len(),
            lost.first()
        );
        for broker in &mut brokers {
            broker.kill();
        }
        let logs = [0, 1, 2].map(|at| batches(brokers[at].folder()));
        assert_eq!(logs[0], logs[1], "{side}: brokers 1 and 2");
        assert_eq!(logs[0], logs[2], "{side}: brokers 1 and 3");
        seen.insert(side, (served, logs[0].len()));
    }
    assert_eq!(
        seen["kafka"], seen["krescue"],
        "what a plain boot serves as well"
    );
    eprintln!(
        "{version}, {name}: {} records of {} partitions are served by three brokers after a clean hand-over, {} logs of one had lost their tail",
        seen["krescue"].0.len(),
        seen["krescue"].1,
        damaged.len()
    );
    fs::remove_dir_all(&folder).unwrap();
}

/// The hosts' status lines, merged, name who has the newest logs: brokers 1 and 3, which died last, by Kafka's own tool.
fn newest_logs_are_told(
    kafka: &Kafka,
    brokers: &[Broker],
    damaged: &BTreeMap<String, Vec<String>>,
) {
    let status = |broker: &Broker| {
        let words = ["status", "--json"];
        let output = krescue(broker, &words).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let lines: Vec<String> = brokers.iter().map(status).collect();
    let told = merged(&brokers[0], &lines.concat());
    // Kafka's tool ends at the first damaged batch.
    let whole = |name: &str| name.starts_with("replicated-") && !damaged.contains_key(name);
    let ends = [0, 2, 1].map(|at| ends_on_disk(kafka, &brokers[at], &whole));
    assert_eq!(ends[0], ends[1], "brokers 1 and 3 had become equal");
    let mut behind = 0;
    for line in told.iter().filter(|line| line["kind"] == "newest_log") {
        let name = format!("{}-{}", line["topic"].as_str().unwrap(), line["partition"]);
        let (Some(end), Some(old)) = (ends[0].get(&name), ends[2].get(&name)) else {
            continue;
        };
        assert_eq!(line["log_end_offset"], *end, "{line}");
        let is_behind = old < end;
        behind += usize::from(is_behind);
        let newest = if is_behind { vec![1, 3] } else { vec![1, 2, 3] };
        assert_eq!(line["newest_on"], serde_json::json!(newest), "{line}");
        if is_behind {
            let of = &line["behind"][0];
            assert_eq!(
                (&of["broker"], &of["log_end_offset"]),
                (&2.into(), &(*old).into())
            );
            // Broker 2 had left the ISR; its own metadata does not know that.
            assert_eq!(of["may_lead"], false, "{line}");
        }
    }
    assert!(behind > 0, "broker 2 had fallen behind");
    let quorum = |told: &[Value]| {
        let mut lines = told.iter();
        lines
            .find(|line| line["kind"] == "quorum_outlook")
            .unwrap()
            .clone()
    };
    let of = quorum(&told);
    assert_eq!(of["voters"], serde_json::json!([1, 2, 3]), "{of}");
    assert_eq!((&of["needed"], &of["can_form"]), (&2.into(), &true.into()));
    let order = told.iter().filter(|line| line["kind"] == "boot_place");
    let order: Vec<_> = order.map(|line| line["broker"].clone()).collect();
    assert_eq!(order.len(), 3);
    // Two of three are enough, and of one nobody can be elected; one line alone is compared with nothing.
    let of = quorum(&merged(&brokers[0], &lines[..2].concat()));
    assert_eq!(of["can_form"], true, "{of}");
    let strange = lines[1].replace("\"node_id\":2,", "\"node_id\":9,");
    let of = quorum(&merged(&brokers[0], &format!("{}{strange}", lines[0])));
    assert_eq!(
        (&of["present"], &of["can_form"]),
        (&serde_json::json!([1]), &false.into())
    );
}

/// Returns krescue with `words`, on the host of a broker.
fn krescue(broker: &Broker, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
    command
        .env("XDG_STATE_HOME", broker.folder().join("state"))
        .arg("--config")
        .arg(broker.properties())
        .args(words);
    command
}

/// Returns what `status --merge` makes of lines, as JSON.
fn merged(broker: &Broker, lines: &str) -> Vec<Value> {
    let file = broker.folder().join("statuses");
    fs::write(&file, lines).unwrap();
    let words = ["status", "--merge", file.to_str().unwrap(), "--json"];
    let output = krescue(broker, &words).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the log end offset of each log of a broker whose name is `wanted`, by Kafka's `DumpLogSegments`.
fn ends_on_disk(
    kafka: &Kafka,
    broker: &Broker,
    wanted: &dyn Fn(&str) -> bool,
) -> BTreeMap<String, i64> {
    let mut files = Vec::new();
    for dir in ["data1", "data2"] {
        for name in crate::hand_over::partition_dirs(&broker.folder().join(dir)) {
            let path = broker.folder().join(dir).join(&name);
            let entries = fs::read_dir(&path).unwrap();
            let logs = entries
                .map(|entry| entry.unwrap().path())
                .filter(|file| file.extension().is_some_and(|suffix| suffix == "log"));
            files.extend(logs.max().filter(|_| wanted(&name)));
        }
    }
    let class = match kafka.version.as_str() {
        "4.4.0" => "org.apache.kafka.tools.DumpLogSegments",
        _ => "kafka.tools.DumpLogSegments",
    };
    let list: Vec<_> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let mut dump = kafka.java("256m", class);
    dump.arg("--files").arg(list.join(","));
    let output = run(&mut dump, "dumping the last segments");
    let text = String::from_utf8(output.stdout).unwrap();
    let (mut ends, mut name) = (BTreeMap::new(), String::new());
    for line in text.lines() {
        if let Some(file) = line.strip_prefix("Dumping ") {
            let dir = Path::new(file.trim()).parent().unwrap();
            dir.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .clone_into(&mut name);
        }
        if let Some(offset) = line.split("lastOffset: ").nth(1) {
            let offset: i64 = offset.split(' ').next().unwrap().parse().unwrap();
            ends.insert(name.clone(), offset + 1);
        }
    }
    ends
}

/// Waits until two replicas of everything stay the same: what one of them alone has is served or not, by who leads next.
fn become_equal(one: &Broker, other: &Broker) {
    let (begin, mut equal) = (Instant::now(), 0);
    while equal < 10 {
        let same = batches(one.folder()) == batches(other.folder());
        equal = if same { equal + 1 } else { 0 };
        assert!(begin.elapsed() < PATIENCE, "two replicas stay different");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns three brokers of one cluster, with the log dirs that lie in `folder`.
pub(crate) fn seat(kafka: &Arc<Kafka>, folder: &Path) -> Vec<Broker> {
    let seats = Seat::of_cluster(3);
    let brokers = seats.into_iter().map(|seat| {
        let folder = folder.join(format!("node{}", seat.id));
        fs::create_dir_all(&folder).unwrap();
        Broker::seated(Arc::clone(kafka), &folder, seat, &SETTINGS)
    });
    brokers.collect()
}

pub(crate) fn boot(brokers: &mut [Broker]) {
    brokers.iter_mut().for_each(Broker::launch);
    brokers.iter_mut().for_each(Broker::wait_until_up);
}

pub(crate) fn bootstrap(brokers: &[Broker]) -> String {
    let all: Vec<_> = brokers.iter().map(Broker::bootstrap).collect();
    all.join(",")
}

/// A partition as it is at the end.
#[derive(Debug)]
pub(crate) struct State {
    /// `TOPIC-PARTITION`.
    pub(crate) name: String,
    pub(crate) leader: String,
}

/// Waits until each partition has a leader and just `in_sync`; returns how each was seen at first and is at the end.
pub(crate) fn replicas(kafka: &Kafka, brokers: &[Broker], in_sync: &str) -> Vec<State> {
    let file = brokers[0].folder().join("replicas");
    let mut command = kafka.java("256m", "Replicas");
    command.arg(bootstrap(brokers)).arg(in_sync).arg(&file);
    run(&mut command, "waiting for the in-sync replicas");
    let lines = lines(&file);
    assert!(!lines.is_empty());
    let states = lines.iter().map(|line| {
        let words: Vec<_> = line.split(' ').collect();
        State {
            name: format!("{}-{}", words[1], words[2]),
            leader: words[3].to_owned(),
        }
    });
    states.collect()
}

/// Returns the bytes of each replicated partition's segments, one after the other.
pub(crate) fn batches(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut logs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for dir in ["data1", "data2"] {
        for entry in fs::read_dir(folder.join(dir)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.starts_with("replicated-") {
                continue;
            }
            let mut segments: Vec<PathBuf> = fs::read_dir(&path)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|file| file.extension().is_some_and(|suffix| suffix == "log"))
                .collect();
            segments.sort();
            let log = logs.entry(name).or_default();
            for segment in segments {
                log.extend(fs::read(segment).unwrap());
            }
        }
    }
    logs
}

/// Returns the whole lines of a file, which another process may be writing.
pub(crate) fn lines(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(str::to_owned).collect()
}
