//! The verdict on every segment of a log.

use super::compaction::{CompactionFacts, DirtyPart};
use super::facts::LogFacts;
use super::limits::RetentionLimits;
use super::passes::{Passes, Victims};
use super::totals::RetentionTotals;
use super::verdict::{LogRetention, RetentionReason, RetentionVerdict, SegmentRetention};
use crate::terms::Timestamp;

/// How far the outlook goes.
const DAY_MS: i64 = 86_400_000;

/// Judges every segment of a log as a pass of the broker at `now` would.
pub fn plan_retention(log: &LogFacts, limits: &RetentionLimits, now: Timestamp) -> LogRetention {
    let dirty = limits
        .policy
        .compacts()
        .then(|| CompactionFacts { log, limits, now }.dirty_part())
        .flatten();
    let passes = Passes {
        log,
        limits,
        now,
        is_compacted_first: dirty.is_some_and(|dirty| dirty.is_due),
    };
    let victims = passes.run();
    let judge = Judge {
        passes,
        victims,
        dirty,
        blocker: None,
        cumulated: 0,
        budget: 0,
    };
    judge.run()
}

struct Judge<'a> {
    passes: Passes<'a>,
    victims: Victims,
    dirty: Option<DirtyPart>,
    /// Why the first survivor stays, for those behind it.
    blocker: Option<(usize, RetentionReason)>,
    /// Bytes of the segments from the first that the log start left, up to the one at hand.
    cumulated: i128,
    /// Bytes above the size limit, without its guard.
    budget: i128,
}

