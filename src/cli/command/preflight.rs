//! `preflight`: whether the broker can be started, and what mends what stands in its way.

use std::io::Write;
use std::path::Path;

use super::plan_run::{PlanRun, check_act};
use super::preconditions::{check_allowed, check_down};
use super::stored_flags::check_quarantine;
use crate::cli::args::PreflightArgs;
use crate::cli::boot_facts::{Ports, boot_facts, boot_problems, is_listed, stop_facts};
use crate::cli::look::{self, BesideBroker, Look};
use crate::cli::report::Summary;
use crate::cli::target::{Presence, find_candidates, only_candidate};
use crate::cli::{CliError, Context, Exit};
use crate::engine::{MadePlan, PlanStore, Reading};
use crate::format::file_name::DirName;
use crate::log::{FindingCode, Severity};
use crate::plan::preflight::{
    AtBoot, BootFacts, FixInputs, Problem, check_failed, check_stop, plan_fixes,
};
use crate::plan::{PlanAct, RecoveryPlan};

/// What the rules tell in full, the plan of a boot log by log.
const BY_RULES: [FindingCode; 2] = [FindingCode::DuplicatePartition, FindingCode::IndexMissing];

/// Runs `preflight`.
pub(in crate::cli) fn preflight(
    context: &Context,
    args: &PreflightArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let answers = &args.answers;
    if answers.apply {
        check_allowed(context, "preflight", answers, false)?;
    }
    let mut run = PlanRun {
        context,
        answers,
        json: args.json,
        command: "preflight",
        words: "preflight --fix".to_owned(),
        leaves: 0,
        out,
    };
    if let Some(hash) = answers.stored() {
        let stored = PlanStore::new(&context.state_dir()?.value).find(&hash.0)?;
        check_act(&stored, PlanAct::Mend)?;
        check_quarantine(context, &stored)?;
        return run.apply_stored(&stored);
    }
    // A stop is asked of a running broker: its metadata log is read too, which costs it nothing that matters.
    let beside = if args.stop || args.failed.is_some() {
        BesideBroker::ReadBatches
    } else {
        BesideBroker::StructureOnly
    };
    let candidate = only_candidate(find_candidates(context)?)?;
    let look = Look::whatever_is_there(context, candidate, beside)?;
    let wants_plan = args.fix || answers.apply;
    if wants_plan {
        check_down(&look)?;
    }
    if args.stop {
        return stop(&mut run, &look);
    }
    if let Some(dir) = &args.failed {
        return failed(&mut run, &look, dir);
    }
    let ports = match look.presence {
        Presence::Down => Ports::Try,
        _ => Ports::Leave,
    };
    let facts = boot_facts(context, &look, ports);
    let reads = !args.structure && !wants_plan && look.presence == Presence::Down;
    let reading = if reads {
        Reading::AsBoot
    } else {
        Reading::Structure
    };
    let line = look.run_line(context, "preflight", reading);
    run.with_report(|report| Ok(report.run(&line)?))?;
    let problems = boot_problems(&look, &facts);
    run.with_report(|report| {
        for problem in &problems {
            report.problem(problem)?;
        }
        Ok(())
    })?;
    if wants_plan {
        return fix(&mut run, &look, &facts, &problems);
    }
    let plan = if is_listed(&facts) || !look.log_dirs.is_empty() {
        Some(plan_of_boot(&mut run, &look, reading)?)
    } else {
        None
    };
    let logs = plan.as_ref().map(|plan| log_problems(plan, &problems));
    let logs = logs.unwrap_or_default();
    run.with_report(|report| {
        for problem in &logs {
            report.problem(problem)?;
        }
        Ok(())
    })?;
    let all: Vec<&Problem> = problems.iter().chain(&logs).collect();
    verdict(&mut run, &look, &all, reads)
}

/// Says what a stop costs.
fn stop(run: &mut PlanRun<'_>, look: &Look) -> Result<Exit, CliError> {
    let facts = boot_facts(run.context, look, Ports::Leave);
    let stop = stop_facts(look);
    let line = look.run_line(run.context, "preflight", Reading::Structure);
    run.with_report(|report| Ok(report.run(&line)?))?;
    let problems = check_stop(&facts, &stop);
    end(run, &problems, |counts| match counts {
        [0, 0, 0] => "SAFE TO STOP".to_owned(),
        [0, 0, warnings] => format!("it can be stopped; {warnings} warnings"),
        [fatal, loss, _] => {
            format!("DO NOT STOP: {fatal} problems, {loss} topics would be offline")
        }
    })
}

/// Says what was on a log dir that failed, and what to do.
fn failed(run: &mut PlanRun<'_>, look: &Look, dir: &Path) -> Result<Exit, CliError> {
    let facts = boot_facts(run.context, look, Ports::Leave);
    let named = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let known = facts
        .dirs
        .iter()
        .map(|of| &of.path)
        .find(|path| **path == named || path.as_path() == dir)
        .cloned()
        .unwrap_or(named);
    let problems = check_failed(&facts, &known).map_err(|cause| {
        CliError::usage(format!("--failed: {cause}"))
            .hint("Name a dir as log.dirs has it, and the configuration with --config.")
    })?;
    let line = look.run_line(run.context, "preflight", Reading::Structure);
    run.with_report(|report| Ok(report.run(&line)?))?;
    end(run, &problems, |[_, loss, _]| match loss {
        0 => "every partition of it has another replica in sync".to_owned(),
        loss => format!("{loss} partitions of it have no other replica in sync: save them first"),
    })
}

