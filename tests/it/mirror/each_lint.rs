//! Each rule over facts: the golden clusters with one thing made wrong, and never without it.

use serde_json::{Value, json};

use super::live_lints::{lint, places};
use super::told::Mirror;
use crate::support::program::Ran;

/// A thing made wrong, and the rule and the place that then tell it.
type Case = (&'static str, &'static str, fn(&mut Value));

fn log<'a>(clusters: &'a mut Value, cluster: &str, topic: &str) -> &'a mut Value {
    &mut clusters[cluster]["logs"][topic]["0"]
}

fn topics<'a>(clusters: &'a mut Value, cluster: &str) -> &'a mut Value {
    &mut clusters[cluster]["metadata"]["topics"]
}

/// Returns the group in whichever partition of the target's groups it lies.
fn group<'a>(clusters: &'a mut Value, name: &str) -> &'a mut Value {
    let partitions = clusters["secondary"]["logs"]["__consumer_offsets"]
        .as_object_mut()
        .unwrap();
    let mut groups = partitions
        .values_mut()
        .map(|log| &mut log["content"]["folded"]["groups"]);
    &mut groups.find(|it| it.get(name).is_some()).unwrap()[name]
}

fn topic(partitions: i32) -> Value {
    let replicas: serde_json::Map<String, Value> = (0..partitions)
        .map(|it| (it.to_string(), json!([1])))
        .collect();
    json!({ "replicas": replicas, "configs": {} })
}

const CASES: [Case; 14] = [
    ("E-PURGED", "race-0", |clusters| {
        let log = log(clusters, "primary", "race");
        log["log_start_offset"] = json!(60);
        log["log_end_offset"] = json!(80);
    }),
    ("W-RECREATED", "race-0", |clusters| {
        log(clusters, "primary", "race")["log_end_offset"] = json!(40);
    }),
    ("W-FOREIGN-ARITH", "race-0", |clusters| {
        log(clusters, "secondary", "primary.race")["log_end_offset"] = json!(29);
    }),
    ("W-REBUILT", "race-0", |clusters| {
        log(clusters, "secondary", "primary.race")["log_end_offset"] = json!(0);
    }),
    ("W-GRP-BUSY", "g-101", |clusters| {
        group(clusters, "g-101")["members"] = json!(["a-consumer"]);
    }),
    ("W-GRP-NEG", "g-101 primary.sensor-suhu-0", |clusters| {
        group(clusters, "g-101")["commits"]["primary.sensor-suhu"]["0"]["offset"] = json!(999);
    }),
    ("E-TASK-FAILED", "MirrorSourceConnector", |clusters| {
        let statuses = &mut clusters["secondary"]["logs"]["mm2-status.primary.internal"]["1"];
        let first = &mut statuses["content"]["folded"]["statuses"][0];
        first["state"] = json!("FAILED");
        first["cause"] = json!("RecordTooLargeException: 1500000 bytes");
    }),
    ("W-INT-POLICY", "primary.checkpoints.internal", |clusters| {
        topics(clusters, "secondary")["primary.checkpoints.internal"]["configs"] = json!({});
    }),
    ("W-CP-GONE", "primary.checkpoints.internal", |clusters| {
        let topics = topics(clusters, "secondary").as_object_mut().unwrap();
        topics.remove("primary.checkpoints.internal").unwrap();
    }),
    ("W-PARTS", "race", |clusters| {
        topics(clusters, "primary")["race"] = topic(3);
    }),
    ("W-NAME-LEN", "long", |clusters| {
        topics(clusters, "primary")[&"long".repeat(62)] = topic(1);
    }),
    ("W-NAME-COLLIDE", "race", |clusters| {
        topics(clusters, "secondary")["primary_race"] = topic(1);
    }),
    ("I-HB-MISSING", "", |clusters| {
        let logs = clusters["secondary"]["logs"].as_object_mut().unwrap();
        logs.remove("primary.heartbeats").unwrap();
    }),
    ("E-LOOP", "primary.primary.race", |clusters| {
        topics(clusters, "primary")["primary.primary.race"] = topic(1);
    }),
];

#[test]
fn each_thing_that_is_wrong_has_its_rule() {
    let mirror = Mirror::unpack("4.3.1");
    let clean = lint(&mirror, "", |_| {});
    let mut wrong = vec![];
    for (code, place, change) in CASES {
        let told = |ran: &Ran| places(ran, code).iter().any(|it| it.starts_with(place));
        if told(&clean) || !told(&lint(&mirror, "", change)) {
            wrong.push(format!("{code} at {place}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn more_replicas_than_brokers_and_other_settings_than_in_force_are_told() {
    let mirror = Mirror::unpack("4.3.1");
    for (line, code) in [
        ("replication.factor = 2\n", "E-RF"),
        ("checkpoints.topic.replication.factor = 3\n", "E-RF"),
        ("secondary.offset.storage.replication.factor = 3\n", "E-RF"),
        ("primary->secondary.offset.lag.max = 7\n", "W-CONF-DRIFT"),
    ] {
        assert_eq!(
            places(&lint(&mirror, line, |_| {}), code).len(),
            1,
            "{line}"
        );
        assert_eq!(places(&lint(&mirror, "", |_| {}), code).len(), 0, "{code}");
    }
    let two = |clusters: &mut Value| {
        group(clusters, "primary-mm2")["members"] = json!(["one", "two"]);
    };
    for (rest, count) in [("false", 1), ("true", 0)] {
        let line = format!("dedicated.mode.enable.internal.rest = {rest}\n");
        assert_eq!(places(&lint(&mirror, &line, two), "W-MULTI").len(), count);
    }
    let one = lint(&mirror, "", |clusters| {
        clusters["secondary"]["cluster_id"] = clusters["primary"]["cluster_id"].clone();
    });
    assert!(one.codes().contains(&"E-SAME-CLUSTER".to_owned()));
}

#[test]
fn many_partitions_of_a_group_are_one_line_with_their_count() {
    let mirror = Mirror::unpack("4.3.1");
    let ran = lint(&mirror, "", |clusters| {
        let commit = group(clusters, "g-101")["commits"]["primary.sensor-suhu"]["0"].clone();
        let mut wrong = commit;
        wrong["offset"] = json!(7);
        let three = json!({ "0": wrong, "1": wrong, "2": wrong });
        group(clusters, "g-101")["commits"]["primary.empty-topic"] = three.clone();
        // On the source it commits there too; nothing of that topic was ever copied.
        let partitions = clusters["primary"]["logs"]["__consumer_offsets"]
            .as_object_mut()
            .unwrap();
        let mut groups = partitions
            .values_mut()
            .map(|log| &mut log["content"]["folded"]["groups"]);
        let there = groups.find(|it| it.get("g-101").is_some()).unwrap();
        there["g-101"]["commits"]["empty-topic"] = three;
    });
    for (code, place, words) in [
        ("W-NO-CP", "g-101 empty-topic", "and so 2 partitions more"),
        (
            "W-GRP-NEG",
            "g-101 primary.empty-topic",
            "and so 1 partition more",
        ),
    ] {
        let here = |it: &String| it.starts_with(place);
        assert_eq!(
            places(&ran, code)
                .into_iter()
                .filter(here)
                .collect::<Vec<_>>(),
            [place]
        );
        let findings = ran.kind("finding");
        let line = findings
            .iter()
            .find(|it| it["code"] == code && it["place"] == place)
            .unwrap();
        assert!(line["text"].as_str().unwrap().contains(words), "{line}");
    }
}
