//! What the disk says of one log, as far as retention depends on it.

use std::path::PathBuf;

use crate::log::Finding;
use crate::terms::{Offset, ProducerId, Timestamp, TopicPartition};

/// Where a segment's largest timestamp is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeSource {
    /// The last entry of its time index, which Kafka trusts.
    TimeIndex,
    /// Its batch headers: a boot reads them, or the broker that wrote them has them in memory.
    Batches,
    /// No record has one: the modification time of its `.log`.
    FileTime,
}

/// One segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentFacts {
    /// Its base offset.
    pub base_offset: Offset,
    /// Bytes of its `.log`, as retention counts them.
    pub bytes: u64,
    /// Bytes that its `.log` takes on the volume.
    pub allocated: u64,
    /// Bytes on the volume that all its files take: what is free once it is gone.
    pub freed: u64,
    /// What retention compares with its clock, in ms.
    pub largest_timestamp: Timestamp,
    /// Where that is from.
    pub time_source: TimeSource,
}

/// Up to where a log is committed, as the next pass will see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HighWatermark {
    /// This broker alone is in sync, and that is enough: the log end, from the moment it leads.
    SoleInSync(Offset),
    /// The leader of a running cluster told it; not behind the log's end here.
    Told(Offset),
    /// The dir's checkpoint, between log start and log end.
    Checkpoint(Offset),
    /// Nobody says.
    Unknown,
}

impl HighWatermark {
    /// Returns the offset, exclusive; `None` if it is not known.
    pub fn offset(self) -> Option<Offset> {
        match self {
            Self::SoleInSync(offset) | Self::Told(offset) | Self::Checkpoint(offset) => {
                Some(offset)
            }
            Self::Unknown => None,
        }
    }
}

/// Whether a log is the partition's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LogRole {
    /// It is.
    #[default]
    Current,
    /// It will be, once it has caught up in its new log dir.
    Future,
}

/// A transaction that was open when the producers were last written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTransaction {
    /// Who opened it.
    pub producer_id: ProducerId,
    /// Its first offset: nothing from there on is compacted, or read by who reads committed records only.
    pub first_offset: Offset,
    /// The producer's last timestamp.
    pub timestamp: Timestamp,
}

/// What a file that outlived its segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeftoverKind {
    /// `.log.deleted`: unlinked when `file.delete.delay.ms` is over, or by the next boot.
    Deleted,
    /// `.log.cleaned` of a compaction or a split that was broken off, or that runs.
    Cleaned,
    /// `.log.swap`: what a compaction or a split made; a boot puts it in the place of what it was made from.
    Swap,
}

/// The `.log` of a segment that is no longer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftoverSegment {
    /// Its base offset, if its name says.
    pub base_offset: Option<Offset>,
    /// What it is.
    pub kind: LeftoverKind,
    /// Its length in bytes.
    pub bytes: u64,
    /// Bytes that it takes on the volume.
    pub allocated: u64,
    /// When it was renamed, by the change time of its inode.
    pub changed_at: Timestamp,
}

/// One log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogFacts {
    /// Its log dir.
    pub log_dir: PathBuf,
    /// The name of its partition dir.
    pub dir_name: String,
    /// The partition.
    pub topic_partition: TopicPartition,
    /// Whether it is the partition's own.
    pub role: LogRole,
    /// Its segments by base offset; the last one is active.
    pub segments: Vec<SegmentFacts>,
    /// The checkpointed log start, at least the first base offset.
    pub log_start_offset: Offset,
    /// The offset behind its last batch; `None` if it cannot be read.
    pub log_end_offset: Option<Offset>,
    /// Up to where it is committed.
    pub high_watermark: HighWatermark,
    /// The timestamp of the active segment's first batch, from which on it is rolled by time.
    pub active_since: Option<Timestamp>,
    /// The first offset that the cleaner has not compacted; `None` where its checkpoint has no entry.
    pub cleaner_offset: Option<Offset>,
    /// When the cleaner last wrote its checkpoint, for whichever log of the dir; `None` where there is none.
    pub cleaner_written_at: Option<Timestamp>,
    /// The earliest open transaction, by the newest producer snapshot.
    pub open_transaction: Option<OpenTransaction>,
    /// Whether a boot reads segments of this log again from this offset on, since its dir was not stopped cleanly.
    pub recovered_from: Option<Offset>,
    /// Files of segments that are gone.
    pub leftovers: Vec<LeftoverSegment>,
    /// What was seen.
    pub findings: Vec<Finding>,
}

impl LogFacts {
    /// Returns the bytes of all its `.log` files, as `retention.bytes` counts them.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Returns the offset behind segment `index`; `None` behind the last one where the log end is not known.
    pub fn next_offset(&self, index: usize) -> Option<Offset> {
        match self.segments.get(index + 1) {
            Some(next) => Some(next.base_offset),
            None => self.log_end_offset,
        }
    }
}
