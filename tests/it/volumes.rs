//! Volumes that are full, read-only, or not where the log dir is.

use std::io::Write as _;
use std::path::Path;

use krescue::disk::{DiskAction, RealStorage};
use krescue::engine::{JobOutcome, PlanSpec};
use krescue::plan::{HandOver, OnLoss};
use krescue::terms::{KafkaVersion, Timestamp};

use crate::support::apply::{apply, contents, copy_tree, stored};
use crate::support::faults::{Fault, FaultyStorage};
use crate::support::fixture::{SEGMENT, Tree, indexes};
use crate::support::namespace::{inside, mount, mount_tmpfs};
use crate::support::volumes::remount_tmpfs;

fn spec(dir: &Path) -> PlanSpec {
    let mut spec = PlanSpec::new(
        vec![dir.to_owned()],
        KafkaVersion::NEWEST_KNOWN,
        Timestamp(1_700_000_100_000),
    );
    spec.hand_over = HandOver::Clean;
    spec.decisions.others = OnLoss::LikeKafka;
    spec
}

fn cause(outcome: JobOutcome) -> String {
    match outcome {
        JobOutcome::Refused { cause } | JobOutcome::Failed { cause } => cause,
        other => panic!("{other:?}"),
    }
}

/// `T4` without any index, on a volume of `options`; the log dir is `mount/d1`.
fn without_indexes(options: &str) -> Tree {
    let tree = Tree::t4_unflushed();
    for base in [0, 1000, 2000, 3000] {
        std::fs::remove_file(tree.t0(base, "index")).unwrap();
        std::fs::remove_file(tree.t0(base, "timeindex")).unwrap();
    }
    mount_tmpfs(&tree.path("mount"), options);
    copy_tree(&tree.path("d1"), &tree.path("mount/d1"));
    tree.write("mount/d1/.lock", "");
    tree
}

/// Uses up all but `left` bytes.
fn fill(mount: &Path, left: usize) {
    let mut file = std::fs::File::create(mount.join("filler")).unwrap();
    let mut len = 0;
    while file.write_all(&[1; 4096]).is_ok() {
        len += 4096;
    }
    file.set_len(len - u64::try_from(left).unwrap()).unwrap();
}

fn assert_recovered(tree: &Tree) {
    for base in [0, 1000, 2000, 3000] {
        let (offsets, times) = indexes(base);
        let at = |suffix: &str| tree.path(&format!("mount/d1/t-0/{base:020}.{suffix}"));
        assert_eq!(std::fs::read(at("index")).unwrap(), offsets);
        assert_eq!(std::fs::read(at("timeindex")).unwrap(), times);
    }
    assert!(tree.path("mount/d1/.kafka_cleanshutdown").exists());
}

#[test]
fn a_volume_with_two_free_pages_is_refused_and_used_once_there_is_room() {
    if !inside() {
        return;
    }
    // 128 pages: the four logs have 116 of them, and 8 indexes and 4 snapshots are to be written.
    let tree = without_indexes("size=512k");
    let mount = tree.path("mount");
    fill(&mount, 8192);
    let state = tree.path("state");
    let plan = stored(&state, spec(&mount.join("d1")));
    let before = contents(&mount);
    let refusal = cause(apply(&RealStorage, &state, &plan));
    assert!(refusal.contains("has 8192 bytes free"), "{refusal}");
    assert_eq!(contents(&mount), before);
    std::fs::remove_file(mount.join("filler")).unwrap();
    mount_again(&mount, "size=640k");
    let plan = stored(&state, spec(&mount.join("d1")));
    assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
    assert_recovered(&tree);
}

fn mount_again(dir: &Path, option: &str) {
    remount_tmpfs(dir, option);
}

#[test]
fn a_volume_without_inodes_is_refused() {
    if !inside() {
        return;
    }
    let tree = without_indexes("size=4m,nr_inodes=32");
    let mount = tree.path("mount");
    let mut number = 0;
    while std::fs::write(mount.join(number.to_string()), b"").is_ok() {
        number += 1;
    }
    let state = tree.path("state");
    let plan = stored(&state, spec(&mount.join("d1")));
    let before = contents(&mount);
    let refusal = cause(apply(&RealStorage, &state, &plan));
    assert!(refusal.contains("inodes"), "{refusal}");
    assert_eq!(contents(&mount), before);
}

