//! What can go to free space, and the plan of what is to go, beside the screen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use super::look::{News, at_present, now, tell_event};
use super::work::store;
use crate::app::effect::{CleanupAsk, CleanupRequest, Copies, FreeChoice, FreeWhat, PlanRequest};
use crate::app::state::{FreeOffer, KeptLeftover, free_lines};
use crate::app::{Event, Level, text};
use crate::cli::args::{Answers, CleanupArgs, CleanupWhat};
use crate::cli::cleanup_look::{
    cleanup_spec, costless, dirs_of_volume, only_leftovers, other_ways, shared_quarantine,
};
use crate::cli::target::Presence;
use crate::cli::{CliError, Context, Look, Whose};
use crate::disk::RealStorage;
use crate::engine::{CleanupSpec, MadeCleanup, make_cleanup, volume_facts};
use crate::log::UsageKind;
use crate::plan::cleanup::LeftoverProof;

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
        CleanupAsk::Free(bytes) => what.free = Some(*bytes),
        // All that is left of the choice goes.
        CleanupAsk::Marked(_) => what.free = Some(u64::MAX),
    }
    CleanupArgs {
        what,
        on: on.map(Path::to_owned),
        beside_broker: false,
        what_if: None,
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
    let (spec, mut notes) = cleanup_spec(context, &args, look, &on)?;
    let made = make_cleanup(&RealStorage, &spec)?;
    let space = volume_facts(&[dir.to_owned()]);
    let elsewhere = |partition: &crate::terms::TopicPartition| {
        let evidence = (spec.replicas)(partition)?;
        Some(evidence.elsewhere(context.now))
    };
    let kept = made.leftovers.iter().filter_map(|leftover| {
        let why = match (&leftover.proof, leftover.kind) {
            (LeftoverProof::Missing(why), _) => why.clone(),
            (LeftoverProof::Proved, UsageKind::StrayDirs) => {
                "a proved stray goes by a plan of its own: :cleanup strays".to_owned()
            }
            _ => return None,
        };
        Some(KeptLeftover {
            dir_name: leftover.dir_name.clone(),
            allocated: leftover.allocated,
            why,
        })
    });
    if made.chosen.missing > 0 {
        notes.push(format!(
            "only {} can be freed, {} less than asked for",
            text::bytes(made.chosen.freed),
            text::bytes(made.chosen.missing)
        ));
    }
    if !made.logs.is_empty() {
        notes.extend(made.groups.gaps());
    }
    if look.presence != Presence::Down {
        notes.push(format!(
            "a broker runs: carried out once it is down, or, on a dir that it has given up, by krescue cleanup --free {target} --on {} --beside-broker",
            dir.display()
        ));
    }
    Ok(FreeOffer {
        dir: dir.to_owned(),
        target,
        space: space.into_iter().find_map(|facts| facts.space),
        costless: costless(context, look, Some(dir))
            .into_iter()
            .map(|(_, finding)| finding)
            .collect(),
        lines: free_lines(
            &made.leftovers,
            &made.logs,
            (&made.chosen, &made.groups),
            elsewhere,
        ),
        // A note beside; what it lacks is told above.
        ways: other_ways(context, look, (&spec, &made), target).unwrap_or_default(),
        kept: kept.collect(),
        boot_free: made.boot.free,
        boot_reads: made.boot.reads,
        copies_here: shared_quarantine(&spec, &on).is_some(),
        notes,
        at: now(),
    })
}

fn make_plan(
    context: &Context,
    look: &Look,
    (request, news): (&CleanupRequest, &UnboundedSender<News>),
) -> Result<MadeCleanup, CliError> {
    let on = dirs_of_volume(look, request.on.as_deref())?;
    let args = args(&request.ask, request.on.as_deref());
    let (mut spec, doubts) = cleanup_spec(context, &args, look, &on)?;
    // The dialog has shown what is doubtful; without it nothing has.
    if let CleanupAsk::PastRetention(_) = request.ask {
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
    Err(CliError::refused(format!(
        "the quarantine {} lies on the volume that is to become free: what is kept there frees nothing",
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
