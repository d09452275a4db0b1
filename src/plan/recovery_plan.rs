//! A whole plan: log dirs, their logs, the steps in their order.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Class, DirUndo, HandOver, LogConfig, Mend, OnLoss, Step, Verdict};
use crate::format::file_name::PartitionFile;
use crate::log::Finding;
use crate::terms::{KafkaVersion, Offset, Timestamp, TopicPartition};

/// How a log dir's broker stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopState {
    /// `.kafka_cleanshutdown` lies there.
    Clean,
    /// It does not.
    Unclean,
}

/// What names one state of a file: a change of the file changes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// The file's name inside its dir.
    pub name: String,
    /// Its inode.
    pub inode: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Its modification time in ns since 1970.
    pub mtime_ns: i64,
}

/// One segment as the plan saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentSummary {
    /// Its base offset.
    pub base_offset: Offset,
    /// The offset behind its last good batch, where it was read.
    pub next_offset: Option<Offset>,
    /// Its `.log`'s length in bytes.
    pub bytes: u64,
    /// Bytes up to the end of the last good batch, where it was read.
    pub valid_bytes: Option<u64>,
    /// Batches that were read.
    pub batches: u64,
    /// Records in them.
    pub records: u64,
    /// The largest timestamp that was read.
    pub largest_timestamp: Option<Timestamp>,
    /// Whether a boot reads it in full.
    pub scanned: bool,
}

impl SegmentSummary {
    /// Returns the summary of a segment of which only the length is known.
    pub(crate) fn unread(base_offset: Offset, bytes: u64) -> Self {
        Self {
            base_offset,
            next_offset: None,
            bytes,
            valid_bytes: None,
            batches: 0,
            records: 0,
            largest_timestamp: None,
            scanned: false,
        }
    }
}

/// What is planned for one partition dir.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartitionPlan {
    /// The dir's name (`orders-7`, `orders-7.HEX-delete`).
    pub dir_name: String,
    /// The partition it names, if it names one.
    pub topic_partition: Option<TopicPartition>,
    /// What was decided.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What was seen.
    pub findings: Vec<Finding>,
    /// What an apply does, in this order; for an ASK what Kafka's way would do.
    pub steps: Vec<Step>,
    /// The segments.
    pub segments: Vec<SegmentSummary>,
    /// Log start offset once the plan is carried out.
    pub log_start_offset: Option<Offset>,
    /// Log end offset (exclusive) once the plan is carried out.
    pub log_end_offset: Option<Offset>,
    /// Recovery point of the checkpoint (exclusive).
    pub recovery_point: Option<Offset>,
    /// High watermark of the checkpoint (exclusive).
    pub high_watermark: Option<Offset>,
    /// The settings it was planned with.
    pub config: LogConfig,
    /// Bytes of `.log` files that a boot reads in full.
    pub scan_bytes: u64,
    /// All files of the dir as they were when the plan was made.
    pub stamps: Vec<FileStamp>,
}

impl PartitionPlan {
    /// Returns a plan of a dir that was not looked into: no step, no segment, nothing known of its offsets.
    pub fn of(dir_name: String, topic_partition: Option<TopicPartition>, verdict: Verdict) -> Self {
        Self {
            dir_name,
            topic_partition,
            verdict,
            findings: Vec::new(),
            steps: Vec::new(),
            segments: Vec::new(),
            log_start_offset: None,
            log_end_offset: None,
            recovery_point: None,
            high_watermark: None,
            config: LogConfig::default(),
            scan_bytes: 0,
            stamps: Vec::new(),
        }
    }
}

/// One line of an offset checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointEntry {
    /// The partition.
    #[serde(flatten)]
    pub topic_partition: TopicPartition,
    /// Its offset.
    pub offset: Offset,
}

/// Checkpoints that a truncation lowers, each whole; `None` where nothing changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoweredCheckpoints {
    /// Recovery points, written before the first step.
    pub recovery_points: Option<Vec<CheckpointEntry>>,
    /// High watermarks, written after the last step.
    pub high_watermarks: Option<Vec<CheckpointEntry>>,
    /// Where the cleaner goes on, written after the last step.
    pub cleaner_offsets: Option<Vec<CheckpointEntry>>,
}

/// Checkpoints that a move changes, each whole; `None` where nothing changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MovedCheckpoints {
    /// Recovery points.
    pub recovery_points: Option<Vec<CheckpointEntry>>,
    /// Log starts.
    pub log_starts: Option<Vec<CheckpointEntry>>,
    /// High watermarks.
    pub high_watermarks: Option<Vec<CheckpointEntry>>,
    /// Where the cleaner goes on.
    pub cleaner_offsets: Option<Vec<CheckpointEntry>>,
}

