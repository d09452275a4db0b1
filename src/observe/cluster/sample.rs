//! What one look at the cluster found.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::client::{ClusterMetadata, KafkaError, LogDirReport};
use crate::terms::{Offset, Timestamp, TopicPartition};

/// One look.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterSample {
    /// When it began.
    pub at: Timestamp,
    /// How long it took, in ms.
    pub took_ms: u64,
    /// How many requests it took.
    pub requests: u64,
    /// Brokers, leaders, in-sync replicas.
    pub metadata: ClusterMetadata,
    /// What each broker said of itself.
    pub brokers: BTreeMap<i32, BrokerSample>,
    /// What each replica said of its log.
    pub replicas: BTreeMap<(TopicPartition, i32), ReplicaSample>,
    /// The leader's high watermark.
    pub high_watermarks: BTreeMap<TopicPartition, Offset>,
    /// Settings, with their own age.
    pub configs: Configs,
}

impl ClusterSample {
    /// Returns a look at `at` that has found nothing yet.
    pub fn new(at: Timestamp) -> Self {
        Self {
            at,
            took_ms: 0,
            requests: 0,
            metadata: ClusterMetadata::default(),
            brokers: BTreeMap::new(),
            replicas: BTreeMap::new(),
            high_watermarks: BTreeMap::new(),
            configs: Configs::default(),
        }
    }
}

/// What a broker said of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BrokerSample {
    /// Its log dirs; `None` if it did not say.
    pub log_dirs: Option<Vec<LogDirReport>>,
    /// Why it did not answer, if it did not.
    pub failure: Option<String>,
}

/// What a replica said of its own log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplicaSample {
    /// Its log end offset, and when it said so. For a leader that is before its followers were asked.
    pub log_end: Option<(Offset, Timestamp)>,
    /// For a leader: its log end offset after its followers were asked.
    pub log_end_after: Option<(Offset, Timestamp)>,
    /// The first offset in its own files.
    pub log_start: Option<Offset>,
    /// Bytes of its segments.
    pub bytes: Option<u64>,
    /// Its log dir.
    pub dir: Option<PathBuf>,
    /// The dir that it is being moved to, and the offsets that are left to copy.
    pub moving: Option<(PathBuf, i64)>,
    /// What the broker answered instead.
    pub error: Option<KafkaError>,
}

/// Settings of topics and brokers that bear on replication.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Configs {
    /// When they were asked for; `None` if they never were.
    pub at: Option<Timestamp>,
    /// `min.insync.replicas` by topic.
    pub min_isr: BTreeMap<String, i32>,
    /// Topics that allow an unclean election.
    pub unclean: BTreeSet<String>,
    /// Topics with throttled replicas: the leaders' and the followers' list, as set.
    pub throttled: BTreeMap<String, (String, String)>,
    /// Brokers with a replication throttle.
    pub throttles: BTreeMap<i32, Throttle>,
}

/// A broker's replication throttles, bytes a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttle {
    /// `leader.replication.throttled.rate`.
    pub leader: Option<u64>,
    /// `follower.replication.throttled.rate`.
    pub follower: Option<u64>,
}
