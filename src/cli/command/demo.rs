//! `demo`: the dashboard on an embedded broker, in a temporary folder.

use std::io::{IsTerminal as _, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::dashboard::{dashboard, has_terminal};
use crate::app::text;
use crate::cli::args::{DemoArgs, GlobalArgs, Scenario};
use crate::cli::{CliError, Context, Exit};
use crate::demo::{DemoError, DemoTree, LargeSpec, write_crashed, write_large};
use crate::engine::{JobState, list_jobs};
use crate::settings::Flags;

/// How often the progress of writing is told.
const EVERY: Duration = Duration::from_millis(500);
/// How much `large` writes unless told.
const DEFAULT_SIZE: u64 = 8 << 30;

/// Runs `demo`.
pub(in crate::cli) fn demo(args: &DemoArgs, global: &GlobalArgs) -> Result<Exit, CliError> {
    if !has_terminal() {
        return Err(CliError::usage("the demo needs a terminal"));
    }
    let folder = tempfile::Builder::new()
        .prefix("krescue-demo-")
        .tempdir()
        .map_err(|error| CliError::failed("no temporary folder").because(&error))?;
    let tree = match args.scenario {
        Scenario::Crashed => write_crashed(folder.path()).map_err(|error| failed(&error))?,
        Scenario::Large => large(folder.path(), args.size.unwrap_or(DEFAULT_SIZE))?,
    };
    let state_dir = folder.path().join("state");
    let global = GlobalArgs {
        config: Some(tree.config),
        log_dirs: None,
        kafka_version: Some(global.kafka_version.unwrap_or(tree.kafka_version)),
        now: Some(global.now.unwrap_or(tree.now)),
        topic_config: None,
        state_dir: Some(state_dir.clone()),
        ..global.clone()
    };
    let context = Context::read(&global, Flags::default())?;
    let exit = dashboard(context)?;
    let runs = list_jobs(&state_dir)
        .unwrap_or_default()
        .iter()
        .any(|job| job.state == JobState::Running);
    if runs {
        let kept = folder.keep();
        say(&format!(
            "the demo's folder stays while its job runs: {}",
            kept.display()
        ));
    }
    Ok(exit)
}

/// Writes much data and says how far it is; Ctrl-C ends it and leaves nothing behind.
fn large(folder: &Path, size: u64) -> Result<DemoTree, CliError> {
    let cancel = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&cancel);
    let path = folder.to_owned();
    let writer = std::thread::spawn(move || {
        let started = Instant::now();
        let mut told = started;
        let terminal = std::io::stderr().is_terminal();
        let tree = write_large(
            &path,
            LargeSpec {
                size,
                cancel: &heard,
            },
            &mut |done, total| {
                if terminal && told.elapsed() >= EVERY {
                    told = Instant::now();
                    let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
                    let rate = done.saturating_mul(1000) / ms.max(1);
                    let line = format!(
                        "\rkrescue: writing the demo: {} at {}   ",
                        text::bytes_of(done, total),
                        text::rate(rate)
                    );
                    let _ = write!(std::io::stderr().lock(), "{line}");
                }
            },
        );
        if terminal {
            let _ = writeln!(std::io::stderr().lock());
        }
        tree
    });
    wait(&writer, &cancel)?;
    match writer.join() {
        Ok(tree) => tree.map_err(|error| failed(&error)),
        Err(_) => Err(CliError::failed("the writer of the demo died")),
    }
}

/// Waits for the writer; a signal asks it to stop.
fn wait<T>(writer: &std::thread::JoinHandle<T>, cancel: &AtomicBool) -> Result<(), CliError> {
    use tokio::signal::unix::{SignalKind, signal};
    let no_signals = |error: std::io::Error| CliError::failed("no signals").because(&error);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(no_signals)?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signals)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
        while !writer.is_finished() {
            tokio::select! {
                _ = interrupt.recv() => cancel.store(true, Ordering::Relaxed),
                _ = terminate.recv() => cancel.store(true, Ordering::Relaxed),
                () = tokio::time::sleep(Duration::from_millis(50)) => {}
            }
        }
        Ok(())
    })
}

fn failed(error: &DemoError) -> CliError {
    match error {
        DemoError::NoSpace { .. } => CliError::refused("no room for the demo")
            .because(error)
            .hint("TMPDIR names another place, --size asks for less."),
        DemoError::Cancelled => CliError::new(Exit::Stopped, "the demo was not written to its end"),
        _ => CliError::failed("the demo could not be written").because(error),
    }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "krescue: {text}");
}
