//! Waits until a broker's replicas are in sync.

use std::io::Write;
use std::time::{Duration, Instant};

use super::run::{Looker, Seen, tell};
use crate::app::replica_words::{in_sync_in, lag_records};
use crate::app::text::{count, duration, plural};
use crate::cli::args::ReplicasArgs;
use crate::cli::live::Live;
use crate::cli::report::{CatchUpLine, JsonReport, Line};
use crate::cli::{CliError, Context, Exit};
use crate::observe::cluster::{InSyncIn, ReplicaRow};

/// How long from one look to the next.
const PAUSE: Duration = Duration::from_secs(1);
/// How long from one line to the next, for people.
const LINE: Duration = Duration::from_secs(10);
/// The same for programs.
const JSON_LINE: Duration = Duration::from_secs(2);

/// Looks each second until every replica of the broker is in sync, or the time is over.
pub(super) fn wait_in_sync(
    context: &Context,
    live: &Live,
    args: &ReplicasArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let limit = Duration::from_secs(args.wait_in_sync.unwrap_or(0));
    let broker = args.broker.or(live.node_id).ok_or_else(|| {
        CliError::usage("whose replicas? no broker was found on this host")
            .hint("Name the broker with --broker ID, or its configuration with --config FILE.")
    })?;
    let begin = Instant::now();
    let mut looker = Looker::new(live, args, Some(broker));
    let mut last: Option<Instant> = None;
    live.run(async {
        loop {
            let seen = looker.look().await;
            let over = begin.elapsed() + PAUSE >= limit;
            let error = match seen {
                Ok(seen) => {
                    let waiting = seen.rows.iter().any(|row| !row.is_in_sync());
                    if !waiting || over {
                        return tell(context, live, args, &seen, out);
                    }
                    let pause = if args.json { JSON_LINE } else { LINE };
                    if last.is_none_or(|last| last.elapsed() >= pause) {
                        last = Some(Instant::now());
                        write_progress(&seen, args.json, out)?;
                    }
                    None
                }
                Err(error) => Some(error),
            };
            if let Some(error) = error.filter(|error| over || !may_pass(error)) {
                return Err(CliError::from(error));
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// Says whether an error may pass by itself: a broker that boots answers later.
fn may_pass(error: &crate::client::ClientError) -> bool {
    error.is_retriable() || matches!(error, crate::client::ClientError::NoBroker { .. })
}

fn write_progress(seen: &Seen, json: bool, out: &mut dyn Write) -> Result<(), CliError> {
    let line = progress(&seen.rows);
    if json {
        JsonReport::new(out).line(&Line::CatchUp(line))?;
    } else {
        writeln!(out, "{}", line.text)?;
    }
    Ok(out.flush()?)
}

fn progress(rows: &[ReplicaRow]) -> CatchUpLine {
    let behind: Vec<_> = rows.iter().filter(|row| !row.is_in_sync()).collect();
    let total = rows.len() as u64;
    let in_sync = total - behind.len() as u64;
    let lag: Option<u64> = behind.iter().map(|row| row.lag_records).sum();
    let times = behind.iter().map(|row| match row.in_sync_in {
        InSyncIn::Now => Some(0),
        InSyncIn::Seconds(seconds) => Some(seconds),
        InSyncIn::Never | InSyncIn::Unknown => None,
    });
    let last = times
        .collect::<Option<Vec<_>>>()
        .and_then(|times| times.into_iter().max());
    let mut text = format!(
        "{in_sync} of {} in sync",
        plural(total, "replica", "replicas")
    );
    if let Some(lag) = lag {
        text = format!("{text}, {} records behind", count(lag));
    }
    if let Some(most) = behind.iter().max_by_key(|row| row.lag_records) {
        text = format!(
            "{text}; most {}: {} records, {}",
            most.partition,
            lag_records(most),
            in_sync_in(most)
        );
    }
    if let Some(last) = last {
        text = format!("{text}; the last in ~{}", duration(last));
    }
    CatchUpLine {
        replicas_total: total,
        replicas_in_sync: in_sync,
        lag_records: lag,
        in_sync_in_s: last,
        text,
    }
}
