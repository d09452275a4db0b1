//! What a command prints: text for people, JSON lines for programs, progress on the standard error.

mod boot_line;
mod columns;
mod free;
mod json;
mod line;
mod live;
mod mirror_line;
mod progress;
mod retention;
mod text;
mod text_words;
mod volume;

pub(super) use boot_line::{
    BootDirLine, BootEndLine, BootFindingLine, BootLine, BootSourceLine, BootThreadLine,
    StatusBoot, phase_name,
};
pub(super) use columns::{Align, Columns};
pub(super) use free::{BootNeedsLine, DoubtLine, freeable_lines, way_lines, write_offer};
pub(super) use json::{JsonReport, log_bytes};
pub(super) use line::{
    JobLine, KeptLine, Line, MetadataLine, PreflightCounts, ProgressLine, RunLine, StatusLine,
    StatusLogDir, VerifiedLine, state_name, time,
};
pub(super) use live::{
    BrokerLine, BrokerVolumeLine, CatchUpLine, ConfigLine, FreedLine, LivePlanLine, LiveRunLine,
    LiveSummaryLine, QuorumLine, ReplicaLine, ReplicasSummaryLine,
};
pub(super) use mirror_line::{
    ClusterLine, FlowLine, MirrorFindingLine, MirrorLine, MirrorRunLine, MirrorSummaryLine,
    MirroredPartitionLine, MirroredTopicLine, PositionLine, PromoteStepLine, SilentLine,
    SourceLine, TranslationLine,
};
pub(super) use progress::ProgressReport;
pub(super) use retention::{log_line, segment_lines, setting_lines, write_segments, write_topics};
pub(super) use text::TextReport;
pub(super) use volume::VolumeLine;

use std::io;
use std::path::Path;

use super::{CliError, Exit};
use crate::log::Finding;
use crate::plan::preflight::Problem;
use crate::plan::{HandOver, LogDirPlan, Mend, PartitionPlan, RecoveryPlan, Verdict};
use crate::terms::Offset;

/// Lets `f` report as JSON lines or as text.
pub(super) fn with_report(
    json: bool,
    out: &mut dyn io::Write,
    f: impl FnOnce(&mut dyn Report) -> Result<(), CliError>,
) -> Result<(), CliError> {
    if json {
        f(&mut JsonReport::new(out))
    } else {
        f(&mut TextReport::new(out))
    }
}

/// What came of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    /// Nothing was applied: this is the plan.
    Planned,
    /// It reached its planned end.
    End,
    /// It did not.
    Not,
}

impl Reached {
    /// Returns what came of a log where nothing had to be applied.
    pub(super) fn without_job(log: &PartitionPlan) -> Self {
        if log.verdict.reaches_end() {
            Self::End
        } else {
            Self::Not
        }
    }
}

/// Returns the log start and the log end offset (exclusive) of a log, as far as they are known: a plan has those of its end,
/// which an open ASK does not come to, nor what an apply left.
pub(super) fn known_ends(log: &PartitionPlan, reached: Reached) -> [Option<Offset>; 2] {
    let is_open = matches!(&log.verdict, Verdict::Ask(ask) if !ask.accepted);
    let is_left = reached == Reached::Not && log.verdict != Verdict::Nothing;
    if is_open || is_left {
        [None, None]
    } else {
        [log.log_start_offset, log.log_end_offset]
    }
}

/// What a run amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    /// The plan's full hash; `None` where nothing was planned.
    pub(super) plan: Option<String>,
    /// Whether the plan is in the store.
    pub(super) stored: bool,
    /// How the process ends.
    pub(super) exit: Exit,
    /// The job's id, if one ran.
    pub(super) job: Option<String>,
    /// Why it was refused or failed.
    pub(super) cause: Option<String>,
}

impl Summary {
    /// Returns the summary of a run that planned nothing and found nothing.
    pub(super) fn of_nothing() -> Self {
        Self {
            plan: None,
            stored: false,
            exit: Exit::Ok,
            job: None,
            cause: None,
        }
    }
}

