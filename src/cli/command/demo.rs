//! `demo`: the dashboard on an embedded broker, in a temporary folder.

use std::fs;
use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Recording;
use super::dashboard::{dashboard, has_terminal};
use crate::app::text;
use crate::cli::args::{ClusterAt, ClusterPlace, DemoArgs, GlobalArgs, MirrorSources, Scenario};
use crate::cli::{CliError, Context, Exit, Whose};
use crate::demo::{
    DemoError, DemoTree, FullVolume, LargeSpec, boot_recording, cluster_recording, write_crashed,
    write_full_disk, write_large, write_mirror, write_retention,
};
use crate::engine::{JobState, list_jobs};
use crate::settings::{Flags, is_tmpfs};

/// How often the progress of writing is told.
const EVERY: Duration = Duration::from_millis(500);
/// What a demo's folder is called; its process id follows.
const PREFIX: &str = "krescue-demo-";
/// The state dir in a demo's folder.
const STATE: &str = "state";
/// How much `large` writes unless told.
const DEFAULT_SIZE: u64 = 8 << 30;

/// Runs `demo`.
pub(in crate::cli) fn demo(args: &DemoArgs, global: &GlobalArgs) -> Result<Exit, CliError> {
    if args.scenario != Scenario::Large && args.size.is_some() {
        return Err(CliError::usage("--size without the scenario \"large\"")
            .hint("krescue demo large --size 8GiB"));
    }
    if !has_terminal() {
        return Err(CliError::usage("the demo needs a terminal"));
    }
    let recording = match args.scenario {
        Scenario::Boot => Some(Recording::read(boot_recording(), "the demo")?),
        Scenario::Cluster => Some(Recording::read(cluster_recording(), "the demo")?),
        _ => None,
    };
    if let Some(recording) = recording {
        return super::dashboard::show_recording(recording, 1);
    }
    let parent = parent_folder(args.scenario);
    remove_dead(&parent);
    let folder = tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        .tempdir_in(&parent)
        .map_err(|error| {
            CliError::failed(format!("cannot make a folder in {}", parent.display()))
                .because(&error)
        })?;
    let mut volume: Option<FullVolume> = None;
    let mut mirror = MirrorSources::default();
    let tree = match args.scenario {
        Scenario::Crashed | Scenario::Boot | Scenario::Cluster => {
            write_crashed(folder.path()).map_err(|error| failed(&error))?
        }
        Scenario::Mirror => {
            let demo = write_mirror(folder.path()).map_err(|error| failed(&error))?;
            mirror.mm2 = Some(demo.mm2);
            mirror.cluster = demo
                .clusters
                .into_iter()
                .map(|(alias, dirs)| ClusterPlace {
                    alias,
                    at: ClusterAt::LogDirs(dirs),
                })
                .collect();
            demo.tree
        }
        Scenario::Retention => write_retention(folder.path()).map_err(|error| failed(&error))?,
        Scenario::FullDisk => {
            let full = write_full_disk(folder.path()).map_err(|error| failed(&error))?;
            volume = Some(full.volume);
            full.tree
        }
        Scenario::Large => large(folder.path(), args.size.unwrap_or(DEFAULT_SIZE))?,
    };
    let state_dir = folder.path().join(STATE);
    let global = GlobalArgs {
        config: Some(tree.config),
        log_dirs: None,
        kafka_version: Some(global.kafka_version.unwrap_or(tree.kafka_version)),
        now: Some(global.now.unwrap_or(tree.now)),
        topic_config: None,
        state_dir: Some(state_dir.clone()),
        ..global.clone()
    };
    let mut context = Context::read(&global, Flags::default())?;
    context.whose = Whose::Demo;
    context.mirror = mirror;
    let limit = volume.as_ref().and_then(FullVolume::limit);
    if let Some(limit) = &limit {
        say(limit);
    }
    let exit = dashboard(context, None, limit)?;
    if has_running_job(&state_dir) {
        volume.into_iter().for_each(FullVolume::keep);
        let kept = folder.keep();
        say(&format!(
            "the demo's folder stays while its job runs: {}",
            kept.display()
        ));
    }
    Ok(exit)
}

/// Returns where the folder is made: the system's temporary folder; on disk, if it is to hold gigabytes.
fn parent_folder(scenario: Scenario) -> PathBuf {
    let usual = std::env::temp_dir();
    let on_disk = Path::new("/var/tmp");
    if scenario == Scenario::Large && is_tmpfs(&usual) && on_disk.is_dir() && !is_tmpfs(on_disk) {
        return on_disk.to_owned();
    }
    usual
}

/// Removes the folders of demos that were killed: their process is gone, and no job runs in them.
fn remove_dead(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(|rest| rest.split('-').next())
            .and_then(|pid| pid.parse::<u32>().ok());
        let is_dead = pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists());
        if is_dead && !has_running_job(&entry.path().join(STATE)) {
            // Another user's folder stays.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn has_running_job(state_dir: &Path) -> bool {
    let jobs = list_jobs(state_dir).unwrap_or_default();
    jobs.iter().any(|job| job.state == JobState::Running)
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
