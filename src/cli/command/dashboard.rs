//! No command: the dashboard.

use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;

use super::Recording;
use crate::cli::args::GlobalArgs;
use crate::cli::target::{Found, find_candidates, only_candidate};
use crate::cli::{CliError, Context, Exit};
use crate::dashboard::{Opening, Show, run};
use crate::settings::Flags;
use crate::tui::theme::Theme;
use crate::tui::{Charset, Look};

/// Says whether there is a terminal that the dashboard can be shown on.
pub(in crate::cli) fn has_terminal() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stdout().is_terminal() && std::io::stdin().is_terminal() && !dumb
}

/// Finds the broker and opens the dashboard on it.
///
/// # Errors
///
/// No broker, a theme that is none, no terminal.
pub(in crate::cli) fn dashboard(
    context: Context,
    record: Option<PathBuf>,
    note: Option<String>,
) -> Result<Exit, CliError> {
    let found = find_candidates(&context)?;
    if found.candidates.is_empty() {
        // Says where was looked and what to give.
        only_candidate(found)?;
        return Ok(Exit::Usage);
    }
    let Found {
        candidates,
        mut notes,
    } = found;
    notes.extend(note);
    let opening = Opening {
        look: look(&context)?,
        notes,
        candidates,
        remote: context.settings.remote.value,
        context,
        show: record.map_or(Show::Host, Show::AndRecord),
    };
    let job = run(opening).map_err(|error| CliError::failed("no dashboard").because(&error))?;
    if let Some(job) = job {
        let text = format!(
            "krescue: job {job} goes on; krescue shows it again, krescue stop {job} stops it"
        );
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
    Ok(Exit::Ok)
}

/// Shows a recording, `speed` times as fast as it happened; nothing can be done in it.
///
/// # Errors
///
/// No terminal.
pub(in crate::cli) fn show_recording(recording: Recording, speed: u32) -> Result<Exit, CliError> {
    let mut context = Context::read(&GlobalArgs::default(), Flags::default())?;
    context.host.clone_from(&recording.header.host);
    let opening = Opening {
        look: look(&context)?,
        notes: Vec::new(),
        candidates: Vec::new(),
        remote: context.settings.remote.value,
        context,
        show: Show::Recording { recording, speed },
    };
    run(opening).map_err(|error| CliError::failed("no dashboard").because(&error))?;
    Ok(Exit::Ok)
}

/// Returns how the screen looks.
fn look(context: &Context) -> Result<Look, CliError> {
    let settings = &context.settings;
    let name = settings.theme.value.as_str();
    let theme = if settings.color.value {
        match Theme::named(name) {
            Some(theme) => theme,
            None => theme_file(name)?,
        }
    } else {
        Theme::built_in(false)
    };
    let charset = if settings.ascii.value {
        Charset::Ascii
    } else {
        Charset::Unicode
    };
    Ok(Look {
        theme,
        charset,
        log_times: true,
    })
}

fn theme_file(path: &str) -> Result<Theme, CliError> {
    let wrong = |error: &dyn std::error::Error| {
        CliError::usage(format!("the theme {path} cannot be used"))
            .because(error)
            .hint("Embedded themes: terminal, mono.")
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    Theme::parse(&text).map_err(|error| wrong(&error))
}
