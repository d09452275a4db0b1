//! What a follower cuts when it meets its leader, before it does (`ReplicaFetcherThread`, `AbstractFetcherThread`).
//!
//! Since 2.7 a follower just fetches from its own end, with its latest epoch; a leader that knows better answers where the
//! logs part. Several rounds may be needed: the follower of a leader that never saw its latest epoch goes back one by one.

use serde::{Deserialize, Serialize};

use crate::log::LeaderEpochs;
use crate::terms::{LeaderEpoch, Offset};

/// A follower's log as it is before it fetches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowerLog {
    /// Its first offset.
    pub log_start: Offset,
    /// Its log end offset, exclusive.
    pub log_end: Offset,
    /// Its leader epochs, without those beyond either end.
    pub epochs: LeaderEpochs,
    /// Its checkpointed high watermark; Kafka takes the log start where there is none.
    pub high_watermark: Option<Offset>,
}

/// The leader's log now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderLog {
    /// Its first offset.
    pub log_start: Offset,
    /// Its log end offset, exclusive.
    pub log_end: Offset,
}

/// What the leader says of an epoch: its largest one at or below it, and where that ends (exclusive); `None` each where it
/// knows none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderAnswer {
    /// The epoch.
    pub epoch: Option<LeaderEpoch>,
    /// Its end.
    pub end: Option<Offset>,
}

/// Why a follower cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutCause {
    /// The leader's log parts from it at the end of an epoch.
    Diverged,
    /// The leader ends before it, and knows its epochs no longer.
    LeaderEndsBefore,
    /// The leader begins behind it: everything goes, and the log starts anew there.
    LeaderStartsBehind,
    /// It knows no epoch: all that lies behind its own high watermark goes.
    HighWatermark,
}

/// What a follower cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruncationForecast {
    /// Where its log ends now.
    pub log_end: Offset,
    /// Where it ends once it has met its leader.
    pub cut_to: Offset,
    /// Records that go, by their offsets; a compacted log has fewer.
    pub records: u64,
    /// How many of these lie below its checkpointed high watermark: they were acknowledged.
    pub acknowledged: u64,
    /// The last epoch that both have; `None` if none was needed, or there is none.
    pub epoch: Option<LeaderEpoch>,
    /// Why; `None` where nothing is cut.
    pub cause: Option<CutCause>,
}

/// The follower's side of the search: says what it asks, takes the answer, ends in a forecast.
#[derive(Debug, Clone)]
pub struct TruncationSearch {
    before: FollowerLog,
    leader: LeaderLog,
    end: Offset,
    epochs: LeaderEpochs,
    cause: Option<CutCause>,
    epoch: Option<LeaderEpoch>,
    done: bool,
}

impl TruncationSearch {
    /// Begins with both logs.
    pub fn new(follower: FollowerLog, leader: LeaderLog) -> Self {
        let mut search = Self {
            end: follower.log_end,
            epochs: follower.epochs.clone(),
            before: follower,
            leader,
            cause: None,
            epoch: None,
            done: false,
        };
        if search.epochs.latest().is_none() {
            let start = search.before.log_start;
            let known = search.before.high_watermark.unwrap_or(start);
            search.cut(known.max(start), CutCause::HighWatermark);
            search.done = true;
        }
        search
    }

    /// Returns the epoch that the leader is asked about next; `None` once the forecast stands.
    pub fn question(&self) -> Option<LeaderEpoch> {
        (!self.done).then(|| self.epochs.latest()).flatten()
    }

    /// Takes the leader's answer to [`TruncationSearch::question`].
    pub fn answer(&mut self, answer: LeaderAnswer) {
        let Some(asked) = self.question() else { return };
        let before = self.end;
        match (answer.epoch, answer.end) {
            (Some(epoch), Some(end)) if self.end >= self.leader.log_start => {
                if epoch >= asked && end >= self.end {
                    self.done = true;
                    return;
                }
                self.cut(self.parting(epoch, end), CutCause::Diverged);
                self.epoch = Some(epoch);
            }
            _ if self.leader.log_end < self.end => {
                self.cut(self.leader.log_end, CutCause::LeaderEndsBefore);
            }
            _ if self.leader.log_start > self.end => {
                self.end = self.before.log_start;
                self.cause = Some(CutCause::LeaderStartsBehind);
                self.done = true;
            }
            _ => self.done = true,
        }
        // Without an epoch left the fetch is not checked any more; a round that cuts nothing would go on for ever.
        self.done |= self.end == before || self.epochs.latest().is_none();
    }

