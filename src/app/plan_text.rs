//! A plan as the lines of its dialog: what changes first, what stays after it, what follows last.

use crate::log::FindingCode;
use crate::plan::{
    Class, HandOver, LogDirPlan, OnLoss, PartitionPlan, PlanAct, RecoveryPlan, Verdict,
};
use crate::terms::Timestamp;

use super::confirm::PlanSummary;
use super::effect::Scope;
use super::lines::{hand_over_word, short_hash};
use super::state::{ShownPlan, State, is_log, shortens};
use super::{text, words};

/// How a line is to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As text.
    Plain,
    /// As something in order.
    Good,
    /// As something that changes a log.
    Warn,
    /// As something that loses or would lose good data.
    Danger,
}

/// One line: a word, then what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLine {
    /// The word; empty where the one above still holds.
    pub label: &'static str,
    /// What.
    pub text: String,
    /// How it is to be seen.
    pub tone: Tone,
}

fn line(label: &'static str, tone: Tone, text: impl Into<String>) -> PlanLine {
    PlanLine {
        label,
        text: text.into(),
        tone,
    }
}

/// Returns the plan's lines.
pub fn plan_lines(state: &State, shown: &ShownPlan) -> Vec<PlanLine> {
    let plan = &shown.plan;
    let sum = shown.sum;
    let mut lines = Vec::new();
    if let Some(undone) = &plan.undoes {
        takes_back(&mut lines, state, shown, undone);
    } else {
        if plan.act == PlanAct::CleanUp {
            deletes(&mut lines, state, shown, &sum);
        } else {
            changes(&mut lines, state, shown, &sum);
        }
        loses(&mut lines, plan, &sum);
        stays(&mut lines, state, shown);
        copies(&mut lines, shown, &sum);
        hands_over(&mut lines, state, shown);
    }
    if let Some(supervisor) = state
        .world
        .broker
        .as_ref()
        .and_then(|broker| broker.supervisor.as_ref())
    {
        let held = format!(
            "{} may start the broker: {}",
            supervisor.name, supervisor.hold
        );
        lines.push(line("before", Tone::Plain, held));
        lines.push(line("after", Tone::Plain, supervisor.release.clone()));
    }
    lines.push(line("version", Tone::Plain, version(shown)));
    if plan.undoes.is_some() || sum.written_files > 0 || sum.changed > 0 {
        steps(&mut lines, state, shown);
    }
    lines
}

/// Tells what comes back: of logs, and of the log dirs' own files.
fn takes_back(lines: &mut Vec<PlanLine>, state: &State, shown: &ShownPlan, undone: &str) {
    let text = format!(
        "plan {}: each file becomes what it was before it",
        short_hash(undone)
    );
    lines.push(line("takes back", Tone::Plain, text));
    for (dir, log) in applied(shown) {
        let steps = text::plural(log.steps.len() as u64, "step", "steps");
        let text = format!("{} on {}: {steps} back", log.dir_name, label_of(state, dir));
        lines.push(line("", Tone::Warn, text));
    }
    for dir in &shown.plan.log_dirs {
        let Some(undo) = &dir.undo else { continue };
        let marker = undo.marker.iter().chain(&undo.late);
        let files = undo.checkpoints.iter().chain(marker);
        let mut names: Vec<&str> = files.map(|step| step.file.as_str()).collect();
        if dir.removes_marker && undo.marker.is_none() {
            names.push("the clean marker goes");
        }
        if !names.is_empty() {
            let text = format!("{}: {}", label_of(state, dir), names.join(", "));
            lines.push(line("", Tone::Warn, text));
        }
    }
    let text = "a boot then does what it would have done before that plan";
    lines.push(line("then", Tone::Danger, text));
}

fn version(shown: &ShownPlan) -> String {
    format!(
        "as Kafka {} boots ({})",
        shown.plan.kafka_version, shown.plan.version_source
    )
}

