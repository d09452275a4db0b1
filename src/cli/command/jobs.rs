//! `jobs`, `stop` and the hidden `__job`: what runs on its own.

use std::io::Write;
use std::path::Path;

use super::again::named_options;
use crate::app::lines::truncation_option;
use crate::app::text::plural;
use crate::cli::args::{JobArgs, JobsArgs, StopArgs};
use crate::cli::report::{JobLine, JsonReport, Line, ProgressLine, time};
use crate::cli::{CliError, Context, Exit, clock};
use crate::engine::{
    JobId, JobOutcome, JobSpec, JobState, JobSummary, PlanStore, list_jobs, request_stop, run_job,
};
use crate::plan::{PlanAct, RecoveryPlan, Verdict};
use crate::terms::Timestamp;

/// Runs `jobs`.
pub(in crate::cli) fn jobs(
    context: &Context,
    args: &JobsArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let state_dir = context.state_dir()?;
    let jobs = list_jobs(&state_dir.value)?;
    if args.json {
        let mut report = JsonReport::new(out);
        for job in &jobs {
            report.line(&Line::Job(job_line(context, &state_dir.value, job)))?;
            if let Some(progress) = progress_line(job) {
                report.line(&Line::Progress(progress))?;
            }
        }
        return Ok(Exit::Ok);
    }
    if jobs.is_empty() {
        writeln!(out, "no jobs in {}", state_dir.value.display())?;
    }
    for job in &jobs {
        let line = job_line(context, &state_dir.value, job);
        let plan = line.plan.get(..8).unwrap_or(&line.plan).to_owned();
        write!(
            out,
            "{}  {}  plan {plan} · {}",
            line.id, line.state, line.who
        )?;
        if let Some(progress) = job
            .progress
            .as_ref()
            .filter(|_| job.state == JobState::Running)
        {
            let steps = plural(progress.steps_total, "step", "steps");
            write!(out, " · {} of {steps}", progress.steps_done)?;
        }
        writeln!(out)?;
        if let Some(cause) = &line.cause {
            writeln!(out, "  {cause}")?;
        }
    }
    Ok(Exit::Ok)
}

/// Runs `stop`.
pub(in crate::cli) fn stop(
    context: &Context,
    args: &StopArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let state_dir = &context.state_dir()?.value;
    let id: JobId = args
        .id
        .parse()
        .map_err(|error: crate::engine::ParseJobIdError| {
            CliError::usage(error.to_string()).hint("krescue jobs lists them.")
        })?;
    request_stop(state_dir, &id)?;
    let running = list_jobs(state_dir)?
        .into_iter()
        .any(|job| job.id == id && job.state == JobState::Running);
    if running {
        writeln!(
            out,
            "job {id} stops after the step at hand; krescue jobs shows when"
        )?;
    } else {
        writeln!(out, "job {id} does not run")?;
    }
    Ok(Exit::Ok)
}

/// Runs a job in this process; started by [`crate::engine::start_job`].
pub(in crate::cli) fn job(context: &Context, args: &JobArgs) -> Result<Exit, CliError> {
    let id: JobId = args
        .id
        .parse()
        .map_err(|error: crate::engine::ParseJobIdError| CliError::usage(error.to_string()))?;
    let outcome = run_job(&context.state_dir()?.value, &id, &context.settings.policy)?;
    Ok(match outcome {
        JobOutcome::Done => Exit::Ok,
        JobOutcome::DoneButLeft { .. } => Exit::Findings,
        JobOutcome::Refused { .. } => Exit::Refused,
        JobOutcome::Stopped => Exit::Stopped,
        JobOutcome::Failed { .. } => Exit::Failed,
    })
}

