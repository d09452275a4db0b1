//! What a plan says of whole log dirs, good and bad; planning changes nothing.

use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use krescue::engine::{Beside, EngineError, MadePlan, PlanSpec, Reading, start_plan};
use krescue::log::FindingCode;
use krescue::plan::{AskReason, HandOver, LogDirPlan, OnLoss, PartitionPlan, StepAction, Verdict};
use krescue::terms::{KafkaVersion, Offset, Timestamp, TopicPartition};

use crate::support::fixture::{BATCH, BatchSpec, SEGMENT, Tree};

fn spec(tree: &Tree, dirs: &[&str]) -> PlanSpec {
    let dirs: Vec<PathBuf> = dirs.iter().map(|dir| tree.path(dir)).collect();
    PlanSpec::new(
        dirs,
        KafkaVersion::NEWEST_KNOWN,
        Timestamp(1_700_000_100_000),
    )
}

fn plan(spec: PlanSpec) -> MadePlan {
    start_plan(spec).unwrap().join().unwrap()
}

fn plan_t4(change: impl FnOnce(&Tree)) -> LogDirPlan {
    let tree = Tree::t4_unflushed();
    change(&tree);
    let before = tree.fingerprint("d1");
    let mut made = plan(spec(&tree, &["d1"]));
    assert_eq!(tree.fingerprint("d1"), before, "planning changes nothing");
    made.plan.log_dirs.remove(0)
}

fn only(dir: &LogDirPlan) -> &PartitionPlan {
    assert_eq!(dir.partitions.len(), 1, "{:?}", dir.partitions);
    &dir.partitions[0]
}

fn codes(plan: &PartitionPlan) -> Vec<FindingCode> {
    plan.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn a_torn_tail_is_cut_and_the_recovery_point_becomes_the_end() {
    let dir = plan_t4(|tree| {
        tree.edit(&tree.t0(3000, "log"), |bytes| {
            bytes.truncate(SEGMENT - 100);
        });
    });
    let log = only(&dir);
    assert_eq!(log.verdict, Verdict::Recover);
    assert_eq!(log.log_end_offset, Some(Offset(3990)));
    let cut = log.steps.iter().find_map(|step| match step.action {
        StepAction::SetLen { from, to } if step.file == "00000000000000003000.log" => {
            Some((from, to))
        }
        _ => None,
    });
    let whole = u64::try_from(SEGMENT).unwrap();
    assert_eq!(
        cut,
        Some((whole - 100, whole - u64::try_from(BATCH).unwrap()))
    );
    assert_eq!(dir.hand_over, HandOver::Verify);
    let points = dir.recovery_points.unwrap();
    assert_eq!(points.len(), 1);
    assert_eq!(points[0].offset, Offset(3990));
}

#[test]
fn one_thread_and_eight_threads_make_the_same_plan() {
    let tree = Tree::t4_unflushed();
    for partition in 1..12 {
        tree.add_partition("d1", &format!("t-{partition}"), 5);
    }
    tree.edit(&tree.path("d1/t-3/00000000000000001000.log"), |bytes| {
        bytes[BATCH * 50 + 300] ^= 1;
    });
    let with = |threads| {
        let mut spec = spec(&tree, &["d1"]);
        spec.threads = NonZeroUsize::new(threads);
        plan(spec)
    };
    let (one, eight) = (with(1), with(8));
    assert_eq!(one.plan, eight.plan);
    assert_eq!(one.hash(), eight.hash());
    assert_eq!(one.plan.log_dirs[0].partitions.len(), 12);
}

#[test]
fn a_flipped_bit_in_the_middle_is_an_ask_unless_kafkas_way_is_chosen() {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[BATCH * 50 + 300] ^= 1);
    let made = plan(spec(&tree, &["d1"]));
    let log = only(&made.plan.log_dirs[0]);
    let Verdict::Ask(ask) = &log.verdict else {
        panic!("{:?}", log.verdict);
    };
    assert!(!ask.accepted);
    assert_eq!(ask.lost_segments, 2);
    assert!(matches!(
        ask.reason,
        AskReason::BatchesBehindCut | AskReason::LaterSegments
    ));
    assert_eq!(made.plan.log_dirs[0].recovery_points, None);

    let mut like = spec(&tree, &["d1"]);
    like.decisions.by_dir = [((tree.path("d1"), "t-0".to_owned()), OnLoss::LikeKafka)].into();
    let made = plan(like);
    let log = only(&made.plan.log_dirs[0]);
    assert!(log.verdict.is_applied());
    assert_eq!(log.log_end_offset, Some(Offset(1500)));
}

#[test]
fn clean_falls_back_to_verify_where_a_log_stays_as_it_is() {
    let tree = Tree::t4_unflushed();
    tree.add_partition("d1", "good-0", 1);
    let clean = |tree: &Tree| {
        let mut spec = spec(tree, &["d1"]);
        spec.hand_over = HandOver::Clean;
        plan(spec).plan.log_dirs.remove(0)
    };
    assert_eq!(clean(&tree).hand_over, HandOver::Clean);
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[BATCH * 50 + 300] ^= 1);
    let dir = clean(&tree);
    assert_eq!(dir.hand_over, HandOver::Verify);
    let points = dir.recovery_points.unwrap();
    let of = |topic: &str| {
        points
            .iter()
            .find(|entry| entry.topic_partition.topic == topic)
            .map(|entry| entry.offset)
    };
    assert_eq!(of("good"), Some(Offset(1000)));
    assert_eq!(of("t"), Some(Offset(0)), "an untouched log keeps its entry");
}

