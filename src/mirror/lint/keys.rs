//! Rules on the keys of `mm2.properties`: flows that never start, keys that nobody reads, values that are none.

use super::rule::Rules;
use crate::mirror::flow::FlowState;
use crate::mirror::properties::{MirrorProperties, MirrorProperty, flow_keys, reaches_every_flow};
use crate::terms::KafkaVersion;

/// Keys that people write for another one.
const SLIPS: [(&str, &str); 6] = [
    ("enable", "enabled"),
    ("emit.heartbeats", "emit.heartbeats.enabled"),
    ("emit.checkpoints", "emit.checkpoints.enabled"),
    ("task.max", "tasks.max"),
    ("topic.blacklist", "topics.exclude"),
    ("sync.topics.configs.enabled", "sync.topic.configs.enabled"),
];
/// Top-level keys of Connect's worker that reach every one.
const WORKER_PREFIXES: [&str; 9] = [
    "offset.storage",
    "config.storage",
    "status.storage",
    "key.converter",
    "value.converter",
    "header.converter",
    "task",
    "worker",
    "config.providers",
];
/// Top-level keys that are read where they stand.
const OWN: [&str; 8] = [
    "clusters",
    "dedicated.mode.enable.internal.rest",
    "listeners",
    "bootstrap.servers",
    "rest.advertised.host.name",
    "rest.advertised.port",
    "client.id",
    "plugin.path",
];

pub(super) fn apply(rules: &mut Rules<'_>) {
    let Some(file) = &rules.facts.properties else {
        rules.silent(
            &[
                "E-FLOW-OFF",
                "W-FLOW-HBONLY",
                "E-FLOW-ALIAS",
                "E-KEY-SPLIT",
                "E-NOT-BOOL",
                "W-TRAIL",
                "W-ENABLED-GLOBAL",
                "W-TYPO",
                "W-SCOPE",
                "W-OLDKEY",
                "W-TWICE",
                "W-RE-ESC",
                "E-BOOT",
                "W-CONF-DRIFT",
            ],
            "MirrorMaker 2's properties file (--mm2 FILE)",
        );
        return;
    };
    flows(rules, file);
    let aliases = file.aliases();
    for property in &file.properties {
        let place = || Some(format!("{}:{}", file.file, property.line));
        if let Some(earlier) = property.earlier_lines.last() {
            let text = format!(
                "{} stands in line {earlier} too; the later one counts",
                property.key
            );
            rules.tell("W-TWICE", place(), text, "leave one of them");
        }
        if aliases.contains(&property.key) && property.value.trim_start().starts_with("->") {
            let text = format!(
                "the key is \"{}\" alone: a blank ends a key, so this flow is not set up",
                property.key
            );
            let right: String = format!("{} {}", property.key, property.value)
                .split_whitespace()
                .collect();
            rules.tell(
                "E-KEY-SPLIT",
                place(),
                text,
                format!("write it without blanks: {right}"),
            );
            continue;
        }
        key(rules, file, &aliases, property);
        if backslash_is_lost(property) {
            let text = format!(
                "a single backslash of {} is dropped: the value is \"{}\"",
                property.key, property.value
            );
            rules.tell("W-RE-ESC", place(), text, "double each backslash");
        }
    }
}

