//! The body of a job's process.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

use super::apply::apply;
use super::context::{Emit, JobContext};
use super::job_dir::JobDir;
use super::job_spec::JobId;
use super::plan_store::PlanStore;
use super::progress_file::ProgressFile;
use super::{EngineError, JobEvent, JobOutcome, Phase};
use crate::disk::{DiskAction, DiskError, RealStorage};

/// How often counters are written and the stop file is looked for.
const TICK: Duration = Duration::from_millis(100);

/// Runs a job in this process until it ends; its outcome is on disk when this returns.
///
/// The process leaves its session, so that no hang-up reaches it, and takes SIGTERM, SIGINT and SIGHUP as the wish to
/// stop after the step at hand.
pub fn run_job(state_dir: &Path, id: &JobId) -> Result<JobOutcome, EngineError> {
    let dir = JobDir::open(state_dir, id)?;
    // Fails only if this process leads its group already, which is as good.
    let _ = nix::unistd::setsid();
    dir.write_pid(std::process::id())?;
    let outcome = run_in(state_dir, &dir).unwrap_or_else(|error| JobOutcome::Failed {
        cause: error.sentence(),
    });
    dir.write_outcome(&outcome)?;
    Ok(outcome)
}

fn run_in(state_dir: &Path, dir: &JobDir) -> Result<JobOutcome, EngineError> {
    let spec = dir.spec()?;
    let stored = PlanStore::new(state_dir).find(&spec.plan)?;
    let log_dirs: Vec<_> = stored
        .plan
        .log_dirs
        .iter()
        .map(|dir| dir.path.clone())
        .collect();
    let context = Arc::new(JobContext::new(&log_dirs, events_to(dir)?));
    let progress = ProgressFile::create(&dir.file("progress"), &context.progress())?;
    stop_on_signals(&context);
    let ended = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                if dir.stop_requested() {
                    context.cancel();
                }
                // The counters are for the eye: a full state volume must not end the job.
                let _ = progress.write(&context.progress());
                std::thread::park_timeout(TICK);
            }
        });
        let outcome = apply(&RealStorage, state_dir, &stored, &spec, &context);
        ended.store(true, Ordering::Relaxed);
        outcome
    });
    context.emit(JobEvent::Ended {
        outcome: outcome.clone(),
    });
    context.enter(Phase::Ended);
    let _ = progress.write(&context.progress());
    Ok(outcome)
}

/// Returns a sink that appends each event to the job's events file, a whole line at a time.
fn events_to(dir: &JobDir) -> Result<Emit, DiskError> {
    let path = dir.file("events.jsonl");
    let mut file = File::options()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&path)
        .map_err(DiskError::of(DiskAction::Create, &path))?;
    Ok(Box::new(move |event| {
        if let Ok(mut line) = serde_json::to_vec(&event) {
            line.push(b'\n');
            // As with the counters: what is said matters less than what is done.
            let _ = file.write_all(&line);
        }
    }))
}

/// Turns signals into the wish to stop; must run before other threads start, since they inherit the mask.
fn stop_on_signals(context: &Arc<JobContext>) {
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        signals.add(signal);
    }
    if signals.thread_block().is_err() {
        return;
    }
    let context = Arc::clone(context);
    std::thread::spawn(move || {
        while signals.wait().is_ok() {
            context.cancel();
        }
    });
}
