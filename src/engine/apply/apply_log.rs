//! Carries out the steps of one log.
//!
//! First [`LogApply::prepare`] keeps what will go and writes new files under names of krescue's own, which Kafka
//! ignores. Once that is durable, [`LogApply::execute`] does the steps in the plan's order, stage by stage: each is one
//! system call, so that whatever kills krescue leaves a prefix of the steps. The steps of a stage may become durable in
//! any order; the caller syncs before the next stage, so that a power cut leaves no more than a kill does.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::log_failure::LogFailure;
use super::log_progress::{Identity, LogSteps, Progress};
use super::mend::place;
use super::relocation::{begin_copy, copy_out};
use super::second_look::look_again;
use super::stamps::{StampError, check_partition};
use crate::disk::{DiskAction, DiskError, Ownership, Piece, Storage};
use crate::engine::JobEvent;
use crate::engine::audit::audit_file::AuditStep;
use crate::engine::audit::job_audit::{LogAct, action_lengths};
use crate::engine::job::context::JobContext;
use crate::engine::keep::journal::{Journal, JournalLine};
use crate::engine::keep::quarantine::{
    Cut, Kept, QuarantineDir, check_kept, put_beside, with_suffix,
};
use crate::engine::planning::log_target::OWN_SUFFIX;
use crate::engine::read::file_owner::ownership;
use crate::engine::store::plan_store::StoredPlan;
use crate::format::file_name::{FileKind, PartitionFile};
use crate::plan::{FileStamp, KeptFile, PartitionPlan, Quarantine, Step, StepAction, Verdict};

/// What all logs of an apply share.
pub(in crate::engine) struct ApplyShared<'a> {
    pub(in crate::engine) storage: &'a dyn Storage,
    pub(in crate::engine) stored: &'a StoredPlan,
    pub(in crate::engine) context: &'a JobContext,
    pub(in crate::engine) quarantine: QuarantineDir<'a>,
    pub(in crate::engine) journal: &'a Journal,
}

/// One log whose steps are to be done.
pub(in crate::engine) struct LogApply<'a> {
    log_dir: &'a Path,
    plan: &'a PartitionPlan,
    dir: PathBuf,
    /// Which steps an interrupted run did already.
    done: Progress,
    /// What was kept, by the number of its step.
    kept: BTreeMap<usize, Kept>,
    /// Files that were written under krescue's own names and wait for their rename.
    written: BTreeSet<PathBuf>,
    /// The steps that wait with their numbers, a stage each; the next stage is last.
    stages: Vec<Vec<(usize, &'a Step)>>,
    /// What was done so far.
    act: LogAct<'a>,
}

impl<'a> LogApply<'a> {
    /// Returns the apply of one log of `log_dir`, without the steps that are `done`.
    pub(in crate::engine) fn new(
        log_dir: &'a Path,
        plan: &'a PartitionPlan,
        done: Progress,
    ) -> Self {
        let mut dir = log_dir.join(&plan.dir_name);
        for step in plan.steps.iter().take(done.first) {
            dir = moved(dir, step);
        }
        let numbered: Vec<(usize, &Step)> = plan.steps.iter().enumerate().collect();
        let stages = numbered.chunk_by(|_, (_, next)| !next.after_sync);
        let left = |stage: &[(usize, &'a Step)]| {
            let left = stage.iter().copied();
            left.filter(|(number, _)| !done.has(*number))
                .collect::<Vec<_>>()
        };
        let mut stages: Vec<_> = stages.map(left).filter(|left| !left.is_empty()).collect();
        stages.reverse();
        Self {
            log_dir,
            plan,
            dir,
            done,
            kept: BTreeMap::new(),
            written: BTreeSet::new(),
            stages,
            act: LogAct::new(log_dir, plan),
        }
    }

    /// Returns how many steps are left to begin with.
    pub(in crate::engine) fn steps_left(&self) -> u64 {
        self.plan.steps.len().saturating_sub(self.done.count()) as u64
    }

    /// Says whether all steps are done.
    pub(in crate::engine) fn is_done(&self) -> bool {
        self.stages.is_empty()
    }

    /// Returns what was done.
    pub(in crate::engine) fn act(&self) -> &LogAct<'a> {
        &self.act
    }

