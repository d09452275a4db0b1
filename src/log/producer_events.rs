//! Gathers what batches say of producers, shortened where Kafka's snapshots cannot tell the difference.

use std::collections::HashMap;

use super::producer_event::{DataRun, Marker, ProducerEvent};
use crate::format::control_record::{ControlError, ControlType, decode_end_txn_marker};
use crate::format::record_batch::BatchHeader;
use crate::terms::ProducerId;

/// How many events of one segment are kept; with more the segment is read again when its producers are needed.
pub(crate) const MAX_EVENTS: usize = 400_000;

/// Producers take turns; their last runs are found without the map.
const RECENT: usize = 64;

/// The events of a segment so far.
#[derive(Debug)]
pub(crate) struct ProducerEvents {
    events: Vec<ProducerEvent>,
    /// Where each producer's open run lies in `events`.
    runs: HashMap<ProducerId, usize>,
    /// The runs of the producers seen last, by the low bits of their ids.
    recent: [Option<(ProducerId, usize)>; RECENT],
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
        // Copies, made where they are needed: the caller's header can then stay in registers.
        if header.attributes.is_control() {
            let header = *header;
            return self.on_control(&header, bytes);
        }
        let recent = self
            .recent
            .get(slot_of(header.producer_id))
            .copied()
            .flatten();
        if let Some((id, index)) = recent
            && id == header.producer_id
            && self.goes_on(index, header)
        {
            return Ok(());
        }
        let header = *header;
        self.on_other_run(&header);
        Ok(())
    }

    /// Lets the batch go on with a run, if it is of the same epoch and kind.
    #[inline]
    fn goes_on(&mut self, index: usize, header: &BatchHeader) -> bool {
        let Some(ProducerEvent::Data(run)) = self.events.get_mut(index) else {
            return false;
        };
        let same = run.producer_epoch == header.producer_epoch
            && run.transactional == header.attributes.is_transactional();
        if same {
            run.last_sequence = header.last_sequence();
            run.last_offset = header.last_offset();
            run.offset_delta = header.last_offset_delta;
            run.timestamp = header.max_timestamp;
        }
        same
    }

    #[inline(never)]
    fn on_other_run(&mut self, header: &BatchHeader) {
        if self.overflowed {
            return;
        }
        let id = header.producer_id;
        let known = self.runs.get(&id).copied();
        let index = known
            .filter(|index| self.goes_on(*index, header))
            .unwrap_or(self.events.len());
        self.runs.insert(id, index);
        self.remember(id, Some(index));
        if index == self.events.len() {
            self.push(ProducerEvent::Data(DataRun {
                producer_id: id,
                producer_epoch: header.producer_epoch,
                first_base_offset: header.base_offset,
                transactional: header.attributes.is_transactional(),
                last_sequence: header.last_sequence(),
                last_offset: header.last_offset(),
                offset_delta: header.last_offset_delta,
                timestamp: header.max_timestamp,
            }));
        }
    }

    fn remember(&mut self, id: ProducerId, run: Option<usize>) {
        if let Some(recent) = self.recent.get_mut(slot_of(id)) {
            *recent = run.map(|run| (id, run));
        }
    }

    #[inline(never)]
    fn on_control(&mut self, header: &BatchHeader, bytes: &[u8]) -> Result<(), ControlError> {
        let id = header.producer_id;
        self.runs.remove(&id);
        self.remember(id, None);
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
            self.recent = [None; RECENT];
            return;
        }
        self.events.push(event);
    }
}

#[inline]
fn slot_of(id: ProducerId) -> usize {
    let [.., low] = id.0.to_be_bytes();
    usize::from(low) % RECENT
}
