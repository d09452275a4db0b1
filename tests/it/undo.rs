//! What an undo puts back: everything, byte for byte, from wherever the apply or the undo was killed.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krescue::disk::{RealStorage, Storage};
use krescue::engine::{
    EngineError, JobOutcome, PlanSpec, PlanStore, StoredPlan, TruncationSpec, plan_undo,
};
use krescue::plan::{Class, EvidenceSource, HandOver, OnLoss, ReplicaEvidence, TruncationTarget};
use krescue::terms::{KafkaVersion, Offset, Timestamp, TopicPartition};
use proptest::prelude::*;

use crate::golden::{PACKED, VERSIONS, case, names};
use crate::golden_on_disk;
use crate::support::apply::{apply, copy_tree, stored};
use crate::support::damage::{apply_damage, damage};
use crate::support::fixture::{BATCH, SEGMENT, Tree};
use crate::support::golden_archive::unpack;
use crate::support::memory_t4::t4;
use crate::support::storage::StoppingStorage;
use crate::support::volumes::{fast_tempdir, on_another_volume};

const NOW: Timestamp = Timestamp(1_700_000_200_000);

/// Names, bytes, modes and times of everything below a log dir, but the lock and krescue's half-written files.
fn everything(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, i64)> {
    let mut files = BTreeMap::new();
    let mut paths = vec![dir.to_owned()];
    while let Some(path) = paths.pop() {
        for entry in std::fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            let meta = std::fs::metadata(&path).unwrap();
            let name = path.strip_prefix(dir).unwrap().to_owned();
            if meta.is_dir() {
                files.insert(name, (Vec::new(), meta.mode(), 0));
                paths.push(path);
            } else if !path.ends_with(".lock") {
                let time = meta.mtime() * 1_000_000_000 + meta.mtime_nsec();
                files.insert(name, (std::fs::read(path).unwrap(), meta.mode(), time));
            }
        }
    }
    files
}

fn without_halves(
    mut files: BTreeMap<PathBuf, (Vec<u8>, u32, i64)>,
) -> BTreeMap<PathBuf, (Vec<u8>, u32, i64)> {
    files.retain(|name, _| !name.to_str().unwrap().ends_with(".krescue.tmp"));
    files
}

/// Says which files differ, for a failure that can be read.
fn differences(
    want: &BTreeMap<PathBuf, (Vec<u8>, u32, i64)>,
    got: &BTreeMap<PathBuf, (Vec<u8>, u32, i64)>,
) -> Vec<String> {
    let names = want.keys().chain(got.keys());
    let mut told: Vec<String> = names
        .filter(|name| want.get(*name) != got.get(*name))
        .map(|name| {
            let of = |files: &BTreeMap<PathBuf, (Vec<u8>, u32, i64)>| {
                files
                    .get(name)
                    .map(|(bytes, mode, time)| (bytes.len(), *mode, *time))
            };
            format!("{}: {:?} became {:?}", name.display(), of(want), of(got))
        })
        .collect();
    told.dedup();
    told
}

fn spec(work: &Path, hand_over: HandOver) -> PlanSpec {
    let mut spec = PlanSpec::new(
        vec![work.join("d1")],
        KafkaVersion::NEWEST_KNOWN,
        Timestamp(1_700_000_100_000),
    );
    spec.hand_over = hand_over;
    spec.decisions.others = OnLoss::LikeKafka;
    spec.quarantine = Some(work.join("quarantine"));
    spec
}

fn undo_of(state: &Path, hash: &str) -> StoredPlan {
    let made = plan_undo(state, hash, NOW).unwrap();
    PlanStore::new(state).save(made).unwrap()
}

fn why_not(state: &Path, hash: &str) -> String {
    match plan_undo(state, hash, NOW) {
        Err(EngineError::CannotUndo { cause, .. }) => cause,
        Err(other) => panic!("{other}"),
        Ok(made) => panic!("it can: {}", made.hash()),
    }
}

