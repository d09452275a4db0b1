//! Rules on a flow's effective configuration, from whichever place it is.

use std::collections::{BTreeMap, BTreeSet};

use super::rule::Rules;
use crate::mirror::filter::NamePattern;
use crate::mirror::flow::{Flow, FlowName, SyncsLocation};
use crate::mirror::known_flows::flows_of_connectors;
use crate::mirror::policy::PolicyClass;
use crate::terms::KafkaVersion;

pub(super) fn apply(rules: &mut Rules<'_>) {
    for flow in rules.active() {
        patterns(rules, flow);
        separators(rules, flow);
        policy_class(rules, flow);
        numbers(rules, flow);
        version(rules, flow);
        factors(rules, flow);
        drift(rules, flow);
    }
    pairs(rules);
    shared_copies(rules);
    same_cluster(rules);
}

fn place(rules: &Rules<'_>, flow: &Flow, key: &str) -> Option<String> {
    let line = flow.config.get(key)?.line?;
    let file = rules.facts.properties.as_ref()?;
    Some(format!("{}:{line}", file.file))
}

fn patterns(rules: &mut Rules<'_>, flow: &Flow) {
    for (key, pattern) in [
        ("topics", &flow.topics.include),
        ("topics.exclude", &flow.topics.exclude),
        ("groups", &flow.groups.include),
        ("groups.exclude", &flow.groups.exclude),
    ] {
        let at = place(rules, flow, key);
        if let Err(error) = pattern {
            let text = format!(
                "{key}: {error}; the connector fails, or what it takes cannot be told here"
            );
            rules.tell_flow(
                "E-RE-SYNTAX",
                (flow, at.clone()),
                text,
                "mend the pattern; Java's syntax counts",
            );
        }
        let raw = flow.value(key).unwrap_or_default();
        if raw.contains('{')
            && raw
                .split(',')
                .any(|part| part.contains('{') && !part.contains('}'))
        {
            let text = format!("{key}: the list is split at the comma inside of {{m,n}}");
            rules.tell_flow(
                "W-RE-COMMA",
                (flow, at.clone()),
                text,
                "write it without a comma, such as [0-9][0-9]?",
            );
        }
        if key != "topics" {
            continue;
        }
        let (Ok(pattern), Some(source)) = (pattern, rules.cluster(&flow.name.source)) else {
            continue;
        };
        for item in pattern.items() {
            let plain = item
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
            let longer = source
                .topics()
                .into_iter()
                .find(|topic| topic.starts_with(item.as_str()) && *topic != item);
            let is_topic = source.topics().contains(&item.as_str());
            if let (true, false, Some(longer)) = (plain && !item.is_empty(), is_topic, longer) {
                let text =
                    format!("\"{item}\" matches only a topic of just that name, not {longer}");
                rules.tell_flow(
                    "W-RE-PARTIAL",
                    (flow, at.clone()),
                    text,
                    format!("write {item}.*"),
                );
            }
        }
    }
}

fn separators(rules: &mut Rules<'_>, flow: &Flow) {
    let separator = flow.policy.separator.as_str();
    let at = place(rules, flow, "replication.policy.separator");
    if separator.is_empty() {
        let text = "the separator is empty: where an alias ends cannot be told from a name";
        rules.tell_flow(
            "E-SEP-EMPTY",
            (flow, at),
            text,
            "set replication.policy.separator to one that no alias has",
        );
        return;
    }
    if separator.trim() != separator {
        let text = format!(
            "the separator is \"{separator}\", blanks included: no topic may have such a name"
        );
        rules.tell_flow("E-SEP-BLANK", (flow, at.clone()), text, "remove the blanks");
    }
    for alias in [&flow.name.source, &flow.name.target] {
        if alias.contains(separator) {
            let text = format!(
                "the alias \"{alias}\" has the separator in it: names are taken apart wrong, cycles are not seen"
            );
            rules.tell_flow(
                "E-ALIAS-SEP",
                (flow, at.clone()),
                text,
                "choose another alias or separator",
            );
        }
    }
    if separator == "-" {
        let text = "names with dashes look like copies of other clusters";
        rules.tell_flow(
            "W-SEP-DASH",
            (flow, at),
            text,
            "choose a separator that no topic has",
        );
    }
}

