//! What a plan is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use crate::format::file_name::DirName;
use crate::plan::{HandOver, LogConfig, OnLoss, ReplicaEvidence, TruncationTarget};
use crate::terms::{KafkaVersion, Timestamp, TopicPartition};

/// How much of the logs is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Reading {
    /// Names, sizes and checkpoints; no batch.
    Structure,
    /// What a boot reads: the segments from the recovery point on.
    #[default]
    AsBoot,
    /// Every segment's batches, below the recovery point and in clean dirs too. Damage below gives findings, no steps.
    Everything,
}

/// Whether a broker may be using the log dirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Beside {
    /// Nobody uses them: full speed.
    #[default]
    Nobody,
    /// A broker runs: bound by the sizes at open, a last partial batch is no finding, idle I/O class, no page cache
    /// pollution, and no more bytes a second than this.
    LiveBroker {
        /// Bytes a second; `None` for no limit.
        bytes_per_second: Option<u64>,
    },
}

/// What is done where Kafka's way costs good records, log by log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decisions {
    /// For logs that are not named (`--like-kafka`).
    pub others: OnLoss,
    /// By partition (`--decide`).
    pub by_partition: BTreeMap<TopicPartition, OnLoss>,
    /// By log dir and dir name, as chosen on screen.
    pub by_dir: BTreeMap<(PathBuf, String), OnLoss>,
}

impl Decisions {
    /// Returns what is decided for one partition dir.
    pub(in crate::engine) fn of(
        &self,
        log_dir: &std::path::Path,
        dir_name: &str,
        partition: &TopicPartition,
    ) -> OnLoss {
        let by_dir = self.by_dir.get(&(log_dir.to_owned(), dir_name.to_owned()));
        let by_partition = self.by_partition.get(partition);
        by_dir.or(by_partition).copied().unwrap_or(self.others)
    }
}

/// Truncations of single logs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TruncationSpec {
    /// Where each log is to end; all others stay as they are.
    pub targets: BTreeMap<TopicPartition, TruncationTarget>,
}

impl TruncationSpec {
    /// Returns where the log in a dir is to end, if it is truncated.
    pub(in crate::engine) fn target(&self, dir: &DirName) -> Option<TruncationTarget> {
        match dir {
            DirName::Normal(partition) => self.targets.get(partition).copied(),
            _ => None,
        }
    }
}

/// Looks up a topic's settings: overrides, else the broker's.
pub type TopicConfigs = Arc<dyn Fn(&str) -> LogConfig + Send + Sync>;

/// Looks up who else has a partition; `None` if nothing says.
pub type Replicas = Arc<dyn Fn(&TopicPartition) -> Option<ReplicaEvidence> + Send + Sync>;

/// All that a plan for log dirs needs to know.
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "two questions that have nothing to do with each other"
)]
pub struct PlanSpec {
    /// The log dirs, all of `log.dirs`, in its order.
    pub log_dirs: Vec<PathBuf>,
    /// The partitions asked for; `None` for all.
    pub selection: Option<BTreeSet<TopicPartition>>,
    /// How much is read.
    pub reading: Reading,
    /// Who else may be using the dirs.
    pub beside: Beside,
    /// The release whose boot is planned for.
    pub kafka_version: KafkaVersion,
    /// Where that version is from.
    pub version_source: String,
    /// The clock.
    pub now: Timestamp,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: i64,
    /// The hand-over asked for.
    pub hand_over: HandOver,
    /// Where cut bytes go.
    pub quarantine: Option<PathBuf>,
    /// What is done where Kafka's way costs good records.
    pub decisions: Decisions,
    /// Which logs are truncated; `None` for a recovery.
    pub truncation: Option<TruncationSpec>,
    /// Whether a log dir that was stopped cleanly is taken for a killed one: its marker goes before the first step.
    pub distrusts_marker: bool,
    /// Whether the segments of each log are held against each other too.
    pub verify: bool,
    /// Settings by topic.
    pub topic_configs: TopicConfigs,
    /// Who else has which partition.
    pub replicas: Replicas,
    /// Workers in all; `None` for min(cores, 16).
    pub threads: Option<NonZeroUsize>,
    /// The state dir, for contents that do not fit the memory budget; `None` keeps them in memory.
    pub state_dir: Option<PathBuf>,
}

impl PlanSpec {
    /// Returns a spec with the defaults: everything selected, read as a boot does, nobody beside, `verify`, no
    /// quarantine, default topic settings.
    pub fn new(log_dirs: Vec<PathBuf>, kafka_version: KafkaVersion, now: Timestamp) -> Self {
        Self {
            log_dirs,
            selection: None,
            reading: Reading::default(),
            beside: Beside::default(),
            kafka_version,
            version_source: "flag".to_owned(),
            now,
            producer_id_expiration_ms: 86_400_000,
            hand_over: HandOver::default(),
            quarantine: None,
            decisions: Decisions::default(),
            truncation: None,
            distrusts_marker: false,
            verify: false,
            topic_configs: Arc::new(|_| LogConfig::default()),
            replicas: Arc::new(|_| None),
            threads: None,
            state_dir: None,
        }
    }
}

impl fmt::Debug for PlanSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanSpec")
            .field("log_dirs", &self.log_dirs)
            .field("reading", &self.reading)
            .field("kafka_version", &self.kafka_version)
            .field("now", &self.now)
            .field("hand_over", &self.hand_over)
            .finish_non_exhaustive()
    }
}
