//! The steps by which the target of a flow becomes the cluster that is used, and the way back, each with its facts.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{ClusterFacts, Facts};
use super::failover::{FailoverPosition, PositionNote, failover_positions};
use super::flow::{Flow, FlowName, FlowState};
use super::lag::flow_status;
use super::policy::PolicyClass;
use super::promote_rights::{WriteRights, write_rights};
use crate::terms::Timestamp;

/// How long a group without members keeps its commits unless `offsets.retention.minutes` says otherwise: 7 days.
const RETENTION_MS: i64 = 7 * 24 * 3_600_000;
/// Groups that are told one by one; of more the number is.
const SHOWN_GROUPS: usize = 8;
/// Rights that are told one by one.
const SHOWN_RIGHTS: usize = 24;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromoteStep {
    /// What to do.
    pub title: &'static str,
    /// Why, and why now.
    pub why: String,
    /// The facts, a line each.
    pub facts: Vec<String>,
    /// What to type or write, a line each.
    pub lines: Vec<String>,
}

/// Returns the steps of a promotion in their order.
pub fn promote_steps(facts: &Facts, flow: &Flow, now: Timestamp) -> Vec<PromoteStep> {
    let positions = failover_positions(facts, flow);
    vec![
        stop(facts, flow),
        losses(facts, flow),
        set_groups(flow, &positions),
        subscribe(flow, &positions),
        rights(facts, flow),
        expiry(facts, flow, &positions, now),
        write(flow),
        only_there(facts, flow),
        back(facts, flow, &positions),
    ]
}

fn stop(facts: &Facts, flow: &Flow) -> PromoteStep {
    let status = flow_status(facts, flow);
    let workers = match status.workers {
        None => {
            "whether a worker runs is not known: the groups of the target are".to_owned()
                + " not known here"
        }
        Some(0) => format!(
            "no worker of {} is a member of {}-mm2",
            flow.name, flow.name.source
        ),
        Some(count) => format!(
            "{count} workers of {} are members of {}-mm2, at the last word",
            flow.name, flow.name.source
        ),
    };
    let sync = flow.bool("sync.group.offsets.enabled", false) == Some(true);
    PromoteStep {
        title: "stop the flow",
        why: if sync {
            "group sync is on: it moves groups on the target forward again, and makes deleted ones anew".to_owned()
        } else {
            "what it still copies would follow what producers write here".to_owned()
        },
        facts: vec![workers],
        lines: vec![format!(
            "set {}.enabled = false and restart MirrorMaker 2, or stop its processes",
            flow.name
        )],
    }
}

fn losses(facts: &Facts, flow: &Flow) -> PromoteStep {
    let status = flow_status(facts, flow);
    let (behind, unknown) = status.behind();
    let known = status.partitions.len() - unknown;
    let mut told = vec![];
    if known > 0 {
        told.push(format!(
            "{behind} records of {} were not copied, over {known} partitions",
            flow.name.source
        ));
    }
    if unknown > 0 {
        told.push(format!(
            "{unknown} partitions do not tell: name the log dirs of {}",
            flow.name.source
        ));
    }
    for lag in status
        .partitions
        .iter()
        .filter(|lag| lag.behind.is_some_and(|it| it > 0))
    {
        told.push(format!(
            "{}-{}: {} records from offset {} on",
            lag.topic,
            lag.partition,
            lag.behind.unwrap_or(0),
            lag.copied
                .map_or_else(|| "the first".to_owned(), |it| it.plus(1).to_string())
        ));
    }
    PromoteStep {
        title: "know what is lost",
        why: "records that were not copied are on the source's disks only; keep those".to_owned(),
        facts: told,
        lines: vec![],
    }
}

