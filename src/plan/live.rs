//! Acts on a living cluster, as a plan: what is changed, what was there before, what goes, what must be confirmed.
//!
//! Such a plan changes no file; a broker does, by Kafka's protocol. It is shown, hashed, confirmed and audited like one
//! that does.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::live_groups::GroupPositions;
use super::live_mirrors::LiveMirrors;
use super::{Class, hex};
use crate::terms::{Offset, TopicPartition};

/// Below this a topic's time of retention is taken for a slip, in ms.
const LEAST_RETENTION_MS: i64 = 60_000;
/// Below this its bytes are, for each partition.
const LEAST_RETENTION_BYTES: i64 = 1 << 20;

/// An act with its cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivePlan {
    /// The layout of this value.
    pub schema: u32,
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// The id of the topic that it is about, when the plan was made; `None` where brokers do not tell it, or it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    /// Whether the topic of the plan that this one takes back was deleted and made anew since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made_anew: bool,
    /// What is done.
    pub act: LiveAct,
    /// The hash of the plan that this one takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restores: Option<String>,
    /// What goes, by the leaders' answers when the plan was made.
    pub loss: LiveLoss,
    /// Groups whose committed offset would lie below the new log start.
    pub groups: Vec<GroupBelow>,
    /// What of the groups could not be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups_unasked: Vec<String>,
    /// What must be known beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Mirrors of what goes.
    #[serde(default, skip_serializing_if = "LiveMirrors::is_empty")]
    pub mirrors: LiveMirrors,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum LiveAct {
    /// Settings of a topic are set or taken away.
    TopicConfigs {
        /// The topic.
        topic: String,
        /// Each key once.
        changes: Vec<KeyChange>,
    },
    /// Records below an offset are deleted.
    DeleteRecords {
        /// The partition.
        partition: TopicPartition,
        /// The first offset that stays.
        before: Offset,
        /// The log start now.
        log_start: Offset,
    },
    /// A replica moves to another log dir of its broker.
    MoveReplica {
        /// The partition.
        partition: TopicPartition,
        /// The broker.
        broker: i32,
        /// Where it lies.
        from: String,
        /// Where it will lie; the same takes back a move that runs.
        to: String,
    },
    /// Writers are capped, or no longer.
    ProducerQuota {
        /// A client id; `None` for all clients that have no quota of their own.
        client_id: Option<String>,
        /// Bytes a second for each broker; `None` takes the cap away.
        bytes_per_s: Option<u64>,
        /// What was set before.
        before: Option<u64>,
    },
    /// A log dir takes no new replica any more, or does again.
    Cordon {
        /// The broker.
        broker: i32,
        /// The log dir.
        dir: String,
        /// Whether it is cordoned.
        on: bool,
        /// The broker's list then; `None` takes it away.
        value: Option<String>,
        /// The list before.
        before: Option<String>,
    },
    /// Groups without members get positions.
    GroupPositions(GroupPositions),
}

/// The broker's setting that cordons log dirs (KIP-1066).
pub const CORDONED_LOG_DIRS: &str = "cordoned.log.dirs";

/// One key of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyChange {
    /// The key.
    pub key: String,
    /// The new value; `None` takes the topic's own value away.
    pub value: Option<String>,
    /// The topic's own value before; `None` if it had none.
    pub before: Option<String>,
    /// What was in force before, and where it was from.
    pub in_force: Option<(String, String)>,
}

/// What goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LiveLoss {
    /// Bytes on each replica, at most; segments go as a whole, so it may be less. `None` if unknown.
    pub bytes: Option<u64>,
    /// Records, at most; `None` if unknown.
    pub records: Option<u64>,
}

/// A group that has not read all of what goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupBelow {
    /// The group.
    pub group: String,
    /// The partition.
    pub partition: TopicPartition,
    /// What it has committed.
    pub committed: Offset,
}

impl LivePlan {
    /// Returns the SHA-256 of the plan, in lower-case hex.
    pub fn hash(&self) -> String {
        // Only strings and numbers are inside: nothing of it fails to serialize.
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        hex(&Sha256::digest(bytes))
    }

