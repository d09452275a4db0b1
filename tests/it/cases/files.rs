//! Side files that are missing, wrong or left over.

use krescue::format::file_name::{FileKind, segment_file_name};
use krescue::log::FindingCode;
use krescue::plan::{OnLoss, RecoveryInputs, Verdict};
use krescue::terms::{KafkaVersion, Offset};

use crate::support::fixture::{BATCH, BatchSpec, indexes, segment};
use crate::support::memory_dir::MemoryDir;
use crate::support::memory_t4::{bytes_of, codes, inputs, log_name, run, t4, wrong_prefixes};

fn name(base: i64, kind: FileKind) -> String {
    segment_file_name(Offset(base), kind)
}

/// Kafka looks at no entry of an index below the recovery point, and at no length either.
#[test]
fn a_wrong_index_below_the_recovery_point_stays_as_it_is() {
    let odd = [indexes(1000).0, vec![0; 3]].concat();
    for bytes in [vec![0xff, 0xff, 0xff, 0xfb, 0, 0, 0x11, 0xfc], odd] {
        let mut dir = t4();
        *bytes_of(&mut dir, &name(1000, FileKind::Index)) = bytes.clone();
        let plan = dir.plan(&inputs(3000));
        let after = run(&dir, &plan);
        assert_eq!(after.files[&name(1000, FileKind::Index)], Some(bytes));
    }
}

/// A valid snapshot of producer 4000, and the same with its last byte changed.
#[test]
fn a_snapshot_whose_checksum_is_wrong_goes_and_the_producers_are_read_again() {
    let valid = [
        "0001",
        "1adfad55",
        "00000001",
        "0000000000000fa0",
        "0000",
        "00000063",
        "00000000000003e7",
        "00000009",
        "0000018bcfe6eac1",
        "ffffffff",
        "ffffffffffffffff",
    ]
    .concat();
    let valid: Vec<u8> = (0..valid.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&valid[at..at + 2], 16).unwrap())
        .collect();
    assert_eq!(valid.len(), 56);
    let with = |bytes: Vec<u8>| {
        let mut dir = t4();
        dir.files
            .insert(name(1000, FileKind::Snapshot), Some(bytes));
        dir
    };
    let good = with(valid.clone());
    let plan = good.plan(&inputs(3000));
    assert!(!codes(&plan).contains(&FindingCode::SnapshotCorrupt));
    let mut corrupt = valid;
    *corrupt.last_mut().unwrap() = 0xfe;
    let dir = with(corrupt);
    let plan = dir.plan(&inputs(3000));
    let told = plan
        .findings
        .iter()
        .find(|finding| finding.code == FindingCode::SnapshotCorrupt)
        .unwrap();
    for words in [
        "Snapshot is corrupt (CRC is no longer valid). Stored crc: 450866517.",
        "a boot deletes it",
        // There is no older one.
        "460400 bytes",
    ] {
        assert!(told.text.contains(words), "{}", told.text);
    }
    let removed = |step: &&krescue::plan::Step| step.file == name(1000, FileKind::Snapshot);
    assert!(plan.steps.iter().any(|step| removed(&step)));
    assert_eq!(wrong_prefixes(&dir, &inputs(3000), &plan), [""; 0]);
}

#[test]
fn leader_epochs_of_zeros_are_refused_with_their_fate() {
    let mut dir = t4();
    *bytes_of(&mut dir, "leader-epoch-checkpoint") = vec![0; 33];
    let plan = dir.plan(&inputs(3000));
    assert!(
        matches!(&plan.verdict, Verdict::Refused { cause } if cause.contains("leader-epoch-checkpoint")),
        "{:?}",
        plan.verdict
    );
    assert_eq!(plan.steps, []);
}

fn interrupted_swap() -> MemoryDir {
    let mut dir = t4();
    let bases: Vec<i64> = (0..=1980).step_by(20).chain([1990]).collect();
    let bytes: Vec<u8> = bases
        .iter()
        .flat_map(|base| BatchSpec::new(*base).encode())
        .collect();
    assert_eq!(bytes.len(), 116_251);
    let (offsets, times) = indexes(0);
    for (kind, bytes) in [
        (FileKind::Log, bytes),
        (FileKind::Index, offsets),
        (FileKind::TimeIndex, times),
    ] {
        dir.files.insert(name(0, kind) + ".swap", Some(bytes));
    }
    dir.files
        .insert(name(1000, FileKind::Snapshot), Some(b"".to_vec()));
    dir
}

#[test]
fn a_compaction_that_had_got_ready_is_completed() {
    let dir = interrupted_swap();
    let plan = dir.plan(&inputs(3000));
    assert_eq!(plan.verdict, Verdict::Recover, "{:?}", plan.findings);
    let after = run(&dir, &plan);
    assert_eq!(
        after.files[&log_name(0)],
        dir.files[&(log_name(0) + ".swap")]
    );
    assert!(!after.files.keys().any(|name| name.contains(".swap")));
    // All that is numbered from 0 to 1999 goes, the snapshot too.
    assert!(
        !after
            .files
            .keys()
            .any(|name| name.starts_with("00000000000000001000"))
    );
    for base in [2000, 3000] {
        assert_eq!(after.files[&log_name(base)], Some(segment(base)));
    }
    assert_eq!(wrong_prefixes(&dir, &inputs(3000), &plan), [""; 0]);
}

#[test]
fn a_missing_partition_metadata_is_told_with_what_each_release_makes_of_it() {
    let mut dir = t4();
    dir.files.remove("partition.metadata");
    for (version, word) in [
        ((3, 7, 0), "does not come up"),
        ((3, 7, 1), "-stray"),
        ((4, 4, 0), "-stray"),
    ] {
        let inputs = RecoveryInputs {
            version: KafkaVersion::new(version.0, version.1, version.2),
            ..inputs(3000)
        };
        let plan = dir.plan(&inputs);
        let told = plan
            .findings
            .iter()
            .find(|finding| finding.code == FindingCode::PartitionMetadata);
        assert!(told.unwrap().text.contains(word), "{version:?}");
    }
}

/// Without a recovery point all is read; with one only the last segment.
#[test]
fn the_recovery_point_is_the_price() {
    for (point, bytes) in [(Some(3000), 115_100), (Some(0), 460_400), (None, 460_400)] {
        let inputs = RecoveryInputs {
            recovery_point: point.map(Offset),
            ..inputs(0)
        };
        assert_eq!(t4().plan(&inputs).scan_bytes, bytes, "{point:?}");
    }
}

/// Good batches behind the damage begin at the log's start: no half-done dir may look as if it ended with them.
#[test]
fn a_log_that_ends_below_its_start_goes_whole_also_where_a_segment_begins_there() {
    let mut dir = t4();
    bytes_of(&mut dir, &log_name(1000))[80 * BATCH + 200] ^= 1;
    let started = RecoveryInputs {
        log_start_offset: Some(Offset(3000)),
        on_loss: OnLoss::LikeKafka,
        ..inputs(0)
    };
    let plan = dir.plan(&started);
    assert!(plan.verdict.is_applied(), "{plan:?}");
    assert!(codes(&plan).contains(&FindingCode::LogStartBeyondEnd));
    assert_eq!(wrong_prefixes(&dir, &started, &plan), Vec::<String>::new());
    let after = run(&dir, &plan);
    let logs = after
        .files
        .iter()
        .filter(|(file, _)| file.strip_suffix(".log").is_some());
    let logs: Vec<_> = logs.collect();
    assert_eq!(logs, [(&log_name(3000), &Some(Vec::new()))]);
}
