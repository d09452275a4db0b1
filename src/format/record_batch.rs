//! The record batch of magic 2, on disk and on the wire alike.
//!
//! ```text
//!  0 base_offset            i64   outside the CRC: the leader assigns it
//!  8 batch_length           i32   bytes after this field; outside the CRC
//! 12 partition_leader_epoch i32   outside the CRC: the leader assigns it
//! 16 magic                  i8    outside the CRC
//! 17 crc                    u32   CRC-32C of byte 21 to the batch's end
//! 21 attributes             i16
//! 23 last_offset_delta      i32
//! 27 base_timestamp         i64   the delete horizon where attribute bit 6 is set
//! 35 max_timestamp          i64
//! 43 producer_id            i64   −1 none
//! 51 producer_epoch         i16
//! 53 base_sequence          i32   −1 none
//! 57 records_count          i32
//! 61 records                      plain, or one compressed blob
//! ```

use crate::format::batch::{LOG_OVERHEAD, LOG_OVERHEAD_I64};
use crate::format::checksum::crc32c;
use crate::format::compression::Compression;
use crate::terms::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

/// Bytes of a batch before its records.
pub const HEADER_LEN: usize = 61;
/// The magic that brokers write since 0.11.
pub const MAGIC: i8 = 2;

pub(crate) const CRC_OFFSET: usize = 17;
pub(crate) const CHECKED_FROM: usize = 21;
const _: () = assert!(CHECKED_FROM + 2 + 4 + 8 + 8 + 8 + 2 + 4 + 4 == HEADER_LEN);

/// Which clock gave a batch its timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's, at append.
    LogAppendTime,
}

/// The attributes of a batch; Kafka interprets the low byte only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes(pub i16);

impl Attributes {
    const TIMESTAMP_TYPE: i16 = 0x08;
    const TRANSACTIONAL: i16 = 0x10;
    const CONTROL: i16 = 0x20;
    const DELETE_HORIZON: i16 = 0x40;

    /// Returns the codec of the records, or the number that Kafka does not know (5 to 7).
    #[inline]
    pub fn compression(self) -> Result<Compression, u8> {
        let [_, low] = self.0.to_be_bytes();
        Compression::from_id(low & 0x07)
    }

    /// Returns which clock the timestamps are from.
    #[inline]
    pub fn timestamp_type(self) -> TimestampType {
        if self.0 & Self::TIMESTAMP_TYPE == 0 {
            TimestampType::CreateTime
        } else {
            TimestampType::LogAppendTime
        }
    }

    /// Says whether the batch belongs to a transaction.
    #[inline]
    pub fn is_transactional(self) -> bool {
        self.0 & Self::TRANSACTIONAL != 0
    }

    /// Says whether the records are control records.
    #[inline]
    pub fn is_control(self) -> bool {
        self.0 & Self::CONTROL != 0
    }

    /// Says whether the base timestamp is the time after which the cleaner may drop tombstones.
    #[inline]
    pub fn has_delete_horizon(self) -> bool {
        self.0 & Self::DELETE_HORIZON != 0
    }

    /// Returns the attributes with `codec`.
    #[must_use]
    pub fn with_compression(self, codec: Compression) -> Self {
        Self(self.0 & !0x07 | i16::from(codec.id()))
    }

    /// Returns the attributes with the bit for transactions set.
    #[must_use]
    pub fn transactional(self) -> Self {
        Self(self.0 | Self::TRANSACTIONAL)
    }

    /// Returns the attributes with the bit for control records set.
    #[must_use]
    pub fn control(self) -> Self {
        Self(self.0 | Self::CONTROL)
    }

    /// Returns the attributes with the bit for the broker's clock set.
    #[must_use]
    pub fn log_append_time(self) -> Self {
        Self(self.0 | Self::TIMESTAMP_TYPE)
    }
}

/// The fixed fields of a batch; nobody has compared the checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// The offset of the first record, also of one that compaction removed.
    pub base_offset: Offset,
    /// Bytes after the length field; a claim.
    pub batch_length: i32,
    /// The epoch of the leader that appended the batch.
    pub partition_leader_epoch: LeaderEpoch,
    /// The magic; Kafka reads 2 to 127 alike.
    pub magic: i8,
    /// The stored checksum.
    pub crc: u32,
    /// Codec and flags.
    pub attributes: Attributes,
    /// The last offset less the base offset.
    pub last_offset_delta: i32,
    /// What the records' timestamps are relative to, or the delete horizon.
    pub base_timestamp: Timestamp,
    /// The largest timestamp of the records, or the time of the append.
    pub max_timestamp: Timestamp,
    /// The idempotent or transactional producer.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The sequence number of the first record.
    pub base_sequence: i32,
    /// How many records follow; a claim.
    pub records_count: i32,
}

