//! The leader-epoch cache of one log (`LeaderEpochFileCache`).

use super::producer_event::EpochStart;
use crate::format::leader_epoch_checkpoint::{self, EpochEntry};
use crate::terms::{LeaderEpoch, Offset};

/// Epochs and where they start, ascending; knows whether Kafka would have written its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeaderEpochs {
    entries: Vec<EpochStart>,
    written: bool,
}

impl LeaderEpochs {
    /// Returns the cache that the file's entries make: each is assigned in turn, so a later line may remove others.
    pub fn new(entries: impl IntoIterator<Item = impl Into<EpochStart>>) -> Self {
        let mut cache = Self::default();
        for entry in entries {
            cache.assign(entry.into());
        }
        cache.written = false;
        cache
    }

    /// Returns the bytes of a checkpoint of the entries.
    pub fn to_checkpoint(&self) -> Vec<u8> {
        let entries: Vec<EpochEntry> = self.entries().iter().copied().map(Into::into).collect();
        leader_epoch_checkpoint::encode(&entries)
    }

    /// Returns the entries, ascending by epoch.
    pub fn entries(&self) -> &[EpochStart] {
        &self.entries
    }

    /// Says whether Kafka wrote the file since it was read, be it with the same entries.
    pub fn is_written(&self) -> bool {
        self.written
    }

    /// Returns the highest epoch.
    pub fn latest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.epoch)
    }

    /// Takes an epoch seen in a recovered batch, if it is higher than all known.
    pub fn on_recovered_batch(&mut self, entry: EpochStart) {
        if entry.epoch.0 >= 0 && self.latest().is_none_or(|latest| entry.epoch > latest) {
            self.assign(entry);
        }
    }

    fn assign(&mut self, entry: EpochStart) {
        let known = self.entries.last();
        if known.is_some_and(|last| {
            last.epoch == entry.epoch && entry.start_offset >= last.start_offset
        }) {
            return;
        }
        while self.entries.last().is_some_and(|last| {
            last.epoch >= entry.epoch || last.start_offset >= entry.start_offset
        }) {
            self.entries.pop();
        }
        self.entries.push(entry);
        self.written = true;
    }

    /// Drops epochs that start at `end` or later (`truncateFromEnd`).
    pub fn truncate_from_end(&mut self, end: Offset) {
        if self
            .entries
            .last()
            .is_some_and(|entry| entry.start_offset >= end)
        {
            while self
                .entries
                .last()
                .is_some_and(|entry| entry.start_offset >= end)
            {
                self.entries.pop();
            }
            self.written = true;
        }
    }

    /// Drops epochs that end before `start`; the one that holds it then starts there (`truncateFromStart`).
    pub fn truncate_from_start(&mut self, start: Offset) {
        let dropped = self
            .entries
            .iter()
            .take_while(|entry| entry.start_offset <= start)
            .count();
        if dropped == 0 {
            return;
        }
        let last = self.entries.drain(..dropped).next_back();
        if let Some(last) = last {
            self.entries.insert(
                0,
                EpochStart {
                    epoch: last.epoch,
                    start_offset: start,
                },
            );
        }
        self.written = true;
    }

    /// Returns where `epoch` ends, exclusive, in a log that ends at `log_end`; `None` if it lies above all that are known
    /// (`endOffsetFor`). Of an epoch that is not known the end is where the next higher one starts.
    pub fn end_offset(&self, epoch: LeaderEpoch, log_end: Offset) -> Option<Offset> {
        if self.latest() == Some(epoch) {
            return Some(log_end);
        }
        let higher = self.entries.iter().find(|entry| entry.epoch > epoch);
        higher.map(|entry| entry.start_offset)
    }

    /// Drops all (`clearAndFlush`).
    pub fn clear(&mut self) {
        self.entries.clear();
        self.written = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: &[(i32, i64)]) -> LeaderEpochs {
        LeaderEpochs::new(
            entries
                .iter()
                .map(|(epoch, start)| start_of(*epoch, *start)),
        )
    }

    fn start_of(epoch: i32, start: i64) -> EpochStart {
        EpochStart {
            epoch: LeaderEpoch(epoch),
            start_offset: Offset(start),
        }
    }

    fn entries(cache: &LeaderEpochs) -> Vec<(i32, i64)> {
        cache
            .entries()
            .iter()
            .map(|e| (e.epoch.0, e.start_offset.0))
            .collect()
    }

    #[test]
    fn a_stale_future_entry_suppresses_the_real_epochs_and_is_cut() {
        let mut epochs = cache(&[(1, 0), (9, 3)]);
        for (epoch, start) in [(1, 0), (2, 1), (4, 2)] {
            epochs.on_recovered_batch(start_of(epoch, start));
        }
        epochs.truncate_from_end(Offset(3));
        assert_eq!(entries(&epochs), [(1, 0)]);
        assert!(epochs.is_written());
    }

    #[test]
    fn a_higher_epoch_removes_what_starts_at_or_behind_it() {
        let mut epochs = cache(&[(1, 0), (4, 166)]);
        epochs.on_recovered_batch(start_of(99, 144));
        assert_eq!(entries(&epochs), [(1, 0), (99, 144)]);
    }

    #[test]
    fn an_epoch_ends_where_the_next_higher_one_starts() {
        let epochs = cache(&[(2, 5), (4, 10), (7, 20)]);
        let end = |epoch| epochs.end_offset(LeaderEpoch(epoch), Offset(30));
        assert_eq!(
            [1, 2, 3, 4, 6, 7].map(end),
            [5, 10, 10, 20, 20, 30].map(|end| Some(Offset(end)))
        );
        assert_eq!(end(8), None);
        assert_eq!(cache(&[]).end_offset(LeaderEpoch(0), Offset(30)), None);
    }

    #[test]
    fn the_epoch_that_holds_the_start_moves_there() {
        let mut epochs = cache(&[(0, 0), (3, 10), (5, 20)]);
        epochs.truncate_from_start(Offset(12));
        assert_eq!(entries(&epochs), [(3, 12), (5, 20)]);
        let mut untouched = cache(&[(3, 10)]);
        untouched.truncate_from_start(Offset(9));
        assert!(!untouched.is_written());
    }
}
