//! `mirror flows`: what runs, what it copies, how far it is.

use std::io::Write;

use super::report::MirrorReport;
use super::sources::Known;
use crate::app::text::{self, UNKNOWN};
use crate::cli::args::MirrorFlowsArgs;
use crate::cli::report::{
    Align, Columns, FlowLine, MirrorLine, MirroredPartitionLine, MirroredTopicLine,
};
use crate::cli::{CliError, Context, Exit};
use crate::mirror::{Flow, FlowState, FlowStatus, flow_status, version_of};
use crate::terms::Offset;

/// Runs `mirror flows`.
pub(super) fn flows(
    context: &Context,
    (args, json): (&MirrorFlowsArgs, bool),
    known: &Known,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let mut report = MirrorReport::begin(context, ("mirror flows", json), &known.facts, out)?;
    let all: Vec<(&Flow, FlowStatus)> = known
        .flows
        .iter()
        .map(|flow| (flow, flow_status(&known.facts, flow)))
        .collect();
    if report.is_json() {
        for (flow, status) in &all {
            lines(&mut report, known, flow, status)?;
        }
    } else {
        table(&mut report, &all)?;
        for (flow, status) in &all {
            details(&mut report, known, (flow, status), args.partitions)?;
        }
    }
    report.facts_findings(&known.facts)?;
    report.end()
}

fn lines(
    report: &mut MirrorReport<'_>,
    known: &Known,
    flow: &Flow,
    status: &FlowStatus,
) -> Result<(), CliError> {
    let (_, source) = version_of(known.facts.clusters.get(&flow.name.target), known.version);
    let line = FlowLine::new(flow, status, source);
    report.line(&MirrorLine::Flow(Box::new(line)))?;
    if flow.state != FlowState::Active {
        return Ok(());
    }
    for (topic, verdict) in &status.topics {
        report.line(&MirrorLine::MirroredTopic(MirroredTopicLine {
            flow: flow.name.to_string(),
            topic: topic.clone(),
            remote_topic: flow.remote_topic(topic),
            copied: verdict.is_copied(),
            why: verdict.to_string(),
        }))?;
    }
    for lag in &status.partitions {
        let line = MirroredPartitionLine::new(flow.name.to_string(), lag);
        report.line(&MirrorLine::MirroredPartition(Box::new(line)))?;
    }
    Ok(())
}

fn table(report: &mut MirrorReport<'_>, all: &[(&Flow, FlowStatus)]) -> Result<(), CliError> {
    let mut columns = Columns::new(&[
        ("FLOW", Align::Left),
        ("STATE", Align::Left),
        ("TOPICS", Align::Right),
        ("BEHIND", Align::Right),
        ("LAST SYNC", Align::Right),
        ("CHECKPOINT", Align::Right),
        ("HEARTBEAT", Align::Right),
        ("TASKS", Align::Left),
    ]);
    for (flow, status) in all {
        columns.row(vec![
            flow.name.to_string(),
            flow.state.to_string(),
            status.copied_topics().to_string(),
            behind_words(status),
            report.age(status.last_sync),
            report.age(status.last_checkpoint),
            report.age(status.heartbeat),
            status
                .task_state()
                .map_or_else(|| UNKNOWN.to_owned(), |task| task.state.clone()),
        ]);
    }
    if all.is_empty() {
        writeln!(report.out, "no flow is seen")?;
    }
    Ok(columns.write(report.out)?)
}

/// Returns how many records a flow is behind: `64`, `64 and 3 ?` where three partitions do not tell.
fn behind_words(status: &FlowStatus) -> String {
    let (behind, unknown) = status.behind();
    if status.partitions.len() == unknown {
        return UNKNOWN.to_owned();
    }
    let number = text::count(behind);
    if unknown == 0 {
        return number;
    }
    format!("{number} and {unknown} ?")
}

