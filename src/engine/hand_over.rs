//! Tells the next boot what was recovered: recovery points, then the marker.

use std::path::Path;

use super::apply_log::new_owner;
use super::log_target::OWN_SUFFIX;
use super::quarantine::{Cut, QuarantineDir, with_suffix};
use crate::disk::{DiskError, Storage};
use crate::format::file_name::{CLEAN_SHUTDOWN_MARKER, RECOVERY_POINT_CHECKPOINT};
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::plan::{FileStamp, HandOver, LogDirPlan};

/// Takes the marker of a clean stop away, durably.
///
/// Not before the steps are: they are those of a boot that finds it, and one that does not may cut more.
fn remove_marker(storage: &dyn Storage, log_dir: &Path) -> Result<(), DiskError> {
    storage.remove(&log_dir.join(CLEAN_SHUTDOWN_MARKER))?;
    storage.sync_dir(log_dir)
}

/// Hands a log dir over; everything that it speaks of must be durable.
pub(super) fn hand_over(
    storage: &dyn Storage,
    quarantine: QuarantineDir<'_>,
    plan: &LogDirPlan,
) -> Result<(), DiskError> {
    remove_half(storage, &plan.path)?;
    if plan.removes_marker && plan.hand_over != HandOver::Clean {
        remove_marker(storage, &plan.path)?;
    }
    if plan.hand_over == HandOver::None {
        return Ok(());
    }
    if let Some(entries) = &plan.recovery_points {
        let entries = entries
            .iter()
            .map(|entry| (entry.topic_partition.clone(), entry.offset))
            .collect();
        let bytes = OffsetCheckpoint { entries }.encode();
        write_checkpoint(storage, quarantine, &plan.path, &bytes)?;
    }
    if plan.hand_over == HandOver::Clean {
        // Empty: every release skips the scan for it, and none takes it for the stop of a known broker epoch.
        let marker = plan.path.join(CLEAN_SHUTDOWN_MARKER);
        storage.write_file(&marker, b"", &new_owner(&plan.path, &marker)?)?;
        storage.sync_file(&marker)?;
        storage.sync_dir(&plan.path)?;
    }
    Ok(())
}

/// Removes the half-written checkpoint of a run that was killed.
fn remove_half(storage: &dyn Storage, log_dir: &Path) -> Result<(), DiskError> {
    let half = with_suffix(&log_dir.join(RECOVERY_POINT_CHECKPOINT), OWN_SUFFIX);
    match storage.stat(&half) {
        Err(error) if error.is_not_found() => Ok(()),
        _ => storage.remove(&half),
    }
}

fn write_checkpoint(
    storage: &dyn Storage,
    quarantine: QuarantineDir<'_>,
    log_dir: &Path,
    bytes: &[u8],
) -> Result<(), DiskError> {
    let path = log_dir.join(RECOVERY_POINT_CHECKPOINT);
    match storage.stat(&path) {
        Ok(stat) => {
            let stamp = FileStamp {
                name: RECOVERY_POINT_CHECKPOINT.to_owned(),
                inode: stat.inode,
                len: stat.len,
                mtime_ns: stat.mtime_ns,
            };
            quarantine.keep(Cut {
                path: &path,
                stamp: &stamp,
                from: 0,
                until: stamp.len,
                in_place: false,
            })?;
        }
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    let half = with_suffix(&path, OWN_SUFFIX);
    storage.write_file(&half, bytes, &new_owner(log_dir, &path)?)?;
    storage.sync_file(&half)?;
    storage.rename(&half, &path)?;
    storage.sync_dir(log_dir)
}
