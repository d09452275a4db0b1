//! Carries out the steps of one log.
//!
//! First [`LogApply::prepare`] keeps what will go and writes new files under names of krescue's own, which Kafka
//! ignores. Once that is durable, [`LogApply::execute`] does the steps in the plan's order, stage by stage: each is one
//! system call, so that whatever kills krescue leaves a prefix of the steps. The steps of a stage may become durable in
//! any order; the caller syncs before the next stage, so that a power cut leaves no more than a kill does.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::audit::{LogAct, StepAct, action_lengths};
use super::context::JobContext;
use super::log_target::OWN_SUFFIX;
use super::plan_store::StoredPlan;
use super::quarantine::{Cut, Kept, QuarantineDir, with_suffix};
use super::second_look::look_again;
use super::stamps::check_partition;
use super::{EngineError, JobEvent};
use crate::disk::{DiskAction, DiskError, Ownership, Storage};
use crate::format::file_name::{FileKind, PartitionFile};
use crate::plan::{Content, FileStamp, PartitionPlan, Quarantine, Step, StepAction};

/// Why a log's steps were not all done.
#[derive(Debug)]
pub(super) enum LogFailure {
    /// Asked to stop; the step at hand was done.
    Stopped,
    /// Something failed; the sentence names the file.
    Failed(String),
}

impl From<DiskError> for LogFailure {
    fn from(error: DiskError) -> Self {
        Self::Failed(error.sentence())
    }
}

impl From<EngineError> for LogFailure {
    fn from(error: EngineError) -> Self {
        Self::Failed(error.sentence())
    }
}

/// What all logs of an apply share.
pub(super) struct ApplyShared<'a> {
    pub(super) storage: &'a dyn Storage,
    pub(super) stored: &'a StoredPlan,
    pub(super) context: &'a JobContext,
    pub(super) quarantine: QuarantineDir<'a>,
}

/// One log whose steps are to be done.
pub(super) struct LogApply<'a> {
    log_dir: &'a Path,
    plan: &'a PartitionPlan,
    dir: PathBuf,
    /// What was kept, by the number of its step.
    kept: HashMap<usize, Kept>,
    /// Files that were written under krescue's own names and wait for their rename.
    written: Vec<PathBuf>,
    /// The steps that wait, a stage each; the next stage is last.
    stages: Vec<&'a [Step]>,
    /// What was done so far.
    act: LogAct<'a>,
}

impl<'a> LogApply<'a> {
    /// Returns the apply of one log of `log_dir`.
    pub(super) fn new(log_dir: &'a Path, plan: &'a PartitionPlan) -> Self {
        Self {
            log_dir,
            plan,
            dir: log_dir.join(&plan.dir_name),
            kept: HashMap::new(),
            written: Vec::new(),
            stages: plan
                .steps
                .chunk_by(|_, next| !next.after_sync)
                .rev()
                .collect(),
            act: LogAct::new(log_dir, plan),
        }
    }

    /// Says whether all steps are done.
    pub(super) fn is_done(&self) -> bool {
        self.stages.is_empty()
    }

