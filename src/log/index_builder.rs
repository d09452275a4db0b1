//! The offset and time index that a recovery of a segment writes (`OffsetIndex.append`, `TimeIndex.maybeAppend`).

use super::index_check::{IndexCheck, IndexFault};
use super::parser::SegmentLimits;
use crate::format::{offset_index, time_index};
use crate::terms::{Offset, Timestamp};

/// Why an entry could not be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexError {
    /// The offset does not rise: Kafka's `InvalidOffsetException`.
    OffsetsGoBack,
    /// There is no room: Kafka's `IllegalArgumentException`.
    Full(String),
}

/// Builds both indexes of one segment while its batches pass.
#[derive(Debug)]
pub(crate) struct IndexBuilder {
    base_offset: Offset,
    interval: u64,
    max_offset_entries: usize,
    max_time_entries: usize,
    last_indexed_position: u64,
    last_offset: Option<Offset>,
    last_time: Option<(Timestamp, Offset)>,
    /// [`Timestamp::NONE`] as long as no batch has one.
    largest_timestamp: Timestamp,
    largest_offset: Offset,
    offset_entries: Vec<u8>,
    time_entries: Vec<u8>,
    /// An index that is held against the batches.
    check: Option<IndexCheck>,
}

impl IndexBuilder {
    pub(crate) fn new(base_offset: Offset, limits: SegmentLimits) -> Self {
        let size = usize::try_from(limits.segment_index_bytes).unwrap_or(0);
        Self {
            base_offset,
            interval: u64::try_from(limits.index_interval_bytes).unwrap_or(0),
            max_offset_entries: size / offset_index::ENTRY_LEN,
            max_time_entries: size / time_index::ENTRY_LEN,
            last_indexed_position: 0,
            last_offset: None,
            last_time: None,
            largest_timestamp: Timestamp::NONE,
            largest_offset: base_offset,
            offset_entries: Vec::new(),
            time_entries: Vec::new(),
            check: None,
        }
    }

    /// Holds these entries against the batches that come.
    pub(crate) fn check(&mut self, entries: Vec<offset_index::OffsetEntry>) {
        self.check = Some(IndexCheck::new(self.base_offset, entries));
    }

    /// Returns the first entry that cannot be right, of those that were given.
    pub(crate) fn take_fault(&mut self) -> Option<IndexFault> {
        self.check.take()?.into_fault()
    }

    /// Returns the largest timestamp so far and the last offset of its batch.
    pub(crate) fn largest(&self) -> Option<(Timestamp, Offset)> {
        (self.largest_timestamp > Timestamp::NONE)
            .then_some((self.largest_timestamp, self.largest_offset))
    }

    /// Takes a batch that begins at `position`; its last offset is known to fit the segment.
    #[inline]
    pub(crate) fn on_batch(
        &mut self,
        position: u64,
        last_offset: Offset,
        max_timestamp: Timestamp,
    ) -> Result<(), IndexError> {
        if let Some(check) = &mut self.check {
            check.on_batch(position, last_offset);
        }
        self.on_timestamp(max_timestamp, last_offset);
        self.on_append(position, last_offset)
    }

    /// Takes a batch's largest timestamp, without a place for an index entry.
    #[inline]
    pub(crate) fn on_timestamp(&mut self, max_timestamp: Timestamp, last_offset: Offset) {
        if max_timestamp > self.largest_timestamp {
            self.largest_timestamp = max_timestamp;
            self.largest_offset = last_offset;
        }
    }

    /// Takes what begins at `position`: an index entry falls here if the last one lies far enough back.
    #[inline]
    pub(crate) fn on_append(
        &mut self,
        position: u64,
        last_offset: Offset,
    ) -> Result<(), IndexError> {
        if position - self.last_indexed_position > self.interval {
            return self.append_entries(position, last_offset);
        }
        Ok(())
    }

    #[inline(never)]
    fn append_entries(&mut self, position: u64, last_offset: Offset) -> Result<(), IndexError> {
        self.append_offset(position, last_offset)?;
        let entries = self.time_entries.len() / time_index::ENTRY_LEN;
        if entries + 1 >= self.max_time_entries {
            return Err(IndexError::Full(format!(
                "the time index is full with {entries} entries"
            )));
        }
        self.append_time()?;
        self.last_indexed_position = position;
        Ok(())
    }

    /// Appends the final time entry; returns offset index and time index, both trimmed.
    pub(crate) fn finish(mut self) -> Result<(Vec<u8>, Vec<u8>), IndexError> {
        self.append_time()?;
        Ok((self.offset_entries, self.time_entries))
    }

    fn append_offset(&mut self, position: u64, last_offset: Offset) -> Result<(), IndexError> {
        let entries = self.offset_entries.len() / offset_index::ENTRY_LEN;
        if entries >= self.max_offset_entries {
            return Err(IndexError::Full(format!(
                "the offset index is full with {entries} entries"
            )));
        }
        if self.last_offset.is_some_and(|last| last_offset <= last) {
            return Err(IndexError::OffsetsGoBack);
        }
        self.offset_entries
            .extend_from_slice(&self.relative(last_offset).to_be_bytes());
        let position = i32::try_from(position).unwrap_or(i32::MAX);
        self.offset_entries
            .extend_from_slice(&position.to_be_bytes());
        self.last_offset = Some(last_offset);
        Ok(())
    }

    fn append_time(&mut self) -> Result<(), IndexError> {
        let Some((timestamp, offset)) = self.largest() else {
            return Ok(());
        };
        if self.last_time.is_some_and(|(_, last)| offset < last) {
            return Err(IndexError::OffsetsGoBack);
        }
        if self.last_time.is_none_or(|(last, _)| timestamp > last) {
            self.time_entries
                .extend_from_slice(&timestamp.0.to_be_bytes());
            self.time_entries
                .extend_from_slice(&self.relative(offset).to_be_bytes());
            self.last_time = Some((timestamp, offset));
        }
        Ok(())
    }

    fn relative(&self, offset: Offset) -> i32 {
        i32::try_from(offset.0.wrapping_sub(self.base_offset.0)).unwrap_or(i32::MAX)
    }
}
