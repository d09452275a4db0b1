//! `truncate`: from the plan to its end and back, on a crashed broker's log dirs.

use std::path::{Path, PathBuf};

use krescue::demo::{DemoTree, write_crashed};

use crate::support::apply::contents;
use crate::support::fixture::Tree;
use crate::support::jobs::as_if_killed;
use crate::support::program::{Ran, run};

struct Node {
    home: tempfile::TempDir,
    tree: DemoTree,
}

impl Node {
    fn crashed() -> Self {
        let home = tempfile::tempdir().unwrap();
        let tree = write_crashed(home.path()).unwrap();
        Self { home, tree }
    }

    fn run(&self, words: &[&str]) -> Ran {
        let dirs: Vec<_> = self
            .tree
            .log_dirs
            .iter()
            .map(|dir| dir.to_str().unwrap())
            .collect();
        let (dirs, version) = (dirs.join(","), self.tree.kafka_version.to_string());
        let now = self.tree.now.0.to_string();
        let common = [
            "--log-dirs",
            &dirs,
            "--kafka-version",
            &version,
            "--now",
            &now,
        ];
        run(self.home.path(), &[&common, words].concat())
    }

    /// Returns the log dir that holds a partition.
    fn log_dir(&self, partition: &str) -> &Path {
        let mut dirs = self.tree.log_dirs.iter();
        dirs.find(|dir| dir.join(partition).is_dir()).unwrap()
    }

    fn all(&self) -> Vec<std::collections::BTreeMap<PathBuf, Vec<u8>>> {
        self.tree.log_dirs.iter().map(|dir| contents(dir)).collect()
    }
}

/// Returns the JSON line of a partition.
fn partition_of(ran: &Ran, name: &str) -> serde_json::Value {
    let mut lines = ran.kind("partition").into_iter();
    lines.find(|line| line["dir_name"] == name).unwrap()
}