impl BatchHeader {
    /// Decodes the first 61 of `bytes`; `None` if there are fewer.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER_LEN] = bytes.first_chunk()?;
        let (base_offset, rest) = header.split_first_chunk()?;
        let (batch_length, rest) = rest.split_first_chunk()?;
        let (partition_leader_epoch, rest) = rest.split_first_chunk()?;
        let (magic, rest) = rest.split_first_chunk()?;
        let (crc, rest) = rest.split_first_chunk()?;
        let (attributes, rest) = rest.split_first_chunk()?;
        let (last_offset_delta, rest) = rest.split_first_chunk()?;
        let (base_timestamp, rest) = rest.split_first_chunk()?;
        let (max_timestamp, rest) = rest.split_first_chunk()?;
        let (producer_id, rest) = rest.split_first_chunk()?;
        let (producer_epoch, rest) = rest.split_first_chunk()?;
        let (base_sequence, rest) = rest.split_first_chunk()?;
        let records_count = rest.first_chunk()?;
        Some(Self {
            base_offset: Offset(i64::from_be_bytes(*base_offset)),
            batch_length: i32::from_be_bytes(*batch_length),
            partition_leader_epoch: LeaderEpoch(i32::from_be_bytes(*partition_leader_epoch)),
            magic: i8::from_be_bytes(*magic),
            crc: u32::from_be_bytes(*crc),
            attributes: Attributes(i16::from_be_bytes(*attributes)),
            last_offset_delta: i32::from_be_bytes(*last_offset_delta),
            base_timestamp: Timestamp(i64::from_be_bytes(*base_timestamp)),
            max_timestamp: Timestamp(i64::from_be_bytes(*max_timestamp)),
            producer_id: ProducerId(i64::from_be_bytes(*producer_id)),
            producer_epoch: ProducerEpoch(i16::from_be_bytes(*producer_epoch)),
            base_sequence: i32::from_be_bytes(*base_sequence),
            records_count: i32::from_be_bytes(*records_count),
        })
    }

    /// Encodes the header as it stands; [`encode_batch`] computes length and checksum.
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        let fields: [&[u8]; 13] = [
            &self.base_offset.0.to_be_bytes(),
            &self.batch_length.to_be_bytes(),
            &self.partition_leader_epoch.0.to_be_bytes(),
            &self.magic.to_be_bytes(),
            &self.crc.to_be_bytes(),
            &self.attributes.0.to_be_bytes(),
            &self.last_offset_delta.to_be_bytes(),
            &self.base_timestamp.0.to_be_bytes(),
            &self.max_timestamp.0.to_be_bytes(),
            &self.producer_id.0.to_be_bytes(),
            &self.producer_epoch.0.to_be_bytes(),
            &self.base_sequence.to_be_bytes(),
            &self.records_count.to_be_bytes(),
        ];
        for (to, from) in out.iter_mut().zip(fields.into_iter().flatten()) {
            *to = *from;
        }
        out
    }

    /// Returns the last offset, inclusive; wraps as Java's `long` does.
    #[inline]
    pub fn last_offset(&self) -> Offset {
        self.base_offset.plus(i64::from(self.last_offset_delta))
    }

    /// Returns the offset behind the last.
    #[inline]
    pub fn next_offset(&self) -> Offset {
        self.last_offset().plus(1)
    }

    /// Returns the sequence number of the last record; −1 if the first has none.
    ///
    /// Numbers wrap from 2^31−1 to 0 (`DefaultRecordBatch.incrementSequence`).
    #[inline]
    pub fn last_sequence(&self) -> i32 {
        if self.base_sequence == -1 {
            return -1;
        }
        increment_sequence(self.base_sequence, self.last_offset_delta)
    }

    /// Returns the bytes of the whole batch, as the length field claims; 0 where it is below −12.
    #[inline]
    pub fn size(&self) -> u64 {
        u64::try_from(i64::from(self.batch_length) + LOG_OVERHEAD_I64).unwrap_or(0)
    }
}

/// Returns the sequence number `increment` places behind `sequence`, in the arithmetic of Java's `int`.
#[inline]
pub fn increment_sequence(sequence: i32, increment: i32) -> i32 {
    if sequence > i32::MAX.wrapping_sub(increment) {
        increment
            .wrapping_sub(i32::MAX.wrapping_sub(sequence))
            .wrapping_sub(1)
    } else {
        sequence.wrapping_add(increment)
    }
}

/// Says whether the stored checksum of a whole batch is that of its bytes; a batch below 61 bytes has no right one.
#[inline]
pub fn crc_matches(bytes: &[u8]) -> bool {
    checksums(bytes).is_some_and(|(stored, computed)| stored == computed)
}

