//! Kafka's passes over a log: which prefix of its segments goes, and by which rule.

use super::facts::LogFacts;
use super::limits::RetentionLimits;
use super::verdict::RetentionReason;
use crate::terms::{Offset, Timestamp};

/// Which segments a pass of each rule takes: the oldest `before_start`, then `over_size`, then `expired`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Victims {
    before_start: usize,
    over_size: usize,
    expired: usize,
}

impl Victims {
    /// Returns how many segments go.
    pub(super) fn count(self) -> usize {
        self.before_start + self.over_size + self.expired
    }

    /// Returns the rule by which segment `index` goes.
    pub(super) fn reason(self, index: usize) -> Option<RetentionReason> {
        match index {
            _ if index < self.before_start => Some(RetentionReason::LogStart),
            _ if index < self.before_start + self.over_size => Some(RetentionReason::Size),
            _ if index < self.count() => Some(RetentionReason::Time),
            _ => None,
        }
    }
}

/// One look at a log by one clock.
pub(super) struct Passes<'a> {
    pub(super) log: &'a LogFacts,
    pub(super) limits: &'a RetentionLimits,
    pub(super) now: Timestamp,
    /// Whether the cleaner compacts the log first: sizes are judged afterwards, and nobody knows them yet.
    pub(super) is_compacted_first: bool,
}

impl Passes<'_> {
    /// Runs the passes in Kafka's order; each begins at the first segment that the one before left.
    pub(super) fn run(&self) -> Victims {
        let mut victims = Victims::default();
        if !self.limits.is_visited() {
            return victims;
        }
        victims.before_start = self.take(0, |index| self.is_before_log_start(index));
        if !self.limits.deletes() {
            return victims;
        }
        let first = victims.count();
        let budget = self.budget(first).filter(|_| !self.is_compacted_first);
        if let Some(mut budget) = budget {
            victims.over_size = self.take(first, |index| {
                let bytes = self.bytes(index);
                budget -= bytes;
                budget >= 0
            });
        }
        victims.expired = self.take(victims.count(), |index| self.is_expired(index));
        victims
    }

    /// Returns how many segments from `first` on go by `rule`.
    fn take(&self, first: usize, mut rule: impl FnMut(usize) -> bool) -> usize {
        (first..self.log.segments.len())
            .take_while(|index| {
                self.is_committed(*index)
                    && rule(*index)
                    && !self.is_empty_active(*index)
                    && self.may_leave_local(*index)
            })
            .count()
    }

    /// Returns the bytes above the size limit of the log from segment `first` on; `None` if it has no limit or lies below.
    pub(super) fn budget(&self, first: usize) -> Option<i128> {
        let limit = i128::from(self.limits.retention_bytes);
        let total: i128 = (first..self.log.segments.len())
            .map(|index| self.bytes(index))
            .sum();
        (limit >= 0 && total >= limit).then_some(total - limit)
    }

    fn bytes(&self, index: usize) -> i128 {
        self.log
            .segments
            .get(index)
            .map_or(0, |segment| i128::from(segment.bytes))
    }

    /// Says whether all of a segment lies below the high watermark.
    pub(super) fn is_committed(&self, index: usize) -> bool {
        match (
            self.log.high_watermark.offset(),
            self.log.next_offset(index),
        ) {
            (Some(high_watermark), Some(next)) => high_watermark >= next,
            _ => false,
        }
    }

    /// Says whether the log starts behind a segment; the last one is never before it.
    pub(super) fn is_before_log_start(&self, index: usize) -> bool {
        self.log
            .segments
            .get(index + 1)
            .is_some_and(|next| next.base_offset <= self.log.log_start_offset)
    }

    /// Says whether a segment's youngest record is older than the limit.
    pub(super) fn is_expired(&self, index: usize) -> bool {
        let limit = self.limits.retention_ms;
        limit >= 0
            && self
                .age_ms(index)
                .is_some_and(|age| age > i128::from(limit))
    }

    /// Returns how old a segment's youngest record is; negative for one of the future.
    pub(super) fn age_ms(&self, index: usize) -> Option<i128> {
        let segment = self.log.segments.get(index)?;
        Some(i128::from(self.now.0) - i128::from(segment.largest_timestamp.0))
    }

    fn is_empty_active(&self, index: usize) -> bool {
        index + 1 == self.log.segments.len() && self.bytes(index) == 0
    }

    /// A tiered segment stays until it is copied, of which the disk says nothing, or until the log starts behind it.
    pub(super) fn may_leave_local(&self, index: usize) -> bool {
        !self.limits.tiered || self.is_before_log_start(index)
    }

    /// Returns the log start once `count` segments are gone: the first survivor's base, never lower than it was.
    pub(super) fn log_start_after(&self, count: usize) -> Offset {
        let first = self.log.segments.get(count);
        let base = first
            .map(|segment| segment.base_offset)
            .or(self.log.log_end_offset);
        base.map_or(self.log.log_start_offset, |base| {
            base.max(self.log.log_start_offset)
        })
    }
}
