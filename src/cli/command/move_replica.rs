//! `move`: a replica goes to another log dir of its broker, which copies it while it serves; or krescue does, while it is down.

use std::io::Write;

use super::relocate::relocate;
use crate::cli::args::MoveArgs;
use crate::cli::live::Live;
use crate::cli::live_act::run_wish;
use crate::cli::look::{BesideBroker, Look};
use crate::cli::target::{Presence, find_candidates, only_candidate};
use crate::cli::{CliError, Context, Exit};
use crate::plan::LiveWish;

/// Runs `move`.
pub(in crate::cli) fn move_replica(
    context: &Context,
    args: &MoveArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let presence = match look(context, args)? {
        Some(look) if look.presence == Presence::Down => {
            return relocate(context, args, look, out);
        }
        look => look.map(|look| look.presence),
    };
    let live = Live::new(context).map_err(|error| not_asked(error, args, presence.as_ref()))?;
    let wish = LiveWish::Move {
        partition: args.partition.clone(),
        broker: live.broker(args.broker)?,
        to: args.to.clone(),
    };
    run_wish(context, (&live, &wish), (&args.answers, args.json), out)
}

/// Looks at this host's broker, if it is the one that is meant and there is one.
fn look(context: &Context, args: &MoveArgs) -> Result<Option<Look>, CliError> {
    if args.cancel || args.broker.is_some() {
        return Ok(None);
    }
    let Ok(candidate) = find_candidates(context).and_then(only_candidate) else {
        return Ok(None);
    };
    match Look::of(context, candidate, BesideBroker::StructureOnly) {
        Ok(look) => Ok(Some(look)),
        Err(_) if context.bootstrap.is_some() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Says how a living broker that nobody can ask is told to move.
fn not_asked(error: CliError, args: &MoveArgs, presence: Option<&Presence>) -> CliError {
    let how = match presence {
        Some(Presence::Running { how, .. }) => how,
        Some(Presence::Unknown { why }) => why,
        _ => return error,
    };
    let to = args.to.as_deref().unwrap_or_default();
    CliError::refused(format!("a living broker: {how}"))
        .hint(format!(
            "It moves the replica itself: krescue --bootstrap HOST:PORT move {} --to {to}",
            args.partition
        ))
        .hint("Or stop it first, and whatever would start it again.")
}
