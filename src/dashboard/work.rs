//! The scan and the job that the screen shows: both are looked at at each tick.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use crate::app::effect::{PlanRequest, Scope};
use crate::app::state::WorkKind;
use crate::app::{Event, Level, Verified};
use crate::cli::boot_facts::{Ports, boot_facts};
use crate::cli::{Context, Look, has_room};
use crate::engine::{
    EngineError, JobEvent, JobHandle, JobId, JobOutcome, JobState, MadePlan, PlanHandle, PlanSpec,
    PlanStore, Reading, TruncationSpec, start_plan,
};

use super::look::{News, now, tell_event};
use crate::log::{Finding, Severity};
use crate::plan::preflight::{FixInputs, check_boot, plan_fixes};
use crate::plan::{RecoveryPlan, Verdict};

/// A scan that runs.
pub(super) struct RunningScan {
    handle: PlanHandle,
    request: PlanRequest,
}

impl RunningScan {
    /// Starts to read batches for a plan.
    pub(super) fn start(
        context: &Context,
        look: &Look,
        request: PlanRequest,
    ) -> Result<Self, String> {
        let spec = spec(context, look, &request)?;
        let handle = start_plan(spec).map_err(|error| error.sentence())?;
        Ok(Self { handle, request })
    }

    /// Returns what it is.
    pub(super) fn kind(&self) -> WorkKind {
        if self.request.verifies {
            WorkKind::Verify
        } else {
            WorkKind::Scan
        }
    }

    /// Returns what it said since the last call, and its counters.
    pub(super) fn poll(&self) -> Vec<Event> {
        let said = self.handle.events().try_iter().map(Event::Work);
        let mut events: Vec<Event> = said.collect();
        events.push(Event::Progress {
            progress: self.handle.progress(),
            at: now(),
        });
        events
    }

    /// Says whether its plan is made.
    pub(super) fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Asks it to end.
    pub(super) fn cancel(&self) {
        self.handle.cancel();
    }

    /// Stores the plan, in a thread since a large one takes its time, and tells of it.
    pub(super) fn finish(self, context: &Arc<Context>, news: &UnboundedSender<News>) {
        let context = Arc::clone(context);
        tell_event(news, move || {
            let Self { handle, request } = self;
            match handle.join() {
                Ok(made) if request.verifies => Event::Verified(verified(&made.plan)),
                Ok(made) => store(&context, made, request),
                Err(EngineError::Cancelled) => Event::PlanCancelled,
                Err(error) => Event::PlanFailed(error.sentence()),
            }
        });
    }
}

/// Plans what mends the problems of a boot, in a thread: names and small files are read anew.
pub(super) fn mend(
    context: &Arc<Context>,
    look: &Arc<Look>,
    request: PlanRequest,
    news: &UnboundedSender<News>,
) {
    let (context, look) = (Arc::clone(context), Arc::clone(look));
    tell_event(news, move || match context.quarantine(&look.log_dirs) {
        Ok(quarantine) => {
            let facts = boot_facts(&context, &look, Ports::Leave);
            let inputs = FixInputs {
                version_source: look.version.source.clone(),
                quarantine,
            };
            let plan = plan_fixes(&facts, &check_boot(&facts), inputs);
            store(&context, MadePlan::of(plan), request)
        }
        Err(error) => Event::PlanFailed(error.to_string()),
    });
}

fn spec(context: &Context, look: &Look, request: &PlanRequest) -> Result<PlanSpec, String> {
    let mut spec = look.spec(context);
    if !context.now_given {
        spec.now = now();
    }
    spec.reading = if request.verifies {
        Reading::Everything
    } else {
        Reading::AsBoot
    };
    spec.verify = request.verifies;
    spec.hand_over = request.hand_over;
    spec.quarantine = context
        .quarantine(&look.log_dirs)
        .map_err(|error| error.to_string())?;
    spec.state_dir = writable_state_dir(context);
    if let Scope::Logs(logs) = &request.scope {
        let named = logs.iter().filter_map(|(_, name)| {
            let name = crate::format::file_name::DirName::parse(name);
            name.partition().cloned()
        });
        if let Some(target) = request.truncation {
            let targets = named.map(|partition| (partition, target)).collect();
            spec.truncation = Some(TruncationSpec { targets });
            return Ok(spec);
        }
        spec.selection = Some(named.collect());
        let decided = logs.iter().map(|log| (log.clone(), request.on_loss));
        spec.decisions.by_dir = decided.collect();
    }
    Ok(spec)
}

