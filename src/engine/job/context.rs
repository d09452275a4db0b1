//! What a running job shares with its watchers: counters, the wish to stop, and where events go.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::engine::{DirProgress, EngineError, JobEvent, Phase, Progress};

/// Takes a job's events, from any of its threads.
pub(in crate::engine) type Emit = Box<dyn FnMut(JobEvent) + Send>;

/// Shared by all threads of one job.
pub(in crate::engine) struct JobContext {
    cancelled: AtomicBool,
    phase: AtomicU8,
    steps_done: AtomicU64,
    steps_total: AtomicU64,
    dirs: Vec<DirCounters>,
    emit: Mutex<Emit>,
}

/// The counters of one log dir.
#[derive(Debug)]
pub(in crate::engine) struct DirCounters {
    log_dir: PathBuf,
    /// Bytes read so far.
    pub(in crate::engine) bytes_done: AtomicU64,
    /// Bytes to read in all; an estimate until every log is listed.
    pub(in crate::engine) bytes_total: AtomicU64,
    /// Logs that are through.
    pub(in crate::engine) logs_done: AtomicU64,
    /// Logs in all.
    pub(in crate::engine) logs_total: AtomicU64,
}

impl JobContext {
    /// Returns the context of a job over `log_dirs`; counters are in their order.
    pub(in crate::engine) fn new(log_dirs: &[PathBuf], emit: Emit) -> Self {
        let dirs = log_dirs
            .iter()
            .map(|log_dir| DirCounters {
                log_dir: log_dir.clone(),
                bytes_done: AtomicU64::new(0),
                bytes_total: AtomicU64::new(0),
                logs_done: AtomicU64::new(0),
                logs_total: AtomicU64::new(0),
            })
            .collect();
        Self {
            cancelled: AtomicBool::new(false),
            phase: AtomicU8::new(0),
            steps_done: AtomicU64::new(0),
            steps_total: AtomicU64::new(0),
            dirs,
            emit: Mutex::new(emit),
        }
    }

    /// Asks the job to stop.
    pub(in crate::engine) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Says whether the job was asked to stop.
    pub(in crate::engine) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns an error if the job was asked to stop.
    pub(in crate::engine) fn check(&self) -> Result<(), EngineError> {
        if self.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        Ok(())
    }

    /// Tells an event.
    pub(in crate::engine) fn emit(&self, event: JobEvent) {
        let mut emit = self.emit.lock().unwrap_or_else(PoisonError::into_inner);
        emit(event);
    }

    /// Enters a phase and tells it.
    pub(in crate::engine) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
        self.emit(JobEvent::Phase { phase });
    }

    /// Sets how many steps there are.
    pub(in crate::engine) fn set_steps_total(&self, steps: u64) {
        self.steps_total.store(steps, Ordering::Relaxed);
    }

    /// Counts a step.
    pub(in crate::engine) fn count_step(&self) {
        self.steps_done.fetch_add(1, Ordering::Relaxed);
    }

    /// Says that all was read that will be: totals were estimates until here.
    pub(in crate::engine) fn settle_totals(&self) {
        for dir in &self.dirs {
            let done = dir.bytes_done.load(Ordering::Relaxed);
            dir.bytes_total.store(done, Ordering::Relaxed);
        }
    }

    /// Returns the counters of the `index`-th log dir.
    pub(in crate::engine) fn dir(&self, index: usize) -> Option<&DirCounters> {
        self.dirs.get(index)
    }

    /// Returns all counters as they are now.
    pub(in crate::engine) fn progress(&self) -> Progress {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Progress {
            phase: phase_of(self.phase.load(Ordering::Relaxed)),
            steps_done: of(&self.steps_done),
            steps_total: of(&self.steps_total),
            dirs: self
                .dirs
                .iter()
                .map(|dir| DirProgress {
                    log_dir: dir.log_dir.clone(),
                    bytes_done: of(&dir.bytes_done),
                    bytes_total: of(&dir.bytes_total).max(of(&dir.bytes_done)),
                    logs_done: of(&dir.logs_done),
                    logs_total: of(&dir.logs_total),
                })
                .collect(),
        }
    }
}

impl std::fmt::Debug for JobContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobContext")
            .field("progress", &self.progress())
            .finish_non_exhaustive()
    }
}

fn phase_of(number: u8) -> Phase {
    [
        Phase::Listing,
        Phase::Scanning,
        Phase::Checking,
        Phase::Applying,
        Phase::Syncing,
        Phase::HandingOver,
        Phase::Ended,
    ]
    .into_iter()
    .find(|phase| *phase as u8 == number)
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_survives_the_counter() {
        let context = JobContext::new(&[PathBuf::from("/d")], Box::new(|_| ()));
        for phase in [
            Phase::Listing,
            Phase::Scanning,
            Phase::Checking,
            Phase::Applying,
            Phase::Syncing,
            Phase::HandingOver,
            Phase::Ended,
        ] {
            context.enter(phase);
            assert_eq!(context.progress().phase, phase);
        }
    }
}