    /// Returns how it must be confirmed.
    pub fn class(&self) -> Class {
        // What a mirror is not known to have may be nowhere else.
        if !self.mirrors.is_empty() || self.made_anew {
            return Class::C;
        }
        match &self.act {
            LiveAct::TopicConfigs { changes, .. } if changes.iter().any(is_nonsense) => Class::C,
            LiveAct::TopicConfigs { .. } if self.loses_nothing() => Class::A,
            LiveAct::TopicConfigs { .. } => Class::B,
            LiveAct::DeleteRecords { .. } if self.loss.records == Some(0) => Class::A,
            LiveAct::DeleteRecords { .. } => Class::C,
            LiveAct::GroupPositions(positions) if positions.overwrites() => Class::B,
            LiveAct::MoveReplica { .. }
            | LiveAct::ProducerQuota { .. }
            | LiveAct::Cordon { .. }
            | LiveAct::GroupPositions(_) => Class::A,
        }
    }

    /// Says whether nothing goes for sure.
    pub fn loses_nothing(&self) -> bool {
        self.loss.bytes == Some(0)
    }

    /// Returns the topic that it is about, if it is about one.
    pub fn topic(&self) -> Option<&str> {
        match &self.act {
            LiveAct::TopicConfigs { topic, .. } => Some(topic),
            LiveAct::DeleteRecords { partition, .. } | LiveAct::MoveReplica { partition, .. } => {
                Some(&partition.topic)
            }
            LiveAct::ProducerQuota { .. } | LiveAct::Cordon { .. } | LiveAct::GroupPositions(_) => {
                None
            }
        }
    }

    /// Returns what is changed, as the confirmation names it.
    pub fn object(&self) -> String {
        match &self.act {
            LiveAct::TopicConfigs { topic, .. } => topic.clone(),
            LiveAct::DeleteRecords { partition, .. } | LiveAct::MoveReplica { partition, .. } => {
                partition.to_string()
            }
            LiveAct::ProducerQuota { client_id, .. } => client_id
                .clone()
                .unwrap_or_else(|| "all clients".to_owned()),
            LiveAct::Cordon { dir, .. } => dir.clone(),
            LiveAct::GroupPositions(positions) => positions.flow.clone(),
        }
    }

    /// Says whether the old values are kept, so that one act restores them.
    pub fn can_be_restored(&self) -> bool {
        self.restores.is_none()
            && match &self.act {
                LiveAct::TopicConfigs { .. } | LiveAct::ProducerQuota { .. } => true,
                LiveAct::GroupPositions(positions) => positions.overwrites(),
                LiveAct::DeleteRecords { .. }
                | LiveAct::MoveReplica { .. }
                | LiveAct::Cordon { .. } => false,
            }
    }

    /// Returns the act that puts the old values back; `None` if there are none.
    pub fn inverse(&self) -> Option<LiveAct> {
        if !self.can_be_restored() {
            return None;
        }
        match &self.act {
            LiveAct::TopicConfigs { topic, changes } => Some(LiveAct::TopicConfigs {
                topic: topic.clone(),
                changes: changes.iter().map(turned).collect(),
            }),
            LiveAct::ProducerQuota {
                client_id,
                bytes_per_s,
                before,
            } => Some(LiveAct::ProducerQuota {
                client_id: client_id.clone(),
                bytes_per_s: *before,
                before: *bytes_per_s,
            }),
            LiveAct::GroupPositions(positions) => {
                Some(LiveAct::GroupPositions(positions.inverse()))
            }
            LiveAct::DeleteRecords { .. }
            | LiveAct::MoveReplica { .. }
            | LiveAct::Cordon { .. } => None,
        }
    }

    /// Returns what is done, in a sentence.
    pub fn sentence(&self) -> String {
        match &self.act {
            LiveAct::TopicConfigs { topic, changes } => {
                let all: Vec<_> = changes.iter().map(key_words).collect();
                format!("topic {topic}: {}", all.join(", "))
            }
            LiveAct::DeleteRecords {
                partition,
                before,
                log_start,
            } => format!("{partition}: delete records {log_start} to {before} (exclusive)"),
            LiveAct::MoveReplica {
                partition,
                broker,
                from,
                to,
            } if from == to => {
                format!("{partition} on broker {broker}: stop its move, it stays in {from}")
            }
            LiveAct::MoveReplica {
                partition,
                broker,
                from,
                to,
            } => format!("{partition} on broker {broker}: move from {from} to {to}"),
            LiveAct::ProducerQuota {
                client_id,
                bytes_per_s,
                before,
            } => {
                let who = client_id.as_ref().map_or_else(
                    || "all clients without a quota of their own".to_owned(),
                    |id| format!("client {id}"),
                );
                let rate = |rate: &Option<u64>| {
                    rate.map_or_else(|| "none".to_owned(), |rate| format!("{rate} B/s"))
                };
                format!(
                    "{who}: producer_byte_rate {} for each broker (before: {})",
                    rate(bytes_per_s),
                    rate(before)
                )
            }
            LiveAct::Cordon {
                broker, dir, on, ..
            } if *on => format!(
                "broker {broker}: cordon {dir}; it gets no new replica, those there stay and are served"
            ),
            LiveAct::Cordon { broker, dir, .. } => {
                format!("broker {broker}: {dir} takes new replicas again")
            }
            LiveAct::GroupPositions(positions) => positions.sentence(),
        }
    }

