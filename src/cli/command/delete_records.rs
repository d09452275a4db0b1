//! `delete-records`: what lies below an offset or a time goes, on the living cluster.

use std::io::Write;

use crate::cli::args::DeleteRecordsArgs;
use crate::cli::live::Live;
use crate::cli::live_act::run_wish;
use crate::cli::{CliError, Context, Exit};
use crate::plan::{LiveWish, RecordsTo};
use crate::terms::Offset;

/// Runs `delete-records`.
pub(in crate::cli) fn delete_records(
    context: &Context,
    args: &DeleteRecordsArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let to = match (args.to_offset, args.to_time, args.free) {
        (Some(offset), _, _) => RecordsTo::Offset(Offset(offset)),
        (None, Some(time), _) => RecordsTo::Time(time),
        (None, None, bytes) => RecordsTo::Free(bytes.unwrap_or(0)),
    };
    let wish = LiveWish::DeleteRecords {
        partition: args.partition.clone(),
        to,
    };
    let live = Live::new(context)?;
    run_wish(context, (&live, &wish), (&args.answers, args.json), out)
}
