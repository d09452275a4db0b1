//! `audit`: who did what.

use std::io::Write;

use crate::app::text::{count, plural};
use crate::cli::args::AuditArgs;
use crate::cli::report::{JsonReport, Line};
use crate::cli::{CliError, Context, Exit};
use crate::engine::{AuditAct, AuditEntry, AuditStep, AuditText, JobOutcome, read_audit};

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
        writeln!(out, "{}", sentence(entry))?;
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

/// Returns an entry in one line.
fn sentence(entry: &AuditEntry) -> String {
    let who = &entry.who;
    let from = [
        who.sudo_user.as_ref().map(|user| format!(" (sudo {user})")),
        who.terminal
            .as_ref()
            .map(|terminal| format!(" on {terminal}")),
        who.ssh_connection.as_ref().map(|ends| {
            let client = ends.split(' ').next().unwrap_or(ends);
            format!(" from {client}")
        }),
    ];
    let from: String = from.into_iter().flatten().collect();
    let host = if who.host.is_empty() {
        String::new()
    } else {
        format!("@{}", who.host)
    };
    let short = |hash: &String| hash.get(..8).unwrap_or(hash).to_owned();
    let plan = match (&entry.plan, &entry.undoes) {
        (Some(plan), Some(undone)) => format!(" {} (takes {} back)", short(plan), short(undone)),
        (Some(plan), None) => format!(" {}", short(plan)),
        _ => String::new(),
    };
    format!(
        "{} {}{host}{from}{plan} · {}",
        entry.at,
        who.user,
        act_words(&entry.act)
    )
}

fn act_words(act: &AuditAct) -> String {
    match act {
        AuditAct::Log {
            dir,
            partition,
            steps,
            ..
        } => format!(
            "{}: {}",
            dir.join(partition).display(),
            plural(steps.len() as u64, "step", "steps")
        ),
        AuditAct::HandOver { dir, hand_over } => {
            let word = match hand_over {
                crate::plan::HandOver::None => "none",
                crate::plan::HandOver::Verify => "verify",
                crate::plan::HandOver::Clean => "clean",
            };
            format!("{}: hand-over {word}", dir.display())
        }
        AuditAct::End { outcome } => match outcome {
            JobOutcome::Done => "done".to_owned(),
            JobOutcome::DoneButLeft { left } => {
                let logs = plural(*left, "log stays as it was", "logs stay as they were");
                format!("done, but {logs}")
            }
            JobOutcome::Refused { cause } => format!("refused: {cause}"),
            JobOutcome::Stopped => "stopped on request".to_owned(),
            JobOutcome::Failed { cause } => format!("failed: {cause}"),
        },
        AuditAct::Purge { dir, bytes } => {
            let bytes = crate::app::text::bytes(*bytes);
            format!("purged {bytes} of {}", dir.display())
        }
        AuditAct::Refused { what, cause } => format!("{what} refused: {cause}"),
    }
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
