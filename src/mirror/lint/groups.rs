//! Rules on groups: which are left out, which have no place to go on, which stand wrong on the target.

use std::collections::BTreeMap;

use super::rule::Rules;
use crate::mirror::facts::{ClusterFacts, GROUPS_TOPIC};
use crate::mirror::failover::{PositionNote, failover_positions};
use crate::mirror::filter::Taken;
use crate::mirror::flow::Flow;
use crate::mirror::sync_store::Translated;
use crate::mirror::translate::{Translation, Why, is_consumer_group, translations};

/// Names that are told; of more the number is.
const NAMED: usize = 4;

pub(super) fn apply(rules: &mut Rules<'_>) {
    for flow in rules.active() {
        let source = rules
            .cluster(&flow.name.source)
            .and_then(ClusterFacts::groups);
        if source.is_some() {
            left_out(rules, flow);
            without_checkpoint(rules, flow);
        } else {
            rules.silent(
                &["W-GRP-EXCL", "W-GRP-TOPIC", "W-NO-CP"],
                format!(
                    "the groups of {}: {GROUPS_TOPIC} in its log dirs",
                    flow.name.source
                ),
            );
        }
        if rules
            .cluster(&flow.name.target)
            .and_then(ClusterFacts::groups)
            .is_some()
        {
            on_target(rules, flow);
        } else {
            rules.silent(
                &["W-GRP-BUSY", "W-GRP-AHEAD", "W-GRP-NEG", "W-MULTI"],
                format!(
                    "the groups of {}: {GROUPS_TOPIC} in its log dirs",
                    flow.name.target
                ),
            );
        }
    }
}

fn left_out(rules: &mut Rules<'_>, flow: &Flow) {
    let Some(groups) = rules
        .cluster(&flow.name.source)
        .and_then(ClusterFacts::groups)
    else {
        return;
    };
    // Groups that read the same topics are one line.
    let mut reads_nothing: BTreeMap<Vec<&str>, Vec<&str>> = BTreeMap::new();
    // And groups that one item leaves out.
    let mut left_out: BTreeMap<(String, &str), Vec<&str>> = BTreeMap::new();
    for (name, group) in groups {
        if group.commits.is_empty() || !is_consumer_group(group) {
            continue;
        }
        match flow.filter_group(name) {
            Taken::NotIncluded => {
                let why = "no item of groups matches".to_owned();
                left_out.entry((why, "")).or_default().push(name);
            }
            Taken::Excluded { item } => {
                let item = item.map_or_else(String::new, |item| format!(" ({item})"));
                let why = format!("groups.exclude{item} leaves");
                left_out.entry((why, " out")).or_default().push(name);
            }
            Taken::Yes => {
                let none = group
                    .commits
                    .keys()
                    .all(|topic| flow.filter_topic(topic).known() == Some(false));
                if none {
                    let topics = group.commits.keys().map(String::as_str).collect();
                    reads_nothing.entry(topics).or_default().push(name);
                }
            }
            Taken::Unknown => {}
        }
    }
    for ((why, how), groups) in left_out {
        let text = match groups.len() {
            1 => format!("{why} it{how}: it gets no checkpoint"),
            count => format!("{why} {count} groups{how}: they get no checkpoint"),
        };
        rules.tell_flow(
            "W-GRP-EXCL",
            (flow, Some(some(&groups))),
            text,
            "set groups and groups.exclude so that they pass, if they must go on after a failover",
        );
    }
    for (topics, groups) in reads_nothing {
        let text = match &groups[..] {
            [_] => "none of the topics that it reads is copied: it gets no checkpoint".to_owned(),
            _ => format!(
                "{} groups read nothing else ({}): they get no checkpoint",
                groups.len(),
                some(&groups)
            ),
        };
        let place = match &groups[..] {
            [group] => (*group).to_owned(),
            _ => some(&topics),
        };
        rules.tell_flow(
            "W-GRP-TOPIC",
            (flow, Some(place)),
            text,
            "set topics so that they are copied",
        );
    }
}

