//! `volumes --bootstrap`: the log dirs of every broker of a cluster, as the brokers tell them (`DescribeLogDirs`).

use std::io::Write;

use crate::app::text::{UNKNOWN, bytes};
use crate::cli::args::VolumesArgs;
use crate::cli::live::Live;
use crate::cli::report::{BrokerVolumeLine, JsonReport, Line, Summary};
use crate::cli::{CliError, Context, Exit};
use crate::client::{ClientError, LogDirReport};

/// Asks every broker and prints its log dirs, the fullest first.
pub(super) fn cluster_volumes(
    context: &Context,
    args: &VolumesArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let live = Live::new(context)?;
    let client = &live.client;
    let told = live.run(async {
        client.metadata(Some(&[])).await?;
        let mut told = Vec::new();
        for broker in client.brokers() {
            told.push((broker, client.log_dirs(broker).await));
        }
        Ok::<_, ClientError>(told)
    })?;
    let mut lines = Vec::new();
    let mut silent = Vec::new();
    for (broker, dirs) in told {
        match dirs {
            Ok(dirs) => lines.extend(dirs.iter().map(|dir| line(broker, dir))),
            Err(error) => silent.push((broker, error.in_one_line())),
        }
    }
    lines.sort_by_key(|line| std::cmp::Reverse((line.state == "offline", line.used_percent)));
    let full = |line: &BrokerVolumeLine| {
        line.used_percent
            .is_some_and(|used| used >= u64::from(args.full_at))
    };
    let beyond = lines
        .iter()
        .any(|line| full(line) || line.state == "offline");
    let exit = if beyond || !silent.is_empty() {
        Exit::Findings
    } else {
        Exit::Ok
    };
    if args.json {
        let mut json = JsonReport::new(out);
        for line in lines {
            json.line(&Line::BrokerVolume(line))?;
        }
        json.end(&Summary {
            exit,
            ..Summary::of_nothing()
        })?;
        return Ok(exit);
    }
    write_text(&lines, &silent, out)?;
    Ok(exit)
}

fn line(broker: i32, dir: &LogDirReport) -> BrokerVolumeLine {
    let used = dir.total.zip(dir.usable).filter(|(total, _)| *total > 0);
    let current = || dir.replicas.iter().filter(|replica| !replica.is_future);
    BrokerVolumeLine {
        broker,
        dir: dir.path.display().to_string(),
        state: if dir.error.is_some() {
            "offline"
        } else {
            "online"
        },
        total: dir.total,
        free: dir.usable,
        used_percent: used.map(|(total, free)| {
            let used = u128::from(total.saturating_sub(free)) * 100 / u128::from(total);
            u64::try_from(used).unwrap_or(100)
        }),
        kafka: dir
            .error
            .is_none()
            .then(|| current().map(|replica| replica.bytes).sum()),
        replicas: current().count() as u64,
        moving_here: dir.replicas.len() as u64 - current().count() as u64,
    }
}

fn write_text(
    lines: &[BrokerVolumeLine],
    silent: &[(i32, String)],
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let dir = lines.iter().map(|line| line.dir.chars().count()).max();
    let dir = dir.unwrap_or(0).max(3);
    writeln!(
        out,
        "BROKER  {:<dir$}  STATE    {:>9}  {:>9}  {:>4}  {:>9}  REPLICAS",
        "DIR", "SIZE", "FREE", "USED", "KAFKA"
    )?;
    let size = |of: Option<u64>| of.map_or_else(|| UNKNOWN.to_owned(), bytes);
    for line in lines {
        let used = line
            .used_percent
            .map_or_else(|| UNKNOWN.to_owned(), |used| format!("{used}%"));
        let moving = match line.moving_here {
            0 => String::new(),
            moving => format!(", {moving} coming"),
        };
        writeln!(
            out,
            "{:<6}  {:<dir$}  {:<7}  {:>9}  {:>9}  {used:>4}  {:>9}  {}{moving}",
            line.broker,
            line.dir,
            line.state,
            size(line.total),
            size(line.free),
            size(line.kafka),
            line.replicas,
        )?;
    }
    for (broker, cause) in silent {
        writeln!(out, "broker {broker} does not answer: {cause}")?;
    }
    writeln!(
        out,
        "as the brokers tell; dirs of one volume tell the same size, and KAFKA counts segments only"
    )?;
    Ok(())
}
