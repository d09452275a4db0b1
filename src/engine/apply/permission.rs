//! Whether this user may do every step, asked before the first.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, getegid, geteuid, getgroups};
use rustix::fs::{Access, access};

use super::apply_log::new_owner;
use super::mend::place;
use super::preflight::is_changed;
use crate::disk::Storage;
use crate::plan::{FileOwner, LogDirPlan, Step, StepAction};

/// Checks that a log dir's own files may be changed; an error is a sentence that says what to do.
pub(in crate::engine) fn check_dir_permissions(dir: &LogDirPlan) -> Result<(), String> {
    if !is_changed(dir) {
        return Ok(());
    }
    may_change_names(&dir.path)?;
    may_give_away(&dir.path, &dir.path)
}

/// Checks that steps of a log are allowed; an error is a sentence that says what to do.
pub(in crate::engine) fn check_log_permissions(
    storage: &dyn Storage,
    log_dir: &Path,
    dir_name: &str,
    steps: &[&Step],
) -> Result<(), String> {
    let dir = log_dir.join(dir_name);
    // Owner and mode are their owner's to change, of a dir that may not be written to as well.
    let changes_names = |step: &&Step| !matches!(step.action, StepAction::SetOwner { .. });
    if steps.iter().any(changes_names) {
        may_change_names(&dir)?;
    }
    let mut creates = false;
    // A file that an earlier step renames lies under its old name now.
    let mut old_names: BTreeMap<&str, PathBuf> = BTreeMap::new();
    for step in steps {
        let path = old_names
            .get(step.file.as_str())
            .cloned()
            .unwrap_or_else(|| dir.join(&step.file));
        match &step.action {
            StepAction::SetLen { .. } => may(&path, Access::WRITE_OK)?,
            StepAction::Write { replaces: None, .. }
            | StepAction::CopyPart { replaces: None, .. }
            | StepAction::Allocate { replaces: None, .. } => creates = true,
            StepAction::Append { kept, .. } => {
                may(&path, Access::WRITE_OK)?;
                may_give_to(&path, kept.owner.uid, kept.owner.gid)?;
            }
            StepAction::Restore { kept, replaces } => {
                if replaces.is_some() {
                    not_immutable(&path)?;
                }
                may_give_to(&path, kept.owner.uid, kept.owner.gid)?;
            }
            StepAction::Write { .. }
            | StepAction::CopyPart { .. }
            | StepAction::Allocate { .. } => {
                not_immutable(&path)?;
                may_give_away(log_dir, &path)?;
            }
            StepAction::Remove { .. } => not_immutable(&path)?,
            StepAction::CopyOut { to, .. } => {
                may(&path, Access::READ_OK)?;
                let stat = storage.stat(&path).map_err(|error| error.sentence())?;
                may_give_to(&to.join(&step.file), stat.uid, stat.gid)?;
            }
            StepAction::MoveDir { from, to } => {
                for parent in [from, to].into_iter().filter_map(|path| path.parent()) {
                    may_change_names(parent)?;
                }
            }
            StepAction::RemoveDir => may_change_names(log_dir)?,
            StepAction::SetOwner { to, .. } => may_set_owner(&place(&dir, &step.file), to)?,
            StepAction::Rename { to } => {
                not_immutable(&path)?;
                old_names.insert(to, path);
            }
        }
    }
    if creates {
        may_give_away(log_dir, &dir.join("new"))?;
    }
    // A dir in a file's place is met here rather than in the middle.
    storage
        .stat(&dir)
        .map(|_| ())
        .map_err(|error| error.sentence())
}

fn may_change_names(dir: &Path) -> Result<(), String> {
    may(dir, Access::WRITE_OK | Access::EXEC_OK)
}

fn may(path: &Path, wanted: Access) -> Result<(), String> {
    access(path, wanted).map_err(|error| refusal(path, &error.into()))
}

/// The right to remove a file is its dir's; only a flag of the file itself can forbid it.
fn not_immutable(path: &Path) -> Result<(), String> {
    match access(path, Access::WRITE_OK) {
        Err(error @ (rustix::io::Errno::PERM | rustix::io::Errno::ROFS)) => {
            Err(refusal(path, &error.into()))
        }
        _ => Ok(()),
    }
}

/// Checks that a new file at `path` can get the owner and group that it must have.
fn may_give_away(log_dir: &Path, path: &Path) -> Result<(), String> {
    if geteuid().is_root() {
        return Ok(());
    }
    let owner = new_owner(log_dir, path).map_err(|error| error.sentence())?;
    may_give_to(path, owner.uid, owner.gid)
}

/// Checks that a file at `path` can belong to this user and group once it is written.
fn may_give_to(path: &Path, uid: u32, gid: u32) -> Result<(), String> {
    let user = geteuid();
    if user.is_root() {
        return Ok(());
    }
    let group = Gid::from_raw(gid);
    let in_group = group == getegid() || getgroups().is_ok_and(|groups| groups.contains(&group));
    if uid == user.as_raw() && in_group {
        return Ok(());
    }
    Err(format!(
        "{} must belong to user {uid} and group {gid}, and user {user} cannot give it away: run as that user or as root",
        path.display()
    ))
}

/// Checks that a name, not what a link leads to, can be given to an owner.
pub(in crate::engine) fn may_set_owner(path: &Path, to: &FileOwner) -> Result<(), String> {
    if std::fs::symlink_metadata(path).is_ok_and(|stat| stat.is_symlink()) {
        return Err(format!(
            "{} is a link: look where it leads, and give that away by hand",
            path.display()
        ));
    }
    not_immutable(path)?;
    may_give_to(path, to.uid, to.gid)
}

fn refusal(path: &Path, error: &io::Error) -> String {
    let hint = match error.raw_os_error() {
        Some(nix::libc::EPERM) => "look at its flags with lsattr",
        Some(nix::libc::EROFS) => "remount the volume read-write",
        _ => "run as the broker's user or as root",
    };
    format!("{} cannot be changed: {error}; {hint}", path.display())
}