    /// Keeps what will go and writes what will come; the log stays as it is.
    pub(in crate::engine) fn prepare(
        &mut self,
        shared: &ApplyShared<'_>,
    ) -> Result<(), LogFailure> {
        self.bring_dir_back(shared.storage)?;
        let copies = self
            .done
            .left(&self.plan.steps)
            .find_map(|step| match &step.action {
                StepAction::CopyOut { to, .. } => Some(to),
                _ => None,
            });
        if let Some(copy) = copies {
            begin_copy(shared.storage, &self.dir, copy, &self.plan.steps)?;
        }
        // A file that an earlier step renames lies under its old name now.
        let mut old_names: HashMap<&str, &str> = HashMap::new();
        let mut made: BTreeSet<&str> = BTreeSet::new();
        for (number, step) in self.plan.steps.iter().enumerate().skip(self.done.first) {
            if self.done.has(number) {
                made.insert(&step.file);
                continue;
            }
            if shared.context.is_cancelled() {
                return Err(LogFailure::Stopped);
            }
            let name = old_names.get(step.file.as_str()).copied();
            let name = name.unwrap_or(&step.file);
            match &step.action {
                StepAction::Remove { len } => self.keep(shared, number, name, (0, *len))?,
                StepAction::SetLen { from, to } => {
                    // What this plan itself made was read when it was made.
                    if !made.contains(step.file.as_str()) {
                        let place = (step.file.as_str(), self.dir.join(name));
                        look_again(shared.storage, self.plan, (place.0, &place.1), *to)
                            .map_err(LogFailure::Failed)?;
                    }
                    self.keep(shared, number, name, (*to, *from))?;
                }
                StepAction::Write { replaces, .. }
                | StepAction::CopyPart { replaces, .. }
                | StepAction::Allocate { replaces, .. } => {
                    if let Some(len) = replaces {
                        self.keep(shared, number, name, (0, *len))?;
                    }
                    made.insert(step.file.as_str());
                    if !writes_late(self.plan) {
                        self.write(shared, step)?;
                    }
                }
                StepAction::Rename { to } => {
                    if made.contains(step.file.as_str()) {
                        made.insert(to);
                    }
                    old_names.insert(to, name);
                }
                StepAction::Restore { kept, .. } => {
                    let half = with_suffix(&self.dir.join(&step.file), OWN_SUFFIX);
                    self.written.insert(half.clone());
                    put_beside(shared.storage, kept, &half)?;
                }
                StepAction::Append { kept, .. } => check_kept(shared.storage, kept)?,
                StepAction::CopyOut { to, .. } => {
                    let source = self.dir.join(name);
                    copy_out(shared, (self.log_dir, &source), &to.join(name))?;
                }
                StepAction::RemoveDir
                | StepAction::SetOwner { .. }
                | StepAction::MoveDir { .. } => {}
            }
        }
        let kept: Vec<(usize, KeptFile)> = self
            .kept
            .iter()
            .filter_map(|(number, kept)| Some((*number, kept.file.clone()?)))
            .collect();
        if !kept.is_empty() {
            shared.journal.write(&JournalLine::Log {
                dir: self.log_dir.to_owned(),
                partition: self.plan.dir_name.clone(),
                kept,
            })?;
        }
        Ok(())
    }

    /// Makes a dir again that the plan which is taken back removed.
    fn bring_dir_back(&self, storage: &dyn Storage) -> Result<(), DiskError> {
        if self.plan.verdict != Verdict::TakeBack {
            return Ok(());
        }
        match storage.stat(&self.dir) {
            Err(error) if error.is_not_found() => {}
            found => return found.map(drop),
        }
        let log_dir = storage.stat(self.log_dir)?;
        storage.create_dir(&self.dir)?;
        let owner = Ownership {
            uid: log_dir.uid,
            gid: log_dir.gid,
            mode: log_dir.mode,
            attributes: Vec::new(),
        };
        storage.set_owner(&self.dir, &owner)?;
        storage.sync_dir(self.log_dir)
    }

    /// Keeps the bytes of a range that a step takes away; those that can be made again only for an undo.
    fn keep(
        &mut self,
        shared: &ApplyShared<'_>,
        number: usize,
        name: &str,
        (from, until): (u64, u64),
    ) -> Result<(), LogFailure> {
        let Some(step) = self.plan.steps.get(number) else {
            return Ok(());
        };
        let quarantine = shared.quarantine;
        // An undo's own changes are made again by the plan that it takes back.
        let wanted = quarantine.root.is_some() || step.quarantine == Quarantine::Keep;
        let ours = shared.stored.plan.undoes.is_some() || name.ends_with(OWN_SUFFIX);
        if !wanted || ours {
            return Ok(());
        }
        let path = self.dir.join(name);
        let stat = shared.storage.stat(&path)?;
        let stamp = FileStamp {
            name: name.to_owned(),
            inode: stat.inode,
            len: stat.len,
            mtime_ns: stat.mtime_ns,
        };
        let cut = Cut {
            path: &path,
            stamp: &stamp,
            from,
            until,
            in_place: matches!(step.action, StepAction::SetLen { .. }),
            quarantine: step.quarantine,
        };
        self.kept.insert(number, quarantine.keep(cut)?);
        Ok(())
    }

