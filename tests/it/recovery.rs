//! The recovery machine over small logs with known numbers, and over random damage.

use krescue::format::file_name::{FileKind, PartitionFile, segment_file_name};
use krescue::log::{FindingCode, ScanStop, SegmentLimits, SegmentScan, SegmentScanner};
use krescue::plan::{AskReason, OnLoss, RecoveryInputs, StepAction, StopState, Verdict};
use krescue::terms::{Offset, Position};
use proptest::prelude::*;

use crate::support::damage::{apply_damage, damage};
use crate::support::fixture::{BatchSpec, SEGMENT, segment};
use crate::support::memory_dir::feed;
use crate::support::memory_t4::{bytes_of, codes, inputs, log_name, run, t4};

const LIMITS: SegmentLimits = SegmentLimits {
    index_interval_bytes: 4096,
    segment_index_bytes: 10 << 20,
};

fn scan(base: i64, bytes: &[u8]) -> SegmentScan {
    let mut scanner = SegmentScanner::new(Offset(base), bytes.len() as u64, LIMITS);
    feed(&mut scanner, bytes);
    scanner.finish()
}

#[test]
fn a_whole_segment_gets_the_reference_indexes() {
    let bytes = segment(0);
    assert_eq!(bytes.len(), SEGMENT);
    let scan = scan(0, &bytes);
    assert_eq!(
        (scan.valid_up_to, scan.next_offset),
        (Position(115_100), Offset(1000))
    );
    assert_eq!((scan.offset_index.len(), scan.time_index.len()), (192, 300));
    assert_eq!(
        (scan.batches, scan.records, scan.stop),
        (100, 1000, ScanStop::EndOfFile)
    );
}

#[test]
fn tails_end_as_kafka_says_and_are_named_by_their_kind() {
    let good = segment(3000);
    let with = |tail: &[u8]| [good.as_slice(), tail].concat();
    for (bytes, stop, code) in [
        (
            with(&[0; 4096]),
            ScanStop::LengthTooSmall { size: 0 },
            FindingCode::ZeroTail,
        ),
        (with(&[1; 5]), ScanStop::Torn, FindingCode::TornTail),
        (with(&[1; 17]), ScanStop::Torn, FindingCode::TornTail),
        (
            with(&[0; 18]),
            ScanStop::LengthTooSmall { size: 0 },
            FindingCode::ZeroTail,
        ),
        (with(&[1; 18]), ScanStop::Torn, FindingCode::TornTail),
    ] {
        let scan = scan(3000, &bytes);
        assert_eq!((scan.valid_up_to, &scan.stop), (Position(115_100), &stop));
        let mut dir = t4();
        *bytes_of(&mut dir, &log_name(3000)) = bytes;
        let plan = dir.plan(&inputs(3000));
        assert_eq!(plan.verdict, Verdict::Recover);
        assert_eq!(codes(&plan), [code]);
        assert_eq!(plan.findings[0].lost_records, Some(0));
        assert_eq!(plan.log_end_offset, Some(Offset(4000)));
        assert_eq!(
            run(&dir, &plan).files[&log_name(3000)].as_deref(),
            Some(good.as_slice())
        );
    }
}

#[test]
fn a_flipped_bit_above_the_recovery_point_asks_and_counts_what_kafka_would_drop() {
    let mut dir = t4();
    bytes_of(&mut dir, &log_name(1000))[57_650] ^= 0xff;
    let plan = dir.plan(&inputs(0));
    let Verdict::Ask(ask) = &plan.verdict else {
        panic!("{:?}", plan.verdict)
    };
    assert_eq!(
        (ask.reason, ask.lost_segments, ask.accepted),
        (AskReason::BatchesBehindCut, 2, false)
    );
    // 49 good batches behind the bad one, and two whole segments; the bad batch itself is no good data.
    assert_eq!(ask.lost_bytes, 49 * 1151 + 2 * 115_100);
    assert_eq!(ask.lost_records, Some(490 + 2000));
    assert!(!plan.verdict.is_applied());
    let cut = plan
        .findings
        .iter()
        .find(|finding| finding.code == FindingCode::CrcMismatch)
        .unwrap();
    assert_eq!(
        (cut.position, cut.offset),
        (Some(Position(57_550)), Some(Offset(1500)))
    );
    assert_eq!(
        codes(&plan)
            .iter()
            .filter(|code| **code == FindingCode::SegmentDropped)
            .count(),
        2
    );
    assert!(codes(&plan).contains(&FindingCode::EndBelowHighWatermark));
    let removed: Vec<&str> = plan
        .steps
        .iter()
        .filter(|step| {
            matches!(step.action, StepAction::Remove { .. })
                && PartitionFile::parse(&step.file).is_log()
        })
        .map(|step| step.file.as_str())
        .collect();
    assert_eq!(removed, [log_name(3000), log_name(2000)]);
}

#[test]
fn a_flipped_bit_below_the_recovery_point_goes_unnoticed() {
    let mut dir = t4();
    bytes_of(&mut dir, &log_name(1000))[57_650] ^= 0xff;
    let plan = dir.plan(&inputs(3000));
    assert_eq!(
        (&plan.verdict, plan.scan_bytes),
        (&Verdict::Recover, 115_100)
    );
}

