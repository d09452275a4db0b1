//! What is wrong with what is read is told, and the rest counts.

use std::fs;

use krescue::format::cursor::Cursor;
use krescue::format::record_batch::HEADER_LEN;
use serde_json::Value;

use super::told::Mirror;
use crate::support::program::{Ran, run};

/// Runs a command over the golden clusters with a file of its own.
fn with_file(mirror: &Mirror, words: &[&str], change: impl FnOnce(String) -> String) -> Ran {
    let text = fs::read_to_string(mirror.path("mm2.properties")).unwrap();
    fs::write(mirror.path("other.properties"), change(text)).unwrap();
    mirror.run(&[words, &["--json", "--mm2", "other.properties"]].concat())
}

#[test]
fn a_pattern_of_java_alone_is_named_with_what_follows() {
    let mirror = Mirror::unpack("4.3.1");
    let java = |text: String| {
        text.replace(
            "primary->secondary.topics = .*",
            "primary->secondary.topics = \\\\p{javaLowerCase}+",
        )
    };
    let ran = with_file(&mirror, &["lint"], java).exits(3);
    let finding = ran.finding("E-RE-SYNTAX");
    let told = finding["text"].as_str().unwrap();
    assert!(
        told.contains("\\p{javaLowerCase}+") && told.contains("cannot be told here"),
        "{told}"
    );
    let ran = with_file(&mirror, &["flows"], java);
    let topics = ran.kind("mirrored_topic");
    let orders = |line: &&Value| line["flow"] == "primary->secondary" && line["topic"] == "orders";
    let orders = topics.iter().find(orders).unwrap();
    assert_eq!(orders["copied"], Value::Null);
    // What both engines take is taken: looking ahead, and no way back.
    let both = |text: String| {
        text.replace(
            "primary->secondary.topics = .*",
            "primary->secondary.topics = ^(?!sensor).*+",
        )
    };
    let ran = with_file(&mirror, &["flows"], both);
    let copied = |topic: &str| {
        let topics = ran.kind("mirrored_topic");
        let is_it = |line: &&Value| line["flow"] == "primary->secondary" && line["topic"] == topic;
        topics.iter().find(is_it).unwrap()["copied"].clone()
    };
    assert_eq!(copied("orders"), true);
    assert_eq!(copied("sensor-suhu"), false);
}

#[test]
fn a_checkpoint_of_an_unknown_version_is_left_out_and_told() {
    let mirror = Mirror::unpack("4.3.1");
    let before = mirror.run(&["translate", "--all", "--json"]).exits(0);
    let log = mirror.path("secondary/primary.checkpoints.internal-0/00000000000000000000.log");
    let bytes = fs::read(&log).unwrap();
    // The first record's value begins with its version, an int16 of 0; it becomes 1, and the batch's checksum with it.
    let changed = first_value_of_another_version(&bytes);
    fs::write(&log, changed).unwrap();
    let ran = mirror.run(&["translate", "--all", "--json"]).exits(3);
    let finding = ran.finding("unreadable");
    let told = finding["text"].as_str().unwrap();
    assert!(
        told.starts_with("1 of ") && told.contains("records are not understood"),
        "{told}"
    );
    assert_eq!(
        ran.kind("translation").len(),
        before.kind("translation").len()
    );
}

/// Sets the version in the value of the first record of a log of plain batches.
fn first_value_of_another_version(log: &[u8]) -> Vec<u8> {
    let mut log = log.to_vec();
    let size = 12 + i32::from_be_bytes(log[8..12].try_into().unwrap());
    let size = usize::try_from(size).unwrap();
    let mut record = Cursor::new(&log[HEADER_LEN..]);
    // Length, attributes, timestamp, offset, then the key.
    for _ in 0..4 {
        record.varlong().unwrap();
    }
    let key = record.varint().unwrap();
    record.bytes(usize::try_from(key).unwrap()).unwrap();
    record.varint().unwrap();
    let version = HEADER_LEN + record.position();
    assert_eq!(log[version..version + 2], [0, 0]);
    log[version + 1] = 1;
    let crc = crc32c::crc32c(&log[21..size]);
    log[17..21].copy_from_slice(&crc.to_be_bytes());
    log
}

