//! The one writer of the state: a dispatcher.

mod acts;
mod keys;
mod overlays;
mod work;

use super::effect::{Effect, Target};
use super::event::{Event, Level};
use super::state::{Overlay, State};

/// Changes the state by one event, and returns what is to be done outside of it.
///
/// Thousands of events may come between two screens, so the order of rows is not made anew here but by
/// [`State::refresh`].
pub fn update(state: &mut State, event: Event) -> Vec<Effect> {
    let mut effects = Vec::new();
    match event {
        Event::Action { action, at } => {
            state.now = at;
            state.session.on_key(at);
            // A key speaks of the rows as they stand now.
            state.refresh();
            keys::on_action(state, action, &mut effects);
        }
        Event::Tick(now) => {
            state.now = now;
            if state.session.on_tick(now) {
                tell(
                    state,
                    &mut effects,
                    Level::Note,
                    "ARMED has ended: 10 min without a key",
                );
            }
            let old = super::state::NOTICE_MS;
            let notice = &mut state.view.notice;
            notice.take_if(|notice| now.0.saturating_sub(notice.at.0) > old);
        }
        Event::Found(choices) => {
            let several = choices.len() > 1;
            state.world.choices = choices;
            if several {
                state.view.overlays.push(Overlay::Chooser { cursor: 0 });
            } else {
                effects.push(Effect::OpenBroker(0));
            }
        }
        Event::Opened(broker) => {
            state.world.broker = Some(*broker);
        }
        Event::Present(at) => {
            if let Some(broker) = &mut state.world.broker {
                broker.at = at;
            }
        }
        Event::Listed(listing) => {
            state.world.logs.on_listed(&listing);
            state.world.listed = Some(state.now);
            state.world.list_error = None;
            state.view.table.touch();
        }
        Event::JobFound {
            kind,
            plan,
            hash,
            at,
        } => work::found(state, (kind, plan, hash), at),
        Event::ListFailed(cause) => {
            tell(state, &mut effects, Level::Error, &cause);
            state.world.list_error = Some(cause);
        }
        Event::Bytes { log, view } => {
            if let Some(detail) = &mut state.view.detail
                && detail.log == log
                && detail
                    .asked
                    .as_ref()
                    .is_some_and(|(file, at)| *file == view.file && *at == view.position)
            {
                detail.bytes = Some(view);
            }
        }
        Event::Notice { level, text } => tell(state, &mut effects, level, &text),
        event => {
            work::on_event(state, event, &mut effects);
            keys::read_bytes(state, &mut effects);
        }
    }
    effects
}

/// Tells something in passing, and keeps it in the log.
fn tell(state: &mut State, effects: &mut Vec<Effect>, level: Level, text: &str) {
    state.view.tell(level, text, state.now);
    effects.push(Effect::Log {
        target: Target::Krescue,
        level,
        text: text.to_owned(),
    });
}
