//! A whole replica that is set aside, to be fetched again: when it may be, what a boot finds after any part of it, and that
//! it goes on and is taken back from wherever it was killed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krescue::disk::Storage;
use krescue::engine::{JobOutcome, PlanSpec, PlanStore, StoredPlan, plan_undo};
use krescue::log::FindingCode;
use krescue::plan::{
    Ask, AskReason, Class, EvidenceSource, HandOver, OnLoss, PartitionPlan, RecoveryInputs,
    ReplicaEvidence, Verdict,
};
use krescue::terms::{KafkaVersion, Offset, Timestamp};

use crate::support::apply::{apply, contents, copy_tree, stored};
use crate::support::fixture::{BATCH, SEGMENT, Tree, segment};
use crate::support::memory_dir::MemoryDir;
use crate::support::memory_t4::{bytes_of, codes, inputs, log_name, run, t4};
use crate::support::power_cut::{Files, RecordingStorage};
use crate::support::storage::StoppingStorage;
use crate::support::volumes::fast_tempdir;

fn evidence(isr: &[i32]) -> ReplicaEvidence {
    ReplicaEvidence {
        broker: Some(1),
        isr: isr.to_vec(),
        leader: isr.first().copied(),
        as_of: Timestamp(1_700_000_090_000),
        source: EvidenceSource::Cluster,
        ends: vec![(2, Offset(3_999))],
    }
}

/// What decides that a replica is set aside, where it is not in sync and others are.
fn aside() -> RecoveryInputs {
    RecoveryInputs {
        on_loss: OnLoss::SetAside,
        replicas: Some(evidence(&[2, 3])),
        ..inputs(0)
    }
}

fn flipped() -> MemoryDir {
    let mut dir = t4();
    bytes_of(&mut dir, &log_name(1000))[57_650] ^= 0xff;
    dir
}

fn ask(plan: &PartitionPlan) -> &Ask {
    match &plan.verdict {
        Verdict::Ask(ask) => ask,
        verdict => panic!("{verdict:?} {:?}", plan.findings),
    }
}

#[test]
fn all_of_the_log_goes_and_its_topic_id_stays() {
    let mut dir = flipped();
    dir.files
        .insert("notes.txt".to_owned(), Some(b"mine".to_vec()));
    let plan = dir.plan(&aside());
    let ask = ask(&plan);
    assert!(ask.accepted && ask.decided == OnLoss::SetAside);
    assert_eq!((ask.lost_bytes, ask.lost_segments), (4 * SEGMENT as u64, 4));
    let left: Vec<String> = run(&dir, &plan).files.into_keys().collect();
    assert_eq!(left, ["notes.txt", "partition.metadata"]);
    assert_eq!(plan.log_end_offset, Some(Offset(0)));
    let told = plan
        .findings
        .iter()
        .find(|finding| finding.code == FindingCode::DecisionTaken)
        .unwrap();
    let who = "brokers 2 (its log ends at 3999), 3 in sync by the living cluster of 2023-11-14T22:14:50.000Z (10 s ago)";
    assert!(told.text.contains(who), "{}", told.text);
    assert!(codes(&plan).contains(&FindingCode::CrcMismatch));
}

#[test]
fn without_proof_that_others_have_it_and_this_broker_cannot_lead_it_stays() {
    let with = |replicas: Option<ReplicaEvidence>| RecoveryInputs {
        replicas,
        ..aside()
    };
    let unknown = ReplicaEvidence {
        broker: None,
        ..evidence(&[2])
    };
    let leaderless = ReplicaEvidence {
        leader: None,
        ..evidence(&[2])
    };
    let unkept = RecoveryInputs {
        quarantine: None,
        ..aside()
    };
    for (inputs, why) in [
        (with(None), "nothing on this host says"),
        (with(Some(unknown)), "which broker this is"),
        (with(Some(evidence(&[1]))), "this may be the last copy"),
        (with(Some(evidence(&[]))), "this may be the last copy"),
        (
            with(Some(evidence(&[2, 1]))),
            "may be the first to lead again",
        ),
        (with(Some(leaderless)), "no broker leads it"),
        (unkept, "nothing would be left"),
    ] {
        let plan = flipped().plan(&inputs);
        let ask = ask(&plan);
        assert!(!ask.accepted, "{why}");
        assert_eq!(plan.steps, []);
        let mut findings = plan.findings.iter();
        let refused = findings.find(|finding| finding.code == FindingCode::DecisionRefused);
        assert!(refused.unwrap().text.contains(why), "{refused:?}");
        assert!(ask.no_set_aside.as_ref().unwrap().contains(why));
    }
}

#[test]
fn it_is_offered_where_nothing_is_decided_yet() {
    let asked = RecoveryInputs {
        on_loss: OnLoss::Ask,
        ..aside()
    };
    let plan = flipped().plan(&asked);
    assert_eq!(ask(&plan).no_set_aside, None);
    assert_eq!(ask(&plan).replicas.as_deref(), Some(&evidence(&[2, 3])));
    assert!(!ask(&plan).accepted);
}

