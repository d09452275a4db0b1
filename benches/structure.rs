//! A look at names, sizes and checkpoints of 10,000 partitions with 100,000 files, against a plain walk with `stat`, in turns.
//!
//! `cargo bench --bench structure`; the folder is `KRESCUE_BENCH_DIR`, else the system's temporary one. Prints the medians and the
//! largest resident size; nothing is asserted, since a shared machine may be at anything else.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench prints, and fails by panicking"
)]

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use krescue::engine::{PlanSpec, Reading, start_plan};
use krescue::terms::{KafkaVersion, Timestamp};

const PARTITIONS: usize = 10_000;
const DIRS: usize = 2;
const ROUNDS: usize = 7;

fn main() {
    let parent =
        std::env::var_os("KRESCUE_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(parent).unwrap();
    let dirs: Vec<PathBuf> = (0..DIRS)
        .map(|n| folder.path().join(format!("d{n}")))
        .collect();
    for dir in &dirs {
        write_log_dir(dir);
    }
    let files = dirs.iter().map(|dir| walk(dir)).sum::<u64>();
    println!("{PARTITIONS} partitions, {files} files and dirs, warm, {ROUNDS} rounds");
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let plain = timed(|| dirs.iter().map(|dir| walk(dir)).sum::<u64>());
        let look = timed(|| look(&dirs));
        rounds.push((plain, look));
    }
    let median = |part: fn(&(Duration, Duration)) -> Duration| {
        let mut times: Vec<Duration> = rounds.iter().map(part).collect();
        times.sort();
        times[ROUNDS / 2]
    };
    let (plain, look) = (median(|round| round.0), median(|round| round.1));
    println!(
        "plain walk {plain:.1?}; structure {look:.1?}; x {:.2}; largest resident size {} MiB",
        look.as_secs_f64() / plain.as_secs_f64(),
        largest_resident_kib() / 1024
    );
}

/// Ten files a partition: two segments with their indexes, epochs, topic id, two snapshots.
fn write_log_dir(dir: &Path) {
    std::fs::create_dir(dir).unwrap();
    std::fs::write(dir.join("meta.properties"), "version=1\n").unwrap();
    let mut points = format!("0\n{}\n", PARTITIONS / DIRS);
    for number in 0..PARTITIONS / DIRS {
        let topic = format!("topic-{}", number % 97);
        let partition = dir.join(format!("{topic}-{number}"));
        std::fs::create_dir(&partition).unwrap();
        for base in [0, 1000] {
            for suffix in ["log", "index", "timeindex", "snapshot"] {
                let name = format!("{base:020}.{suffix}");
                std::fs::write(partition.join(name), b"").unwrap();
            }
        }
        std::fs::write(partition.join("leader-epoch-checkpoint"), "0\n1\n0 0\n").unwrap();
        let metadata = "version: 0\ntopic_id: WJP-YmuvQ7ieid7KZyv-lA";
        std::fs::write(partition.join("partition.metadata"), metadata).unwrap();
        writeln!(points, "{topic} {number} 1000").unwrap();
    }
    std::fs::write(dir.join("recovery-point-offset-checkpoint"), points).unwrap();
}

/// Lists everything below a dir and asks for each entry's size, as `find -size` does.
fn walk(dir: &Path) -> u64 {
    let mut entries = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let stat = entry.metadata().unwrap();
        entries += 1 + u64::from(stat.size() == u64::MAX);
        if stat.is_dir() {
            entries += walk(&entry.path());
        }
    }
    entries
}

fn look(dirs: &[PathBuf]) -> usize {
    let now = Timestamp(1_700_000_000_000);
    let mut spec = PlanSpec::new(dirs.to_vec(), KafkaVersion::NEWEST_KNOWN, now);
    spec.reading = Reading::Structure;
    let made = start_plan(spec).unwrap().join().unwrap();
    assert_eq!(made.plan.partitions().count(), PARTITIONS);
    made.plan.partitions().count()
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let begin = Instant::now();
    std::hint::black_box(work());
    begin.elapsed()
}

/// Returns `VmHWM` of this process.
fn largest_resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
