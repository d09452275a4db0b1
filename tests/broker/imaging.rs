//! The image of `__cluster_metadata-0` beside a living broker, of two hundred topics with settings on each level: what it says
//! of settings and their sources, of partitions and of places is what the broker answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use krescue::cluster::{ConfigLevels, ConfigMoment, LogConfig, MetadataImage};
use krescue::disk::RealStorage;
use krescue::engine::read_metadata_dir;
use krescue::format::properties::Properties;
use krescue::terms::TopicPartition;

use crate::loading::work_folder;
use crate::support::admin::Admin;
use crate::support::broker::Broker;
use crate::support::config_text::{as_text, source_number};
use crate::support::kafka::Kafka;
use crate::support::source::SETTINGS;

/// Topics of the cluster.
const TOPICS: usize = 200;
/// A number for each source, in the order of Kafka's protocol.
const SOURCES: [&str; 5] = [
    "DYNAMIC_TOPIC_CONFIG",
    "DYNAMIC_BROKER_CONFIG",
    "DYNAMIC_DEFAULT_BROKER_CONFIG",
    "STATIC_BROKER_CONFIG",
    "DEFAULT_CONFIG",
];

/// Changes made once the topics are there, and the line by which the broker tells that it has heard of each.
const CHANGES: [(&str, &str); 6] = [
    (
        "set broker - log.retention.ms 99000000",
        "config t1 retention.ms DYNAMIC_DEFAULT_BROKER_CONFIG 99000000",
    ),
    (
        "set broker - log.cleaner.delete.retention.ms 7000000",
        "config t1 delete.retention.ms DYNAMIC_DEFAULT_BROKER_CONFIG 7000000",
    ),
    (
        "set broker 1 log.retention.bytes 55000000",
        "config t2 retention.bytes DYNAMIC_BROKER_CONFIG 55000000",
    ),
    (
        "set broker 1 log.segment.bytes 44000000",
        "config t1 segment.bytes DYNAMIC_BROKER_CONFIG 44000000",
    ),
    (
        "set topic t4 retention.ms",
        "config t4 retention.ms DYNAMIC_DEFAULT_BROKER_CONFIG 99000000",
    ),
    (
        "set topic t1 retention.bytes 77",
        "config t1 retention.bytes DYNAMIC_TOPIC_CONFIG 77",
    ),
];

#[test]
fn the_image_of_200_topics_is_what_the_broker_answers_3_9_1() {
    image_and_answer("3.9.1");
}

#[test]
fn the_image_of_200_topics_is_what_the_broker_answers_4_0_2() {
    image_and_answer("4.0.2");
}

#[test]
fn the_image_of_200_topics_is_what_the_broker_answers_4_4_0() {
    image_and_answer("4.4.0");
}

fn image_and_answer(version: &str) {
    let kafka = Kafka::resolve(version);
    let folder = work_folder(&format!("imaging-{version}"));
    let of_its_own = [
        "log.retention.bytes=123456789",
        "log.index.interval.bytes=5000",
    ];
    let settings = [&SETTINGS[..], &of_its_own].concat();
    let mut broker = Broker::create(Arc::clone(&kafka), &folder, &settings);
    broker.start();
    let mut shell = Admin::start(&kafka, &broker.bootstrap());
    shell.run(&format!("create-configured {TOPICS}"));
    for (change, _) in CHANGES {
        shell.run(change);
    }
    let (told, image) = settled(&mut shell, &folder.join("data1/__cluster_metadata-0"));
    let mut configs: BTreeMap<&str, BTreeMap<&str, (&str, &str)>> = BTreeMap::new();
    let (mut partitions, mut places) = (BTreeSet::new(), BTreeSet::new());
    for line in &told {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        match words[0] {
            "config" => {
                let value = (words[3], words.get(4).copied().unwrap_or_default());
                configs.entry(words[1]).or_default().insert(words[2], value);
            }
            "partition" => {
                partitions.insert(line.clone());
            }
            _ => {
                places.insert(line.clone());
            }
        }
    }
    let text = fs::read(broker.properties()).unwrap();
    let compared = compare_settings(&configs, &image, &text);
    let ours = partitions_of(&image);
    assert_eq!(ours, partitions);
    assert_eq!(places_of(&image, &folder), places);
    eprintln!(
        "{version}: {compared} settings of {TOPICS} topics, {} partitions and their places: no difference",
        ours.len()
    );
    broker.kill();
    fs::remove_dir_all(&folder).unwrap();
}

