//! `mirror promote`: the steps by which the target becomes the cluster that is used.

use std::io::Write;

use super::report::MirrorReport;
use super::sources::Known;
use crate::cli::args::PromoteArgs;
use crate::cli::report::{MirrorLine, PromoteStepLine};
use crate::cli::{CliError, Context, Exit};
use crate::mirror::promote_steps;

/// Runs `mirror promote`.
pub(super) fn promote(
    context: &Context,
    (args, json): (&PromoteArgs, bool),
    known: &Known,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let flow = known.flow(&args.flow)?;
    let mut report = MirrorReport::begin(context, ("mirror promote", json), &known.facts, out)?;
    for (number, step) in (1..).zip(promote_steps(&known.facts, flow, context.now)) {
        if report.is_json() {
            report.line(&MirrorLine::PromoteStep(PromoteStepLine {
                flow: flow.name.to_string(),
                number,
                title: step.title,
                why: step.why,
                facts: step.facts,
                lines: step.lines,
            }))?;
            continue;
        }
        writeln!(report.out)?;
        writeln!(report.out, "{number}. {}: {}", step.title, step.why)?;
        for fact in &step.facts {
            writeln!(report.out, "   · {fact}")?;
        }
        for line in &step.lines {
            writeln!(report.out, "   $ {line}")?;
        }
    }
    report.facts_findings(&known.facts)?;
    report.end()
}
