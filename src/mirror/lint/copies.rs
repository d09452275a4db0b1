//! Rules on what was copied: lost records, topics made anew, tasks that failed, what others write.

use super::rule::Rules;
use crate::mirror::content::InternalTopic;
use crate::mirror::flow::Flow;
use crate::mirror::lag::{PartitionLag, flow_status};
use crate::mirror::sync_store::SyncPair;
use crate::mirror::syncs::{PartitionSyncs, SyncEventKind};
use crate::mirror::translate::partition_syncs;

/// What a producer sends at most, unless told otherwise.
const MAX_REQUEST: i64 = 1_048_576;

pub(super) fn apply(rules: &mut Rules<'_>) {
    for flow in rules.active() {
        let status = flow_status(rules.facts, flow);
        for task in status.tasks.iter().filter(|task| task.state == "FAILED") {
            let number = task
                .task
                .map_or_else(String::new, |task| format!(" task {task}"));
            let text = format!(
                "it failed: {}; all its partitions stand",
                task.cause.as_deref().unwrap_or("no cause is told")
            );
            let at = Some(format!("{}{number}", task.connector));
            rules.tell_flow(
                "E-TASK-FAILED",
                (flow, at),
                text,
                "remove the cause, then restart MirrorMaker 2: a bad record stops it again",
            );
        }
        if rules.cluster(&flow.name.target).is_none() {
            rules.silent(
                &["E-TASK-FAILED", "W-REBUILT", "W-PARTS", "W-FOREIGN-ARITH"],
                format!("the log dirs of {}", flow.name.target),
            );
        }
        if rules.cluster(&flow.name.source).is_none() {
            rules.silent(
                &["E-PURGED", "W-RECREATED", "W-PARTS", "W-MAXREQ"],
                format!("the log dirs of {}", flow.name.source),
            );
        }
        let (alias, topic) = flow.offset_syncs_topic();
        if rules
            .cluster(alias)
            .and_then(|it| it.offset_syncs(&topic))
            .is_none()
        {
            rules.silent(
                &["W-GAP", "W-DOWN-RESET", "I-EXCESS", "W-FOREIGN-ARITH"],
                format!("{topic} on {alias}"),
            );
        }
        for lag in &status.partitions {
            let syncs = partition_syncs(rules.facts, flow, &lag.topic, lag.partition).flatten();
            positions(rules, flow, lag);
            if let Some(syncs) = syncs {
                events(rules, flow, lag, syncs);
                tail(rules, flow, lag, syncs);
            }
        }
        partitions(rules, flow);
        internal_policies(rules, flow);
        request_sizes(rules, flow);
    }
}

fn at(lag: &PartitionLag) -> String {
    format!("{}-{}", lag.topic, lag.partition)
}

fn positions(rules: &mut Rules<'_>, flow: &Flow, lag: &PartitionLag) {
    let told = lag.position.max(lag.last_sync.map(|pair| pair.upstream));
    let Some(told) = told else { return };
    if let Some((start, end)) = lag.source {
        if told >= end {
            let text = format!(
                "record {told} was copied, the source ends at {end}: it was made anew, and is copied again from its start"
            );
            rules.tell_flow(
                "W-RECREATED",
                (flow, Some(at(lag))),
                text,
                "expect duplicates on the target",
            );
        } else if told.0 + 1 < start.0 {
            let lost = start.0 - told.0 - 1;
            let text = format!(
                "retention took {lost} offsets ({} to {}) before they were copied",
                told.0 + 1,
                start.0 - 1
            );
            rules.tell_flow(
                "E-PURGED",
                (flow, Some(at(lag))),
                text,
                "keep records longer on the source than the mirror may stand still",
            );
        }
    }
    if let (Some(position), Some((_, end)), Some(pair)) = (lag.position, lag.target, lag.last_sync)
        && position >= pair.upstream
        && pair.downstream >= end
    {
        let text = format!(
            "record {position} counts as copied, the target ends at {end}: it was made anew, and what it lost is not copied again"
        );
        rules.tell_flow(
            "W-REBUILT",
            (flow, Some(at(lag))),
            text,
            "remove the position of this partition from Connect's offsets, or copy it by hand",
        );
    }
}

fn events(rules: &mut Rules<'_>, flow: &Flow, lag: &PartitionLag, syncs: &PartitionSyncs) {
    for event in &syncs.events {
        let (before, after) = (event.before, event.after);
        let pairs = format!(
            "syncs ({},{}) then ({},{})",
            before.upstream, before.downstream, after.upstream, after.downstream
        );
        let up = after.upstream.0 - before.upstream.0;
        match event.kind {
            SyncEventKind::DownstreamReset => {
                let text = format!(
                    "{pairs}: the target was cut or made anew, checkpoints beyond its end are wrong"
                );
                rules.tell_flow(
                    "W-DOWN-RESET",
                    (flow, Some(at(lag))),
                    text,
                    "compare both logs; what the target lost is not copied again",
                );
                rebuilt(rules, flow, lag, &pairs, after);
            }
            SyncEventKind::UpstreamRewind if after.upstream.0 == 0 && before.upstream.0 > 0 => {
                let text = format!("{pairs}: the source was made anew and copied from its start");
                rules.tell_flow(
                    "W-RECREATED",
                    (flow, Some(at(lag))),
                    text,
                    "expect old and new records in one topic",
                );
            }
            SyncEventKind::UpstreamRewind => {
                let text = format!("{pairs}: a task restarted and copied records again");
                rules.tell_flow(
                    "I-RECOPY",
                    (flow, Some(at(lag))),
                    text,
                    "consumers see those records twice",
                );
            }
            SyncEventKind::Gap => {
                let source = rules.cluster(&flow.name.source);
                let compacted = source
                    .and_then(|it| it.topic_config(&lag.topic, "cleanup.policy"))
                    .is_some_and(|policy| policy.contains("compact"));
                // One offset is a transaction's marker.
                if !compacted && up > 2 {
                    let text = format!(
                        "{pairs}: {} offsets of the source were never copied; retention took them, unless they are markers",
                        up - 1
                    );
                    rules.tell_flow(
                        "W-GAP",
                        (flow, Some(at(lag))),
                        text,
                        "those records are lost on the target",
                    );
                }
            }
            // Told with who wrote it.
            SyncEventKind::Excess => {}
        }
    }
}

