//! `mirror failover`: where every group goes on once the source is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use super::report::MirrorReport;
use super::set;
use super::sources::Known;
use crate::app::lines::quote;
use crate::app::text::{self, UNKNOWN};
use crate::cli::args::{FailoverArgs, MirrorSources};
use crate::cli::report::{
    Align, Columns, FlowLine, MirrorFindingLine, MirrorLine, MirroredPartitionLine, PositionLine,
};
use crate::cli::{CliError, Context, Exit};
use crate::mirror::{
    FailoverPosition, Flow, FlowStatus, failover_positions, flow_status, version_of,
};

/// Runs `mirror failover`.
pub(super) fn failover(
    context: &Context,
    (args, sources, json): (&FailoverArgs, &MirrorSources, bool),
    known: &Known,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let flow = known.flow(&args.flow)?;
    let mut positions = failover_positions(&known.facts, flow);
    if !args.group.is_empty() {
        positions.retain(|it| args.group.contains(&it.group));
    }
    if args.answers.stored().is_some() || args.restore {
        let what = (args, sources, json);
        let done = set::set(context, what, (known, flow), &positions, out)?;
        return Ok(done.unwrap_or(Exit::Ok));
    }
    let status = flow_status(&known.facts, flow);
    let mut report = MirrorReport::begin(context, ("mirror failover", json), &known.facts, out)?;
    if report.is_json() {
        let target = known.facts.clusters.get(&flow.name.target);
        let (_, source) = version_of(target, known.version);
        let line = FlowLine::new(flow, &status, source);
        report.line(&MirrorLine::Flow(Box::new(line)))?;
        for lag in &status.partitions {
            let line = MirroredPartitionLine::new(flow.name.to_string(), lag);
            report.line(&MirrorLine::MirroredPartition(Box::new(line)))?;
        }
        for position in &positions {
            let line = PositionLine::new(flow.name.to_string(), position);
            report.line(&MirrorLine::Position(Box::new(line)))?;
        }
    } else {
        losses(&mut report, flow, &status)?;
        table(&mut report, &positions)?;
    }
    if let Some(dir) = &args.csv {
        write_csv(dir, &positions)?;
        if !report.is_json() {
            commands(&mut report, dir, &positions)?;
        }
    }
    for position in positions.iter().filter(|it| it.position.is_none()) {
        report.finding(MirrorFindingLine {
            code: "no_position",
            severity: "warning",
            flow: Some(flow.name.to_string()),
            place: Some(format!("{} {}-{}", position.group, position.topic, position.partition)),
            text: "neither a commit on the target, nor a checkpoint, nor a sync tells where it goes on".to_owned(),
            next: Some(match position.committed_at {
                Some(at) => format!(
                    "search by time: kafka-consumer-groups.sh --group {} --topic {}:{} --reset-offsets --to-datetime {} (less what clocks may differ)",
                    position.group,
                    position.remote_topic,
                    position.partition,
                    at.rfc3339().trim_end_matches('Z')
                ),
                None => "start it at the earliest offset".to_owned(),
            }),
        })?;
    }
    report.facts_findings(&known.facts)?;
    if args.set || args.answers.apply {
        let what = (args, sources, json);
        let done = set::set(context, what, (known, flow), &positions, report.out)?;
        if let Some(exit) = done {
            return Ok(exit);
        }
    }
    report.end()
}

/// Tells what was not copied, in records and in time.
fn losses(report: &mut MirrorReport<'_>, flow: &Flow, status: &FlowStatus) -> Result<(), CliError> {
    let (behind, unknown) = status.behind();
    let source = flow.name.source.as_str();
    writeln!(report.out)?;
    if status.partitions.len() == unknown {
        writeln!(
            report.out,
            "{} · how much of {source} was not copied cannot be told without its log dirs",
            flow.name
        )?;
    } else {
        let rest = if unknown == 0 {
            String::new()
        } else {
            format!(" · {unknown} partitions do not tell")
        };
        writeln!(
            report.out,
            "{} · {} of {source} not copied{rest}",
            flow.name,
            text::plural(behind, "record", "records")
        )?;
    }
    let newest = status
        .partitions
        .iter()
        .filter_map(|it| it.newest_copied)
        .max();
    writeln!(
        report.out,
        "newest copied record {} · last sync {} · last checkpoint {} · heartbeat {}",
        report.age(newest),
        report.age(status.last_sync),
        report.age(status.last_checkpoint),
        report.age(status.heartbeat)
    )?;
    let mut columns = Columns::new(&[
        ("NOT COPIED", Align::Left),
        ("RECORDS", Align::Right),
        ("NEWEST COPIED", Align::Right),
        ("NEWEST WRITTEN", Align::Right),
    ]);
    for lag in &status.partitions {
        if lag.behind == Some(0) {
            continue;
        }
        columns.row(vec![
            format!("{}-{}", lag.topic, lag.partition),
            lag.behind.map_or_else(|| UNKNOWN.to_owned(), text::count),
            report.age(lag.newest_copied),
            report.age(lag.newest_written),
        ]);
    }
    columns.write(report.out)?;
    Ok(())
}