fn flows(rules: &mut Rules<'_>, file: &MirrorProperties) {
    let restart = "and restart MirrorMaker 2";
    if rules.active().next().is_none() {
        let pairs: Vec<String> = rules
            .flows
            .iter()
            .map(|flow| format!("{}.enabled = true", flow.name))
            .collect();
        let text = if rules
            .flows
            .iter()
            .any(|it| it.state == FlowState::HeartbeatOnly)
        {
            "no flow copies records: only heartbeats are written"
        } else {
            "no flow runs: the process ends with \"No source->target replication flows\""
        };
        let next = format!("add {} {restart}", pairs.join(" or "));
        rules.tell("E-FLOW-OFF", Some(file.file.clone()), text, next);
    }
    for flow in rules.flows {
        let prefix = format!("{}.", flow.name);
        if let Some(enabled) = file.get(&format!("{prefix}enabled")) {
            let place = || Some(format!("{}:{}", file.file, enabled.line));
            let trimmed = enabled.value.trim();
            let is_bool = ["true", "false"]
                .iter()
                .any(|it| trimmed.eq_ignore_ascii_case(it));
            if !is_bool {
                let text = format!(
                    "\"{}\" is neither true nor false: the connector does not start",
                    enabled.value
                );
                rules.tell_flow("E-NOT-BOOL", (flow, place()), text, "write true or false");
            } else if trimmed != enabled.value {
                let text = "a blank follows the value: the worker takes it for false, its connector for the word itself";
                rules.tell_flow(
                    "W-TRAIL",
                    (flow, place()),
                    text,
                    "remove the blank at the line's end",
                );
            }
        }
        let set = file
            .below(&prefix)
            .find(|(key, _)| *key != "enabled" && !key.starts_with("emit.heartbeats"));
        if let (FlowState::HeartbeatOnly, Some((key, property))) = (flow.state, set) {
            let place = Some(format!("{}:{}", file.file, property.line));
            let text =
                format!("{key} is set, but the flow copies nothing: it only writes heartbeats");
            let next = format!("add {}.enabled = true {restart}", flow.name);
            rules.tell_flow("W-FLOW-HBONLY", (flow, place), text, next);
        }
    }
    if let Some(enabled) = file
        .get("enabled")
        .filter(|it| it.value.trim().eq_ignore_ascii_case("true"))
    {
        let place = Some(format!("{}:{}", file.file, enabled.line));
        let text = "it enables every pair of clusters, in both directions";
        rules.tell(
            "W-ENABLED-GLOBAL",
            place,
            text,
            "set enabled for the flows that you want alone",
        );
    }
    for alias in file.aliases() {
        if file.bootstrap(&alias).is_some() {
            continue;
        }
        let is_target = rules
            .flows
            .iter()
            .any(|it| it.state != FlowState::Off && it.name.target == alias);
        let text = if is_target {
            "it has no bootstrap.servers: the worker of a flow to it goes to localhost:9092"
        } else {
            "it has no bootstrap.servers: the connectors of a flow from it do not start"
        };
        let next = format!("add {alias}.bootstrap.servers = HOST:PORT");
        rules.tell("E-BOOT", Some(alias), text, next);
    }
}

/// Looks at one key's place and spelling.
fn key(
    rules: &mut Rules<'_>,
    file: &MirrorProperties,
    aliases: &[String],
    property: &MirrorProperty,
) {
    let place = || Some(format!("{}:{}", file.file, property.line));
    let name = property.key.as_str();
    if let Some((source, rest)) = name.split_once("->") {
        let target = aliases
            .iter()
            .find_map(|alias| rest.strip_prefix(alias.as_str())?.strip_prefix('.'));
        let known = aliases.iter().any(|alias| alias == source);
        let Some(key) = target.filter(|_| known) else {
            let text = format!(
                "{name} names a cluster that is none of {}: nobody reads it",
                aliases.join(", ")
            );
            return rules.tell(
                "E-FLOW-ALIAS",
                place(),
                text,
                "write the aliases as in clusters; case counts",
            );
        };
        if let Some(producer) = key.strip_prefix("producer.") {
            let target = rest.strip_suffix(key).unwrap_or(rest).trim_end_matches('.');
            let text = format!("{key} does not reach the producer that writes remote topics");
            let next = format!(
                "write {target}.producer.{producer}, or {source}->{target}.producer.override.{producer}"
            );
            return rules.tell("W-SCOPE", place(), text, next);
        }
        return spelling(rules, property, key, place());
    }
    let cluster = aliases
        .iter()
        .find_map(|alias| Some((alias, name.strip_prefix(alias.as_str())?.strip_prefix('.')?)));
    if let Some((alias, key)) = cluster {
        let of_connector = flow_keys().any(|known| known == key)
            && ![
                "security.protocol",
                "metric.reporters",
                "name",
                "key.converter",
                "value.converter",
                "header.converter",
            ]
            .contains(&key);
        if of_connector {
            let text = format!(
                "{key} has no effect at a cluster: only settings of clients and of Connect's worker have"
            );
            rules.tell(
                "W-SCOPE",
                place(),
                text,
                format!("write it for a flow: {alias}->OTHER.{key}"),
            );
        }
        return;
    }
    if reaches_every_flow(name) {
        return old_key(rules, property, name, place());
    }
    let worker = WORKER_PREFIXES
        .iter()
        .any(|prefix| name.starts_with(prefix));
    if worker || OWN.contains(&name) {
        return;
    }
    let ignored = [
        "producer.",
        "consumer.",
        "admin.",
        "offset.flush.",
        "exactly.once.",
    ];
    if ignored.iter().any(|prefix| name.starts_with(prefix)) || name == "use.defaults.from" {
        let text = format!("{name} has no effect at the top level");
        let next = if name == "use.defaults.from" {
            "write it for a flow: SOURCE->TARGET.use.defaults.from".to_owned()
        } else {
            format!("write it for a cluster: ALIAS.{name}")
        };
        return rules.tell("W-SCOPE", place(), text, next);
    }
    spelling(rules, property, name, place());
}

