//! The flows of a configuration: which run, what they take, how they name things.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::filter::{NameFilter, Taken};
use super::policy::{PolicyClass, ReplicationPolicy};
use super::properties::{ConfigValue, MirrorProperties};
use crate::terms::KafkaVersion;

const DEFAULT_POLICY: &str = "DefaultReplicationPolicy";
const IDENTITY_POLICY: &str = "IdentityReplicationPolicy";
const DEFAULT_GROUPS_EXCLUDE: &str = "console-consumer-.*, connect-.*, __.*";

/// A flow's ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FlowName {
    /// The alias of the cluster that is copied.
    pub source: String,
    /// The alias of the cluster that it is copied to.
    pub target: String,
}

impl FlowName {
    /// Returns the name of a flow.
    pub fn new(source: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            target: target.into(),
        }
    }

    /// Parses `S->T`.
    pub fn parse(text: &str) -> Option<Self> {
        let (source, target) = text.split_once("->")?;
        (!source.is_empty() && !target.is_empty()).then(|| Self::new(source, target))
    }
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}->{}", self.source, self.target)
    }
}

/// Whether a flow runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowState {
    /// Records are copied.
    Active,
    /// A worker runs and writes heartbeats; no record is copied.
    HeartbeatOnly,
    /// Nothing runs.
    Off,
    /// `enabled` is neither true nor false: the connector does not start.
    Invalid,
}

impl fmt::Display for FlowState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "ACTIVE",
            Self::HeartbeatOnly => "HEARTBEAT-ONLY",
            Self::Off => "OFF",
            Self::Invalid => "INVALID",
        })
    }
}

/// Where a flow's configuration is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigOrigin {
    /// A properties file.
    File(String),
    /// Connect's topic of configs on the target, so what is in force.
    Connectors {
        /// The topic.
        topic: String,
    },
    /// Nowhere: the defaults of the release.
    Defaults,
}

/// Where the offset syncs of a flow lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncsLocation {
    /// On the source, and lost with it.
    Source,
    /// On the target (KIP-716).
    Target,
}

/// A flow and its configuration.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Its ends.
    pub name: FlowName,
    /// Whether it runs.
    pub state: FlowState,
    /// Where the configuration is from.
    pub origin: ConfigOrigin,
    /// The release that defaults and rules are those of.
    pub version: KafkaVersion,
    /// What the connectors are configured with.
    pub config: BTreeMap<String, ConfigValue>,
    /// Which topics are copied, by their names on the source.
    pub topics: NameFilter,
    /// Which groups get checkpoints.
    pub groups: NameFilter,
    /// How names are made.
    pub policy: ReplicationPolicy,
    /// Where the offset syncs lie.
    pub syncs_location: SyncsLocation,
}

/// Why a topic of the source is copied or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopicVerdict {
    /// It is copied.
    Copied,
    /// It holds heartbeats, which are copied whatever the filter says.
    Heartbeats,
    /// It is one of Kafka's or MirrorMaker 2's own.
    Internal,
    /// It came from the target.
    Cycle,
    /// No item of `topics` matches.
    NotIncluded,
    /// An item of `topics.exclude` matches.
    Excluded {
        /// The item.
        item: Option<String>,
    },
    /// It cannot be told: a pattern, a filter or a policy is not understood.
    Unknown,
}

impl TopicVerdict {
    /// Says whether the topic is copied.
    pub fn is_copied(&self) -> Option<bool> {
        match self {
            Self::Copied | Self::Heartbeats => Some(true),
            Self::Unknown => None,
            _ => Some(false),
        }
    }
}

impl fmt::Display for TopicVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copied => f.write_str("copied"),
            Self::Heartbeats => f.write_str("copied: heartbeats always are"),
            Self::Internal => f.write_str("internal name"),
            Self::Cycle => f.write_str("came from the target"),
            Self::NotIncluded => f.write_str("no item of topics matches"),
            Self::Excluded { item: Some(item) } => write!(f, "topics.exclude: {item}"),
            Self::Excluded { item: None } => f.write_str("topics.exclude"),
            Self::Unknown => f.write_str("?"),
        }
    }
}

