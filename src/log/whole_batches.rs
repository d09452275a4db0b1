//! Batches of magic 2 that lie in a window whole: the common case, in one look at their headers.

use crate::format::batch::{HEADER_UP_TO_MAGIC, LOG_OVERHEAD};
use crate::format::checksum::{LANES, side_by_side_up_to};
use crate::format::record_batch::HEADER_LEN;

/// Where a batch of magic 2 begins to be covered by its checksum.
pub(super) const CHECKED_FROM: usize = 21;

/// Splits off several short batches that lie in the window whole, `remaining` bytes before the file's end.
#[inline]
pub(super) fn split_several(window: &[u8], mut remaining: u64) -> Option<[&[u8]; LANES]> {
    let mut batches = [&[] as &[u8]; LANES];
    let mut rest = window;
    let limit = side_by_side_up_to() as u64;
    for batch in &mut batches {
        *batch = split_whole(rest, remaining, limit)?;
        remaining -= batch.len() as u64;
        rest = rest.get(batch.len()..)?;
    }
    Some(batches)
}

/// Splits off a batch of magic 2 of at most `limit` bytes that lies in the window whole.
#[inline]
pub(super) fn split_whole(window: &[u8], remaining: u64, limit: u64) -> Option<&[u8]> {
    let start: &[u8; HEADER_UP_TO_MAGIC] = window.first_chunk()?;
    let [_, _, _, _, _, _, _, _, length @ .., _, _, _, _, magic] = start;
    let length: &[u8; 4] = length;
    let size = u64::try_from(i32::from_be_bytes(*length)).ok()? + LOG_OVERHEAD as u64;
    let fits =
        magic.cast_signed() >= 2 && size >= HEADER_LEN as u64 && size <= limit && size <= remaining;
    window.get(..usize::try_from(size).ok()?).filter(|_| fits)
}

/// Returns the part of a batch that its checksum covers.
#[inline]
pub(super) fn covered(batch: &[u8]) -> &[u8] {
    batch.get(CHECKED_FROM..).unwrap_or_default()
}
