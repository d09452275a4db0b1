//! `scan`: every log's batches, checksums and indexes; nothing is changed.

use std::io::Write;

use super::ask_warning::ask_warning;
use crate::cli::args::ScanArgs;
use crate::cli::look::{self, BesideBroker, Look};
use crate::cli::report::{
    Detail, JsonReport, Line, Parts, Reached, Report, Summary, TextReport, write_plan,
};
use crate::cli::target::Presence;
use crate::cli::{CliError, Context, Exit};
use crate::engine::Reading;
use crate::plan::RecoveryPlan;

/// Runs `scan`.
pub(in crate::cli) fn scan(
    context: &Context,
    args: &ScanArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let beside = if args.read_batches {
        BesideBroker::ReadBatches
    } else {
        BesideBroker::StructureOnly
    };
    let look = Look::open(context, beside)?;
    let alone = look.presence == Presence::Down;
    let reading = if args.structure || !(alone || args.read_batches) {
        Reading::Structure
    } else {
        Reading::Everything
    };
    let mut spec = look.spec(context);
    spec.reading = reading;
    spec.state_dir = look::overflow_dir(context);
    spec.selection = select(&args.partition);
    let run = look.run_line(context, "scan", reading);
    if args.json {
        let mut report = JsonReport::new(out);
        report.run(&run)?;
        let made = look::make_plan(spec, |line| Ok(report.line(&Line::Progress(line))?))?;
        finish(context, &look, args, &made.plan, &mut report)
    } else {
        let made = look::make_plan(spec, |_| Ok(()))?;
        let mut report = TextReport::new(out);
        report.run(&run)?;
        if let Presence::Running { how, .. } | Presence::Unknown { why: how } = &look.presence {
            report.note(&match reading {
                Reading::Structure if !args.structure => format!(
                    "{how}: only names, sizes and checkpoints were read. --read-batches reads batches beside it, at {}/s.",
                    crate::app::text::bytes(context.settings.live_read_rate.value)
                ),
                _ => how.clone(),
            })?;
        }
        finish(context, &look, args, &made.plan, &mut report)
    }
}

/// Returns the selection that the engine takes.
pub(super) fn select(
    partitions: &[crate::terms::TopicPartition],
) -> Option<std::collections::BTreeSet<crate::terms::TopicPartition>> {
    (!partitions.is_empty()).then(|| partitions.iter().cloned().collect())
}

/// Prints the plan as what was found, and decides the exit.
fn finish(
    context: &Context,
    look: &Look,
    args: &ScanArgs,
    plan: &RecoveryPlan,
    report: &mut dyn Report,
) -> Result<Exit, CliError> {
    look::check_selection(&args.partition, plan)?;
    let host_findings = look.findings();
    for (dir, finding) in &host_findings {
        report.finding(dir.as_deref(), None, finding)?;
    }
    write_plan(report, plan, Parts::All(Detail::Segments), &|_, _| {
        Reached::Planned
    })?;
    let found = look::beyond_routine(
        host_findings
            .iter()
            .map(|(_, finding)| finding)
            .chain(plan.log_dirs.iter().flat_map(|dir| &dir.findings))
            .chain(plan.partitions().flat_map(|log| &log.findings)),
    );
    let exit = if found || plan.partitions().any(|log| log.verdict.is_left()) {
        Exit::Findings
    } else {
        Exit::Ok
    };
    report.plan(plan, None)?;
    let summary = Summary {
        exit,
        ..Summary::of_nothing()
    };
    report.summary(plan, &summary)?;
    if let Some(warning) = ask_warning(plan, context) {
        report.note(&warning)?;
    }
    Ok(exit)
}