fn set_groups(flow: &Flow, positions: &[FailoverPosition]) -> PromoteStep {
    let groups: BTreeSet<&str> = positions.iter().map(|it| it.group.as_str()).collect();
    let without: BTreeSet<&str> = positions
        .iter()
        .filter(|it| it.position.is_none())
        .map(|it| it.group.as_str())
        .collect();
    let active: BTreeSet<&str> = positions
        .iter()
        .filter(|it| it.notes.contains(&PositionNote::Active))
        .map(|it| it.group.as_str())
        .collect();
    let mut told = vec![format!(
        "{} groups have a place to go on",
        groups.len() - without.len()
    )];
    if !without.is_empty() {
        told.push(format!(
            "without a place in some partition: {}",
            list(&without)
        ));
    }
    if !active.is_empty() {
        told.push(format!(
            "with members on the target, left alone: {}",
            list(&active)
        ));
    }
    PromoteStep {
        title: "set the groups",
        why: "no consumer may run meanwhile: a group with members is refused".to_owned(),
        facts: told,
        lines: vec![
            format!("krescue mirror failover '{}' … --csv DIR", flow.name),
            "kafka-consumer-groups.sh --bootstrap-server HOST:PORT --group GROUP --reset-offsets --from-file DIR/GROUP.csv --execute".to_owned(),
        ],
    }
}

fn subscribe(flow: &Flow, positions: &[FailoverPosition]) -> PromoteStep {
    let mut read: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for it in positions {
        read.entry((&it.topic, &it.remote_topic))
            .or_default()
            .insert(&it.group);
    }
    let renamed = !matches!(flow.policy.class, PolicyClass::Identity { .. });
    PromoteStep {
        title: "start the consumers",
        why: if renamed {
            "copies have other names than their topics; subscribe to both, or to a pattern, so that new records are read too".to_owned()
        } else {
            "copies have the names of their topics".to_owned()
        },
        facts: read
            .iter()
            .map(|((topic, remote), groups)| {
                format!("{topic} is {remote}, read by {}", list(groups))
            })
            .collect(),
        lines: vec![],
    }
}

fn rights(facts: &Facts, flow: &Flow) -> PromoteStep {
    let (source, target) = (&flow.name.source, &flow.name.target);
    let add = |who: &str, topic: &str| {
        format!(
            "kafka-acls.sh --bootstrap-server HOST:PORT --add --allow-principal {who} --operation Write --operation Describe --topic {topic}"
        )
    };
    let (told, lines) = match write_rights(facts, flow) {
        WriteRights::EverybodyMay => (
            vec![format!("{target} has no authorizer: everybody may write")],
            vec![],
        ),
        WriteRights::NobodyIsNamed => (
            vec![format!(
                "{source} has no authorizer: who writes there is not named; on {target} each needs the right"
            )],
            vec![add("User:NAME", "TOPIC")],
        ),
        WriteRights::NotTold(alias) => (
            vec![format!(
                "the rules of {alias} are not known: a living cluster tells them (--cluster {alias}=HOST:PORT)"
            )],
            vec![add("User:NAME", "TOPIC")],
        ),
        WriteRights::Missing(missing) if missing.is_empty() => (
            vec![format!("who may write on {source} may on {target}")],
            vec![],
        ),
        WriteRights::Missing(missing) => {
            let each = || {
                let topics = missing.iter();
                topics.flat_map(|(topic, who)| who.iter().map(move |who| (who, topic)))
            };
            let more = each().count().saturating_sub(SHOWN_RIGHTS);
            let mut lines: Vec<String> = each()
                .take(SHOWN_RIGHTS)
                .map(|(who, topic)| add(who, topic))
                .collect();
            if more > 0 {
                lines.push(format!("# and {more} more"));
            }
            let told = missing.iter().map(|(topic, who)| {
                let who: BTreeSet<&str> = who.iter().map(String::as_str).collect();
                format!(
                    "{topic}: {} may write on {source}, not on {target}",
                    list(&who)
                )
            });
            (told.collect(), lines)
        }
    };
    PromoteStep {
        title: "give producers the right to write",
        why: "MirrorMaker 2 copies READ of topics, never WRITE, and no rights on groups, prefixes or *"
            .to_owned(),
        facts: told,
        lines,
    }
}

