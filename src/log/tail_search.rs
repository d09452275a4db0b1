//! Looks for good batches behind the place where Kafka would cut a segment.

use super::parser::{Feed, SegmentParser};
use super::segment_scan::{Searched, TailReport};
use crate::format::record_batch::{BatchHeader, HEADER_LEN, MAGIC, crc_matches};
use crate::terms::{Offset, Position};

/// A larger batch is not looked for.
const MAX_BATCH: u64 = 32 << 20;
const MAGIC_AT: usize = 16;

/// Searches one tail, byte by byte; where a good batch is found, from batch to batch.
#[derive(Debug)]
pub(crate) struct TailSearch {
    base_offset: Offset,
    start: u64,
    position: u64,
    len: u64,
    wanted: usize,
    /// Bytes whose checksum may still be computed for candidates that turn out wrong.
    budget: u64,
    report: TailReport,
}

enum Candidate {
    None,
    TooLarge,
    Batch { size: u64, header: BatchHeader },
}

impl TailSearch {
    pub(crate) fn new(base_offset: Offset, start: Position, len: u64) -> Self {
        let bytes = len.saturating_sub(start.0);
        Self {
            base_offset,
            start: start.0,
            position: start.0,
            len,
            wanted: 0,
            budget: bytes.saturating_mul(2).saturating_add(64 << 20),
            report: TailReport {
                bytes,
                all_zero: true,
                ..TailReport::default()
            },
        }
    }

    pub(crate) fn first_need(&self) -> usize {
        usize::try_from(
            self.len
                .saturating_sub(self.position)
                .min(HEADER_LEN as u64),
        )
        .unwrap_or(HEADER_LEN)
    }

    pub(crate) fn report(&self) -> TailReport {
        self.report.clone()
    }

    /// Says what the bytes at the position may be. The bad place itself, at `start`, is no candidate: it was refused.
    fn candidate(&self, bytes: &[u8]) -> Candidate {
        if self.position == self.start {
            return Candidate::None;
        }
        let Some(header) = BatchHeader::decode(bytes) else {
            return Candidate::None;
        };
        let size = header.size();
        let relative = header.base_offset.0.wrapping_sub(self.base_offset.0);
        let plausible = size >= HEADER_LEN as u64
            && size <= self.len - self.position
            && (0..=i64::from(i32::MAX)).contains(&relative)
            && header.last_offset_delta >= 0
            && (0..=i64::from(header.last_offset_delta) + 1)
                .contains(&i64::from(header.records_count))
            && (0..=0x7f).contains(&header.attributes.0)
            && header.partition_leader_epoch.0 >= -1;
        match plausible {
            false => Candidate::None,
            true if size > MAX_BATCH => Candidate::TooLarge,
            true => Candidate::Batch { size, header },
        }
    }

    /// Returns how many bytes can be passed at once because no magic follows them at its place.
    fn before_candidate(bytes: &[u8]) -> usize {
        let end = bytes.len() + 1 - HEADER_LEN;
        bytes
            .get(MAGIC_AT..MAGIC_AT + end)
            .and_then(|magics| {
                magics
                    .iter()
                    .position(|byte| *byte == MAGIC.cast_unsigned())
            })
            .unwrap_or(end)
    }

    fn pass<'a>(&mut self, bytes: &'a [u8], count: usize) -> &'a [u8] {
        let (passed, rest) = bytes.split_at_checked(count).unwrap_or((bytes, &[]));
        self.report.all_zero &= passed.iter().all(|byte| *byte == 0);
        self.position += passed.len() as u64;
        rest
    }

    fn want(&mut self, needed: u64) -> Feed {
        self.wanted = usize::try_from(needed).unwrap_or(usize::MAX);
        Feed::More {
            needed: self.wanted,
        }
    }

    fn on_good(&mut self, header: &BatchHeader, size: u64) {
        if self.report.resync.is_none() {
            self.report.resync = Some((Position(self.position), header.base_offset));
        }
        self.report.good_batches += 1;
        self.report.good_bytes += size;
        self.report.good_records += u64::try_from(header.records_count).unwrap_or(0);
        self.position += size;
    }
}

impl SegmentParser for TailSearch {
    fn position(&self) -> Position {
        Position(self.position)
    }

    fn feed(&mut self, window: &[u8]) -> Feed {
        let shrank = window.len() < self.wanted;
        let mut rest = window;
        loop {
            let left = self.len.saturating_sub(self.position);
            if shrank || left < HEADER_LEN as u64 {
                if !shrank && (rest.len() as u64) < left {
                    return self.want(left);
                }
                self.report.all_zero &= rest.iter().all(|byte| *byte == 0);
                return Feed::Done;
            }
            if rest.len() < HEADER_LEN {
                return self.want(HEADER_LEN as u64);
            }
            let skip = Self::before_candidate(rest);
            if skip > 0 {
                rest = self.pass(rest, skip);
                continue;
            }
            match self.candidate(rest) {
                Candidate::Batch { size, header } => {
                    let Some(batch) = usize::try_from(size).ok().and_then(|size| rest.get(..size))
                    else {
                        return self.want(size);
                    };
                    if crc_matches(batch) {
                        self.on_good(&header, size);
                        self.report.all_zero = false;
                        rest = rest.get(batch.len()..).unwrap_or_default();
                        continue;
                    }
                    if self.budget < size {
                        self.report.searched = Searched::GaveUp;
                        return Feed::Done;
                    }
                    self.budget -= size;
                }
                Candidate::TooLarge => self.report.searched = Searched::GaveUp,
                Candidate::None => {}
            }
            rest = self.pass(rest, 1);
        }
    }
}
