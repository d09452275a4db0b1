//! A state dir that fills up or cannot be written: plans, journals and the audit are there. The file is named, nothing is lost,
//! a rerun ends as planned, and an undo still brings everything back.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use krescue::engine::{JobOutcome, PlanSpec, PlanStore, StoredPlan, plan_undo};
use krescue::plan::{HandOver, OnLoss};
use krescue::terms::{KafkaVersion, Timestamp};

use crate::support::apply::{apply, contents, copy_tree, stored};
use crate::support::faults::{Fault, FaultyStorage};
use crate::support::fixture::{SEGMENT, Tree};
use crate::support::namespace::{inside, mount_tmpfs};
use crate::support::program::{Ran, run};
use crate::support::volumes::{fast_tempdir, remount_tmpfs};

const NOW: Timestamp = Timestamp(1_700_000_100_000);

/// With what each has to tell the journal and the audit are longer than a page.
const LOGS: u32 = 4;
/// Of the calls of an act each so many-th is tried.
const STRIDE: usize = 6;

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Some logs with a torn tail and an index that is gone: enough of them for a journal of several pages.
fn torn() -> Tree {
    let tree = Tree::t4_unflushed();
    for number in 1..LOGS {
        tree.add_partition("d1", &format!("t-{number}"), 2);
    }
    for number in 0..LOGS {
        let log = |base: i64, suffix: &str| {
            let name = format!("d1/t-{number}/{base:020}.{suffix}");
            tree.path(&name)
        };
        tree.edit(&log(1000, "log"), |bytes| bytes.truncate(SEGMENT - 100));
        std::fs::remove_file(log(0, "index")).unwrap();
    }
    for suffix in ["log", "index", "timeindex"] {
        for base in [2000, 3000] {
            std::fs::remove_file(tree.t0(base, suffix)).unwrap();
        }
    }
    tree
}

/// A copy of a tree to act on; its state dir is on a volume of its own.
struct Work {
    tmp: tempfile::TempDir,
    volume: PathBuf,
}

impl Work {
    fn of(tree: &Tree, volume: &Path) -> Self {
        let tmp = fast_tempdir();
        copy_tree(&tree.path("d1"), &tmp.path().join("d1"));
        for entry in std::fs::read_dir(volume).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                std::fs::remove_dir_all(path).unwrap();
            } else {
                std::fs::remove_file(path).unwrap();
            }
        }
        Self {
            tmp,
            volume: volume.to_owned(),
        }
    }

    fn state(&self) -> PathBuf {
        self.volume.join("state")
    }

    fn files(&self) -> Files {
        contents(&self.tmp.path().join("d1"))
    }

    fn plan(&self) -> StoredPlan {
        let log_dirs = vec![self.tmp.path().join("d1")];
        let mut spec = PlanSpec::new(log_dirs, KafkaVersion::NEWEST_KNOWN, NOW);
        spec.hand_over = HandOver::Clean;
        spec.decisions.others = OnLoss::LikeKafka;
        spec.quarantine = Some(self.tmp.path().join("quarantine"));
        stored(&self.state(), spec)
    }

    fn undo(&self, plan: &StoredPlan) -> StoredPlan {
        let made = plan_undo(&self.state(), &plan.hash, Timestamp(NOW.0 + 1000)).unwrap();
        PlanStore::new(&self.state()).save(made).unwrap()
    }

    fn apply(&self, plan: &StoredPlan) -> JobOutcome {
        apply(&honest(), &self.state(), plan)
    }

    /// Applies a plan on a volume that fills up before call `at`.
    fn apply_full_at(&self, plan: &StoredPlan, at: usize) -> JobOutcome {
        let volume = self.volume.clone();
        let storage = FaultyStorage::new(move |call| {
            if call.number == at {
                fill(&volume);
            }
            Fault::None
        });
        apply(&storage, &self.state(), plan)
    }

    fn make_room(&self) {
        let _ = std::fs::remove_file(self.volume.join("filler"));
    }
}

fn honest() -> FaultyStorage {
    FaultyStorage::new(|_| Fault::None)
}

fn fill(volume: &Path) {
    let mut file = std::fs::File::create(volume.join("filler")).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
}

/// Gives so many pages of a full volume free again.
fn leave(volume: &Path, pages: u64) {
    let path = volume.join("filler");
    let filler = std::fs::File::options().write(true).open(path).unwrap();
    let len = filler.metadata().unwrap().len();
    filler.set_len(len - pages * 4096).unwrap();
}

