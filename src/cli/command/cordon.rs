//! `cordon`: a log dir of a running broker takes no new replica any more, or does again.

use std::io::Write;

use crate::cli::args::CordonArgs;
use crate::cli::live::Live;
use crate::cli::live_act::run_wish;
use crate::cli::{CliError, Context, Exit};
use crate::plan::LiveWish;

/// Runs `cordon`.
pub(in crate::cli) fn cordon(
    context: &Context,
    args: &CordonArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let live = Live::new(context)?;
    let wish = LiveWish::Cordon {
        broker: live.broker(args.broker)?,
        dir: args.dir.clone(),
        on: !args.lift,
    };
    run_wish(context, (&live, &wish), (&args.answers, args.json), out)
}
