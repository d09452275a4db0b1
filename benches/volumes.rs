//! What fills a log dir of 10,000 partitions and 100,000 files, against a plain walk with a `stat` for each file; and the
//! first screen of the volumes pane over it.
//!
//! `cargo bench --bench volumes`. Prints medians; nothing is asserted, since a shared machine may be at anything else.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench prints, and fails by panicking"
)]

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use krescue::app::state::{VolumesFacts, VolumesView};
use krescue::disk::RealStorage;
use krescue::engine::{survey_all, volume_facts};
use krescue::plan::volumes::{VolumeFacts, VolumeReport};
use krescue::terms::Timestamp;

const ROUNDS: usize = 7;
const PARTITIONS: usize = 10_000;
const TOPICS: usize = 97;
/// Two segments with three indexes each, a leader-epoch checkpoint and the topic's id.
const FILES: [&str; 10] = [
    "00000000000000000000.log",
    "00000000000000000000.index",
    "00000000000000000000.timeindex",
    "00000000000000000000.txnindex",
    "00000000000000301223.log",
    "00000000000000301223.index",
    "00000000000000301223.timeindex",
    "00000000000000301223.snapshot",
    "leader-epoch-checkpoint",
    "partition.metadata",
];

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("data1");
    for number in 0..PARTITIONS {
        let log = dir.join(format!("topic-{}-{number}", number % TOPICS));
        std::fs::create_dir_all(&log).unwrap();
        for name in FILES {
            std::fs::write(log.join(name), b"").unwrap();
        }
    }
    let now = Timestamp(1_796_047_351_000);
    let dirs = [dir.clone()];
    println!("{} files in {PARTITIONS} dirs", count(&dir));
    let walk = median(|| walk(&dir));
    println!("a plain walk with stat: {walk:?}");
    let took = median(|| survey_all(&RealStorage, &dirs, now));
    ratio("all that fills it", took, walk);
    let took = median(|| first_screen(&dirs, now));
    ratio(
        "all that fills it, judged, sorted, entered to its topics",
        took,
        walk,
    );
}

fn ratio(what: &str, took: Duration, walk: Duration) {
    let ratio = took.as_secs_f64() / walk.as_secs_f64();
    println!("{what}: {took:?}, {ratio:.2} of the walk");
}

fn count(dir: &Path) -> usize {
    let logs = std::fs::read_dir(dir).unwrap();
    logs.map(|log| std::fs::read_dir(log.unwrap().path()).unwrap().count())
        .sum()
}

/// Returns the bytes of all files on one thread, as `du` counts them.
fn walk(dir: &Path) -> u64 {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        bytes += metadata.blocks() * 512;
        if metadata.is_dir() {
            bytes += walk(&path);
        }
    }
    bytes
}

/// Returns what the pane shows first, and what it shows one step in.
fn first_screen(dirs: &[PathBuf], now: Timestamp) -> usize {
    let mut facts: Vec<VolumeFacts> = volume_facts(dirs);
    for (facts, usage) in facts.iter_mut().zip(survey_all(&RealStorage, dirs, now)) {
        facts.usage = usage.unwrap();
    }
    let facts = VolumesFacts {
        report: VolumeReport::of(facts, &[], now, 100),
        dirs_done: 0,
        dirs_total: 0,
        at: now,
    };
    let mut view = VolumesView::default();
    view.refresh(Some(&facts));
    for _ in 0..2 {
        view.enter(&facts.report);
        view.refresh(Some(&facts));
    }
    view.items().len()
}

fn median<T>(work: impl Fn() -> T) -> Duration {
    let mut rounds: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            std::hint::black_box(work());
            begun.elapsed()
        })
        .collect();
    rounds.sort_unstable();
    rounds[ROUNDS / 2]
}
