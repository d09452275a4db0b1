//! The line of a volume.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::log::UsageKind;
use crate::plan::volumes::{DirState, GrowthSource};

/// A log dir and its volume; all sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct VolumeLine {
    pub(crate) dir: String,
    pub(crate) state: DirState,
    /// Since when the broker does not serve it, RFC 3339.
    pub(crate) since: Option<String>,
    /// The first error that took it offline.
    pub(crate) cause: Option<String>,
    pub(crate) mount: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) fs: Option<String>,
    /// The first log dir on the same volume: total and free are the same.
    pub(crate) shares_with: Option<String>,
    pub(crate) total: Option<u64>,
    /// For a process without privileges.
    pub(crate) free: Option<u64>,
    pub(crate) free_root: Option<u64>,
    pub(crate) used_percent: Option<u64>,
    pub(crate) inodes: Option<u64>,
    pub(crate) free_inodes: Option<u64>,
    /// Allocated, in this dir.
    pub(crate) kafka: Option<u64>,
    pub(crate) kafka_logical: Option<u64>,
    /// On the volume: what is in use beside Kafka's files of all its log dirs.
    pub(crate) foreign: Option<u64>,
    /// In this dir.
    pub(crate) foreign_in_dir: Option<u64>,
    /// Allocated, by kind.
    pub(crate) kinds: BTreeMap<UsageKind, u64>,
    pub(crate) leftovers: u64,
    /// By how much indexes look larger than they are.
    pub(crate) sparse_indexes: u64,
    /// Of `.log` files, without a block.
    pub(crate) holes: u64,
    /// Deleted, and held open by a process.
    pub(crate) held: u64,
    pub(crate) dirs: u64,
    pub(crate) segments: u64,
    pub(crate) imbalance_percent: Option<i64>,
    /// Bytes a second.
    pub(crate) rate_10m: Option<i64>,
    pub(crate) rate_24h: Option<i64>,
    /// `samples` (net) or `segments` (written, deletions not counted).
    pub(crate) rate_10m_source: Option<GrowthSource>,
    pub(crate) rate_24h_source: Option<GrowthSource>,
    /// 0 where it is full now.
    pub(crate) full_in_10m_s: Option<u64>,
    pub(crate) full_in_24h_s: Option<u64>,
    /// Whether the next new replica lands here.
    pub(crate) takes_next: bool,
    /// By how much the file system can grow on its device.
    pub(crate) growable: Option<u64>,
}
