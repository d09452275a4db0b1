//! The offset index, `<base offset>.index`.
//!
//! ```text
//! 0 relative_offset i32   last offset of a batch less the segment's base offset
//! 4 position        i32   where that batch begins in the .log
//! ```
//!
//! No checksum. Nothing marks the end: a file that was not trimmed goes on with zeros, or with stale entries after a
//! truncation, and Kafka takes them all for entries. Bytes behind the last whole entry are ignored.

/// Bytes of an entry.
pub const ENTRY_LEN: usize = 8;
const _: () = assert!(ENTRY_LEN == 4 + 4);

/// An entry of an offset index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OffsetEntry {
    /// The last offset of a batch, less the segment's base offset.
    pub relative_offset: i32,
    /// Where the batch begins in the `.log`.
    pub position: i32,
}

impl OffsetEntry {
    /// Appends the entry.
    pub fn encode_into(self, out: &mut Vec<u8>) {
        out.extend(self.relative_offset.to_be_bytes());
        out.extend(self.position.to_be_bytes());
    }

    fn from_bytes(bytes: [u8; ENTRY_LEN]) -> Option<Self> {
        let (relative_offset, rest) = bytes.split_first_chunk()?;
        Some(Self {
            relative_offset: i32::from_be_bytes(*relative_offset),
            position: i32::from_be_bytes(*rest.first_chunk()?),
        })
    }
}

/// Returns the whole entries of `bytes`, in file order.
pub fn decode(bytes: &[u8]) -> impl DoubleEndedIterator<Item = OffsetEntry> + Clone + '_ {
    let (entries, _) = bytes.as_chunks::<ENTRY_LEN>();
    entries.iter().copied().filter_map(OffsetEntry::from_bytes)
}

/// Encodes `entries`.
pub fn encode(entries: &[OffsetEntry]) -> Vec<u8> {
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
    fn entries_are_big_endian_pairs() {
        // Section 11 of the recovery notes: offsets 4 and 8 at 4288 and 8576.
        let bytes = [
            0, 0, 0, 4, 0, 0, 0x10, 0xc0, 0, 0, 0, 8, 0, 0, 0x21, 0x80, 0xff,
        ];
        let entries: Vec<_> = decode(&bytes).collect();
        assert_eq!(
            entries,
            [
                OffsetEntry {
                    relative_offset: 4,
                    position: 4288
                },
                OffsetEntry {
                    relative_offset: 8,
                    position: 8576
                },
            ]
        );
        assert_eq!(encode(&entries), bytes[..16]);
    }

    proptest! {
        #[test]
        fn whole_entries_survive_the_way_there_and_back(bytes: Vec<u8>) {
            let entries: Vec<_> = decode(&bytes).collect();
            prop_assert_eq!(encode(&entries), &bytes[..bytes.len() / ENTRY_LEN * ENTRY_LEN]);
        }
    }
}
