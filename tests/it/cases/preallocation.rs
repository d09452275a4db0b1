//! Logs whose files get their size before their data.

use krescue::log::FindingCode;
use krescue::plan::{LogConfig, OnLoss, RecoveryInputs, StepAction, StopState, Verdict};
use krescue::terms::{Offset, Position};

use crate::support::fixture::{SEGMENT, segment};
use crate::support::memory_t4::{bytes_of, codes, inputs, log_name, run, t4};

fn preallocated(recovery_point: i64) -> RecoveryInputs {
    RecoveryInputs {
        config: LogConfig {
            preallocate: true,
            segment_bytes: 1 << 20,
            ..LogConfig::default()
        },
        ..inputs(recovery_point)
    }
}

#[test]
fn zeros_up_to_the_segment_s_size_are_neither_torn_nor_corrupt() {
    let mut dir = t4();
    bytes_of(&mut dir, &log_name(3000)).resize(1 << 20, 0);
    let plan = dir.plan(&preallocated(3000));
    assert_eq!(plan.verdict, Verdict::Recover);
    assert_eq!(codes(&plan), [FindingCode::PreallocatedTail]);
    assert_eq!(plan.findings[0].lost_bytes, 0);
    let after = run(&dir, &plan);
    assert_eq!(
        after.files[&log_name(3000)].as_ref().unwrap().len(),
        SEGMENT
    );
}

/// A boot that deletes all of a preallocated log makes its new segment at full size, without blocks.
#[test]
fn a_new_segment_is_preallocated() {
    let dir = t4();
    let inputs = RecoveryInputs {
        log_start_offset: Some(Offset(5000)),
        on_loss: OnLoss::LikeKafka,
        ..preallocated(3000)
    };
    let plan = dir.plan(&inputs);
    let new = plan.steps.iter().find(|step| step.file == log_name(5000));
    assert_eq!(
        new.map(|step| &step.action),
        Some(&StepAction::Allocate {
            len: 1 << 20,
            replaces: None
        })
    );
    let after = run(&dir, &plan);
    assert_eq!(after.files[&log_name(5000)], Some(vec![0; 1 << 20]));
}

/// C12: the trim of a preallocated file was not synced, the marker was. The boot walks into the zeros and dies.
#[test]
fn zeros_under_a_clean_marker_are_told_with_their_end_and_the_way_out() {
    let mut dir = t4();
    bytes_of(&mut dir, &log_name(3000)).resize(1 << 20, 0);
    for preallocate in [true, false] {
        let mut inputs = RecoveryInputs {
            stop: StopState::Clean,
            recovery_point: Some(Offset(4000)),
            ..preallocated(4000)
        };
        inputs.config.preallocate = preallocate;
        let plan = dir.plan(&inputs);
        assert!(matches!(&plan.verdict, Verdict::Refused { cause } if cause.contains("size 0")));
        assert!(plan.steps.is_empty());
        let zeros = &plan.findings[0];
        assert_eq!(zeros.code, FindingCode::ZeroTail);
        assert_eq!(zeros.position, Some(Position(SEGMENT as u64)));
        assert_eq!(zeros.lost_bytes, 0);
        for told in [
            "933476 NUL bytes",
            "offset 4000",
            "preallocate",
            "KAFKA-21000",
        ] {
            assert!(zeros.text.contains(told), "{told}: {}", zeros.text);
        }
        assert!(
            zeros.next.contains(".kafka_cleanshutdown"),
            "{}",
            zeros.next
        );
        // The way out that it names, which costs no record.
        inputs.stop = StopState::Unclean;
        let plan = dir.plan(&inputs);
        assert_eq!(plan.log_end_offset, Some(Offset(4000)));
        let after = run(&dir, &plan);
        assert_eq!(
            after.files[&log_name(3000)].as_deref(),
            Some(segment(3000).as_slice())
        );
    }
}

/// Junk behind the last batch is no NUL tail, and nothing says that a cut costs nothing.
#[test]
fn a_bad_batch_under_a_clean_marker_is_no_nul_tail() {
    let mut dir = t4();
    let log = bytes_of(&mut dir, &log_name(3000));
    log.resize(SEGMENT + 4096, 0);
    log[SEGMENT + 4000] = 1;
    let inputs = RecoveryInputs {
        stop: StopState::Clean,
        ..inputs(4000)
    };
    let plan = dir.plan(&inputs);
    assert!(matches!(plan.verdict, Verdict::Refused { .. }));
    assert_eq!(codes(&plan), [FindingCode::Refused]);
}