/// Checks what is left when the state dir's volume is full, and what is said.
fn check((before, end): (&Files, &Files), work: &Work, outcome: &JobOutcome, what: &str) -> bool {
    let left = work.files();
    for (path, bytes) in &left {
        let is_half = path.to_string_lossy().ends_with(".krescue.tmp");
        let known = [before.get(path), end.get(path)].contains(&Some(bytes));
        assert!(is_half || known, "{what}: {}", path.display());
    }
    let marker = Path::new(".kafka_cleanshutdown");
    let cause = match outcome {
        JobOutcome::Done => {
            assert!(left == *end, "{what}");
            return false;
        }
        JobOutcome::Failed { cause } | JobOutcome::Refused { cause } => cause,
        other => panic!("{what}: {other:?}"),
    };
    if let JobOutcome::Refused { .. } = outcome {
        assert!(left == *before, "{what}: refused after a change");
    }
    assert!(cause.contains("No space left on device"), "{what}");
    assert!(cause.contains("/state/"), "{what}: the file is not named");
    // The hand-over is over once its marker is there.
    let is_marked = left.contains_key(marker) && !before.contains_key(marker);
    assert!(!is_marked || left == *end, "{what}");
    true
}

#[test]
fn a_state_dir_that_fills_up_at_any_call_loses_nothing() {
    if !inside() {
        return;
    }
    let tree = torn();
    let volume = tree.path("volume");
    mount_tmpfs(&volume, "size=2m");
    let work = Work::of(&tree, &volume);
    let before = work.files();
    let plan = work.plan();
    let storage = honest();
    assert_eq!(apply(&storage, &work.state(), &plan), JobOutcome::Done);
    let (calls, end) = (storage.calls(), work.files());
    let undo = work.undo(&plan);
    let storage = honest();
    assert_eq!(apply(&storage, &work.state(), &undo), JobOutcome::Done);
    let undo_calls = storage.calls();
    assert!(work.files() == before && end != before);
    let mut told = 0;
    for at in (0..calls).step_by(STRIDE) {
        let work = Work::of(&tree, &volume);
        let plan = work.plan();
        let outcome = work.apply_full_at(&plan, at);
        let what = format!("full at {at} of {calls}: {outcome:?}");
        told += usize::from(check((&before, &end), &work, &outcome, &what));
        work.make_room();
        if outcome != JobOutcome::Done {
            assert_eq!(work.apply(&plan), JobOutcome::Done, "{what}, again");
        }
        assert!(work.files() == end, "{what}: another end");
        let undo = work.undo(&plan);
        assert_eq!(work.apply(&undo), JobOutcome::Done, "{what}, undone");
        assert!(work.files() == before, "{what}: undone to something else");
    }
    for at in (0..undo_calls).step_by(STRIDE) {
        let work = Work::of(&tree, &volume);
        let plan = work.plan();
        assert_eq!(work.apply(&plan), JobOutcome::Done);
        let undo = work.undo(&plan);
        let outcome = work.apply_full_at(&undo, at);
        let what = format!("undo, full at {at} of {undo_calls}: {outcome:?}");
        if outcome != JobOutcome::Done {
            told += 1;
            work.make_room();
            assert_eq!(work.apply(&undo), JobOutcome::Done, "{what}, again");
        }
        assert!(work.files() == before, "{what}: another end");
    }
    println!("{told} faults are told of, in {calls} and {undo_calls} calls");
    assert!(told > 10, "{told}");
}

#[test]
fn a_state_dir_with_any_room_from_none_on_loses_nothing() {
    if !inside() {
        return;
    }
    let tree = torn();
    let volume = tree.path("volume");
    mount_tmpfs(&volume, "size=2m");
    let work = Work::of(&tree, &volume);
    let before = work.files();
    let plan = work.plan();
    assert_eq!(work.apply(&plan), JobOutcome::Done);
    let end = work.files();
    let mut told = 0;
    for pages in 0..24 {
        let work = Work::of(&tree, &volume);
        let plan = work.plan();
        fill(&volume);
        leave(&volume, pages);
        let outcome = work.apply(&plan);
        let what = format!("{pages} pages: {outcome:?}");
        told += u64::from(check((&before, &end), &work, &outcome, &what));
        work.make_room();
        if outcome != JobOutcome::Done {
            assert_eq!(work.apply(&plan), JobOutcome::Done, "{what}, again");
        }
        assert!(work.files() == end, "{what}: another end");
        let undo = work.undo(&plan);
        assert_eq!(work.apply(&undo), JobOutcome::Done, "{what}, undone");
        assert!(work.files() == before, "{what}: undone to something else");
    }
    assert!((3..24).contains(&told), "{told}");
}

fn recover(tree: &Tree, more: &[&str]) -> Ran {
    let words = ["--log-dirs", "d1", "--kafka-version", "4.4.0"];
    let words = [&words[..], &["--state-dir", "volume/state", "recover"]].concat();
    run(&tree.path("."), &[&words, more].concat())
}

