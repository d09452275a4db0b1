//! Who is behind, told by krescue, by the bytes on the follower's disk, and by Kafka's own clients.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::broker::PATIENCE;
use crate::support::kafka::run;
use crate::support::process::Process;
use crate::support::trio::{Told, Trio};

/// A follower in sync, dead, held back by a throttle, caught up; another one frozen.
pub(super) fn followers_are_measured(trio: &mut Trio) {
    all_in_sync(trio);
    trio.broker(3).kill();
    trio.admin.run("produce orders 0 12000 1000");
    // The broker that is asked learns from the controller who is gone.
    let asked = Instant::now();
    let mut line = trio.replica("orders", 0, 3);
    while line["offline"] != true {
        assert!(asked.elapsed() < PATIENCE, "{line}");
        line = trio.replica("orders", 0, 3);
    }
    assert!(line["log_end_offset"].is_null(), "{line}");
    assert!(line["lag_records"].is_null(), "{line}");
    assert_eq!(line["in_sync"], false, "{line}");
    super::acts::becomes(trio, "state orders 0", "1 1,2");
    the_living_are_asked_for_the_dead(trio);

    trio.admin
        .run("set topic orders follower.replication.throttled.replicas 0:3");
    trio.admin
        .run("set broker - follower.replication.throttled.rate 1");
    // Begun before there is a broker: it follows it until it is really back.
    let config = trio.broker(3).properties();
    let words = [
        "--config",
        config.to_str().unwrap(),
        "watch",
        "--until-in-sync",
        "--json",
    ];
    let log = trio.broker(3).folder().join("watch");
    let mut watch = Process::spawn(&mut trio.command(&words), &log);
    trio.broker(3).start();
    // Up for its own log, and not back yet.
    watch.wait_for(
        "\"fenced\":false,\"partitions\":2,\"partitions_not_in_sync\":1",
        PATIENCE,
    );
    let (line, before, after) = held_back(trio);
    let told = line["log_end_offset"].as_i64().unwrap();
    assert!(
        (before..=after).contains(&told),
        "{before}..={after}: {line}"
    );
    assert_eq!(line["lag_records"], 15_000 - told, "{line}");
    assert_eq!(line["in_sync"], false, "{line}");
    let causes = line["causes"].to_string();
    assert!(causes.contains("throttle of 1 B/s"), "{line}");

    // This host's broker is the one of the configuration.
    let config = trio.broker(3).properties();
    let config = config.to_str().unwrap();
    let words = [
        "--config",
        config,
        "replicas",
        "--wait-in-sync",
        "3m",
        "--json",
    ];
    let log = trio.broker(3).folder().join("wait");
    let mut wait = Process::spawn(&mut trio.command(&words), &log);
    wait.wait_for("in_sync_in_s", PATIENCE);
    trio.admin.run(&format!(
        "set broker - follower.replication.throttled.rate {CATCH_UP_RATE}"
    ));
    let (moving, before_it, after_it) = held_back(trio);
    let while_it = moving["log_end_offset"].as_i64().unwrap();
    assert!(
        (before_it..=after_it).contains(&while_it),
        "{before_it}..={after_it}: {moving}"
    );
    let estimates = estimates(&mut wait, &log);
    assert_eq!(wait.wait(PATIENCE).code(), Some(0), "{}", wait.output());
    let caught_up = Told::read(&wait.output());
    assert_eq!(caught_up.replica(0, 3)["log_end_offset"], 15_000);
    trio.admin
        .run("set broker - follower.replication.throttled.rate");
    trio.admin
        .run("set topic orders follower.replication.throttled.replicas");
    super::acts::becomes(trio, "state orders 0", "1 1,2,3");
    let status = watch.wait(PATIENCE);
    assert_eq!(status.code(), Some(0), "{}", watch.output());
    is_followed_back(&watch.output());
    one_is_frozen(trio);
    one_answers_garbage(trio);
    eprintln!(
        "{}: a held back follower said it ends at {told}; its files, by Kafka's own tool, ended at {before} before and at {after} after; \
         one that catches up said {while_it}, its files {before_it} and {after_it}; end times once half was done: {estimates}",
        trio.kafka.version
    );
}

/// A plan for the logs of a dead broker asks the others where its metadata says they listen, and names where their logs end.
fn the_living_are_asked_for_the_dead(trio: &mut Trio) {
    let end = trio.admin.run("offset orders 0 latest");
    let config = trio.broker(3).properties();
    let words = ["--config", config.to_str().unwrap()];
    let cut = ["truncate", "orders-0", "--to-offset", "100"];
    let told = Told::of(trio.command(&[&words[..], &cut].concat()).output().unwrap());
    let told = format!("{}{}", told.out, told.err);
    assert!(told.contains("by the living cluster"), "{told}");
    for broker in [1, 2] {
        let words = format!("{broker} (its log ends at {end})");
        assert!(told.contains(&words), "{words}: {told}");
    }
}

