//! Every error at every call of every act: the file is named, no half-written file stands under a final name, no marker
//! speaks of what is not done, and a rerun reaches the planned end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use krescue::disk::{DiskAction, RealStorage};
use krescue::engine::{
    CleanupSpec, JobOutcome, PlanSpec, PlanStore, StoredPlan, TruncationSpec, make_cleanup,
    plan_undo,
};
use krescue::plan::cleanup::{CleanupWish, GroupCommits, LeftoverProof};
use krescue::plan::{EvidenceSource, HandOver, OnLoss, ReplicaEvidence, TruncationTarget};
use krescue::terms::{KafkaVersion, Offset, Timestamp, TopicPartition};
use nix::libc::{EINTR, EIO, EMFILE, ENOSPC, EROFS};

use crate::support::apply::{alone, apply, contents, copy_tree, stored};
use crate::support::faults::{Call, Fault, FaultyStorage};
use crate::support::fixture::{BATCH, SEGMENT, Tree};
use crate::support::program::run;
use crate::support::volumes::fast_tempdir;

const ERRORS: [i32; 5] = [ENOSPC, EIO, EROFS, EMFILE, EINTR];
const NOW: Timestamp = Timestamp(1_700_000_100_000);
const MARKER: &str = ".kafka_cleanshutdown";

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A copy of a tree to act on, with its state dir and quarantine beside.
struct Work(tempfile::TempDir);

impl Work {
    fn copy_of(tree: &Tree) -> Self {
        let tmp = fast_tempdir();
        copy_tree(&tree.path("d1"), &tmp.path().join("d1"));
        Self(tmp)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn files(&self) -> Files {
        contents(&self.path("d1"))
    }

    fn spec(&self) -> PlanSpec {
        let mut spec = PlanSpec::new(vec![self.path("d1")], KafkaVersion::NEWEST_KNOWN, NOW);
        spec.hand_over = HandOver::Clean;
        spec.decisions.others = OnLoss::LikeKafka;
        spec.quarantine = Some(self.path("quarantine"));
        spec
    }

    fn apply(&self, plan: &StoredPlan, storage: &FaultyStorage) -> JobOutcome {
        apply(storage, &self.path("state"), plan)
    }
}

fn honest() -> FaultyStorage {
    FaultyStorage::new(|_| Fault::None)
}

/// Lets each call of an act meet each error. `plan` makes the act's plan of a copy of the tree, stored.
fn each_call_meets_each_error(name: &str, tree: &Tree, plan: &dyn Fn(&Work) -> StoredPlan) {
    let whole = Work::copy_of(tree);
    let made = plan(&whole);
    let before = whole.files();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&calls);
    let storage = FaultyStorage::new(move |call: &Call| {
        log.lock().unwrap().push(call.clone());
        Fault::None
    });
    assert_eq!(whole.apply(&made, &storage), JobOutcome::Done, "{name}");
    let end = whole.files();
    assert!(end != before, "{name} does something");
    let calls = calls.lock().unwrap();
    let (mut faults, mut told) = (0, 0);
    for call in calls.iter() {
        for errno in ERRORS {
            let work = Work::copy_of(tree);
            let made = plan(&work);
            // Which call is the number so-and-so may differ where several logs are at hand.
            let hit = Arc::new(Mutex::new(call.clone()));
            let (number, seen) = (call.number, Arc::clone(&hit));
            let outcome = work.apply(
                &made,
                &FaultyStorage::new(move |call| {
                    if call.number != number {
                        return Fault::None;
                    }
                    seen.lock().unwrap().clone_from(call);
                    fault_of(call, errno)
                }),
            );
            let call = &*hit.lock().unwrap();
            let fault = fault_of(call, errno);
            let what = format!("{name}, {call:?}, {fault:?}: {outcome:?}");
            faults += 1;
            told += usize::from(outcome != JobOutcome::Done);
            check_left((&before, &end), &work, call, &outcome, &what);
            if outcome != JobOutcome::Done {
                assert_eq!(work.apply(&made, &honest()), JobOutcome::Done, "{what}");
                assert!(work.files() == end, "{what}: another end after a rerun");
            }
        }
    }
    assert!(
        told * 2 > faults,
        "{name}: {told} of {faults} faults are told"
    );
}

fn fault_of(call: &Call, errno: i32) -> Fault {
    match call.action {
        DiskAction::Write => Fault::FailsHalfWay(errno),
        _ => Fault::Fails(errno),
    }
}

/// Checks what a fault leaves, and what is said of it.
fn check_left(
    (before, end): (&Files, &Files),
    work: &Work,
    call: &Call,
    outcome: &JobOutcome,
    what: &str,
) {
    let left = work.files();
    for (path, bytes) in &left {
        let is_half = path.to_string_lossy().ends_with(".krescue.tmp");
        let known = [before.get(path), end.get(path)].contains(&Some(bytes));
        // A truncation leaves a torn byte of the next batch until nothing else speaks of what is cut.
        let is_torn = end
            .get(path)
            .is_some_and(|end| bytes.len() == end.len() + 1)
            && before
                .get(path)
                .is_some_and(|before| before.starts_with(bytes));
        assert!(
            is_half || known || is_torn,
            "{what}: {} of {}",
            path.display(),
            bytes.len()
        );
    }
    let cause = match outcome {
        JobOutcome::Done => return assert!(left == *end, "{what}"),
        JobOutcome::Failed { cause } | JobOutcome::Refused { cause } => cause,
        other => panic!("{what}: {other:?}"),
    };
    // What stands behind it in the quarantine is other in each copy.
    let file = call.path.file_name().unwrap().to_string_lossy();
    let file = file.split('~').next().unwrap();
    assert!(cause.contains("os error"), "{what}");
    assert!(cause.contains(file), "{what}: the file is not named");
    let marker = Path::new(MARKER);
    let was_there = before.contains_key(marker) && left == *before;
    assert!(
        !left.contains_key(marker) || left == *end || was_there,
        "{what}"
    );
}

