//! Text for people: what needs attention first by name, what is in order as a count.

use std::io::{self, Write};
use std::path::Path;

use super::json::log_bytes;
use super::line::RunLine;
use super::text_words::{steps, verdict};
use super::{Reached, Report, Summary, falls_short, known_ends};
use crate::app::confirm::PlanSummary;
use crate::app::lines::hand_over_word;
use crate::app::text::{bytes, count, offset, plural};
use crate::app::words;
use crate::cli::Exit;
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::preflight::Problem;
use crate::plan::{
    Class, LogDirPlan, Mend, PartitionPlan, PlanAct, RecoveryPlan, StopState, Verdict,
};

/// How many logs of a log dir are shown with their steps where nothing else is to be told of them.
const ROUTINE_LINES: u64 = 20;

/// Prints text.
pub(crate) struct TextReport<'a> {
    out: &'a mut dyn Write,
    /// Logs of the log dir at hand that have steps and nothing to be told of.
    routine: u64,
    /// Steps of those that were counted only.
    untold_steps: u64,
}

impl<'a> TextReport<'a> {
    /// Returns a report that writes to `out`.
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self {
            out,
            routine: 0,
            untold_steps: 0,
        }
    }
}

impl Report for TextReport<'_> {
    fn run(&mut self, run: &RunLine) -> io::Result<()> {
        let node = run
            .node_id
            .map_or_else(|| "broker ?".to_owned(), |id| format!("broker {id}"));
        let pid = run
            .pid
            .map(|pid| format!(" (process {pid})"))
            .unwrap_or_default();
        writeln!(
            self.out,
            "krescue {} · {node} · {} · Kafka {} ({}) · {}{pid}",
            run.command, run.host, run.kafka_version, run.version_source, run.broker
        )?;
        if !run.topic_settings.is_empty() {
            writeln!(self.out, "topic settings of {}", run.topic_settings)?;
        }
        match &run.config {
            Some(config) => writeln!(self.out, "configuration {config} ({})", run.found_by),
            None => writeln!(self.out, "log dirs by {}, no configuration", run.found_by),
        }
    }

    fn log_dir(&mut self, dir: &LogDirPlan) -> io::Result<()> {
        let all: u64 = dir.partitions.iter().map(log_bytes).sum();
        let scan: u64 = dir.partitions.iter().map(|log| log.scan_bytes).sum();
        let stop = match dir.stop {
            StopState::Clean => "clean",
            StopState::Unclean => "unclean, no .kafka_cleanshutdown",
        };
        writeln!(
            self.out,
            "\n{}  {stop} · {}, {} · a boot reads {}",
            dir.path.display(),
            plural(dir.partitions.len() as u64, "log", "logs"),
            bytes(all),
            bytes(scan)
        )
    }

    fn partition(
        &mut self,
        _: &LogDirPlan,
        log: &PartitionPlan,
        reached: Reached,
    ) -> io::Result<()> {
        if !has_line(log, reached) {
            return Ok(());
        }
        let [_, end] = known_ends(log, reached);
        let end = end
            .map(|end| format!(" · log end {}", offset(end)))
            .unwrap_or_default();
        // The metadata log, and what was not selected.
        if matches!(log.verdict, Verdict::Skipped { .. }) {
            return Ok(());
        }
        writeln!(
            self.out,
            "  {}  {} · {}, {}{end}",
            log.dir_name,
            verdict(&log.verdict, reached),
            plural(log.segments.len() as u64, "segment", "segments"),
            bytes(log_bytes(log)),
        )?;
        if reached == Reached::Planned && log.verdict.is_applied() && !log.steps.is_empty() {
            writeln!(self.out, "    steps: {}", steps(&log.steps))?;
        }
        Ok(())
    }

    fn segments(&mut self, _: &LogDirPlan, _: &PartitionPlan) -> io::Result<()> {
        // Thousands of lines that say nothing is wrong; `--json` has them.
        Ok(())
    }

    fn finding(
        &mut self,
        dir: Option<&Path>,
        log: Option<&PartitionPlan>,
        finding: &Finding,
    ) -> io::Result<()> {
        // The dir's own line says already how it stopped.
        let said = finding.code == FindingCode::UncleanStop;
        if said || (finding.severity == Severity::Routine && log.is_some()) {
            return Ok(());
        }
        let indent = match (dir, log) {
            (_, Some(_)) => "    ",
            (Some(_), None) => "  ",
            (None, None) => "",
        };
        let severity = severity_word(finding.severity);
        let place = match (&finding.file, finding.position) {
            (Some(file), Some(position)) => format!("{file} at byte {}: ", count(position.0)),
            (Some(file), None) => format!("{file}: "),
            _ => String::new(),
        };
        let lost = match (finding.lost_bytes, finding.lost_records) {
            (0, _) => String::new(),
            (lost, Some(records)) => {
                format!(
                    " [{}, {}]",
                    bytes(lost),
                    plural(records, "record", "records")
                )
            }
            (lost, None) => format!(" [{}, ? records]", bytes(lost)),
        };
        writeln!(
            self.out,
            "{indent}{severity}: {place}{}{lost}",
            finding.text
        )?;
        if !finding.next.is_empty() {
            writeln!(self.out, "{indent}  next: {}", finding.next)?;
        }
        Ok(())
    }

    fn steps(&mut self, _: &LogDirPlan, log: &PartitionPlan) -> io::Result<()> {
        // Counted with the partition where that had a line of its own; `--json` has each.
        if !log.verdict.is_applied() || log.steps.is_empty() || has_line(log, Reached::Planned) {
            return Ok(());
        }
        self.routine += 1;
        if self.routine > ROUTINE_LINES {
            self.untold_steps += log.steps.len() as u64;
            return Ok(());
        }
        writeln!(
            self.out,
            "  {}  routine: {}",
            log.dir_name,
            steps(&log.steps)
        )
    }

    fn end_of_dir(&mut self) -> io::Result<()> {
        let more = self.routine.saturating_sub(ROUTINE_LINES);
        let steps = std::mem::take(&mut self.untold_steps);
        self.routine = 0;
        if more == 0 {
            return Ok(());
        }
        writeln!(
            self.out,
            "  and {} more, routine too: {}; --json has each",
            plural(more, "log", "logs"),
            plural(steps, "step", "steps")
        )
    }

    fn mend(&mut self, _: &LogDirPlan, mend: &Mend) -> io::Result<()> {
        writeln!(self.out, "  {}: {}", words::mend(mend), mend.reason())
    }

    fn problem(&mut self, problem: &Problem) -> io::Result<()> {
        let finding = &problem.finding;
        let severity = severity_word(finding.severity);
        let mut place = problem.dir.clone().unwrap_or_default();
        place.extend(problem.partition.as_deref());
        place.extend(finding.file.as_deref().filter(|file| *file != "."));
        let line = problem
            .line
            .map_or_else(String::new, |line| format!(" line {line}"));
        let place = if place.as_os_str().is_empty() {
            String::new()
        } else {
            format!("{}{line}: ", place.display())
        };
        writeln!(self.out, "{severity}: {place}{}", finding.text)?;
        if !finding.next.is_empty() {
            writeln!(self.out, "  next: {}", finding.next)?;
        }
        Ok(())
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    fn plan(&mut self, plan: &RecoveryPlan, hash: Option<(&str, bool)>) -> io::Result<()> {
        let sum = PlanSummary::of(plan);
        let mut parts = vec![plural(plan.partitions().count() as u64, "log", "logs")];
        for (number, text) in [
            (sum.changed, "to change"),
            (sum.asks, "ASK"),
            (sum.refused, "REFUSED"),
            (sum.unreadable, "unreadable"),
        ] {
            if number > 0 {
                parts.push(format!("{} {text}", count(number)));
            }
        }
        let routine = plan
            .partitions()
            .flat_map(|log| &log.findings)
            .filter(|finding| finding.severity == Severity::Routine)
            .count() as u64;
        if routine > 0 {
            parts.push(plural(routine, "routine finding", "routine findings"));
        }
        writeln!(self.out, "\n{}", parts.join(" · "))?;
        if plan.act == PlanAct::CleanUp && plan.undoes.is_none() && hash.is_some() {
            let copies = match &plan.quarantine {
                Some(place) => format!("what goes is kept in {}", place.display()),
                None => "nothing is kept".to_owned(),
            };
            writeln!(
                self.out,
                "frees {} in {}; {copies}",
                bytes(sum.freed_bytes),
                plural(sum.changed, "dir", "dirs")
            )?;
        } else if plan.act == PlanAct::Move {
            writeln!(
                self.out,
                "moves {}, frees {}; nothing is kept of it: the way back is another move",
                bytes(sum.moved_bytes),
                bytes(sum.freed_bytes)
            )?;
        } else if sum.cut_bytes > 0 && hash.is_some() {
            let copies = match &plan.quarantine {
                Some(place) => format!("{} to {}", bytes(sum.quarantine_bytes), place.display()),
                None => "nothing is copied".to_owned(),
            };
            writeln!(
                self.out,
                "cuts {} in {}; quarantine: {copies}",
                bytes(sum.cut_bytes),
                plural(sum.cut_logs, "log", "logs")
            )?;
        }
        match hash {
            Some((hash, stored)) => self.plan_line(plan, hash, stored),
            None => Ok(()),
        }
    }

    fn summary(&mut self, _: &RecoveryPlan, summary: &Summary) -> io::Result<()> {
        match (&summary.cause, &summary.job) {
            // The standard error has the cause.
            (Some(_), _) | (None, None) => Ok(()),
            (None, Some(job)) if summary.exit == Exit::Ok => writeln!(self.out, "job {job}: done"),
            (None, Some(job)) => writeln!(self.out, "job {job}: done, but not for all"),
        }
    }
}

