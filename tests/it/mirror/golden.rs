//! Each fact that Kafka's clients told of the golden mirrors, from their log dirs alone.

use std::collections::BTreeMap;

use serde_json::Value;

use super::told::{Mirror, VERSIONS};

/// Groups that no flow takes: two by the default exclusion, one by its only topic, one of Connect's workers.
const LEFT_OUT: [&str; 4] = [
    "connect-sink",
    "console-consumer-1",
    "only-excl",
    "secondary-mm2",
];
/// Commits made after MirrorMaker 2 had stopped: nobody asked `RemoteClusterUtils`, an independent program did.
const LATER: [(&str, &str, i64); 2] = [
    ("grup-analitik", "sensor-suhu-0", 316),
    ("late2", "sensor-suhu-0", 316),
];

fn text(line: &Value, key: &str) -> String {
    line[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} in {line}"))
        .to_owned()
}

#[test]
fn every_commit_is_translated_as_remote_cluster_utils_does() {
    let mut compared = 0;
    for version in VERSIONS {
        let mirror = Mirror::unpack(version);
        let ran = mirror.run(&["translate", "--all", "--json"]).exits(0);
        let mut lines: BTreeMap<(String, String, String), (i64, Option<i64>)> = BTreeMap::new();
        for line in ran.kind("translation") {
            let place = format!("{}-{}", text(&line, "topic"), line["partition"]);
            let offsets = (
                line["upstream"].as_i64().unwrap(),
                line["downstream"].as_i64(),
            );
            let key = (text(&line, "flow"), text(&line, "group"), place);
            assert!(lines.insert(key, offsets).is_none(), "twice: {line}");
        }
        for (source, target) in [("primary", "secondary"), ("secondary", "primary")] {
            let answers = mirror.answers(source);
            for (group, commits) in mirror.groups(source) {
                for (place, commit) in commits {
                    let back = source == "secondary";
                    // The flow back takes local.* and sensor-.* only.
                    if LEFT_OUT.contains(&group.as_str()) || back && !place.starts_with("sensor-") {
                        continue;
                    }
                    let remote = format!("{source}.{place}");
                    let later = LATER
                        .iter()
                        .find(|(name, at, _)| !back && *name == group && *at == place);
                    let told = match later {
                        Some((_, _, offset)) => Some(*offset),
                        None => answers.get(&group).and_then(|it| it.get(&remote)).copied(),
                    };
                    let key = (format!("{source}->{target}"), group.clone(), place.clone());
                    assert_eq!(
                        lines.remove(&key),
                        Some((commit, told)),
                        "{version} {key:?}"
                    );
                    compared += 1;
                }
            }
        }
        assert!(
            lines.is_empty(),
            "{version}: not in Kafka's groups: {lines:?}"
        );
    }
    assert_eq!(compared, 61);
}

#[test]
fn every_log_ends_where_the_broker_said() {
    for version in VERSIONS {
        let mirror = Mirror::unpack(version);
        let told = BTreeMap::from(["primary", "secondary"].map(|it| (it, mirror.ends(it))));
        let lines = mirror
            .run(&["flows", "--json"])
            .exits(0)
            .kind("mirrored_partition");
        let mut seen = 0;
        for line in lines {
            let flow = text(&line, "flow");
            let (source, target) = flow.split_once("->").unwrap();
            for (cluster, topic, side) in [
                (source, "topic", "source"),
                (target, "remote_topic", "target"),
            ] {
                let place = format!("{}-{}", text(&line, topic), line["partition"]);
                let ends = told[cluster].get(&place).copied().unwrap_or((0, 0));
                let here = [format!("{side}_start_offset"), format!("{side}_end_offset")]
                    .map(|key| line[key.as_str()].as_i64());
                assert_eq!(
                    here,
                    [Some(ends.0), Some(ends.1)],
                    "{version} {cluster} {place}"
                );
                seen += 1;
            }
        }
        assert!(seen >= 34, "{seen}");
    }
}

