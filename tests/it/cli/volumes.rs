//! `volumes`: what fills a volume, by kind, and in what state it is.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::Value;

use crate::support::fixture::Tree;
use crate::support::namespace::{inside, mount_tmpfs};
use crate::support::program::{Ran, run};
use crate::support::volumes::remount_tmpfs;

const ID: &str = "3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5";

/// Adds up blocks below a dir, the dir itself left out.
fn blocks(dir: &Path) -> u64 {
    let mut sum = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        sum += metadata.blocks() * 512;
        if metadata.is_dir() {
            sum += blocks(&path);
        }
    }
    sum
}

/// Returns the line of the log dir whose path ends so.
fn volume(ran: &Ran, end: &str) -> Value {
    let mut lines = ran.kind("volume").into_iter();
    lines
        .find(|line| line["dir"].as_str().unwrap().ends_with(end))
        .unwrap()
}

/// `T4` with each kind of leftover and with files that are not Kafka's, in `place`.
fn with_leftovers(place: &str) -> Tree {
    let tree = Tree::t4();
    if place != "d1" {
        crate::support::apply::copy_tree(&tree.path("d1"), &tree.path(place));
    }
    for (file, len) in [
        (format!("t-9.{ID}-delete/00000000000000000000.log"), 50_000),
        (format!("t-8.{ID}-stray/00000000000000000000.log"), 20_000),
        (format!("t-7.{ID}-future/00000000000000000000.log"), 9_000),
        ("t-0/00000000000000000500.log.deleted".to_owned(), 30_000),
        ("t-0/00000000000000000600.log.cleaned".to_owned(), 5_000),
        ("t-0/00000000000000000700.index".to_owned(), 80),
        ("t-0/java_pid7.hprof".to_owned(), 70_000),
        (
            "__consumer_offsets-3/00000000000000000000.log".to_owned(),
            1_151,
        ),
        ("backup/old.log".to_owned(), 40_000),
        ("server.log.1".to_owned(), 10_000),
    ] {
        let path = tree.path(place).join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, vec![7; len]).unwrap();
    }
    tree
}

#[test]
fn kinds_add_up_to_what_the_dir_takes() {
    let tree = with_leftovers("d1");
    // A preallocated index: long, and without blocks.
    let index = tree.t0(3000, "index");
    std::fs::File::options()
        .write(true)
        .open(index)
        .unwrap()
        .set_len(10 << 20)
        .unwrap();
    let dir = tree.path("d1");
    let ran = run(
        &tree.path("."),
        &["volumes", "--json", "--log-dirs", dir.to_str().unwrap()],
    )
    .exits(3);
    let line = volume(&ran, "d1");
    let number = |name: &str| line[name].as_u64().unwrap();
    assert_eq!(number("kafka") + number("foreign_in_dir"), blocks(&dir));
    assert!(number("kafka_logical") > 10 << 20);
    assert!((9 << 20..=10 << 20).contains(&number("sparse_indexes")));
    let kinds = line["kinds"].as_object().unwrap();
    let names: Vec<&String> = kinds.keys().collect();
    assert_eq!(
        names,
        [
            "cleaned_files",
            "delete_dirs",
            "deleted_files",
            "foreign",
            "future_dirs",
            "internal",
            "orphan_indexes",
            "own",
            "stray_dirs",
            "topics",
        ]
    );
    let of = |name: &str| kinds[name].as_u64().unwrap();
    let delete_dir = dir.join(format!("t-9.{ID}-delete"));
    let own = std::fs::metadata(&delete_dir).unwrap().blocks() * 512;
    assert_eq!(of("delete_dirs"), blocks(&delete_dir) + own);
    let deleted = dir.join("t-0/00000000000000000500.log.deleted");
    let deleted = std::fs::metadata(deleted).unwrap().blocks() * 512;
    assert_eq!(of("deleted_files"), deleted);
    assert_eq!(line["state"], "online");
    assert_eq!(number("segments"), 8);
    let name = ran.finding("foreign_name");
    assert_eq!(
        (name["file"].as_str(), name["severity"].as_str()),
        (Some("backup"), Some("fatal"))
    );
}

