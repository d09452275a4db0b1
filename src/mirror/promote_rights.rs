//! Who may write on the source and not yet on the target.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{AclFact, Acls, ClusterFacts, Facts};
use super::flow::Flow;

/// What is known of the rights to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WriteRights {
    /// The target has no authorizer.
    EverybodyMay,
    /// A cluster does not tell its rules: its alias.
    NotTold(String),
    /// The source has no authorizer: nobody is named there.
    NobodyIsNamed,
    /// By topic of the target: who may write to its like on the source and not to it.
    Missing(BTreeMap<String, BTreeSet<String>>),
}

/// Returns who may write to the topics that a flow copies and not to those that producers write to after the failover: on the
/// target they have the names that they have on the source.
pub(super) fn write_rights(facts: &Facts, flow: &Flow) -> WriteRights {
    let rules = |alias: &str| {
        let live = facts.clusters.get(alias)?.live.as_ref()?;
        live.acls.as_ref()
    };
    let (source, target) = (&flow.name.source, &flow.name.target);
    let there = match rules(target) {
        Some(Acls::NoAuthorizer) => return WriteRights::EverybodyMay,
        None => return WriteRights::NotTold(target.clone()),
        Some(Acls::Rules(rules)) => rules,
    };
    let here = match rules(source) {
        Some(Acls::NoAuthorizer) => return WriteRights::NobodyIsNamed,
        None => return WriteRights::NotTold(source.clone()),
        Some(Acls::Rules(rules)) => rules,
    };
    let topics = facts
        .clusters
        .get(source)
        .map(ClusterFacts::topics)
        .unwrap_or_default();
    let mut missing: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for topic in topics {
        if flow.topic(topic).is_copied() != Some(true) || flow.policy.is_heartbeats(topic) {
            continue;
        }
        let may = writers(there, topic);
        let lacks: BTreeSet<String> = writers(here, topic)
            .difference(&may)
            .map(|who| (*who).to_owned())
            .collect();
        if !lacks.is_empty() {
            missing.insert(topic.to_owned(), lacks);
        }
    }
    WriteRights::Missing(missing)
}

/// Returns who may write to a topic.
fn writers<'a>(rules: &'a [AclFact], topic: &str) -> BTreeSet<&'a str> {
    let who = |allows: bool| -> BTreeSet<&str> {
        let rules = rules.iter().filter(|rule| rule.allows == allows);
        rules
            .filter(|rule| rule.names(topic) && rule.is_to_write())
            .map(|rule| rule.principal.as_str())
            .collect()
    };
    let denied = who(false);
    let mut allowed = who(true);
    allowed.retain(|who| !denied.contains(who) && !denied.contains("User:*"));
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::facts::{ClusterMetadata, LiveFacts, TopicMetadata};
    use crate::mirror::{ConfigOrigin, FlowName, FlowState};
    use crate::terms::KafkaVersion;

    fn rule(principal: &str, topic: &str, operation: &str, allows: bool) -> AclFact {
        AclFact {
            topic: topic.trim_end_matches('^').to_owned(),
            prefixed: topic.ends_with('^'),
            principal: format!("User:{principal}"),
            operation: operation.to_owned(),
            allows,
        }
    }

    fn rights(source: Option<Acls>, target: Option<Acls>) -> WriteRights {
        let mut facts = Facts::default();
        for (alias, acls) in [("a", source), ("b", target)] {
            let topics =
                ["orders", "clicks", "__x"].map(|it| (it.to_owned(), TopicMetadata::default()));
            let cluster = ClusterFacts {
                metadata: Some(ClusterMetadata {
                    topics: BTreeMap::from(topics),
                    ..ClusterMetadata::default()
                }),
                live: Some(LiveFacts {
                    acls,
                    ..LiveFacts::default()
                }),
                ..ClusterFacts::default()
            };
            facts.clusters.insert(alias.to_owned(), cluster);
        }
        let flow = Flow::new(
            FlowName::new("a", "b"),
            FlowState::Active,
            ConfigOrigin::Defaults,
            BTreeMap::new(),
            KafkaVersion::new(4, 3, 1),
        );
        write_rights(&facts, &flow)
    }

    #[test]
    fn who_may_write_on_the_source_alone_is_named_by_topic() {
        let source = Acls::Rules(vec![
            rule("alice", "orders", "WRITE", true),
            rule("bob", "ord^", "ALL", true),
            rule("carl", "*", "WRITE", true),
            rule("carl", "clicks", "WRITE", false),
            rule("dora", "orders", "READ", true),
        ]);
        let target = Acls::Rules(vec![
            rule("alice", "orders", "WRITE", true),
            rule("bob", "orders", "WRITE", true),
            rule("bob", "orders", "ALL", false),
        ]);
        let names = |names: &[&str]| names.iter().map(|it| format!("User:{it}")).collect();
        let missing = BTreeMap::from([("orders".to_owned(), names(&["bob", "carl"]))]);
        assert_eq!(
            rights(Some(source.clone()), Some(target)),
            WriteRights::Missing(missing)
        );
        assert_eq!(
            rights(Some(source.clone()), Some(Acls::NoAuthorizer)),
            WriteRights::EverybodyMay
        );
        assert_eq!(
            rights(Some(source), None),
            WriteRights::NotTold("b".to_owned())
        );
        let none = Some(Acls::Rules(vec![]));
        assert_eq!(
            rights(None, none.clone()),
            WriteRights::NotTold("a".to_owned())
        );
        assert_eq!(
            rights(Some(Acls::NoAuthorizer), none),
            WriteRights::NobodyIsNamed
        );
    }
}
