//! Offsets that do not fit their segment.

use krescue::format::file_name::{FileKind, segment_file_name};
use krescue::log::FindingCode;
use krescue::plan::{AskReason, OnLoss, RecoveryInputs, StepAction, StopState, Verdict};
use krescue::terms::{KafkaVersion, Offset};

use crate::support::fixture::{BATCH, BatchSpec, SEGMENT, indexes, segment};
use crate::support::memory_dir::MemoryDir;
use crate::support::memory_t4::{bytes_of, codes, inputs, log_name, run, t4, wrong_prefixes};

/// What lies 5 above what a segment of base 0 can index.
const FAR: i64 = (1 << 31) + 5;

fn index_name(base: i64) -> String {
    segment_file_name(Offset(base), FileKind::Index)
}

/// A log of one segment with these batches; its index files are what a crash left of another state.
fn one_segment(base: i64, bases: &[i64]) -> MemoryDir {
    let mut dir = t4();
    dir.files.retain(|name, _| !name.starts_with("0000"));
    let bytes = bases
        .iter()
        .flat_map(|base| BatchSpec::new(*base).encode())
        .collect();
    dir.files.insert(log_name(base), Some(bytes));
    dir.files.insert(index_name(base), Some(vec![0; 64]));
    let time = segment_file_name(Offset(base), FileKind::TimeIndex);
    dir.files.insert(time, Some(Vec::new()));
    dir
}

fn batch(base: i64) -> Vec<u8> {
    BatchSpec::new(base).encode()
}

#[test]
fn a_segment_that_spans_too_far_is_split_where_its_offsets_stop_fitting() {
    let dir = one_segment(0, &[0, FAR]);
    let plan = dir.plan(&inputs(0));
    assert_eq!(plan.verdict, Verdict::Recover);
    assert!(codes(&plan).contains(&FindingCode::OffsetOverflow));
    let after = run(&dir, &plan);
    assert_eq!(after.files[&log_name(0)], Some(batch(0)));
    assert_eq!(after.files[&log_name(FAR)], Some(batch(FAR)));
    assert_eq!(plan.log_end_offset, Some(Offset(FAR + 10)));
    let copies = plan.steps.iter().filter(
        |step| matches!(step.action, StepAction::CopyPart { len, .. } if len == BATCH as u64),
    );
    assert_eq!(copies.count(), 1);
    assert_eq!(wrong_prefixes(&dir, &inputs(0), &plan), [""; 0]);
}

#[test]
fn a_piece_begins_wherever_the_one_before_can_index_no_more() {
    let bases = [0, 100, FAR, FAR + 100, 2 * FAR, 3 * FAR];
    let dir = one_segment(0, &bases);
    let plan = dir.plan(&inputs(0));
    let after = run(&dir, &plan);
    let expected = [
        (0, [batch(0), batch(100)].concat()),
        (FAR, [batch(FAR), batch(FAR + 100)].concat()),
        (2 * FAR, batch(2 * FAR)),
        (3 * FAR, batch(3 * FAR)),
    ];
    for (base, bytes) in expected {
        assert_eq!(after.files[&log_name(base)], Some(bytes), "{base}");
    }
    assert_eq!(wrong_prefixes(&dir, &inputs(0), &plan), [""; 0]);
}

/// Compaction leaves a gap between a segment's base and its first batch; it is also what makes such segments.
#[test]
fn a_first_piece_has_its_batch_s_base_and_the_segment_s_name_goes() {
    let dir = one_segment(1000, &[1020, 1020 + FAR]);
    let inputs = inputs(1000);
    let plan = dir.plan(&inputs);
    let after = run(&dir, &plan);
    assert_eq!(after.files[&log_name(1020)], Some(batch(1020)));
    assert_eq!(after.files[&log_name(1020 + FAR)], Some(batch(1020 + FAR)));
    assert!(
        !after
            .files
            .keys()
            .any(|name| name.starts_with("00000000000000001000"))
    );
    assert_eq!(wrong_prefixes(&dir, &inputs, &plan), [""; 0]);
}

