//! `recover --hand-over verify` against a real broker's own log loading over the same log dirs, in turns, warm or cold.
//!
//! `cargo bench --features real-kafka --bench recover [-- NAME.. TURNS]`; needs what the broker tests need, and room for 9 GiB
//! below the target folder. A boot is measured by its own line `Loaded N logs in T ms`, krescue by the wall clock of the
//! whole command, plan and apply. Before each turn the recovery points are forgotten and the producer snapshots moved away,
//! so both read and check every batch.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench prints, and fails by panicking"
)]

#[expect(dead_code, reason = "the broker tests use the rest")]
#[path = "../tests/broker/support/mod.rs"]
mod support;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use krescue::format::record_batch::{Attributes, BatchHeader, encode_batch};
use krescue::terms::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

use support::broker::{Broker, PATIENCE};
use support::kafka::{Kafka, run, target};
use support::process::Process;

const VERSION: &str = "4.4.0";
/// Turns of each, unless told.
const ROUNDS: usize = 3;

/// What lies in the log dirs.
struct Shape {
    name: &'static str,
    partitions: usize,
    segments: usize,
    segment_bytes: usize,
    batch_bytes: usize,
    /// The broker's recovery threads for its only log dir.
    threads: u32,
    /// Whether the page cache is dropped before each turn; takes root.
    cold: bool,
    /// How many times faster krescue is meant to be.
    goal: f64,
}

const SHAPES: [Shape; 5] = [
    Shape {
        name: "large",
        partitions: 1,
        segments: 4,
        segment_bytes: 1 << 30,
        batch_bytes: 16 << 10,
        threads: 1,
        cold: false,
        goal: 4.0,
    },
    Shape {
        name: "medium",
        partitions: 200,
        segments: 1,
        segment_bytes: 20 << 20,
        batch_bytes: 16 << 10,
        threads: 2,
        cold: false,
        goal: 5.0,
    },
    Shape {
        name: "cold",
        partitions: 200,
        segments: 1,
        segment_bytes: 20 << 20,
        batch_bytes: 16 << 10,
        threads: 2,
        cold: true,
        goal: 2.0,
    },
    Shape {
        name: "small",
        partitions: 2000,
        segments: 1,
        segment_bytes: 2 << 10,
        batch_bytes: 512,
        threads: 1,
        cold: false,
        goal: 20.0,
    },
    // As many threads as a broker of 4.0 or later takes by itself.
    Shape {
        name: "small-2",
        partitions: 2000,
        segments: 1,
        segment_bytes: 2 << 10,
        batch_bytes: 512,
        threads: 2,
        cold: false,
        goal: 20.0,
    },
];

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|name| !name.starts_with('-'))
        .collect();
    let turns = wanted.iter().find_map(|word| word.parse().ok());
    let wanted: Vec<String> = wanted
        .into_iter()
        .filter(|word| word.parse::<usize>().is_err())
        .collect();
    for shape in SHAPES
        .iter()
        .filter(|shape| wanted.is_empty() || wanted.iter().any(|name| name == shape.name))
    {
        let kafka = Kafka::resolve(VERSION);
        let folder = target().join("kafka/bench").join(shape.name);
        let _ = fs::remove_dir_all(&folder);
        let threads = format!("num.recovery.threads.per.data.dir={}", shape.threads);
        let dirs = format!("log.dirs={}", log_dir(&folder).display());
        let settings = ["log.index.interval.bytes=4096", &threads, &dirs];
        let mut broker = Broker::create(kafka.clone(), &folder, &settings);
        broker.start();
        let mut create = kafka.java("256m", "org.apache.kafka.tools.TopicCommand");
        create.args([
            "--bootstrap-server",
            &broker.bootstrap(),
            "--create",
            "--topic",
            "bench",
            "--partitions",
        ]);
        run(
            create.arg(shape.partitions.to_string()),
            "creating the topic",
        );
        // The broker makes the dirs after it has answered, and takes one without its metadata for a stray at a boot.
        let asked = Instant::now();
        let made = |folder: &Path| {
            let dirs = partition_dirs(folder).into_iter();
            dirs.filter(|dir| dir.join("partition.metadata").exists())
                .count()
        };
        while made(&folder) < shape.partitions {
            assert!(
                asked.elapsed() < PATIENCE,
                "the broker does not make its partitions"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        broker.kill();
        let dirs = partition_dirs(&folder);
        for dir in &dirs {
            fill(dir, shape);
        }
        let mut rounds = Vec::new();
        // The first turn makes the indexes that both find afterwards.
        for round in 0..=turns.unwrap_or(ROUNDS) {
            forget(&folder, &dirs, shape.cold);
            let ours = krescue(&folder);
            forget(&folder, &dirs, shape.cold);
            let theirs = boot(&kafka, &folder);
            if round > 0 {
                rounds.push((ours.as_secs_f64(), theirs.as_secs_f64()));
            }
        }
        let ratio = median(rounds.iter().map(|(ours, theirs)| theirs / ours));
        println!(
            "{:<7} {:>5} logs of {} x {:>10} B  broker with {} threads {:>7.3} s  krescue {:>7.3} s  {:>5.1} x (goal {} x)",
            shape.name,
            shape.partitions,
            shape.segments,
            shape.segment_bytes,
            shape.threads,
            median(rounds.iter().map(|(_, theirs)| *theirs)),
            median(rounds.iter().map(|(ours, _)| *ours)),
            ratio,
            shape.goal
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn log_dir(folder: &Path) -> PathBuf {
    folder.join("data1")
}

fn partition_dirs(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(log_dir(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("bench-")
        })
        .collect()
}

/// Replaces what the broker left in a partition dir by segments of valid batches.
fn fill(dir: &Path, shape: &Shape) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap() != "partition.metadata" {
            fs::remove_file(path).unwrap();
        }
    }
    let batches = i64::try_from(shape.segment_bytes / shape.batch_bytes).unwrap();
    let mut noise: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut records = vec![0; shape.batch_bytes - 61];
    for segment in 0..i64::try_from(shape.segments).unwrap() {
        let base = segment * batches;
        let path = dir.join(format!("{base:020}.log"));
        let mut file = std::io::BufWriter::with_capacity(4 << 20, fs::File::create(path).unwrap());
        for offset in base..base + batches {
            for chunk in records.chunks_mut(8) {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                chunk.copy_from_slice(&noise.to_be_bytes()[..chunk.len()]);
            }
            let header = BatchHeader {
                base_offset: Offset(offset),
                batch_length: 0,
                partition_leader_epoch: LeaderEpoch(0),
                magic: 2,
                crc: 0,
                attributes: Attributes(0),
                last_offset_delta: 0,
                base_timestamp: Timestamp(1_700_000_000_000 + offset),
                max_timestamp: Timestamp(1_700_000_000_000 + offset),
                producer_id: ProducerId(-1),
                producer_epoch: ProducerEpoch(-1),
                base_sequence: -1,
                records_count: 1,
            };
            file.write_all(&encode_batch(&header, &records)).unwrap();
        }
        file.flush().unwrap();
    }
}

/// Lets the next recovery read everything, and from the disk where that is asked for.
fn forget(folder: &Path, dirs: &[PathBuf], cold: bool) {
    for name in ["recovery-point-offset-checkpoint", ".kafka_cleanshutdown"] {
        let _ = fs::remove_file(log_dir(folder).join(name));
    }
    // An inode that was freed is not used again for a minute, and ext4 looks long for another.
    let mut asides = (0..).map(|round| folder.join(format!("forgotten-{round}")));
    let aside = asides.find(|aside| !aside.exists()).unwrap();
    fs::create_dir(&aside).unwrap();
    let mut number = 0;
    for dir in dirs {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "snapshot")
            {
                fs::rename(path, aside.join(number.to_string())).unwrap();
                number += 1;
            }
        }
    }
    // What others left to write would be charged to whoever syncs first.
    nix::unistd::sync();
    if cold {
        fs::write("/proc/sys/vm/drop_caches", "3").unwrap();
    }
}

