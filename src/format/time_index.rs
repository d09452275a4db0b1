//! The time index, `<base offset>.timeindex`.
//!
//! ```text
//! 0 timestamp       i64   largest timestamp of the segment up to this entry
//! 8 relative_offset i32   last offset of the batch that has it, less the segment's base offset
//! ```
//!
//! No checksum and no end mark, as in the offset index.

use crate::terms::Timestamp;

/// Bytes of an entry.
pub const ENTRY_LEN: usize = 12;
const _: () = assert!(ENTRY_LEN == 8 + 4);

/// An entry of a time index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeEntry {
    /// The largest timestamp of the segment up to this entry.
    pub timestamp: Timestamp,
    /// The last offset of the batch that has it, less the segment's base offset.
    pub relative_offset: i32,
}

impl TimeEntry {
    /// Appends the entry.
    pub fn encode_into(self, out: &mut Vec<u8>) {
        out.extend(self.timestamp.0.to_be_bytes());
        out.extend(self.relative_offset.to_be_bytes());
    }

    fn from_bytes(bytes: &[u8; ENTRY_LEN]) -> Option<Self> {
        let (timestamp, rest) = bytes.split_first_chunk()?;
        Some(Self {
            timestamp: Timestamp(i64::from_be_bytes(*timestamp)),
            relative_offset: i32::from_be_bytes(*rest.first_chunk()?),
        })
    }
}

/// Returns the whole entries of `bytes`, in file order.
pub fn decode(bytes: &[u8]) -> impl DoubleEndedIterator<Item = TimeEntry> + Clone + '_ {
    let (entries, _) = bytes.as_chunks::<ENTRY_LEN>();
    entries.iter().filter_map(TimeEntry::from_bytes)
}

/// Encodes `entries`.
pub fn encode(entries: &[TimeEntry]) -> Vec<u8> {
    let mut out = Vec::with_capacity(entries.len().saturating_mul(ENTRY_LEN));
    for entry in entries {
        entry.encode_into(&mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_entry_is_a_timestamp_and_an_offset() {
        let bytes = [
            0, 0, 0x01, 0x8b, 0xcf, 0xe5, 0x68, 0x00, 0, 0, 0x03, 0xe7, 1, 2,
        ];
        let entries: Vec<_> = decode(&bytes).collect();
        assert_eq!(
            entries,
            [TimeEntry {
                timestamp: Timestamp(1_700_000_000_000),
                relative_offset: 999
            }]
        );
        assert_eq!(encode(&entries), bytes[..12]);
    }

    proptest! {
        #[test]
        fn whole_entries_survive_the_way_there_and_back(bytes: Vec<u8>) {
            let entries: Vec<_> = decode(&bytes).collect();
            prop_assert_eq!(encode(&entries), &bytes[..bytes.len() / ENTRY_LEN * ENTRY_LEN]);
        }
    }
}
