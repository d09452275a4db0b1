//! Acts: each opens a plan or does what changes no file; only a confirmed plan is applied.

use crate::app::act::{self, Act, Target};
use crate::app::action::PaneId;
use crate::app::command;
use crate::app::confirm::Phrase;
use crate::app::effect::{CleanupAsk, CleanupRequest, Copies, Effect, PlanRequest, Scope};
use crate::app::event::Level;
use crate::app::facts::{KeptFacts, Presence};
use crate::app::lines::hand_over_word;
use crate::app::plan_text::plan_lines;
use crate::app::state::{
    Beside, Choice, CommandLine, HandOverChoice, LogId, Overlay, Pending, PlanDialog, Prompt,
    ShownPlan, State, WorkKind,
};
use crate::plan::{HandOver, OnLoss, StopState, TruncationTarget};

use super::{free_space, live, tell};

/// Does an act, or says why not.
pub(super) fn on_act(state: &mut State, act: Act, effects: &mut Vec<Effect>) {
    if let Some(why) = act::refusal(state, &act) {
        tell(state, effects, Level::Warn, &format!("not now: {why}"));
        return;
    }
    match act {
        Act::Scan => plan(state, PlanRequest::default(), false, effects),
        Act::Verify(target) => verify(state, &target, effects),
        Act::Preflight => {
            state.view.pane = PaneId::Recovery;
            let text = "looking what stands in the way of a boot";
            tell(state, effects, Level::Note, text);
            effects.push(Effect::Preflight);
        }
        Act::Mend => {
            let request = PlanRequest {
                scope: Scope::Mends,
                hand_over: HandOver::None,
                ..PlanRequest::default()
            };
            plan(state, request, true, effects);
        }
        Act::Recover(target) => recover(state, &target, effects),
        Act::Decide(id, on_loss) => {
            let request = PlanRequest {
                scope: act::scope(state, &Target::Log(id)),
                on_loss,
                hand_over: state.view.hand_over.unless_clean(),
                truncation: None,
                undoes: None,
                verifies: false,
            };
            plan(state, request, true, effects);
        }
        Act::AskFree => free_space::open(state, None, None, effects),
        Act::CleanUp(ask) => {
            let copies = match &ask {
                CleanupAsk::Shorten(of) => of.copies,
                _ => Copies::Kept,
            };
            let request = CleanupRequest {
                ask,
                on: act::selected_volume(state),
                copies,
            };
            clean_up(state, request, effects);
        }
        Act::Live(wish) => live::plan(state, wish, effects),
        Act::AskLive(line) => ask_line(state, line),
        Act::ListKept => {
            state.view.pending = Pending::ShowKept;
            tell(
                state,
                effects,
                Level::Note,
                "looking what can be taken back",
            );
            effects.push(Effect::ListKept);
        }
        Act::Undo(plan) => undo(state, plan, effects),
        Act::AskTruncate(id) => {
            if let Some(row) = state.world.logs.row(id) {
                let line = format!("truncate {} ", row.dir_name);
                ask_line(state, line);
            }
        }
        Act::Truncate(id, to) => truncate(state, id, to, effects),
        Act::Leave(id) => {
            if let Some(row) = state.world.logs.row_mut(id) {
                row.choice = Choice::Leave;
                let text = format!(
                    "{} stays as it is; a boot would still delete from it",
                    row.dir_name
                );
                tell(state, effects, Level::Note, &text);
            }
            state.view.table.touch();
        }
        Act::ShowPlan => show_plan(state, effects),
        Act::Stop => stop(state, effects),
        Act::Arm => match state.session.arm(state.now) {
            Ok(()) => {
                // What was refused for want of it is no longer.
                match state.view.top_mut() {
                    Some(Overlay::Plan(dialog)) => dialog.refused = None,
                    Some(Overlay::Live(dialog)) => dialog.refused = None,
                    _ => {}
                }
                let text = "ARMED: a plan that you confirm now changes files";
                tell(state, effects, Level::Warn, text);
            }
            Err(why) => tell(state, effects, Level::Warn, &why),
        },
        Act::Disarm => {
            state.session.disarm();
            tell(state, effects, Level::Note, "LOOKING: nothing is changed");
        }
        Act::ReadOnly => {
            state.session.forbid("made read-only on screen");
            tell(state, effects, Level::Note, "read-only until krescue ends");
        }
    }
}

