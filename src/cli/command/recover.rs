//! `recover`: the plan of what a boot would do, and its apply.

use std::io::Write;

use super::plan_run::PlanRun;
use super::preconditions::{check_allowed, check_down, check_target};
use crate::cli::args::{HandOverArg, RecoverArgs};
use crate::cli::look::{self, BesideBroker, Look};
use crate::cli::target::Presence;
use crate::cli::{CliError, Context, Exit};
use crate::engine::{PlanSpec, PlanStore, Reading};
use crate::plan::{OnLoss, PlanAct, RecoveryPlan, Verdict};

/// Runs `recover`.
pub(in crate::cli) fn recover(
    context: &Context,
    args: &RecoverArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    if args.hand_over == Some(HandOverArg::Clean) && !args.partition.is_empty() {
        return Err(CliError::usage("--hand-over clean with --partition")
            .hint("A dir is clean only as a whole: leave one of them out."));
    }
    let answers = &args.answers;
    if answers.apply {
        check_allowed(context, "recover", answers, args.like_kafka)?;
    }
    let mut run = PlanRun {
        context,
        answers,
        json: args.json,
        command: "recover",
        words: if args.distrust_marker {
            "recover --distrust-marker".to_owned()
        } else {
            "recover".to_owned()
        },
        leaves: 0,
        out,
    };
    if let Some(hash) = answers.stored() {
        let stored = PlanStore::new(&context.state_dir()?.value).find(&hash.0)?;
        super::plan_run::check_act(&stored, PlanAct::Recover)?;
        super::stored_flags::check_recover(context, args, &stored)?;
        return run.apply_stored(&stored);
    }
    let mut look = Look::open(context, BesideBroker::StructureOnly)?;
    if answers.apply {
        check_target(&look)?;
    } else if look.presence != Presence::Down {
        check_down(&look)?;
    }
    look.ask_cluster(context);
    let spec = spec(context, args, &look)?;
    let line = look.run_line(context, "recover", spec.reading);
    run.with_report(|report| Ok(report.run(&line)?))?;
    let made = look::make_plan(spec, |line| run.progress_line(line))?;
    look::check_selection(&args.partition, &made.plan)?;
    check_decisions(args, &made.plan)?;
    let kept = run.store(made)?;
    run.show(&look, &kept)
}

/// Refuses a decision on a log that asks nothing: a name that is mistyped must not pass for one.
fn check_decisions(args: &RecoverArgs, plan: &RecoveryPlan) -> Result<(), CliError> {
    for (partition, way) in &args.decide {
        let asks = plan.partitions().any(|log| {
            let is_asked = match log.verdict {
                Verdict::Ask(_) => true,
                Verdict::Refused { .. } => *way == OnLoss::SetAside,
                _ => false,
            };
            is_asked && log.topic_partition.as_ref() == Some(partition)
        });
        if !asks {
            return Err(
                CliError::usage(format!("--decide {partition}: this log asks nothing")).hint(
                    "Look at the plan without --decide: it names each log that does, as ASK.",
                ),
            );
        }
    }
    Ok(())
}

/// Returns what the plan is asked for.
fn spec(context: &Context, args: &RecoverArgs, look: &Look) -> Result<PlanSpec, CliError> {
    let mut spec = look.spec(context);
    spec.reading = Reading::AsBoot;
    spec.hand_over = args.hand_over.unwrap_or_default().into();
    spec.distrusts_marker = args.distrust_marker;
    spec.quarantine = context.quarantine(&look.log_dirs)?;
    spec.selection = super::scan::select(&args.partition);
    if args.like_kafka {
        spec.decisions.others = OnLoss::LikeKafka;
    }
    spec.decisions.by_partition = args.decide.iter().cloned().collect();
    spec.state_dir = look::overflow_dir(context);
    Ok(spec)
}