#[test]
fn syncs_that_end_early_count_up_to_there() {
    let mirror = Mirror::unpack("4.3.1");
    let log = mirror.path("primary/mm2-offset-syncs.secondary.internal-0/00000000000000000000.log");
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() / 2]).unwrap();
    let ran = mirror.run(&["flows", "--json"]).exits(3);
    let finding = ran.finding("unreadable");
    assert!(
        finding["text"].as_str().unwrap().contains("torn"),
        "{finding}"
    );
    // The target's end still tells what was copied; the syncs tell less.
    let lines = ran.kind("mirrored_partition");
    let orders = lines
        .iter()
        .find(|it| it["topic"] == "sensor-suhu" && it["flow"] == "primary->secondary")
        .unwrap();
    assert!(
        orders["last_sync_upstream"].as_i64().unwrap() < 285,
        "{orders}"
    );
    assert_eq!(orders["position"], 285);
}

#[test]
fn a_cluster_that_does_not_answer_is_told_and_the_rest_counts() {
    let mirror = Mirror::unpack("4.3.1");
    let home = mirror.folder.path();
    // Nobody listens there.
    let dead = "primary=127.0.0.1:1";
    let flow = "primary->secondary";
    let half = ["--cluster", dead, "--cluster", "secondary=secondary"];
    let ran = run(
        home,
        &[&["mirror", "failover", flow, "--json"][..], &half].concat(),
    )
    .exits(3);
    let finding = &ran.kind("finding")[0];
    let told = finding.to_string();
    assert!(told.contains("127.0.0.1:1"), "{told}");
    let positions = ran.kind("position");
    assert!(positions.len() > 25);
    assert!(positions.iter().all(|it| it["position"].is_i64()));
    let nobody = run(home, &["mirror", "flows", "--cluster", dead]).exits(1);
    assert!(nobody.err.contains("no cluster answers"), "{}", nobody.err);
    assert!(nobody.err.contains("--cluster ALIAS=DIR"), "{}", nobody.err);
}

#[test]
fn two_flows_to_one_topic_are_an_error() {
    let mirror = Mirror::unpack("4.3.1");
    // The same cluster by two names, so that both have the same topics.
    let text = "clusters = primary, other, secondary\nprimary.bootstrap.servers = a:1\nother.bootstrap.servers = b:1\n\
                secondary.bootstrap.servers = c:1\nprimary->secondary.enabled = true\nother->secondary.enabled = true\n\
                emit.heartbeats.enabled = false\n";
    let identity =
        "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n";
    let lint = |text: &str| {
        fs::write(mirror.path("fan-in.properties"), text).unwrap();
        mirror
            .run(&[
                "lint",
                "--json",
                "--mm2",
                "fan-in.properties",
                "--cluster",
                "other=primary",
            ])
            .exits(3)
    };
    let ran = lint(&format!("{text}{identity}"));
    let finding = ran.finding("E-REMOTE-SHARED");
    let told = finding["text"].as_str().unwrap();
    assert!(
        told.starts_with("other->secondary and primary->secondary write to "),
        "{told}"
    );
    assert!(!lint(text).codes().contains(&"E-REMOTE-SHARED".to_owned()));
    // Without the topics it is not known.
    fs::write(mirror.path("alone.properties"), format!("{text}{identity}")).unwrap();
    let ran = run(
        mirror.folder.path(),
        &["mirror", "lint", "--json", "--mm2", "alone.properties"],
    );
    let silent = ran.kind("silent");
    let is_it = |it: &Value| {
        it["code"] == "E-REMOTE-SHARED" && it["missing"] == "the topics of other: its log dirs"
    };
    assert!(silent.iter().any(is_it), "{silent:?}");
}
