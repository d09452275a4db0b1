//! Rules that need a live cluster's word: who may write to copies, whether brokers make topics by themselves.

use super::rule::Rules;
use crate::mirror::facts::Acls;
use crate::mirror::flow::{Flow, FlowName};
use crate::mirror::lag::flow_status;

pub(super) fn apply(rules: &mut Rules<'_>) {
    for flow in rules.active() {
        auto_create(rules, flow);
        acls(rules, flow);
        new_groups(rules, flow);
        exactly_once(rules, flow);
    }
}

fn auto_create(rules: &mut Rules<'_>, flow: &Flow) {
    let FlowName { source, target } = &flow.name;
    for alias in [source, target] {
        let live = rules.cluster(alias).and_then(|it| it.live.as_ref());
        match live.and_then(|live| live.auto_create) {
            Some(true) => rules.tell_flow(
                "W-AUTOCREATE",
                (flow, Some(alias.clone())),
                "auto.create.topics.enable is on: a topic that is deleted while MirrorMaker 2 runs comes back, empty and with \
                 the brokers' defaults, and so do its own topics, not compacted",
                "set auto.create.topics.enable = false on its brokers",
            ),
            Some(false) => {}
            None => rules.silent(
                &["W-AUTOCREATE"],
                format!("the brokers' settings of {alias}: --cluster {alias}=HOST:PORT"),
            ),
        }
    }
}

fn acls(rules: &mut Rules<'_>, flow: &Flow) {
    let target = &flow.name.target;
    let live = rules.cluster(target).and_then(|it| it.live.as_ref());
    let all = match live.and_then(|live| live.acls.as_ref()) {
        None => {
            let missing = format!("the ACLs of {target}: --cluster {target}=HOST:PORT");
            return rules.silent(&["W-ACL-WRITE", "I-NO-AUTHZ"], missing);
        }
        Some(Acls::NoAuthorizer) => {
            return rules.tell_flow(
                "I-NO-AUTHZ",
                (flow, Some(target.clone())),
                "it has no authorizer: everybody may write to the copies",
                "let no producer know their names",
            );
        }
        Some(Acls::Rules(all)) => all,
    };
    let mut remote: Vec<String> = flow_status(rules.facts, flow)
        .partitions
        .into_iter()
        .filter(|lag| lag.target.is_some())
        .filter_map(|lag| lag.remote_topic)
        .collect();
    remote.sort_unstable();
    remote.dedup();
    for topic in remote {
        let mut who: Vec<&str> = all
            .iter()
            .filter(|rule| rule.allows && rule.names(&topic) && rule.is_to_write())
            .map(|rule| rule.principal.as_str())
            .collect();
        who.sort_unstable();
        who.dedup();
        // One principal is MirrorMaker 2 itself.
        if who.len() > 1 {
            let text = format!(
                "{} may write to it: each but MirrorMaker 2's makes it another log than the source's",
                who.join(", ")
            );
            let next = format!(
                "kafka-acls.sh --remove --operation Write --topic {topic} for all but MirrorMaker 2, until the failover"
            );
            rules.tell_flow("W-ACL-WRITE", (flow, Some(topic)), text, next);
        }
    }
}

/// Groups that the checkpoint task has perhaps not seen yet.
fn new_groups(rules: &mut Rules<'_>, flow: &Flow) {
    if flow.bool("refresh.groups.enabled", true) != Some(false) {
        return;
    }
    rules.tell_flow(
        "I-GRP-REFRESH",
        (flow, None),
        "refresh.groups.enabled is false: a group that is younger than the connector's start gets no checkpoint",
        "set refresh.groups.enabled = true, or restart MirrorMaker 2 after new groups came",
    );
}

fn exactly_once(rules: &mut Rules<'_>, flow: &Flow) {
    let Some(file) = rules.facts.properties.as_ref() else {
        return rules.silent(&["W-EOS"], "MirrorMaker 2's file: --mm2 FILE");
    };
    let target = &flow.name.target;
    let key = format!("{target}.exactly.once.source.support");
    let support = file
        .get(&key)
        .map(|it| it.value.trim().to_ascii_lowercase());
    let rest = file.is_loosely_true("dedicated.mode.enable.internal.rest");
    if matches!(support.as_deref(), Some("enabled" | "preparing")) && rest != Some(true) {
        rules.tell_flow(
            "W-EOS",
            (flow, None),
            format!("{key} is on without internal REST: one node works, a second one never starts its tasks"),
            "set dedicated.mode.enable.internal.rest = true and listeners, or run one node only",
        );
    }
}
