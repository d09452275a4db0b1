//! Carries out a stored plan.
//!
//! In this order, over all its log dirs: check everything; keep what will go and write what will come, beside the old;
//! sync; do the steps, logs in parallel, with a sync wherever their order matters; sync; hand over.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use super::apply_log::{ApplyShared, LogApply};
use super::hand_over::{
    begin_arrival, begin_truncation, check_dir_undo, hand_over, keep_dir, take_hand_over_back,
};
use super::log_failure::LogFailure;
use super::preflight::{Ready, preflight};
use crate::disk::{DiskError, Storage};
use crate::engine::audit::job_audit::Audit;
use crate::engine::job::context::JobContext;
use crate::engine::job::crew::Work;
use crate::engine::job::job_spec::{Confirmed, JobSpec};
use crate::engine::job::volumes::threads_or_default;
use crate::engine::keep::journal::{Journal, JournalLine};
use crate::engine::keep::quarantine::QuarantineDir;
use crate::engine::planning::dir_plan::is_unread;
use crate::engine::planning::plan_job::panic_text;
use crate::engine::store::plan_store::StoredPlan;
use crate::engine::{JobEvent, JobOutcome, LogState, Phase};
use crate::plan::{HandOver, LogDirPlan, PartitionPlan, Policy, RecoveryPlan, Verdict, Wish};

/// Applies a stored plan in this process; for the process of a job, and for tests.
///
/// `emit` takes the events, from any thread. What the outcome says is on disk when this returns.
pub fn apply_here(
    storage: &dyn Storage,
    state_dir: &Path,
    stored: &StoredPlan,
    spec: &JobSpec,
    emit: impl FnMut(JobEvent) + Send + 'static,
) -> JobOutcome {
    let log_dirs: Vec<PathBuf> = paths(&stored.plan).map(Path::to_owned).collect();
    let context = JobContext::new(&log_dirs, Box::new(emit));
    apply(
        storage,
        state_dir,
        stored,
        (spec, &Policy::default()),
        &context,
    )
}

/// Applies a stored plan, unless the host's policy forbids it.
pub(in crate::engine) fn apply(
    storage: &dyn Storage,
    state_dir: &Path,
    stored: &StoredPlan,
    (spec, policy): (&JobSpec, &Policy),
    context: &JobContext,
) -> JobOutcome {
    context.enter(Phase::Checking);
    let audit = match Audit::open(state_dir, spec) {
        Ok(audit) => audit,
        Err(error) => {
            return JobOutcome::Refused {
                cause: format!("no audit can be written: {}", error.sentence()),
            };
        }
    };
    let forbidden = policy.forbids(Wish {
        plan: &stored.plan,
        yes_to_all: spec.confirmed == Confirmed::YesToAll,
        state_dir,
    });
    let checked = match forbidden {
        Some(cause) => Err(cause),
        None => preflight(storage, state_dir, stored, spec),
    };
    let outcome = match checked {
        Err(cause) => JobOutcome::Refused { cause },
        Ok(ready) => {
            for note in &ready.notes {
                context.emit(JobEvent::Note { text: note.clone() });
            }
            journaled(state_dir, &ready, (stored, spec), |journal| {
                let job = ApplyJob {
                    shared: ApplyShared {
                        storage,
                        stored,
                        context,
                        quarantine: QuarantineDir {
                            storage,
                            root: ready.quarantine.as_deref(),
                        },
                        journal,
                    },
                    audit: &audit,
                    spec,
                };
                job.run(&ready)
            })
        }
    };
    let Err(error) = audit.end(&outcome) else {
        return outcome;
    };
    let told = error.sentence();
    match outcome {
        JobOutcome::Refused { cause } => JobOutcome::Refused {
            cause: format!("{cause}; nor can the audit be written: {told}"),
        },
        JobOutcome::Failed { cause } => JobOutcome::Failed {
            cause: format!("{cause}; nor can the audit be written: {told}"),
        },
        _ => JobOutcome::Failed {
            cause: format!("the audit: {told}"),
        },
    }
}