/// What a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanAct {
    /// What a boot would do.
    #[default]
    Recover,
    /// Truncations of single logs.
    Truncate,
    /// Deletions that free space.
    CleanUp,
    /// What a boot would stumble over is mended; no record is touched.
    Mend,
    /// A partition goes to another log dir.
    Move,
}

/// What is planned for one log dir.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogDirPlan {
    /// The log dir as the operator named it.
    pub path: PathBuf,
    /// How its broker stopped.
    pub stop: StopState,
    /// What it is handed over as; less than asked for where a log stays as it is.
    pub hand_over: HandOver,
    /// The whole new recovery-point checkpoint, unless nothing is written.
    pub recovery_points: Option<Vec<CheckpointEntry>>,
    /// What truncations lower. `Some` also says that a marker goes before the first step, which a recovery that does not trust
    /// it wants too: then nothing is lowered. `None` where neither is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowered: Option<LoweredCheckpoints>,
    /// The whole new log-start checkpoint, written after the last step; `None` where nothing changes. Each log starts at
    /// its first segment without it too, so that no prefix of the steps depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_starts: Option<Vec<CheckpointEntry>>,
    /// The checkpoints of the log dir that a partition comes to, written before the first step: a line for a partition that is
    /// not there means nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<MovedCheckpoints>,
    /// The checkpoints of the log dir that a partition leaves, written after the last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departure: Option<MovedCheckpoints>,
    /// Whether `.kafka_cleanshutdown` is removed, once the steps are done, or before the first step of a truncation, of a
    /// move, or of a recovery that does not trust it; a clean hand-over writes it anew.
    pub removes_marker: bool,
    /// What was seen beside the partition dirs.
    pub findings: Vec<Finding>,
    /// The partition dirs, sorted by name.
    pub partitions: Vec<PartitionPlan>,
    /// Checkpoints and marker of the dir as they were when the plan was made.
    pub stamps: Vec<FileStamp>,
    /// Other changes of the dir's own names, in this order, once the logs' steps are done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mends: Vec<Mend>,
    /// What an undo does to the dir's own files; `None` in any other plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<DirUndo>,
}

/// A plan for log dirs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecoveryPlan {
    /// The layout of this text; 1.
    pub schema: u32,
    /// What it is for.
    #[serde(default)]
    pub act: PlanAct,
    /// The release whose boot is planned for.
    pub kafka_version: KafkaVersion,
    /// Where that version is from (`flag`, `class path of pid 812`, `newest known`).
    pub version_source: String,
    /// The clock that the plan was made with.
    pub now: Timestamp,
    /// The hand-over asked for.
    pub hand_over: HandOver,
    /// Where cut bytes are copied to; `None` for nowhere.
    pub quarantine: Option<PathBuf>,
    /// The hash of the plan whose apply this one takes back; `None` for a plan of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// Whether a broker serves its other log dirs meanwhile: then only dirs that it has given up are changed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub beside_broker: bool,
    /// The log dirs.
    pub log_dirs: Vec<LogDirPlan>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(value: &bool) -> bool {
    !value
}

impl RecoveryPlan {
    /// Returns the partition plans of all log dirs.
    pub fn partitions(&self) -> impl Iterator<Item = &PartitionPlan> {
        self.log_dirs.iter().flat_map(|dir| &dir.partitions)
    }

    /// Returns the highest class of the steps that an apply runs; `None` if it runs none.
    pub fn class(&self) -> Option<Class> {
        let of_partition = |plan: &PartitionPlan| match &plan.verdict {
            // Nothing of the log goes.
            Verdict::Ask(ask) if ask.decided == OnLoss::Leave => Some(Class::B),
            Verdict::Ask(ask) if ask.accepted => Some(Class::C),
            Verdict::Truncate(cut) if cut.lost_bytes > 0 || cut.asked.is_mark() => Some(Class::C),
            Verdict::Delete(deletion) => Some(deletion.cost.class()),
            Verdict::Move(relocation) => Some(relocation.class()),
            verdict if verdict.is_applied() => plan.steps.iter().map(step_class).max(),
            _ => None,
        };
        let of_logs = self.partitions().filter_map(of_partition).max();
        let of_dirs = self.log_dirs.iter().any(|dir| !dir.mends.is_empty());
        of_logs.max(of_dirs.then_some(Class::A))
    }
}

/// Returns the class of one step: what a boot removes anyway is B, what it can make again is A.
fn step_class(step: &Step) -> Class {
    match step.quarantine {
        super::Quarantine::Keep if PartitionFile::parse(&step.file).is_log() => Class::B,
        _ => Class::A,
    }
}
