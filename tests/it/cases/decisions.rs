//! What is decided where Kafka's way costs good records, and whether a boot keeps to it. The boot is played by the machine
//! here, with the recovery point and the marker of the hand-over; `tests/broker` lets Kafka's own loading do it.

use krescue::log::FindingCode;
use krescue::plan::{Ask, HandOver, OnLoss, PartitionPlan, RecoveryInputs, StopState, Verdict};
use krescue::terms::Offset;

use crate::support::fixture::{BATCH, SEGMENT, segment};
use crate::support::memory_dir::MemoryDir;
use crate::support::memory_t4::{bytes_of, codes, inputs, log_name, run, t4, wrong_prefixes};

fn decided(on_loss: OnLoss, hand_over: HandOver) -> RecoveryInputs {
    RecoveryInputs {
        on_loss,
        hand_over,
        ..inputs(0)
    }
}

/// T4 with a flipped bit in the batch at 57,550 of the segment `base`.
fn damaged(bases: &[i64]) -> MemoryDir {
    let mut dir = t4();
    for base in bases {
        bytes_of(&mut dir, &log_name(*base))[57_650] ^= 0xff;
    }
    dir
}

fn ask(plan: &PartitionPlan) -> &Ask {
    match &plan.verdict {
        Verdict::Ask(ask) => ask,
        verdict => panic!("{verdict:?} {:?}", plan.findings),
    }
}

/// What a boot finds after the plan and its hand-over.
fn booted(after: &MemoryDir, plan: &PartitionPlan, hand_over: HandOver) -> PartitionPlan {
    let inputs = RecoveryInputs {
        stop: if hand_over == HandOver::Clean {
            StopState::Clean
        } else {
            StopState::Unclean
        },
        recovery_point: match hand_over {
            HandOver::None => Some(Offset(0)),
            _ => plan.log_end_offset,
        },
        ..inputs(0)
    };
    after.plan(&inputs)
}

#[test]
fn cut_only_here_keeps_every_segment_behind_under_any_hand_over() {
    for hand_over in [HandOver::None, HandOver::Verify, HandOver::Clean] {
        let dir = damaged(&[1000]);
        let plan = dir.plan(&decided(OnLoss::CutHere, hand_over));
        let ask = ask(&plan);
        assert!(ask.accepted && ask.decided == OnLoss::CutHere);
        // Of good data only what follows in the same segment goes.
        assert_eq!((ask.lost_bytes, ask.lost_segments), (49 * BATCH as u64, 0));
        let after = run(&dir, &plan);
        let kept = &segment(1000)[..57_550];
        assert_eq!(after.files[&log_name(1000)].as_deref(), Some(kept));
        for base in [0, 2000, 3000] {
            assert_eq!(after.files[&log_name(base)], t4().files[&log_name(base)]);
        }
        assert_eq!(plan.log_end_offset, Some(Offset(4000)));
        let boot = booted(&after, &plan, hand_over);
        assert_eq!(run(&after, &boot), after, "{hand_over:?}");
        assert!(!codes(&boot).contains(&FindingCode::SegmentDropped));
    }
}

/// As long as the first bad segment is not cut, a boot does with all behind it what it would have done before.
#[test]
fn several_places_are_cut_from_the_last_one_on() {
    let dir = damaged(&[0, 2000]);
    let inputs = decided(OnLoss::CutHere, HandOver::Verify);
    let plan = dir.plan(&inputs);
    let cuts: Vec<&str> = plan
        .steps
        .iter()
        .map(|step| step.file.as_str())
        .filter(|file| file.strip_suffix(".log").is_some())
        .collect();
    assert_eq!(cuts, [log_name(2000), log_name(0)]);
    let end = run(&dir, &plan);
    let kafkas_way = RecoveryInputs {
        on_loss: OnLoss::LikeKafka,
        ..inputs
    };
    let before = run(&dir, &dir.plan(&kafkas_way));
    // Kafka boots on each prefix: the end, or what it would have made before the first step.
    let mut half = dir;
    for step in &plan.steps {
        let booted = run(&half, &half.plan(&kafkas_way));
        assert!(booted == end || booted == before, "before {}", step.file);
        half.apply(step);
    }
    assert_eq!(run(&half, &half.plan(&kafkas_way)), end);
}

