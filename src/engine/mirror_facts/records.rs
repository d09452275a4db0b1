//! The records of one log, front to back, as a consumer of committed records sees them.

use std::path::Path;

use super::batches::each_batch;
use crate::disk::{DiskError, ReadManner, Storage, WindowBuffer};
use crate::mirror::{CommittedRecords, InternalRecord};
use crate::terms::{Offset, Timestamp};

/// What a read of a log came to.
#[derive(Debug, Default)]
pub(super) struct ReadLog {
    /// The offset behind the last batch.
    pub(super) log_end_offset: Option<Offset>,
    /// The timestamp of the last batch.
    pub(super) newest_timestamp: Option<Timestamp>,
    /// What was left out: file, position and why.
    pub(super) findings: Vec<(String, String)>,
}

/// Reads segments one after the other.
pub(super) struct RecordReader<'a> {
    pub(super) storage: &'a dyn Storage,
    pub(super) manner: ReadManner<'a>,
    pub(super) buffer: &'a mut WindowBuffer,
    pub(super) records: CommittedRecords,
}

impl RecordReader<'_> {
    /// Reads the segments of `dir` in their order; `on_record` sees each record that counts and has a key.
    ///
    /// A batch that does not check is left out and told of; what has no frame ends its segment.
    pub(super) fn read(
        &mut self,
        dir: &Path,
        segments: &[(Offset, String)],
        on_record: &mut dyn FnMut(&InternalRecord<'_>),
    ) -> Result<ReadLog, DiskError> {
        let mut read = ReadLog::default();
        for (base, name) in segments {
            self.records.reaches(*base);
            self.segment(&dir.join(name), name, &mut read, on_record)?;
        }
        read.log_end_offset = self.records.log_end_offset();
        read.newest_timestamp = self.records.newest_timestamp();
        if self.records.dropped() > 0 {
            let text = format!(
                "{} records of open transactions are too many to wait for and were left out",
                self.records.dropped()
            );
            read.findings.push((dir.display().to_string(), text));
        }
        Ok(read)
    }

    fn segment(
        &mut self,
        path: &Path,
        name: &str,
        read: &mut ReadLog,
        on_record: &mut dyn FnMut(&InternalRecord<'_>),
    ) -> Result<(), DiskError> {
        let records = &mut self.records;
        let left_out = each_batch(
            self.storage,
            path,
            (self.manner, self.buffer),
            &mut |framed, batch| records.push(framed, batch, on_record),
        )?;
        let named = left_out.into_iter().map(|text| (name.to_owned(), text));
        read.findings.extend(named);
        Ok(())
    }
}
