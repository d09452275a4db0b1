//! The records of `__consumer_offsets`: commits and groups.
//!
//! ```text
//! key    version i16, then
//!   0, 1  commit          group string, topic string, partition i32
//!   2     classic group   group string
//!   3     consumer group  group string                     its epoch (KIP-848)
//!   5     its member      group string, member string
//!   else  parts of newer groups, which no answer here needs
//! value of 0, 1: version i16, offset i64, [3+ leader_epoch i32], metadata string, commit_timestamp i64,
//!                [1 only: expire_timestamp i64]; 4+ flexible, tag 0 is the topic's id (16 bytes)
//! value of 2: version i16, protocol_type string, generation i32, protocol string?, leader string?,
//!             [2+ current_state_timestamp i64], members array; 4+ flexible
//!   member: id string, [3+ instance string?], client_id string, client_host string, [1+ rebalance_timeout i32],
//!           session_timeout i32, subscription bytes, assignment bytes
//! ```
//!
//! A null value removes its key. Versions 0 to 3 came with 0.9 to 2.3, version 4 is written since 4.3.

use crate::format::cursor::{Cursor, FormatError};
use crate::terms::{LeaderEpoch, Offset, Timestamp, Uuid};

/// The first flexible version of both values.
const FLEXIBLE: i16 = 4;
/// The newest known version of both values.
const NEWEST: i16 = 4;

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupRecordKey<'a> {
    /// A commit.
    Commit {
        /// The group.
        group: &'a str,
        /// The topic.
        topic: &'a str,
        /// The partition.
        partition: i32,
    },
    /// A classic group.
    Classic {
        /// The group.
        group: &'a str,
    },
    /// A group of the consumer protocol.
    Consumer {
        /// The group.
        group: &'a str,
    },
    /// A member of a group of the consumer protocol.
    Member {
        /// The group.
        group: &'a str,
        /// The member.
        member: &'a str,
    },
    /// Anything else.
    Other {
        /// The version of the key.
        version: i16,
    },
}

impl<'a> GroupRecordKey<'a> {
    /// Decodes a key.
    pub fn decode(key: &'a [u8]) -> Result<Self, FormatError> {
        let mut cursor = Cursor::new(key);
        Ok(match cursor.i16()? {
            0 | 1 => Self::Commit {
                group: cursor.string()?,
                topic: cursor.string()?,
                partition: cursor.i32()?,
            },
            2 => Self::Classic {
                group: cursor.string()?,
            },
            3 => Self::Consumer {
                group: cursor.string()?,
            },
            5 => Self::Member {
                group: cursor.string()?,
                member: cursor.string()?,
            },
            version => Self::Other { version },
        })
    }
}

impl<'a> GroupRecordKey<'a> {
    /// Returns the group.
    pub fn group(&self) -> Option<&'a str> {
        match self {
            Self::Commit { group, .. }
            | Self::Classic { group }
            | Self::Consumer { group }
            | Self::Member { group, .. } => Some(group),
            Self::Other { .. } => None,
        }
    }
}

/// A commit (`OffsetCommitValue`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetCommitValue<'a> {
    /// The next offset that the group reads.
    pub offset: Offset,
    /// The epoch of the leader that the last record was read from; `None` if it was not told.
    pub leader_epoch: Option<LeaderEpoch>,
    /// What the client added.
    pub metadata: &'a str,
    /// When.
    pub commit_timestamp: Timestamp,
    /// When it expires, where the client said so.
    pub expire_timestamp: Option<Timestamp>,
    /// The topic's id.
    pub topic_id: Option<Uuid>,
}

