//! How topics are named on the target: `ReplicationPolicy` of each class that Kafka brings.

use serde::{Deserialize, Serialize};

use crate::terms::KafkaVersion;

/// The word for the topic of heartbeats.
pub const HEARTBEATS: &str = "heartbeats";

/// A policy and its separators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicationPolicy {
    /// The class.
    pub class: PolicyClass,
    /// What stands between alias and topic.
    pub separator: String,
    /// What stands in the names of MirrorMaker 2's own topics; [`ReplicationPolicy::separator`] unless told otherwise.
    pub internal_separator: String,
    /// The release, whose rules on internal names hold.
    pub version: KafkaVersion,
}

/// The class of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyClass {
    /// `DefaultReplicationPolicy`: alias, separator, topic.
    Default,
    /// `IdentityReplicationPolicy`: the same name, except for heartbeats.
    Identity {
        /// The alias that stands for the source of every topic.
        source: Option<String>,
    },
    /// A class that is not Kafka's: its names cannot be told.
    Other(String),
}

impl ReplicationPolicy {
    /// Returns the default policy of a release.
    pub fn default_of(version: KafkaVersion) -> Self {
        Self {
            class: PolicyClass::Default,
            separator: ".".to_owned(),
            internal_separator: ".".to_owned(),
            version,
        }
    }

    /// Returns the name that `topic` of cluster `alias` has on a target; `None` where the class is not known.
    pub fn remote_topic(&self, alias: &str, topic: &str) -> Option<String> {
        match &self.class {
            PolicyClass::Other(_) => None,
            PolicyClass::Identity { .. } if !topic.ends_with(HEARTBEATS) => Some(topic.to_owned()),
            _ => Some(format!("{alias}{}{topic}", self.separator)),
        }
    }

    /// Returns the cluster that the name says `topic` was copied from.
    pub fn source<'a>(&'a self, topic: &'a str) -> Option<&'a str> {
        match &self.class {
            PolicyClass::Other(_) => None,
            PolicyClass::Identity { source } if !topic.ends_with(HEARTBEATS) => source.as_deref(),
            _ => self.prefix(topic),
        }
    }

    /// Returns the name that `topic` has on the cluster that it was copied from.
    pub fn upstream<'a>(&'a self, topic: &'a str) -> Option<&'a str> {
        match &self.class {
            PolicyClass::Other(_) => None,
            PolicyClass::Identity { .. } if !topic.ends_with(HEARTBEATS) => Some(topic),
            _ => {
                let prefix = self.prefix(topic)?;
                topic.get(prefix.len() + self.separator.len()..)
            }
        }
    }

    /// Returns the name that `topic` has on the cluster that it was made on.
    pub fn original<'a>(&'a self, topic: &'a str) -> &'a str {
        let mut name = topic;
        while let Some(upstream) = self.upstream(name).filter(|upstream| *upstream != name) {
            name = upstream;
        }
        name
    }

