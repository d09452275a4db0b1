//! How far `watch` says that a real boot is, beside what its threads have read by the system's own counters.
#![expect(clippy::cast_precision_loss, reason = "shares in percent")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use krescue::format::record_batch::{Attributes, BatchHeader, encode_batch};
use krescue::terms::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};
use serde_json::Value;

use crate::loading::work_folder;
use crate::support::broker::{Broker, PATIENCE};
use crate::support::kafka::Kafka;
use crate::support::krescue::watch_command;
use crate::support::process::Process;
use crate::support::random::Random;
use crate::support::source::now_ms;
use crate::watch_figures::{CpuMeter, end_times};

const MIB: usize = 1 << 20;
/// Logs in all; each sixteenth is large.
const LOGS: usize = 160;
/// The bytes of a large one; the others have one batch.
const LARGE: usize = 64 * MIB;
const BATCH: usize = 16 << 10;
/// How far progress may be off, in percent of the boot.
const OFF: f64 = 3.0;
/// How far an end time may be off from half of the load on, in percent of the load.
const END_OFF: f64 = 20.0;
/// How long a load must be for that, in ms, and how much of their time its threads may have waited for a processor.
const LONG_MS: i64 = 8_000;
const QUIET: f64 = 15.0;
/// What looking may take of a processor, in percent of what the broker takes: the program is not optimized here, which takes
/// several times as much as one that is, and on a busy machine it looks longer.
const LOOKING: f64 = 50.0;

#[test]
fn progress_is_what_the_threads_have_read_3_9_1_1_thread() {
    measured("3.9.1", 1, 1);
}

#[test]
fn progress_is_what_the_threads_have_read_4_0_2_1_thread() {
    measured("4.0.2", 1, 1);
}

#[test]
fn progress_is_what_the_threads_have_read_4_4_0_2_threads() {
    measured("4.4.0", 2, 1);
}

/// Five times as much, over 3 GiB, for which the machine must be quiet; each takes a minute or more.
#[test]
#[ignore = "3 GiB a boot"]
fn ends_are_foretold_over_3_gib() {
    for (version, threads) in [("3.9.1", 1), ("4.0.2", 1), ("4.4.0", 2)] {
        measured(version, threads, 5);
    }
}

/// What the recovery threads had read, at a moment between `begin` and `end`.
#[derive(Debug, Clone, Copy)]
struct Sample {
    begin: i64,
    end: i64,
    bytes: u64,
    /// How long the threads that are alive ran, and waited for a processor, in ns.
    ran: [u64; 2],
}

/// Watches the boot of a crashed broker over `scale` times the usual bytes.
fn measured(version: &str, threads: u32, scale: usize) {
    let folder = work_folder(&format!("watch-accuracy-{version}-{threads}"));
    let node = folder.join("node");
    let setting = format!("num.recovery.threads.per.data.dir={threads}");
    let mut broker = Broker::create(Kafka::resolve(version), &node, &[&setting]);
    let bulk = write_logs(&node, scale);
    let sizes = write_points(&node);
    let recording = folder.join("boot.jsonl");
    let options = ["--record", recording.to_str().unwrap()];
    let mut watch = Process::spawn(&mut watch_command(&node, &options), &folder.join("watch"));
    broker.launch();
    let cpu = CpuMeter::start([watch.id(), broker.process_id().unwrap()]);
    let truth = sample(&broker);
    let status = watch.wait(PATIENCE);
    let [of_watch, of_broker] = cpu.end();
    broker.wait_until_up();
    let total = bulk + bytes_said_to_be_read(&broker.output(), &sizes);
    broker.kill();
    // The logs are of no topic, so they are strays to this broker.
    assert_eq!(status.code(), Some(3), "{}", watch.output());
    let lines: Vec<Value> = (watch.output().lines())
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &Value| line["kind"] == "progress")
        .collect();
    let last = lines.last().unwrap();
    assert_eq!(last["bytes_total"].as_u64(), Some(total));
    assert_eq!(last["bytes_done"].as_u64(), Some(total));
    // The counters know nothing of recovery points: what was read in all is what was planned, and a header more a batch.
    let read = truth.last().unwrap().bytes as f64 / total as f64;
    assert!(
        (1.0..1.0 + OFF / 100.0).contains(&read),
        "{read} of what was planned was read"
    );
    let checked = compare(&lines, &truth, total);
    let load = (truth[0].begin, truth.last().unwrap().end);
    let waited = waited(&truth);
    let (text, most) = end_times(&lines, load);
    eprintln!(
        "{version}, {threads} threads: {total} bytes, {checked} looks within {OFF} %; {text}; the threads waited for a \
         processor {waited:.0} % of their time; watch ran {of_watch} ms, the broker {of_broker} ms"
    );
    // On a machine that does other things meanwhile no end can be foretold, nor that of a load of some seconds.
    if waited <= QUIET && load.1 - load.0 >= LONG_MS {
        assert!(most <= END_OFF, "{text}");
    }
    assert!(
        of_watch as f64 <= of_broker as f64 * LOOKING / 100.0,
        "watch ran {of_watch} ms, the broker {of_broker} ms"
    );
    replayed(&folder);
    fs::remove_dir_all(&folder).unwrap();
}

