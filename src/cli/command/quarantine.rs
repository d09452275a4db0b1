//! `quarantine ls` and `quarantine purge`: what applies keep, and its removal.

use std::io::Write;

use super::preconditions::{allowed_to_act, check_answer};
use crate::app::text::{age, bytes, plural};
use crate::cli::args::{LsArgs, PurgeArgs};
use crate::cli::report::{JsonReport, KeptLine, Line};
use crate::cli::{CliError, Context, Exit, confirm};
use crate::engine::{JobOutcome, KeptPlan, kept_plans, purge_kept};

/// Runs `quarantine ls`.
pub(in crate::cli) fn quarantine_ls(
    context: &Context,
    args: &LsArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let state_dir = &context.state_dir()?.value;
    let plans = kept_plans(state_dir, context.now)?;
    if args.json {
        let mut report = JsonReport::new(out);
        for kept in &plans {
            report.line(&Line::Kept(line(context, kept, false)))?;
        }
        return Ok(Exit::Ok);
    }
    if plans.is_empty() {
        writeln!(out, "nothing is kept by plans of {}", state_dir.display())?;
    }
    for kept in &plans {
        write_text(context, kept, out)?;
    }
    Ok(Exit::Ok)
}

/// Runs `quarantine purge`.
pub(in crate::cli) fn quarantine_purge(
    context: &Context,
    args: &PurgeArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let yes_to_all = context.settings.policy.forbids_yes_to_all();
    allowed_to_act(
        context,
        "quarantine purge",
        yes_to_all.filter(|_| args.yes_to_all),
    )?;
    if !args.yes_to_all {
        check_answer()?;
    }
    let state_dir = &context.state_dir()?.value;
    let mut plans = kept_plans(state_dir, context.now)?;
    if let Some(plan) = &args.plan {
        plans.retain(|kept| kept.plan.starts_with(&plan.0));
        if plans.is_empty() {
            let text = format!("nothing is kept by a plan {}", plan.0);
            return Err(CliError::refused(text).hint("krescue quarantine ls shows what is."));
        }
    }
    if let Some(seconds) = args.older_than {
        let age = |kept: &KeptPlan| context.now.0.saturating_sub(kept.at.0) / 1000;
        plans.retain(|kept| u64::try_from(age(kept)).is_ok_and(|age| age > seconds));
    }
    let all: u64 = plans.iter().map(|kept| kept.bytes).sum();
    if !args.json {
        for kept in &plans {
            write_text(context, kept, out)?;
        }
    }
    if plans.is_empty() {
        if !args.json {
            writeln!(out, "nothing to purge")?;
        }
        return Ok(Exit::Ok);
    }
    if !args.yes_to_all {
        out.flush()?;
        confirm::ask_for(
            &format!(
                "{} of {} can no longer be taken back. Type  {}  to go on: ",
                bytes(all),
                plural(plans.len() as u64, "plan", "plans"),
                bytes(all)
            ),
            &bytes(all),
        )?;
    }
    let who = context.who();
    for kept in &plans {
        let at = crate::cli::clock::now();
        purge_kept(state_dir, kept, (&who, at), &context.settings.policy)?;
        if args.json {
            JsonReport::new(out).line(&Line::Kept(line(context, kept, true)))?;
        }
    }
    if !args.json {
        let plans = plural(plans.len() as u64, "plan", "plans");
        writeln!(out, "{} of {plans} are gone", bytes(all))?;
    }
    Ok(Exit::Ok)
}

fn line(context: &Context, kept: &KeptPlan, purged: bool) -> KeptLine {
    let age_ms = context.now.0.saturating_sub(kept.at.0);
    KeptLine {
        plan: kept.plan.clone(),
        at: kept.at.rfc3339(),
        age_s: u64::try_from(age_ms / 1000).unwrap_or(0),
        who: kept.who.to_string(),
        dir: kept.dir.display().to_string(),
        bytes: kept.bytes,
        files: kept.files,
        partitions: kept.partitions.clone(),
        state: state(kept),
        can_undo: kept.why_not.is_none() && !purged,
        why_not: kept.why_not.clone(),
        purged,
    }
}

fn state(kept: &KeptPlan) -> &'static str {
    match &kept.ended {
        None => "killed",
        Some(JobOutcome::Done) => "done",
        Some(JobOutcome::DoneButLeft { .. }) => "done_but_left",
        Some(JobOutcome::Stopped) => "stopped",
        Some(JobOutcome::Failed { .. }) => "failed",
        Some(JobOutcome::Refused { .. }) => "refused",
    }
}

fn write_text(context: &Context, kept: &KeptPlan, out: &mut dyn Write) -> Result<(), CliError> {
    const SHOWN: usize = 3;
    let mut logs: Vec<&str> = kept.partitions.iter().map(String::as_str).collect();
    let more = logs.len().saturating_sub(SHOWN);
    logs.truncate(SHOWN);
    let mut logs = logs.join(", ");
    if more > 0 {
        logs = format!("{logs} and {more} more");
    }
    let plan = kept.plan.get(..8).unwrap_or(&kept.plan);
    writeln!(
        out,
        "{plan}  {}  {} in {} · {} · {} · {logs}",
        age(kept.at, context.now),
        bytes(kept.bytes),
        plural(kept.files, "file", "files"),
        state(kept),
        kept.who,
    )?;
    match &kept.why_not {
        None => writeln!(out, "  take it back: krescue undo {plan}")?,
        Some(why) => writeln!(out, "  cannot be taken back: {why}")?,
    }
    Ok(())
}
