//! What a segment's batches say of producers, in their order.

use crate::format::leader_epoch_checkpoint::EpochEntry;
use crate::terms::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

/// One thing that changes producer state (`ProducerAppendInfo`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProducerEvent {
    /// One or more data batches of a producer with the same epoch and kind, with no marker of it between them.
    Data(DataRun),
    /// The end of a transaction.
    Marker(Marker),
    /// A control batch that compaction emptied: the producer becomes known, nothing else.
    Emptied(ProducerId),
}

/// Data batches in a row of one producer; only what the last one says is remembered by Kafka's snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataRun {
    /// Whose.
    pub producer_id: ProducerId,
    /// In which epoch.
    pub producer_epoch: ProducerEpoch,
    /// Base offset of the first batch: where its transaction begins, if it begins one.
    pub first_base_offset: Offset,
    /// Whether the batches are transactional.
    pub transactional: bool,
    /// Sequence of the last record of the last batch.
    pub last_sequence: i32,
    /// Offset of the last record of the last batch.
    pub last_offset: Offset,
    /// Last minus base offset of the last batch.
    pub offset_delta: i32,
    /// The last batch's largest timestamp.
    pub timestamp: Timestamp,
}

/// A transaction marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// Whose transaction ends.
    pub producer_id: ProducerId,
    /// In which epoch.
    pub producer_epoch: ProducerEpoch,
    /// The marker batch's base offset.
    pub offset: Offset,
    /// Whether it aborts.
    pub aborts: bool,
    /// The coordinator's epoch.
    pub coordinator_epoch: i32,
    /// The marker record's timestamp.
    pub timestamp: Timestamp,
}

/// An epoch and the base offset of the first batch seen with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochStart {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// The base offset.
    pub start_offset: Offset,
}

impl From<EpochEntry> for EpochStart {
    fn from(entry: EpochEntry) -> Self {
        Self {
            epoch: entry.epoch,
            start_offset: entry.start_offset,
        }
    }
}

impl From<EpochStart> for EpochEntry {
    fn from(start: EpochStart) -> Self {
        Self {
            epoch: start.epoch,
            start_offset: start.start_offset,
        }
    }
}

impl ProducerEvent {
    /// Returns whose event it is.
    pub fn producer_id(&self) -> ProducerId {
        match self {
            Self::Data(run) => run.producer_id,
            Self::Marker(marker) => marker.producer_id,
            Self::Emptied(producer_id) => *producer_id,
        }
    }

    /// Says whether it ends a transaction.
    pub fn is_marker(&self) -> bool {
        matches!(self, Self::Marker(_))
    }

    /// Says whether it is data inside a transaction.
    pub fn is_transactional(&self) -> bool {
        matches!(self, Self::Data(run) if run.transactional)
    }
}