fn policy_class(rules: &mut Rules<'_>, flow: &Flow) {
    if let PolicyClass::Other(class) = &flow.policy.class {
        let at = place(rules, flow, "replication.policy.class");
        let text = format!(
            "{class} is not Kafka's: names on the target, cycles and translations cannot be told"
        );
        rules.tell_flow(
            "I-POLICY-OTHER",
            (flow, at),
            text,
            "look at the target's topics yourself",
        );
    }
}

fn numbers(rules: &mut Rules<'_>, flow: &Flow) {
    let at = place(rules, flow, "offset.lag.max");
    match flow.number("offset.lag.max", 100) {
        Some(0) => {
            let text = "a sync is written for each record";
            rules.tell_flow(
                "W-LAG0",
                (flow, at),
                text,
                "leave it at 100 unless the topics are small",
            );
        }
        Some(10_001..) => {
            let text = "syncs are so far apart that groups read that many records again";
            rules.tell_flow("W-LAGBIG", (flow, at), text, "lower offset.lag.max");
        }
        _ => {}
    }
    if flow.bool("sync.group.offsets.enabled", false) == Some(false) {
        let text = "groups have no commits on the target: after a failover each starts where auto.offset.reset says";
        rules.tell_flow(
            "I-NOSYNC",
            (flow, None),
            text,
            "set sync.group.offsets.enabled = true, or use krescue mirror failover",
        );
    }
    if flow.syncs_location == SyncsLocation::Source {
        let text = "the offset syncs lie on the source and are lost with it; checkpoints remain";
        rules.tell_flow(
            "W-LOC",
            (flow, None),
            text,
            "for disaster recovery set offset-syncs.topic.location = target",
        );
    }
    let isolation = flow.value("source.consumer.isolation.level");
    let eos = flow
        .value("target.cluster.exactly.once.source.support")
        .unwrap_or_default();
    if eos.eq_ignore_ascii_case("enabled") && isolation != Some("read_committed") {
        let text =
            "records of aborted transactions are copied: exactly-once does not keep them out";
        let next = format!(
            "set {}.consumer.isolation.level = read_committed",
            flow.name.source
        );
        rules.tell_flow("W-EOS-ISO", (flow, None), text, next);
    }
}

fn version(rules: &mut Rules<'_>, flow: &Flow) {
    let text = if flow.version < KafkaVersion::new(3, 3, 0) {
        "partitions without a sync are translated to the commit itself: groups may skip records or stand beyond the end"
    } else if flow.version < KafkaVersion::new(3, 4, 1) {
        "commits are counted on from the last sync: with compaction or transactions groups skip records"
    } else if flow.version < KafkaVersion::new(3, 5, 2) {
        "syncs thin out too much: groups read far more again than needed"
    } else if flow.version < KafkaVersion::new(3, 7, 0) {
        "the last records of an idle topic get no sync: groups at its end stay up to offset.lag.max short"
    } else {
        return;
    };
    let text = format!("MirrorMaker 2 {}: {text}", flow.version);
    rules.tell_flow(
        "W-VER",
        (flow, None),
        text,
        "upgrade MirrorMaker 2 to 3.7.1 or later",
    );
}

/// Replication factors of the worker's own topics (`DistributedConfig`).
const WORKER_FACTORS: [&str; 3] = [
    "config.storage.replication.factor",
    "offset.storage.replication.factor",
    "status.storage.replication.factor",
];

/// Replication factors that the cluster cannot have.
fn factors(rules: &mut Rules<'_>, flow: &Flow) {
    let FlowName { source, target } = &flow.name;
    let syncs_on = flow.offset_syncs_topic().0.to_owned();
    let of_flow = |key| flow.number(key, if key == "replication.factor" { 2 } else { 3 });
    let mut factors: Vec<(&str, Option<i64>, &str)> = [
        ("replication.factor", target.as_str()),
        ("checkpoints.topic.replication.factor", target),
        ("heartbeats.topic.replication.factor", target),
        ("offset-syncs.topic.replication.factor", &syncs_on),
    ]
    .map(|(key, alias)| (key, of_flow(key), alias))
    .to_vec();
    // The worker's own topics, by the cluster's keys or the top level's; without the file nobody knows them.
    if let Some(file) = &rules.facts.properties {
        for key in WORKER_FACTORS {
            let value = file
                .get(&format!("{target}.{key}"))
                .or_else(|| file.get(key));
            let factor = value.map_or(Some(3), |it| it.value.trim().parse().ok());
            factors.push((key, factor, target));
        }
    }
    for (key, factor, alias) in factors {
        let brokers = rules
            .cluster(alias)
            .and_then(|it| it.metadata.as_ref())
            .map(|it| it.brokers.len());
        let Some(brokers) = brokers.filter(|brokers| *brokers > 0) else {
            rules.silent(
                &["E-RF"],
                format!("the brokers of {source} and {target}: their metadata log"),
            );
            continue;
        };
        // −1 leaves it to the brokers.
        let too_many = factor.and_then(|factor| usize::try_from(factor).ok());
        if let Some(factor) = too_many.filter(|factor| *factor > brokers) {
            let at = place(rules, flow, key);
            let text = format!(
                "{key} is {factor}, {alias} has {brokers} brokers: its topics are not created, and the worker ends after 60 s"
            );
            rules.tell_flow(
                "E-RF",
                (flow, at),
                text,
                format!("set {key} = {brokers} or less"),
            );
        }
    }
}

