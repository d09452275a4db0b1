//! The records of MirrorMaker 2's own topics (KIP-382): the same bytes on disk and on the wire.
//!
//! ```text
//! offset sync   mm2-offset-syncs.{alias}.internal
//!   key    topic string, partition i32                      the source's names
//!   value  upstream_offset i64, offset i64                  no version
//! checkpoint    {source}.checkpoints.internal
//!   key    group string, topic string, partition i32        the target's name of the topic
//!   value  version i16 (0), upstream_offset i64, offset i64, metadata string
//! heartbeat     heartbeats, {source}.heartbeats
//!   key    source alias string, target alias string
//!   value  version i16 (0), timestamp i64
//! ```
//!
//! A null value removes its key. Kafka's schemas leave bytes behind the last field unread, and so does this.

use crate::format::cursor::{Cursor, FormatError};
use crate::format::plain::put_string;
use crate::terms::{Offset, Timestamp};

/// The version of checkpoints and heartbeats that every release writes.
const VERSION: i16 = 0;

/// That one record of the source is one of the target (`OffsetSync`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetSync<'a> {
    /// The topic by its name on the source.
    pub topic: &'a str,
    /// The partition.
    pub partition: i32,
    /// The record's offset on the source.
    pub upstream: Offset,
    /// The record's offset on the target.
    pub downstream: Offset,
}

impl<'a> OffsetSync<'a> {
    /// Decodes key and value; a null value gives the key alone.
    pub fn decode(
        key: &'a [u8],
        value: Option<&[u8]>,
    ) -> Result<(&'a str, i32, Option<Self>), FormatError> {
        let mut cursor = Cursor::new(key);
        let topic = cursor.string()?;
        let partition = cursor.i32()?;
        let Some(value) = value else {
            return Ok((topic, partition, None));
        };
        let mut cursor = Cursor::new(value);
        let sync = Self {
            topic,
            partition,
            upstream: Offset(cursor.i64()?),
            downstream: Offset(cursor.i64()?),
        };
        Ok((topic, partition, Some(sync)))
    }

    /// Encodes key and value.
    pub fn encode(&self) -> (Vec<u8>, Vec<u8>) {
        let mut key = vec![];
        put_string(&mut key, self.topic);
        key.extend(self.partition.to_be_bytes());
        let mut value = self.upstream.0.to_be_bytes().to_vec();
        value.extend(self.downstream.0.to_be_bytes());
        (key, value)
    }
}

/// Where a group stood on the source, and where that is on the target (`Checkpoint`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MirrorCheckpoint<'a> {
    /// The group.
    pub group: &'a str,
    /// The topic by its name on the target.
    pub topic: &'a str,
    /// The partition.
    pub partition: i32,
    /// The group's commit on the source.
    pub upstream: Offset,
    /// What it was translated to.
    pub downstream: Offset,
    /// The metadata of the commit.
    pub metadata: &'a str,
}

/// The key of a checkpoint: group, topic, partition.
pub type MirrorCheckpointKey<'a> = (&'a str, &'a str, i32);

impl<'a> MirrorCheckpoint<'a> {
    /// Decodes key and value; a null value gives the key alone.
    pub fn decode(
        key: &'a [u8],
        value: Option<&'a [u8]>,
    ) -> Result<(MirrorCheckpointKey<'a>, Option<Self>), FormatError> {
        let mut cursor = Cursor::new(key);
        let (group, topic) = (cursor.string()?, cursor.string()?);
        let partition = cursor.i32()?;
        let Some(value) = value else {
            return Ok(((group, topic, partition), None));
        };
        let mut cursor = Cursor::new(value);
        version(&mut cursor)?;
        let checkpoint = Self {
            group,
            topic,
            partition,
            upstream: Offset(cursor.i64()?),
            downstream: Offset(cursor.i64()?),
            metadata: cursor.string()?,
        };
        Ok(((group, topic, partition), Some(checkpoint)))
    }

    /// Encodes key and value.
    pub fn encode(&self) -> (Vec<u8>, Vec<u8>) {
        let mut key = vec![];
        put_string(&mut key, self.group);
        put_string(&mut key, self.topic);
        key.extend(self.partition.to_be_bytes());
        let mut value = VERSION.to_be_bytes().to_vec();
        value.extend(self.upstream.0.to_be_bytes());
        value.extend(self.downstream.0.to_be_bytes());
        put_string(&mut value, self.metadata);
        (key, value)
    }
}

