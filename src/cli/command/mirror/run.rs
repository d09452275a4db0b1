//! From `mirror`'s arguments to an exit code.

use std::io::Write;

use super::sources::{self, FactsObject};
use super::{failover, flows, lint, promote, translate};
use crate::cli::args::{MirrorArgs, MirrorCommand};
use crate::cli::{CliError, Context, Exit};

/// Runs `mirror`.
pub(in crate::cli) fn mirror(
    context: &Context,
    args: &MirrorArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let mut known = sources::read(context, &args.sources)?;
    match &args.command {
        MirrorCommand::Flows(flows) => flows::flows(context, (flows, args.json), &known, out),
        MirrorCommand::Translate(translate) => {
            translate::translate(context, (translate, args.json), &known, out)
        }
        MirrorCommand::Failover(failover) => {
            let sources = &args.sources;
            failover::failover(context, (failover, sources, args.json), &known, out)
        }
        MirrorCommand::Lint => {
            known.look_at_copies(context);
            lint::lint(context, args.json, &known, out)
        }
        MirrorCommand::Promote(promote) => {
            promote::promote(context, (promote, args.json), &known, out)
        }
        MirrorCommand::Facts => {
            serde_json::to_writer(&mut *out, &FactsObject::new(known.facts))
                .map_err(std::io::Error::from)?;
            writeln!(out)?;
            Ok(Exit::Ok)
        }
    }
}
