//! `segments`: verdicts of a log by its files, its checkpoints and its settings; nothing is touched.

use serde_json::json;

use crate::support::fixture::{SEGMENT, Tree};
use crate::support::program::{Ran, run};

/// 3.47 days behind the fixture's records.
const NOW: &str = "1700300000000";

fn segments(tree: &Tree, topic_config: &str, more: &[&str]) -> Ran {
    tree.write("topics", topic_config);
    let before = tree.fingerprint("d1");
    let named = [
        "--log-dirs",
        "d1",
        "--topic-config",
        "topics",
        "--now",
        NOW,
        "segments",
    ];
    let ran = run(&tree.path("."), &[&named, more].concat());
    assert_eq!(tree.fingerprint("d1"), before, "looking changes nothing");
    ran
}

fn verdicts(ran: &Ran) -> Vec<String> {
    ran.kind("segment")
        .iter()
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            format!("{} {}", text("verdict"), text("reason"))
        })
        .collect()
}

#[test]
fn a_future_timestamp_keeps_what_is_newer_and_says_until_when() {
    let tree = Tree::t4();
    tree.edit(&tree.t0(1000, "timeindex"), |bytes| {
        let last = bytes.len() - 12;
        bytes[last..last + 8].copy_from_slice(&4_102_444_800_000_i64.to_be_bytes());
    });
    let ran = segments(&tree, "t retention.ms=86400000\n", &["t-0", "--json"]).exits(0);
    let held = "held future_timestamp";
    assert_eq!(verdicts(&ran), ["delete time", held, held, held]);
    let lines = ran.kind("segment");
    assert_eq!(lines[1]["changes_at"], "2100-01-02T00:00:00.001Z");
    assert_eq!(lines[3]["held_by"], 1000);
    assert_eq!(lines[3]["next_offset"], 4000);
    let log = &ran.kind("retention")[0];
    assert_eq!(log["log_start_offset_after"], 1000);
    assert_eq!(log["retention_ms_source"], "topic");
    let ran = segments(&tree, "t retention.ms=86400000\n", &["t-0"]).exits(0);
    assert!(
        ran.out
            .contains("HELD by future timestamp 2100-01-01 00:00"),
        "{}",
        ran.out
    );
}

#[test]
fn other_limits_are_tried_and_named() {
    let tree = Tree::t4();
    let ran = segments(&tree, "t retention.ms=-1\n", &["--json"]).exits(0);
    assert_eq!(verdicts(&ran)[0], "keep unlimited");
    let wish = format!("retention.bytes={}", 3 * SEGMENT);
    let what_if = ["--what-if", wish.as_str(), "--json"];
    let ran = segments(&tree, "t retention.ms=-1\n", &what_if).exits(0);
    assert_eq!(
        verdicts(&ran),
        ["delete size", "keep size", "keep size", "keep active"]
    );
    assert_eq!(ran.kind("segment")[1]["over_bytes"], json!(-115_100));
    assert_eq!(
        ran.kind("retention")[0]["retention_bytes_source"],
        "what-if"
    );
    let text = segments(&tree, "t retention.ms=-1\n", &["--what-if", wish.as_str()]).exits(0);
    assert!(text.out.contains("FREED NOW"), "{}", text.out);
    segments(&tree, "", &["--what-if", "retention.hours=1"]).exits(2);
    segments(&tree, "", &["u-0"]).exits(2);
}

#[test]
fn a_high_watermark_that_nobody_knows_holds_and_so_does_a_low_one() {
    let tree = Tree::t4();
    let day = "t retention.ms=86400000\n";
    assert_eq!(
        verdicts(&segments(&tree, day, &["--json"])),
        ["delete time"; 4]
    );
    let rolls = &segments(&tree, day, &["--json"]).kind("retention")[0];
    assert_eq!(rolls["rolls_at"], 4000);
    tree.write("d1/replication-offset-checkpoint", "0\n1\nt 0 2500\n");
    let held = "held high_watermark";
    let ran = segments(&tree, day, &["--json"]);
    assert_eq!(verdicts(&ran), ["delete time", "delete time", held, held]);
    std::fs::remove_file(tree.path("d1/replication-offset-checkpoint")).unwrap();
    let ran = segments(&tree, day, &["--json"]);
    assert_eq!(verdicts(&ran), [held; 4]);
    assert!(ran.kind("retention")[0]["high_watermark"].is_null());
}

#[test]
fn a_broker_s_key_on_a_topic_is_called_out() {
    let tree = Tree::t4();
    let ran = segments(&tree, "t log.retention.ms=5\n", &["--json"]).exits(3);
    let finding = ran.finding("topic_config_unknown");
    let text = finding["text"].as_str().unwrap();
    assert!(
        text.contains("log.retention.ms is a broker's key"),
        "{text}"
    );
    let ran = run(&tree.path("."), &["--log-dirs", "d1", "segments", "--json"]).exits(3);
    let next = ran.finding("topic_config_unknown")["next"].clone();
    assert!(
        next.as_str().unwrap().contains("--topic-config FILE"),
        "{next}"
    );
}

