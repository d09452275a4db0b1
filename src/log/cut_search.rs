//! Finds where a truncation cuts a segment (`LogSegment.truncateTo`).

use super::header_walk::{HeaderWalk, Here, Place, feed_headers, last_offset};
use super::offset_search::OffsetSearch;
use super::parser::{Feed, SegmentParser};
use crate::format::batch::Frame;
use crate::format::legacy_message::{LegacyHeader, MIN_LEN};
use crate::format::record_batch::BatchHeader;
use crate::terms::{Offset, Position, Timestamp};

/// What a search for a truncation's place says of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutFound {
    /// Where the segment is cut; `None` if no batch holds the target or lies behind it.
    pub position: Option<Position>,
    /// The offset behind the last batch that stays; `None` if none stays.
    pub next_offset: Option<Offset>,
    /// The first offset of the first batch that goes, as its header says; `None` if none goes.
    pub first_cut: Option<Offset>,
    /// The largest timestamp of the batches that stay, from the place asked for on, and its batch's last offset.
    pub largest_timestamp: Option<(Timestamp, Offset)>,
    /// Records in the batches that go, as their headers say.
    pub records_cut: u64,
    /// Where the last batch of the segment ends.
    pub end: Position,
    /// What Kafka would die of on this way, with the position.
    pub fatal: Option<String>,
}

/// A batch that the search has passed.
#[derive(Debug, Clone, Copy)]
struct Passed {
    position: u64,
    base_offset: Offset,
    last_offset: Offset,
    records: u64,
    timestamp: Timestamp,
}

/// Walks over a whole segment and finds where a truncation cuts it.
#[derive(Debug)]
pub struct CutSearch {
    place: Place,
    from: u64,
    timestamps_from: u64,
    target: Offset,
    search: OffsetSearch,
    /// The batch before, which is decided on with the next one.
    pending: Option<Passed>,
    found: CutFound,
}

impl CutSearch {
    /// Returns a search over the first `len` bytes of a segment for `target`, which Kafka looks for from the batch at
    /// `from` on; timestamps count from the batch at `timestamps_from` on.
    pub fn new(
        len: u64,
        target: Offset,
        (from, timestamps_from): (Position, Position),
        search: OffsetSearch,
    ) -> Self {
        Self {
            place: Place::new(0, len),
            from: from.0,
            timestamps_from: timestamps_from.0,
            target,
            search,
            pending: None,
            found: CutFound {
                position: None,
                next_offset: None,
                first_cut: None,
                largest_timestamp: None,
                records_cut: 0,
                end: Position(0),
                fatal: None,
            },
        }
    }

    /// Returns what it found; call it once `feed` returned [`Feed::Done`].
    pub fn finish(mut self) -> CutFound {
        if let Some(last) = self.pending.take() {
            let (from, target) = (self.from, self.target);
            // What lies behind the place is not looked at; from 4.1 on the batch behind it is.
            let is_last = self.found.fatal.is_none() || self.search == OffsetSearch::LastOffset;
            let holds = last.position >= from
                && (last.base_offset >= target || (is_last && last.last_offset >= target));
            self.settle(&last, holds);
        }
        if self.found.position.is_some() {
            self.found.fatal = None;
        }
        self.found
    }

    /// Takes one batch: what it means for the one before it is known now.
    fn pass(&mut self, batch: Passed) {
        if let Some(before) = self.pending.replace(batch) {
            let holds = before.position >= self.from
                && match self.search {
                    OffsetSearch::LastOffset => before.last_offset >= self.target,
                    OffsetSearch::BaseOffset => {
                        before.base_offset >= self.target
                            || (batch.base_offset > self.target
                                && before.last_offset >= self.target)
                    }
                };
            self.settle(&before, holds);
        }
    }

    /// Decides whether a batch stays; the first that does not is where the cut falls.
    fn settle(&mut self, batch: &Passed, holds_target: bool) {
        if self.found.position.is_none() && holds_target {
            self.found.position = Some(Position(batch.position));
            self.found.first_cut = Some(batch.base_offset);
        }
        if self.found.position.is_some() {
            self.found.records_cut = self.found.records_cut.saturating_add(batch.records);
            return;
        }
        self.found.next_offset = Some(batch.last_offset.plus(1));
        let largest = self.found.largest_timestamp.map(|(largest, _)| largest);
        if batch.position >= self.timestamps_from
            && batch.timestamp > largest.unwrap_or(Timestamp::NONE)
        {
            self.found.largest_timestamp = Some((batch.timestamp, batch.last_offset));
        }
    }
}

/// Returns what counts of a batch; `None` if more bytes are needed.
fn passed(
    frame: &Frame,
    header: Option<&BatchHeader>,
    rest: &[u8],
    position: u64,
) -> Option<Passed> {
    let last_offset = last_offset(frame, header);
    let Some(header) = header else {
        let legacy = LegacyHeader::decode(rest)?;
        return Some(Passed {
            position,
            // A wrapper's own base is inside it; where offsets rise, the search comes to the same place by its last one.
            base_offset: last_offset,
            last_offset,
            records: 1,
            timestamp: legacy.timestamp,
        });
    };
    Some(Passed {
        position,
        base_offset: header.base_offset,
        last_offset,
        records: u64::try_from(header.records_count).unwrap_or(0),
        timestamp: header.max_timestamp,
    })
}

impl HeaderWalk for CutSearch {
    fn place(&mut self) -> &mut Place {
        &mut self.place
    }

    fn on_batch(
        &mut self,
        frame: &Frame,
        header: Option<&BatchHeader>,
        rest: &[u8],
    ) -> Result<(), Here> {
        let position = self.place.position;
        let batch = passed(frame, header, rest, position).ok_or(Here::Want(MIN_LEN as u64))?;
        self.pass(batch);
        self.found.end = Position(position + frame.size);
        Ok(())
    }

    fn on_fatal(&mut self, cause: String) {
        self.found.fatal = Some(cause);
    }
}

impl SegmentParser for CutSearch {
    fn position(&self) -> Position {
        Position(self.place.position)
    }

    fn feed(&mut self, window: &[u8]) -> Feed {
        feed_headers(self, window)
    }
}
