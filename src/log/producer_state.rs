//! The producers of one log, as Kafka's recovery rebuilds them (`ProducerStateManager`, `ProducerAppendInfo`).

use std::collections::BTreeMap;

use super::java_map::{Insertion, JavaMap};
use super::producer_event::{DataRun, Marker, ProducerEvent};
use crate::format::producer_snapshot::SnapshotEntry;
use crate::format::txn_index::AbortedTxn;
use crate::terms::{Offset, ProducerEpoch, ProducerId, Timestamp};

/// The last data batch of a producer, all that a snapshot keeps of its batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LastBatch {
    last_sequence: i32,
    last_offset: Offset,
    offset_delta: i32,
}

/// What is known of one producer (`ProducerStateEntry`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProducerEntry {
    producer_epoch: ProducerEpoch,
    last_batch: Option<LastBatch>,
    timestamp: Timestamp,
    coordinator_epoch: i32,
    txn_first_offset: Option<Offset>,
}

impl ProducerEntry {
    const NEW: Self = Self {
        producer_epoch: ProducerEpoch(-1),
        last_batch: None,
        timestamp: Timestamp::NONE,
        coordinator_epoch: -1,
        txn_first_offset: None,
    };

    fn set_epoch(&mut self, epoch: ProducerEpoch) {
        if self.producer_epoch != epoch {
            self.last_batch = None;
            self.producer_epoch = epoch;
        }
    }

    /// Takes what a group of batches made of a copy of this entry (`ProducerStateEntry.update`).
    fn merge(&mut self, updated: &Self) {
        self.set_epoch(updated.producer_epoch);
        if updated.last_batch.is_some() {
            self.last_batch = updated.last_batch;
        }
        self.timestamp = updated.timestamp;
        self.coordinator_epoch = updated.coordinator_epoch;
        self.txn_first_offset = updated.txn_first_offset;
    }

    /// Returns the copy that an append works on: all but the batches.
    fn for_append(&self) -> Self {
        Self {
            last_batch: None,
            ..*self
        }
    }
}

/// A transaction that a marker ended.
#[derive(Debug, Clone, Copy)]
struct CompletedTxn {
    producer_id: ProducerId,
    first_offset: Offset,
    last_offset: Offset,
    aborts: bool,
}

/// The producers and open transactions of one log at one offset.
#[derive(Debug, Clone)]
pub struct ProducerState {
    producers: JavaMap<ProducerEntry>,
    open_txns: BTreeMap<Offset, ProducerId>,
}

impl Default for ProducerState {
    fn default() -> Self {
        Self {
            producers: JavaMap::new(Insertion::Put),
            open_txns: BTreeMap::new(),
        }
    }
}

impl ProducerState {
    /// Forgets all producers and transactions (`ProducerStateManager.clearProducerIds`): the order in which later ones are
    /// written still depends on how many there were.
    pub fn clear(&mut self) {
        self.producers.clear();
        self.open_txns.clear();
    }

    /// Adds a snapshot's entries in their order (`ProducerStateManager.loadFromSnapshot`). Entries without an open
    /// transaction that are `expiration_ms` or more older than `now` are left out.
    pub fn load(&mut self, entries: &[SnapshotEntry], now: Timestamp, expiration_ms: i64) {
        for entry in entries {
            let txn_first_offset = entry
                .current_txn_first_offset
                .filter(|offset| offset.0 >= 0);
            let age = now.0.wrapping_sub(entry.timestamp.0);
            if txn_first_offset.is_none() && age >= expiration_ms {
                continue;
            }
            if let Some(offset) = txn_first_offset {
                self.open_txns.insert(offset, entry.producer_id);
            }
            let last_batch = (entry.last_offset.0 >= 0).then_some(LastBatch {
                last_sequence: entry.last_sequence,
                last_offset: entry.last_offset,
                offset_delta: entry.offset_delta,
            });
            self.producers.insert(
                entry.producer_id.0,
                ProducerEntry {
                    producer_epoch: entry.producer_epoch,
                    last_batch,
                    timestamp: entry.timestamp,
                    coordinator_epoch: entry.coordinator_epoch,
                    txn_first_offset,
                },
            );
        }
    }

    /// Returns the entries of a snapshot of this state, in the order in which Kafka writes them.
    pub fn snapshot(&self) -> Vec<SnapshotEntry> {
        self.producers
            .iter()
            .map(|(producer_id, entry)| SnapshotEntry {
                producer_id: ProducerId(producer_id),
                producer_epoch: entry.producer_epoch,
                last_sequence: entry.last_batch.map_or(-1, |batch| batch.last_sequence),
                last_offset: entry
                    .last_batch
                    .map_or(Offset(-1), |batch| batch.last_offset),
                offset_delta: entry.last_batch.map_or(0, |batch| batch.offset_delta),
                timestamp: entry.timestamp,
                coordinator_epoch: entry.coordinator_epoch,
                current_txn_first_offset: entry.txn_first_offset,
            })
            .collect()
    }

