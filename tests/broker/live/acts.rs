//! Acts on the living cluster, each read back by Kafka's own clients.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::broker::PATIENCE;
use crate::support::source::now_ms;
use crate::support::trio::{Told, Trio};

/// Retention is shortened, segments go, the old value comes back; records are deleted; writers are capped; a replica moves.
pub(super) fn acts_are_what_kafka_says(trio: &mut Trio) {
    trio.admin.run("create clicks 1,2,3 retention.ms=86400000");
    trio.admin.run("produce clicks 0 5000 1000");
    retention_is_shortened_and_put_back(trio);
    records_are_deleted(trio);
    records_are_deleted_by_size_and_by_time(trio);
    a_log_dir_is_cordoned(trio);
    writers_are_capped(trio);
    a_replica_moves(trio);
    a_topic_that_was_made_anew_is_another(trio);
    let audit = trio.krescue(&["audit", "--json"]).exits(0);
    let acts = audit
        .lines
        .iter()
        .filter(|line| line["act"] == "live")
        .count();
    let cordons = if trio.kafka.is_4() { 2 } else { 0 };
    assert_eq!(acts, 11 + cordons, "{}", audit.out);
}

fn retention_is_shortened_and_put_back(trio: &mut Trio) {
    let set = [
        "retention",
        "clicks",
        "--set",
        "retention.bytes=2MiB",
        "file.delete.delay.ms=0",
        "--json",
    ];
    trio.admin.run("commit readers clicks 0 100");
    let planned = trio.krescue(&set).exits(3);
    becomes(
        trio,
        "config topic clicks retention.bytes",
        "DEFAULT_CONFIG -1",
    );
    let plan = &planned.lines[0];
    assert_eq!(plan["class"], "B", "{plan}");
    assert_eq!(plan["groups"][0]["group"], "readers", "{plan}");
    assert_eq!(plan["groups"][0]["committed"], 100, "{plan}");
    assert_eq!(plan["groups_unasked"], serde_json::json!([]), "{plan}");
    let lost = plan["lost_bytes"].as_u64().unwrap();
    assert!((2_900_000..3_400_000).contains(&lost), "{plan}");
    let hash = plan["plan"].as_str().unwrap().to_owned();
    let apply = ["retention", "clicks", "--apply", "--yes", &hash, "--json"];
    let told = trio.krescue(&apply[..5]).exits(0).out;
    assert!(told.contains("read back from broker"), "{told}");
    becomes(
        trio,
        "config topic clicks retention.bytes",
        "DYNAMIC_TOPIC_CONFIG 2097152",
    );
    becomes(
        trio,
        "config topic clicks file.delete.delay.ms",
        "DYNAMIC_TOPIC_CONFIG 0",
    );
    // Carried out once: the same hash is no plan any more.
    trio.krescue(&apply).exits(4);
    all_brokers_free(trio, lost);
    // Each run is a krescue of its own: what is in force is remembered on disk, and told until it is put back.
    let restore = "retention clicks --restore";
    let reminded = trio.krescue(&["retention", "clicks"]).exits(3);
    assert!(reminded.out.contains(restore), "{}", reminded.out);
    let told = in_force(trio);
    assert_eq!(told.len(), 1);
    assert!(told[0].as_str().unwrap().contains(restore), "{told:?}");
    // Kafka says what counts once the topic's own value is gone: all is kept, so nothing goes.
    let back = trio.krescue(&["retention", "clicks", "--restore", "--json"]);
    let plan = &back.exits(3).lines[0];
    assert_eq!(plan["class"], "A", "{plan}");
    assert_eq!(plan["lost_bytes"], 0, "{plan}");
    trio.krescue(&[
        "retention",
        "clicks",
        "--restore",
        "--apply",
        "--yes-to-all",
    ])
    .exits(0);
    becomes(
        trio,
        "config topic clicks retention.bytes",
        "DEFAULT_CONFIG -1",
    );
    becomes(
        trio,
        "config topic clicks retention.ms",
        "DYNAMIC_TOPIC_CONFIG 86400000",
    );
    trio.krescue(&["retention", "clicks"]).exits(0);
    assert!(in_force(trio).is_empty());
    // What the broker does not take is refused before anything is shown; nonsense is of class C.
    trio.krescue(&["retention", "clicks", "--set", "retention.ms=often"])
        .exits(2);
    trio.krescue(&["retention", "clicks", "--set", "cleanup.policy=never"])
        .exits(4);
    let nonsense = trio
        .krescue(&["retention", "clicks", "--set", "retention.ms=1", "--json"])
        .exits(3);
    assert_eq!(nonsense.lines[0]["class"], "C");
    trio.admin.run("create keyed 1,2,3 cleanup.policy=compact");
    let keyed = ["retention", "keyed", "--set", "retention.ms=1h", "--json"];
    let plan = &trio.krescue(&keyed).exits(3).lines[0];
    assert_eq!(plan["class"], "A", "{plan}");
    assert!(
        plan["notes"][0].as_str().unwrap().contains("compact"),
        "{plan}"
    );
}

