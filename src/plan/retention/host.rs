//! The logs of a host, judged together: by topic, and under other values.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::facts::LogFacts;
use super::judge::plan_retention;
use super::limits::{BrokerRules, RetentionLimits};
use super::totals::{Amount, RetentionTotals};
use super::verdict::{LogRetention, RetentionReason, RetentionVerdict};
use super::what_if::WhatIf;
use crate::cluster::{ConfigSource, LogConfig};
use crate::terms::{Timestamp, TopicPartition};

/// A log and what its configuration says.
#[derive(Debug, Clone, PartialEq)]
pub struct RetainedLog {
    /// What the disk says.
    pub facts: LogFacts,
    /// Its settings, each with its source; shared by the logs of a topic.
    pub config: Arc<LogConfig>,
    /// Its limits.
    pub limits: RetentionLimits,
    /// Whether this broker leads it, by the metadata; `None` if that does not say.
    pub leads: Option<bool>,
    /// How its topic lies in the cluster; `None` if nobody says.
    pub placement: Option<Placement>,
    /// Whether the running broker's cleaner has given it up, and why.
    pub gave_up: Option<CleanerGaveUp>,
}

/// When and why the cleaner gave a log up, as the broker's log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanerGaveUp {
    /// When, by the broker's own clock.
    pub at: String,
    /// The exception, where the log names it.
    pub cause: Option<String>,
}

/// How a topic lies in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Its partitions.
    pub partitions: u64,
    /// The replicas of the partition.
    pub replicas: u64,
}

impl RetainedLog {
    /// Lets the log have other values, which then name themselves as their source.
    pub fn set_limits(&mut self, wish: WhatIf) {
        self.limits = self.limits.what_if(wish);
        let config = Arc::make_mut(&mut self.config);
        if let Some(ms) = wish.retention_ms {
            config.retention_ms.value = ms;
            config.retention_ms.source = ConfigSource::WhatIf;
        }
        if let Some(bytes) = wish.retention_bytes {
            config.retention_bytes.value = bytes;
            config.retention_bytes.source = ConfigSource::WhatIf;
        }
    }
}

/// What other values are tried on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WhatIfScope {
    /// One partition.
    Partition(TopicPartition),
    /// A topic.
    Topic(String),
    /// All that lies here.
    Host,
}

impl WhatIfScope {
    /// Says whether a partition is meant.
    pub fn contains(&self, partition: &TopicPartition) -> bool {
        match self {
            Self::Partition(of) => of == partition,
            Self::Topic(topic) => *topic == partition.topic,
            Self::Host => true,
        }
    }
}

/// The logs of a host at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRetention {
    /// The logs.
    pub logs: Vec<RetainedLog>,
    /// What the broker's own configuration says.
    pub broker: BrokerRules,
    /// The clock that verdicts are given by.
    pub now: Timestamp,
    /// Whether a broker runs, whose timers remove what is `.deleted`; without one the next boot does.
    pub is_served: bool,
}

/// A topic's logs on this host.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicRetention {
    /// Its name.
    pub topic: String,
    /// Its logs, by their numbers in the host's list.
    pub logs: Vec<usize>,
    /// Sums over them.
    pub totals: RetentionTotals,
    /// What goes of logs that this broker follows: their leaders judge for themselves.
    pub followed: Amount,
    /// What is held and by what, the most bytes first.
    pub held_by: Vec<(RetentionReason, Amount)>,
    /// The verdicts that keep the most bytes, for the question why nothing goes.
    pub kept_by: Vec<(RetentionReason, Amount)>,
}

impl HostRetention {
    /// Judges all logs; those in `scope` by other values.
    pub fn judge(&self, wish: WhatIf, scope: &WhatIfScope) -> Vec<LogRetention> {
        self.logs
            .iter()
            .map(|log| {
                let limits = if scope.contains(&log.facts.topic_partition) {
                    log.limits.what_if(wish)
                } else {
                    log.limits
                };
                plan_retention(&log.facts, &limits, self.now)
            })
            .collect()
    }

    /// Returns sums by topic, the most bytes first; `judged` is what [`Self::judge`] gave.
    pub fn topics(&self, judged: &[LogRetention]) -> Vec<TopicRetention> {
        let mut topics: BTreeMap<&str, (TopicRetention, Reasons)> = BTreeMap::new();
        for (number, (log, judged)) in self.logs.iter().zip(judged).enumerate() {
            let name = log.facts.topic_partition.topic.as_str();
            let (topic, reasons) = topics.entry(name).or_insert_with(|| {
                let topic = TopicRetention {
                    topic: name.to_owned(),
                    logs: Vec::new(),
                    totals: RetentionTotals::default(),
                    followed: Amount::default(),
                    held_by: Vec::new(),
                    kept_by: Vec::new(),
                };
                (topic, Reasons::default())
            });
            topic.logs.push(number);
            topic.totals += judged.totals;
            if log.leads == Some(false) {
                topic.followed += judged.totals.delete;
            }
            for (segment, facts) in judged.segments.iter().zip(&log.facts.segments) {
                let of = match segment.verdict {
                    RetentionVerdict::Held => &mut reasons.held,
                    RetentionVerdict::Keep | RetentionVerdict::Compact => &mut reasons.kept,
                    RetentionVerdict::Delete | RetentionVerdict::Leftover => continue,
                };
                of.entry(segment.reason).or_default().add(facts.freed);
            }
        }
        let mut topics: Vec<TopicRetention> = topics
            .into_values()
            .map(|(mut topic, reasons)| {
                topic.held_by = sorted(reasons.held);
                topic.kept_by = sorted(reasons.kept);
                topic
            })
            .collect();
        topics.sort_by(|a, b| {
            let bytes = |topic: &TopicRetention| topic.totals.all.bytes;
            bytes(b).cmp(&bytes(a)).then_with(|| a.topic.cmp(&b.topic))
        });
        topics
    }
}

/// Amounts by reason.
#[derive(Debug, Default)]
struct Reasons {
    held: BTreeMap<RetentionReason, Amount>,
    kept: BTreeMap<RetentionReason, Amount>,
}

fn sorted(amounts: BTreeMap<RetentionReason, Amount>) -> Vec<(RetentionReason, Amount)> {
    let mut amounts: Vec<_> = amounts.into_iter().collect();
    amounts.sort_by_key(|(_, amount)| std::cmp::Reverse(amount.bytes));
    amounts
}
