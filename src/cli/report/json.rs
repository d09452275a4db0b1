//! JSON lines.

use std::io::{self, Write};
use std::path::Path;

use super::line::{
    FindingLine, Line, LogDirLine, PartitionLine, ProblemLine, RunLine, SegmentLine, StepLine,
    SummaryLine, Totals, path, time,
};
use super::{Reached, Report, Summary, known_ends};
use crate::app::confirm::PlanSummary;
use crate::disk::{RealStorage, Storage as _};
use crate::log::Finding;
use crate::plan::preflight::Problem;
use crate::plan::{
    LogDirPlan, Mend, PartitionPlan, Quarantine, RecoveryPlan, SegmentSummary, Step, StepAction,
    Verdict,
};
use crate::terms::Offset;

/// Prints JSON lines.
pub(crate) struct JsonReport<'a> {
    out: &'a mut dyn Write,
}

impl<'a> JsonReport<'a> {
    /// Returns a report that writes to `out`.
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self { out }
    }

    /// Prints one line; one of progress at once, for somebody waits for it.
    pub(crate) fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut *self.out, line)?;
        self.out.write_all(b"\n")?;
        match line {
            Line::Progress(_) => self.out.flush(),
            _ => Ok(()),
        }
    }
}

impl Report for JsonReport<'_> {
    fn run(&mut self, run: &RunLine) -> io::Result<()> {
        self.line(&Line::Run(run))
    }

    fn log_dir(&mut self, dir: &LogDirPlan) -> io::Result<()> {
        self.line(&Line::LogDir(LogDirLine {
            dir: path(&dir.path),
            state: dir.stop,
            hand_over: dir.hand_over,
            removes_marker: dir.removes_marker,
            logs: dir.partitions.len() as u64,
            segments: dir
                .partitions
                .iter()
                .map(|log| log.segments.len() as u64)
                .sum(),
            bytes: dir.partitions.iter().map(log_bytes).sum(),
            scan_bytes: dir.partitions.iter().map(|log| log.scan_bytes).sum(),
        }))
    }

    fn partition(
        &mut self,
        dir: &LogDirPlan,
        log: &PartitionPlan,
        reached: Reached,
    ) -> io::Result<()> {
        let (lost_bytes, lost_records, lost_segments) = match &log.verdict {
            Verdict::Ask(ask) => (ask.lost_bytes, ask.lost_records, ask.lost_segments),
            Verdict::Truncate(cut) => (cut.lost_bytes, cut.lost_records, cut.lost_segments),
            Verdict::Delete(deletion) => (
                deletion.lost_bytes,
                deletion.lost_offsets,
                deletion.deleted_segments,
            ),
            _ => (0, Some(0), 0),
        };
        let replicas = match &log.verdict {
            Verdict::Ask(ask) => ask.replicas.as_deref(),
            _ => None,
        };
        let number = |offset: Option<Offset>| offset.map(|offset| offset.0);
        let [log_start, log_end] = known_ends(log, reached);
        let is_left = reached != Reached::Planned && !log.verdict.is_applied();
        let (topic, partition) = topic_partition(log);
        self.line(&Line::Partition(Box::new(PartitionLine {
            dir: path(&dir.path),
            dir_name: &log.dir_name,
            topic,
            partition,
            verdict: verdict_name(&log.verdict),
            cause: cause(&log.verdict),
            decided: match &log.verdict {
                Verdict::Ask(ask) if ask.accepted => Some(ask.decided),
                _ => None,
            },
            in_sync_elsewhere: replicas.map(|replicas| replicas.others().collect()),
            in_sync_as_of: replicas.map(|replicas| replicas.as_of.rfc3339()),
            applied: match reached {
                Reached::Planned => None,
                Reached::End => Some(true),
                Reached::Not => Some(false),
            },
            log_start_offset: number(log_start),
            log_end_offset: number(log_end),
            recovery_point: number(log.recovery_point),
            high_watermark: number(log.high_watermark),
            segments: log.segments.len() as u64,
            bytes: log_bytes(log),
            scan_bytes: log.scan_bytes,
            lost_bytes,
            lost_records,
            lost_segments,
            steps: if is_left { 0 } else { log.steps.len() as u64 },
            freed_bytes: match &log.verdict {
                Verdict::Delete(deletion) => deletion.freed,
                Verdict::Move(relocation) => relocation.freed,
                _ => 0,
            },
            to_dir: match &log.verdict {
                Verdict::Move(relocation) => Some(path(&relocation.to)),
                _ => None,
            },
            copied_bytes: match &log.verdict {
                Verdict::Move(relocation) => relocation.copied_bytes,
                _ => 0,
            },
            groups: match &log.verdict {
                Verdict::Delete(deletion) => deletion.groups.as_deref(),
                _ => None,
            },
        })))
    }

    fn segments(&mut self, dir: &LogDirPlan, log: &PartitionPlan) -> io::Result<()> {
        let (topic, partition) = topic_partition(log);
        for segment in &log.segments {
            let file = dir
                .path
                .join(&log.dir_name)
                .join(format!("{:020}.log", segment.base_offset.0));
            let read = segment.valid_bytes.is_some();
            self.line(&Line::Segment(SegmentLine {
                dir: path(&dir.path),
                topic,
                partition,
                dir_name: &log.dir_name,
                base_offset: segment.base_offset.0,
                next_offset: segment.next_offset.map(|offset| offset.0),
                bytes: segment.bytes,
                allocated: RealStorage.stat(&file).ok().map(|stat| stat.allocated),
                valid_bytes: segment.valid_bytes,
                batches: read.then_some(segment.batches),
                records: read.then_some(segment.records),
                largest_timestamp: segment.largest_timestamp.and_then(time),
                scanned: segment.scanned,
                verdict: None,
                reason: None,
            }))?;
        }
        Ok(())
    }

    fn finding(
        &mut self,
        dir: Option<&Path>,
        log: Option<&PartitionPlan>,
        finding: &Finding,
    ) -> io::Result<()> {
        let partition = log.map(|log| log.dir_name.as_str());
        self.line(&Line::Finding(finding_line(dir, partition, finding)))
    }

    fn steps(&mut self, dir: &LogDirPlan, log: &PartitionPlan) -> io::Result<()> {
        log.steps
            .iter()
            .try_for_each(|step| self.step(dir, log, step))
    }

    fn end_of_dir(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn mend(&mut self, dir: &LogDirPlan, mend: &Mend) -> io::Result<()> {
        let (action, from, to, new_name) = match mend {
            Mend::Write { text, replaces, .. } => {
                ("write", *replaces, Some(text.len() as u64), None)
            }
            Mend::SetOwner { .. } => ("set_owner", None, None, None),
            Mend::RemoveDir { .. } => ("remove_dir", None, None, None),
            Mend::CreateDir { .. } => ("create_dir", None, None, None),
            Mend::RenameDir { to, .. } => ("rename_dir", None, None, Some(to.as_str())),
        };
        self.line(&Line::Step(StepLine {
            dir: path(&dir.path),
            partition: None,
            file: mend.name(),
            action,
            from,
            to,
            new_name,
            quarantine: matches!(mend, Mend::Write { .. }),
            reason: mend.reason(),
        }))
    }

    fn problem(&mut self, problem: &Problem) -> io::Result<()> {
        let finding = finding_line(
            problem.dir.as_deref(),
            problem.partition.as_deref(),
            &problem.finding,
        );
        self.line(&Line::Problem(Box::new(ProblemLine {
            finding,
            rule: problem.rule,
            at_boot: problem.at_boot,
            line: problem.line,
            fix: !problem.fixes.is_empty(),
        })))
    }

    fn plan(&mut self, _: &RecoveryPlan, _: Option<(&str, bool)>) -> io::Result<()> {
        // The summary has it.
        Ok(())
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        let _ = writeln!(io::stderr().lock(), "{text}");
        Ok(())
    }

    fn summary(&mut self, plan: &RecoveryPlan, summary: &Summary) -> io::Result<()> {
        self.line(&Line::Summary(SummaryLine {
            totals: Some(totals(plan)),
            class: plan.class(),
            ..summary_line(summary)
        }))
    }
}

