//! The full pass over a segment: what `LogSegment.recover` would keep, cut and write.

use super::index_builder::{IndexBuilder, IndexError};
use super::parser::{Feed, SegmentLimits, SegmentParser};
use super::producer_event::EpochStart;
use super::producer_events::{MAX_EVENTS, ProducerEvents};
use super::segment_scan::{RebuiltIndex, ScanStop, SegmentScan};
use super::tail_search::TailSearch;
use super::whole_batches::{CHECKED_FROM, covered, split_several, split_whole};
use crate::format::batch::{Frame, FrameEnd, HEADER_UP_TO_MAGIC, frame};
use crate::format::checksum::{crc32, crc32c, crc32c_append, crc32c_each};
use crate::format::compression::Compression;
use crate::format::control_record::ControlError;
use crate::format::legacy_message::LegacyHeader;
use crate::format::offset_index::OffsetEntry;
use crate::format::record_batch::{BatchHeader, HEADER_LEN};
use crate::terms::{LeaderEpoch, Offset, Position, Timestamp};

/// Batches above this size are checked piece by piece, so that a claimed length never becomes one allocation, and that
/// their bytes are still in the processor's cache.
const STREAM_ABOVE: u64 = 256 << 10;
/// Control batches and old messages are read whole, up to this size.
const WHOLE_UP_TO: u64 = 64 << 20;
/// The lowest position of a segment file that an index entry can name no more.
const MAX_SEGMENT_LEN: u64 = i32::MAX as u64;

/// A batch whose checksum is under way.
#[derive(Debug)]
struct OpenBatch {
    header: BatchHeader,
    crc: u32,
    left: u64,
}

#[derive(Debug)]
enum Phase {
    Batches,
    Open(OpenBatch),
    Tail(TailSearch),
    Done,
}

/// Scans one segment; feed it from byte 0.
#[derive(Debug)]
pub struct SegmentScanner {
    base_offset: Offset,
    len: u64,
    file_len: u64,
    /// Where the next batch begins: all before it is good.
    position: u64,
    wanted: u64,
    phase: Phase,
    /// Whether the phase of batches is over; cheaper to ask in the inner loop than the phase.
    ended: bool,
    index: IndexBuilder,
    producers: ProducerEvents,
    stop: ScanStop,
    next_offset: Offset,
    largest_next_offset: Offset,
    producer_end: Option<Offset>,
    batches: u64,
    records: u64,
    epochs: Vec<EpochStart>,
    highest_epoch: LeaderEpoch,
    wrappers: u64,
    tail: Option<super::TailReport>,
}

impl SegmentScanner {
    /// Returns a scanner of a segment's file of `len` bytes.
    pub fn new(base_offset: Offset, len: u64, limits: SegmentLimits) -> Self {
        Self {
            base_offset,
            len,
            file_len: len,
            position: 0,
            wanted: 0,
            phase: Phase::Batches,
            ended: false,
            index: IndexBuilder::new(base_offset, limits),
            producers: ProducerEvents::new(MAX_EVENTS),
            stop: ScanStop::EndOfFile,
            next_offset: base_offset,
            largest_next_offset: base_offset,
            producer_end: None,
            batches: 0,
            records: 0,
            epochs: Vec::new(),
            highest_epoch: LeaderEpoch(-1),
            wrappers: 0,
            tail: None,
        }
    }

    /// Holds an offset index against the batches; call it before the first byte.
    pub fn check_index(&mut self, entries: Vec<OffsetEntry>) {
        self.index.check(entries);
    }