/// A log with a torn tail, a missing index, an index that differs, and a leftover.
fn torn() -> Tree {
    let tree = Tree::t4_unflushed();
    for suffix in ["log", "index", "timeindex"] {
        std::fs::remove_file(tree.t0(3000, suffix)).unwrap();
    }
    tree.edit(&tree.t0(2000, "log"), |bytes| bytes.truncate(SEGMENT - 100));
    std::fs::remove_file(tree.t0(1000, "index")).unwrap();
    tree.edit(&tree.t0(2000, "timeindex"), |bytes| bytes[5] ^= 1);
    tree.write("d1/t-0/00000000000000009000.index", "orphan");
    tree
}

/// The same with a flipped bit in the middle.
fn flipped() -> Tree {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[BATCH * 50 + 300] ^= 1);
    tree
}

#[test]
fn of_a_recovery_that_cuts_and_rebuilds() {
    let plan = |work: &Work| stored(&work.path("state"), work.spec());
    each_call_meets_each_error("recover, torn", &torn(), &plan);
}

#[test]
fn of_a_recovery_that_drops_segments() {
    let plan = |work: &Work| stored(&work.path("state"), work.spec());
    each_call_meets_each_error("recover, flipped", &flipped(), &plan);
}

#[test]
fn of_a_replica_that_is_set_aside() {
    let plan = |work: &Work| {
        let mut spec = work.spec();
        spec.decisions.others = OnLoss::SetAside;
        spec.replicas = Arc::new(|_| {
            Some(ReplicaEvidence {
                broker: Some(1),
                isr: vec![2, 3],
                leader: Some(2),
                as_of: NOW,
                source: EvidenceSource::Cluster,
                ends: Vec::new(),
            })
        });
        stored(&work.path("state"), spec)
    };
    each_call_meets_each_error("set aside", &flipped(), &plan);
}

#[test]
fn of_a_truncation() {
    let tree = Tree::t4();
    tree.write(MARKER_PATH, "");
    let plan = |work: &Work| {
        let mut spec = work.spec();
        let mut truncation = TruncationSpec::default();
        let target = TruncationTarget::Offset(Offset(1500));
        let log = TopicPartition::new("t", 0);
        truncation.targets.insert(log, target);
        spec.replicas = Arc::new(|_| Some(alone(NOW)));
        spec.truncation = Some(truncation);
        stored(&work.path("state"), spec)
    };
    each_call_meets_each_error("truncate", &tree, &plan);
}

const MARKER_PATH: &str = "d1/.kafka_cleanshutdown";

#[test]
fn of_a_cleanup() {
    let tree = Tree::t4();
    for base in [100, 200] {
        let name = format!("d1/t-0/{base:020}.log.deleted");
        tree.write(&name, vec![7; 9000]);
    }
    let gone = "d1/v-9.3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5-delete";
    std::fs::create_dir(tree.path(gone)).unwrap();
    for file in ["00000000000000000000.log", "leader-epoch-checkpoint"] {
        tree.write(&format!("{gone}/{file}"), [7; 5000]);
    }
    let plan = |work: &Work| {
        let spec = CleanupSpec {
            log_dirs: vec![work.path("d1")],
            on: vec![work.path("d1")],
            wish: CleanupWish::Leftovers,
            only: None,
            logs: Vec::new(),
            kafka_version: KafkaVersion::NEWEST_KNOWN,
            version_source: "a test".to_owned(),
            now: NOW,
            quarantine: Some(work.path("quarantine")),
            beside_broker: false,
            replicas: Arc::new(|_| Some(alone(NOW))),
            proof: Arc::new(|_, _, _| LeftoverProof::Proved),
            groups: Arc::new(GroupCommits::default),
        };
        let made = make_cleanup(&RealStorage, &spec).unwrap();
        let state = work.path("state");
        PlanStore::new(&state).save(made.made).unwrap()
    };
    each_call_meets_each_error("cleanup", &tree, &plan);
}

#[test]
fn of_a_mend() {
    let tree = Tree::t4();
    tree.write(
        "d1/recovery-point-offset-checkpoint",
        "0\n2\nt 0 3000\naa\n",
    );
    tree.write("d1/t-0/leader-epoch-checkpoint", "0\n9\n0 0\n");
    let plan = |work: &Work| {
        let words = ["--log-dirs", "d1", "--kafka-version", "4.4.0"];
        let words = [&words[..], &["--state-dir", "state", "preflight", "--fix"]].concat();
        let home = work.path(".");
        let ran = run(&home, &[&words[..], &["--json"]].concat());
        let plan = ran.summary()["plan"].as_str().unwrap().to_owned();
        PlanStore::new(&work.path("state")).find(&plan).unwrap()
    };
    each_call_meets_each_error("preflight --fix", &tree, &plan);
}

#[test]
fn of_an_undo() {
    let plan = |work: &Work| {
        let state = work.path("state");
        let cut = stored(&state, work.spec());
        assert_eq!(work.apply(&cut, &honest()), JobOutcome::Done);
        let made = plan_undo(&state, &cut.hash, Timestamp(NOW.0 + 1000)).unwrap();
        PlanStore::new(&state).save(made).unwrap()
    };
    each_call_meets_each_error("undo", &torn(), &plan);
}
