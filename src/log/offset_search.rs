//! How Kafka finds an offset in a segment's file (`FileRecords.searchForOffsetFromPosition`).

use crate::format::batch::Frame;
use crate::format::compression::Compression;
use crate::format::legacy_message::{LegacyHeader, base_offset};
use crate::terms::{KafkaVersion, Offset, Position};

/// Messages of magic 0 and 1 are taken apart whole, up to this size.
const WHOLE_UP_TO: u64 = 64 << 20;
/// The most that one compressed message may unfold to.
const MAX_UNWRAPPED: usize = 256 << 20;

/// How a release looks for an offset from an index entry's position on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OffsetSearch {
    /// Up to 4.0: it ends at a batch whose last offset is not below.
    LastOffset,
    /// From 4.1 on: it ends at a batch whose base offset is not below, or at the one before if that holds the offset. A
    /// compressed message of magic 0 or 1 has to be taken apart for its base offset.
    BaseOffset,
}

impl OffsetSearch {
    /// Returns the way of `version`.
    pub fn of(version: KafkaVersion) -> Self {
        if version >= KafkaVersion::new(4, 1, 0) {
            Self::BaseOffset
        } else {
            Self::LastOffset
        }
    }
}

/// An offset to look for, and where its segment's offset index says to begin (`LogSegment.translateOffset`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// The offset.
    pub offset: Offset,
    /// Where the search begins.
    pub position: Position,
}

/// What a search says of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The offset is found: the batch at this position.
    Found(u64),
    /// On to the next batch.
    Next,
    /// This many bytes of the batch are wanted first.
    Want(u64),
    /// What Kafka dies of.
    Fatal(String),
}

/// A search under way; shown each batch from [`Lookup::position`] on.
#[derive(Debug)]
pub(super) struct OffsetFinder {
    search: OffsetSearch,
    target: Offset,
    /// Position and last offset of the batch before, whose base offset lies below the target.
    before: Option<(u64, Offset)>,
}

impl OffsetFinder {
    pub(super) fn new(search: OffsetSearch, target: Offset) -> Self {
        Self {
            search,
            target,
            before: None,
        }
    }

    /// Takes the batch at `position`; `bytes` begin there.
    pub(super) fn on_batch(
        &mut self,
        position: u64,
        frame: &Frame,
        last_offset: Offset,
        bytes: &[u8],
    ) -> Step {
        if self.search == OffsetSearch::LastOffset {
            return if last_offset >= self.target {
                Step::Found(position)
            } else {
                Step::Next
            };
        }
        let base = match base_of(frame, position, bytes) {
            Ok(base) => base,
            Err(step) => return step,
        };
        if base < self.target {
            self.before = Some((position, last_offset));
            return Step::Next;
        }
        match self.at_end() {
            Some(before) if base > self.target => Step::Found(before),
            _ => Step::Found(position),
        }
    }

    /// Returns the batch that holds the offset where no batch begins at it or behind it.
    pub(super) fn at_end(&self) -> Option<u64> {
        self.before
            .filter(|(_, last)| *last >= self.target)
            .map(|(position, _)| position)
    }
}

/// Returns a batch's base offset, as a search or a split asks for it.
pub(super) fn base_of(frame: &Frame, position: u64, bytes: &[u8]) -> Result<Offset, Step> {
    if !frame.is_legacy() {
        return Ok(frame.offset);
    }
    if frame.size > WHOLE_UP_TO {
        return Err(Step::Fatal(format!(
            "a message of {} bytes at position {position}",
            frame.size
        )));
    }
    let message = usize::try_from(frame.size)
        .ok()
        .and_then(|size| bytes.get(..size))
        .ok_or(Step::Want(frame.size))?;
    let plain = LegacyHeader::decode(message)
        .is_some_and(|header| matches!(header.compression(), Ok(Compression::None)));
    if plain {
        return Ok(frame.offset);
    }
    base_offset(message, MAX_UNWRAPPED).map_err(|error| {
        Step::Fatal(format!(
            "a compressed message of magic 0 or 1 at position {position} does not decompress: {error}"
        ))
    })
}