/// Returns log dirs and their logs that an apply changes; those that are cut come first.
fn applied(shown: &ShownPlan) -> Vec<(&LogDirPlan, &PartitionPlan)> {
    let dirs = shown.plan.log_dirs.iter();
    let mut logs: Vec<_> = dirs
        .flat_map(|dir| dir.partitions.iter().map(move |log| (dir, log)))
        .filter(|(_, log)| log.verdict.is_applied() && !log.steps.is_empty())
        .collect();
    logs.sort_by_key(|(_, log)| !shortens(log));
    logs
}

fn label_of(state: &State, dir: &LogDirPlan) -> String {
    let logs = &state.world.logs;
    let row = logs.dir_at(&dir.path).and_then(|at| logs.dirs.get(at));
    row.map_or_else(|| dir.path.display().to_string(), |row| row.label.clone())
}

fn changes(lines: &mut Vec<PlanLine>, state: &State, shown: &ShownPlan, sum: &PlanSummary) {
    let logs = applied(shown);
    let mended = shown
        .plan
        .log_dirs
        .iter()
        .flat_map(|dir| dir.mends.iter().map(move |mend| (dir, mend)));
    let mut label = "mends";
    for (dir, mend) in mended {
        let text = format!(
            "{}: {}: {}",
            label_of(state, dir),
            words::mend(mend),
            mend.reason()
        );
        lines.push(line(std::mem::take(&mut label), Tone::Plain, text));
    }
    if logs.is_empty() {
        lines.push(line("changes", Tone::Good, "no file of any log"));
    }
    let mut label = "cuts";
    for (dir, log) in logs.iter().filter(|(_, log)| shortens(log)) {
        let removed = log.steps.iter().filter(|step| {
            is_log(&step.file) && matches!(step.action, crate::plan::StepAction::Remove { .. })
        });
        let removed = removed.count() as u64;
        let bytes: u64 = log
            .steps
            .iter()
            .filter(|step| is_log(&step.file))
            .map(crate::plan::Step::removed_bytes)
            .sum();
        let segments = match removed {
            0 => String::new(),
            removed => format!(", {} deleted", text::plural(removed, "segment", "segments")),
        };
        let why = log
            .findings
            .iter()
            .find(|finding| finding.position.is_some())
            .map_or_else(String::new, |finding| {
                format!(": {}", words::finding(finding))
            });
        let end = log
            .log_end_offset
            .map_or_else(|| "?".to_owned(), text::offset);
        let acknowledged = ends_below_high_watermark(log);
        let below = match log.high_watermark {
            Some(mark) if acknowledged => {
                format!(", BELOW the high watermark {}", text::offset(mark))
            }
            _ => String::new(),
        };
        let text = format!(
            "{} on {}: −{}{segments}, new end {end}{below}{why}",
            log.dir_name,
            label_of(state, dir),
            text::bytes(bytes),
        );
        let tone = match log.verdict {
            Verdict::Ask(_) | Verdict::Truncate(_) => Tone::Danger,
            _ if acknowledged => Tone::Danger,
            _ => Tone::Warn,
        };
        lines.push(line(std::mem::take(&mut label), tone, text));
    }
    let rebuilt = sum.changed - sum.cut_logs;
    if sum.changed > 0 {
        let text = format!(
            "{} in {}; {} of them not cut",
            text::plural(sum.written_files, "file", "files"),
            text::plural(sum.changed, "log", "logs"),
            text::count(rebuilt),
        );
        lines.push(line("rebuilds", Tone::Plain, text));
    }
}