/// Compares every setting and its source; returns how many.
fn compare_settings(
    configs: &BTreeMap<&str, BTreeMap<&str, (&str, &str)>>,
    image: &MetadataImage,
    server_properties: &[u8],
) -> usize {
    let properties: BTreeMap<String, String> = Properties::parse(server_properties)
        .unwrap()
        .entries
        .into_iter()
        .map(|entry| (entry.key, entry.value))
        .collect();
    let levels = ConfigLevels {
        told: None,
        image: Some(image),
        broker_id: Some(1),
        named: None,
        server_properties: &properties,
        moment: ConfigMoment::Running,
    };
    assert_eq!(configs.len(), TOPICS);
    let (mut compared, mut sources) = (0, BTreeSet::new());
    for (topic, told) in configs {
        let config = LogConfig::resolve(topic, &levels).unwrap();
        for (key, value, source) in as_text(&config) {
            let Some((told_source, told_value)) = told.get(key) else {
                continue;
            };
            compared += 1;
            assert_eq!(value, *told_value, "{topic} {key}");
            let number = source_number(source);
            sources.insert(number);
            let at = SOURCES.iter().position(|name| name == told_source).unwrap();
            assert_eq!(number, i64::try_from(at).unwrap() + 1, "{topic} {key}");
        }
    }
    assert_eq!(sources.len(), SOURCES.len(), "{sources:?}");
    compared
}

/// Returns the lines of all partitions.
fn partitions_of(image: &MetadataImage) -> BTreeSet<String> {
    let ids = |ids: &[i32]| {
        ids.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(",")
    };
    let mut ours = BTreeSet::new();
    for (name, topic) in image.topics() {
        for (number, of) in &topic.partitions {
            let leader = of.leader.unwrap();
            let (replicas, isr) = (ids(&of.replicas), ids(&of.isr));
            let id = topic.topic_id;
            ours.insert(format!(
                "partition {name} {id} {number} {leader} {replicas} {isr}"
            ));
        }
    }
    ours
}

/// Returns the lines of where each replica lies.
fn places_of(image: &MetadataImage, folder: &Path) -> BTreeSet<String> {
    // Which dir a replica lies in is told by the directory's id.
    let mut dirs = BTreeMap::new();
    for dir in ["data1", "data2"] {
        let path = folder.join(dir);
        let meta = fs::read_to_string(path.join("meta.properties")).unwrap();
        let mut lines = meta.lines();
        let id = lines
            .find_map(|line| line.strip_prefix("directory.id="))
            .unwrap();
        dirs.insert(id.replace('\\', ""), path);
    }
    let mut here = BTreeSet::new();
    for (name, topic) in image.topics() {
        for number in topic.partitions.keys() {
            let of = image
                .partition(&TopicPartition::new(name, *number))
                .unwrap();
            let dir = &dirs[&of.directories[0].to_string()];
            here.insert(format!("place {name} {number} {}", dir.display()));
        }
    }
    here
}

/// Returns what the broker tells, and the image of the same moment: asked again until the broker has heard of every
/// change (it follows its own metadata log late), nothing changes in between and each replica has told where it lies.
fn settled(shell: &mut Admin, metadata: &Path) -> (BTreeSet<String>, MetadataImage) {
    let read = || {
        read_metadata_dir(&RealStorage, metadata, None)
            .unwrap()
            .unwrap()
            .image
    };
    let has_place = |image: &MetadataImage| {
        let mut topics = image.topics();
        topics.all(|(_, topic)| {
            let mut partitions = topic.partitions.values();
            partitions.all(|of| {
                of.directories
                    .iter()
                    .all(|id| id.to_string().len() == 22 && *id != krescue::terms::Uuid::default())
            })
        })
    };
    let limit = std::time::Instant::now() + crate::support::broker::PATIENCE;
    loop {
        let before = read();
        let mut lines = || {
            let told = shell.run("told");
            told.split(';')
                .map(str::to_owned)
                .collect::<BTreeSet<String>>()
        };
        // A change can reach the broker between two topics of one answer.
        let (first, told) = (lines(), lines());
        let image = read();
        let words = |image: &MetadataImage| -> Vec<String> {
            let topics = image
                .topics()
                .map(|(name, topic)| format!("{name} {topic:?}"));
            let brokers = [None, Some(1)].into_iter().flat_map(|id| {
                image
                    .broker_configs(id)
                    .map(|it| format!("{it:?}"))
                    .collect::<Vec<_>>()
            });
            topics.chain(brokers).collect()
        };
        let places = told.iter().filter(|line| line.starts_with("place "));
        let unassigned = places.count()
            < image
                .topics()
                .map(|(_, topic)| topic.partitions.len())
                .sum();
        let heard = CHANGES.iter().all(|(_, line)| first.contains(*line));
        if heard
            && first == told
            && words(&before) == words(&image)
            && has_place(&image)
            && !unassigned
        {
            return (told, image);
        }
        assert!(
            std::time::Instant::now() < limit,
            "the metadata does not come to rest"
        );
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}