fn expiry(
    facts: &Facts,
    flow: &Flow,
    positions: &[FailoverPosition],
    now: Timestamp,
) -> PromoteStep {
    let target = facts.clusters.get(&flow.name.target);
    let groups = target.and_then(ClusterFacts::groups);
    let told_ms = target
        .and_then(|it| it.live.as_ref())
        .and_then(|live| live.offsets_retention_ms);
    let keeps = told_ms.unwrap_or(RETENTION_MS);
    let names: BTreeSet<&str> = positions.iter().map(|it| it.group.as_str()).collect();
    let mut due: Vec<(i64, &str, String)> = vec![];
    let mut not_told: BTreeSet<&str> = BTreeSet::new();
    for (name, group) in groups.iter().flatten() {
        if !names.contains(name) || group.is_active() || group.commits.is_empty() {
            continue;
        }
        let commits = group.commits.values().flat_map(BTreeMap::values);
        let newest = commits.filter_map(|commit| commit.timestamp).max();
        match newest.max(group.state_timestamp) {
            Some(since) => due.push((since.0.saturating_add(keeps), name, since.rfc3339())),
            None => {
                not_told.insert(name);
            }
        }
    }
    due.sort_unstable();
    let mut told = vec![];
    if groups.is_none() {
        told.push(format!(
            "the groups of {} are not known: its log dirs, or --cluster {0}=HOST:PORT",
            flow.name.target
        ));
    } else if due.is_empty() && not_told.is_empty() {
        told.push("no group of this flow has a commit on the target".to_owned());
    }
    let hours = |ms: i64| ms / 3_600_000;
    if let Some((at, name, since)) = due.first() {
        let limit = told_ms.map_or_else(
            || "with offsets.retention.minutes at its default of 7 days".to_owned(),
            |ms| format!("by offsets.retention.minutes of {}", ms / 60_000),
        );
        let left = at.saturating_sub(now.0);
        told.push(if left < 0 {
            format!(
                "{name} was due {} h ago, {limit} (idle since {since})",
                hours(-left)
            )
        } else {
            format!(
                "{name} is first, in {} h, {limit} (idle since {since})",
                hours(left)
            )
        });
    }
    for (at, name, since) in due.iter().skip(1).take(SHOWN_GROUPS) {
        let left = at.saturating_sub(now.0);
        told.push(format!(
            "{name}: in {} h (idle since {since})",
            hours(left.max(0))
        ));
    }
    if due.len() > SHOWN_GROUPS + 1 {
        let last = due.last().map_or(0, |(at, ..)| at.saturating_sub(now.0));
        let more = due.len() - SHOWN_GROUPS - 1;
        told.push(format!(
            "and {more} more groups, the last in {} h",
            hours(last.max(0))
        ));
    }
    if !not_told.is_empty() {
        told.push(format!(
            "when these committed is not told (their partitions of __consumer_offsets were not read): {}",
            list(&not_told)
        ));
    }
    PromoteStep {
        title: "before commits expire",
        why: "with the flow stopped nobody renews the commits of groups that have no members"
            .to_owned(),
        facts: told,
        lines: vec![],
    }
}

fn write(flow: &Flow) -> PromoteStep {
    let renamed = !matches!(flow.policy.class, PolicyClass::Identity { .. });
    PromoteStep {
        title: "start the producers",
        why: if renamed {
            format!(
                "on topics of their own names, not on those that begin with {}{}: the way back never copies those",
                flow.name.source, flow.policy.separator
            )
        } else {
            "on the same names; the way back must not run before the flow is off, or both copy without end".to_owned()
        },
        facts: vec![],
        lines: vec![],
    }
}