/// Returns what can be done about a job whose process is gone.
pub(in crate::cli) fn how_to_go_on(context: &Context, state_dir: &Path, spec: &JobSpec) -> String {
    let short = |hash: &String| hash.get(..8).unwrap_or(hash).to_owned();
    let (plan, named) = (short(&spec.plan), named_options(context));
    if let Some(undone) = &spec.undoes {
        return format!(
            "its process is gone; go on: krescue{named} undo {} --apply --yes {plan}",
            short(undone)
        );
    }
    let stored = PlanStore::new(state_dir).find(&spec.plan).ok();
    let words = stored.map_or_else(|| "recover".to_owned(), |stored| words_of(&stored.plan));
    format!(
        "its process is gone; go on: krescue{named} {words} --apply --yes {plan}; take it back: krescue{named} undo {plan}"
    )
}

/// Returns the command whose plan this is, without its answers.
fn words_of(plan: &RecoveryPlan) -> String {
    let named = plan.partitions().find_map(|log| match &log.verdict {
        Verdict::Truncate(cut) => {
            let partition = log.topic_partition.as_ref()?;
            Some(format!(
                "truncate {partition} {}",
                truncation_option(cut.asked)
            ))
        }
        Verdict::Move(relocation) => Some(format!(
            "move {} --to {}",
            log.dir_name,
            relocation.to.display()
        )),
        _ => None,
    });
    let words = || match plan.act {
        PlanAct::Mend => "preflight --fix",
        PlanAct::CleanUp if plan.beside_broker => "cleanup --leftovers --beside-broker",
        PlanAct::CleanUp => "cleanup --leftovers",
        PlanAct::Recover | PlanAct::Truncate | PlanAct::Move => "recover",
    };
    named.unwrap_or_else(|| words().to_owned())
}

fn job_line(context: &Context, state_dir: &Path, job: &JobSummary) -> JobLine {
    let (state, cause) = match &job.state {
        JobState::Running => ("running", None),
        JobState::Killed => ("killed", Some(how_to_go_on(context, state_dir, &job.spec))),
        JobState::Ended(JobOutcome::Done) => ("done", None),
        JobState::Ended(JobOutcome::DoneButLeft { left }) => (
            "done_but_left",
            Some(plural(
                *left,
                "log stays as it was",
                "logs stay as they were",
            )),
        ),
        JobState::Ended(JobOutcome::Refused { cause }) => ("refused", Some(cause.clone())),
        JobState::Ended(JobOutcome::Stopped) => ("stopped", None),
        JobState::Ended(JobOutcome::Failed { cause }) => ("failed", Some(cause.clone())),
    };
    JobLine {
        id: job.id.to_string(),
        state,
        cause,
        plan: job.spec.plan.clone(),
        started: job.spec.started_at.rfc3339(),
        who: job.spec.who.to_string(),
        confirmed: job.spec.confirmed,
    }
}

/// Returns a job's counters; rate and end time only while it runs and reads.
fn progress_line(job: &JobSummary) -> Option<ProgressLine> {
    let progress = job.progress.as_ref()?;
    let (bytes_done, bytes_total) = progress.bytes();
    let (logs_done, logs_total) = progress.logs();
    let now = clock::now();
    let elapsed = u64::try_from(now.0.saturating_sub(job.spec.started_at.0)).unwrap_or(0);
    let running = job.state == JobState::Running && bytes_done > 0 && elapsed > 0;
    let bytes_per_s = running.then(|| bytes_done.saturating_mul(1000) / elapsed.max(1));
    let end_time = bytes_per_s
        .filter(|rate| *rate > 0 && bytes_done < bytes_total)
        .map(|rate| (bytes_total - bytes_done).saturating_mul(1000) / rate)
        .and_then(|left| i64::try_from(left).ok())
        .and_then(|left| time(Timestamp(now.0.saturating_add(left))));
    Some(ProgressLine {
        job: Some(job.id.to_string()),
        phase: progress.phase,
        bytes_done,
        bytes_total,
        logs_done,
        logs_total,
        steps_done: progress.steps_done,
        steps_total: progress.steps_total,
        bytes_per_s,
        end_time,
    })
}