    /// Returns how many producers are known.
    pub fn len(&self) -> usize {
        self.producers.len()
    }

    /// Says whether no producer is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many transactions are open.
    pub fn open_transactions(&self) -> usize {
        self.open_txns.len()
    }

    /// Returns the first offset of the oldest open transaction.
    pub fn first_undecided_offset(&self) -> Option<Offset> {
        self.open_txns.keys().next().copied()
    }

    /// Applies one event as recovery does, batch by batch; an abort that ends a transaction goes to `aborted`.
    ///
    /// # Errors
    /// The text of what Kafka dies of: data outside the producer's open transaction.
    pub fn apply(
        &mut self,
        event: &ProducerEvent,
        aborted: &mut Vec<AbortedTxn>,
    ) -> Result<(), String> {
        let id = event.producer_id();
        let known = self.producers.get(id.0).copied();
        let mut updated = known.unwrap_or(ProducerEntry::NEW).for_append();
        let mut started = Vec::new();
        let completed = append(&mut updated, event, &mut started)?;
        self.merge(id, &updated);
        self.open_txns
            .extend(started.into_iter().map(|offset| (offset, id)));
        let Some(completed) = completed else {
            return Ok(());
        };
        if completed.aborts {
            let last_stable_offset = self.last_stable_offset(&completed);
            aborted.push(AbortedTxn {
                version: 0,
                producer_id: id,
                first_offset: completed.first_offset,
                last_offset: completed.last_offset,
                last_stable_offset,
            });
        }
        self.complete(&completed)
    }

    /// Applies the events of one segment as the rebuild scan does: gathered by producer, then merged in the order of
    /// a second map.
    ///
    /// # Errors
    /// The text of what Kafka dies of: data outside the producer's open transaction.
    pub fn apply_group(&mut self, events: &[ProducerEvent]) -> Result<(), String> {
        let mut updates: JavaMap<(ProducerEntry, Vec<Offset>)> =
            JavaMap::new(Insertion::ComputeIfAbsent);
        let mut completed = Vec::new();
        for event in events {
            let id = event.producer_id();
            if updates.get(id.0).is_none() {
                let known = self.producers.get(id.0).copied();
                updates.insert(
                    id.0,
                    (known.unwrap_or(ProducerEntry::NEW).for_append(), Vec::new()),
                );
            }
            if let Some((updated, started)) = updates.get_mut(id.0) {
                completed.extend(append(updated, event, started)?);
            }
        }
        for (id, (updated, started)) in updates.iter() {
            self.merge(ProducerId(id), updated);
            self.open_txns
                .extend(started.iter().map(|offset| (*offset, ProducerId(id))));
        }
        completed.iter().try_for_each(|txn| self.complete(txn))
    }

    fn merge(&mut self, id: ProducerId, updated: &ProducerEntry) {
        match self.producers.get_mut(id.0) {
            Some(entry) => entry.merge(updated),
            None => self.producers.insert(id.0, *updated),
        }
    }

    fn last_stable_offset(&self, completed: &CompletedTxn) -> Offset {
        self.open_txns
            .iter()
            .find(|(_, id)| **id != completed.producer_id)
            .map_or(completed.last_offset.plus(1), |(first_offset, _)| {
                *first_offset
            })
    }

    fn complete(&mut self, completed: &CompletedTxn) -> Result<(), String> {
        self.open_txns.remove(&completed.first_offset).map(drop).ok_or_else(|| {
            format!(
                "the marker at offset {} ends a transaction of producer {} from offset {} that is not open",
                completed.last_offset, completed.producer_id, completed.first_offset
            )
        })
    }
}

/// Applies one event to a producer's entry; notes where transactions start, returns the one that it ends.
fn append(
    entry: &mut ProducerEntry,
    event: &ProducerEvent,
    started: &mut Vec<Offset>,
) -> Result<Option<CompletedTxn>, String> {
    match event {
        ProducerEvent::Data(run) => append_data(entry, run, started).map(|()| None),
        ProducerEvent::Marker(marker) => Ok(append_marker(entry, marker)),
        ProducerEvent::Emptied(_) => Ok(None),
    }
}