/// Returns the first names, and how many there are more.
fn some(names: &[&str]) -> String {
    let shown = names.iter().copied().take(NAMED);
    let shown: Vec<&str> = shown.collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn without_checkpoint(rules: &mut Rules<'_>, flow: &Flow) {
    let Ok(all) = translations(rules.facts, flow) else {
        return;
    };
    let mut unknown = false;
    let mut without: BTreeMap<(&str, &str, &str), Vec<&Translation>> = BTreeMap::new();
    for it in all.iter().filter(|it| it.downstream.is_none()) {
        let why = match (it.why, it.translated) {
            (Why::NoSync, _) => {
                "its partition has no offset sync: nothing was copied yet, or the syncs are lost"
            }
            (_, Some(Translated::TooOld { .. })) => {
                "every sync that is left is newer than its commit"
            }
            _ => {
                unknown = true;
                continue;
            }
        };
        let key = (it.group.as_str(), it.topic.as_str(), why);
        without.entry(key).or_default().push(it);
    }
    for ((group, topic, why), all) in without {
        let Some(first) = all.first() else { continue };
        let at = place(group, topic, first.partition, all.len());
        let more = others(all.len());
        let text = format!("commit {} has no checkpoint{more}: {why}", first.upstream);
        rules.tell_flow(
            "W-NO-CP",
            (flow, Some(at)),
            text,
            "let the group commit once more, or start it by time on the target",
        );
    }
    if unknown {
        let (alias, topic) = flow.offset_syncs_topic();
        rules.silent(&["W-NO-CP"], format!("{topic} on {alias}"));
    }
}

/// Returns a partition's place, or its topic's where there are more of them.
fn place(group: &str, topic: &str, partition: i32, count: usize) -> String {
    if count == 1 {
        format!("{group} {topic}-{partition}")
    } else {
        format!("{group} {topic}")
    }
}

/// Says of how many partitions more it holds.
fn others(count: usize) -> String {
    match count.saturating_sub(1) {
        0 => String::new(),
        more => format!(", and so {} more", counted(more)),
    }
}

fn counted(partitions: usize) -> String {
    let word = if partitions == 1 {
        "partition"
    } else {
        "partitions"
    };
    format!("{partitions} {word}")
}

/// What is wrong by rule, group and topic: each partition with its sentence.
type Wrong<'a> = BTreeMap<(&'static str, &'a str, &'a str), Vec<(i32, String)>>;

fn on_target(rules: &mut Rules<'_>, flow: &Flow) {
    let positions = failover_positions(rules.facts, flow);
    let mut busy: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong: Wrong<'_> = BTreeMap::new();
    let target = rules.cluster(&flow.name.target);
    for it in &positions {
        let is_busy = it.notes.contains(&PositionNote::Active);
        if is_busy {
            *busy.entry(&it.group).or_default() += 1;
        }
        let Some(commit) = it.target_commit else {
            continue;
        };
        let log = target.and_then(|target| target.log(&it.remote_topic, it.partition));
        let end = log.map(|log| log.log_end_offset);
        let mut tell = |code, text| {
            let key = (code, it.group.as_str(), it.remote_topic.as_str());
            wrong.entry(key).or_default().push((it.partition, text));
        };
        let best = it.position.or(it.checkpoint);
        if let Some(best) = best.filter(|best| commit > *best)
            && !is_busy
            && !it.notes.contains(&PositionNote::BeyondEnd)
        {
            let text = format!("its commit on the target is {commit}, its translation {best}");
            tell("W-GRP-AHEAD", text);
        }
        if let Some(end) = end.filter(|end| commit > *end) {
            let text = format!("its commit on the target is {commit}, the log ends at {end}");
            tell("W-GRP-NEG", text);
        }
    }
    for (group, partitions) in busy {
        let text = format!(
            "it has members on the target: group sync is refused for it ({})",
            counted(partitions)
        );
        rules.tell_flow(
            "W-GRP-BUSY",
            (flow, Some(group.to_owned())),
            text,
            "stop those members, unless they are the failover",
        );
    }
    for ((code, group, topic), all) in wrong {
        let Some((partition, text)) = all.first() else {
            continue;
        };
        let at = Some(place(group, topic, *partition, all.len()));
        let more = others(all.len());
        let (follows, next) = if code == "W-GRP-AHEAD" {
            (
                "group sync never moves it back",
                "stop MirrorMaker 2, then reset the group (krescue mirror failover)",
            )
        } else {
            (
                "the lag is negative",
                "reset it to the end, or to where it is translated to",
            )
        };
        rules.tell_flow(code, (flow, at), format!("{text}{more}: {follows}"), next);
    }
    let workers = format!("{}-mm2", flow.name.source);
    let groups = rules
        .cluster(&flow.name.target)
        .and_then(ClusterFacts::groups)
        .unwrap_or_default();
    let members = groups
        .get(workers.as_str())
        .map_or(0, |group| group.members.len());
    let rest = rules
        .facts
        .properties
        .as_ref()
        .and_then(|file| file.is_loosely_true("dedicated.mode.enable.internal.rest"));
    if members > 1 && rest != Some(true) {
        let text = format!(
            "{members} workers share {workers} without internal REST: task changes of all but the leader are lost"
        );
        rules.tell_flow(
            "W-MULTI",
            (flow, None),
            text,
            "set dedicated.mode.enable.internal.rest = true and listeners",
        );
    }
}