impl Flow {
    /// Returns the flow `name` with the connectors' `config`.
    pub fn new(
        name: FlowName,
        state: FlowState,
        origin: ConfigOrigin,
        config: BTreeMap<String, ConfigValue>,
        version: KafkaVersion,
    ) -> Self {
        let value = |key: &str| config.get(key).map(|it| it.value.as_str());
        let list = |key: &str, old: &str, default: &str| {
            let old = value(old).filter(|_| version < KafkaVersion::new(4, 0, 0));
            value(key).or(old).unwrap_or(default).to_owned()
        };
        let topics = NameFilter::parse(
            value("topics").unwrap_or(".*"),
            &list(
                "topics.exclude",
                "topics.blacklist",
                default_topics_exclude(version),
            ),
        );
        let groups = NameFilter::parse(
            value("groups").unwrap_or(".*"),
            &list("groups.exclude", "groups.blacklist", DEFAULT_GROUPS_EXCLUDE),
        );
        let policy = policy(&name, &config, version);
        let location = value("offset-syncs.topic.location").unwrap_or_default();
        let syncs_location = if location.trim().eq_ignore_ascii_case("target") {
            SyncsLocation::Target
        } else {
            SyncsLocation::Source
        };
        Self {
            name,
            state,
            origin,
            version,
            config,
            topics,
            groups,
            policy,
            syncs_location,
        }
    }

    /// Returns the value of `key`.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.config.get(key).map(|it| it.value.trim())
    }

    /// Returns a boolean as the connectors read it: `None` where it is neither true nor false.
    pub fn bool(&self, key: &str, default: bool) -> Option<bool> {
        match self.value(key) {
            None => Some(default),
            Some(value) if value.eq_ignore_ascii_case("true") => Some(true),
            Some(value) if value.eq_ignore_ascii_case("false") => Some(false),
            Some(_) => None,
        }
    }

    /// Returns a number; `None` where it is none.
    pub fn number(&self, key: &str, default: i64) -> Option<i64> {
        self.value(key)
            .map_or(Some(default), |value| value.parse().ok())
    }

    /// Says whether a filter's class is Kafka's own.
    fn is_default_filter(&self, key: &str, class: &str) -> bool {
        self.value(key)
            .is_none_or(|value| value.rsplit('.').next() == Some(class))
    }

    /// Returns what the topic filter says of a topic of the source.
    pub fn filter_topic(&self, topic: &str) -> Taken {
        if !self.is_default_filter("topic.filter.class", "DefaultTopicFilter") {
            return Taken::Unknown;
        }
        self.topics.takes(topic)
    }

    /// Returns what the group filter says of a group.
    pub fn filter_group(&self, group: &str) -> Taken {
        if !self.is_default_filter("group.filter.class", "DefaultGroupFilter") {
            return Taken::Unknown;
        }
        self.groups.takes(group)
    }

    /// Returns whether a topic of the source is copied, and by which rule.
    pub fn topic(&self, topic: &str) -> TopicVerdict {
        if matches!(self.policy.class, PolicyClass::Other(_)) {
            return TopicVerdict::Unknown;
        }
        let filtered = self.filter_topic(topic);
        let heartbeats = self.policy.is_heartbeats(topic)
            && (self.version < KafkaVersion::new(4, 0, 0)
                || self.bool("heartbeats.replication.enabled", true) == Some(true));
        if filtered != Taken::Yes && !heartbeats {
            return match filtered {
                Taken::NotIncluded => TopicVerdict::NotIncluded,
                Taken::Excluded { item } => TopicVerdict::Excluded { item },
                _ => TopicVerdict::Unknown,
            };
        }
        if self.policy.is_internal(topic) {
            TopicVerdict::Internal
        } else if self.policy.is_cycle(topic, &self.name.target) {
            TopicVerdict::Cycle
        } else if filtered == Taken::Yes {
            TopicVerdict::Copied
        } else {
            TopicVerdict::Heartbeats
        }
    }

    /// Returns the name of a topic of the source on the target; `None` where the policy is not known.
    pub fn remote_topic(&self, topic: &str) -> Option<String> {
        self.policy.remote_topic(&self.name.source, topic)
    }

    /// Returns the name that checkpoints have for a topic of the source.
    pub fn checkpoint_topic_name(&self, topic: &str) -> Option<String> {
        let FlowName { source, target } = &self.name;
        self.policy.checkpoint_topic_name(source, target, topic)
    }

    /// Returns the topic of offset syncs: the alias of its cluster, and its name.
    pub fn offset_syncs_topic(&self) -> (&str, String) {
        let FlowName { source, target } = &self.name;
        match self.syncs_location {
            SyncsLocation::Source => (source, self.policy.offset_syncs_topic(target)),
            SyncsLocation::Target => (target, self.policy.offset_syncs_topic(source)),
        }
    }

    /// Returns the topic of checkpoints; it lies on the target.
    pub fn checkpoints_topic(&self) -> String {
        self.policy.checkpoints_topic(&self.name.source)
    }
}

