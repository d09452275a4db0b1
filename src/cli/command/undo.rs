//! `undo`: takes back what the apply of a plan did.

use std::io::Write;

use super::plan_run::PlanRun;
use super::preconditions::{check_allowed, check_down};
use crate::cli::args::UndoArgs;
use crate::cli::{CliError, Context, Exit};
use crate::engine::{PlanStore, plan_undo};

/// Runs `undo`.
pub(in crate::cli) fn undo(
    context: &Context,
    args: &UndoArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let answers = &args.answers;
    if answers.apply {
        check_allowed(context, "undo", answers, false)?;
    }
    let undone = &args.plan.0;
    let mut run = PlanRun {
        context,
        answers,
        json: args.json,
        command: "undo",
        words: format!("undo {}", undone.get(..8).unwrap_or(undone)),
        leaves: 0,
        out,
    };
    let state_dir = &context.state_dir()?.value;
    if let Some(hash) = answers.stored() {
        let stored = PlanStore::new(state_dir).find(&hash.0)?;
        let takes_back = |of: &String| of.starts_with(&undone.to_ascii_lowercase());
        if !stored.plan.undoes.as_ref().is_some_and(takes_back) {
            let text = format!("{} is not the plan that takes {undone} back", hash.0);
            return Err(CliError::usage(text).hint(format!(
                "krescue undo {undone} shows that plan and its hash."
            )));
        }
        return run.apply_stored(&stored);
    }
    let made = plan_undo(state_dir, undone, context.now)?;
    let look = run.look_for(&made.plan)?;
    check_down(&look)?;
    let kept = run.store(made)?;
    run.begin(&look, kept.plan())?;
    run.show(&look, &kept)
}
