//! Rules on who else writes to a copy: producers with an id, records that the source never had, more than it gave.

use std::collections::BTreeSet;

use super::rule::Rules;
use crate::mirror::copy_look::CopyFact;
use crate::mirror::facts::ClusterFacts;
use crate::mirror::flow::Flow;
use crate::mirror::lag::{PartitionLag, flow_status};
use crate::mirror::syncs::{SyncEvent, SyncEventKind};
use crate::mirror::translate::partition_syncs;

/// Producers that are named; of more the number is told.
const NAMED: usize = 4;
/// In the transactional ids of MirrorMaker 2's source tasks, whatever the worker's group.
const OWN_ID: &str = "MirrorSourceConnector-";
const NEXT: &str =
    "find it by kafka-transactions.sh describe-producers, and send it to a topic of its own";

pub(super) fn apply(rules: &mut Rules<'_>) {
    for flow in rules.active() {
        let Some(target) = rules.cluster(&flow.name.target) else {
            continue;
        };
        let own = Own::of(rules, flow, target);
        for lag in flow_status(rules.facts, flow).partitions {
            let Some(remote) = lag.remote_topic.as_deref().filter(|_| lag.target.is_some()) else {
                continue;
            };
            let copies = target.copies.get(remote);
            let copy = copies.and_then(|copies| copies.get(&lag.partition));
            let place = format!("{remote}-{}", lag.partition);
            let is_foreign = producers(rules, (flow, &own), target, (&lag, copy), &place);
            if let Some(copy) = copy {
                codecs(rules, flow, target, copy, &place);
            }
            let syncs = partition_syncs(rules.facts, flow, &lag.topic, lag.partition).flatten();
            let events = syncs.into_iter().flat_map(|syncs| &syncs.events);
            for event in events.filter(|event| event.kind == SyncEventKind::Excess) {
                excess(rules, (flow, &own), (&lag, copy), event, is_foreign);
            }
        }
    }
}

/// Which producers with an id are MirrorMaker 2's own.
struct Own<'a> {
    /// Whether it writes exactly once; `None` if nothing tells.
    exactly_once: Option<bool>,
    /// Whether its producers are idempotent without that: then their ids tell nothing.
    idempotent: bool,
    ids: Option<&'a crate::mirror::TransactionalIds>,
}

impl<'a> Own<'a> {
    fn of(rules: &Rules<'a>, flow: &Flow, target: &'a ClusterFacts) -> Self {
        let file = rules.facts.properties.as_ref();
        let value = |key: String| {
            let property = file.and_then(|file| file.get(&key));
            property.map(|it| it.value.trim().to_ascii_lowercase())
        };
        let alias = &flow.name.target;
        let support = value(format!("{alias}.exactly.once.source.support"));
        let idempotent = [
            format!("{alias}.producer.enable.idempotence"),
            format!("{}.producer.override.enable.idempotence", flow.name),
        ];
        let ids = target.transactional_ids.as_ref();
        let by_ids = ids.and_then(|ids| {
            let has = ids.by_producer.values().any(|id| id.contains(OWN_ID));
            (has || ids.complete).then_some(has)
        });
        let by_file = file.map(|_| matches!(support.as_deref(), Some("enabled" | "preparing")));
        Self {
            exactly_once: match (by_file, by_ids) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (told, other) => told.or(other),
            },
            idempotent: idempotent
                .into_iter()
                .any(|key| value(key).as_deref() == Some("true")),
            ids,
        }
    }

    /// Says whether a producer is somebody else's; `None` if nothing tells.
    fn is_foreign(&self, producer: i64) -> Option<bool> {
        if self.idempotent {
            return None;
        }
        let named = self.ids.and_then(|ids| ids.by_producer.get(&producer));
        match (named, self.exactly_once) {
            (Some(id), _) => Some(!id.contains(OWN_ID)),
            (None, Some(false)) => Some(true),
            // An id of its own from before may be compacted away.
            (None, _) => None,
        }
    }
}

