//! `status`: the situation in one look, from names, sizes, checkpoints and locks; no batch is read.

use std::io::Write;

use crate::app::text::{bytes, plural};
use crate::cli::args::StatusArgs;
use crate::cli::look::{self, BesideBroker, Look};
use crate::cli::report::{JsonReport, Line, StatusLine, StatusLogDir, log_bytes, state_name};
use crate::cli::target::Presence;
use crate::cli::{CliError, Context, Exit};
use crate::engine::{JobState, Reading, list_jobs};
use crate::log::{Finding, Severity};
use crate::plan::{LogDirPlan, RecoveryPlan, StopState};

/// Runs `status`.
pub(in crate::cli) fn status(
    context: &Context,
    args: &StatusArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let look = Look::open(context, BesideBroker::StructureOnly)?;
    let mut spec = look.spec(context);
    spec.reading = Reading::Structure;
    let plan = look::make_plan(spec, |_| Ok(()))?.plan;
    let status = status_line(context, &look, &plan);
    let exit = if status.exit == Exit::Ok.code() {
        Exit::Ok
    } else {
        Exit::Findings
    };
    if args.json {
        JsonReport::new(out).line(&Line::Status(Box::new(status)))?;
    } else {
        write_text(&status, &findings(&look, &plan), out)?;
    }
    Ok(exit)
}

/// Returns all findings with the dir that they are about.
fn findings(look: &Look, plan: &RecoveryPlan) -> Vec<(String, Finding)> {
    let host = look.findings().into_iter().map(|(dir, finding)| {
        let dir = dir.map_or_else(|| "this host".to_owned(), |dir| dir.display().to_string());
        (dir, finding)
    });
    let dirs = plan.log_dirs.iter().flat_map(|dir| {
        let own = dir
            .findings
            .iter()
            .map(|finding| (dir.path.display().to_string(), finding.clone()));
        let logs = dir.partitions.iter().flat_map(|log| {
            let place = dir.path.join(&log.dir_name).display().to_string();
            log.findings
                .iter()
                .map(move |finding| (place.clone(), finding.clone()))
        });
        own.chain(logs).collect::<Vec<_>>()
    });
    host.chain(dirs).collect()
}

fn status_line(context: &Context, look: &Look, plan: &RecoveryPlan) -> StatusLine {
    let found = findings(look, plan);
    let beyond = look::beyond_routine(found.iter().map(|(_, finding)| finding));
    let broken = look.broken.iter().map(|error| {
        let (dir, cause) = look::broken_dir(error);
        StatusLogDir {
            dir: dir.map_or_else(String::new, |dir| dir.display().to_string()),
            state: "unreadable",
            logs: None,
            segments: None,
            bytes: None,
            scan_bytes: None,
            cause: Some(cause),
        }
    });
    let jobs = context
        .settings
        .state_dir
        .as_ref()
        .and_then(|dir| list_jobs(&dir.value).ok())
        .unwrap_or_default();
    let exit = if beyond { Exit::Findings } else { Exit::Ok };
    StatusLine {
        run: look.run_line(context, "status", Reading::Structure),
        situation: situation(look, plan, &found),
        logs: plan.partitions().count() as u64,
        segments: plan.partitions().map(|log| log.segments.len() as u64).sum(),
        bytes: plan.partitions().map(log_bytes).sum(),
        scan_bytes: plan.partitions().map(|log| log.scan_bytes).sum(),
        findings: found.len() as u64,
        dirs: plan.log_dirs.iter().map(dir_line).chain(broken).collect(),
        killed_job: jobs
            .last()
            .filter(|job| job.state == JobState::Killed)
            .map(|job| format!("job {}: {}", job.id, super::jobs::how_to_go_on(&job.spec))),
        running_jobs: jobs
            .into_iter()
            .filter(|job| job.state == JobState::Running)
            .map(|job| job.id.to_string())
            .collect(),
        exit: exit.code(),
    }
}

fn dir_line(dir: &LogDirPlan) -> StatusLogDir {
    StatusLogDir {
        dir: dir.path.display().to_string(),
        state: state_name(dir.stop),
        logs: Some(dir.partitions.len() as u64),
        segments: Some(
            dir.partitions
                .iter()
                .map(|log| log.segments.len() as u64)
                .sum(),
        ),
        bytes: Some(dir.partitions.iter().map(log_bytes).sum()),
        scan_bytes: Some(dir.partitions.iter().map(|log| log.scan_bytes).sum()),
        cause: None,
    }
}

/// Returns the situation as one sentence.
fn situation(look: &Look, plan: &RecoveryPlan, found: &[(String, Finding)]) -> String {
    match &look.presence {
        Presence::Running { how, .. } => return format!("running: {how}"),
        Presence::Unknown { why } => return format!("running or not: ? ({why})"),
        Presence::Down => {}
    }
    let fatal = found
        .iter()
        .find(|(_, finding)| finding.severity == Severity::Fatal);
    if let Some((place, finding)) = fatal {
        return format!("down, a boot fails at {place}: {}", finding.text);
    }
    let unclean = plan
        .log_dirs
        .iter()
        .filter(|dir| dir.stop == StopState::Unclean)
        .count() as u64;
    let scan: u64 = plan.partitions().map(|log| log.scan_bytes).sum();
    match unclean {
        0 => format!("down, clean: a boot reads {}", bytes(scan)),
        unclean => format!(
            "down, {} unclean: a boot reads {}; what it would cut, krescue scan says",
            plural(unclean, "log dir", "log dirs"),
            bytes(scan)
        ),
    }
}

fn write_text(
    status: &StatusLine,
    found: &[(String, Finding)],
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let run = &status.run;
    let node = run
        .node_id
        .map_or_else(|| "broker ?".to_owned(), |id| format!("broker {id}"));
    writeln!(
        out,
        "krescue · {node} · {} · Kafka {} ({})",
        run.host, run.kafka_version, run.version_source
    )?;
    writeln!(out, "{}", status.situation)?;
    for dir in &status.dirs {
        match (&dir.cause, dir.logs, dir.bytes) {
            (None, Some(logs), Some(all)) => writeln!(
                out,
                "{}  {} · {}, {} · a boot reads {}",
                dir.dir,
                dir.state,
                plural(logs, "log", "logs"),
                bytes(all),
                dir.scan_bytes.map_or_else(|| "?".to_owned(), bytes)
            )?,
            _ => writeln!(out, "{}  {}", dir.dir, dir.state)?,
        }
    }
    for (place, finding) in found
        .iter()
        .filter(|(_, finding)| finding.severity > Severity::Routine)
    {
        writeln!(out, "{place}: {}", finding.text)?;
        if !finding.next.is_empty() {
            writeln!(out, "  next: {}", finding.next)?;
        }
    }
    if let Some(killed) = &status.killed_job {
        writeln!(out, "{killed}")?;
    }
    for job in &status.running_jobs {
        writeln!(out, "job {job} runs")?;
    }
    Ok(())
}