/// Logs with every kind of step: a cut, removed segments, rewritten and new files, trimmed indexes, a renamed swap.
fn damaged() -> Tree {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[BATCH * 50 + 300] ^= 1);
    tree.write("d1/t-0/leader-epoch-checkpoint", "0\n2\n0 0\n7 3500\n");
    tree.edit(&tree.t0(1000, "index"), |bytes| bytes.resize(1 << 20, 0));
    tree.write("d1/t-0/00000000000000000500.log.deleted", "scheduled");
    tree.add_partition("d1", "u-0", 2);
    let torn = tree.path("d1/u-0/00000000000000001000.log");
    tree.edit(&torn, |bytes| bytes.truncate(SEGMENT - 100));
    std::fs::remove_file(tree.path("d1/u-0/00000000000000000000.index")).unwrap();
    tree.edit(
        &tree.path("d1/u-0/00000000000000000000.timeindex"),
        |bytes| {
            bytes[3] ^= 1;
        },
    );
    tree.add_partition("d1", "w-0", 1);
    tree.write("d1/w-0/00000000000000000000.index.krescue.tmp", "half");
    tree.add_partition("d1", "v-0", 1);
    tree.write("d1/v-0/00000000000000009000.index", "orphan");
    // Complete swaps, which a boot renames.
    for suffix in ["log", "index", "timeindex"] {
        let from = tree.path(&format!("d1/v-0/00000000000000000000.{suffix}"));
        let to = tree.path(&format!("d1/v-0/00000000000000000000.{suffix}.swap"));
        std::fs::rename(from, to).unwrap();
    }
    tree
}

#[test]
fn an_undo_brings_back_every_byte_mode_and_time() {
    for (hand_over, marker) in [
        (HandOver::None, None),
        (HandOver::Verify, None),
        (HandOver::Clean, None),
        (HandOver::Clean, Some("{\"version\":0,\"brokerEpoch\":42}")),
    ] {
        let tree = damaged();
        if let Some(marker) = marker {
            tree.write("d1/.kafka_cleanshutdown", marker);
        }
        let state = tree.path("state");
        let before = without_halves(everything(&tree.path("d1")));
        let plan = stored(&state, spec(&tree.path("."), hand_over));
        assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
        assert_ne!(everything(&tree.path("d1")), before);
        let undo = undo_of(&state, &plan.hash[..8]);
        assert_eq!(undo.plan.class(), Some(Class::A));
        assert_eq!(apply(&RealStorage, &state, &undo), JobOutcome::Done);
        let after = everything(&tree.path("d1"));
        let told = differences(&before, &after);
        assert!(told.is_empty(), "{hand_over:?} {marker:?} {told:#?}");
        assert!(why_not(&state, &plan.hash).contains("it was taken back at"));
        assert!(why_not(&state, &undo.hash).contains("itself"));
    }
}

#[test]
fn a_quarantine_on_another_volume_gives_back_modes_and_times_too() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = damaged();
    for entry in std::fs::read_dir(tree.path("d1/t-0")).unwrap() {
        let mode = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(entry.unwrap().path(), mode).unwrap();
    }
    let Some(elsewhere) = on_another_volume() else {
        return;
    };
    let device = |path: &Path| std::fs::metadata(path).unwrap().dev();
    assert_ne!(device(elsewhere.path()), device(&tree.path("d1")));
    let state = tree.path("state");
    let before = without_halves(everything(&tree.path("d1")));
    let mut spec = spec(&tree.path("."), HandOver::Verify);
    spec.quarantine = Some(elsewhere.path().join("quarantine"));
    let plan = stored(&state, spec);
    assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
    let undo = undo_of(&state, &plan.hash);
    assert_eq!(apply(&RealStorage, &state, &undo), JobOutcome::Done);
    let told = differences(&before, &everything(&tree.path("d1")));
    assert!(told.is_empty(), "{told:#?}");
}

