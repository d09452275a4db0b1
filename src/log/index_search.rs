//! Where Kafka finds an offset in an index: a binary search that trusts what it reads (`AbstractIndex`).

use std::cmp::Ordering;

use crate::format::offset_index::{self, OffsetEntry};
use crate::format::time_index::{self, TimeEntry};
use crate::format::txn_index;
use crate::terms::{Offset, Position, Timestamp};

/// Bytes at an index's end that Kafka searches first, to touch few pages.
const WARM_BYTES: usize = 8192;

/// Returns the slot of the last entry that is not greater, by Kafka's own steps, so that an index out of order is
/// searched alike; `order` compares the entry of a slot with what is looked for.
fn floor_slot(
    entries: usize,
    entry_len: usize,
    order: impl Fn(usize) -> Ordering,
) -> Option<usize> {
    let last = entries.checked_sub(1)?;
    let first_warm = last.saturating_sub(WARM_BYTES / entry_len);
    let (mut low, mut high) = if order(first_warm).is_lt() {
        (first_warm, last)
    } else if order(0).is_gt() {
        return None;
    } else {
        (0, first_warm)
    };
    while low < high {
        let middle = (low + high).div_ceil(2);
        match order(middle) {
            Ordering::Greater => high = middle - 1,
            Ordering::Equal => return Some(middle),
            Ordering::Less => low = middle,
        }
    }
    Some(low)
}

/// An offset index's bytes; they may end in a part of an entry.
#[derive(Debug, Clone)]
pub struct OffsetIndexSearch {
    base_offset: Offset,
    entries: Vec<OffsetEntry>,
}

impl OffsetIndexSearch {
    /// Takes the index of the segment at `base_offset`.
    pub fn new(bytes: &[u8], base_offset: Offset) -> Self {
        Self {
            base_offset,
            entries: offset_index::decode(bytes).collect(),
        }
    }

    /// Returns from where on `offset` is looked for in the `.log` (`OffsetIndex.lookup`).
    pub fn lookup(&self, offset: Offset) -> Position {
        let entry = self.floor(offset).and_then(|slot| self.entries.get(slot));
        let position = entry.and_then(|entry| u64::try_from(entry.position).ok());
        Position(position.unwrap_or(0))
    }

    /// Keeps the entries below `offset` (`OffsetIndex.truncateTo`); returns the length that is left, in bytes.
    pub fn truncate_to(&mut self, offset: Offset) -> u64 {
        let kept = self.floor(offset).map_or(0, |slot| {
            slot + usize::from(self.order(slot, offset).is_lt())
        });
        self.entries.truncate(kept);
        (kept * offset_index::ENTRY_LEN) as u64
    }

    fn floor(&self, offset: Offset) -> Option<usize> {
        floor_slot(self.entries.len(), offset_index::ENTRY_LEN, |slot| {
            self.order(slot, offset)
        })
    }

    fn order(&self, slot: usize, offset: Offset) -> Ordering {
        let relative = self
            .entries
            .get(slot)
            .map_or(0, |entry| i64::from(entry.relative_offset));
        self.base_offset.plus(relative).cmp(&offset)
    }
}

/// A time index's bytes; they may end in a part of an entry.
#[derive(Debug, Clone)]
pub struct TimeIndexSearch {
    base_offset: Offset,
    entries: Vec<TimeEntry>,
}

impl TimeIndexSearch {
    /// Takes the index of the segment at `base_offset`.
    pub fn new(bytes: &[u8], base_offset: Offset) -> Self {
        Self {
            base_offset,
            entries: time_index::decode(bytes).collect(),
        }
    }

    /// Keeps the entries whose offset is below `offset` (`TimeIndex.truncateTo`).
    pub fn truncate_to(&mut self, offset: Offset) {
        let order = |slot: usize| self.offset(slot).cmp(&offset);
        let floor = floor_slot(self.entries.len(), time_index::ENTRY_LEN, order);
        let kept = floor.map_or(0, |slot| slot + usize::from(order(slot).is_lt()));
        self.entries.truncate(kept);
    }

    /// Returns the last entry's timestamp and offset; `None` if it has none.
    pub fn last(&self) -> Option<(Timestamp, Offset)> {
        let last = self.entries.len().checked_sub(1)?;
        let entry = self.entries.get(last)?;
        Some((entry.timestamp, self.offset(last)))
    }

