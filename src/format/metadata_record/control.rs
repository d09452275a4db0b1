//! The values of KRaft's control records.
//!
//! ```text
//! LEADER_CHANGE    version i16, leader_id i32, voters, granting voters
//! SNAPSHOT_HEADER  version i16, last_contained_log_timestamp i64
//! SNAPSHOT_FOOTER  version i16
//! ```
//!
//! All flexible. Their keys are those of `format::control_record`.

use crate::format::cursor::{Cursor, FormatError};
use crate::terms::Timestamp;

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
}
