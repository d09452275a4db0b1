//! Reads the bytes that a finding speaks of, and says what they decode to.

use std::path::{Path, PathBuf};

use crate::app::event::{BytesView, Field};
use crate::disk::{DiskAction, DiskError, ReadAt, RealStorage, Storage as _};
use crate::format::checksum::crc32c;
use crate::format::record_batch::{BatchHeader, HEADER_LEN};
use crate::format::{offset_index, time_index};
use crate::terms::Position;

/// Bytes shown before the place.
const BEFORE: u64 = 16;
/// Bytes shown from the place on.
const AFTER: u64 = 112;
/// The largest batch whose checksum is computed for a look.
const MOST: u64 = 64 << 20;
/// Bytes of a batch that the checksum does not cover.
const UNCHECKED: usize = 21;

/// Reads the bytes around `position`; what cannot be read is said in the view.
pub(super) fn read_bytes(path: PathBuf, position: Position) -> BytesView {
    let mut view = BytesView {
        file: path,
        position,
        ..BytesView::default()
    };
    if let Err(error) = fill(&mut view) {
        view.error = Some(error.sentence());
    }
    view
}

fn fill(view: &mut BytesView) -> Result<(), DiskError> {
    let file = RealStorage.open(&view.file)?;
    let file = file.as_ref();
    let failed = DiskError::of(DiskAction::Read, &view.file);
    view.file_len = file.file_len().map_err(failed)?;
    // Lines of 16 begin at the place, so that it is the first byte of its line.
    view.from = Position(view.position.0.saturating_sub(BEFORE));
    let end = view.position.0.saturating_add(AFTER).min(view.file_len);
    let len = usize::try_from(end.saturating_sub(view.from.0)).unwrap_or(0);
    view.bytes = vec![0; len];
    let read = file
        .read_at(&mut view.bytes, view.from.0)
        .map_err(DiskError::of(DiskAction::Read, &view.file))?;
    view.bytes.truncate(read);
    let skip = usize::try_from(view.position.0 - view.from.0).unwrap_or(0);
    let here = view.bytes.get(skip..).unwrap_or_default().to_vec();
    view.fields = match suffix(&view.file) {
        "log" => batch_fields(file, view, &here),
        "index" => offset_index_fields(&here),
        "timeindex" => time_index_fields(&here),
        _ => Vec::new(),
    };
    Ok(())
}

fn suffix(path: &Path) -> &str {
    path.extension()
        .and_then(|suffix| suffix.to_str())
        .unwrap_or_default()
}

fn field(name: &'static str, value: impl std::fmt::Display) -> Field {
    Field {
        name,
        value: value.to_string(),
        wrong: None,
    }
}

fn wrong(name: &'static str, value: impl std::fmt::Display, wrong: impl Into<String>) -> Field {
    Field {
        wrong: Some(wrong.into()),
        ..field(name, value)
    }
}

fn batch_fields(file: &dyn ReadAt, view: &BytesView, here: &[u8]) -> Vec<Field> {
    let left = view.file_len.saturating_sub(view.position.0);
    if left == 0 {
        return vec![field("end of file", view.file_len)];
    }
    if here.iter().all(|byte| *byte == 0) {
        return vec![field("zeros", format!("{left} bytes to the end"))];
    }
    let Some(header) = BatchHeader::decode(here) else {
        return vec![wrong("bytes left", left, "fewer than a header has")];
    };
    let length = field("batchLength", header.batch_length);
    let size = header.size();
    let length = if header.batch_length < 49 {
        wrong("batchLength", header.batch_length, "too small")
    } else if size > left {
        let text = format!("needs {size}, has {left}");
        wrong("batchLength", header.batch_length, text)
    } else {
        length
    };
    vec![
        field("baseOffset", header.base_offset),
        length,
        field("partitionLeaderEpoch", header.partition_leader_epoch),
        field("magic", header.magic),
        crc_field(file, view, &header, left),
        field("attributes", attributes(&header)),
        field("lastOffsetDelta", header.last_offset_delta),
        field("baseTimestamp", header.base_timestamp.rfc3339()),
        field("maxTimestamp", header.max_timestamp.rfc3339()),
        field("producerId", header.producer_id),
        field("producerEpoch", header.producer_epoch),
        field("baseSequence", header.base_sequence),
        field("records", header.records_count),
    ]
}

/// Compares the checksum of a batch of magic 2 that fits its file.
fn crc_field(file: &dyn ReadAt, view: &BytesView, header: &BatchHeader, left: u64) -> Field {
    let stored = format!("{:08x}", header.crc);
    let size = header.size();
    if header.magic < 2 || size < HEADER_LEN as u64 || size > left || size > MOST {
        return field("crc", stored);
    }
    let mut batch = vec![0; usize::try_from(size).unwrap_or(0)];
    if !matches!(file.read_at(&mut batch, view.position.0), Ok(read) if read == batch.len()) {
        return field("crc", stored);
    }
    match crc32c(batch.get(UNCHECKED..).unwrap_or_default()) {
        computed if computed == header.crc => field("crc", format!("{stored} fits")),
        computed => wrong("crc", stored, format!("≠ {computed:08x}")),
    }
}

fn attributes(header: &BatchHeader) -> String {
    let attributes = header.attributes;
    let codec = attributes.compression().map_or_else(
        |codec| format!("codec {codec}?"),
        |codec| format!("{codec:?}").to_lowercase(),
    );
    let mut words = vec![codec];
    for (is, word) in [
        (attributes.is_transactional(), "transactional"),
        (attributes.is_control(), "control"),
        (attributes.has_delete_horizon(), "delete horizon"),
    ] {
        if is {
            words.push(word.to_owned());
        }
    }
    words.join(", ")
}

fn offset_index_fields(here: &[u8]) -> Vec<Field> {
    let Some(entry) = offset_index::decode(here).next() else {
        return Vec::new();
    };
    vec![
        field("relativeOffset", entry.relative_offset),
        field("position", entry.position),
    ]
}

fn time_index_fields(here: &[u8]) -> Vec<Field> {
    let Some(entry) = time_index::decode(here).next() else {
        return Vec::new();
    };
    vec![
        field("timestamp", entry.timestamp.rfc3339()),
        field("relativeOffset", entry.relative_offset),
    ]
}