    /// Returns the line for Kafka's own tools that does the same; `options` reach the cluster.
    pub fn kafka_line(&self, options: &str) -> String {
        match &self.act {
            LiveAct::TopicConfigs { topic, changes } => {
                let entity = format!("--alter --entity-type topics --entity-name {topic}");
                format!(
                    "kafka-configs.sh {options} {entity}{}",
                    config_words(changes)
                )
            }
            LiveAct::DeleteRecords {
                partition, before, ..
            } => format!(
                "echo '{{\"version\":1,\"partitions\":[{{\"topic\":\"{}\",\"partition\":{},\"offset\":{before}}}]}}' > cut.json; \
                 kafka-delete-records.sh {options} --offset-json-file cut.json",
                partition.topic, partition.partition
            ),
            LiveAct::MoveReplica {
                partition,
                broker,
                to,
                ..
            } => format!(
                "kafka-reassign-partitions.sh {options} --execute --reassignment-json-file move.json (with \"topic\":\"{}\", \
                 \"partition\":{}, and for broker {broker} in \"log_dirs\" \"{to}\", for the others \"any\")",
                partition.topic, partition.partition
            ),
            LiveAct::ProducerQuota {
                client_id,
                bytes_per_s,
                ..
            } => {
                let entity = client_id.as_ref().map_or_else(
                    || "--entity-type clients --entity-default".to_owned(),
                    |id| format!("--entity-type clients --entity-name {id}"),
                );
                let change = bytes_per_s.map_or_else(
                    || "--delete-config producer_byte_rate".to_owned(),
                    |rate| format!("--add-config producer_byte_rate={rate}"),
                );
                format!("kafka-configs.sh {options} --alter {entity} {change}")
            }
            LiveAct::Cordon { broker, value, .. } => {
                let change = value.as_ref().map_or_else(
                    || format!("--delete-config {CORDONED_LOG_DIRS}"),
                    |list| format!("--add-config {CORDONED_LOG_DIRS}=[{list}]"),
                );
                format!(
                    "kafka-configs.sh {options} --alter --entity-type brokers --entity-name {broker} {change}"
                )
            }
            LiveAct::GroupPositions(positions) => format!(
                "kafka-consumer-groups.sh {options} --group GROUP --reset-offsets --from-file positions/GROUP.csv --execute, for each \
                 group (files: krescue mirror failover '{}' --csv positions)",
                positions.flow
            ),
        }
    }
}

fn turned(change: &KeyChange) -> KeyChange {
    KeyChange {
        key: change.key.clone(),
        value: change.before.clone(),
        before: change.value.clone(),
        in_force: change
            .value
            .clone()
            .map(|value| (value, "topic".to_owned())),
    }
}

fn key_words(change: &KeyChange) -> String {
    let before = match (&change.before, &change.in_force) {
        (Some(before), _) => before.clone(),
        (None, Some((value, origin))) => format!("{value}, {origin}"),
        (None, None) => "?".to_owned(),
    };
    match &change.value {
        Some(value) => format!("{} = {value} (before: {before})", change.key),
        None => format!("{} no longer set (before: {before})", change.key),
    }
}

fn config_words(changes: &[KeyChange]) -> String {
    let added: Vec<_> = changes
        .iter()
        .filter_map(|change| {
            let value = change.value.as_ref()?;
            let value = if value.contains(',') {
                format!("[{value}]")
            } else {
                value.clone()
            };
            Some(format!("{}={value}", change.key))
        })
        .collect();
    let taken = changes.iter().filter(|change| change.value.is_none());
    let taken: Vec<_> = taken.map(|change| change.key.clone()).collect();
    let mut words = String::new();
    if !added.is_empty() {
        words = format!(" --add-config {}", added.join(","));
    }
    if !taken.is_empty() {
        words = format!("{words} --delete-config {}", taken.join(","));
    }
    words
}