/// Runs an apply between the first and the last line of its journal.
fn journaled(
    state_dir: &Path,
    ready: &Ready,
    (stored, spec): (&StoredPlan, &JobSpec),
    run: impl FnOnce(&Journal) -> JobOutcome,
) -> JobOutcome {
    let journal = match Journal::begin(state_dir, stored, spec, ready.quarantine.as_deref()) {
        Ok(journal) => journal,
        Err(error) => {
            let cause = format!("no journal can be written: {}", error.sentence());
            return JobOutcome::Refused { cause };
        }
    };
    let at = spec.started_at;
    let tell_undone = |line: &dyn Fn(String) -> JournalLine| -> Result<(), DiskError> {
        let Some(undone) = &stored.plan.undoes else {
            return Ok(());
        };
        let journal = Journal::append_to(state_dir, undone)?;
        journal.write(&line(stored.hash.clone()))?;
        journal.sync()
    };
    if let Err(error) = tell_undone(&|by| JournalLine::Undoing { by, at }) {
        let cause = format!("no journal can be written: {}", error.sentence());
        return JobOutcome::Refused { cause };
    }
    let outcome = run(&journal);
    let ended = || -> Result<(), DiskError> {
        journal.write(&JournalLine::End {
            outcome: outcome.clone(),
        })?;
        journal.sync()?;
        match outcome {
            JobOutcome::Done | JobOutcome::DoneButLeft { .. } => {
                tell_undone(&|by| JournalLine::Undone { by, at })
            }
            _ => Ok(()),
        }
    };
    match ended() {
        Ok(()) => outcome,
        Err(error) => JobOutcome::Failed {
            cause: format!("the journal: {}", error.sentence()),
        },
    }
}

struct ApplyJob<'a> {
    shared: ApplyShared<'a>,
    audit: &'a Audit<'a>,
    spec: &'a JobSpec,
}

/// A log with steps: the number of its log dir, the log, and its work so far.
type LogSlot<'a> = (usize, &'a PartitionPlan, Mutex<LogApply<'a>>);

impl<'a> ApplyJob<'a> {
    /// Does what the preflight found possible; the locks are held until this returns.
    fn run(&self, ready: &Ready) -> JobOutcome {
        match self.steps_and_hand_over(ready) {
            Ok(()) => match self.left() {
                0 => JobOutcome::Done,
                left => JobOutcome::DoneButLeft { left },
            },
            Err(LogFailure::Stopped) => JobOutcome::Stopped,
            Err(LogFailure::Damaged(cause)) if !ready.is_resumed() => JobOutcome::Refused {
                cause: format!("nothing was changed: {cause}"),
            },
            Err(LogFailure::Damaged(cause) | LogFailure::Failed(cause)) => {
                JobOutcome::Failed { cause }
            }
        }
    }