impl Judge<'_> {
    fn run(mut self) -> LogRetention {
        let Passes {
            log,
            limits,
            now,
            is_compacted_first,
        } = self.passes;
        let count = self.victims.count();
        self.budget = i128::from(log.bytes()) - i128::from(limits.retention_bytes);
        let tomorrow = Passes {
            log,
            limits,
            now: Timestamp(now.0.saturating_add(DAY_MS)),
            is_compacted_first,
        };
        let count_tomorrow = tomorrow.run().count();
        let mut totals = RetentionTotals::default();
        let mut segments = Vec::with_capacity(log.segments.len());
        for (index, segment) in log.segments.iter().enumerate() {
            self.cumulated += i128::from(segment.bytes);
            let judged = self.segment(index);
            totals.add(judged.verdict, segment.freed);
            if index >= count && index < count_tomorrow {
                totals.next_day.add(segment.freed);
            }
            segments.push(judged);
        }
        let rolls = |earlier: i64| {
            let at = |since: Timestamp| since.0.saturating_add(limits.segment_ms);
            let since = log.active_since;
            since.map(|since| Timestamp(at(since).saturating_sub(earlier)))
        };
        let all_go = count > 0 && count == log.segments.len();
        LogRetention {
            segments,
            log_start_offset: self.passes.log_start_after(count),
            rolls_at: if all_go { log.log_end_offset } else { None },
            active_rolls_at: rolls(0),
            active_rolls_from: rolls(limits.most_jitter_ms()),
            dirty: self.dirty,
            totals,
        }
    }

    fn segment(&mut self, index: usize) -> SegmentRetention {
        let over_ms = self.over_ms(index);
        let over_bytes = self.over_bytes();
        let (verdict, reason, held_by) = self.decide(index, over_bytes);
        let by_time = self.passes.is_expired(index);
        let by_size = over_bytes.is_some_and(|over| over >= 0);
        let also = match reason {
            RetentionReason::Size if by_time => Some(RetentionReason::Time),
            RetentionReason::Time if by_size && verdict == RetentionVerdict::Delete => {
                Some(RetentionReason::Size)
            }
            _ => None,
        };
        SegmentRetention {
            verdict,
            reason,
            also,
            over_ms,
            over_bytes,
            changes_at: self.changes_at(index, verdict),
            held_by,
        }
    }

    fn decide(
        &mut self,
        index: usize,
        over_bytes: Option<i64>,
    ) -> (
        RetentionVerdict,
        RetentionReason,
        Option<crate::terms::Offset>,
    ) {
        use RetentionVerdict::{Delete, Held, Keep};
        if let Some(reason) = self.victims.reason(index) {
            return (Delete, reason, None);
        }
        let limits = self.passes.limits;
        if !limits.is_visited() {
            let reason = if limits.cleaner_enabled {
                RetentionReason::CleanerGaveUp
            } else {
                RetentionReason::CleanerOff
            };
            return (Held, reason, None);
        }
        let wanted = self.wanted(index, over_bytes);
        let future = self.is_future(index);
        let (verdict, reason) = match self.blocker {
            None if wanted && !self.passes.is_committed(index) => {
                (Held, RetentionReason::HighWatermark)
            }
            None if wanted && !self.passes.may_leave_local(index) => {
                (Held, RetentionReason::NotUploaded)
            }
            None if future => (Held, RetentionReason::FutureTimestamp),
            Some((_, RetentionReason::FutureTimestamp)) if wanted => {
                (Held, RetentionReason::FutureTimestamp)
            }
            Some(_) if wanted && !self.passes.is_committed(index) => {
                (Held, RetentionReason::HighWatermark)
            }
            Some((_, reason @ RetentionReason::NotUploaded)) if wanted => (Held, reason),
            Some(_) if wanted => (Held, RetentionReason::OlderSegment),
            _ => (Keep, self.keep_reason(index)),
        };
        let held_by = match (self.blocker, verdict) {
            (Some((blocker, _)), Held) if reason != RetentionReason::HighWatermark => {
                self.passes.log.segments.get(blocker)
            }
            _ => None,
        };
        if self.blocker.is_none() {
            self.blocker = Some((index, reason));
        }
        if verdict == Keep
            && let Some(found) = self.by_cleaner(index)
        {
            return (found.0, found.1, None);
        }
        (verdict, reason, held_by.map(|segment| segment.base_offset))
    }

    /// Says whether a rule takes the segment, whatever holds it.
    fn wanted(&self, index: usize, over_bytes: Option<i64>) -> bool {
        let is_active = index + 1 == self.passes.log.segments.len();
        let is_empty = self
            .passes
            .log
            .segments
            .get(index)
            .is_none_or(|segment| segment.bytes == 0);
        let by_size = over_bytes.is_some_and(|over| over >= 0) && !self.passes.is_compacted_first;
        let by_limits = self.passes.limits.deletes() && (self.passes.is_expired(index) || by_size);
        (by_limits || self.passes.is_before_log_start(index)) && !(is_active && is_empty)
    }

    /// Says whether time would take the segment if its youngest record were not of the future.
    fn is_future(&self, index: usize) -> bool {
        self.passes.limits.deletes()
            && self.passes.limits.retention_ms >= 0
            && self.passes.age_ms(index).is_some_and(|age| age < 0)
    }

    fn keep_reason(&self, index: usize) -> RetentionReason {
        let limits = self.passes.limits;
        let is_active = index + 1 == self.passes.log.segments.len();
        let over_size = self
            .passes
            .budget(self.victims.count())
            .is_some_and(|over| over > 0);
        match () {
            () if is_active => RetentionReason::Active,
            () if !limits.deletes() => RetentionReason::Policy,
            () if over_size && index == self.victims.count() => RetentionReason::Size,
            () if limits.retention_ms >= 0 => RetentionReason::Time,
            () if limits.retention_bytes >= 0 => RetentionReason::Size,
            () => RetentionReason::Unlimited,
        }
    }

    /// Returns what the cleaner does with a segment that retention leaves; `None` if it has no business with it.
    fn by_cleaner(&self, index: usize) -> Option<(RetentionVerdict, RetentionReason)> {
        let dirty = self.dirty?;
        let base = self.passes.log.segments.get(index)?.base_offset;
        let is_active = index + 1 == self.passes.log.segments.len();
        let next = self.passes.log.next_offset(index);
        Some(match () {
            () if is_active => (RetentionVerdict::Keep, RetentionReason::Active),
            () if base >= dirty.first_uncleanable => match dirty.limited_by {
                reason @ (RetentionReason::OpenTransaction | RetentionReason::HighWatermark) => {
                    (RetentionVerdict::Held, reason)
                }
                reason => (RetentionVerdict::Keep, reason),
            },
            () if next.is_some_and(|next| next <= dirty.first_dirty) => {
                (RetentionVerdict::Keep, RetentionReason::Compacted)
            }
            () => (RetentionVerdict::Compact, RetentionReason::DirtyRatio),
        })
    }

    fn over_ms(&self, index: usize) -> Option<i64> {
        let limit = self.passes.limits.retention_ms;
        let limited = limit >= 0 && self.passes.limits.deletes();
        let age = self.passes.age_ms(index).filter(|_| limited)?;
        Some(clamp(age - i128::from(limit)))
    }

    fn over_bytes(&self) -> Option<i64> {
        let limited = self.passes.limits.retention_bytes >= 0 && self.passes.limits.deletes();
        limited.then(|| clamp(self.budget - self.cumulated))
    }

    /// Returns when time alone lets a segment go; Kafka wants it strictly older than the limit.
    fn changes_at(&self, index: usize, verdict: RetentionVerdict) -> Option<Timestamp> {
        let limit = self.passes.limits.retention_ms;
        let deletes = self.passes.limits.deletes() && limit >= 0;
        let segment = self.passes.log.segments.get(index)?;
        let at = segment
            .largest_timestamp
            .0
            .saturating_add(limit)
            .saturating_add(1);
        let is_pending = verdict != RetentionVerdict::Delete && at > self.passes.now.0;
        (deletes && is_pending).then_some(Timestamp(at))
    }
}

