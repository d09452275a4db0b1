//! Control records: the end of a transaction, and KRaft's own.
//!
//! ```text
//! key    0 version           i16   0 or more; more is read as 0
//!        2 type              i16   0 ABORT, 1 COMMIT, 2 LEADER_CHANGE, 3 and 4 snapshot header and footer,
//!                                  5 KRaft version, 6 KRaft voters
//! value of ABORT and COMMIT
//!        0 version           i16   0 or more; more is read as 0
//!        2 coordinator_epoch i32   what follows is ignored
//! ```
//!
//! Kafka looks into control batches when it recovers a segment, and how it fails decides what becomes of the log. So
//! [`decode_end_txn_marker`] takes the steps of `ProducerAppendInfo.append` in their order.

use std::fmt;

use crate::format::compression::Compression;
use crate::format::cursor::Cursor;
use crate::format::record::{Record, RecordError, Records, plain_records};
use crate::format::record_batch::{BatchHeader, HEADER_LEN};
use crate::terms::Timestamp;

/// The most plain bytes that a control batch may have here; real ones have fewer than 100.
const PLAIN_CAP: usize = 64 << 20;

const KEY_LEN: usize = 4;
const VALUE_LEN: usize = 6;

/// What a control record controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ControlType {
    /// A transaction was aborted.
    Abort,
    /// A transaction was committed.
    Commit,
    /// A KRaft leader was elected.
    LeaderChange,
    /// A KRaft snapshot begins.
    SnapshotHeader,
    /// A KRaft snapshot is whole.
    SnapshotFooter,
    /// The version of KRaft's own protocol.
    KRaftVersion,
    /// The voters of the KRaft quorum.
    KRaftVoters,
    /// One that Kafka ignores in KRaft's log and fails on elsewhere.
    Unknown(i16),
}

impl ControlType {
    /// Returns the type of `id`.
    pub fn from_id(id: i16) -> Self {
        match id {
            0 => Self::Abort,
            1 => Self::Commit,
            2 => Self::LeaderChange,
            3 => Self::SnapshotHeader,
            4 => Self::SnapshotFooter,
            5 => Self::KRaftVersion,
            6 => Self::KRaftVoters,
            _ => Self::Unknown(id),
        }
    }

    /// Returns the number that keys hold for it.
    pub fn id(self) -> i16 {
        match self {
            Self::Abort => 0,
            Self::Commit => 1,
            Self::LeaderChange => 2,
            Self::SnapshotHeader => 3,
            Self::SnapshotFooter => 4,
            Self::KRaftVersion => 5,
            Self::KRaftVoters => 6,
            Self::Unknown(id) => id,
        }
    }

    /// Decodes the key of a control record.
    pub fn decode_key(key: &[u8]) -> Result<Self, InvalidControl> {
        let mut cursor = Cursor::new(key);
        let (Ok(version), Ok(id)) = (cursor.i16(), cursor.i16()) else {
            return Err(InvalidControl::ShortKey { length: key.len() });
        };
        if version < 0 {
            return Err(InvalidControl::KeyVersion { version });
        }
        Ok(Self::from_id(id))
    }

    /// Encodes the key of a control record of this type.
    pub fn encode_key(self) -> [u8; KEY_LEN] {
        let [high, low] = self.id().to_be_bytes();
        [0, 0, high, low]
    }
}

impl fmt::Display for ControlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Abort => "ABORT",
            Self::Commit => "COMMIT",
            Self::LeaderChange => "LEADER_CHANGE",
            Self::SnapshotHeader => "SNAPSHOT_HEADER",
            Self::SnapshotFooter => "SNAPSHOT_FOOTER",
            Self::KRaftVersion => "KRAFT_VERSION",
            Self::KRaftVoters => "KRAFT_VOTERS",
            Self::Unknown(id) => return write!(f, "UNKNOWN({id})"),
        };
        f.write_str(name)
    }
}

