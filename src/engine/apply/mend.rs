//! Changes of a log dir's own names beside its checkpoints: done, found done, and checked before the first step.

use std::io;
use std::path::{Path, PathBuf};

use super::log_progress::has_owner;
use super::permission::may_set_owner;
use crate::disk::{DiskError, Storage};
use crate::engine::EngineError;
use crate::engine::read::file_owner::ownership;
use crate::plan::{LogDirPlan, Mend};

/// Returns the path of a name in a dir; `.` stands for the dir itself, so that a link in its place shows.
pub(in crate::engine) fn place(dir: &Path, name: &str) -> PathBuf {
    if name == "." {
        dir.to_owned()
    } else {
        dir.join(name)
    }
}

/// Does one change, durably; one that an interrupted run did is done again. Files are written elsewhere.
pub(in crate::engine) fn apply_mend(
    storage: &dyn Storage,
    log_dir: &Path,
    mend: &Mend,
) -> Result<(), EngineError> {
    let path = place(log_dir, mend.name());
    match mend {
        // With the checkpoints, whose old bytes are kept.
        Mend::Write { .. } => return Ok(()),
        Mend::SetOwner { to, .. } => {
            storage.set_owner(&path, &ownership(to))?;
            storage.sync_file(&path)?;
        }
        Mend::RemoveDir { .. } => match storage.remove_dir(&path) {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        },
        Mend::CreateDir { owner, .. } => {
            storage.create_dir(&path)?;
            storage.set_owner(&path, &ownership(owner))?;
        }
        Mend::RenameDir { to, .. } => match storage.rename(&path, &log_dir.join(to)) {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        },
    }
    Ok(storage.sync_dir(log_dir)?)
}

/// Returns the changes of a plan that were done, files aside.
pub(in crate::engine) fn done_mends<'a>(
    storage: &'a dyn Storage,
    dir: &'a LogDirPlan,
) -> impl Iterator<Item = &'a Mend> {
    dir.mends
        .iter()
        .filter(|mend| is_done(storage, &dir.path, mend).unwrap_or(false))
}

fn is_done(storage: &dyn Storage, log_dir: &Path, mend: &Mend) -> Result<bool, DiskError> {
    let there = |name: &str| match storage.stat(&place(log_dir, name)) {
        Ok(stat) => Ok(Some(stat)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    };
    let now = there(mend.name())?;
    Ok(match mend {
        Mend::Write { .. } => false,
        Mend::SetOwner { to, .. } => now.is_some_and(|now| has_owner(&now, to)),
        Mend::RemoveDir { .. } => now.is_none(),
        Mend::CreateDir { .. } => now.is_some(),
        Mend::RenameDir { to, .. } => now.is_none() && there(to)?.is_some(),
    })
}

/// Says whether a plan gives a partition dir this name, or takes it away.
pub(in crate::engine) fn is_new_name(dir: &LogDirPlan, name: &str) -> bool {
    let undo = dir.undo.iter().flat_map(|undo| &undo.mends);
    dir.mends.iter().chain(undo).any(|mend| match mend {
        Mend::RenameDir { name: from, to, .. } => from == name || to == name,
        _ => false,
    })
}

/// Checks that each change is still wanted and allowed; an error is a sentence that says what to do.
pub(in crate::engine) fn check_mends(
    storage: &dyn Storage,
    dir: &LogDirPlan,
) -> Result<(), String> {
    let undo = dir.undo.iter().flat_map(|undo| &undo.mends);
    for mend in dir.mends.iter().chain(undo) {
        if is_done(storage, &dir.path, mend).map_err(|error| error.sentence())? {
            continue;
        }
        let path = place(&dir.path, mend.name());
        let changed = |how: &str| {
            Err(format!(
                "{} {how} since the plan was made: make the plan again",
                path.display()
            ))
        };
        let now = storage.stat(&path);
        match mend {
            Mend::Write { .. } | Mend::CreateDir { .. } => {}
            Mend::SetOwner { from, to, .. } => match now {
                Ok(now) if has_owner(&now, from) => may_set_owner(&path, to)?,
                Ok(_) => return changed("got another owner or mode"),
                Err(_) => return changed("vanished"),
            },
            Mend::RemoveDir { .. } => match storage.list(&path) {
                Ok(names) if names.is_empty() => {}
                Ok(_) => return changed("got content"),
                Err(error) => return Err(error.sentence()),
            },
            Mend::RenameDir { to, .. } => {
                now.map_err(|error| error.sentence())?;
                let target = dir.path.join(to);
                match storage.stat(&target) {
                    Err(error) if error.source.kind() == io::ErrorKind::NotFound => {}
                    _ => return Err(format!("{} is there already", target.display())),
                }
            }
        }
    }
    Ok(())
}
