//! How a follower comes nearer in bursts, and when the last of them comes.
//!
//! A throttled follower fetches until its rate over 11 windows of a second is above the quota, then waits until the windows
//! have gone by (`ReplicationQuotaManager`): megabytes at once, and nothing for ten seconds. A mean over a window that is not
//! a multiple of that is off by as much as a burst, so bursts are counted: how much one brings, and how far they lie apart.
//!
//! ```text
//!  taken                 ┌──┄ the next one is due a period after this one began
//!        ┌───────────────┘
//!  ──────┘               T0   · now
//! ```

use std::collections::VecDeque;

use super::row::InSyncIn;
use crate::terms::Timestamp;

/// Bursts that are remembered.
const REMEMBERED: usize = 6;
/// Of these the newest tell how much one brings.
const MEASURED: usize = 3;
/// What flows for so long without a break is no burst, in ms.
const FLOWS_MS: i64 = 15_000;
/// How much later than its period a burst may come, in ms, before nothing more is foretold by it.
const LATE_MS: i64 = 5_000;
/// The part of a burst that may be left over and still comes with the one before.
const LEFT_OVER: f64 = 0.05;

/// Looks in a row each of which saw more than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Burst {
    /// The last look before it.
    before: Timestamp,
    /// The first look that saw some of it.
    from: Timestamp,
    /// The last such look.
    to: Timestamp,
    /// What it brought so far.
    amount: u64,
}

impl Burst {
    /// Returns when it began: in the middle of the two looks that it began between, in ms.
    fn began(&self) -> i64 {
        i64::midpoint(self.before.0, self.from.0)
    }
}

/// What a replica has taken, look by look.
#[derive(Debug, Clone, Default)]
pub(super) struct Pace {
    last: Option<(Timestamp, u64)>,
    bursts: VecDeque<Burst>,
}

impl Pace {
    /// Notes how much it has; less than before forgets all, since what was cut says nothing of a rate.
    pub(super) fn note(&mut self, at: Timestamp, value: u64) {
        let Some((before, had)) = self.last.replace((at, value)) else {
            return;
        };
        let Some(amount) = value.checked_sub(had) else {
            self.bursts.clear();
            return;
        };
        match self.bursts.back_mut() {
            _ if amount == 0 => {}
            Some(burst) if burst.to == before => {
                burst.to = at;
                burst.amount += amount;
            }
            _ => self.bursts.push_back(Burst {
                before,
                from: at,
                to: at,
                amount,
            }),
        }
        while self.bursts.len() > REMEMBERED {
            self.bursts.pop_front();
        }
    }

    /// Returns when what flows now began to; `None` if the last look saw nothing new.
    pub(super) fn flows_since(&self) -> Option<Timestamp> {
        let (at, burst) = (self.last?.0, self.bursts.back()?);
        (burst.to == at).then_some(burst.before)
    }