#[test]
fn a_log_that_kafka_does_not_load_is_set_aside_too_and_one_without_a_loss_is_not() {
    let mut dir = t4();
    dir.files.insert("x.log".to_owned(), Some(Vec::new()));
    assert!(matches!(
        dir.plan(&inputs(0)).verdict,
        Verdict::Refused { .. }
    ));
    let plan = dir.plan(&aside());
    assert_eq!(ask(&plan).reason, AskReason::NotLoaded);
    let left: Vec<String> = run(&dir, &plan).files.into_keys().collect();
    assert_eq!(left, ["partition.metadata"]);
    let alone = RecoveryInputs {
        replicas: None,
        ..aside()
    };
    let plan = dir.plan(&alone);
    assert!(matches!(plan.verdict, Verdict::Refused { .. }) && plan.steps.is_empty());
    assert!(codes(&plan).contains(&FindingCode::DecisionRefused));

    let mut bad_id = flipped();
    bad_id
        .files
        .insert("partition.metadata".to_owned(), Some(Vec::new()));
    let left = run(&bad_id, &bad_id.plan(&aside()));
    assert!(left.files.is_empty(), "a boot makes the dir anew");

    let mut torn = t4();
    bytes_of(&mut torn, &log_name(3000)).truncate(SEGMENT - 1);
    assert_eq!(torn.plan(&aside()).verdict, Verdict::Recover);
}

/// The batches that a boot finds, in order: those of `T4` from its start, none missing between them.
fn is_beginning(found: &BTreeMap<String, Option<Vec<u8>>>) -> bool {
    let logs = found
        .iter()
        .filter(|(name, _)| name.strip_suffix(".log").is_some());
    let all: Vec<u8> = logs.flat_map(|(_, bytes)| bytes.clone().unwrap()).collect();
    let whole: Vec<u8> = [0, 1000, 2000, 3000]
        .into_iter()
        .flat_map(segment)
        .collect();
    whole.starts_with(&all) && all.len().is_multiple_of(BATCH)
}

/// What a boot makes of a dir.
fn booted(dir: &MemoryDir, inputs: &RecoveryInputs) -> MemoryDir {
    let inputs = RecoveryInputs {
        on_loss: OnLoss::LikeKafka,
        ..inputs.clone()
    };
    let plan = dir.plan(&inputs);
    assert!(plan.verdict.reaches_end(), "{:?}", plan.verdict);
    run(dir, &plan)
}

#[test]
fn a_boot_after_any_part_finds_the_first_part_of_the_log() {
    let mut swapped = flipped();
    // A compaction of segments 0 and 1000 that was to replace them.
    let both = [segment(0), segment(1000)].concat();
    for (name, bytes) in [
        ("log", both),
        ("index", Vec::new()),
        ("timeindex", Vec::new()),
    ] {
        let name = format!("00000000000000000000.{name}.swap");
        swapped.files.insert(name, Some(bytes));
    }
    bytes_of(&mut swapped, &log_name(2000))[57_650] ^= 0xff;
    let mut cleaned = flipped();
    let half = "00000000000000002000.log.swap".to_owned();
    cleaned.files.insert(half, Some(vec![1; 100]));
    let mark = "00000000000000002000.timeindex.cleaned".to_owned();
    cleaned.files.insert(mark, Some(Vec::new()));
    for (what, dir) in [
        ("plain", flipped()),
        ("swap", swapped),
        ("cleaned", cleaned),
    ] {
        for point in [0, 3000, 4000] {
            let inputs = RecoveryInputs {
                recovery_point: Some(Offset(point)),
                ..aside()
            };
            let plan = dir.plan(&RecoveryInputs {
                recovery_point: Some(Offset(0)),
                ..inputs.clone()
            });
            assert!(ask(&plan).accepted, "{what}");
            let mut half = dir.clone();
            let mut sizes = Vec::new();
            for step in &plan.steps {
                let found = booted(&half, &inputs);
                // Below the recovery point nobody looks at the flipped bit.
                assert!(
                    point > 0 || is_beginning(&found.files),
                    "{what}, {point}, before {}: {:?}",
                    step.file,
                    found.files.keys()
                );
                sizes.push(found.files.len());
                half.apply(step);
            }
            assert!(sizes.is_sorted_by(|a, b| a >= b), "{what} {sizes:?}");
        }
    }
}

/// `T4` with a flipped bit, all of it unflushed; copies of it lie in memory.
struct Damaged(Tree);

impl Damaged {
    fn new() -> Self {
        let tree = Tree::t4_unflushed();
        tree.edit(&tree.t0(1000, "log"), |bytes| bytes[57_650] ^= 0xff);
        Self(tree)
    }

    fn copy(&self) -> tempfile::TempDir {
        let work = fast_tempdir();
        copy_tree(&self.0.path("d1"), &work.path().join("d1"));
        work
    }
}

fn spec(work: &Path, hand_over: HandOver) -> PlanSpec {
    let now = Timestamp(1_700_000_100_000);
    let mut spec = PlanSpec::new(vec![work.join("d1")], KafkaVersion::NEWEST_KNOWN, now);
    spec.hand_over = hand_over;
    spec.decisions.others = OnLoss::SetAside;
    spec.replicas = Arc::new(|_| Some(evidence(&[2, 3])));
    spec.quarantine = Some(work.join("quarantine"));
    spec
}