    /// Splits as `String.split` does, which drops empty parts at the end.
    fn prefix<'a>(&self, topic: &'a str) -> Option<&'a str> {
        if self.separator.is_empty() {
            let mut starts = topic.char_indices().skip(1);
            return starts.next().and_then(|(second, _)| topic.get(..second));
        }
        let (prefix, mut rest) = topic.split_once(&self.separator)?;
        while let Some(shorter) = rest.strip_prefix(&self.separator) {
            rest = shorter;
        }
        (!rest.is_empty()).then_some(prefix)
    }

    /// Says whether a flow to `target` would carry `topic` back to where it came from.
    pub fn is_cycle(&self, topic: &str, target: &str) -> bool {
        let mut name = topic;
        loop {
            match self.source(name) {
                None => return false,
                Some(source) if source == target => return true,
                Some(_) => match self.upstream(name).filter(|upstream| *upstream != name) {
                    Some(upstream) => name = upstream,
                    None => return false,
                },
            }
        }
    }

    /// Says whether the name is one of Kafka's or MirrorMaker 2's own, which are never copied.
    pub fn is_internal(&self, topic: &str) -> bool {
        let own = format!("{}internal", self.internal_separator);
        if topic.starts_with("__") || topic.starts_with('.') {
            return true;
        }
        if self.version >= KafkaVersion::new(4, 0, 0) {
            return (topic.starts_with("mm2") && topic.ends_with(&own))
                || self.is_checkpoints(topic);
        }
        topic.ends_with("-internal") || topic.ends_with(".internal") || topic.ends_with(&own)
    }

    /// Says whether the topic holds heartbeats, by its original name.
    pub fn is_heartbeats(&self, topic: &str) -> bool {
        self.original(topic) == HEARTBEATS
    }

    /// Says whether the topic holds checkpoints, by its name.
    pub fn is_checkpoints(&self, topic: &str) -> bool {
        let separator = &self.internal_separator;
        topic.ends_with(&format!("{separator}checkpoints{separator}internal"))
    }

    /// Returns the topic of a flow's offset syncs; `alias` is that of the cluster on which it does not lie.
    pub fn offset_syncs_topic(&self, alias: &str) -> String {
        let separator = &self.internal_separator;
        format!("mm2-offset-syncs{separator}{alias}{separator}internal")
    }

    /// Returns the topic of a flow's checkpoints; it lies on the target.
    pub fn checkpoints_topic(&self, source: &str) -> String {
        let separator = &self.internal_separator;
        format!("{source}{separator}checkpoints{separator}internal")
    }

    /// Returns the name of a group's topic on the target, as checkpoints have it.
    pub fn checkpoint_topic_name(&self, source: &str, target: &str, topic: &str) -> Option<String> {
        if self.source(topic) == Some(target) {
            return Some(self.original(topic).to_owned());
        }
        self.remote_topic(source, topic)
    }

    /// Returns how many flows lie between cluster `alias` and where `topic` of heartbeats is (`MirrorClient`).
    pub fn hops(&self, topic: &str, alias: &str) -> Option<u32> {
        let mut seen = vec![];
        let mut name = topic;
        loop {
            let source = self.source(name)?;
            if seen.contains(&source) {
                return None;
            }
            seen.push(source);
            if source == alias {
                return u32::try_from(seen.len()).ok();
            }
            name = self.upstream(name)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: KafkaVersion = KafkaVersion::new(3, 9, 1);
    const NEW: KafkaVersion = KafkaVersion::new(4, 3, 1);

    fn policy(separator: &str) -> ReplicationPolicy {
        ReplicationPolicy {
            separator: separator.to_owned(),
            internal_separator: separator.to_owned(),
            ..ReplicationPolicy::default_of(NEW)
        }
    }

    fn identity() -> ReplicationPolicy {
        ReplicationPolicy {
            class: PolicyClass::Identity {
                source: Some("primary".to_owned()),
            },
            ..policy(".")
        }
    }

    #[test]
    fn names_are_made_and_taken_apart() {
        let dot = policy(".");
        assert_eq!(
            dot.remote_topic("primary", "sensor-suhu").as_deref(),
            Some("primary.sensor-suhu")
        );
        let topic = "us-west.us-east.topic1";
        assert_eq!(dot.source(topic), Some("us-west"));
        assert_eq!(dot.upstream(topic), Some("us-east.topic1"));
        assert_eq!(dot.original(topic), "topic1");
        assert_eq!(dot.original("a.b.c.d"), "d");
        for local in ["foo.", "secondary.", "secondary", "..", ""] {
            assert_eq!(dot.source(local), None, "{local}");
        }
        assert_eq!(dot.source("foo..bar"), Some("foo"));
        assert_eq!(dot.upstream("foo..bar"), Some(".bar"));
        assert_eq!(dot.original("foo..bar"), "bar");
        assert_eq!(dot.source(".foo"), Some(""));
        assert_eq!(policy("__").source("primary__t"), Some("primary"));
        assert_eq!(policy("_").source("a_b"), Some("a"));
        assert_eq!(policy("").source("ab"), Some("a"));
    }

    #[test]
    fn own_topics_follow_the_internal_separator() {
        let own = policy("_");
        assert_eq!(
            own.offset_syncs_topic("secondary"),
            "mm2-offset-syncs_secondary_internal"
        );
        assert_eq!(
            own.checkpoints_topic("primary"),
            "primary_checkpoints_internal"
        );
        let dotted = ReplicationPolicy {
            internal_separator: ".".to_owned(),
            ..own
        };
        assert_eq!(
            dotted.offset_syncs_topic("secondary"),
            "mm2-offset-syncs.secondary.internal"
        );
        assert_eq!(
            dotted.checkpoints_topic("primary"),
            "primary.checkpoints.internal"
        );
    }

    #[test]
    fn identity_keeps_names_but_those_of_heartbeats() {
        for (topic, remote) in [
            ("t", "t"),
            ("heartbeats", "primary.heartbeats"),
            ("my-heartbeats", "primary.my-heartbeats"),
        ] {
            assert_eq!(
                identity().remote_topic("primary", topic).as_deref(),
                Some(remote)
            );
        }
        assert!(!identity().is_cycle("secondary.t", "secondary"));
        assert!(identity().is_cycle("source.secondary.heartbeats", "secondary"));
    }

    #[test]
    fn a_cycle_is_a_piece_before_the_last_that_is_the_target() {
        for (topic, cycle) in [
            ("secondary.t", true),
            ("a.secondary.t", true),
            ("foo.secondary", false),
            ("Secondary.t", false),
            ("primary.t", false),
        ] {
            assert_eq!(policy(".").is_cycle(topic, "secondary"), cycle, "{topic}");
        }
        // An alias with the separator in it is never found again.
        assert!(!policy(".").is_cycle("us.east.t", "us.east"));
        assert_eq!(policy(".").source("us.east.t"), Some("us"));
    }

    #[test]
    fn internal_names_are_fewer_since_4_0() {
        let old = ReplicationPolicy::default_of(OLD);
        for (topic, was, is) in [
            ("app-internal", true, false),
            ("app.internal", true, false),
            ("primary.checkpoints.internal", true, true),
            ("__x", true, true),
            (".foo", true, true),
            ("..", true, true),
            ("mm2stuff.internal", true, true),
            ("mm2x-internal", true, false),
            ("xcheckpoints.internal", true, false),
            ("orders", false, false),
        ] {
            assert_eq!(old.is_internal(topic), was, "{topic}");
            assert_eq!(policy(".").is_internal(topic), is, "{topic}");
        }
    }

    #[test]
    fn heartbeats_are_told_by_the_original_name() {
        for (topic, is) in [
            ("heartbeats", true),
            ("us-west.heartbeats", true),
            ("orders.heartbeats", true),
            ("my-heartbeats", false),
        ] {
            assert_eq!(policy(".").is_heartbeats(topic), is, "{topic}");
        }
    }

    #[test]
    fn checkpoints_name_the_topic_as_the_target_does() {
        for (topic, name) in [
            ("topic3", "source1.topic3"),
            ("target2.topic3", "topic3"),
            ("source6.topic7", "source1.source6.topic7"),
        ] {
            assert_eq!(
                policy(".")
                    .checkpoint_topic_name("source1", "target2", topic)
                    .as_deref(),
                Some(name)
            );
        }
    }

    #[test]
    fn hops_are_counted_along_the_name() {
        let topics = ["heartbeats", "B.heartbeats", "B.A.heartbeats"];
        let hops = |alias| {
            topics
                .iter()
                .filter_map(|topic| policy(".").hops(topic, alias))
                .min()
        };
        assert_eq!((hops("A"), hops("B"), hops("Q")), (Some(2), Some(1), None));
        let topic = "secondary.primary.heartbeats";
        assert_eq!(policy(".").hops(topic, "primary"), Some(2));
        assert_eq!(policy(".").hops(topic, "tertiary"), None);
    }
}
