//! One segment's bytes, good for any base offset.

use crate::format::record_batch::{BatchHeader, UncheckedBatch};
use crate::log::{Feed, RebuiltIndex, SegmentLimits, SegmentParser as _, SegmentScanner};
use crate::terms::Offset;

/// Where a batch's leader epoch lies, outside of its checksum.
const EPOCH: std::ops::Range<usize> = 12..16;

/// A segment made of real batches, again and again.
#[derive(Debug)]
pub(super) struct Template {
    bytes: Vec<u8>,
    /// Where each batch begins, and its base offset less the segment's.
    batches: Vec<(usize, i64)>,
    /// How many offsets it covers.
    offsets: i64,
    /// Its offset index; entries are relative, so it fits any base offset.
    pub(super) offset_index: Vec<u8>,
    /// Its time index.
    pub(super) time_index: Vec<u8>,
}

impl Template {
    /// Fills a segment of at most `len` bytes with the batches of `source` that belong to no producer; `None` if there is
    /// none that fits.
    pub(super) fn new(source: &[u8], len: usize, limits: SegmentLimits) -> Option<Self> {
        let tape = plain_batches(source);
        let mut this = Self {
            bytes: Vec::with_capacity(len),
            batches: Vec::new(),
            offsets: 0,
            offset_index: Vec::new(),
            time_index: Vec::new(),
        };
        for (header, batch) in tape.iter().cycle() {
            if this.bytes.len() + batch.len() > len {
                break;
            }
            let at = this.bytes.len();
            this.batches.push((at, this.offsets));
            this.bytes.extend_from_slice(batch);
            if let Some(epoch) = this.bytes.get_mut(at + EPOCH.start..at + EPOCH.end) {
                epoch.fill(0);
            }
            this.offsets += i64::from(header.last_offset_delta) + 1;
        }
        (!this.batches.is_empty()).then(|| {
            this.move_to(Offset(0));
            this.add_indexes(limits);
            this
        })
    }

    /// Gives the batches the offsets from `base` on.
    pub(super) fn move_to(&mut self, base: Offset) {
        for (at, relative) in &self.batches {
            let offset = base.plus(*relative).0.to_be_bytes();
            if let Some(field) = self.bytes.get_mut(*at..at + offset.len()) {
                field.copy_from_slice(&offset);
            }
        }
    }

    /// Returns the bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns how many bytes and offsets the whole batches within `most` bytes have.
    pub(super) fn up_to(&self, most: usize) -> (usize, i64) {
        if most >= self.bytes.len() {
            return (self.bytes.len(), self.offsets);
        }
        let cut = self.batches.iter().rfind(|(at, _)| *at <= most);
        cut.copied().unwrap_or((0, 0))
    }

    /// Returns where the batch in the middle of the first `len` bytes begins.
    pub(super) fn middle(&self, len: usize) -> usize {
        let behind = self.batches.iter().find(|(at, _)| *at >= len / 2);
        behind.map_or(0, |(at, _)| *at)
    }

    fn add_indexes(&mut self, limits: SegmentLimits) {
        let mut scanner = SegmentScanner::new(Offset(0), self.bytes.len() as u64, limits);
        loop {
            let from = usize::try_from(scanner.position().0).unwrap_or(usize::MAX);
            match scanner.feed(self.bytes.get(from..).unwrap_or_default()) {
                Feed::More { .. } => {}
                Feed::Done => break,
            }
        }
        let scan = scanner.finish();
        let bytes = |index| match index {
            RebuiltIndex::Bytes(bytes) => bytes,
            RebuiltIndex::OnDisk { .. } | RebuiltIndex::Stored { .. } => Vec::new(),
        };
        self.offset_index = bytes(scan.offset_index);
        self.time_index = bytes(scan.time_index);
    }
}

/// Returns the good data batches without a producer.
fn plain_batches(mut source: &[u8]) -> Vec<(BatchHeader, &[u8])> {
    let mut batches = Vec::new();
    while let Ok((batch, rest)) = UncheckedBatch::split_first(source) {
        source = rest;
        let header = *batch.header();
        let plain = !header.producer_id.is_some() && !header.attributes.is_control();
        if let (true, Ok(batch)) = (plain, batch.check_crc()) {
            batches.push((header, batch.bytes()));
        }
    }
    batches
}
