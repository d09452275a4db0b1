//! `quorum-state` of a KRaft node: its vote.
//!
//! ```text
//! version 0: {"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,
//!             "currentVoters":[{"voterId":1}],"data_version":0}
//! version 1: {"leaderId":1,"leaderEpoch":2,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA",
//!             "data_version":1}
//! ```
//!
//! One line of JSON. It holds no high watermark: `appliedOffset` was always 0.

use serde_json::Value;

use crate::format::java;
use crate::terms::{LeaderEpoch, Uuid};

/// The vote of a KRaft node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuorumState {
    /// The layout, 0 or 1.
    pub data_version: i16,
    /// The leader that the node knows; −1 none.
    pub leader_id: i32,
    /// The epoch.
    pub leader_epoch: LeaderEpoch,
    /// Whom the node voted for; −1 nobody.
    pub voted_id: i32,
    /// The log dir of that voter; from version 1 on.
    pub voted_directory_id: Option<Uuid>,
    /// The voters; in version 0 only.
    pub current_voters: Vec<i32>,
}

/// Why a node does not read its vote, and does not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuorumStateError {
    /// The first line is no JSON object.
    #[error("quorum-state is no JSON object")]
    NotAnObject,
    /// The layout is none of the known ones.
    #[error("quorum-state has data_version {0:?}")]
    DataVersion(Option<i64>),
    /// A field is missing or of another type.
    #[error("quorum-state has no valid {0}")]
    Field(&'static str),
}

impl QuorumState {
    /// Parses the bytes of the file.
    pub fn parse(bytes: &[u8]) -> Result<Self, QuorumStateError> {
        let line = bytes
            .split(|byte| matches!(byte, b'\n' | b'\r'))
            .next()
            .unwrap_or_default();
        let value: Value =
            serde_json::from_slice(line).map_err(|_| QuorumStateError::NotAnObject)?;
        if !value.is_object() {
            return Err(QuorumStateError::NotAnObject);
        }
        let data_version = value.get("data_version").and_then(Value::as_i64);
        let data_version = match data_version {
            Some(0) => 0,
            Some(1) => 1,
            other => return Err(QuorumStateError::DataVersion(other)),
        };
        let voted_directory_id = match data_version {
            0 => None,
            _ => Some(uuid(&value, "votedDirectoryId")?),
        };
        Ok(Self {
            data_version,
            leader_id: i32_field(&value, "leaderId")?,
            leader_epoch: LeaderEpoch(i32_field(&value, "leaderEpoch")?),
            voted_id: i32_field(&value, "votedId")?,
            voted_directory_id,
            current_voters: voters(&value)?,
        })
    }
}

fn i32_field(value: &Value, name: &'static str) -> Result<i32, QuorumStateError> {
    value
        .get(name)
        .and_then(Value::as_i64)
        .and_then(|number| number.try_into().ok())
        .ok_or(QuorumStateError::Field(name))
}

fn uuid(value: &Value, name: &'static str) -> Result<Uuid, QuorumStateError> {
    value
        .get(name)
        .and_then(Value::as_str)
        .and_then(java::parse_uuid)
        .ok_or(QuorumStateError::Field(name))
}

fn voters(value: &Value) -> Result<Vec<i32>, QuorumStateError> {
    match value.get("currentVoters") {
        None | Some(Value::Null) => Ok(vec![]),
        Some(Value::Array(voters)) => voters
            .iter()
            .map(|voter| i32_field(voter, "voterId"))
            .collect(),
        Some(_) => Err(QuorumStateError::Field("currentVoters")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_layouts_are_read() {
        let old = br#"{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1},{"voterId":3}],"data_version":0}"#;
        let old = QuorumState::parse(old).unwrap();
        assert_eq!(
            (old.leader_id, old.leader_epoch, old.voted_id),
            (1, LeaderEpoch(2), -1)
        );
        assert_eq!(old.current_voters, [1, 3]);
        let new = br#"{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":1}"#;
        let new = QuorumState::parse(new).unwrap();
        assert_eq!(
            new.voted_directory_id,
            Uuid::parse("J8aAPcfLQt2bqs1JT_rMgQ")
        );
    }

    #[test]
    fn what_kafka_does_not_read_is_an_error() {
        for (text, error) in [
            ("", QuorumStateError::NotAnObject),
            ("[]", QuorumStateError::NotAnObject),
            ("{}", QuorumStateError::DataVersion(None)),
            (
                r#"{"data_version":2}"#,
                QuorumStateError::DataVersion(Some(2)),
            ),
            (r#"{"data_version":0}"#, QuorumStateError::Field("leaderId")),
        ] {
            assert_eq!(QuorumState::parse(text.as_bytes()), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes: Vec<u8>) {
            let _ = QuorumState::parse(&bytes);
        }
    }
}