impl<'a> OffsetCommitValue<'a> {
    /// Decodes a value.
    pub fn decode(value: &'a [u8]) -> Result<Self, FormatError> {
        let mut cursor = Cursor::new(value);
        let version = known_version(&mut cursor)?;
        let flexible = version >= FLEXIBLE;
        let offset = Offset(cursor.i64()?);
        let leader_epoch = if version >= 3 {
            Some(cursor.i32()?).filter(|epoch| *epoch >= 0)
        } else {
            None
        };
        let metadata = if flexible {
            cursor.compact_string()?
        } else {
            cursor.string()?
        };
        let commit_timestamp = Timestamp(cursor.i64()?);
        let expire_timestamp = if version == 1 {
            Some(cursor.i64()?).filter(|at| *at >= 0)
        } else {
            None
        };
        let mut topic_id = None;
        if flexible {
            cursor.tagged_fields(|tag, field| {
                if tag == 0 {
                    topic_id = Some(field.uuid()?);
                }
                Ok(())
            })?;
        }
        Ok(Self {
            offset,
            leader_epoch: leader_epoch.map(LeaderEpoch),
            metadata,
            commit_timestamp,
            expire_timestamp: expire_timestamp.map(Timestamp),
            topic_id,
        })
    }
}

/// A classic group (`GroupMetadataValue`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassicGroupValue<'a> {
    /// `consumer`, `connect`; empty for a group that only commits.
    pub protocol_type: &'a str,
    /// The generation.
    pub generation: i32,
    /// When its state changed last, where the version tells.
    pub current_state_timestamp: Option<Timestamp>,
    /// The clients' ids of its members; none of an empty group.
    pub members: Vec<&'a str>,
}

impl<'a> ClassicGroupValue<'a> {
    /// Decodes a value.
    pub fn decode(value: &'a [u8]) -> Result<Self, FormatError> {
        let mut reader = Reader {
            cursor: Cursor::new(value),
            flexible: false,
        };
        let version = known_version(&mut reader.cursor)?;
        reader.flexible = version >= FLEXIBLE;
        let protocol_type = reader.string()?.unwrap_or_default();
        let generation = reader.cursor.i32()?;
        // Protocol and leader.
        reader.string()?;
        reader.string()?;
        let current_state_timestamp = if version >= 2 {
            Some(reader.cursor.i64()?).filter(|at| *at >= 0)
        } else {
            None
        };
        let mut members = vec![];
        for _ in 0..reader.count()? {
            members.push(member(&mut reader, version)?);
        }
        Ok(Self {
            protocol_type,
            generation,
            current_state_timestamp: current_state_timestamp.map(Timestamp),
            members,
        })
    }
}

/// Reads a member; returns its client's id.
fn member<'a>(reader: &mut Reader<'a>, version: i16) -> Result<&'a str, FormatError> {
    reader.string()?;
    if version >= 3 {
        reader.string()?;
    }
    let client_id = reader.string()?.unwrap_or_default();
    reader.string()?;
    if version >= 1 {
        reader.cursor.i32()?;
    }
    reader.cursor.i32()?;
    reader.skip_bytes()?;
    reader.skip_bytes()?;
    if reader.flexible {
        reader.cursor.skip_tagged_fields()?;
    }
    Ok(client_id)
}

/// Reads fields that are compact in flexible versions.
struct Reader<'a> {
    cursor: Cursor<'a>,
    flexible: bool,
}

impl<'a> Reader<'a> {
    fn string(&mut self) -> Result<Option<&'a str>, FormatError> {
        if self.flexible {
            self.cursor.compact_nullable_string()
        } else {
            self.cursor.nullable_string()
        }
    }

    /// Reads how many items follow; an item takes at least one byte.
    fn count(&mut self) -> Result<usize, FormatError> {
        let position = self.cursor.position();
        let count = if self.flexible {
            usize::try_from(self.cursor.unsigned_varint()?)
                .unwrap_or(usize::MAX)
                .saturating_sub(1)
        } else {
            self.cursor.plain_length()?.unwrap_or(0)
        };
        if count > self.cursor.remaining() {
            return Err(FormatError::Torn {
                needed: count,
                available: self.cursor.remaining(),
                position,
            });
        }
        Ok(count)
    }

    fn skip_bytes(&mut self) -> Result<(), FormatError> {
        if self.flexible {
            let length = self.count()?;
            self.cursor.bytes(length)?;
        } else {
            self.cursor.sized_bytes()?;
        }
        Ok(())
    }
}

fn known_version(cursor: &mut Cursor<'_>) -> Result<i16, FormatError> {
    let position = cursor.position();
    match cursor.i16()? {
        version @ 0..=NEWEST => Ok(version),
        version => Err(FormatError::UnknownVersion {
            version: i32::from(version),
            position,
        }),
    }
}

