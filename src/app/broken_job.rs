//! What the situation says of a job that did not reach its end.

use super::facts::Presence;
use super::lines::short_hash;
use super::situation::{Situation, Urgency, deletes};
use super::state::World;
use crate::engine::JobOutcome;
use crate::plan::{PlanAct, StopState};

/// A job that did not reach its end is told of until something newer is known.
pub(super) fn broken_off(world: &World) -> Option<Situation> {
    let work = world.work.as_ref().filter(|work| work.is_apply())?;
    if world.plan.as_ref().is_some_and(|plan| plan.made > work.at) {
        return None;
    }
    let text = match work.outcome.as_ref()? {
        // Each prefix of a cleanup boots.
        JobOutcome::Stopped if deletes(world) => {
            let text = "the cleanup was stopped in the middle; what is gone stays gone";
            return Some(Situation::new(Urgency::Work, text, "4 f free"));
        }
        JobOutcome::Stopped => {
            "DO NOT START before a rerun: the job was stopped in the middle; what is done stays done"
                .to_owned()
        }
        JobOutcome::Failed { cause } => format!("the job failed in the middle: {cause}"),
        JobOutcome::Refused { cause } => format!("refused before any change: {cause}"),
        JobOutcome::Done | JobOutcome::DoneButLeft { .. } => return None,
    };
    Some(Situation::new(Urgency::Danger, text, ":recover"))
}

/// A job was killed before this session, and nothing has brought its log dirs to an end since.
pub(super) fn killed(world: &World) -> Option<Situation> {
    let killed = world.killed.as_ref()?;
    let newer = world
        .plan
        .as_ref()
        .is_some_and(|plan| plan.made > killed.at);
    let dirs = &world.logs.dirs;
    // A job takes the marker first and plants it last: with it another has ended since, or a broker.
    let is_over = dirs.iter().all(|dir| dir.stop == Some(StopState::Clean));
    let runs = matches!(world.presence(), Some(Presence::Running { .. }));
    if newer || is_over || runs {
        return None;
    }
    let short = short_hash(&killed.plan);
    // Each prefix of a cleanup boots.
    let urgency = match (&killed.undoes, killed.act) {
        (None, Some(PlanAct::CleanUp)) => Urgency::Work,
        _ => Urgency::Danger,
    };
    let (text, offer) = match (&killed.undoes, killed.act) {
        (Some(undone), _) => (
            format!(
                "DO NOT START: taking plan {} back was killed in the middle",
                short_hash(undone)
            ),
            ":undo",
        ),
        (None, Some(PlanAct::CleanUp)) => (
            "the cleanup was killed in the middle; what is gone stays gone".to_owned(),
            "4 f free",
        ),
        (None, Some(PlanAct::Recover)) => (
            format!("DO NOT START before a rerun: a job was killed; :undo {short} takes it back"),
            ":recover",
        ),
        (None, _) => (
            format!(
                "DO NOT START: a job was killed; krescue jobs goes on, :undo {short} takes it back"
            ),
            "",
        ),
    };
    Some(Situation::new(urgency, text, offer))
}