    /// Returns what the pass said; call it once `feed` returned [`Feed::Done`].
    pub fn finish(mut self) -> SegmentScan {
        let index_fault = self.index.take_fault();
        let largest_timestamp = self.index.largest();
        let (stop, indexes) = match self.index.finish() {
            Ok(indexes) => (self.stop, indexes),
            // The final time entry can fail too; a stop that is worse stays.
            Err(_)
                if matches!(
                    self.stop,
                    ScanStop::Fatal { .. } | ScanStop::OffsetOverflow { .. }
                ) =>
            {
                (self.stop, (Vec::new(), Vec::new()))
            }
            Err(_) => {
                let last_offset = self.next_offset.plus(-1);
                (
                    ScanStop::OffsetsGoBack { last_offset },
                    (Vec::new(), Vec::new()),
                )
            }
        };
        SegmentScan {
            base_offset: self.base_offset,
            file_len: self.file_len,
            valid_up_to: Position(self.position),
            stop,
            next_offset: self.next_offset,
            goes_back: self.next_offset < self.largest_next_offset,
            batches: self.batches,
            records: self.records,
            largest_timestamp,
            offset_index: RebuiltIndex::Bytes(indexes.0),
            time_index: RebuiltIndex::Bytes(indexes.1),
            index_fault,
            epochs: self.epochs,
            producers: self.producers.finish(),
            producer_end: self.producer_end,
            wrappers: self.wrappers,
            tail: self.tail,
        }
    }

    /// Consumes whole batches from the window; returns what is wanted next, or `None` to go on in another phase.
    fn feed_batches(&mut self, window: &[u8], at: &mut usize) -> Option<Feed> {
        loop {
            self.feed_side_by_side(window, at);
            if self.ended {
                return None;
            }
            let rest = window.get(*at..).unwrap_or_default();
            if let Some(batch) = split_whole(rest, self.len - self.position, STREAM_ABOVE)
                && let Some(header) = BatchHeader::decode(batch)
            {
                let computed = crc32c(covered(batch));
                self.on_batch(&header, computed, batch.len() as u64, batch);
                if self.ended {
                    return None;
                }
                *at += batch.len();
                continue;
            }
            let remaining = self.len - self.position;
            if remaining > HEADER_UP_TO_MAGIC as u64 && rest.len() < HEADER_UP_TO_MAGIC {
                return Some(self.want(remaining.min(HEADER_LEN as u64)));
            }
            let frame = match frame(rest, remaining) {
                Ok(frame) => frame,
                Err(end) => {
                    self.end(match end {
                        FrameEnd::EndOfLog if remaining == 0 => ScanStop::EndOfFile,
                        FrameEnd::EndOfLog => ScanStop::Torn,
                        FrameEnd::TooSmall { size } => ScanStop::LengthTooSmall { size },
                    });
                    return None;
                }
            };
            if frame.is_legacy() {
                match self.whole(rest, frame.size, WHOLE_UP_TO) {
                    Ok(message) => self.on_legacy(&frame, message),
                    Err(feed) => return feed,
                }
            } else if let Err(feed) = self.on_frame(&frame, rest) {
                return feed;
            }
            if !matches!(self.phase, Phase::Batches) {
                return None;
            }
            // Every arm above that stays in this phase consumed the whole batch.
            *at += usize::try_from(frame.size).unwrap_or(usize::MAX);
        }
    }

    /// Consumes short batches of magic 2 that lie in the window whole, as long as there are enough: the common case.
    fn feed_side_by_side(&mut self, window: &[u8], at: &mut usize) {
        while let Some(batches) = split_several(
            window.get(*at..).unwrap_or_default(),
            self.len - self.position,
        ) {
            let computed = crc32c_each(batches.map(covered));
            for (batch, computed) in batches.into_iter().zip(computed) {
                let Some(header) = BatchHeader::decode(batch) else {
                    return;
                };
                self.on_batch(&header, computed, batch.len() as u64, batch);
                if self.ended {
                    return;
                }
                *at += batch.len();
            }
        }
    }

    fn on_frame(&mut self, frame: &Frame, rest: &[u8]) -> Result<(), Option<Feed>> {
        if frame.size < HEADER_LEN as u64 {
            self.end(ScanStop::BatchTooShort { size: frame.size });
            return Err(None);
        }
        let Some(header) = BatchHeader::decode(rest) else {
            return Err(Some(self.want(HEADER_LEN as u64)));
        };
        let is_control = header.producer_id.is_some() && header.attributes.is_control();
        if frame.size > STREAM_ABOVE && !is_control {
            self.phase = Phase::Open(OpenBatch {
                header,
                crc: 0,
                left: frame.size,
            });
            return Err(None);
        }
        let batch = self.whole(rest, frame.size, WHOLE_UP_TO)?;
        let computed = crc32c(covered(batch));
        self.on_batch(&header, computed, frame.size, batch);
        Ok(())
    }