#[test]
fn two_dirs_on_one_full_volume_are_counted_once() {
    if !inside() {
        return;
    }
    let tree = Tree::t4();
    mount_tmpfs(&tree.path("mount"), "size=4m");
    for dir in ["mount/d1", "mount/d2"] {
        crate::support::apply::copy_tree(&tree.path("d1"), &tree.path(dir));
    }
    let dirs = format!(
        "{},{}",
        tree.path("mount/d1").display(),
        tree.path("mount/d2").display()
    );
    let look = |exit| run(&tree.path("."), &["volumes", "--json", "--log-dirs", &dirs]).exits(exit);
    let ran = look(3);
    let (first, second) = (volume(&ran, "d1"), volume(&ran, "d2"));
    assert_eq!(first["shares_with"], Value::Null);
    assert_eq!(second["shares_with"], first["dir"]);
    assert_eq!(
        (&first["total"], &first["imbalance_percent"]),
        (&4_194_304.into(), &0.into())
    );
    let used = 4_194_304 - first["free"].as_u64().unwrap();
    let kafka = first["kafka"].as_u64().unwrap() + second["kafka"].as_u64().unwrap();
    assert_eq!(first["foreign"].as_u64().unwrap(), used - kafka);
    let filler = std::fs::File::create(tree.path("mount/filler")).unwrap();
    let mut bytes = 0;
    while std::io::Write::write_all(&mut &filler, &[1; 4096]).is_ok() {
        bytes += 4096;
    }
    let ran = look(3);
    let first = volume(&ran, "d1");
    assert_eq!(first["free"], 0);
    assert_eq!(first["used_percent"], 100);
    assert_eq!(first["full_in_10m_s"], 0);
    assert_eq!(first["foreign"].as_u64().unwrap(), used - kafka + bytes);
    let full = ran
        .kind("finding")
        .into_iter()
        .any(|line| line["code"] == "volume" && line["severity"] == "fatal");
    assert!(full, "{}", ran.out);
}

#[test]
fn a_volume_that_can_only_be_read_says_so() {
    if !inside() {
        return;
    }
    let tree = Tree::t4();
    mount_tmpfs(&tree.path("mount"), "size=4m");
    crate::support::apply::copy_tree(&tree.path("d1"), &tree.path("mount/d1"));
    remount_tmpfs(&tree.path("mount"), "ro");
    let dir = tree.path("mount/d1");
    let ran = run(
        &tree.path("."),
        &["volumes", "--json", "--log-dirs", dir.to_str().unwrap()],
    )
    .exits(3);
    assert_eq!(volume(&ran, "d1")["state"], "read_only");
}

#[test]
fn a_second_look_has_a_rate_of_its_own() {
    let tree = Tree::t4();
    let dir = tree.path("d1");
    let now = jiff::Timestamp::now().as_millisecond();
    let look = || {
        let ran = run(
            &tree.path("."),
            &["volumes", "--json", "--log-dirs", dir.to_str().unwrap()],
        );
        volume(&ran, "d1")
    };
    // The fixture's files were just made: all of them were written in the last 10 minutes, by their times.
    let first = look();
    assert_eq!(first["rate_10m_source"], "segments");
    assert_eq!(first["rate_10m"].as_i64(), Some(460_400 / 600));
    let samples = tree.path("state/krescue/volumes.jsonl");
    let text = std::fs::read_to_string(&samples).unwrap();
    let mut sample: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    sample["at"] = (now - 600_000).into();
    sample["used"] = 0.into();
    std::fs::write(&samples, format!("{sample}\n")).unwrap();
    let second = look();
    assert_eq!(second["rate_10m_source"], "samples");
    assert!(second["rate_10m"].as_i64().unwrap() > 0);
}

