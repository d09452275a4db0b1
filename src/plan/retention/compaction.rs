//! What the cleaner would take in (`LogCleanerManager.grabFilthiestCompactedLog`, `cleanableOffsets`).

use super::facts::LogFacts;
use super::limits::RetentionLimits;
use super::verdict::RetentionReason;
use crate::terms::{Offset, Timestamp};

/// How far a log is compacted.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what is true of a log at once"
)]
pub struct DirtyPart {
    /// Bytes of the segments before the first dirty offset.
    pub clean_bytes: u64,
    /// Bytes that a run would take in as dirty.
    pub dirty_bytes: u64,
    /// The first offset that no run has taken in.
    pub first_dirty: Offset,
    /// The first offset that a run may not take in.
    pub first_uncleanable: Offset,
    /// What keeps the cleaner from going further.
    pub limited_by: RetentionReason,
    /// Dirty bytes of all, from 0 to 1.
    pub ratio: f64,
    /// Whether it exceeds `min.cleanable.dirty.ratio`, so that the cleaner takes the log when its turn comes.
    pub is_due: bool,
    /// Offsets of the dirty segments: as many keys at most.
    pub dirty_offsets: u64,
    /// Whether one of them spans more offsets than the cleaner's map holds keys: a run may end inside it.
    pub is_dense: bool,
    /// Whether the cleaner wrote its checkpoint long after this log was due, and left it where it was: as it does with one
    /// that it has given up.
    pub is_passed_over: bool,
}

/// How long a log may be due while others are compacted before it counts as passed over, in ms.
const PASSED_OVER_MS: i64 = 3_600_000;

/// What compaction knows of a log.
#[derive(Debug, Clone, Copy)]
pub struct CompactionFacts<'a> {
    /// The log.
    pub log: &'a LogFacts,
    /// Its limits.
    pub limits: &'a RetentionLimits,
    /// The clock.
    pub now: Timestamp,
}

impl CompactionFacts<'_> {
    /// Returns how far the log is compacted; `None` if it has no segment.
    pub fn dirty_part(&self) -> Option<DirtyPart> {
        let segments = &self.log.segments;
        let active = segments.last()?;
        let start = self.log.log_start_offset;
        // A checkpoint before the log's start or behind its active segment is one that Kafka resets.
        let first_dirty = match self.log.cleaner_offset {
            Some(offset) if offset >= start && offset <= active.base_offset => offset,
            _ => start,
        };
        let (first_uncleanable, limited_by) = self.first_uncleanable(first_dirty);
        // Kafka takes whole segments: the one that holds an offset counts from its base on.
        let floor = |offset: Offset| {
            let mut bases = segments.iter().rev().map(|segment| segment.base_offset);
            bases.find(|base| *base <= offset).unwrap_or(offset)
        };
        let limit_base = floor(first_uncleanable.min(active.base_offset));
        let from = floor(first_dirty.min(limit_base));
        let sum = |is_in: &dyn Fn(Offset) -> bool| -> u64 {
            segments
                .iter()
                .filter(|segment| is_in(segment.base_offset))
                .map(|segment| segment.bytes)
                .sum()
        };
        let clean_bytes = sum(&|base| base < first_dirty);
        let dirty_bytes = sum(&|base| base >= from && base < limit_base);
        let ratio = ratio(dirty_bytes, clean_bytes.saturating_add(dirty_bytes));
        let overdue = dirty_bytes > 0 && self.is_overdue(first_dirty, limit_base);
        let is_dirty = ratio > self.limits.min_cleanable_dirty_ratio;
        let is_due = is_dirty || overdue;
        let spans = self.spans(from, limit_base);
        let map = u64::try_from(self.limits.cleaner_map_keys).unwrap_or(0);
        Some(DirtyPart {
            dirty_offsets: spans.iter().sum(),
            is_dense: map > 0 && spans.iter().any(|span| *span > map),
            is_passed_over: is_dirty && self.is_passed_over(from, limit_base),
            clean_bytes,
            dirty_bytes,
            first_dirty,
            first_uncleanable: limit_base,
            limited_by,
            ratio,
            is_due,
        })
    }

    /// Returns how many offsets each dirty segment spans.
    fn spans(&self, from: Offset, limit: Offset) -> Vec<u64> {
        let segments = self.log.segments.iter().enumerate();
        segments
            .filter(|(_, segment)| segment.base_offset >= from && segment.base_offset < limit)
            .filter_map(|(index, segment)| {
                let next = self.log.next_offset(index)?;
                u64::try_from(next.0.saturating_sub(segment.base_offset.0)).ok()
            })
            .collect()
    }

    /// Says whether the cleaner has compacted others of the dir since the youngest dirty record, and long after it.
    fn is_passed_over(&self, from: Offset, limit: Offset) -> bool {
        let segments = self.log.segments.iter();
        let dirty =
            segments.filter(|segment| segment.base_offset >= from && segment.base_offset < limit);
        let youngest = dirty.map(|segment| segment.largest_timestamp).max();
        // The last dirty segment was closed when the active one began, and could be compacted after the lag.
        let lag = self.limits.min_compaction_lag_ms;
        let due = youngest.max(self.log.active_since);
        let due = due.map(|at| Timestamp(at.0.saturating_add(lag)));
        due.zip(self.log.cleaner_written_at)
            .is_some_and(|(due, written)| written.0.saturating_sub(due.0) > PASSED_OVER_MS)
    }

    /// Returns the first offset that may not be compacted, and what decides it.
    fn first_uncleanable(&self, first_dirty: Offset) -> (Offset, RetentionReason) {
        let segments = &self.log.segments;
        let active = segments
            .last()
            .map_or(first_dirty, |active| active.base_offset);
        let mut limit = (active, RetentionReason::Active);
        let mut lower = |offset: Offset, reason| {
            if offset < limit.0 {
                limit = (offset, reason);
            }
        };
        // The last stable offset is the high watermark where no transaction is open.
        if let Some(high_watermark) = self.log.high_watermark.offset() {
            lower(high_watermark, RetentionReason::HighWatermark);
        }
        if let Some(open) = self.log.open_transaction {
            lower(open.first_offset, RetentionReason::OpenTransaction);
        }
        let lag = i128::from(self.limits.min_compaction_lag_ms);
        if lag > 0 {
            let too_young = segments
                .iter()
                .filter(|segment| segment.base_offset >= first_dirty)
                .find(|segment| {
                    i128::from(segment.largest_timestamp.0) > i128::from(self.now.0) - lag
                });
            if let Some(segment) = too_young {
                lower(segment.base_offset, RetentionReason::CompactionLag);
            }
        }
        limit
    }

    /// Says whether a dirty record waits longer than `max.compaction.lag.ms`, as far as segments' times say.
    fn is_overdue(&self, first_dirty: Offset, limit: Offset) -> bool {
        let lag = self.limits.max_compaction_lag_ms;
        let oldest = self
            .log
            .segments
            .iter()
            .filter(|segment| segment.base_offset >= first_dirty && segment.base_offset < limit)
            .map(|segment| segment.largest_timestamp.0)
            .filter(|timestamp| *timestamp > 0)
            .min();
        oldest.is_some_and(|oldest| i128::from(self.now.0) - i128::from(oldest) > i128::from(lag))
    }
}

/// Returns `part` of `whole`, from 0 to 1.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "Kafka divides as doubles too")]
    let ratio = part as f64 / whole as f64;
    ratio
}
