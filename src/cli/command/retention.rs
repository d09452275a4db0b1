//! `retention`: a topic's settings on the living cluster, changed, shown, put back; what that has freed.

use std::io::Write;
use std::time::Duration;

use crate::app::live_words::{freed_line, next_pass_in, reminder};
use crate::cli::args::RetentionArgs;
use crate::cli::freed::FreedWatch;
use crate::cli::live::Live;
use crate::cli::live_act::run_wish;
use crate::cli::live_facts::{key_change, topic_values};
use crate::cli::live_plan::kept_of;
use crate::cli::report::{ConfigLine, FreedLine, JsonReport, Line};
use crate::cli::{BesideBroker, CliError, Context, Exit, Look, clock};
use crate::plan::{BrokerFreed, FreedSoFar, LiveWish};
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
    if kept.is_empty() {
        return Ok(Exit::Ok);
    }
    // The newest of them by which segments go.
    let mut watch = None;
    for last in kept.iter().rev() {
        let made = (Timestamp(last.since), last.before.as_slice());
        watch = live.run(FreedWatch::begin(&live.client, &last.plan, made))?;
        if watch.is_some() {
            break;
        }
    }
    let Some(watch) = watch else {
        if !args.json {
            writeln!(out, "no segment goes by what is in force")?;
        }
        return Ok(Exit::Findings);
    };
    let is_over = if let Some(seconds) = args.wait_freed {
        wait(&live, (args, &watch), Duration::from_secs(seconds), out)?
    } else {
        let freed = live.run(watch.look(&live.client));
        tell(args, &freed, out)?;
        !freed.brokers.is_empty()
    };
    if is_over && !args.json {
        let look = Look::open(context, BesideBroker::StructureOnly).ok();
        for line in watch.why_the_rest_stays(context, look.as_ref())? {
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
    (args, watch): (&RetentionArgs, &FreedWatch),
    limit: Duration,
    out: &mut dyn Write,
) -> Result<bool, CliError> {
    let begin = std::time::Instant::now();
    let mut told: Option<Vec<BrokerFreed>> = None;
    loop {
        let freed = live.run(watch.look(&live.client));
        if told.as_ref() != Some(&freed.brokers) {
            tell(args, &freed, out)?;
            if !args.json {
                let text = next_pass_in(freed.since, freed.every_ms, clock::now());
                writeln!(out, "{text}")?;
            }
            out.flush()?;
        }
        if freed.is_over() {
            return Ok(true);
        }
        told = Some(freed.brokers);
        if begin.elapsed() + PAUSE >= limit {
            return Ok(false);
        }
        live.run(async { tokio::time::sleep(PAUSE).await });
    }
}

fn tell(args: &RetentionArgs, freed: &FreedSoFar, out: &mut dyn Write) -> Result<(), CliError> {
    for broker in &freed.brokers {
        if args.json {
            let line = FreedLine {
                topic: args.topic.clone(),
                broker: broker.broker,
                before_bytes: broker.before,
                bytes: broker.now,
                freed_bytes: broker.freed(),
                promised_bytes: freed.promised,
                freed_records: broker.records,
            };
            JsonReport::new(out).line(&Line::Freed(line))?;
        } else {
            let text = freed_line(broker, freed.promised);
            writeln!(out, "freed      {text}")?;
        }
    }
    Ok(())
}
