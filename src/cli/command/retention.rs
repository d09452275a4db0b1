//! `retention`: a topic's settings on the living cluster, changed, shown, put back; what that has freed.

use std::io::Write;
use std::time::Duration;

use crate::app::live_words::{freed_line, next_pass_in, reminder};
use crate::cli::args::RetentionArgs;
use crate::cli::freed::{BrokerFreed, freed_so_far, is_all_freed, why_the_rest_stays};
use crate::cli::live::Live;
use crate::cli::live_act::run_wish;
use crate::cli::live_facts::{check_interval, key_change, topic_values};
use crate::cli::live_plan::kept_of;
use crate::cli::report::{ConfigLine, FreedLine, JsonReport, Line};
use crate::cli::{CliError, Context, Exit, clock};
use crate::engine::InForce;
use crate::plan::LiveWish;
use crate::terms::Timestamp;

/// What is shown where nothing is to be changed.
const SHOWN: [&str; 7] = [
    "retention.ms",
    "retention.bytes",
    "cleanup.policy",
    "segment.ms",
    "segment.bytes",
    "file.delete.delay.ms",
    "min.insync.replicas",
];
/// How long from one look to the next while waiting.
const PAUSE: Duration = Duration::from_secs(1);
/// What a pass and the deletion after it take beyond their times, in ms.
const GRACE_MS: u64 = 5_000;

/// Runs `retention`.
pub(in crate::cli) fn retention(
    context: &Context,
    args: &RetentionArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let live = Live::new(context)?;
    let changes = !(args.set.is_empty() && args.reset.is_empty());
    if changes || args.restore || args.answers.stored().is_some() {
        let topic = args.topic.clone();
        let wish = if args.restore {
            LiveWish::Restore { topic }
        } else {
            LiveWish::Configs {
                topic,
                set: args.set.clone(),
                reset: args.reset.clone(),
            }
        };
        let exit = run_wish(context, (&live, &wish), (&args.answers, args.json), out)?;
        if args.wait_freed.is_none() || exit != Exit::Ok {
            return Ok(exit);
        }
    } else {
        show(&live, args, out)?;
    }
    let kept = kept_of(context, &args.topic);
    for kept in kept.iter().filter(|_| !args.json) {
        let text = reminder(&kept.plan, Timestamp(kept.since), clock::now());
        writeln!(out, "{text}")?;
    }
    let Some(last) = kept.last() else {
        return Ok(Exit::Ok);
    };
    // Who is asked must be known first.
    live.run(live.client.metadata(Some(&[])))?;
    let is_over = if let Some(seconds) = args.wait_freed {
        wait(&live, (args, last), Duration::from_secs(seconds), out)?
    } else {
        let freed = live.run(freed_so_far(&live.client, last));
        tell(args, last, &freed, out)?;
        !freed.is_empty()
    };
    if is_over && !args.json {
        for line in why_the_rest_stays(context, &args.topic)? {
            writeln!(out, "stays      {line}")?;
        }
    }
    Ok(Exit::Findings)
}

fn show(live: &Live, args: &RetentionArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let values = live.run(topic_values(&live.client, &args.topic))?;
    for key in SHOWN {
        let change = key_change(&values, key, None);
        let Some((value, origin)) = change.in_force else {
            continue;
        };
        if args.json {
            let config = ConfigLine {
                topic: args.topic.clone(),
                key: key.to_owned(),
                value,
                source: origin,
            };
            JsonReport::new(out).line(&Line::Config(config))?;
        } else {
            writeln!(out, "{key:<22} {value:<16} {origin}")?;
        }
    }
    Ok(())
}

/// Waits until every broker has freed what was promised, or its pass must be over; says whether it is.
fn wait(
    live: &Live,
    (args, kept): (&RetentionArgs, &InForce),
    limit: Duration,
    out: &mut dyn Write,
) -> Result<bool, CliError> {
    const DELAY: &str = "file.delete.delay.ms";
    let every = live.run(check_interval(&live.client));
    let values = live.run(topic_values(&live.client, &args.topic))?;
    let delay = values
        .get(DELAY)
        .and_then(|entry| entry.value.as_ref()?.parse().ok());
    // By then each broker has looked at its logs, and the files are unlinked.
    let due = every.zip(delay).map(|(every, delay): (u64, u64)| {
        let ms = every.saturating_add(delay).saturating_add(GRACE_MS);
        kept.since.saturating_add_unsigned(ms)
    });
    let begin = std::time::Instant::now();
    let mut told: Option<Vec<BrokerFreed>> = None;
    loop {
        let freed = live.run(freed_so_far(&live.client, kept));
        if told.as_ref() != Some(&freed) {
            tell(args, kept, &freed, out)?;
            if !args.json {
                writeln!(
                    out,
                    "{}",
                    next_pass_in(Timestamp(kept.since), every, clock::now())
                )?;
            }
            out.flush()?;
        }
        let passed = due.is_some_and(|due| clock::now().0 >= due);
        if passed || freed.is_empty() || is_all_freed(&kept.plan, &freed) {
            return Ok(true);
        }
        told = Some(freed);
        if begin.elapsed() + PAUSE >= limit {
            return Ok(false);
        }
        live.run(async { tokio::time::sleep(PAUSE).await });
    }
}

fn tell(
    args: &RetentionArgs,
    kept: &InForce,
    freed: &[BrokerFreed],
    out: &mut dyn Write,
) -> Result<(), CliError> {
    for broker in freed {
        if args.json {
            let line = FreedLine {
                topic: args.topic.clone(),
                broker: broker.broker,
                before_bytes: broker.before,
                bytes: broker.now,
                freed_bytes: broker.freed(),
                promised_bytes: kept.plan.loss.bytes,
                freed_records: broker.records,
            };
            JsonReport::new(out).line(&Line::Freed(line))?;
        } else {
            let sizes = (broker.before, broker.now);
            let text = freed_line(broker.broker, sizes, kept.plan.loss.bytes, broker.records);
            writeln!(out, "{text}")?;
        }
    }
    Ok(())
}
