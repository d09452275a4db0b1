//! Whether a broker lives on log dirs: its process, their locks, files open for writing.

use std::path::PathBuf;

use super::Candidate;
use super::candidate::real_path;
use crate::disk::{LockState, look_at_lock, writers_in};
use crate::observe::{ProcessConfig, find_brokers};
use crate::settings::BrokerConfig;

/// Whether somebody uses the log dirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// Nobody.
    Down,
    /// Somebody.
    Running {
        /// Who, if it can be told.
        pid: Option<u32>,
        /// What shows it, as a clause (`/d1 is locked by process 812`).
        how: String,
        /// The log dirs that are locked.
        locked: Vec<PathBuf>,
    },
    /// It cannot be told; treated like somebody.
    Unknown {
        /// Why.
        why: String,
    },
}

impl Presence {
    /// Returns a word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Running { .. } => "running",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// Returns the process, if it is known.
    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Running { pid, .. } => *pid,
            _ => None,
        }
    }
}

/// Looks who uses the log dirs of `candidate`; touches nothing.
///
/// A broker gives up the lock of a dir that failed, so one free lock proves nothing: any lock counts, then the process,
/// then open files.
pub fn presence_of(candidate: &Candidate, log_dirs: &[PathBuf]) -> Presence {
    let mut locked = Vec::new();
    let mut holder = None;
    let mut unknown = None;
    for dir in log_dirs {
        match look_at_lock(dir) {
            Ok(LockState::Free) => {}
            Ok(LockState::Held { pid }) => {
                holder = holder.or(pid);
                locked.push(dir.clone());
            }
            Err(error) => unknown = unknown.or_else(|| Some(error.sentence())),
        }
    }
    if let Some(dir) = locked.first() {
        let who = match holder {
            Some(pid) => format!("process {pid}"),
            None => {
                "a process that the system does not name (a job of krescue, or one in a container)"
                    .to_owned()
            }
        };
        let how = format!("{} is locked by {who}", dir.display());
        return Presence::Running {
            pid: holder,
            how,
            locked,
        };
    }
    if let Some(pid) = process_of(candidate, log_dirs) {
        let how = format!("process {pid} is the broker of these log dirs");
        return Presence::Running {
            pid: Some(pid),
            how,
            locked,
        };
    }
    if let Some(writer) = writers_in(log_dirs).into_iter().next() {
        let how = format!(
            "process {} ({}) has {} open for writing",
            writer.pid,
            writer.command,
            writer.file.display()
        );
        return Presence::Running {
            pid: Some(writer.pid),
            how,
            locked,
        };
    }
    unknown.map_or(Presence::Down, |why| Presence::Unknown { why })
}

/// Returns the process whose configuration names one of the log dirs. Where log dirs alone were named nothing is
/// searched for.
fn process_of(candidate: &Candidate, log_dirs: &[PathBuf]) -> Option<u32> {
    candidate.broker.path.as_ref()?;
    let ours = super::candidate::real_paths(log_dirs);
    find_brokers(std::path::Path::new("/proc"))
        .brokers
        .into_iter()
        .find_map(|process| {
            let ProcessConfig::Path(path) = &process.config else {
                return None;
            };
            let cwd = process.cwd.clone().unwrap_or_else(|| PathBuf::from("/"));
            let broker = BrokerConfig::read(path, &process.overrides, &cwd).ok()?;
            let theirs = &broker.log_dirs.value;
            theirs
                .iter()
                .any(|dir| ours.contains(&real_path(dir)))
                .then_some(process.pid)
        })
}
