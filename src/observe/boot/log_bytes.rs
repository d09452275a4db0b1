//! What a boot reads of a log, known from names and sizes.

use crate::terms::Offset;

/// The header that a broker reads a second time, of each batch.
const HEADER: f64 = 17.0;
/// Bytes between two entries of an offset index, unless a batch is longer (`index.interval.bytes`).
const INDEX_INTERVAL: f64 = 4096.0;
/// The bytes of a batch around its records.
const BATCH_OVERHEAD: f64 = 61.0;

/// A segment that a boot reads in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentBytes {
    /// Its first offset.
    pub base_offset: Offset,
    /// Its bytes.
    pub bytes: u64,
    /// How often it is read: twice if its index is missing, as that is made while the log is opened.
    pub passes: u64,
}

/// What a boot reads of one log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogBytes {
    /// The log dir, as the broker names it.
    pub dir: String,
    /// The partition dir's name.
    pub name: String,
    /// The segments that it reads in full, ascending.
    pub segments: Vec<SegmentBytes>,
    /// What a broker reads for a byte of them, guessed from their indexes; see [`reads_per_byte`].
    pub reads_per_byte: Option<f64>,
}

impl LogBytes {
    /// Returns the bytes that are to be read, each once.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Returns the bytes that are read, as often as they are.
    pub fn work(&self) -> u64 {
        self.bytes() + self.silent()
    }

    /// Returns the bytes that are read while the log is opened, of which no line tells.
    pub fn silent(&self) -> u64 {
        let again = |segment: &SegmentBytes| segment.bytes * segment.passes.saturating_sub(1);
        self.segments.iter().map(again).sum()
    }

    /// Returns the bytes of the segments before `base_offset`.
    pub fn before(&self, base_offset: Offset) -> u64 {
        let before = |segment: &&SegmentBytes| segment.base_offset < base_offset;
        let before = self.segments.iter().filter(before);
        before.map(|segment| segment.bytes).sum()
    }

    /// Returns the bytes of the segment at `base_offset`; 0 if none begins there.
    pub fn segment(&self, base_offset: Offset) -> u64 {
        let at = |segment: &&SegmentBytes| segment.base_offset == base_offset;
        self.segments
            .iter()
            .find(at)
            .map_or(0, |segment| segment.bytes)
    }
}

/// Guesses what a broker reads for a byte of a segment: each batch, and its first bytes once more.
///
/// `index_entries` tell how long batches are that are longer than the index's interval; of shorter ones only bounds are
/// known: a batch has at least one record, and an entry stands for at least one batch.
pub fn reads_per_byte(bytes: u64, records: u64, index_entries: u64) -> Option<f64> {
    if bytes == 0 || records == 0 || index_entries == 0 {
        return None;
    }
    let bytes = as_float(bytes);
    let (longest, shortest) = (bytes / as_float(index_entries), bytes / as_float(records));
    let batch = if longest > INDEX_INTERVAL * 1.5 {
        longest
    } else {
        // Between one record and the interval: the middle of the two, as ratios go.
        ((shortest + BATCH_OVERHEAD).min(longest) * longest).sqrt()
    };
    Some(1.0 + HEADER / batch.max(BATCH_OVERHEAD))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a ratio; 53 bits are more than enough"
)]
pub(super) fn as_float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean batch sizes and ratios that were measured on 3.9.1 and 4.4.0: 16 KB 1.001, 1 KB 1.016, 170 bytes 1.10.
    #[test]
    fn the_guess_is_near_what_was_measured() {
        let of = |batch: u64, records_in_batch: u64| {
            let bytes = 1_000_000_000;
            let batches = bytes / batch;
            let entries = if batch > 4096 {
                batches
            } else {
                bytes / (4096 + batch)
            };
            reads_per_byte(bytes, batches * records_in_batch, entries).unwrap()
        };
        assert!((of(16_000, 15) - 1.001).abs() < 0.0005);
        assert!((of(1_000, 1) - 1.016).abs() < 0.01);
        assert!((of(170, 1) - 1.10).abs() < 0.09);
        assert_eq!(reads_per_byte(0, 1, 1), None);
        assert_eq!(reads_per_byte(1, 0, 1), None);
    }

    #[test]
    fn a_missing_index_is_work_but_no_bytes() {
        let log = LogBytes {
            dir: "/d".to_owned(),
            name: "a-0".to_owned(),
            segments: [(0, 10, 1), (5, 20, 2)]
                .map(|(base, bytes, passes)| SegmentBytes {
                    base_offset: Offset(base),
                    bytes,
                    passes,
                })
                .to_vec(),
            reads_per_byte: None,
        };
        assert_eq!((log.bytes(), log.silent(), log.work()), (30, 20, 50));
        assert_eq!(
            (
                log.before(Offset(5)),
                log.segment(Offset(5)),
                log.segment(Offset(9))
            ),
            (10, 20, 0)
        );
    }
}