/// Returns a partition's line of a checkpoint.
fn entry(dir: &Path, checkpoint: &str, partition: &str) -> Option<i64> {
    let text = std::fs::read_to_string(dir.join(checkpoint)).unwrap();
    let start = format!("{partition} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&start))?;
    Some(line.parse().unwrap())
}

#[test]
fn a_log_of_a_cleanly_stopped_dir_is_truncated_and_taken_back() {
    let node = Node::crashed();
    node.run(&[
        "recover",
        "--like-kafka",
        "--hand-over",
        "clean",
        "--apply",
        "--yes-to-all",
        "--json",
    ])
    .exits(0);
    let before = node.all();
    let words = ["truncate", "invoices-0", "--to-offset", "100"];
    let shown = node.run(&[&words[..], &["--json"]].concat()).exits(3);
    assert_eq!(node.all(), before, "a look changes nothing");
    let partition = partition_of(&shown, "invoices-0");
    assert_eq!(partition["verdict"], "truncate");
    let end = partition["log_end_offset"].as_i64().unwrap();
    assert!((90..=100).contains(&end), "{partition}");
    assert!(partition["lost_bytes"].as_u64().unwrap() > 0);
    assert_eq!(shown.summary()["class"], "C");
    assert!(
        shown.codes().contains(&"last_in_sync_copy".to_owned()),
        "{:?}",
        shown.codes()
    );
    let hash = shown.summary()["plan"].as_str().unwrap()[..8].to_owned();

    let other = [
        "truncate",
        "invoices-0",
        "--to-offset",
        "101",
        "--apply",
        "--yes",
        &hash,
    ];
    node.run(&other).exits(2);
    node.run(&["recover", "--apply", "--yes", &hash]).exits(2);
    assert_eq!(node.all(), before);
    let answer = ["--apply", "--yes", &hash, "--json"];
    node.run(&[&words[..], &answer].concat()).exits(0);
    let dir = node.log_dir("invoices-0");
    assert_eq!(
        entry(dir, "recovery-point-offset-checkpoint", "invoices 0"),
        Some(100)
    );
    assert_eq!(
        entry(dir, "replication-offset-checkpoint", "invoices 0"),
        Some(100)
    );
    assert_eq!(
        std::fs::read(dir.join(".kafka_cleanshutdown")).unwrap(),
        b""
    );
    let scan = node.run(&["scan", "--json", "--partition", "invoices-0"]);
    assert_eq!(partition_of(&scan, "invoices-0")["log_end_offset"], end);
    // The other dir was not touched.
    let untouched = node
        .tree
        .log_dirs
        .iter()
        .position(|other| other != dir)
        .unwrap();
    assert_eq!(node.all()[untouched], before[untouched]);

    node.run(&["undo", &hash, "--apply", "--yes-to-all", "--json"])
        .exits(0);
    assert_eq!(node.all(), before);
}

#[test]
fn what_is_not_truncated_stays_and_is_told_with_its_exit_code() {
    let node = Node::crashed();
    let before = node.all();
    for (words, exit, text) in [
        (
            &["__cluster_metadata-0", "--to-offset", "5"][..],
            4,
            "never changed",
        ),
        (
            &["telemetry-0", "--to-offset", "5"],
            4,
            "below the log start",
        ),
        (
            &["orders-0", "--to-epoch", "99"],
            4,
            "knows no leader epoch 99",
        ),
        (
            &["nobody-0", "--to-offset", "5"],
            2,
            "no log dir holds nobody-0",
        ),
        (
            &["orders-0", "--to-offset", "5", "--hand-over", "clean"],
            2,
            "not stopped cleanly",
        ),
    ] {
        for more in [&[][..], &["--apply", "--yes-to-all"]] {
            let ran = node.run(&[&["truncate"], words, more].concat()).exits(exit);
            assert!(ran.err.contains(text), "{words:?}: {}", ran.err);
        }
    }
    let ran = node.run(&["truncate", "orders-0", "--to-offset", "99999"]);
    assert!(ran.out.contains("nothing is truncated"), "{}", ran.out);
    assert_eq!(node.all(), before);
}

#[test]
fn a_crashed_log_is_recovered_and_truncated_in_one_plan() {
    let node = Node::crashed();
    let words = [
        "truncate",
        "orders-2",
        "--to-high-watermark",
        "--apply",
        "--yes-to-all",
        "--json",
    ];
    let dir = node.log_dir("orders-2").to_owned();
    let mark = entry(&dir, "replication-offset-checkpoint", "orders 2").unwrap();
    let ran = node.run(&words).exits(0);
    let partition = partition_of(&ran, "orders-2");
    assert_eq!(partition["verdict"], "truncate");
    assert_eq!(ran.summary()["class"], "C");
    assert!(
        ran.finding("truncated")["text"]
            .as_str()
            .unwrap()
            .contains("up to 5 s old")
    );
    assert_eq!(
        entry(&dir, "recovery-point-offset-checkpoint", "orders 2"),
        Some(mark)
    );
    assert!(!dir.join(".kafka_cleanshutdown").exists());
}

#[test]
fn without_metadata_on_this_host_nothing_is_truncated() {
    let tree = Tree::t4();
    let words = [
        "--log-dirs",
        "d1",
        "--kafka-version",
        "4.4.0",
        "truncate",
        "t-0",
        "--to-offset",
        "5",
    ];
    let ran = run(&tree.path("."), &words).exits(4);
    assert!(ran.err.contains("may be the last copy"), "{}", ran.err);
}

#[test]
fn a_killed_truncation_is_told_of_with_the_command_that_goes_on() {
    let node = Node::crashed();
    let recover = ["recover", "--like-kafka", "--hand-over", "clean"];
    let apply = ["--json", "--apply", "--yes-to-all"];
    node.run(&[&recover[..], &apply].concat()).exits(0);
    let words = ["truncate", "invoices-0", "--to-offset", "100"];
    let ran = node.run(&[&words[..], &apply].concat()).exits(0);
    let hash = ran.summary()["plan"].as_str().unwrap()[..8].to_owned();
    let jobs = std::fs::read_dir(node.home.path().join("state/krescue/jobs")).unwrap();
    let mut jobs = jobs.map(|job| job.unwrap().path());
    let is_of_it = |job: &PathBuf| {
        let spec = std::fs::read_to_string(job.join("spec.json")).unwrap();
        spec.contains(&hash)
    };
    let job = jobs.find(is_of_it).unwrap();
    as_if_killed(&job);
    for words in ["jobs", "status"] {
        let said = node.run(&[words]).out;
        let how = format!("truncate invoices-0 --to-offset 100 --apply --yes {hash}");
        assert!(said.contains(&how), "{said}");
        assert!(said.contains(&format!(" undo {hash}")), "{said}");
    }
}