impl JsonReport<'_> {
    fn step(&mut self, dir: &LogDirPlan, log: &PartitionPlan, step: &Step) -> io::Result<()> {
        let (action, from, to, new_name) = match &step.action {
            StepAction::Remove { len } => ("remove", Some(*len), None, None),
            StepAction::SetLen { from, to } => ("set_len", Some(*from), Some(*to), None),
            StepAction::Write { content, replaces } => {
                ("write", *replaces, Some(content.len), None)
            }
            StepAction::CopyPart { len, replaces, .. } => {
                ("copy_part", *replaces, Some(*len), None)
            }
            StepAction::Allocate { len, replaces } => ("allocate", *replaces, Some(*len), None),
            StepAction::Rename { to } => ("rename", None, None, Some(to.as_str())),
            StepAction::RemoveDir => ("remove_dir", None, None, None),
            StepAction::Restore { kept, replaces } => ("restore", *replaces, Some(kept.len), None),
            StepAction::Append { from, to, .. } => ("append", Some(*from), Some(*to), None),
            StepAction::CopyOut { to, len, .. } => ("copy_out", None, Some(*len), to.to_str()),
            StepAction::MoveDir { to, .. } => ("move_dir", None, None, to.to_str()),
            StepAction::SetOwner { .. } => ("set_owner", None, None, None),
        };
        self.line(&Line::Step(StepLine {
            dir: path(&dir.path),
            partition: Some(&log.dir_name),
            file: &step.file,
            action,
            from,
            to,
            new_name,
            quarantine: step.quarantine == Quarantine::Keep,
            reason: &step.reason,
        }))
    }

    /// Prints a finding of a log by its names.
    pub(crate) fn log_finding(
        &mut self,
        log_dir: &Path,
        dir_name: &str,
        finding: &Finding,
    ) -> io::Result<()> {
        let line = finding_line(Some(log_dir), Some(dir_name), finding);
        self.line(&Line::Finding(line))
    }

    /// Prints the end of a run that planned nothing, or did not get so far.
    pub(crate) fn end(&mut self, summary: &Summary) -> io::Result<()> {
        self.line(&Line::Summary(summary_line(summary)))
    }
}

