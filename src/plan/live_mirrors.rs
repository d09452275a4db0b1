//! Mirrors of what an act on a living cluster lets go.

use serde::{Deserialize, Serialize};

use crate::terms::{Offset, Timestamp, TopicPartition};

/// What is known of the mirrors of what goes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LiveMirrors {
    /// Those that are not known to have copied all of it.
    pub below: Vec<MirrorBelow>,
    /// Why it is not known of others, a sentence each.
    pub unread: Vec<String>,
}

impl LiveMirrors {
    /// Says whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.below.is_empty() && self.unread.is_empty()
    }
}

/// A mirror that is not known to have copied all that goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MirrorBelow {
    /// The cluster that the topic is copied to, by the alias in the name of its topic of offset syncs.
    pub mirror: String,
    /// The partition.
    pub partition: TopicPartition,
    /// The last offset that is copied for certain; `None` if there is none.
    pub copied: Option<Offset>,
    /// How many offsets behind it go, at most.
    pub uncopied: u64,
    /// When the mirror's newest sync was written.
    pub last_sync: Option<Timestamp>,
}
