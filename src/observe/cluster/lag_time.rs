//! How far a replica is behind its leader in time, by where the leader's log ended when.

use std::collections::VecDeque;

use crate::terms::{Offset, Timestamp};

/// Points that are kept of one log; with more every second one goes, so that what is far back is coarse.
const MOST_POINTS: usize = 96;

/// Where a log ended when, as far back as it was looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct EndHistory {
    points: VecDeque<(Timestamp, Offset)>,
}

impl EndHistory {
    /// Takes where the log ends. One that was cut begins anew.
    pub(super) fn note(&mut self, at: Timestamp, end: Offset) {
        if self.points.back().is_some_and(|(_, last)| *last > end) {
            self.points.clear();
        }
        // While nothing is appended only the first and the last point say something.
        let last = self.points.len();
        if let Some(before) = last.checked_sub(2).and_then(|place| self.points.get(place))
            && before.1 == end
        {
            self.points.pop_back();
        }
        self.points.push_back((at, end));
        if self.points.len() > MOST_POINTS {
            let mut place = 0;
            let newest = self.points.len() - 1;
            self.points.retain(|_| {
                place += 1;
                place % 2 == 1 || place > newest
            });
        }
    }

    /// Returns when the log ended at `end`, between two looks in proportion; `None` if it was longer already when it was first
    /// looked at, or never as long.
    pub(super) fn ended_at(&self, end: Offset) -> Option<Timestamp> {
        let behind = self.points.partition_point(|(_, of)| *of <= end);
        let (from, first) = self.points.get(behind.checked_sub(1)?)?;
        let (to, last) = self.points.get(behind)?;
        let span = i128::from(last.0 - first.0).max(1);
        let share = i128::from(to.0 - from.0) * i128::from(end.0 - first.0) / span;
        Some(Timestamp(from.0 + i64::try_from(share).unwrap_or(0)))
    }
}

/// Returns the time behind the leader, in ms, and whether it is by ends that were seen. `own` is the replica's end and when it
/// was told, `lag` what it lacks, `appends` what the leader appends a second now.
pub(super) fn lag_ms(
    leader: Option<&EndHistory>,
    own: Option<(Offset, Timestamp)>,
    (lag, appends): (Option<u64>, Option<f64>),
) -> (Option<u64>, bool) {
    let (Some((end, at)), Some(lag)) = (own, lag) else {
        return (None, false);
    };
    if lag == 0 {
        return (Some(0), true);
    }
    if let Some(ended) = leader.and_then(|leader| leader.ended_at(end)) {
        let ms = at.0.saturating_sub(ended.0);
        return (Some(u64::try_from(ms).unwrap_or(0)), true);
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates; it is an estimate"
    )]
    let by_rate = |appends: f64| (lag as f64 * 1000.0 / appends) as u64;
    let appends = appends.filter(|appends| *appends > 0.0);
    (appends.map(by_rate), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(points: &[(i64, i64)]) -> EndHistory {
        let mut history = EndHistory::default();
        for (at, end) in points {
            history.note(Timestamp(*at), Offset(*end));
        }
        history
    }

    #[test]
    fn a_lag_in_time_is_since_the_leader_ended_there() {
        let leader = history(&[(0, 100), (5_000, 600), (10_000, 600), (15_000, 1600)]);
        let of = |end: i64, at: i64| {
            let own = Some((Offset(end), Timestamp(at)));
            let lag = u64::try_from(1600 - end).unwrap();
            lag_ms(Some(&leader), own, (Some(lag), Some(200.0)))
        };
        assert_eq!(of(1600, 15_500), (Some(0), true));
        assert_eq!(of(350, 15_500), (Some(13_000), true));
        // The leader appended nothing for a while: it lacks only what came after that.
        assert_eq!(of(600, 15_500), (Some(5_500), true));
        // From before the first look: as long as the leader takes for as much now.
        assert_eq!(of(0, 15_500), (Some(8_000), false));
    }

    #[test]
    fn nothing_is_guessed_where_nothing_was_seen() {
        let own = Some((Offset(5), Timestamp(0)));
        for appends in [None, Some(0.0)] {
            assert_eq!(lag_ms(None, own, (Some(3), appends)), (None, false));
        }
        assert_eq!(lag_ms(None, None, (None, Some(1.0))), (None, false));
    }

    #[test]
    fn a_long_history_is_bounded_and_a_cut_ends_it() {
        let points: Vec<_> = (0..100_000).map(|s| (s * 1000, s * 10)).collect();
        let long = history(&points);
        assert!(long.points.len() <= MOST_POINTS);
        let ended = long.ended_at(Offset(400_000)).unwrap();
        assert!((ended.0 - 40_000_000).abs() < 10_000, "{ended:?}");
        let cut = history(&[(0, 100), (1_000, 200), (2_000, 50), (3_000, 90)]);
        assert_eq!(cut.ended_at(Offset(100)), None);
        assert_eq!(cut.ended_at(Offset(50)), Some(Timestamp(2_000)));
    }
}