#[test]
fn a_place_where_offsets_go_back_can_be_cut_there() {
    let mut dir = t4();
    // The batch of the second index point of segment 1000.
    let at = 8 * BATCH;
    bytes_of(&mut dir, &log_name(1000))[at..at + 8].copy_from_slice(&1000_i64.to_be_bytes());
    let asked = dir.plan(&inputs(0));
    assert!(!ask(&asked).accepted);
    let plan = dir.plan(&decided(OnLoss::CutHere, HandOver::Verify));
    assert!(ask(&plan).accepted);
    let after = run(&dir, &plan);
    assert_eq!(
        after.files[&log_name(1000)].as_deref(),
        Some(&segment(1000)[..at])
    );
    assert_eq!(after.files[&log_name(2000)], t4().files[&log_name(2000)]);
}

#[test]
fn a_log_below_its_start_cannot_be_cut_only_here() {
    let inputs = RecoveryInputs {
        log_start_offset: Some(Offset(5000)),
        ..decided(OnLoss::CutHere, HandOver::Verify)
    };
    let plan = t4().plan(&inputs);
    assert!(!ask(&plan).accepted);
    assert!(codes(&plan).contains(&FindingCode::DecisionRefused));
    assert_eq!(plan.steps, []);
}

#[test]
fn what_is_left_stays_byte_by_byte_and_a_boot_leaves_it_too() {
    for hand_over in [HandOver::Verify, HandOver::Clean] {
        let dir = damaged(&[1000]);
        let inputs = decided(OnLoss::Leave, hand_over);
        let plan = dir.plan(&inputs);
        let ask = ask(&plan);
        assert!(
            ask.accepted && ask.decided == OnLoss::Leave,
            "{:?}",
            plan.findings
        );
        assert_eq!((ask.lost_bytes, ask.lost_records), (0, Some(0)));
        let after = run(&dir, &plan);
        for base in [0, 1000, 2000, 3000] {
            assert_eq!(after.files[&log_name(base)], dir.files[&log_name(base)]);
        }
        assert_eq!(plan.log_end_offset, Some(Offset(4000)));
        assert_eq!(
            plan.recovery_point,
            Some(Offset(0)),
            "that of the checkpoint"
        );
        let boot = booted(&after, &plan, hand_over);
        assert_eq!(run(&after, &boot), after, "{hand_over:?}");
        assert!(!matches!(boot.verdict, Verdict::Ask(_)));
        // The bad place is told all the same, and what follows.
        let codes = codes(&plan);
        assert!(
            codes.contains(&FindingCode::CrcMismatch)
                && codes.contains(&FindingCode::DecisionTaken)
        );
    }
}

#[test]
fn leaving_does_not_hold_where_a_boot_reads_the_bad_place_all_the_same() {
    let mut index_gone = damaged(&[1000]);
    index_gone
        .files
        .remove("00000000000000001000.index")
        .unwrap();
    for (dir, hand_over) in [
        (damaged(&[1000]), HandOver::None),
        (damaged(&[3000]), HandOver::Verify),
        (index_gone, HandOver::Verify),
    ] {
        let plan = dir.plan(&decided(OnLoss::Leave, hand_over));
        assert!(!ask(&plan).accepted, "{hand_over:?}");
        assert_eq!(ask(&plan).decided, OnLoss::Ask);
        assert!(ask(&plan).lost_bytes > 0, "what Kafka's way costs");
        assert!(codes(&plan).contains(&FindingCode::DecisionRefused));
        assert_eq!(plan.steps, []);
    }
    // A marker keeps a boot from reading the last segment.
    let plan = damaged(&[3000]).plan(&decided(OnLoss::Leave, HandOver::Clean));
    assert!(ask(&plan).accepted);
}

#[test]
fn a_decision_changes_nothing_where_nothing_is_asked() {
    let mut dir = t4();
    bytes_of(&mut dir, &log_name(3000)).extend([0; 4096]);
    let like = dir.plan(&decided(OnLoss::LikeKafka, HandOver::Verify));
    for way in [OnLoss::CutHere, OnLoss::Leave, OnLoss::Ask] {
        let plan = dir.plan(&decided(way, HandOver::Verify));
        assert_eq!(plan.verdict, Verdict::Recover);
        assert_eq!(plan.steps, like.steps);
    }
    assert_eq!(wrong_prefixes(&dir, &inputs(0), &like), [""; 0]);
    assert_eq!(like.log_end_offset, Some(Offset(4000)));
    assert_eq!(SEGMENT, 115_100);
}
