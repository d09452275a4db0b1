//! `recover --decide`: logs where Kafka's way costs good records, decided one by one.

use std::fs;

use crate::support::fixture::{SEGMENT, Tree, segment};
use crate::support::program::{Ran, run};

/// Runs `recover` on `d1` at the fixtures' moment.
pub(super) fn recover(tree: &Tree, more: &[&str]) -> Ran {
    let common = [
        "--log-dirs",
        "d1",
        "--kafka-version",
        "4.4.0",
        "--now",
        "1700000400000",
        "recover",
    ];
    run(&tree.path("."), &[&common[..], more].concat())
}

/// A bit of segment 1000 is flipped, and all of the log is read by a boot.
fn flipped() -> Tree {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[57_650] ^= 0xff);
    tree
}

fn log(tree: &Tree, base: i64) -> Vec<u8> {
    fs::read(tree.t0(base, "log")).unwrap()
}

#[test]
fn while_a_log_asks_the_last_line_says_what_a_boot_would_delete() {
    let tree = flipped();
    for more in [&[][..], &["--apply", "--yes-to-all"]] {
        let ran = recover(&tree, more);
        let last = ran.out.lines().next_back().unwrap();
        assert!(
            last.starts_with("DO NOT START: a boot deletes 2 segments of t-0 ("),
            "{}",
            ran.out
        );
        assert!(last.contains("--decide"), "{last}");
    }
    let scan = ["--log-dirs", "d1", "--kafka-version", "4.4.0", "scan"];
    let ran = run(&tree.path("."), &scan).exits(3);
    let last = ran.out.lines().next_back().unwrap();
    assert!(
        last.starts_with("DO NOT START: a boot deletes 2 segments of t-0 ("),
        "{}",
        ran.out
    );
    assert!(
        last.contains("decide: krescue --log-dirs d1 recover --decide TP="),
        "{last}"
    );
    let decided = recover(&tree, &["--decide", "t-0=cut-here"]);
    assert!(!decided.out.contains("DO NOT START"), "{}", decided.out);
}

#[test]
fn cut_only_here_is_of_class_c_and_a_second_run_has_nothing_to_do() {
    let tree = flipped();
    let apply = ["--json", "--apply", "--yes-to-all"];
    let ran = recover(&tree, &[&apply[..], &["--decide", "t-0=cut-here"]].concat()).exits(0);
    assert_eq!(ran.summary()["class"], "C");
    assert_eq!(ran.kind("partition")[0]["decided"], "cut_here");
    assert_eq!(log(&tree, 1000), segment(1000)[..57_550]);
    assert_eq!(log(&tree, 2000).len(), SEGMENT);
    let again = recover(&tree, &apply).exits(0);
    assert_eq!(again.summary()["steps"], 0);
}

#[test]
fn what_is_left_is_handed_over_behind_the_bad_place() {
    let tree = flipped();
    let before = log(&tree, 1000);
    let apply = ["--json", "--apply", "--yes-to-all"];
    let ran = recover(&tree, &[&apply[..], &["--decide", "t-0=leave"]].concat()).exits(0);
    assert_eq!(ran.summary()["class"], "B");
    assert_eq!(log(&tree, 1000), before);
    let points = fs::read_to_string(tree.path("d1/recovery-point-offset-checkpoint")).unwrap();
    assert_eq!(points, "0\n1\nt 0 4000\n");
    let again = recover(&tree, &apply).exits(0);
    assert_eq!(again.summary()["steps"], 0);
}

#[test]
fn a_decision_that_does_not_hold_leaves_the_log_asking() {
    let tree = flipped();
    let more = ["--json", "--hand-over", "none", "--decide", "t-0=leave"];
    let ran = recover(&tree, &more).exits(3);
    assert_eq!(ran.summary()["ask"], 1);
    assert_eq!(ran.kind("partition")[0]["decided"], serde_json::Value::Null);
    let refused = ran.finding("decision_refused");
    assert!(
        refused["text"]
            .as_str()
            .unwrap()
            .contains("--hand-over none")
    );
}

#[test]
fn a_decision_on_a_log_that_asks_nothing_is_an_error() {
    let tree = Tree::t4();
    for name in ["t-0=leave", "t-1=like-kafka"] {
        let ran = recover(&tree, &["--decide", name]).exits(2);
        assert!(ran.err.contains("asks nothing"), "{}", ran.err);
    }
    let ran = recover(&tree, &["--decide", "t-0=cut"]).exits(2);
    assert!(
        ran.err
            .contains("none of set-aside, like-kafka, cut-here, leave"),
        "{}",
        ran.err
    );
}

#[test]
fn a_replica_is_not_set_aside_where_nothing_says_who_else_has_it() {
    let tree = flipped();
    let before = log(&tree, 1000);
    let decide = ["--json", "--decide", "t-0=set-aside"];
    let apply = ["--apply", "--yes-to-all"];
    recover(&tree, &[&decide[..], &apply].concat()).exits(3);
    let ran = recover(&tree, &decide).exits(3);
    let line = &ran.kind("partition")[0];
    assert_eq!(line["decided"], serde_json::Value::Null);
    assert_eq!(line["in_sync_elsewhere"], serde_json::Value::Null);
    let refused = ran.finding("decision_refused");
    let text = refused["text"].as_str().unwrap();
    assert!(text.contains("nothing on this host says"), "{text}");
    assert_eq!(log(&tree, 1000), before);
}
