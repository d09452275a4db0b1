//! Which records of a log count: not those of transactions that were aborted or are open.

use std::collections::{BTreeMap, BTreeSet};

use super::content::InternalRecord;
use crate::format::record::Record;
use crate::format::txn_index::AbortedTxn;
use crate::terms::{Offset, ProducerId, Timestamp};

/// Bytes of records that wait for their transaction's end; a transaction of commits has a few hundred.
const MAX_WAITING: usize = 64 << 20;

/// A record that waits.
struct Waiting {
    offset: Offset,
    timestamp: Timestamp,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

/// The transactions of a log under reading, front to back.
pub(super) struct Transactions {
    /// Those that the log's transaction indexes name.
    aborted: Vec<AbortedTxn>,
    /// The first offsets of those that a broker names; each ends with its marker.
    aborting: BTreeMap<ProducerId, BTreeSet<Offset>>,
    /// Below it the cleaner has been: what is left there was committed, and its marker may be gone.
    first_dirty: Offset,
    waiting: BTreeMap<ProducerId, Vec<Waiting>>,
    waiting_bytes: usize,
    dropped: u64,
}

impl Transactions {
    /// Returns those of a log with these indexes, which the cleaner has cleaned up to `first_dirty`, exclusive.
    pub(super) fn new(mut aborted: Vec<AbortedTxn>, first_dirty: Offset) -> Self {
        aborted.sort_unstable_by_key(|it| (it.producer_id, it.last_offset));
        Self {
            aborted,
            aborting: BTreeMap::new(),
            first_dirty,
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            dropped: 0,
        }
    }

    /// Returns those of a log that a broker hands out up to its last stable offset: what it does not call aborted counts.
    pub(super) fn told_by_broker() -> Self {
        Self::new(vec![], Offset(i64::MAX))
    }

    /// Takes a transaction that the broker calls aborted, before its records come.
    pub(super) fn is_to_abort(&mut self, producer: ProducerId, first_offset: Offset) {
        self.aborting
            .entry(producer)
            .or_default()
            .insert(first_offset);
    }

    /// Takes a record of a transactional batch; returns whether it counts at once.
    pub(super) fn on_record(&mut self, producer: ProducerId, record: &Record<'_>) -> bool {
        if self.is_aborted(producer, record.offset) {
            return false;
        }
        if record.offset < self.first_dirty {
            return true;
        }
        let key = record.key.unwrap_or_default().to_vec();
        let value = record.value.map(<[u8]>::to_vec);
        self.waiting_bytes += key.len() + value.as_ref().map_or(0, Vec::len) + 64;
        if self.waiting_bytes > MAX_WAITING {
            self.dropped += 1;
            return false;
        }
        self.waiting.entry(producer).or_default().push(Waiting {
            offset: record.offset,
            timestamp: record.timestamp,
            key,
            value,
        });
        false
    }

    /// Ends a transaction: at a commit, and at an abort that an index describes, what still waits of it counts.
    pub(super) fn on_marker(
        &mut self,
        producer: ProducerId,
        marker: Offset,
        commit: bool,
        on_record: &mut dyn FnMut(&InternalRecord<'_>),
    ) {
        if let Some(first_offsets) = self.aborting.get_mut(&producer) {
            *first_offsets = first_offsets.split_off(&marker);
        }
        let waiting = self.waiting.remove(&producer).unwrap_or_default();
        let described = || {
            self.aborted
                .binary_search_by_key(&(producer, marker), |it| (it.producer_id, it.last_offset))
                .is_ok()
        };
        let counts = commit || described();
        for record in waiting {
            let bytes = record.key.len() + record.value.as_ref().map_or(0, Vec::len) + 64;
            self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes);
            if counts {
                on_record(&InternalRecord {
                    offset: record.offset,
                    timestamp: record.timestamp,
                    key: &record.key,
                    value: record.value.as_deref(),
                });
            }
        }
    }

    /// Returns how many records were given up because too many waited.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    fn is_aborted(&self, producer: ProducerId, offset: Offset) -> bool {
        let aborting = self.aborting.get(&producer).and_then(BTreeSet::first);
        if aborting.is_some_and(|first| *first <= offset) {
            return true;
        }
        let from = self
            .aborted
            .partition_point(|it| (it.producer_id, it.last_offset) < (producer, offset));
        self.aborted
            .get(from)
            .is_some_and(|it| it.producer_id == producer && it.first_offset <= offset)
    }
}
