//! What `mirror lint` finds: in files alone, and in the golden mirrors.

use std::fs;

use serde_json::Value;

use super::told::{Mirror, VERSIONS};
use crate::support::program::run;

/// Returns the rules that find something in a file alone, with its line.
fn codes(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mm2.properties"), text).unwrap();
    let ran = run(
        folder.path(),
        &["mirror", "lint", "--json", "--mm2", "mm2.properties"],
    );
    assert!(matches!(ran.exit, 0 | 3), "{ran:?}");
    ran.codes()
}

const TWO: &str = "clusters = primary, secondary\nprimary.bootstrap.servers = a:1\nsecondary.bootstrap.servers = b:1\n";

#[test]
fn each_mistake_in_a_file_has_its_rule() {
    let on = format!("{TWO}primary->secondary.enabled = true\n");
    for (lines, code) in [
        ("primary->secondary.topics = t\n", "E-FLOW-OFF"),
        ("primary->secondary.topics = t\n", "W-FLOW-HBONLY"),
        ("primary -> secondary.enabled = true\n", "E-KEY-SPLIT"),
        ("primry->secondary.enabled = true\n", "E-FLOW-ALIAS"),
        ("Primary->secondary.enabled = true\n", "E-FLOW-ALIAS"),
        ("primary->secondary.enabled = yes\n", "E-NOT-BOOL"),
        ("primary->secondary.enabled = true \n", "W-TRAIL"),
        ("enabled = true\n", "W-ENABLED-GLOBAL"),
        ("primary->secondary.task.max = 3\n", "W-TYPO"),
        ("emit.heartbeats = false\n", "W-TYPO"),
        ("offset.flush.interval.ms = 5\n", "W-SCOPE"),
        ("primary.topics = t\n", "W-SCOPE"),
        ("primary->secondary.producer.acks = 1\n", "W-SCOPE"),
        ("topics.blacklist = t\n", "W-OLDKEY"),
        ("topics = a\ntopics = b\n", "W-TWICE"),
    ] {
        let found = codes(&format!("{TWO}{lines}"));
        assert!(
            found.iter().any(|it| it == code),
            "{code} in {lines}: {found:?}"
        );
        let clean = codes(&on);
        assert!(!clean.iter().any(|it| it == code), "{code} in a good file");
    }
    for (lines, code) in [
        ("topics = t[0-9]{1,3}\n", "E-RE-SYNTAX"),
        ("topics = t[0-9]{1,3}\n", "W-RE-COMMA"),
        ("topics = foo\\.bar\n", "W-RE-ESC"),
        ("topics = *\n", "E-RE-SYNTAX"),
        ("replication.policy.separator = \n", "E-SEP-EMPTY"),
        ("replication.policy.separator = _ \n", "E-SEP-BLANK"),
        ("replication.policy.separator = -\n", "W-SEP-DASH"),
        ("replication.policy.separator = a\n", "E-ALIAS-SEP"),
        (
            "replication.policy.class = com.example.Mine\n",
            "I-POLICY-OTHER",
        ),
        ("offset.lag.max = 0\n", "W-LAG0"),
        ("offset.lag.max = 20000\n", "W-LAGBIG"),
        ("secondary.bootstrap.servers = a:1\n", "E-SAME-CLUSTER"),
        (
            "secondary->primary.enabled = true\nreplication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n",
            "E-LOOP-IDENTITY",
        ),
        (
            "secondary->primary.enabled = true\nprimary->secondary.offset-syncs.topic.location = target\n",
            "W-SYNCS-SHARED",
        ),
        (
            "secondary->primary.enabled = true\nprimary->secondary.replication.policy.separator = _\n",
            "W-POLICY-MIX",
        ),
        (
            "secondary.exactly.once.source.support = enabled\n",
            "W-EOS-ISO",
        ),
    ] {
        let found = codes(&format!("{on}{lines}"));
        assert!(
            found.iter().any(|it| it == code),
            "{code} in {lines}: {found:?}"
        );
        assert!(
            !codes(&on).iter().any(|it| it == code),
            "{code} in a good file"
        );
    }
    let no_address = "clusters = a, b\na.bootstrap.servers = a:1\na->b.enabled = true\n";
    assert!(codes(no_address).contains(&"E-BOOT".to_owned()));
    let old = run_version(&on, "3.5.0");
    assert!(old.contains(&"W-VER".to_owned()), "{old:?}");
    let excluded = format!("{on}topics.exclude = t\n");
    for (version, told) in [("2.6.3", true), ("2.7.0", false)] {
        let found = run_version(&excluded, version);
        assert_eq!(found.contains(&"W-OLDKEY".to_owned()), told, "{version}");
    }
    // Both ways with the names kept, but never the same topic.
    let both = "secondary->primary.enabled = true\nreplication.policy.class = \
        org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n";
    for (theirs, told) in [("b,c", false), ("b,a", true), ("b,a.*", true)] {
        let text = format!(
            "{on}{both}primary->secondary.topics = a,d\nsecondary->primary.topics = {theirs}\n"
        );
        let found = codes(&text);
        let loops = found.contains(&"E-LOOP-IDENTITY".to_owned());
        assert_eq!(loops, told, "{theirs}: {found:?}");
    }
}

