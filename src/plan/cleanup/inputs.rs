//! What a cleanup may choose from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::log::UsageKind;
use crate::terms::{Offset, Timestamp, TopicPartition};

/// What a cleanup is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CleanupWish {
    /// All leftovers that are proved to be ones.
    Leftovers,
    /// All stray dirs that the metadata proves to be strays.
    Strays,
    /// What retention deletes at the next pass.
    PastRetention,
    /// At least so many bytes more, of whatever is cheapest.
    Free(u64),
}

/// Whether a leftover is proved to be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftoverProof {
    /// It is.
    Proved,
    /// It is not, and why.
    Missing(String),
}

/// Something that a boot or a timer would remove, or that nobody owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its log dir.
    pub log_dir: PathBuf,
    /// The partition dir's name.
    pub dir_name: String,
    /// Its files in it; all of them where the dir goes as a whole.
    pub files: Vec<String>,
    /// What it is.
    pub kind: UsageKind,
    /// Whether the dir goes as a whole.
    pub removes_dir: bool,
    /// Bytes on the volume.
    pub allocated: u64,
    /// Bytes of the `.log` files among them.
    pub log_bytes: u64,
    /// Whether it is proved to be one.
    pub proof: LeftoverProof,
}

/// A segment that could go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeableSegment {
    /// Its base offset.
    pub base_offset: Offset,
    /// The offset behind its last batch.
    pub next_offset: Offset,
    /// Bytes of its `.log`.
    pub bytes: u64,
    /// Bytes on the volume of all its files.
    pub freed: u64,
    /// Its largest timestamp, as retention sees it.
    pub largest_timestamp: Timestamp,
    /// Whether retention deletes it at the next pass.
    pub past_retention: bool,
}

/// A log from whose start segments could go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeableLog {
    /// Its log dir.
    pub log_dir: PathBuf,
    /// The partition dir's name.
    pub dir_name: String,
    /// The partition.
    pub topic_partition: TopicPartition,
    /// Where the log starts now.
    pub log_start_offset: Offset,
    /// The offset behind its last record, where it is known without a scan.
    pub log_end_offset: Option<Offset>,
    /// Its segments but the active one, from the oldest on, up to the last that may go.
    pub segments: Vec<FreeableSegment>,
    /// The mirrors that copy it.
    pub mirrors: Vec<MirrorCopy>,
    /// Why it is not known whether others have it, a sentence each.
    pub unknown_mirrors: Vec<String>,
}

/// How far a mirror has copied a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorCopy {
    /// The cluster that the topic is copied to.
    pub mirror: String,
    /// The last offset that is copied for certain; `None` if there is none.
    pub copied: Option<Offset>,
    /// When the mirror's newest sync was written.
    pub last_sync: Option<Timestamp>,
}

impl MirrorCopy {
    /// Returns how many offsets from `start` to `end` (exclusive) it is not known to have.
    pub fn uncopied(&self, start: Offset, end: Offset) -> u64 {
        let first = self
            .copied
            .map_or(start, |copied| copied.plus(1).max(start));
        u64::try_from(end.0.saturating_sub(first.0)).unwrap_or(0)
    }
}

impl FreeableLog {
    /// Names the mirrors, and why others are `unknown`: what one of them is not known to have counts as good records, also
    /// where retention deletes it.
    #[must_use]
    pub fn mirrored_by(mut self, mirrors: Vec<MirrorCopy>, unknown: Vec<String>) -> Self {
        let start = self.log_start_offset;
        for segment in &mut self.segments {
            let base = segment.base_offset.max(start);
            let lacks = |mirror: &MirrorCopy| mirror.uncopied(base, segment.next_offset) > 0;
            segment.past_retention &= unknown.is_empty() && !mirrors.iter().any(lacks);
        }
        self.mirrors = mirrors;
        self.unknown_mirrors = unknown;
        self
    }
}
