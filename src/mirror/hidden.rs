//! Mirrors that may copy a cluster's topics and whose syncs do not lie on it: what they have is not known there.
//!
//! With `offset-syncs.topic.location=target` (KIP-716) a source has no word of how far it is copied. What is left on it is the
//! worker of the way back, which is there for heartbeats at least.

use std::collections::BTreeSet;

use super::copied::{copied_to, unread_syncs};
use super::facts::ClusterFacts;
use super::filter::Taken;
use super::flow::{Flow, FlowState, SyncsLocation};
use super::known_flows::{OwnTopic, flows_of_connectors, own_topic, version_of};
use super::policy::{PolicyClass, ReplicationPolicy};

/// A mirror whose syncs do not lie on the cluster.
#[derive(Debug, Clone)]
pub struct HiddenMirror {
    /// The mirror: its alias.
    pub mirror: String,
    /// Why it may be one.
    pub why: HiddenWhy,
    /// The flow from it to the cluster, where it is known.
    back: Option<Flow>,
}

/// Why there may be a mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HiddenWhy {
    /// The flow from there keeps its syncs on its target; the one to there may do so too.
    SyncsOnTarget,
    /// All that comes from there are heartbeats, and no mirror keeps its syncs here: data goes the other way, if at all.
    HeartbeatsOnly,
    /// What the flow from there is set to is not known: its topic is named.
    ConfigsUnknown(String),
}

impl std::fmt::Display for HiddenMirror {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mirror = &self.mirror;
        match &self.why {
            HiddenWhy::SyncsOnTarget => write!(
                f,
                "the flow from {mirror} has offset-syncs.topic.location=target: a flow to {mirror} would keep its syncs there"
            ),
            HiddenWhy::HeartbeatsOnly => write!(
                f,
                "MirrorMaker 2 brings nothing but heartbeats from {mirror}, and no offset syncs lie here: a flow to {mirror} \
                 would keep them there"
            ),
            HiddenWhy::ConfigsUnknown(topic) => write!(
                f,
                "{topic} tells of a MirrorMaker 2 and was not read, and no offset syncs for {mirror} lie here: a flow to \
                 {mirror} may keep them there"
            ),
        }
    }
}

impl HiddenMirror {
    /// Says whether a flow to the mirror could copy `topic`: no internal one, none that was copied from there.
    pub fn may_copy(&self, topic: &str) -> bool {
        let Some(back) = &self.back else {
            return may_copy(&default_policy(), topic, &self.mirror);
        };
        // With one name on both clusters a topic that comes from there does not go back: it would be copied without end.
        let comes_from_there = matches!(back.policy.class, PolicyClass::Identity { .. })
            && back.state == FlowState::Active
            && back.filter_topic(topic) == Taken::Yes;
        !comes_from_there && may_copy(&back.policy, topic, &self.mirror)
    }
}

fn may_copy(policy: &ReplicationPolicy, topic: &str, target: &str) -> bool {
    // With one name on both clusters every topic seems to be from the source.
    let is_identity = matches!(policy.class, PolicyClass::Identity { .. });
    is_data(policy, topic) && (is_identity || !policy.is_cycle(topic, target))
}

fn is_data(policy: &ReplicationPolicy, topic: &str) -> bool {
    !policy.is_internal(topic) && !policy.is_heartbeats(topic)
}

fn default_policy() -> ReplicationPolicy {
    ReplicationPolicy::default_of(version_of(None, None).0)
}

/// Says whether any flow could copy `topic` under the default policy.
pub fn may_be_mirrored(topic: &str) -> bool {
    is_data(&default_policy(), topic)
}

/// Says whether a topic of that name shows a MirrorMaker 2 that may copy from the cluster.
pub fn shows_a_mirror(topic: &str) -> bool {
    let kind = own_topic(topic).map(|(_, kind)| kind);
    matches!(kind, Some(OwnTopic::OffsetSyncs | OwnTopic::Configs))
}

