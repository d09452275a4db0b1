//! Looks again, at bytes that come from the disk, at what a plan found bad, before it is cut.
//!
//! A disk, a cable or a memory that returns wrong bytes once would otherwise cost good batches for ever.

use std::path::Path;

use crate::disk::{DiskAction, DiskError, ReadAt, Storage};
use crate::format::batch::{HEADER_UP_TO_MAGIC, frame};
use crate::format::checksum::{crc32_append, crc32c_append};
use crate::format::{legacy_message, record_batch};
use crate::log::{Finding, FindingCode};
use crate::plan::PartitionPlan;

/// Bytes that are read at once.
const WINDOW: usize = 1 << 20;

/// Checks that no good batch begins where the plan cuts a log for a bad one: `name` is the file's in the plan, `path` where
/// it lies now. An error is a sentence that names the place.
pub(in crate::engine) fn look_again(
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

/// Says whether a whole batch with the right checksum begins at `position`; a batch has up to 2 GiB, of which one window at
/// a time is in memory.
fn good_batch_at(log: &dyn ReadAt, position: u64) -> std::io::Result<bool> {
    let remaining = log.file_len()?.saturating_sub(position);
    let mut header = vec![0; HEADER_UP_TO_MAGIC];
    // What the page cache holds was read when the plan was made.
    log.drop_cached(position, HEADER_UP_TO_MAGIC as u64);
    log.fill(&mut header, position)?;
    let Ok(frame) = frame(&header, remaining) else {
        return Ok(false);
    };
    let (crc_offset, checked_from) = if frame.is_legacy() {
        (legacy_message::CRC_OFFSET, legacy_message::CHECKED_FROM)
    } else {
        (record_batch::CRC_OFFSET, record_batch::CHECKED_FROM)
    };
    if frame.size < record_batch::HEADER_LEN as u64 && !frame.is_legacy() {
        return Ok(false);
    }
    log.drop_cached(position, frame.size);
    let mut stored = [0; 4];
    log.fill(&mut stored, position + crc_offset as u64)?;
    let mut window = vec![0; WINDOW];
    let (mut at, mut crc) = (checked_from as u64, 0);
    while at < frame.size {
        let len = usize::try_from(frame.size - at).map_or(WINDOW, |rest| rest.min(WINDOW));
        let window = window.get_mut(..len).unwrap_or_default();
        if log.fill(window, position + at)? < len {
            return Ok(false);
        }
        crc = if frame.is_legacy() {
            crc32_append(crc, window)
        } else {
            crc32c_append(crc, window)
        };
        at += len as u64;
    }
    Ok(at == frame.size && u32::from_be_bytes(stored) == crc)
}
