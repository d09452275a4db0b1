//! Plans for the living cluster: asked for, shown, confirmed, carried out.

use std::sync::Arc;

use crate::app::confirm::Phrase;
use crate::app::effect::{Effect, Target};
use crate::app::event::Level;
use crate::app::live_words;
use crate::app::state::{Freeing, KeptChange, LiveDialog, LiveWork, Overlay, Prompt, State};
use crate::plan::{Class, LivePlan, LiveWish};

use super::tell;

/// Asks for the plan of a wish.
pub(super) fn plan(state: &mut State, wish: LiveWish, effects: &mut Vec<Effect>) {
    state.view.overlays.clear();
    state.world.live_work = Some(LiveWork {
        what: "a plan for the living cluster".to_owned(),
        since: state.now,
    });
    tell(state, effects, Level::Note, "asking the brokers for a plan");
    effects.push(Effect::PlanLive(wish));
}

/// Shows a plan that was made.
pub(super) fn show(
    state: &mut State,
    (plan, hash, line): (Arc<LivePlan>, String, String),
    effects: &mut Vec<Effect>,
) {
    state.world.live_work = None;
    state.view.notice = None;
    let mut lines = live_words::plan_lines(&hash, &plan);
    lines.push(format!("  same as    {line}"));
    state.view.overlays.push(Overlay::Live(LiveDialog {
        hash,
        plan,
        lines: lines.into(),
        scroll: 0,
        prompt: None,
        refused: None,
        applied: false,
        outcome: None,
    }));
    effects.push(Effect::DrainInput);
}

/// Tells why there is no plan.
pub(super) fn failed(state: &mut State, cause: &str, effects: &mut Vec<Effect>) {
    state.world.live_work = None;
    tell(state, effects, Level::Error, cause);
}

/// Asks for the phrase, or says why not.
pub(super) fn ask(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(Overlay::Live(dialog)) = state.view.top() else {
        return;
    };
    let refused = cannot_apply(state, dialog);
    let phrase = phrase(&dialog.plan, &state.setup.host);
    let now = state.now;
    if let Some(Overlay::Live(dialog)) = state.view.top_mut() {
        dialog.prompt = refused.is_none().then(|| Prompt::new(phrase, now));
        dialog.refused = refused;
        effects.push(Effect::DrainInput);
    }
}

/// Carries out the plan on screen; the session looks again from here on.
pub(super) fn apply(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(Overlay::Live(dialog)) = state.view.top() else {
        return;
    };
    if let Some(why) = cannot_apply(state, dialog) {
        tell(
            state,
            effects,
            Level::Warn,
            &format!("not carried out: {why}"),
        );
        return;
    }
    let (hash, what) = (dialog.hash.clone(), dialog.plan.sentence());
    if let Some(Overlay::Live(dialog)) = state.view.top_mut() {
        dialog.applied = true;
        dialog.refused = None;
    }
    state.session.disarm();
    state.world.live_work = Some(LiveWork {
        what,
        since: state.now,
    });
    effects.push(Effect::ApplyLive { hash });
}

/// Tells what came of a plan that was carried out.
pub(super) fn ended(
    state: &mut State,
    (hash, result): (&str, Result<Vec<String>, String>),
    effects: &mut Vec<Effect>,
) {
    state.world.live_work = None;
    let (level, text) = match &result {
        Ok(lines) => (Level::Note, format!("done: {}", lines.join("; "))),
        Err(cause) => (Level::Error, cause.clone()),
    };
    effects.push(Effect::Log {
        target: Target::Audit,
        level,
        text: text.clone(),
    });
    let is_shown =
        |overlay: &Overlay| matches!(overlay, Overlay::Live(dialog) if dialog.hash == hash);
    match state
        .view
        .overlays
        .iter_mut()
        .find(|overlay| is_shown(overlay))
    {
        Some(Overlay::Live(dialog)) => dialog.outcome = Some(result),
        _ => state.view.tell(level, text, state.now),
    }
    effects.push(Effect::AskCluster);
}