/// Returns what a verify came to.
fn verified(plan: &RecoveryPlan) -> Verified {
    let mut sum = Verified::default();
    for log in plan.partitions() {
        // Beside a living broker every log is left alone, and read all the same.
        let is_read = log.segments.iter().any(|segment| segment.scanned);
        if matches!(log.verdict, Verdict::Skipped { .. }) && !is_read {
            continue;
        }
        sum.logs += 1;
        sum.bytes += log
            .segments
            .iter()
            .map(|segment| segment.bytes)
            .sum::<u64>();
        let is_bad = |finding: &Finding| finding.severity > Severity::Routine;
        sum.bad += u64::from(log.findings.iter().any(is_bad));
    }
    sum
}

/// Returns the state dir, if this session may write there.
fn writable_state_dir(context: &Context) -> Option<std::path::PathBuf> {
    let dir = &context.settings.state_dir.as_ref()?.value;
    let may = context.forbidden().is_none() && crate::settings::is_writable(dir) && has_room(dir);
    may.then(|| dir.clone())
}

pub(super) fn store(context: &Context, made: MadePlan, request: PlanRequest) -> Event {
    let unstored = |made: MadePlan, why: String| Event::Planned {
        hash: made.hash(),
        plan: Arc::new(made.plan),
        request: request.clone(),
        unstored: Some(why),
        at: now(),
    };
    if let Some(why) = context.forbidden() {
        return unstored(made, why);
    }
    let Some(state_dir) = writable_state_dir(context) else {
        let why = "the plan could not be stored: there is no state dir that can be written and has room (--state-dir)";
        return unstored(made, why.to_owned());
    };
    match PlanStore::new(&state_dir).save(made) {
        Ok(stored) => Event::Planned {
            plan: Arc::new(stored.plan),
            hash: stored.hash,
            request,
            unstored: None,
            at: now(),
        },
        Err(error) => Event::PlanFailed(format!(
            "the plan could not be stored: {}",
            error.sentence()
        )),
    }
}

/// A job that is watched.
pub(super) struct WatchedJob {
    handle: JobHandle,
    ended: bool,
}

impl WatchedJob {
    /// Watches a job from its first event on.
    pub(super) fn new(handle: JobHandle) -> Self {
        Self {
            handle,
            ended: false,
        }
    }

    /// Finds a job that runs, and the plan that it carries out.
    pub(super) fn open(state_dir: &Path, id: &JobId) -> Result<(Self, Event), EngineError> {
        let jobs = crate::engine::list_jobs(state_dir)?;
        let handle = JobHandle::open(state_dir, id)?;
        let summary = jobs.into_iter().find(|job| &job.id == id);
        let spec = summary.map(|summary| summary.spec);
        let (hash, at) = spec.map_or_else(
            || (String::new(), now()),
            |spec| (spec.plan, spec.started_at),
        );
        let stored = PlanStore::new(state_dir).find(&hash)?;
        let event = Event::JobFound {
            kind: kind(id, &stored.hash),
            plan: Arc::new(stored.plan),
            hash: stored.hash,
            at,
        };
        Ok((Self::new(handle), event))
    }

    /// Returns its id.
    pub(super) fn id(&self) -> &JobId {
        self.handle.id()
    }

    /// Asks it to stop after its step.
    pub(super) fn stop(&self) -> Result<(), EngineError> {
        self.handle.request_stop()
    }

    /// Says whether it still runs, as far as was told.
    pub(super) fn runs(&self) -> bool {
        !self.ended
    }

    /// Returns what it said since the last call, and its counters.
    pub(super) fn poll(&mut self) -> Vec<Event> {
        if self.ended {
            return Vec::new();
        }
        let tail = match self.handle.tail() {
            Ok(tail) => tail,
            Err(error) => {
                let text = format!("the job cannot be watched: {}", error.sentence());
                let level = Level::Error;
                return vec![Event::Notice { level, text }];
            }
        };
        let mut events: Vec<Event> = Vec::new();
        if let Some(progress) = tail.progress {
            events.push(Event::Progress {
                progress,
                at: now(),
            });
        }
        for event in tail.events {
            self.ended |= matches!(event, JobEvent::Ended { .. });
            events.push(Event::Work(event));
        }
        let outcome = match tail.state {
            JobState::Running => None,
            JobState::Ended(outcome) => Some(outcome),
            JobState::Killed => Some(JobOutcome::Failed {
                cause: killed(&self.handle.stderr_path()),
            }),
        };
        if let Some(outcome) = outcome.filter(|_| !self.ended) {
            self.ended = true;
            events.push(Event::Work(JobEvent::Ended { outcome }));
        }
        events
    }
}

/// Returns what names a job in the state.
pub(super) fn kind(id: &JobId, plan: &str) -> WorkKind {
    WorkKind::Apply {
        job: id.to_string(),
        plan: plan.to_owned(),
    }
}

fn killed(stderr: &Path) -> String {
    let said = std::fs::read_to_string(stderr).unwrap_or_default();
    let said = said.lines().next().unwrap_or("it said nothing");
    format!("the job's process was killed ({said})")
}
