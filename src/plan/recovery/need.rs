//! What the recovery machine asks of whoever can read.

use crate::log::{Lookup, OffsetSearch, SegmentLimits, SplitIndexing};
use crate::terms::{Offset, Position};

/// Where a segment's bytes lie: a whole `.log`, or the part of one that a split makes a segment of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogPart {
    /// The file's name on disk.
    pub file: String,
    /// Where in the file it begins, in bytes.
    pub start: u64,
    /// Its length in bytes.
    pub len: u64,
}

/// One segment to be read and checked in full (`SegmentScanner`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanRequest {
    /// The segment's base offset.
    pub base_offset: Offset,
    /// Its bytes.
    pub log: LogPart,
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
    /// Its bytes that count.
    pub log: LogPart,
    /// The first offset; the batch that holds it counts in full.
    pub from: Lookup,
    /// The first offset that no longer counts; the batch that holds it does not count.
    pub to: Option<Lookup>,
    /// How both are looked for.
    pub search: OffsetSearch,
}

/// The last segment's end, by its headers from `from` on (`NextOffsetWalk`, Kafka's `readNextOffset`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WalkRequest {
    /// Its bytes.
    pub log: LogPart,
    /// The offset to look for first.
    pub lookup: Lookup,
    /// How it is looked for.
    pub search: OffsetSearch,
}

/// Where a truncation cuts a segment (`CutSearch`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CutRequest {
    /// Its bytes that count.
    pub log: LogPart,
    /// From which batch on the target is looked for.
    pub from: Position,
    /// From which batch on timestamps count.
    pub timestamps_from: Position,
    /// The target.
    pub target: Offset,
    /// How it is looked for.
    pub search: OffsetSearch,
}

/// An offset that is looked up in an offset index on disk (`OffsetIndexSearch`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LookupRequest {
    /// The index's name.
    pub file: String,
    /// How many of its bytes count.
    pub len: u64,
    /// The segment's base offset.
    pub base_offset: Offset,
    /// The offset.
    pub offset: Offset,
}

/// One segment that is split (`SplitWalk`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SplitRequest {
    /// Its bytes.
    pub log: LogPart,
    /// Where index entries fall.
    pub limits: SegmentLimits,
    /// How often.
    pub indexing: SplitIndexing,
}

/// What the machine needs before it can go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The whole of a small file; answer with `supply_file`.
    Read {
        /// Its name.
        file: String,
    },
    /// Answer with `supply_lookup`.
    Lookup(LookupRequest),
    /// Segments in full, in the order in which they will be used; answer each with `supply_scan` as it comes. Not all
    /// need be answered before the next call of `next`.
    Scan(Vec<ScanRequest>),
    /// Answer with `supply_replay`.
    Replay(ReplayRequest),
    /// Answer with `supply_walk`.
    Walk(WalkRequest),
    /// Answer with `supply_cut`.
    Cut(CutRequest),
    /// Answer with `supply_split`.
    Split(SplitRequest),
    /// Nothing: the plan is made.
    Done,
}
