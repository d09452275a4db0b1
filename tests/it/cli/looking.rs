//! `scan`, `status` and `recover` without `--apply`: nothing is touched, and the exit says what was found.

use crate::support::fixture::{BATCH, SEGMENT, Tree};
use crate::support::program::{Ran, run};

/// Scans a changed `T4` and checks that nothing was touched.
fn scan(tree: &Tree) -> Ran {
    look(
        tree,
        &[
            "--log-dirs",
            "d1",
            "--now",
            "1700000400000",
            "scan",
            "--json",
            "--threads",
            "1",
        ],
    )
}

fn look(tree: &Tree, arguments: &[&str]) -> Ran {
    let before = tree.fingerprint("d1");
    let ran = run(&tree.path("."), arguments);
    assert_eq!(tree.fingerprint("d1"), before, "looking changes nothing");
    ran
}

#[test]
fn an_undamaged_crash_is_routine() {
    let tree = Tree::t4();
    let ran = scan(&tree).exits(0);
    let findings = ran.kind("finding");
    assert!(
        findings.iter().all(|line| line["severity"] == "routine"),
        "{findings:?}"
    );
    let partition = &ran.kind("partition")[0];
    assert_eq!(partition["topic"], "t");
    assert_eq!(partition["partition"], 0);
    assert_eq!(partition["log_end_offset"], 4000);
    assert_eq!(partition["scan_bytes"], SEGMENT);
    let summary = ran.summary();
    assert_eq!(summary["bytes"], SEGMENT * 4);
}

#[test]
fn scan_reads_every_batch_of_every_log() {
    let tree = Tree::t4();
    let segments = scan(&tree).exits(0).kind("segment");
    assert_eq!(segments.len(), 4);
    for (number, segment) in segments.iter().enumerate() {
        assert_eq!(segment["base_offset"], number * 1000);
        assert_eq!(segment["next_offset"], (number + 1) * 1000);
        assert_eq!(segment["bytes"], SEGMENT);
        assert_eq!(segment["batches"], 100);
        assert_eq!(segment["records"], 1000);
    }
    assert_eq!(segments[3]["largest_timestamp"], "2023-11-14T22:19:59.009Z");
}

#[test]
fn structure_reads_no_batch() {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes[60_000] ^= 0xff);
    let ran = look(
        &tree,
        &["--log-dirs", "d1", "scan", "--structure", "--json"],
    )
    .exits(0);
    assert_eq!(ran.kind("run")[0]["reading"], "structure");
    let segments = ran.kind("segment");
    assert_eq!(segments.len(), 4);
    assert!(
        segments
            .iter()
            .all(|segment| segment["batches"].is_null() && segment["next_offset"].is_null())
    );
}

#[test]
fn a_zero_tail_is_told_with_its_place() {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| {
        bytes.resize(SEGMENT + 4096, 0);
    });
    let ran = scan(&tree).exits(3);
    let finding = ran.finding("zero_tail");
    assert_eq!(finding["partition"], "t-0");
    assert_eq!(finding["file"], "00000000000000003000.log");
    assert_eq!(finding["position"], SEGMENT);
    assert_eq!(finding["offset"], 4000);
    assert_eq!(finding["lost_bytes"], 4096);
    assert_eq!(finding["lost_records"], 0);
    assert_eq!(ran.kind("partition")[0]["log_end_offset"], 4000);
}

#[test]
fn tiny_tails_are_torn() {
    for tail in [&[1_u8; 5][..], &[1; 17], &[1; 18]] {
        let tree = Tree::t4();
        tree.edit(&tree.t0(3000, "log"), |bytes| bytes.extend(tail));
        let ran = scan(&tree);
        let finding = ran.finding("torn_tail");
        assert_eq!(finding["position"], SEGMENT, "{tail:?}");
        assert_eq!(finding["lost_bytes"], tail.len());
        assert_eq!(ran.kind("partition")[0]["log_end_offset"], 4000);
    }
}

#[test]
fn a_flipped_bit_before_good_segments_is_an_ask() {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[57_650] ^= 0xff);
    let ran = look(
        &tree,
        &[
            "recover",
            "--log-dirs",
            "d1",
            "--kafka-version",
            "4.4.0",
            "--json",
        ],
    )
    .exits(3);
    let partition = &ran.kind("partition")[0];
    assert_eq!(partition["verdict"], "ask");
    assert!(partition["cause"].is_string());
    assert_eq!(partition["lost_segments"], 2);
    // All behind the cut but the bad batch itself is good.
    let lost = 287_750 - BATCH;
    assert_eq!(partition["lost_bytes"], lost);
    assert_eq!(partition["lost_records"], 2490);
    assert_eq!(ran.summary()["ask"], 1);
    let finding = ran.finding("crc_mismatch");
    assert_eq!(finding["position"], 57_550);
    assert_eq!(finding["offset"], 1500);
    // Kafka's way, when asked for.
    let ran = look(
        &tree,
        &[
            "recover",
            "--log-dirs",
            "d1",
            "--kafka-version",
            "4.4.0",
            "--like-kafka",
            "--json",
        ],
    )
    .exits(3);
    let partition = &ran.kind("partition")[0];
    assert_eq!(partition["log_end_offset"], 1500);
    assert_eq!(ran.summary()["class"], "C");
    let steps = ran.kind("step");
    assert!(
        steps
            .iter()
            .any(|step| step["action"] == "set_len" && step["to"] == 57_550)
    );
    assert!(
        steps
            .iter()
            .any(|step| step["action"] == "remove" && step["file"] == "00000000000000003000.log")
    );
}

