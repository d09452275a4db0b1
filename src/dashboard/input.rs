//! Keys, in a thread of their own.
//!
//! Reading a terminal may block although something was announced, and crossterm reads on for ever from one that is gone;
//! neither may stop the loop that draws, watches jobs and hears signals.

use std::io;

use crossterm::event::{Event, KeyEvent, KeyEventKind, read};
use rustix::event::{PollFd, PollFlags, poll};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What comes from the terminal.
#[derive(Debug)]
pub(super) enum Input {
    /// A key was pressed.
    Key(KeyEvent),
    /// It has another size.
    Resized,
    /// It is gone.
    Gone,
}

/// Starts to read the terminal; what is read lies in the channel until it is taken.
///
/// # Errors
///
/// A thread could not be started.
pub(super) fn spawn_input() -> io::Result<UnboundedReceiver<Input>> {
    let (sender, receiver) = unbounded_channel();
    let keys = sender.clone();
    std::thread::Builder::new()
        .name("krescue-keys".to_owned())
        .spawn(move || read_keys(&keys))?;
    std::thread::Builder::new()
        .name("krescue-hang-up".to_owned())
        .spawn(move || wait_for_hang_up(&sender))?;
    Ok(receiver)
}

fn read_keys(to: &UnboundedSender<Input>) {
    loop {
        let input = match read() {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Input::Key(key),
            Ok(Event::Resize(..)) => Input::Resized,
            Ok(_) => continue,
            Err(_) => Input::Gone,
        };
        let last = matches!(input, Input::Gone);
        if to.send(input).is_err() || last {
            return;
        }
    }
}

/// Waits until nobody is at the other end of the terminal any more: a lost connection, a closed window.
fn wait_for_hang_up(to: &UnboundedSender<Input>) {
    let stdin = io::stdin();
    loop {
        // Nothing is asked for, so only the end is told.
        let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
            Ok(_) => {
                let _ = to.send(Input::Gone);
                return;
            }
        }
    }
}
