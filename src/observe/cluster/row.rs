//! A replica as it is told of: measured, never guessed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::terms::{LeaderEpoch, Offset, Timestamp, TopicPartition};

/// One replica of one partition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "unrelated facts")]
pub struct ReplicaRow {
    /// The partition.
    pub partition: TopicPartition,
    /// The broker that holds it.
    pub broker: i32,
    /// The partition's leader; `None` if it has none.
    pub leader: Option<i32>,
    /// The leader's epoch.
    pub leader_epoch: Option<LeaderEpoch>,
    /// All replicas, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Those in sync.
    pub isr: Vec<i32>,
    /// Those that may be elected beside; `None` where brokers do not know.
    pub eligible: Option<Vec<i32>>,
    /// `min.insync.replicas`, at most the number of replicas; `None` if it was not told.
    pub min_isr: Option<usize>,
    /// Whether its broker or its log dir is gone.
    pub offline: bool,
    /// Its own log end offset.
    pub log_end: Option<Offset>,
    /// When it said so.
    pub log_end_at: Option<Timestamp>,
    /// The first offset in its files.
    pub log_start: Option<Offset>,
    /// Bytes of its segments.
    pub bytes: Option<u64>,
    /// Its log dir.
    pub dir: Option<PathBuf>,
    /// The dir that it is being moved to, and the offsets that are left to copy.
    pub moving: Option<(PathBuf, i64)>,
    /// Seconds until that is done, at the rate of the last looks; `None` before there are two, or while nothing is copied.
    #[serde(default)]
    pub moved_in_s: Option<u64>,
    /// Records behind its leader, by the leader's end before this replica was asked; 0 for the leader.
    pub lag_records: Option<u64>,
    /// The same by the leader's end after that: the lag lies between the two.
    pub lag_records_most: Option<u64>,
    /// Bytes behind its leader.
    pub lag_bytes: Option<u64>,
    /// Whether that is the difference of two sizes; else it is the records' average.
    pub lag_bytes_exact: bool,
    /// How long ago its leader's log ended where its own does, in ms: what its leader appended since is what it lacks. 0 if it
    /// lacks nothing; `None` if that was not seen and the leader appends nothing now.
    #[serde(default)]
    pub lag_ms: Option<u64>,
    /// Whether that is by the leader's ends as they were seen; else it is how long the leader takes for as many records now.
    #[serde(default)]
    pub lag_ms_exact: bool,
    /// Records a second that it takes; a leader appends them. `None` before there are two looks.
    pub records_per_s: Option<f64>,
    /// Bytes a second that it takes.
    pub bytes_per_s: Option<f64>,
    /// Records a second that its leader appends.
    pub leader_records_per_s: Option<f64>,
    /// When it is in sync.
    pub in_sync_in: InSyncIn,
    /// Why it is not, or does not come nearer; the weightiest first.
    pub causes: Vec<Cause>,
}

/// When a replica is in sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InSyncIn {
    /// It is.
    Now,
    /// In so many seconds, at the rates of the last looks.
    Seconds(u64),
    /// It does not come nearer.
    Never,
    /// There is nothing to tell it by.
    Unknown,
}

/// Why a replica is not in sync, or stays behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Its broker is none of the living ones: down, or fenced by the controller.
    BrokerGone,
    /// Its broker lives but does not answer.
    NoAnswer {
        /// What failed.
        failure: String,
    },
    /// Its log dir is offline.
    DirOffline {
        /// The dir, if the broker names just one.
        dir: Option<PathBuf>,
    },
    /// Its leader does not answer.
    LeaderSilent,
    /// There is no leader.
    NoLeader,
    /// It may be elected although it lacks records, once the only copy in sync is gone.
    UncleanElection,
    /// A throttle is set for it.
    Throttled {
        /// Bytes a second.
        rate: u64,
    },
    /// It takes fewer records than its leader appends.
    SlowerThanLeader {
        /// Records a second that it takes.
        takes: f64,
        /// Records a second that the leader appends.
        appends: f64,
    },
    /// Nothing reaches it for so many seconds although it lags: its fetcher has failed, or a batch does not fit.
    StandsStill {
        /// Seconds.
        seconds: u64,
    },
    /// Its log goes on behind its leader's end: it will cut.
    AheadOfLeader {
        /// Records.
        records: u64,
    },
    /// It has all records for so many seconds and is not taken into the ISR.
    NotTakenIn {
        /// Seconds.
        seconds: u64,
    },
    /// The broker answers with an error of Kafka's.
    Refused {
        /// The error.
        error: crate::client::KafkaError,
    },
}

impl ReplicaRow {
    /// Says whether it leads.
    pub fn is_leader(&self) -> bool {
        self.leader == Some(self.broker)
    }

    /// Says whether it is in the ISR.
    pub fn is_in_sync(&self) -> bool {
        self.isr.contains(&self.broker)
    }

    /// Says whether it may be elected beside the ISR.
    pub fn is_eligible(&self) -> bool {
        self.eligible
            .as_ref()
            .is_some_and(|list| list.contains(&self.broker))
    }

    /// Says whether the partition has fewer in-sync replicas than `min.insync.replicas`; `None` if that is unknown.
    pub fn is_under_min_isr(&self) -> Option<bool> {
        self.min_isr.map(|least| self.isr.len() < least)
    }

    /// Says whether this is the only in-sync replica of a partition that has others.
    pub fn is_only_in_sync(&self) -> bool {
        self.isr == [self.broker] && self.replicas.len() > 1
    }

    /// Says whether an operator should look at it.
    pub fn needs_attention(&self) -> bool {
        !self.is_in_sync()
            || self.offline
            || self.leader.is_none()
            || self.is_under_min_isr() == Some(true)
    }
}
