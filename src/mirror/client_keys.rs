//! The settings of the client that MirrorMaker 2 administers a cluster with, by the precedence of its own classes.

use std::collections::BTreeMap;

use super::filter::split_list;
use crate::format::properties::{Properties, Property};

/// Beginnings of keys that MirrorMaker 2 takes from the top level for its clients.
const COMMON: [&str; 4] = ["bootstrap.servers", "security.protocol", "ssl.", "sasl."];

/// Returns the keys of an admin client of cluster `alias`, each once, with the value that counts.
///
/// From the weakest on: a flow's `source.cluster.` (`target.cluster.`) and `admin.` keys, the top level, the cluster's own
/// keys, the cluster's `admin.` keys, a flow's `source.admin.` (`target.admin.`) keys. The top level and the cluster come
/// before a flow's plain keys because MirrorMaker 2 copies them to `admin.` first.
pub fn client_properties(mm2: &Properties, alias: &str) -> Properties {
    let aliases = mm2.entries.iter().rfind(|entry| entry.key == "clusters");
    let aliases = aliases.map_or_else(Vec::new, |entry| split_list(&entry.value));
    let others = aliases.iter().filter(|other| *other != alias);
    let flows: Vec<(String, &str)> = others
        .flat_map(|other| {
            [
                (format!("{alias}->{other}."), "source."),
                (format!("{other}->{alias}."), "target."),
            ]
        })
        .collect();
    let mut known: BTreeMap<&str, &Property> = BTreeMap::new();
    let mut take = |prefix: &str, only_common: bool| {
        for entry in &mm2.entries {
            let Some(key) = entry.key.strip_prefix(prefix) else {
                continue;
            };
            if !only_common || COMMON.iter().any(|common| key.starts_with(common)) {
                known.insert(key, entry);
            }
        }
    };
    for (flow, role) in &flows {
        take(&format!("{flow}{role}cluster."), true);
        take(&format!("{flow}admin."), false);
    }
    take("", true);
    take(&format!("{alias}."), true);
    take(&format!("{alias}.admin."), false);
    for (flow, role) in &flows {
        take(&format!("{flow}{role}admin."), false);
    }
    let entries = known.into_iter().map(|(key, entry)| Property {
        key: key.to_owned(),
        ..entry.clone()
    });
    Properties {
        entries: entries.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, key: &str) -> Option<String> {
        let mm2 = Properties::parse(format!("clusters = a, b, c\n{text}").as_bytes()).unwrap();
        let all = client_properties(&mm2, "a").entries;
        let found = all.iter().find(|entry| entry.key == key)?;
        Some(found.value.clone())
    }

    #[test]
    fn the_nearest_key_wins_as_in_mirror_makers_classes() {
        let key = "sasl.mechanism";
        let mut text = String::new();
        // Each line beats all above it, wherever it stands.
        for (number, prefix) in [
            "a->b.source.cluster.",
            "a->b.admin.",
            "",
            "a.",
            "a.admin.",
            "a->b.source.admin.",
        ]
        .iter()
        .enumerate()
        {
            text = format!("{prefix}{key} = V{number}\n{text}");
            assert_eq!(value(&text, key).unwrap(), format!("V{number}"), "{text}");
        }
    }

    #[test]
    fn what_is_another_clusters_or_no_clients_is_not_taken() {
        for line in [
            "b.sasl.mechanism = x",
            "b->c.source.admin.sasl.mechanism = x",
            "b->a.source.admin.sasl.mechanism = x",
            "admin.sasl.mechanism = x",
            "a.producer.sasl.mechanism = x",
        ] {
            assert_eq!(value(line, "sasl.mechanism"), None, "{line}");
        }
        let target = "b->a.target.admin.sasl.mechanism = x";
        assert_eq!(value(target, "sasl.mechanism").unwrap(), "x");
        assert_eq!(value("topics = t\na.topics = t", "topics"), None);
        let twice = "ssl.truststore.location = x\nssl.truststore.location = y";
        assert_eq!(value(twice, "ssl.truststore.location").unwrap(), "y");
    }
}