/// Tells what goes, and what becomes free.
fn deletes(lines: &mut Vec<PlanLine>, state: &State, shown: &ShownPlan, sum: &PlanSummary) {
    let mut label = "deletes";
    for (dir, log) in applied(shown) {
        let Verdict::Delete(deletion) = &log.verdict else {
            continue;
        };
        let what = match deletion.deleted_segments {
            0 => String::new(),
            segments => format!(", {}", text::plural(segments, "segment", "segments")),
        };
        let start = match (deletion.log_start_before, log.log_start_offset) {
            (Some(before), Some(after)) if deletion.deleted_segments > 0 => format!(
                ", log start {} → {}",
                text::offset(before),
                text::offset(after)
            ),
            _ => String::new(),
        };
        let text = format!(
            "{} on {}: {}{what}, frees {}{start}",
            log.dir_name,
            label_of(state, dir),
            deletion.cost.words(),
            text::bytes(deletion.freed),
        );
        let tone = match deletion.cost.class() {
            Class::A => Tone::Plain,
            Class::B => Tone::Warn,
            Class::C => Tone::Danger,
        };
        lines.push(line(std::mem::take(&mut label), tone, text));
    }
    let text = match sum.changed {
        0 => "nothing: there is nothing to delete".to_owned(),
        changed => format!(
            "{} in {}; nothing is written before the last of it is gone",
            text::bytes(sum.freed_bytes),
            text::plural(changed, "dir", "dirs")
        ),
    };
    lines.push(line("frees", Tone::Good, text));
}

/// Says whether acknowledged records are missing at the log's new end.
fn ends_below_high_watermark(log: &PartitionPlan) -> bool {
    let code = FindingCode::EndBelowHighWatermark;
    log.findings.iter().any(|finding| finding.code == code)
}

fn loses(lines: &mut Vec<PlanLine>, plan: &RecoveryPlan, sum: &PlanSummary) {
    if plan.class() != Some(Class::C) {
        lines.push(line("loses", Tone::Good, "no good batch"));
        return;
    }
    let records = match sum.lost_records {
        Some(records) => format!("{} records", text::count(records)),
        None => "? records: they cannot be counted".to_owned(),
    };
    let text = format!("{} of good batches, {records}", text::bytes(sum.lost_bytes));
    lines.push(line("loses", Tone::Danger, text));
    let mut label = "elsewhere";
    for log in plan.partitions() {
        let Some(text) = elsewhere(log, plan.now) else {
            continue;
        };
        let text = format!("{}: {text}", log.dir_name);
        lines.push(line(std::mem::take(&mut label), Tone::Danger, text));
    }
    let is_set_aside = |log: &PartitionPlan| match &log.verdict {
        Verdict::Ask(ask) => ask.decided == OnLoss::SetAside,
        _ => false,
    };
    // What is set aside was proved not to lead.
    if !plan
        .partitions()
        .all(|log| !log.verdict.is_applied() || is_set_aside(log))
    {
        let led = "where this replica leads, its followers are cut too";
        lines.push(line(std::mem::take(&mut label), Tone::Danger, led));
    }
}

/// Returns who else has a log that loses good records; `None` if it loses none.
fn elsewhere(log: &PartitionPlan, now: Timestamp) -> Option<String> {
    match &log.verdict {
        Verdict::Ask(ask) if ask.accepted && ask.lost_bytes > 0 => Some(match &ask.replicas {
            Some(replicas) => replicas.elsewhere(now),
            None => "? nothing here says who else has it".to_owned(),
        }),
        Verdict::Delete(deletion) if deletion.lost_bytes == 0 => None,
        Verdict::Truncate(_) | Verdict::Delete(_) => {
            let tells = [FindingCode::OtherReplicas, FindingCode::LastInSyncCopy];
            let mut findings = log.findings.iter();
            let finding = findings.find(|finding| tells.contains(&finding.code))?;
            Some(finding.text.clone())
        }
        _ => None,
    }
}