/// Prints a run, thing by thing.
pub(super) trait Report {
    /// The run as a whole.
    fn run(&mut self, run: &RunLine) -> io::Result<()>;
    /// A log dir, before its partitions.
    fn log_dir(&mut self, dir: &LogDirPlan) -> io::Result<()>;
    /// A partition, before its findings.
    fn partition(
        &mut self,
        dir: &LogDirPlan,
        log: &PartitionPlan,
        reached: Reached,
    ) -> io::Result<()>;
    /// The segments of a partition.
    fn segments(&mut self, dir: &LogDirPlan, log: &PartitionPlan) -> io::Result<()>;
    /// A finding of a partition, of a log dir (`log` is `None`) or of the host (`dir` is `None`).
    fn finding(
        &mut self,
        dir: Option<&Path>,
        log: Option<&PartitionPlan>,
        finding: &Finding,
    ) -> io::Result<()>;
    /// The steps of a partition, behind its findings.
    fn steps(&mut self, dir: &LogDirPlan, log: &PartitionPlan) -> io::Result<()>;
    /// The end of a log dir's partitions.
    fn end_of_dir(&mut self) -> io::Result<()>;
    /// A change of a log dir's own names.
    fn mend(&mut self, dir: &LogDirPlan, mend: &Mend) -> io::Result<()>;
    /// A problem that a preflight found.
    fn problem(&mut self, problem: &Problem) -> io::Result<()>;
    /// What the plan amounts to, before anything is asked; with its hash and whether it is stored, where it has one.
    fn plan(&mut self, plan: &RecoveryPlan, hash: Option<(&str, bool)>) -> io::Result<()>;
    /// A line for people, on the standard error where the output is for programs.
    fn note(&mut self, text: &str) -> io::Result<()>;
    /// The end.
    fn summary(&mut self, plan: &RecoveryPlan, summary: &Summary) -> io::Result<()>;
}

/// What is told of a partition beside its findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// `scan`: its segments.
    Segments,
    /// `recover`: its steps.
    Steps,
}

/// Which parts of a plan are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    /// All: log dirs, partitions, findings, and segments or steps.
    All(Detail),
    /// Before an apply: all but the partitions, which follow with what came of them, and the steps of logs that stay.
    Steps,
    /// After an apply: the partitions.
    Partitions,
}

/// Says whether a log dir is handed over for less than was asked for: a log of it stays as it is, so a boot must read.
pub(super) fn falls_short(plan: &RecoveryPlan, dir: &LogDirPlan) -> bool {
    plan.hand_over == HandOver::Clean && dir.hand_over == HandOver::Verify
}

/// Prints a plan: each log dir with its partitions, their findings, and segments or steps. `reached` says what came of a
/// partition.
pub(super) fn write_plan(
    report: &mut dyn Report,
    plan: &RecoveryPlan,
    parts: Parts,
    reached: &dyn Fn(&LogDirPlan, &PartitionPlan) -> Reached,
) -> io::Result<()> {
    for dir in &plan.log_dirs {
        if parts != Parts::Partitions {
            report.log_dir(dir)?;
            for finding in &dir.findings {
                report.finding(Some(&dir.path), None, finding)?;
            }
            for mend in &dir.mends {
                report.mend(dir, mend)?;
            }
        }
        for log in &dir.partitions {
            if parts != Parts::Steps {
                report.partition(dir, log, reached(dir, log))?;
            }
            if parts == Parts::Partitions {
                continue;
            }
            for finding in &log.findings {
                report.finding(Some(&dir.path), Some(log), finding)?;
            }
            if parts == Parts::All(Detail::Segments) {
                report.segments(dir, log)?;
            } else if parts != Parts::Steps || log.verdict.is_applied() {
                report.steps(dir, log)?;
            }
        }
        report.end_of_dir()?;
    }
    Ok(())
}
