//! Plans for a living cluster in the state dir: those that were shown, and the old values that are kept while a change
//! is in force.
//!
//! ```text
//! STATE/live/plans/HASH.json      shown, until it is carried out
//! STATE/live/in-force/HASH.json   carried out; its old values are not back yet
//! ```

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::plan_store::{create_dirs, sync_dir};
use crate::disk::{DiskAction, DiskError};
use crate::engine::audit::audit_file::{AuditAct, AuditEntry, audit_line};
use crate::engine::{Confirmed, EngineError, Who};
use crate::plan::{LivePlan, ReplicaSize};
use crate::terms::Timestamp;

/// The largest file that is read, in bytes.
const MAX_LEN: u64 = 16 << 20;
const MIN_PREFIX: usize = 8;

/// A change that is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// The plan's hash.
    pub hash: String,
    /// When it was carried out, in ms since 1970.
    pub since: i64,
    /// Who did.
    pub who: String,
    /// The plan, with the old values.
    pub plan: LivePlan,
    /// The topic's replicas just before; empty for a plan of another kind.
    #[serde(default)]
    pub before: Vec<ReplicaSize>,
}

/// The live plans of a state dir.
#[derive(Debug, Clone)]
pub struct LiveStore {
    state_dir: PathBuf,
}

impl LiveStore {
    /// Returns the store of a state dir; nothing is created yet.
    pub fn new(state_dir: &Path) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
        }
    }

    /// Keeps a plan that is shown; returns its hash.
    ///
    /// # Errors
    ///
    /// The state dir cannot be written.
    pub fn keep(&self, plan: &LivePlan) -> Result<String, EngineError> {
        let hash = plan.hash();
        write(&self.plans(), &hash, plan)?;
        Ok(hash)
    }

    /// Returns the plan that was shown with a hash that begins with `prefix`, and that hash.
    ///
    /// # Errors
    ///
    /// There is none, or several, or it is damaged.
    pub fn find(&self, prefix: &str) -> Result<(String, LivePlan), EngineError> {
        let mut found: Vec<_> = names(&self.plans())
            .into_iter()
            .filter(|hash| hash.starts_with(prefix) && prefix.len() >= MIN_PREFIX)
            .collect();
        let none = || EngineError::NoSuchPlan {
            prefix: prefix.to_owned(),
            plans: self.plans(),
        };
        let hash = found.pop().ok_or_else(none)?;
        if !found.is_empty() {
            return Err(EngineError::AmbiguousPlan {
                prefix: prefix.to_owned(),
                count: found.len() + 1,
            });
        }
        let plan: LivePlan = read(&self.plans().join(format!("{hash}.json")))?;
        if plan.hash() != hash {
            return Err(EngineError::damaged("a live plan", &"its hash is another"));
        }
        Ok((hash, plan))
    }

    /// Notes that a plan was carried out: it cannot be again, and its old values are kept. A restore ends what it restores.
    ///
    /// # Errors
    ///
    /// The state dir cannot be written.
    pub fn carried_out(
        &self,
        (hash, plan): (&str, &LivePlan),
        before: Vec<ReplicaSize>,
        who: &Who,
        at: Timestamp,
    ) -> Result<(), EngineError> {
        if let Some(restored) = &plan.restores {
            remove(&self.in_force_dir().join(format!("{restored}.json")))?;
        } else if plan.can_be_restored() {
            let kept = InForce {
                hash: hash.to_owned(),
                since: at.0,
                who: who.user.clone(),
                plan: plan.clone(),
                before,
            };
            write(&self.in_force_dir(), hash, &kept)?;
        }
        remove(&self.plans().join(format!("{hash}.json")))
    }

    /// Returns the changes in force, oldest first; damaged files are left out.
    pub fn in_force(&self) -> Vec<InForce> {
        let dir = self.in_force_dir();
        let mut all: Vec<InForce> = names(&dir)
            .iter()
            .filter_map(|hash| read(&dir.join(format!("{hash}.json"))).ok())
            .collect();
        all.sort_by_key(|kept| kept.since);
        all
    }

    fn plans(&self) -> PathBuf {
        self.state_dir.join("live").join("plans")
    }

    fn in_force_dir(&self) -> PathBuf {
        self.state_dir.join("live").join("in-force")
    }
}

/// Tells the audit what was done to a living cluster, and how it ended.
///
/// # Errors
///
/// The audit cannot be written.
pub fn audit_live(
    state_dir: &Path,
    (who, at): (&Who, Timestamp),
    (hash, plan): (&str, &LivePlan),
    confirmed: Confirmed,
    (line, outcome): (&str, &str),
) -> Result<(), EngineError> {
    let entry = AuditEntry {
        at: at.rfc3339(),
        who: who.into(),
        confirmed: Some(confirmed),
        plan: Some(hash.to_owned()),
        undoes: plan.restores.clone(),
        act: AuditAct::Live {
            cluster_id: plan.cluster_id.clone(),
            what: plan.sentence(),
            line: line.to_owned(),
            outcome: outcome.to_owned(),
        },
    };
    audit_line(state_dir, &entry)
}

/// Writes a value whole or not at all.
fn write(dir: &Path, name: &str, value: &impl Serialize) -> Result<(), EngineError> {
    create_dirs(dir)?;
    let path = dir.join(format!("{name}.json"));
    let staged = dir.join(format!(".{name}.{}", std::process::id()));
    let failed = |error| DiskError::new(DiskAction::Write, &path, error);
    let bytes = serde_json::to_vec(value).map_err(|error| failed(error.into()))?;
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&staged)
        .map_err(failed)?;
    file.write_all(&bytes)
        .and_then(|()| file.sync_all())
        .map_err(failed)?;
    std::fs::rename(&staged, &path).map_err(failed)?;
    Ok(sync_dir(dir)?)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect()
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, EngineError> {
    use std::io::Read as _;
    let failed = |error| DiskError::new(DiskAction::Read, path, error);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_LEN).read_to_end(&mut bytes).map_err(failed)?;
    serde_json::from_slice(&bytes).map_err(|error| EngineError::damaged("a live plan", &error))
}

fn remove(path: &Path) -> Result<(), EngineError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(DiskError::new(DiskAction::Remove, path, error).into())
        }
        _ => Ok(()),
    }
}