fn append_data(
    entry: &mut ProducerEntry,
    run: &DataRun,
    started: &mut Vec<Offset>,
) -> Result<(), String> {
    entry.set_epoch(run.producer_epoch);
    entry.last_batch = Some(LastBatch {
        last_sequence: run.last_sequence,
        last_offset: run.last_offset,
        offset_delta: run.offset_delta,
    });
    entry.timestamp = run.timestamp;
    match (entry.txn_first_offset, run.transactional) {
        (Some(first), false) => Err(format!(
            "data of producer {} at offset {} lies outside its transaction, open since offset {first}",
            run.producer_id, run.first_base_offset
        )),
        (None, true) => {
            entry.txn_first_offset = Some(run.first_base_offset);
            started.push(run.first_base_offset);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn append_marker(entry: &mut ProducerEntry, marker: &Marker) -> Option<CompletedTxn> {
    let completed = entry.txn_first_offset.map(|first_offset| CompletedTxn {
        producer_id: marker.producer_id,
        first_offset,
        last_offset: marker.offset,
        aborts: marker.aborts,
    });
    entry.set_epoch(marker.producer_epoch);
    entry.coordinator_epoch = marker.coordinator_epoch;
    entry.txn_first_offset = None;
    entry.timestamp = marker.timestamp;
    completed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(id: i64, offset: i64, transactional: bool) -> ProducerEvent {
        ProducerEvent::Data(DataRun {
            producer_id: ProducerId(id),
            producer_epoch: ProducerEpoch(0),
            first_base_offset: Offset(offset),
            transactional,
            last_sequence: 0,
            last_offset: Offset(offset),
            offset_delta: 0,
            timestamp: Timestamp(offset),
        })
    }

    fn marker(id: i64, offset: i64, aborts: bool) -> ProducerEvent {
        ProducerEvent::Marker(Marker {
            producer_id: ProducerId(id),
            producer_epoch: ProducerEpoch(0),
            offset: Offset(offset),
            aborts,
            coordinator_epoch: 0,
            timestamp: Timestamp(offset),
        })
    }

    // What Kafka's own classes answered (spec of recovery, test vectors).
    #[test]
    fn an_abort_is_indexed_with_the_oldest_open_transaction_of_another_producer() {
        let mut state = ProducerState::default();
        let mut aborted = Vec::new();
        for event in [
            data(5, 10, true),
            data(6, 11, true),
            marker(5, 12, true),
            marker(6, 13, false),
        ] {
            state.apply(&event, &mut aborted).unwrap();
        }
        let entry = |t: &AbortedTxn| {
            (
                t.producer_id.0,
                t.first_offset.0,
                t.last_offset.0,
                t.last_stable_offset.0,
            )
        };
        assert_eq!(
            aborted.iter().map(entry).collect::<Vec<_>>(),
            [(5, 10, 12, 11)]
        );
        assert_eq!(state.first_undecided_offset(), None);
    }

    #[test]
    fn a_producer_known_by_its_marker_alone_has_no_batch() {
        let mut state = ProducerState::default();
        state.apply(&marker(5, 0, true), &mut Vec::new()).unwrap();
        let [entry] = state.snapshot()[..] else {
            panic!("one entry")
        };
        assert_eq!(
            (entry.last_sequence, entry.last_offset, entry.offset_delta),
            (-1, Offset(-1), 0)
        );
    }

    #[test]
    fn data_outside_an_open_transaction_is_fatal() {
        let mut state = ProducerState::default();
        state.apply(&data(5, 0, true), &mut Vec::new()).unwrap();
        assert!(state.apply(&data(5, 1, false), &mut Vec::new()).is_err());
    }

    #[test]
    fn a_producer_exactly_as_old_as_the_expiration_is_dropped() {
        let day = 86_400_000;
        let entry = |timestamp| SnapshotEntry {
            producer_id: ProducerId(1),
            producer_epoch: ProducerEpoch(0),
            last_sequence: 0,
            last_offset: Offset(0),
            offset_delta: 0,
            timestamp: Timestamp(timestamp),
            coordinator_epoch: -1,
            current_txn_first_offset: None,
        };
        let now = Timestamp(1_796_029_200_000);
        let mut state = ProducerState::default();
        state.load(&[entry(now.0 - day)], now, day);
        assert!(state.is_empty());
        state.load(&[entry(now.0 - day + 1)], now, day);
        assert_eq!(state.len(), 1);
    }

    #[test]
    fn the_rebuild_scan_inserts_in_the_order_of_its_own_map() {
        let ids = [17, 1, 33, 16, 32, 48, 0, 5];
        let events: Vec<_> = ids
            .iter()
            .zip(0..)
            .map(|(id, offset)| data(*id, offset, false))
            .collect();
        let order = |state: &ProducerState| {
            state
                .snapshot()
                .iter()
                .map(|e| e.producer_id.0)
                .collect::<Vec<_>>()
        };
        let mut by_batch = ProducerState::default();
        for event in &events {
            by_batch.apply(event, &mut Vec::new()).unwrap();
        }
        assert_eq!(order(&by_batch), [16, 32, 48, 0, 17, 1, 33, 5]);
        let mut by_group = ProducerState::default();
        by_group.apply_group(&events).unwrap();
        assert_eq!(order(&by_group), [0, 48, 32, 16, 33, 1, 17, 5]);
    }
}
