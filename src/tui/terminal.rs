//! The terminal while the dashboard has it: given back on every way out, panics included.

use std::io::{self, IsTerminal as _, Stdout};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::ThreadId;

use crossterm::cursor::{Hide, Show};
use crossterm::execute;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

/// The terminal in raw mode, on its alternate screen; dropping it gives the terminal back.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal; fails where input or output is none.
    pub fn open() -> io::Result<Self> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return Err(io::Error::other("input or output is not a terminal"));
        }
        restore_on_panic();
        enable_raw_mode()?;
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current().id());
        // From here on the guard exists, so that an error below gives the terminal back too.
        let guard = Restore;
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        std::mem::forget(guard);
        Ok(Self { terminal })
    }

    /// Returns the terminal to draw on.
    pub fn terminal(&mut self) -> &mut Terminal<CrosstermBackend<Stdout>> {
        &mut self.terminal
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back when it is dropped.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether the terminal is ours, and the thread that took it.
static TAKEN: Mutex<Option<ThreadId>> = Mutex::new(None);

/// Leaves the alternate screen and raw mode, once for each time it was taken.
fn restore() {
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    if taken.is_some() {
        // A terminal that is gone cannot be given back, and there is nobody to tell. The clear is for terminals that
        // were resized meanwhile and would show remains.
        let _ = execute!(
            io::stdout(),
            Clear(ClearType::All),
            LeaveAlternateScreen,
            Show
        );
        let _ = disable_raw_mode();
    }
}

/// Makes a panic give the terminal back before it is told.
///
/// Only the screen's own thread takes the screen with it: what a worker's panic says goes to the log, and the engine
/// reports it.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let owner = *TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
            if owner.is_some_and(|owner| owner != std::thread::current().id()) {
                tracing::error!(target: "krescue", "a thread died: {panic}");
                return;
            }
            restore();
            before(panic);
        }));
    });
}