/// A target that was made anew under positions that stayed: what was copied before is not copied again.
fn rebuilt(rules: &mut Rules<'_>, flow: &Flow, lag: &PartitionLag, pairs: &str, after: SyncPair) {
    let start = lag.source.map_or(0, |(start, _)| start.0);
    let missing = after.upstream.0.saturating_sub(start);
    if after.downstream.0 > 0 || missing <= 0 {
        return;
    }
    let text = format!(
        "{pairs}: the target was made anew, and {missing} offsets that the source still has are not on it: they count as copied"
    );
    rules.tell_flow(
        "W-REBUILT",
        (flow, Some(at(lag))),
        text,
        "remove the position of this partition from Connect's offsets, or copy them by hand",
    );
}

/// More behind the last sync than the source can have given: a restart would have written a newer sync.
fn tail(rules: &mut Rules<'_>, flow: &Flow, lag: &PartitionLag, syncs: &PartitionSyncs) {
    let (Some((_, from_end)), Some((_, to_end))) = (lag.source, lag.target) else {
        return;
    };
    let down = to_end.0 - 1 - syncs.last.downstream.0;
    let up = from_end.0 - 1 - syncs.last.upstream.0;
    let eos = flow
        .value("target.cluster.exactly.once.source.support")
        .is_some();
    if up >= 0 && down > up && !eos {
        let text = format!(
            "{down} records follow the last sync on the target, {up} on the source: somebody else writes to {}",
            lag.remote_topic.as_deref().unwrap_or("it")
        );
        rules.tell_flow(
            "W-FOREIGN-ARITH",
            (flow, Some(at(lag))),
            text,
            "find the producer and take its right to write away; translations there skip records",
        );
    }
}

fn partitions(rules: &mut Rules<'_>, flow: &Flow) {
    let (Some(source), Some(target)) = (
        rules.cluster(&flow.name.source),
        rules.cluster(&flow.name.target),
    ) else {
        return;
    };
    for topic in source.topics() {
        if flow.topic(topic).is_copied() != Some(true) {
            continue;
        }
        let Some(remote) = flow.remote_topic(topic) else {
            continue;
        };
        let counts = [
            source.partitions(topic).len(),
            target.partitions(&remote).len(),
        ];
        let text = match counts {
            [_, 0] => format!("{remote} is not on {}", flow.name.target),
            [from, to] if to < from => format!("it has {from} partitions, {remote} has {to}"),
            [from, to] if to > from => {
                format!("{remote} has {to} partitions, it has {from}: somebody added some")
            }
            _ => continue,
        };
        rules.tell_flow(
            "W-PARTS",
            (flow, Some(topic.to_owned())),
            text,
            "wait for refresh.topics.interval.seconds; if it stays, look at the source connector",
        );
    }
}

fn internal_policies(rules: &mut Rules<'_>, flow: &Flow) {
    let (syncs_on, syncs) = flow.offset_syncs_topic();
    for (alias, topic) in [
        (syncs_on, syncs),
        (flow.name.target.as_str(), flow.checkpoints_topic()),
    ] {
        let Some(cluster) = rules.cluster(alias) else {
            continue;
        };
        if cluster.metadata.is_none() {
            rules.silent(&["W-INT-POLICY"], format!("the metadata log of {alias}"));
            continue;
        }
        if cluster.topic(&topic).is_none() {
            let text = format!("{topic} is not on {alias}: without it no group is translated");
            rules.tell_flow(
                "W-CP-GONE",
                (flow, Some(topic)),
                text,
                "restart MirrorMaker 2, which makes it again, compacted",
            );
        } else if cluster.topic_config(&topic, "cleanup.policy") != Some("compact") {
            let text = format!(
                "{topic} on {alias} is not compacted: a broker made it again, and its records expire"
            );
            rules.tell_flow("W-INT-POLICY", (flow, Some(topic.clone())), text, format!("kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config cleanup.policy=compact"));
        }
    }
}

fn request_sizes(rules: &mut Rules<'_>, flow: &Flow) {
    let Some(source) = rules.cluster(&flow.name.source) else {
        return;
    };
    let sent = flow
        .number("target.producer.max.request.size", MAX_REQUEST)
        .unwrap_or(MAX_REQUEST);
    for topic in source.topics() {
        let own = InternalTopic::of(topic).is_some() || flow.topic(topic).is_copied() != Some(true);
        let size = source
            .topic_config(topic, "max.message.bytes")
            .and_then(|it| it.parse::<i64>().ok());
        if let Some(size) = size.filter(|size| *size > sent && !own) {
            let text = format!(
                "it takes records of {size} bytes, MirrorMaker 2 sends {sent}: one larger record stops its task"
            );
            let next = format!(
                "set {}.producer.max.request.size = {size}",
                flow.name.target
            );
            rules.tell_flow("W-MAXREQ", (flow, Some(topic.to_owned())), text, next);
        }
    }
}
