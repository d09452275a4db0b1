//! Partition dirs that the cluster does not give to this broker.

use super::facts::{BootFacts, PartitionFacts, SmallFile};
use super::partitions::{expected_topic_id, write_metadata};
use super::problem::{AtBoot, Problem};
use crate::format::file_name::{DirName, PARTITION_METADATA};
use crate::format::partition_metadata::PartitionMetadata;
use crate::log::FindingCode;
use crate::terms::{KafkaVersion, TopicPartition};

/// From here on a log without a topic id is taken for stray rather than failing the boot.
const MISSING_ID_IS_STRAY: KafkaVersion = KafkaVersion::new(3, 7, 1);

/// Each dir that a boot renames `-stray`, by the metadata log of this host; a log without a topic id is one whatever that says.
pub(super) fn stray(facts: &BootFacts) -> Vec<Problem> {
    if !facts.config.is_kraft() {
        return Vec::new();
    }
    let as_of = match &facts.image {
        Some(image) => format!(
            "metadata up to offset {}, {}",
            image.next_offset,
            image.timestamp.rfc3339()
        ),
        None => "no metadata log was found on this host".to_owned(),
    };
    let mut problems = Vec::new();
    for dir in &facts.dirs {
        for log in dir.logs() {
            let DirName::Normal(partition) = &log.parsed else {
                continue;
            };
            let Some(why) = why(facts, log, partition) else {
                continue;
            };
            let is_missing = log.metadata == SmallFile::Missing;
            let at_boot = if is_missing && facts.version < MISSING_ID_IS_STRAY {
                AtBoot::Exits
            } else {
                AtBoot::MarksStray
            };
            let fix = is_missing.then(|| write_metadata(facts, log)).flatten();
            let effect = match at_boot {
                AtBoot::Exits => "the boot ends here".to_owned(),
                _ if expected_topic_id(facts, log).is_some() => format!(
                    "the boot renames the dir -stray ({} bytes) and creates an empty log in its place",
                    log.bytes()
                ),
                _ => format!("the boot renames the dir -stray ({} bytes)", log.bytes()),
            };
            let next = if fix.is_some() {
                "krescue preflight --fix writes it with the topic's id by the cluster's metadata"
            } else if is_missing {
                "write it with the topic's id if the data is wanted: kafka-topics.sh --describe tells it"
            } else {
                "right if the topic was deleted or moved meanwhile; else restore what is missing before the start"
            };
            let problem = Problem::new(
                FindingCode::StrayPartition,
                at_boot,
                format!("{why} ({as_of}): {effect}"),
            )
            .dir(&dir.path)
            .partition(&log.dir_name)
            .loses(log.bytes())
            .next(next)
            .fix(fix);
            problems.push(if is_missing {
                problem.file(PARTITION_METADATA)
            } else {
                problem
            });
        }
    }
    problems
}

fn why(facts: &BootFacts, log: &PartitionFacts, partition: &TopicPartition) -> Option<String> {
    let topic_id = match &log.metadata {
        SmallFile::Missing => return Some("there is no partition.metadata".to_owned()),
        SmallFile::Bytes(bytes) => PartitionMetadata::parse(bytes).ok()?.topic_id,
        SmallFile::Unreadable(_) => return None,
    };
    let image = facts.image.as_ref()?;
    let Some(name) = image.topic_name(topic_id) else {
        return Some(format!("no topic of the cluster has the id {topic_id}"));
    };
    if name != partition.topic {
        return Some(format!("the id {topic_id} is that of topic {name}"));
    }
    let Some(of_partition) = image.partition(partition) else {
        return Some(format!(
            "topic {name} has no partition {}",
            partition.partition
        ));
    };
    let node = facts.config.node_id?;
    (!of_partition.replicas.contains(&node)).then(|| {
        format!(
            "{partition} is assigned to brokers {:?}, not to {node}",
            of_partition.replicas
        )
    })
}
