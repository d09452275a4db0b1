//! What was learned of the host before any batch is read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::log::Finding;
use crate::plan::StopState;
use crate::terms::{KafkaVersion, Timestamp};

/// One broker that was found on this host; several make a chooser.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BrokerChoice {
    /// What names it: node id and config, or the log dirs.
    pub label: String,
    /// How it was found (`process 812`, `unit kafka.service`, `--config`).
    pub source: String,
    /// Its log dirs.
    pub log_dirs: Vec<PathBuf>,
}

/// Whether the broker of these log dirs runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// Nobody knows.
    Unknown {
        /// Why.
        why: String,
    },
    /// No process holds these dirs.
    Down,
    /// A process does.
    Running {
        /// Which, if it can be told.
        pid: Option<u32>,
    },
}

impl Presence {
    /// Returns why nothing may be changed beside it; `None` if nobody is there.
    pub fn refuses(&self) -> Option<String> {
        match self {
            Self::Down => None,
            Self::Running { pid: Some(pid) } => Some(format!("the broker runs (pid {pid})")),
            Self::Running { pid: None } => Some("the broker runs: its lock is held".to_owned()),
            Self::Unknown { why } => {
                Some(format!("it cannot be told whether the broker runs: {why}"))
            }
        }
    }
}

/// Which process supervisor would start the broker, and how it is held off.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Supervisor {
    /// The unit's name.
    pub name: String,
    /// The command that keeps it from starting the broker.
    pub hold: String,
    /// The command that lets it again.
    pub release: String,
}

/// The broker whose log dirs these are; what is unknown is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerFacts {
    /// `node.id` or `broker.id`.
    pub node_id: Option<i32>,
    /// `cluster.id`.
    pub cluster_id: Option<String>,
    /// Its release.
    pub version: KafkaVersion,
    /// Where the release is known from.
    pub version_source: String,
    /// Its `server.properties`.
    pub config: Option<PathBuf>,
    /// Whether it runs.
    pub presence: Presence,
    /// Who would start it.
    pub supervisor: Option<Supervisor>,
    /// The flags that name it on a command line.
    pub flags: Vec<String>,
    /// What its disk says of the cluster, a sentence each.
    #[serde(default)]
    pub metadata: Vec<String>,
    /// Why no plan may be carried out, beside what this struct says.
    pub act_refused: Option<String>,
    /// When this was learned.
    pub at: Timestamp,
}

/// One partition dir by names, sizes and checkpoints alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PartitionFacts {
    /// The dir's name.
    pub dir_name: String,
    /// Its `.log` files.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of them that an unclean boot reads: from the segment that holds the recovery point on.
    pub boot_reads: Option<u64>,
    /// What names and sizes alone show.
    pub findings: Vec<Finding>,
}

/// One log dir by names, sizes and checkpoints alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogDirFacts {
    /// The log dir as the operator named it.
    pub path: PathBuf,
    /// How its broker stopped; `None` where the dir could not be read.
    pub stop: Option<StopState>,
    /// Why it is taken for that, in a few words.
    pub why: String,
    /// What was seen beside the partition dirs.
    pub findings: Vec<Finding>,
    /// The partition dirs.
    pub partitions: Vec<PartitionFacts>,
}

/// A plan that was carried out, with what was kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFacts {
    /// Its hash.
    pub plan: String,
    /// When it was carried out.
    pub at: Timestamp,
    /// Who carried it out.
    pub who: String,
    /// The logs that it changed.
    pub partitions: Vec<String>,
    /// Bytes that were kept.
    pub bytes: u64,
    /// Why it cannot be taken back; `None` if it can.
    pub why_not: Option<String>,
}
