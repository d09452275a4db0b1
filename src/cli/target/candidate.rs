//! One broker that a command may be about.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::observe::JarVersion;
use crate::settings::BrokerConfig;

/// A broker's configuration and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// How it was found: `process 812`, `unit kafka.service`, `--config`, `--log-dirs`, or the usual place.
    pub found_by: String,
    /// Its configuration; `log_dirs` are those that count.
    pub broker: BrokerConfig,
    /// The configuration's own log dirs where `--log-dirs` replaced them; else none.
    pub replaced_log_dirs: Vec<PathBuf>,
    /// Its running process.
    pub pid: Option<u32>,
    /// The unit that starts it.
    pub unit: Option<String>,
    /// Its release by a jar, and where that jar was found.
    pub jar: Option<(JarVersion, String)>,
}

impl Candidate {
    /// Returns a candidate of which nothing but the configuration is known.
    pub fn new(found_by: impl Into<String>, broker: BrokerConfig) -> Self {
        Self {
            found_by: found_by.into(),
            broker,
            replaced_log_dirs: Vec::new(),
            pid: None,
            unit: None,
            jar: None,
        }
    }

    /// Says whether the log dirs are the configuration's own.
    pub fn own_log_dirs(&self) -> bool {
        self.replaced_log_dirs.is_empty()
    }

    /// Returns `log_dirs`, and with them the configuration's others if it has one of these: a broker that uses any of them
    /// uses all. Copies of log dirs stand alone.
    pub fn guarded(&self, log_dirs: &[PathBuf]) -> Vec<PathBuf> {
        let mut guarded = log_dirs.to_vec();
        let named = real_paths(log_dirs);
        let is_named = |dir: &PathBuf| named.contains(&real_path(dir));
        if self.replaced_log_dirs.iter().any(is_named) {
            let others = self.replaced_log_dirs.iter().filter(|dir| !is_named(dir));
            guarded.extend(others.cloned());
        }
        guarded
    }

    /// Returns what names it in a list: node id and configuration, or its log dirs.
    pub fn label(&self) -> String {
        let node = self.broker.node_id.as_ref().map_or_else(
            || "broker ?".to_owned(),
            |id| format!("broker {}", id.value),
        );
        match &self.broker.path {
            Some(path) => format!("{node}, {}", path.display()),
            None => join(&self.broker.log_dirs.value),
        }
    }

    /// Returns the log dirs with links resolved, as far as they exist.
    pub(super) fn real_log_dirs(&self) -> BTreeSet<PathBuf> {
        real_paths(&self.broker.log_dirs.value)
    }

    /// Says whether a broker ever ran on one of its log dirs.
    pub(super) fn was_used(&self) -> bool {
        let dirs = &self.broker.log_dirs.value;
        dirs.iter().any(|dir| dir.join("meta.properties").exists())
    }
}

/// Returns paths with links resolved, as far as they exist.
pub(super) fn real_paths(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    paths.iter().map(|path| real_path(path)).collect()
}

/// Returns a path with links resolved, if it exists; else as it is.
pub(super) fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns paths as a list with commas.
fn join(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names.join(",")
}