/// Waits as an operator would until the brokers have freed what goes; each does, whole segments, and Kafka says the same.
fn all_brokers_free(trio: &mut Trio, promised: u64) {
    let words = ["retention", "clicks", "--wait-freed", "5m", "--json"];
    let mut waited = trio.krescue(&words).exits(3);
    // On a busy machine a pass comes later than brokers promise.
    let begin = Instant::now();
    loop {
        let told: Vec<_> = (1..=3).map(|broker| freed(&waited, broker)).collect();
        let first: i64 = trio.admin.run("offset clicks 0 earliest").parse().unwrap();
        let bytes = told.iter().map(|line| line["freed_bytes"].as_u64());
        let all_free = bytes.clone().all(|bytes| bytes > Some(0));
        // The leader's log begins where Kafka says; a follower's segments may end elsewhere.
        let is_first = |line: &Value| line["freed_records"] == first;
        if all_free && told.iter().any(is_first) {
            for line in &told {
                assert_eq!(line["promised_bytes"], promised, "{line}");
                assert!(line["freed_bytes"].as_u64() <= Some(promised), "{line}");
            }
            break;
        }
        assert!(begin.elapsed() < PATIENCE, "{}", waited.out);
        waited = trio.krescue(&["retention", "clicks", "--json"]).exits(3);
    }
    let told = trio.krescue(&["retention", "clicks"]).out;
    assert!(told.contains("stays "), "{told}");
}

/// Returns what was told last of a broker.
fn freed(told: &Told, broker: i64) -> Value {
    let is_it = |line: &&Value| line["kind"] == "freed" && line["broker"] == broker;
    let last = told.lines.iter().rfind(is_it);
    last.unwrap_or_else(|| panic!("{}", told.out)).clone()
}

/// Returns what `status` on broker 3's host says is in force.
fn in_force(trio: &mut Trio) -> Vec<Value> {
    let config = trio.broker(3).properties();
    let words = ["--config", config.to_str().unwrap(), "status", "--json"];
    let told = Told::of(trio.command(&words).output().unwrap());
    let list = told.lines[0]["in_force"].as_array();
    list.unwrap_or_else(|| panic!("{}{}", told.out, told.err))
        .clone()
}