/// Returns the partition of `__consumer_offsets` that holds `group`, of `partitions` (`Utils.abs` of Java's string hash).
pub fn partition_of_group(group: &str, partitions: i32) -> Option<i32> {
    let hash = group.encode_utf16().fold(0_i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    });
    (hash & i32::MAX).checked_rem(partitions.max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::hex;

    #[test]
    fn a_commit_has_the_bytes_of_kafka() {
        let key = hex("0001000d677275702d616e616c6974696b000b73656e736f722d7375687500000000");
        assert_eq!(
            GroupRecordKey::decode(&key),
            Ok(GroupRecordKey::Commit {
                group: "grup-analitik",
                topic: "sensor-suhu",
                partition: 0
            })
        );
        let commit = |text: &str| {
            OffsetCommitValue::decode(&hex(text)).map(|it| {
                assert_eq!((it.offset, it.metadata), (Offset(6), ""));
                (it.leader_epoch, it.commit_timestamp, it.expire_timestamp)
            })
        };
        let at = Timestamp(1_700_000_000_000);
        let v3 = "00030000000000000006ffffffff00000000018bcfe56800";
        assert_eq!(commit(v3), Ok((None, at, None)));
        let v3 = "000300000000000000060000000700000000018bcfe56800";
        assert_eq!(commit(v3), Ok((Some(LeaderEpoch(7)), at, None)));
        for version in ["0000", "0002"] {
            let text = format!("{version}000000000000000600000000018bcfe56800");
            assert_eq!(commit(&text), Ok((None, at, None)));
        }
        let v1 = "0001000000000000000600000000018bcfe568000000018bcfe56801";
        assert_eq!(commit(v1), Ok((None, at, Some(Timestamp(at.0 + 1)))));
        let v4 = "00040000000000000006ffffffff010000018bcfe5680000";
        assert_eq!(commit(v4), Ok((None, at, None)));
        assert_eq!(
            OffsetCommitValue::decode(&hex("0005")),
            Err(FormatError::UnknownVersion {
                version: 5,
                position: 0
            })
        );
    }

    #[test]
    fn a_commit_of_4_3_has_the_topics_id() {
        let value = hex(
            "0004000000000000000affffffff01000001a22b7e7e790100109253daa486684525a224c1ce218cc793",
        );
        let commit = OffsetCommitValue::decode(&value).unwrap();
        assert_eq!(commit.offset, Offset(10));
        assert_eq!(commit.commit_timestamp, Timestamp(1_796_026_039_929));
        let id = commit.topic_id.unwrap().to_string();
        assert_eq!(id, "klPapIZoRSWiJMHOIYzHkw");
    }

    #[test]
    fn an_empty_group_has_no_members_in_any_version() {
        for (text, at) in [
            ("0000000000000000ffffffff00000000", None),
            ("0001000000000000ffffffff00000000", None),
            (
                "0003000000000000ffffffff000001a22b7f179700000000",
                Some(Timestamp(1_796_026_079_127)),
            ),
            (
                "000401000000000000000001a22b7f17970100",
                Some(Timestamp(1_796_026_079_127)),
            ),
        ] {
            let bytes = hex(text);
            let group =
                ClassicGroupValue::decode(&bytes).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(group.current_state_timestamp, at, "{text}");
            assert!(group.members.is_empty());
        }
    }

    #[test]
    fn a_count_of_members_is_a_claim() {
        let value = hex("0003000000000000ffffffff000001a22b7f17977fffffff");
        assert!(matches!(
            ClassicGroupValue::decode(&value),
            Err(FormatError::Torn { .. })
        ));
    }

    #[test]
    fn a_group_lies_in_the_partition_of_its_hash() {
        for (group, partition) in [
            ("grup-analitik", 4),
            ("console-consumer-1", 24),
            ("group9", 16),
        ] {
            assert_eq!(partition_of_group(group, 50), Some(partition), "{group}");
        }
        assert_eq!(partition_of_group("g", 0), None);
    }
}