fn table(report: &mut MirrorReport<'_>, positions: &[FailoverPosition]) -> Result<(), CliError> {
    writeln!(report.out)?;
    if positions.is_empty() {
        writeln!(
            report.out,
            "no group has a commit or a checkpoint in this flow"
        )?;
    }
    let mut columns = Columns::new(&[
        ("GROUP", Align::Left),
        ("ON TARGET", Align::Left),
        ("COMMIT", Align::Right),
        ("POSITION", Align::Right),
        ("READ AGAIN", Align::Right),
        ("TOLD BY", Align::Left),
        ("NOTE", Align::Left),
    ]);
    for it in positions {
        let number = text::offset;
        let again = match it.read_again {
            Some(0) => "0".to_owned(),
            Some(again) => format!("≤ {}", text::count(again)),
            None => UNKNOWN.to_owned(),
        };
        let notes: Vec<String> = it.notes.iter().map(ToString::to_string).collect();
        columns.row(vec![
            it.group.clone(),
            format!("{}-{}", it.remote_topic, it.partition),
            it.upstream.map_or_else(|| UNKNOWN.to_owned(), number),
            it.position.map_or_else(|| "none".to_owned(), number),
            again,
            it.source
                .map_or_else(String::new, |source| source.to_string()),
            notes.join("; "),
        ]);
    }
    Ok(columns.write(report.out)?)
}

/// Returns the lines `topic,partition,offset` of each group that can be set.
fn csv(positions: &[FailoverPosition]) -> BTreeMap<&str, String> {
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for it in positions.iter().filter(|it| it.can_be_set()) {
        if let Some(position) = it.position {
            let file = files.entry(&it.group).or_default();
            // A String takes whatever is written to it.
            let _ = writeln!(file, "{},{},{position}", it.remote_topic, it.partition);
        }
    }
    files
}

fn write_csv(dir: &Path, positions: &[FailoverPosition]) -> Result<(), CliError> {
    let failed = |path: &Path, error: &std::io::Error| {
        CliError::failed(format!("cannot write {}", path.display())).because(error)
    };
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
    let files = csv(positions);
    let names = file_names(files.keys().copied());
    for (group, lines) in &files {
        let path = dir.join(names.get(group).map_or("_.csv", String::as_str));
        std::fs::write(&path, lines).map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

/// Returns a file's name for each group, each another.
fn file_names<'a>(groups: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, String> {
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for group in groups {
        let plain = file_name(group);
        let stem = plain.trim_end_matches(".csv");
        let numbered = (2..).map(|number| format!("{stem}~{number}.csv"));
        let mut free = std::iter::once(plain.clone()).chain(numbered);
        if let Some(name) = free.find(|name| taken.insert(name.clone())) {
            names.insert(group, name);
        }
    }
    names
}

/// Returns the name of a group's file: what no file name may hold becomes `_`.
fn file_name(group: &str) -> String {
    let name: String = group
        .chars()
        .map(|it| {
            if it == '/' || it.is_control() {
                '_'
            } else {
                it
            }
        })
        .collect();
    let name = name.trim_start_matches('.');
    format!("{}.csv", if name.is_empty() { "_" } else { name })
}

fn commands(
    report: &mut MirrorReport<'_>,
    dir: &Path,
    positions: &[FailoverPosition],
) -> Result<(), CliError> {
    writeln!(report.out)?;
    writeln!(
        report.out,
        "with MirrorMaker 2 stopped and no consumer running, on the target:"
    )?;
    let files = csv(positions);
    for (group, name) in file_names(files.keys().copied()) {
        let file = dir.join(name);
        writeln!(
            report.out,
            "  kafka-consumer-groups.sh --bootstrap-server HOST:PORT --group {} --reset-offsets --from-file {} --execute",
            quote(group),
            quote(&file.display().to_string())
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_like_names_have_files_of_their_own() {
        let names = file_names(["a/b", "a_b", "a_b~2", "..", ".hidden"].into_iter());
        let names: Vec<&str> = names.values().map(String::as_str).collect();
        assert_eq!(
            names,
            ["_.csv", "hidden.csv", "a_b.csv", "a_b~2.csv", "a_b~2~2.csv"]
        );
    }
}