/// Plans a cleanup; what asked for it stays below the plan.
pub(super) fn clean_up(state: &mut State, request: CleanupRequest, effects: &mut Vec<Effect>) {
    state.view.pending = Pending::ShowPlan;
    if !matches!(request.ask, CleanupAsk::Shorten(_)) {
        state.view.pane = PaneId::Volumes;
    }
    tell(state, effects, Level::Note, "planning what is to go");
    effects.push(Effect::Plan(PlanRequest {
        scope: Scope::Cleanup(request),
        hand_over: HandOver::None,
        ..PlanRequest::default()
    }));
}

/// Opens the command line with the begin of what is to be typed.
fn ask_line(state: &mut State, line: String) {
    state.view.overlays.push(Overlay::Command(CommandLine {
        candidates: command::complete(&line, state),
        input: tui_input::Input::new(line),
        ..CommandLine::default()
    }));
}

/// Reads all of the logs in full; what is found comes log by log.
fn verify(state: &mut State, target: &Target, effects: &mut Vec<Effect>) {
    let scope = act::scope(state, target);
    if matches!(&scope, Scope::Logs(logs) if logs.is_empty()) {
        tell(state, effects, Level::Warn, "nothing is marked");
        return;
    }
    let request = PlanRequest {
        scope,
        hand_over: HandOver::None,
        verifies: true,
        ..PlanRequest::default()
    };
    plan(state, request, false, effects);
}

/// Plans a truncation; a dir that was stopped cleanly stays so.
fn truncate(state: &mut State, id: LogId, to: TruncationTarget, effects: &mut Vec<Effect>) {
    let logs = &state.world.logs;
    let stop = logs.row(id).and_then(|row| logs.dir_of(row)?.stop);
    let request = PlanRequest {
        scope: act::scope(state, &Target::Log(id)),
        on_loss: OnLoss::Ask,
        hand_over: match stop {
            Some(StopState::Clean) => HandOver::Clean,
            _ => state.view.hand_over.unless_clean(),
        },
        truncation: Some(to),
        undoes: None,
        verifies: false,
    };
    plan(state, request, true, effects);
}

/// Plans to take a plan back.
pub(super) fn undo(state: &mut State, plan: String, effects: &mut Vec<Effect>) {
    let request = PlanRequest {
        undoes: Some(plan),
        hand_over: HandOver::None,
        ..PlanRequest::default()
    };
    self::plan(state, request, true, effects);
}

/// Shows the plans that can be taken back, unless something else was begun meanwhile.
pub(super) fn show_kept(state: &mut State, items: Vec<KeptFacts>, effects: &mut Vec<Effect>) {
    if state.view.pending != Pending::ShowKept {
        return;
    }
    state.view.pending = Pending::Nothing;
    if !state.view.overlays.is_empty() {
        return;
    }
    if items.is_empty() {
        let text = "no plan was carried out from this state dir that kept anything";
        tell(state, effects, Level::Note, text);
        return;
    }
    state.view.notice = None;
    state.view.overlays.push(Overlay::Kept {
        items,
        cursor: 0,
        refused: None,
    });
    effects.push(Effect::DrainInput);
}

/// Plans anew with another hand-over, if a plan is there.
pub(super) fn on_hand_over(state: &mut State, hand_over: HandOver, effects: &mut Vec<Effect>) {
    state.view.hand_over = HandOverChoice(hand_over);
    let recovery = state.world.plan.as_ref();
    let recovery =
        recovery.filter(|shown| !matches!(shown.request.scope, Scope::Mends | Scope::Cleanup(_)));
    let Some(shown) = recovery else {
        let text = format!("the next plan hands over: {}", hand_over_word(hand_over));
        tell(state, effects, Level::Note, &text);
        return;
    };
    if shown.request.undoes.is_some() {
        let text = "an undo brings the checkpoints back as well: it hands nothing over";
        tell(state, effects, Level::Warn, text);
        return;
    }
    if hand_over == HandOver::Clean && shown.request.scope != Scope::All {
        let text = "clean needs a plan of all log dirs: :recover";
        tell(state, effects, Level::Warn, text);
        return;
    }
    let request = PlanRequest {
        hand_over,
        ..shown.request.clone()
    };
    if state.world.running().is_some() {
        tell(state, effects, Level::Warn, "not now: a scan or a job runs");
        return;
    }
    plan(state, request, true, effects);
}