/// Waits until Kafka's clients are answered so: a change reaches each broker with the metadata, some later than others.
#[track_caller]
pub(super) fn becomes(trio: &mut Trio, question: &str, answer: &str) {
    // Kafka's client draws whom it asks: so many answers in a row come from all.
    let (begin, mut in_a_row) = (Instant::now(), 0);
    while in_a_row < 20 {
        let is_so = trio.admin.run(question) == answer;
        in_a_row = if is_so { in_a_row + 1 } else { 0 };
        assert!(begin.elapsed() < PATIENCE, "{question} never is {answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn records_are_deleted(trio: &mut Trio) {
    trio.admin.run("commit readers clicks 0 4000");
    let planned = trio
        .krescue(&[
            "delete-records",
            "clicks-0",
            "--to-offset",
            "4500",
            "--json",
        ])
        .exits(3);
    let plan = &planned.lines[0];
    assert_eq!(plan["class"], "C", "{plan}");
    assert_eq!(plan["groups"][0]["group"], "readers", "{plan}");
    assert_eq!(plan["groups"][0]["committed"], 4000, "{plan}");
    let hash = plan["plan"].as_str().unwrap().to_owned();
    let apply = [
        "delete-records",
        "clicks-0",
        "--to-offset",
        "4500",
        "--apply",
        "--yes",
        &hash,
        "--wait-freed",
        "3s",
    ];
    let told = trio.krescue(&apply).exits(0).out;
    assert!(told.contains("freed      broker"), "{told}");
    assert_eq!(trio.admin.run("offset clicks 0 earliest"), "4500");
    trio.krescue(&["delete-records", "clicks-0", "--to-offset", "5001"])
        .exits(4);
}

fn records_are_deleted_by_size_and_by_time(trio: &mut Trio) {
    trio.admin.run("create dated 1,2,3");
    trio.admin.run("produce dated 0 3000 1000");
    let time = now_ms();
    while now_ms() == time {}
    let time = now_ms().to_string();
    trio.admin.run("produce dated 0 2000 1000");
    let segments = |trio: &mut Trio| -> u64 {
        let dirs = ["data1", "data2"].map(|dir| trio.broker(1).folder().join(dir).join("dated-0"));
        let files = dirs
            .iter()
            .filter_map(|dir| fs::read_dir(dir).ok())
            .flatten();
        let logs = files.filter_map(|file| {
            let file = file.unwrap();
            let is_log = file
                .path()
                .extension()
                .is_some_and(|suffix| suffix == "log");
            // One that is renamed now is on its way out.
            file.metadata()
                .ok()
                .filter(|_| is_log)
                .map(|file| file.len())
        });
        logs.sum()
    };
    let before = segments(trio);
    let free = [
        "delete-records",
        "dated-0",
        "--free",
        "2MiB",
        "--apply",
        "--yes-to-all",
    ];
    let done = trio.krescue(&free).exits(0);
    let first = trio.admin.run("offset dated 0 earliest");
    assert!(
        done.out.contains(&format!("begins at {first} now")),
        "{}",
        done.out
    );
    // Whole segments go, none that the size does not cover.
    let begin = Instant::now();
    let mut freed = 0;
    while freed < 1 << 20 {
        assert!(begin.elapsed() < PATIENCE, "only {freed} bytes go");
        std::thread::sleep(Duration::from_millis(100));
        freed = before - segments(trio);
    }
    assert!(freed <= 2 << 20, "{freed}");

    let by_kafka = trio.admin.run(&format!("offset dated 0 {time}"));
    assert_eq!(by_kafka, "3000");
    let to_time = [
        "delete-records",
        "dated-0",
        "--to-time",
        &time,
        "--apply",
        "--yes-to-all",
    ];
    trio.krescue(&to_time).exits(0);
    assert_eq!(trio.admin.run("offset dated 0 earliest"), by_kafka);
}

/// Kafka 4.3 and newer: new replicas go elsewhere, the ones that are there stay, and it can be lifted.
fn a_log_dir_is_cordoned(trio: &mut Trio) {
    let dir = trio.broker(3).folder().join("data1");
    let dir = dir.to_str().unwrap().to_owned();
    let cordon = ["cordon", &dir, "--broker", "3", "--apply", "--yes-to-all"];
    if !trio.kafka.is_4() {
        let refused = trio.krescue(&cordon).exits(4);
        assert!(
            refused.err.contains("cordoning came with Kafka 4.3"),
            "{}",
            refused.err
        );
        return;
    }
    trio.krescue(&cordon).exits(0);
    let question = "config broker 3 cordoned.log.dirs";
    becomes(trio, question, &format!("DYNAMIC_BROKER_CONFIG {dir}"));
    trio.krescue(&cordon[..4]).exits(4);
    trio.admin.run("create apart 3,1,2/3,1,2/3,1,2/3,1,2");
    let other = trio.broker(3).folder().join("data2").display().to_string();
    let all_there = format!("{{0={other}, 1={other}, 2={other}, 3={other}}}");
    becomes(trio, "dirs 3 apart", &all_there);
    trio.krescue(&[
        "cordon",
        &dir,
        "--lift",
        "--broker",
        "3",
        "--apply",
        "--yes-to-all",
    ])
    .exits(0);
    becomes(trio, question, "DEFAULT_CONFIG");
}

fn writers_are_capped(trio: &mut Trio) {
    trio.krescue(&[
        "quota",
        "--producer-rate",
        "10MiB/s",
        "--apply",
        "--yes-to-all",
    ])
    .exits(0);
    let set = "{client-id=null}={producer_byte_rate=1.048576E7}";
    becomes(trio, "quotas", set);
    trio.krescue(&["quota", "--restore", "--apply", "--yes-to-all"])
        .exits(0);
    becomes(trio, "quotas", "");
}

fn a_replica_moves(trio: &mut Trio) {
    let dirs = trio.admin.run("dirs 3 clicks");
    let folder = trio.broker(3).folder().to_owned();
    let other = |dirs: &str| -> PathBuf {
        let at = if dirs.contains("/data1") {
            "data2"
        } else {
            "data1"
        };
        folder.join(at)
    };
    let to = other(&dirs);
    let to = to.to_str().unwrap();
    trio.krescue(&["move", "clicks-0", "--to", "/nowhere", "--broker", "3"])
        .exits(4);
    trio.krescue(&["move", "clicks-0", "--cancel", "--broker", "3"])
        .exits(4);
    let words = [
        "move",
        "clicks-0",
        "--to",
        to,
        "--broker",
        "3",
        "--apply",
        "--yes-to-all",
    ];
    trio.krescue(&words).exits(0);
    let dirs = trio.admin.run("dirs 3 clicks");
    assert_eq!(dirs, format!("{{0={to}}}"));
}

/// A plan for a topic is none for the one that has its name later; old values of the former are put back as class C alone.
fn a_topic_that_was_made_anew_is_another(trio: &mut Trio) {
    trio.admin.run("create anew 1,2,3 retention.ms=86400000");
    trio.admin.run("produce anew 0 3000 1000");
    let shorten = ["retention", "anew", "--set", "retention.ms=12h"];
    trio.krescue(&[&shorten[..], &["--apply", "--yes-to-all"]].concat())
        .exits(0);
    let plans = [
        &["retention", "anew", "--set", "retention.bytes=2MiB"][..],
        &["delete-records", "anew-0", "--to-offset", "100"],
    ];
    let hashes = plans.map(|words| {
        let told = trio.krescue(&[words, &["--json"]].concat()).exits(3);
        told.lines[0]["plan"].as_str().unwrap().to_owned()
    });
    trio.admin.run("delete anew");
    for hash in &hashes {
        let gone = trio.krescue(&["retention", "anew", "--apply", "--yes", hash]);
        assert_ne!(gone.exit, 0, "{}", gone.out);
    }
    trio.admin.run("create anew 1,2,3");
    trio.admin.run("produce anew 0 3000 1000");
    becomes(trio, "offset anew 0 latest", "3000");
    for hash in &hashes {
        let refused = trio.krescue(&["retention", "anew", "--apply", "--yes", hash]);
        let refused = refused.exits(4);
        assert!(refused.err.contains("made anew"), "{}", refused.err);
    }
    assert_eq!(trio.admin.run("offset anew 0 earliest"), "0");
    let restore = ["retention", "anew", "--restore", "--json"];
    let planned = trio.krescue(&restore).exits(3);
    let plan = &planned.lines[0];
    assert_eq!(
        (&plan["class"], &plan["made_anew"]),
        (&"C".into(), &true.into()),
        "{plan}"
    );
    let told = trio.krescue(&restore[..3]).exits(3).out;
    assert!(
        told.contains("class C") && told.contains("made anew since"),
        "{told}"
    );
    trio.krescue(&[&restore[..3], &["--apply", "--yes-to-all"]].concat())
        .exits(0);
    becomes(
        trio,
        "config topic anew retention.ms",
        "DYNAMIC_TOPIC_CONFIG 86400000",
    );
}
