//! `truncate`: Kafka's truncation of one log, done while its broker is down.

use std::io::Write;

use super::plan_run::PlanRun;
use super::preconditions::{check_allowed, check_down, check_target};
use super::stored_flags::{check_hand_over, check_quarantine};
use crate::cli::args::{HandOverArg, TruncateArgs};
use crate::cli::look::{self, BesideBroker, Look};
use crate::cli::{CliError, Context, Exit};
use crate::engine::{PlanSpec, PlanStore, Reading, StoredPlan, TruncationSpec};
use crate::format::file_name::{CLEAN_SHUTDOWN_MARKER, DirName};
use crate::log::FindingCode;
use crate::plan::{HandOver, RecoveryPlan, Verdict};
use crate::terms::TopicPartition;

/// Runs `truncate`.
pub(in crate::cli) fn truncate(
    context: &Context,
    args: &TruncateArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let (partition, target) = (&args.partition, args.target.target());
    if DirName::parse(&partition.to_string()).is_cluster_metadata() {
        return Err(CliError::refused("the metadata log is never changed")
            .hint("A controller that lost its log fetches it from the others."));
    }
    let answers = &args.answers;
    if answers.apply {
        check_allowed(context, "truncate", answers, false)?;
    }
    let mut run = PlanRun {
        context,
        answers,
        json: args.json,
        command: "truncate",
        words: format!("truncate {partition} {}", args.target.words()),
        leaves: 0,
        out,
    };
    if let Some(hash) = answers.stored() {
        let stored = PlanStore::new(&context.state_dir()?.value).find(&hash.0)?;
        check_stored(&stored, args)?;
        check_hand_over(args.hand_over, &stored)?;
        check_quarantine(context, &stored)?;
        return run.apply_stored(&stored);
    }
    let mut look = Look::open(context, BesideBroker::StructureOnly)?;
    if answers.apply {
        check_target(&look)?;
    } else {
        check_down(&look)?;
    }
    look.ask_cluster(context);
    let mut spec = spec(context, args, &look)?;
    let mut truncation = TruncationSpec::default();
    truncation.targets.insert(partition.clone(), target);
    spec.truncation = Some(truncation);
    let line = look.run_line(context, "truncate", spec.reading);
    run.with_report(|report| Ok(report.run(&line)?))?;
    let made = look::make_plan(spec, |line| run.progress_line(line))?;
    look::check_selection(std::slice::from_ref(partition), &made.plan)?;
    if let Some(cause) = refusal(&made.plan) {
        return Err(CliError::refused(format!("{partition}: {cause}")).hint("Nothing was changed."));
    }
    if let Some(text) = no_effect(&made.plan) {
        run.note(&text)?;
    }
    let kept = run.store(made)?;
    run.show(&look, &kept)
}

/// Returns what the plan is asked for.
fn spec(context: &Context, args: &TruncateArgs, look: &Look) -> Result<PlanSpec, CliError> {
    let is_clean = is_clean(look, &args.partition);
    let mut spec = look.spec(context);
    spec.reading = Reading::AsBoot;
    spec.hand_over = match args.hand_over {
        None | Some(HandOverArg::Clean) if is_clean => HandOver::Clean,
        None | Some(HandOverArg::Verify) => HandOver::Verify,
        Some(HandOverArg::None) => HandOver::None,
        Some(HandOverArg::Clean) => {
            let text = "--hand-over clean in a log dir that was not stopped cleanly";
            return Err(CliError::usage(text)
                .hint("A boot must read its other logs: recover --hand-over clean first."));
        }
    };
    spec.quarantine = context.quarantine(&look.log_dirs)?;
    Ok(spec)
}

/// Says whether the log dir that holds `partition` was stopped cleanly.
fn is_clean(look: &Look, partition: &TopicPartition) -> bool {
    let name = partition.to_string();
    let mut holders = look.log_dirs.iter().filter(|dir| dir.join(&name).is_dir());
    holders.any(|dir| dir.join(CLEAN_SHUTDOWN_MARKER).exists())
}

/// Checks that a stored plan is the truncation that was named beside its hash.
fn check_stored(stored: &StoredPlan, args: &TruncateArgs) -> Result<(), CliError> {
    let named = stored.plan.partitions().any(|log| {
        log.topic_partition.as_ref() == Some(&args.partition)
            && matches!(&log.verdict, Verdict::Truncate(cut) if cut.asked == args.target.target())
    });
    if named && stored.plan.undoes.is_none() {
        return Ok(());
    }
    let short = stored.hash.get(..8).unwrap_or(&stored.hash);
    let words = format!("truncate {} {}", args.partition, args.target.words());
    Err(
        CliError::usage(format!("{short} is not the plan of {words}")).hint(format!(
            "krescue {words} shows that plan and its hash, if there is something to truncate."
        )),
    )
}

/// Returns why the log that was named stays as it is, if it does.
pub(super) fn refusal(plan: &RecoveryPlan) -> Option<String> {
    plan.partitions().find_map(|log| match &log.verdict {
        Verdict::Refused { cause } | Verdict::Unreadable { cause } => Some(cause.clone()),
        _ => None,
    })
}

/// Returns what is told of a target that the log does not reach.
fn no_effect(plan: &RecoveryPlan) -> Option<String> {
    let mut findings = plan.partitions().flat_map(|log| &log.findings);
    let found = findings.find(|finding| finding.code == FindingCode::NoEffect);
    found.map(|finding| finding.text.clone())
}
