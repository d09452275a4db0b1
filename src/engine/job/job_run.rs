//! The body of a job's process.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

use super::context::{Emit, JobContext};
use super::job_dir::JobDir;
use super::job_spec::JobId;
use super::progress_file::ProgressFile;
use crate::disk::{DiskAction, DiskError, RealStorage};
use crate::engine::apply::run::apply;
use crate::engine::store::plan_store::PlanStore;
use crate::engine::{EngineError, JobEvent, JobOutcome, Phase};
use crate::plan::Policy;

/// How often counters are written and the stop file is looked for.
const TICK: Duration = Duration::from_millis(100);

/// Runs a job in this process until it ends, unless the host's policy forbids it; its outcome is on disk when this returns.
///
/// The process leaves its session, so that no hang-up reaches it, and takes SIGTERM, SIGINT and SIGHUP as the wish to
/// stop after the step at hand.
pub fn run_job(state_dir: &Path, id: &JobId, policy: &Policy) -> Result<JobOutcome, EngineError> {
    let dir = JobDir::open(state_dir, id)?;
    // Fails only if this process leads its group already, which is as good.
    let _ = nix::unistd::setsid();
    dir.write_pid(std::process::id())?;
    let outcome = run_in(state_dir, &dir, policy).unwrap_or_else(|error| JobOutcome::Failed {
        cause: error.sentence(),
    });
    dir.write_outcome(&outcome)?;
    Ok(outcome)
}

fn run_in(state_dir: &Path, dir: &JobDir, policy: &Policy) -> Result<JobOutcome, EngineError> {
    let spec = dir.spec()?;
    let stored = PlanStore::new(state_dir).find(&spec.plan)?;
    let log_dirs: Vec<_> = stored
        .plan
        .log_dirs
        .iter()
        .map(|dir| dir.path.clone())
        .collect();
    let events = EventsFile::create(dir)?;
    let context = Arc::new(JobContext::new(&log_dirs, events.emit()));
    let progress = ProgressFile::create(&dir.file("progress"), &context.progress())?;
    stop_on_signals(&context);
    let ended = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        let ticker = scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                if dir.stop_requested() {
                    context.cancel();
                }
                let _ = progress.write(&context.progress());
                events.flush();
                std::thread::park_timeout(TICK);
            }
        });
        let _end = TickerEnd {
            ended: &ended,
            ticker: ticker.thread(),
        };
        apply(&RealStorage, state_dir, &stored, (&spec, policy), &context)
    });
    context.emit(JobEvent::Ended {
        outcome: outcome.clone(),
    });
    context.enter(Phase::Ended);
    events.flush();
    let _ = progress.write(&context.progress());
    Ok(outcome)
}

/// Ends the ticker at once, however the job ends.
struct TickerEnd<'a> {
    ended: &'a AtomicBool,
    ticker: &'a Thread,
}

impl Drop for TickerEnd<'_> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.ticker.unpark();
    }
}

/// The job's events file. Lines are appended at each tick and at the end, many at once.
#[derive(Debug)]
struct EventsFile {
    file: File,
    lines: Mutex<Vec<u8>>,
}

impl EventsFile {
    fn create(dir: &JobDir) -> Result<Arc<Self>, DiskError> {
        let path = dir.file("events.jsonl");
        let file = File::options()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(DiskError::of(DiskAction::Create, &path))?;
        Ok(Arc::new(Self {
            file,
            lines: Mutex::default(),
        }))
    }

    fn emit(self: &Arc<Self>) -> Emit {
        let this = Arc::clone(self);
        Box::new(move |event| {
            let mut lines = this.lines.lock().unwrap_or_else(PoisonError::into_inner);
            if serde_json::to_writer(&mut *lines, &event).is_ok() {
                lines.push(b'\n');
            }
        })
    }

    fn flush(&self) {
        let lines = std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner));
        // What is said matters less than what is done: a full state volume must not end the job.
        let _ = (&self.file).write_all(&lines);
    }
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
