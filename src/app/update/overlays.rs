//! Keys while something lies over the panes: it hears them first.

use tui_input::{Input, InputRequest};

use crate::app::act::{self, Act};
use crate::app::action::Action;
use crate::app::command;
use crate::app::confirm::Phrase;
use crate::app::effect::Effect;
use crate::app::facts::KeptFacts;
use crate::app::state::{CommandLine, Overlay, Pending, Prompt, State, WorkKind};
use crate::plan::HandOver;

use super::{acts, free_space, keys, live, segments};

/// More lines than any list of keys has.
const HELP_LINES: usize = 200;

/// Gives `action` to what lies on top; returns it if nothing wants it.
pub(super) fn on_action(
    state: &mut State,
    action: Action,
    effects: &mut Vec<Effect>,
) -> Option<Action> {
    let now = state.now;
    let Some(top) = state.view.top().cloned() else {
        return Some(action);
    };
    match (top, action) {
        (Overlay::Plan(dialog), action) if dialog.prompt.is_some() => {
            if dialog.prompt.is_some_and(|prompt| prompt.is_deaf(now)) {
                return None;
            }
            on_prompt(state, &action, effects);
        }
        (Overlay::Live(dialog), action) if dialog.prompt.is_some() => {
            if dialog.prompt.is_some_and(|prompt| prompt.is_deaf(now)) {
                return None;
            }
            on_live_prompt(state, &action, effects);
        }
        (Overlay::Quit, action) => on_quit(state, &action, effects),
        (_, Action::Quit) | (Overlay::Chooser { .. }, Action::Choose('q')) => {
            keys::quit(state, effects);
        }
        // Without a broker there is nothing behind the chooser.
        (Overlay::Chooser { .. }, Action::Back) => {}
        (Overlay::Filter { before, .. }, Action::Back) => {
            keys::put_filter(state, before);
            state.view.overlays.pop();
        }
        (Overlay::WhatIf, Action::Back) => segments::drop_what_if(state),
        (Overlay::WhatIf, action) => segments::on_what_if(state, &action),
        (_, Action::Back) => {
            state.view.overlays.pop();
        }
        (Overlay::FreeSpace(_), action) => free_space::on_action(state, &action, effects),
        (Overlay::Live(_), Action::Choose('a')) => live::ask(state, effects),
        (Overlay::Plan(_) | Overlay::Live(_) | Overlay::Lines { .. }, Action::OpenCommand) => {
            keys::open_command(state);
        }
        (_, Action::SaveScreen) => effects.push(Effect::SaveScreen),
        (Overlay::Command(line), action) => on_command(state, line, &action, effects),
        (Overlay::Plan(_), Action::Choose('a')) => acts::ask(state, effects),
        (Overlay::Plan(_), Action::Choose('h')) => next_hand_over(state, effects),
        (Overlay::Acts { items, cursor, .. }, action) => {
            on_acts(state, (&items, cursor), &action, effects);
        }
        (Overlay::Kept { items, cursor, .. }, Action::Enter) => {
            on_kept(state, &items, cursor, effects);
        }
        (Overlay::Chooser { cursor }, Action::Enter) => {
            state.view.overlays.pop();
            effects.push(Effect::OpenBroker(cursor));
        }
        (Overlay::Filter { input, .. }, Action::Enter) => {
            keys::set_filter(state, input.value());
            state.view.overlays.pop();
        }
        (_, action) => on_move(state, &action),
    }
    None
}

/// Opens the plan that takes the chosen plan back, or says why there is none.
fn on_kept(state: &mut State, items: &[KeptFacts], cursor: usize, effects: &mut Vec<Effect>) {
    let Some(item) = items.get(cursor) else {
        return;
    };
    let refused = item
        .why_not
        .clone()
        .or_else(|| act::refusal(state, &Act::Undo(item.plan.clone())));
    match refused {
        None => acts::undo(state, item.plan.clone(), effects),
        Some(why) => {
            if let Some(Overlay::Kept { refused, .. }) = state.view.top_mut() {
                *refused = Some(why);
            }
        }
    }
}

/// Moves, scrolls and edits: what all of them do alike.
fn on_move(state: &mut State, action: &Action) {
    let choices = state.world.choices.len();
    let live_lines = match state.view.top() {
        Some(Overlay::Live(dialog)) => live::lines(state, dialog),
        _ => 0,
    };
    let mut filter = None;
    match (state.view.top_mut(), action) {
        (Some(Overlay::Chooser { cursor }), action) => shift(cursor, action, choices),
        (
            Some(Overlay::Kept {
                items,
                cursor,
                refused,
            }),
            action,
        ) => {
            *refused = None;
            shift(cursor, action, items.len());
        }
        (Some(Overlay::Help { input, scroll }), action) => match action {
            Action::Edit(request) => {
                input.handle(*request);
                *scroll = 0;
            }
            action => shift(scroll, action, HELP_LINES),
        },
        (Some(Overlay::Filter { input, .. }), Action::Edit(request)) => {
            input.handle(*request);
            filter = Some(input.value().to_owned());
        }
        (Some(Overlay::Lines { lines, scroll, .. }), action) => {
            let last = lines.len();
            shift(scroll, action, last);
        }
        (Some(Overlay::Live(dialog)), action) => {
            shift(&mut dialog.scroll, action, live_lines);
        }
        (Some(Overlay::Plan(dialog)), action) => {
            let last = dialog.lines.len();
            shift(&mut dialog.scroll, action, last);
        }
        _ => {}
    }
    if let Some(text) = filter {
        keys::set_filter(state, &text);
    }
}