#[test]
fn an_index_missing_under_a_clean_marker_is_rebuilt_to_the_reference() {
    let mut dir = t4();
    dir.files
        .remove(&segment_file_name(Offset(1000), FileKind::Index));
    let inputs = RecoveryInputs {
        stop: StopState::Clean,
        ..inputs(4000)
    };
    let plan = dir.plan(&inputs);
    assert!(codes(&plan).contains(&FindingCode::IndexMissing));
    let after = run(&dir, &plan);
    assert_eq!(
        after.files[&segment_file_name(Offset(1000), FileKind::Index)],
        t4().files[&segment_file_name(Offset(1000), FileKind::Index)]
    );
    assert_eq!(after.files[&log_name(1000)], t4().files[&log_name(1000)]);
}

#[test]
fn a_clean_log_needs_no_step_but_its_snapshot() {
    let inputs = RecoveryInputs {
        stop: StopState::Clean,
        ..inputs(4000)
    };
    let plan = t4().plan(&inputs);
    let again = run(&t4(), &plan).plan(&inputs);
    assert_eq!(again.verdict, Verdict::Nothing);
    assert_eq!(again.log_end_offset, Some(Offset(4000)));
}

#[test]
fn a_zero_tail_under_a_clean_marker_is_refused_as_a_boot_refuses_it() {
    let mut dir = t4();
    bytes_of(&mut dir, &log_name(3000)).resize(1 << 20, 0);
    let plan = dir.plan(&RecoveryInputs {
        stop: StopState::Clean,
        ..inputs(4000)
    });
    assert!(
        matches!(&plan.verdict, Verdict::Refused { cause } if cause.contains("record size 0")),
        "{:?}",
        plan.verdict
    );
}

#[test]
fn untrimmed_indexes_with_the_right_entries_are_only_cut() {
    let mut dir = t4();
    let index = segment_file_name(Offset(3000), FileKind::Index);
    let time = segment_file_name(Offset(3000), FileKind::TimeIndex);
    bytes_of(&mut dir, &index).resize(10_485_760, 0);
    bytes_of(&mut dir, &time).resize(10_485_756, 0);
    let plan = dir.plan(&inputs(3000));
    let after = run(&dir, &plan);
    assert_eq!(
        (
            after.files[&index].as_ref().unwrap().len(),
            after.files[&time].as_ref().unwrap().len()
        ),
        (192, 300)
    );
}

#[test]
fn a_batch_larger_than_any_window_is_checked_piece_by_piece() {
    let large = BatchSpec {
        records: 3,
        value_len: 1 << 20,
        ..BatchSpec::new(0)
    }
    .encode();
    let small = BatchSpec::new(3).encode();
    let mut bytes = [large.clone(), small.clone()].concat();
    let good = scan(0, &bytes);
    assert_eq!(
        (good.batches, good.stop.clone(), good.next_offset),
        (2, ScanStop::EndOfFile, Offset(13))
    );
    bytes[large.len() - 1] ^= 1;
    let bad = scan(0, &bytes);
    assert_eq!(bad.valid_up_to, Position(0));
    assert!(matches!(bad.stop, ScanStop::CrcMismatch { .. }));
    let tail = bad.tail.unwrap();
    assert_eq!(tail.resync, Some((Position(large.len() as u64), Offset(3))));
    let torn = scan(0, &bytes[..large.len() / 2]);
    assert_eq!((torn.valid_up_to, torn.stop), (Position(0), ScanStop::Torn));
}

#[test]
fn a_length_of_two_gibibytes_allocates_nothing() {
    let mut bytes = segment(0);
    bytes[8..12].copy_from_slice(&i32::MAX.to_be_bytes());
    let scan = scan(0, &bytes);
    assert_eq!((scan.valid_up_to, scan.stop), (Position(0), ScanStop::Torn));
    assert_eq!(scan.tail.unwrap().good_batches, 99);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_damage_gives_a_plan_that_a_second_one_has_nothing_to_add_to(
        damages in proptest::collection::vec(damage(), 1..4),
        recovery_point in prop_oneof![Just(0), Just(1500), Just(3000), Just(9999)],
        log_start in prop_oneof![3 => Just(None), 1 => Just(Some(Offset(1500))), 1 => Just(Some(Offset(5000)))],
    ) {
        let mut dir = t4();
        for damage in &damages {
            apply_damage(&mut dir, damage);
        }
        let inputs = RecoveryInputs {
            log_start_offset: log_start,
            on_loss: OnLoss::LikeKafka,
            // A producer with a damaged timestamp would be gone when its snapshot is loaded again, in Kafka as well.
            producer_id_expiration_ms: i64::MAX,
            ..inputs(recovery_point)
        };
        let plan = dir.plan(&inputs);
        if !plan.verdict.is_applied() {
            prop_assert!(plan.steps.is_empty());
            return Ok(());
        }
        let after = run(&dir, &plan);
        // Kafka adds epochs in a second recovery that a stale entry kept out of the first one.
        let epochs = after.files.get("leader-epoch-checkpoint").cloned();
        let again = after.plan(&RecoveryInputs { recovery_point: plan.log_end_offset, ..inputs });
        let others: Vec<_> = again.steps.iter().filter(|step| step.file != "leader-epoch-checkpoint").collect();
        prop_assert!(others.is_empty(), "{:?} after {:?} (epochs {:?})", others, plan.steps, epochs);
        prop_assert_eq!(again.log_end_offset, plan.log_end_offset);
    }

    #[test]
    fn any_bytes_in_a_segment_are_scanned_without_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..4000),
        base in any::<i64>(),
    ) {
        let scan = scan(base, &bytes);
        prop_assert!(scan.valid_up_to.0 <= bytes.len() as u64);
    }
}
