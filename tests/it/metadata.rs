//! A node's metadata on disk against what its live broker said.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use krescue::cluster::{
    ConfigLevels, ConfigMoment, ConfigSource, FoldFinding, FoldedDir, FollowedDir, LogConfig,
    MetadataImage, fold_dir,
};
use krescue::disk::RealStorage;
use krescue::engine::read_node_files;
use krescue::format::properties::Properties;
use krescue::terms::{LeaderEpoch, Offset, TopicPartition};
use serde_json::Value;

use crate::support::config_text::{as_text, source_number};
use crate::support::golden_archive::{Files, below, unpack};

const NODES: &[u8] = include_bytes!("../golden/metadata/nodes.tar.zst");

/// A node: its metadata dir and what its broker told.
struct Node {
    name: String,
    dir: Files,
    told: Value,
}

fn nodes() -> Vec<Node> {
    let files = unpack(NODES);
    let names: BTreeSet<_> = files.keys().filter_map(|it| it.split('/').next()).collect();
    names
        .into_iter()
        .map(|name| Node {
            name: name.to_owned(),
            dir: below(&files, &format!("{name}/__cluster_metadata-0/")),
            told: serde_json::from_slice(&files[&format!("{name}/told.json")]).unwrap(),
        })
        .collect()
}

fn fold(dir: &Files, limit: Option<i64>) -> FoldedDir {
    let names: Vec<_> = dir.keys().cloned().collect();
    fold_dir(&names, limit.map(Offset), |name, position, count| {
        let bytes = &dir[name][usize::try_from(position).unwrap()..];
        Ok::<_, ()>(bytes[..count.min(bytes.len())].to_vec())
    })
    .unwrap()
    .unwrap()
}

/// Returns the image as the broker knew it when it was asked.
fn image_when_told(node: &Node) -> MetadataImage {
    let high_watermark = node.told["quorum"]["highWatermark"].as_i64().unwrap();
    let folded = fold(&node.dir, Some(high_watermark));
    assert_eq!(folded.findings, [], "{}", node.name);
    assert_eq!(folded.given_up, [], "{}", node.name);
    folded.image
}

fn is_segment(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == "log")
}

#[test]
fn a_log_that_grows_is_folded_as_if_it_were_read_anew() {
    for node in nodes() {
        let names: Vec<_> = node.dir.keys().cloned().collect();
        let newest = names.iter().filter(|name| is_segment(name)).max();
        let newest = newest.unwrap();
        let whole = node.dir[newest].len();
        let (mut followed, mut read_bytes) = (FollowedDir::default(), 0);
        // Cut anywhere, in the middle of a batch too; the last steps bring nothing new.
        for part in [1, 3, 4, 9, 10, 10] {
            let mut dir = node.dir.clone();
            dir.get_mut(newest).unwrap().truncate(whole * part / 10);
            let before = read_bytes;
            let image = followed.advance(&names, |name, position, count| {
                let bytes = &dir[name][usize::try_from(position).unwrap()..];
                let bytes = &bytes[..count.min(bytes.len())];
                read_bytes += bytes.len();
                Ok::<_, ()>(bytes.to_vec())
            });
            assert_eq!(
                image.unwrap(),
                Some(&fold(&dir, None).image),
                "{}",
                node.name
            );
            let again = read_bytes - before;
            assert!(
                part == 1 || again < whole,
                "{}: {again} of {whole}",
                node.name
            );
        }
        // A log that is another one by now is folded from its beginning.
        let empty = followed.advance(&[], |_, _, _| Ok::<_, ()>(Vec::new()));
        assert_eq!(empty, Ok(None));
    }
}

#[test]
fn topics_and_replicas_are_those_that_the_broker_told() {
    for node in nodes() {
        let image = image_when_told(&node);
        let topics = node.told["topics"].as_object().unwrap();
        let names: Vec<_> = image.topics().map(|(name, _)| name).collect();
        assert_eq!(names, topics.keys().collect::<Vec<_>>(), "{}", node.name);
        for (name, topic) in topics {
            let found = image.topic(name).unwrap();
            assert_eq!(found.topic_id.to_string(), topic["topic_id"], "{name}");
            assert_eq!(image.topic_name(found.topic_id), Some(name.as_str()));
            for told in topic["partitions"].as_array().unwrap() {
                let number = i32::try_from(told["p"].as_i64().unwrap()).unwrap();
                let found = image.partition(&TopicPartition::new(name, number)).unwrap();
                let ids =
                    |key: &str| -> Vec<i32> { serde_json::from_value(told[key].clone()).unwrap() };
                assert_eq!(found.replicas, ids("replicas"), "{name}-{number}");
                assert_eq!(found.isr, ids("isr"), "{name}-{number}");
                assert_eq!(
                    found.leader.map(i64::from),
                    told["leader"].as_i64(),
                    "{name}-{number}"
                );
                let epoch = found.leader_epoch.0;
                assert_eq!(
                    Some(i64::from(epoch)),
                    told["leader_epoch"].as_i64(),
                    "{name}-{number}"
                );
            }
        }
    }
}