/// Returns the default of `topics.exclude` (KIP-1074).
pub fn default_topics_exclude(version: KafkaVersion) -> &'static str {
    if version >= KafkaVersion::new(4, 0, 0) {
        "mm2.*\\.internal, .*\\.replica, __.*"
    } else {
        ".*[\\-\\.]internal, .*\\.replica, __.*"
    }
}

fn policy(
    name: &FlowName,
    config: &BTreeMap<String, ConfigValue>,
    version: KafkaVersion,
) -> ReplicationPolicy {
    // The policy is configured from raw strings: nothing is trimmed.
    let raw = |key: &str| config.get(key).map(|it| it.value.as_str());
    let class = raw("replication.policy.class").map_or(DEFAULT_POLICY, str::trim);
    let separator = raw("replication.policy.separator")
        .unwrap_or(".")
        .to_owned();
    let own = raw("replication.policy.internal.topic.separator.enabled");
    let plain = own.is_some_and(|value| value.trim().eq_ignore_ascii_case("false"));
    let internal_separator = if plain || version < KafkaVersion::new(3, 1, 0) {
        ".".to_owned()
    } else {
        separator.clone()
    };
    ReplicationPolicy {
        class: match class.rsplit('.').next().unwrap_or_default() {
            DEFAULT_POLICY => PolicyClass::Default,
            IDENTITY_POLICY => PolicyClass::Identity {
                source: Some(name.source.clone()),
            },
            _ => PolicyClass::Other(class.to_owned()),
        },
        separator,
        internal_separator,
        version,
    }
}

/// Returns every ordered pair of a file's clusters with its configuration and state.
pub fn flows_of_file(file: &MirrorProperties, version: KafkaVersion) -> Vec<Flow> {
    let aliases = file.aliases();
    let pairs = aliases
        .iter()
        .flat_map(|source| aliases.iter().map(move |target| (source, target)))
        .filter(|(source, target)| source != target);
    pairs
        .map(|(source, target)| {
            let name = FlowName::new(source, target);
            let config = file.connector_config(source, target);
            let origin = ConfigOrigin::File(file.file.clone());
            let mut flow = Flow::new(name, FlowState::Off, origin, config, version);
            flow.state = state(file, &flow);
            flow
        })
        .collect()
}

