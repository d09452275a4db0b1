//! Scanning with the CRC of every batch, against plain reads of 1 MiB over the same files, in turns.
//!
//! `cargo bench --bench scan [-- BYTES..]`, with the sizes of batches; the folder is `KRESCUE_BENCH_DIR`, else the system's temporary one. Prints the median of
//! the ratios; nothing is asserted, since a shared machine may be at anything else.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench prints, and fails by panicking"
)]

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use krescue::disk::{Pace, ReadManner, RealStorage, SegmentBytes, Storage as _, WindowBuffer};
use krescue::format::record_batch::{Attributes, BatchHeader, encode_batch};
use krescue::log::{Feed, SegmentLimits, SegmentParser as _, SegmentScanner};
use krescue::terms::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

const SEGMENT: usize = 1 << 30;
const ROUNDS: usize = 9;

fn main() {
    let parent =
        std::env::var_os("KRESCUE_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(parent).unwrap();
    println!(
        "two segments of 1 GiB, warm, {ROUNDS} rounds; x = times the plain reads of the same round"
    );
    println!(
        "{:>8} {:>14} {:>20} {:>20}",
        "batch", "plain 1 MiB", "scan, 1 thread", "scan, 2 threads"
    );
    let wanted: Vec<usize> = std::env::args()
        .filter_map(|size| size.parse().ok())
        .collect();
    let sizes = [300, 4 << 10, 16 << 10, 1 << 20];
    let is_wanted = |size: &usize| wanted.is_empty() || wanted.contains(size);
    for batch in sizes.into_iter().filter(is_wanted) {
        let files = [0, 1].map(|n| {
            let path = folder.path().join(format!("{n}.log"));
            write_segment(&path, batch);
            path
        });
        read_plain(&files);
        let mut rounds: Vec<[Duration; 3]> = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push([
                timed(|| read_plain(&files)),
                timed(|| files.iter().for_each(|file| scan(file))),
                timed(|| {
                    std::thread::scope(|scope| {
                        for file in &files {
                            scope.spawn(move || scan(file));
                        }
                    });
                }),
            ]);
        }
        let plain = median(rounds.iter().map(|[plain, ..]| plain.as_secs_f64()));
        let ratio = |n: usize| {
            median(
                rounds
                    .iter()
                    .map(|round| round[n].as_secs_f64() / round[0].as_secs_f64()),
            )
        };
        let seconds = |n: usize| median(rounds.iter().map(|round| round[n].as_secs_f64()));
        println!(
            "{batch:>8} {plain:>12.3} s {:>10.3} s {:>5.2} x {:>10.3} s {:>5.2} x",
            seconds(1),
            ratio(1),
            seconds(2),
            ratio(2)
        );
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Writes idempotent batches of `size` bytes that nothing can compress.
fn write_segment(path: &Path, size: usize) {
    let mut file = std::io::BufWriter::with_capacity(4 << 20, File::create(path).unwrap());
    let mut noise: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut records = vec![0; size - 61];
    for base in 0..i64::try_from(SEGMENT / size).unwrap() {
        for chunk in records.chunks_mut(8) {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            chunk.copy_from_slice(&noise.to_be_bytes()[..chunk.len()]);
        }
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
            producer_id: ProducerId(1000 + base % 5),
            producer_epoch: ProducerEpoch(0),
            base_sequence: 0,
            records_count: 1,
        };
        file.write_all(&encode_batch(&header, &records)).unwrap();
    }
    file.flush().unwrap();
}

fn read_plain(files: &[PathBuf]) {
    let mut buffer = vec![0; 1 << 20];
    for path in files {
        let file = File::open(path).unwrap();
        let mut position = 0;
        loop {
            let read = file.read_at(&mut buffer, position).unwrap();
            if read == 0 {
                break;
            }
            position += read as u64;
            std::hint::black_box(&buffer);
        }
    }
}

fn scan(path: &Path) {
    let file = RealStorage.open(path).unwrap();
    let len = file.file_len().unwrap();
    let (pace, counter, mut buffer) = (
        Pace::unlimited(),
        AtomicU64::new(0),
        WindowBuffer::default(),
    );
    let manner = ReadManner {
        pace: &pace,
        keeps_cache: false,
        counter: &counter,
    };
    let mut bytes = SegmentBytes::new(file, path, len, &mut buffer, manner);
    let limits = SegmentLimits {
        index_interval_bytes: 4096,
        segment_index_bytes: 10 << 20,
    };
    let mut scanner = SegmentScanner::new(Offset(0), len, limits);
    let mut needed = 0;
    while let Feed::More { needed: more } =
        scanner.feed(bytes.window(scanner.position().0, needed).unwrap())
    {
        needed = more;
    }
    assert_eq!(scanner.finish().valid_up_to.0, len);
}