    /// Returns what was done.
    pub(super) fn act(&self) -> &LogAct<'a> {
        &self.act
    }

    /// Keeps what will go and writes what will come; the log stays as it is.
    pub(super) fn prepare(&mut self, shared: &ApplyShared<'_>) -> Result<(), LogFailure> {
        look_again(shared.storage, &self.dir, self.plan).map_err(LogFailure::Failed)?;
        for (number, step) in self.plan.steps.iter().enumerate() {
            if shared.context.is_cancelled() {
                return Err(LogFailure::Stopped);
            }
            self.keep(shared, number, step)?;
            if let StepAction::Write { content, .. } = &step.action {
                self.write(shared, step, content)?;
            }
        }
        Ok(())
    }

    fn keep(
        &mut self,
        shared: &ApplyShared<'_>,
        number: usize,
        step: &Step,
    ) -> Result<(), LogFailure> {
        let (from, until) = match &step.action {
            StepAction::SetLen { from, to } => (*to, Some(*from)),
            StepAction::Rename { .. } | StepAction::Write { replaces: None, .. } => return Ok(()),
            StepAction::Remove { .. } | StepAction::Write { .. } => (0, None),
        };
        let stamp = self.stamp(&step.file);
        if let (Quarantine::Keep, Some(stamp)) = (step.quarantine, stamp) {
            let path = self.dir.join(&step.file);
            let cut = Cut {
                path: &path,
                stamp,
                from,
                until: until.unwrap_or(stamp.len),
                in_place: matches!(step.action, StepAction::SetLen { .. }),
            };
            let kept = shared.quarantine.keep(cut)?;
            self.kept.insert(number, kept);
        }
        Ok(())
    }

    fn write(
        &mut self,
        shared: &ApplyShared<'_>,
        step: &Step,
        content: &Content,
    ) -> Result<(), LogFailure> {
        let bytes = shared.stored.content(content)?;
        let path = self.dir.join(&step.file);
        let owner = self.owner_of(shared.storage, &path)?;
        let half = with_suffix(&path, OWN_SUFFIX);
        self.written.push(half.clone());
        Ok(shared.storage.write_file(&half, &bytes, &owner)?)
    }

    /// Returns owner and mode of a file that is about to be written; a log that lies beside lends its mode.
    fn owner_of(&self, storage: &dyn Storage, path: &Path) -> Result<Ownership, DiskError> {
        let mut owner = new_owner(self.log_dir, path)?;
        if storage.stat(path).is_err() {
            let log = self.plan.stamps.iter().find(|stamp| is_log(&stamp.name));
            if let Some(log) = log.and_then(|log| storage.stat(&self.dir.join(&log.name)).ok()) {
                owner.mode = log.mode;
            }
        }
        Ok(owner)
    }

    /// Does the steps of the next stage.
    pub(super) fn execute(&mut self, shared: &ApplyShared<'_>) -> Result<(), LogFailure> {
        let storage = shared.storage;
        if self.act.steps.is_empty() {
            check_partition(storage, &self.dir, &self.plan.stamps)
                .map_err(|error| LogFailure::Failed(error.sentence()))?;
        }
        for step in self.stages.last().copied().unwrap_or_default() {
            if shared.context.is_cancelled() {
                return Err(LogFailure::Stopped);
            }
            self.step(storage, step)?;
            let (action, before, after) = action_lengths(&step.action);
            let kept = self.kept.remove(&self.act.steps.len());
            self.act.steps.push(StepAct {
                file: &step.file,
                action,
                before,
                after,
                cut_sha256: kept.as_ref().and_then(|kept| kept.sha256.clone()),
                kept: kept.and_then(|kept| kept.path),
            });
            shared.context.count_step();
            shared.context.emit(JobEvent::Step {
                log_dir: self.log_dir.to_owned(),
                dir_name: self.plan.dir_name.clone(),
                step: step.clone(),
            });
        }
        self.stages.pop();
        Ok(())
    }

    fn step(&mut self, storage: &dyn Storage, step: &Step) -> Result<(), LogFailure> {
        let path = self.dir.join(&step.file);
        match &step.action {
            // A leftover of an earlier run whose name this run uses again.
            StepAction::Remove { .. } if self.written.contains(&path) => {}
            StepAction::Remove { .. } => storage.remove(&path)?,
            StepAction::SetLen { to, .. } => storage.set_len(&path, *to)?,
            StepAction::Write { .. } => {
                let half = with_suffix(&path, OWN_SUFFIX);
                storage.rename(&half, &path)?;
                self.written.retain(|other| *other != half);
            }
            StepAction::Rename { to } => storage.rename(&path, &self.dir.join(to))?,
        }
        Ok(())
    }

    /// Removes what was written and not yet renamed; for an apply that ends early.
    pub(super) fn clean_up(&mut self, storage: &dyn Storage) {
        for half in self.written.drain(..) {
            // A later plan removes it just as well.
            let _ = storage.remove(&half);
        }
    }

    fn stamp(&self, file: &str) -> Option<&'a FileStamp> {
        self.plan.stamps.iter().find(|stamp| stamp.name == file)
    }
}

/// Returns owner and mode of a file that is about to be written: those of the file that it replaces; else the log dir's
/// owner, and a mode of 0644.
pub(super) fn new_owner(log_dir: &Path, path: &Path) -> Result<Ownership, DiskError> {
    if let Ok(owner) = Ownership::of(path) {
        return Ok(owner);
    }
    let owner = Ownership::of(log_dir).map_err(DiskError::of(DiskAction::Stat, log_dir))?;
    Ok(Ownership {
        mode: 0o644,
        ..owner
    })
}

fn is_log(name: &str) -> bool {
    let kind = FileKind::Log;
    matches!(PartitionFile::parse(name), PartitionFile::Segment { kind: of, .. } if of == kind)
}