/// Prints problems and what they amount to: fatal ones, losses, warnings.
fn end(
    run: &mut PlanRun<'_>,
    problems: &[Problem],
    words: impl FnOnce([usize; 3]) -> String,
) -> Result<Exit, CliError> {
    run.with_report(|report| {
        for problem in problems {
            report.problem(problem)?;
        }
        Ok(())
    })?;
    let counts = [Severity::Fatal, Severity::Loss, Severity::Warning].map(|severity| {
        let of_it = problems
            .iter()
            .filter(|problem| problem.finding.severity == severity);
        of_it.count()
    });
    run.note(&words(counts))?;
    let exit = if counts == [0, 0, 0] {
        Exit::Ok
    } else {
        Exit::Findings
    };
    if run.json {
        crate::cli::report::JsonReport::new(run.out).end(&Summary {
            exit,
            ..Summary::of_nothing()
        })?;
    }
    Ok(exit)
}

/// Plans what a boot does to each log.
fn plan_of_boot(
    run: &mut PlanRun<'_>,
    look: &Look,
    reading: Reading,
) -> Result<RecoveryPlan, CliError> {
    let mut spec = look.spec(run.context);
    spec.reading = reading;
    let made = look::make_plan(spec, |line| run.progress_line(line))?;
    Ok(made.plan)
}

/// Returns what a boot meets in the logs themselves, beside what the rules told already.
fn log_problems(plan: &RecoveryPlan, told: &[Problem]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for dir in &plan.log_dirs {
        for log in &dir.partitions {
            let is_told = told.iter().any(|problem| {
                problem.dir.as_deref() == Some(&dir.path)
                    && problem.partition.as_deref() == Some(&log.dir_name)
                    && problem.finding.severity == Severity::Fatal
            });
            let is_stray = told.iter().any(|problem| {
                problem.finding.code == FindingCode::StrayPartition
                    && problem.dir.as_deref() == Some(&dir.path)
                    && problem.partition.as_deref() == Some(&log.dir_name)
            });
            // Nobody is served from what was set aside.
            let is_aside = matches!(DirName::parse(&log.dir_name), DirName::Stray(_));
            for finding in &log.findings {
                if BY_RULES.contains(&finding.code)
                    || is_told && finding.severity == Severity::Fatal
                    || is_stray && finding.code == FindingCode::PartitionMetadata
                    || is_aside && finding.severity < Severity::Fatal
                {
                    continue;
                }
                let at_boot = match finding.severity {
                    Severity::Routine | Severity::Warning | Severity::Loss => AtBoot::Nothing,
                    Severity::Fatal => AtBoot::Exits,
                };
                let mut problem = Problem::new(finding.code, at_boot, "")
                    .dir(&dir.path)
                    .partition(&log.dir_name);
                problem.finding = finding.clone();
                problem.rule = "log";
                problems.push(problem);
            }
        }
    }
    problems.sort_by_key(|problem| std::cmp::Reverse(problem.finding.severity));
    problems
}

/// Plans the fixes, and carries them out if that was asked for.
fn fix(
    run: &mut PlanRun<'_>,
    look: &Look,
    facts: &BootFacts,
    problems: &[Problem],
) -> Result<Exit, CliError> {
    let inputs = FixInputs {
        version_source: look.version.source.clone(),
        quarantine: run.context.quarantine(&look.log_dirs)?,
    };
    let plan = plan_fixes(facts, problems, inputs);
    let kept = run.store(MadePlan::of(plan))?;
    let left = problems
        .iter()
        .filter(|problem| problem.finding.severity > Severity::Routine && problem.fixes.is_empty())
        .count();
    run.leaves = left;
    let exit = run.show(look, &kept)?;
    if left > 0 {
        run.note(&format!(
            "{left} problems are not mended by a plan: see \"next\" of each above"
        ))?;
    }
    Ok(exit)
}

/// Says whether the broker can be started.
fn verdict(
    run: &mut PlanRun<'_>,
    look: &Look,
    problems: &[&Problem],
    reads: bool,
) -> Result<Exit, CliError> {
    let count = |severity: Severity| {
        let of_it = problems
            .iter()
            .filter(|problem| problem.finding.severity == severity);
        of_it.count()
    };
    let [fatal, loss, warnings] = [Severity::Fatal, Severity::Loss, Severity::Warning].map(count);
    let exit = if fatal + loss + warnings == 0 {
        Exit::Ok
    } else {
        Exit::Findings
    };
    let unread = match (reads, look.presence == Presence::Down) {
        (true, _) => "",
        (false, true) => "; batches were not read: what a boot cuts is not known",
        (false, false) => "; batches are not read beside a broker",
    };
    let text = match (fatal, loss) {
        (0, 0) if warnings == 0 => format!("SAFE TO START: nothing beyond routine{unread}"),
        (0, 0) => format!("it will start; {warnings} warnings{unread}"),
        (0, _) => format!("DO NOT START: a boot loses data ({loss} findings){unread}"),
        _ => format!(
            "DO NOT START: {fatal} problems stop the boot or destroy data, {loss} more lose data{unread}"
        ),
    };
    run.note(&text)?;
    if problems.iter().any(|problem| !problem.fixes.is_empty()) {
        run.note("some of it can be mended: krescue preflight --fix shows the plan")?;
    }
    let summary = Summary {
        exit,
        ..Summary::of_nothing()
    };
    if run.json {
        crate::cli::report::JsonReport::new(run.out).end(&summary)?;
    }
    Ok(exit)
}
