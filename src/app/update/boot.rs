//! What a watched boot says.

use crate::app::boot_words::{self, Told};
use crate::app::effect::{Effect, Target};
use crate::app::event::Level;
use crate::app::state::{Boot, BootTold, LogId, Once, State, is_same_dir};
use crate::engine::LogState;
use crate::log::Severity;
use crate::observe::server_log::{BootEnd, BootTrouble};
use crate::observe::{BootReport, History};

use super::tell;

/// Takes what one look at a boot says.
pub(super) fn on_look(state: &mut State, mut report: BootReport, effects: &mut Vec<Effect>) {
    if let Some(boot) = state.world.boot.as_mut().filter(|boot| !boot.goes_on())
        && report.end.is_some()
    {
        // It is over; what goes on is to catch up.
        (boot.report.at, boot.report.catch_up) = (report.at, report.catch_up);
        return;
    }
    let begins = !state.world.boot.as_ref().is_some_and(Boot::goes_on);
    if begins {
        state.world.logs.on_boot_started();
        state.view.table.touch();
        state.world.boot = Some(Boot {
            seen: report.at,
            report: report.clone(),
            troubles: Vec::new(),
            history: History::default(),
            once: Once::default(),
        });
    }
    if !report.finished.is_empty() || !report.troubles.is_empty() {
        state.view.table.touch();
    }
    if let Some(boot) = &mut state.world.boot {
        if let Some(history) = report.history.take() {
            boot.history = history;
        }
        boot.once.finished.extend(report.finished.iter().cloned());
        boot.once.troubles.extend(report.troubles.iter().cloned());
    }
    for (dir, name) in std::mem::take(&mut report.finished) {
        if let Some(id) = find(state, &report, Some(dir), &name)
            && let Some(row) = state.world.logs.row_mut(id)
        {
            row.state = Some(LogState::Done);
            row.bytes_read = row.boot_reads.unwrap_or(0);
            row.segments_read = row
                .boot
                .as_ref()
                .and_then(|boot| boot.segments)
                .unwrap_or(0);
        }
    }
    for work in &report.works {
        let Some(id) = find(state, &report, Some(work.dir), &work.name) else {
            continue;
        };
        let Some(row) = state.world.logs.row_mut(id) else {
            continue;
        };
        if row.state != Some(LogState::Scanning) {
            row.state = Some(LogState::Scanning);
            state.view.table.touch();
        }
        row.bytes_read = work.bytes_done;
        row.segments_read = work.segments_done;
        let boot = row.boot.get_or_insert_default();
        boot.segments = work.segments;
        boot.bytes = work.bytes_total;
    }
    for trouble in std::mem::take(&mut report.troubles) {
        on_trouble(state, &report, &trouble, effects);
    }
    let end = report.end.clone();
    let kernel = report.kernel_kill.clone();
    if let Some(boot) = &mut state.world.boot {
        boot.report = report;
    }
    if let Some(end) = end {
        let level = if end == BootEnd::Up {
            Level::Note
        } else {
            // What it had recovered is lost, and begins anew.
            state.world.logs.on_boot_broken_off();
            Level::Error
        };
        state.view.table.touch();
        let text = boot_words::ended_by(&end, kernel.as_ref());
        tell(state, effects, level, &text);
        effects.push(Effect::List);
    }
}

fn on_trouble(
    state: &mut State,
    report: &BootReport,
    trouble: &BootTrouble,
    effects: &mut Vec<Effect>,
) {
    let told = Told::of(trouble);
    let severity = if trouble.is_loss() {
        Severity::Loss
    } else {
        Severity::Warning
    };
    let dir = told.dir.as_ref().and_then(|path| {
        let mut dirs = report.dirs.iter();
        dirs.position(|dir| dir.path == *path)
    });
    let name = told.partition.as_deref();
    let log = name.and_then(|name| find(state, report, dir, name));
    if let Some(row) = log.and_then(|id| state.world.logs.row_mut(id)) {
        row.boot.get_or_insert_default().tell(severity, &told);
    }
    let place = name.map_or_else(String::new, |name| format!("{name} "));
    effects.push(Effect::Log {
        target: Target::Finding,
        level: if severity == Severity::Loss {
            Level::Error
        } else {
            Level::Warn
        },
        text: format!("{place}{}", told.text),
    });
    if let Some(boot) = &mut state.world.boot {
        boot.troubles.push(BootTold {
            log,
            severity,
            told,
        });
    }
}

/// Returns the log `name` of the report's log dir `dir`; of any, where that is not known.
fn find(state: &State, report: &BootReport, dir: Option<usize>, name: &str) -> Option<LogId> {
    let logs = &state.world.logs;
    let path = dir
        .and_then(|dir| report.dirs.get(dir))
        .map(|dir| &dir.path);
    let mut dirs = logs.dirs.iter().enumerate();
    match path {
        Some(path) => {
            let (at, _) = dirs.find(|(_, row)| is_same_dir(row, path))?;
            logs.id(at, name)
        }
        None => dirs.find_map(|(at, _)| logs.id(at, name)),
    }
}
