//! Picks what goes.

use std::collections::BTreeMap;

use super::{CleanupWish, DeletionCost, FreeableLog, Leftover, LeftoverProof};
use crate::log::UsageKind;
use crate::terms::Timestamp;

/// One thing that goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanupChoice {
    /// The leftover of this number.
    Leftover(usize),
    /// The oldest segments of the log of this number.
    Segments {
        /// Which log.
        log: usize,
        /// How many of its segments, those of cheaper choices among them.
        count: usize,
        /// What they cost.
        cost: DeletionCost,
        /// Bytes that this choice frees.
        freed: u64,
    },
}

/// What goes, from what costs nothing on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CleanupPlan {
    /// In the order in which it was chosen.
    pub choices: Vec<CleanupChoice>,
    /// Bytes that become free.
    pub freed: u64,
    /// Bytes that were asked for and cannot be freed.
    pub missing: u64,
}

impl CleanupPlan {
    /// Returns how many of each log's oldest segments go, and what the dearest of them cost, by the log's number.
    pub fn segments(&self) -> BTreeMap<usize, (usize, DeletionCost)> {
        let mut by_log: BTreeMap<usize, (usize, DeletionCost)> = BTreeMap::new();
        for choice in &self.choices {
            if let CleanupChoice::Segments {
                log, count, cost, ..
            } = choice
            {
                let of_log = by_log.entry(*log).or_insert((0, *cost));
                *of_log = (of_log.0.max(*count), of_log.1.max(*cost));
            }
        }
        by_log
    }
}

/// Picks what goes for `wish`: the cheapest first, of equals the largest leftover and the oldest segment first; stops once
/// enough is chosen.
pub fn plan_cleanup(
    wish: CleanupWish,
    leftovers: &[Leftover],
    logs: &[FreeableLog],
) -> CleanupPlan {
    let mut plan = CleanupPlan::default();
    let wanted = match wish {
        CleanupWish::Free(bytes) => bytes,
        CleanupWish::Leftovers | CleanupWish::Strays | CleanupWish::PastRetention => u64::MAX,
    };
    let is_asked = |leftover: &Leftover| {
        let is_stray = leftover.kind == UsageKind::StrayDirs;
        let is_meant = is_stray == (wish == CleanupWish::Strays);
        leftover.proof == LeftoverProof::Proved && is_meant && wish != CleanupWish::PastRetention
    };
    let mut numbers: Vec<usize> = (0..leftovers.len())
        .filter(|number| leftovers.get(*number).is_some_and(is_asked))
        .collect();
    numbers.sort_by_key(|number| {
        leftovers
            .get(*number)
            .map(|of| std::cmp::Reverse(of.allocated))
    });
    for number in numbers {
        if plan.freed >= wanted {
            return plan;
        }
        plan.choices.push(CleanupChoice::Leftover(number));
        plan.freed = plan
            .freed
            .saturating_add(leftovers.get(number).map_or(0, |of| of.allocated));
    }
    if let CleanupWish::Free(_) | CleanupWish::PastRetention = wish {
        take_past_retention(&mut plan, logs, wanted);
        take_oldest(&mut plan, logs, wanted);
        if wish != CleanupWish::PastRetention {
            plan.missing = wanted.saturating_sub(plan.freed);
        }
    }
    plan
}

/// Takes what retention deletes anyway, the log with the most of it first.
fn take_past_retention(plan: &mut CleanupPlan, logs: &[FreeableLog], wanted: u64) {
    let past = |log: &FreeableLog| {
        let segments = log.segments.iter();
        segments
            .take_while(|segment| segment.past_retention)
            .count()
    };
    let freed = |log: &FreeableLog, count: usize| -> u64 {
        log.segments.iter().take(count).map(|of| of.freed).sum()
    };
    let mut numbers: Vec<(u64, usize)> = logs
        .iter()
        .enumerate()
        .map(|(number, log)| (freed(log, past(log)), number))
        .filter(|(bytes, _)| *bytes > 0)
        .collect();
    numbers.sort_by_key(|(bytes, number)| (std::cmp::Reverse(*bytes), *number));
    for (_, number) in numbers {
        if plan.freed >= wanted {
            return;
        }
        let Some(log) = logs.get(number) else {
            continue;
        };
        // No more of it than is needed: what is left goes at the broker's own pace.
        let mut count = 0;
        let mut bytes = 0_u64;
        while count < past(log) && plan.freed.saturating_add(bytes) < wanted {
            count += 1;
            bytes = freed(log, count);
        }
        plan.choices.push(CleanupChoice::Segments {
            log: number,
            count,
            cost: DeletionCost::PastRetention,
            freed: bytes,
        });
        plan.freed = plan.freed.saturating_add(bytes);
    }
}

