//! Where a log ends, from the end of its last segment: few bytes, whatever its size.

use std::path::Path;

use crate::disk::{DiskError, ReadManner, SegmentBytes, Storage, WindowBuffer};
use crate::format::batch::frame;
use crate::format::offset_index::ENTRY_LEN;
use crate::format::record_batch::{BatchHeader, HEADER_LEN, crc_matches};
use crate::terms::{Offset, Timestamp};

/// The longest batch whose checksum is compared.
const MAX_BATCH: u64 = 64 << 20;

/// The end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct LogEnd {
    /// The offset behind the last batch that checks.
    pub(in crate::engine) log_end_offset: Offset,
    /// The largest timestamp of the last batch of the last segment.
    pub(in crate::engine) newest_timestamp: Option<Timestamp>,
}

/// Finds the end of the segment with this base offset, from the last entry of its index on.
///
/// A batch that does not check ends the log, as it does in a recovery.
pub(in crate::engine) fn log_end(
    storage: &dyn Storage,
    (dir, base, name): (&Path, Offset, &str),
    manner: ReadManner<'_>,
    buffer: &mut WindowBuffer,
) -> Result<LogEnd, DiskError> {
    let path = dir.join(name);
    let len = storage.stat(&path)?.len;
    let index = dir.join(name.replace(".log", ".index"));
    // A missing or bad index costs time only.
    let start = last_entry(storage, &index, len).unwrap_or(0);
    let found = walk(storage, (&path, base, len), start, manner, buffer)?;
    let found = match found {
        None if start > 0 => walk(storage, (&path, base, len), 0, manner, buffer)?,
        found => found,
    };
    Ok(found.unwrap_or(LogEnd {
        log_end_offset: base,
        newest_timestamp: None,
    }))
}

/// Returns the position of the last index entry that lies in a log of `len` bytes.
fn last_entry(storage: &dyn Storage, index: &Path, len: u64) -> Option<u64> {
    let file = storage.open(index).ok()?;
    let entries = file.file_len().ok()? / ENTRY_LEN as u64;
    // The entries rise; behind them lie zeros, as long as the segment is written to.
    let position_of = |entry: u64| {
        let mut bytes = [0; ENTRY_LEN];
        let read = file.fill(&mut bytes, entry * ENTRY_LEN as u64).ok()?;
        let position = bytes.last_chunk::<4>().filter(|_| read == ENTRY_LEN)?;
        Some(u64::from(u32::from_be_bytes(*position)))
    };
    let (mut low, mut high) = (0, entries);
    while low < high {
        let middle = low + (high - low) / 2;
        match position_of(middle)? {
            0 => high = middle,
            position if position >= len => high = middle,
            _ => low = middle + 1,
        }
    }
    position_of(low.checked_sub(1)?)
}

/// Walks over batches from `start` on; `None` if none begins there.
fn walk(
    storage: &dyn Storage,
    (path, base, len): (&Path, Offset, u64),
    start: u64,
    manner: ReadManner<'_>,
    buffer: &mut WindowBuffer,
) -> Result<Option<LogEnd>, DiskError> {
    let file = storage.open(path)?;
    let mut bytes = SegmentBytes::new(file, path, len, buffer, manner);
    let mut position = start;
    let mut end: Option<LogEnd> = None;
    loop {
        let head = bytes.window(position, HEADER_LEN)?;
        let Ok(framed) = frame(head, len - position) else {
            return Ok(end);
        };
        let next = if framed.is_legacy() {
            let next_offset = framed.offset.plus(1);
            (next_offset, None)
        } else {
            let Some(header) = BatchHeader::decode(head) else {
                return Ok(end);
            };
            if framed.size <= MAX_BATCH {
                let size = usize::try_from(framed.size).unwrap_or(usize::MAX);
                let batch = bytes.window(position, size)?;
                if !batch.get(..size).is_some_and(crc_matches) {
                    return Ok(end);
                }
            }
            (header.next_offset(), Some(header.max_timestamp))
        };
        if next.0 <= base && end.is_none() {
            return Ok(None);
        }
        end = Some(LogEnd {
            log_end_offset: next.0,
            newest_timestamp: next.1.filter(|at| at.0 >= 0),
        });
        position += framed.size;
    }
}