/// Compares each line of the load with the truth; returns how many there were.
///
/// The counters of a look are read between its own time and that of the next, however late this test is.
fn compare(lines: &[Value], truth: &[Sample], total: u64) -> usize {
    let all = truth.last().unwrap().bytes as f64;
    let percent = |sample: Option<&Sample>| sample.map_or(0.0, |at| at.bytes as f64 * 100.0 / all);
    let at = |line: &Value| {
        let at: jiff::Timestamp = line["at"].as_str().unwrap().parse().unwrap();
        at.as_millisecond()
    };
    let mut before = 0;
    let mut checked = 0;
    for (number, line) in lines.iter().enumerate() {
        let done = line["bytes_done"].as_u64().unwrap();
        assert!(done >= before, "went back: {line}");
        before = done;
        if line["phase"] != "loading" {
            continue;
        }
        let said = done as f64 * 100.0 / total as f64;
        let earlier = truth.iter().rfind(|sample| sample.end <= at(line));
        let least = percent(earlier) - OFF;
        let next = lines.get(number + 1).map_or(i64::MAX, at);
        let later = truth.iter().find(|sample| sample.begin >= next);
        let most = percent(later.or(truth.last())) + OFF;
        assert!(
            (least..=most).contains(&said),
            "{said} is not in {least} .. {most}: {}, {}, {} of {} bytes",
            line["at"],
            line["bytes_source"],
            line["bytes_done"],
            line["bytes_total"]
        );
        checked += 1;
    }
    checked
}

