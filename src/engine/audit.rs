//! What was done, by whom: one JSON line an act in `STATE/audit.jsonl`, appended and never changed.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde::Serialize;

use super::JobOutcome;
use super::job_spec::{Confirmed, JobSpec};
use super::plan_store::create_dirs;
use crate::disk::{DiskAction, DiskError};
use crate::plan::{HandOver, PartitionPlan, StepAction};
use crate::terms::Timestamp;

/// The audit's name in the state dir.
pub const AUDIT_FILE: &str = "audit.jsonl";

/// The audit of one job.
#[derive(Debug)]
pub(super) struct Audit<'a> {
    spec: &'a JobSpec,
    path: PathBuf,
    file: Mutex<File>,
    started: Instant,
}

#[derive(Serialize)]
struct Line<'a, T> {
    at: String,
    who: String,
    confirmed: Confirmed,
    plan: &'a str,
    #[serde(flatten)]
    act: T,
}

/// What happened to one log.
#[derive(Debug, Serialize)]
#[serde(tag = "act", rename = "log")]
pub(super) struct LogAct<'a> {
    pub(super) dir: &'a Path,
    pub(super) partition: &'a str,
    pub(super) log_start_offset: Option<i64>,
    pub(super) log_end_offset: Option<i64>,
    pub(super) steps: Vec<StepAct<'a>>,
}

/// One step that was done.
#[derive(Debug, Serialize)]
pub(super) struct StepAct<'a> {
    pub(super) file: &'a str,
    pub(super) action: &'static str,
    /// Length before, in bytes; `None` for a file that was not there.
    pub(super) before: Option<u64>,
    /// Length after, in bytes; `None` for a file that is gone.
    pub(super) after: Option<u64>,
    /// SHA-256 of what was taken away, where it was kept or hashed.
    pub(super) cut_sha256: Option<String>,
    /// Where it is kept.
    pub(super) kept: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(tag = "act", rename = "hand_over")]
struct HandOverAct<'a> {
    dir: &'a Path,
    hand_over: HandOver,
}

#[derive(Serialize)]
#[serde(tag = "act", rename = "end")]
struct EndAct<'a> {
    #[serde(flatten)]
    outcome: &'a JobOutcome,
}

impl<'a> Audit<'a> {
    /// Opens the audit of a state dir; refuses to act where it cannot be written.
    pub(super) fn open(state_dir: &Path, spec: &'a JobSpec) -> Result<Self, DiskError> {
        create_dirs(state_dir)?;
        let path = state_dir.join(AUDIT_FILE);
        let file = File::options()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(DiskError::of(DiskAction::Open, &path))?;
        Ok(Self {
            spec,
            path,
            file: Mutex::new(file),
            started: Instant::now(),
        })
    }

    /// Tells what was done to a log, complete or up to where it stopped.
    pub(super) fn log(&self, act: &LogAct<'_>) -> Result<(), DiskError> {
        self.append(act)
    }

    /// Tells what a log dir was handed over as.
    pub(super) fn hand_over(&self, dir: &Path, hand_over: HandOver) -> Result<(), DiskError> {
        self.append(&HandOverAct { dir, hand_over })
    }

    /// Tells how the job ended, and makes all durable.
    pub(super) fn end(&self, outcome: &JobOutcome) -> Result<(), DiskError> {
        self.append(&EndAct { outcome })?;
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.sync_all()
            .map_err(DiskError::of(DiskAction::Sync, &self.path))
    }

    fn append(&self, act: &impl Serialize) -> Result<(), DiskError> {
        let elapsed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        let at = Timestamp(self.spec.started_at.0.saturating_add(elapsed));
        let line = Line {
            at: at.rfc3339(),
            who: self.spec.who.to_string(),
            confirmed: self.spec.confirmed,
            plan: &self.spec.plan,
            act,
        };
        let write = |error| DiskError::new(DiskAction::Write, &self.path, error);
        let mut bytes = serde_json::to_vec(&line).map_err(|error| write(error.into()))?;
        bytes.push(b'\n');
        // One write a line, so that jobs side by side do not mix theirs.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&bytes).map_err(write)
    }
}

impl<'a> LogAct<'a> {
    /// Returns the act of a log of which nothing is done yet.
    pub(super) fn new(dir: &'a Path, plan: &'a PartitionPlan) -> Self {
        Self {
            dir,
            partition: &plan.dir_name,
            log_start_offset: plan.log_start_offset.map(|offset| offset.0),
            log_end_offset: plan.log_end_offset.map(|offset| offset.0),
            steps: Vec::new(),
        }
    }
}

/// Returns an action's name, and the file's length before and after.
pub(super) fn action_lengths(action: &StepAction) -> (&'static str, Option<u64>, Option<u64>) {
    match action {
        StepAction::Remove { len } => ("remove", Some(*len), None),
        StepAction::SetLen { from, to } => ("set_len", Some(*from), Some(*to)),
        StepAction::Write { content, replaces } => ("write", *replaces, Some(content.len)),
        StepAction::CopyPart { len, replaces, .. } => ("copy_part", *replaces, Some(*len)),
        StepAction::Allocate { len, replaces } => ("allocate", *replaces, Some(*len)),
        StepAction::Rename { .. } => ("rename", None, None),
        StepAction::Restore { kept, replaces } => ("restore", *replaces, Some(kept.len)),
        StepAction::Append { from, to, .. } => ("append", Some(*from), Some(*to)),
    }
}
