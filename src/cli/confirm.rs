//! Asks before an apply, by the plan's class.
//!
//! The key that confirms is never the one that asked: what was typed ahead is thrown away, and anything but the phrase
//! is a no.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use rustix::termios::{QueueSelector, tcflush};

use super::CliError;
use crate::app::confirm::Phrase;
use crate::plan::{Class, RecoveryPlan};

/// Says whether somebody can be asked: the question goes to the standard error, the answer comes from the standard input.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for the phrase of `plan`'s class.
///
/// # Errors
///
/// A refusal, if anything else was typed.
pub(super) fn ask(plan: &RecoveryPlan, host: &str) -> Result<(), CliError> {
    let phrase = Phrase::of(plan, host);
    let question = match (&phrase, plan.class()) {
        (Phrase::Yes, _) => "Go on? y/N ".to_owned(),
        (Phrase::Exactly(text), Some(Class::C)) => {
            format!("Good data is lost. Type  {text}  to go on: ")
        }
        (Phrase::Exactly(text), _) => format!("Type  {text}  to go on: "),
    };
    typed(&question, |typed| phrase.accepts(typed))
}

/// Asks for a yes.
///
/// # Errors
///
/// A refusal, if anything else was typed.
pub(super) fn ask_yes() -> Result<(), CliError> {
    typed("Go on? y/N ", |typed| Phrase::Yes.accepts(typed))
}

/// Asks for exactly `phrase`.
///
/// # Errors
///
/// A refusal, if anything else was typed.
pub(super) fn ask_for(question: &str, phrase: &str) -> Result<(), CliError> {
    typed(question, |typed| {
        Phrase::Exactly(phrase.to_owned()).accepts(typed)
    })
}

fn typed(question: &str, accepts: impl FnOnce(&str) -> bool) -> Result<(), CliError> {
    let mut err = io::stderr().lock();
    // Fails where the input is no terminal; then nothing was typed ahead.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    write!(err, "{question}")?;
    err.flush()?;
    let mut typed = String::new();
    io::stdin().lock().read_line(&mut typed)?;
    if !typed.ends_with('\n') {
        writeln!(err)?;
    }
    if accepts(&typed) {
        return Ok(());
    }
    Err(CliError::refused("not confirmed; nothing was changed"))
}
