//! What one pass over a segment's bytes says.

use super::index_check::IndexFault;
use super::producer_event::{EpochStart, ProducerEvent};
use crate::terms::{Offset, Position, Timestamp};

/// Why a scan ended where it did; the order of the checks is Kafka's (`LogSegment.recover`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanStop {
    /// At the file's end.
    EndOfFile,
    /// At a tail that Kafka takes for the end without a word: fewer than 18 bytes, or a batch that passes the file's end.
    Torn,
    /// At a length field below 14.
    LengthTooSmall {
        /// The length field.
        size: i32,
    },
    /// At a batch of magic 2 shorter than its header.
    BatchTooShort {
        /// The whole batch's size in bytes.
        size: u64,
    },
    /// At a batch whose checksum does not fit.
    CrcMismatch {
        /// In the batch.
        stored: u32,
        /// Of its bytes.
        computed: u32,
    },
    /// Behind a control batch whose record does not parse; the batch itself is kept.
    ControlInvalid {
        /// What is wrong with it.
        cause: String,
    },
    /// At a batch whose last offset does not fit the segment (below its base, or 2^31 and more above).
    OffsetOverflow {
        /// The last offset.
        last_offset: Offset,
    },
    /// At an index point whose offset does not rise: Kafka empties the segment.
    OffsetsGoBack {
        /// The offset.
        last_offset: Offset,
    },
    /// At something that Kafka's recovery does not catch: the log does not load.
    Fatal {
        /// The cause.
        cause: String,
    },
}

/// How far a tail was searched for good batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Searched {
    /// To its end.
    #[default]
    Fully,
    /// Not: good batches may lie there unseen.
    GaveUp,
}

/// What lies behind the last good batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TailReport {
    /// Bytes of the tail.
    pub bytes: u64,
    /// Whether they are all zero.
    pub all_zero: bool,
    /// Where the first good batch behind the bad place begins, and its base offset.
    pub resync: Option<(Position, Offset)>,
    /// Good batches behind the bad place.
    pub good_batches: u64,
    /// Their bytes.
    pub good_bytes: u64,
    /// Their records.
    pub good_records: u64,
    /// Whether all of it was searched.
    pub searched: Searched,
}

impl TailReport {
    /// Says whether good batches follow the bad place, or may.
    pub fn may_hold_good_batches(&self) -> bool {
        self.good_batches > 0 || self.searched == Searched::GaveUp
    }

    /// Returns the records of the good batches; `None` where more may lie there.
    pub fn countable_records(&self) -> Option<u64> {
        (self.searched == Searched::Fully).then_some(self.good_records)
    }
}

/// An index as a scan rebuilt it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RebuiltIndex {
    /// Its bytes, trimmed.
    Bytes(Vec<u8>),
    /// Its bytes are the first `len` of the file on disk.
    OnDisk {
        /// How many.
        len: u64,
    },
    /// Its bytes were stored elsewhere, to spare memory.
    Stored {
        /// How many.
        len: u64,
        /// Their SHA-256 in lower-case hex.
        sha256: String,
    },
}

impl RebuiltIndex {
    /// Returns its length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::OnDisk { len } | Self::Stored { len, .. } => *len,
        }
    }

    /// Says whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What one full pass over a segment says: what `LogSegment.recover` would keep and write.
#[derive(Debug, Clone)]
pub struct SegmentScan {
    /// The segment's base offset.
    pub base_offset: Offset,
    /// Length of the file, in bytes.
    pub file_len: u64,
    /// The first byte that no good batch covers: Kafka cuts here.
    pub valid_up_to: Position,
    /// Why the scan ended there.
    pub stop: ScanStop,
    /// The offset behind the last good batch; the base offset if there is none.
    pub next_offset: Offset,
    /// Whether the last good batch ends below one before it.
    pub goes_back: bool,
    /// Good batches.
    pub batches: u64,
    /// Records in them, as their headers say.
    pub records: u64,
    /// The largest timestamp and the last offset of its batch; `None` if no batch has one.
    pub largest_timestamp: Option<(Timestamp, Offset)>,
    /// The rebuilt offset index, trimmed.
    pub offset_index: RebuiltIndex,
    /// The rebuilt time index, trimmed, with its final entry.
    pub time_index: RebuiltIndex,
    /// The first entry that cannot be right of an index that was held against the batches.
    pub index_fault: Option<IndexFault>,
    /// Batches whose leader epoch was higher than all before them in this segment.
    pub epochs: Vec<EpochStart>,
    /// What its batches say of producers; `None` if there was too much to keep: replay them.
    pub producers: Option<Vec<ProducerEvent>>,
    /// The offset behind the last good batch of magic 2; `None` if there is none.
    pub producer_end: Option<Offset>,
    /// Compressed messages of magic 0 and 1: from 4.1 on a boot that looks up an offset takes them apart.
    pub wrappers: u64,
    /// What follows `valid_up_to`; `None` at the file's end.
    pub tail: Option<TailReport>,
}
