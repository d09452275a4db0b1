//! Plans the undo of an apply: its steps backwards, with what was kept.
//!
//! Each state on the way is one that the apply passed through, so a boot reaches the applied plan's end from each: the
//! marker that the apply wrote goes first, then its checkpoints, then the marker that it took away comes back, then the
//! steps go from the last to the first. A truncation changed marker and recovery points before its steps: they come back
//! last.

use std::path::Path;

use crate::disk::{LogDirListing, RealStorage, Storage};
use crate::engine::EngineError;
use crate::engine::apply::dir_progress::{is_content, is_same};
use crate::engine::apply::log_progress::{Identity, LogSteps};
use crate::engine::apply::mend::{done_mends, is_new_name};
use crate::engine::apply::stamps::{StampError, changed, check_names};
use crate::engine::keep::journal::{DirNotes, JournalText};
use crate::engine::read::dir_facts::stamps;
use crate::engine::store::plan_store::{MadePlan, PlanStore, StoredPlan};
use crate::format::file_name::{CLEAN_SHUTDOWN_MARKER, RECOVERY_POINT_CHECKPOINT};
use crate::plan::{
    Content, DirUndo, FileStamp, HandOver, KeptFile, LogDirPlan, Mend, PartitionPlan, Quarantine,
    RecoveryPlan, Step, StepAction, StopState, Verdict,
};
use crate::terms::Timestamp;

/// Plans to take back what the apply of a stored plan did, as far as it came; nothing is changed.
pub fn plan_undo(state_dir: &Path, prefix: &str, now: Timestamp) -> Result<MadePlan, EngineError> {
    let stored = PlanStore::new(state_dir).find(prefix)?;
    let journal = JournalText::read(state_dir, &stored.hash)?;
    let journal = can_undo(&stored, journal)?;
    let undo = Undo {
        storage: &RealStorage,
        plan: &stored.plan,
        hash: &stored.hash,
        journal: &journal,
    };
    let log_dirs = undo.log_dirs()?;
    let plan = RecoveryPlan {
        hand_over: HandOver::None,
        quarantine: None,
        undoes: Some(stored.hash.clone()),
        now,
        log_dirs,
        ..stored.plan.clone()
    };
    let is_empty = |dir: &LogDirPlan| {
        !dir.removes_marker
            && dir
                .undo
                .as_ref()
                .is_none_or(|undo| *undo == DirUndo::default())
            && dir.partitions.iter().all(|log| log.steps.is_empty())
    };
    if plan.log_dirs.iter().all(is_empty) {
        return Err(undo.refused("the log dirs are as they were before it".to_owned()));
    }
    Ok(MadePlan {
        plan,
        staging: None,
    })
}

/// Returns the journal of an apply that can be taken back, as far as the journal tells; else why not.
fn can_undo(stored: &StoredPlan, journal: Option<JournalText>) -> Result<JournalText, EngineError> {
    let refused = |cause: String| {
        Err(EngineError::CannotUndo {
            plan: stored.hash.clone(),
            cause,
        })
    };
    if let Some(undone) = &stored.plan.undoes {
        let undone = undone.get(..8).unwrap_or(undone);
        return refused(format!(
            "it is the undo of {undone} itself: make that plan again"
        ));
    }
    if let Some((log_dir, log)) = moved(&stored.plan) {
        return refused(format!(
            "a move is taken back by moving back: krescue move {} --to {}",
            log.dir_name,
            log_dir.path.display()
        ));
    }
    let Some(journal) = journal else {
        return refused("it was never carried out from this state dir".to_owned());
    };
    match journal.why_not() {
        Some(cause) => refused(cause),
        None => Ok(journal),
    }
}

/// Returns the log that a plan moves, and the log dir that it leaves.
fn moved(plan: &RecoveryPlan) -> Option<(&LogDirPlan, &PartitionPlan)> {
    plan.log_dirs.iter().find_map(|dir| {
        let mut logs = dir.partitions.iter();
        let log = logs.find(|log| matches!(log.verdict, Verdict::Move(_)))?;
        Some((dir, log))
    })
}

struct Undo<'a> {
    storage: &'a dyn Storage,
    plan: &'a RecoveryPlan,
    hash: &'a str,
    journal: &'a JournalText,
}

