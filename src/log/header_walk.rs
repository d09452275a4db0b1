//! Walks over a segment's batch headers, without checksums, as Kafka does outside recovery.

use super::parser::{Feed, SegmentParser};
use super::producer_event::ProducerEvent;
use super::producer_events::ProducerEvents;
use crate::format::batch::{Frame, FrameEnd, HEADER_UP_TO_MAGIC, frame};
use crate::format::control_record::ControlError;
use crate::format::record_batch::{BatchHeader, HEADER_LEN};
use crate::terms::{KafkaVersion, Offset, Position};

/// Control batches are read whole, up to this size.
const WHOLE_UP_TO: u64 = 64 << 20;

/// What a replay of a segment's producers says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// In the order of the batches.
    pub events: Vec<ProducerEvent>,
    /// What Kafka would die of on this way, with the position.
    pub fatal: Option<String>,
}

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

/// How a release looks for an offset from an index entry's position on (`FileRecords.searchForOffsetFromPosition`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OffsetSearch {
    /// Up to 4.0: it ends at a batch whose last offset is not below.
    LastOffset,
    /// From 4.1 on: it ends at a batch whose base offset is not below; where there is none, the last batch counts if its
    /// last offset is not below.
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
    target: Offset,
    search: OffsetSearch,
    found: bool,
    wanted: usize,
    walked: Walked,
}

impl NextOffsetWalk {
    /// Returns a walk over a file of `len` bytes from the batch at `from`, that looks for `target` first.
    pub fn new(from: Position, len: u64, target: Offset, search: OffsetSearch) -> Self {
        Self {
            position: from.0,
            len,
            target,
            search,
            found: false,
            wanted: 0,
            walked: Walked {
                next_offset: None,
                end: from,
                fatal: None,
            },
        }
    }

    /// Returns what it found; call it once `feed` returned [`Feed::Done`].
    pub fn finish(mut self) -> Walked {
        let end = self.walked.next_offset;
        if !self.found && end.is_none_or(|end| end <= self.target) {
            self.walked.next_offset = None;
        }
        self.walked
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
            match here(
                window.get(at..).unwrap_or_default(),
                self.position,
                self.len,
            ) {
                Here::Batch { frame, header } => {
                    let last = last_offset(&frame, header.as_ref());
                    self.found |= match self.search {
                        OffsetSearch::LastOffset => last >= self.target,
                        OffsetSearch::BaseOffset => frame.offset >= self.target,
                    };
                    self.walked.next_offset = Some(last.plus(1));
                    self.position += frame.size;
                    self.walked.end = Position(self.position);
                }
                Here::Want(needed) => {
                    self.wanted = usize::try_from(needed).unwrap_or(usize::MAX);
                    return Feed::More {
                        needed: self.wanted,
                    };
                }
                Here::End => return Feed::Done,
                Here::Fatal(cause) => {
                    self.walked.fatal = Some(cause);
                    return Feed::Done;
                }
            }
        }
    }
}

/// Gathers the producer events of a segment's batches (`UnifiedLog.loadProducersFromRecords`).
#[derive(Debug)]
pub struct ProducerReplay {
    position: u64,
    len: u64,
    from: Offset,
    to: Offset,
    wanted: usize,
    begun: bool,
    events: ProducerEvents,
    fatal: Option<String>,
}

impl ProducerReplay {
    /// Returns a replay of the first `len` bytes of a file: from the batch that holds `from`, up to but without the
    /// batch that holds `to`.
    pub fn new(from: Offset, to: Offset, len: u64) -> Self {
        Self {
            position: 0,
            len,
            from,
            to,
            wanted: 0,
            begun: false,
            events: ProducerEvents::new(usize::MAX),
            fatal: None,
        }
    }

    /// Returns the events; call it once `feed` returned [`Feed::Done`].
    pub fn finish(self) -> Replayed {
        Replayed {
            events: self.events.finish().unwrap_or_default(),
            fatal: self.fatal,
        }
    }

    /// Takes one batch; returns how many bytes of it are wanted first, or `None` once it is done with.
    fn on_batch(
        &mut self,
        frame: &Frame,
        header: Option<&BatchHeader>,
        rest: &[u8],
    ) -> Result<bool, u64> {
        let last = last_offset(frame, header);
        if last >= self.to {
            return Ok(false);
        }
        self.begun |= last >= self.from;
        let Some(header) = header.filter(|header| self.begun && header.producer_id.is_some())
        else {
            return Ok(true);
        };
        let mut bytes: &[u8] = &[];
        if header.attributes.is_control() {
            if frame.size > WHOLE_UP_TO {
                self.fatal = Some(format!(
                    "a control batch of {} bytes at position {}",
                    frame.size, self.position
                ));
                return Ok(false);
            }
            bytes = usize::try_from(frame.size)
                .ok()
                .and_then(|size| rest.get(..size))
                .ok_or(frame.size)?;
        }
        if let Err(error) = self.events.on_batch(header, bytes) {
            let cause = match error {
                ControlError::Invalid(cause) => cause.to_string(),
                ControlError::Fatal(cause) => cause.to_string(),
            };
            self.fatal = Some(format!(
                "{cause} (control batch at position {})",
                self.position
            ));
            return Ok(false);
        }
        Ok(true)
    }
}

impl SegmentParser for ProducerReplay {
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
            let needed = match here(rest, self.position, self.len) {
                Here::Batch { frame, header } => match self.on_batch(&frame, header.as_ref(), rest)
                {
                    Ok(true) => {
                        self.position += frame.size;
                        continue;
                    }
                    Ok(false) => return Feed::Done,
                    Err(needed) => needed,
                },
                Here::Want(needed) => needed,
                Here::End => return Feed::Done,
                Here::Fatal(cause) => {
                    self.fatal = Some(cause);
                    return Feed::Done;
                }
            };
            self.wanted = usize::try_from(needed).unwrap_or(usize::MAX);
            return Feed::More {
                needed: self.wanted,
            };
        }
    }
}
