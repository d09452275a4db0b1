//! Text for people: what needs attention first by name, what is in order as a count.

use std::io::{self, Write};
use std::path::Path;

use super::json::log_bytes;
use super::line::RunLine;
use super::{Reached, Report, Summary, falls_short, known_ends};
use crate::app::confirm::PlanSummary;
use crate::app::text::{bytes, count, offset, plural};
use crate::app::words;
use crate::cli::Exit;
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::preflight::Problem;
use crate::plan::{
    Class, HandOver, LogDirPlan, Mend, OnLoss, PartitionPlan, PlanAct, RecoveryPlan, Step,
    StepAction, StopState, Verdict,
};

/// Prints text.
pub(crate) struct TextReport<'a> {
    out: &'a mut dyn Write,
}

impl<'a> TextReport<'a> {
    /// Returns a report that writes to `out`.
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self { out }
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
        let notable = log
            .findings
            .iter()
            .any(|finding| finding.severity > Severity::Routine);
        if !notable
            && reached != Reached::Not
            && matches!(log.verdict, Verdict::Nothing | Verdict::Recover)
        {
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

    fn step(&mut self, _: &LogDirPlan, _: &PartitionPlan, _: &Step) -> io::Result<()> {
        // Counted with the partition; `--json` has each.
        Ok(())
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
        let hand_over = match plan.hand_over {
            HandOver::None => "none",
            HandOver::Verify => "verify",
            HandOver::Clean => "clean",
        };
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

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Routine => "note",
        Severity::Warning => "warning",
        Severity::Loss => "LOSS",
        Severity::Fatal => "FATAL",
    }
}

/// Returns what was decided of a log, in words.
fn verdict(verdict: &Verdict, reached: Reached) -> String {
    match (verdict, reached) {
        (Verdict::Nothing, _) => "nothing to do".to_owned(),
        (Verdict::Recover, Reached::Planned) => "would be recovered".to_owned(),
        (Verdict::Recover, Reached::End) => "recovered".to_owned(),
        (Verdict::Recover, Reached::Not) => "NOT recovered".to_owned(),
        (Verdict::Mend, Reached::Planned) => "would be mended".to_owned(),
        (Verdict::Mend, Reached::End) => "mended".to_owned(),
        (Verdict::Mend, Reached::Not) => "NOT mended".to_owned(),
        (Verdict::TakeBack, Reached::Planned) => "would be taken back".to_owned(),
        (Verdict::TakeBack, Reached::End) => "taken back".to_owned(),
        (Verdict::TakeBack, Reached::Not) => "NOT taken back".to_owned(),
        (Verdict::Truncate(cut), reached) => {
            let word = match reached {
                Reached::Planned => "would be truncated",
                Reached::End => "truncated",
                Reached::Not => "NOT truncated",
            };
            format!(
                "{word} to {}, loses {}",
                cut.asked.words(),
                bytes(cut.lost_bytes)
            )
        }
        (Verdict::Delete(deletion), reached) => {
            let word = match reached {
                Reached::Planned => "frees",
                Reached::End => "freed",
                Reached::Not => "NOT deleted, would free",
            };
            let what = match deletion.deleted_segments {
                0 => String::new(),
                segments => format!(", {}", plural(segments, "segment", "segments")),
            };
            let loses = match deletion.lost_bytes {
                0 => String::new(),
                lost => format!(", loses {}", bytes(lost)),
            };
            let cost = deletion.cost.words();
            format!("{cost}: {word} {}{what}{loses}", bytes(deletion.freed))
        }
        (Verdict::Move(relocation), reached) => {
            let word = match reached {
                Reached::Planned => "would go",
                Reached::End => "went",
                Reached::Not => "did NOT go",
            };
            let how = match relocation.copied_bytes {
                0 => "nothing is copied".to_owned(),
                copied => format!("{} copied and compared", bytes(copied)),
            };
            format!("{word} to {}, {how}", relocation.to.display())
        }
        (Verdict::Ask(ask), _) if ask.decided == OnLoss::Leave => {
            "left as it is, bad place and all".to_owned()
        }
        (Verdict::Ask(ask), _) if ask.decided == OnLoss::CutHere => {
            format!("cut only here, loses {}", bytes(ask.lost_bytes))
        }
        (Verdict::Ask(ask), reached) if ask.decided == OnLoss::SetAside => {
            let word = match reached {
                Reached::Planned => "would be set aside, to be fetched again",
                Reached::End => "set aside, to be fetched again",
                Reached::Not => "NOT set aside",
            };
            format!("{word}, {}", bytes(ask.lost_bytes))
        }
        (Verdict::Ask(ask), _) if ask.accepted => {
            format!("Kafka's way, loses {}", bytes(ask.lost_bytes))
        }
        (Verdict::Ask(ask), _) => format!(
            "ASK, untouched: Kafka's way loses {}{}",
            bytes(ask.lost_bytes),
            match ask.lost_segments {
                0 => String::new(),
                segments => format!(" with {}", plural(segments, "segment", "segments")),
            }
        ),
        (Verdict::Refused { cause }, _) => format!("REFUSED, untouched: {cause}"),
        (Verdict::Unreadable { cause }, _) => format!("unreadable, untouched: {cause}"),
        (Verdict::Skipped { why }, _) => format!("skipped: {why}"),
    }
}

/// Returns steps as counts, cuts first.
fn steps(steps: &[Step]) -> String {
    // A truncation cuts one file twice.
    let mut cuts: Vec<(&str, u64, u64)> = Vec::new();
    for step in steps {
        if let StepAction::SetLen { from, to } = step.action
            && step.file.strip_suffix(".log").is_some()
        {
            match cuts.iter_mut().find(|(file, ..)| *file == step.file) {
                Some((_, _, last)) => *last = to,
                None => cuts.push((&step.file, from, to)),
            }
        }
    }
    let cut = |(file, from, to): (&str, u64, u64)| {
        format!("cut {file} from {} to {} bytes", count(from), count(to))
    };
    let mut parts: Vec<String> = cuts.into_iter().map(cut).collect();
    let number =
        |is: fn(&StepAction) -> bool| steps.iter().filter(|step| is(&step.action)).count() as u64;
    for (files, verb) in [
        (
            number(|action| matches!(action, StepAction::CopyOut { .. })),
            "copy and compare",
        ),
        (
            number(|action| matches!(action, StepAction::Remove { .. })),
            "remove",
        ),
        (
            number(|action| {
                matches!(
                    action,
                    StepAction::Write { .. }
                        | StepAction::CopyPart { .. }
                        | StepAction::Allocate { .. }
                )
            }),
            "write",
        ),
        (
            number(|action| matches!(action, StepAction::Rename { .. })),
            "rename",
        ),
        (
            number(|action| {
                matches!(
                    action,
                    StepAction::Restore { .. } | StepAction::Append { .. }
                )
            }),
            "put back",
        ),
        (
            number(|action| matches!(action, StepAction::SetOwner { .. })),
            "give away",
        ),
    ] {
        if files > 0 {
            parts.push(format!("{verb} {}", plural(files, "file", "files")));
        }
    }
    let dirs = number(|action| matches!(action, StepAction::MoveDir { .. }));
    if dirs > 0 {
        parts.push(format!("rename {}", plural(dirs, "dir", "dirs")));
    }
    parts.join(", ")
}
