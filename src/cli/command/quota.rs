//! `quota`: writers are capped on the living cluster, and let go again.

use std::io::Write;

use crate::cli::args::QuotaArgs;
use crate::cli::live::Live;
use crate::cli::live_act::run_wish;
use crate::cli::{CliError, Context, Exit};
use crate::plan::{Cap, LiveWish};

/// Runs `quota`.
pub(in crate::cli) fn quota(
    context: &Context,
    args: &QuotaArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let wish = LiveWish::Quota {
        client_id: args.client_id.clone(),
        cap: match (args.producer_rate, args.restore) {
            (Some(rate), _) => Cap::Rate(rate),
            (None, true) => Cap::Restore,
            (None, false) => Cap::None,
        },
    };
    let live = Live::new(context)?;
    run_wish(context, (&live, &wish), (&args.answers, args.json), out)
}
