//! Topics, their partitions and configs.

use std::fmt;

use crate::format::cursor::{Cursor, FormatError};
use crate::format::metadata_record::frame::MetadataRecord;
use crate::terms::{LeaderEpoch, Uuid};

/// What a config belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceType {
    /// A topic, by its name.
    Topic,
    /// A broker by its id, or every broker: the empty name.
    Broker,
    /// Any other: loggers (8), client metrics (16), groups (32).
    Other(i8),
}

impl ResourceType {
    fn of(code: i8) -> Self {
        match code {
            2 => Self::Topic,
            4 => Self::Broker,
            _ => Self::Other(code),
        }
    }
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic => f.write_str("topic"),
            Self::Broker => f.write_str("broker"),
            Self::Other(8) => f.write_str("broker-logger"),
            Self::Other(16) => f.write_str("client-metrics"),
            Self::Other(32) => f.write_str("group"),
            Self::Other(code) => write!(f, "resource-{code}"),
        }
    }
}

/// One config of one resource (record type 4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigRecord {
    /// What the config belongs to.
    pub resource_type: ResourceType,
    /// Which one; the empty name of a broker stands for all.
    pub resource_name: String,
    /// The config's key.
    pub key: String,
    /// Its value; `None` removes it.
    pub value: Option<String>,
}

/// A partition, told whole (record type 3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionRecord {
    /// The topic.
    pub topic_id: Uuid,
    /// The partition's number.
    pub partition: i32,
    /// The brokers that hold it, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Those in sync.
    pub isr: Vec<i32>,
    /// The leader; −1 none.
    pub leader: i32,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// How often the partition changed.
    pub partition_epoch: i32,
    /// The log dir of each replica, in their order; empty below version 1.
    pub directories: Vec<Uuid>,
    /// Who may still lead without loss though it is not in sync (KIP-966).
    pub elr: Vec<i32>,
    /// Who was last eligible, once nobody is.
    pub last_known_elr: Vec<i32>,
}

/// What changed of a partition (record type 5); `None` is what did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionChangeRecord {
    /// The topic.
    pub topic_id: Uuid,
    /// The partition's number.
    pub partition: i32,
    /// Those in sync.
    pub isr: Option<Vec<i32>>,
    /// The leader, −1 none; each election adds 1 to the leader epoch, also of the same leader.
    pub leader: Option<i32>,
    /// The brokers that hold it.
    pub replicas: Option<Vec<i32>>,
    /// The log dir of each replica.
    pub directories: Option<Vec<Uuid>>,
    /// Who may still lead without loss though it is not in sync (KIP-966).
    pub elr: Option<Vec<i32>>,
    /// Who was last eligible, once nobody is.
    pub last_known_elr: Option<Vec<i32>>,
}

const NO_LEADER_CHANGE: i32 = -2;

pub(super) fn topic(cursor: &mut Cursor<'_>) -> Result<MetadataRecord, FormatError> {
    let name = cursor.compact_string()?.to_owned();
    let topic_id = cursor.uuid()?;
    cursor.skip_tagged_fields()?;
    Ok(MetadataRecord::Topic { name, topic_id })
}

pub(super) fn config(cursor: &mut Cursor<'_>) -> Result<ConfigRecord, FormatError> {
    let record = ConfigRecord {
        resource_type: ResourceType::of(cursor.i8()?),
        resource_name: cursor.compact_string()?.to_owned(),
        key: cursor.compact_string()?.to_owned(),
        value: cursor.compact_nullable_string()?.map(str::to_owned),
    };
    cursor.skip_tagged_fields()?;
    Ok(record)
}