/// Bytes a second at which a follower catches up: slower than it can, so that there is an end to foretell.
const CATCH_UP_RATE: u64 = 350_000;

/// What an end time may be off by: so many seconds, or this part of what is left.
const OFF: (f64, f64) = (3.0, 0.3);

/// Follows a wait to its end; returns what was foretold once half was done, with what came true, in seconds.
fn estimates(wait: &mut Process, log: &std::path::Path) -> String {
    let mut told: Vec<(Instant, u64, Option<u64>)> = Vec::new();
    let (begin, mut seen) = (Instant::now(), 0);
    while !wait.has_ended() {
        assert!(begin.elapsed() < PATIENCE, "it does not catch up");
        let lines = crate::cluster::lines(log);
        let lines = lines
            .iter()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|line| line["kind"] == "progress");
        for line in lines.skip(seen) {
            seen += 1;
            if let Some(lag) = line["lag_records"].as_u64() {
                told.push((Instant::now(), lag, line["in_sync_in_s"].as_u64()));
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let end = Instant::now();
    let half = told.iter().map(|(_, lag, _)| *lag).max().unwrap_or(0) / 2;
    let late = told.iter().filter(|(_, lag, _)| *lag <= half);
    let late: Vec<(u64, f64)> = late
        .map(|(at, _, left)| {
            let was = end.duration_since(*at).as_secs_f64();
            let left =
                left.unwrap_or_else(|| panic!("no end is told {was:.1} s before it: {told:?}"));
            (left, was)
        })
        .collect();
    // A burst that a busy machine holds up moves the end after it was told: most must fit.
    #[expect(clippy::cast_precision_loss, reason = "seconds of a test")]
    let is_off = |(left, was): &&(u64, f64)| (*left as f64 - was).abs() > OFF.0.max(OFF.1 * was);
    let off = late.iter().filter(is_off).count();
    assert!(off * 2 <= late.len(), "{off} of {late:?} are off: {told:?}");
    let words = late
        .iter()
        .map(|(left, was)| format!("{left} s (was {was:.1})"));
    words.collect::<Vec<_>>().join(", ")
}

/// Fails unless a watched broker was not registered, then fenced, then let in, and at last in sync everywhere.
fn is_followed_back(output: &str) {
    let lines = output
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let lines: Vec<Value> = lines
        .filter(|line: &Value| line["kind"] == "progress")
        .collect();
    let fenced: Vec<_> = lines.iter().map(|line| line["fenced"].as_bool()).collect();
    let mut order = fenced.clone();
    order.sort_by_key(|fenced| match fenced {
        None => 0,
        Some(true) => 1,
        Some(false) => 2,
    });
    assert_eq!(
        fenced, order,
        "what the run before left is no state of this one:\n{output}"
    );
    for line in &lines {
        let is_known = !line["partitions_not_in_sync"].is_null();
        assert_eq!(is_known, !line["fenced"].is_null(), "{line}");
    }
    let last = lines.last().unwrap();
    assert_eq!(last["fenced"], false, "{last}");
    assert_eq!(last["partitions"], 2, "{last}");
    assert_eq!(last["partitions_not_in_sync"], 0, "{last}");
}

fn all_in_sync(trio: &mut Trio) {
    trio.admin
        .run("create orders 1,2,3/2,3,1 min.insync.replicas=2");
    trio.admin.run("produce orders 0 3000 1000");
    trio.admin.run("produce orders 1 500 1000");
    let words = [
        "replicas",
        "orders",
        "--wait-in-sync",
        "3m",
        "--broker",
        "3",
        "--json",
    ];
    trio.krescue(&words).exits(0);
    let told = trio.krescue(&["replicas", "orders", "--json"]).exits(0);
    let quorum = told.lines.iter().find(|line| line["kind"] == "quorum");
    let quorum = quorum.unwrap_or_else(|| panic!("{told:?}"));
    assert_eq!(quorum["voters"], serde_json::json!([1, 2, 3]), "{quorum}");
    let current = quorum["current"].as_array().unwrap();
    assert!(current.contains(&quorum["leader"]), "{quorum}");
    let volumes = trio.krescue(&["volumes", "--json"]);
    let dirs = volumes
        .lines
        .iter()
        .filter(|line| line["kind"] == "broker_volume");
    let held: i64 = dirs
        .clone()
        .map(|line| line["replicas"].as_i64().unwrap())
        .sum();
    assert_eq!((dirs.count(), held), (6, 6), "{}", volumes.out);
    for (partition, end) in [(0, 3000), (1, 500)] {
        let question = format!("offset orders {partition} latest");
        // A leader that was just elected learns the high watermark anew.
        super::acts::becomes(trio, &question, &end.to_string());
        for broker in 1..=3 {
            let line = told.replica(partition, broker);
            // Its first leader may have been fenced meanwhile, on a busy machine.
            assert_eq!(line["leader"], line["leader_id"] == broker, "{line}");
            assert_eq!(line["in_sync"], true, "{line}");
            assert_eq!(line["log_end_offset"], end, "{line}");
            assert_eq!(line["lag_records"], 0, "{line}");
            assert_eq!(line["min_isr"], 2, "{line}");
            assert!(line["bytes"].as_i64().unwrap() > end * 1000, "{line}");
        }
    }
}

fn one_is_frozen(trio: &mut Trio) {
    trio.signal(2, Signal::SIGSTOP);
    let told = trio.krescue(&["replicas", "orders", "--json"]).exits(3);
    let line = told.replica(0, 2);
    assert!(line["log_end_offset"].is_null(), "{line}");
    assert!(line["lag_records"].is_null(), "{line}");
    assert!(!line["causes"].as_array().unwrap().is_empty(), "{line}");
    assert_eq!(told.replica(0, 3)["lag_records"], 0);
    trio.signal(2, Signal::SIGCONT);
    let words = [
        "replicas",
        "--wait-in-sync",
        "2m",
        "--broker",
        "2",
        "--json",
    ];
    trio.krescue(&words).exits(0);
}

/// In a dead broker's place something answers that is no Kafka, named first: frames of 2^31 bytes, cut ones, noise. It is
/// told so, no memory is taken for it, and the others are measured as before.
fn one_answers_garbage(trio: &mut Trio) {
    trio.broker(2).kill();
    let address = trio.broker(2).bootstrap();
    let listener = TcpListener::bind(&address).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    let garbage = std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            if ends.load(Ordering::Relaxed) {
                return;
            }
            let mut stream = stream.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            let mut request = [0; 512];
            let _ = stream.read(&mut request);
            let answer: &[u8] = match number % 3 {
                0 => &[0x7f, 0xff, 0xff, 0xff, 1, 2, 3],
                1 => &[0, 0, 1, 0, 9, 9],
                _ => b"HTTP/1.1 400 Bad Request\r\n\r\n",
            };
            let _ = stream.write_all(answer);
        }
    });
    let list = format!("{address},{}", trio.bootstrap());
    let words = ["--bootstrap", &list, "replicas", "orders", "--json"];
    for _ in 0..3 {
        let told = Told::of(trio.command(&words).output().unwrap()).exits(3);
        assert!(!told.err.contains("panicked"), "{}", told.err);
        let line = told.replica(0, 2);
        assert!(line["log_end_offset"].is_null(), "{line}");
        assert!(!line["causes"].as_array().unwrap().is_empty(), "{line}");
        assert_eq!(told.replica(0, 1)["log_end_offset"], 15_000, "{}", told.out);
        assert_eq!(told.replica(0, 3)["lag_records"], 0, "{}", told.out);
    }
    assert!(asked.load(Ordering::Relaxed) >= 3);
    is_over.store(true, Ordering::Relaxed);
    drop(TcpStream::connect(&address).unwrap());
    garbage.join().unwrap();
    trio.broker(2).start();
    let words = [
        "replicas",
        "--wait-in-sync",
        "2m",
        "--broker",
        "2",
        "--json",
    ];
    trio.krescue(&words).exits(0);
}

