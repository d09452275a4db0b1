//! Walks over a segment's batch headers, without checksums, as Kafka does outside recovery.

use super::offset_search::{Lookup, OffsetFinder, OffsetSearch, Step};
use super::parser::{Feed, SegmentParser};
use crate::format::batch::{Frame, FrameEnd, HEADER_UP_TO_MAGIC, frame};
use crate::format::record_batch::{BatchHeader, HEADER_LEN};
use crate::terms::{Offset, Position};

/// What a walk to a segment's end says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked {
    /// The offset behind the last batch; `None` if there is none, or if the offset looked for is not found.
    pub next_offset: Option<Offset>,
    /// Where the last batch ends.
    pub end: Position,
    /// What Kafka would die of on this way, with the position.
    pub fatal: Option<String>,
}

/// What stands at a walk's position.
pub(super) enum Here {
    Batch {
        frame: Frame,
        header: Option<BatchHeader>,
    },
    Want(u64),
    End,
    Fatal(String),
}

/// Reads the headers at `position`; `window` begins there.
pub(super) fn here(window: &[u8], position: u64, len: u64) -> Here {
    let remaining = len.saturating_sub(position);
    if remaining > HEADER_UP_TO_MAGIC as u64 && window.len() < HEADER_UP_TO_MAGIC {
        return Here::Want(remaining.min(HEADER_LEN as u64));
    }
    match frame(window, remaining) {
        Err(FrameEnd::EndOfLog) => Here::End,
        Err(FrameEnd::TooSmall { size }) => Here::Fatal(format!(
            "record size {size} at position {position}, below the least of 14"
        )),
        Ok(frame) if frame.is_legacy() => Here::Batch {
            frame,
            header: None,
        },
        // A batch that claims less than a header still has one: Kafka reads it where it must lie.
        Ok(frame) if remaining < HEADER_LEN as u64 => Here::Fatal(format!(
            "the file ends in the header of a batch of {} bytes at position {position}",
            frame.size
        )),
        Ok(frame) => match BatchHeader::decode(window) {
            Some(header) => Here::Batch {
                frame,
                header: Some(header),
            },
            None => Here::Want(HEADER_LEN as u64),
        },
    }
}

/// Returns a batch's last offset, whatever its magic.
pub(super) fn last_offset(frame: &Frame, header: Option<&BatchHeader>) -> Offset {
    header.map_or(frame.offset, BatchHeader::last_offset)
}

/// Finds the offset behind a segment's last batch (`LogSegment.readNextOffset`).
#[derive(Debug)]
pub struct NextOffsetWalk {
    position: u64,
    len: u64,
    finder: OffsetFinder,
    found: bool,
    wanted: usize,
    walked: Walked,
}

impl NextOffsetWalk {
    /// Returns a walk over a file of `len` bytes that looks for an offset first, then for the last batch.
    pub fn new(lookup: Lookup, len: u64, search: OffsetSearch) -> Self {
        Self {
            position: lookup.position.0,
            len,
            finder: OffsetFinder::new(search, lookup.offset),
            found: false,
            wanted: 0,
            walked: Walked {
                next_offset: None,
                end: lookup.position,
                fatal: None,
            },
        }
    }

    /// Returns what it found; call it once `feed` returned [`Feed::Done`].
    pub fn finish(mut self) -> Walked {
        if !self.found && self.finder.at_end().is_none() {
            self.walked.next_offset = None;
        }
        self.walked
    }

    /// Takes one batch; returns how many of its bytes are wanted first, or the cause of Kafka's end.
    fn on_batch(
        &mut self,
        frame: &Frame,
        header: Option<&BatchHeader>,
        rest: &[u8],
    ) -> Result<(), Here> {
        let last = last_offset(frame, header);
        if !self.found {
            match self.finder.on_batch(self.position, frame, last, rest) {
                Step::Found(_) => self.found = true,
                Step::Next => {}
                Step::Want(needed) => return Err(Here::Want(needed)),
                Step::Fatal(cause) => return Err(Here::Fatal(cause)),
            }
        }
        self.walked.next_offset = Some(last.plus(1));
        self.position += frame.size;
        self.walked.end = Position(self.position);
        Ok(())
    }
}

impl SegmentParser for NextOffsetWalk {
    fn position(&self) -> Position {
        Position(self.position)
    }

    fn feed(&mut self, window: &[u8]) -> Feed {
        let start = self.position;
        if window.len() < self.wanted {
            return Feed::Done;
        }
        loop {
            let at = usize::try_from(self.position - start).unwrap_or(usize::MAX);
            let rest = window.get(at..).unwrap_or_default();
            let mut here = here(rest, self.position, self.len);
            if let Here::Batch { frame, header } = &here {
                match self.on_batch(frame, header.as_ref(), rest) {
                    Ok(()) => continue,
                    Err(other) => here = other,
                }
            }
            match here {
                Here::Want(needed) => {
                    self.wanted = usize::try_from(needed).unwrap_or(usize::MAX);
                    return Feed::More {
                        needed: self.wanted,
                    };
                }
                Here::Fatal(cause) => self.walked.fatal = Some(cause),
                Here::Batch { .. } | Here::End => {}
            }
            return Feed::Done;
        }
    }
}
