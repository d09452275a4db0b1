//! The decision of a truncation over a log with known numbers: four segments of 100 batches of 10 records.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krescue::engine::{JobOutcome, PlanSpec, PlanStore, TruncationSpec, plan_undo};
use krescue::format::file_name::{FileKind, segment_file_name};
use krescue::log::FindingCode;
use krescue::plan::{
    EvidenceSource, LogConfig, OnLoss, PartitionPlan, RecoveryInputs, ReplicaEvidence, StepAction,
    StopState, Truncation, TruncationTarget, Verdict,
};
use krescue::terms::{KafkaVersion, LeaderEpoch, Offset, Timestamp, TopicPartition};

use crate::support::apply::{apply, contents, copy_tree, stored};
use crate::support::fixture::{BATCH, SEGMENT, TOPIC_ID, Tree, indexes, segment};
use crate::support::memory_dir::MemoryDir;
use crate::support::storage::StoppingStorage;

fn name(base: i64, kind: FileKind) -> String {
    segment_file_name(Offset(base), kind)
}

fn t4() -> MemoryDir {
    let mut files = BTreeMap::new();
    for base in [0, 1000, 2000, 3000] {
        let (offset_index, time_index) = indexes(base);
        files.insert(name(base, FileKind::Index), Some(offset_index));
        files.insert(name(base, FileKind::TimeIndex), Some(time_index));
        files.insert(name(base, FileKind::Log), Some(segment(base)));
    }
    let metadata = format!("version: 0\ntopic_id: {TOPIC_ID}");
    files.insert("partition.metadata".to_owned(), Some(metadata.into_bytes()));
    let epochs = b"0\n2\n0 0\n3 2500\n".to_vec();
    files.insert("leader-epoch-checkpoint".to_owned(), Some(epochs));
    MemoryDir {
        name: "t-0".to_owned(),
        files,
    }
}

fn inputs(target: TruncationTarget) -> RecoveryInputs {
    RecoveryInputs {
        topic_partition: TopicPartition::new("t", 0),
        version: KafkaVersion::NEWEST_KNOWN,
        now: Timestamp(1_700_000_400_000),
        producer_id_expiration_ms: 86_400_000,
        stop: StopState::Clean,
        recovery_point: Some(Offset(4000)),
        log_start_offset: None,
        high_watermark: Some(Offset(3005)),
        config: LogConfig::default(),
        on_loss: OnLoss::Ask,
        checkpoint_io_error: false,
        hand_over: krescue::plan::HandOver::Verify,
        truncation: Some(target),
        replicas: Some(replicas(&[1, 2])),
        quarantine: Some("quarantine".into()),
    }
}

fn replicas(isr: &[i32]) -> ReplicaEvidence {
    ReplicaEvidence {
        broker: Some(1),
        isr: isr.to_vec(),
        leader: Some(2),
        as_of: Timestamp(1_700_000_390_000),
        source: EvidenceSource::Disk,
        ends: Vec::new(),
    }
}

fn to(offset: i64) -> RecoveryInputs {
    inputs(TruncationTarget::Offset(Offset(offset)))
}

fn truncation(plan: &PartitionPlan) -> &Truncation {
    match &plan.verdict {
        Verdict::Truncate(truncation) => truncation,
        verdict => panic!("{verdict:?}"),
    }
}

fn refusal(plan: &PartitionPlan) -> &str {
    assert_eq!(plan.steps, []);
    match &plan.verdict {
        Verdict::Refused { cause } => cause,
        verdict => panic!("{verdict:?}"),
    }
}

fn len(batches: usize) -> u64 {
    (batches * BATCH) as u64
}

