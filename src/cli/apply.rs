//! Runs the job that carries out a stored plan, and watches it to its end.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::report::{ProgressLine, ProgressReport, Reached};
use super::signals::StopWish;
use super::{CliError, Exit, clock};
use crate::engine::{
    Confirmed, JobOutcome, JobSpec, JobState, LogState, StoredPlan, Who, start_job,
};
use crate::plan::{LogDirPlan, PartitionPlan};

/// How often the job is looked at while it runs.
const TICK: Duration = Duration::from_millis(50);
/// How often in a row a job's process must be missing until it counts as gone.
const UNSEEN_TICKS: u32 = 20;

/// What came of a job.
#[derive(Debug)]
pub(super) struct Applied {
    /// Its id.
    pub(super) job: String,
    /// How it ended.
    pub(super) exit: Exit,
    /// Why it did not reach the end, if so.
    pub(super) cause: Option<String>,
    /// Whether it may have changed anything.
    pub(super) began: bool,
    /// What it said of each log, by log dir and dir name.
    logs: HashMap<PathBuf, HashMap<String, LogState>>,
}

impl Applied {
    /// Says whether a log reached its planned end.
    pub(super) fn reached(&self, dir: &LogDirPlan, log: &PartitionPlan) -> Reached {
        let said = self
            .logs
            .get(&dir.path)
            .and_then(|logs| logs.get(&log.dir_name));
        let whole = matches!(self.exit, Exit::Ok | Exit::Findings);
        match said {
            Some(LogState::Done) => Reached::End,
            Some(LogState::Left) => Reached::Not,
            _ if whole && log.verdict.reaches_end() => Reached::End,
            _ => Reached::Not,
        }
    }
}

/// What a job is started with, beside its plan.
#[derive(Debug)]
pub(super) struct ApplyRequest<'a> {
    /// The state dir.
    pub(super) state_dir: &'a Path,
    /// Every log dir of the configuration; a lock in any of them refuses the job.
    pub(super) log_dirs: &'a [PathBuf],
    /// Who asks for it.
    pub(super) who: Who,
    /// How the plan was confirmed.
    pub(super) confirmed: Confirmed,
    /// Workers in all.
    pub(super) threads: Option<usize>,
}

/// Starts the job of a stored plan and waits for its end; SIGINT and SIGTERM ask it to stop after its step.
///
/// # Errors
///
/// The job could not be started or its folder could not be read. How the job itself ended is no error.
pub(super) fn apply(
    request: &ApplyRequest<'_>,
    stored: &StoredPlan,
    mut on_line: impl FnMut(ProgressLine) -> Result<(), CliError>,
) -> Result<Applied, CliError> {
    let wish = StopWish::on_signals();
    let spec = JobSpec {
        also_locked: request.log_dirs.to_vec(),
        threads: request.threads,
        ..JobSpec::of(stored, clock::now(), request.who.clone(), request.confirmed)
    };
    let mut handle = start_job(request.state_dir, &spec)?;
    let job = handle.id().to_string();
    let mut progress = ProgressReport::start();
    let mut logs: HashMap<PathBuf, HashMap<String, LogState>> = HashMap::new();
    let mut asked = false;
    let mut began = false;
    let mut unseen = 0;
    let state = loop {
        let tail = handle.brief_tail()?;
        for event in tail.events {
            began |= event.event == "step";
            if let Some(text) = event.text {
                progress.end();
                let _ = writeln!(std::io::stderr().lock(), "krescue: {text}");
            }
            if let (Some(log_dir), Some(name), Some(state)) =
                (event.log_dir, event.dir_name, event.state)
            {
                logs.entry(log_dir).or_default().insert(name, state);
            }
        }
        match tail.state {
            JobState::Running => unseen = 0,
            // A process that has just been started may not be seen yet.
            JobState::Killed if unseen < UNSEEN_TICKS => unseen += 1,
            ended => break ended,
        }
        if wish.is_made() && !asked {
            asked = true;
            handle.request_stop()?;
            progress.end();
            let _ = writeln!(
                std::io::stderr().lock(),
                "krescue: job {job} stops after the step at hand"
            );
        }
        if let Some(counters) = &tail.progress
            && let Some(line) = progress.tick(counters)
        {
            on_line(ProgressLine {
                job: Some(job.clone()),
                ..line
            })?;
        }
        handle.wait(TICK);
    };
    progress.end();
    let (exit, cause) = exit_of(&state, &handle.stderr_path());
    let whole = matches!(exit, Exit::Ok | Exit::Findings);
    Ok(Applied {
        job,
        exit,
        cause,
        // A killed job may have done more than it could tell.
        began: began || whole || state == JobState::Killed,
        logs,
    })
}

/// Returns the exit that a job's end means, and why it is not 0.
fn exit_of(state: &JobState, stderr: &Path) -> (Exit, Option<String>) {
    match state {
        JobState::Ended(JobOutcome::Done) => (Exit::Ok, None),
        JobState::Ended(JobOutcome::DoneButLeft { .. }) => (Exit::Findings, None),
        JobState::Ended(JobOutcome::Refused { cause }) => (Exit::Refused, Some(cause.clone())),
        JobState::Ended(JobOutcome::Stopped) => {
            let cause = "stopped on request; run the same command again to go on";
            (Exit::Stopped, Some(cause.to_owned()))
        }
        JobState::Ended(JobOutcome::Failed { cause }) => (Exit::Failed, Some(cause.clone())),
        JobState::Running | JobState::Killed => {
            let said = std::fs::read_to_string(stderr).unwrap_or_default();
            let said = said.lines().next().unwrap_or("it said nothing");
            let cause = format!(
                "the job's process was killed ({said}); run the same command again to go on"
            );
            (Exit::Failed, Some(cause))
        }
    }
}