#[test]
fn features_and_log_dirs_are_those_that_the_broker_told() {
    for node in nodes() {
        let image = image_when_told(&node);
        for feature in node.told["features"].as_array().unwrap() {
            let level = feature[1].as_i64().unwrap();
            let found = image.feature(feature[0].as_str().unwrap());
            assert_eq!(found.map(i64::from), Some(level), "{} {feature}", node.name);
        }
        let told = node.told["directory_ids"].as_object().unwrap();
        let mut told: Vec<_> = told
            .values()
            .map(|id| id.as_str().unwrap().to_owned())
            .collect();
        let broker = image.broker(1).unwrap();
        let mut found: Vec<_> = broker.log_dirs.iter().map(ToString::to_string).collect();
        told.sort();
        found.sort();
        assert_eq!(found, told, "{}", node.name);
        assert!(!broker.fenced);
    }
}

fn server_properties(node: &Node) -> BTreeMap<String, String> {
    let text = node.told["server_properties"].as_str().unwrap();
    let entries = Properties::parse(text.as_bytes()).unwrap().entries;
    entries.into_iter().map(|it| (it.key, it.value)).collect()
}

#[test]
fn each_setting_of_each_topic_has_the_value_and_the_source_that_the_broker_told() {
    let mut compared = BTreeSet::new();
    for node in nodes() {
        let image = image_when_told(&node);
        let server_properties = server_properties(&node);
        let levels = ConfigLevels {
            told: None,
            image: Some(&image),
            broker_id: Some(1),
            named: None,
            server_properties: &server_properties,
            moment: ConfigMoment::Running,
        };
        let configs = node.told["configs"].as_object().unwrap();
        for (resource, told) in configs {
            let Some(topic) = resource.strip_prefix("topic ") else {
                continue;
            };
            let told = told.as_object().unwrap();
            for (key, value, source) in as_text(&LogConfig::resolve(topic, &levels).unwrap()) {
                let Some(told) = told.get(key) else {
                    // Only what differs from the built-in default was recorded.
                    assert_eq!(source, ConfigSource::Default, "{} {topic} {key}", node.name);
                    continue;
                };
                compared.insert(format!("{key} {source}"));
                assert_eq!(value, told["value"], "{} {topic} {key}", node.name);
                // The broker does not find log.roll.hours again.
                if key != "segment.ms" {
                    assert_eq!(
                        source_number(source),
                        told["source"],
                        "{} {topic} {key}",
                        node.name
                    );
                }
            }
        }
    }
    assert!(compared.len() >= 10, "{compared:?}");
}

#[test]
fn a_topic_deleted_before_the_crash_is_gone_from_the_whole_log() {
    for node in nodes() {
        let folded = fold(&node.dir, None);
        let deleted = node.told["deleted_just_before_the_crash"]
            .as_array()
            .unwrap();
        assert_eq!(deleted.is_empty(), !node.name.ends_with("crashed"));
        for topic in deleted {
            let topic = topic[0].as_str().unwrap();
            assert_eq!(folded.image.topic(topic), None, "{}", node.name);
            let mut named = folded.deleted_topics.values();
            assert!(named.any(|name| name == topic), "{}", node.name);
            assert_eq!(
                folded.image.topic_configs(topic).count(),
                0,
                "{}",
                node.name
            );
        }
        let told_at = node.told["at_ms"].as_i64().unwrap();
        let age = folded.image.timestamp.0 - told_at;
        assert!(age.abs() < 10_000, "{} {age}", node.name);
    }
}

#[test]
fn the_log_alone_and_each_snapshot_with_the_log_give_one_image() {
    for node in nodes() {
        let whole = fold(&node.dir, None);
        assert!(whole.snapshot.is_some());
        let mut dir = node.dir.clone();
        while let Some(name) = fold(&dir, None).snapshot {
            dir.remove(&name);
            assert_eq!(fold(&dir, None).image, whole.image, "{} {name}", node.name);
        }
    }
}

#[test]
fn a_damaged_snapshot_gives_way_to_an_older_one() {
    for node in nodes() {
        let whole = fold(&node.dir, None);
        let newest = whole.snapshot.unwrap();
        let mut dir = node.dir.clone();
        let bytes = dir.get_mut(&newest).unwrap();
        bytes[100] ^= 1;
        let damaged = fold(&dir, None);
        assert_eq!(damaged.image, whole.image);
        assert_eq!(damaged.given_up[0].0, newest);
        let bytes = dir.get_mut(&newest).unwrap();
        bytes[100] ^= 1;
        bytes.truncate(bytes.len() - 1);
        assert_eq!(fold(&dir, None).image, whole.image);
    }
}