/// That a flow's worker lived (`Heartbeat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat<'a> {
    /// The source of the flow whose worker wrote it.
    pub source: &'a str,
    /// The target of that flow.
    pub target: &'a str,
    /// When.
    pub timestamp: Timestamp,
}

impl<'a> Heartbeat<'a> {
    /// Decodes key and value; `None` for a null value.
    pub fn decode(key: &'a [u8], value: Option<&[u8]>) -> Result<Option<Self>, FormatError> {
        let mut cursor = Cursor::new(key);
        let (source, target) = (cursor.string()?, cursor.string()?);
        let Some(value) = value else {
            return Ok(None);
        };
        let mut cursor = Cursor::new(value);
        version(&mut cursor)?;
        Ok(Some(Self {
            source,
            target,
            timestamp: Timestamp(cursor.i64()?),
        }))
    }

    /// Encodes key and value.
    pub fn encode(&self) -> (Vec<u8>, Vec<u8>) {
        let mut key = vec![];
        put_string(&mut key, self.source);
        put_string(&mut key, self.target);
        let mut value = VERSION.to_be_bytes().to_vec();
        value.extend(self.timestamp.0.to_be_bytes());
        (key, value)
    }
}

fn version(cursor: &mut Cursor<'_>) -> Result<(), FormatError> {
    let position = cursor.position();
    match cursor.i16()? {
        VERSION => Ok(()),
        other => Err(FormatError::UnknownVersion {
            version: i32::from(other),
            position,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::hex;

    #[test]
    fn a_sync_has_the_bytes_of_kafka() {
        let sync = OffsetSync {
            topic: "sensor-suhu",
            partition: 0,
            upstream: Offset(3),
            downstream: Offset(3),
        };
        let key = hex("000b73656e736f722d7375687500000000");
        let value = hex("00000000000000030000000000000003");
        assert_eq!(sync.encode(), (key.clone(), value.clone()));
        let decoded = OffsetSync::decode(&key, Some(&value));
        assert_eq!(decoded, Ok(("sensor-suhu", 0, Some(sync))));
        assert_eq!(OffsetSync::decode(&key, None), Ok(("sensor-suhu", 0, None)));
        assert!(OffsetSync::decode(&key, value.get(..15)).is_err());
    }

    #[test]
    fn a_checkpoint_has_the_bytes_of_kafka() {
        let checkpoint = MirrorCheckpoint {
            group: "grup-analitik",
            topic: "primary.sensor-suhu",
            partition: 0,
            upstream: Offset(6),
            downstream: Offset(4),
            metadata: "",
        };
        let key =
            hex("000d677275702d616e616c6974696b00137072696d6172792e73656e736f722d7375687500000000");
        let value = hex("0000000000000000000600000000000000040000");
        assert_eq!(checkpoint.encode(), (key.clone(), value.clone()));
        let decoded = MirrorCheckpoint::decode(&key, Some(&value)).unwrap();
        assert_eq!(decoded.1, Some(checkpoint));
        assert_eq!(
            MirrorCheckpoint::decode(&key, None).unwrap(),
            (("grup-analitik", "primary.sensor-suhu", 0), None)
        );
    }

    #[test]
    fn a_heartbeat_has_the_bytes_of_kafka() {
        let heartbeat = Heartbeat {
            source: "secondary",
            target: "primary",
            timestamp: Timestamp(1_700_000_000_000),
        };
        let key = hex("00097365636f6e6461727900077072696d617279");
        let value = hex("00000000018bcfe56800");
        assert_eq!(heartbeat.encode(), (key.clone(), value.clone()));
        assert_eq!(Heartbeat::decode(&key, Some(&value)), Ok(Some(heartbeat)));
    }

    #[test]
    fn an_unknown_version_is_told() {
        let key = hex("00016100016200000000");
        let unknown = FormatError::UnknownVersion {
            version: 1,
            position: 0,
        };
        let value = hex("0001000000000000000600000000000000040000");
        assert_eq!(MirrorCheckpoint::decode(&key, Some(&value)), Err(unknown));
        let value = hex("00010000018bcfe56800");
        assert_eq!(Heartbeat::decode(&key, Some(&value)), Err(unknown));
    }
}
