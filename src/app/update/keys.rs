//! What a person asked for, while nothing lies over the pane.

use crate::app::action::{Action, PaneId};
use crate::app::effect::Effect;
use crate::app::event::Level;
use crate::app::recording::known;
use crate::app::state::{CommandLine, Detail, Filter, Frozen, Overlay, State};
use crate::app::{act, command, lines};

use super::{acts, free_space, live, mirror, overlays, segments, sorting, tell, volumes};

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
        Action::ShowPane(pane) => show(state, pane, effects),
        Action::BesidePane(step) => show(state, state.view.pane.beside(step), effects),
        Action::MoveBy(rows) => move_by(state, rows, effects),
        Action::First => move_by(state, isize::MIN / 2, effects),
        Action::Last => move_by(state, isize::MAX / 2, effects),
        Action::Enter => enter(state, effects),
        Action::Back => back(state),
        Action::SetScale(scale) => state.view.segments.scale = scale,
        Action::OpenWhatIf => segments::open_what_if(state),
        Action::ShowFreed => live::show_freed(state, effects),
        Action::JumpTo(name) => jump(state, &name, effects),
        Action::ToggleMark if state.view.pane == PaneId::Volumes => volumes::toggle_mark(state),
        Action::ToggleMark => state.view.table.toggle_mark(),
        Action::FreeSpace { target, dir } => free_space::open(state, target, dir, effects),
        Action::SortBeside(_)
        | Action::SortBy { .. }
        | Action::SortReplicas { .. }
        | Action::SortVolumes { .. }
        | Action::SortMirror(_)
        | Action::NextScope
        | Action::TurnOrder => sorting::on_action(state, &action),
        Action::SetFilter(text) => set_filter(state, &text),
        Action::OpenFilter => open_filter(state),
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
            state.view.overlays.push(Overlay::Lines {
                title: "the same as command lines".to_owned(),
                lines,
                scroll: 0,
            });
        }
        Action::OpenSettings => segments::open_settings(state),
        Action::Refresh if state.view.pane == PaneId::Replicas => {
            effects.push(Effect::AskCluster);
        }
        Action::Failover => mirror::failover(state, effects),
        Action::Refresh if state.view.pane == PaneId::Mirror => mirror::read(state, effects),
        Action::Refresh => {
            if state.world.broker.is_some() {
                effects.push(Effect::List);
                match state.view.pane {
                    PaneId::Segments => segments::read(state, effects),
                    PaneId::Volumes | PaneId::Overview => volumes::read(state, effects),
                    _ => {}
                }
            }
        }
        Action::Freeze => freeze(state),
        Action::SaveScreen => effects.push(Effect::SaveScreen),
        Action::Record(file) => effects.push(Effect::Record {
            file,
            known: known(&state.world),
        }),
        Action::Quit => quit(state, effects),
        Action::Do(act) => acts::on_act(state, act, effects),
        Action::SetHandOver(hand_over) => acts::on_hand_over(state, hand_over, effects),
    }
}

/// Opens the filter of the pane's table; a pane without one gives way to the recovery.
fn open_filter(state: &mut State) {
    if !matches!(
        state.view.pane,
        PaneId::Replicas | PaneId::Volumes | PaneId::Mirror
    ) {
        state.view.pane = PaneId::Recovery;
        state.view.detail = None;
    }
    let before = filter(state).clone();
    state.view.overlays.push(Overlay::Filter {
        input: tui_input::Input::default(),
        before,
    });
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
    put_filter(state, Filter::new(text));
}

/// Gives the table of the pane in front a filter.
pub(super) fn put_filter(state: &mut State, filter: Filter) {
    let view = &mut state.view;
    match view.pane {
        PaneId::Replicas => {
            view.replicas.filter = filter;
            view.replicas.touch();
        }
        PaneId::Volumes => {
            view.volumes.filter = filter;
            view.volumes.touch();
        }
        PaneId::Mirror => {
            view.mirror.filter = filter;
            view.mirror.touch();
        }
        _ => {
            view.table.filter = filter;
            view.table.touch();
        }
    }
}

fn filter(state: &State) -> &Filter {
    match state.view.pane {
        PaneId::Replicas => &state.view.replicas.filter,
        PaneId::Volumes => &state.view.volumes.filter,
        PaneId::Mirror => &state.view.mirror.filter,
        _ => &state.view.table.filter,
    }
}

/// Ends the program, or asks what becomes of what runs.
pub(super) fn quit(state: &mut State, effects: &mut Vec<Effect>) {
    if state.world.running().is_none() {
        effects.push(Effect::Quit);
    } else if !matches!(state.view.top(), Some(Overlay::Quit)) {
        state.view.overlays.push(Overlay::Quit);
    }
}

fn show(state: &mut State, pane: PaneId, effects: &mut Vec<Effect>) {
    // What the recovery pane has selected is what is meant here too.
    if pane == PaneId::Segments && state.view.pane == PaneId::Recovery {
        let world = state.shown();
        let key = state.selected_log().and_then(|row| {
            let dir = world.logs.dir_of(row)?;
            Some((dir.path.clone(), row.dir_name.clone()))
        });
        if let Some(key) = key {
            segments::open(state, key);
        }
    }
    state.view.pane = pane;
    match pane {
        PaneId::Segments => segments::ask(state, effects),
        PaneId::Volumes => volumes::ask(state, effects),
        _ => {}
    }
}

fn move_by(state: &mut State, rows: isize, effects: &mut Vec<Effect>) {
    if state.view.pane == PaneId::Mirror {
        return mirror::move_by(state, rows);
    }
    if state.view.pane == PaneId::Segments {
        return segments::move_by(state, rows);
    }
    if state.view.pane == PaneId::Volumes {
        return volumes::move_by(state, rows);
    }
    if state.view.pane == PaneId::Replicas {
        let cluster = match &state.frozen {
            Some(frozen) => &frozen.world.cluster,
            None => &state.world.cluster,
        };
        return state.view.replicas.move_by(cluster, rows);
    }
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
        PaneId::Overview => show(state, PaneId::Recovery, effects),
        PaneId::Segments => segments::enter(state),
        PaneId::Volumes => volumes::enter(state, effects),
        PaneId::Recovery if state.view.detail.is_none() => {
            state.view.detail = state.view.table.selected().map(Detail::new);
            if let Some(detail) = &state.view.detail {
                state.view.table.select(detail.log);
            }
            read_bytes(state, effects);
        }
        PaneId::Mirror => state.view.mirror.enter(),
        PaneId::Recovery | PaneId::Replicas | PaneId::Log => {}
    }
}

fn back(state: &mut State) {
    let went_out = match state.view.pane {
        PaneId::Segments => segments::back(state),
        PaneId::Volumes => volumes::back(state),
        _ => false,
    };
    if went_out {
        return;
    }
    let view = &mut state.view;
    match view.pane {
        PaneId::Recovery if view.detail.is_some() => view.detail = None,
        PaneId::Recovery if view.table.filter.is_active() => set_filter(state, ""),
        PaneId::Replicas if view.replicas.filter.is_active() => set_filter(state, ""),
        PaneId::Mirror if view.mirror.back() => {}
        PaneId::Overview => {}
        _ => view.pane = PaneId::Overview,
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
    state.view.replicas.touch();
    state.view.volumes.touch();
    state.view.mirror.touch();
}
