//! The dialog that frees space: how much, what goes, and the plan of it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::action::{Action, PaneId};
use crate::app::effect::{Copies, Effect};
use crate::app::event::Level;
use crate::app::free_words::{parse_target, size};
use crate::app::state::{FreeDialog, FreeOffer, FreeStage, Overlay, State};

use super::{acts, tell};

/// Which share of a volume is proposed to become free: one part of so many.
const SHARE: u64 = 10;

/// Opens the dialog; it asks for what was not said.
pub(super) fn open(
    state: &mut State,
    target: Option<u64>,
    dir: Option<PathBuf>,
    effects: &mut Vec<Effect>,
) {
    if let Some(why) = crate::app::act::cleanup_refusal(state) {
        return tell(state, effects, Level::Warn, &format!("not now: {why}"));
    }
    let world = &state.world;
    let facts = world.volumes.as_ref();
    let selected = facts.and_then(|facts| {
        let row = state.view.volumes.dir(&facts.report)?;
        Some(row.facts.dir.clone())
    });
    let first = world.logs.dirs.first().map(|dir| dir.path.clone());
    let Some(dir) = dir.or(selected).or(first) else {
        return tell(state, effects, Level::Warn, "there is no log dir");
    };
    state.view.pane = PaneId::Volumes;
    state.view.overlays.clear();
    let total = facts.and_then(|facts| {
        let rows = &facts.report.rows;
        let row = rows.iter().find(|row| row.facts.dir == dir)?;
        row.facts.space.map(|space| space.total)
    });
    let proposed = target.or(total.map(|total| total / SHARE));
    let input = proposed.map_or_else(String::new, size);
    let mut dialog = FreeDialog::new(dir.clone(), &input);
    if let Some(target) = target {
        dialog.stage = FreeStage::Looking;
        effects.push(Effect::OfferFree { dir, target });
    }
    state.view.overlays.push(Overlay::FreeSpace(dialog));
}

/// Takes what can go, if the dialog still waits for it.
pub(super) fn on_offer(
    state: &mut State,
    offer: Result<Arc<FreeOffer>, String>,
    effects: &mut Vec<Effect>,
) {
    let volumes = state.world.volumes.clone();
    let view = state.view.volumes.clone();
    let Some(Overlay::FreeSpace(dialog)) = state.view.top_mut() else {
        return;
    };
    if dialog.stage != FreeStage::Looking {
        return;
    }
    match offer {
        Ok(offer) => {
            dialog.lines.clone_from(&offer.lines);
            dialog.cursor = 0;
            dialog.is_changed = false;
            dialog.stage = FreeStage::Ranked(offer);
            if let Some(facts) = volumes {
                dialog.prefer(|line| view.covers(&facts.report, line));
            }
            effects.push(Effect::DrainInput);
        }
        Err(cause) => {
            dialog.stage = FreeStage::Asking;
            dialog.error = Some(cause);
        }
    }
}

/// Takes a key for the dialog.
pub(super) fn on_action(state: &mut State, action: &Action, effects: &mut Vec<Effect>) {
    let Some(Overlay::FreeSpace(dialog)) = state.view.top_mut() else {
        return;
    };
    match dialog.stage {
        FreeStage::Asking => on_asking(dialog, action, effects),
        FreeStage::Looking => {}
        FreeStage::Ranked(_) => {
            let last = dialog.lines.len().saturating_sub(1);
            match action {
                Action::MoveBy(rows) => {
                    dialog.cursor = dialog.cursor.saturating_add_signed(*rows).min(last);
                }
                Action::First => dialog.cursor = 0,
                Action::Last => dialog.cursor = last,
                Action::Choose(' ') => dialog.toggle(),
                Action::Choose('+' | 'l') => dialog.mark_by(1),
                Action::Choose('-' | 'h') => dialog.mark_by(-1),
                Action::Choose('n') => {
                    dialog.copies = match dialog.copies {
                        Copies::Kept => Copies::None,
                        Copies::None => Copies::Kept,
                    };
                    dialog.error = None;
                }
                Action::Choose('t') => dialog.stage = FreeStage::Asking,
                Action::Enter => on_enter(state, effects),
                _ => {}
            }
        }
    }
}

fn on_asking(dialog: &mut FreeDialog, action: &Action, effects: &mut Vec<Effect>) {
    match action {
        Action::Edit(request) => {
            dialog.input.handle(*request);
            dialog.error = None;
        }
        Action::Enter => match parse_target(dialog.input.value().trim()) {
            Ok(target) => {
                dialog.stage = FreeStage::Looking;
                dialog.error = None;
                effects.push(Effect::OfferFree {
                    dir: dialog.dir.clone(),
                    target,
                });
            }
            Err(error) => dialog.error = Some(error),
        },
        _ => {}
    }
}

/// Asks for the plan of what is marked, or says why there is none.
fn on_enter(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(Overlay::FreeSpace(dialog)) = state.view.top_mut() else {
        return;
    };
    let Some(offer) = dialog.offer() else {
        return;
    };
    let only_leftovers = dialog.class() <= Some(crate::plan::Class::A);
    if dialog.class().is_none() {
        dialog.error = Some("nothing is marked: Space marks a line".to_owned());
        return;
    }
    if offer.copies_here && dialog.copies == Copies::Kept && !only_leftovers {
        dialog.error = Some(
            "the quarantine lies on the same volume, where a copy frees nothing: n keeps no copy"
                .to_owned(),
        );
        return;
    }
    // What can be freed in all is less than what was asked for: the plan is of what is marked.
    if dialog.freed() < offer.target {
        dialog.is_changed = true;
    }
    let request = dialog.request();
    acts::clean_up(state, request, effects);
}
