//! Where krescue's own events go while the dashboard has the terminal: into the log pane.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::app::Level;
use crate::app::effect::Target;
use crate::cli::audit_words::audit_sentence;
use crate::engine::read_audit;

macro_rules! to {
    ($target:literal, $level:expr, $text:expr) => {
        match $level {
            Level::Note => tracing::info!(target: $target, "{}", $text),
            Level::Warn => tracing::warn!(target: $target, "{}", $text),
            Level::Error => tracing::error!(target: $target, "{}", $text),
        }
    };
}

/// Sends all events of this process to the log pane; does nothing if something else has them already.
pub(super) fn capture() {
    let registry = tracing_subscriber::registry().with(tui_logger::TuiTracingSubscriberLayer);
    if registry.try_init().is_ok() {
        // Without its thread the pane would stay empty; the program works all the same.
        let _ = tui_logger::init_logger(tui_logger::LevelFilter::Debug);
    }
}

/// Writes a line to the log.
pub(super) fn log(target: Target, level: Level, text: &str) {
    // The macros want the target at compile time.
    match target {
        Target::Krescue => to!("krescue", level, text),
        Target::Finding => to!("finding", level, text),
        Target::Job => to!("job", level, text),
        Target::Audit => to!("audit", level, text),
    }
}

/// The most entries of the audit that are told at once: the newest.
const AUDIT_CAP: usize = 500;
/// How many entries the audit had when it was told last; the log pane is one a process as well.
static AUDIT_TOLD: AtomicUsize = AtomicUsize::new(0);

/// Writes what the audit of a state dir has got since the last call.
pub(super) fn log_audit(state_dir: &Path) {
    let entries = match read_audit(state_dir) {
        Ok(text) => text.entries,
        Err(error) => return log(Target::Audit, Level::Warn, &error.sentence()),
    };
    let told = AUDIT_TOLD.swap(entries.len(), Ordering::Relaxed);
    // Rotation takes the oldest away.
    let told = if told > entries.len() { 0 } else { told };
    let from = told.max(entries.len().saturating_sub(AUDIT_CAP));
    for entry in entries.iter().skip(from) {
        log(Target::Audit, Level::Note, &audit_sentence(entry));
    }
}