#[inline]
fn checksums(bytes: &[u8]) -> Option<(u32, u32)> {
    let header: &[u8; HEADER_LEN] = bytes.first_chunk()?;
    let stored = header.get(CRC_OFFSET..CHECKED_FROM)?.first_chunk()?;
    Some((
        u32::from_be_bytes(*stored),
        crc32c(bytes.get(CHECKED_FROM..)?),
    ))
}

/// Why bytes are no batch of magic 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The bytes end before the batch does.
    #[error("batch of {needed} bytes is torn after {available}")]
    Torn {
        /// Bytes that the batch has.
        needed: u64,
        /// Bytes that are there.
        available: usize,
    },
    /// The batch is shorter than its header.
    #[error("batch of {size} bytes is shorter than its header of 61")]
    TooSmall {
        /// Bytes of the batch by its length field.
        size: i64,
    },
    /// The checksum is not that of the bytes.
    #[error("stored CRC is {stored:#010x}, computed {computed:#010x}")]
    Crc {
        /// The checksum in the header.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
}

/// A batch whose length fits its input and whose checksum nobody has compared.
#[derive(Debug, Clone, Copy)]
pub struct UncheckedBatch<'a> {
    bytes: &'a [u8],
    header: BatchHeader,
}

impl<'a> UncheckedBatch<'a> {
    /// Splits the first batch from `bytes`; returns it and what follows it.
    pub fn split_first(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), BatchError> {
        let torn = |needed| BatchError::Torn {
            needed,
            available: bytes.len(),
        };
        let header = BatchHeader::decode(bytes).ok_or(torn(HEADER_LEN as u64))?;
        if header.size() < HEADER_LEN as u64 {
            return Err(BatchError::TooSmall {
                size: i64::from(header.batch_length) + LOG_OVERHEAD_I64,
            });
        }
        let (bytes, rest) = usize::try_from(header.size())
            .ok()
            .and_then(|size| bytes.split_at_checked(size))
            .ok_or(torn(header.size()))?;
        Ok((Self { bytes, header }, rest))
    }

    /// Returns the header; its fields may be damaged.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// Compares the checksum.
    pub fn check_crc(self) -> Result<Batch<'a>, BatchError> {
        match checksums(self.bytes) {
            Some((stored, computed)) if stored == computed => Ok(Batch {
                bytes: self.bytes,
                header: self.header,
            }),
            Some((stored, computed)) => Err(BatchError::Crc { stored, computed }),
            None => Err(BatchError::Torn {
                needed: HEADER_LEN as u64,
                available: self.bytes.len(),
            }),
        }
    }
}

/// A batch whose checksum is right.
///
/// Base offset, length, leader epoch and magic are outside the checksum and may be damaged still.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    bytes: &'a [u8],
    header: BatchHeader,
}

impl<'a> Batch<'a> {
    /// Returns the header.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// Returns the whole batch.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns what follows the header: records, or one compressed blob.
    pub fn payload(&self) -> &'a [u8] {
        self.bytes.get(HEADER_LEN..).unwrap_or_default()
    }
}