fn recover(state: &mut State, target: &Target, effects: &mut Vec<Effect>) {
    let scope = act::scope(state, target);
    let hand_over = match scope {
        Scope::All => state.view.hand_over.0,
        Scope::Logs(_) | Scope::Mends | Scope::Cleanup(_) => state.view.hand_over.unless_clean(),
    };
    if matches!(&scope, Scope::Logs(logs) if logs.is_empty()) {
        tell(state, effects, Level::Warn, "nothing is marked");
        return;
    }
    let request = PlanRequest {
        scope,
        on_loss: OnLoss::Ask,
        hand_over,
        truncation: None,
        undoes: None,
        verifies: false,
    };
    let made = state.world.plan.as_ref();
    let good = |shown: &ShownPlan| {
        !shown.applied && shown.beside == Beside::Nobody && shown.request == request
    };
    if made.is_some_and(good) {
        show_plan(state, effects);
    } else {
        plan(state, request, true, effects);
    }
}

fn plan(state: &mut State, request: PlanRequest, show: bool, effects: &mut Vec<Effect>) {
    state.view.pending = if show {
        Pending::ShowPlan
    } else {
        Pending::Nothing
    };
    state.view.pane = PaneId::Recovery;
    state.view.overlays.clear();
    effects.push(Effect::Plan(request));
}

/// Opens the newest plan; the screen goes on, since a plan must not be older than it looks.
pub(super) fn show_plan(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(shown) = &state.world.plan else {
        return;
    };
    let dialog = PlanDialog {
        hash: shown.hash.clone(),
        lines: plan_lines(state, shown).into(),
        scroll: 0,
        prompt: None,
        refused: None,
    };
    state.frozen = None;
    state.view.table.touch();
    state.view.overlays.push(Overlay::Plan(dialog));
    effects.push(Effect::DrainInput);
}

/// Stops a job after its step, a scan at once.
pub(super) fn stop(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(work) = state.world.work.as_mut().filter(|work| work.runs()) else {
        return;
    };
    work.stopping = true;
    match &work.kind {
        WorkKind::Scan | WorkKind::Verify | WorkKind::Preflight => {
            effects.push(Effect::CancelPlan);
        }
        WorkKind::Apply { job, .. } => effects.push(Effect::StopJob { job: job.clone() }),
    }
}

/// Returns why the plan on screen cannot be carried out now; `None` if it can.
pub(super) fn cannot_apply(state: &State, shown: &ShownPlan) -> Option<String> {
    if let Some(why) = state.session.forbidden() {
        return Some(format!("this session only looks: {why}"));
    }
    if shown.applied {
        return Some("this plan was carried out; :recover makes a new one".to_owned());
    }
    if state.world.running().is_some() {
        return Some("a scan or a job runs".to_owned());
    }
    if let Some(why) = state.world.presence().and_then(Presence::refuses) {
        return Some(why);
    }
    let broker = state.world.broker.as_ref();
    if let Some(why) = broker.and_then(|broker| broker.act_refused.clone()) {
        return Some(why);
    }
    if shown.beside == Beside::LiveBroker {
        return Some("it was read beside a living broker; :recover makes a plan".to_owned());
    }
    if let Some(why) = &shown.unstored {
        return Some(why.clone());
    }
    if shown.changes_nothing() {
        return Some("there is nothing to do".to_owned());
    }
    if !state.session.is_armed() {
        return Some("LOOKING: type :arm first; the plan stays here".to_owned());
    }
    None
}

/// Asks for the phrase, or says why not.
pub(super) fn ask(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(shown) = state.world.plan.clone() else {
        return;
    };
    let refused = cannot_apply(state, &shown);
    let phrase = Phrase::of(&shown.plan, &state.setup.host);
    let now = state.now;
    if let Some(Overlay::Plan(dialog)) = state.view.top_mut() {
        dialog.prompt = refused.is_none().then(|| Prompt::new(phrase, now));
        dialog.refused = refused;
        effects.push(Effect::DrainInput);
    }
}

/// Carries out the plan on screen; the session looks again from here on.
pub(super) fn apply(state: &mut State, hash: &str, effects: &mut Vec<Effect>) {
    let refused = match &state.world.plan {
        Some(shown) if shown.hash == hash => cannot_apply(state, shown),
        _ => Some("another plan was made meanwhile; look at it first".to_owned()),
    };
    if let Some(why) = refused {
        tell(
            state,
            effects,
            Level::Warn,
            &format!("not carried out: {why}"),
        );
        return;
    }
    if let Some(shown) = &mut state.world.plan {
        shown.applied = true;
    }
    state.session.disarm();
    state.view.overlays.clear();
    state.view.detail = None;
    let is_cleanup = state
        .world
        .plan
        .as_ref()
        .is_some_and(|shown| matches!(shown.request.scope, Scope::Cleanup(_)));
    state.view.pane = if is_cleanup {
        PaneId::Volumes
    } else {
        PaneId::Recovery
    };
    effects.push(Effect::Apply {
        plan: hash.to_owned(),
    });
}
