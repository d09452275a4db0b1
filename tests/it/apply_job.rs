//! What an apply does to whole log dirs; what it refuses; and that a kill at any moment changes nothing in the end.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use krescue::disk::{LogDirLock, RealStorage};
use krescue::engine::{AUDIT_FILE, JobOutcome, PlanSpec};
use krescue::plan::{HandOver, OnLoss};
use krescue::terms::{KafkaVersion, Timestamp, TopicPartition};

use crate::support::apply::{apply, contents, copy_tree, job_spec, stored};
use crate::support::fixture::{BATCH, SEGMENT, Tree};
use crate::support::storage::StoppingStorage;
use crate::support::volumes::fast_tempdir;

fn spec(dir: &Path, hand_over: HandOver) -> PlanSpec {
    let mut spec = PlanSpec::new(
        vec![dir.to_owned()],
        KafkaVersion::NEWEST_KNOWN,
        Timestamp(1_700_000_100_000),
    );
    spec.hand_over = hand_over;
    spec.decisions.others = OnLoss::LikeKafka;
    spec
}

fn with_quarantine(tree: &Tree, dir: &Path, hand_over: HandOver) -> PlanSpec {
    let mut spec = spec(dir, hand_over);
    spec.quarantine = Some(tree.path("quarantine"));
    spec
}

/// `T4` with a torn tail, a missing index and a live-sized time index.
fn torn() -> Tree {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 100));
    std::fs::remove_file(tree.t0(2000, "index")).unwrap();
    tree.edit(&tree.t0(3000, "timeindex"), |bytes| {
        bytes.resize(1 << 20, 0);
    });
    tree
}

#[test]
fn a_torn_log_is_cut_kept_and_handed_over() {
    let tree = torn();
    let state = tree.path("state");
    let tail = std::fs::read(tree.t0(3000, "log")).unwrap()[SEGMENT - BATCH..].to_vec();
    let plan = stored(
        &state,
        with_quarantine(&tree, &tree.path("d1"), HandOver::Clean),
    );
    assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
    let log = std::fs::metadata(tree.t0(3000, "log")).unwrap();
    assert_eq!(log.len(), u64::try_from(SEGMENT - BATCH).unwrap());
    let marker = tree.path("d1/.kafka_cleanshutdown");
    assert_eq!(std::fs::read(marker).unwrap(), b"");
    let points = std::fs::read_to_string(tree.path("d1/recovery-point-offset-checkpoint")).unwrap();
    assert_eq!(points, "0\n1\nt 0 3990\n");
    let kept = contents(&tree.path("quarantine"));
    assert!(
        kept.values().any(|bytes| *bytes == tail),
        "{:?}",
        kept.keys()
    );
    assert!(kept.keys().any(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("recovery-point-offset-checkpoint~")
    }));
    let mode = std::fs::metadata(tree.path("quarantine")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o700);
    let audit = std::fs::read_to_string(state.join(AUDIT_FILE)).unwrap();
    let acts: Vec<&str> = audit
        .lines()
        .filter(|line| line.contains("\"act\":\"log\""))
        .collect();
    assert_eq!(acts.len(), 1);
    assert!(acts[0].contains("cut_sha256\":\""));
    assert!(acts[0].contains(&plan.hash));

    let again = stored(&state, spec(&tree.path("d1"), HandOver::Clean));
    let before = tree.fingerprint("d1");
    assert_eq!(apply(&RealStorage, &state, &again), JobOutcome::Done);
    assert_eq!(tree.fingerprint("d1"), before, "a second run finds nothing");
}

#[test]
fn a_log_that_is_emptied_is_kept_whole() {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(0, "log"), |bytes| bytes[300] ^= 1);
    let bad = std::fs::read(tree.t0(0, "log")).unwrap();
    let state = tree.path("state");
    let plan = stored(
        &state,
        with_quarantine(&tree, &tree.path("d1"), HandOver::Verify),
    );
    assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
    assert_eq!(std::fs::metadata(tree.t0(0, "log")).unwrap().len(), 0);
    let kept = contents(&tree.path("quarantine"));
    assert!(kept.values().any(|bytes| *bytes == bad));
}

#[test]
fn hand_over_none_writes_neither_checkpoint_nor_marker() {
    let tree = torn();
    let state = tree.path("state");
    let checkpoint = std::fs::metadata(tree.path("d1/recovery-point-offset-checkpoint")).unwrap();
    let plan = stored(&state, spec(&tree.path("d1"), HandOver::None));
    assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
    let after = std::fs::metadata(tree.path("d1/recovery-point-offset-checkpoint")).unwrap();
    assert_eq!(checkpoint.ino(), after.ino());
    assert!(!tree.path("d1/.kafka_cleanshutdown").exists());
}