#[test]
fn a_volume_that_fills_up_in_the_middle_stops_the_apply_and_nothing_is_half_written() {
    if !inside() {
        return;
    }
    let tree = without_indexes("size=1m");
    let dir = tree.path("mount/d1");
    let state = tree.path("state");
    // Somebody else takes the room when the `after`-th file is about to be written.
    for after in 0..12 {
        let before = contents(&dir);
        let plan = stored(&state, spec(&dir));
        let mount = tree.path("mount");
        let mut writes = 0;
        let storage = FaultyStorage::new(move |call| {
            if call.action == DiskAction::Write {
                if writes == after {
                    fill(&mount, 0);
                }
                writes += 1;
            }
            Fault::None
        });
        let text = cause(apply(&storage, &state, &plan));
        assert!(text.contains("No space left on device"), "{text}");
        assert!(text.contains("/t-0/"), "the file is not named: {text}");
        assert_eq!(contents(&dir), before, "{after}");
        std::fs::remove_file(tree.path("mount/filler")).unwrap();
    }
    let plan = stored(&state, spec(&dir));
    assert_eq!(apply(&RealStorage, &state, &plan), JobOutcome::Done);
    assert_recovered(&tree);
}

#[test]
fn a_read_only_mount_is_refused() {
    if !inside() {
        return;
    }
    let tree = without_indexes("size=16m");
    let mount = tree.path("mount");
    mount_again(&mount, "ro");
    let state = tree.path("state");
    let plan = stored(&state, spec(&mount.join("d1")));
    let refusal = cause(apply(&RealStorage, &state, &plan));
    assert!(refusal.contains("is mounted read-only"), "{refusal}");
}

#[test]
fn a_log_on_another_volume_than_its_dir_is_synced_and_measured_there() {
    if !inside() {
        return;
    }
    // A link to a dir, and a dir with a mount on it.
    for (number, bound) in [false, true].into_iter().enumerate() {
        let tree = without_indexes("size=1m");
        let other = tree.path("mount/d1/t-0");
        let log = tree.path("d1/t-0");
        std::fs::remove_dir_all(&log).unwrap();
        if bound {
            std::fs::create_dir(&log).unwrap();
            mount(&["--bind", other.to_str().unwrap()], &log);
        } else {
            std::os::unix::fs::symlink(&other, &log).unwrap();
        }
        let state = tree.path("state");
        let mount = tree.path("mount");
        fill(&mount, 4096);
        let plan = stored(&state, spec(&tree.path("d1")));
        let refusal = cause(apply(&RealStorage, &state, &plan));
        assert!(refusal.contains("has 4096 bytes free"), "{refusal}");
        std::fs::remove_file(mount.join("filler")).unwrap();

        let synced = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = std::sync::Arc::clone(&synced);
        let storage = FaultyStorage::new(move |call| {
            if call.action == DiskAction::Sync {
                seen.lock().unwrap().push(call.path.clone());
            }
            Fault::None
        });
        assert_eq!(apply(&storage, &state, &plan), JobOutcome::Done);
        let synced = synced.lock().unwrap();
        let device = |path: &Path| {
            use std::os::unix::fs::MetadataExt as _;
            std::fs::metadata(path).unwrap().dev()
        };
        let here = synced.iter().filter(|path| path.exists());
        let there = here.filter(|path| device(path) == device(&mount)).count();
        assert!(there > 2, "case {number}: {synced:?}");
        let index = std::fs::read(log.join("00000000000000000000.index")).unwrap();
        assert_eq!(index, indexes(0).0);
        assert!(tree.path("d1/.kafka_cleanshutdown").exists());
        if bound {
            let output = std::process::Command::new("umount").arg(&log).status();
            assert!(output.unwrap().success());
        }
        assert_eq!(
            std::fs::metadata(other.join("00000000000000003000.log"))
                .unwrap()
                .len(),
            u64::try_from(SEGMENT).unwrap()
        );
    }
}