pub(super) fn partition(
    cursor: &mut Cursor<'_>,
    version: u32,
) -> Result<PartitionRecord, FormatError> {
    let partition = cursor.i32()?;
    let topic_id = cursor.uuid()?;
    let replicas = cursor.compact_array(Cursor::i32)?;
    let isr = cursor.compact_array(Cursor::i32)?;
    // Removing and adding replicas matter to a reassignment only.
    cursor.compact_array(Cursor::i32)?;
    cursor.compact_array(Cursor::i32)?;
    let mut record = PartitionRecord {
        topic_id,
        partition,
        replicas,
        isr,
        leader: cursor.i32()?,
        leader_epoch: LeaderEpoch(cursor.i32()?),
        partition_epoch: cursor.i32()?,
        directories: match version {
            0 => vec![],
            _ => cursor.compact_array(Cursor::uuid)?,
        },
        elr: vec![],
        last_known_elr: vec![],
    };
    cursor.tagged_fields(|tag, field| {
        let array = |field: &mut Cursor<'_>| field.compact_nullable_array(Cursor::i32);
        match tag {
            1 => record.elr = array(field)?.unwrap_or_default(),
            2 => record.last_known_elr = array(field)?.unwrap_or_default(),
            _ => {}
        }
        Ok(())
    })?;
    Ok(record)
}

pub(super) fn partition_change(
    cursor: &mut Cursor<'_>,
) -> Result<PartitionChangeRecord, FormatError> {
    let partition = cursor.i32()?;
    let topic_id = cursor.uuid()?;
    let mut record = PartitionChangeRecord {
        topic_id,
        partition,
        isr: None,
        leader: None,
        replicas: None,
        directories: None,
        elr: None,
        last_known_elr: None,
    };
    cursor.tagged_fields(|tag, field| {
        match tag {
            0 => record.isr = field.compact_nullable_array(Cursor::i32)?,
            1 => record.leader = Some(field.i32()?).filter(|it| *it != NO_LEADER_CHANGE),
            2 => record.replicas = field.compact_nullable_array(Cursor::i32)?,
            6 => record.elr = field.compact_nullable_array(Cursor::i32)?,
            7 => record.last_known_elr = field.compact_nullable_array(Cursor::i32)?,
            8 => record.directories = field.compact_nullable_array(Cursor::uuid)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::hex;

    #[test]
    fn a_partition_has_directories_from_version_1_on() {
        let body = "00000002 00112233445566778899aabbccddeeff 02 00000001 02 00000001 01 01 \
                    00000001 00000003 00000004";
        let decode = |version: &str, tail: &str| {
            MetadataRecord::decode(&hex(&format!("01 03 {version} {body} {tail}")))
        };
        let Ok(MetadataRecord::Partition(old)) = decode("00", "00") else {
            panic!("no partition");
        };
        assert_eq!(
            (old.partition, old.leader, old.leader_epoch),
            (2, 1, LeaderEpoch(3))
        );
        assert_eq!((old.replicas, old.isr), (vec![1], vec![1]));
        let directory = "ffeeddccbbaa99887766554433221100";
        let Ok(MetadataRecord::Partition(new)) =
            decode("01", &format!("02 {directory} 01 00 01 01"))
        else {
            panic!("no partition");
        };
        assert_eq!(new.directories, [Uuid(hex(directory).try_into().unwrap())]);
    }

    #[test]
    fn a_change_tells_only_what_changed() {
        let change = |tagged: &str| {
            let head = "01 05 00 00000002 00112233445566778899aabbccddeeff";
            match MetadataRecord::decode(&hex(&format!("{head} {tagged}"))) {
                Ok(MetadataRecord::PartitionChange(change)) => change,
                other => panic!("{other:?}"),
            }
        };
        let nothing = change("00");
        assert_eq!(
            (nothing.isr, nothing.leader, nothing.replicas),
            (None, None, None)
        );
        let both = change("02 00 05 02 00000001 01 04 ffffffff");
        assert_eq!((both.isr, both.leader), (Some(vec![1]), Some(-1)));
        assert_eq!(change("01 01 04 fffffffe").leader, None);
    }

    #[test]
    fn a_null_value_removes_a_config() {
        let config = |text: &str| match MetadataRecord::decode(&hex(text)) {
            Ok(MetadataRecord::Config(config)) => config,
            other => panic!("{other:?}"),
        };
        let set = config("01 04 00 02 02 74 0b 7365676d656e742e6d73 03 3130 00");
        assert_eq!(set.resource_type, ResourceType::Topic);
        assert_eq!(
            (set.resource_name.as_str(), set.value.as_deref()),
            ("t", Some("10"))
        );
        let removed = config("01 04 00 04 01 02 61 00 00");
        assert_eq!(removed.resource_type, ResourceType::Broker);
        assert_eq!((removed.resource_name.as_str(), removed.value), ("", None));
    }
}
