//! `status`: the situation in one look, from names, sizes, checkpoints and locks; of batches only the headers at the end of
//! each log are read, and only while no broker runs.

use std::io::Write;

use super::asks::OpenAsks;
use super::boot::{BootSeen, boot, status_boot};
use super::ends::{ends, vote};
use super::merge::merge;
use super::prometheus::write_prometheus;
use crate::cli::boot_facts::{Ports, boot_facts, boot_problems};

use crate::app::boot_words;
use crate::app::live_words;
use crate::app::situation::do_not_start;
use crate::app::text::{bytes, plural};
use crate::cli::args::StatusArgs;
use crate::cli::facts::metadata_lines;
use crate::cli::look::{self, BesideBroker, Look};
use crate::cli::report::{
    JsonReport, Line, MetadataLine, PreflightCounts, StatusLine, StatusLogDir, log_bytes,
    state_name, time,
};
use crate::cli::target::{Presence, find_candidates, only_candidate};
use crate::cli::{CliError, Context, Exit};
use crate::engine::{JobState, LiveStore, Reading, list_jobs};
use crate::log::{Finding, Severity};
use crate::plan::preflight::{AtBoot, BootFacts, Problem, crash_cost};
use crate::plan::{Ask, LogDirPlan, RecoveryPlan, StopState};
use crate::terms::Timestamp;

/// How many problems are named in the line.
const WORST: usize = 5;

