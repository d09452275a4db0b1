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

/// Where a walk stands.
#[derive(Debug)]
pub(super) struct Place {
    /// In bytes from the file's begin.
    pub(super) position: u64,
    /// The file's length in bytes.
    pub(super) len: u64,
    /// How many bytes were asked for; fewer than that are given only where the file is shorter by now.
    wanted: usize,
}

impl Place {
    pub(super) fn new(position: u64, len: u64) -> Self {
        Self {
            position,
            len,
            wanted: 0,
        }
    }
}

/// What walks over a segment's headers, batch by batch.
pub(super) trait HeaderWalk {
    /// Returns where it stands; a batch that was taken moves it on by the batch's size.
    fn place(&mut self) -> &mut Place;

    /// Takes one batch, whose bytes `rest` begins with; an error says how many of them are wanted first, or what Kafka
    /// would die of.
    fn on_batch(
        &mut self,
        frame: &Frame,
        header: Option<&BatchHeader>,
        rest: &[u8],
    ) -> Result<(), Here>;

    /// Says whether it has what it walks for; nothing more is read then.
    fn is_done(&self) -> bool {
        false
    }

    /// Ends where no batch follows.
    fn at_end(&mut self) -> Result<(), Here> {
        Ok(())
    }

    /// Ends where Kafka would die.
    fn on_fatal(&mut self, cause: String);
}

/// Feeds a walk with a window that begins where it stands.
pub(super) fn feed_headers(walk: &mut impl HeaderWalk, window: &[u8]) -> Feed {
    let start = walk.place().position;
    if window.len() < walk.place().wanted {
        return Feed::Done;
    }
    while !walk.is_done() {
        let Place { position, len, .. } = *walk.place();
        let at = usize::try_from(position - start).unwrap_or(usize::MAX);
        let rest = window.get(at..).unwrap_or_default();
        let mut here = match here(rest, position, len) {
            Here::Batch { frame, header } => match walk.on_batch(&frame, header.as_ref(), rest) {
                Ok(()) => {
                    walk.place().position += frame.size;
                    continue;
                }
                Err(other) => other,
            },
            other => other,
        };
        if matches!(here, Here::End) {
            here = walk.at_end().err().unwrap_or(Here::End);
        }
        match here {
            Here::Want(needed) => {
                let needed = usize::try_from(needed).unwrap_or(usize::MAX);
                walk.place().wanted = needed;
                return Feed::More { needed };
            }
            Here::Fatal(cause) => walk.on_fatal(cause),
            Here::Batch { .. } | Here::End => {}
        }
        break;
    }
    Feed::Done
}

/// Returns a batch's last offset, whatever its magic.
pub(super) fn last_offset(frame: &Frame, header: Option<&BatchHeader>) -> Offset {
    header.map_or(frame.offset, BatchHeader::last_offset)
}

/// Finds the offset behind a segment's last batch (`LogSegment.readNextOffset`).
#[derive(Debug)]
pub struct NextOffsetWalk {
    place: Place,
    finder: OffsetFinder,
    found: bool,
    walked: Walked,
}

impl NextOffsetWalk {
    /// Returns a walk over a file of `len` bytes that looks for an offset first, then for the last batch.
    pub fn new(lookup: Lookup, len: u64, search: OffsetSearch) -> Self {
        Self {
            place: Place::new(lookup.position.0, len),
            finder: OffsetFinder::new(search, lookup.offset),
            found: false,
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
}

impl HeaderWalk for NextOffsetWalk {
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
        let position = self.place.position;
        if !self.found {
            match self.finder.on_batch(position, frame, last, rest) {
                Step::Found(_) => self.found = true,
                Step::Next => {}
                Step::Want(needed) => return Err(Here::Want(needed)),
                Step::Fatal(cause) => return Err(Here::Fatal(cause)),
            }
        }
        self.walked.next_offset = Some(last.plus(1));
        self.walked.end = Position(position + frame.size);
        Ok(())
    }

    fn on_fatal(&mut self, cause: String) {
        self.walked.fatal = Some(cause);
    }
}

impl SegmentParser for NextOffsetWalk {
    fn position(&self) -> Position {
        Position(self.place.position)
    }

    fn feed(&mut self, window: &[u8]) -> Feed {
        feed_headers(self, window)
    }
}