fn stays(lines: &mut Vec<PlanLine>, state: &State, shown: &ShownPlan) {
    let mut label = "leaves";
    let mut skipped = 0_u64;
    let mut same = 0_u64;
    for dir in &shown.plan.log_dirs {
        for log in &dir.partitions {
            let (tone, why) = match &log.verdict {
                Verdict::Ask(ask) if !ask.accepted => (
                    Tone::Danger,
                    format!("ASK: Kafka's way loses {}", words::loss(ask)),
                ),
                Verdict::Refused { cause } => (Tone::Danger, format!("REFUSED: {cause}")),
                Verdict::Unreadable { cause } => (Tone::Warn, format!("UNREADABLE: {cause}")),
                Verdict::Skipped { .. } => {
                    skipped += 1;
                    continue;
                }
                Verdict::Nothing => {
                    same += 1;
                    continue;
                }
                Verdict::Ask(_)
                | Verdict::Recover
                | Verdict::Mend
                | Verdict::TakeBack
                | Verdict::Truncate(_)
                | Verdict::Delete(_)
                | Verdict::Move(_) => {
                    continue;
                }
            };
            let text = format!("{} on {}: {why}", log.dir_name, label_of(state, dir));
            lines.push(line(std::mem::take(&mut label), tone, text));
        }
    }
    if same > 0 {
        let text = format!(
            "{} as a boot would leave them",
            text::plural(same, "log", "logs")
        );
        lines.push(line("same", Tone::Good, text));
    }
    if skipped > 0 {
        let text = format!(
            "{} not selected, or none that a boot loads",
            text::plural(skipped, "dir", "dirs")
        );
        lines.push(line("skips", Tone::Plain, text));
    }
}

fn copies(lines: &mut Vec<PlanLine>, shown: &ShownPlan, sum: &PlanSummary) {
    let bytes = text::bytes(sum.quarantine_bytes);
    let (tone, text) = match &shown.plan.quarantine {
        Some(dir) if sum.quarantine_bytes > 0 => (
            Tone::Plain,
            format!("{bytes} go to the quarantine first: {}", dir.display()),
        ),
        None if sum.quarantine_bytes > 0 => (
            Tone::Danger,
            format!("none: {bytes} are gone for good (quarantine none)"),
        ),
        // What a cleanup deletes without a quarantine is no step's to keep.
        None if sum.lost_bytes > 0 => (
            Tone::Danger,
            "none: what is lost is gone for good (quarantine none)".to_owned(),
        ),
        _ => (
            Tone::Plain,
            "nothing is lost, so nothing to copy".to_owned(),
        ),
    };
    lines.push(line("copies", tone, text));
}

fn hands_over(lines: &mut Vec<PlanLine>, state: &State, shown: &ShownPlan) {
    if matches!(shown.plan.act, PlanAct::Mend | PlanAct::CleanUp) {
        return;
    }
    let asked = shown.plan.hand_over;
    let text = format!("{}: {}", hand_over_word(asked), words::hand_over(asked));
    lines.push(line("hand-over", Tone::Plain, text));
    if shown.request.scope != Scope::All && asked != HandOver::Clean {
        let text = "clean needs a plan of all log dirs";
        lines.push(line("", Tone::Plain, text));
    }
    for dir in shown
        .plan
        .log_dirs
        .iter()
        .filter(|dir| dir.hand_over != asked)
    {
        let text = format!(
            "{} falls back to {}: a log there stays as it is",
            label_of(state, dir),
            hand_over_word(dir.hand_over)
        );
        lines.push(line("", Tone::Warn, text));
    }
    for dir in shown.plan.log_dirs.iter().filter(|dir| dir.removes_marker) {
        let text = format!("{}: its clean marker is removed last", label_of(state, dir));
        lines.push(line("", Tone::Warn, text));
    }
}

/// Lists every step, so that nothing is hidden behind a number.
fn steps(lines: &mut Vec<PlanLine>, state: &State, shown: &ShownPlan) {
    lines.push(line("steps", Tone::Plain, "in this order:"));
    for (dir, log) in applied(shown) {
        for step in &log.steps {
            let text = format!(
                "{}/{}: {}{}",
                label_of(state, dir),
                log.dir_name,
                words::step(step),
                words::kept(step)
            );
            lines.push(line("", Tone::Plain, text));
        }
    }
}
