//! What a person asked for, while nothing lies over the pane.

use crate::app::action::{Action, PaneId};
use crate::app::effect::Effect;
use crate::app::event::Level;
use crate::app::state::{CommandLine, Detail, Filter, Frozen, Overlay, State};
use crate::app::{act, command, lines};

use super::{acts, overlays, tell};

/// Does what `action` asks for: what lies over the panes hears it first.
pub(super) fn on_action(state: &mut State, action: Action, effects: &mut Vec<Effect>) {
    if let Some(action) = overlays::on_action(state, action, effects) {
        carry_out(state, action, effects);
    }
}

/// Does what `action` asks for, whatever lies over the panes.
pub(super) fn carry_out(state: &mut State, action: Action, effects: &mut Vec<Effect>) {
    match action {
        Action::Nothing | Action::Edit(_) | Action::Complete(_) | Action::Choose(_) => {}
        Action::ShowPane(pane) => show(state, pane),
        Action::BesidePane(step) => show(state, state.view.pane.beside(step)),
        Action::MoveBy(rows) => move_by(state, rows, effects),
        Action::First => move_by(state, isize::MIN / 2, effects),
        Action::Last => move_by(state, isize::MAX / 2, effects),
        Action::Enter => enter(state, effects),
        Action::Back => back(state),
        Action::JumpTo(name) => jump(state, &name, effects),
        Action::ToggleMark => state.view.table.toggle_mark(),
        Action::SortBeside(step) => {
            let table = &mut state.view.table;
            table.sort = table.sort.beside(step);
            table.touch();
        }
        Action::SortBy { column, direction } => {
            let table = &mut state.view.table;
            table.sort = column;
            table.direction = direction;
            table.touch();
        }
        Action::TurnOrder => {
            let table = &mut state.view.table;
            table.direction = table.direction.turned();
            table.touch();
        }
        Action::SetFilter(text) => set_filter(state, &text),
        Action::OpenFilter => {
            state.view.pane = PaneId::Recovery;
            state.view.detail = None;
            let before = state.view.table.filter.clone();
            state.view.overlays.push(Overlay::Filter {
                input: tui_input::Input::default(),
                before,
            });
        }
        Action::OpenCommand => open_command(state),
        Action::OpenHelp => state.view.overlays.push(Overlay::Help {
            input: tui_input::Input::default(),
            scroll: 0,
        }),
        Action::OpenActs => {
            let items = act::menu(state);
            state.view.overlays.push(Overlay::Acts {
                items,
                cursor: 0,
                refused: None,
            });
        }
        Action::OpenLines => {
            let lines = lines::lines(state);
            state
                .view
                .overlays
                .push(Overlay::Lines { lines, scroll: 0 });
        }
        Action::Refresh => {
            if state.world.broker.is_some() {
                effects.push(Effect::List);
            }
        }
        Action::Freeze => freeze(state),
        Action::SaveScreen => effects.push(Effect::SaveScreen),
        Action::Quit => quit(state, effects),
        Action::Do(act) => acts::on_act(state, act, effects),
        Action::SetHandOver(hand_over) => acts::on_hand_over(state, hand_over, effects),
    }
}

/// Opens the command line.
pub(super) fn open_command(state: &mut State) {
    let candidates = command::complete("", state);
    let line = CommandLine {
        candidates,
        ..CommandLine::default()
    };
    state.view.overlays.push(Overlay::Command(line));
}

/// Hides rows that do not fit.
pub(super) fn set_filter(state: &mut State, text: &str) {
    state.view.table.filter = Filter::new(text);
    state.view.table.touch();
}

/// Ends the program, or asks what becomes of what runs.
pub(super) fn quit(state: &mut State, effects: &mut Vec<Effect>) {
    if state.world.running().is_none() {
        effects.push(Effect::Quit);
    } else if !matches!(state.view.top(), Some(Overlay::Quit)) {
        state.view.overlays.push(Overlay::Quit);
    }
}

fn show(state: &mut State, pane: PaneId) {
    state.view.pane = pane;
}

fn move_by(state: &mut State, rows: isize, effects: &mut Vec<Effect>) {
    let Some(detail) = &state.view.detail else {
        state.view.table.move_by(rows);
        return;
    };
    let world = state.shown();
    let Some(row) = world.logs.row(detail.log) else {
        return;
    };
    let last = Detail::items(world, row).len().saturating_sub(1);
    let cursor = detail.cursor.saturating_add_signed(rows).min(last);
    if let Some(detail) = &mut state.view.detail
        && detail.cursor != cursor
    {
        detail.cursor = cursor;
        read_bytes(state, effects);
    }
}

/// Asks for the bytes that the line under the cursor speaks of, unless they were asked for last: the line may speak of
/// another place after a move and after a scan.
pub(super) fn read_bytes(state: &mut State, effects: &mut Vec<Effect>) {
    let detail = state.view.detail.as_ref();
    let place = detail.and_then(|detail| detail.place(state.shown()));
    let Some(detail) = &mut state.view.detail else {
        return;
    };
    if detail.asked == place {
        return;
    }
    detail.asked.clone_from(&place);
    detail.bytes = None;
    if let Some((file, position)) = place {
        effects.push(Effect::ReadBytes {
            log: detail.log,
            file,
            position,
        });
    }
}

fn enter(state: &mut State, effects: &mut Vec<Effect>) {
    match state.view.pane {
        PaneId::Overview => show(state, PaneId::Recovery),
        PaneId::Recovery if state.view.detail.is_none() => {
            state.view.detail = state.view.table.selected().map(Detail::new);
            if let Some(detail) = &state.view.detail {
                state.view.table.select(detail.log);
            }
            read_bytes(state, effects);
        }
        PaneId::Recovery | PaneId::Log => {}
    }
}

fn back(state: &mut State) {
    let view = &mut state.view;
    match view.pane {
        PaneId::Recovery if view.detail.is_some() => view.detail = None,
        PaneId::Recovery if view.table.filter.is_active() => set_filter(state, ""),
        PaneId::Recovery | PaneId::Log => view.pane = PaneId::Overview,
        PaneId::Overview => {}
    }
}

fn jump(state: &mut State, name: &str, effects: &mut Vec<Effect>) {
    let Some(id) = command::find_log(name, state) else {
        tell(
            state,
            effects,
            Level::Warn,
            &format!("no partition is named {name}"),
        );
        return;
    };
    state.view.pane = PaneId::Recovery;
    if !state.view.table.order().contains(&id) {
        set_filter(state, "");
    }
    state.view.table.select(id);
    state.view.detail = Some(Detail::new(id));
    read_bytes(state, effects);
}

fn freeze(state: &mut State) {
    state.frozen = match state.frozen.take() {
        Some(_) => None,
        None => Some(Box::new(Frozen {
            world: state.world.clone(),
            since: state.now,
        })),
    };
    state.view.table.touch();
}
