//! What can go to free space, and the plan of what is to go, beside the screen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use super::look::{News, at_present, now, tell_event};
use super::work::store;
use crate::app::effect::{CleanupAsk, CleanupRequest, Copies, FreeChoice, FreeWhat, PlanRequest};
use crate::app::state::FreeOffer;
use crate::app::{Event, Level};
use crate::cli::args::{Answers, CleanupArgs, CleanupWhat};
use crate::cli::cleanup_look::{
    CleanupAsked, cleanup_asked, dirs_of_volume, only_leftovers, shared_quarantine,
};
use crate::cli::free_offer::free_offer;
use crate::cli::{CliError, Context, Look, Whose};
use crate::disk::RealStorage;
use crate::engine::{CleanupSpec, MadeCleanup, make_cleanup};

/// Looks what can go from the volume of a log dir, in a thread of its own.
pub(super) fn offer(
    context: &Arc<Context>,
    look: &Arc<Look>,
    (dir, target): (PathBuf, u64),
    news: &UnboundedSender<News>,
) {
    let (context, look) = (at_present(context), Arc::clone(look));
    tell_event(news, move || {
        let made = make_offer(&context, &look, &dir, target);
        Event::FreeOffer(made.map(Arc::new).map_err(|error| error.to_string()))
    });
}

/// Plans what is to go, in a thread of its own.
pub(super) fn clean_up(
    context: &Arc<Context>,
    look: &Arc<Look>,
    (cleanup, request): (CleanupRequest, PlanRequest),
    news: &UnboundedSender<News>,
) {
    let (context, look) = (at_present(context), Arc::clone(look));
    let told = news.clone();
    tell_event(news, move || {
        match make_plan(&context, &look, (&cleanup, &told)) {
            Ok(made) if is_by_another_clock(&context, &made) => Event::Planned {
                hash: made.made.hash(),
                plan: Arc::new(made.made.plan),
                request,
                unstored: Some("--now was given: retention is judged by the clock".to_owned()),
                at: now(),
            },
            Ok(made) => store(&context, made.made, request),
            Err(error) => Event::PlanFailed(error.to_string()),
        }
    });
}

/// Says whether segments would go by a clock that was only given.
fn is_by_another_clock(context: &Context, made: &MadeCleanup) -> bool {
    context.now_given && context.whose == Whose::Broker && !only_leftovers(made)
}

fn args(ask: &CleanupAsk, on: Option<&Path>) -> CleanupArgs {
    let mut what = CleanupWhat {
        free: None,
        leftovers: false,
        past_retention: None,
        strays: false,
    };
    match ask {
        CleanupAsk::Leftovers => what.leftovers = true,
        CleanupAsk::Strays => what.strays = true,
        CleanupAsk::PastRetention(topics) => what.past_retention = Some(topics.clone()),
        CleanupAsk::Shorten(of) => what.past_retention = Some(of.names.clone()),
        CleanupAsk::Free(bytes) => what.free = Some(*bytes),
        // All that is left of the choice goes.
        CleanupAsk::Marked(_) => what.free = Some(u64::MAX),
    }
    CleanupArgs {
        what,
        on: on.map(Path::to_owned),
        beside_broker: false,
        what_if: match ask {
            CleanupAsk::Shorten(of) => Some(of.limits),
            _ => None,
        },
        json: false,
        answers: Answers::default(),
        quarantine: None,
    }
}

fn make_offer(
    context: &Context,
    look: &Look,
    dir: &Path,
    target: u64,
) -> Result<FreeOffer, CliError> {
    let on = dirs_of_volume(look, Some(dir))?;
    let args = args(&CleanupAsk::Free(target), Some(dir));
    let asked = cleanup_asked(context, &args, look, &on)?;
    let made = make_cleanup(&RealStorage, &asked.spec)?;
    Ok(FreeOffer {
        at: now(),
        ..free_offer(context, look, (dir, target), (&asked, &made))
    })
}

fn make_plan(
    context: &Context,
    look: &Look,
    (request, news): (&CleanupRequest, &UnboundedSender<News>),
) -> Result<MadeCleanup, CliError> {
    let on = dirs_of_volume(look, request.on.as_deref())?;
    let args = args(&request.ask, request.on.as_deref());
    let CleanupAsked {
        mut spec, doubts, ..
    } = cleanup_asked(context, &args, look, &on)?;
    // The dialog has shown what is doubtful; without it nothing has.
    if let CleanupAsk::PastRetention(_) | CleanupAsk::Shorten(_) = request.ask {
        for text in doubts {
            let level = Level::Warn;
            let _ = news.send(News::Event(Event::Notice { level, text }));
        }
    }
    if let CleanupAsk::Marked(choices) = &request.ask {
        narrow(&mut spec, choices);
    }
    if request.copies == Copies::None {
        spec.quarantine = None;
    }
    let made = make_cleanup(&RealStorage, &spec)?;
    let Some(quarantine) = shared_quarantine(&spec, &on) else {
        return Ok(made);
    };
    if only_leftovers(&made) && context.settings.quarantine.is_none() {
        // What a boot removes anyway is not worth a copy that keeps its space.
        spec.quarantine = None;
        return Ok(make_cleanup(&RealStorage, &spec)?);
    }
    // What helps comes first: the line is cut on a narrow screen.
    let how = match request.ask {
        CleanupAsk::Shorten(_) => {
            "a copy on the same volume frees nothing: :shorten no-copies keeps none"
        }
        _ => "a copy on the same volume frees nothing: start krescue with --quarantine DIR or none",
    };
    Err(CliError::refused(format!(
        "{how} (the quarantine is {})",
        quarantine.display()
    )))
}

/// Leaves only what was marked.
fn narrow(spec: &mut CleanupSpec, choices: &[FreeChoice]) {
    let mut only = BTreeSet::new();
    let mut counts: BTreeMap<(PathBuf, String), usize> = BTreeMap::new();
    for choice in choices {
        let (dir, name) = (choice.log_dir.clone(), choice.dir_name.clone());
        match choice.what {
            FreeWhat::Leftover(kind) => {
                only.insert((dir, name, kind));
            }
            FreeWhat::Segments(count) => {
                counts.insert((dir, name), count);
            }
        }
    }
    spec.only = Some(only);
    spec.logs.retain_mut(|log| {
        let count = counts.get(&(log.log_dir.clone(), log.dir_name.clone()));
        log.segments.truncate(count.copied().unwrap_or(0));
        !log.segments.is_empty()
    });
}
