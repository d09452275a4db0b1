//! The batches of a segment, whole and in order.

use std::path::Path;

use crate::disk::{DiskError, ReadManner, SegmentBytes, Storage, WindowBuffer};
use crate::format::batch::{Frame, FrameEnd, HEADER_UP_TO_MAGIC, frame};
use crate::format::file_name::{FileKind, PartitionFile};
use crate::terms::Offset;

/// A longer batch is left out; those that are read here have a few KiB.
const MAX_BATCH: u64 = 64 << 20;

/// Returns the segments in a partition dir: base offset, file and bytes, in the order of their offsets.
///
/// # Errors
///
/// The dir cannot be listed.
pub(super) fn segments_in(
    storage: &dyn Storage,
    dir: &Path,
) -> Result<Vec<(Offset, String, u64)>, DiskError> {
    let listed = storage.list(dir)?.into_iter();
    let mut segments: Vec<_> = listed
        .filter_map(|entry| match PartitionFile::parse(&entry.name) {
            PartitionFile::Segment {
                offset,
                kind: FileKind::Log,
            } => Some((offset, entry.name, entry.stat.len)),
            _ => None,
        })
        .collect();
    segments.sort_unstable();
    Ok(segments)
}

/// Takes a batch with its frame, or says what is wrong with it.
pub(super) type OnBatch<'a> = dyn FnMut(Frame, &[u8]) -> Result<(), String> + 'a;

/// Hands each batch of the segment at `path` to `on_batch`; returns what was left out, a sentence each.
///
/// A batch that `on_batch` does not take is left out; what has no frame ends the segment.
///
/// # Errors
///
/// The file cannot be read.
pub(super) fn each_batch(
    storage: &dyn Storage,
    path: &Path,
    (manner, buffer): (ReadManner<'_>, &mut WindowBuffer),
    on_batch: &mut OnBatch<'_>,
) -> Result<Vec<String>, DiskError> {
    let len = storage.stat(path)?.len;
    let file = storage.open(path)?;
    let mut bytes = SegmentBytes::new(file, path, len, buffer, manner);
    let mut left_out = vec![];
    let mut position = 0;
    let mut needed = HEADER_UP_TO_MAGIC;
    loop {
        // Asking for a window moves its bytes to its front: all batches in one are taken before the next is asked for.
        let window = bytes.window(position, needed)?;
        let mut rest = window;
        needed = loop {
            let left = len - position;
            // What the first batch of a window lacks was cut off the file meanwhile.
            let is_first = rest.len() == window.len();
            if !is_first && rest.len() < HEADER_UP_TO_MAGIC && (rest.len() as u64) < left {
                break HEADER_UP_TO_MAGIC;
            }
            let framed = match frame(rest, left) {
                Ok(framed) => framed,
                Err(end) => {
                    left_out.extend(unframed(end, position, left));
                    return Ok(left_out);
                }
            };
            let size = usize::try_from(framed.size).unwrap_or(usize::MAX);
            let is_asked_for = is_first && needed >= size;
            if framed.size <= MAX_BATCH && rest.len() < size && !is_asked_for {
                break size;
            }
            let whole = rest.get(..size).filter(|_| framed.size <= MAX_BATCH);
            let taken = match whole {
                None => Err(format!(
                    "a batch of {} bytes is too long to read",
                    framed.size
                )),
                Some(batch) => on_batch(framed, batch),
            };
            if let Err(text) = taken {
                left_out.push(format!("batch at byte {position}: {text}; left out"));
            }
            position += framed.size;
            rest = rest.get(size..).unwrap_or_default();
        };
    }
}

/// Says what lies where no batch begins; nothing at the end of a log.
fn unframed(end: FrameEnd, position: u64, left: u64) -> Option<String> {
    let what = match end {
        FrameEnd::EndOfLog => "a batch is torn",
        FrameEnd::TooSmall { .. } => "no batch begins",
    };
    (left > 0).then(|| format!("{what} at byte {position}, {left} bytes before the end"))
}
