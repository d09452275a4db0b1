//! Keys of the volumes pane, and what was seen for it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::event::Level;
use crate::app::state::{FilesOfLog, State, Subject, VolumesFacts};
use crate::plan::volumes::FileUsage;
use crate::terms::Timestamp;

use super::tell;

/// Milliseconds after which the volumes are looked at anew while somebody looks at them.
const STALE_MS: i64 = 30_000;

/// Asks for what the pane shows, unless it is there or on its way.
pub(super) fn ask(state: &mut State, effects: &mut Vec<Effect>) {
    if state.world.volumes.is_none() {
        read(state, effects);
    }
}

/// Asks for it anew.
pub(super) fn read(state: &mut State, effects: &mut Vec<Effect>) {
    if state.setup.subject == Subject::Recording {
        let text = "a recording tells nothing of volumes";
        state.view.volumes.error = Some(text.to_owned());
        return;
    }
    if state.world.broker.is_some() && !state.view.volumes.is_reading {
        state.view.volumes.is_reading = true;
        effects.push(Effect::ReadVolumes);
    }
}

/// Asks for it anew once it is old, while the pane is in front.
pub(super) fn on_tick(state: &mut State, now: Timestamp, effects: &mut Vec<Effect>) {
    let seen = state.world.volumes.as_ref().map(|facts| facts.at);
    if seen.is_some_and(|at| now.0.saturating_sub(at.0) > STALE_MS) {
        read(state, effects);
    }
}

/// Takes what was seen so far; the last time it is whole.
pub(super) fn on_read(
    state: &mut State,
    read: Result<Arc<VolumesFacts>, String>,
    effects: &mut Vec<Effect>,
) {
    match read {
        Ok(facts) => {
            let is_whole = facts.report.is_whole();
            state.view.volumes.is_reading = !is_whole;
            state.view.volumes.error = None;
            // What is looked at again is shown once it is whole: half of it would look like less.
            let known = state.world.volumes.as_ref();
            if is_whole || !known.is_some_and(|known| known.report.is_whole()) {
                state.world.volumes = Some(facts);
            }
        }
        Err(cause) => {
            state.view.volumes.is_reading = false;
            tell(state, effects, Level::Error, &cause);
            state.view.volumes.error = Some(cause);
        }
    }
    state.view.volumes.touch();
}

/// Takes the files of a log.
pub(super) fn on_files(
    state: &mut State,
    (dir, name): (PathBuf, String),
    files: Result<Vec<FileUsage>, String>,
) {
    let files = files.map(Arc::from);
    state.view.volumes.files = Some(FilesOfLog { dir, name, files });
    state.view.volumes.touch();
}

/// Moves the cursor by rows.
pub(super) fn move_by(state: &mut State, rows: isize) {
    if let Some(facts) = state.shown().volumes.clone() {
        state.view.volumes.move_by(&facts.report, rows);
    }
}

/// Goes into what is under the cursor.
pub(super) fn enter(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some(facts) = state.shown().volumes.clone()
        && let Some((dir, name)) = state.view.volumes.enter(&facts.report)
    {
        effects.push(Effect::ListFiles { dir, name });
    }
}

/// Goes out by one step; `false` if there is none.
pub(super) fn back(state: &mut State) -> bool {
    let facts = state.shown().volumes.clone();
    let report = facts.as_ref().map(|facts| &facts.report);
    state.view.volumes.back(report)
}

/// Marks what is under the cursor, or takes its mark away.
pub(super) fn toggle_mark(state: &mut State) {
    if let Some(facts) = state.shown().volumes.clone() {
        state.view.volumes.toggle_mark(&facts.report);
    }
}
