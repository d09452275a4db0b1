//! What the recovery machine asks of whoever can read.

use crate::log::{OffsetSearch, SegmentLimits};
use crate::terms::{Offset, Position};

/// One segment to be read and checked in full (`SegmentScanner`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanRequest {
    /// The segment's base offset.
    pub base_offset: Offset,
    /// Its `.log`'s name.
    pub file: String,
    /// The `.log`'s length in bytes, as listed.
    pub len: u64,
    /// The file on disk that the rebuilt offset index may equal.
    pub offset_index_file: Option<String>,
    /// The file on disk that the rebuilt time index may equal.
    pub time_index_file: Option<String>,
    /// Where index entries fall.
    pub limits: SegmentLimits,
}

/// One segment whose producers are wanted, without checksums (`ProducerReplay`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReplayRequest {
    /// The segment's base offset.
    pub base_offset: Offset,
    /// Its `.log`'s name.
    pub file: String,
    /// How many of its bytes count.
    pub len: u64,
    /// The first offset; the batch that holds it counts in full.
    pub from: Offset,
    /// The first offset that no longer counts; the batch that holds it does not count.
    pub to: Offset,
}

/// The last segment's end, by its headers from `from` on (`NextOffsetWalk`, Kafka's `readNextOffset`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WalkRequest {
    /// The segment's base offset.
    pub base_offset: Offset,
    /// Its `.log`'s name.
    pub file: String,
    /// Its `.log`'s length in bytes.
    pub len: u64,
    /// Where to begin.
    pub from: Position,
    /// The offset to look for first.
    pub target: Offset,
    /// How it is looked for.
    pub search: OffsetSearch,
}

/// Where a truncation cuts a segment (`CutSearch`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CutRequest {
    /// The segment's base offset.
    pub base_offset: Offset,
    /// Its `.log`'s name.
    pub file: String,
    /// How many of its bytes count.
    pub len: u64,
    /// From which batch on the target is looked for.
    pub from: Position,
    /// From which batch on timestamps count.
    pub timestamps_from: Position,
    /// The target.
    pub target: Offset,
    /// How it is looked for.
    pub search: OffsetSearch,
}

/// What the machine needs before it can go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The whole of a small file; answer with `supply_file`.
    Read {
        /// Its name.
        file: String,
    },
    /// Segments in full, in the order in which they will be used; answer each with `supply_scan` as it comes. Not all
    /// need be answered before the next call of `next`.
    Scan(Vec<ScanRequest>),
    /// Answer with `supply_replay`.
    Replay(ReplayRequest),
    /// Answer with `supply_walk`.
    Walk(WalkRequest),
    /// Answer with `supply_cut`.
    Cut(CutRequest),
    /// Nothing: the plan is made.
    Done,
}
