//! What is to be asked once the flows are known: the first records that are not copied, and who writes to the copies.

use std::collections::BTreeMap;

use super::facts::Facts;
use super::flow::{Flow, FlowState};
use super::lag::flow_status;
use crate::terms::{Offset, TopicPartition};

/// Questions to one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecondLook {
    /// Partitions with records that are not copied, and the first offset of those.
    pub uncopied: BTreeMap<TopicPartition, Offset>,
    /// Copies that nobody but MirrorMaker 2 may write to.
    pub copies: Vec<TopicPartition>,
}

/// Returns what is to be asked of each cluster, by alias.
pub fn second_look(facts: &Facts, flows: &[Flow]) -> BTreeMap<String, SecondLook> {
    let mut looks: BTreeMap<String, SecondLook> = BTreeMap::new();
    for flow in flows.iter().filter(|flow| flow.state == FlowState::Active) {
        for lag in flow_status(facts, flow).partitions {
            let Some((start, end)) = lag.source else {
                continue;
            };
            let first = lag.copied.map_or(start, |copied| copied.plus(1).max(start));
            if first < end {
                let look = looks.entry(flow.name.source.clone()).or_default();
                let partition = TopicPartition::new(lag.topic.clone(), lag.partition);
                // Of two flows the one that is further behind counts.
                let known = look.uncopied.entry(partition).or_insert(first);
                *known = (*known).min(first);
            }
            if let (Some(remote), Some(_)) = (lag.remote_topic, lag.target) {
                let look = looks.entry(flow.name.target.clone()).or_default();
                look.copies.push(TopicPartition::new(remote, lag.partition));
            }
        }
    }
    looks
}
