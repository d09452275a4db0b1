//! `volumes`: state, usage and growth of each log dir and of the volume that it lies on; one `stat` a file.

use std::io::Write;

use super::cluster_volumes::cluster_volumes;
use crate::app::text::{self, bytes, plural};
use crate::cli::args::VolumesArgs;
use crate::cli::facts::metadata_lines;
use crate::cli::look::{self, BesideBroker, Look};
use crate::cli::report::{JsonReport, Line, Report, Summary, TextReport, VolumeLine};
use crate::cli::{CliError, Context, Exit, volumes_look};
use crate::disk::RealStorage;
use crate::engine::{Reading, survey_all};
use crate::log::{Finding, UsageKind};
use crate::plan::volumes::{Growth, GrowthSource, VolumeReport, VolumeRow};

/// Runs `volumes`.
pub(in crate::cli) fn volumes(
    context: &Context,
    args: &VolumesArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    if context.bootstrap.is_some() {
        return cluster_volumes(context, args, out);
    }
    let mut look = Look::open(context, BesideBroker::StructureOnly)?;
    // Which dirs are cordoned is a dynamic setting.
    look.read_metadata(context)?;
    let report = survey(context, &look, args);
    let run = look.run_line(context, "volumes", Reading::Structure);
    let findings: Vec<(&VolumeRow, Vec<Finding>)> = report
        .rows
        .iter()
        .map(|row| (row, report.findings(row)))
        .collect();
    let beyond = look::beyond_routine(findings.iter().flat_map(|(_, findings)| findings));
    let exit = if beyond { Exit::Findings } else { Exit::Ok };
    if args.json {
        let mut json = JsonReport::new(out);
        json.run(&run)?;
        for (row, found) in &findings {
            json.line(&Line::Volume(Box::new(VolumeLine::of(row))))?;
            for finding in found {
                json.finding(Some(&row.facts.dir), None, finding)?;
            }
        }
        json.end(&Summary {
            exit,
            ..Summary::of_nothing()
        })?;
        return Ok(exit);
    }
    TextReport::new(out).run(&run)?;
    for line in metadata_lines(&look) {
        TextReport::new(out).note(&format!("metadata: {line}"))?;
    }
    for (row, found) in &findings {
        write_row(row, out)?;
        let mut report = TextReport::new(out);
        for finding in found {
            report.finding(None, None, finding)?;
        }
    }
    Ok(exit)
}

/// Looks at everything.
fn survey(context: &Context, look: &Look, args: &VolumesArgs) -> VolumeReport {
    let mut facts = volumes_look::volumes_of(look, args.log.as_deref());
    let dirs = volumes_look::listable(&facts);
    let usages = survey_all(&RealStorage, &dirs, context.now);
    for (dir, usage) in dirs.iter().zip(usages) {
        let Some(of_dir) = facts.iter_mut().find(|facts| facts.dir == *dir) else {
            continue;
        };
        match usage {
            Ok(usage) => of_dir.usage = usage,
            Err(cause) => of_dir
                .problems
                .push(crate::plan::volumes::DirProblem::Missing { cause }),
        }
    }
    let samples = volumes_look::samples(context, &facts, context.now);
    VolumeReport::of(facts, &samples, context.now, u64::from(args.full_at))
}

fn write_row(row: &VolumeRow, out: &mut dyn Write) -> std::io::Result<()> {
    let facts = &row.facts;
    let known = |value: Option<u64>| value.map_or_else(|| text::UNKNOWN.to_owned(), bytes);
    let space = facts.space;
    writeln!(
        out,
        "{}  {} · {} on {} · {} of {} free{}",
        facts.dir.display(),
        row.state.word(),
        facts.fs_type.as_deref().unwrap_or(text::UNKNOWN),
        facts.mount_point.as_ref().map_or_else(
            || text::UNKNOWN.to_owned(),
            |path| path.display().to_string()
        ),
        known(space.map(|space| space.free)),
        known(space.map(|space| space.total)),
        space.map_or_else(String::new, |space| format!(
            " · {} % used",
            space.used_percent()
        )),
    )?;
    writeln!(
        out,
        "  Kafka {} · not Kafka {} · {}{}{}",
        bytes(row.kafka()),
        known(row.foreign),
        plural(facts.usage.logs.len() as u64, "dir", "dirs"),
        row.imbalance.map_or_else(String::new, |percent| format!(
            " · {percent:+} % of the mean"
        )),
        if row.takes_next {
            " · the next new replica lands here"
        } else {
            ""
        },
    )?;
    let kinds: Vec<String> = row
        .kinds
        .kinds()
        .map(|(kind, usage)| format!("{} {}", kind.word(), bytes(usage.allocated)))
        .collect();
    if !kinds.is_empty() {
        let sparse = match row.sparse_indexes() {
            0 => String::new(),
            sparse => format!(" · indexes look {} larger than they are", bytes(sparse)),
        };
        writeln!(out, "  {}{sparse}", kinds.join(" · "))?;
    }
    writeln!(
        out,
        "  rate of 10 min {}, of 24 h {}",
        rate(row.growth[0], row.full_in[0]),
        rate(row.growth[1], row.full_in[1])
    )
}

