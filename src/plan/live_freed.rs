//! What a change of a living cluster has freed so far, against what its plan promised.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::live::{LiveAct, LivePlan};
use crate::terms::{Offset, Timestamp};

/// What a pass and the deletion after it take beyond their times, in ms.
const GRACE_MS: u64 = 5_000;

/// How long is waited for brokers that do not say when they act, in ms: three times Kafka's default interval.
pub const UNTOLD_LIMIT_MS: u64 = 15 * 60_000;

/// A replica of a topic at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaSize {
    /// The broker that holds it.
    pub broker: i32,
    /// The partition.
    pub partition: i32,
    /// Bytes of its segments.
    pub bytes: u64,
    /// The first offset in its files; `None` if it was not told.
    pub log_start: Option<Offset>,
}

/// What one broker has freed of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokerFreed {
    /// The broker.
    pub broker: i32,
    /// Bytes of its segments before the change.
    pub before: u64,
    /// Bytes now; `None` if it does not answer.
    pub now: Option<u64>,
    /// Offsets by which its logs begin later.
    pub records: u64,
}

impl BrokerFreed {
    /// Returns by how many bytes its logs are smaller; what was appended meanwhile hides as much.
    pub fn freed(&self) -> Option<u64> {
        Some(self.before.saturating_sub(self.now?))
    }
}

/// What came of a change at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreedSoFar {
    /// When the change was made.
    pub since: Timestamp,
    /// When this was looked at.
    pub at: Timestamp,
    /// Within how long each broker looks for what is to be deleted, in ms; `None` if a broker does not say.
    pub every_ms: Option<u64>,
    /// How long after that the files go, in ms (`file.delete.delay.ms`); `None` if it was not told.
    pub delay_ms: Option<u64>,
    /// What was promised of each broker, at most; `None` if that was not known.
    pub promised: Option<u64>,
    /// The brokers, by id.
    pub brokers: Vec<BrokerFreed>,
}

impl FreedSoFar {
    /// Returns when every broker has looked at its logs and the files are unlinked; `None` if that is not known.
    pub fn due(&self) -> Option<Timestamp> {
        let ms = self.every_ms?.saturating_add(self.delay_ms?);
        let ms = ms.saturating_add(GRACE_MS);
        Some(Timestamp(self.since.0.saturating_add_unsigned(ms)))
    }

    /// Says whether every broker has freed what was promised at most.
    pub fn is_all_freed(&self) -> bool {
        let enough = |of: &BrokerFreed| of.freed() >= self.promised;
        self.promised.is_some() && !self.brokers.is_empty() && self.brokers.iter().all(enough)
    }

    /// Says whether nothing more is to come: all is freed, or it was due; where nobody says when, once it was waited for long
    /// enough.
    pub fn is_over(&self) -> bool {
        let untold = self.since.0.saturating_add_unsigned(UNTOLD_LIMIT_MS);
        let is_due = self.at >= self.due().unwrap_or(Timestamp(untold));
        self.brokers.is_empty() || is_due || self.is_all_freed()
    }
}

/// Returns what each broker has freed between two looks, by id.
pub fn freed_by_broker(before: &[ReplicaSize], now: &[ReplicaSize]) -> Vec<BrokerFreed> {
    let mut brokers: BTreeMap<i32, BrokerFreed> = BTreeMap::new();
    for before in before {
        let found = now
            .iter()
            .find(|now| now.broker == before.broker && now.partition == before.partition);
        let sum = brokers.entry(before.broker).or_insert(BrokerFreed {
            broker: before.broker,
            before: 0,
            now: Some(0),
            records: 0,
        });
        sum.before = sum.before.saturating_add(before.bytes);
        sum.now = sum.now.zip(found).map(|(sum, now)| sum + now.bytes);
        sum.records += found.map_or(0, |now| moved(before, now));
    }
    brokers.into_values().collect()
}

fn moved(before: &ReplicaSize, now: &ReplicaSize) -> u64 {
    let starts = before.log_start.zip(now.log_start);
    starts.map_or(0, |(before, now)| {
        u64::try_from(now.0.saturating_sub(before.0)).unwrap_or(0)
    })
}

impl LivePlan {
    /// Returns the topic whose segments a broker's next pass deletes by this plan, and the partition if it is about one
    /// alone; `None` if no segment goes by it.
    pub fn frees(&self) -> Option<(&str, Option<i32>)> {
        match &self.act {
            LiveAct::TopicConfigs { topic, .. } if !self.loses_nothing() => {
                Some((topic.as_str(), None))
            }
            LiveAct::DeleteRecords { partition, .. } => {
                Some((partition.topic.as_str(), Some(partition.partition)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(broker: i32, partition: i32, bytes: u64, log_start: i64) -> ReplicaSize {
        ReplicaSize {
            broker,
            partition,
            bytes,
            log_start: Some(Offset(log_start)),
        }
    }

    fn so_far(brokers: Vec<BrokerFreed>, at: i64) -> FreedSoFar {
        FreedSoFar {
            since: Timestamp(1_000),
            at: Timestamp(at),
            every_ms: Some(300_000),
            delay_ms: Some(60_000),
            promised: Some(40),
            brokers,
        }
    }

    #[test]
    fn a_broker_that_does_not_answer_has_freed_nobody_knows_what() {
        let before = [size(1, 0, 100, 5), size(1, 1, 50, 0), size(2, 0, 100, 5)];
        let now = [size(1, 0, 60, 25), size(1, 1, 70, 0)];
        let freed = freed_by_broker(&before, &now);
        assert_eq!(freed.len(), 2);
        assert_eq!((freed[0].before, freed[0].now), (150, Some(130)));
        assert_eq!((freed[0].freed(), freed[0].records), (Some(20), 20));
        assert_eq!((freed[1].freed(), freed[1].records), (None, 0));
        assert!(!so_far(freed, 2_000).is_all_freed());
    }

    #[test]
    fn who_does_not_say_when_is_not_waited_for_for_ever() {
        let broker = BrokerFreed {
            broker: 1,
            before: 100,
            now: Some(100),
            records: 0,
        };
        let at = |ms: i64| FreedSoFar {
            every_ms: None,
            ..so_far(vec![broker], ms)
        };
        assert_eq!(at(0).due(), None);
        let limit = i64::try_from(UNTOLD_LIMIT_MS).unwrap();
        assert!(!at(limit).is_over());
        assert!(at(limit + 1_000).is_over());
    }

    #[test]
    fn it_is_over_once_all_is_freed_or_all_is_due() {
        let broker = |now| BrokerFreed {
            broker: 1,
            before: 100,
            now: Some(now),
            records: 0,
        };
        assert!(!so_far(vec![broker(100)], 2_000).is_over());
        assert!(so_far(vec![broker(60)], 2_000).is_over());
        assert!(!so_far(vec![broker(100)], 365_999).is_over());
        assert!(so_far(vec![broker(100)], 366_000).is_over());
        let mut unknown = so_far(vec![broker(100)], 366_000);
        unknown.delay_ms = None;
        assert!(!unknown.is_over());
        assert!(so_far(Vec::new(), 2_000).is_over());
    }
}