fn run_version(text: &str, version: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mm2.properties"), text).unwrap();
    run(
        folder.path(),
        &[
            "mirror",
            "lint",
            "--json",
            "--mm2",
            "mm2.properties",
            "--mm2-version",
            version,
        ],
    )
    .codes()
}

#[test]
fn a_finding_in_a_file_has_its_line_and_a_rule_without_facts_their_name() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{TWO}# a comment\nenabled = true\n");
    fs::write(folder.path().join("mm2.properties"), text).unwrap();
    let ran = run(
        folder.path(),
        &["mirror", "lint", "--json", "--mm2", "mm2.properties"],
    )
    .exits(3);
    assert_eq!(ran.finding("W-ENABLED-GLOBAL")["place"], "mm2.properties:5");
    let silent = ran.kind("silent");
    let missing = |code: &str| {
        let line = silent.iter().find(|line| line["code"] == code);
        line.unwrap_or_else(|| panic!("{code}: {silent:?}"))["missing"].clone()
    };
    assert_eq!(missing("E-TASK-FAILED"), "the log dirs of primary");
    assert_eq!(
        missing("W-GRP-EXCL"),
        "the groups of primary: __consumer_offsets in its log dirs"
    );
    let mirror = Mirror::unpack("4.3.1");
    let without_file = mirror.run(&["lint", "--json"]).exits(3);
    let silent = without_file.kind("silent");
    assert!(silent.iter().any(|it| it["code"] == "E-KEY-SPLIT"
        && it["missing"] == "MirrorMaker 2's properties file (--mm2 FILE)"));
}

#[test]
fn what_went_wrong_in_the_golden_mirrors_is_found() {
    for version in VERSIONS {
        let mirror = Mirror::unpack(version);
        let ran = mirror
            .run(&["lint", "--json", "--mm2", "mm2.properties"])
            .exits(3);
        let findings = ran.kind("finding");
        let places = |code: &str| -> Vec<String> {
            let of_flow = findings
                .iter()
                .filter(|it| it["code"] == code && it["flow"] == "primary->secondary");
            of_flow
                .filter_map(|it| it["place"].as_str())
                .map(str::to_owned)
                .collect()
        };
        // The story of these clusters is told in their README.
        assert_eq!(places("W-GAP"), ["race-0"], "{version}");
        assert_eq!(places("W-DOWN-RESET"), ["delt-0"], "{version}");
        assert_eq!(places("W-REBUILT"), ["delt-0"], "{version}");
        assert_eq!(places("W-RECREATED"), ["recre-0"], "{version}");
        assert_eq!(
            places("W-GRP-EXCL"),
            ["connect-sink", "console-consumer-1"],
            "{version}"
        );
        assert_eq!(places("W-GRP-TOPIC"), ["only-excl"], "{version}");
        assert_eq!(
            places("W-GRP-AHEAD"),
            ["g-251 primary.sensor-suhu-0"],
            "{version}"
        );
        assert!(
            places("W-NO-CP").iter().any(|it| it == "c-5 compacted-0"),
            "{version}"
        );
        assert!(
            places("W-FALSE-CYCLE").iter().any(|it| it == "secondary.t"),
            "{version}"
        );
        assert!(
            places("W-FALSE-REMOTE").iter().any(|it| it == "primary.t"),
            "{version}"
        );
        assert!(
            places("W-HB-NAME")
                .iter()
                .any(|it| it == "orders.heartbeats"),
            "{version}"
        );
        assert!(
            places("W-INTERNAL-NAME")
                .iter()
                .any(|it| it == "orders.replica"),
            "{version}"
        );
        assert_eq!(places("W-MAXREQ"), ["orders"], "{version}");
        for absent in [
            "W-CONF-DRIFT",
            "E-TASK-FAILED",
            "W-INT-POLICY",
            "E-RF",
            "W-GRP-BUSY",
            "E-PURGED",
            "W-FOREIGN-ARITH",
        ] {
            assert_eq!(places(absent), Vec::<String>::new(), "{version} {absent}");
        }
    }
}

#[test]
fn a_promotion_is_told_in_order_with_its_facts() {
    let mirror = Mirror::unpack("4.3.1");
    let steps = mirror
        .run(&[
            "promote",
            "primary->secondary",
            "--json",
            "--mm2",
            "mm2.properties",
            "--now",
            "1796026300000",
        ])
        .exits(0)
        .kind("promote_step");
    let titles: Vec<&str> = steps.iter().filter_map(|it| it["title"].as_str()).collect();
    assert_eq!(titles[0], "stop the flow");
    assert_eq!(
        steps[0]["why"],
        "group sync is on: it moves groups on the target forward again, and makes deleted ones anew"
    );
    let facts = |title: &str| -> Vec<&str> {
        let step: &Value = steps.iter().find(|it| it["title"] == title).unwrap();
        step["facts"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect()
    };
    assert_eq!(
        facts("know what is lost")[0],
        "69 records of primary were not copied, over 15 partitions"
    );
    assert!(
        facts("start the consumers")
            .iter()
            .any(|it| it.starts_with("orders is primary.orders, read by "))
    );
    assert!(
        facts("before commits expire")[0].contains(" is first, in 167 h"),
        "{:?}",
        facts("before commits expire")
    );
    assert_eq!(facts("what only the target has"), ["other, sensor-suhu"]);
}