#[test]
fn a_kill_after_any_change_and_a_rerun_reach_the_same_end() {
    for (name, tree, marker) in [
        ("torn", torn(), false),
        ("cut in the middle", cut_in_the_middle(), false),
        ("clean with leftovers", Tree::t4_unflushed(), true),
    ] {
        if marker {
            tree.write("d1/.kafka_cleanshutdown", "");
            tree.write("d1/t-0/00000000000000009000.index", "orphan");
            std::fs::remove_file(tree.t0(3000, "index")).unwrap();
        }
        for hand_over in [HandOver::None, HandOver::Verify, HandOver::Clean] {
            kill_everywhere(name, &tree, hand_over, marker);
        }
    }
}

fn cut_in_the_middle() -> Tree {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[BATCH * 50 + 300] ^= 1);
    tree.write("d1/t-0/leader-epoch-checkpoint", "0\n2\n0 0\n7 3500\n");
    tree
}

fn kill_everywhere(name: &str, tree: &Tree, hand_over: HandOver, marked: bool) {
    let run = |storage: &StoppingStorage, work: &Path| {
        let state = work.join("state");
        let mut spec = spec(&work.join("d1"), hand_over);
        spec.quarantine = Some(work.join("quarantine"));
        let plan = stored(&state, spec);
        apply(storage, &state, &plan)
    };
    let whole = fast_tempdir();
    copy_tree(&tree.path("d1"), &whole.path().join("d1"));
    let storage = StoppingStorage::never();
    assert_eq!(run(&storage, whole.path()), JobOutcome::Done, "{name}");
    let mut want = contents(&whole.path().join("d1"));
    for stop in 0..storage.changes() {
        let work = fast_tempdir();
        copy_tree(&tree.path("d1"), &work.path().join("d1"));
        let killed = run(&StoppingStorage::after(stop), work.path());
        assert!(
            matches!(
                killed,
                JobOutcome::Failed { .. } | JobOutcome::Refused { .. }
            ),
            "{name} {hand_over:?} {stop}: {killed:?}"
        );
        let rerun = run(&StoppingStorage::never(), work.path());
        assert_eq!(rerun, JobOutcome::Done, "{name} {hand_over:?} {stop}");
        let mut got = contents(&work.path().join("d1"));
        // A clean dir in which the first run left nothing to do keeps marker and checkpoint in the second.
        for files in [&mut want, &mut got].into_iter().filter(|_| marked) {
            files.remove(Path::new("recovery-point-offset-checkpoint"));
            files.remove(Path::new(".kafka_cleanshutdown"));
        }
        assert_eq!(
            got.keys().collect::<Vec<_>>(),
            want.keys().collect::<Vec<_>>(),
            "{name} {hand_over:?} {stop}"
        );
        for (path, bytes) in &want {
            assert!(
                got[path] == *bytes,
                "{name} {hand_over:?} {stop}: {}",
                path.display()
            );
        }
    }
}

#[test]
fn new_files_take_owner_and_mode_of_what_lies_there() {
    let tree = torn();
    let state = tree.path("state");
    let is_root = nix_is_root();
    for entry in std::fs::read_dir(tree.path("d1/t-0")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        if is_root {
            std::os::unix::fs::chown(&path, Some(1234), Some(2345)).unwrap();
        }
    }
    if is_root {
        for dir in ["d1", "d1/t-0", "d1/meta.properties"] {
            std::os::unix::fs::chown(tree.path(dir), Some(1234), Some(2345)).unwrap();
        }
    }
    std::fs::set_permissions(
        tree.path("d1/meta.properties"),
        std::fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    let plan = stored(&state, spec(&tree.path("d1"), HandOver::Clean));
    assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
    for entry in std::fs::read_dir(tree.path("d1/t-0")).unwrap() {
        let path = entry.unwrap().path();
        let metadata = std::fs::metadata(&path).unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o640, "{}", path.display());
        if is_root {
            assert_eq!((metadata.uid(), metadata.gid()), (1234, 2345));
        }
    }
    let lock = std::fs::metadata(tree.path("d1/.lock")).unwrap();
    assert_eq!(lock.mode() & 0o7777, 0o600);
    if is_root {
        assert_eq!((lock.uid(), lock.gid()), (1234, 2345));
        let marker = std::fs::metadata(tree.path("d1/.kafka_cleanshutdown")).unwrap();
        assert_eq!((marker.uid(), marker.gid()), (1234, 2345));
    } else {
        println!("owners not checked: this user cannot give files away");
    }
}

fn nix_is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