/// Takes which changes wait for their old values: of those that were put back nothing more is to come.
pub(super) fn in_force(state: &mut State, kept: Vec<KeptChange>) {
    let lasts = |of: &Freeing| {
        let mut kept = kept.iter();
        !of.plan.can_be_restored() || kept.any(|kept| kept.plan == *of.plan)
    };
    state.world.freeing.retain(lasts);
    state.world.in_force = kept;
}

/// Takes what a change has freed so far; tells it in passing once it is over.
pub(super) fn freed(state: &mut State, freeing: Freeing, effects: &mut Vec<Effect>) {
    let mut kept = state.world.in_force.iter();
    if freeing.plan.can_be_restored() && !kept.any(|kept| kept.plan == *freeing.plan) {
        return;
    }
    if let Some(stays) = &freeing.stays {
        let lines = stays.iter().map(|line| format!("stays: {line}"));
        let so_far = &freeing.so_far;
        let freed = so_far.brokers.iter();
        let freed = freed.map(|of| live_words::freed_line(of, so_far.promised));
        let freed = freed.map(|line| format!("freed: {line}"));
        effects.extend(freed.chain(lines).map(|text| Effect::Log {
            target: Target::Krescue,
            level: Level::Note,
            text,
        }));
        if !is_shown(state, &freeing.hash) {
            let text = live_words::freed_so_far(&freeing, state.now);
            state.view.tell(Level::Note, text, state.now);
        }
    }
    let all = &mut state.world.freeing;
    match all.iter_mut().find(|of| of.hash == freeing.hash) {
        Some(of) => *of = freeing,
        None => all.push(freeing),
    }
}

/// Shows again what the newest change has freed.
pub(super) fn show_freed(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(freeing) = state.world.freeing.last() else {
        let text = "no change of this session lets segments go";
        return tell(state, effects, Level::Note, text);
    };
    let dialog = LiveDialog {
        hash: freeing.hash.clone(),
        plan: Arc::clone(&freeing.plan),
        lines: live_words::plan_lines(&freeing.hash, &freeing.plan).into(),
        scroll: 0,
        prompt: None,
        refused: None,
        applied: true,
        outcome: Some(Ok(freeing.done.clone())),
    };
    state.view.overlays.push(Overlay::Live(dialog));
}

fn is_shown(state: &State, hash: &str) -> bool {
    let mut overlays = state.view.overlays.iter();
    overlays.any(|overlay| matches!(overlay, Overlay::Live(dialog) if dialog.hash == hash))
}

/// Returns how many lines the box of a plan has.
pub(super) fn lines(state: &State, dialog: &LiveDialog) -> usize {
    let Some(Ok(done)) = &dialog.outcome else {
        return dialog.lines.len();
    };
    live_words::outcome_lines(&dialog.plan, done, state.freeing(&dialog.hash), state.now).len()
}

/// Returns why the plan on screen cannot be carried out now; `None` if it can.
fn cannot_apply(state: &State, dialog: &LiveDialog) -> Option<String> {
    if let Some(why) = state.session.forbidden() {
        return Some(format!("this session only looks: {why}"));
    }
    if dialog.applied {
        return Some("this plan was carried out; ask for a new one".to_owned());
    }
    if let Some(work) = &state.world.live_work {
        return Some(format!("{} is under way", work.what));
    }
    (!state.session.is_armed()).then(|| "LOOKING: type :arm first; the plan stays here".to_owned())
}

fn phrase(plan: &LivePlan, host: &str) -> Phrase {
    match plan.class() {
        Class::A => Phrase::Yes,
        Class::B => Phrase::Exactly(plan.object()),
        Class::C => Phrase::Exactly(format!("{host} {}", live_words::loss_phrase(plan))),
    }
}
