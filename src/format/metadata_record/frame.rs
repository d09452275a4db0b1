//! The frame of a metadata record, and the choice of its decoder.

use crate::format::cursor::{Cursor, FormatError};
use crate::format::metadata_record::broker::{self, BrokerRegistrationChange, RegisterBroker};
use crate::format::metadata_record::quota::{self, ClientQuotaRecord};
use crate::format::metadata_record::topic::{
    self, ConfigRecord, PartitionChangeRecord, PartitionRecord,
};
use crate::terms::Uuid;

const FRAME_VERSION: u32 = 1;

/// The type of a record and the version of its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecordType {
    /// The API key.
    pub key: u32,
    /// The version; one log holds several of one type.
    pub version: u32,
}

impl RecordType {
    /// Says whether krescue knows no record of this type, or decodes the type but not this version.
    pub fn is_unknown(self) -> bool {
        const DECODED: [u32; 16] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 14, 17, 23, 24, 25, 28];
        DECODED.contains(&self.key) || record_type_name(self.key).is_none()
    }
}

/// A metadata record, as far as it is decoded.
#[derive(Debug, Clone, PartialEq)]
pub enum MetadataRecord {
    /// A broker started.
    RegisterBroker(RegisterBroker),
    /// A broker was removed from the cluster.
    UnregisterBroker {
        /// The broker.
        broker_id: i32,
    },
    /// A topic was created.
    Topic {
        /// Its name.
        name: String,
        /// Its id.
        topic_id: Uuid,
    },
    /// A partition was created, or is told whole.
    Partition(PartitionRecord),
    /// A config was set or removed.
    Config(ConfigRecord),
    /// Some fields of a partition changed.
    PartitionChange(PartitionChangeRecord),
    /// A broker was fenced or unfenced (record types 7 and 8).
    FenceBroker {
        /// The broker.
        broker_id: i32,
        /// Whether it is fenced now.
        fenced: bool,
    },
    /// A topic was deleted, and its configs with it.
    RemoveTopic {
        /// Its id.
        topic_id: Uuid,
    },
    /// A feature's level changed; `metadata.version` is one.
    FeatureLevel {
        /// The feature.
        name: String,
        /// Its level; 0 removes it.
        level: i16,
    },
    /// A quota was set or removed.
    ClientQuota(ClientQuotaRecord),
    /// The eligible leaders of a topic are forgotten.
    ClearElr {
        /// The topic's name; empty for all topics.
        topic: String,
    },
    /// A broker's registration changed.
    BrokerRegistrationChange(BrokerRegistrationChange),
    /// What follows counts only with the next `EndTransaction`.
    BeginTransaction,
    /// What followed the last `BeginTransaction` counts.
    EndTransaction,
    /// What followed the last `BeginTransaction` never was.
    AbortTransaction,
    /// Any other record, or an unknown version of one above, by its frame alone.
    Other(RecordType),
}

impl MetadataRecord {
    /// Decodes the value of a record.
    pub fn decode(value: &[u8]) -> Result<Self, FormatError> {
        let mut cursor = Cursor::new(value);
        let kind = decode_frame(&mut cursor)?;
        let record = match (kind.key, kind.version) {
            (0, 0..=4) => Self::RegisterBroker(broker::register_broker(&mut cursor, kind.version)?),
            (1, 0) => {
                let broker_id = cursor.i32()?;
                cursor.i64()?;
                cursor.skip_tagged_fields()?;
                Self::UnregisterBroker { broker_id }
            }
            (2, 0) => topic::topic(&mut cursor)?,
            (3, 0..=2) => Self::Partition(topic::partition(&mut cursor, kind.version)?),
            (4, 0) => Self::Config(topic::config(&mut cursor)?),
            (5, 0..=2) => Self::PartitionChange(topic::partition_change(&mut cursor)?),
            (7 | 8, 0) => {
                let broker_id = cursor.i32()?;
                cursor.i64()?;
                cursor.skip_tagged_fields()?;
                Self::FenceBroker {
                    broker_id,
                    fenced: kind.key == 7,
                }
            }
            (9, 0) => {
                let topic_id = cursor.uuid()?;
                cursor.skip_tagged_fields()?;
                Self::RemoveTopic { topic_id }
            }
            (12, 0) => {
                let name = cursor.compact_string()?.to_owned();
                let level = cursor.i16()?;
                cursor.skip_tagged_fields()?;
                Self::FeatureLevel { name, level }
            }
            (14, 0) => Self::ClientQuota(quota::client_quota(&mut cursor)?),
            (17, 0..=3) => {
                Self::BrokerRegistrationChange(broker::registration_change(&mut cursor)?)
            }
            (23, 0) => {
                cursor.skip_tagged_fields()?;
                Self::BeginTransaction
            }
            (24, 0) => {
                cursor.skip_tagged_fields()?;
                Self::EndTransaction
            }
            (25, 0) => {
                cursor.skip_tagged_fields()?;
                Self::AbortTransaction
            }
            (28, 0) => {
                let topic = cursor.compact_string()?.to_owned();
                cursor.skip_tagged_fields()?;
                Self::ClearElr { topic }
            }
            _ => return Ok(Self::Other(kind)),
        };
        cursor.expect_end()?;
        Ok(record)
    }