/// The end of a transaction, as a control batch says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EndTransactionMarker {
    /// ABORT or COMMIT.
    pub control_type: ControlType,
    /// The epoch of the coordinator that wrote the marker.
    pub coordinator_epoch: i32,
    /// The record's timestamp.
    pub timestamp: Timestamp,
}

impl EndTransactionMarker {
    /// Encodes the value of the marker's record.
    pub fn encode_value(&self) -> [u8; VALUE_LEN] {
        let [a, b, c, d] = self.coordinator_epoch.to_be_bytes();
        [0, 0, a, b, c, d]
    }
}

/// Why a control batch is no marker, by what Kafka throws.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// `InvalidRecordException`: stops a recovery scan behind this batch, is fatal in a producer rebuild.
    #[error(transparent)]
    Invalid(InvalidControl),
    /// Another exception, which nobody catches: start-up fails.
    #[error(transparent)]
    Fatal(FatalControl),
}

/// What Kafka reports as `InvalidRecordException`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidControl {
    /// The records do not have the form of records.
    #[error("control batch holds no valid record")]
    Record(#[source] RecordError),
    /// The key is too short.
    #[error("key of control record has {length} bytes instead of 4")]
    ShortKey {
        /// Bytes of the key.
        length: usize,
    },
    /// The version of the key is negative.
    #[error("key of control record has version {version}")]
    KeyVersion {
        /// The version as stored.
        version: i16,
    },
    /// The value is too short.
    #[error("value of transaction marker has {length} bytes instead of 6")]
    ShortValue {
        /// Bytes of the value.
        length: usize,
    },
    /// The version of the value is negative.
    #[error("value of transaction marker has version {version}")]
    ValueVersion {
        /// The version as stored.
        version: i16,
    },
}

/// What Kafka reports as an exception that stops it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FatalControl {
    /// `IllegalArgumentException`: the type is neither ABORT nor COMMIT.
    #[error("control record of type {0} where a transaction marker is expected")]
    NotAMarker(ControlType),
    /// `IllegalArgumentException`: the codec is unknown.
    #[error("unknown codec {0} of control batch")]
    UnknownCodec(u8),
    /// `IllegalArgumentException`: the length of the record does not end (plain batches only).
    #[error("length of control record does not end")]
    EndlessLength,
    /// `KafkaException`: the records do not decompress.
    #[error("control batch does not decompress")]
    Decompress(#[source] RecordError),
    /// `NullPointerException`: the key is null.
    #[error("key of control record is null")]
    NullKey,
    /// `NullPointerException`: the value is null.
    #[error("value of transaction marker is null")]
    NullValue,
    /// The bytes are fewer than a header; no batch that was framed and checked is.
    #[error("batch is shorter than its header of 61 bytes")]
    ShortBatch,
}

/// Decodes the marker in a whole control batch of magic 2; `None` if compaction left the batch without records.
///
/// The caller has checked framing and checksum, and that the batch is a control batch with a producer.
pub fn decode_end_txn_marker(
    batch_bytes: &[u8],
) -> Result<Option<EndTransactionMarker>, ControlError> {
    let (Some(header), Some(payload)) = (
        BatchHeader::decode(batch_bytes),
        batch_bytes.get(HEADER_LEN..),
    ) else {
        return Err(ControlError::Fatal(FatalControl::ShortBatch));
    };
    if header.records_count == 0 {
        return Ok(None);
    }
    let plain = plain_records(&header, payload, PLAIN_CAP).map_err(|error| {
        ControlError::Fatal(match error {
            RecordError::UnknownCodec(id) => FatalControl::UnknownCodec(id),
            error => FatalControl::Decompress(error),
        })
    })?;
    let is_plain = header.attributes.compression() == Ok(Compression::None);
    let mut records = Records::new(&header, &plain);
    let first = records.next().transpose().map_err(|error| match error {
        RecordError::EndlessLength { .. } if is_plain => {
            ControlError::Fatal(FatalControl::EndlessLength)
        }
        error => ControlError::Invalid(InvalidControl::Record(error)),
    })?;
    if !is_plain {
        // Of a compressed batch Kafka decodes every record before it looks at the first.
        for record in records {
            record.map_err(|error| ControlError::Invalid(InvalidControl::Record(error)))?;
        }
    }
    first.as_ref().map(decode_marker).transpose()
}