/// Returns what is told of the throttled follower, and its end by its files before and after.
fn held_back(trio: &mut Trio) -> (Value, i64, i64) {
    let before = end_on_disk(trio, "orders-0");
    let line = trio.replica("orders", 0, 3);
    (line, before, end_on_disk(trio, "orders-0"))
}

/// Returns the end of broker 3's log `name` by Kafka's `DumpLogSegments`.
pub(super) fn end_on_disk(trio: &mut Trio, name: &str) -> i64 {
    let folder = trio.broker(3).folder().to_owned();
    let mut segments: Vec<PathBuf> = ["data1", "data2"]
        .iter()
        .filter_map(|dir| std::fs::read_dir(folder.join(dir).join(name)).ok())
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "log"))
        .collect();
    segments.sort();
    let class = match trio.kafka.version.as_str() {
        "4.4.0" => "org.apache.kafka.tools.DumpLogSegments",
        _ => "kafka.tools.DumpLogSegments",
    };
    let mut dump = trio.kafka.java("256m", class);
    dump.arg("--files").arg(segments.last().unwrap());
    let output = run(&mut dump, "dumping a segment");
    let text = String::from_utf8(output.stdout).unwrap();
    let last = text
        .lines()
        .filter_map(|line| line.split("lastOffset: ").nth(1))
        .next_back();
    last.unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse::<i64>()
        .unwrap()
        + 1
}