    /// Decodes only the frame of a record.
    pub fn decode_type(value: &[u8]) -> Result<RecordType, FormatError> {
        decode_frame(&mut Cursor::new(value))
    }
}

fn decode_frame(cursor: &mut Cursor<'_>) -> Result<RecordType, FormatError> {
    let frame_version = cursor.unsigned_varint()?;
    if frame_version != FRAME_VERSION {
        return Err(FormatError::UnknownVersion {
            version: frame_version.cast_signed(),
            position: 0,
        });
    }
    Ok(RecordType {
        key: cursor.unsigned_varint()?,
        version: cursor.unsigned_varint()?,
    })
}

/// Returns the name of a record type in Kafka's schemas, without its `Record`.
pub fn record_type_name(key: u32) -> Option<&'static str> {
    Some(match key {
        0 => "RegisterBroker",
        1 => "UnregisterBroker",
        2 => "Topic",
        3 => "Partition",
        4 => "Config",
        5 => "PartitionChange",
        6 => "AccessControl",
        7 => "FenceBroker",
        8 => "UnfenceBroker",
        9 => "RemoveTopic",
        10 => "DelegationToken",
        11 => "UserScramCredential",
        12 => "FeatureLevel",
        14 => "ClientQuota",
        15 => "ProducerIds",
        17 => "BrokerRegistrationChange",
        18 => "AccessControlEntry",
        19 => "RemoveAccessControlEntry",
        20 => "NoOp",
        21 => "ZkMigrationState",
        22 => "RemoveUserScramCredential",
        23 => "BeginTransaction",
        24 => "EndTransaction",
        25 => "AbortTransaction",
        26 => "RemoveDelegationToken",
        27 => "RegisterController",
        28 => "ClearElr",
        29 => "UnregisterController",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::testing::hex;

    #[test]
    fn records_are_decoded_by_their_type() {
        // Laid out by hand after Kafka's schemas; real logs are in tests/golden.
        let topic = hex("01 02 00 05 73697a65 0011223344556677 8899aabbccddeeff 00");
        assert_eq!(
            MetadataRecord::decode(&topic),
            Ok(MetadataRecord::Topic {
                name: "size".to_owned(),
                topic_id: Uuid([
                    0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc,
                    0xdd, 0xee, 0xff
                ]),
            })
        );
        let feature = hex("01 0c 00 11 6d657461646174612e76657273696f6e 001e 00");
        assert_eq!(
            MetadataRecord::decode(&feature),
            Ok(MetadataRecord::FeatureLevel {
                name: "metadata.version".to_owned(),
                level: 30,
            })
        );
        let kind = RecordType {
            key: 20,
            version: 0,
        };
        assert_eq!(
            MetadataRecord::decode(&hex("01 14 00 00")),
            Ok(MetadataRecord::Other(kind))
        );
    }

    #[test]
    fn a_newer_version_is_told_by_its_frame() {
        let kind = RecordType { key: 3, version: 9 };
        assert_eq!(
            MetadataRecord::decode(&[1, 3, 9, 77]),
            Ok(MetadataRecord::Other(kind))
        );
    }

    #[test]
    fn another_frame_and_trailing_bytes_are_errors() {
        assert!(matches!(
            MetadataRecord::decode(&[0, 2, 0]),
            Err(FormatError::UnknownVersion { version: 0, .. })
        ));
        assert!(matches!(
            MetadataRecord::decode(&[1, 23, 0, 0, 7]),
            Err(FormatError::TrailingBytes {
                count: 1,
                position: 4
            })
        ));
    }

    proptest! {
        #[test]
        fn any_value_is_decoded_without_a_panic(key in 0..30_u8, version in 0..5_u8, mut bytes: Vec<u8>) {
            let _ = MetadataRecord::decode(&bytes);
            bytes.splice(..0, [1, key, version]);
            let _ = MetadataRecord::decode(&bytes);
        }
    }
}