    /// Returns the first `size` bytes of `rest`, or what is wanted for that.
    #[inline]
    fn whole<'a>(
        &mut self,
        rest: &'a [u8],
        size: u64,
        limit: u64,
    ) -> Result<&'a [u8], Option<Feed>> {
        if size > limit {
            let cause = format!(
                "a batch of {size} bytes that has to be read whole, above the limit of {limit}"
            );
            self.end(ScanStop::Fatal { cause });
            return Err(None);
        }
        usize::try_from(size)
            .ok()
            .and_then(|size| rest.get(..size))
            .ok_or(())
            .map_err(|()| Some(self.want(size)))
    }

    /// Takes a batch of magic 2 and up; the order of the checks is Kafka's.
    #[expect(
        clippy::inline_always,
        reason = "in the loop over short batches the header's fields then stay in registers"
    )]
    #[inline(always)]
    fn on_batch(&mut self, header: &BatchHeader, computed: u32, size: u64, bytes: &[u8]) {
        if computed != header.crc {
            self.end(ScanStop::CrcMismatch {
                stored: header.crc,
                computed,
            });
            return;
        }
        let last_offset = header.last_offset();
        if !self.index_batch(last_offset, header.max_timestamp) {
            return;
        }
        self.accept(
            size,
            last_offset,
            u64::try_from(header.records_count).unwrap_or(0),
        );
        if header.partition_leader_epoch > self.highest_epoch {
            self.highest_epoch = header.partition_leader_epoch;
            self.epochs.push(EpochStart {
                epoch: header.partition_leader_epoch,
                start_offset: header.base_offset,
            });
        }
        if header.producer_id.is_some() {
            match self.producers.on_batch(header, bytes) {
                Ok(()) => {}
                Err(ControlError::Invalid(cause)) => {
                    self.end(ScanStop::ControlInvalid {
                        cause: cause.to_string(),
                    });
                    return;
                }
                Err(ControlError::Fatal(cause)) => {
                    self.end(ScanStop::Fatal {
                        cause: cause.to_string(),
                    });
                    return;
                }
            }
        }
        self.producer_end = Some(last_offset.plus(1));
    }

    fn on_legacy(&mut self, frame: &Frame, message: &[u8]) {
        let Some(header) = LegacyHeader::decode(message) else {
            self.end(ScanStop::BatchTooShort { size: frame.size });
            return;
        };
        let computed = crc32(message.get(16..).unwrap_or_default());
        if computed != header.crc {
            self.end(ScanStop::CrcMismatch {
                stored: header.crc,
                computed,
            });
            return;
        }
        if !self.index_batch(frame.offset, header.timestamp) {
            return;
        }
        self.wrappers += u64::from(!matches!(header.compression(), Ok(Compression::None)));
        self.accept(frame.size, frame.offset, 1);
    }

    /// Checks a batch's last offset and indexes it; `false` where the scan ends.
    #[inline]
    fn index_batch(&mut self, last_offset: Offset, max_timestamp: Timestamp) -> bool {
        let relative = last_offset.0.wrapping_sub(self.base_offset.0);
        if !(0..=i64::from(i32::MAX)).contains(&relative) {
            self.end(ScanStop::OffsetOverflow { last_offset });
            return false;
        }
        match self
            .index
            .on_batch(self.position, last_offset, max_timestamp)
        {
            Ok(()) => true,
            Err(IndexError::OffsetsGoBack) => {
                self.end(ScanStop::OffsetsGoBack { last_offset });
                false
            }
            Err(IndexError::Full(cause)) => {
                self.end(ScanStop::Fatal { cause });
                false
            }
        }
    }

    #[inline]
    fn accept(&mut self, size: u64, last_offset: Offset, records: u64) {
        self.position += size;
        self.batches += 1;
        self.records += records;
        let next_offset = last_offset.plus(1);
        self.largest_next_offset = self.largest_next_offset.max(next_offset);
        self.next_offset = next_offset;
    }

    /// Adds a piece of a large batch to its checksum.
    fn feed_open(&mut self, mut open: OpenBatch, window: &[u8], at: &mut usize) -> Option<Feed> {
        let size = open.header.size();
        let done = size - open.left;
        let skip = usize::try_from((CHECKED_FROM as u64).saturating_sub(done)).unwrap_or(0);
        let rest = window.get(*at..).unwrap_or_default();
        let piece = rest
            .get(..usize::try_from(open.left).unwrap_or(usize::MAX))
            .unwrap_or(rest);
        open.crc = crc32c_append(open.crc, piece.get(skip..).unwrap_or_default());
        open.left -= piece.len() as u64;
        *at += piece.len();
        if open.left > 0 {
            // `position` stays at the batch's start until it is known to be good.
            let needed = open.left.min(STREAM_ABOVE);
            self.wanted = needed;
            self.phase = Phase::Open(open);
            return Some(Feed::More {
                needed: usize::try_from(needed).unwrap_or(usize::MAX),
            });
        }
        self.phase = Phase::Batches;
        self.on_batch(&open.header, open.crc, size, &[]);
        None
    }

    fn want(&mut self, needed: u64) -> Feed {
        self.wanted = needed;
        Feed::More {
            needed: usize::try_from(needed).unwrap_or(usize::MAX),
        }
    }

    /// Ends the batches here; what follows is searched for good batches where Kafka would cut it.
    #[cold]
    fn end(&mut self, stop: ScanStop) {
        let searches = self.len > self.position
            && !matches!(
                stop,
                ScanStop::EndOfFile | ScanStop::OffsetOverflow { .. } | ScanStop::Fatal { .. }
            );
        self.stop = stop;
        self.ended = true;
        self.phase = if searches {
            Phase::Tail(TailSearch::new(
                self.base_offset,
                Position(self.position),
                self.len,
            ))
        } else {
            Phase::Done
        };
    }
}

