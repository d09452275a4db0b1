//! Where the facts of the logs are from that do not lie in the logs themselves, and how old they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::terms::{Timestamp, TopicPartition};

/// Where high watermarks, log starts and settings are from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactSources {
    /// When the brokers were asked; `None` if they were not, or did not answer.
    pub asked: Option<Timestamp>,
    /// Why they did not answer.
    pub silence: Option<String>,
    /// The logs whose log start this host's broker told.
    pub log_starts: BTreeSet<TopicPartition>,
    /// The topics whose settings it told.
    pub settings: BTreeSet<String>,
    /// When the broker last wrote the checkpoints of each log dir.
    pub checkpoints: BTreeMap<PathBuf, CheckpointTimes>,
    /// Until when the metadata of this host goes; `None` if there is none.
    pub metadata: Option<Timestamp>,
}

/// When a broker last wrote a dir's checkpoints; `None` for one that is not there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckpointTimes {
    /// `replication-offset-checkpoint`.
    pub high_watermarks: Option<Timestamp>,
    /// `log-start-offset-checkpoint`.
    pub log_starts: Option<Timestamp>,
}
