//! What a person wants of a living cluster, before it is planned: the same for a command and for the dashboard.

use crate::terms::{Offset, Timestamp, TopicPartition};

/// A wish; a plan is made of it by asking the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveWish {
    /// Settings of a topic are set or taken away.
    Configs {
        /// The topic.
        topic: String,
        /// Keys and values, as the broker takes them.
        set: Vec<(String, String)>,
        /// Keys whose own value goes.
        reset: Vec<String>,
    },
    /// What a topic had before krescue changed it is put back.
    Restore {
        /// The topic.
        topic: String,
    },
    /// Records are deleted from the begin of a log.
    DeleteRecords {
        /// The partition.
        partition: TopicPartition,
        /// Up to where.
        to: RecordsTo,
    },
    /// A replica goes to another log dir of its broker.
    Move {
        /// The partition.
        partition: TopicPartition,
        /// The broker.
        broker: i32,
        /// Where to, as the broker writes it; `None` ends the move that runs.
        to: Option<String>,
    },
    /// Writers are capped, or no longer.
    Quota {
        /// A client id; `None` for all clients that have no quota of their own.
        client_id: Option<String>,
        /// The cap.
        cap: Cap,
    },
    /// A log dir takes no new replica any more, or does again.
    Cordon {
        /// The broker.
        broker: i32,
        /// The log dir, as the broker writes it.
        dir: String,
        /// Whether it is to be cordoned.
        on: bool,
    },
}

/// Up to where records are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordsTo {
    /// This offset is the first that stays.
    Offset(Offset),
    /// The first record at or behind this time stays.
    Time(Timestamp),
    /// So that about so many bytes go from each replica, by the average of its records.
    Free(u64),
}

/// What a writer may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cap {
    /// Bytes a second to each broker.
    Rate(u64),
    /// As much as it likes.
    None,
    /// What was set before krescue changed it.
    Restore,
}

impl LiveWish {
    /// Returns the words of the command that wishes the same.
    pub fn words(&self) -> String {
        match self {
            Self::Configs { topic, set, reset } => {
                let set = set
                    .iter()
                    .map(|(key, value)| format!(" --set {key}={value}"));
                let reset = reset.iter().map(|key| format!(" --reset {key}"));
                let changes: String = set.chain(reset).collect();
                format!("retention {topic}{changes}")
            }
            Self::Restore { topic } => format!("retention {topic} --restore"),
            Self::DeleteRecords { partition, to } => match to {
                RecordsTo::Offset(offset) => {
                    format!("delete-records {partition} --to-offset {offset}")
                }
                RecordsTo::Time(time) => format!("delete-records {partition} --to-time {}", time.0),
                RecordsTo::Free(bytes) => format!("delete-records {partition} --free {bytes}"),
            },
            Self::Move {
                partition,
                broker,
                to,
            } => {
                let to = to
                    .as_ref()
                    .map_or_else(|| "--cancel".to_owned(), |dir| format!("--to {dir}"));
                format!("move {partition} {to} --broker {broker}")
            }
            Self::Quota { client_id, cap } => {
                let client = client_id
                    .as_ref()
                    .map_or_else(String::new, |id| format!(" --client-id {id}"));
                match cap {
                    Cap::Rate(rate) => format!("quota --producer-rate {rate}{client}"),
                    Cap::None => format!("quota --none{client}"),
                    Cap::Restore => format!("quota --restore{client}"),
                }
            }
            Self::Cordon { broker, dir, on } => {
                let lift = if *on { "" } else { " --lift" };
                format!("cordon {dir} --broker {broker}{lift}")
            }
        }
    }
}

/// Parses `KEY=VALUE` of a topic; times and sizes take units.
///
/// # Errors
///
/// What is wrong, as a sentence's fragment.
pub fn parse_topic_setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("not of the form KEY=VALUE")?;
    let (key, value) = (key.trim(), value.trim());
    if let Some(topic_key) = key.strip_prefix("log.") {
        return Err(format!(
            "log.* are keys of brokers; the topic's key is {topic_key}"
        ));
    }
    if key.is_empty() || value.is_empty() {
        return Err("not of the form KEY=VALUE".to_owned());
    }
    // The last word of a key is its unit.
    let value = match key.rsplit_once('.').map_or(key, |(_, unit)| unit) {
        _ if value.parse::<i64>().is_ok() => value.to_owned(),
        "ms" => super::retention::parse_retention_ms(value)?.to_string(),
        "bytes" => super::retention::parse_retention_bytes(value)?.to_string(),
        _ => value.to_owned(),
    };
    Ok((key.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_units_and_broker_keys_are_told_apart() {
        let pair = |text| parse_topic_setting(text).unwrap().1;
        assert_eq!(pair("retention.ms=1h"), "3600000");
        assert_eq!(pair("retention.ms=-1"), "-1");
        assert_eq!(pair("retention.bytes=1GiB"), "1073741824");
        assert_eq!(pair("cleanup.policy=compact,delete"), "compact,delete");
        assert!(
            parse_topic_setting("log.retention.ms=5")
                .unwrap_err()
                .ends_with("retention.ms")
        );
        for text in [
            "",
            "retention.ms",
            "=5",
            "retention.ms=",
            "retention.ms=soon",
        ] {
            assert!(parse_topic_setting(text).is_err(), "{text}");
        }
    }
}
