//! What an apply does to a log dir's own files behind its steps: it tells the next boot what was recovered: recovery
//! points, then the marker. An undo takes these back first.

use std::path::Path;

use super::apply_log::new_owner;
use super::mend::apply_mend;
use super::preflight::is_changed;
use crate::disk::{DiskError, LogDirListing, Storage};
use crate::engine::EngineError;
use crate::engine::keep::journal::{CheckpointKept, DirKept, Journal, JournalLine};
use crate::engine::keep::quarantine::{Cut, QuarantineDir, check_kept, put_beside, with_suffix};
use crate::engine::planning::log_target::OWN_SUFFIX;
use crate::engine::read::dir_facts::stamps;
use crate::format::file_name::{
    CLEAN_SHUTDOWN_MARKER, CLEANER_CHECKPOINT, HIGH_WATERMARK_CHECKPOINT, LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
};
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::plan::{
    CheckpointEntry, Content, FileStamp, HandOver, KeptFile, LogDirPlan, Mend, MovedCheckpoints,
    Quarantine, Step, StepAction,
};

/// Keeps the files of a log dir itself that an apply takes away or replaces; all stay as they are.
pub(in crate::engine) fn keep_dir(
    storage: &dyn Storage,
    quarantine: QuarantineDir<'_>,
    journal: &Journal,
    plan: &LogDirPlan,
) -> Result<(), DiskError> {
    if quarantine.root.is_none() {
        return Ok(());
    }
    let keep = |name: &str| -> Result<Option<KeptFile>, DiskError> {
        let path = plan.path.join(name);
        let stat = match storage.stat(&path) {
            Ok(stat) => stat,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let stamp = FileStamp {
            name: name.to_owned(),
            inode: stat.inode,
            len: stat.len,
            mtime_ns: stat.mtime_ns,
        };
        let kept = quarantine.keep(Cut {
            path: &path,
            stamp: &stamp,
            from: 0,
            until: stat.len,
            // A clean hand-over empties the marker: a second name of it would be empty too.
            in_place: name == CLEAN_SHUTDOWN_MARKER,
            quarantine: Quarantine::Keep,
        })?;
        Ok(kept.file)
    };
    let mut kept = DirKept::default();
    if plan.removes_marker {
        kept.marker = keep(CLEAN_SHUTDOWN_MARKER)?;
    }
    for (name, content) in own_checkpoints(plan) {
        kept.checkpoints.push(CheckpointKept {
            kept: keep(&name)?,
            name,
            sha256: content.sha256,
            len: content.len,
        });
    }
    if kept == DirKept::default() {
        return Ok(());
    }
    journal.write(&JournalLine::Dir {
        dir: plan.path.clone(),
        kept,
    })
}

/// Returns every checkpoint that an apply writes, by name: a truncation may write recovery points twice.
pub(in crate::engine) fn own_checkpoints(plan: &LogDirPlan) -> Vec<(String, Content)> {
    let lowered = plan.lowered.as_ref();
    let points = lowered.and_then(|lowered| lowered.recovery_points.as_ref());
    let points = points.map(|points| {
        let content = Content::new(encode(points));
        (RECOVERY_POINT_CHECKPOINT.to_owned(), content)
    });
    let mut all = checkpoints(plan);
    all.extend(points.filter(|points| !checkpoints(plan).contains(points)));
    all.extend(plan.arrival.iter().flat_map(moved_checkpoints));
    all
}

/// Returns the checkpoints that a move writes, by name.
fn moved_checkpoints(moved: &MovedCheckpoints) -> impl Iterator<Item = (String, Content)> {
    [
        (RECOVERY_POINT_CHECKPOINT, &moved.recovery_points),
        (LOG_START_CHECKPOINT, &moved.log_starts),
        (HIGH_WATERMARK_CHECKPOINT, &moved.high_watermarks),
        (CLEANER_CHECKPOINT, &moved.cleaner_offsets),
    ]
    .into_iter()
    .filter_map(|(name, entries)| {
        let entries = entries.as_ref()?;
        Some((name.to_owned(), Content::new(encode(entries))))
    })
}

/// Returns the checkpoints that an apply leaves, by name.
fn checkpoints(plan: &LogDirPlan) -> Vec<(String, Content)> {
    let lowered = plan.lowered.as_ref();
    let handed_over = plan
        .recovery_points
        .as_ref()
        .filter(|_| plan.hand_over != HandOver::None);
    let points = handed_over.or_else(|| lowered?.recovery_points.as_ref());
    [
        (RECOVERY_POINT_CHECKPOINT, points),
        (
            HIGH_WATERMARK_CHECKPOINT,
            lowered.and_then(|lowered| lowered.high_watermarks.as_ref()),
        ),
        (
            CLEANER_CHECKPOINT,
            lowered.and_then(|lowered| lowered.cleaner_offsets.as_ref()),
        ),
        (LOG_START_CHECKPOINT, plan.log_starts.as_ref()),
    ]
    .into_iter()
    .filter_map(|(name, entries)| Some((name.to_owned(), Content::new(encode(entries?)))))
    .chain(plan.mends.iter().filter_map(|mend| match mend {
        Mend::Write { file, text, .. } => {
            Some((file.clone(), Content::new(text.clone().into_bytes())))
        }
        _ => None,
    }))
    .chain(plan.departure.iter().flat_map(moved_checkpoints))
    .collect()
}

fn encode(entries: &[CheckpointEntry]) -> Vec<u8> {
    let entries = entries
        .iter()
        .map(|entry| (entry.topic_partition.clone(), entry.offset))
        .collect();
    OffsetCheckpoint { entries }.encode()
}

/// Takes the marker of a clean stop away, durably.
///
/// Not before the steps of a recovery are: they are those of a boot that finds it, and one that does not may cut more.
fn remove_marker(storage: &dyn Storage, log_dir: &Path) -> Result<(), DiskError> {
    match storage.remove(&log_dir.join(CLEAN_SHUTDOWN_MARKER)) {
        // An interrupted run took it away.
        Err(error) if !error.is_not_found() => Err(error),
        _ => storage.sync_dir(log_dir),
    }
}

/// Hands a log dir over; everything that it speaks of must be durable.
pub(in crate::engine) fn hand_over(
    storage: &dyn Storage,
    journal: &Journal,
    plan: &LogDirPlan,
) -> Result<(), EngineError> {
    remove_half(storage, plan)?;
    if plan.removes_marker
        && plan.undo.is_none()
        && plan.lowered.is_none()
        && plan.arrival.is_none()
        && plan.hand_over != HandOver::Clean
    {
        remove_marker(storage, &plan.path)?;
    }
    for (name, content) in checkpoints(plan) {
        let bytes = content.bytes.unwrap_or_default();
        write_checkpoint(storage, &plan.path, &name, &bytes)?;
    }
    for mend in &plan.mends {
        apply_mend(storage, &plan.path, mend)?;
    }
    if plan.hand_over == HandOver::Clean {
        // Empty: every release skips the scan for it, and none takes it for the stop of a known broker epoch.
        let marker = plan.path.join(CLEAN_SHUTDOWN_MARKER);
        storage.write_file(&marker, b"", &new_owner(&plan.path, &marker)?)?;
        storage.sync_file(&marker)?;
        storage.sync_dir(&plan.path)?;
    }
    let late = plan.undo.iter().flat_map(|undo| &undo.late);
    for step in late {
        put_back(storage, &plan.path, step)?;
    }
    if !is_changed(plan) {
        return Ok(());
    }
    let listing = LogDirListing::read(storage, &plan.path)?;
    Ok(journal.write(&JournalLine::DirLeft {
        dir: plan.path.clone(),
        stamps: stamps(&listing),
    })?)
}

/// Checks that what an undo puts back of a log dir's own files is what was kept.
pub(in crate::engine) fn check_dir_undo(
    storage: &dyn Storage,
    plan: &LogDirPlan,
) -> Result<(), EngineError> {
    let undo = plan.undo.iter();
    let steps = undo.flat_map(|undo| {
        undo.checkpoints
            .iter()
            .chain(&undo.marker)
            .chain(&undo.late)
    });
    for step in steps {
        if let StepAction::Restore { kept, .. } = &step.action {
            check_kept(storage, kept)?;
        }
    }
    Ok(())
}

/// Takes a hand-over back, durably, before the steps: the marker that it wrote, its checkpoints, then the marker that was
/// there before, as the steps are those of a boot that finds it.
pub(in crate::engine) fn take_hand_over_back(
    storage: &dyn Storage,
    plan: &LogDirPlan,
) -> Result<(), EngineError> {
    let Some(undo) = &plan.undo else {
        return Ok(());
    };
    let put_back = |step| put_back(storage, &plan.path, step);
    match &undo.marker {
        Some(marker) if plan.removes_marker => put_back(marker)?,
        None if plan.removes_marker => remove_marker(storage, &plan.path)?,
        _ => {}
    }
    undo.mends
        .iter()
        .try_for_each(|mend| apply_mend(storage, &plan.path, mend))?;
    undo.checkpoints.iter().try_for_each(put_back)?;
    match &undo.marker {
        Some(marker) if !plan.removes_marker => put_back(marker),
        _ => Ok(()),
    }
}

/// Does one step on a log dir's own file, durably; one that an interrupted run did is done again.
fn put_back(storage: &dyn Storage, log_dir: &Path, step: &Step) -> Result<(), EngineError> {
    let path = log_dir.join(&step.file);
    match &step.action {
        StepAction::Restore { kept, .. } => {
            let half = with_suffix(&path, OWN_SUFFIX);
            put_beside(storage, kept, &half)?;
            storage.sync_file(&half)?;
            storage.rename(&half, &path)?;
            // A rename onto another name of the same file does nothing.
            if storage.stat(&half).is_ok() {
                storage.remove(&half)?;
            }
        }
        StepAction::Remove { .. } => match storage.remove(&path) {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        },
        _ => {}
    }
    Ok(storage.sync_dir(log_dir)?)
}

/// Takes the marker away and lowers the recovery points, durably, before the first step in a dir with logs that are
/// truncated: a boot after any part of the steps then reads the segment in which the cut falls.
pub(in crate::engine) fn begin_truncation(
    storage: &dyn Storage,
    plan: &LogDirPlan,
) -> Result<(), DiskError> {
    let Some(lowered) = &plan.lowered else {
        return Ok(());
    };
    remove_half(storage, plan)?;
    if plan.removes_marker {
        remove_marker(storage, &plan.path)?;
    }
    match &lowered.recovery_points {
        Some(points) => {
            let bytes = encode(points);
            write_checkpoint(storage, &plan.path, RECOVERY_POINT_CHECKPOINT, &bytes)
        }
        None => Ok(()),
    }
}

/// Takes the marker away if it must go, and writes the checkpoints of the log dir that a partition comes to, durably, before
/// the first step: a boot that finds the log there finds what they say of it.
pub(in crate::engine) fn begin_arrival(
    storage: &dyn Storage,
    plan: &LogDirPlan,
) -> Result<(), DiskError> {
    let Some(arrival) = &plan.arrival else {
        return Ok(());
    };
    remove_half(storage, plan)?;
    if plan.removes_marker {
        remove_marker(storage, &plan.path)?;
    }
    for (name, content) in moved_checkpoints(arrival) {
        let bytes = content.bytes.unwrap_or_default();
        write_checkpoint(storage, &plan.path, &name, &bytes)?;
    }
    Ok(())
}

/// Removes half-written checkpoints of a run that was killed.
fn remove_half(storage: &dyn Storage, plan: &LogDirPlan) -> Result<(), DiskError> {
    let mended = plan.mends.iter().map(Mend::name);
    for name in [
        RECOVERY_POINT_CHECKPOINT,
        HIGH_WATERMARK_CHECKPOINT,
        CLEANER_CHECKPOINT,
        LOG_START_CHECKPOINT,
    ]
    .into_iter()
    .chain(mended)
    {
        let half = with_suffix(&plan.path.join(name), OWN_SUFFIX);
        match storage.stat(&half) {
            Err(error) if error.is_not_found() => {}
            _ => storage.remove(&half)?,
        }
    }
    Ok(())
}

fn write_checkpoint(
    storage: &dyn Storage,
    log_dir: &Path,
    name: &str,
    bytes: &[u8],
) -> Result<(), DiskError> {
    let path = log_dir.join(name);
    let half = with_suffix(&path, OWN_SUFFIX);
    storage.write_file(&half, bytes, &new_owner(log_dir, &path)?)?;
    storage.sync_file(&half)?;
    storage.rename(&half, &path)?;
    storage.sync_dir(log_dir)
}