/// Returns the mirrors that may copy a cluster's topics and of whose syncs nothing lies on it, by what
/// [`super::tells_what_is_copied`] picks.
pub fn hidden_mirrors(facts: &ClusterFacts) -> Vec<HiddenMirror> {
    let told: BTreeSet<String> = copied_to(facts)
        .into_iter()
        .map(|it| it.mirror)
        .chain(unread_syncs(facts).into_iter().filter_map(|it| {
            let (alias, _) = own_topic(&it.topic)?;
            Some(alias.to_owned())
        }))
        .collect();
    let (version, _) = version_of(Some(facts), None);
    let back = flows_of_connectors(facts, version);
    let brings_data = |flow: &Flow| flow.state != FlowState::HeartbeatOnly;
    let only_heartbeats = told.is_empty() && !back.iter().any(brings_data);
    let mut hidden = vec![];
    for topic in facts.topics() {
        let Some((alias, OwnTopic::Configs)) = own_topic(topic) else {
            continue;
        };
        let is_known = |flow: &Flow| flow.name.source == alias;
        if !told.contains(alias) && !back.iter().any(is_known) {
            hidden.push(HiddenMirror {
                mirror: alias.to_owned(),
                why: HiddenWhy::ConfigsUnknown(topic.to_owned()),
                back: None,
            });
        }
    }
    for flow in back {
        let mirror = flow.name.source.clone();
        let why = match flow.syncs_location {
            _ if told.contains(&mirror) => continue,
            SyncsLocation::Target => HiddenWhy::SyncsOnTarget,
            SyncsLocation::Source if only_heartbeats => HiddenWhy::HeartbeatsOnly,
            SyncsLocation::Source => continue,
        };
        hidden.push(HiddenMirror {
            mirror,
            why,
            back: Some(flow),
        });
    }
    hidden
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::mirror::content::{Folded, InternalTopic};
    use crate::mirror::facts::{ClusterMetadata, TopicMetadata};
    use crate::mirror::{Content, LogFacts, SyncsFacts, Thinning};
    use crate::terms::Offset;

    fn log(topic: InternalTopic, folded: Folded) -> LogFacts {
        let mut content = Content::new(topic, Thinning::default());
        content.folded = folded;
        LogFacts {
            host: String::new(),
            dir: String::new(),
            leader_epoch: None,
            log_start_offset: Offset(0),
            log_end_offset: Offset(9),
            newest_timestamp: None,
            content: Some(content),
        }
    }

    fn put_flow(facts: &mut ClusterFacts, source: &str, keys: &[(&str, &str)]) {
        let own = [
            (
                "connector.class",
                "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            ),
            ("source.cluster.alias", source),
            ("target.cluster.alias", "here"),
        ];
        let config = own.iter().chain(keys);
        let config = config.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let connectors = BTreeMap::from([("MirrorSourceConnector".to_owned(), config.collect())]);
        let folded = log(InternalTopic::Configs, Folded::Configs(connectors));
        facts.put(&format!("mm2-configs.{source}.internal"), 0, folded);
    }

    fn put_syncs(facts: &mut ClusterFacts, alias: &str) {
        let empty = Folded::OffsetSyncs(SyncsFacts::new(Thinning::default()));
        let folded = log(InternalTopic::OffsetSyncs, empty);
        facts.put(&format!("mm2-offset-syncs.{alias}.internal"), 0, folded);
    }

    fn told(facts: &ClusterFacts) -> Vec<(String, HiddenWhy)> {
        let hidden = hidden_mirrors(facts).into_iter();
        hidden.map(|it| (it.mirror, it.why)).collect()
    }

    const OFF: (&str, &str) = ("enabled", "false");
    const ON: (&str, &str) = ("enabled", "true");
    const ON_TARGET: (&str, &str) = ("offset-syncs.topic.location", "target");

    #[test]
    fn a_source_whose_syncs_lie_on_the_target_is_not_silent() {
        let mut facts = ClusterFacts::default();
        put_flow(&mut facts, "west", &[OFF, ON_TARGET]);
        let on_target = [("west".to_owned(), HiddenWhy::SyncsOnTarget)];
        assert_eq!(told(&facts), on_target);
        // Set for that flow alone, the way back does not tell the place; that nothing else lies here does.
        let mut facts = ClusterFacts::default();
        put_flow(&mut facts, "west", &[OFF]);
        let heartbeats = [("west".to_owned(), HiddenWhy::HeartbeatsOnly)];
        assert_eq!(told(&facts), heartbeats);
        // Both ways on, syncs of each on its target: those that lie here are of the other cluster's topics.
        let mut facts = ClusterFacts::default();
        put_flow(&mut facts, "west", &[ON, ON_TARGET]);
        put_syncs(&mut facts, "west");
        assert_eq!(told(&facts), on_target);
    }

    #[test]
    fn syncs_here_and_a_target_with_defaults_hide_nothing() {
        let mut source = ClusterFacts::default();
        put_flow(&mut source, "west", &[OFF]);
        put_flow(&mut source, "north", &[OFF]);
        put_syncs(&mut source, "west");
        assert_eq!(told(&source), []);
        let mut target = ClusterFacts::default();
        put_flow(&mut target, "east", &[ON]);
        put_flow(&mut target, "north", &[OFF]);
        assert_eq!(told(&target), []);
        assert_eq!(told(&ClusterFacts::default()), []);
    }

    #[test]
    fn settings_that_nobody_read_are_named() {
        let mut facts = ClusterFacts::default();
        let name = "mm2-configs.west.internal";
        let topic = TopicMetadata {
            replicas: BTreeMap::from([(0, vec![2])]),
            ..TopicMetadata::default()
        };
        facts.metadata = Some(ClusterMetadata {
            topics: BTreeMap::from([(name.to_owned(), topic)]),
            ..ClusterMetadata::default()
        });
        let unknown = [(
            "west".to_owned(),
            HiddenWhy::ConfigsUnknown(name.to_owned()),
        )];
        assert_eq!(told(&facts), unknown);
        put_syncs(&mut facts, "west");
        assert_eq!(told(&facts), []);
    }

    #[test]
    fn what_came_from_there_does_not_go_back() {
        let mut facts = ClusterFacts::default();
        put_flow(&mut facts, "west", &[ON, ON_TARGET]);
        let hidden = &hidden_mirrors(&facts)[0];
        for (topic, may) in [
            ("orders", true),
            ("orders.west", true),
            ("west.orders", false),
            ("mm2-configs.west.internal", false),
            ("__consumer_offsets", false),
            ("heartbeats", false),
        ] {
            assert_eq!(hidden.may_copy(topic), may, "{topic}");
            assert!(!may || may_be_mirrored(topic), "{topic}");
        }
        let identity = (
            "replication.policy.class",
            "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        );
        for (state, topics, may) in [(ON, ".*", false), (ON, "x", true), (OFF, ".*", true)] {
            let mut facts = ClusterFacts::default();
            let keys = [state, ON_TARGET, identity, ("topics", topics)];
            put_flow(&mut facts, "west", &keys);
            let hidden = &hidden_mirrors(&facts)[0];
            assert_eq!(hidden.may_copy("orders"), may, "{state:?} {topics}");
        }
    }
}