fn finding_line<'a>(
    dir: Option<&Path>,
    partition: Option<&'a str>,
    finding: &'a Finding,
) -> FindingLine<'a> {
    FindingLine {
        code: finding.code,
        severity: finding.severity,
        dir: dir.map(path),
        partition,
        file: finding.file.as_deref(),
        position: finding.position.map(|position| position.0),
        offset: finding.offset.map(|offset| offset.0),
        lost_bytes: finding.lost_bytes,
        lost_records: finding.lost_records,
        text: &finding.text,
        next: &finding.next,
    }
}

fn summary_line(summary: &Summary) -> SummaryLine<'_> {
    SummaryLine {
        plan: summary.plan.as_deref(),
        stored: summary.stored,
        class: None,
        exit: summary.exit.code(),
        job: summary.job.as_deref(),
        cause: summary.cause.as_deref(),
        totals: None,
    }
}

fn totals(plan: &RecoveryPlan) -> Totals {
    let sum = PlanSummary::of(plan);
    let skipped = plan
        .partitions()
        .filter(|log| matches!(log.verdict, Verdict::Skipped { .. }))
        .count();
    let of_dirs: usize = plan.log_dirs.iter().map(|dir| dir.findings.len()).sum();
    let of_logs: usize = plan.partitions().map(|log| log.findings.len()).sum();
    Totals {
        logs: plan.partitions().count() as u64,
        bytes: plan.partitions().map(log_bytes).sum(),
        scan_bytes: sum.boot_reads,
        steps: applied_steps(plan),
        findings: (of_dirs + of_logs) as u64,
        changed: sum.changed,
        ask: sum.asks,
        refused: sum.refused,
        unreadable: sum.unreadable,
        skipped: skipped as u64,
        cut_bytes: sum.cut_bytes,
        lost_bytes: sum.lost_bytes,
        lost_records: sum.lost_records,
        quarantine_bytes: sum.quarantine_bytes,
        freed_bytes: sum.freed_bytes,
    }
}

/// Returns how many steps an apply runs.
fn applied_steps(plan: &RecoveryPlan) -> u64 {
    plan.partitions()
        .filter(|log| log.verdict.is_applied())
        .map(|log| log.steps.len() as u64)
        .sum()
}

/// Returns the bytes of a partition's `.log` files.
pub(crate) fn log_bytes(log: &PartitionPlan) -> u64 {
    log.segments
        .iter()
        .map(|segment: &SegmentSummary| segment.bytes)
        .sum()
}

fn topic_partition(log: &PartitionPlan) -> (Option<&str>, Option<i32>) {
    let named = log.topic_partition.as_ref();
    (
        named.map(|tp| tp.topic.as_str()),
        named.map(|tp| tp.partition),
    )
}

fn verdict_name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Nothing => "nothing",
        Verdict::Recover => "recover",
        Verdict::Mend => "mend",
        Verdict::TakeBack => "take_back",
        Verdict::Truncate(_) => "truncate",
        Verdict::Delete(_) => "delete",
        Verdict::Move(_) => "move",
        Verdict::Ask(_) => "ask",
        Verdict::Refused { .. } => "refused",
        Verdict::Unreadable { .. } => "unreadable",
        Verdict::Skipped { .. } => "skipped",
    }
}

/// Returns why a log stays as it is.
fn cause(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Nothing
        | Verdict::Recover
        | Verdict::Mend
        | Verdict::TakeBack
        | Verdict::Truncate(_)
        | Verdict::Delete(_)
        | Verdict::Move(_) => None,
        Verdict::Ask(ask) if ask.accepted => None,
        Verdict::Ask(_) => Some("Kafka's way removes good records".to_owned()),
        Verdict::Refused { cause } | Verdict::Unreadable { cause } => Some(cause.clone()),
        Verdict::Skipped { why } => Some(why.clone()),
    }
}
