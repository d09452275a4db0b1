//! Plans the recovery of log dirs: reads them in parallel and asks the recovery machine of each log.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::plan_spec::PlanSpec;
use super::scan_job;
use crate::disk::{DiskAction, DiskError, RealStorage, Storage};
use crate::engine::job::context::JobContext;
use crate::engine::store::plan_store::MadePlan;
use crate::engine::{EngineError, JobEvent, Progress};

/// How often events are passed on.
const TICK: Duration = Duration::from_millis(50);

/// A plan in the making.
#[derive(Debug)]
pub struct PlanHandle {
    context: Arc<JobContext>,
    events: Receiver<JobEvent>,
    thread: JoinHandle<Result<MadePlan, EngineError>>,
}

impl PlanHandle {
    /// Returns the counters now.
    pub fn progress(&self) -> Progress {
        self.context.progress()
    }

    /// Returns where events come from; it closes when the plan is made.
    pub fn events(&self) -> &Receiver<JobEvent> {
        &self.events
    }

    /// Asks to stop; the plan then is [`EngineError::Cancelled`].
    pub fn cancel(&self) {
        self.context.cancel();
    }

    /// Says whether [`Self::join`] would return at once.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for the plan.
    pub fn join(self) -> Result<MadePlan, EngineError> {
        self.thread.join().unwrap_or_else(|panic| {
            Err(EngineError::WorkerDied {
                cause: panic_text(panic.as_ref()),
            })
        })
    }
}

/// Starts to plan; nothing in the log dirs is changed.
pub fn start_plan(spec: PlanSpec) -> Result<PlanHandle, EngineError> {
    let (sender, events) = mpsc::channel();
    let said = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&said);
    let emit = move |event| lock(&kept).push(event);
    let context = Arc::new(JobContext::new(&spec.log_dirs, Box::new(emit)));
    let shared = Arc::clone(&context);
    let thread = std::thread::Builder::new()
        .name("krescue-plan".to_owned())
        .spawn(move || {
            // The teller has the only sender: whoever listens learns of the end when it ends.
            let (end, ended) = mpsc::channel::<()>();
            std::thread::scope(|scope| {
                scope.spawn(move || tell(&said, &sender, &ended));
                let _end = end;
                scan_job::run(&RealStorage, &spec, &shared)
            })
        })
        .map_err(|error| DiskError::new(DiskAction::Create, &PathBuf::from("a thread"), error))?;
    Ok(PlanHandle {
        context,
        events,
        thread,
    })
}

/// Makes a plan in this thread, reading through `storage`; for tests.
pub fn plan_here(storage: &dyn Storage, spec: &PlanSpec) -> Result<MadePlan, EngineError> {
    let context = JobContext::new(&spec.log_dirs, Box::new(|_| ()));
    scan_job::run(storage, spec, &context)
}

/// Passes events on, many at once: a listener that wakes for each would cost more than a small log's plan.
fn tell(said: &Mutex<Vec<JobEvent>>, listener: &Sender<JobEvent>, ended: &Receiver<()>) {
    loop {
        let at_end = ended.recv_timeout(TICK) == Err(RecvTimeoutError::Disconnected);
        for event in std::mem::take(&mut *lock(said)) {
            // Nobody listens: the plan is still wanted.
            let _ = listener.send(event);
        }
        if at_end {
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what a panic said.
pub(in crate::engine) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it said nothing".to_owned())
}
