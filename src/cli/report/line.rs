//! The JSON lines, one struct a kind. Field names are a contract; an unknown value is `null`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::boot_line::{BootEndLine, BootFindingLine, BootLine, StatusBoot};
use super::live::{
    BrokerLine, BrokerVolumeLine, CatchUpLine, ConfigLine, FreedLine, LivePlanLine, LiveRunLine,
    LiveSummaryLine, QuorumLine, ReplicaLine, ReplicasSummaryLine,
};

use crate::log::{FindingCode, Severity};
use crate::plan::preflight::AtBoot;
use crate::plan::{Class, HandOver, StopState};
use crate::plan::{GroupBelow, HeldEnd, HostVote, OnLoss};
use crate::terms::Timestamp;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Line<'a> {
    /// The first line of a run.
    Run(&'a RunLine),
    /// A log dir.
    LogDir(LogDirLine),
    /// A partition dir.
    Partition(Box<PartitionLine<'a>>),
    /// A segment.
    Segment(SegmentLine<'a>),
    /// A log as retention judges it.
    Retention(Box<super::retention::RetentionLine<'a>>),
    /// A segment as retention judges it.
    #[serde(rename = "segment")]
    Judged(super::retention::JudgedLine<'a>),
    /// A finding.
    Finding(FindingLine<'a>),
    /// A step.
    Step(StepLine<'a>),
    /// Something that can go.
    Freeable(Box<super::free::FreeableLine<'a>>),
    /// Another way to space.
    Way(super::free::WayLine),
    /// What the next boot needs.
    BootNeeds(super::free::BootNeedsLine),
    /// What is assumed or not known.
    Doubt(super::free::DoubtLine<'a>),
    /// A log dir and its volume.
    Volume(Box<super::volume::VolumeLine>),
    /// Counters.
    Progress(ProgressLine),
    /// A job of the state dir.
    Job(JobLine),
    /// What a plan keeps in the quarantine.
    Kept(KeptLine),
    /// A line of the audit.
    Audit(&'a crate::engine::AuditEntry),
    /// The last line of a run.
    Summary(SummaryLine<'a>),
    /// A log that was verified.
    Verified(VerifiedLine<'a>),
    /// The state of a broker's log dirs, alone.
    Status(Box<StatusLine>),
    /// How far a broker's boot is.
    #[serde(rename = "progress")]
    Boot(Box<BootLine<'a>>),
    /// What a preflight found.
    #[serde(rename = "finding")]
    Problem(Box<ProblemLine<'a>>),
    /// What a broker's boot met.
    #[serde(rename = "finding")]
    BootFinding(BootFindingLine<'a>),
    /// How a broker's boot ended.
    #[serde(rename = "summary")]
    BootEnd(BootEndLine<'a>),
    /// The first line of a command that asks a living cluster.
    #[serde(rename = "run")]
    LiveRun(LiveRunLine),
    /// A living broker.
    Broker(BrokerLine),
    /// A replica of the living cluster.
    Replica(Box<ReplicaLine<'a>>),
    /// How far replicas are that are waited for.
    #[serde(rename = "progress")]
    CatchUp(CatchUpLine),
    /// A plan for a living cluster.
    LivePlan(Box<LivePlanLine<'a>>),
    /// A setting of a topic.
    Config(ConfigLine),
    /// A setting of a topic, with the levels behind.
    #[serde(rename = "config")]
    Setting(super::retention::SettingLine<'a>),
    /// A log dir as its broker tells it.
    BrokerVolume(BrokerVolumeLine),
    /// The controllers' quorum.
    Quorum(QuorumLine),
    /// What a broker has freed since a change of retention.
    Freed(FreedLine),
    /// The last line of an act on a living cluster.
    #[serde(rename = "summary")]
    LiveSummary(LiveSummaryLine),
    /// The last line of `replicas`.
    #[serde(rename = "summary")]
    ReplicasSummary(ReplicasSummaryLine),
}

/// The run: what is looked at, and as what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RunLine {
    /// The layout of these lines.
    pub(crate) schema: u32,
    pub(crate) krescue_version: &'static str,
    pub(crate) command: &'static str,
    pub(crate) kafka_version: String,
    pub(crate) version_source: String,
    /// RFC 3339.
    pub(crate) now: String,
    pub(crate) host: String,
    pub(crate) node_id: Option<i32>,
    pub(crate) cluster_id: Option<String>,
    /// The broker's `server.properties`.
    pub(crate) config: Option<String>,
    /// How the broker was found.
    pub(crate) found_by: String,
    pub(crate) log_dirs: Vec<String>,
    /// `running`, `down` or `unknown`.
    pub(crate) broker: &'static str,
    pub(crate) pid: Option<u32>,
    /// The unit that would start the broker.
    pub(crate) unit: Option<String>,
    /// Where the topics' settings are from; empty where they were not looked for.
    pub(crate) topic_settings: String,
    /// `everything`, `as_boot` or `structure`.
    pub(crate) reading: &'static str,
}

/// A log dir.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LogDirLine {
    pub(crate) dir: String,
    pub(crate) state: StopState,
    pub(crate) hand_over: HandOver,
    pub(crate) removes_marker: bool,
    pub(crate) logs: u64,
    pub(crate) segments: u64,
    pub(crate) bytes: u64,
    /// Bytes that a boot reads in full.
    pub(crate) scan_bytes: u64,
}

/// A partition dir.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PartitionLine<'a> {
    pub(crate) dir: String,
    pub(crate) dir_name: &'a str,
    pub(crate) topic: Option<&'a str>,
    pub(crate) partition: Option<i32>,
    pub(crate) verdict: &'static str,
    /// Why it is left as it is.
    pub(crate) cause: Option<String>,
    /// What was decided of an ASK; `null` where it is open, or nothing is asked.
    pub(crate) decided: Option<OnLoss>,
    /// Of an ASK: the other brokers in sync; `null` where nothing says.
    pub(crate) in_sync_elsewhere: Option<Vec<i32>>,
    /// RFC 3339: how old that is.
    pub(crate) in_sync_as_of: Option<String>,
    /// Whether it reached its planned end; `null` where nothing was applied.
    pub(crate) applied: Option<bool>,
    /// Once the plan is carried out.
    pub(crate) log_start_offset: Option<i64>,
    /// Once the plan is carried out; exclusive.
    pub(crate) log_end_offset: Option<i64>,
    pub(crate) recovery_point: Option<i64>,
    pub(crate) high_watermark: Option<i64>,
    pub(crate) segments: u64,
    pub(crate) bytes: u64,
    pub(crate) scan_bytes: u64,
    /// Of good batches; for an ASK what Kafka's way would cost.
    pub(crate) lost_bytes: u64,
    pub(crate) lost_records: Option<u64>,
    pub(crate) lost_segments: u64,
    pub(crate) steps: u64,
    /// Bytes that a deletion or a move frees on the volume.
    pub(crate) freed_bytes: u64,
    /// The log dir that a move brings it to; `null` in any other plan.
    pub(crate) to_dir: Option<String>,
    /// Bytes that a move copies.
    pub(crate) copied_bytes: u64,
    /// Of a deletion: groups that have committed below the new log start, by the partitions of `__consumer_offsets` here;
    /// `null` where nothing of groups is known, and of anything else.
    pub(crate) groups: Option<&'a [GroupBelow]>,
}

/// A segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SegmentLine<'a> {
    pub(crate) dir: String,
    pub(crate) topic: Option<&'a str>,
    pub(crate) partition: Option<i32>,
    pub(crate) dir_name: &'a str,
    pub(crate) base_offset: i64,
    /// Exclusive.
    pub(crate) next_offset: Option<i64>,
    pub(crate) bytes: u64,
    /// Bytes on the volume.
    pub(crate) allocated: Option<u64>,
    /// Up to the end of the last good batch.
    pub(crate) valid_bytes: Option<u64>,
    pub(crate) batches: Option<u64>,
    pub(crate) records: Option<u64>,
    /// RFC 3339.
    pub(crate) largest_timestamp: Option<String>,
    /// Whether a boot reads it in full.
    pub(crate) scanned: bool,
    /// What retention does with it; `null` as long as nobody asks.
    pub(crate) verdict: Option<&'static str>,
    pub(crate) reason: Option<&'static str>,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FindingLine<'a> {
    pub(crate) code: FindingCode,
    pub(crate) severity: Severity,
    pub(crate) dir: Option<String>,
    /// The partition dir's name; `null` for the log dir itself.
    pub(crate) partition: Option<&'a str>,
    pub(crate) file: Option<&'a str>,
    pub(crate) position: Option<u64>,
    pub(crate) offset: Option<i64>,
    pub(crate) lost_bytes: u64,
    pub(crate) lost_records: Option<u64>,
    pub(crate) text: &'a str,
    pub(crate) next: &'a str,
}

/// What a preflight found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ProblemLine<'a> {
    #[serde(flatten)]
    pub(crate) finding: FindingLine<'a>,
    /// The rule that found it.
    pub(crate) rule: &'static str,
    /// What a boot of this release does.
    pub(crate) at_boot: AtBoot,
    /// The file's line, from 1.
    pub(crate) line: Option<usize>,
    /// Whether `preflight --fix` mends it.
    pub(crate) fix: bool,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct StepLine<'a> {
    pub(crate) dir: String,
    /// The partition dir's name; `null` for the log dir's own names.
    pub(crate) partition: Option<&'a str>,
    pub(crate) file: &'a str,
    pub(crate) action: &'static str,
    /// The length before, where the file exists.
    pub(crate) from: Option<u64>,
    /// The length after, where the file goes on to exist.
    pub(crate) to: Option<u64>,
    pub(crate) new_name: Option<&'a str>,
    /// Whether bytes go to the quarantine.
    pub(crate) quarantine: bool,
    pub(crate) reason: &'a str,
}

/// Counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ProgressLine {
    pub(crate) job: Option<String>,
    pub(crate) phase: crate::engine::Phase,
    pub(crate) bytes_done: u64,
    pub(crate) bytes_total: u64,
    pub(crate) logs_done: u64,
    pub(crate) logs_total: u64,
    pub(crate) steps_done: u64,
    pub(crate) steps_total: u64,
    pub(crate) bytes_per_s: Option<u64>,
    /// RFC 3339.
    pub(crate) end_time: Option<String>,
}

/// A job of the state dir.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct JobLine {
    pub(crate) id: String,
    /// `running`, `done`, `done_but_left`, `refused`, `stopped`, `failed` or `killed`.
    pub(crate) state: &'static str,
    pub(crate) cause: Option<String>,
    pub(crate) plan: String,
    /// RFC 3339.
    pub(crate) started: String,
    pub(crate) who: String,
    /// How the plan was confirmed.
    pub(crate) confirmed: crate::engine::Confirmed,
}

/// What a plan keeps in the quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "a field each, as printed")]
pub(crate) struct KeptLine {
    pub(crate) plan: String,
    /// When it was carried out, RFC 3339.
    pub(crate) at: String,
    pub(crate) age_s: u64,
    pub(crate) who: String,
    pub(crate) dir: String,
    pub(crate) bytes: u64,
    pub(crate) files: u64,
    /// The dirs of the logs that it changed.
    pub(crate) partitions: Vec<String>,
    /// `done`, `done_but_left`, `stopped`, `failed`, `refused` or `killed`.
    pub(crate) state: &'static str,
    pub(crate) can_undo: bool,
    pub(crate) why_not: Option<String>,
    /// Whether this run removed it.
    pub(crate) purged: bool,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SummaryLine<'a> {
    /// The plan's hash.
    pub(crate) plan: Option<&'a str>,
    /// Whether `--yes HASH` can name it.
    pub(crate) stored: bool,
    pub(crate) class: Option<Class>,
    pub(crate) exit: u8,
    pub(crate) job: Option<&'a str>,
    pub(crate) cause: Option<&'a str>,
    /// Absent where nothing was planned.
    #[serde(flatten)]
    pub(crate) totals: Option<Totals>,
}

/// What a plan amounts to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Totals {
    pub(crate) logs: u64,
    pub(crate) bytes: u64,
    pub(crate) scan_bytes: u64,
    pub(crate) steps: u64,
    pub(crate) findings: u64,
    pub(crate) changed: u64,
    pub(crate) ask: u64,
    pub(crate) refused: u64,
    pub(crate) unreadable: u64,
    pub(crate) skipped: u64,
    pub(crate) cut_bytes: u64,
    pub(crate) lost_bytes: u64,
    pub(crate) lost_records: Option<u64>,
    pub(crate) quarantine_bytes: u64,
    /// On their volumes, by deletions.
    pub(crate) freed_bytes: u64,
}

/// A log that was verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct VerifiedLine<'a> {
    pub(crate) dir: String,
    pub(crate) dir_name: &'a str,
    pub(crate) topic: Option<&'a str>,
    pub(crate) partition: Option<i32>,
    pub(crate) segments: u64,
    pub(crate) bytes: u64,
    pub(crate) findings: u64,
    /// Whether nothing was found beyond routine.
    pub(crate) good: bool,
}

/// How many problems a preflight found, by severity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct PreflightCounts {
    pub(crate) fatal: u64,
    pub(crate) loss: u64,
    pub(crate) warning: u64,
    pub(crate) routine: u64,
    /// The worst, as sentences; at most five.
    pub(crate) worst: Vec<String>,
}

/// The state of a broker's log dirs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct StatusLine {
    #[serde(flatten)]
    pub(crate) run: RunLine,
    /// The situation as a sentence.
    pub(crate) situation: String,
    pub(crate) logs: u64,
    pub(crate) segments: u64,
    pub(crate) bytes: u64,
    /// Bytes that a boot reads in full.
    pub(crate) scan_bytes: u64,
    pub(crate) findings: u64,
    pub(crate) preflight: PreflightCounts,
    /// Bytes that a boot reads again: after a crash now, or after the one that was.
    pub(crate) crash_cost_bytes: Option<u64>,
    /// Logs of which the latest stored plan asks; `null` where there is none.
    pub(crate) undecided_asks: Option<u64>,
    /// Whether the broker boots; `null` where that cannot be seen.
    pub(crate) booting: Option<bool>,
    /// How far its boot is; `null` where none is seen.
    pub(crate) boot: Option<StatusBoot>,
    /// What could not be seen, and why.
    pub(crate) not_seen: Vec<String>,
    /// What the disk says of the cluster; `null` where it says nothing.
    pub(crate) metadata: Option<MetadataLine>,
    pub(crate) dirs: Vec<StatusLogDir>,
    pub(crate) running_jobs: Vec<String>,
    /// What the last job needs, if its process is gone and it did not end.
    pub(crate) killed_job: Option<String>,
    /// Changes of a living cluster whose old values are not back yet, a sentence each.
    pub(crate) in_force: Vec<String>,
    /// Where each log ends, for `--merge`; `null` while a broker may write to them.
    pub(crate) ends: Option<Vec<HeldEnd>>,
    /// The host's part in the quorum of controllers, for `--merge`; `null` while its broker runs or without a metadata log.
    pub(crate) vote: Option<HostVote>,
    pub(crate) exit: u8,
}

/// What a node's disk says of its cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MetadataLine {
    /// `kraft`, or `zookeeper`: then nothing lies on the disk.
    pub(crate) mode: &'static str,
    /// Of the image, exclusive; `null` where the metadata log was not read.
    pub(crate) next_offset: Option<i64>,
    /// RFC 3339: of its last record.
    pub(crate) timestamp: Option<String>,
    pub(crate) features: Option<BTreeMap<String, i16>>,
    /// By `quorum-state`.
    pub(crate) leader_id: Option<i32>,
    pub(crate) leader_epoch: Option<i32>,
    pub(crate) voters: Option<Vec<i32>>,
    pub(crate) voters_source: Option<&'static str>,
    /// What the node was formatted with.
    pub(crate) bootstrap_file: Option<String>,
    pub(crate) bootstrap_features: Option<BTreeMap<String, i16>>,
    /// The same in sentences.
    pub(crate) text: Vec<String>,
}

/// A log dir in a status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct StatusLogDir {
    pub(crate) dir: String,
    /// `clean`, `unclean` or `unreadable`.
    pub(crate) state: &'static str,
    pub(crate) logs: Option<u64>,
    pub(crate) segments: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) scan_bytes: Option<u64>,
    /// Why it cannot be read.
    pub(crate) cause: Option<String>,
}

/// Returns a time as RFC 3339; `None` for Kafka's "none".
pub(crate) fn time(time: Timestamp) -> Option<String> {
    (time != Timestamp::NONE).then(|| time.rfc3339())
}

/// Returns a path as text; bytes that are not UTF-8 become U+FFFD.
pub(crate) fn path(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the name of a stop state.
pub(crate) fn state_name(stop: StopState) -> &'static str {
    match stop {
        StopState::Clean => "clean",
        StopState::Unclean => "unclean",
    }
}