/// Reads the counters of the recovery threads until they are gone.
fn sample(broker: &Broker) -> Vec<Sample> {
    let process = PathBuf::from(format!("/proc/{}", broker.process_id().unwrap()));
    let mut truth = Vec::new();
    // What all else in the process had read before; meanwhile it reads next to nothing. The process keeps what a thread
    // has read that has ended.
    let mut others: Option<u64> = None;
    loop {
        let (begin, mut own, mut ran) = (now_ms(), None, [0; 2]);
        let tasks = fs::read_dir(process.join("task"));
        for entry in tasks.into_iter().flatten().flatten() {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            if name.starts_with("log-recovery-")
                && let Some(read) = bytes_read(&entry.path())
            {
                *own.get_or_insert(0) += read;
                let of = times(&entry.path()).unwrap_or_default();
                ran = [ran[0] + of[0], ran[1] + of[1]];
            }
        }
        if own.is_some() || others.is_some() {
            let all = bytes_read(&process).unwrap();
            let others = *others.get_or_insert(all.saturating_sub(own.unwrap_or(0)));
            let (end, bytes) = (now_ms(), all.saturating_sub(others));
            truth.push(Sample {
                begin,
                end,
                bytes,
                ran,
            });
        }
        if own.is_none() && !truth.is_empty() {
            return truth;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns what a process or thread has read.
fn bytes_read(of: &Path) -> Option<u64> {
    let io = fs::read_to_string(of.join("io")).ok()?;
    let read = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    read?.parse().ok()
}

/// Returns how long a thread ran and how long it waited for a processor, in ns.
fn times(of: &Path) -> Option<[u64; 2]> {
    let text = fs::read_to_string(of.join("schedstat")).ok()?;
    let mut words = text.split_whitespace();
    let mut next = || words.next()?.parse().ok();
    Some([next()?, next()?])
}

/// Returns how much of their time the threads waited for a processor, in percent.
fn waited(truth: &[Sample]) -> f64 {
    let most = truth
        .iter()
        .max_by_key(|sample| sample.ran[0] + sample.ran[1]);
    let [ran, waited] = most.unwrap().ran;
    waited as f64 * 100.0 / (ran + waited).max(1) as f64
}

/// The recording of the same boot tells the same end, anywhere.
fn replayed(folder: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
    command.arg("replay").arg(folder.join("boot.jsonl"));
    let output = command.env_clear().stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.ends_with("the broker is up\n"), "{text}");
    assert!(text.contains("LOSS"), "{text}");
}

/// Segments of a log with a recovery point, and batches of one.
const SEGMENTS: i64 = 3;
const BATCHES: i64 = 128;

/// Writes a log for each kind of recovery point: none, 0, inside a segment, at its base, at the end, beyond it. Returns the
/// size of each segment.
fn write_points(node: &Path) -> BTreeMap<(String, i64), u64> {
    let mut random = Random::new(11);
    let end = SEGMENTS * BATCHES;
    let points = [
        None,
        Some(0),
        Some(BATCHES + 40),
        Some(2 * BATCHES),
        Some(end),
        Some(end + 1000),
    ];
    let mut sizes = BTreeMap::new();
    let mut lines = Vec::new();
    for (number, point) in points.iter().enumerate() {
        let name = format!("points-{number}");
        let dir = node.join("data1").join(&name);
        fs::create_dir(&dir).unwrap();
        for first in (0..SEGMENTS).map(|segment| segment * BATCHES) {
            let log: Vec<u8> = (first..first + BATCHES)
                .flat_map(|base| batch(base, &random.bytes(BATCH)))
                .collect();
            let file = |ending: &str| dir.join(format!("{first:020}.{ending}"));
            fs::write(file("log"), &log).unwrap();
            fs::write(file("index"), []).unwrap();
            fs::write(file("timeindex"), []).unwrap();
            sizes.insert((name.clone(), first), log.len() as u64);
        }
        lines.extend(point.map(|point| format!("points {number} {point}\n")));
    }
    let text = format!("0\n{}\n{}", lines.len(), lines.concat());
    fs::write(node.join("data1/recovery-point-offset-checkpoint"), text).unwrap();
    sizes
}

/// Returns the bytes of the segments that the broker says it reads, by its own lines.
fn bytes_said_to_be_read(output: &str, sizes: &BTreeMap<(String, i64), u64>) -> u64 {
    let mut said = BTreeMap::new();
    for line in output.lines() {
        let Some((_, rest)) = line.split_once("[LogLoader partition=points-") else {
            continue;
        };
        let Some((_, base)) = rest.split_once("Recovering unflushed segment ") else {
            continue;
        };
        let number = rest.split(',').next().unwrap();
        let base: i64 = base.split('.').next().unwrap().parse().unwrap();
        let key = (format!("points-{number}"), base);
        said.insert(key.clone(), sizes[&key]);
    }
    let of = |number: u32| {
        let name = format!("points-{number}");
        said.keys().filter(|(log, _)| *log == name).count()
    };
    // Not all and not none, or nothing was proved.
    assert_eq!([0, 1, 2, 3, 4].map(of), [3, 3, 2, 1, 1], "{said:?}");
    said.values().sum()
}

/// Writes logs of no topic into both log dirs; returns their bytes.
fn write_logs(node: &Path, scale: usize) -> u64 {
    let mut random = Random::new(7);
    let mut large = Vec::with_capacity(LARGE * scale);
    let mut index = Vec::new();
    let mut base = 0;
    while large.len() < LARGE * scale {
        let batch = batch(base, &random.bytes(BATCH));
        if base > 0 {
            index.extend(u32::try_from(base).unwrap().to_be_bytes());
            index.extend(u32::try_from(large.len()).unwrap().to_be_bytes());
        }
        large.extend(batch);
        base += 1;
    }
    let small = batch(0, &random.bytes(500));
    let dirs = ["data1", "data2"];
    let mut total = 0;
    for at in 0..LOGS {
        // The second dir has less, so that one of them is the slowest.
        let dir = node
            .join(dirs[usize::from(at % 3 == 2)])
            .join(format!("bulk-{at}"));
        fs::create_dir(&dir).unwrap();
        let file = |ending: &str| dir.join(format!("{:020}.{ending}", 0));
        let is_large = at % 16 == 0;
        let log = if is_large { &large } else { &small };
        fs::write(file("log"), log).unwrap();
        fs::write(file("index"), if is_large { &index[..] } else { &[] }).unwrap();
        fs::write(file("timeindex"), []).unwrap();
        total += log.len() as u64;
    }
    total
}

fn batch(base: i64, records: &[u8]) -> Vec<u8> {
    let header = BatchHeader {
        base_offset: Offset(base),
        batch_length: 0,
        partition_leader_epoch: LeaderEpoch(0),
        magic: 2,
        crc: 0,
        attributes: Attributes(0),
        last_offset_delta: 0,
        base_timestamp: Timestamp(base),
        max_timestamp: Timestamp(base),
        producer_id: ProducerId(-1),
        producer_epoch: ProducerEpoch(-1),
        base_sequence: -1,
        records_count: 1,
    };
    encode_batch(&header, records)
}
