//! The living cluster: what its brokers say of leaders, replicas and log dirs, look by look.

mod configs;
mod lag_time;
mod meter;
mod pace;
mod poll;
mod row;
mod sample;

pub use crate::client::{Quorum, QuorumReplica};
pub use configs::read_configs;
pub use meter::ReplicaMeter;
pub use poll::{LOOK_LIMIT, look_at_cluster};
pub use row::{Cause, InSyncIn, ReplicaRow};
pub use sample::{BrokerSample, ClusterSample, Configs, ReplicaSample, Throttle};