fn spelling(rules: &mut Rules<'_>, property: &MirrorProperty, key: &str, place: Option<String>) {
    if flow_keys().any(|known| known == key) {
        return old_key(rules, property, key, place);
    }
    let slip = SLIPS
        .iter()
        .find(|(slip, _)| *slip == key)
        .map(|(_, right)| *right);
    let meant = slip.or_else(|| flow_keys().find(|known| distance(known, key) <= 2));
    if let Some(meant) = meant {
        let text = format!("nobody reads {}", property.key);
        rules.tell("W-TYPO", place, text, format!("did you mean {meant}?"));
    }
}

fn old_key(rules: &mut Rules<'_>, property: &MirrorProperty, key: &str, place: Option<String>) {
    let Some(version) = rules.flows.iter().map(|flow| flow.version).max() else {
        return;
    };
    if key.ends_with(".blacklist") && version >= KafkaVersion::new(4, 0, 0) {
        let text = format!(
            "{} is ignored from 4.0 on (this is {version})",
            property.key
        );
        let next = format!("write {}", key.replace(".blacklist", ".exclude"));
        rules.tell("W-OLDKEY", place, text, next);
    } else if key.ends_with(".exclude") && version < KafkaVersion::new(2, 7, 0) {
        let text = format!(
            "{} is not read before 2.7 (this is {version})",
            property.key
        );
        let next = format!("write {}", key.replace(".exclude", ".blacklist"));
        rules.tell("W-OLDKEY", place, text, next);
    }
}

/// Says whether Java drops a backslash that a pattern needs.
fn backslash_is_lost(property: &MirrorProperty) -> bool {
    let pattern = ["topics", "topics.exclude", "groups", "groups.exclude"]
        .iter()
        .any(|key| property.key == *key || property.key.ends_with(&format!(".{key}")));
    pattern && property.lost_backslash
}

/// Returns how many letters two words differ by (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        let mut next = vec![before];
        for (j, right) in b.iter().enumerate() {
            let above = row.get(j + 1).copied().unwrap_or(usize::MAX);
            let replaced = diagonal + usize::from(left != *right);
            before = replaced.min(above.saturating_add(1)).min(before + 1);
            diagonal = above;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_differ_by_letters() {
        for (a, b, want) in [
            ("topics", "topics", 0),
            ("topics", "topic", 1),
            ("tasks.max", "task.mx", 2),
            ("a", "", 1),
        ] {
            assert_eq!(distance(a, b), want, "{a} {b}");
        }
    }
}