#[test]
fn a_volume_counts_as_full_at_the_share_that_is_named() {
    if !inside() {
        return;
    }
    let tree = Tree::t4();
    mount_tmpfs(&tree.path("v"), "size=4m");
    let dir = tree.path("v/d1");
    crate::support::apply::copy_tree(&tree.path("d1"), &dir);
    std::fs::write(tree.path("v/filler"), vec![1; 2 << 20]).unwrap();
    let look = |more: &[&str]| {
        let words = [&["--log-dirs", "v/d1", "volumes", "--json"], more].concat();
        run(&tree.path("."), &words)
    };
    let used = volume(&look(&[]), "d1")["used_percent"].as_u64().unwrap();
    assert!((30..90).contains(&used), "{used}");
    let in_use = |ran: &Ran| {
        let findings = ran.kind("finding");
        findings
            .iter()
            .filter(|line| line["text"] == format!("{used} % of the volume are in use"))
            .count()
    };
    for (share, told) in [(used, 1), (used + 1, 0), (1, 1), (100, 0)] {
        let ran = look(&["--full-at", &share.to_string()]);
        assert_eq!(in_use(&ran), told, "{share}: {}", ran.out);
        // The share itself is rounded up.
        if share != used {
            let full = volume(&ran, "d1")["full_in_10m_s"] == 0;
            assert_eq!(full, share < used, "{share}: {}", ran.out);
        }
    }
    look(&["--full-at", "0"]).exits(2);
    look(&["--full-at", "101"]).exits(2);
}

#[test]
fn a_log_that_is_named_says_what_took_a_dir_offline() {
    let tree = Tree::t4();
    let dir = tree.path("d1");
    let log = format!(
        "[2026-11-30 14:00:00,000] INFO Starting log manager (kafka.log.LogManager)\n\
         [2026-11-30 14:00:02,000] ERROR Error while writing to checkpoint file {0}/recovery-point-offset-checkpoint (a.LogDirFailureChannel)\n\
         java.io.IOException: No space left on device\n\
         [2026-11-30 14:00:03,000] WARN [ReplicaManager broker=1] Stopped serving replicas in dir {0} (kafka.server.ReplicaManager)\n",
        dir.display()
    );
    tree.write("server.log", log);
    let all = dir.display().to_string();
    let look = |more: &[&str]| {
        let words = [&["--log-dirs", &all, "volumes", "--json"], more].concat();
        run(&tree.path("."), &words)
    };
    assert_eq!(volume(&look(&[]), "d1")["state"], "online");
    let ran = look(&["--log", "server.log"]).exits(3);
    let line = volume(&ran, "d1");
    assert_eq!(line["state"], "offline");
    let cause = line["cause"].as_str().unwrap();
    assert!(
        cause.ends_with("java.io.IOException: No space left on device"),
        "{cause}"
    );
    assert!(line["since"].is_string(), "{line}");
    let text = run(
        &tree.path("."),
        &["--log-dirs", &all, "volumes", "--log", "server.log"],
    )
    .out;
    assert!(text.contains("offline"), "{text}");
}

#[test]
fn a_dir_that_is_not_there_is_told_beside_those_that_are() {
    let tree = Tree::t4();
    let ran = run(
        &tree.path("."),
        &["--log-dirs", "d1,gone", "volumes", "--json"],
    )
    .exits(3);
    assert_eq!(volume(&ran, "d1")["state"], "online");
    let line = volume(&ran, "gone");
    assert_eq!(line["state"], "missing");
    assert!(line["kafka"].is_null() || line["kafka"] == 0, "{line}");
}

#[test]
fn a_segment_that_is_missing_from_a_log_is_told_where_no_broker_runs() {
    let tree = Tree::t4();
    let look = || run(&tree.path("."), &["--log-dirs", "d1", "volumes", "--json"]);
    assert!(!look().codes().contains(&"segment_missing".to_owned()));
    for kind in ["log", "index", "timeindex"] {
        std::fs::remove_file(tree.t0(1000, kind)).unwrap();
    }
    let finding = look().exits(3).finding("segment_missing");
    assert_eq!(
        (&finding["file"], &finding["offset"]),
        (&"t-0".into(), &1000.into())
    );
    let _lock = crate::support::lock::hold_lock(&tree.path("d1"));
    assert!(!look().codes().contains(&"segment_missing".to_owned()));
}