/// What the file says against what is in force.
fn drift(rules: &mut Rules<'_>, flow: &Flow) {
    if rules.facts.properties.is_none() {
        return;
    }
    let Some(target) = rules
        .cluster(&flow.name.target)
        .filter(|it| !it.connectors().is_empty())
    else {
        let missing = format!(
            "mm2-configs.{}.internal on {}",
            flow.name.source, flow.name.target
        );
        return rules.silent(&["W-CONF-DRIFT"], missing);
    };
    let in_force = flows_of_connectors(target, flow.version);
    let Some(other) = in_force.iter().find(|it| it.name == flow.name) else {
        return;
    };
    for key in [
        "enabled",
        "topics",
        "topics.exclude",
        "groups",
        "groups.exclude",
        "replication.policy.class",
        "replication.policy.separator",
        "offset-syncs.topic.location",
        "offset.lag.max",
        "sync.group.offsets.enabled",
    ] {
        let (file, force) = (flow.value(key), other.value(key));
        if file != force {
            let word = |value: Option<&str>| {
                value.map_or_else(|| "not set".to_owned(), |it| format!("\"{it}\""))
            };
            let at = place(rules, flow, key);
            let text = format!(
                "{key} is {} in the file and {} in force",
                word(file),
                word(force)
            );
            rules.tell_flow(
                "W-CONF-DRIFT",
                (flow, at),
                text,
                "restart MirrorMaker 2, and look for a second process with another file",
            );
        }
    }
}

/// Rules on two flows.
fn pairs(rules: &mut Rules<'_>) {
    let flows: BTreeMap<&FlowName, &Flow> = rules.active().map(|flow| (&flow.name, flow)).collect();
    let all: Vec<&Flow> = flows.values().copied().collect();
    let mixed = all.windows(2).find(|pair| match pair {
        [a, b] => {
            let class = |flow: &Flow| std::mem::discriminant(&flow.policy.class);
            a.policy.separator != b.policy.separator || class(a) != class(b)
        }
        _ => false,
    });
    if let Some([a, b]) = mixed {
        let text = format!(
            "{} and {} name topics by different rules: cycles are not seen",
            a.name, b.name
        );
        rules.tell(
            "W-POLICY-MIX",
            None,
            text,
            "set replication.policy.* once, at the top level",
        );
    }
    for flow in all {
        let back = FlowName::new(flow.name.target.clone(), flow.name.source.clone());
        let Some(back) = flows
            .get(&back)
            .filter(|_| flow.name.source < flow.name.target)
        else {
            continue;
        };
        let identity = |flow: &Flow| matches!(flow.policy.class, PolicyClass::Identity { .. });
        if identity(flow) && identity(back) && may_take_the_same(rules, flow, back) {
            let text = format!(
                "{} and {} keep names: what one copies the other copies back, without end",
                flow.name, back.name
            );
            rules.tell_flow(
                "E-LOOP-IDENTITY",
                (flow, None),
                text,
                "take disjoint topics in both directions, or the default policy",
            );
        }
        if flow.syncs_location != back.syncs_location {
            let text = format!(
                "{} and {} write their offset syncs to one topic",
                flow.name, back.name
            );
            rules.tell_flow(
                "W-SYNCS-SHARED",
                (flow, None),
                text,
                "set offset-syncs.topic.location alike for both",
            );
        }
    }
}

