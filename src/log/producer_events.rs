//! Gathers what batches say of producers, shortened where Kafka's snapshots cannot tell the difference.

use std::collections::HashMap;

use super::producer_event::{DataRun, Marker, ProducerEvent};
use crate::format::control_record::{ControlError, ControlType, decode_end_txn_marker};
use crate::format::record_batch::BatchHeader;

/// How many events of one segment are kept; with more the segment is read again when its producers are needed.
pub(crate) const MAX_EVENTS: usize = 400_000;

/// Producers take turns; their last runs are found without the map.
const RECENT: usize = 64;

/// The events of a segment so far.
#[derive(Debug)]
pub(crate) struct ProducerEvents {
    events: Vec<ProducerEvent>,
    /// Where each producer's open run lies in `events`.
    runs: HashMap<i64, usize>,
    /// The runs of the producers seen last, by the low bits of their ids.
    recent: [Option<(i64, usize)>; RECENT],
    limit: usize,
    overflowed: bool,
}

impl ProducerEvents {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            events: Vec::new(),
            runs: HashMap::new(),
            recent: [None; RECENT],
            limit,
            overflowed: false,
        }
    }

    /// Returns the events; `None` if there were more than the limit.
    pub(crate) fn finish(self) -> Option<Vec<ProducerEvent>> {
        (!self.overflowed).then_some(self.events)
    }

    /// Takes a batch whose producer id is set; `bytes` is the whole batch, needed for control batches only.
    #[inline]
    pub(crate) fn on_batch(
        &mut self,
        header: &BatchHeader,
        bytes: &[u8],
    ) -> Result<(), ControlError> {
        if header.attributes.is_control() {
            return self.on_control(header, bytes);
        }
        let run = DataRun {
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            first_base_offset: header.base_offset,
            transactional: header.attributes.is_transactional(),
            last_sequence: header.last_sequence(),
            last_offset: header.last_offset(),
            offset_delta: header.last_offset_delta,
            timestamp: header.max_timestamp,
        };
        self.on_data(run);
        Ok(())
    }

    #[inline]
    fn on_data(&mut self, run: DataRun) {
        if self.overflowed {
            return;
        }
        let id = run.producer_id.0;
        let slot = slot_of(id);
        let index = match self.recent.get(slot) {
            Some(Some((known, index))) if *known == id => Some(*index),
            _ => self.runs.get(&id).copied(),
        };
        if let Some(index) = index
            && let Some(ProducerEvent::Data(known)) = self.events.get_mut(index)
            && known.producer_epoch == run.producer_epoch
            && known.transactional == run.transactional
        {
            *known = DataRun {
                first_base_offset: known.first_base_offset,
                ..run
            };
            self.remember(slot, Some((id, index)));
            return;
        }
        let index = self.events.len();
        self.runs.insert(id, index);
        self.remember(slot, Some((id, index)));
        self.push(ProducerEvent::Data(run));
    }

    #[inline]
    fn remember(&mut self, slot: usize, run: Option<(i64, usize)>) {
        if let Some(recent) = self.recent.get_mut(slot) {
            *recent = run;
        }
    }

    fn on_control(&mut self, header: &BatchHeader, bytes: &[u8]) -> Result<(), ControlError> {
        let id = header.producer_id;
        self.runs.remove(&id.0);
        self.remember(slot_of(id.0), None);
        match decode_end_txn_marker(bytes)? {
            None => self.push(ProducerEvent::Emptied(id)),
            Some(marker) => self.push(ProducerEvent::Marker(Marker {
                producer_id: id,
                producer_epoch: header.producer_epoch,
                offset: header.base_offset,
                aborts: marker.control_type == ControlType::Abort,
                coordinator_epoch: marker.coordinator_epoch,
                timestamp: marker.timestamp,
            })),
        }
        Ok(())
    }

    fn push(&mut self, event: ProducerEvent) {
        if self.overflowed {
            return;
        }
        if self.events.len() == self.limit {
            self.overflowed = true;
            self.events = Vec::new();
            self.runs = HashMap::new();
            return;
        }
        self.events.push(event);
    }
}

#[inline]
fn slot_of(id: i64) -> usize {
    usize::try_from(id.rem_euclid(RECENT as i64)).unwrap_or(0)
}