impl TextReport<'_> {
    fn plan_line(&mut self, plan: &RecoveryPlan, hash: &str, stored: bool) -> io::Result<()> {
        let short = hash.get(..8).unwrap_or(hash);
        let class = match plan.class() {
            None => "no class: nothing in a partition changes",
            Some(Class::A) if plan.act == PlanAct::Mend => "class A: no record is touched",
            Some(Class::A) => "class A: regenerable files only",
            Some(Class::B) if plan.act == PlanAct::Move => {
                "class B: nothing goes but what lies in its new place"
            }
            Some(Class::C) if plan.act == PlanAct::Move => {
                "class C: the last copy in sync changes its place"
            }
            Some(Class::B) => "class B: what a broker would cut anyway",
            Some(Class::C) => "class C: good data is lost",
        };
        let hand_over = hand_over_word(plan.hand_over);
        match &plan.undoes {
            Some(undone) => writeln!(
                self.out,
                "plan {short} takes {} back · class A: nothing is lost",
                undone.get(..8).unwrap_or(undone)
            )?,
            None if plan.act == PlanAct::CleanUp => {
                let class = match plan.class() {
                    Some(Class::A) => "class A: what a boot removes anyway",
                    _ => class,
                };
                writeln!(self.out, "plan {short} · {class}")?;
            }
            None if plan.act == PlanAct::Move => {
                writeln!(self.out, "plan {short} · {class}")?;
            }
            None => writeln!(self.out, "plan {short} · {class} · hand-over {hand_over}")?,
        }
        for dir in plan.log_dirs.iter().filter(|dir| falls_short(plan, dir)) {
            writeln!(
                self.out,
                "  {} is handed over as verify: a log of it stays as it is",
                dir.path.display()
            )?;
        }
        if !stored {
            writeln!(self.out, "  not stored: it cannot be named by --yes")?;
        }
        Ok(())
    }
}

/// Says whether something is to be told of a log: what a boot does as a matter of course is not.
fn has_line(log: &PartitionPlan, reached: Reached) -> bool {
    let mut findings = log.findings.iter();
    findings.any(|finding| finding.severity > Severity::Routine)
        || reached == Reached::Not
        || !matches!(log.verdict, Verdict::Nothing | Verdict::Recover)
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Routine => "note",
        Severity::Warning => "warning",
        Severity::Loss => "LOSS",
        Severity::Fatal => "FATAL",
    }
}
