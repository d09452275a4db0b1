//! The one writer of the state: a dispatcher.

mod acts;
mod boot;
mod free_space;
mod keys;
mod live;
mod mirror;
mod overlays;
mod segments;
mod sorting;
mod volumes;
mod work;

use super::action::PaneId;
use super::effect::{Effect, Target};
use super::event::{Event, Level};
use super::state::{Overlay, State};
use crate::terms::Timestamp;

/// Changes the state by one event, and returns what is to be done outside of it.
///
/// Thousands of events may come between two screens, so the order of rows is not made anew here but by
/// [`State::refresh`].
pub fn update(state: &mut State, event: Event) -> Vec<Effect> {
    let mut effects = Vec::new();
    let looked = state.view.pane == PaneId::Replicas;
    match event {
        Event::Action { action, at } => {
            state.now = at;
            state.session.on_key(at);
            // A key speaks of the rows as they stand now.
            state.refresh();
            keys::on_action(state, action, &mut effects);
        }
        Event::Tick(now) => on_tick(state, now, &mut effects),
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
            volumes::ask(state, &mut effects);
        }
        Event::JobFound {
            kind,
            plan,
            hash,
            at,
        } => work::found(state, (kind, plan, hash), at),
        Event::ListFailed(cause) => list_failed(state, cause, &mut effects),
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
        Event::Retention(read) => segments::on_read(state, read, &mut effects),
        Event::Volumes(read) => volumes::on_read(state, read, &mut effects),
        Event::Files { dir, name, files } => volumes::on_files(state, (dir, name), files),
        Event::FreeOffer(offer) => free_space::on_offer(state, offer, &mut effects),
        Event::Kept(items) => acts::show_kept(state, items, &mut effects),
        Event::Boot(report) => boot::on_look(state, *report, &mut effects),
        Event::Cluster(facts) => {
            state.world.cluster.facts = Some(*facts);
            state.world.cluster.lost = None;
            state.view.replicas.touch();
        }
        Event::ClusterLost { cause, at } => {
            // Since when it is lost, and why it is now.
            let since = state
                .world
                .cluster
                .lost
                .take()
                .map_or(at, |(since, _)| since);
            state.world.cluster.lost = Some((since, cause));
        }
        Event::LivePlanned { plan, hash, line } => {
            live::show(state, (plan, hash, line), &mut effects);
        }
        Event::LivePlanFailed(cause) => live::failed(state, &cause, &mut effects),
        Event::LiveEnded { hash, result } => live::ended(state, (&hash, result), &mut effects),
        Event::InForce(kept) => live::in_force(state, kept),
        Event::Freed(freeing) => live::freed(state, *freeing, &mut effects),
        Event::Mirror(read) => {
            mirror::on_read(state, read);
        }
        Event::Notice { level, text } => tell(state, &mut effects, level, &text),
        event => {
            work::on_event(state, event, &mut effects);
            keys::read_bytes(state, &mut effects);
        }
    }
    let looks = state.view.pane == PaneId::Replicas;
    if looks != looked {
        effects.push(Effect::WatchCluster(looks));
    }
    effects
}

/// Lets the time go on.
fn on_tick(state: &mut State, now: Timestamp, effects: &mut Vec<Effect>) {
    state.now = now;
    if state.session.on_tick(now) {
        let text = "ARMED has ended: 10 min without a key";
        tell(state, effects, Level::Note, text);
    }
    if state.view.pane == PaneId::Volumes {
        volumes::on_tick(state, now, effects);
    }
    let old = super::state::NOTICE_MS;
    let notice = &mut state.view.notice;
    notice.take_if(|notice| now.0.saturating_sub(notice.at.0) > old);
}

fn list_failed(state: &mut State, cause: String, effects: &mut Vec<Effect>) {
    tell(state, effects, Level::Error, &cause);
    state.world.list_error = Some(cause);
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
