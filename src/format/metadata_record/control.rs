//! The values of KRaft's control records.
//!
//! ```text
//! LEADER_CHANGE    version i16, leader_id i32, voters, granting voters
//! SNAPSHOT_HEADER  version i16, last_contained_log_timestamp i64
//! SNAPSHOT_FOOTER  version i16
//! KRAFT_VERSION    version i16, kraft_version i16
//! KRAFT_VOTERS     version i16, voters: id i32, directory_id uuid, endpoints: name, host, port u16;
//!                  min_supported_version i16, max_supported_version i16
//! ```
//!
//! All flexible. Their keys are those of `format::control_record`.

use std::fmt;

use crate::format::cursor::{Cursor, FormatError};

use crate::terms::{Timestamp, Uuid};

/// A leader of the quorum (`LEADER_CHANGE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaderChange {
    /// The node that leads.
    pub leader_id: i32,
}

/// The first record of a snapshot (`SNAPSHOT_HEADER`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SnapshotHeader {
    /// The time of the last record that the snapshot holds.
    pub last_contained_log_timestamp: Timestamp,
}

/// A member of the quorum (`KRAFT_VOTERS`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Voter {
    /// The node.
    pub id: i32,
    /// Its metadata log dir.
    pub directory_id: Uuid,
    /// Where it listens: listener name, host and port.
    pub endpoints: Vec<(String, String, u16)>,
}

impl fmt::Display for Voter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.id, self.directory_id)?;
        for (name, host, port) in &self.endpoints {
            write!(f, " {name}://{host}:{port}")?;
        }
        Ok(())
    }
}

/// Decodes the value of a `KRAFT_VERSION`: the version of KRaft's own protocol; 1 lets voters change.
pub fn decode_kraft_version(value: &[u8]) -> Result<i16, FormatError> {
    let mut cursor = Cursor::new(value);
    cursor.i16()?;
    cursor.i16()
}

/// Decodes the value of a `KRAFT_VOTERS` (KIP-853).
pub fn decode_voters(value: &[u8]) -> Result<Vec<Voter>, FormatError> {
    let mut cursor = Cursor::new(value);
    cursor.i16()?;
    cursor.compact_array(|cursor| {
        let id = cursor.i32()?;
        let directory_id = cursor.uuid()?;
        let endpoints = cursor.compact_array(|cursor| {
            let name = cursor.compact_string()?.to_owned();
            let host = cursor.compact_string()?.to_owned();
            let port = cursor.u16()?;
            cursor.skip_tagged_fields()?;
            Ok((name, host, port))
        })?;
        cursor.i16()?;
        cursor.i16()?;
        cursor.skip_tagged_fields()?;
        cursor.skip_tagged_fields()?;
        Ok(Voter {
            id,
            directory_id,
            endpoints,
        })
    })
}

/// Decodes the value of a `LEADER_CHANGE`; who voted is left out.
pub fn decode_leader_change(value: &[u8]) -> Result<LeaderChange, FormatError> {
    let mut cursor = Cursor::new(value);
    cursor.i16()?;
    Ok(LeaderChange {
        leader_id: cursor.i32()?,
    })
}

/// Decodes the value of a `SNAPSHOT_HEADER`.
pub fn decode_snapshot_header(value: &[u8]) -> Result<SnapshotHeader, FormatError> {
    let mut cursor = Cursor::new(value);
    cursor.i16()?;
    Ok(SnapshotHeader {
        last_contained_log_timestamp: Timestamp(cursor.i64()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::hex;

    #[test]
    fn values_begin_with_their_version() {
        assert_eq!(
            decode_leader_change(&hex("0000 00000001 01 01 00")),
            Ok(LeaderChange { leader_id: 1 })
        );
        assert_eq!(
            decode_snapshot_header(&hex("0000 0000018bcfe56800 00")),
            Ok(SnapshotHeader {
                last_contained_log_timestamp: Timestamp(1_700_000_000_000)
            })
        );
        assert!(decode_snapshot_header(&[0]).is_err());
    }

    /// Values of the first snapshot that `kafka-storage.sh format --standalone` of Kafka 4.4.0 wrote.
    #[test]
    fn the_quorum_of_a_formatted_node_is_read() {
        assert_eq!(decode_kraft_version(&hex("0000 0001 00")), Ok(1));
        let value = hex(
            "0000 02 00000001 a66d3f77314f47038b546541102791 7e 02 0b 434f4e54524f4c4c4552 \
             0a 3132372e302e302e31 4a95 00 0000 0001 00 00 00",
        );
        let voters = decode_voters(&value).unwrap();
        let shown: Vec<_> = voters.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            ["1@pm0_dzFPRwOLVGVBECeRfg CONTROLLER://127.0.0.1:19093"]
        );
        assert!(decode_voters(&value[..40]).is_err());
    }
}