#[test]
fn each_partition_is_as_far_behind_as_it_was() {
    for version in VERSIONS {
        let mirror = Mirror::unpack(version);
        let lines = mirror
            .run(&["flows", "--json"])
            .exits(0)
            .kind("mirrored_partition");
        // Source, position, newest sync, records behind, as the clients' answers give them.
        for (topic, partition, position, sync, behind) in [
            ("sensor-suhu", 0, Some(285), Some((285, 315)), 64),
            ("orders", 0, Some(34), Some((34, 39)), 0),
            ("orders", 1, Some(7), Some((7, 14)), 0),
            ("orders", 2, None, None, 5),
            ("ledger", 0, Some(20), Some((20, 16)), 0),
            ("compacted", 0, Some(52), Some((52, 22)), 0),
            ("race", 0, Some(49), Some((49, 24)), 0),
            ("recre", 0, Some(3), Some((3, 13)), 0),
            ("delt", 0, Some(14), Some((14, 4)), 0),
            ("empty-topic", 1, None, None, 0),
        ] {
            let line = lines
                .iter()
                .find(|line| {
                    line["flow"] == "primary->secondary"
                        && line["topic"] == topic
                        && line["partition"] == partition
                })
                .unwrap_or_else(|| panic!("{version}: no {topic}-{partition}"));
            let told = (
                line["position"].as_i64(),
                line["last_sync_upstream"]
                    .as_i64()
                    .zip(line["last_sync_downstream"].as_i64()),
                line["behind"].as_i64(),
            );
            assert_eq!(
                told,
                (position, sync, Some(behind)),
                "{version} {topic}-{partition}"
            );
        }
    }
}

#[test]
fn the_flows_and_their_topics_are_told_without_a_file() {
    for version in VERSIONS {
        let mirror = Mirror::unpack(version);
        let ran = mirror.run(&["flows", "--json"]).exits(0);
        let flows = ran.kind("flow");
        assert_eq!(flows.len(), 2);
        for flow in &flows {
            assert_eq!(flow["state"], "active");
            assert_eq!(flow["settings"], "connectors");
            assert_eq!(flow["mm2_version"], version);
            let target = flow["target"].as_str().unwrap();
            let upstream = format!("mc {target} upstreamClusters=[");
            let clusters: Vec<&str> = mirror
                .told(&upstream)
                .flat_map(|list| list.trim_end_matches(']').split(", "))
                .collect();
            let hops = flow["hops"].as_object().unwrap();
            assert_eq!(hops.keys().collect::<Vec<_>>(), clusters, "{version}");
            let counted = format!("mc {target} replicationHops(");
            for line in mirror.told(&counted) {
                let (cluster, count) = line.split_once(")=").unwrap();
                let told = hops.get(cluster).map_or(-1, |it| it.as_i64().unwrap());
                assert_eq!(told.to_string(), count, "{version} {target} {cluster}");
            }
        }
        let told: Vec<&str> = mirror
            .told("mc secondary remoteTopics(primary)=[")
            .flat_map(|list| list.trim_end_matches(']').split(", "))
            .collect();
        let mut copied: Vec<String> = ran
            .kind("mirrored_topic")
            .iter()
            .filter(|line| line["flow"] == "primary->secondary" && line["copied"] == true)
            .map(|line| text(line, "remote_topic"))
            .collect();
        copied.sort();
        assert_eq!(copied, told, "{version}");
        // The file says the same as the connectors.
        let by_file = mirror
            .run(&["flows", "--json", "--mm2", "mm2.properties"])
            .exits(0);
        assert_eq!(by_file.kind("mirrored_topic"), ran.kind("mirrored_topic"));
        assert_eq!(
            by_file.kind("mirrored_partition"),
            ran.kind("mirrored_partition")
        );
        assert_eq!(by_file.kind("flow")[0]["settings"], "file");
    }
}

/// Returns the folded contents of a topic's partitions.
fn contents<'a>(facts: &'a Value, cluster: &str, topic: &str, kind: &str) -> Vec<&'a Value> {
    let logs = &facts["facts"]["clusters"][cluster]["logs"][topic];
    let partitions = logs
        .as_object()
        .unwrap_or_else(|| panic!("no {topic} on {cluster}"));
    partitions
        .values()
        .map(|log| &log["content"]["folded"][kind])
        .collect()
}