#[test]
fn every_golden_case_comes_back() {
    let files = unpack(PACKED);
    let mut failures = Vec::new();
    let mut undone = 0;
    for name in names(&files) {
        for version in VERSIONS {
            let case = case(&files, &name, version);
            let work = fast_tempdir();
            let (state, log_dir) = (work.path().join("state"), work.path().join("d1"));
            golden_on_disk::write(&case.dir, &files, &name, &log_dir);
            let before = everything(&log_dir);
            let mut spec = golden_on_disk::spec(&log_dir, &case.inputs);
            spec.hand_over = HandOver::Verify;
            spec.quarantine = Some(work.path().join("quarantine"));
            let plan = stored(&state, spec);
            apply(&StoppingStorage::never(), &state, &plan);
            if everything(&log_dir) == before {
                assert!(why_not(&state, &plan.hash).contains("as they were"));
                continue;
            }
            let undo = undo_of(&state, &plan.hash);
            let outcome = apply(&StoppingStorage::never(), &state, &undo);
            let told = differences(&before, &everything(&log_dir));
            if outcome != JobOutcome::Done || !told.is_empty() {
                failures.push(format!("{name} {version}: {outcome:?} {told:#?}"));
            }
            undone += 1;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(undone > 40, "{undone}");
}

/// `T4` of a clean stop, truncated to an offset in its third segment.
fn truncation(work: &Path) -> PlanSpec {
    let mut spec = spec(work, HandOver::Verify);
    let target = TruncationTarget::Offset(Offset(2345));
    let evidence = ReplicaEvidence {
        broker: Some(1),
        isr: vec![1, 2],
        leader: Some(2),
        as_of: NOW,
        source: EvidenceSource::Disk,
        ends: Vec::new(),
    };
    let partition = TopicPartition::new("t", 0);
    spec.truncation = Some(TruncationSpec {
        targets: [(partition, target)].into(),
    });
    spec.replicas = Arc::new(move |_| Some(evidence.clone()));
    let dir = work.join("d1");
    std::fs::write(dir.join("cleaner-offset-checkpoint"), "0\n1\nt 0 3000\n").unwrap();
    let text = "{\"version\":0,\"brokerEpoch\":42}";
    std::fs::write(dir.join(".kafka_cleanshutdown"), text).unwrap();
    spec
}

#[test]
fn a_truncation_is_taken_back_from_wherever_it_or_its_undo_was_killed() {
    let whole = Tree::t4();
    let counting = StoppingStorage::never();
    let plan = stored(&whole.path("state"), truncation(&whole.path(".")));
    let verdict = &plan.plan.log_dirs[0].partitions[0].verdict;
    assert!(verdict.is_applied(), "{verdict:?}");
    assert_eq!(
        apply(&counting, &whole.path("state"), &plan),
        JobOutcome::Done
    );
    let log = std::fs::metadata(whole.t0(2000, "log")).unwrap().len();
    assert!(log < SEGMENT as u64 && !whole.t0(3000, "log").exists());
    let undo = undo_of(&whole.path("state"), &plan.hash);
    let undoing = StoppingStorage::never();
    assert_eq!(
        apply(&undoing, &whole.path("state"), &undo),
        JobOutcome::Done
    );
    let stops = (0..counting.changes()).map(|stop| (stop, usize::MAX));
    let undo_stops = (0..undoing.changes()).map(|stop| (usize::MAX, stop));
    for (stop, undo_stop) in stops.chain(undo_stops) {
        let tree = Tree::t4();
        let state = tree.path("state");
        let plan = stored(&state, truncation(&tree.path(".")));
        let before = without_halves(everything(&tree.path("d1")));
        apply(&StoppingStorage::after(stop), &state, &plan);
        for storage in [StoppingStorage::after(undo_stop), StoppingStorage::never()] {
            if without_halves(everything(&tree.path("d1"))) == before {
                break;
            }
            let undo = undo_of(&state, &plan.hash);
            let outcome = apply(&storage, &state, &undo);
            let killed = storage.changes() == usize::MAX;
            assert!(
                killed || outcome == JobOutcome::Done,
                "{stop} {undo_stop}: {outcome:?}"
            );
        }
        let told = differences(&before, &without_halves(everything(&tree.path("d1"))));
        assert!(told.is_empty(), "{stop} {undo_stop}: {told:#?}");
    }
}

/// The plan of a copy of `tree`, applied by `storage`.
fn applied(tree: &Tree, work: &Path, hand_over: HandOver, storage: &dyn Storage) -> StoredPlan {
    copy_tree(&tree.path("d1"), &work.join("d1"));
    let state = work.join("state");
    let plan = stored(&state, spec(work, hand_over));
    apply(storage, &state, &plan);
    plan
}

#[test]
fn an_apply_killed_at_any_change_is_taken_back() {
    let tree = damaged();
    let whole = fast_tempdir();
    let counting = StoppingStorage::never();
    applied(&tree, whole.path(), HandOver::Clean, &counting);
    for stop in 0..counting.changes() {
        let work = fast_tempdir();
        let killed = StoppingStorage::after(stop);
        let plan = applied(&tree, work.path(), HandOver::Clean, &killed);
        let (state, log_dir) = (work.path().join("state"), work.path().join("d1"));
        let before = without_halves(everything(&tree.path("d1")));
        if without_halves(everything(&log_dir)) == before {
            continue;
        }
        let undo = undo_of(&state, &plan.hash);
        let outcome = apply(&StoppingStorage::never(), &state, &undo);
        assert_eq!(outcome, JobOutcome::Done, "{stop}");
        let told = differences(&before, &without_halves(everything(&log_dir)));
        assert!(told.is_empty(), "{stop}: {told:#?}");
    }
}

#[test]
fn an_undo_killed_at_any_change_goes_on_by_its_hash_or_by_a_new_plan() {
    let tree = damaged();
    let before = without_halves(everything(&tree.path("d1")));
    let whole = fast_tempdir();
    let state = whole.path().join("state");
    let plan = applied(
        &tree,
        whole.path(),
        HandOver::Clean,
        &StoppingStorage::never(),
    );
    let undo = undo_of(&state, &plan.hash);
    let counting = StoppingStorage::never();
    assert_eq!(apply(&counting, &state, &undo), JobOutcome::Done);
    for stop in 0..counting.changes() {
        let work = fast_tempdir();
        let (state, log_dir) = (work.path().join("state"), work.path().join("d1"));
        let plan = applied(
            &tree,
            work.path(),
            HandOver::Clean,
            &StoppingStorage::never(),
        );
        let undo = undo_of(&state, &plan.hash);
        let killed = apply(&StoppingStorage::after(stop), &state, &undo);
        assert!(!matches!(killed, JobOutcome::Done), "{stop}: {killed:?}");
        let again = if stop % 2 == 0 {
            undo
        } else {
            match plan_undo(&state, &plan.hash, NOW) {
                Ok(made) => PlanStore::new(&state).save(made).unwrap(),
                // Killed behind its last change.
                Err(error) => {
                    assert!(
                        error.to_string().contains("as they were"),
                        "{stop}: {error}"
                    );
                    continue;
                }
            }
        };
        let outcome = apply(&StoppingStorage::never(), &state, &again);
        assert_eq!(outcome, JobOutcome::Done, "{stop}");
        let told = differences(&before, &without_halves(everything(&log_dir)));
        assert!(told.is_empty(), "{stop}: {told:#?}");
    }
}

#[test]
fn an_apply_killed_at_any_change_goes_on_by_its_hash() {
    let tree = damaged();
    let whole = fast_tempdir();
    let counting = StoppingStorage::never();
    applied(&tree, whole.path(), HandOver::Clean, &counting);
    let want = everything(&whole.path().join("d1"));
    let bytes = |files: BTreeMap<PathBuf, (Vec<u8>, u32, i64)>| {
        let files = files.into_iter();
        files
            .map(|(name, (bytes, mode, _))| (name, (bytes, mode, 0)))
            .collect::<BTreeMap<_, _>>()
    };
    for stop in 0..counting.changes() {
        let work = fast_tempdir();
        let (state, log_dir) = (work.path().join("state"), work.path().join("d1"));
        let plan = applied(
            &tree,
            work.path(),
            HandOver::Clean,
            &StoppingStorage::after(stop),
        );
        let outcome = apply(&StoppingStorage::never(), &state, &plan);
        assert_eq!(outcome, JobOutcome::Done, "{stop}");
        let told = differences(&bytes(want.clone()), &bytes(everything(&log_dir)));
        assert!(told.is_empty(), "{stop}: {told:#?}");
        // And what both runs did is taken back as one.
        let undo = undo_of(&state, &plan.hash);
        assert_eq!(
            apply(&StoppingStorage::never(), &state, &undo),
            JobOutcome::Done
        );
        let before = without_halves(everything(&tree.path("d1")));
        let told = differences(&before, &everything(&log_dir));
        assert!(told.is_empty(), "{stop}: {told:#?}");
    }
}

#[test]
fn what_changed_since_the_apply_is_named_and_nothing_is_taken_back() {
    type Change = fn(&Tree);
    let changes: [(&str, Change); 8] = [
        ("t-0/00000000000000001000.log", |tree| {
            tree.edit(&tree.t0(1000, "log"), |bytes| bytes.push(0));
        }),
        ("t-0/00000000000000001000.log was written to", |tree| {
            tree.edit(&tree.t0(1000, "log"), |bytes| bytes[5] ^= 1);
        }),
        ("00000000000000000000.log was written to", |tree| {
            tree.edit(&tree.t0(0, "log"), |bytes| bytes[5] ^= 1);
        }),
        ("leader-epoch-checkpoint was written to", |tree| {
            tree.edit(&tree.path("d1/t-0/leader-epoch-checkpoint"), |bytes| {
                bytes.swap(0, 1);
            });
        }),
        ("new is new", |tree| tree.write("d1/t-0/new", "")),
        ("x-0 is new", |tree| tree.add_partition("d1", "x-0", 1)),
        ("recovery-point-offset-checkpoint was written to", |tree| {
            tree.write("d1/recovery-point-offset-checkpoint", "0\n0\n");
        }),
        ("replication-offset-checkpoint was written to", |tree| {
            tree.write("d1/replication-offset-checkpoint", "0\n0\n");
        }),
    ];
    for (text, change) in changes {
        let tree = damaged();
        let state = tree.path("state");
        let plan = stored(&state, spec(&tree.path("."), HandOver::Verify));
        assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
        let planned_before = undo_of(&state, &plan.hash);
        change(&tree);
        let cause = why_not(&state, &plan.hash);
        assert!(cause.contains(text), "{cause}");
        assert!(cause.contains("since it was carried out"), "{cause}");
        let now = everything(&tree.path("d1"));
        let outcome = apply(&RealStorage, &state, &planned_before);
        assert!(matches!(outcome, JobOutcome::Refused { .. }), "{outcome:?}");
        assert_eq!(everything(&tree.path("d1")), now);
    }
}

#[test]
fn without_a_quarantine_or_an_apply_an_undo_says_why_it_cannot() {
    let tree = damaged();
    let state = tree.path("state");
    let mut none = spec(&tree.path("."), HandOver::Verify);
    none.quarantine = None;
    let plan = stored(&state, none);
    assert!(why_not(&state, &plan.hash).contains("never carried out"));
    assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
    assert!(why_not(&state, &plan.hash).contains("without a quarantine"));
}

#[test]
fn a_damaged_quarantine_is_seen_before_any_change() {
    let tree = damaged();
    let state = tree.path("state");
    let plan = stored(&state, spec(&tree.path("."), HandOver::Verify));
    assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
    let undo = undo_of(&state, &plan.hash);
    let now = everything(&tree.path("d1"));
    let mut paths = vec![tree.path("quarantine")];
    while let Some(path) = paths.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                paths.push(path);
            } else if path.to_str().unwrap().contains(".log~") {
                tree.edit(&path, |bytes| bytes[0] ^= 1);
            }
        }
    }
    let outcome = apply(&RealStorage, &state, &undo);
    let JobOutcome::Refused { cause } = outcome else {
        panic!("{outcome:?}")
    };
    assert!(cause.contains("do not fit their hash"), "{cause}");
    assert_eq!(everything(&tree.path("d1")), now);
}