fn decode_marker(record: &Record<'_>) -> Result<EndTransactionMarker, ControlError> {
    let key = record
        .key
        .ok_or(ControlError::Fatal(FatalControl::NullKey))?;
    let control_type = ControlType::decode_key(key).map_err(ControlError::Invalid)?;
    if !matches!(control_type, ControlType::Abort | ControlType::Commit) {
        return Err(ControlError::Fatal(FatalControl::NotAMarker(control_type)));
    }
    let value = record
        .value
        .ok_or(ControlError::Fatal(FatalControl::NullValue))?;
    let mut cursor = Cursor::new(value);
    let (Ok(version), Ok(coordinator_epoch)) = (cursor.i16(), cursor.i32()) else {
        let length = value.len();
        return Err(ControlError::Invalid(InvalidControl::ShortValue { length }));
    };
    if version < 0 {
        return Err(ControlError::Invalid(InvalidControl::ValueVersion {
            version,
        }));
    }
    Ok(EndTransactionMarker {
        control_type,
        coordinator_epoch,
        timestamp: record.timestamp,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::compression::tests::compress;
    use crate::format::record::NewRecord;
    use crate::format::record_batch::{Attributes, MAGIC, encode_batch};
    use crate::terms::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

    fn batch(codec: Compression, count: i32, records: &[u8]) -> Vec<u8> {
        let header = BatchHeader {
            base_offset: Offset(12),
            batch_length: 0,
            partition_leader_epoch: LeaderEpoch(3),
            magic: MAGIC,
            crc: 0,
            attributes: Attributes::default()
                .transactional()
                .control()
                .with_compression(codec),
            last_offset_delta: 0,
            base_timestamp: Timestamp(1000),
            max_timestamp: Timestamp(1000),
            producer_id: ProducerId(5),
            producer_epoch: ProducerEpoch(0),
            base_sequence: -1,
            records_count: count,
        };
        encode_batch(&header, &compress(codec, records))
    }

    fn record(key: Option<&[u8]>, value: Option<&[u8]>) -> Vec<u8> {
        let mut out = Vec::new();
        let record = NewRecord {
            key,
            value,
            timestamp_delta: 7,
            ..NewRecord::default()
        };
        record.encode_into(&mut out);
        out
    }

    fn decode(key: Option<&[u8]>, value: Option<&[u8]>) -> Result<ControlType, ControlError> {
        decode_end_txn_marker(&batch(Compression::None, 1, &record(key, value)))
            .map(|marker| marker.unwrap().control_type)
    }

    #[test]
    fn a_marker_has_type_epoch_and_timestamp() {
        let records = record(Some(&[0, 0, 0, 1]), Some(&[0, 0, 0, 0, 0, 9]));
        for codec in [Compression::None, Compression::Lz4, Compression::Zstd] {
            assert_eq!(
                decode_end_txn_marker(&batch(codec, 1, &records)),
                Ok(Some(EndTransactionMarker {
                    control_type: ControlType::Commit,
                    coordinator_epoch: 9,
                    timestamp: Timestamp(1007),
                }))
            );
        }
    }

    #[test]
    fn newer_versions_are_read_as_the_first() {
        assert_eq!(
            decode(
                Some(&[0, 5, 0, 0, 1, 1]),
                Some(&[0, 5, 0, 0, 0, 1, 2, 3, 4])
            ),
            Ok(ControlType::Abort)
        );
    }

    #[test]
    fn a_batch_that_compaction_emptied_has_no_marker() {
        assert_eq!(
            decode_end_txn_marker(&batch(Compression::None, 0, &[])),
            Ok(None)
        );
        assert_eq!(
            decode_end_txn_marker(&batch(Compression::None, 0, &[1, 2])),
            Ok(None)
        );
    }

    #[test]
    fn what_kafka_calls_an_invalid_record_is_not_fatal() {
        let value: &[u8] = &[0, 0, 0, 0, 0, 1];
        for (key, value) in [
            (&[0, 0][..], value),
            (&[0xff, 0xff, 0, 1], value),
            (&[0, 0, 0, 1], &[0, 0, 0]),
            (&[0, 0, 0, 1], &[0x80, 0, 0, 0, 0, 1]),
        ] {
            assert!(
                matches!(
                    decode(Some(key), Some(value)),
                    Err(ControlError::Invalid(_))
                ),
                "{key:?} {value:?}"
            );
        }
        let good = record(Some(&[0, 0, 0, 1]), Some(value));
        for (count, records) in [
            (-1, &good[..]),
            (1, &good[..5]),
            (1, &[&good[..], &[0]].concat()),
            (1, &[]),
        ] {
            assert!(
                matches!(
                    decode_end_txn_marker(&batch(Compression::None, count, records)),
                    Err(ControlError::Invalid(InvalidControl::Record(_)))
                ),
                "{count} {records:?}"
            );
        }
    }

    #[test]
    fn other_types_nulls_and_codecs_are_fatal() {
        let value: &[u8] = &[0, 0, 0, 0, 0, 1];
        for (key, value) in [
            (Some(&[0, 0, 0, 2][..]), Some(value)),
            (Some(&[0, 0, 0x7f, 0xff]), Some(value)),
            (None, Some(value)),
            (Some(&[0, 0, 0, 1]), None),
        ] {
            assert!(
                matches!(decode(key, value), Err(ControlError::Fatal(_))),
                "{key:?} {value:?}"
            );
        }
        let mut bytes = batch(Compression::None, 1, &[0xff; 9]);
        assert_eq!(
            decode_end_txn_marker(&bytes),
            Err(ControlError::Fatal(FatalControl::EndlessLength))
        );
        bytes[22] |= 7;
        assert_eq!(
            decode_end_txn_marker(&bytes),
            Err(ControlError::Fatal(FatalControl::UnknownCodec(7)))
        );
        bytes[22] &= !6;
        assert!(matches!(
            decode_end_txn_marker(&bytes),
            Err(ControlError::Fatal(FatalControl::Decompress(_)))
        ));
    }

    #[test]
    fn only_the_first_record_of_a_plain_batch_is_looked_at() {
        let mut records = record(Some(&[0, 0, 0, 1]), Some(&[0, 0, 0, 0, 0, 1]));
        records.extend([3, 9]);
        assert!(decode_end_txn_marker(&batch(Compression::None, 2, &records)).is_ok());
        assert!(matches!(
            decode_end_txn_marker(&batch(Compression::Gzip, 2, &records)),
            Err(ControlError::Invalid(_))
        ));
        // A length that does not end is invalid, not fatal, where it is read from a stream.
        assert!(matches!(
            decode_end_txn_marker(&batch(Compression::Gzip, 1, &[0xff; 9])),
            Err(ControlError::Invalid(_))
        ));
    }

    proptest! {
        #[test]
        fn markers_survive_the_way_there_and_back(commit: bool, coordinator_epoch: i32) {
            let control_type = if commit { ControlType::Commit } else { ControlType::Abort };
            let marker = EndTransactionMarker { control_type, coordinator_epoch, timestamp: Timestamp(1007) };
            let records = record(Some(&control_type.encode_key()), Some(&marker.encode_value()));
            prop_assert_eq!(decode_end_txn_marker(&batch(Compression::None, 1, &records)), Ok(Some(marker)));
        }

        #[test]
        fn any_bytes_are_decoded_without_a_panic(records: Vec<u8>, count: i32, bytes: Vec<u8>, attributes: u8) {
            let _ = decode_end_txn_marker(&bytes);
            let mut bytes = batch(Compression::None, count, &records);
            bytes[22] = attributes;
            let _ = decode_end_txn_marker(&bytes);
        }

        #[test]
        fn types_survive_the_way_there_and_back(id: i16) {
            prop_assert_eq!(ControlType::decode_key(&ControlType::from_id(id).encode_key()), Ok(ControlType::from_id(id)));
        }
    }
}