#[test]
fn pieces_are_checked_like_any_segment() {
    let mut dir = one_segment(0, &[0, FAR, FAR + 10, FAR + 20]);
    bytes_of(&mut dir, &log_name(0))[2 * BATCH + 500] ^= 1;
    let inputs = RecoveryInputs {
        on_loss: OnLoss::LikeKafka,
        ..inputs(0)
    };
    let plan = dir.plan(&inputs);
    let after = run(&dir, &plan);
    assert_eq!(after.files[&log_name(FAR)], Some(batch(FAR)));
    assert_eq!(plan.log_end_offset, Some(Offset(FAR + 10)));
}

/// Below the recovery point only a missing index shows it; then the indexes are those of the split, an entry for each
/// 1 MiB that was copied in older releases and for each batch in 3.9.1 and from 4.0.1 on.
#[test]
fn below_the_recovery_point_the_indexes_are_those_of_the_split() {
    let entries = |version, indexed: bool| {
        let mut dir = one_segment(0, &[]);
        *bytes_of(&mut dir, &log_name(0)) = [segment(0), batch(FAR)].concat();
        dir.files.remove(&index_name(0)).unwrap();
        let inputs = RecoveryInputs {
            version,
            stop: if indexed {
                StopState::Clean
            } else {
                StopState::Unclean
            },
            ..inputs(FAR + 10)
        };
        let plan = dir.plan(&inputs);
        assert_eq!(plan.verdict, Verdict::Recover, "{:?}", plan.findings);
        let after = run(&dir, &plan);
        assert_eq!(after.files[&log_name(0)].as_ref().unwrap().len(), SEGMENT);
        after.files[&index_name(0)].clone().unwrap()
    };
    for clean in [true, false] {
        for version in [(3, 9, 1), (4, 0, 2), (4, 4, 0)] {
            let version = KafkaVersion::new(version.0, version.1, version.2);
            assert_eq!(entries(version, clean), indexes(0).0, "{version}");
        }
        for version in [(3, 7, 2), (3, 9, 0), (4, 0, 0)] {
            let version = KafkaVersion::new(version.0, version.1, version.2);
            assert_eq!(entries(version, clean), b"", "{version}");
        }
    }
}

#[test]
fn a_batch_that_does_not_belong_is_no_overflow_and_the_boot_dies() {
    let mut dir = t4();
    bytes_of(&mut dir, &log_name(1000))[..8].copy_from_slice(&990_i64.to_be_bytes());
    let plan = dir.plan(&inputs(0));
    let Verdict::Refused { cause } = &plan.verdict else {
        panic!("{:?}", plan.verdict)
    };
    assert!(
        cause.contains("999") && cause.contains(&log_name(1000)),
        "{cause}"
    );
    assert_eq!(plan.steps, []);
}

#[test]
fn what_cannot_be_split_is_refused_with_its_cause() {
    let mut torn = one_segment(0, &[0, FAR]);
    bytes_of(&mut torn, &log_name(0)).extend([0; 10]);
    let mut gap = one_segment(1000, &[1020, 1020 + FAR]);
    gap.files.remove(&index_name(1000));
    for (dir, recovery_point, word) in [(torn, 0, "10 bytes"), (gap, FAR, "beside the pieces")] {
        let plan = dir.plan(&inputs(recovery_point));
        assert!(
            matches!(&plan.verdict, Verdict::Refused { cause } if cause.contains(word)),
            "{:?}",
            plan.verdict
        );
    }
}

#[test]
fn a_piece_that_would_replace_another_segment_is_asked_about() {
    let mut dir = one_segment(0, &[0, FAR]);
    let later = [batch(FAR), batch(FAR + 10)].concat();
    dir.files.insert(log_name(FAR), Some(later));
    let plan = dir.plan(&inputs(0));
    assert!(
        matches!(&plan.verdict, Verdict::Ask(ask) if ask.reason == AskReason::SegmentReplaced),
        "{:?}",
        plan.verdict
    );
}