#[test]
fn a_log_that_begins_behind_the_snapshot_is_a_gap_and_one_of_an_older_epoch_is_left_out() {
    let node = nodes().pop().unwrap();
    let log = "00000000000000000000.log";
    let mut dir = node.dir.clone();
    let mut bytes = dir.remove(log).unwrap();
    bytes.drain(..first_batch(&bytes));
    dir.retain(|name, _| !name.ends_with(".checkpoint"));
    dir.insert("00000000000000000001.log".to_owned(), bytes);
    assert!(matches!(
        fold(&dir, None).findings[0],
        FoldFinding::Gap { .. }
    ));

    let mut dir = node.dir.clone();
    let snapshot = dir
        .remove("00000000000000000199-0000000001.checkpoint")
        .or_else(|| dir.remove("00000000000000000205-0000000001.checkpoint"));
    dir.retain(|name, _| name == log);
    dir.insert(
        "00000000000000000007-0000000009.checkpoint".to_owned(),
        snapshot.unwrap(),
    );
    let image = fold(&dir, None).image;
    assert_eq!(
        (image.next_offset, image.epoch),
        (Offset(7), LeaderEpoch(9))
    );
}

fn first_batch(bytes: &[u8]) -> usize {
    12 + usize::try_from(u32::from_be_bytes(bytes[8..12].try_into().unwrap())).unwrap()
}

#[test]
fn quotas_are_those_that_the_broker_told() {
    for node in nodes() {
        let image = image_when_told(&node);
        let mut told: Vec<String> = vec![];
        for quota in node.told["quotas"].as_array().unwrap() {
            let mut entity: Vec<_> = quota["entity"]
                .as_array()
                .unwrap()
                .iter()
                .map(|part| {
                    let kind = part["entityType"].as_str().unwrap().to_owned();
                    (kind, part["entityName"].as_str().map(str::to_owned))
                })
                .collect();
            entity.sort();
            for value in quota["values"].as_array().unwrap() {
                let key = value["key"].as_str().unwrap();
                told.push(format!(
                    "{entity:?} {key} {:?}",
                    value["value"].as_f64().unwrap()
                ));
            }
        }
        let mut found: Vec<String> = image
            .quotas()
            .flat_map(|(entity, values)| {
                values
                    .iter()
                    .map(move |(key, value)| format!("{entity:?} {key} {value:?}"))
            })
            .collect();
        told.sort();
        found.sort();
        assert_eq!(found, told, "{}", node.name);
        assert!(!told.is_empty());
    }
}

fn level_told(node: &Node, name: &str) -> i64 {
    let mut features = node.told["features"].as_array().unwrap().iter();
    features.find(|pair| pair[0] == name).unwrap()[1]
        .as_i64()
        .unwrap()
}

/// The small files beside the log say who led in which epoch and what the node was formatted with, as the broker told.
#[test]
fn the_vote_and_the_format_are_what_the_broker_told() {
    for node in nodes() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("__cluster_metadata-0");
        std::fs::create_dir(&dir).unwrap();
        for (name, bytes) in node.dir.iter().filter(|(name, _)| !name.is_empty()) {
            std::fs::write(dir.join(name), bytes).unwrap();
        }
        let read = || read_node_files(&RealStorage, &dir, &[home.path().to_owned()]);
        let state = read().quorum.unwrap().unwrap();
        let told = &node.told["quorum"];
        assert_eq!(
            i64::from(state.leader_id),
            told["leaderId"],
            "{}",
            node.name
        );
        assert_eq!(
            i64::from(state.leader_epoch.0),
            told["leaderEpoch"],
            "{}",
            node.name
        );
        let of_file = |name: &str| {
            let bootstrap = read().bootstrap.unwrap();
            assert_eq!(bootstrap.file, name);
            bootstrap.features.unwrap()
        };
        if node.name.starts_with("4.4.0") {
            let features = of_file("00000000000000000000-0000000000.checkpoint");
            for (name, level) in &features {
                assert_eq!(i64::from(*level), level_told(&node, name), "{name}");
            }
            assert!(features.contains_key("metadata.version"));
        } else {
            assert_eq!(read().bootstrap, None);
        }
        // A bootstrap.checkpoint comes first; one that is torn says so.
        let snapshot = node
            .dir
            .keys()
            .rfind(|name| name.ends_with(".checkpoint"))
            .unwrap();
        let bytes = &node.dir[snapshot];
        std::fs::write(home.path().join("bootstrap.checkpoint"), bytes).unwrap();
        let level = of_file("bootstrap.checkpoint")["metadata.version"];
        assert_eq!(i64::from(level), level_told(&node, "metadata.version"));
        std::fs::write(
            home.path().join("bootstrap.checkpoint"),
            &bytes[..bytes.len() - 9],
        )
        .unwrap();
        assert!(read().bootstrap.unwrap().features.is_err());
        std::fs::write(dir.join("quorum-state"), b"{}").unwrap();
        assert!(read().quorum.unwrap().is_err());
    }
}