#[test]
fn files_of_segments_that_are_gone_are_leftovers() {
    let tree = Tree::t4();
    tree.write("d1/t-0/00000000000000000000.log.deleted", [7; 5000]);
    let ran = segments(&tree, "t retention.ms=-1\n", &["--json"]).exits(0);
    let line = ran.kind("segment").pop().unwrap();
    assert_eq!(
        (&line["verdict"], &line["reason"]),
        (&json!("leftover"), &json!("deleted"))
    );
    assert_eq!(
        (&line["base_offset"], &line["bytes"]),
        (&json!(0), &json!(5000))
    );
    assert!(line["unlinked_at"].is_null(), "nobody's timer runs");
    let text = line["text"].as_str().unwrap();
    assert!(text.ends_with("the next boot removes it"), "{text}");
    let renamed = std::fs::metadata(tree.path("d1/t-0/00000000000000000000.log.deleted")).unwrap();
    let renamed = std::os::unix::fs::MetadataExt::ctime(&renamed);
    let told: jiff::Timestamp = line["renamed_at"].as_str().unwrap().parse().unwrap();
    assert_eq!(told.as_second(), renamed);
}

#[test]
fn a_time_index_that_is_cut_short_is_judged_as_kafka_does_and_named() {
    let tree = Tree::t4();
    std::fs::write(tree.path("d1/.kafka_cleanshutdown"), "").unwrap();
    tree.edit(&tree.t0(0, "timeindex"), |bytes| bytes.truncate(12 * 3 + 5));
    let ran = segments(&tree, "t retention.ms=86400000\n", &["--json"]).exits(3);
    assert_eq!(ran.codes(), ["index_corrupt"]);
    let third = 1_700_000_000_000_i64 + 12 * 1000 + 9;
    let stamp = krescue::terms::Timestamp(third).rfc3339();
    assert_eq!(ran.kind("segment")[0]["largest_timestamp"], stamp);
}

#[test]
fn a_segment_that_is_missing_from_the_middle_is_told() {
    let tree = Tree::t4();
    for kind in ["log", "index", "timeindex"] {
        std::fs::remove_file(tree.t0(2000, kind)).unwrap();
    }
    // Of one log each end is read, of all logs those that span too much.
    for words in [&["t-0", "--json"][..], &["--json"]] {
        let ran = segments(&tree, "t retention.ms=-1", words);
        let finding = ran.finding("segment_missing");
        assert_eq!(finding["severity"], "warning");
        assert_eq!(finding["offset"], 2000);
        assert_eq!(finding["file"], "00000000000000001000.log");
        assert!(
            finding["text"]
                .as_str()
                .unwrap()
                .contains("offsets 2000 to 2999")
        );
    }
    let compacted = segments(&tree, "t cleanup.policy=compact", &["t-0", "--json"]);
    assert!(!compacted.codes().contains(&"segment_missing".to_owned()));
    let whole = segments(&Tree::t4(), "t retention.ms=-1", &["t-0", "--json"]);
    assert!(!whole.codes().contains(&"segment_missing".to_owned()));
}

#[test]
fn every_setting_of_a_topic_is_a_line_with_the_levels_behind_it() {
    let tree = Tree::t4();
    let config = tree.path("server.properties");
    let text = format!(
        "log.dirs={}\nnode.id=1\nlog.retention.hours=48\n",
        tree.path("d1").display()
    );
    std::fs::write(&config, text).unwrap();
    tree.write("topics", "t retention.ms=1000\n");
    let named = [
        "--config",
        "server.properties",
        "--topic-config",
        "topics",
        "segments",
        "t-0",
    ];
    let json = run(&tree.path("."), &[&named[..], &["--json"]].concat());
    let lines = json.kind("config");
    let of = |key: &str| lines.iter().find(|line| line["key"] == key).unwrap();
    let retention = of("retention.ms");
    assert_eq!(
        (&retention["value"], &retention["source"]),
        (&json!("1000"), &json!("topic"))
    );
    let behind = &retention["behind"];
    assert_eq!(behind[0]["value"], "172800000");
    assert_eq!(behind[0]["source_key"], "log.retention.hours");
    assert_eq!(behind[1]["source"], "default");
    assert_eq!(of("segment.bytes")["source"], "default");
    assert!(lines.len() > 20, "{}", lines.len());
    let text = run(&tree.path("."), &named).out;
    assert!(
        text.contains("topic · over 172800000 (server.properties log.retention.hours)"),
        "{text}"
    );
}