    /// Writes the file that a step brings, under a name of krescue's own.
    fn write(&mut self, shared: &ApplyShared<'_>, step: &Step) -> Result<(), LogFailure> {
        let bytes = match &step.action {
            StepAction::Write { content, .. } => shared.stored.content(content)?,
            StepAction::CopyPart { .. } | StepAction::Allocate { .. } => Arc::default(),
            _ => return Ok(()),
        };
        let path = self.dir.join(&step.file);
        let owner = self.owner_of(shared.storage, &path)?;
        let half = with_suffix(&path, OWN_SUFFIX);
        self.written.insert(half.clone());
        let storage = shared.storage;
        storage.write_file(&half, &bytes, &owner)?;
        match &step.action {
            StepAction::CopyPart {
                source, start, len, ..
            } => {
                let source = self.dir.join(source);
                storage.copy_range(&source, *start, *len, &half)?;
            }
            StepAction::Allocate { len, .. } => storage.set_len(&half, *len)?,
            _ => {}
        }
        Ok(())
    }

    /// Returns owner and mode of a file that is about to be written; a log that lies beside lends its mode.
    fn owner_of(&self, storage: &dyn Storage, path: &Path) -> Result<Ownership, DiskError> {
        if let Ok(owner) = Ownership::of(path) {
            return Ok(owner);
        }
        let mut owner = owner_in(self.log_dir)?;
        let log = self.plan.stamps.iter().find(|stamp| is_log(&stamp.name));
        if let Some(log) = log.and_then(|log| storage.stat(&self.dir.join(&log.name)).ok()) {
            owner.mode = log.mode;
        }
        Ok(owner)
    }

    /// Does the steps of the next stage.
    pub(in crate::engine) fn execute(
        &mut self,
        shared: &ApplyShared<'_>,
    ) -> Result<(), LogFailure> {
        let storage = shared.storage;
        if self.act.steps.is_empty() {
            self.check(storage)
                .map_err(|error| LogFailure::Failed(error.sentence()))?;
        }
        for (number, step) in self.stages.last().cloned().unwrap_or_default() {
            if shared.context.is_cancelled() {
                return Err(LogFailure::Stopped);
            }
            if writes_late(self.plan) && matches!(step.action, StepAction::Write { .. }) {
                self.write(shared, step)?;
                storage.sync_file(&with_suffix(&self.dir.join(&step.file), OWN_SUFFIX))?;
            }
            self.step(storage, step)?;
            let (action, before, after) = action_lengths(&step.action);
            let kept = self.kept.remove(&number);
            self.act.steps.push(AuditStep {
                file: step.file.clone(),
                action: action.to_owned(),
                before,
                after,
                cut_sha256: kept.as_ref().and_then(|kept| kept.sha256.clone()),
                kept: kept.and_then(|kept| kept.place),
            });
            shared.context.count_step();
            shared.context.emit(JobEvent::Step {
                log_dir: self.log_dir.to_owned(),
                dir_name: self.plan.dir_name.clone(),
                step: step.clone(),
            });
        }
        self.stages.pop();
        if self.is_done() {
            self.tell_left(shared)?;
        }
        Ok(())
    }

    /// Checks that the log is as the preflight saw it.
    fn check(&self, storage: &dyn Storage) -> Result<(), StampError> {
        if self.done.is_none() {
            return check_partition(storage, &self.dir, &self.plan.stamps);
        }
        let steps = LogSteps {
            storage,
            dir: self.log_dir.join(&self.plan.dir_name),
            plan: self.plan,
            kept: None,
            left: None,
            identity: Identity::Same,
        };
        match steps.done()? {
            done if done == self.done => Ok(()),
            _ => Err(StampError::Changed(format!(
                "{} changed since it was checked",
                self.dir.display()
            ))),
        }
    }