fn shift(at: &mut usize, action: &Action, len: usize) {
    let last = len.saturating_sub(1);
    *at = match action {
        Action::MoveBy(rows) => at.saturating_add_signed(*rows).min(last),
        Action::First => 0,
        Action::Last => last,
        _ => *at,
    };
}

fn on_command(
    state: &mut State,
    mut line: CommandLine,
    action: &Action,
    effects: &mut Vec<Effect>,
) {
    match action {
        Action::Enter => match command::parse(line.input.value(), state) {
            Ok(action) => {
                state.view.overlays.pop();
                keys::carry_out(state, action, effects);
                return;
            }
            Err(error) => line.error = Some(error),
        },
        Action::Edit(InputRequest::DeletePrevChar) if line.input.value().is_empty() => {
            state.view.overlays.pop();
            return;
        }
        Action::Edit(request) => {
            line.input.handle(*request);
            line.error = None;
            line.picked = None;
            line.candidates = command::complete(line.input.value(), state);
        }
        Action::Complete(step) if !line.candidates.is_empty() => {
            let len = line.candidates.len().cast_signed();
            let at = match line.picked {
                Some(at) => at.cast_signed() + step,
                None if *step < 0 => len - 1,
                None => 0,
            };
            let at = at.rem_euclid(len).cast_unsigned();
            line.picked = Some(at);
            if let Some(text) = line.candidates.get(at) {
                line.input = Input::new(text.clone());
            }
        }
        _ => {}
    }
    if let Some(top) = state.view.top_mut() {
        *top = Overlay::Command(line);
    }
}

fn on_acts(
    state: &mut State,
    (items, cursor): (&[act::ActItem], usize),
    action: &Action,
    effects: &mut Vec<Effect>,
) {
    let chosen = match action {
        Action::Choose(letter) => items.iter().find(|item| item.letter == *letter),
        Action::Enter => items.get(cursor),
        _ => None,
    };
    let Some(item) = chosen else {
        if let Some(Overlay::Acts { cursor, items, .. }) = state.view.top_mut() {
            let len = items.len();
            shift(cursor, action, len);
        }
        return;
    };
    // The menu may be older than what it says: the act is judged again.
    let why = act::refusal(state, &item.act);
    if why.is_none() {
        state.view.overlays.pop();
        acts::on_act(state, item.act.clone(), effects);
    } else if let Some(Overlay::Acts { refused, .. }) = state.view.top_mut() {
        *refused = why;
    }
}

fn next_hand_over(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(shown) = &state.world.plan else {
        return;
    };
    let whole = shown.request.scope == crate::app::effect::Scope::All;
    let next = match shown.request.hand_over {
        HandOver::Verify if whole => HandOver::Clean,
        HandOver::Verify | HandOver::Clean => HandOver::None,
        HandOver::None => HandOver::Verify,
    };
    acts::on_hand_over(state, next, effects);
}

/// What a key says to the question whether a plan is carried out.
enum Answer {
    Yes,
    No,
    Typing,
}

fn on_prompt(state: &mut State, action: &Action, effects: &mut Vec<Effect>) {
    let Some(Overlay::Plan(dialog)) = state.view.top_mut() else {
        return;
    };
    let Some(prompt) = &mut dialog.prompt else {
        return;
    };
    match answer(prompt, action) {
        Answer::Typing => {}
        Answer::No => dialog.prompt = None,
        Answer::Yes => {
            let hash = dialog.hash.clone();
            dialog.prompt = None;
            acts::apply(state, &hash, effects);
        }
    }
}

fn on_live_prompt(state: &mut State, action: &Action, effects: &mut Vec<Effect>) {
    let Some(Overlay::Live(dialog)) = state.view.top_mut() else {
        return;
    };
    let Some(prompt) = &mut dialog.prompt else {
        return;
    };
    match answer(prompt, action) {
        Answer::Typing => {}
        Answer::No => dialog.prompt = None,
        Answer::Yes => {
            dialog.prompt = None;
            live::apply(state, effects);
        }
    }
}

/// Takes a key for the prompt; No is the default, and Esc is always No.
fn answer(prompt: &mut Prompt, action: &Action) -> Answer {
    match (&prompt.phrase, action) {
        (Phrase::Yes, Action::Edit(InputRequest::InsertChar('y' | 'Y'))) => Answer::Yes,
        (_, Action::Back | Action::Quit)
        | (Phrase::Yes, Action::Edit(InputRequest::InsertChar(_)) | Action::Enter) => Answer::No,
        (Phrase::Exactly(_), Action::Enter) => {
            if prompt.phrase.accepts(prompt.input.value()) {
                return Answer::Yes;
            }
            prompt.wrong = true;
            Answer::Typing
        }
        (Phrase::Exactly(_), Action::Edit(request)) => {
            prompt.wrong = false;
            prompt.input.handle(*request);
            Answer::Typing
        }
        _ => Answer::Typing,
    }
}

fn on_quit(state: &mut State, action: &Action, effects: &mut Vec<Effect>) {
    let Some(work) = state.world.running() else {
        state.view.overlays.pop();
        keys::quit(state, effects);
        return;
    };
    match (action, &work.kind) {
        (Action::Back, _) => {
            state.view.overlays.pop();
        }
        // A job outlives the screen, so a second ctrl-c leaves it running.
        (Action::Choose('l') | Action::Quit, WorkKind::Apply { .. }) => effects.push(Effect::Quit),
        (Action::Choose('t'), WorkKind::Apply { .. }) => {
            state.view.overlays.pop();
            state.view.pending = Pending::Quit;
            acts::stop(state, effects);
        }
        (
            Action::Choose('e') | Action::Quit,
            WorkKind::Scan | WorkKind::Verify | WorkKind::Preflight,
        ) => {
            effects.extend([Effect::CancelPlan, Effect::Quit]);
        }
        _ => {}
    }
}