fn details(
    report: &mut MirrorReport<'_>,
    known: &Known,
    (flow, status): (&Flow, &FlowStatus),
    partitions: bool,
) -> Result<(), CliError> {
    if flow.state != FlowState::Active {
        return Ok(());
    }
    let (_, source) = version_of(known.facts.clusters.get(&flow.name.target), known.version);
    let settings = match &flow.origin {
        crate::mirror::ConfigOrigin::File(file) => file.clone(),
        crate::mirror::ConfigOrigin::Connectors { topic } => {
            format!("{topic} on {}", flow.name.target)
        }
        crate::mirror::ConfigOrigin::Defaults => {
            "not known: the release's defaults are taken".to_owned()
        }
    };
    writeln!(report.out)?;
    writeln!(
        report.out,
        "{} · MirrorMaker 2 {} ({source}) · settings: {settings}",
        flow.name, flow.version
    )?;
    let tasks = flow.number("tasks.max", 1);
    writeln!(
        report.out,
        "  tasks.max {} for {}",
        tasks.map_or_else(|| UNKNOWN.to_owned(), |it| it.to_string()),
        text::plural(status.partitions.len() as u64, "partition", "partitions")
    )?;
    let hops = status.hops.iter().map(|(alias, hops)| {
        let flows = text::plural(u64::from(*hops), "flow", "flows");
        format!("{alias} over {flows}")
    });
    let hops: Vec<String> = hops.collect();
    if !hops.is_empty() {
        let target = &flow.name.target;
        writeln!(
            report.out,
            "  heartbeats reach {target} from {}",
            hops.join(", ")
        )?;
    }
    let left_out = status
        .topics
        .iter()
        .filter(|(_, verdict)| verdict.is_copied() != Some(true));
    for (topic, verdict) in left_out {
        writeln!(report.out, "  not copied: {topic}: {verdict}")?;
    }
    for task in status.tasks.iter().filter(|task| task.state == "FAILED") {
        let number = task
            .task
            .map_or_else(String::new, |task| format!(" task {task}"));
        let cause = task.cause.as_deref().unwrap_or("no cause is told");
        writeln!(report.out, "  FAILED: {}{number}: {cause}", task.connector)?;
    }
    let mut columns = Columns::new(&[
        ("  PARTITION", Align::Left),
        ("ON TARGET", Align::Left),
        ("SOURCE", Align::Right),
        ("TARGET", Align::Right),
        ("COPIED TO", Align::Right),
        ("BEHIND", Align::Right),
        ("HEADROOM", Align::Right),
        ("OVERTAKEN IN", Align::Right),
        ("NEWEST COPIED", Align::Right),
    ]);
    let number = |offset: Option<Offset>| offset.map_or_else(|| UNKNOWN.to_owned(), text::offset);
    let ends = |ends: Option<(Offset, Offset)>| {
        ends.map_or_else(
            || UNKNOWN.to_owned(),
            |(start, end)| format!("{}..{}", text::offset(start), text::offset(end)),
        )
    };
    for lag in &status.partitions {
        // Without --partitions only what asks for attention.
        if !partitions && lag.behind == Some(0) && lag.headroom.is_none_or(|it| it >= 0) {
            continue;
        }
        columns.row(vec![
            format!("  {}-{}", lag.topic, lag.partition),
            lag.remote_topic
                .clone()
                .unwrap_or_else(|| UNKNOWN.to_owned()),
            ends(lag.source),
            ends(lag.target),
            number(lag.copied),
            lag.behind.map_or_else(|| UNKNOWN.to_owned(), text::count),
            lag.headroom
                .map_or_else(|| UNKNOWN.to_owned(), |it| text::offset(Offset(it))),
            lag.retention.first().map_or_else(String::new, |(at, by)| {
                format!("{} ({})", report.until(Some(at)), by.word())
            }),
            report.age(lag.newest_copied),
        ]);
    }
    Ok(columns.write(report.out)?)
}
