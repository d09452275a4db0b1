//! Where a segment whose offsets span more than 2^31 is split (`LocalLog.splitOverflowedSegment`).

use super::header_walk::{HeaderWalk, Here, Place, feed_headers, last_offset};
use super::index_builder::{IndexBuilder, IndexError};
use super::offset_search::{Step, base_of};
use super::parser::{Feed, SegmentLimits, SegmentParser};
use crate::format::batch::Frame;
use crate::format::legacy_message::LegacyHeader;
use crate::format::record_batch::BatchHeader;
use crate::terms::{KafkaVersion, Offset, Position};

/// Bytes that Kafka copies at once, unless a batch has more.
const CHUNK: u64 = 1 << 20;

/// What one append of a split counts as for the indexes of the piece (`LogSegment.append`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SplitIndexing {
    /// Up to 3.9.0, and in 4.0.0: all batches that are copied at once, by the last offset of the last.
    Chunk,
    /// In 3.9.1 and from 4.0.1 on: each batch.
    Batch,
}

impl SplitIndexing {
    /// Returns the way of `version`.
    pub fn of(version: KafkaVersion) -> Self {
        let in_3_9 = version >= KafkaVersion::new(3, 9, 1) && version < KafkaVersion::new(4, 0, 0);
        if in_3_9 || version >= KafkaVersion::new(4, 0, 1) {
            Self::Batch
        } else {
            Self::Chunk
        }
    }
}

/// One of the segments that a split makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its base offset: that of its first batch.
    pub base_offset: Offset,
    /// Where it begins in the file that is split.
    pub start: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Its offset index, trimmed.
    pub offset_index: Vec<u8>,
    /// Its time index, trimmed, with its final entry.
    pub time_index: Vec<u8>,
}

/// What a split makes of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The pieces, in the order of the file.
    pub pieces: Vec<Piece>,
    /// What Kafka would die of on this way, with the position.
    pub fatal: Option<String>,
}

/// A piece that grows.
#[derive(Debug)]
struct OpenPiece {
    base_offset: Offset,
    start: u64,
    index: IndexBuilder,
    chunk_start: u64,
    last_offset: Offset,
}

/// Walks over a segment's headers and cuts it into pieces; no checksum is looked at, as Kafka looks at none.
#[derive(Debug)]
pub struct SplitWalk {
    place: Place,
    limits: SegmentLimits,
    indexing: SplitIndexing,
    /// The size of Kafka's buffer: it grows with the largest batch that it had to hold.
    buffer: u64,
    open: Option<OpenPiece>,
    split: Split,
}

impl SplitWalk {
    /// Returns a walk over a file of `len` bytes.
    pub fn new(len: u64, limits: SegmentLimits, indexing: SplitIndexing) -> Self {
        Self {
            place: Place::new(0, len),
            limits,
            indexing,
            buffer: CHUNK,
            open: None,
            split: Split {
                pieces: Vec::new(),
                fatal: None,
            },
        }
    }

    /// Returns the pieces; call it once `feed` returned [`Feed::Done`].
    pub fn finish(self) -> Split {
        self.split
    }

    fn close_piece(&mut self) -> Result<(), Here> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        let end = self.place.position;
        if self.indexing == SplitIndexing::Chunk {
            open.index_chunk().map_err(|error| full(&error, end))?;
        }
        let (offset_index, time_index) = open.index.finish().map_err(|error| full(&error, end))?;
        self.split.pieces.push(Piece {
            base_offset: open.base_offset,
            start: open.start,
            len: end - open.start,
            offset_index,
            time_index,
        });
        Ok(())
    }
}

impl OpenPiece {
    /// Says whether a batch that ends at `last` can be indexed in this piece.
    fn fits(&self, last: Offset) -> bool {
        let relative = last.0.wrapping_sub(self.base_offset.0);
        (0..=i64::from(i32::MAX)).contains(&relative)
    }

    fn index_chunk(&mut self) -> Result<(), IndexError> {
        self.index
            .on_append(self.chunk_start - self.start, self.last_offset)
    }
}

fn full(error: &IndexError, position: u64) -> Here {
    let cause = match error {
        IndexError::OffsetsGoBack => "offsets go back at an index point",
        IndexError::Full(cause) => cause,
    };
    Here::Fatal(format!(
        "{cause} at position {position}, while the segment is split"
    ))
}

impl HeaderWalk for SplitWalk {
    fn place(&mut self) -> &mut Place {
        &mut self.place
    }

    fn on_batch(
        &mut self,
        frame: &Frame,
        header: Option<&BatchHeader>,
        rest: &[u8],
    ) -> Result<(), Here> {
        let last = last_offset(frame, header);
        let timestamp = match header {
            Some(header) => header.max_timestamp,
            None => LegacyHeader::decode(rest)
                .map(|header| header.timestamp)
                .ok_or(Here::Want(frame.size))?,
        };
        if self.open.as_ref().is_some_and(|open| !open.fits(last)) {
            self.close_piece()?;
        }
        let position = self.place.position;
        if self.open.is_none() {
            // Kafka's buffer is a new one for each piece.
            self.buffer = CHUNK;
            let base_offset = base_of(frame, position, rest).map_err(|step| match step {
                Step::Want(needed) => Here::Want(needed),
                Step::Fatal(cause) => Here::Fatal(cause),
                Step::Found(_) | Step::Next => Here::End,
            })?;
            let open = OpenPiece {
                base_offset,
                start: position,
                index: IndexBuilder::new(base_offset, self.limits),
                chunk_start: position,
                last_offset: last,
            };
            if !open.fits(last) {
                return Err(Here::Fatal(format!(
                    "the batch at position {position} ends at {last}, which does not fit a segment of its base {base_offset}"
                )));
            }
            self.open = Some(open);
        }
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let chunk_len = position - open.chunk_start;
        if chunk_len > 0 && chunk_len + frame.size >= self.buffer {
            if self.indexing == SplitIndexing::Chunk {
                open.index_chunk().map_err(|error| full(&error, position))?;
            }
            open.chunk_start = position;
        }
        if position == open.chunk_start {
            self.buffer = self.buffer.max(frame.size);
        }
        match self.indexing {
            SplitIndexing::Batch => open
                .index
                .on_batch(position - open.start, last, timestamp)
                .map_err(|error| full(&error, position))?,
            SplitIndexing::Chunk => open.index.on_timestamp(timestamp, last),
        }
        open.last_offset = last;
        Ok(())
    }

    /// Ends at the last whole batch; Kafka dies of a rest.
    fn at_end(&mut self) -> Result<(), Here> {
        self.close_piece()?;
        if self.place.position < self.place.len {
            return Err(Here::Fatal(format!(
                "{} bytes behind the last whole batch, at position {}, belong to no piece",
                self.place.len - self.place.position,
                self.place.position
            )));
        }
        Ok(())
    }

    fn on_fatal(&mut self, cause: String) {
        self.split.fatal = Some(cause);
    }
}

impl SegmentParser for SplitWalk {
    fn position(&self) -> Position {
        Position(self.place.position)
    }

    fn feed(&mut self, window: &[u8]) -> Feed {
        feed_headers(self, window)
    }
}
