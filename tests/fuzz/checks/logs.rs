//! Segments and whole logs.

use std::collections::BTreeMap;

use krescue::format::file_name::{FileKind, PartitionFile, segment_file_name};
use krescue::format::record_batch::{Attributes, BatchHeader, encode_batch};
use krescue::log::{ScanStop, SegmentLimits, SegmentScan, SegmentScanner};
use krescue::plan::{LogConfig, OnLoss, RecoveryInputs, StopState};
use krescue::terms::{
    KafkaVersion, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp, TopicPartition,
};

use crate::memory_dir::{MemoryDir, feed};

const LIMITS: SegmentLimits = SegmentLimits {
    index_interval_bytes: 100,
    segment_index_bytes: 4096,
};

fn scan(base: Offset, bytes: &[u8]) -> SegmentScan {
    let mut scanner = SegmentScanner::new(base, bytes.len() as u64, LIMITS);
    feed(&mut scanner, bytes);
    scanner.finish()
}

/// Any bytes as a segment: what the scanner takes for valid is valid when it is all there is.
pub(crate) fn segment_scan(bytes: &[u8]) {
    let whole = scan(Offset(0), bytes);
    let valid = usize::try_from(whole.valid_up_to.0).unwrap();
    let again = scan(Offset(0), &bytes[..valid]);
    // Some stops keep the batch that they are for.
    assert!(again.stop == ScanStop::EndOfFile || again.stop == whole.stop);
    assert_eq!(again.valid_up_to, whole.valid_up_to);
    assert_eq!(again.next_offset, whole.next_offset);
    assert_eq!(again.batches, whole.batches);
}

/// A batch of `count` records of which only the bytes count.
fn batch(base: i64, producer: i64) -> Vec<u8> {
    let mut records = Vec::new();
    for delta in 0..3_u8 {
        // Length, attributes, the two deltas, no key, a value of one byte, no headers; all as zigzag varints.
        records.extend([14, 0, delta * 2, delta * 2, 1, 2, delta, 0]);
    }
    let header = BatchHeader {
        base_offset: Offset(base),
        batch_length: 0,
        partition_leader_epoch: LeaderEpoch(i32::try_from(base / 40).unwrap()),
        magic: 2,
        crc: 0,
        attributes: Attributes(0),
        last_offset_delta: 2,
        base_timestamp: Timestamp(1_700_000_000_000 + base),
        max_timestamp: Timestamp(1_700_000_000_002 + base),
        producer_id: ProducerId(producer),
        producer_epoch: ProducerEpoch(if producer < 0 { -1 } else { 0 }),
        base_sequence: if producer < 0 {
            -1
        } else {
            i32::try_from(base).unwrap()
        },
        records_count: 3,
    };
    encode_batch(&header, &records)
}

/// Three segments of ten batches, with the files that a boot makes of them.
fn good_log(inputs: &RecoveryInputs) -> MemoryDir {
    let mut files = BTreeMap::new();
    for segment in 0..3 {
        let base = segment * 30;
        let bytes = (0..10).flat_map(|number| batch(base + number * 3, number % 3 - 1));
        let name = segment_file_name(Offset(base), FileKind::Log);
        files.insert(name, Some(bytes.collect()));
    }
    let metadata = b"version: 0\ntopic_id: WJP-YmuvQ7ieid7KZyv-lA";
    files.insert("partition.metadata".to_owned(), Some(metadata.to_vec()));
    let dir = MemoryDir {
        name: "t-0".to_owned(),
        files,
    };
    after(&dir, inputs)
}

/// Returns what a boot leaves of a log; the log itself if it does not load it.
fn after(dir: &MemoryDir, inputs: &RecoveryInputs) -> MemoryDir {
    let mut after = dir.clone();
    let plan = dir.plan(inputs);
    if plan.verdict.is_applied() {
        plan.steps.iter().for_each(|step| after.apply(step));
    }
    after
}