/// Returns a rate, where it is from, and when the volume is full at it.
fn rate(growth: Option<Growth>, full_in: Option<u64>) -> String {
    let Some(growth) = growth else {
        return "? (no look of that age, and no segment was listed)".to_owned();
    };
    let sign = if growth.bytes_per_s < 0 { "-" } else { "" };
    let source = match growth.source {
        GrowthSource::Samples => "by earlier looks",
        GrowthSource::Segments => "written by segments' times, deletions not counted",
    };
    let full = match full_in {
        Some(0) => ", FULL".to_owned(),
        Some(seconds) => format!(", full in {}", text::duration(seconds)),
        None => String::new(),
    };
    format!(
        "{sign}{} ({source}){full}",
        text::rate(growth.bytes_per_s.unsigned_abs())
    )
}

impl VolumeLine {
    /// Returns the line of a row.
    fn of(row: &VolumeRow) -> Self {
        let facts = &row.facts;
        let space = facts.space;
        let kafka = row.kinds.kafka();
        let rates = row
            .growth
            .map(|growth| growth.map(|growth| growth.bytes_per_s));
        let sources = row.growth.map(|growth| growth.map(|growth| growth.source));
        Self {
            dir: facts.dir.display().to_string(),
            state: row.state,
            since: facts.problems.iter().find_map(|problem| match problem {
                crate::plan::volumes::DirProblem::Offline { since, .. } => {
                    since.map(crate::terms::Timestamp::rfc3339)
                }
                _ => None,
            }),
            cause: facts.problems.iter().find_map(|problem| match problem {
                crate::plan::volumes::DirProblem::Offline { cause, .. } => cause.clone(),
                _ => None,
            }),
            mount: facts
                .mount_point
                .as_ref()
                .map(|path| path.display().to_string()),
            source: facts.source.clone(),
            fs: facts.fs_type.clone(),
            shares_with: row
                .shares_with
                .as_ref()
                .map(|path| path.display().to_string()),
            total: space.map(|space| space.total),
            free: space.map(|space| space.free),
            free_root: space.map(|space| space.free_root),
            used_percent: space.map(|space| space.used_percent()),
            inodes: space.and_then(|space| space.inodes),
            free_inodes: space.and_then(|space| space.free_inodes),
            kafka: facts.usage.is_whole.then_some(kafka.allocated),
            kafka_logical: facts.usage.is_whole.then_some(kafka.len),
            foreign: row.foreign,
            foreign_in_dir: facts
                .usage
                .is_whole
                .then(|| row.kinds.of(UsageKind::Foreign).allocated),
            kinds: row
                .kinds
                .kinds()
                .map(|(kind, usage)| (kind, usage.allocated))
                .collect(),
            leftovers: row.leftovers().allocated,
            sparse_indexes: row.sparse_indexes(),
            holes: row.holes(),
            held: row.held(),
            dirs: facts.usage.logs.len() as u64,
            segments: facts.usage.logs.iter().map(|log| log.segments).sum(),
            imbalance_percent: row.imbalance,
            rate_10m: rates[0],
            rate_24h: rates[1],
            rate_10m_source: sources[0],
            rate_24h_source: sources[1],
            full_in_10m_s: row.full_in[0],
            full_in_24h_s: row.full_in[1],
            takes_next: row.takes_next,
            growable: VolumeReport::growable(row),
        }
    }
}
