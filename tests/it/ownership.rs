//! Whose files are whose: attributes that stay, another user's broker, jobs and plans, and locks while an apply runs.

use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use krescue::disk::{DiskAction, LogDirLock, RealStorage};
use krescue::engine::{JobOutcome, PlanSpec, PlanStore, plan_undo};
use krescue::plan::{HandOver, OnLoss};
use krescue::terms::{KafkaVersion, Timestamp};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::support::apply::{apply, contents, stored};
use crate::support::faults::{Fault, FaultyStorage};
use crate::support::fixture::{BATCH, SEGMENT, Tree};
use crate::support::program::{program, ran};
use crate::support::volumes::on_another_volume;

/// A log in which files are cut, rewritten, removed and made anew.
fn torn() -> Tree {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 100));
    tree.edit(&tree.t0(2000, "timeindex"), |bytes| bytes[5] ^= 1);
    std::fs::remove_file(tree.t0(1000, "index")).unwrap();
    tree
}

fn spec(tree: &Tree) -> PlanSpec {
    let mut spec = PlanSpec::new(
        vec![tree.path("d1")],
        KafkaVersion::NEWEST_KNOWN,
        Timestamp(1_700_000_100_000),
    );
    spec.hand_over = HandOver::Clean;
    spec.decisions.others = OnLoss::LikeKafka;
    spec.quarantine = Some(tree.path("quarantine"));
    spec
}

fn recover(tree: &Tree) {
    let state = tree.path("state");
    let plan = stored(&state, spec(tree));
    assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

#[test]
fn a_rewritten_file_keeps_its_attributes() {
    let tree = torn();
    let rewritten = [
        tree.t0(2000, "timeindex"),
        tree.path("d1/recovery-point-offset-checkpoint"),
    ];
    let mut wanted = vec![("user.note", "kept")];
    if is_root() {
        wanted.push(("security.selinux", "system_u:object_r:kafka_t:s0"));
        wanted.push(("trusted.note", "kept as well"));
    }
    for path in &rewritten {
        for (name, value) in &wanted {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(path, *name, value.as_bytes(), flags).unwrap();
        }
    }
    let inodes = rewritten
        .each_ref()
        .map(|path| std::fs::metadata(path).unwrap().ino());
    recover(&tree);
    for (path, inode) in rewritten.iter().zip(inodes) {
        assert_ne!(
            std::fs::metadata(path).unwrap().ino(),
            inode,
            "it was replaced"
        );
        for (name, value) in &wanted {
            let mut found = vec![0_u8; 100];
            let len = rustix::fs::getxattr(path, *name, found.as_mut_slice()).unwrap();
            assert_eq!(&found[..len], value.as_bytes(), "{} {name}", path.display());
        }
    }
}

#[test]
fn what_an_undo_puts_back_has_its_attributes_again() {
    let tree = torn();
    tree.write("d1/t-0/00000000000000000500.log.deleted", "scheduled");
    // What is replaced, what is removed, what is cut.
    let files = [
        tree.t0(2000, "timeindex"),
        tree.path("d1/t-0/00000000000000000500.log.deleted"),
        tree.t0(3000, "log"),
        tree.path("d1/recovery-point-offset-checkpoint"),
    ];
    let mut wanted = vec![("user.note", "kept")];
    if is_root() {
        wanted.push(("security.selinux", "system_u:object_r:kafka_t:s0"));
    }
    for path in &files {
        for (name, value) in &wanted {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(path, *name, value.as_bytes(), flags).unwrap();
        }
    }
    // Nothing can be linked back from another file system.
    let Some(elsewhere) = on_another_volume() else {
        return;
    };
    let mut spec = spec(&tree);
    spec.quarantine = Some(elsewhere.path().join("quarantine"));
    let state = tree.path("state");
    let before = contents(&tree.path("d1"));
    let plan = stored(&state, spec);
    assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
    let made = plan_undo(&state, &plan.hash, Timestamp(1_700_000_500_000)).unwrap();
    let undo = PlanStore::new(&state).save(made).unwrap();
    assert_eq!(apply(&RealStorage, &state, &undo), JobOutcome::Done);
    assert!(contents(&tree.path("d1")) == before);
    for path in &files {
        for (name, value) in &wanted {
            let mut found = vec![0_u8; 100];
            let len = rustix::fs::getxattr(path, *name, found.as_mut_slice()).unwrap();
            assert_eq!(&found[..len], value.as_bytes(), "{} {name}", path.display());
        }
    }
}

/// Lets `setpriv` run a command as nobody.
fn as_nobody(command: &Path) -> Command {
    let mut setpriv = Command::new("setpriv");
    setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    setpriv.arg(command);
    setpriv
}

#[test]
fn what_root_leaves_belongs_to_the_brokers_user() {
    if !is_root() {
        println!("not checked: only root can act for another user");
        return;
    }
    let tree = torn();
    let home = tree.path(".");
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o755)).unwrap();
    let chown = ["-R", "65534:65534", "d1"];
    let status = Command::new("chown")
        .args(chown)
        .current_dir(&home)
        .status();
    assert!(status.unwrap().success());
    for entry in std::fs::read_dir(tree.path("d1/t-0")).unwrap() {
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(entry.unwrap().path(), mode).unwrap();
    }
    recover(&tree);
    let all = "find d1 | while read -r f; do [ -r \"$f\" ] && [ -w \"$f\" ] || echo \"$f\"; done";
    let output = as_nobody(Path::new("sh"))
        .args(["-c", all])
        .current_dir(&home)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "not nobody's");
    assert!(tree.path("d1/.kafka_cleanshutdown").exists());
    // What was cut is root's alone.
    let quarantine = std::fs::metadata(tree.path("quarantine")).unwrap();
    assert_eq!((quarantine.uid(), quarantine.mode() & 0o777), (0, 0o700));
}