    /// Appends an entry, as a segment that ends does: only a timestamp that is larger, at an offset that is not smaller.
    pub fn append(&mut self, timestamp: Timestamp, offset: Offset) {
        let (last, last_offset) = self.last().unwrap_or((Timestamp::NONE, self.base_offset));
        let relative = i32::try_from(offset.0.wrapping_sub(self.base_offset.0));
        if let Ok(relative_offset) = relative
            && timestamp > last
            && offset >= last_offset
        {
            self.entries.push(TimeEntry {
                timestamp,
                relative_offset,
            });
        }
    }

    /// Returns the index's bytes.
    pub fn encode(&self) -> Vec<u8> {
        time_index::encode(&self.entries)
    }

    fn offset(&self, slot: usize) -> Offset {
        let relative = self
            .entries
            .get(slot)
            .map_or(0, |entry| i64::from(entry.relative_offset));
        self.base_offset.plus(relative)
    }
}

/// Returns how many bytes of a transaction index lie before its first transaction that ends at `offset` or later; `None` if
/// none does (`TransactionIndex.truncateTo`).
pub fn txn_index_cut(bytes: &[u8], offset: Offset) -> Option<u64> {
    txn_index::decode(bytes)
        .position(|txn| txn.last_offset >= offset)
        .map(|slot| (slot * txn_index::ENTRY_LEN) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(pairs: &[(i32, i32)]) -> Vec<u8> {
        let entry = |(relative_offset, position): &(i32, i32)| OffsetEntry {
            relative_offset: *relative_offset,
            position: *position,
        };
        offset_index::encode(&pairs.iter().map(entry).collect::<Vec<_>>())
    }

    #[test]
    fn an_offset_is_looked_for_from_the_entry_at_or_below_it() {
        let bytes = offsets(&[(9, 100), (19, 200), (29, 300)]);
        let index = OffsetIndexSearch::new(&bytes, Offset(1000));
        for (offset, position) in [(1000, 0), (1008, 0), (1009, 100), (1028, 200), (9999, 300)] {
            assert_eq!(index.lookup(Offset(offset)), Position(position), "{offset}");
        }
        assert_eq!(
            OffsetIndexSearch::new(&[], Offset(0)).lookup(Offset(5)),
            Position(0)
        );
    }

    #[test]
    fn entries_at_or_behind_the_target_go() {
        let bytes = offsets(&[(9, 100), (19, 200), (29, 300)]);
        for (offset, left) in [
            (1000, 0),
            (1009, 0),
            (1010, 8),
            (1019, 8),
            (1020, 16),
            (1500, 24),
        ] {
            let mut index = OffsetIndexSearch::new(&bytes, Offset(1000));
            assert_eq!(index.truncate_to(Offset(offset)), left, "{offset}");
        }
    }

    #[test]
    fn many_entries_are_found_in_both_halves_of_the_search() {
        let pairs: Vec<(i32, i32)> = (0..5000).map(|n| (n * 10 + 9, n * 100)).collect();
        let index = OffsetIndexSearch::new(&offsets(&pairs), Offset(0));
        for n in [0, 1, 2499, 3974, 3975, 3976, 4998, 4999] {
            let last = i64::from(n) * 10 + 9;
            let position = Position(u64::try_from(n).unwrap() * 100);
            assert_eq!(index.lookup(Offset(last)), position, "{n}");
            assert_eq!(index.lookup(Offset(last + 5)), position, "{n}");
        }
    }

    #[test]
    fn zeros_behind_the_entries_count_as_entries_as_they_do_for_kafka() {
        // A full-size index whose tail was never trimmed: the warm end is all zeros, which are below the target.
        let mut bytes = offsets(&[(9, 100), (19, 200)]);
        bytes.resize(bytes.len() + 16_384, 0);
        let index = OffsetIndexSearch::new(&bytes, Offset(0));
        assert_eq!(index.lookup(Offset(25)), Position(0));
    }

    #[test]
    fn the_last_time_entry_is_appended_only_if_it_rises() {
        let entries =
            [(100, 9), (200, 19), (300, 29)].map(|(timestamp, relative_offset)| TimeEntry {
                timestamp: Timestamp(timestamp),
                relative_offset,
            });
        let mut index = TimeIndexSearch::new(&time_index::encode(&entries), Offset(0));
        index.truncate_to(Offset(29));
        assert_eq!(index.last(), Some((Timestamp(200), Offset(19))));
        index.append(Timestamp(200), Offset(25));
        index.append(Timestamp(250), Offset(15));
        assert_eq!(index.last(), Some((Timestamp(200), Offset(19))));
        index.append(Timestamp(250), Offset(25));
        assert_eq!(index.last(), Some((Timestamp(250), Offset(25))));
        let mut empty = TimeIndexSearch::new(&[], Offset(7));
        empty.append(Timestamp::NONE, Offset(7));
        assert!(empty.encode().is_empty());
    }
}
