//! Looks again, at bytes that come from the disk, at what a plan found bad, before it is cut.
//!
//! A disk, a cable or a memory that returns wrong bytes once would otherwise cost good batches for ever.

use std::path::Path;

use crate::disk::{DiskAction, DiskError, ReadAt, Storage};
use crate::format::batch::{HEADER_UP_TO_MAGIC, frame};
use crate::format::{legacy_message, record_batch};
use crate::log::{Finding, FindingCode};
use crate::plan::PartitionPlan;

/// A larger batch is not looked at again.
const MAX_BATCH: u64 = 256 << 20;

/// Checks that no good batch begins where the plan cuts a log for a bad one: `name` is the file's in the plan, `path` where
/// it lies now. An error is a sentence that names the place.
pub(super) fn look_again(
    storage: &dyn Storage,
    plan: &PartitionPlan,
    (name, path): (&str, &Path),
    position: u64,
) -> Result<(), String> {
    let is_of_cut = |finding: &Finding| {
        finding.file.as_deref() == Some(name)
            && finding.position.is_some_and(|at| at.0 == position)
            && names_bad_bytes(finding)
    };
    if !plan.findings.iter().any(is_of_cut) {
        return Ok(());
    }
    let read = |source| DiskError::new(DiskAction::Read, path, source).at(position);
    let is_good = storage
        .open(path)
        .and_then(|log| good_batch_at(log.as_ref(), position).map_err(read));
    if is_good.map_err(|error| error.sentence())? {
        return Err(format!(
            "{}: the batch at byte {position} was bad when the plan was made and is good now: disk, cable or memory \
             return other bytes each time; look at the kernel's log, then make the plan again",
            path.display(),
        ));
    }
    Ok(())
}

fn names_bad_bytes(finding: &Finding) -> bool {
    matches!(
        finding.code,
        FindingCode::CrcMismatch
            | FindingCode::TornTail
            | FindingCode::ZeroTail
            | FindingCode::LengthTooSmall
            | FindingCode::LengthPastEnd
    )
}

/// Says whether a whole batch with the right checksum begins at `position`.
fn good_batch_at(log: &dyn ReadAt, position: u64) -> std::io::Result<bool> {
    let remaining = log.file_len()?.saturating_sub(position);
    // What the page cache holds was read when the plan was made.
    log.drop_cached(position, remaining.min(MAX_BATCH));
    let mut header = vec![0; HEADER_UP_TO_MAGIC];
    log.fill(&mut header, position)?;
    let Ok(frame) = frame(&header, remaining) else {
        return Ok(false);
    };
    let Some(size) = usize::try_from(frame.size)
        .ok()
        .filter(|_| frame.size <= MAX_BATCH)
    else {
        return Ok(false);
    };
    let mut batch = vec![0; size];
    log.fill(&mut batch, position)?;
    Ok(if frame.is_legacy() {
        legacy_message::crc_matches(&batch)
    } else {
        record_batch::crc_matches(&batch)
    })
}