#[test]
fn a_target_inside_a_batch_cuts_the_whole_batch_and_all_later_segments() {
    let mut dir = t4();
    let plan = dir.plan(&to(1505));
    let cut = truncation(&plan);
    assert_eq!(plan.log_end_offset, Some(Offset(1500)));
    assert_eq!((cut.offset, cut.end_before), (Offset(1505), Offset(4000)));
    assert_eq!(
        (cut.active_base, cut.active_base_before),
        (Offset(1000), Offset(3000))
    );
    assert_eq!(cut.lost_bytes, len(50) + 2 * SEGMENT as u64);
    assert_eq!((cut.lost_segments, cut.lost_records), (2, None));
    let whole = plan
        .findings
        .iter()
        .find(|finding| finding.code == FindingCode::WholeBatchCut);
    assert_eq!(whole.unwrap().offset, Some(Offset(1500)));
    // A boot after any part of the steps finds the segment torn, and drops what follows.
    let torn = (SEGMENT as u64, len(50) + 1);
    assert_eq!(plan.steps[0].file, name(1000, FileKind::Log));
    let StepAction::SetLen { from, to } = plan.steps[0].action else {
        panic!("{:?}", plan.steps[0])
    };
    assert_eq!((from, to), torn);
    assert!(plan.steps[1].after_sync);
    for step in &plan.steps {
        dir.apply(step);
    }
    let log = dir.files[&name(1000, FileKind::Log)].as_ref().unwrap();
    assert_eq!(log[..], segment(1000)[..50 * BATCH]);
    assert!(!dir.files.contains_key(&name(2000, FileKind::Log)));
    assert!(dir.files.contains_key(&name(1505, FileKind::Snapshot)));
    let epochs = dir.files["leader-epoch-checkpoint"].as_ref().unwrap();
    assert_eq!(epochs, b"0\n1\n0 0\n");
}

/// As Kafka 4.4.0 booted such a log: `deletes all segments`, and the log goes on from its start.
#[test]
fn a_batch_that_reaches_across_the_logs_start_leaves_an_empty_log() {
    let plan = t4().plan(&RecoveryInputs {
        log_start_offset: Some(Offset(1505)),
        ..to(1505)
    });
    assert_eq!(plan.log_end_offset, Some(Offset(1505)));
    let finding = (plan.findings.iter())
        .find(|finding| finding.code == FindingCode::WholeBatchCut)
        .unwrap();
    let says = "the log's end at 1505, its start, and deletes the segments below it";
    assert!(finding.text.ends_with(says), "{}", finding.text);
}

#[test]
fn a_target_at_a_base_empties_that_segment() {
    let mut dir = t4();
    let plan = dir.plan(&to(2000));
    assert_eq!(truncation(&plan).lost_bytes, 2 * SEGMENT as u64);
    assert_eq!(truncation(&plan).lost_segments, 1);
    assert_eq!(plan.log_end_offset, Some(Offset(2000)));
    for step in &plan.steps {
        dir.apply(step);
    }
    for kind in [FileKind::Log, FileKind::Index, FileKind::TimeIndex] {
        assert_eq!(dir.files[&name(2000, kind)].as_deref(), Some(&[][..]));
    }
    assert_eq!(dir.files[&name(1000, FileKind::Log)], Some(segment(1000)));
}

#[test]
fn records_are_counted_where_they_were_read() {
    let plan = t4().plan(&to(3700));
    assert_eq!(truncation(&plan).lost_records, Some(300));
    assert_eq!(truncation(&plan).lost_bytes, len(30));
    assert_eq!(plan.steps[0].file, name(3000, FileKind::Log));
    let StepAction::SetLen { to, .. } = plan.steps[0].action else {
        panic!("{:?}", plan.steps[0])
    };
    assert_eq!(to, len(70), "one cut is whole by itself");
}

#[test]
fn marks_and_epochs_stand_for_offsets() {
    for (target, offset) in [
        (TruncationTarget::HighWatermark, 3005),
        (TruncationTarget::LastStable, 3005),
        (TruncationTarget::Epoch(LeaderEpoch(0)), 2500),
        (TruncationTarget::Epoch(LeaderEpoch(2)), 2500),
    ] {
        let plan = t4().plan(&inputs(target));
        assert_eq!(truncation(&plan).offset, Offset(offset), "{target:?}");
        assert_eq!(truncation(&plan).asked, target);
    }
}