    fn plan(&self) -> &'a RecoveryPlan {
        &self.shared.stored.plan
    }

    fn steps_and_hand_over(&self, ready: &Ready) -> Result<(), LogFailure> {
        let context = self.shared.context;
        let slots = self.slots(ready);
        let steps = slots.iter().map(|(_, _, log)| lock(log).steps_left());
        context.set_steps_total(steps.sum());
        context.enter(Phase::Applying);
        let done = self.prepare(&slots, ready).and_then(|()| {
            self.execute(&slots, ready)
                .map_err(LogFailure::in_the_middle)
        });
        if done.is_err() {
            for (_, _, log) in &slots {
                let mut log = lock(log);
                log.clean_up(self.shared.storage);
                if !log.is_done() && !log.act().steps.is_empty() {
                    self.audit.log(log.act())?;
                }
            }
        }
        done?;
        context.enter(Phase::Syncing);
        self.sync(ready)?;
        context.enter(Phase::HandingOver);
        for dir in &self.plan().log_dirs {
            hand_over(self.shared.storage, self.shared.journal, dir)
                .map_err(|error| LogFailure::from(error).in_the_middle())?;
            self.audit.hand_over(&dir.path, dir.hand_over)?;
        }
        Ok(())
    }

    /// Keeps what will go and writes what will come beside it; no file of a log dir is changed.
    fn prepare(&self, slots: &[LogSlot<'a>], ready: &Ready) -> Result<(), LogFailure> {
        let (storage, journal) = (self.shared.storage, self.shared.journal);
        for dir in &self.plan().log_dirs {
            check_dir_undo(storage, dir)?;
            keep_dir(storage, self.shared.quarantine, journal, dir)?;
        }
        let all: Vec<&LogSlot<'a>> = slots.iter().collect();
        self.in_parallel(&all, ready, |_, log, _| log.prepare(&self.shared))?;
        self.sync(ready)?;
        Ok(journal.sync()?)
    }

    fn execute(&self, slots: &[LogSlot<'a>], ready: &Ready) -> Result<(), LogFailure> {
        let mut waiting: Vec<&LogSlot<'a>> = slots.iter().collect();
        let storage = self.shared.storage;
        for dir in &self.plan().log_dirs {
            take_hand_over_back(storage, dir)?;
            begin_truncation(storage, dir)?;
            begin_arrival(storage, dir)?;
        }
        // One stage of every log, then one sync for all of them: a sync a log would cost thousands.
        while !waiting.is_empty() {
            self.in_parallel(&waiting, ready, |dir, log, plan| {
                if log.act().steps.is_empty() {
                    self.tell_state(dir, plan, LogState::Applying);
                }
                log.execute(&self.shared)?;
                if log.is_done() {
                    self.audit.log(log.act())?;
                    self.tell_state(dir, plan, LogState::Done);
                }
                Ok(())
            })?;
            waiting.retain(|(_, _, log)| !lock(log).is_done());
            if !waiting.is_empty() {
                self.sync(ready)?;
            }
        }
        Ok(())
    }

    /// Returns the logs that have steps, and tells of those that have none.
    fn slots(&self, ready: &Ready) -> Vec<LogSlot<'a>> {
        let mut slots = Vec::new();
        for (index, dir) in self.plan().log_dirs.iter().enumerate() {
            let counters = self.shared.context.dir(index);
            for plan in &dir.partitions {
                if let Some(counters) = counters {
                    count(&counters.logs_total);
                    if let Verdict::Move(relocation) = &plan.verdict {
                        let bytes = relocation.copied_bytes;
                        counters.bytes_total.fetch_add(bytes, Ordering::Relaxed);
                    }
                }
                if plan.verdict.is_applied() && !plan.steps.is_empty() {
                    let done = ready.steps_done(&dir.path, &plan.dir_name);
                    let log = LogApply::new(&dir.path, plan, done);
                    slots.push((index, plan, Mutex::new(log)));
                    continue;
                }
                let state = if plan.verdict.reaches_end() {
                    LogState::Done
                } else {
                    LogState::Left
                };
                self.tell_state(dir, plan, state);
            }
        }
        slots
    }

    /// Runs `work` on every log, a volume's logs on several workers; the first failure ends it.
    fn in_parallel(
        &self,
        slots: &[&LogSlot<'a>],
        ready: &Ready,
        work: impl Fn(&'a LogDirPlan, &mut LogApply<'a>, &'a PartitionPlan) -> Result<(), LogFailure>
        + Sync,
    ) -> Result<(), LogFailure> {
        let numbers: Vec<usize> = slots.iter().map(|(dir, _, _)| *dir).collect();
        let crew = ready.volumes.crew::<()>(&numbers);
        let failure: Mutex<Option<LogFailure>> = Mutex::new(None);
        let work_off = || {
            while let Some((task, _place)) = crew.next() {
                let Work::Log(number) = task else { continue };
                let Some((dir, plan, log)) = slots.get(number) else {
                    continue;
                };
                let Some(dir) = self.plan().log_dirs.get(*dir) else {
                    continue;
                };
                if let Err(error) = work(dir, &mut lock(log), plan) {
                    crew.stop();
                    // A failure says more than that others stopped for it.
                    let mut failure = lock(&failure);
                    if matches!(*failure, None | Some(LogFailure::Stopped)) {
                        *failure = Some(error);
                    }
                }
            }
        };
        let threads = self.spec.threads.and_then(NonZeroUsize::new);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads_or_default(threads).min(slots.len()))
                .map(|_| scope.spawn(work_off))
                .collect();
            for worker in workers {
                if let Err(panic) = worker.join() {
                    let text = panic_text(panic.as_ref());
                    *lock(&failure) = Some(LogFailure::Failed(format!("a worker died: {text}")));
                }
            }
        });
        lock(&failure).take().map_or(Ok(()), Err)
    }

    /// Makes everything on the volumes of the plan and of the quarantine durable, each once.
    fn sync(&self, ready: &Ready) -> Result<(), LogFailure> {
        for path in ready.sync_paths.values() {
            self.shared.storage.sync_volume(path)?;
        }
        Ok(())
    }

    /// Returns how many logs that were asked for stay as they are; a log dir that could not be listed counts as one.
    fn left(&self) -> u64 {
        let plan = self.plan();
        let in_dir = |dir: &LogDirPlan| {
            if is_failed_dir(dir) {
                return 1;
            }
            // Asked for a clean hand-over, a log that nobody selected stands in its way.
            let falls_short =
                plan.hand_over == HandOver::Clean && dir.hand_over == HandOver::Verify;
            let logs = dir.partitions.iter();
            let left = logs.filter(|log| log.verdict.is_left() || falls_short && is_unread(log));
            left.count()
        };
        plan.log_dirs.iter().map(in_dir).sum::<usize>() as u64
    }

    fn tell_state(&self, dir: &LogDirPlan, plan: &PartitionPlan, state: LogState) {
        if matches!(state, LogState::Done | LogState::Left) {
            let dirs = &self.plan().log_dirs;
            let index = dirs.iter().position(|other| std::ptr::eq(other, dir));
            if let Some(counters) = index.and_then(|index| self.shared.context.dir(index)) {
                count(&counters.logs_done);
            }
        }
        self.shared.context.emit(JobEvent::Log {
            log_dir: dir.path.clone(),
            dir_name: plan.dir_name.clone(),
            state,
            verdict: Some(plan.verdict.clone()),
        });
    }
}

