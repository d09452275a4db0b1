//! Rules on topics' names: what is taken for a copy, for a cycle, for an internal topic.

use std::collections::BTreeMap;

use super::rule::Rules;
use crate::mirror::content::InternalTopic;
use crate::mirror::flow::{Flow, TopicVerdict};
use crate::mirror::policy::{HEARTBEATS, PolicyClass};

/// The longest name that a broker takes.
const MAX_NAME: usize = 249;
/// Lints of one rule and flow that are told one by one.
const SHOWN: usize = 20;

pub(super) fn apply(rules: &mut Rules<'_>) {
    for flow in rules.active() {
        let Some(source) = rules.cluster(&flow.name.source) else {
            let missing = format!("the topics of {}: its log dirs", flow.name.source);
            rules.silent(
                &[
                    "W-FALSE-CYCLE",
                    "W-FALSE-REMOTE",
                    "W-HB-NAME",
                    "W-INTERNAL-NAME",
                    "W-NAME-LEN",
                    "W-NAME-COLLIDE",
                    "E-LOOP",
                ],
                missing,
            );
            continue;
        };
        let topics: Vec<&str> = source
            .topics()
            .into_iter()
            .filter(|topic| !matches!(InternalTopic::of(topic), Some(kind) if kind != InternalTopic::Heartbeats))
            .filter(|topic| !topic.starts_with("__"))
            .collect();
        for topic in topics.iter().take(100_000) {
            one(rules, flow, topic);
        }
        collisions(rules, flow, &topics);
        if let Some(target) = rules.cluster(&flow.name.target)
            && let Some(remote) = flow.remote_topic(HEARTBEATS)
            && target.log(&remote, 0).is_none()
        {
            let text = format!(
                "{remote} is not on {}: no worker writes heartbeats into {}, so tools see no path",
                flow.name.target, flow.name.source
            );
            rules.tell_flow(
                "I-HB-MISSING",
                (flow, None),
                text,
                "run a worker that writes to the source too, with heartbeats",
            );
        }
    }
}

fn one(rules: &mut Rules<'_>, flow: &Flow, topic: &str) {
    let at = || Some(topic.to_owned());
    let policy = &flow.policy;
    let verdict = flow.topic(topic);
    let upstream = policy.upstream(topic);
    let is_default = policy.class == PolicyClass::Default;
    if let (true, Some(source), Some(upstream)) = (is_default, policy.source(topic), upstream) {
        let aliases = &rules.facts.clusters;
        // A copy of a known cluster has its original there.
        let original = aliases
            .get(source)
            .map(|cluster| cluster.topics().contains(&upstream));
        let known = aliases.get(source).is_some();
        if verdict == TopicVerdict::Cycle && source == flow.name.target && original == Some(false) {
            let text = format!(
                "it looks like a copy from {source}, which has no {upstream}: it is never copied there"
            );
            rules.tell_flow(
                "W-FALSE-CYCLE",
                (flow, at()),
                text,
                "rename it, or choose another separator",
            );
        } else if known && original == Some(false) || source == flow.name.source {
            let text = format!("it looks like a copy from {source} and is none");
            rules.tell_flow(
                "W-FALSE-REMOTE",
                (flow, at()),
                text,
                "rename it, or choose another separator",
            );
        }
        if upstream
            .strip_prefix(source)
            .is_some_and(|rest| rest.starts_with(&policy.separator))
        {
            let text = format!("\"{source}\" stands twice in a row: a loop of copies of copies");
            rules.tell_flow(
                "E-LOOP",
                (flow, at()),
                text,
                "use one alias for a cluster in every deployment",
            );
        }
    }
    let is_path = policy.original(topic) == HEARTBEATS
        && rules
            .facts
            .clusters
            .keys()
            .any(|alias| policy.source(topic) == Some(alias));
    let heartbeats = match policy.class {
        PolicyClass::Identity { .. } => topic.ends_with(HEARTBEATS),
        _ => policy.is_heartbeats(topic),
    };
    if heartbeats && topic != HEARTBEATS && !is_path {
        let text = "it is taken for heartbeats: it is copied whatever the filter says, and its first piece for a cluster";
        rules.tell_flow("W-HB-NAME", (flow, at()), text, "rename it");
    }
    let silent = match &verdict {
        TopicVerdict::Internal => true,
        TopicVerdict::Excluded { .. } => {
            flow.value("topics.exclude").is_none() && flow.value("topics.blacklist").is_none()
        }
        _ => false,
    };
    if silent {
        let text = format!("it is not copied ({verdict}), and nothing tells so");
        rules.tell_flow(
            "W-INTERNAL-NAME",
            (flow, at()),
            text,
            "rename it, or set topics.exclude yourself",
        );
    }
    if let Some(remote) = flow
        .remote_topic(topic)
        .filter(|remote| remote.len() > MAX_NAME && verdict.is_copied() == Some(true))
    {
        let text = format!(
            "its name on the target has {} characters, brokers take {MAX_NAME}",
            remote.len()
        );
        rules.tell_flow(
            "W-NAME-LEN",
            (flow, at()),
            text,
            "shorten the topic's name or the alias",
        );
    }
}

/// Names on the target that a broker takes for one another.
fn collisions(rules: &mut Rules<'_>, flow: &Flow, topics: &[&str]) {
    let Some(target) = rules.cluster(&flow.name.target) else {
        return rules.silent(
            &["W-NAME-COLLIDE"],
            format!("the topics of {}: its log dirs", flow.name.target),
        );
    };
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    for topic in target.topics() {
        taken.insert(topic.replace('.', "_"), topic);
    }
    let mut told = 0;
    for topic in topics {
        let Some(remote) = flow
            .remote_topic(topic)
            .filter(|_| flow.topic(topic).is_copied() == Some(true))
        else {
            continue;
        };
        let same = taken
            .get(&remote.replace('.', "_"))
            .filter(|other| **other != remote);
        if let Some(other) = same.filter(|_| told < SHOWN) {
            told += 1;
            let text = format!(
                "its copy {remote} is not created: {other} is there, and . and _ are one in metrics' names"
            );
            rules.tell_flow(
                "W-NAME-COLLIDE",
                (flow, Some((*topic).to_owned())),
                text,
                "rename one of them",
            );
        }
    }
}
