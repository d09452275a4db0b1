//! Where krescue's own events go while the dashboard has the terminal: into the log pane.

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::app::Level;
use crate::app::effect::Target;

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
    }
}