fn only_there(facts: &Facts, flow: &Flow) -> PromoteStep {
    let own: Vec<&str> = facts
        .clusters
        .get(&flow.name.target)
        .map(|target| {
            let topics = target.topics().into_iter();
            topics
                .filter(|topic| {
                    !topic.starts_with("__") && super::InternalTopic::of(topic).is_none()
                })
                .filter(|topic| flow.policy.source(topic).is_none())
                .collect()
        })
        .unwrap_or_default();
    PromoteStep {
        title: "what only the target has",
        why: "topics made there are not on the source, and go there with the way back alone"
            .to_owned(),
        facts: if own.is_empty() {
            vec!["none is known".to_owned()]
        } else {
            vec![own.join(", ")]
        },
        lines: vec![],
    }
}

fn back(facts: &Facts, flow: &Flow, positions: &[FailoverPosition]) -> PromoteStep {
    let (source, target) = (&flow.name.source, &flow.name.target);
    let back = format!("{target}->{source}");
    let exists = facts
        .properties
        .as_ref()
        .and_then(|file| file.is_loosely_true(&format!("{back}.enabled")));
    let written: BTreeSet<&str> = positions.iter().map(|it| it.topic.as_str()).collect();
    let topics = if written.is_empty() {
        "TOPICS".to_owned()
    } else {
        written.into_iter().collect::<Vec<_>>().join(", ")
    };
    let mut lines = vec![
        format!("{back}.enabled = true"),
        format!("{back}.topics = {topics}"),
    ];
    if flow.state == FlowState::Active {
        lines.push(format!("{}.enabled = false", flow.name));
    }
    lines.push(format!("{back}.sync.group.offsets.enabled = true"));
    let mut told = vec![match exists {
        Some(true) => format!("{back} is set up in the file already"),
        _ => format!("{back} is not set up"),
    }];
    told.extend(read_there(facts, flow, positions));
    PromoteStep {
        title: "the way back, once the source lives again",
        why: format!(
            "records that the source has and the target has not stay where they are; groups read again what lies between their position here and its copy on {source}"
        ),
        facts: told,
        lines,
    }
}

/// Says what groups have to read on the source once they are back.
fn read_there(facts: &Facts, flow: &Flow, positions: &[FailoverPosition]) -> Vec<String> {
    let FlowName { source, target } = &flow.name;
    let status = flow_status(facts, flow);
    let (behind, unknown) = status.behind();
    let mut told = vec![];
    if behind > 0 {
        told.push(format!(
            "{behind} records are on {source} alone: groups find them there behind what they have read here"
        ));
    }
    if unknown > 0 {
        told.push(format!(
            "{unknown} partitions do not tell what is on {source} alone: name its log dirs"
        ));
    }
    let mut again: BTreeMap<&str, Option<u64>> = BTreeMap::new();
    for it in positions {
        let sum = again.entry(&it.group).or_insert(Some(0));
        *sum = sum
            .zip(it.read_again)
            .map(|(sum, more)| sum.saturating_add(more));
    }
    let mut known: Vec<(u64, &str)> = again
        .iter()
        .filter_map(|(group, count)| Some(((*count)?, *group)))
        .filter(|(count, _)| *count > 0)
        .collect();
    known.sort_unstable_by_key(|(count, group)| (std::cmp::Reverse(*count), *group));
    for (count, group) in known.iter().take(SHOWN_GROUPS) {
        told.push(format!(
            "{group} reads at most {count} records twice on the way to {target}"
        ));
    }
    if known.len() > SHOWN_GROUPS {
        told.push(format!(
            "and {} more groups, fewer each",
            known.len() - SHOWN_GROUPS
        ));
    }
    let unsure = again.values().filter(|count| count.is_none()).count();
    if unsure > 0 {
        told.push(format!(
            "of {unsure} groups it cannot be told how much they read twice"
        ));
    }
    let renamed = !matches!(flow.policy.class, PolicyClass::Identity { .. });
    if renamed {
        told.push(format!(
            "what was written here comes back as {target}{}TOPIC: groups on {source} subscribe to both names",
            flow.policy.separator
        ));
    }
    told
}

fn list(names: &BTreeSet<&str>) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<&str> = names.iter().copied().take(SHOWN).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
