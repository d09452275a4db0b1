//! Plans that were shown, kept until they are applied: `STATE/plans/HASH/{plan.json, contents}`.
//!
//! A plan's folder appears whole or not at all: it is filled under another name and renamed.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::content_pack::ContentPack;
use super::plan_hash::plan_hash;
use crate::disk::{DiskAction, DiskError};
use crate::engine::EngineError;
use crate::engine::job::process::is_alive;
use crate::plan::{Content, PlanAct, RecoveryPlan, StepAction};

const PLAN: &str = "plan.json";
const CONTENTS: &str = "contents";
const STAGING: &str = ".staging-";
const MIN_PREFIX: usize = 8;

/// A plan as the scan made it, with what its steps write.
#[derive(Debug)]
pub struct MadePlan {
    /// The plan.
    pub plan: RecoveryPlan,
    /// Contents that did not fit the memory budget, if any.
    pub(in crate::engine) staging: Option<Staging>,
}

impl MadePlan {
    /// Returns a plan whose contents are all in memory.
    pub fn of(plan: RecoveryPlan) -> Self {
        Self {
            plan,
            staging: None,
        }
    }

    /// Returns the plan's hash, which names it in the store.
    pub fn hash(&self) -> String {
        plan_hash(&self.plan)
    }

    /// Returns what a step writes.
    pub fn content(&self, content: &Content) -> Result<Arc<[u8]>, EngineError> {
        match (&content.bytes, &self.staging) {
            (Some(bytes), _) => Ok(Arc::clone(bytes)),
            (None, Some(staging)) => staging.pack.bytes(content),
            (None, None) => Err(EngineError::damaged("the plan", &"a content is missing")),
        }
    }
}

/// A plan in the store.
#[derive(Debug)]
pub struct StoredPlan {
    /// Its full hash in lower-case hex.
    pub hash: String,
    /// The plan; its contents hold no bytes.
    pub plan: RecoveryPlan,
    pack: ContentPack,
}

impl StoredPlan {
    /// Returns what a step writes, checked against its hash.
    pub fn content(&self, content: &Content) -> Result<Arc<[u8]>, EngineError> {
        self.pack.bytes(content)
    }
}

/// A folder of contents that belongs to no plan yet; removed when it is dropped.
#[derive(Debug)]
pub(in crate::engine) struct Staging {
    dir: StagingDir,
    pub(in crate::engine) pack: ContentPack,
}

#[derive(Debug)]
struct StagingDir(PathBuf);

impl Staging {
    /// Creates an empty one under `plans`.
    fn create(plans: &Path) -> Result<Self, DiskError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        create_dirs(plans)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = plans.join(format!("{STAGING}{}-{number}", std::process::id()));
        create_dirs(&dir)?;
        let path = dir.join(CONTENTS);
        // A dead process with the same id may have left one.
        remove_if_there(&path)?;
        let pack = ContentPack::create(&path)?;
        Ok(Self {
            dir: StagingDir(dir),
            pack,
        })
    }
}

impl Drop for StagingDir {
    fn drop(&mut self) {
        // Gone already if it became a plan's folder; else whoever stores a plan next tries again.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The plans of one state dir.
#[derive(Debug, Clone)]
pub struct PlanStore {
    plans: PathBuf,
}

/// Counts the files of plans that are written anew, so that no two threads write one.
static NEXT_HALF: AtomicU64 = AtomicU64::new(0);

impl PlanStore {
    /// Returns the store of a state dir; nothing is created yet.
    pub fn new(state_dir: &Path) -> Self {
        Self {
            plans: state_dir.join("plans"),
        }
    }

    /// Makes room for contents that a plan will need.
    pub(in crate::engine) fn stage(&self) -> Result<Staging, DiskError> {
        Staging::create(&self.plans)
    }

    /// Stores a plan durably and returns it; storing the same plan again changes nothing.
    pub fn save(&self, made: MadePlan) -> Result<StoredPlan, EngineError> {
        self.remove_dead_staging();
        let MadePlan { mut plan, staging } = made;
        let staging = staging.map_or_else(|| self.stage(), Ok)?;
        for content in contents_of(&mut plan) {
            staging.pack.store(content)?;
        }
        let hash = plan_hash(&plan);
        let folder = self.plans.join(&hash);
        if folder.join(PLAN).exists() {
            return self.open_again(&hash, plan);
        }
        let Staging { dir, pack } = staging;
        let path = dir.0.join(PLAN);
        let text =
            serde_json::to_vec(&plan).map_err(|error| EngineError::damaged(&path, &error))?;
        write_synced(&path, &text)?;
        pack.sync()
            .map_err(DiskError::of(DiskAction::Sync, &dir.0.join(CONTENTS)))?;
        sync_dir(&dir.0)?;
        match std::fs::rename(&dir.0, &folder) {
            Ok(()) => sync_dir(&self.plans)?,
            // Another krescue stored the same plan meanwhile.
            Err(_) if folder.join(PLAN).exists() => return self.open(&hash),
            Err(error) => {
                return Err(DiskError::new(DiskAction::Rename, &dir.0, error).into());
            }
        }
        Ok(StoredPlan {
            hash,
            plan,
            pack: pack.renamed(folder.join(CONTENTS)),
        })
    }

    /// Returns a plan that was stored before, with what is seen now: findings are no part of the hash, and a volume may be
    /// full by now. It counts as stored now.
    fn open_again(&self, hash: &str, made: RecoveryPlan) -> Result<StoredPlan, EngineError> {
        let mut stored = self.open(hash)?;
        for (dir, made) in stored.plan.log_dirs.iter_mut().zip(made.log_dirs) {
            dir.findings = made.findings;
            for (log, made) in dir.partitions.iter_mut().zip(made.partitions) {
                if log.dir_name != made.dir_name {
                    continue;
                }
                log.findings = made.findings;
                // Of a verdict that changes nothing the hash knows no more than that.
                if !log.verdict.is_applied() && !made.verdict.is_applied() {
                    log.verdict = made.verdict;
                }
            }
        }
        let folder = self.plans.join(hash);
        let path = folder.join(PLAN);
        let text = serde_json::to_vec(&stored.plan)
            .map_err(|error| EngineError::damaged(&path, &error))?;
        let number = NEXT_HALF.fetch_add(1, Ordering::Relaxed);
        let half = folder.join(format!("{PLAN}.{}.{number}", std::process::id()));
        let written = write_synced(&half, &text).map_err(|_| ());
        let renamed = written.and_then(|()| std::fs::rename(&half, &path).map_err(|_| ()));
        // On a full state volume the plan stays as it was stored; what is seen now is shown all the same.
        if renamed.is_err() {
            let _ = std::fs::remove_file(&half);
        }
        Ok(stored)
    }

    /// Returns the stored plan whose hash begins with `prefix`, at least 8 hex digits of any case.
    pub fn find(&self, prefix: &str) -> Result<StoredPlan, EngineError> {
        let wanted = prefix.to_ascii_lowercase();
        if wanted.len() < MIN_PREFIX || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(EngineError::BadPlanHash {
                prefix: prefix.to_owned(),
            });
        }
        let mut found = self.hashes()?;
        found.retain(|hash| hash.starts_with(&wanted));
        match found.as_slice() {
            [hash] => self.open(hash),
            [] => Err(EngineError::NoSuchPlan {
                prefix: prefix.to_owned(),
                plans: self.plans.clone(),
            }),
            several => Err(EngineError::AmbiguousPlan {
                prefix: prefix.to_owned(),
                count: several.len(),
            }),
        }
    }

    /// Returns the hashes of all stored plans, sorted.
    pub fn hashes(&self) -> Result<Vec<String>, EngineError> {
        let entries = match std::fs::read_dir(&self.plans) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(DiskError::new(DiskAction::List, &self.plans, error).into()),
        };
        let mut hashes: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .collect();
        hashes.sort();
        Ok(hashes)
    }

