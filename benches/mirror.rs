//! A million offset syncs and 100,000 checkpoints, read from disk and folded.
//!
//! `cargo bench --bench mirror`; the folder is `KRESCUE_BENCH_DIR`, else the system's temporary one. Prints the median;
//! nothing is asserted, since a shared machine may be at anything else.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a bench prints, and fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use krescue::disk::RealStorage;
use krescue::engine::{FactsRequest, read_cluster_facts};
use krescue::format::mirror_record::{MirrorCheckpoint, OffsetSync};
use krescue::format::record::NewRecord;
use krescue::format::record_batch::{BatchHeader, HEADER_LEN, encode_batch};
use krescue::mirror::Thinning;
use krescue::terms::{Offset, Timestamp};

const SYNCS: i32 = 1_000_000;
const CHECKPOINTS: i32 = 100_000;
/// Records of a batch.
const BATCH: i32 = 200;
const ROUNDS: usize = 9;

fn main() {
    let parent =
        std::env::var_os("KRESCUE_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(parent).unwrap();
    let syncs = write(folder.path(), "mm2-offset-syncs.b.internal-0", SYNCS, |n| {
        let offset = Offset(i64::from(n / 1000 * 100));
        OffsetSync {
            topic: &format!("orders-{}", n % 50),
            partition: n / 50 % 20,
            upstream: offset,
            downstream: offset,
        }
        .encode()
    });
    let checkpoints = write(
        folder.path(),
        "a.checkpoints.internal-0",
        CHECKPOINTS,
        |n| {
            MirrorCheckpoint {
                group: &format!("group-{}", n % 500),
                topic: "a.orders-1",
                partition: n % 20,
                upstream: Offset(i64::from(n)),
                downstream: Offset(i64::from(n)),
                metadata: "",
            }
            .encode()
        },
    );
    let dirs: Vec<PathBuf> = vec![folder.path().to_owned()];
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| read(&dirs)).collect();
    times.sort();
    let median = times[ROUNDS / 2];
    let bytes = syncs + checkpoints;
    println!(
        "{SYNCS} syncs and {CHECKPOINTS} checkpoints, {:.1} MB: {:.3} s, {:.0} MB/s",
        bytes as f64 / 1e6,
        median.as_secs_f64(),
        bytes as f64 / 1e6 / median.as_secs_f64()
    );
}

fn read(dirs: &[PathBuf]) -> Duration {
    let counter = AtomicU64::new(0);
    let request = FactsRequest {
        log_dirs: dirs,
        host: "bench",
        now: Timestamp(0),
        thinning: Thinning::Cursor,
        counter: &counter,
    };
    let start = Instant::now();
    let facts = read_cluster_facts(&RealStorage, request).unwrap();
    let time = start.elapsed();
    let syncs = facts.offset_syncs("mm2-offset-syncs.b.internal").unwrap();
    assert_eq!(syncs.partitions.len(), 50);
    time
}

/// Writes a log of `count` records; returns its bytes.
fn write(folder: &Path, name: &str, count: i32, record: impl Fn(i32) -> (Vec<u8>, Vec<u8>)) -> u64 {
    let dir = folder.join(name);
    fs::create_dir(&dir).unwrap();
    let mut log = vec![];
    for base in (0..count / BATCH).map(|batch| batch * BATCH) {
        let mut records = vec![];
        for delta in 0..BATCH {
            let (key, value) = record(base + delta);
            NewRecord {
                timestamp_delta: 0,
                offset_delta: delta,
                key: Some(&key),
                value: Some(&value),
                headers: &[],
            }
            .encode_into(&mut records);
        }
        let mut header = BatchHeader::decode(&[0; HEADER_LEN]).unwrap();
        header.base_offset = Offset(i64::from(base));
        header.magic = 2;
        header.last_offset_delta = BATCH - 1;
        header.producer_id.0 = -1;
        header.records_count = BATCH;
        log.extend(encode_batch(&header, &records));
    }
    fs::write(dir.join("00000000000000000000.log"), &log).unwrap();
    log.len() as u64
}
