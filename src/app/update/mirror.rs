//! The mirror pane's keys and facts.

use crate::app::action::PaneId;
use crate::app::effect::Effect;
use crate::app::event::Level;
use crate::app::state::{MirrorRead, State};

use super::tell;

/// Asks for what is known of MirrorMaker 2.
pub(super) fn read(state: &mut State, effects: &mut Vec<Effect>) {
    if !std::mem::replace(&mut state.view.mirror.reading, true) {
        effects.push(Effect::ReadMirror);
    }
}

/// Takes what was read; what was known before stays where nothing could be.
pub(super) fn on_read(state: &mut State, read: MirrorRead) {
    state.view.mirror.reading = false;
    state.world.mirror = Some(read);
    state.view.mirror.touch();
}

/// Shows where the groups of a flow go on, once it is known.
pub(super) fn failover(state: &mut State, effects: &mut Vec<Effect>) {
    state.view.pane = PaneId::Mirror;
    match state.shown().mirror.clone() {
        Some(Ok(world)) => {
            if let Err(why) = state.view.mirror.failover(&world) {
                tell(state, effects, Level::Warn, &why);
            }
        }
        _ => read(state, effects),
    }
}

pub(super) fn move_by(state: &mut State, rows: isize) {
    if let Some(Ok(world)) = state.shown().mirror.clone() {
        state.view.mirror.move_by(&world, rows);
    }
}