    /// Returns the stored recovery plans of these log dirs, the newest first; each is read when it is asked for.
    pub fn recoveries<'a>(
        &'a self,
        log_dirs: &'a [PathBuf],
    ) -> impl Iterator<Item = RecoveryPlan> + 'a {
        let mut by_time: Vec<(std::time::SystemTime, String)> = self
            .hashes()
            .unwrap_or_default()
            .into_iter()
            .filter_map(|hash| {
                let written = std::fs::metadata(self.plans.join(&hash)).ok()?;
                Some((written.modified().ok()?, hash))
            })
            .collect();
        by_time.sort();
        let plans = by_time
            .into_iter()
            .rev()
            .filter_map(|(_, hash)| self.open(&hash).ok());
        plans.map(|stored| stored.plan).filter(move |plan| {
            let dirs = plan.log_dirs.iter().map(|dir| &dir.path);
            plan.act == PlanAct::Recover && plan.undoes.is_none() && dirs.eq(log_dirs)
        })
    }

    fn open(&self, hash: &str) -> Result<StoredPlan, EngineError> {
        let folder = self.plans.join(hash);
        let path = folder.join(PLAN);
        let text = std::fs::read(&path).map_err(DiskError::of(DiskAction::Read, &path))?;
        let plan: RecoveryPlan =
            serde_json::from_slice(&text).map_err(|error| EngineError::damaged(&path, &error))?;
        if plan_hash(&plan) != hash {
            return Err(EngineError::damaged(&path, &"it does not fit its hash"));
        }
        let pack = ContentPack::open(&folder.join(CONTENTS))?;
        Ok(StoredPlan {
            hash: hash.to_owned(),
            plan,
            pack,
        })
    }

    fn remove_dead_staging(&self) {
        let entries = std::fs::read_dir(&self.plans).into_iter().flatten();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let pid = name
                .strip_prefix(STAGING)
                .and_then(|rest| rest.split('-').next())
                .and_then(|pid| pid.parse().ok());
            if pid.is_some_and(|pid| !is_alive(pid)) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// Returns every content that the plan's steps write.
fn contents_of(plan: &mut RecoveryPlan) -> impl Iterator<Item = &mut Content> {
    plan.log_dirs
        .iter_mut()
        .flat_map(|dir| &mut dir.partitions)
        .flat_map(|partition| &mut partition.steps)
        .filter_map(|step| match &mut step.action {
            StepAction::Write { content, .. } => Some(content),
            _ => None,
        })
}

/// Creates a dir of ours and its parents, mode 0700.
pub(in crate::engine) fn create_dirs(dir: &Path) -> Result<(), DiskError> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(DiskError::of(DiskAction::Create, dir))
}

/// Writes a file of ours, mode 0600, and makes it durable.
pub(in crate::engine) fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .map_err(DiskError::of(DiskAction::Create, path))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(DiskError::of(DiskAction::Write, path))
}

/// Makes the names in a dir of ours durable.
pub(in crate::engine) fn sync_dir(dir: &Path) -> Result<(), DiskError> {
    File::open(dir)
        .and_then(|file| file.sync_all())
        .map_err(DiskError::of(DiskAction::Sync, dir))
}

fn remove_if_there(path: &Path) -> Result<(), DiskError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(DiskError::new(DiskAction::Remove, path, error))
        }
        _ => Ok(()),
    }
}