#[test]
fn a_state_dir_of_another_user_is_an_error_that_names_it() {
    if !is_root() {
        println!("not checked: only root can act for another user");
        return;
    }
    let tree = torn();
    let home = tree.path(".");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&home, open).unwrap();
    let state = tree.path("state");
    let plan = stored(&state, spec(&tree));
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).unwrap();
    let krescue = tree.path("krescue");
    std::fs::copy(env!("CARGO_BIN_EXE_krescue"), &krescue).unwrap();
    let before = contents(&tree.path("d1"));
    let common = ["--log-dirs", "d1", "--state-dir", state.to_str().unwrap()];
    for words in [&["jobs"][..], &["recover", "--apply", "--yes", &plan.hash]] {
        let output = as_nobody(&krescue)
            .args(common)
            .args(words)
            .current_dir(&home)
            .env_clear()
            .output();
        let ran = ran(output.unwrap());
        assert!(matches!(ran.exit, 1 | 4), "{words:?}: {ran:?}");
        assert!(ran.err.contains("/state"), "{words:?}: {ran:?}");
        assert!(!ran.err.contains("panicked"), "{words:?}: {ran:?}");
    }
    assert_eq!(contents(&tree.path("d1")), before);
}

#[test]
fn a_second_krescue_is_refused_while_the_first_one_acts() {
    let tree = torn();
    let before = contents(&tree.path("d1"));
    let lock = LogDirLock::acquire(&RealStorage, &tree.path("d1")).unwrap();
    let words = ["--log-dirs", "d1", "--kafka-version", "4.4.0", "recover"];
    let apply = ["--apply", "--yes-to-all"];
    let second = || {
        let home = tree.path(".");
        ran(program(&home).args(words).args(apply).output().unwrap())
    };
    let refused = second();
    assert_eq!(refused.exit, 4, "{refused:?}");
    // The system tells no holder of a lock that no broker holds.
    assert!(refused.err.contains("is locked by"), "{}", refused.err);
    assert_eq!(contents(&tree.path("d1")), before);
    drop(lock);
    assert_eq!(second().exit, 0);
}

/// Tries the lock that a broker takes (`FileChannel.tryLock`); says whether it got it, and gives it back.
fn broker_can_lock(dir: &Path) -> bool {
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(dir.join(".lock"))
        .unwrap();
    let mut lock = libc::flock {
        l_type: libc::c_short::try_from(libc::F_WRLCK).unwrap(),
        l_whence: libc::c_short::try_from(libc::SEEK_SET).unwrap(),
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    let got = fcntl(file.as_fd(), FcntlArg::F_SETLK(&lock)).is_ok();
    lock.l_type = libc::c_short::try_from(libc::F_UNLCK).unwrap();
    let _ = fcntl(file.as_fd(), FcntlArg::F_SETLK(&lock));
    got
}

#[test]
fn a_broker_that_starts_in_the_middle_fails_on_the_lock_and_the_apply_goes_on() {
    let tree = torn();
    let dir = tree.path("d1");
    let state = tree.path("state");
    let plan = stored(&state, spec(&tree));
    let tries = Arc::new(Mutex::new(Vec::new()));
    let (seen, in_rule) = (Arc::clone(&tries), dir.clone());
    let storage = FaultyStorage::new(move |call| {
        let changes = matches!(
            call.action,
            DiskAction::Write | DiskAction::SetLen | DiskAction::Rename | DiskAction::Sync
        );
        // The lock file itself is written before it is locked.
        if changes && !call.path.ends_with(".lock") {
            seen.lock().unwrap().push(broker_can_lock(&in_rule));
        }
        Fault::None
    });
    assert_eq!(apply(&storage, &state, &plan), JobOutcome::Done);
    let tries = tries.lock().unwrap();
    assert!(
        tries.len() > 10 && tries.iter().all(|got| !got),
        "{tries:?}"
    );
    assert!(broker_can_lock(&dir), "the lock is given up at the end");
}

#[test]
fn another_name_of_a_cut_file_is_cut_and_its_bytes_are_kept() {
    let tree = torn();
    let backup = tree.path("backup.log");
    let log = tree.t0(3000, "log");
    std::fs::hard_link(&log, &backup).unwrap();
    let tail = std::fs::read(&log).unwrap()[SEGMENT - BATCH..].to_vec();
    recover(&tree);
    // One file with two names: Kafka's own cut reaches both as well.
    assert_eq!(
        std::fs::read(&log).unwrap(),
        std::fs::read(&backup).unwrap()
    );
    let kept = contents(&tree.path("quarantine"));
    assert!(kept.values().any(|bytes| *bytes == tail));
}