/// Says whether a value lets nearly everything go: 0 bytes, 1 ms.
fn is_nonsense(change: &KeyChange) -> bool {
    let least = match change.key.as_str() {
        "retention.ms" | "local.retention.ms" => LEAST_RETENTION_MS,
        "retention.bytes" | "local.retention.bytes" => LEAST_RETENTION_BYTES,
        _ => return false,
    };
    let value = change
        .value
        .as_ref()
        .and_then(|value| value.trim().parse::<i64>().ok());
    value.is_some_and(|value| (0..least).contains(&value))
}

#[cfg(test)]
mod tests {
    use super::super::MirrorBelow;
    use super::*;

    fn configs(key: &str, value: Option<&str>, before: Option<&str>, bytes: u64) -> LivePlan {
        LivePlan {
            schema: 1,
            cluster_id: Some("X".to_owned()),
            topic_id: None,
            made_anew: false,
            act: LiveAct::TopicConfigs {
                topic: "orders".to_owned(),
                changes: vec![KeyChange {
                    key: key.to_owned(),
                    value: value.map(str::to_owned),
                    before: before.map(str::to_owned),
                    in_force: None,
                }],
            },
            restores: None,
            loss: LiveLoss {
                bytes: Some(bytes),
                records: None,
            },
            groups: Vec::new(),
            groups_unasked: Vec::new(),
            notes: Vec::new(),
            mirrors: LiveMirrors::default(),
        }
    }

    #[test]
    fn the_class_grows_with_what_goes() {
        assert_eq!(
            configs("retention.ms", Some("86400000"), None, 0).class(),
            Class::A
        );
        assert_eq!(
            configs("retention.ms", Some("3600000"), None, 5).class(),
            Class::B
        );
        for (key, value) in [
            ("retention.ms", "1"),
            ("retention.ms", "0"),
            ("retention.bytes", "0"),
        ] {
            assert_eq!(
                configs(key, Some(value), None, 0).class(),
                Class::C,
                "{key}={value}"
            );
        }
        assert_eq!(
            configs("retention.ms", Some("-1"), None, 0).class(),
            Class::A
        );
        let mut unknown = configs("retention.ms", Some("3600000"), None, 0);
        unknown.loss.bytes = None;
        assert_eq!(unknown.class(), Class::B);
    }

    #[test]
    fn old_values_of_another_topic_are_put_back_as_if_data_went() {
        let mut plan = configs("retention.ms", Some("86400000"), None, 0);
        assert_eq!(plan.class(), Class::A);
        let hash = plan.hash();
        plan.made_anew = true;
        assert_eq!(plan.class(), Class::C);
        assert_ne!(plan.hash(), hash);
        plan.made_anew = false;
        plan.topic_id = Some("AAAAAAAAAAAAAAAAAAAAAQ".to_owned());
        assert_ne!(plan.hash(), hash, "another topic, another plan");
    }

    #[test]
    fn what_no_mirror_has_is_good_data() {
        let mut plan = configs("retention.ms", Some("86400000"), None, 5);
        assert_eq!(plan.class(), Class::B);
        plan.mirrors.unread.push("?".to_owned());
        assert_eq!(plan.class(), Class::C, "it is not known to have it");
        plan.mirrors.unread.clear();
        assert_eq!(plan.class(), Class::B);
        plan.mirrors.below.push(MirrorBelow {
            mirror: "west".to_owned(),
            partition: TopicPartition::new("orders", 0),
            copied: Some(Offset(7)),
            uncopied: 3,
            last_sync: None,
        });
        assert_eq!(plan.class(), Class::C);
    }

    #[test]
    fn what_was_not_set_before_is_taken_away_again() {
        let plan = configs("retention.ms", Some("3600000"), None, 5);
        let Some(LiveAct::TopicConfigs { changes, .. }) = plan.inverse() else {
            panic!("no inverse")
        };
        assert_eq!(changes[0].value, None);
        let back = LivePlan {
            act: plan.inverse().unwrap(),
            restores: Some(plan.hash()),
            ..plan.clone()
        };
        assert_eq!(back.inverse(), None, "a restore is not restored");
        assert_ne!(back.hash(), plan.hash());
    }

    #[test]
    fn kafkas_own_line_does_the_same() {
        let plan = configs("cleanup.policy", Some("compact,delete"), Some("delete"), 0);
        assert_eq!(
            plan.kafka_line("--bootstrap-server h:1"),
            "kafka-configs.sh --bootstrap-server h:1 --alter --entity-type topics --entity-name orders --add-config cleanup.policy=[compact,delete]"
        );
        let plan = configs("retention.ms", None, Some("5"), 0);
        assert!(
            plan.kafka_line("")
                .ends_with("--delete-config retention.ms")
        );
    }
}