    /// Returns what is cut, as far as the answers tell.
    pub fn forecast(&self) -> TruncationForecast {
        let gone =
            |from: Offset, to: Offset| u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0);
        let high_watermark = self.before.high_watermark.unwrap_or(Offset::ZERO);
        let records = gone(self.end, self.before.log_end);
        TruncationForecast {
            log_end: self.before.log_end,
            cut_to: match self.cause {
                Some(CutCause::LeaderStartsBehind) => self.leader.log_start,
                _ => self.end,
            },
            records,
            acknowledged: gone(self.end, high_watermark.min(self.before.log_end)),
            epoch: self.epoch.filter(|_| records > 0),
            cause: self.cause.filter(|_| records > 0),
        }
    }

    /// Returns where the log parts from a leader whose epoch `epoch` ends at `end`.
    fn parting(&self, epoch: LeaderEpoch, end: Offset) -> Offset {
        let entries = self.epochs.entries();
        let own = entries.iter().rfind(|entry| entry.epoch <= epoch);
        // An epoch below all that are known ends where the first of them starts, and counts as the same.
        let own_epoch = own.map_or(epoch, |entry| entry.epoch);
        let own_end = self.epochs.end_offset(own_epoch, self.end);
        match own_end {
            Some(own_end) if own_epoch == epoch => own_end.min(end).min(self.end),
            Some(own_end) => own_end.min(self.end),
            None => end.min(self.end),
        }
    }

    fn cut(&mut self, to: Offset, cause: CutCause) {
        let to = to.min(self.end).max(self.before.log_start);
        if to < self.end {
            self.end = to;
            self.epochs.truncate_from_end(to);
            self.cause = Some(cause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::EpochStart;

    fn epochs(list: &[(i32, i64)]) -> LeaderEpochs {
        LeaderEpochs::new(list.iter().map(|(epoch, start)| EpochStart {
            epoch: LeaderEpoch(*epoch),
            start_offset: Offset(*start),
        }))
    }

    fn follower(end: i64, list: &[(i32, i64)]) -> FollowerLog {
        FollowerLog {
            log_start: Offset(0),
            log_end: Offset(end),
            epochs: epochs(list),
            high_watermark: Some(Offset(70)),
        }
    }

    /// Plays a leader that ends at `end`; returns the forecast and the epochs that were asked.
    fn meet(
        follower: FollowerLog,
        end: i64,
        start: i64,
        list: &[(i32, i64)],
    ) -> (TruncationForecast, Vec<i32>) {
        let leader = epochs(list);
        let log = LeaderLog {
            log_start: Offset(start),
            log_end: Offset(end),
        };
        let mut search = TruncationSearch::new(follower, log);
        let mut asked = Vec::new();
        while let Some(epoch) = search.question() {
            asked.push(epoch.0);
            assert!(asked.len() < 100, "{asked:?}");
            let known = leader.entries().iter().rfind(|entry| entry.epoch <= epoch);
            let end = leader.end_offset(epoch, Offset(end));
            search.answer(LeaderAnswer {
                epoch: end.map(|_| known.map_or(epoch, |entry| entry.epoch)),
                end,
            });
        }
        (search.forecast(), asked)
    }

    #[test]
    fn a_follower_that_only_lags_cuts_nothing() {
        let (forecast, asked) = meet(
            follower(80, &[(0, 0), (3, 50)]),
            200,
            0,
            &[(0, 0), (3, 50), (4, 90)],
        );
        assert_eq!((forecast.records, forecast.cause), (0, None));
        assert_eq!(forecast.cut_to, Offset(80));
        assert_eq!(asked, [3]);
    }

    #[test]
    fn what_was_never_replicated_goes_to_the_end_of_the_epoch() {
        let (forecast, _) = meet(
            follower(100, &[(0, 0), (3, 50)]),
            200,
            0,
            &[(0, 0), (3, 50), (4, 90)],
        );
        assert_eq!((forecast.records, forecast.cut_to), (10, Offset(90)));
        assert_eq!(forecast.cause, Some(CutCause::Diverged));
        assert_eq!(forecast.epoch, Some(LeaderEpoch(3)));
        assert_eq!(forecast.acknowledged, 0);
    }

    #[test]
    fn an_epoch_that_the_leader_never_saw_is_searched_back() {
        // Each had led alone in turn: the follower in 5 and 3, the leader in 4 and 6.
        let own = [(0, 0), (3, 40), (5, 60)];
        let (forecast, asked) = meet(follower(100, &own), 90, 0, &[(0, 0), (4, 45), (6, 80)]);
        assert_eq!(asked, [5, 3, 0]);
        assert_eq!((forecast.records, forecast.cut_to), (60, Offset(40)));
        assert_eq!(forecast.acknowledged, 30);
        assert_eq!(forecast.epoch, Some(LeaderEpoch(0)));
    }

    #[test]
    fn a_leader_that_lost_its_log_takes_the_follower_s_with_it() {
        let (forecast, _) = meet(follower(100, &[(2, 0)]), 0, 0, &[]);
        assert_eq!((forecast.records, forecast.cut_to), (100, Offset(0)));
        assert_eq!(forecast.cause, Some(CutCause::LeaderEndsBefore));
        assert_eq!(forecast.acknowledged, 70);
    }

    #[test]
    fn a_leader_that_has_deleted_more_makes_the_log_start_anew() {
        let (forecast, _) = meet(follower(100, &[(2, 0)]), 900, 500, &[(2, 500), (3, 600)]);
        assert_eq!((forecast.records, forecast.cut_to), (100, Offset(500)));
        assert_eq!(forecast.cause, Some(CutCause::LeaderStartsBehind));
    }

    #[test]
    fn without_epochs_the_high_watermark_counts() {
        let (forecast, asked) = meet(follower(100, &[]), 900, 0, &[(2, 0)]);
        assert_eq!((forecast.records, forecast.cut_to), (30, Offset(70)));
        assert_eq!(forecast.cause, Some(CutCause::HighWatermark));
        assert!(asked.is_empty());
        let (forecast, _) = meet(follower(0, &[]), 900, 0, &[(2, 0)]);
        assert_eq!((forecast.records, forecast.cause), (0, None));
    }

    proptest::proptest! {
        #[test]
        fn it_ends_and_cuts_within_the_log(
            own in proptest::collection::vec((0..30_i32, 0..100_i64), 0..8),
            its in proptest::collection::vec((0..30_i32, 0..100_i64), 0..8),
            (end, leader_end) in (0..100_i64, 0..100_i64),
        ) {
            let mut log = follower(end, &own);
            log.epochs.truncate_from_end(Offset(end));
            let (forecast, _) = meet(log, leader_end, 0, &its);
            proptest::prop_assert!(forecast.cut_to >= Offset(0) && forecast.cut_to <= Offset(end));
            proptest::prop_assert_eq!(forecast.records, u64::try_from(end - forecast.cut_to.0).unwrap());
        }
    }
}
