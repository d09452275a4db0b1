//! Ways to space that are acts of their own: other limits for a topic, a partition that goes to another volume.

use std::path::{Path, PathBuf};

use super::past_retention;
use crate::plan::Class;
use crate::plan::retention::{LogRole, RetainedLog, WhatIf, is_internal, plan_retention};
use crate::terms::{Timestamp, TopicPartition};

/// Ways of a kind that are told at most.
const MOST: usize = 3;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// Another way to space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherWay {
    /// How it must be confirmed.
    pub class: Class,
    /// Bytes that become free.
    pub freed: u64,
    /// What is done.
    pub act: WayAct,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WayAct {
    /// A topic is judged by other limits.
    Shorten {
        /// The topic.
        topic: String,
        /// The limits.
        limits: WhatIf,
    },
    /// A partition goes to another log dir.
    Move {
        /// The partition.
        partition: TopicPartition,
        /// The log dir.
        to: PathBuf,
    },
}

/// Returns topics whose retention could be shortened, those that free the most first: each by the longest `retention.ms` of
/// halves that frees `target` bytes on the log dirs `on`, or by the one that frees the most.
pub fn shorten_ways(
    logs: &[RetainedLog],
    on: &[PathBuf],
    now: Timestamp,
    target: u64,
) -> Vec<OtherWay> {
    let can_go = |log: &&RetainedLog| {
        let topic = &log.facts.topic_partition.topic;
        on.contains(&log.facts.log_dir)
            && log.facts.role == LogRole::Current
            && !is_internal(topic)
            && !topic.starts_with("__")
            && log.limits.policy.deletes()
            && !log.limits.policy.compacts()
            && !log.limits.tiered
    };
    let mut logs: Vec<&RetainedLog> = logs.iter().filter(can_go).collect();
    let topic = |log: &RetainedLog| log.facts.topic_partition.topic.clone();
    logs.sort_by_key(|log| topic(log));
    let by_topic = logs.chunk_by(|a, b| topic(a) == topic(b));
    let mut ways: Vec<OtherWay> = by_topic
        .filter_map(|logs| shorten(logs, now, target))
        .collect();
    ways.sort_by_key(|way| std::cmp::Reverse(way.freed.min(target)));
    ways.truncate(MOST);
    ways
}

fn shorten(logs: &[&RetainedLog], now: Timestamp, target: u64) -> Option<OtherWay> {
    let freed = |wish: WhatIf| -> u64 {
        let of_log = |log: &&RetainedLog| {
            let limits = log.limits.what_if(wish);
            let judged = plan_retention(&log.facts, &limits, now);
            let goes = past_retention(&log.facts, &judged, true);
            goes.map_or(0, |goes| goes.segments.iter().map(|of| of.freed).sum())
        };
        logs.iter().map(of_log).sum()
    };
    let age = |log: &&RetainedLog| {
        let oldest = log.facts.segments.iter().map(|of| of.largest_timestamp.0);
        oldest.min().map(|oldest| now.0.saturating_sub(oldest))
    };
    let oldest = logs.iter().filter_map(age).max()?;
    let in_force = logs.iter().map(|log| log.config.retention_ms.value);
    let in_force = in_force.filter(|ms| *ms > 0).min().unwrap_or(i64::MAX);
    let already = freed(WhatIf::default());
    let (mut ms, mut best) = (in_force.min(oldest), None);
    while ms > MINUTE_MS {
        ms /= 2;
        let unit = if ms >= 2 * HOUR_MS {
            HOUR_MS
        } else {
            MINUTE_MS
        };
        let limits = WhatIf {
            retention_ms: Some((ms / unit).max(1) * unit),
            retention_bytes: None,
        };
        let more = freed(limits).saturating_sub(already);
        if best.is_none_or(|(known, _)| more > known) {
            best = Some((more, limits));
        }
        if more >= target {
            break;
        }
    }
    let (freed, limits) = best.filter(|(freed, _)| *freed > 0)?;
    let topic = logs.first()?.facts.topic_partition.topic.clone();
    Some(OtherWay {
        class: Class::C,
        freed,
        act: WayAct::Shorten { topic, limits },
    })
}

/// A partition, and what it takes on its volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionBytes {
    /// The partition.
    pub partition: TopicPartition,
    /// Bytes on the volume of all its files.
    pub allocated: u64,
}

/// A log dir on another volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// The log dir.
    pub dir: PathBuf,
    /// Bytes that may come to it.
    pub bytes: u64,
}

/// Returns partitions that could go to the roomiest of other volumes: the smallest that frees `target` bytes alone, then the
/// largest others that fit. `class` says how a partition's move must be confirmed; `None` where nothing says who else has it.
pub fn move_ways(
    partitions: &[PartitionBytes],
    rooms: &[Room],
    target: u64,
    class: impl Fn(&TopicPartition) -> Option<Class>,
) -> Vec<OtherWay> {
    let Some(room) = rooms.iter().max_by_key(|room| room.bytes) else {
        return Vec::new();
    };
    let fits = |of: &&PartitionBytes| of.allocated > 0 && of.allocated <= room.bytes;
    let mut fitting: Vec<&PartitionBytes> = partitions.iter().filter(fits).collect();
    fitting.sort_by_key(|of| {
        let enough = of.allocated >= target;
        let rank = if enough {
            of.allocated
        } else {
            u64::MAX - of.allocated
        };
        (!enough, rank, of.partition.clone())
    });
    let to: &Path = &room.dir;
    fitting
        .into_iter()
        .filter_map(|of| {
            Some(OtherWay {
                class: class(&of.partition)?,
                freed: of.allocated,
                act: WayAct::Move {
                    partition: of.partition.clone(),
                    to: to.to_owned(),
                },
            })
        })
        .take(MOST)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_partition_that_is_enough_goes_first_and_none_goes_where_it_does_not_fit() {
        let of = |name: &str, allocated| PartitionBytes {
            partition: TopicPartition::new(name, 0),
            allocated,
        };
        let partitions = [
            of("a", 10),
            of("b", 90),
            of("c", 60),
            of("d", 30),
            of("e", 500),
        ];
        let room = |dir: &str, bytes| Room {
            dir: dir.into(),
            bytes,
        };
        let rooms = [room("/d2", 20), room("/d3", 100)];
        let names = |ways: Vec<OtherWay>| -> Vec<String> {
            let name = |way: OtherWay| match way.act {
                WayAct::Move { partition, to } => format!("{partition} {}", to.display()),
                WayAct::Shorten { .. } => panic!("{way:?}"),
            };
            ways.into_iter().map(name).collect()
        };
        let ways = |target| names(move_ways(&partitions, &rooms, target, |_| Some(Class::B)));
        assert_eq!(ways(50), ["c-0 /d3", "b-0 /d3", "d-0 /d3"]);
        assert_eq!(ways(95), ["b-0 /d3", "c-0 /d3", "d-0 /d3"]);
        assert!(move_ways(&partitions, &[], 1, |_| Some(Class::B)).is_empty());
        assert!(move_ways(&partitions, &rooms, 1, |_| None).is_empty());
    }
}
