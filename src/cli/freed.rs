//! What a change of retention has freed so far, against what its plan promised, and why the rest stays.

use std::collections::BTreeMap;

use super::live_facts::replica_sizes;
use super::target::read_host_logs;
use super::{BesideBroker, CliError, Context, Look};
use crate::app::retention_words;
use crate::app::text::{bytes, offset};
use crate::client::Client;
use crate::engine::{InForce, ReplicaSize};
use crate::plan::retention::{RetentionVerdict, WhatIf, WhatIfScope};
use crate::plan::{LiveAct, LivePlan};
use crate::terms::TopicPartition;

/// What one broker has freed of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BrokerFreed {
    /// The broker.
    pub(super) broker: i32,
    /// Bytes of its segments before the change.
    pub(super) before: u64,
    /// Bytes now; `None` if it does not answer.
    pub(super) now: Option<u64>,
    /// Offsets by which its logs begin later.
    pub(super) records: u64,
}

impl BrokerFreed {
    /// Returns by how many bytes its logs are smaller; what was appended meanwhile hides as much.
    pub(super) fn freed(&self) -> Option<u64> {
        Some(self.before.saturating_sub(self.now?))
    }
}

/// Asks the brokers what is left of a topic whose retention was changed; empty for a change of another kind.
pub(super) async fn freed_so_far(client: &Client, kept: &InForce) -> Vec<BrokerFreed> {
    let LiveAct::TopicConfigs { topic, .. } = &kept.plan.act else {
        return Vec::new();
    };
    if kept.before.is_empty() {
        return Vec::new();
    }
    let now = replica_sizes(client, topic).await;
    let mut brokers: BTreeMap<i32, BrokerFreed> = BTreeMap::new();
    for before in &kept.before {
        let found = now
            .iter()
            .find(|now| now.broker == before.broker && now.partition == before.partition);
        let sum = brokers.entry(before.broker).or_insert(BrokerFreed {
            broker: before.broker,
            before: 0,
            now: Some(0),
            records: 0,
        });
        sum.before = sum.before.saturating_add(before.bytes);
        sum.now = sum.now.zip(found).map(|(sum, now)| sum + now.bytes);
        sum.records += found.map_or(0, |now| moved(before, now));
    }
    brokers.into_values().collect()
}

fn moved(before: &ReplicaSize, now: &ReplicaSize) -> u64 {
    let starts = before.log_start.zip(now.log_start);
    starts.map_or(0, |(before, now)| {
        u64::try_from(now.0.saturating_sub(before.0)).unwrap_or(0)
    })
}

/// Says whether every broker has freed what the plan promised at most.
pub(super) fn is_all_freed(plan: &LivePlan, freed: &[BrokerFreed]) -> bool {
    let enough = |of: &BrokerFreed| of.freed() >= plan.loss.bytes;
    plan.loss.bytes.is_some() && !freed.is_empty() && freed.iter().all(enough)
}

/// Returns why segments of a topic stay in this host's logs, a sentence for each log and for each cause in it; where no
/// broker of this host holds any, how to ask that of another host.
pub(super) fn why_the_rest_stays(context: &Context, topic: &str) -> Result<Vec<String>, CliError> {
    let elsewhere = || {
        vec![format!(
            "why the rest stays: krescue segments {topic}-N on the broker's host"
        )]
    };
    let Ok(look) = Look::open(context, BesideBroker::StructureOnly) else {
        return Ok(elsewhere());
    };
    let listed = read_host_logs(context, &look, None, &|| true)?;
    let logs = listed.host.logs.iter();
    let judged = listed.host.judge(WhatIf::default(), &WhatIfScope::Host);
    let mut lines = Vec::new();
    for (log, judged) in logs.zip(&judged) {
        if log.facts.topic_partition.topic != topic {
            continue;
        }
        lines.extend(stays(log, judged, listed.host.now));
    }
    Ok(if lines.is_empty() { elsewhere() } else { lines })
}

/// Returns the segments of a log that stay, the neighbours of one cause in one line.
fn stays(
    log: &crate::plan::retention::RetainedLog,
    judged: &crate::plan::retention::LogRetention,
    now: crate::terms::Timestamp,
) -> Vec<String> {
    let partition: &TopicPartition = &log.facts.topic_partition;
    let mut lines: Vec<(crate::plan::retention::RetentionReason, u64, u64, String)> = Vec::new();
    for (index, (segment, verdict)) in log.facts.segments.iter().zip(&judged.segments).enumerate() {
        if verdict.verdict == RetentionVerdict::Delete {
            continue;
        }
        match lines.last_mut() {
            Some((reason, count, size, _)) if *reason == verdict.reason => {
                *count += 1;
                *size += segment.bytes;
            }
            _ => {
                let words = retention_words::segment(log, judged, index, now);
                let words = format!("{} on: {words}", offset(segment.base_offset));
                lines.push((verdict.reason, 1, segment.bytes, words));
            }
        }
    }
    let line = |(_, count, size, words): (_, u64, u64, String)| {
        let segments = crate::app::text::plural(count, "segment", "segments");
        format!("{partition}: {segments}, {}, from {words}", bytes(size))
    };
    lines.into_iter().map(line).collect()
}
