//! The producer snapshot, `<offset>.snapshot`.
//!
//! ```text
//!  0 version i16   1
//!  2 crc     u32   CRC-32C of byte 6 to the file's end, also of bytes that follow the last entry
//!  6 count   i32
//! 10 entries       46 bytes each:
//!     0 producer_id              i64
//!     8 producer_epoch           i16
//!    10 last_sequence            i32   −1 none
//!    14 last_offset              i64   of the last data batch; −1 none
//!    22 offset_delta             i32   last less first offset of that batch
//!    26 timestamp                i64
//!    34 coordinator_epoch        i32   −1 none
//!    38 current_txn_first_offset i64   −1 none
//! ```
//!
//! Kafka reads the entries before it compares the checksum (`ProducerStateManager.readSnapshot`): bytes that fit no
//! schema are no checksum error, and bytes behind the last entry are ignored if the checksum covers them.

use crate::format::checksum::crc32c;
use crate::format::cursor::{Cursor, FormatError};
use crate::terms::{Offset, ProducerEpoch, ProducerId, Timestamp};

/// The version that releases since 0.11 write and read.
pub const VERSION: i16 = 1;
/// Bytes of an entry.
pub const ENTRY_LEN: usize = 46;
/// Bytes before the first entry.
pub const HEADER_LEN: usize = 10;

const CHECKED_FROM: usize = 6;
const _: () = assert!(ENTRY_LEN == 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8);

/// What a snapshot holds of one producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SnapshotEntry {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: ProducerEpoch,
    /// The sequence number of its last record; −1 none.
    pub last_sequence: i32,
    /// The last offset of its last data batch; Kafka takes a negative one for no batch.
    pub last_offset: Offset,
    /// The last offset of that batch less its first.
    pub offset_delta: i32,
    /// The largest timestamp of its last batch, or the timestamp of its last marker.
    pub timestamp: Timestamp,
    /// The epoch of the coordinator that wrote its last marker; −1 none.
    pub coordinator_epoch: i32,
    /// The first offset of its open transaction; Kafka takes every negative number for none.
    pub current_txn_first_offset: Option<Offset>,
}

