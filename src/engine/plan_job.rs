//! Plans the recovery of log dirs: reads them in parallel and asks the recovery machine of each log.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;

use super::context::JobContext;
use super::plan_spec::PlanSpec;
use super::plan_store::MadePlan;
use super::scan_job;
use super::{EngineError, JobEvent, Progress};
use crate::disk::{DiskAction, DiskError};

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
    let emit = move |event| {
        // Nobody listens: the plan is still wanted.
        let _ = sender.send(event);
    };
    let context = Arc::new(JobContext::new(&spec.log_dirs, Box::new(emit)));
    let shared = Arc::clone(&context);
    let thread = std::thread::Builder::new()
        .name("krescue-plan".to_owned())
        .spawn(move || {
            let closer = EventsCloser(shared);
            scan_job::run(&spec, &closer.0)
        })
        .map_err(|error| DiskError::new(DiskAction::Create, &PathBuf::from("a thread"), error))?;
    Ok(PlanHandle {
        context,
        events,
        thread,
    })
}

/// Closes the events when the plan's thread ends, however it ends.
struct EventsCloser(Arc<JobContext>);

impl Drop for EventsCloser {
    fn drop(&mut self) {
        self.0.close_events();
    }
}

/// Returns what a panic said.
pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it said nothing".to_owned())
}
