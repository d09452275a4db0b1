//! Copies a log into a dir of another log dir, and finds how far an interrupted run came with that.
//!
//! A copy gets the source's time only once it is durable and was compared with the source: so the time of a file under a name
//! of krescue's own says that it is whole, and a rerun copies the others.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::apply_log::ApplyShared;
use super::log_failure::LogFailure;
use super::stamps::{StampError, changed, check_partition};
use crate::disk::{DiskAction, DiskError, EntryKind, FileStat, Ownership, Piece, Storage};
use crate::engine::keep::quarantine::with_suffix;
use crate::engine::planning::log_target::OWN_SUFFIX;
use crate::engine::read::file_bytes::same_bytes;
use crate::plan::relocation::Relocation;
use crate::plan::{LogDirPlan, PartitionPlan, RecoveryPlan, Step, StepAction, Verdict};

/// Bytes that are copied between two looks at the wish to stop.
const PIECE: u64 = 8 << 20;

/// Makes the dir for the copy, and takes away what an earlier run left in it under other names than those of `steps`.
pub(in crate::engine) fn begin_copy(
    storage: &dyn Storage,
    source: &Path,
    copy: &Path,
    steps: &[Step],
) -> Result<(), DiskError> {
    let stat = storage.stat(source)?;
    match storage.stat(copy) {
        Err(error) if error.is_not_found() => storage.create_dir(copy)?,
        found => drop(found?),
    }
    let owner = Ownership {
        uid: stat.uid,
        gid: stat.gid,
        mode: stat.mode,
        attributes: Vec::new(),
    };
    storage.set_owner(copy, &owner)?;
    let copied = steps
        .iter()
        .filter(|step| matches!(step.action, StepAction::CopyOut { .. }));
    let names: BTreeSet<&str> = copied.map(|step| step.file.as_str()).collect();
    for entry in storage.list(copy)? {
        let name = entry.name.strip_suffix(OWN_SUFFIX).unwrap_or(&entry.name);
        if entry.stat.kind == EntryKind::File && !names.contains(name) {
            storage.remove(&copy.join(&entry.name))?;
        }
    }
    Ok(())
}

/// Copies one file under a name of krescue's own, durably, and compares the bytes; one that was copied before is left alone.
pub(in crate::engine) fn copy_out(
    shared: &ApplyShared<'_>,
    (log_dir, source): (&Path, &Path),
    target: &Path,
) -> Result<(), LogFailure> {
    let storage = shared.storage;
    let half = with_suffix(target, OWN_SUFFIX);
    let stat = storage.stat(source)?;
    let count = |bytes: u64| {
        let dirs = &shared.stored.plan.log_dirs;
        let index = dirs.iter().position(|dir| dir.path == log_dir);
        if let Some(counters) = index.and_then(|index| shared.context.dir(index)) {
            counters.bytes_done.fetch_add(bytes, Ordering::Relaxed);
        }
    };
    if is_copy(storage, target, &stat)? || is_copy(storage, &half, &stat)? {
        count(stat.len);
        return Ok(());
    }
    let copied = copy_and_compare(shared, (source, &stat), &half, &count);
    if matches!(copied, Err(LogFailure::Failed(_))) {
        // What is not whole helps nobody; a rerun makes it again.
        let _ = storage.remove(&half);
    }
    copied
}

fn copy_and_compare(
    shared: &ApplyShared<'_>,
    (source, stat): (&Path, &FileStat),
    half: &Path,
    count: &dyn Fn(u64),
) -> Result<(), LogFailure> {
    let storage = shared.storage;
    let owner = Ownership::of(source).map_err(DiskError::of(DiskAction::Stat, source))?;
    storage.write_file(half, b"", &owner)?;
    storage.set_len(half, stat.len)?;
    let file = storage.open(source)?;
    let read = |error| DiskError::new(DiskAction::Read, source, error);
    let mut position = 0;
    while let Some(from) = file.next_data(position).map_err(read)? {
        let end = file.data_end(from).map_err(read)?.min(stat.len);
        if from >= end {
            break;
        }
        let mut at = from;
        while at < end {
            if shared.context.is_cancelled() {
                return Err(LogFailure::Stopped);
            }
            let len = (end - at).min(PIECE);
            let piece = Piece {
                from: at,
                len,
                to: at,
            };
            storage.copy_into(source, piece, half)?;
            at += len;
            count(at - position);
            position = at;
        }
    }
    count(stat.len.saturating_sub(position));
    storage.sync_file(half)?;
    // What is compared comes from the disk.
    storage.open(half)?.drop_cached(0, stat.len);
    if !same_bytes(storage, (source, 0), (half, 0), stat.len)? {
        return Err(LogFailure::Failed(format!(
            "{} does not hold what was copied into it from {}: disk, cable or memory change bytes; look at the kernel's log",
            half.display(),
            source.display()
        )));
    }
    storage.set_mtime(half, stat.mtime_ns)?;
    Ok(())
}