fn clamp(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::CleanupPolicy;
    use crate::plan::retention::facts::{HighWatermark, LogRole, SegmentFacts, TimeSource};
    use crate::plan::retention::{OpenTransaction, WhatIf};
    use crate::terms::{Offset, ProducerId, TopicPartition};

    const NOW: i64 = 1_700_300_000_000;
    const DAY: i64 = DAY_MS;

    /// A log of segments of 1,000 offsets: bytes and age in ms of each.
    fn log(segments: &[(u64, i64)]) -> LogFacts {
        let segments: Vec<SegmentFacts> = (0..)
            .zip(segments)
            .map(|(number, (bytes, age))| SegmentFacts {
                base_offset: Offset(number * 1000),
                bytes: *bytes,
                allocated: *bytes,
                freed: *bytes + 8,
                largest_timestamp: Timestamp(NOW - age),
                time_source: TimeSource::TimeIndex,
            })
            .collect();
        let end = Offset(i64::try_from(segments.len()).unwrap() * 1000);
        LogFacts {
            log_dir: "/d".into(),
            dir_name: "t-0".to_owned(),
            topic_partition: TopicPartition::new("t", 0),
            role: LogRole::Current,
            segments,
            log_start_offset: Offset(0),
            log_end_offset: Some(end),
            high_watermark: HighWatermark::SoleInSync(end),
            active_since: None,
            cleaner_offset: None,
            cleaner_written_at: None,
            open_transaction: None,
            recovered_from: None,
            leftovers: vec![],
            findings: vec![],
        }
    }

    fn limits(retention_ms: i64, retention_bytes: i64) -> RetentionLimits {
        RetentionLimits {
            retention_ms,
            retention_bytes,
            policy: CleanupPolicy::Delete,
            tiered: false,
            cleaner_enabled: true,
            cleaner_gave_up: false,
            cleaner_map_keys: 1500,
            segment_ms: 7 * DAY,
            segment_jitter_ms: 0,
            min_compaction_lag_ms: 0,
            max_compaction_lag_ms: i64::MAX,
            min_cleanable_dirty_ratio: 0.5,
        }
    }

    fn words(judged: &LogRetention) -> Vec<String> {
        judged
            .segments
            .iter()
            .map(|it| format!("{} {}", it.verdict.name(), it.reason.name()))
            .collect()
    }

    #[test]
    fn a_future_timestamp_holds_all_that_is_newer() {
        let mut log = log(&[(115_100, 3 * DAY); 4]);
        log.segments[1].largest_timestamp = Timestamp(4_102_444_800_000);
        let judged = plan_retention(&log, &limits(DAY, -1), Timestamp(NOW));
        assert_eq!(
            words(&judged),
            [
                "delete time",
                "held future_timestamp",
                "held future_timestamp",
                "held future_timestamp"
            ]
        );
        assert_eq!(judged.segments[2].held_by, Some(Offset(1000)));
        let changes = judged.segments[1].changes_at;
        assert_eq!(changes, Some(Timestamp(4_102_444_800_000 + DAY + 1)));
        assert_eq!(judged.totals.held.segments, 3);
        assert_eq!(judged.totals.delete.bytes, 115_108);
        assert_eq!(judged.log_start_offset, Offset(1000));
    }

    #[test]
    fn size_never_goes_below_its_limit_and_equality_goes() {
        let log = log(&[(1_000_000, 0), (1_000_000, 0), (1_000_000, 0), (800_000, 0)]);
        for (limit, deleted) in [(2_500_000, 1), (2_800_000, 1), (2_800_001, 0), (0, 4)] {
            let judged = plan_retention(&log, &limits(-1, limit), Timestamp(NOW));
            assert_eq!(judged.deleted(), deleted, "{limit}");
        }
        let judged = plan_retention(&log, &limits(-1, 2_500_000), Timestamp(NOW));
        assert_eq!(judged.segments[1].over_bytes, Some(-700_000));
        assert_eq!(words(&judged)[1], "keep size");
        let all = plan_retention(&log, &limits(-1, 0), Timestamp(NOW));
        assert_eq!(all.rolls_at, Some(Offset(4000)));
        assert_eq!(all.log_start_offset, Offset(4000));
    }

    #[test]
    fn nothing_goes_that_is_not_committed_or_of_which_nobody_knows() {
        let mut log = log(&[(115_100, 3 * DAY)]);
        let judge = |log: &LogFacts| words(&plan_retention(log, &limits(DAY, -1), Timestamp(NOW)));
        assert_eq!(judge(&log), ["delete time"]);
        log.high_watermark = HighWatermark::Checkpoint(Offset(500));
        assert_eq!(judge(&log), ["held high_watermark"]);
        log.high_watermark = HighWatermark::Unknown;
        assert_eq!(judge(&log), ["held high_watermark"]);
    }

    #[test]
    fn a_compacted_log_is_the_cleaner_s() {
        let mut log = log(&[(115_100, 3 * DAY); 4]);
        log.cleaner_offset = Some(Offset(1000));
        let mut compact = limits(DAY, -1);
        compact.policy = CleanupPolicy::Compact;
        let judged = plan_retention(&log, &compact, Timestamp(NOW));
        assert_eq!(
            words(&judged),
            [
                "keep compacted",
                "compact dirty_ratio",
                "compact dirty_ratio",
                "keep active"
            ]
        );
        let dirty = judged.dirty.unwrap();
        assert_eq!((dirty.clean_bytes, dirty.dirty_bytes), (115_100, 230_200));
        assert!((dirty.ratio - 0.667).abs() < 0.001 && dirty.is_due);
        log.log_start_offset = Offset(1000);
        let judged = plan_retention(&log, &compact, Timestamp(NOW));
        assert_eq!(words(&judged)[0], "delete log_start");
        log.open_transaction = Some(OpenTransaction {
            producer_id: ProducerId(7),
            first_offset: Offset(2500),
            timestamp: Timestamp(NOW),
        });
        let judged = plan_retention(&log, &compact, Timestamp(NOW));
        assert_eq!(words(&judged)[2], "held open_transaction");
        compact.cleaner_enabled = false;
        let judged = plan_retention(&log, &compact, Timestamp(NOW));
        assert_eq!(words(&judged)[0], "held cleaner_off");
    }

    #[test]
    fn the_cleaner_s_backlog_its_map_and_what_it_passes_over_are_told() {
        let mut log = log(&[(100, 3 * DAY), (100, 3 * DAY), (100, DAY), (100, DAY)]);
        log.segments[2].base_offset = Offset(2600);
        let mut compact = limits(DAY, -1);
        compact.policy = CleanupPolicy::Compact;
        let dirty = |log: &LogFacts| plan_retention(log, &compact, Timestamp(NOW)).dirty.unwrap();
        let found = dirty(&log);
        // 1,000 and 1,600 and 400 offsets; the map holds 1,500 keys.
        assert_eq!((found.dirty_bytes, found.dirty_offsets), (300, 3000));
        assert!(found.is_dense && found.is_due && !found.is_passed_over);
        log.cleaner_offset = Some(Offset(2600));
        assert!(!dirty(&log).is_dense);
        log.cleaner_offset = None;
        for (written, passed_over) in [
            (NOW - DAY + 3_600_000, false),
            (NOW - DAY + 3_600_001, true),
        ] {
            log.cleaner_written_at = Some(Timestamp(written));
            assert_eq!(dirty(&log).is_passed_over, passed_over);
        }
        // It was due only when the next segment began.
        log.active_since = Some(Timestamp(NOW - DAY + 60_000));
        assert!(!dirty(&log).is_passed_over);
    }

    #[test]
    fn what_the_cleaner_gave_up_is_neither_compacted_nor_trimmed() {
        let log = log(&[(100, 3 * DAY); 3]);
        for policy in [CleanupPolicy::Compact, CleanupPolicy::CompactDelete] {
            let mut limits = limits(DAY, -1);
            (limits.policy, limits.cleaner_gave_up) = (policy, true);
            let judged = plan_retention(&log, &limits, Timestamp(NOW));
            assert_eq!(words(&judged), ["held cleaner_gave_up"; 3]);
        }
    }

    #[test]
    fn jitter_lets_a_segment_roll_earlier_but_never_before_it_begins() {
        let mut log = log(&[(100, DAY)]);
        log.active_since = Some(Timestamp(NOW));
        let mut limits = limits(-1, -1);
        for (jitter, earlier) in [(0, 0), (DAY, DAY), (99 * DAY, 7 * DAY)] {
            limits.segment_jitter_ms = jitter;
            let judged = plan_retention(&log, &limits, Timestamp(NOW));
            let at = NOW + 7 * DAY;
            assert_eq!(judged.active_rolls_at, Some(Timestamp(at)));
            assert_eq!(judged.active_rolls_from, Some(Timestamp(at - earlier)));
        }
    }

    #[test]
    fn of_a_tiered_topic_nothing_goes_that_may_not_be_uploaded_but_for_what_lies_before_the_log_start()
     {
        let mut log = log(&[(100, 3 * DAY), (100, 3 * DAY), (100, 3 * DAY), (100, 0)]);
        let mut tiered = limits(DAY, -1);
        tiered.tiered = true;
        let judge = |log: &LogFacts, limits: &RetentionLimits| {
            words(&plan_retention(log, limits, Timestamp(NOW)))
        };
        let held = "held not_uploaded";
        assert_eq!(judge(&log, &tiered), [held, held, held, "keep active"]);
        log.log_start_offset = Offset(2000);
        let starts = "delete log_start";
        assert_eq!(judge(&log, &tiered), [starts, starts, held, "keep active"]);
        // An empty policy deletes nothing, unless the topic is tiered: then the local limits still count.
        tiered.policy = CleanupPolicy::Nothing;
        assert_eq!(judge(&log, &tiered)[2], held);
        tiered.tiered = false;
        assert_eq!(judge(&log, &tiered)[2], "keep policy");
    }

    #[test]
    fn records_wait_for_the_least_lag_and_are_compacted_after_the_most() {
        let log = log(&[(900, 3 * DAY), (900, 2 * DAY), (100, DAY / 2), (100, 0)]);
        let mut compact = limits(-1, -1);
        compact.policy = CleanupPolicy::Compact;
        let dirty =
            |limits: &RetentionLimits| plan_retention(&log, limits, Timestamp(NOW)).dirty.unwrap();
        // Strictly younger than the lag: one that is as old as it may be compacted.
        for (lag, until) in [
            (0, 3000),
            (DAY / 2, 3000),
            (DAY / 2 + 1, 2000),
            (4 * DAY, 0),
        ] {
            compact.min_compaction_lag_ms = lag;
            let found = dirty(&compact);
            assert_eq!(found.first_uncleanable, Offset(until), "{lag}");
            let verdicts = words(&plan_retention(&log, &compact, Timestamp(NOW)));
            let held = verdicts.iter().filter(|it| *it == "keep compaction_lag");
            assert_eq!(
                held.count(),
                usize::try_from((3000 - until) / 1000).unwrap()
            );
        }
        compact.min_compaction_lag_ms = 0;
        let mut log = log.clone();
        log.cleaner_offset = Some(Offset(2000));
        let due = |log: &LogFacts, most: i64| {
            let mut limits = compact;
            limits.max_compaction_lag_ms = most;
            plan_retention(log, &limits, Timestamp(NOW))
                .dirty
                .unwrap()
                .is_due
        };
        // 100 dirty bytes of 1,900 are too few, until they wait for too long.
        assert!(!due(&log, i64::MAX) && !due(&log, DAY / 2));
        assert!(due(&log, DAY / 2 - 1));
        log.cleaner_offset = Some(Offset(3000));
        assert!(!due(&log, 1), "nothing is dirty");
    }

    #[test]
    fn compact_and_delete_deletes_by_time_but_sizes_are_judged_once_it_is_compacted() {
        let log = log(&[(100, 3 * DAY), (100, 3 * DAY), (100, 0), (100, 0)]);
        let mut both = limits(DAY, 250);
        both.policy = CleanupPolicy::CompactDelete;
        let judged = plan_retention(&log, &both, Timestamp(NOW));
        assert_eq!(judged.segments[0].reason, RetentionReason::Time);
        assert_eq!(judged.deleted(), 2);
        both.retention_ms = -1;
        let judged = plan_retention(&log, &both, Timestamp(NOW));
        assert_eq!(words(&judged)[0], "compact dirty_ratio");
    }

    #[test]
    fn other_values_change_verdicts_and_sums() {
        let log = log(&[(100, 3 * DAY), (100, 2 * DAY), (100, DAY), (100, 0)]);
        let limits = limits(7 * DAY, -1);
        let judged = plan_retention(&log, &limits, Timestamp(NOW));
        assert_eq!(judged.deleted(), 0);
        let wish = WhatIf {
            retention_ms: Some(DAY + DAY / 2),
            retention_bytes: None,
        };
        let judged = plan_retention(&log, &limits.what_if(wish), Timestamp(NOW));
        assert_eq!(judged.deleted(), 2);
        assert_eq!(judged.totals.next_day.segments, 1);
        assert_eq!(judged.segments[0].over_ms, Some(DAY + DAY / 2));
        assert_eq!(
            judged.segments[3].changes_at,
            Some(Timestamp(NOW + DAY + DAY / 2 + 1))
        );
    }

    #[test]
    fn an_old_segment_behind_a_young_one_is_held() {
        let log = log(&[(100, 0), (100, 9 * DAY), (100, 0)]);
        let judged = plan_retention(&log, &limits(7 * DAY, -1), Timestamp(NOW));
        assert_eq!(words(&judged)[..2], ["keep time", "held older_segment"]);
        assert_eq!(judged.segments[1].held_by, Some(Offset(0)));
    }
}