#[test]
fn a_plan_has_a_hash_that_only_its_inputs_change() {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
    let hash = |more: &[&str]| {
        let mut arguments = vec![
            "--log-dirs",
            "d1",
            "--now",
            "1700000400000",
            "recover",
            "--json",
        ];
        arguments.extend(more);
        let ran = look(&tree, &arguments).exits(3);
        ran.summary()["plan"].as_str().unwrap().to_owned()
    };
    let first = hash(&[]);
    assert_eq!(first.len(), 64);
    assert_eq!(hash(&[]), first);
    assert_ne!(hash(&["--hand-over", "none"]), first);
    assert_ne!(hash(&["--quarantine", "none"]), first);
}

#[test]
fn status_is_one_object_in_one_line() {
    let tree = Tree::t4();
    let ran = look(&tree, &["status", "--log-dirs", "d1", "--json"]).exits(0);
    let lines = ran.lines();
    assert_eq!(lines.len(), 1);
    let status = &lines[0];
    assert_eq!(status["kind"], "status");
    assert_eq!(status["broker"], "down");
    assert_eq!(status["node_id"], 1);
    assert_eq!(status["dirs"][0]["state"], "unclean");
    assert_eq!(status["scan_bytes"], SEGMENT);
    let text = look(&tree, &["status", "--log-dirs", "d1"]).exits(0).out;
    assert!(text.contains("unclean"), "{text}");
}

#[test]
fn a_configuration_gives_log_dirs_and_log_settings() {
    let tree = Tree::t4();
    let dir = tree.path("d1");
    tree.write(
        "server.properties",
        format!(
            "node.id=1\nlog.dirs={}\nlog.index.interval.bytes=1024\n",
            dir.display()
        ),
    );
    tree.write("d1/recovery-point-offset-checkpoint", "0\n1\nt 0 0\n");
    let rebuilt = |more: &[&str]| {
        let mut arguments = vec!["recover", "--json", "--config", "server.properties"];
        arguments.extend(more);
        let ran = look(&tree, &arguments).exits(3);
        let run_line = &ran.kind("run")[0];
        assert_eq!(run_line["log_dirs"][0], dir.display().to_string());
        assert_eq!(run_line["found_by"], "--config");
        let steps = ran.kind("step");
        steps
            .iter()
            .filter(|step| step["reason"] == "rebuilt from the log")
            .count()
    };
    // The indexes were made with another interval, so a boot makes other ones.
    assert_eq!(rebuilt(&[]), 8);
    // The same interval by a topic's override.
    tree.write("topics", "t index.interval.bytes=4096\n");
    assert_eq!(rebuilt(&["--topic-config", "topics"]), 0);
}

#[test]
fn progress_goes_to_the_standard_error_and_a_closed_pipe_is_no_error() {
    use std::process::Stdio;
    let tree = Tree::t4();
    let mut child = crate::support::program::program(&tree.path("."))
        .args(["--log-dirs", "d1", "scan", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_zookeeper_mode_dir_says_where_its_topics_settings_are_to_be_had() {
    let tree = Tree::t4();
    tree.write(
        "d1/meta.properties",
        "version=0\nbroker.id=7\ncluster.id=Zk\n",
    );
    let home = tree.path(".");
    let line = run(&home, &["--log-dirs", "d1", "status", "--json"])
        .lines()
        .remove(0);
    assert_eq!(line["metadata"]["mode"], "zookeeper");
    assert!(line["metadata"]["features"].is_null());
    let text = run(&home, &["--log-dirs", "d1", "status"]).out;
    assert!(
        text.contains("metadata: ZooKeeper mode: none on disk"),
        "{text}"
    );
    let plan = run(&home, &["--log-dirs", "d1", "recover", "--json"]);
    let finding = plan.finding("topic_config_unknown");
    assert!(
        finding["next"]
            .as_str()
            .unwrap()
            .contains("--topic-config FILE")
    );
    // A KRaft node without its metadata log is not taken for one.
    let tree = Tree::t4();
    let line = run(&tree.path("."), &["--log-dirs", "d1", "status", "--json"])
        .lines()
        .remove(0);
    assert!(line["metadata"].is_null(), "{line}");
}

#[test]
fn what_the_disk_says_of_the_cluster_is_told_with_its_source() {
    let home = tempfile::tempdir().unwrap();
    let demo = krescue::demo::write_crashed(home.path()).unwrap();
    let dirs: Vec<&str> = demo
        .log_dirs
        .iter()
        .map(|dir| dir.to_str().unwrap())
        .collect();
    let all = dirs.join(",");
    let status = |more: &[&str]| {
        run(
            home.path(),
            &[&["--log-dirs", &all, "status"], more].concat(),
        )
    };
    let metadata = &status(&["--json"]).lines().remove(0)["metadata"];
    assert_eq!(metadata["mode"], "kraft");
    assert_eq!(metadata["leader_id"], 1);
    assert!(metadata["leader_epoch"].as_i64().unwrap() > 0);
    assert_eq!(metadata["voters"], serde_json::json!([1]));
    assert_eq!(metadata["voters_source"], "quorum-state");
    assert!(metadata["features"]["metadata.version"].as_i64().unwrap() >= 19);
    let text = status(&[]).out;
    for words in [
        "metadata: as of offset",
        "metadata.version",
        "quorum: leader 1 in epoch",
        "formatted with",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}
