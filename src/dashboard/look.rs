//! Looking at a broker beside the screen: what it is, what lies in its log dirs, which job runs on them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use crate::app::facts::{BrokerFacts, Presence, Supervisor};
use crate::app::{Event, PlanRequest};
use crate::cli::target::{self, Candidate, VersionBasis};
use crate::cli::{BesideBroker, Context, Look};
use crate::disk::{RealStorage, Storage as _};
use crate::engine::{JobId, JobState, JobSummary, Reading, list_jobs, start_plan};
use crate::format::file_name::META_PROPERTIES;
use crate::format::meta_properties::MetaProperties;
use crate::settings::Source;
use crate::terms::Timestamp;

use super::listing::facts_of;
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
            Ok(look) => Arc::new(look),
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
        let mut facts = broker_facts(&context, &look);
        if let Some(News::JobRuns(_)) = job {
            // The lock is our own job's.
            facts.presence = Presence::Down;
        }
        tell(News::Looked(Arc::clone(&look)));
        tell(News::Event(Event::Opened(Box::new(facts))));
        match purpose {
            Purpose::Plan(request) => return tell(News::PlanNow(request)),
            Purpose::First | Purpose::Again => tell(News::Event(list(&context, &look))),
        }
        job.into_iter().for_each(tell);
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
        let presence = target::presence_of(&look.candidate, &look.log_dirs);
        let _ = news.send(News::Presence(presence));
    });
}

/// Returns a presence as the state knows it.
pub(super) fn presence_facts(presence: &target::Presence) -> Presence {
    match presence {
        target::Presence::Down => Presence::Down,
        target::Presence::Running { pid, .. } => Presence::Running { pid: *pid },
        target::Presence::Unknown { why } => Presence::Unknown { why: why.clone() },
    }
}

/// Reads names, sizes and checkpoints; no batch.
fn list(context: &Context, look: &Look) -> Event {
    let mut spec = look.spec(context);
    spec.reading = Reading::Structure;
    let made = start_plan(spec).and_then(crate::engine::PlanHandle::join);
    match made {
        Ok(made) => {
            let mut facts = facts_of(&made.plan);
            super::listing::add_broken(&mut facts, look);
            Event::Listed(facts)
        }
        Err(error) => Event::ListFailed(error.sentence()),
    }
}

fn broker_facts(context: &Context, look: &Look) -> BrokerFacts {
    let broker = &look.candidate.broker;
    let identity = look.log_dirs.iter().find_map(|dir| identity(dir));
    BrokerFacts {
        node_id: broker
            .node_id
            .as_ref()
            .map(|id| id.value)
            .or_else(|| identity.as_ref().and_then(|identity| identity.node_id)),
        cluster_id: identity.and_then(|identity| identity.cluster_id),
        version: look.version.version,
        version_source: look.version.source.clone(),
        config: broker.path.clone(),
        presence: presence_facts(&look.presence),
        supervisor: look.candidate.unit.as_ref().map(|unit| Supervisor {
            name: unit.clone(),
            hold: format!("systemctl mask --runtime {unit}"),
            release: format!("systemctl unmask --runtime {unit}"),
        }),
        flags: flags(context, look),
        act_refused: act_refused(look),
        at: now(),
    }
}

/// Returns the flags that name this broker, whatever the environment says there.
fn flags(context: &Context, look: &Look) -> Vec<String> {
    let broker = &look.candidate.broker;
    let mut flags = Vec::new();
    if let Some(path) = &broker.path {
        flags.extend(["--config".to_owned(), path.display().to_string()]);
    }
    if !look.candidate.own_log_dirs || broker.path.is_none() {
        let dirs: Vec<String> = broker
            .log_dirs
            .value
            .iter()
            .map(|dir| dir.display().to_string())
            .collect();
        flags.extend(["--log-dirs".to_owned(), dirs.join(",")]);
    }
    if look.version.basis == VersionBasis::Given {
        flags.extend([
            "--kafka-version".to_owned(),
            look.version.version.to_string(),
        ]);
    }
    if let Some(dir) = &context.settings.state_dir
        && let Source::Flag { .. } = dir.source
    {
        flags.extend(["--state-dir".to_owned(), dir.value.display().to_string()]);
    }
    flags
}

/// Returns why no plan of this broker may be carried out, as the command line says it.
fn act_refused(look: &Look) -> Option<String> {
    let version = &look.version;
    if version.basis == VersionBasis::Assumed {
        return Some(format!(
            "the broker's Kafka release is not known ({}): start krescue with --kafka-version V",
            version.source
        ));
    }
    (!version.version.is_compared()).then(|| {
        format!(
            "Kafka {} is outside of what krescue was compared with (3.7 to 4.4)",
            version.version
        )
    })
}

fn identity(log_dir: &Path) -> Option<MetaProperties> {
    const MOST: usize = 64 << 10;
    let file = RealStorage.open(&log_dir.join(META_PROPERTIES)).ok()?;
    let len = usize::try_from(file.file_len().ok()?).ok()?.min(MOST);
    let mut bytes = vec![0; len];
    let read = file.read_at(&mut bytes, 0).ok()?;
    MetaProperties::parse(bytes.get(..read)?).ok()
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
        JobState::Killed => Some(News::Event(Event::Notice {
            level: crate::app::Level::Warn,
            text: format!(
                "job {} was killed in the middle; :recover goes on from there",
                last.id
            ),
        })),
        JobState::Ended(_) => None,
    }
}

/// Returns the time.
pub(super) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