/// Takes the oldest segments of all logs, one by one. A segment is as young as the youngest before it: only a prefix goes.
fn take_oldest(plan: &mut CleanupPlan, logs: &[FreeableLog], wanted: u64) {
    let taken = plan.segments();
    let mut ages: Vec<(Timestamp, usize, usize)> = Vec::new();
    for (number, log) in logs.iter().enumerate() {
        let first = taken.get(&number).map_or(0, |(count, _)| *count);
        let mut youngest = Timestamp(i64::MIN);
        for (index, segment) in log.segments.iter().enumerate() {
            youngest = youngest.max(segment.largest_timestamp);
            if index >= first {
                ages.push((youngest, number, index));
            }
        }
    }
    ages.sort_unstable();
    let mut by_log: BTreeMap<usize, (usize, u64)> = BTreeMap::new();
    for (_, number, index) in ages {
        if plan.freed >= wanted {
            break;
        }
        let Some(segment) = logs.get(number).and_then(|log| log.segments.get(index)) else {
            continue;
        };
        let of_log = by_log.entry(number).or_default();
        of_log.0 = index + 1;
        of_log.1 = of_log.1.saturating_add(segment.freed);
        plan.freed = plan.freed.saturating_add(segment.freed);
    }
    for (log, (count, freed)) in by_log {
        plan.choices.push(CleanupChoice::Segments {
            log,
            count,
            cost: DeletionCost::Records,
            freed,
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{FreeableSegment, MirrorCopy};
    use super::*;
    use crate::terms::{Offset, TopicPartition};

    fn log(name: &str, segments: &[(i64, u64, bool)]) -> FreeableLog {
        let segments =
            segments
                .iter()
                .zip(0..)
                .map(|((time, freed, past), base)| FreeableSegment {
                    base_offset: Offset(base * 10),
                    next_offset: Offset(base * 10 + 10),
                    bytes: *freed,
                    freed: *freed,
                    largest_timestamp: Timestamp(*time),
                    past_retention: *past,
                });
        FreeableLog {
            log_dir: "/d1".into(),
            dir_name: format!("{name}-0"),
            topic_partition: TopicPartition::new(name, 0),
            log_start_offset: Offset(0),
            log_end_offset: None,
            segments: segments.collect(),
            mirrors: Vec::new(),
            unknown_mirrors: Vec::new(),
        }
    }

    fn leftover(kind: UsageKind, allocated: u64, proof: LeftoverProof) -> Leftover {
        Leftover {
            log_dir: "/d1".into(),
            dir_name: "t-9.x-delete".to_owned(),
            files: Vec::new(),
            kind,
            removes_dir: true,
            allocated,
            log_bytes: allocated,
            proof,
        }
    }

    #[test]
    fn leftovers_go_before_data_and_unproved_ones_stay() {
        let leftovers = [
            leftover(UsageKind::DeleteDirs, 10, LeftoverProof::Proved),
            leftover(UsageKind::DeleteDirs, 30, LeftoverProof::Proved),
            leftover(
                UsageKind::FutureDirs,
                99,
                LeftoverProof::Missing("?".to_owned()),
            ),
            leftover(UsageKind::StrayDirs, 50, LeftoverProof::Proved),
        ];
        let logs = [log("a", &[(1, 5, false)])];
        let choices = |wish| plan_cleanup(wish, &leftovers, &logs).choices;
        let both = vec![CleanupChoice::Leftover(1), CleanupChoice::Leftover(0)];
        assert_eq!(choices(CleanupWish::Leftovers), both);
        assert_eq!(choices(CleanupWish::Strays), [CleanupChoice::Leftover(3)]);
        assert_eq!(choices(CleanupWish::Free(25)), [CleanupChoice::Leftover(1)]);
        let all = plan_cleanup(CleanupWish::Free(44), &leftovers, &logs);
        assert_eq!((all.freed, all.missing, all.choices.len()), (45, 0, 3));
        let more = plan_cleanup(CleanupWish::Free(50), &leftovers, &logs);
        assert_eq!((more.freed, more.missing), (45, 5));
    }

    #[test]
    fn what_retention_takes_anyway_goes_first_then_the_oldest_of_all_logs() {
        let logs = [
            log("a", &[(50, 10, false), (60, 10, false)]),
            log("b", &[(10, 10, true), (20, 10, true), (55, 10, false)]),
            // An old segment behind a young one is as young as that.
            log("c", &[(58, 10, false), (1, 10, false)]),
        ];
        let plan = |bytes| {
            let plan = plan_cleanup(CleanupWish::Free(bytes), &[], &logs);
            let mut of_logs: Vec<(usize, usize)> = Vec::new();
            for (log, (count, _)) in plan.segments() {
                of_logs.push((log, count));
            }
            (plan.freed, of_logs)
        };
        assert_eq!(plan(5), (10, vec![(1, 1)]));
        assert_eq!(plan(20), (20, vec![(1, 2)]));
        assert_eq!(plan(21), (30, vec![(0, 1), (1, 2)]));
        assert_eq!(plan(50), (50, vec![(0, 1), (1, 3), (2, 1)]));
        assert_eq!(plan(60), (60, vec![(0, 1), (1, 3), (2, 2)]));
        assert_eq!(plan(70), (70, vec![(0, 2), (1, 3), (2, 2)]));
        let costs = plan_cleanup(CleanupWish::Free(70), &[], &logs).segments();
        assert_eq!(costs[&1], (3, DeletionCost::Records));
    }

    #[test]
    fn what_a_mirror_may_not_have_is_good_data() {
        let past = || log("a", &[(10, 10, true), (20, 10, true), (55, 10, false)]);
        let west = |copied: Option<i64>| MirrorCopy {
            mirror: "west".to_owned(),
            copied: copied.map(Offset),
            last_sync: None,
        };
        // Segments of ten offsets each.
        for (copied, count, uncopied) in [
            (Some(29), 2, 0),
            (Some(19), 2, 0),
            (Some(18), 1, 1),
            (Some(9), 1, 10),
            (Some(8), 0, 11),
            (None, 0, 20),
        ] {
            let log = past().mirrored_by(vec![west(copied)], vec![]);
            let cheap = log.segments.iter().take_while(|of| of.past_retention);
            assert_eq!(cheap.count(), count, "{copied:?}");
            assert_eq!(log.mirrors[0].uncopied(Offset(0), Offset(20)), uncopied);
            let plan = plan_cleanup(CleanupWish::Free(20), &[], &[log]);
            let (taken, cost) = plan.segments()[&0];
            assert_eq!(taken, 2);
            let want = if count == 2 {
                DeletionCost::PastRetention
            } else {
                DeletionCost::Records
            };
            assert_eq!(cost, want, "{copied:?}");
        }
        let unknown = past().mirrored_by(vec![west(Some(29))], vec!["?".to_owned()]);
        assert!(!unknown.segments.iter().any(|of| of.past_retention));
        // What was deleted before is nobody's loss.
        let mut log = past();
        log.log_start_offset = Offset(7);
        let log = log.mirrored_by(vec![west(Some(6))], vec![]);
        assert_eq!(log.mirrors[0].uncopied(Offset(7), Offset(10)), 3);
        assert!(!log.segments[0].past_retention);
    }

    proptest! {
        #[test]
        fn what_is_asked_for_is_freed_and_the_last_choice_was_needed(
            segments in prop::collection::vec(prop::collection::vec((0..50_i64, 1..20_u64, any::<bool>()), 0..6), 0..5),
            wanted in 0..200_u64,
        ) {
            let logs: Vec<FreeableLog> = segments.iter().map(|of| log("t", of)).collect();
            let all: u64 = segments.iter().flatten().map(|(_, freed, _)| freed).sum();
            let plan = plan_cleanup(CleanupWish::Free(wanted), &[], &logs);
            prop_assert!(plan.freed >= wanted.min(all));
            prop_assert_eq!(plan.missing, wanted.saturating_sub(all));
            // Each choice is a prefix, and without the last segment it would not be enough.
            let counted: u64 = plan.segments().iter().map(|(number, (count, _))| {
                logs[*number].segments[..*count].iter().map(|of| of.freed).sum::<u64>()
            }).sum();
            prop_assert_eq!(counted, plan.freed);
            prop_assert!(plan.freed < wanted + 20);
        }
    }
}