/// Says whether a log dir could not be listed when the plan was made.
pub(in crate::engine) fn is_failed_dir(dir: &LogDirPlan) -> bool {
    dir.partitions.is_empty()
        && dir.stamps.is_empty()
        && dir
            .findings
            .iter()
            .any(|finding| finding.code == crate::log::FindingCode::LogDir)
}

/// Returns the log dirs' paths.
pub(in crate::engine) fn paths(plan: &RecoveryPlan) -> impl Iterator<Item = &Path> {
    plan.log_dirs.iter().map(|dir| dir.path.as_path())
}

fn count(counter: &std::sync::atomic::AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealStorage;
    use crate::engine::{PlanSpec, PlanStore, Who, start_plan};
    use crate::terms::{KafkaVersion, Timestamp};

    #[test]
    fn a_job_that_is_asked_to_stop_before_its_first_step_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (state, log_dir) = (dir.path().join("state"), dir.path().join("d1"));
        let partition = log_dir.join("t-0");
        std::fs::create_dir_all(&partition).unwrap();
        std::fs::write(partition.join("00000000000000000000.log"), b"junk").unwrap();
        let version = KafkaVersion::NEWEST_KNOWN;
        let spec = PlanSpec::new(vec![log_dir.clone()], version, Timestamp(1_796_033_700_000));
        let made = start_plan(spec).unwrap().join().unwrap();
        let stored = PlanStore::new(&state).save(made).unwrap();
        let at = Timestamp(1_796_033_700_000);
        let spec = JobSpec::of(&stored, at, Who::named("tester"), Confirmed::Typed);
        let context = JobContext::new(std::slice::from_ref(&log_dir), Box::new(|_| ()));
        context.cancel();
        let outcome = apply(
            &RealStorage,
            &state,
            &stored,
            (&spec, &Policy::default()),
            &context,
        );
        assert_eq!(outcome, JobOutcome::Stopped);
        let names = std::fs::read_dir(&partition).unwrap().count();
        assert_eq!(names, 1, "no file of krescue's own is left");

        let context = JobContext::new(std::slice::from_ref(&log_dir), Box::new(|_| ()));
        let outcome = apply(
            &RealStorage,
            &state,
            &stored,
            (&spec, &Policy::default()),
            &context,
        );
        assert_eq!(outcome, JobOutcome::Done);
        let log = std::fs::metadata(partition.join("00000000000000000000.log")).unwrap();
        assert_eq!(log.len(), 0);
        assert_eq!(context.progress().logs(), (1, 1));
        let progress = context.progress();
        assert_eq!(progress.steps_done, progress.steps_total);
    }
}
