//! Partitions as requests list them.

use std::collections::BTreeMap;

use crate::terms::TopicPartition;

/// Returns the partitions' numbers by topic.
pub(super) fn by_topic(partitions: &[TopicPartition]) -> BTreeMap<&str, Vec<i32>> {
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for partition in partitions {
        topics
            .entry(&partition.topic)
            .or_default()
            .push(partition.partition);
    }
    topics
}
