//! Batches of a log, as a consumer of committed records sees them.

use super::content::InternalRecord;
use super::transactions::Transactions;
use crate::format::batch::Frame;
use crate::format::control_record::{ControlType, decode_end_txn_marker};
use crate::format::legacy_message;
use crate::format::record::{Records, plain_records};
use crate::format::record_batch::{BatchHeader, HEADER_LEN, crc_matches};
use crate::format::txn_index::AbortedTxn;
use crate::terms::{Offset, ProducerId, Timestamp};

/// The most plain bytes of a batch.
const PLAIN_CAP: usize = 256 << 20;

/// A log under reading, batch by batch, front to back.
pub struct CommittedRecords {
    transactions: Transactions,
    log_end_offset: Option<Offset>,
    newest_timestamp: Option<Timestamp>,
}

impl CommittedRecords {
    /// Returns a log on disk with its transaction indexes; the cleaner has cleaned it up to `first_dirty`, exclusive.
    pub fn on_disk(aborted: Vec<AbortedTxn>, first_dirty: Offset) -> Self {
        Self::of(Transactions::new(aborted, first_dirty))
    }

    /// Returns a log that a broker hands out up to its last stable offset.
    pub fn of_broker() -> Self {
        Self::of(Transactions::told_by_broker())
    }

    fn of(transactions: Transactions) -> Self {
        Self {
            transactions,
            log_end_offset: None,
            newest_timestamp: None,
        }
    }

    /// Takes a transaction that the broker calls aborted, before its records come.
    pub fn is_to_abort(&mut self, producer: ProducerId, first_offset: Offset) {
        self.transactions.is_to_abort(producer, first_offset);
    }

    /// Notes that the log goes on at least to `offset`, exclusive.
    pub fn reaches(&mut self, offset: Offset) {
        self.log_end_offset = self.log_end_offset.max(Some(offset));
    }

    /// Returns the offset behind the last batch.
    pub fn log_end_offset(&self) -> Option<Offset> {
        self.log_end_offset
    }

    /// Returns the largest timestamp of a batch.
    pub fn newest_timestamp(&self) -> Option<Timestamp> {
        self.newest_timestamp
    }

    /// Returns how many records of open transactions were given up because too many waited.
    pub fn dropped(&self) -> u64 {
        self.transactions.dropped()
    }

    /// Takes a whole batch; `on_record` sees each record that counts and has a key.
    ///
    /// # Errors
    ///
    /// What is wrong with the batch; the log goes on behind it.
    pub fn push(
        &mut self,
        framed: Frame,
        batch: &[u8],
        on_record: &mut dyn FnMut(&InternalRecord<'_>),
    ) -> Result<(), String> {
        if framed.is_legacy() {
            self.messages(framed, batch, on_record)
        } else {
            self.batch(batch, on_record)
        }
    }

    /// Takes a batch of magic 2.
    fn batch(
        &mut self,
        batch: &[u8],
        on_record: &mut dyn FnMut(&InternalRecord<'_>),
    ) -> Result<(), String> {
        let (Some(header), Some(payload)) = (BatchHeader::decode(batch), batch.get(HEADER_LEN..))
        else {
            return Err("shorter than its header".to_owned());
        };
        if !crc_matches(batch) {
            return Err("its CRC is not that of its bytes".to_owned());
        }
        self.reaches(header.next_offset());
        let producer = header.producer_id;
        if header.attributes.is_control() {
            let marker = decode_end_txn_marker(batch).map_err(|error| error.to_string())?;
            if let Some(marker) = marker {
                let commit = marker.control_type == ControlType::Commit;
                let offset = header.base_offset;
                self.transactions
                    .on_marker(producer, offset, commit, on_record);
            }
            return Ok(());
        }
        self.newest_timestamp = self.newest_timestamp.max(Some(header.max_timestamp));
        let plain =
            plain_records(&header, payload, PLAIN_CAP).map_err(|error| error.to_string())?;
        let transactional = header.attributes.is_transactional();
        for record in Records::new(&header, &plain) {
            let record = record.map_err(|error| error.to_string())?;
            let Some(key) = record.key else { continue };
            if !transactional || self.transactions.on_record(producer, &record) {
                on_record(&InternalRecord {
                    offset: record.offset,
                    timestamp: record.timestamp,
                    key,
                    value: record.value,
                });
            }
        }
        Ok(())
    }

    /// Takes a message of magic 0 or 1, with those that it holds compressed.
    fn messages(
        &mut self,
        framed: Frame,
        bytes: &[u8],
        on_record: &mut dyn FnMut(&InternalRecord<'_>),
    ) -> Result<(), String> {
        let messages =
            legacy_message::messages(bytes, PLAIN_CAP).map_err(|error| error.to_string())?;
        self.reaches(framed.offset.plus(1));
        for message in &messages {
            self.newest_timestamp = self.newest_timestamp.max(Some(message.timestamp));
            if let Some(key) = &message.key {
                on_record(&InternalRecord {
                    offset: message.offset,
                    timestamp: message.timestamp,
                    key,
                    value: message.value.as_deref(),
                });
            }
        }
        Ok(())
    }
}
