//! Looking at a broker beside the screen: what it is, what lies in its log dirs, which job runs on them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use crate::app::facts::{LogDirFacts, Presence};
use crate::app::state::KilledJob;
use crate::app::{Event, Level, PlanRequest};
use crate::cli::boot_facts::{Ports, boot_facts};
use crate::cli::target::{self, Candidate};
use crate::cli::{BesideBroker, Context, Look, broker_facts, listed_facts};
use crate::engine::{
    EngineError, JobId, JobState, JobSummary, PlanStore, Reading, list_jobs, start_plan,
};
use crate::log::Severity;
use crate::plan::preflight::check_boot;
use crate::terms::Timestamp;

use super::listing::add_problems;
use super::log_view;

/// What a thread has to say.
pub(super) enum News {
    /// An event for the state.
    Event(Event),
    /// A broker was looked at.
    Looked(Arc<Look>),
    /// It was looked at for a plan, which can be made now.
    PlanNow(PlanRequest),
    /// Whether it runs was looked at.
    Presence(target::Presence),
    /// A job of these log dirs runs.
    JobRuns(JobId),
}

/// Makes an event in a thread of its own, and tells it.
pub(super) fn tell_event(
    news: &UnboundedSender<News>,
    make: impl FnOnce() -> Event + Send + 'static,
) {
    let news = news.clone();
    std::thread::spawn(move || {
        // Nobody listens once the screen is gone.
        let _ = news.send(News::Event(make()));
    });
}

/// What a look is for.
#[derive(Debug, Clone)]
pub(super) enum Purpose {
    /// The first look: jobs are looked for too.
    First,
    /// A look at what changed.
    Again,
    /// The look before batches are read; they were asked for, beside a living broker too.
    Plan(PlanRequest),
}

/// Looks at a broker and lists its log dirs, in a thread of its own.
pub(super) fn look_at(
    context: &Arc<Context>,
    candidate: Candidate,
    purpose: Purpose,
    news: &UnboundedSender<News>,
) {
    let (context, news) = (Arc::clone(context), news.clone());
    std::thread::spawn(move || {
        // Nobody listens once the screen is gone.
        let tell = |item| {
            let _ = news.send(item);
        };
        let beside = match purpose {
            Purpose::Plan(_) => BesideBroker::ReadBatches,
            Purpose::First | Purpose::Again => BesideBroker::StructureOnly,
        };
        let look = match Look::of(&context, candidate, beside) {
            Ok(mut look) => {
                if let Purpose::Plan(_) = purpose
                    && let Some(finding) = look.ask_cluster(&context)
                {
                    let level = match finding.severity {
                        Severity::Routine => Level::Note,
                        _ => Level::Warn,
                    };
                    tell(News::Event(Event::Notice {
                        level,
                        text: finding.text.clone(),
                    }));
                }
                Arc::new(look)
            }
            Err(error) => {
                tell(News::Event(Event::ListFailed(error.to_string())));
                if let Purpose::Plan(_) = purpose {
                    tell(News::Event(Event::PlanFailed(error.to_string())));
                }
                return;
            }
        };
        let job = match purpose {
            Purpose::First => jobs(&context, &look),
            _ => None,
        };
        let mut facts = broker_facts(&context, &look, now());
        if let Some(News::JobRuns(_)) = job {
            // The lock is our own job's.
            facts.presence = Presence::Down;
        }
        tell(News::Looked(Arc::clone(&look)));
        tell(News::Event(Event::Opened(Box::new(facts))));
        match purpose {
            Purpose::Plan(request) => return tell(News::PlanNow(request)),
            Purpose::First | Purpose::Again => {}
        }
        let listed = list(&context, &look);
        tell(News::Event(match &listed {
            Ok(listed) => Event::Listed(listed.clone()),
            Err(error) => Event::ListFailed(error.sentence()),
        }));
        job.into_iter().for_each(tell);
        // A second walk over all names, which the first screen does not wait for.
        if let Ok(mut listed) = listed
            && look.presence == target::Presence::Down
        {
            let boot = boot_facts(&context, &look, Ports::Look);
            add_problems(&mut listed, &check_boot(&boot));
            tell(News::Event(Event::Listed(listed)));
        }
        // Last, as nobody waits for it: a job's end is followed by a look.
        if let Some(state_dir) = &context.settings.state_dir {
            log_view::log_audit(&state_dir.value);
        }
    });
}

/// Looks whether the broker runs, in a thread of its own.
pub(super) fn look_at_presence(look: &Arc<Look>, news: &UnboundedSender<News>) {
    let (look, news) = (Arc::clone(look), news.clone());
    std::thread::spawn(move || {
        let presence = target::presence_of(&look.candidate, &look.guarded);
        let _ = news.send(News::Presence(presence));
    });
}

/// Reads names, sizes and checkpoints; no batch.
pub(super) fn list(context: &Context, look: &Look) -> Result<Vec<LogDirFacts>, EngineError> {
    let mut spec = look.spec(context);
    spec.reading = Reading::Structure;
    let made = start_plan(spec).and_then(crate::engine::PlanHandle::join)?;
    Ok(listed_facts(&made.plan, look))
}

/// Returns the job that runs on these log dirs, or says that the last one was killed.
fn jobs(context: &Context, look: &Look) -> Option<News> {
    let state_dir = &context.settings.state_dir.as_ref()?.value;
    let ours: BTreeSet<&PathBuf> = look.log_dirs.iter().collect();
    let last: JobSummary = list_jobs(state_dir)
        .ok()?
        .into_iter()
        .rev()
        .find(|job| job.spec.also_locked.iter().any(|dir| ours.contains(dir)))?;
    match last.state {
        JobState::Running => Some(News::JobRuns(last.id)),
        JobState::Killed => Some(News::Event(Event::JobKilled(KilledJob {
            job: last.id.to_string(),
            act: PlanStore::new(state_dir)
                .find(&last.spec.plan)
                .ok()
                .map(|stored| stored.plan.act),
            plan: last.spec.plan,
            undoes: last.spec.undoes,
            at: now(),
        }))),
        JobState::Ended(_) => None,
    }
}

/// Returns the time.
pub(super) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

/// Returns what the commands need, with a clock that does not stand since the screen was opened.
pub(super) fn at_present(context: &Context) -> Context {
    let mut context = context.clone();
    if !context.now_given {
        context.now = now();
    }
    context
}