/// Looks for another producer's traces; says whether there are any.
fn producers(
    rules: &mut Rules<'_>,
    (flow, own): (&Flow, &Own<'_>),
    target: &ClusterFacts,
    (lag, copy): (&PartitionLag, Option<&CopyFact>),
    place: &str,
) -> bool {
    let alias = &flow.name.target;
    let live = target.live.as_ref();
    let told = lag.remote_topic.as_ref().and_then(|remote| {
        let of_topic = live?.producers.get(remote)?;
        of_topic.get(&lag.partition)
    });
    if copy.is_none() && told.is_none() {
        let missing = format!(
            "the records of the copies on {alias}: its log dirs, or --cluster {alias}=HOST:PORT"
        );
        rules.silent(&["E-FOREIGN"], missing);
        return false;
    }
    let on_disk = copy.into_iter().flat_map(|copy| &copy.producers);
    let on_disk = on_disk.map(|(id, it)| {
        let words = format!("id {id}: offsets {} to {}", it.first_offset, it.last_offset);
        (*id, words)
    });
    let living = told.into_iter().flatten();
    let living = living.map(|it| (it.producer_id.0, format!("id {}", it.producer_id)));
    let mut seen = BTreeSet::new();
    let mut foreign = vec![];
    for (id, words) in on_disk.chain(living) {
        match own.is_foreign(id) {
            Some(true) if seen.insert(id) => foreign.push(words),
            Some(_) => {}
            None => {
                let missing = format!(
                    "which producers with an id are MirrorMaker 2's own on {alias}: --mm2 FILE, or __transaction_state \
                     whole in its log dirs"
                );
                rules.silent(&["E-FOREIGN"], missing);
            }
        }
    }
    let mut evidence = vec![];
    if !foreign.is_empty() {
        let more = foreign.len().saturating_sub(NAMED);
        foreign.truncate(NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let whose = if own.exactly_once == Some(true) {
            "that is none of MirrorMaker 2's"
        } else {
            "with an id, and MirrorMaker 2 has none,"
        };
        evidence.push(format!(
            "a producer {whose} wrote to it ({}{more})",
            foreign.join(", ")
        ));
    }
    match copy.map(|copy| copy.unlike) {
        Some(Some(unlike)) if unlike.unlike > 0 => evidence.push(format!(
            "{} of {} records have no like on {}, the first at offset {}",
            unlike.unlike,
            unlike.compared,
            flow.name.source,
            unlike
                .first
                .map_or_else(|| "?".to_owned(), |it| it.to_string())
        )),
        _ => {}
    }
    if evidence.is_empty() {
        return false;
    }
    let text = format!(
        "{}: from there on offsets do not translate",
        evidence.join("; ")
    );
    rules.tell_flow("E-FOREIGN", (flow, Some(place.to_owned())), text, NEXT);
    true
}

/// Looks for batches with another codec than MirrorMaker 2's: a weak sign.
fn codecs(rules: &mut Rules<'_>, flow: &Flow, target: &ClusterFacts, copy: &CopyFact, place: &str) {
    let Some(file) = &rules.facts.properties else {
        return rules.silent(
            &["I-CODEC"],
            "what MirrorMaker 2 compresses with: --mm2 FILE",
        );
    };
    let topic = place.rsplit_once('-').map_or(place, |(topic, _)| topic);
    let by_broker = target.topic_setting(topic, "compression.type");
    if by_broker.is_some_and(|codec| codec != "producer") {
        return;
    }
    let keys = [
        format!("{}.producer.override.compression.type", flow.name),
        format!("{}.producer.compression.type", flow.name.target),
    ];
    let set = keys.iter().find_map(|key| file.get(key));
    let configured = set.map_or("none", |it| it.value.trim());
    // A codec that does not make a batch smaller is left out by the producer.
    let others = copy.codecs.iter().map(String::as_str);
    let others: Vec<&str> = others
        .filter(|codec| *codec != configured && *codec != "none")
        .collect();
    if !others.is_empty() {
        let text = format!(
            "batches of it are compressed with {}, MirrorMaker 2 is set to {configured}: another setting before, or another \
             producer",
            others.join(", ")
        );
        rules.tell_flow("I-CODEC", (flow, Some(place.to_owned())), text, NEXT);
    }
}

/// More on the target than the source gave: copied again after a restart, or somebody else's.
fn excess(
    rules: &mut Rules<'_>,
    (flow, own): (&Flow, &Own<'_>),
    (lag, copy): (&PartitionLag, Option<&CopyFact>),
    event: &SyncEvent,
    is_foreign: bool,
) {
    let (before, after) = (event.before, event.after);
    let up = after.upstream.0.saturating_sub(before.upstream.0);
    let down = after.downstream.0.saturating_sub(before.downstream.0);
    let looked = copy.and_then(|copy| copy.excesses.get(&after.downstream.0));
    let markers = looked.map_or(0, |it| i64::try_from(it.markers).unwrap_or(i64::MAX));
    let more = down.saturating_sub(up).saturating_sub(markers);
    // Each flush of an exactly-once task writes a marker, and only the records tell how many.
    if more <= 0 || (looked.is_none() && own.exactly_once == Some(true)) {
        return;
    }
    let at = Some(format!("{}-{}", lag.topic, lag.partition));
    let text = format!(
        "syncs ({},{}) then ({},{}): the target got {more} records more than the source had",
        before.upstream, before.downstream, after.upstream, after.downstream
    );
    match looked {
        Some(it) if it.copied_again => rules.tell_flow(
            "I-RECOPY",
            (flow, at),
            format!("{text}; they are there twice: a task restarted and copied them again"),
            "consumers see those records twice",
        ),
        Some(_) if is_foreign => {}
        Some(_) => rules.tell_flow(
            "W-FOREIGN-ARITH",
            (flow, at),
            format!("{text}, and they are no second copies: somebody else wrote them"),
            "find the producer and take its right to write away; translations there skip records",
        ),
        None => rules.tell_flow(
            "I-EXCESS",
            (flow, at),
            format!("{text}; a restart copied them again, or another producer writes there"),
            "krescue mirror lint over the target's log dirs compares the records",
        ),
    }
}
