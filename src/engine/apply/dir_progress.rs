//! How far an interrupted run came with a log dir's own files: the marker and the checkpoints.

use std::path::Path;

use super::hand_over::own_checkpoints;
use super::stamps::{StampError, changed};
use crate::disk::{FileStat, LogDirListing, Storage};
use crate::engine::read::file_bytes::hash_range;
use crate::format::file_name::CLEAN_SHUTDOWN_MARKER;
use crate::plan::{FileStamp, HandOver, LogDirPlan, Step, StepAction};

/// Checks that each file of a log dir itself is as the plan saw it, or as the plan leaves it.
pub(in crate::engine) fn check_resumed_dir(
    storage: &dyn Storage,
    dir: &LogDirPlan,
    listing: &LogDirListing,
) -> Result<(), StampError> {
    let written = own_checkpoints(dir);
    let undo: Vec<&Step> = dir
        .undo
        .iter()
        .flat_map(|undo| {
            undo.checkpoints
                .iter()
                .chain(&undo.marker)
                .chain(&undo.late)
        })
        .collect();
    for name in crate::engine::read::dir_facts::STAMPED {
        let now = listing.entry(name);
        let planned = dir.stamps.iter().find(|stamp| stamp.name == name);
        if is_same(planned, now) {
            continue;
        }
        let is_marker = name == CLEAN_SHUTDOWN_MARKER;
        let ours = match now {
            None => dir.removes_marker && is_marker || undo.iter().any(|step| removes(step, name)),
            Some(now) => {
                let mut is_written = false;
                for (_, content) in written.iter().filter(|(of, _)| of == name) {
                    is_written |= content.len == now.len
                        && is_content(storage, &dir.path.join(name), now.len, &content.sha256)?;
                }
                is_written
                    || is_marker && dir.hand_over == HandOver::Clean && now.len == 0
                    || undo.iter().any(|step| restored(step, name, now))
            }
        };
        if !ours {
            let how = match now {
                None => "is gone",
                Some(_) if planned.is_none() => "is new",
                Some(_) => "was written to",
            };
            return Err(changed(&dir.path, name, how));
        }
    }
    Ok(())
}

/// Says whether a file is as it was, or a copy with its length and time.
pub(in crate::engine) fn is_same(planned: Option<&FileStamp>, now: Option<&FileStat>) -> bool {
    match (planned, now) {
        (None, None) => true,
        (Some(planned), Some(now)) => planned.len == now.len && planned.mtime_ns == now.mtime_ns,
        _ => false,
    }
}

/// Says whether a file holds these bytes.
pub(in crate::engine) fn is_content(
    storage: &dyn Storage,
    path: &Path,
    len: u64,
    sha256: &str,
) -> Result<bool, StampError> {
    let found = hash_range(storage, path, 0, len).map_err(StampError::Disk)?;
    Ok(found == sha256)
}

fn removes(step: &Step, name: &str) -> bool {
    step.file == name && matches!(step.action, StepAction::Remove { .. })
}

fn restored(step: &Step, name: &str, now: &FileStat) -> bool {
    match &step.action {
        StepAction::Restore { kept, .. } if step.file == name => {
            kept.len == now.len && kept.mtime_ns == now.mtime_ns
        }
        _ => false,
    }
}