/// Runs `status`.
pub(in crate::cli) fn status(
    context: &Context,
    args: &StatusArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    if let Some(from) = &args.merge {
        return merge(from, args.json, out);
    }
    let candidate = only_candidate(find_candidates(context)?)?;
    let look = Look::whatever_is_there(context, candidate, BesideBroker::StructureOnly)?;
    let mut spec = look.spec(context);
    spec.reading = Reading::Structure;
    let plan = look::make_plan(spec, |_| Ok(()))?.plan;
    let ports = match look.presence {
        Presence::Down => Ports::Look,
        _ => Ports::Leave,
    };
    let facts = boot_facts(context, &look, ports);
    let problems = boot_problems(&look, &facts);
    let mut status = status_line(context, &look, &plan, (&facts, &problems));
    let seen = boot(&look, &plan);
    status.booting = seen.is_booting();
    if let BootSeen::Boots(seen) = &seen {
        let zone = jiff::tz::TimeZone::system();
        status.situation = format!("booting: {}", boot_words::sentence(seen, &zone));
        status.boot = Some(status_boot(seen));
    }
    // Headers of every log are read only for who compares them.
    if args.json {
        (status.ends, status.vote) = (ends(&look, &facts), vote(&look, &facts));
    }
    let batches = if status.ends.is_none() {
        "batches: only names, sizes and small files are read"
    } else {
        "batches: names, sizes, small files and each log's last headers are read"
    };
    status.not_seen.insert(0, batches.to_owned());
    if let Some(path) = &args.prometheus {
        write_prometheus(path, &status, &look.log_dirs, context.now.0 / 1000)?;
    }
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

fn status_line(
    context: &Context,
    look: &Look,
    plan: &RecoveryPlan,
    (facts, problems): (&BootFacts, &[Problem]),
) -> StatusLine {
    let found = findings(look, plan);
    let told = problems.iter().map(|problem| &problem.finding);
    let beyond = look::beyond_routine(found.iter().map(|(_, finding)| finding).chain(told));
    let runs = matches!(look.presence, Presence::Running { .. });
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
    let state_dir = context.settings.state_dir.as_ref();
    let jobs = state_dir
        .and_then(|dir| list_jobs(&dir.value).ok())
        .unwrap_or_default();
    let asks = OpenAsks::of(context, look, plan);
    let mut open: Vec<(&str, &Ask)> = asks
        .iter()
        .flat_map(|asks| &asks.open)
        .map(|(log, ask)| (log.as_str(), ask))
        .collect();
    let danger = do_not_start(&mut open).filter(|_| !runs);
    let exit = if beyond || danger.is_some() {
        Exit::Findings
    } else {
        Exit::Ok
    };
    StatusLine {
        run: look.run_line(context, "status", Reading::Structure),
        situation: situation(look, plan, danger.as_deref(), &found, problems),
        logs: plan.partitions().count() as u64,
        segments: plan.partitions().map(|log| log.segments.len() as u64).sum(),
        bytes: plan.partitions().map(log_bytes).sum(),
        scan_bytes: plan.partitions().map(|log| log.scan_bytes).sum(),
        findings: found.len() as u64,
        preflight: counts(problems),
        crash_cost_bytes: Some(crash_cost(facts, runs)),
        undecided_asks: asks.as_ref().and_then(OpenAsks::count),
        booting: None,
        boot: None,
        not_seen: not_seen(context, look, facts),
        dirs: plan.log_dirs.iter().map(dir_line).chain(broken).collect(),
        metadata: metadata_line(look),
        in_force: in_force(context),
        ends: None,
        vote: None,
        killed_job: jobs
            .last()
            .filter(|job| job.state == JobState::Killed)
            .zip(state_dir)
            .map(|(job, dir)| {
                let how = crate::cli::command::jobs::how_to_go_on(context, &dir.value, &job.spec);
                format!("job {}: {how}", job.id)
            }),
        running_jobs: jobs
            .into_iter()
            .filter(|job| job.state == JobState::Running)
            .map(|job| job.id.to_string())
            .collect(),
        exit: exit.code(),
    }
}

/// Returns what the disk says of the cluster; `None` where it says nothing.
fn metadata_line(look: &Look) -> Option<MetadataLine> {
    let node = look.topics.node.as_ref();
    if node.is_none() && !look.topics.is_zookeeper {
        return None;
    }
    let vote = node.and_then(|node| node.quorum.as_ref()?.as_ref().ok());
    let voters = node.and_then(|node| node.voters.as_ref());
    let bootstrap = node.and_then(|node| node.bootstrap.as_ref());
    let as_of = node.and_then(|node| node.as_of);
    Some(MetadataLine {
        mode: if node.is_some() { "kraft" } else { "zookeeper" },
        next_offset: as_of.map(|(offset, _)| offset.0),
        timestamp: as_of.and_then(|(_, at)| time(at)),
        features: as_of.and(node).map(|node| node.features.clone()),
        leader_id: vote.map(|vote| vote.leader_id).filter(|id| *id >= 0),
        leader_epoch: vote.map(|vote| vote.leader_epoch.0),
        voters: voters.map(|(ids, _)| ids.clone()),
        voters_source: voters.map(|(_, source)| source.words()),
        bootstrap_file: bootstrap.map(|of| of.file.clone()),
        bootstrap_features: bootstrap.and_then(|of| of.features.clone().ok()),
        text: metadata_lines(look),
    })
}

/// Returns the changes of living clusters that wait for their old values, by the state dir of this host.
fn in_force(context: &Context) -> Vec<String> {
    let Some(dir) = &context.settings.state_dir else {
        return Vec::new();
    };
    let kept = LiveStore::new(&dir.value).in_force();
    let now = crate::cli::clock::now();
    kept.iter()
        .map(|kept| live_words::reminder(&kept.plan, Timestamp(kept.since), now))
        .collect()
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
fn situation(
    look: &Look,
    plan: &RecoveryPlan,
    danger: Option<&str>,
    found: &[(String, Finding)],
    problems: &[Problem],
) -> String {
    match (&look.presence, danger) {
        (Presence::Running { how, .. }, _) => return format!("running: {how}"),
        (_, Some(danger)) => return format!("{danger}; decide: krescue recover"),
        (Presence::Unknown { why }, None) => return format!("running or not: ? ({why})"),
        (Presence::Down, None) => {}
    }
    let first = problems
        .iter()
        .find(|problem| problem.finding.severity >= Severity::Loss);
    if let Some(problem) = first {
        return format!("down, a boot {}: {}", verb(problem), problem_text(problem));
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

/// Returns what the boot does, as the verb of a sentence.
fn verb(problem: &Problem) -> &'static str {
    match problem.at_boot {
        AtBoot::EmptiesSegments => "destroys data",
        AtBoot::MarksStray => "sets logs aside",
        AtBoot::DirOffline | AtBoot::ServesSome | AtBoot::CleanerDies => "comes up without all",
        _ => "will fail",
    }
}

/// Returns a problem with its place.
fn problem_text(problem: &Problem) -> String {
    let mut place = problem.dir.clone().unwrap_or_default();
    place.extend(problem.partition.as_deref());
    place.extend(problem.finding.file.as_deref().filter(|file| *file != "."));
    let text = &problem.finding.text;
    match (place.as_os_str().is_empty(), problem.line) {
        (true, _) => text.clone(),
        (false, None) => format!("{}: {text}", place.display()),
        (false, Some(line)) => format!("{} line {line}: {text}", place.display()),
    }
}

fn counts(problems: &[Problem]) -> PreflightCounts {
    let of = |severity: Severity| {
        let of_it = problems
            .iter()
            .filter(|problem| problem.finding.severity == severity);
        of_it.count() as u64
    };
    PreflightCounts {
        fatal: of(Severity::Fatal),
        loss: of(Severity::Loss),
        warning: of(Severity::Warning),
        routine: of(Severity::Routine),
        worst: problems
            .iter()
            .filter(|problem| problem.finding.severity > Severity::Routine)
            .take(WORST)
            .map(problem_text)
            .collect(),
    }
}

/// Returns what this look could not see.
fn not_seen(context: &Context, look: &Look, facts: &BootFacts) -> Vec<String> {
    let mut not_seen = Vec::new();
    if !nix::unistd::geteuid().is_root() {
        not_seen.push("other users' processes, and files that this user may not read".to_owned());
    }
    if let Presence::Unknown { why } = &look.presence {
        not_seen.push(format!("whether a broker runs: {why}"));
    }
    if facts.image.is_none() {
        not_seen.push("who else has the partitions: the metadata log was not read".to_owned());
    }
    if context.settings.state_dir.is_none() {
        not_seen.push("jobs and plans: there is no state dir".to_owned());
    }
    for dir in &facts.dirs {
        let unreadable = dir.partitions.iter().filter(|log| log.unreadable.is_some());
        let count = unreadable.count();
        if count > 0 {
            not_seen.push(format!("{count} partition dirs of {}", dir.path.display()));
        }
    }
    not_seen
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
    for (number, line) in status.metadata.iter().flat_map(|of| &of.text).enumerate() {
        let label = if number == 0 { "metadata: " } else { "  " };
        writeln!(out, "{label}{line}")?;
    }
    let counts = &status.preflight;
    if counts.fatal + counts.loss + counts.warning > 0 {
        writeln!(
            out,
            "preflight: {} fatal, {} loss, {} warnings; krescue preflight names each",
            counts.fatal, counts.loss, counts.warning
        )?;
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
    for change in &status.in_force {
        writeln!(out, "{change}")?;
    }
    for job in &status.running_jobs {
        writeln!(out, "job {job} runs")?;
    }
    Ok(())
}