#[test]
fn a_target_that_the_log_does_not_reach_changes_nothing() {
    for target in [
        TruncationTarget::Offset(Offset(4000)),
        TruncationTarget::Offset(Offset(9999)),
        TruncationTarget::Epoch(LeaderEpoch(3)),
    ] {
        let plan = t4().plan(&inputs(target));
        assert_eq!(plan.verdict, Verdict::Nothing, "{target:?}");
        assert_eq!(
            (plan.steps.len(), plan.log_end_offset),
            (0, Some(Offset(4000)))
        );
        assert!(
            plan.findings
                .iter()
                .any(|finding| finding.code == FindingCode::NoEffect)
        );
    }
}

#[test]
fn what_would_be_wrong_is_refused_and_says_why() {
    let started = RecoveryInputs {
        log_start_offset: Some(Offset(1200)),
        ..to(1100)
    };
    assert!(refusal(&t4().plan(&started)).contains("bring back deleted records"));
    let unmarked = RecoveryInputs {
        high_watermark: None,
        ..inputs(TruncationTarget::HighWatermark)
    };
    assert!(refusal(&t4().plan(&unmarked)).contains("no high watermark"));
    let unknown = inputs(TruncationTarget::Epoch(LeaderEpoch(4)));
    assert!(refusal(&t4().plan(&unknown)).contains("its latest is 3"));
    let mut unproven = to(2500);
    unproven.replicas = None;
    assert!(refusal(&t4().plan(&unproven)).contains("may be the last copy"));
    let mut swapped = t4();
    let swap = name(0, FileKind::Log) + ".swap";
    swapped.files.insert(swap.clone(), Some(Vec::new()));
    let plan = swapped.plan(&to(2500));
    assert!(refusal(&plan).starts_with(&swap), "{plan:?}");
}

#[test]
fn what_an_interrupted_compaction_left_goes_as_at_a_boot() {
    let mut dir = t4();
    let cleaned = name(1000, FileKind::Log) + ".cleaned";
    dir.files.insert(cleaned.clone(), Some(vec![1; 10]));
    let plan = dir.plan(&to(2500));
    assert_eq!(truncation(&plan).offset, Offset(2500));
    for step in &plan.steps {
        dir.apply(step);
    }
    assert!(!dir.files.contains_key(&cleaned));
    let mut without = t4();
    for step in &without.plan(&to(2500)).steps {
        without.apply(step);
    }
    assert_eq!(dir.files, without.files);
}

#[test]
fn the_last_in_sync_copy_is_named_with_the_age_of_what_says_so() {
    let mut alone = to(3700);
    alone.replicas = Some(replicas(&[1]));
    let plan = t4().plan(&alone);
    let found = |code| plan.findings.iter().find(|finding| finding.code == code);
    let text = &found(FindingCode::LastInSyncCopy).unwrap().text;
    assert!(text.contains("(10 s ago)"), "{text}");
    let plan = t4().plan(&to(3700));
    let others = plan
        .findings
        .iter()
        .find(|finding| finding.code == FindingCode::OtherReplicas);
    assert!(others.unwrap().text.contains("broker 2, leader 2"));
}

