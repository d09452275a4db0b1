//! Logs where Kafka's way costs good records: left as they are unless decided, whatever the reason is.

use std::fs;

use super::deciding::recover;
use crate::support::fixture::{BATCH, BatchSpec, SEGMENT, Tree, segment};

/// The first offset that a segment at 0 cannot have by its index.
const FAR: i64 = 3_000_000_000;

/// A log that asks, and the ways that hold for it.
struct Case {
    reason: &'static str,
    tree: Tree,
    ways: &'static [&'static str],
}

fn cases() -> Vec<Case> {
    let case = |reason, ways, damage: fn(&Tree)| {
        let tree = Tree::t4_unflushed();
        damage(&tree);
        Case { reason, tree, ways }
    };
    let all = &["like-kafka", "cut-here", "leave"];
    vec![
        case("BatchesBehindCut", all, |tree| {
            tree.edit(&tree.t0(1000, "log"), |bytes| bytes[57_650] ^= 0xff);
        }),
        case("BatchesBehindCut in the last segment", &all[..2], |tree| {
            tree.edit(&tree.t0(3000, "log"), |bytes| bytes[57_650] ^= 0xff);
        }),
        case("LaterSegments", all, |tree| {
            tree.edit(&tree.t0(1000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
        }),
        case("SegmentEmptied", all, |tree| {
            // The batch of the second index point goes back to the segment's base.
            let at = 8 * BATCH;
            tree.edit(&tree.t0(1000, "log"), |bytes| {
                bytes[at..at + 8].copy_from_slice(&1000_i64.to_be_bytes());
            });
        }),
        case("LogStartBeyondEnd", &all[..1], |tree| {
            tree.write("d1/log-start-offset-checkpoint", "0\n1\nt 0 5000\n");
        }),
        case("SwapIncomplete", &all[..1], |tree| {
            let mut swap = segment(1000);
            swap[57_650] ^= 0xff;
            let name = format!("d1/t-0/{:020}.log.swap", 1000);
            tree.write(&name, swap);
        }),
        case("SegmentReplaced", &all[..1], |tree| {
            for base in [0, 1000, 2000, 3000] {
                for suffix in ["log", "index", "timeindex"] {
                    fs::remove_file(tree.t0(base, suffix)).unwrap();
                }
            }
            let batch = |base| BatchSpec::new(base).encode();
            let log = |base: i64| format!("d1/t-0/{base:020}.log");
            tree.write(&log(0), [batch(0), batch(FAR)].concat());
            tree.write(&log(FAR), [batch(FAR), batch(FAR + 10)].concat());
        }),
    ]
}

#[test]
fn a_log_that_asks_is_untouched_and_no_marker_is_written() {
    for Case { reason, tree, .. } in cases() {
        let before = tree.fingerprint("d1/t-0");
        let plan = recover(&tree, &["--json"]).exits(3);
        let line = &plan.kind("partition")[0];
        assert_eq!(line["verdict"], "ask", "{reason}: {line}");
        assert_eq!(line["applied"], serde_json::Value::Null, "{reason}");
        assert_eq!(line["log_end_offset"], serde_json::Value::Null, "{reason}");
        assert!(!plan.kind("step").is_empty(), "{reason}: {}", plan.out);
        for hand_over in ["none", "verify", "clean"] {
            let apply = ["--json", "--apply", "--yes-to-all", "--hand-over"];
            let ran = recover(&tree, &[&apply[..], &[hand_over]].concat()).exits(3);
            let lines = ran.kind("partition");
            assert_eq!(lines.len(), 1, "{reason} {hand_over}: {}", ran.out);
            assert_eq!(lines[0]["verdict"], "ask", "{reason} {hand_over}");
            assert_eq!(lines[0]["applied"], false, "{reason} {hand_over}");
            for key in ["log_start_offset", "log_end_offset"] {
                assert_eq!(lines[0][key], serde_json::Value::Null, "{reason} {key}");
            }
            assert_eq!(lines[0]["steps"], 0, "{reason} {hand_over}");
            assert!(ran.kind("step").is_empty(), "{reason}: {}", ran.out);
            assert_eq!(ran.summary()["ask"], 1, "{reason} {hand_over}");
            assert!(ran.err.contains("DO NOT START"), "{reason}: {}", ran.err);
            assert_eq!(
                tree.fingerprint("d1/t-0"),
                before,
                "{reason} under {hand_over}"
            );
            let marker = tree.path("d1/.kafka_cleanshutdown");
            assert!(!marker.exists(), "{reason} under {hand_over}");
        }
    }
}

#[test]
fn in_text_an_open_ask_has_no_end_that_its_files_do_not_have() {
    for Case { reason, tree, .. } in cases() {
        for more in [&[][..], &["--apply", "--yes-to-all"]] {
            let ran = recover(&tree, more).exits(3);
            let line = ran.out.lines().find(|line| line.contains("ASK, untouched"));
            let line = line.unwrap_or_else(|| panic!("{reason}: {}", ran.out));
            assert!(!line.contains("log end"), "{reason}: {line}");
        }
    }
}

/// The last line is a command that can be run: it names the log dirs, and only ways that hold.
#[test]
fn the_last_line_lists_the_ways_that_hold_and_no_other() {
    for Case { reason, tree, ways } in cases() {
        let ran = recover(&tree, &[]).exits(3);
        let last = ran.out.lines().next_back().unwrap();
        let (_, command) = last.split_once("; decide: krescue ").unwrap();
        let expected = format!("--log-dirs d1 recover --decide TP={}", ways.join("|"));
        assert_eq!(command, expected, "{reason}");
        for way in ["like-kafka", "cut-here", "leave"] {
            let decide = format!("t-0={way}");
            let ran = recover(&tree, &["--json", "--decide", &decide]);
            let refused = ran.codes().contains(&"decision_refused".to_owned());
            assert_eq!(refused, !ways.contains(&way), "{reason} {way}: {}", ran.out);
        }
    }
}

/// With nothing to do each log is told too.
#[test]
fn an_apply_without_work_tells_each_partition() {
    let tree = Tree::t4();
    let apply = ["--json", "--apply", "--yes-to-all"];
    recover(&tree, &apply).exits(0);
    let again = recover(&tree, &[&apply[..], &["--hand-over", "none"]].concat()).exits(0);
    assert!(again.summary()["job"].is_null(), "{}", again.out);
    let lines = again.kind("partition");
    assert_eq!(lines.len(), 1, "{}", again.out);
    assert_eq!(lines[0]["verdict"], "nothing");
    assert_eq!(lines[0]["applied"], true);
    assert_eq!(lines[0]["log_end_offset"], 4000);
}

/// What is told beside a log that is recovered has the new end; the one that asks has none.
#[test]
fn beside_an_ask_the_others_are_recovered_with_their_steps() {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[57_650] ^= 0xff);
    tree.add_partition("d1", "u-0", 1);
    tree.edit(&tree.path("d1/u-0/00000000000000000000.log"), |bytes| {
        bytes.truncate(SEGMENT - 10);
    });
    let ran = recover(&tree, &["--json", "--apply", "--yes-to-all"]).exits(3);
    let steps = ran.kind("step");
    assert!(!steps.is_empty());
    assert!(
        steps.iter().all(|step| step["partition"] == "u-0"),
        "{steps:?}"
    );
    let line = |name: &str| {
        let lines = ran.kind("partition").into_iter();
        let mut of = lines.filter(|line| line["dir_name"] == name);
        of.next().unwrap()
    };
    assert_eq!(line("u-0")["log_end_offset"], 990);
    assert_eq!(line("u-0")["applied"], true);
    assert_eq!(line("t-0")["log_end_offset"], serde_json::Value::Null);
    assert_eq!(line("t-0")["applied"], false);
}