#[test]
fn two_applies_are_taken_back_one_after_the_other() {
    let tree = damaged();
    let state = tree.path("state");
    let before = without_halves(everything(&tree.path("d1")));
    let first = stored(&state, spec(&tree.path("."), HandOver::Verify));
    let killed = apply(&StoppingStorage::after(60), &state, &first);
    assert!(matches!(killed, JobOutcome::Failed { .. }), "{killed:?}");
    let half = without_halves(everything(&tree.path("d1")));
    assert_ne!(half, before);
    let second = stored(&state, spec(&tree.path("."), HandOver::Verify));
    assert_ne!(first.hash, second.hash);
    assert_eq!(apply(&RealStorage, &state, &second), JobOutcome::Done);
    for (plan, want) in [(second, half), (first, before)] {
        let undo = undo_of(&state, &plan.hash);
        assert_eq!(apply(&RealStorage, &state, &undo), JobOutcome::Done);
        let told = differences(&want, &everything(&tree.path("d1")));
        assert!(told.is_empty(), "{told:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Damage of any kind, an apply that is killed anywhere or not at all, an undo that is killed as well.
    #[test]
    fn whatever_was_done_is_taken_back(
        damages in proptest::collection::vec(damage(), 1..4),
        hand_over in prop_oneof![Just(HandOver::None), Just(HandOver::Verify), Just(HandOver::Clean)],
        marked: bool,
        killed in prop_oneof![1 => Just(usize::MAX), 2 => 0..80_usize],
        undo_killed in prop_oneof![1 => Just(usize::MAX), 2 => 0..60_usize],
    ) {
        let mut dir = t4();
        for damage in &damages {
            apply_damage(&mut dir, damage);
        }
        let work = fast_tempdir();
        let (state, log_dir) = (work.path().join("state"), work.path().join("d1"));
        std::fs::create_dir_all(log_dir.join("t-0")).unwrap();
        for (name, bytes) in &dir.files {
            std::fs::write(log_dir.join("t-0").join(name), bytes.as_deref().unwrap()).unwrap();
        }
        std::fs::write(log_dir.join("meta.properties"), "version=1\n").unwrap();
        std::fs::write(log_dir.join("recovery-point-offset-checkpoint"), "0\n1\nt 0 0\n").unwrap();
        if marked {
            std::fs::write(log_dir.join(".kafka_cleanshutdown"), "").unwrap();
        }
        let before = everything(&log_dir);
        let plan = stored(&state, spec(work.path(), hand_over));
        apply(&StoppingStorage::in_the_middle_after(killed), &state, &plan);
        for undo_killed in [undo_killed, usize::MAX] {
            if without_halves(everything(&log_dir)) == before {
                break;
            }
            let undo = undo_of(&state, &plan.hash);
            apply(&StoppingStorage::in_the_middle_after(undo_killed), &state, &undo);
        }
        let told = differences(&before, &without_halves(everything(&log_dir)));
        prop_assert!(told.is_empty(), "{:?} {told:#?}", plan.plan.log_dirs[0].partitions[0].steps);
    }
}