/// Whether a worker of the pair exists, and what its connectors make of `enabled`.
fn state(file: &MirrorProperties, flow: &Flow) -> FlowState {
    let key = |name: &str| format!("{}.{name}", flow.name);
    let pair_on = file.is_loosely_true(&key("enabled")) == Some(true);
    let heartbeats = file
        .is_loosely_true(&key("emit.heartbeats.enabled"))
        .or_else(|| file.is_loosely_true("emit.heartbeats.enabled"))
        .unwrap_or(true);
    if !pair_on && !heartbeats {
        return FlowState::Off;
    }
    match flow.bool("enabled", false) {
        Some(true) => FlowState::Active,
        Some(false) => FlowState::HeartbeatOnly,
        None => FlowState::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::properties::Properties;

    const NEW: KafkaVersion = KafkaVersion::new(4, 3, 1);
    const OLD: KafkaVersion = KafkaVersion::new(3, 9, 1);

    fn flows(text: &str, version: KafkaVersion) -> Vec<Flow> {
        let properties = Properties::parse(text.as_bytes()).unwrap();
        flows_of_file(
            &MirrorProperties::new("mm2.properties", &properties, text.as_bytes()),
            version,
        )
    }

    fn states(text: &str) -> Vec<(String, FlowState)> {
        flows(text, NEW)
            .iter()
            .map(|flow| (flow.name.to_string(), flow.state))
            .filter(|(_, state)| *state != FlowState::Off)
            .collect()
    }

    fn count(text: &str, wanted: FlowState) -> usize {
        let states = states(text);
        states.iter().filter(|(_, state)| *state == wanted).count()
    }

    #[test]
    fn heartbeats_keep_a_worker_for_every_pair() {
        let abc = "clusters = a, b, c\n";
        assert_eq!(count(abc, FlowState::HeartbeatOnly), 6);
        assert_eq!(count(abc, FlowState::Active), 0);
        assert!(states(&format!("{abc}emit.heartbeats.enabled=false")).is_empty());
        let six = "clusters=a,b,c,d,e,f\nemit.heartbeats.enabled=false\na->b.enabled=true\na->c.enabled=true\n\
                   a->d.enabled=true\na->e.enabled=false\na->f.enabled=false";
        assert_eq!(states(six).len(), 3);
        let four =
            format!("{abc}a->b.emit.heartbeats.enabled=false\na->c.emit.heartbeats.enabled=false");
        assert_eq!(states(&four).len(), 4);
    }

    #[test]
    fn activation_and_connector_read_true_differently() {
        let trailing = "clusters=a,b\na->b.enabled=true \n";
        assert_eq!(states(trailing)[0], ("a->b".to_owned(), FlowState::Active));
        let quiet = format!("{trailing}emit.heartbeats.enabled=false");
        assert!(states(&quiet).is_empty());
        let split = "clusters=a,b\na -> b.enabled = true";
        assert_eq!(count(split, FlowState::HeartbeatOnly), 2);
        assert_eq!(count("clusters=a,b,c\nenabled=true", FlowState::Active), 6);
        assert_eq!(
            count("clusters=a,b\na->b.enabled=yes", FlowState::Invalid),
            1
        );
    }

    #[test]
    fn the_default_exclusion_is_that_of_the_release() {
        let text = "clusters=primary,secondary\nprimary->secondary.enabled=true\n";
        let verdicts = |version, topic: &str| flows(text, version)[0].topic(topic);
        for (topic, old, new) in [
            ("orders.replica", false, false),
            ("app-internal", false, true),
            ("app.internal", false, true),
            ("mm2stuff.internal", false, false),
            ("secondary.t", false, false),
            ("a.secondary.t", false, false),
            ("primary.t", true, true),
            ("orders.heartbeats", true, true),
            ("__consumer_offsets", false, false),
            ("heartbeats", true, true),
            ("sensor-suhu", true, true),
        ] {
            assert_eq!(verdicts(OLD, topic).is_copied(), Some(old), "{topic} 3.9");
            assert_eq!(verdicts(NEW, topic).is_copied(), Some(new), "{topic} 4.3");
        }
        let none = format!("{text}primary->secondary.topics=");
        assert_eq!(flows(&none, NEW)[0].topic("t"), TopicVerdict::NotIncluded);
        assert_eq!(
            flows(&none, NEW)[0].topic("heartbeats"),
            TopicVerdict::Heartbeats
        );
    }

    #[test]
    fn identity_sees_no_cycle() {
        let text = "clusters=primary,secondary\nprimary->secondary.enabled=true\n\
                    replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy";
        let flow = &flows(text, NEW)[0];
        assert_eq!(flow.topic("secondary.t"), TopicVerdict::Copied);
        assert_eq!(
            flow.topic("source.secondary.heartbeats"),
            TopicVerdict::Cycle
        );
        let other = text.replace("org.apache.kafka.connect.mirror.Identity", "com.example.My");
        assert_eq!(flows(&other, NEW)[0].topic("t"), TopicVerdict::Unknown);
    }

    #[test]
    fn the_syncs_lie_where_they_are_told_to() {
        let text = "clusters=primary,secondary\nprimary->secondary.enabled=true\n";
        assert_eq!(
            flows(text, NEW)[0].offset_syncs_topic(),
            ("primary", "mm2-offset-syncs.secondary.internal".to_owned())
        );
        let text = format!("{text}offset-syncs.topic.location = target");
        assert_eq!(
            flows(&text, NEW)[0].offset_syncs_topic(),
            ("secondary", "mm2-offset-syncs.primary.internal".to_owned())
        );
    }
}
