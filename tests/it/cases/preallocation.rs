//! Logs whose files get their size before their data.

use krescue::log::FindingCode;
use krescue::plan::{LogConfig, OnLoss, RecoveryInputs, StepAction, Verdict};
use krescue::terms::Offset;

use crate::support::fixture::SEGMENT;
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
