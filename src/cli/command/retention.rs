//! `retention`: a topic's settings on the living cluster, changed, shown, put back; what that has freed.

use std::io::Write;
use std::time::Duration;

use crate::app::live_words::reminder;
use crate::cli::args::RetentionArgs;
use crate::cli::freed::FreedWatch;
use crate::cli::freed_report::FreedReport;
use crate::cli::live::Live;
use crate::cli::live_act::run_wish;
use crate::cli::live_facts::{key_change, topic_values};
use crate::cli::live_plan::kept_of;
use crate::cli::report::{ConfigLine, JsonReport, Line};
use crate::cli::{CliError, Context, Exit, clock};
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
    let told = FreedReport {
        context,
        live: &live,
        watch: &watch,
        json: args.json,
    };
    told.tell(args.wait_freed.map(Duration::from_secs), out)?;
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
