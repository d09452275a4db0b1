//! The last entries of indexes, which may end in the zeros of a file that was allocated ahead.

use std::io;

use crate::disk::ReadAt;
use crate::format::{offset_index, time_index};
use crate::terms::{Position, Timestamp};

/// Returns the timestamp of a time index's last whole entry, as Kafka takes it; `None` if it has none.
///
/// Kafka looks no further: zeros at the end of an index that no boot rebuilds are an entry of the year 1970.
pub(super) fn last_time(file: &dyn ReadAt, len: u64) -> io::Result<Option<Timestamp>> {
    let entry_len = time_index::ENTRY_LEN as u64;
    let Some(slot) = (len / entry_len).checked_sub(1) else {
        return Ok(None);
    };
    Ok(time_entry(file, slot)?.map(|(timestamp, _)| timestamp))
}

/// Returns the timestamp of a time index's last entry that is not of zeros.
pub(in crate::engine) fn last_written_time(
    file: &dyn ReadAt,
    len: u64,
) -> io::Result<Option<Timestamp>> {
    let slots = len / time_index::ENTRY_LEN as u64;
    let written = written(slots, |slot| {
        Ok(time_entry(file, slot)?.is_some_and(|entry| entry != (Timestamp(0), 0)))
    })?;
    match written.checked_sub(1) {
        Some(slot) => Ok(time_entry(file, slot)?.map(|(timestamp, _)| timestamp)),
        None => Ok(None),
    }
}

/// Returns where an offset index's last entry that is not of zeros points to; 0 without one.
pub(super) fn last_written_position(file: &dyn ReadAt, len: u64) -> io::Result<Position> {
    let slots = len / offset_index::ENTRY_LEN as u64;
    let entry = |slot: u64| -> io::Result<(i32, i32)> {
        let mut bytes = [0; offset_index::ENTRY_LEN];
        file.fill(&mut bytes, slot * offset_index::ENTRY_LEN as u64)?;
        let entry = offset_index::decode(&bytes).next();
        Ok(entry.map_or((0, 0), |entry| (entry.relative_offset, entry.position)))
    };
    let written = written(slots, |slot| Ok(entry(slot)? != (0, 0)))?;
    let position = match written.checked_sub(1) {
        Some(slot) => u64::try_from(entry(slot)?.1).unwrap_or(0),
        None => 0,
    };
    Ok(Position(position))
}

fn time_entry(file: &dyn ReadAt, slot: u64) -> io::Result<Option<(Timestamp, i32)>> {
    let mut bytes = [0; time_index::ENTRY_LEN];
    let read = file.fill(&mut bytes, slot * time_index::ENTRY_LEN as u64)?;
    let entry = time_index::decode(bytes.get(..read).unwrap_or_default()).next();
    Ok(entry.map(|entry| (entry.timestamp, entry.relative_offset)))
}

/// Returns how many slots are written, by halving: written ones come first.
fn written(slots: u64, is_written: impl Fn(u64) -> io::Result<bool>) -> io::Result<u64> {
    let (mut low, mut high) = (0, slots);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_written(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{RealStorage, Storage as _};
    use crate::format::offset_index::OffsetEntry;
    use crate::format::time_index::TimeEntry;

    fn file(bytes: &[u8]) -> (Box<dyn ReadAt>, u64, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        std::fs::write(&path, bytes).unwrap();
        (RealStorage.open(&path).unwrap(), bytes.len() as u64, dir)
    }

    #[test]
    fn kafka_s_last_entry_and_the_last_written_one_differ_where_zeros_follow() {
        let entries: Vec<TimeEntry> = (1..=5)
            .map(|n| TimeEntry {
                timestamp: Timestamp(n * 100),
                relative_offset: i32::try_from(n).unwrap(),
            })
            .collect();
        let mut bytes = time_index::encode(&entries);
        let (trimmed, len, _dir) = file(&bytes);
        assert_eq!(
            last_time(trimmed.as_ref(), len).unwrap(),
            Some(Timestamp(500))
        );
        bytes.resize(12 * 1000 + 7, 0);
        let (full, len, _dir) = file(&bytes);
        assert_eq!(last_time(full.as_ref(), len).unwrap(), Some(Timestamp(0)));
        let written = last_written_time(full.as_ref(), len).unwrap();
        assert_eq!(written, Some(Timestamp(500)));
        let (empty, len, _dir) = file(&[]);
        assert_eq!(last_time(empty.as_ref(), len).unwrap(), None);
        assert_eq!(last_written_time(empty.as_ref(), len).unwrap(), None);
    }

    #[test]
    fn an_offset_index_of_zeros_points_to_the_begin() {
        let entry = OffsetEntry {
            relative_offset: 49,
            position: 4604,
        };
        let mut bytes = Vec::new();
        entry.encode_into(&mut bytes);
        bytes.resize(8000, 0);
        let (index, len, _dir) = file(&bytes);
        let position = last_written_position(index.as_ref(), len).unwrap();
        assert_eq!(position, Position(4604));
        let (index, len, _dir) = file(&[0; 80]);
        let position = last_written_position(index.as_ref(), len).unwrap();
        assert_eq!(position, Position(0));
    }
}