fn undone(state: &Path, plan: &StoredPlan, storage: &dyn Storage) -> JobOutcome {
    let made = plan_undo(state, &plan.hash, Timestamp(1_700_000_200_000)).unwrap();
    let undo = PlanStore::new(state).save(made).unwrap();
    apply(storage, state, &undo)
}

#[test]
fn it_goes_on_and_is_taken_back_from_wherever_it_was_killed() {
    let damaged = Damaged::new();
    let (state, dir) = (Path::new("state"), Path::new("d1"));
    let whole = damaged.copy();
    let [state_dir, log_dir] = [state, dir].map(|name| whole.path().join(name));
    let before = contents(&log_dir);
    let plan = stored(&state_dir, spec(whole.path(), HandOver::Verify));
    assert_eq!(plan.plan.class(), Some(Class::C));
    let counting = StoppingStorage::never();
    assert_eq!(apply(&counting, &state_dir, &plan), JobOutcome::Done);
    let end = contents(&log_dir);
    let left = end.keys().filter(|name| name.starts_with("t-0"));
    assert_eq!(
        left.collect::<Vec<_>>(),
        [Path::new("t-0/partition.metadata")]
    );
    let points = &end[Path::new("recovery-point-offset-checkpoint")];
    assert_eq!(points, b"0\n1\nt 0 0\n");
    let kept = contents(&whole.path().join("quarantine"));
    assert!(kept.values().any(|bytes| *bytes == segment(2000)));
    let undoing = StoppingStorage::never();
    assert_eq!(undone(&state_dir, &plan, &undoing), JobOutcome::Done);
    assert!(contents(&log_dir) == before);

    for stop in 0..counting.changes() {
        let work = damaged.copy();
        let [state, log_dir] = [state, dir].map(|name| work.path().join(name));
        let plan = stored(&state, spec(work.path(), HandOver::Verify));
        let killed = apply(&StoppingStorage::after(stop), &state, &plan);
        assert!(!matches!(killed, JobOutcome::Done), "{stop}: {killed:?}");
        if stop % 2 == 0 {
            let outcome = apply(&StoppingStorage::never(), &state, &plan);
            assert_eq!(outcome, JobOutcome::Done, "{stop}");
            assert!(contents(&log_dir) == end, "{stop}");
        }
        if without_halves(&log_dir) != before {
            let outcome = undone(&state, &plan, &StoppingStorage::never());
            assert_eq!(outcome, JobOutcome::Done, "{stop}");
        }
        assert!(without_halves(&log_dir) == before, "{stop}");
    }
    for stop in 0..undoing.changes() {
        let work = damaged.copy();
        let [state, log_dir] = [state, dir].map(|name| work.path().join(name));
        let plan = stored(&state, spec(work.path(), HandOver::Verify));
        apply(&StoppingStorage::never(), &state, &plan);
        undone(&state, &plan, &StoppingStorage::after(stop));
        if without_halves(&log_dir) != before {
            let outcome = undone(&state, &plan, &StoppingStorage::never());
            assert_eq!(outcome, JobOutcome::Done, "{stop}");
        }
        assert!(without_halves(&log_dir) == before, "{stop}");
    }
}

/// Returns the files of a log dir, but what a killed run left half-written.
fn without_halves(log_dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = contents(log_dir);
    files.retain(|name, _| !name.to_str().unwrap().ends_with(".krescue.tmp"));
    files
}

#[test]
fn a_power_cut_anywhere_leaves_the_first_part_of_the_log_and_keeps_the_rest() {
    let root = Damaged::new().copy();
    let state = tempfile::tempdir().unwrap();
    let plan = stored(state.path(), spec(root.path(), HandOver::Verify));
    let storage = RecordingStorage::new(root.path());
    assert_eq!(apply(&storage, state.path(), &plan), JobOutcome::Done);
    let recording = storage.into_recording();
    let before = recording.before();
    let mut cuts = 0;
    recording.cuts(1, |cut, files: Files| {
        cuts += 1;
        let dir = MemoryDir {
            name: "t-0".to_owned(),
            files: files
                .iter()
                .filter_map(|(path, bytes)| {
                    let name = path.strip_prefix("d1/t-0").ok()?.to_str()?.to_owned();
                    Some((name, Some(bytes.clone())))
                })
                .collect(),
        };
        let found = booted(&dir, &inputs(0));
        assert!(
            is_beginning(&found.files),
            "{cut}: {:?}",
            found.files.keys()
        );
        for (path, bytes) in before.iter().filter(|(path, _)| path.starts_with("d1/t-0")) {
            let is_kept = |(kept, known): (&PathBuf, &Vec<u8>)| {
                kept.starts_with("quarantine") && known == bytes
            };
            let there = files.get(path) == Some(bytes) || files.iter().any(is_kept);
            assert!(there, "{cut}: {} is lost", path.display());
        }
    });
    assert!(cuts > 50, "{cuts}");
}
