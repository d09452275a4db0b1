//! What deletions in one partition dir come to.

use serde::{Deserialize, Serialize};

use crate::log::UsageKind;
use crate::plan::{Class, GroupBelow};
use crate::terms::Offset;

/// What a deletion costs; from what costs nothing on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeletionCost {
    /// A broker or its next boot removes it by itself.
    Leftover(UsageKind),
    /// Nobody's replica: the metadata of this host does not place it here.
    Stray,
    /// Retention deletes it at the broker's next pass.
    PastRetention,
    /// Good records that nothing would have deleted yet.
    Records,
}

impl DeletionCost {
    /// Returns how it must be confirmed.
    pub fn class(self) -> Class {
        match self {
            Self::Leftover(_) => Class::A,
            Self::PastRetention => Class::B,
            Self::Stray | Self::Records => Class::C,
        }
    }

    /// Returns it in a few words.
    pub fn words(self) -> String {
        match self {
            Self::Leftover(kind) => format!("leftover {}", kind.word()),
            Self::Stray => "stray".to_owned(),
            Self::PastRetention => "past retention".to_owned(),
            Self::Records => "oldest records".to_owned(),
        }
    }
}

/// What the deletions in one partition dir come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletion {
    /// The dearest of them.
    pub cost: DeletionCost,
    /// Bytes that become free on the volume.
    pub freed: u64,
    /// Bytes of good batches that go before retention would take them.
    pub lost_bytes: u64,
    /// Offsets that go, an upper bound of the records; `None` for a whole log that was not read.
    pub lost_offsets: Option<u64>,
    /// Whole segments that go.
    pub deleted_segments: u64,
    /// The log's start before, for segments that go.
    pub log_start_before: Option<Offset>,
    /// Whether the dir goes as a whole.
    pub removes_dir: bool,
    /// Groups that have committed below the new log start; `None` where nothing of groups is known.
    #[serde(default)]
    pub groups: Option<Vec<GroupBelow>>,
}