fn krescue(folder: &Path) -> Duration {
    let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
    command
        .arg("--config")
        .arg(folder.join("server.properties"))
        .arg("--state-dir")
        .arg(folder.join("state"));
    command.args([
        "--kafka-version",
        VERSION,
        "recover",
        "--hand-over",
        "verify",
        "--quarantine",
        "none",
    ]);
    command.args(["--apply", "--yes-to-all"]);
    let start = Instant::now();
    let output = command.output().unwrap();
    let took = start.elapsed();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    took
}

/// Boots the broker as operators do, without the flags that make a test's JVM start fast; returns its own time.
fn boot(kafka: &Kafka, folder: &Path) -> Duration {
    let test = kafka.java("1g", "BootAndHalt");
    let mut command = Command::new(test.get_program());
    command.args(
        test.get_args()
            .filter(|argument| !argument.to_string_lossy().starts_with("-XX:")),
    );
    command.arg(folder.join("server.properties"));
    let mut process = Process::spawn(&mut command, &folder.join("boot.log"));
    process.wait(PATIENCE);
    let output = process.output();
    let line = output
        .lines()
        .find(|line| line.contains("Loaded ") && line.contains(" logs in "))
        .unwrap();
    let millis: String = line
        .split(" logs in ")
        .nth(1)
        .unwrap()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    Duration::from_millis(millis.parse().unwrap_or_else(|_| panic!("{line}")))
}
