//! The index of aborted transactions, `<base offset>.txnindex`.
//!
//! ```text
//!  0 version            i16   0; Kafka below 4.4 tests its high byte only
//!  2 producer_id        i64
//! 10 first_offset       i64   first record of the transaction
//! 18 last_offset        i64   the ABORT marker
//! 26 last_stable_offset i64   when the marker was appended
//! ```
//!
//! No checksum. Bytes behind the last whole entry are ignored and stay in place.

use crate::terms::{Offset, ProducerId};

/// Bytes of an entry.
pub const ENTRY_LEN: usize = 34;
/// The version that every release writes.
pub const VERSION: i16 = 0;
const _: () = assert!(ENTRY_LEN == 2 + 4 * 8);

/// An aborted transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AbortedTxn {
    /// The version as stored.
    pub version: i16,
    /// The producer that aborted.
    pub producer_id: ProducerId,
    /// The transaction's first offset.
    pub first_offset: Offset,
    /// The offset of the ABORT marker.
    pub last_offset: Offset,
    /// The last stable offset when the marker was appended.
    pub last_stable_offset: Offset,
}

impl AbortedTxn {
    /// Returns the version as releases below 4.4 read it: the high byte alone, sign-extended.
    pub fn version_before_4_4(self) -> i16 {
        let [high, _] = self.version.to_be_bytes();
        i16::from(high.cast_signed())
    }

    /// Appends the entry.
    pub fn encode_into(self, out: &mut Vec<u8>) {
        out.extend(self.version.to_be_bytes());
        out.extend(self.producer_id.0.to_be_bytes());
        out.extend(self.first_offset.0.to_be_bytes());
        out.extend(self.last_offset.0.to_be_bytes());
        out.extend(self.last_stable_offset.0.to_be_bytes());
    }

    fn from_bytes(bytes: &[u8; ENTRY_LEN]) -> Option<Self> {
        let (version, rest) = bytes.split_first_chunk()?;
        let (producer_id, rest) = rest.split_first_chunk()?;
        let (first_offset, rest) = rest.split_first_chunk()?;
        let (last_offset, rest) = rest.split_first_chunk()?;
        let last_stable_offset = rest.first_chunk()?;
        Some(Self {
            version: i16::from_be_bytes(*version),
            producer_id: ProducerId(i64::from_be_bytes(*producer_id)),
            first_offset: Offset(i64::from_be_bytes(*first_offset)),
            last_offset: Offset(i64::from_be_bytes(*last_offset)),
            last_stable_offset: Offset(i64::from_be_bytes(*last_stable_offset)),
        })
    }
}

/// Returns the whole entries of `bytes`, in file order.
pub fn decode(bytes: &[u8]) -> impl DoubleEndedIterator<Item = AbortedTxn> + Clone + '_ {
    let (entries, _) = bytes.as_chunks::<ENTRY_LEN>();
    entries.iter().filter_map(AbortedTxn::from_bytes)
}

/// Encodes `entries`.
pub fn encode(entries: &[AbortedTxn]) -> Vec<u8> {
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
    fn an_entry_has_five_fields() {
        // Section 11 of the recovery notes: version 0, producer 5, offsets 10 to 12, stable up to 11.
        let mut bytes = vec![0, 0];
        for field in [5_i64, 10, 12, 11] {
            bytes.extend(field.to_be_bytes());
        }
        bytes.extend([9; 33]);
        let entries: Vec<_> = decode(&bytes).collect();
        assert_eq!(
            entries,
            [AbortedTxn {
                version: 0,
                producer_id: ProducerId(5),
                first_offset: Offset(10),
                last_offset: Offset(12),
                last_stable_offset: Offset(11),
            }]
        );
        assert_eq!(encode(&entries), bytes[..34]);
    }

    #[test]
    fn old_releases_see_the_high_byte_of_the_version() {
        let entry = |version| AbortedTxn {
            version,
            producer_id: ProducerId(0),
            first_offset: Offset(0),
            last_offset: Offset(0),
            last_stable_offset: Offset(0),
        };
        assert_eq!(entry(1).version_before_4_4(), 0);
        assert_eq!(entry(256).version_before_4_4(), 1);
        assert_eq!(entry(-1).version_before_4_4(), -1);
    }

    proptest! {
        #[test]
        fn whole_entries_survive_the_way_there_and_back(bytes: Vec<u8>) {
            let entries: Vec<_> = decode(&bytes).collect();
            prop_assert_eq!(encode(&entries), &bytes[..bytes.len() / ENTRY_LEN * ENTRY_LEN]);
        }
    }
}
