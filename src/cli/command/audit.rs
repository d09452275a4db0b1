//! `audit`: who did what.

use std::io::Write;

use crate::app::text::{count, plural};
use crate::cli::args::AuditArgs;
use crate::cli::audit_words::audit_sentence;
use crate::cli::report::{JsonReport, Line};
use crate::cli::{CliError, Context, Exit};
use crate::engine::{AuditAct, AuditEntry, AuditStep, AuditText, read_audit};

/// Runs `audit`.
pub(in crate::cli) fn audit(
    context: &Context,
    args: &AuditArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let state_dir = &context.state_dir()?.value;
    let AuditText { entries, damaged } = read_audit(state_dir)?;
    let of_plan = |entry: &&AuditEntry| {
        let Some(wanted) = &args.plan else {
            return true;
        };
        let plans = [&entry.plan, &entry.undoes];
        plans
            .into_iter()
            .flatten()
            .any(|plan| plan.starts_with(&wanted.0))
    };
    let entries = entries.iter().filter(of_plan);
    if args.json {
        let mut report = JsonReport::new(out);
        for entry in entries {
            report.line(&Line::Audit(entry))?;
        }
        return Ok(Exit::Ok);
    }
    let mut any = false;
    for entry in entries {
        any = true;
        writeln!(out, "{}", audit_sentence(entry))?;
        if let AuditAct::Log { steps, .. } = &entry.act {
            for step in steps {
                writeln!(out, "  {}", step_words(step))?;
            }
        }
    }
    if !any {
        writeln!(out, "nothing was done with {}", state_dir.display())?;
    }
    if damaged > 0 {
        let lines = plural(damaged, "line does", "lines do");
        writeln!(
            out,
            "{lines} not decode: a write was cut short, or somebody changed it"
        )?;
    }
    Ok(Exit::Ok)
}

fn step_words(step: &AuditStep) -> String {
    let len = |len: Option<u64>| len.map_or_else(|| "-".to_owned(), count);
    let hash = step
        .cut_sha256
        .as_ref()
        .map_or_else(String::new, |sha256| format!(" · cut sha256 {sha256}"));
    format!(
        "{} {}: {} to {} bytes{hash}",
        step.action,
        step.file,
        len(step.before),
        len(step.after)
    )
}
