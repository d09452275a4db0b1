//! `segments`: what retention does with each segment, why, and what would change that. Changes nothing.

use std::collections::BTreeSet;
use std::io::Write;

use crate::app::retention_words;
use crate::cli::args::SegmentsArgs;
use crate::cli::look::{self, BesideBroker, Look};
use crate::cli::report::{
    JsonReport, Line, Report, Summary, TextReport, log_line, segment_lines, setting_lines,
    write_segments, write_topics,
};
use crate::cli::target::{HostLogs, read_living_logs};
use crate::cli::{CliError, Context, Exit, LivingLogs, clock};
use crate::engine::Reading;
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::retention::{LogRetention, WhatIf, WhatIfScope};
use crate::terms::TopicPartition;

/// Runs `segments`.
pub(in crate::cli) fn segments(
    context: &Context,
    args: &SegmentsArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let look = Look::open(context, BesideBroker::StructureOnly)?;
    let selection = super::scan::select(&args.partition);
    let (living, silence) = match LivingLogs::ask(context, &look) {
        Some(Ok(living)) => (Some(living), None),
        Some(Err(error)) => (None, Some(error.in_one_line())),
        None => (None, None),
    };
    let mut read = read_living_logs(context, &look, (selection, living.as_ref()), &|| true)?;
    if let Some(why) = silence {
        read.findings.push((None, not_asked(&why)));
        read.sources.silence = Some(why);
    }
    check_selection(args, &read)?;
    let wish = args.what_if.unwrap_or_default();
    for log in &mut read.host.logs {
        log.set_limits(wish);
    }
    let judged = read.host.judge(WhatIf::default(), &WhatIfScope::Host);
    let mut run = look.run_line(context, "segments", Reading::Structure);
    run.topic_settings.clone_from(&read.settings_source);
    run.now = read.host.now.rfc3339();
    let exit = exit(&look, &read);
    if args.json {
        let mut report = JsonReport::new(out);
        report.run(&run)?;
        findings(&look, &read, &mut report)?;
        if !args.partition.is_empty() {
            let logs = read.host.logs.iter();
            let topics: BTreeSet<&str> = logs
                .map(|log| log.facts.topic_partition.topic.as_str())
                .collect();
            for topic in topics {
                for line in setting_lines(&read.settings, topic) {
                    report.line(&Line::Setting(line))?;
                }
            }
        }
        for (log, judged) in read.host.logs.iter().zip(&judged) {
            report.line(&Line::Retention(Box::new(log_line(
                log,
                judged,
                &read.sources,
            ))))?;
            for line in segment_lines(&read.host, log, judged) {
                report.line(&Line::Judged(line))?;
            }
        }
        report.end(&Summary {
            exit,
            ..Summary::of_nothing()
        })?;
    } else {
        let mut report = TextReport::new(out);
        report.run(&run)?;
        if !wish.is_empty() {
            report.note(&format!("judged as if {wish}"))?;
        }
        findings(&look, &read, &mut report)?;
        write_text(args, &read, &judged, out)?;
    }
    Ok(exit)
}

fn write_text(
    args: &SegmentsArgs,
    read: &HostLogs,
    judged: &[LogRetention],
    out: &mut dyn Write,
) -> Result<(), CliError> {
    if args.partition.is_empty() {
        write_topics(out, &read.host.topics(judged))?;
        return Ok(());
    }
    for (log, judged) in read.host.logs.iter().zip(judged) {
        write_segments(out, (&read.host, &read.settings), log, judged)?;
        let sources = retention_words::sources(log, &read.sources, clock::now());
        writeln!(out, "{sources}")?;
    }
    Ok(())
}

/// Says that the brokers were to be asked, and that files count instead.
fn not_asked(why: &str) -> Finding {
    let text = format!("the brokers were not asked, files count instead: {why}");
    Finding::new(FindingCode::ClusterNotAsked, Severity::Warning, text).next(
        "High watermarks, log starts and settings are as old as the files that say them; name a broker that is up.",
    )
}

/// Prints what was seen.
fn findings(look: &Look, read: &HostLogs, report: &mut dyn Report) -> Result<(), CliError> {
    let broken = look.findings().into_iter().filter(|(dir, _)| dir.is_some());
    for (dir, finding) in broken.chain(read.findings.iter().cloned()) {
        report.finding(dir.as_deref(), None, &finding)?;
    }
    for log in &read.host.logs {
        let dir = log.facts.log_dir.join(&log.facts.dir_name);
        for finding in &log.facts.findings {
            report.finding(Some(&dir), None, finding)?;
        }
    }
    Ok(())
}

fn exit(look: &Look, read: &HostLogs) -> Exit {
    let of_logs = read.host.logs.iter().flat_map(|log| &log.facts.findings);
    let of_host = read.findings.iter().map(|(_, finding)| finding);
    if look.broken.is_empty() && !look::beyond_routine(of_host.chain(of_logs)) {
        Exit::Ok
    } else {
        Exit::Findings
    }
}

fn check_selection(args: &SegmentsArgs, read: &HostLogs) -> Result<(), CliError> {
    let is_there = |partition: &TopicPartition| {
        let mut logs = read.host.logs.iter();
        logs.any(|log| log.facts.topic_partition == *partition)
    };
    look::check_named(&args.partition, is_there)
        .map_err(|error| error.hint("krescue segments lists the topics there are."))
}