    /// Returns when `left` more is there, by the bursts so far, while `appends` come to it each second; `None` if it does not
    /// come in bursts, or no more.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "an estimate, told in seconds"
    )]
    pub(super) fn ends_in(&self, left: u64, appends: f64, now: Timestamp) -> Option<InSyncIn> {
        let last = self.bursts.back()?;
        let period = self.period()?;
        let is_over = now.0 - last.to.0 > 2 * period + LATE_MS;
        if is_over || last.to.0 - last.before.0 > FLOWS_MS.max(2 * period) {
            return None;
        }
        let goes_on = self.last.is_some_and(|(at, _)| at == last.to);
        // Two bursts between two looks are seen as one, unless they lie far apart.
        let are_apart = period > 3 * (last.from.0 - last.before.0);
        let newest = self.bursts.iter().rev();
        let amounts: Vec<u64> = if are_apart {
            newest.take(MEASURED).map(|burst| burst.amount).collect()
        } else {
            let whole = newest.skip(usize::from(goes_on));
            whole.map(|burst| burst.amount).collect()
        };
        let brings = if are_apart {
            // The first one after a change of the quota brings less.
            amounts.iter().copied().max()? as f64
        } else {
            amounts.iter().sum::<u64>() as f64 / amounts.len() as f64
        };
        let net = brings - appends * period as f64 / 1000.0;
        if net <= 0.0 {
            return Some(InSyncIn::Never);
        }
        let mut left = left as f64;
        if goes_on && are_apart {
            left -= (brings - last.amount as f64).max(0.0);
            if left <= brings * LEFT_OVER {
                return Some(InSyncIn::Seconds(1));
            }
        }
        let bursts = (left / net - LEFT_OVER).ceil().max(1.0) as i64;
        // One that is late is due at any moment.
        let due = (last.began() + period).max(now.0);
        let end = due.saturating_add(period.saturating_mul(bursts - 1));
        let seconds = end.saturating_sub(now.0).max(1).div_euclid(1000) + 1;
        Some(InSyncIn::Seconds(seconds.unsigned_abs()))
    }

    /// Returns how far bursts begin apart, in ms, leaving out gaps that are none of theirs; `None` before there are two.
    fn period(&self) -> Option<i64> {
        let began: Vec<i64> = self.bursts.iter().map(Burst::began).collect();
        let mut gaps: Vec<i64> = began
            .iter()
            .zip(began.iter().skip(1))
            .map(|(one, next)| next - one)
            .collect();
        gaps.sort_unstable();
        let middle = *gaps.get(gaps.len().checked_sub(1)? / 2)?;
        gaps.retain(|gap| (middle / 2..=middle * 2).contains(gap));
        let count = i64::try_from(gaps.len()).ok()?;
        let sum: i64 = gaps.iter().sum();
        sum.checked_div(count).filter(|period| *period > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records behind, second by second, of a follower of Kafka 4.4.0 with `follower.replication.throttled.rate=350000` and
    /// records of 1,000 bytes, by `replicas --wait-in-sync`: (ms, records). It was in sync at 30,673.
    const THROTTLED: [(i64, u64); 34] = [
        (-4000, 11_424),
        (-3000, 9248),
        (-2000, 8928),
        (-1000, 8608),
        (0, 8224),
        (805, 8224),
        (1861, 8224),
        (2867, 8224),
        (3925, 8224),
        (4932, 8224),
        (5990, 8224),
        (6997, 7840),
        (8054, 5728),
        (9131, 5408),
        (10_138, 5088),
        (11_147, 4704),
        (12_155, 4704),
        (13_161, 4704),
        (14_223, 4704),
        (15_236, 4704),
        (16_294, 4704),
        (17_309, 4704),
        (18_318, 4320),
        (19_378, 2208),
        (20_386, 1888),
        (21_398, 1568),
        (22_406, 1568),
        (23_418, 1568),
        (24_476, 1568),
        (25_484, 1568),
        (26_491, 1568),
        (27_501, 1568),
        (28_563, 1184),
        (29_654, 800),
    ];
    const IN_SYNC: i64 = 30_673;

    fn seconds(told: Option<InSyncIn>) -> Option<u64> {
        match told {
            Some(InSyncIn::Seconds(seconds)) => Some(seconds),
            _ => None,
        }
    }

    /// Returns what is told at each look, with what came true, in ms: of every `every`th look alone.
    fn told(every: usize) -> Vec<(i64, i64, u64)> {
        let mut pace = Pace::default();
        let mut all = Vec::new();
        for (at, lag) in THROTTLED.iter().step_by(every) {
            pace.note(Timestamp(*at), 15_000 - lag);
            if *lag <= THROTTLED[0].1 / 2 {
                let told = seconds(pace.ends_in(*lag, 0.0, Timestamp(*at)));
                let told = told.unwrap_or_else(|| panic!("nothing is told at {at}"));
                all.push((i64::try_from(told).unwrap() * 1000, IN_SYNC - at, *lag));
            }
        }
        all
    }

    #[test]
    fn a_throttled_follower_s_end_is_told_within_30_percent_once_half_is_done() {
        // As often as the command looks; and as the pane does, which sees where a burst begins to 3 s.
        for (every, least) in [(1, 3_000), (3, 6_000)] {
            let told = told(every);
            assert!(told.len() > 5);
            for (told, was, lag) in told {
                let may_be = least.max(was * 3 / 10);
                assert!(
                    (told - was).abs() <= may_be,
                    "{told} for {was}, {lag} behind, {every}"
                );
            }
        }
    }

    #[test]
    fn the_end_comes_nearer_between_bursts_too() {
        let told = told(1);
        let between: Vec<i64> = told
            .iter()
            .filter(|(_, _, lag)| *lag == 1568)
            .map(|(told, ..)| *told)
            .collect();
        assert!(
            between.windows(2).all(|pair| pair[1] < pair[0]),
            "{between:?}"
        );
    }

    #[test]
    fn what_flows_without_a_break_is_no_burst() {
        let mut pace = Pace::default();
        for second in 0..40 {
            pace.note(Timestamp(second * 1000), second.unsigned_abs() * 100);
        }
        assert_eq!(pace.ends_in(5000, 0.0, Timestamp(39_000)), None);
        assert_eq!(pace.flows_since(), Some(Timestamp(0)));
        pace.note(Timestamp(40_000), 3900);
        assert_eq!(pace.flows_since(), None);
    }

    #[test]
    fn a_leader_that_appends_more_than_a_burst_brings_is_never_reached() {
        let mut pace = Pace::default();
        for (second, had) in [
            (0, 0),
            (1, 1000),
            (2, 1000),
            (10, 1000),
            (11, 2000),
            (12, 2000),
        ] {
            pace.note(Timestamp(second * 1000), had);
        }
        let at = Timestamp(12_000);
        assert_eq!(pace.ends_in(900, 200.0, at), Some(InSyncIn::Never));
        // 500 a burst are left of 1,000, each 10 s: two more, the next one 8.5 s from now.
        assert_eq!(seconds(pace.ends_in(900, 50.0, at)), Some(19));
        // One that stays away for long tells nothing more.
        assert_eq!(pace.ends_in(900, 50.0, Timestamp(60_000)), None);
    }

    #[test]
    fn a_cut_forgets_the_bursts() {
        let mut pace = Pace::default();
        for (second, had) in [(0, 0), (1, 10), (2, 10), (5, 20), (6, 20), (7, 5)] {
            pace.note(Timestamp(second * 1000), had);
        }
        assert_eq!(pace.ends_in(100, 0.0, Timestamp(7_000)), None);
    }
}
