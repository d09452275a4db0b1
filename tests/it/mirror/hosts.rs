//! Facts of several hosts of one cluster, and what is missing or damaged there.

use std::fs;

use serde_json::Value;

use super::told::Mirror;
use crate::support::program::run;

/// Moves half of the groups' partitions and the offset syncs to a second host's log dir.
fn split(mirror: &Mirror) {
    let other = mirror.path("primary-b");
    fs::create_dir(&other).unwrap();
    let meta = fs::read_to_string(mirror.path("primary/meta.properties")).unwrap();
    fs::write(
        other.join("meta.properties"),
        meta.replace("node.id=1", "node.id=2"),
    )
    .unwrap();
    for name in [
        "__consumer_offsets-1",
        "__consumer_offsets-3",
        "mm2-offset-syncs.secondary.internal-0",
    ] {
        fs::rename(mirror.path("primary").join(name), other.join(name)).unwrap();
    }
}

fn facts(mirror: &Mirror, cluster: &str, file: &str) -> Value {
    let ran = run(
        mirror.folder.path(),
        &["mirror", "facts", "--cluster", cluster],
    )
    .exits(0);
    fs::write(mirror.path(file), &ran.out).unwrap();
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn the_facts_of_two_hosts_are_those_of_one() {
    let mirror = Mirror::unpack("4.3.1");
    let whole = mirror
        .run(&["failover", "primary->secondary", "--json"])
        .exits(3);
    split(&mirror);
    facts(&mirror, "primary=primary", "a.json");
    facts(&mirror, "primary=primary-b", "b.json");
    facts(&mirror, "secondary=secondary", "c.json");
    let merged = |files: &[&str]| {
        let mut arguments = vec![
            "mirror",
            "failover",
            "primary->secondary",
            "--json",
            "--facts",
        ];
        arguments.extend(files);
        run(mirror.folder.path(), &arguments)
    };
    for files in [
        ["a.json", "b.json", "c.json"],
        ["c.json", "b.json", "a.json"],
    ] {
        let ran = merged(&files).exits(3);
        assert_eq!(ran.kind("position"), whole.kind("position"));
        assert_eq!(ran.codes(), ["no_position"]);
    }
    let ran = merged(&["a.json", "c.json"]).exits(3);
    let missing: Vec<Value> = ran
        .kind("finding")
        .into_iter()
        .filter(|it| it["code"] == "partition_missing")
        .collect();
    let places: Vec<&str> = missing
        .iter()
        .filter_map(|it| it["place"].as_str())
        .collect();
    assert_eq!(
        places,
        [
            "primary __consumer_offsets-1",
            "primary __consumer_offsets-3",
            "primary mm2-offset-syncs.secondary.internal-0",
        ]
    );
    // The metadata names broker 1, whose dirs were read and lack it.
    let text = missing[0]["text"].as_str().unwrap();
    assert!(
        text.contains("broker 1 (") && text.contains("whose dirs primary lack it"),
        "{text}"
    );
}

#[test]
fn a_torn_topic_is_read_as_far_as_it_goes() {
    let mirror = Mirror::unpack("3.9.1");
    let log = mirror.path("secondary/primary.checkpoints.internal-0/00000000000000000000.log");
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 7]).unwrap();
    let ran = mirror.run(&["translate", "g-101", "--json"]).exits(3);
    assert_eq!(ran.kind("translation")[0]["downstream"], 101);
    let finding = ran.finding("unreadable");
    assert!(
        finding["text"]
            .as_str()
            .unwrap()
            .starts_with("a batch is torn at byte")
    );
    // A byte in the middle: one batch is left out, what follows counts.
    let mut damaged = bytes.clone();
    damaged[100] ^= 0x20;
    fs::write(&log, damaged).unwrap();
    let ran = mirror.run(&["translate", "--all", "--json"]).exits(3);
    let finding = ran.finding("unreadable");
    assert!(
        finding["text"].as_str().unwrap().contains("left out"),
        "{finding}"
    );
    assert!(ran.kind("translation").len() > 20);
}

#[test]
fn what_cannot_be_known_is_said_with_the_way_to_know_it() {
    let mirror = Mirror::unpack("4.3.1");
    let home = mirror.folder.path();
    let nothing = run(home, &["mirror", "flows"]).exits(2);
    assert!(nothing.err.contains("--mm2 FILE"), "{}", nothing.err);
    let wrong = run(
        home,
        &[
            "mirror",
            "flows",
            "--mm2",
            "mm2.properties",
            "--cluster",
            "Primary=primary",
        ],
    )
    .exits(2);
    assert!(
        wrong.err.contains("\"Primary\" is none of those"),
        "{}",
        wrong.err
    );
    let no_flow = mirror.run(&["failover", "a->b"]).exits(2);
    assert!(
        no_flow.err.contains("primary->secondary"),
        "{}",
        no_flow.err
    );
    let target_alone = run(
        home,
        &[
            "mirror",
            "failover",
            "primary->secondary",
            "--json",
            "--cluster",
            "secondary=secondary",
        ],
    )
    .exits(0);
    let line = &target_alone.kind("flow")[0];
    assert_eq!(line["behind"], Value::Null);
    let positions = target_alone.kind("position");
    assert!(positions.len() > 25);
    assert!(positions.iter().all(|it| it["position"].is_i64()));
    let translate = run(
        home,
        &[
            "mirror",
            "translate",
            "--all",
            "--json",
            "--flow",
            "primary->secondary",
            "--cluster",
            "secondary=secondary",
        ],
    )
    .exits(3);
    assert_eq!(translate.codes(), ["fact_missing"]);
}

#[test]
fn a_filter_that_is_not_understood_keeps_commits_from_being_translated() {
    let mirror = Mirror::unpack("4.3.1");
    let text = fs::read_to_string(mirror.path("mm2.properties")).unwrap();
    let text = text.replace(
        "primary->secondary.topics = .*",
        "primary->secondary.topics = t[0-9]{1,3}",
    );
    fs::write(mirror.path("bad.properties"), text).unwrap();
    let ran = mirror
        .run(&["translate", "--all", "--json", "--mm2", "bad.properties"])
        .exits(3);
    let finding = ran.finding("filter_not_understood");
    let told = finding["text"].as_str().unwrap();
    assert!(
        told.contains("t[0-9]{1|3}") && told.contains("no commit is translated"),
        "{told}"
    );
    let flows: Vec<Value> = ran.kind("translation");
    assert!(flows.iter().all(|it| it["flow"] == "secondary->primary"));
}
