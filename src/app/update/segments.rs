//! Keys of the segments pane, and what was read for it.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::event::Level;
use crate::app::retention_words;
use crate::app::state::{
    HostKey, HostRow, LogKey, Overlay, RetentionFacts, SegmentsView, State, WhatIfField, log_key,
    segment_keys,
};

use super::tell;

/// Asks for what the pane shows, unless it is there or on its way.
pub(super) fn ask(state: &mut State, effects: &mut Vec<Effect>) {
    if state.world.retention.is_none() {
        read(state, effects);
    }
}

/// Asks for it anew.
pub(super) fn read(state: &mut State, effects: &mut Vec<Effect>) {
    if state.world.broker.is_some() && !state.view.segments.is_reading {
        state.view.segments.is_reading = true;
        effects.push(Effect::ReadRetention);
    }
}

/// Takes what was read.
pub(super) fn on_read(
    state: &mut State,
    read: Result<Arc<RetentionFacts>, String>,
    effects: &mut Vec<Effect>,
) {
    state.view.segments.is_reading = false;
    match read {
        Ok(facts) => {
            for note in &facts.notes {
                effects.push(Effect::Log {
                    target: crate::app::effect::Target::Finding,
                    level: Level::Warn,
                    text: note.clone(),
                });
            }
            state.world.retention = Some(facts);
            state.view.segments.error = None;
        }
        Err(cause) => {
            tell(state, effects, Level::Error, &cause);
            state.view.segments.error = Some(cause);
        }
    }
    state.view.segments.touch();
}

/// Opens the log that another pane has selected.
pub(super) fn open(state: &mut State, log: LogKey) {
    let view = &mut state.view.segments;
    if view.open.as_ref() != Some(&log) {
        view.open = Some(log);
        view.selected = None;
        view.touch();
    }
}

/// Moves the cursor by rows.
pub(super) fn move_by(state: &mut State, rows: isize) {
    let Some(facts) = state.shown().retention.clone() else {
        return;
    };
    let view = &mut state.view.segments;
    if let Some((_, log)) = view.open_log(&facts) {
        let last = segment_keys(log).count().saturating_sub(1);
        let at = view.segment_cursor(log).unwrap_or(0);
        view.selected = segment_keys(log).nth(at.saturating_add_signed(rows).min(last));
        return;
    }
    let last = view.rows().len().saturating_sub(1);
    let at = match view.host_cursor(&facts) {
        Some(at) => at.saturating_add_signed(rows).min(last),
        None => 0,
    };
    let row = view.rows().get(at).cloned();
    view.host_selected = row.and_then(|row| view.key_of(&facts, &row));
    // What is tried on a topic follows the cursor.
    if !view.what_if.wish().0.is_empty() {
        view.touch();
    }
}

/// Goes into the selected topic or log.
pub(super) fn enter(state: &mut State) {
    let Some(facts) = state.shown().retention.clone() else {
        return;
    };
    let view = &mut state.view.segments;
    if view.open.is_some() {
        return;
    }
    let at = view.host_cursor(&facts).unwrap_or(0);
    let row = view.rows().get(at).cloned();
    match row {
        Some(HostRow::Log(number)) => open_number(view, &facts, number),
        Some(HostRow::Topic(number)) => {
            let Some(topic) = view.judged().topics.get(number).cloned() else {
                return;
            };
            view.host_selected = Some(HostKey::Topic(topic.topic.clone()));
            match topic.logs.as_slice() {
                [only] => open_number(view, &facts, *only),
                _ if view.unfolded.as_ref() == Some(&topic.topic) => view.unfolded = None,
                _ => view.unfolded = Some(topic.topic),
            }
            view.touch();
        }
        None => {}
    }
}

fn open_number(view: &mut SegmentsView, facts: &RetentionFacts, number: usize) {
    if let Some(log) = facts.host.logs.get(number) {
        view.open = Some(log_key(log));
        view.selected = None;
        view.touch();
    }
}

/// Goes out by one step; `false` if there is none.
pub(super) fn back(state: &mut State) -> bool {
    let view = &mut state.view.segments;
    if let Some(open) = view.open.take() {
        view.host_selected.get_or_insert(HostKey::Log(open));
        view.touch();
        return true;
    }
    if view.unfolded.take().is_some() {
        view.touch();
        return true;
    }
    false
}

/// Opens every setting of the topic that is open or selected.
pub(super) fn open_settings(state: &mut State) {
    let view = &state.view.segments;
    let Some(facts) = state.shown().retention.clone() else {
        return;
    };
    let Some(topic) = view.topic(&facts) else {
        return;
    };
    let settings = facts.settings.of(&topic);
    let lines = settings.iter().map(retention_words::setting).collect();
    state.view.overlays.push(Overlay::Lines {
        title: format!("settings of {topic}: {}", facts.settings_source),
        lines,
        scroll: 0,
    });
}

/// Opens the values that are tried.
pub(super) fn open_what_if(state: &mut State) {
    if state.shown().retention.is_some() {
        state.view.overlays.push(Overlay::WhatIf);
    }
}

/// Takes a key for the values that are tried; what they change shows at once.
pub(super) fn on_what_if(state: &mut State, action: &Action) {
    let what_if = &mut state.view.segments.what_if;
    match action {
        Action::Edit(request) => {
            what_if.input_mut().handle(*request);
        }
        Action::Complete(_) => {
            what_if.field = match what_if.field {
                WhatIfField::Ms => WhatIfField::Bytes,
                WhatIfField::Bytes => WhatIfField::Ms,
            };
        }
        Action::MoveBy(step) => what_if.reach = what_if.reach.beside(*step),
        Action::Enter => {
            state.view.overlays.pop();
        }
        _ => {}
    }
    state.view.segments.touch();
}

/// Drops the values that are tried.
pub(super) fn drop_what_if(state: &mut State) {
    let what_if = &mut state.view.segments.what_if;
    what_if.ms = tui_input::Input::default();
    what_if.bytes = tui_input::Input::default();
    state.view.overlays.pop();
    state.view.segments.touch();
}
