//! What a segment's batches say of producers, read again without checksums (`UnifiedLog.rebuildProducerState`).

use super::header_walk::{Here, here, last_offset};
use super::offset_search::{Lookup, OffsetFinder, OffsetSearch, Step};
use super::parser::{Feed, SegmentParser};
use super::producer_event::ProducerEvent;
use super::producer_events::ProducerEvents;
use crate::format::batch::Frame;
use crate::format::control_record::ControlError;
use crate::format::record_batch::BatchHeader;
use crate::terms::Position;

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

/// What the replay is at.
#[derive(Debug)]
enum Phase {
    /// Looks for the end first, as Kafka does.
    End(OffsetFinder),
    /// Looks for the beginning.
    Begin(OffsetFinder),
    /// Gathers.
    Events,
    Done,
}

/// Gathers the producer events of a segment's batches.
#[derive(Debug)]
pub struct ProducerReplay {
    phase: Phase,
    from: Lookup,
    search: OffsetSearch,
    position: u64,
    len: u64,
    /// Where the last batch that counts ends.
    end: u64,
    wanted: usize,
    events: ProducerEvents,
    fatal: Option<String>,
}

impl ProducerReplay {
    /// Returns a replay of the first `len` bytes of a file: from the batch that holds `from`, up to but without the
    /// batch that holds `to`.
    pub fn new(from: Lookup, to: Option<Lookup>, len: u64, search: OffsetSearch) -> Self {
        let (phase, position) = match to {
            Some(to) => (
                Phase::End(OffsetFinder::new(search, to.offset)),
                to.position.0,
            ),
            None => (
                Phase::Begin(OffsetFinder::new(search, from.offset)),
                from.position.0,
            ),
        };
        Self {
            phase,
            from,
            search,
            position,
            len,
            end: len,
            wanted: 0,
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

    /// Takes one batch; returns how many of its bytes are wanted first, or the cause of Kafka's end.
    fn on_batch(
        &mut self,
        frame: &Frame,
        header: Option<&BatchHeader>,
        rest: &[u8],
    ) -> Result<(), Here> {
        let (Phase::End(finder) | Phase::Begin(finder)) = &mut self.phase else {
            self.gather(frame, header, rest)?;
            self.position += frame.size;
            return Ok(());
        };
        let last = last_offset(frame, header);
        match finder.on_batch(self.position, frame, last, rest) {
            Step::Found(position) => self.found(Some(position)),
            Step::Next => {
                self.position += frame.size;
                Ok(())
            }
            Step::Want(needed) => Err(Here::Want(needed)),
            Step::Fatal(cause) => Err(Here::Fatal(cause)),
        }
    }

    /// Ends a search.
    fn found(&mut self, position: Option<u64>) -> Result<(), Here> {
        match self.phase {
            Phase::End(_) => {
                self.end = position.unwrap_or(self.len);
                self.phase = Phase::Begin(OffsetFinder::new(self.search, self.from.offset));
                self.position = self.from.position.0;
            }
            Phase::Begin(_) => {
                // Nothing holds the offset: nothing is read.
                let begin = position.unwrap_or(self.end);
                if begin > self.end {
                    return Err(Here::Fatal(format!(
                        "the batch of offset {} lies at position {begin}, behind the end of what is read, {}",
                        self.from.offset, self.end
                    )));
                }
                self.phase = Phase::Events;
                self.position = begin;
                self.len = self.end;
            }
            Phase::Events | Phase::Done => self.phase = Phase::Done,
        }
        Ok(())
    }

    fn gather(
        &mut self,
        frame: &Frame,
        header: Option<&BatchHeader>,
        rest: &[u8],
    ) -> Result<(), Here> {
        let Some(header) = header.filter(|header| header.producer_id.is_some()) else {
            return Ok(());
        };
        let mut bytes: &[u8] = &[];
        if header.attributes.is_control() {
            if frame.size > WHOLE_UP_TO {
                return Err(Here::Fatal(format!(
                    "a control batch of {} bytes at position {}",
                    frame.size, self.position
                )));
            }
            bytes = usize::try_from(frame.size)
                .ok()
                .and_then(|size| rest.get(..size))
                .ok_or(Here::Want(frame.size))?;
        }
        self.events.on_batch(header, bytes).map_err(|error| {
            let cause = match error {
                ControlError::Invalid(cause) => cause.to_string(),
                ControlError::Fatal(cause) => cause.to_string(),
            };
            Here::Fatal(format!(
                "{cause} (control batch at position {})",
                self.position
            ))
        })
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
        while !matches!(self.phase, Phase::Done) {
            // A search that ended may have gone back, or far ahead: the next window begins there.
            let rest = self
                .position
                .checked_sub(start)
                .and_then(|at| window.get(usize::try_from(at).ok()?..));
            let Some(rest) = rest else {
                self.wanted = 0;
                return Feed::More { needed: 0 };
            };
            let mut here = here(rest, self.position, self.len);
            if let Here::Batch { frame, header } = &here {
                match self.on_batch(frame, header.as_ref(), rest) {
                    Ok(()) => continue,
                    Err(other) => here = other,
                }
            }
            if matches!(here, Here::End) {
                let last = match &self.phase {
                    Phase::End(finder) | Phase::Begin(finder) => finder.at_end(),
                    Phase::Events | Phase::Done => None,
                };
                match self.found(last) {
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
                Here::Fatal(cause) => self.fatal = Some(cause),
                Here::Batch { .. } | Here::End => {}
            }
            self.phase = Phase::Done;
        }
        Feed::Done
    }
}