impl Undo<'_> {
    fn refused(&self, cause: String) -> EngineError {
        EngineError::CannotUndo {
            plan: self.hash.to_owned(),
            cause,
        }
    }

    fn since(&self, error: StampError) -> EngineError {
        match error {
            StampError::Disk(error) if error.is_not_found() => self.refused(error.sentence()),
            StampError::Disk(error) => error.into(),
            StampError::Changed(text) => self.refused(format!("{text} since it was carried out")),
        }
    }

    fn log_dirs(&self) -> Result<Vec<LogDirPlan>, EngineError> {
        let dirs = self.plan.log_dirs.iter();
        // One that could not be listed was left as a whole.
        let listed = dirs.filter(|dir| !crate::engine::apply::run::is_failed_dir(dir));
        listed.map(|dir| self.log_dir(dir)).collect()
    }

    fn log_dir(&self, dir: &LogDirPlan) -> Result<LogDirPlan, EngineError> {
        let listing = LogDirListing::read(self.storage, &dir.path)?;
        let known = |name: &str| {
            let planned = dir.partitions.iter().any(|log| log.dir_name == name);
            planned || is_new_name(dir, name)
        };
        check_names(&listing, known).map_err(|error| self.since(error))?;
        let notes = self.journal.dirs.get(&dir.path);
        let mut partitions = Vec::new();
        for log in &dir.partitions {
            partitions.push(self.log(dir, log)?);
        }
        let mut undo = DirUndo::default();
        for name in crate::engine::read::dir_facts::STAMPED {
            if name != CLEAN_SHUTDOWN_MARKER {
                let step = self.checkpoint(dir, &listing, notes, name);
                undo.checkpoints
                    .extend(step.map_err(|error| self.since(error))?);
            }
        }
        let planned = stamp_of(&dir.stamps, CLEAN_SHUTDOWN_MARKER);
        let now = listing.entry(CLEAN_SHUTDOWN_MARKER);
        let mut removes_marker = false;
        if !is_same(planned, now) {
            removes_marker = match now {
                None if dir.removes_marker => false,
                Some(now) if dir.hand_over == HandOver::Clean && now.len == 0 => true,
                _ => {
                    let how = if now.is_some() {
                        "was written"
                    } else {
                        "is gone"
                    };
                    return Err(self.since(changed(&dir.path, CLEAN_SHUTDOWN_MARKER, how)));
                }
            };
            undo.marker = notes
                .and_then(|notes| notes.kept.marker.clone())
                .map(|kept| {
                    let action = StepAction::Restore {
                        kept: Box::new(kept),
                        replaces: now.map(|now| now.len),
                    };
                    self.step(CLEAN_SHUTDOWN_MARKER, action)
                });
        }
        undo.mends = done_mends(self.storage, dir)
            .filter_map(Mend::backwards)
            .collect();
        undo.mends.reverse();
        if dir.lowered.is_some() {
            let is_points = |step: &Step| step.file == RECOVERY_POINT_CHECKPOINT;
            let points = undo.checkpoints.iter().position(is_points);
            undo.late
                .extend(points.map(|at| undo.checkpoints.remove(at)));
            undo.late.extend(undo.marker.take());
        }
        Ok(LogDirPlan {
            path: dir.path.clone(),
            stop: match now {
                Some(_) => StopState::Clean,
                None => StopState::Unclean,
            },
            hand_over: HandOver::None,
            recovery_points: None,
            lowered: None,
            log_starts: None,
            arrival: None,
            departure: None,
            removes_marker,
            findings: Vec::new(),
            partitions,
            stamps: stamps(&listing),
            mends: Vec::new(),
            undo: Some(undo),
        })
    }

    /// Returns the step that takes a checkpoint back; `None` where it is as it was.
    fn checkpoint(
        &self,
        dir: &LogDirPlan,
        listing: &LogDirListing,
        notes: Option<&DirNotes>,
        name: &str,
    ) -> Result<Option<Step>, StampError> {
        let now = listing.entry(name);
        if is_same(stamp_of(&dir.stamps, name), now) {
            return Ok(None);
        }
        let written: Vec<_> = notes
            .into_iter()
            .flat_map(|notes| &notes.kept.checkpoints)
            .filter(|checkpoint| checkpoint.name == name)
            .collect();
        let (Some(now), Some(first)) = (now, written.first()) else {
            let how = if now.is_some() {
                "was written to"
            } else {
                "is gone"
            };
            return Err(changed(&dir.path, name, how));
        };
        let path = dir.path.join(name);
        let mut is_ours = false;
        for written in &written {
            is_ours |= now.len == written.len
                && is_content(self.storage, &path, now.len, &written.sha256)?;
        }
        if !is_ours {
            return Err(changed(&dir.path, name, "was written to"));
        }
        let action = match first.kept.clone() {
            Some(kept) => StepAction::Restore {
                kept: Box::new(kept),
                replaces: Some(now.len),
            },
            None => StepAction::Remove { len: now.len },
        };
        Ok(Some(self.step(name, action)))
    }

    fn log(&self, dir: &LogDirPlan, log: &PartitionPlan) -> Result<PartitionPlan, EngineError> {
        let place = dir.path.join(&log.dir_name);
        let notes = self.journal.log(&dir.path, &log.dir_name);
        let (mut steps, mut now) = (Vec::new(), log.stamps.clone());
        if log.verdict.reaches_end() {
            let kept = notes.map(|notes| &notes.kept);
            let steps_of_it = LogSteps {
                storage: self.storage,
                dir: place.clone(),
                plan: log,
                // Without an undo that began, bytes behind a cut are somebody else's.
                kept: kept.filter(|_| self.journal.undoing),
                left: notes.and_then(|notes| notes.left.as_deref()),
                identity: Identity::OrCopy,
            };
            let done = steps_of_it.done().map_err(|error| self.since(error))?;
            // Steps between which no sync is needed forwards need none backwards.
            let mut after_sync = true;
            for (number, step) in log.steps.iter().enumerate().rev() {
                if !done.has(number) {
                    after_sync |= step.after_sync;
                    continue;
                }
                let kept = kept.and_then(|kept| kept.get(&number));
                let backwards = self.backwards(step, kept)?;
                steps.extend(backwards.map(|backwards| Step {
                    after_sync,
                    ..backwards
                }));
                after_sync = step.after_sync;
            }
            now = self.stamps_now(&place)?;
        }
        Ok(PartitionPlan {
            verdict: match &log.verdict {
                _ if !steps.is_empty() => Verdict::TakeBack,
                verdict if verdict.reaches_end() => Verdict::Nothing,
                _ => Verdict::Skipped {
                    why: "that plan did not touch it".to_owned(),
                },
            },
            findings: Vec::new(),
            steps,
            log_start_offset: None,
            log_end_offset: None,
            stamps: now,
            ..log.clone()
        })
    }

    fn stamps_now(&self, dir: &Path) -> Result<Vec<FileStamp>, EngineError> {
        let listed = match self.storage.list(dir) {
            Err(error) if error.is_not_found() => Vec::new(),
            listed => listed?,
        };
        let listed = listed.into_iter();
        let stamp = |entry: crate::disk::Listed| FileStamp {
            name: entry.name,
            inode: entry.stat.inode,
            len: entry.stat.len,
            mtime_ns: entry.stat.mtime_ns,
        };
        Ok(listed.map(stamp).collect())
    }

    /// Returns a step backwards; `None` for what was a leftover of krescue's own.
    fn backwards(&self, step: &Step, kept: Option<&KeptFile>) -> Result<Option<Step>, EngineError> {
        let needed = || {
            let kept = kept.cloned().map(Box::new);
            kept.ok_or_else(|| self.refused(format!("nothing was kept of {}", step.file)))
        };
        let action = match &step.action {
            StepAction::Remove { .. } if step.file.ends_with(super::log_target::OWN_SUFFIX) => {
                return Ok(None);
            }
            StepAction::Remove { .. } => StepAction::Restore {
                kept: needed()?,
                replaces: None,
            },
            StepAction::SetLen { from, to } => StepAction::Append {
                from: *to,
                to: *from,
                kept: needed()?,
            },
            StepAction::Write {
                content: Content { len, .. },
                replaces,
            }
            | StepAction::CopyPart { len, replaces, .. }
            | StepAction::Allocate { len, replaces } => match replaces {
                None => StepAction::Remove { len: *len },
                Some(_) => StepAction::Restore {
                    kept: needed()?,
                    replaces: Some(*len),
                },
            },
            StepAction::Rename { to } => {
                let action = StepAction::Rename {
                    to: step.file.clone(),
                };
                return Ok(Some(self.step(to, action)));
            }
            StepAction::SetOwner { from, to } => StepAction::SetOwner {
                from: to.clone(),
                to: from.clone(),
            },
            // The apply of an undo makes a removed dir again, and is itself not undone.
            StepAction::RemoveDir
            | StepAction::Restore { .. }
            | StepAction::Append { .. }
            | StepAction::CopyOut { .. }
            | StepAction::MoveDir { .. } => return Ok(None),
        };
        Ok(Some(self.step(&step.file, action)))
    }

    fn step(&self, file: &str, action: StepAction) -> Step {
        Step {
            file: file.to_owned(),
            action,
            quarantine: Quarantine::Regenerable,
            after_sync: true,
            reason: format!(
                "as it was before {}",
                self.hash.get(..8).unwrap_or(self.hash)
            ),
        }
    }
}

fn stamp_of<'a>(stamps: &'a [FileStamp], name: &str) -> Option<&'a FileStamp> {
    stamps.iter().find(|stamp| stamp.name == name)
}
