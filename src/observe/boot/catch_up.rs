//! How far a broker has caught up with its partitions, once its logs are loaded.

use serde::{Deserialize, Serialize};

use crate::terms::Timestamp;

/// What the metadata log says of a broker's replicas.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CatchUp {
    /// Whether the controller keeps clients from it; `None` before this run of it is registered.
    pub fenced: Option<bool>,
    /// Partitions that have a replica here.
    pub partitions: u64,
    /// Those whose replica here is not in sync; before this run of it is registered, as they were for the run before.
    pub not_in_sync: u64,
    /// One of them.
    pub first: Option<String>,
    /// When the newest record was written.
    pub as_of: Option<Timestamp>,
}

impl CatchUp {
    /// Says whether something is left until the broker is back: it is registered, let in, and in sync everywhere.
    pub fn is_behind(&self) -> bool {
        self.fenced != Some(false) || self.not_in_sync > 0
    }
}
