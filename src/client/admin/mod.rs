//! What is asked of brokers, one file an operation, in Kafka's terms.

mod access;
mod commit;
mod configs;
mod epochs;
mod fetch;
mod groups;
mod log_dirs;
mod metadata;
mod moves;
mod offsets;
mod quorum;
mod quotas;
mod records;
mod topics;

use topics::by_topic;

pub use access::{ActiveProducer, TopicAcl};
pub use configs::{
    Alter, ConfigChange, ConfigEntry, ConfigOrigin, ConfigResource, ResourceConfigs,
};
pub use epochs::{EpochEnd, EpochQuestion};
pub use fetch::Fetched;
pub use groups::{Committed, ListedGroup};
pub use log_dirs::{DirReplica, LogDirReport};
pub use metadata::{ClusterMetadata, PartitionMetadata};
pub use offsets::{AnsweredOffset, Special};
pub use quorum::{Quorum, QuorumReplica};