/// Why Kafka throws `CorruptSnapshotException`, warns, deletes the file and takes an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The version is not 1.
    #[error("snapshot has the unknown version {version}")]
    UnknownVersion {
        /// The version as stored.
        version: i16,
    },
    /// The bytes do not fit the layout.
    #[error("snapshot does not fit its schema")]
    Schema(#[from] FormatError),
    /// The count is negative, or more than the bytes left.
    #[error("snapshot announces {count} entries in {available} bytes")]
    Count {
        /// The count as stored.
        count: i32,
        /// Bytes behind it.
        available: usize,
    },
    /// The checksum is not that of the bytes.
    #[error("snapshot is corrupt: stored CRC is {stored:#010x}, computed {computed:#010x}")]
    Crc {
        /// The checksum in the header.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
}

impl SnapshotError {
    /// Returns the message of Kafka's exception.
    pub fn kafka_text(&self) -> String {
        const SCHEMA: &str = "Snapshot failed schema validation: ";
        match self {
            Self::UnknownVersion { version } => {
                format!("{SCHEMA}Snapshot contained an unknown file version {version}")
            }
            Self::Schema(_) => format!("{SCHEMA}null"),
            Self::Count { count, .. } if *count < 0 => {
                format!("{SCHEMA}non-nullable field producerEntries was serialized as null")
            }
            Self::Count { count, available } => format!(
                "{SCHEMA}Tried to allocate a collection of size {count}, but there are only {available} bytes remaining."
            ),
            Self::Crc { stored, computed } => format!(
                "Snapshot is corrupt (CRC is no longer valid). Stored crc: {stored}. Computed crc: {computed}"
            ),
        }
    }
}

/// Decodes a snapshot; the order of the entries is that of the file.
pub fn decode(bytes: &[u8]) -> Result<Vec<SnapshotEntry>, SnapshotError> {
    let mut cursor = Cursor::new(bytes);
    let version = cursor.i16()?;
    if version != VERSION {
        return Err(SnapshotError::UnknownVersion { version });
    }
    let stored = cursor.u32()?;
    let count = cursor.i32()?;
    let available = cursor.remaining();
    let entries = usize::try_from(count)
        .ok()
        .filter(|count| *count <= available)
        .ok_or(SnapshotError::Count { count, available })?;
    let mut decoded = Vec::with_capacity(entries.min(available / ENTRY_LEN));
    for _ in 0..entries {
        decoded.push(decode_entry(&mut cursor)?);
    }
    let computed = crc32c(bytes.get(CHECKED_FROM..).unwrap_or_default());
    if stored != computed {
        return Err(SnapshotError::Crc { stored, computed });
    }
    Ok(decoded)
}

fn decode_entry(cursor: &mut Cursor<'_>) -> Result<SnapshotEntry, FormatError> {
    Ok(SnapshotEntry {
        producer_id: ProducerId(cursor.i64()?),
        producer_epoch: ProducerEpoch(cursor.i16()?),
        last_sequence: cursor.i32()?,
        last_offset: Offset(cursor.i64()?),
        offset_delta: cursor.i32()?,
        timestamp: Timestamp(cursor.i64()?),
        coordinator_epoch: cursor.i32()?,
        current_txn_first_offset: Some(Offset(cursor.i64()?)).filter(|offset| offset.0 >= 0),
    })
}

/// Encodes a snapshot of `entries` in their order, at most 2^31−1 of them.
pub fn encode(entries: &[SnapshotEntry]) -> Vec<u8> {
    let mut body = Vec::with_capacity(4 + entries.len().saturating_mul(ENTRY_LEN));
    let count = i32::try_from(entries.len()).unwrap_or(i32::MAX);
    body.extend(count.to_be_bytes());
    for entry in entries {
        body.extend(entry.producer_id.0.to_be_bytes());
        body.extend(entry.producer_epoch.0.to_be_bytes());
        body.extend(entry.last_sequence.to_be_bytes());
        body.extend(entry.last_offset.0.to_be_bytes());
        body.extend(entry.offset_delta.to_be_bytes());
        body.extend(entry.timestamp.0.to_be_bytes());
        body.extend(entry.coordinator_epoch.to_be_bytes());
        let first = entry.current_txn_first_offset.unwrap_or(Offset(-1));
        body.extend(first.0.to_be_bytes());
    }
    let mut out = VERSION.to_be_bytes().to_vec();
    out.extend(crc32c(&body).to_be_bytes());
    out.extend(body);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::testing::hex;

    fn case_18() -> Vec<u8> {
        hex(
            "0001 1adfad55 00000001 0000000000000fa0 0000 00000063 00000000000003e7 00000009 \
             0000018bcfe6eac1 ffffffff ffffffffffffffff",
        )
    }

    #[test]
    fn an_empty_snapshot_has_ten_bytes() {
        assert_eq!(encode(&[]), hex("0001 48674BC7 00000000"));
        assert_eq!(decode(&encode(&[])), Ok(vec![]));
    }

    #[test]
    fn a_snapshot_of_one_producer_is_decoded_and_encoded() {
        let entries = decode(&case_18()).unwrap();
        assert_eq!(
            entries,
            [SnapshotEntry {
                producer_id: ProducerId(4000),
                producer_epoch: ProducerEpoch(0),
                last_sequence: 99,
                last_offset: Offset(999),
                offset_delta: 9,
                timestamp: Timestamp(1_700_000_099_009),
                coordinator_epoch: -1,
                current_txn_first_offset: None,
            }]
        );
        assert_eq!(encode(&entries), case_18());
    }

    #[test]
    fn each_damage_has_kafkas_text() {
        let mut bytes = case_18();
        bytes[55] = 0xfe;
        let text = decode(&bytes).unwrap_err().kafka_text();
        assert!(
            text.starts_with(
                "Snapshot is corrupt (CRC is no longer valid). Stored crc: 450866517. "
            )
        );
        bytes[1] = 2;
        assert_eq!(
            decode(&bytes),
            Err(SnapshotError::UnknownVersion { version: 2 })
        );
        assert!(matches!(decode(&[]), Err(SnapshotError::Schema(_))));
        assert!(matches!(
            decode(&case_18()[..55]),
            Err(SnapshotError::Schema(_))
        ));
        for count in [-1, 47, i32::MAX] {
            let mut bytes = case_18();
            bytes[6..10].copy_from_slice(&count.to_be_bytes());
            assert_eq!(
                decode(&bytes),
                Err(SnapshotError::Count {
                    count,
                    available: 46
                })
            );
        }
    }

    #[test]
    fn bytes_behind_the_last_entry_need_only_be_under_the_checksum() {
        let mut bytes = case_18();
        bytes.extend([1, 2, 3]);
        assert!(matches!(decode(&bytes), Err(SnapshotError::Crc { .. })));
        let crc = crc32c(&bytes[6..]);
        bytes[2..6].copy_from_slice(&crc.to_be_bytes());
        assert_eq!(decode(&bytes).map(|entries| entries.len()), Ok(1));
    }

    #[test]
    fn every_negative_first_offset_is_none() {
        let mut bytes = case_18();
        bytes[48..56].copy_from_slice(&(-7_i64).to_be_bytes());
        let crc = crc32c(&bytes[6..]);
        bytes[2..6].copy_from_slice(&crc.to_be_bytes());
        assert_eq!(decode(&bytes).unwrap()[0].current_txn_first_offset, None);
    }

    prop_compose! {
        fn entry()(a: i64, b: i16, c: i32, d: i64, e: i32, f: i64, g: i32, h in proptest::option::of(0..=i64::MAX)) -> SnapshotEntry {
            SnapshotEntry {
                producer_id: ProducerId(a),
                producer_epoch: ProducerEpoch(b),
                last_sequence: c,
                last_offset: Offset(d),
                offset_delta: e,
                timestamp: Timestamp(f),
                coordinator_epoch: g,
                current_txn_first_offset: h.map(Offset),
            }
        }
    }

    proptest! {
        #[test]
        fn entries_survive_the_way_there_and_back(entries in proptest::collection::vec(entry(), 0..20)) {
            prop_assert_eq!(decode(&encode(&entries)), Ok(entries));
        }

        #[test]
        fn any_bytes_are_decoded_without_a_panic(mut bytes: Vec<u8>) {
            let _ = decode(&bytes);
            bytes.splice(..0, [0, 1]);
            let _ = decode(&bytes);
        }
    }
}