/// Looks that nothing is changed, and that what stands in the way is named.
#[track_caller]
fn refused(tree: &Tree, before: &Files, ran: &Ran, name: &str) {
    assert!([1, 4].contains(&ran.exit), "{name}: {ran:?}");
    assert!(ran.err.contains(name), "{name} is not named: {}", ran.err);
    assert!(contents(&tree.path("d1")) == *before, "{name}");
}

#[test]
fn what_cannot_be_written_in_the_state_dir_is_named_and_nothing_is_changed() {
    let apply = ["--apply", "--yes-to-all"];
    // A file in a dir's place, a dir in a file's place.
    for (name, in_place) in [
        ("plans", "file"),
        ("journals", "file"),
        ("jobs", "file"),
        ("audit.jsonl", "dir"),
    ] {
        let tree = torn();
        let before = contents(&tree.path("d1"));
        let path = tree.path("volume/state").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match in_place {
            "file" => std::fs::write(&path, "").unwrap(),
            _ => std::fs::create_dir(&path).unwrap(),
        }
        refused(&tree, &before, &recover(&tree, &apply), name);
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_dir(&path);
        recover(&tree, &apply).exits(0);
    }
}

/// Each line of the audit fails, which shows only once there is something to tell: the steps go on from there.
#[test]
fn an_audit_that_takes_no_line_is_named_and_a_rerun_goes_on() {
    let tree = torn();
    let before = contents(&tree.path("d1"));
    let shown = recover(&tree, &["--json"]).exits(3);
    let hash = shown.summary()["plan"].as_str().unwrap().to_owned();
    let audit = tree.path("volume/state/audit.jsonl");
    symlink("/dev/full", &audit).unwrap();
    let apply = ["--apply", "--yes", &hash];
    let ran = recover(&tree, &apply).exits(1);
    assert!(ran.err.contains("audit.jsonl"), "{}", ran.err);
    std::fs::remove_file(audit).unwrap();
    recover(&tree, &apply).exits(0);
    let ended = contents(&tree.path("d1"));
    assert!(ended != before);
    let words = [
        "--log-dirs",
        "d1",
        "--state-dir",
        "volume/state",
        "undo",
        &hash,
    ];
    let words = [&words[..], &["--apply", "--yes-to-all"]].concat();
    run(&tree.path("."), &words).exits(0);
    assert!(contents(&tree.path("d1")) == before);
}

#[test]
fn a_state_dir_on_a_read_only_mount_is_refused_before_any_change() {
    if !inside() {
        return;
    }
    let tree = torn();
    mount_tmpfs(&tree.path("volume"), "size=4m");
    let before = contents(&tree.path("d1"));
    let shown = recover(&tree, &["--json"]).exits(3);
    let hash = shown.summary()["plan"].as_str().unwrap().to_owned();
    remount_tmpfs(&tree.path("volume"), "ro");
    for more in [
        &["--apply", "--yes", &hash][..],
        &["--apply", "--yes-to-all"],
    ] {
        let ran = recover(&tree, more).exits(4);
        refused(&tree, &before, &ran, "volume/state");
    }
    // Looking needs no state dir.
    assert_eq!(
        recover(&tree, &["--json"]).exits(3).summary()["stored"],
        false
    );
    remount_tmpfs(&tree.path("volume"), "rw");
    recover(&tree, &["--apply", "--yes", &hash]).exits(0);
}

/// Every error of every call in the quarantine is that of `each_fault`; here it is a place of another kind.
#[test]
fn a_quarantine_that_is_no_dir_is_named_and_nothing_is_changed() {
    let tree = torn();
    let before = contents(&tree.path("d1"));
    tree.write("kept", "a file");
    let words = ["--quarantine", "kept", "--apply", "--yes-to-all"];
    refused(&tree, &before, &recover(&tree, &words), "kept");
    let calls = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&calls);
    let quarantine = tree.path("volume/state/quarantine");
    let state = tree.path("volume/state");
    let mut spec = PlanSpec::new(vec![tree.path("d1")], KafkaVersion::NEWEST_KNOWN, NOW);
    spec.quarantine = Some(quarantine.clone());
    let plan = stored(&state, spec);
    let storage = FaultyStorage::new(move |call| {
        *seen.lock().unwrap() += usize::from(call.path.starts_with(&quarantine));
        Fault::None
    });
    assert_eq!(apply(&storage, &state, &plan), JobOutcome::Done);
    assert!(
        *calls.lock().unwrap() > 20,
        "the quarantine's calls are the storage's"
    );
}
