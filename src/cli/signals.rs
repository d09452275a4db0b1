//! SIGINT and SIGTERM as the wish to stop after the step at hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SigSet, Signal};

/// Whether somebody asked this process to stop.
#[derive(Debug, Clone, Default)]
pub(super) struct StopWish(Arc<AtomicBool>);

impl StopWish {
    /// Takes the signals from now on; call before a job is started, whose process takes them itself.
    ///
    /// A lost terminal (SIGHUP) still ends this process: the job does not depend on it.
    pub(super) fn on_signals() -> Self {
        let this = Self::default();
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        if signals.thread_block().is_ok() {
            let wish = Arc::clone(&this.0);
            std::thread::spawn(move || {
                while signals.wait().is_ok() {
                    wish.store(true, Ordering::Relaxed);
                }
            });
        }
        this
    }

    /// Says whether a signal came.
    pub(super) fn is_made(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