fn inputs(recovery_point: Offset) -> RecoveryInputs {
    RecoveryInputs {
        topic_partition: TopicPartition::new("t", 0),
        version: KafkaVersion::new(4, 4, 0),
        now: Timestamp(1_700_000_100_000),
        producer_id_expiration_ms: i64::MAX,
        stop: StopState::Unclean,
        recovery_point: Some(recovery_point),
        log_start_offset: None,
        high_watermark: None,
        config: LogConfig {
            index_interval_bytes: 100,
            segment_index_bytes: 4096,
            ..LogConfig::default()
        },
        on_loss: OnLoss::LikeKafka,
        checkpoint_io_error: false,
        hand_over: krescue::plan::HandOver::Verify,
        truncation: None,
        replicas: None,
        quarantine: Some("quarantine".into()),
    }
}

/// A good log, damaged as the bytes say; planned, applied, scanned and planned again.
pub(crate) fn recovery_plan(bytes: &[u8]) {
    let Some((first, damages)) = bytes.split_first() else {
        return;
    };
    let mut dir = good_log(&inputs(Offset(0)));
    for damage in damages.chunks_exact(5).take(6) {
        apply_damage(&mut dir, damage.try_into().unwrap());
    }
    let recovery_point = Offset(i64::from(first >> 1));
    let mut inputs = inputs(recovery_point);
    if first & 1 == 1 {
        inputs.version = KafkaVersion::new(3, 9, 1);
    }
    let plan = dir.plan(&inputs);
    if !plan.verdict.is_applied() {
        assert_eq!(plan.steps, [], "{:?}", plan.verdict);
        return;
    }
    let end = after(&dir, &inputs);
    for (name, bytes) in &end.files {
        let PartitionFile::Segment {
            offset,
            kind: FileKind::Log,
        } = PartitionFile::parse(name)
        else {
            continue;
        };
        if recovery_point == Offset(0) {
            let scan = scan(offset, bytes.as_deref().unwrap());
            assert_eq!(scan.stop, ScanStop::EndOfFile, "{name} is not clean");
        }
    }
    inputs.recovery_point = plan.log_end_offset;
    let again = end.plan(&inputs);
    // In a second recovery Kafka adds epochs that a stale entry kept out of the first one, and forgets producers of a
    // snapshot at the begin of a log whose first segment is gone.
    let others = again
        .steps
        .iter()
        .filter(|step| step.file != "leader-epoch-checkpoint" && !step.file.ends_with(".snapshot"));
    assert_eq!(
        others.collect::<Vec<_>>(),
        Vec::<&krescue::plan::Step>::new()
    );
    assert_eq!(again.log_end_offset, plan.log_end_offset);
}

/// Damages one file: which, how, where (two bytes), with what.
fn apply_damage(dir: &mut MemoryDir, [file, how, high, low, value]: [u8; 5]) {
    let names: Vec<String> = dir.files.keys().cloned().collect();
    let name = &names[usize::from(file) % names.len()];
    let Some(Some(bytes)) = dir.files.get_mut(name) else {
        return;
    };
    let at = usize::from(u16::from_be_bytes([high, low])) % (bytes.len() + 1);
    match how % 7 {
        0 => drop(dir.files.remove(name)),
        1 => bytes.truncate(at),
        2 => bytes.extend(std::iter::repeat_n(0, usize::from(value) * 16)),
        3 => bytes.extend(std::iter::repeat_n(value, usize::from(low) % 40 + 1)),
        4 => bytes
            .iter_mut()
            .skip(at)
            .take(8)
            .for_each(|byte| *byte = value),
        5 => drop(bytes.splice(at..at, [value])),
        _ => bytes
            .iter_mut()
            .skip(at)
            .take(1)
            .for_each(|byte| *byte ^= value),
    }
    if dir.files.is_empty() {
        let name = segment_file_name(Offset(0), FileKind::Log);
        dir.files.insert(name, Some(Vec::new()));
    }
}