#[test]
fn in_a_crashed_log_dir_the_log_is_recovered_in_the_same_plan() {
    let mut dir = t4();
    let flipped = dir.files.get_mut(&name(3000, FileKind::Log)).unwrap();
    // Good batches follow the bad one: a question of its own, were they not beyond the target.
    flipped.as_mut().unwrap()[80 * BATCH + 200] ^= 1;
    let unclean = |target| RecoveryInputs {
        stop: StopState::Unclean,
        recovery_point: Some(Offset(3000)),
        ..to(target)
    };
    let plan = dir.plan(&unclean(3700));
    assert_eq!(truncation(&plan).end_before, Offset(3800));
    assert_eq!(plan.log_end_offset, Some(Offset(3700)));
    // 10 good batches up to the bad one and 19 behind it.
    assert_eq!(truncation(&plan).lost_bytes, len(29));
    assert_eq!(truncation(&plan).lost_records, Some(290));
    for step in &plan.steps {
        dir.apply(step);
    }
    let log = dir.files[&name(3000, FileKind::Log)].as_ref().unwrap();
    assert_eq!(log.len() as u64, len(70));
    let again = dir.plan(&unclean(3800));
    assert_eq!(again.verdict, Verdict::Nothing);
}

/// Two logs in a crashed dir: the recovery point of one lies above its target, that of the other is missing.
fn two_logs() -> Tree {
    let tree = Tree::t4_unflushed();
    copy_tree(&tree.path("d1/t-0"), &tree.path("d1/t-1"));
    let points = tree.path("d1/recovery-point-offset-checkpoint");
    std::fs::write(points, "0\n1\nt 0 3500\n").unwrap();
    tree
}

fn two_truncations(tree: &Tree) -> PlanSpec {
    let now = Timestamp(1_700_000_400_000);
    let mut spec = PlanSpec::new(vec![tree.path("d1")], KafkaVersion::NEWEST_KNOWN, now);
    let mut truncation = TruncationSpec::default();
    for (number, offset) in [(0, 1505), (1, 2000)] {
        let partition = TopicPartition::new("t", number);
        let target = TruncationTarget::Offset(Offset(offset));
        truncation.targets.insert(partition, target);
    }
    spec.replicas = Arc::new(|_| Some(replicas(&[1])));
    spec.truncation = Some(truncation);
    spec.quarantine = Some(tree.path("quarantine"));
    spec
}

/// Returns the files of the log dir, without what a killed run left half-written beside them.
fn whole_files(tree: &Tree) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = contents(&tree.path("d1"));
    files.retain(|name, _| !name.to_string_lossy().ends_with(".krescue.tmp"));
    files
}

#[test]
fn truncations_killed_at_any_change_go_on_by_their_hash_and_are_taken_back() {
    let whole = two_logs();
    let state = whole.path("state");
    let before = whole_files(&whole);
    let plan = stored(&state, two_truncations(&whole));
    let storage = StoppingStorage::never();
    assert_eq!(apply(&storage, &state, &plan), JobOutcome::Done);
    let end = whole_files(&whole);
    let points = &end[Path::new("recovery-point-offset-checkpoint")];
    assert_eq!(points, b"0\n2\nt 0 1505\nt 1 2000\n");
    let (mut resumed, mut undone) = (0, 0);
    // The first half of the changes is made beside the log dir.
    for changes in storage.changes() / 2..storage.changes() {
        let tree = two_logs();
        let state = tree.path("state");
        let plan = stored(&state, two_truncations(&tree));
        let killed = apply(&StoppingStorage::after(changes), &state, &plan);
        assert!(!matches!(killed, JobOutcome::Done), "{killed:?}");
        let undo =
            (changes % 2 == 1).then(|| plan_undo(&state, &plan.hash, Timestamp(1_700_000_500_000)));
        let (then, expected) = if let Some(Ok(made)) = undo {
            undone += 1;
            (PlanStore::new(&state).save(made).unwrap(), &before)
        } else {
            resumed += 1;
            (plan, &end)
        };
        let outcome = apply(&StoppingStorage::never(), &state, &then);
        assert_eq!(outcome, JobOutcome::Done, "after {changes} changes");
        assert!(
            whole_files(&tree) == *expected,
            "after {changes} changes: {:?}",
            tree.path("d1")
        );
    }
    assert!(resumed > 10 && undone > 10, "{resumed} {undone}");
}
