//! The records of KRaft's metadata, in the log and the snapshots of `__cluster_metadata-0`.
//!
//! ```text
//! value  frame version  uvarint   1
//!        type           uvarint   the API key of the record
//!        version        uvarint
//!        fields                   flexible, see `format::compact`; nothing may follow them
//! ```
//!
//! The key is null. Only what tells topics, configs, replicas and brokers apart is decoded; secrets never are.

mod broker;
mod control;
mod frame;
mod quota;
mod topic;

pub use broker::{BrokerRegistrationChange, EndPoint, FencingChange, RegisterBroker};
pub use control::{
    LeaderChange, SnapshotHeader, Voter, decode_kraft_version, decode_leader_change,
    decode_snapshot_header, decode_voters,
};
pub use frame::{MetadataRecord, RecordType, record_type_name};
pub use quota::{ClientQuotaRecord, QuotaEntity};
pub use topic::{ConfigRecord, PartitionChangeRecord, PartitionRecord, ResourceType};