fn refused(outcome: JobOutcome) -> String {
    match outcome {
        JobOutcome::Refused { cause } => cause,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lock_held_in_any_dir_of_the_config_refuses() {
    let tree = torn();
    tree.add_log_dir("d2", 2);
    let state = tree.path("state");
    let plan = stored(&state, spec(&tree.path("d1"), HandOver::Verify));
    let before = contents(&tree.path("d1"));
    for dir in ["d1", "d2"] {
        let lock = LogDirLock::acquire(&RealStorage, &tree.path(dir)).unwrap();
        let mut job = job_spec(&plan);
        job.also_locked = vec![tree.path("d2")];
        let outcome = krescue::engine::apply_here(&RealStorage, &state, &plan, &job, |_| ());
        assert!(refused(outcome).contains("is locked by"));
        drop(lock);
    }
    assert_eq!(contents(&tree.path("d1")), before);
}

#[test]
fn a_change_since_the_plan_refuses() {
    type Change = fn(&Tree);
    let changes: [(&str, Change); 6] = [
        ("has 115101 bytes", |tree| {
            tree.edit(&tree.t0(1000, "log"), |bytes| bytes.push(0));
        }),
        ("was written to", |tree| {
            tree.edit(&tree.t0(1000, "log"), |_| ());
        }),
        ("is new", |tree| tree.write("d1/t-0/new", "")),
        ("is gone", |tree| {
            std::fs::remove_file(tree.t0(1000, "index")).unwrap();
        }),
        ("is new", |tree| tree.add_partition("d1", "u-0", 1)),
        ("is new", |tree| tree.write("d1/.kafka_cleanshutdown", "")),
    ];
    for (text, change) in changes {
        let tree = torn();
        let state = tree.path("state");
        let plan = stored(&state, spec(&tree.path("d1"), HandOver::Verify));
        change(&tree);
        let before = contents(&tree.path("d1"));
        let cause = refused(apply(&RealStorage, &state, &plan));
        assert!(cause.contains(text), "{cause}");
        assert!(cause.contains("make the plan again"), "{cause}");
        assert_eq!(contents(&tree.path("d1")), before);
    }
}

#[test]
fn a_state_dir_or_a_quarantine_inside_a_log_dir_refuses() {
    let tree = torn();
    let inside = tree.path("d1/state");
    let plan = stored(&tree.path("state"), spec(&tree.path("d1"), HandOver::None));
    let cause = refused(apply(&RealStorage, &inside, &plan));
    assert!(cause.contains("inside the log dir"), "{cause}");
}

#[test]
fn a_stopped_apply_leaves_no_file_of_its_own() {
    let tree = torn();
    let state = tree.path("state");
    let plan = stored(&state, spec(&tree.path("d1"), HandOver::None));
    // The content pack lies: the apply fails while it writes what will come.
    let pack = state.join("plans").join(&plan.hash).join("contents");
    let bytes = std::fs::read(&pack).unwrap();
    std::fs::write(&pack, vec![0; bytes.len()]).unwrap();
    let before = contents(&tree.path("d1"));
    let outcome = apply(&RealStorage, &state, &plan);
    let JobOutcome::Refused { cause } = outcome else {
        panic!("{outcome:?}");
    };
    assert!(cause.contains("nothing was changed"), "{cause}");
    assert_eq!(contents(&tree.path("d1")), before);
}

#[test]
fn an_immutable_file_is_refused_before_any_change() {
    let tree = torn();
    let path = tree.t0(3000, "log");
    let chattr = |flag: &str| {
        std::process::Command::new("chattr")
            .arg(flag)
            .arg(&path)
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if !chattr("+i") {
        println!(
            "not checked: it needs root, chattr of e2fsprogs and a file system with its flags"
        );
        return;
    }
    let state = tree.path("state");
    let plan = stored(&state, spec(&tree.path("d1"), HandOver::None));
    let outcome = apply(&RealStorage, &state, &plan);
    assert!(chattr("-i"));
    assert!(refused(outcome).contains("cannot be changed"));
}

#[test]
fn a_log_that_was_not_selected_is_not_left_behind() {
    let tree = torn();
    tree.add_partition("d1", "u-0", 1);
    let state = tree.path("state");
    let select = |name: &str| {
        let mut spec = spec(&tree.path("d1"), HandOver::Verify);
        spec.selection = Some([TopicPartition::new(name, 0)].into());
        spec.decisions.others = OnLoss::Ask;
        stored(&state, spec)
    };
    assert_eq!(apply(&RealStorage, &state, &select("t")), JobOutcome::Done);
    // A later segment with a flipped bit: an ASK that was selected stays.
    tree.add_partition("d1", "v-0", 2);
    tree.edit(&tree.path("d1/v-0/00000000000000000000.log"), |bytes| {
        bytes[300] ^= 1;
    });
    assert_eq!(
        apply(&RealStorage, &state, &select("v")),
        JobOutcome::DoneButLeft { left: 1 }
    );
}