impl SegmentParser for SegmentScanner {
    fn position(&self) -> Position {
        match &self.phase {
            Phase::Open(open) => Position(self.position + open.header.size() - open.left),
            Phase::Tail(tail) => tail.position(),
            Phase::Batches | Phase::Done => Position(self.position),
        }
    }

    fn feed(&mut self, window: &[u8]) -> Feed {
        if self.len > MAX_SEGMENT_LEN && matches!(self.phase, Phase::Batches) && self.position == 0
        {
            let cause = format!(
                "the file has {} bytes; a segment has 2147483647 at the most",
                self.len
            );
            self.stop = ScanStop::Fatal { cause };
            self.phase = Phase::Done;
            return Feed::Done;
        }
        if let Phase::Tail(tail) = &mut self.phase {
            let feed = tail.feed(window);
            if feed == Feed::Done {
                self.tail = Some(tail.report());
                self.phase = Phase::Done;
            }
            return feed;
        }
        if (window.len() as u64) < self.wanted {
            // The file is shorter than it was listed.
            self.len = self.position().0 + window.len() as u64;
            if matches!(self.phase, Phase::Open(_)) {
                self.end(ScanStop::Torn);
            }
        }
        self.wanted = 0;
        let mut at = 0;
        loop {
            let feed = match std::mem::replace(&mut self.phase, Phase::Batches) {
                Phase::Batches => self.feed_batches(window, &mut at),
                Phase::Open(open) => self.feed_open(open, window, &mut at),
                Phase::Tail(tail) => {
                    // It begins at another place than this window's rest.
                    let needed = tail.first_need();
                    self.phase = Phase::Tail(tail);
                    Some(Feed::More { needed })
                }
                Phase::Done => {
                    self.phase = Phase::Done;
                    Some(Feed::Done)
                }
            };
            if let Some(feed) = feed {
                return feed;
            }
        }
    }
}