#[test]
fn a_clean_dir_with_nothing_to_do_keeps_its_marker() {
    let tree = Tree::t4();
    tree.write("d1/.kafka_cleanshutdown", "");
    // What a clean stop leaves beside the segments.
    let first = plan(spec(&tree, &["d1"]));
    let dir = &first.plan.log_dirs[0];
    if only(dir).verdict == Verdict::Nothing {
        assert!(!dir.removes_marker);
        assert_eq!(dir.recovery_points, None);
    } else {
        assert!(dir.removes_marker);
    }
}

#[test]
fn a_partition_in_two_dirs_is_refused_in_both() {
    let tree = Tree::t4_unflushed();
    tree.add_log_dir("d2", 2);
    tree.add_partition("d2", "t-0", 1);
    tree.add_partition("d2", "other-0", 1);
    let made = plan(spec(&tree, &["d1", "d2"]));
    for dir in &made.plan.log_dirs {
        for log in dir.partitions.iter().filter(|log| log.dir_name == "t-0") {
            assert!(matches!(log.verdict, Verdict::Refused { .. }));
            assert_eq!(codes(log), [FindingCode::DuplicatePartition]);
            assert!(log.steps.is_empty());
        }
    }
    assert!(made.plan.log_dirs[1].partitions[0].verdict.reaches_end());
}

#[test]
fn the_metadata_log_and_what_was_not_selected_are_skipped() {
    let tree = Tree::t4_unflushed();
    tree.add_partition("d1", "__cluster_metadata-0", 1);
    tree.add_partition("d1", "u-0", 1);
    let mut spec = spec(&tree, &["d1"]);
    spec.selection = Some([TopicPartition::new("t", 0)].into());
    let made = plan(spec);
    let dir = &made.plan.log_dirs[0];
    let skipped: Vec<&str> = dir
        .partitions
        .iter()
        .filter(|log| matches!(log.verdict, Verdict::Skipped { .. }))
        .map(|log| log.dir_name.as_str())
        .collect();
    assert_eq!(skipped, ["__cluster_metadata-0", "u-0"]);
}

#[test]
fn foreign_dirs_missing_dirs_and_a_dir_named_twice_are_findings() {
    let tree = Tree::t4_unflushed();
    std::fs::create_dir(tree.path("d1/lost+found")).unwrap();
    std::fs::create_dir(tree.path("d1").join(OsStr::from_bytes(b"u\xff-0"))).unwrap();
    std::fs::create_dir(tree.path("empty")).unwrap();
    std::fs::write(tree.path("file"), b"").unwrap();
    std::os::unix::fs::symlink(tree.path("d1"), tree.path("link")).unwrap();
    let made = plan(spec(&tree, &["d1", "missing", "empty", "file", "link"]));
    let dirs = &made.plan.log_dirs;
    let codes = |dir: usize| -> Vec<FindingCode> {
        dirs[dir]
            .findings
            .iter()
            .map(|finding| finding.code)
            .collect()
    };
    assert_eq!(
        codes(0),
        [FindingCode::ForeignName, FindingCode::UncleanStop]
    );
    for (number, dir) in dirs.iter().enumerate().skip(1) {
        assert_eq!(
            codes(number),
            [FindingCode::LogDir],
            "{}",
            dir.path.display()
        );
        assert!(dir.partitions.is_empty());
    }
    let strange = &dirs[0].partitions[1];
    assert_eq!(strange.dir_name, "u\u{fffd}-0");
    assert!(matches!(strange.verdict, Verdict::Refused { .. }));
}

#[test]
fn a_symlinked_log_dir_is_read_like_any_other() {
    let tree = Tree::t4_unflushed();
    std::os::unix::fs::symlink(tree.path("d1"), tree.path("link")).unwrap();
    let made = plan(spec(&tree, &["link"]));
    assert!(only(&made.plan.log_dirs[0]).verdict.reaches_end());
}

#[test]
fn a_dir_where_a_log_should_be_leaves_the_rest_alone() {
    let dir = plan_t4(|tree| {
        std::fs::remove_file(tree.t0(1000, "log")).unwrap();
        std::fs::create_dir(tree.t0(1000, "log")).unwrap();
        tree.add_partition("d1", "u-0", 1);
    });
    // Kafka ignores a dir of that name; what matters is that nothing panics and u-0 is planned.
    assert!(dir.partitions[1].verdict.reaches_end());
}

#[test]
fn a_file_that_cannot_be_read_leaves_its_log_alone() {
    let dir = plan_t4(|tree| {
        let path = tree.path("d1/t-0/leader-epoch-checkpoint");
        std::fs::remove_file(&path).unwrap();
        std::os::unix::net::UnixListener::bind(&path).unwrap();
        tree.add_partition("d1", "u-0", 1);
    });
    assert!(!dir.partitions[0].verdict.reaches_end());
    assert!(dir.partitions[0].steps.is_empty());
    assert!(dir.partitions[1].verdict.reaches_end());
}

