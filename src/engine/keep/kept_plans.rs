//! The quarantine as a whole: what each plan kept, and its removal.

use std::path::{Path, PathBuf};

use super::journal::{JournalLine, JournalText, forget_kept, journal_hashes};
use crate::disk::{DiskAction, DiskError};
use crate::engine::audit::audit_file::{AuditAct, AuditEntry, audit_line};
use crate::engine::job::handle::{JobState, list_jobs};
use crate::engine::{EngineError, JobOutcome, Who, plan_undo};
use crate::plan::Policy;
use crate::terms::Timestamp;

/// What one plan kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptPlan {
    /// The plan's hash.
    pub plan: String,
    /// When it was carried out.
    pub at: Timestamp,
    /// Who carried it out.
    pub who: Who,
    /// The folder with what was kept.
    pub dir: PathBuf,
    /// Bytes in it; a file that is a second name of one elsewhere counts too.
    pub bytes: u64,
    /// Files in it.
    pub files: u64,
    /// The logs that were changed.
    pub partitions: Vec<String>,
    /// How its apply ended; `None` for one that was killed.
    pub ended: Option<JobOutcome>,
    /// Why it cannot be taken back; `None` if it can.
    pub why_not: Option<String>,
}

/// Returns what all plans of a state dir kept, oldest first; each is looked at whether it can still be taken back.
pub fn kept_plans(state_dir: &Path, now: Timestamp) -> Result<Vec<KeptPlan>, EngineError> {
    let mut plans = Vec::new();
    for hash in journal_hashes(state_dir)? {
        let Some(text) = JournalText::read(state_dir, &hash)? else {
            continue;
        };
        let Some(dir) = text.begin.quarantine.clone() else {
            continue;
        };
        let (bytes, files) = size_of(&dir)?;
        // What a purge left when it was killed is still to be seen.
        if text.purged.is_some() && files == 0 {
            continue;
        }
        let why_not = match plan_undo(state_dir, &hash, now) {
            Ok(_) => None,
            Err(EngineError::CannotUndo { cause, .. }) => Some(cause),
            Err(error) => Some(error.sentence()),
        };
        plans.push(KeptPlan {
            plan: hash,
            at: text.begin.at,
            who: text.begin.who,
            dir,
            bytes,
            files,
            partitions: text.begin.partitions,
            ended: text.ended,
            why_not,
        });
    }
    plans.sort_by_key(|plan| plan.at);
    Ok(plans)
}

/// Removes what a plan kept; it cannot be taken back any more.
pub fn purge_kept(
    state_dir: &Path,
    kept: &KeptPlan,
    (who, at): (&Who, Timestamp),
    policy: &Policy,
) -> Result<(), EngineError> {
    let refused = |cause: String| EngineError::Refused { cause };
    if let Some(cause) = policy.forbids_acting() {
        return Err(refused(cause));
    }
    let runs = list_jobs(state_dir)?.into_iter().find(|job| {
        let of_it = job.spec.plan == kept.plan || job.spec.undoes.as_ref() == Some(&kept.plan);
        of_it && job.state == JobState::Running
    });
    if let Some(job) = runs {
        return Err(refused(format!("job {} works with it", job.id)));
    }
    let Some(text) = JournalText::read(state_dir, &kept.plan)? else {
        return Err(refused("its journal is gone".to_owned()));
    };
    // The folder is named by a file: nothing else may be removed in its name.
    if kept
        .dir
        .file_name()
        .is_none_or(|name| name != kept.plan.as_str())
    {
        let cause = format!("{} is no folder of that plan", kept.dir.display());
        return Err(refused(cause));
    }
    let purged = JournalLine::Purged {
        at,
        who: who.clone(),
    };
    forget_kept(state_dir, &kept.plan, &text, purged)?;
    match std::fs::remove_dir_all(&kept.dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(DiskError::new(DiskAction::Remove, &kept.dir, error).into());
        }
        _ => {}
    }
    let entry = AuditEntry {
        at: at.rfc3339(),
        who: who.into(),
        confirmed: None,
        plan: Some(kept.plan.clone()),
        undoes: None,
        act: AuditAct::Purge {
            dir: kept.dir.clone(),
            bytes: kept.bytes,
        },
    };
    audit_line(state_dir, &entry)
}

/// Returns bytes and files below a dir; nothing for one that is not there.
fn size_of(dir: &Path) -> Result<(u64, u64), EngineError> {
    let (mut bytes, mut files) = (0, 0);
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        let list = |error| DiskError::new(DiskAction::List, &dir, error);
        let entries = match std::fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(list(error).into()),
        };
        for entry in entries {
            let entry = entry.map_err(list)?;
            let metadata = entry.metadata().map_err(list)?;
            if metadata.is_dir() {
                dirs.push(entry.path());
            } else {
                bytes += metadata.len();
                files += 1;
            }
        }
    }
    Ok((bytes, files))
}
