//! `delete-records`: what lies below an offset or a time goes, on the living cluster.

use std::io::Write;
use std::time::Duration;

use crate::cli::args::DeleteRecordsArgs;
use crate::cli::freed::FreedWatch;
use crate::cli::freed_report::FreedReport;
use crate::cli::live::Live;
use crate::cli::live_act::run_and_keep;
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
    let (exit, carried) = run_and_keep(context, (&live, &wish), (&args.answers, args.json), out)?;
    let (Some(seconds), Some(carried), Exit::Ok) = (args.wait_freed, carried, exit) else {
        return Ok(exit);
    };
    let made = (carried.at, carried.before.as_slice());
    let watch = live.run(FreedWatch::begin(&live.client, &carried.plan, made))?;
    let Some(watch) = watch else {
        return Ok(exit);
    };
    let told = FreedReport {
        context,
        live: &live,
        watch: &watch,
        json: args.json,
    };
    told.tell(Some(Duration::from_secs(seconds)), out)?;
    Ok(exit)
}