    /// Tells the journal how the log was left, where an undo may ask.
    fn tell_left(&self, shared: &ApplyShared<'_>) -> Result<(), LogFailure> {
        if shared.quarantine.root.is_none() {
            return Ok(());
        }
        let listed = match shared.storage.list(&self.dir) {
            Err(error) if error.is_not_found() => Vec::new(),
            listed => listed?,
        };
        let stamps = listed.into_iter();
        let stamps = stamps.map(|entry| FileStamp {
            name: entry.name,
            inode: entry.stat.inode,
            len: entry.stat.len,
            mtime_ns: entry.stat.mtime_ns,
        });
        Ok(shared.journal.write(&JournalLine::LogLeft {
            dir: self.log_dir.to_owned(),
            partition: self.plan.dir_name.clone(),
            stamps: stamps.collect(),
        })?)
    }

    fn step(&mut self, storage: &dyn Storage, step: &Step) -> Result<(), LogFailure> {
        let path = self.dir.join(&step.file);
        match &step.action {
            // A leftover of an earlier run whose name this run uses again.
            StepAction::Remove { .. } if self.written.contains(&path) => {}
            StepAction::Remove { .. } => match storage.remove(&path) {
                // A leftover of krescue's own counts for no state: an interrupted run may have removed it.
                Err(error) if error.is_not_found() && step.file.ends_with(OWN_SUFFIX) => {}
                // A power cut keeps any of a stage's removals.
                Err(error) if error.is_not_found() && self.is_move() => {}
                removed => removed?,
            },
            StepAction::SetLen { to, .. } => storage.set_len(&path, *to)?,
            StepAction::Write { .. }
            | StepAction::CopyPart { .. }
            | StepAction::Allocate { .. }
            | StepAction::Restore { .. } => {
                let half = with_suffix(&path, OWN_SUFFIX);
                storage.rename(&half, &path)?;
                self.written.remove(&half);
            }
            StepAction::Append { from, to, kept } => {
                let piece = Piece {
                    from: 0,
                    len: kept.len,
                    to: *from,
                };
                match &kept.path {
                    Some(source) => storage.copy_into(source, piece, &path)?,
                    None => storage.set_len(&path, *to)?,
                }
                storage.set_mtime(&path, kept.mtime_ns)?;
            }
            StepAction::Rename { to } => storage.rename(&path, &self.dir.join(to))?,
            StepAction::RemoveDir => match storage.remove_dir(&self.dir) {
                Err(error) if error.is_not_found() => {}
                removed => removed?,
            },
            StepAction::CopyOut { to, .. } => {
                let target = to.join(&step.file);
                match storage.rename(&with_suffix(&target, OWN_SUFFIX), &target) {
                    // An interrupted run renamed it.
                    Err(error) if error.is_not_found() && storage.stat(&target).is_ok() => {}
                    renamed => renamed?,
                }
            }
            StepAction::MoveDir { from, to } => {
                storage.rename(from, to)?;
                self.dir = moved(std::mem::take(&mut self.dir), step);
            }
            StepAction::SetOwner { to, .. } => {
                storage.set_owner(&place(&self.dir, &step.file), &ownership(to))?;
            }
        }
        Ok(())
    }

    fn is_move(&self) -> bool {
        matches!(self.plan.verdict, Verdict::Move(_))
    }

    /// Removes what was written and not yet renamed; for an apply that ends early.
    pub(in crate::engine) fn clean_up(&mut self, storage: &dyn Storage) {
        for half in std::mem::take(&mut self.written) {
            // A later plan removes it just as well.
            let _ = storage.remove(&half);
        }
    }
}

/// Says whether a log's new files are written only once it is their turn: on a full volume there is room for them only then.
pub(in crate::engine) fn writes_late(plan: &PartitionPlan) -> bool {
    matches!(plan.verdict, Verdict::Delete(_))
}

/// Returns where a partition's dir lies behind a step.
fn moved(dir: PathBuf, step: &Step) -> PathBuf {
    match &step.action {
        StepAction::MoveDir { from, to } if *from == dir => to.clone(),
        _ => dir,
    }
}

/// Returns owner and mode of a file that is about to be written: those of the file that it replaces; else the log dir's
/// owner, and a mode of 0644.
pub(in crate::engine) fn new_owner(log_dir: &Path, path: &Path) -> Result<Ownership, DiskError> {
    Ownership::of(path).or_else(|_| owner_in(log_dir))
}

/// Returns owner and mode of a file that replaces none.
fn owner_in(log_dir: &Path) -> Result<Ownership, DiskError> {
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