/// Says whether a file has the length and the time of the one that it is to be a copy of.
fn is_copy(storage: &dyn Storage, path: &Path, of: &FileStat) -> Result<bool, DiskError> {
    match storage.stat(path) {
        Ok(found) => Ok(found.len == of.len && found.mtime_ns == of.mtime_ns),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns how many steps of a move are done: the dirs' names tell, then the files'.
pub(in crate::engine) fn moved_steps_done(
    storage: &dyn Storage,
    dir: &Path,
    plan: &PartitionPlan,
) -> Result<usize, StampError> {
    let there = |path: &Path| match storage.stat(path) {
        Ok(stat) => Ok(Some(stat)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(StampError::Disk(error)),
    };
    let moves = |path: &Path| {
        plan.steps.iter().position(
            |step| matches!(&step.action, StepAction::MoveDir { from, .. } if from == path),
        )
    };
    let gone = || Err(changed(dir, ".", "is gone"));
    let Some(leaves) = moves(dir) else {
        return gone();
    };
    if there(dir)?.is_some() {
        check_partition(storage, dir, &plan.stamps)?;
        let Some(takes) = leaves.checked_sub(1) else {
            return Ok(0);
        };
        if let Some(StepAction::MoveDir { to, .. }) = plan.steps.get(takes).map(|step| &step.action)
            && there(to)?.is_some()
        {
            return Ok(leaves);
        }
        let mut done = 0;
        for step in &plan.steps {
            let StepAction::CopyOut { to, .. } = &step.action else {
                break;
            };
            let source = storage.stat(&dir.join(&step.file));
            let source = source.map_err(StampError::Disk)?;
            if !is_copy(storage, &to.join(&step.file), &source).map_err(StampError::Disk)? {
                break;
            }
            done += 1;
        }
        return Ok(done);
    }
    let Verdict::Move(relocation) = &plan.verdict else {
        return gone();
    };
    if there(&relocation.to.join(&plan.dir_name))?.is_none() {
        return gone();
    }
    let Some(StepAction::MoveDir { to: aside, .. }) =
        plan.steps.get(leaves).map(|step| &step.action)
    else {
        return gone();
    };
    let behind = plan.steps.get(leaves + 1..).unwrap_or_default();
    if behind.is_empty() || there(aside)?.is_none() {
        return Ok(plan.steps.len());
    }
    let mut done = leaves + 1;
    for step in behind {
        let is_removed = matches!(step.action, StepAction::Remove { .. })
            && there(&aside.join(&step.file))?.is_none();
        if !is_removed {
            break;
        }
        done += 1;
    }
    Ok(done)
}

/// Says whether a plan's move makes or takes away a dir of this name in a log dir.
pub(in crate::engine) fn is_moved_name(plan: &RecoveryPlan, dir: &LogDirPlan, name: &str) -> bool {
    let moves = plan.log_dirs.iter().flat_map(|from| {
        let logs = from.partitions.iter();
        logs.filter_map(move |log| Some((&from.path, log, relocation(log)?)))
    });
    let mut moves = moves;
    moves.any(|(from, log, relocation)| {
        let is_there = dir.path == *from || dir.path == relocation.to;
        is_there && (name == relocation.aside || name == log.dir_name)
    })
}

fn relocation(log: &PartitionPlan) -> Option<&Relocation> {
    match &log.verdict {
        Verdict::Move(relocation) => Some(relocation),
        _ => None,
    }
}