/// Encodes a batch of `header` and `records`; length and checksum of `header` are computed, not taken.
///
/// `records` is what follows the header: plain records or one compressed blob, at most 2^31−1 bytes with the header.
pub fn encode_batch(header: &BatchHeader, records: &[u8]) -> Vec<u8> {
    let length = HEADER_LEN - LOG_OVERHEAD + records.len();
    let mut header = BatchHeader {
        batch_length: i32::try_from(length).unwrap_or(i32::MAX),
        crc: 0,
        ..*header
    };
    let mut bytes = Vec::with_capacity(HEADER_LEN + records.len());
    bytes.extend(header.encode());
    bytes.extend(records);
    header.crc = crc32c(bytes.get(CHECKED_FROM..).unwrap_or_default());
    for (to, from) in bytes.iter_mut().zip(header.encode()) {
        *to = from;
    }
    bytes
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::cursor::{put_varint, put_varlong};
    use crate::format::testing::hex;

    /// The batch `B(base)` of the project's cases: ten records without keys, 1151 bytes.
    pub(crate) fn case_batch(base: i64, base_timestamp: i64) -> Vec<u8> {
        let mut records = Vec::new();
        for i in 0..10_u8 {
            let fill = u8::try_from((base + i64::from(i)).rem_euclid(251)).unwrap();
            let mut body = vec![0];
            put_varlong(&mut body, i64::from(i));
            put_varint(&mut body, i32::from(i));
            put_varint(&mut body, -1);
            put_varint(&mut body, 100);
            body.extend([fill; 100]);
            put_varint(&mut body, 0);
            put_varint(&mut records, i32::try_from(body.len()).unwrap());
            records.extend(body);
        }
        let header = BatchHeader {
            base_offset: Offset(base),
            batch_length: 0,
            partition_leader_epoch: LeaderEpoch(0),
            magic: MAGIC,
            crc: 0,
            attributes: Attributes::default(),
            last_offset_delta: 9,
            base_timestamp: Timestamp(base_timestamp),
            max_timestamp: Timestamp(base_timestamp + 9),
            producer_id: ProducerId(-1),
            producer_epoch: ProducerEpoch(-1),
            base_sequence: -1,
            records_count: 10,
        };
        encode_batch(&header, &records)
    }

    #[test]
    fn an_encoded_batch_is_that_of_an_independent_writer() {
        let want = [
            "0000000000000000",
            "00000473",
            "00000000",
            "02",
            "bb18692b",
            "0000",
            "00000009",
            "0000018bcfe56800",
            "0000018bcfe56809",
            "ffffffffffffffff",
            "ffff",
            "ffffffff",
            "0000000a",
        ]
        .concat();
        let bytes = case_batch(0, 1_700_000_000_000);
        assert_eq!(bytes.len(), 1151);
        assert_eq!(bytes[..HEADER_LEN], hex(&want));
        assert!(crc_matches(&bytes));
    }

    #[test]
    fn the_checksum_covers_neither_offset_nor_length_nor_epoch_nor_magic() {
        let bytes = case_batch(0, 0);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert_eq!(crc_matches(&damaged), at < CRC_OFFSET, "byte {at}");
        }
    }

    #[test]
    fn a_batch_is_trusted_only_after_its_checksum() {
        let mut bytes = case_batch(40, 0);
        bytes.extend([1, 2, 3]);
        let (batch, rest) = UncheckedBatch::split_first(&bytes).unwrap();
        assert_eq!(rest, [1, 2, 3]);
        let batch = batch.check_crc().unwrap();
        assert_eq!(batch.header().last_offset(), Offset(49));
        assert_eq!(batch.payload().len(), 1090);
        bytes[100] ^= 1;
        let (batch, _) = UncheckedBatch::split_first(&bytes).unwrap();
        assert!(matches!(batch.check_crc(), Err(BatchError::Crc { .. })));
    }

    #[test]
    fn a_length_below_the_header_is_told_from_a_torn_batch() {
        let mut bytes = case_batch(0, 0);
        assert_eq!(
            UncheckedBatch::split_first(&bytes[..1150]).err(),
            Some(BatchError::Torn {
                needed: 1151,
                available: 1150
            })
        );
        bytes[8..12].copy_from_slice(&20_i32.to_be_bytes());
        assert_eq!(
            UncheckedBatch::split_first(&bytes).err(),
            Some(BatchError::TooSmall { size: 32 })
        );
    }

    #[test]
    fn sequences_wrap_to_zero() {
        for (base, delta, last) in [
            (0, 9, 9),
            (-1, 9, -1),
            (i32::MAX, 0, i32::MAX),
            (i32::MAX, 1, 0),
            (i32::MAX - 1, 5, 3),
            (-7, 2, -5),
        ] {
            let mut header = BatchHeader::decode(&case_batch(0, 0)).unwrap();
            header.base_sequence = base;
            header.last_offset_delta = delta;
            assert_eq!(header.last_sequence(), last);
        }
    }

    #[test]
    fn only_the_low_byte_of_the_attributes_counts() {
        let attributes = Attributes(0x7f80);
        assert_eq!(attributes.compression(), Ok(Compression::None));
        assert!(!attributes.is_control() && !attributes.is_transactional());
        assert_eq!(Attributes(0x0005).compression(), Err(5));
        assert_eq!(
            Attributes(0x000c).timestamp_type(),
            TimestampType::LogAppendTime
        );
        assert_eq!(Attributes(0x0074).compression(), Ok(Compression::Zstd));
        assert!(Attributes(0x0040).has_delete_horizon());
    }

    proptest! {
        #[test]
        fn a_header_survives_the_way_there_and_back(bytes in proptest::array::uniform32(0_u8..), more in proptest::array::uniform29(0_u8..)) {
            let bytes = [&bytes[..], &more].concat();
            let header = BatchHeader::decode(&bytes).unwrap();
            prop_assert_eq!(&header.encode()[..], &bytes[..]);
        }

        #[test]
        fn any_bytes_are_split_without_a_panic(bytes: Vec<u8>, length in 0..200_i32) {
            let mut bytes = bytes;
            let _ = UncheckedBatch::split_first(&bytes);
            if let Some(field) = bytes.get_mut(8..12) {
                field.copy_from_slice(&length.to_be_bytes());
            }
            if let Ok((batch, rest)) = UncheckedBatch::split_first(&bytes) {
                prop_assert!(rest.len() < bytes.len());
                let _ = batch.check_crc();
            }
        }
    }
}
