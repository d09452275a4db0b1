//! Verdicts over 100,000 segments, a frame of the segments pane while other limits are typed, and the metadata image of a
//! large snapshot.
//!
//! `cargo bench --bench retention`. Prints medians; nothing is asserted, since a shared machine may be at anything else.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a bench prints, and fails by panicking"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use krescue::cluster::{ImageFold, LogConfig};
use krescue::format::record_batch::{BatchHeader, UncheckedBatch, encode_batch};
use krescue::plan::retention::{
    BrokerRules, HighWatermark, HostRetention, LogFacts, LogRole, RetainedLog, RetentionLimits,
    SegmentFacts, TimeSource, WhatIf, WhatIfScope,
};
use krescue::terms::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp, TopicPartition};

const ROUNDS: usize = 9;
const LOGS: i64 = 1000;
const SEGMENTS: i64 = 100;
const NOW: Timestamp = Timestamp(1_796_047_351_000);
const SNAPSHOT: usize = 256 << 20;

fn main() {
    let host = host();
    let none = WhatIf::default();
    let took = median(|| host.judge(none, &WhatIfScope::Host));
    println!("verdicts on {} segments: {took:?}", LOGS * SEGMENTS);
    let wish = WhatIf {
        retention_ms: Some(259_200_000),
        retention_bytes: Some(20 << 30),
    };
    let took = median(|| {
        let judged = host.judge(wish, &WhatIfScope::Host);
        host.topics(&judged)
    });
    println!("the same by other limits, with sums by topic: {took:?}");
    let batches = snapshot();
    let bytes: usize = batches.iter().map(Vec::len).sum();
    let took = median(|| {
        let mut fold = ImageFold::new();
        for batch in &batches {
            let (batch, _) = UncheckedBatch::split_first(batch).unwrap();
            fold.snapshot_batch(&batch.check_crc().unwrap());
        }
        fold.finish()
    });
    let rate = bytes as f64 / took.as_secs_f64() / 1e6;
    println!(
        "image of {} MiB of a snapshot: {took:?}, {rate:.0} MB/s",
        bytes >> 20
    );
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

fn host() -> HostRetention {
    let config = Arc::new(LogConfig::default());
    let log = |number: i64| {
        let segments = (0..SEGMENTS).map(|index| SegmentFacts {
            base_offset: Offset(index * 1000),
            bytes: 1 << 30,
            allocated: 1 << 30,
            freed: (1 << 30) + 20_480,
            largest_timestamp: Timestamp(NOW.0 - (SEGMENTS - index) * 7_200_000),
            time_source: TimeSource::TimeIndex,
        });
        let topic = format!("topic-{}", number % 97);
        let end = Offset(SEGMENTS * 1000);
        RetainedLog {
            limits: RetentionLimits::of(&topic, &config, BrokerRules::default()),
            facts: LogFacts {
                log_dir: "/data1".into(),
                dir_name: format!("{topic}-{number}"),
                topic_partition: TopicPartition::new(&topic, i32::try_from(number).unwrap()),
                role: LogRole::Current,
                segments: segments.collect(),
                log_start_offset: Offset(0),
                log_end_offset: Some(end),
                high_watermark: HighWatermark::SoleInSync(end),
                active_since: None,
                cleaner_offset: None,
                cleaner_written_at: None,
                open_transaction: None,
                recovered_from: None,
                leftovers: vec![],
                findings: vec![],
            },
            config: Arc::clone(&config),
            leads: Some(true),
            placement: None,
            gave_up: None,
        }
    };
    HostRetention {
        logs: (0..LOGS).map(log).collect(),
        broker: BrokerRules::default(),
        now: NOW,
        is_served: false,
    }
}

/// Returns batches of a snapshot: topics with 100 partitions each, in batches of about 1 MiB.
fn snapshot() -> Vec<Vec<u8>> {
    let (mut batches, mut bytes, mut topic) = (Vec::new(), 0, 0_u128);
    while bytes < SNAPSHOT {
        let (mut records, mut count) = (Vec::new(), 0);
        while records.len() < 1 << 20 {
            topic += 1;
            let id = topic.to_be_bytes();
            let name = format!("topic-{topic}");
            let mut value = vec![1, 2, 0, u8::try_from(name.len() + 1).unwrap()];
            value.extend(name.as_bytes());
            value.extend(id);
            value.push(0);
            record(&mut records, &mut count, &value);
            for partition in 0..100_i32 {
                let mut value = vec![1, 3, 1];
                value.extend(partition.to_be_bytes());
                value.extend(id);
                for list in [&[1, 2, 3][..], &[1, 2, 3], &[], &[]] {
                    value.push(u8::try_from(list.len() + 1).unwrap());
                    value.extend(list.iter().flat_map(|id: &i32| id.to_be_bytes()));
                }
                value.extend([0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 9]);
                value.push(4);
                value.extend([id, id, id].concat());
                value.push(0);
                record(&mut records, &mut count, &value);
            }
        }
        let header = BatchHeader {
            base_offset: Offset(0),
            batch_length: 0,
            partition_leader_epoch: LeaderEpoch(1),
            magic: 2,
            crc: 0,
            attributes: krescue::format::record_batch::Attributes(0),
            last_offset_delta: count - 1,
            base_timestamp: NOW,
            max_timestamp: NOW,
            producer_id: ProducerId(-1),
            producer_epoch: ProducerEpoch(-1),
            base_sequence: -1,
            records_count: count,
        };
        let batch = encode_batch(&header, &records);
        bytes += batch.len();
        batches.push(batch);
    }
    batches
}

fn record(records: &mut Vec<u8>, count: &mut i32, value: &[u8]) {
    let mut fields = vec![0];
    varint(&mut fields, 0);
    varint(&mut fields, i64::from(*count));
    varint(&mut fields, -1);
    varint(&mut fields, i64::try_from(value.len()).unwrap());
    fields.extend(value);
    varint(&mut fields, 0);
    varint(records, i64::try_from(fields.len()).unwrap());
    records.extend(fields);
    *count += 1;
}

fn varint(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest > 0x7f {
        out.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
        rest >>= 7;
    }
    out.push(u8::try_from(rest).unwrap());
}