#[test]
fn structure_reads_no_batch_and_counts_what_a_boot_would_read() {
    let tree = Tree::t4();
    std::fs::write(tree.t0(2000, "log"), b"no batch at all").unwrap();
    let mut spec = spec(&tree, &["d1"]);
    spec.reading = Reading::Structure;
    let handle = start_plan(spec).unwrap();
    let made = handle.join().unwrap();
    let log = only(&made.plan.log_dirs[0]);
    assert_eq!(log.scan_bytes, u64::try_from(SEGMENT).unwrap());
    assert_eq!(log.segments.len(), 4);
    assert_eq!(codes(log), []);
    let read: Vec<bool> = log.segments.iter().map(|segment| segment.scanned).collect();
    assert_eq!(read, [false, false, false, true]);
}

#[test]
fn everything_finds_what_no_boot_sees_and_plans_nothing_for_it() {
    let tree = Tree::t4();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[BATCH * 50 + 300] ^= 1);
    tree.write("d1/t-0/00000000000000000000.index", [0; 64]);
    tree.edit(&tree.t0(2000, "timeindex"), |bytes| bytes.truncate(100));
    let boot = plan(spec(&tree, &["d1"]));
    assert!(only(&boot.plan.log_dirs[0]).verdict.reaches_end());
    let mut deep = spec(&tree, &["d1"]);
    deep.reading = Reading::Everything;
    let handle = start_plan(deep).unwrap();
    let bytes = u64::try_from(4 * SEGMENT).unwrap();
    handle.events().iter().for_each(drop);
    let (done, total) = handle.progress().bytes();
    assert!(done >= bytes && done == total);
    let made = handle.join().unwrap();
    let log = only(&made.plan.log_dirs[0]);
    let found: Vec<(FindingCode, &str)> = log
        .findings
        .iter()
        .map(|finding| (finding.code, finding.file.as_deref().unwrap_or_default()))
        .filter(|(_, file)| !file.starts_with("00000000000000003000"))
        .collect();
    assert_eq!(
        found,
        [
            (FindingCode::IndexCorrupt, "00000000000000000000.index"),
            (FindingCode::CrcMismatch, "00000000000000001000.log"),
            (FindingCode::IndexCorrupt, "00000000000000002000.timeindex"),
        ]
    );
    assert_eq!(log.steps, only(&boot.plan.log_dirs[0]).steps);
    assert_eq!(
        log.segments[1].valid_bytes,
        Some(u64::try_from(BATCH * 50).unwrap())
    );
}

#[test]
fn beside_a_live_broker_a_last_partial_batch_is_no_finding_and_nothing_is_planned() {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 100));
    let mut spec = spec(&tree, &["d1"]);
    spec.beside = Beside::LiveBroker {
        bytes_per_second: Some(50 << 20),
    };
    let made = plan(spec);
    let log = only(&made.plan.log_dirs[0]);
    assert_eq!(codes(log), []);
    assert!(log.steps.is_empty());
    assert!(matches!(log.verdict, Verdict::Skipped { .. }));
}

#[test]
fn a_cancelled_plan_says_so() {
    let tree = Tree::t4_unflushed();
    let handle = start_plan(spec(&tree, &["d1"])).unwrap();
    handle.cancel();
    match handle.join() {
        // It may have been made before the wish was seen.
        Err(EngineError::Cancelled) | Ok(_) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn counters_end_where_the_totals_are() {
    let tree = Tree::t4_unflushed();
    let handle = start_plan(spec(&tree, &["d1"])).unwrap();
    let events: Vec<_> = handle.events().iter().collect();
    let progress = handle.progress();
    assert_eq!(progress.logs(), (1, 1));
    let bytes = u64::try_from(4 * SEGMENT).unwrap();
    assert_eq!(progress.bytes(), (bytes, bytes));
    let segments = events
        .iter()
        .filter(|event| matches!(event, krescue::engine::JobEvent::Segment { .. }))
        .count();
    assert_eq!(segments, 4);
    handle.join().unwrap();
}

#[test]
fn what_a_stopped_krescue_left_half_written_is_removed_first() {
    let dir = plan_t4(|tree| {
        tree.write("d1/t-0/00000000000000003000.index.krescue.tmp", "half");
    });
    let log = only(&dir);
    assert_eq!(log.steps[0].file, "00000000000000003000.index.krescue.tmp");
    assert!(matches!(log.steps[0].action, StepAction::Remove { len: 4 }));
}

#[test]
fn a_batch_of_one_record_more_changes_the_hash() {
    let tree = Tree::t4_unflushed();
    let before = plan(spec(&tree, &["d1"])).hash();
    tree.edit(&tree.t0(3000, "log"), |bytes| {
        bytes.extend(BatchSpec::new(4000).encode());
    });
    assert_ne!(plan(spec(&tree, &["d1"])).hash(), before);
}