#[test]
fn groups_checkpoints_and_heartbeats_are_those_that_kafka_told() {
    for version in VERSIONS {
        let mirror = Mirror::unpack(version);
        let facts: Value = serde_json::from_str(&mirror.run(&["facts"]).exits(0).out).unwrap();
        for cluster in ["primary", "secondary"] {
            let mut commits: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
            for groups in contents(&facts, cluster, "__consumer_offsets", "groups") {
                for (group, it) in groups.as_object().unwrap() {
                    let here = commits.entry(group.clone()).or_default();
                    assert_eq!(it["members"], Value::Array(vec![]), "{version} {group}");
                    for (topic, partitions) in it["commits"].as_object().unwrap() {
                        for (partition, commit) in partitions.as_object().unwrap() {
                            let offset = commit["offset"].as_i64().unwrap();
                            here.insert(format!("{topic}-{partition}"), offset);
                        }
                    }
                }
            }
            assert_eq!(commits, mirror.groups(cluster), "{version} {cluster}");
        }
        // Checkpoints of the last block are on primary: their topic begins with the other alias.
        let mut told: BTreeMap<(String, String), (i64, i64)> = BTreeMap::new();
        for line in mirror.lines.iter().filter(|line| line.starts_with("cp@")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |word: &str| word.split_once('=').unwrap().1.parse().unwrap();
            let key = (words[2].to_owned(), words[3].to_owned());
            told.insert(key, (number(words[4]), number(words[5])));
        }
        let mut read = BTreeMap::new();
        for (cluster, source) in [("secondary", "primary"), ("primary", "secondary")] {
            let topic = format!("{source}.checkpoints.internal");
            for groups in contents(&facts, cluster, &topic, "checkpoints") {
                for (group, topics) in groups.as_object().unwrap() {
                    for (topic, partitions) in topics.as_object().unwrap() {
                        for (partition, it) in partitions.as_object().unwrap() {
                            let offsets =
                                ["upstream", "downstream"].map(|key| it[key].as_i64().unwrap());
                            let key = (group.clone(), format!("{topic}-{partition}"));
                            read.insert(key, (offsets[0], offsets[1]));
                        }
                    }
                }
            }
        }
        assert_eq!(read, told, "{version}");
        let mut beats = 0;
        for line in mirror.told("hb ") {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [cluster, topic, ends, ..] = words[..] else {
                panic!("{line}")
            };
            let (source, target) = ends.split_once("->").unwrap();
            let last = words
                .iter()
                .find_map(|word| word.strip_prefix("lastTs="))
                .unwrap();
            let last: i64 = last.parse().unwrap();
            let read = contents(&facts, cluster, topic, "heartbeats");
            let found = read[0].as_array().unwrap().iter().any(|beat| {
                beat["source"] == source && beat["target"] == target && beat["timestamp"] == last
            });
            assert!(found, "{version} {line}: {read:?}");
            beats += 1;
        }
        assert!(beats >= 4, "{version}: {beats}");
    }
}

#[test]
fn a_failover_names_a_place_for_every_group() {
    for version in VERSIONS {
        let mirror = Mirror::unpack(version);
        let arguments = ["failover", "primary->secondary", "--json", "--csv", "csv"];
        let ran = mirror.run(&arguments).exits(3);
        assert_eq!(ran.codes(), ["no_position"]);
        let positions = ran.kind("position");
        let at = |group: &str, topic: &str| {
            let line = positions
                .iter()
                .find(|line| line["group"] == group && line["topic"] == topic)
                .unwrap_or_else(|| panic!("{version}: no {group}"));
            (
                line["position"].as_i64(),
                text(line, "told_by"),
                line["notes"].clone(),
            )
        };
        // Set back to 50 on the source; its commit on the target is still 251.
        let (position, by, notes) = at("g-251", "sensor-suhu");
        assert_eq!((position, by.as_str()), (Some(1), "checkpoint"));
        assert_eq!(notes, serde_json::json!(["rewound"]));
        assert_eq!(at("late2", "sensor-suhu").0, Some(316));
        // The syncs that MirrorMaker 2 thinned out say more than its own checkpoint of 1.
        let (position, by, _) = at("l-6", "ledger");
        assert_eq!((position, by.as_str()), (Some(5), "all_syncs"));
        let csv = std::fs::read_to_string(mirror.path("csv/l-6.csv")).unwrap();
        assert_eq!(csv, "primary.ledger,0,5\n");
        assert!(!mirror.path("csv/c-5.csv").exists());
    }
}

#[test]
fn a_group_that_is_left_out_says_by_which_rule() {
    let mirror = Mirror::unpack("4.3.1");
    for (group, why) in [
        (
            "console-consumer-1",
            "groups.exclude leaves it out (console-consumer-.*)",
        ),
        ("only-excl", "the topics that it reads are not copied"),
        (
            "nobody",
            "no cluster that is known here has a group of this name",
        ),
    ] {
        let ran = mirror.run(&["translate", group, "--json"]).exits(3);
        let findings = ran.kind("finding");
        assert!(
            findings.iter().any(|it| it["text"] == why),
            "{group}: {findings:?}"
        );
    }
}
