//! Plans that were carried out, and the plans that take them back.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use crate::app::effect::PlanRequest;
use crate::app::facts::KeptFacts;
use crate::app::{Event, Level};
use crate::cli::{Context, Look};
use crate::engine::{KeptPlan, kept_plans, plan_undo};

use super::look::{News, now, tell_event};
use super::work::store;

/// Looks which plans can be taken back, in a thread: what was kept is counted, and what lies there now is compared.
pub(super) fn list_kept(context: &Arc<Context>, news: &UnboundedSender<News>) {
    let context = Arc::clone(context);
    tell_event(news, move || {
        let state_dir = context.state_dir().map(|dir| dir.value.clone());
        let kept = state_dir
            .map_err(|error| error.to_string())
            .and_then(|dir| kept_plans(&dir, now()).map_err(|error| error.sentence()));
        match kept {
            Ok(kept) => Event::Kept(kept.into_iter().rev().map(facts).collect()),
            Err(text) => Event::Notice {
                level: Level::Error,
                text,
            },
        }
    });
}

fn facts(kept: KeptPlan) -> KeptFacts {
    KeptFacts {
        plan: kept.plan,
        at: kept.at,
        who: kept.who.to_string(),
        partitions: kept.partitions,
        bytes: kept.bytes,
        why_not: kept.why_not,
    }
}

/// Makes the plan that takes another one back, in a thread: it reads what was kept.
pub(super) fn plan_to_undo(
    context: &Arc<Context>,
    look: &Arc<Look>,
    request: PlanRequest,
    news: &UnboundedSender<News>,
) {
    let (context, look) = (Arc::clone(context), Arc::clone(look));
    tell_event(news, move || {
        let undone = request.undoes.clone().unwrap_or_default();
        let state_dir = context.state_dir().map(|dir| dir.value.clone());
        let made = state_dir
            .map_err(|error| error.to_string())
            .and_then(|dir| plan_undo(&dir, &undone, now()).map_err(|error| error.sentence()));
        match made {
            Ok(made) => {
                let dirs = made.plan.log_dirs.iter().map(|dir| dir.path.clone());
                match foreign(dirs, &look.log_dirs) {
                    Some(dir) => Event::PlanFailed(format!(
                        "plan {undone} is about {}, which is no log dir of this broker",
                        dir.display()
                    )),
                    None => store(&context, made, request),
                }
            }
            Err(cause) => Event::PlanFailed(cause),
        }
    });
}

/// Returns a log dir that is not this broker's.
fn foreign(mut dirs: impl Iterator<Item = PathBuf>, ours: &[PathBuf]) -> Option<PathBuf> {
    let same = |a: &PathBuf, b: &PathBuf| {
        let real = |dir: &PathBuf| dir.canonicalize().unwrap_or_else(|_| dir.clone());
        a == b || real(a) == real(b)
    };
    dirs.find(|dir| !ours.iter().any(|ours| same(dir, ours)))
}