/// Says whether a topic may pass the filters of both flows: one that is known, or a name that a filter spells out; of patterns
/// without a topic that is known it cannot be told that none does.
fn may_take_the_same(rules: &Rules<'_>, flow: &Flow, back: &Flow) -> bool {
    let sides = [&flow.name.source, &flow.name.target];
    let known = sides.map(|alias| rules.cluster(alias).map(|it| it.topics()));
    let known: Vec<&str> = known.into_iter().flatten().flatten().collect();
    let includes = [&flow.topics.include, &back.topics.include];
    let patterns = || includes.iter().filter_map(|of| of.as_ref().ok());
    let items = || patterns().flat_map(NamePattern::items).map(String::as_str);
    let is_plain = |item: &str| {
        let mut bytes = item.bytes();
        bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let passes = |topic: &str| {
        let taken = |flow: &Flow| flow.filter_topic(topic).known() != Some(false);
        taken(flow) && taken(back)
    };
    (known.is_empty() && !items().all(is_plain)) || known.iter().copied().chain(items()).any(passes)
}

/// Flows that write to one topic of a target.
fn shared_copies(rules: &mut Rules<'_>) {
    let flows: Vec<&Flow> = rules.active().collect();
    let mut by_copy: BTreeMap<(&str, String), BTreeSet<&FlowName>> = BTreeMap::new();
    for flow in &flows {
        let Some(source) = rules.cluster(&flow.name.source) else {
            continue;
        };
        let copied = source
            .topics()
            .into_iter()
            .filter(|topic| flow.topic(topic).is_copied() == Some(true));
        for remote in copied.filter_map(|topic| flow.remote_topic(topic)) {
            let key = (flow.name.target.as_str(), remote);
            by_copy.entry(key).or_default().insert(&flow.name);
        }
    }
    by_copy.retain(|_, flows| flows.len() > 1);
    let mut by_flows: BTreeMap<(&str, BTreeSet<&FlowName>), Vec<String>> = BTreeMap::new();
    for ((target, remote), flows) in by_copy {
        by_flows.entry((target, flows)).or_default().push(remote);
    }
    for ((target, flows), topics) in by_flows {
        let names: Vec<String> = flows.iter().map(ToString::to_string).collect();
        let first = topics.first().cloned().unwrap_or_default();
        let more = match topics.len() {
            1 => String::new(),
            count => format!(" and {} more topics", count - 1),
        };
        let text = format!(
            "{} write to {first}{more}: its records are of several logs, and no offset of one of them translates",
            names.join(" and ")
        );
        rules.tell(
            "E-REMOTE-SHARED",
            Some(format!("{first} on {target}")),
            text,
            "take disjoint topics, or a policy that puts the source's alias into names",
        );
    }
    let keeps_names = |flow: &&&Flow| matches!(flow.policy.class, PolicyClass::Identity { .. });
    for flow in flows.iter().filter(keeps_names) {
        let beside = flows.iter().filter(keeps_names).any(|other| {
            other.name.target == flow.name.target && other.name.source != flow.name.source
        });
        if beside && rules.cluster(&flow.name.source).is_none() {
            let missing = format!("the topics of {}: its log dirs", flow.name.source);
            rules.silent(&["E-REMOTE-SHARED"], missing);
        }
    }
}

/// Two aliases of one cluster.
fn same_cluster(rules: &mut Rules<'_>) {
    let mut by_id: BTreeMap<&str, &str> = BTreeMap::new();
    for (alias, cluster) in &rules.facts.clusters {
        let Some(id) = cluster.cluster_id.as_deref() else {
            continue;
        };
        if let Some(other) = by_id.insert(id, alias) {
            let text =
                format!("{other} and {alias} are one cluster ({id}): it is copied to itself");
            rules.tell("E-SAME-CLUSTER", None, text, "name each cluster once");
        }
    }
    let Some(file) = &rules.facts.properties else {
        return;
    };
    let mut by_address: BTreeMap<Vec<String>, String> = BTreeMap::new();
    for alias in file.aliases() {
        let Some(property) = file.bootstrap(&alias) else {
            continue;
        };
        let mut address = crate::mirror::filter::split_list(&property.value);
        address.sort();
        if let Some(other) = by_address.insert(address, alias.clone()) {
            let place = Some(format!("{}:{}", file.file, property.line));
            let text = format!("{other} and {alias} have the same bootstrap.servers");
            rules.tell("E-SAME-CLUSTER", place, text, "name each cluster once");
        }
    }
}
