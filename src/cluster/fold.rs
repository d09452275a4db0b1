//! Bytes of snapshots and of the metadata log, folded into an image.
//!
//! The order is Kafka's: the newest whole snapshot, then every batch of the log from the snapshot's end on. Records
//! between the begin and the end of a metadata transaction count together or not at all.

use crate::cluster::image::MetadataImage;
use crate::format::FormatError;
use crate::format::batch::{FrameEnd, frame};
use crate::format::control_record::ControlType;
use crate::format::file_name::{FileKind, PartitionFile};
use crate::format::metadata_record::{MetadataRecord, RecordType, decode_snapshot_header};
use crate::format::record::{Record, Records, plain_records};
use crate::format::record_batch::{Batch, BatchHeader, UncheckedBatch};
use crate::terms::{LeaderEpoch, Offset};

/// The most plain bytes of one batch; the controller writes at most 8 MiB.
const PLAIN_CAP: usize = 64 << 20;
/// The most findings that are kept; the rest is counted.
const MAX_FINDINGS: usize = 100;

/// Why the bytes of a snapshot or a log are folded no further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// A batch has a length below 14.
    #[error("batch at {position} has length {size}")]
    TooSmall {
        /// Where the batch begins in the bytes.
        position: u64,
        /// Its length field.
        size: i32,
    },
    /// A snapshot does not end in its footer.
    #[error("snapshot has no footer")]
    NoFooter,
    /// A batch is not of magic 2 or its checksum is wrong.
    #[error("batch at {position} is corrupt")]
    Corrupt {
        /// Where the batch begins in the bytes.
        position: u64,
    },
}

/// One oddity of a metadata log; the fold goes on behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoldFinding {
    /// A record does not decode.
    Undecodable {
        /// The record.
        offset: Offset,
        /// What is wrong with it; `None` where the batch's records have no form.
        error: Option<FormatError>,
    },
    /// A record is of a type or a version that krescue does not know.
    UnknownRecord {
        /// The record.
        offset: Offset,
        /// Its type and version.
        kind: RecordType,
    },
    /// Records are missing before this batch: the image may lack what they said.
    Gap {
        /// The first that is missing.
        from: Offset,
        /// The first behind the gap.
        to: Offset,
    },
    /// A record changes what is not there.
    Dangling {
        /// The record.
        offset: Offset,
    },
}

/// Folds a node's metadata into an image.
#[derive(Debug, Clone, Default)]
pub struct ImageFold {
    image: MetadataImage,
    limit: Option<Offset>,
    /// Batches of an older epoch are what Kafka would truncate in favour of the snapshot.
    snapshot_epoch: Option<LeaderEpoch>,
    transaction: Option<Vec<(Offset, MetadataRecord)>>,
    findings: Vec<FoldFinding>,
    findings_left_out: u64,
    saw_footer: bool,
}

impl ImageFold {
    /// Returns a fold of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a fold that leaves out records from `high_watermark` on.
    pub fn up_to(high_watermark: Offset) -> Self {
        Self {
            limit: Some(high_watermark),
            ..Self::default()
        }
    }

    /// Folds a snapshot of `end_offset` and `epoch`, as its name says; call first, if at all.
    ///
    /// Returns whether the snapshot is whole, that is ends in its footer. One that is not must not be used: start anew.
    pub fn snapshot(
        &mut self,
        bytes: &[u8],
        end_offset: Offset,
        epoch: LeaderEpoch,
    ) -> Result<bool, FoldError> {
        self.saw_footer = false;
        let limit = self.limit.take();
        // Offsets in a snapshot are its own.
        let folded = for_each_batch(bytes, |batch| self.records(batch, true));
        self.limit = limit;
        self.transaction = None;
        folded?;
        self.image.next_offset = end_offset;
        self.image.epoch = epoch;
        self.snapshot_epoch = Some(epoch);
        Ok(self.saw_footer)
    }

    /// Folds the bytes of a segment of the log; call in the order of the segments.
    ///
    /// An error says where the rest is left out: no later segment must follow. A torn end is none.
    pub fn segment(&mut self, bytes: &[u8]) -> Result<(), FoldError> {
        for_each_batch(bytes, |batch| {
            let header = batch.header();
            let is_older = Some(header.partition_leader_epoch) < self.snapshot_epoch;
            let is_known = header.last_offset() < self.image.next_offset;
            let is_beyond = self
                .limit
                .is_some_and(|limit| header.last_offset() >= limit);
            if is_older || is_known || is_beyond {
                return;
            }
            let expected = self.image.next_offset;
            if header.base_offset > expected {
                self.found(FoldFinding::Gap {
                    from: expected,
                    to: header.base_offset,
                });
            }
            self.records(batch, false);
            self.image.next_offset = header.next_offset();
            self.image.epoch = header.partition_leader_epoch;
            self.image.timestamp = self.image.timestamp.max(header.max_timestamp);
        })
    }

    /// Returns the oddities seen, and how many more were left out.
    pub fn findings(&self) -> (&[FoldFinding], u64) {
        (&self.findings, self.findings_left_out)
    }

    /// Returns the image. A transaction that has no end yet is not in it.
    pub fn finish(self) -> MetadataImage {
        self.image
    }

    fn records(&mut self, batch: &Batch<'_>, is_snapshot: bool) {
        let header = batch.header();
        let Ok(plain) = plain_records(header, batch.payload(), PLAIN_CAP) else {
            return self.undecodable(header);
        };
        for record in Records::new(header, &plain) {
            match record {
                Err(_) => return self.undecodable(header),
                Ok(record) if header.attributes.is_control() => {
                    if is_snapshot {
                        self.snapshot_control(&record);
                    }
                }
                Ok(record) if !is_snapshot && record.offset < self.image.next_offset => {}
                Ok(record) => self.record(&record),
            }
        }
    }

    fn undecodable(&mut self, header: &BatchHeader) {
        self.found(FoldFinding::Undecodable {
            offset: header.base_offset,
            error: None,
        });
    }

    fn snapshot_control(&mut self, record: &Record<'_>) {
        let kind = record.key.and_then(|key| ControlType::decode_key(key).ok());
        match kind {
            Some(ControlType::SnapshotHeader) => {
                let value = record.value.unwrap_or_default();
                if let Ok(header) = decode_snapshot_header(value) {
                    self.image.timestamp = header.last_contained_log_timestamp;
                }
            }
            Some(ControlType::SnapshotFooter) => self.saw_footer = true,
            _ => {}
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        let offset = record.offset;
        let decoded = match MetadataRecord::decode(record.value.unwrap_or_default()) {
            Ok(decoded) => decoded,
            Err(error) => {
                let error = Some(error);
                return self.found(FoldFinding::Undecodable { offset, error });
            }
        };
        match (decoded, &mut self.transaction) {
            (MetadataRecord::BeginTransaction, _) => self.transaction = Some(vec![]),
            (MetadataRecord::AbortTransaction, _) => self.transaction = None,
            (MetadataRecord::EndTransaction, transaction) => {
                for (offset, record) in transaction.take().unwrap_or_default() {
                    self.apply(offset, record);
                }
            }
            (record, Some(transaction)) => transaction.push((offset, record)),
            (record, None) => self.apply(offset, record),
        }
    }

    fn apply(&mut self, offset: Offset, record: MetadataRecord) {
        if let MetadataRecord::Other(kind) = record {
            if kind.is_unknown() {
                self.found(FoldFinding::UnknownRecord { offset, kind });
            }
        } else if !self.image.apply(record) {
            self.found(FoldFinding::Dangling { offset });
        }
    }

    fn found(&mut self, finding: FoldFinding) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        } else {
            self.findings_left_out += 1;
        }
    }
}

/// Calls `f` for each batch of `bytes`, which begin with one; a torn end is the end.
fn for_each_batch(bytes: &[u8], mut f: impl FnMut(&Batch<'_>)) -> Result<(), FoldError> {
    let mut rest = bytes;
    loop {
        let position = (bytes.len() - rest.len()) as u64;
        match frame(rest, rest.len() as u64) {
            Err(FrameEnd::EndOfLog) => return Ok(()),
            Err(FrameEnd::TooSmall { size }) => return Err(FoldError::TooSmall { position, size }),
            Ok(frame) if frame.is_legacy() => return Err(FoldError::Corrupt { position }),
            Ok(_) => {}
        }
        let corrupt = FoldError::Corrupt { position };
        let (batch, tail) = UncheckedBatch::split_first(rest).map_err(|_| corrupt.clone())?;
        f(&batch.check_crc().map_err(|_| corrupt)?);
        rest = tail;
    }
}

/// What the files of `__cluster_metadata-0` gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedDir {
    /// The image.
    pub image: MetadataImage,
    /// The snapshot that it begins with.
    pub snapshot: Option<String>,
    /// The oddities seen, at most a hundred.
    pub findings: Vec<FoldFinding>,
    /// How many more there were.
    pub findings_left_out: u64,
    /// Snapshots that are damaged or not whole, and the segment behind which the log was given up.
    pub given_up: Vec<(String, FoldError)>,
}

/// Folds the dir `__cluster_metadata-0` that holds files of these `names`, of which `read` gives the bytes.
///
/// Returns `None` if there is neither a whole snapshot nor a segment. With `high_watermark`, records from it on are left
/// out.
pub fn fold_dir<E>(
    names: &[String],
    high_watermark: Option<Offset>,
    mut read: impl FnMut(&str) -> Result<Vec<u8>, E>,
) -> Result<Option<FoldedDir>, E> {
    let empty = ImageFold {
        limit: high_watermark,
        ..ImageFold::default()
    };
    let mut snapshots = vec![];
    let mut segments = vec![];
    for name in names {
        match PartitionFile::parse(name) {
            PartitionFile::MetadataSnapshot { end_offset, epoch } => {
                snapshots.push((end_offset, epoch, name));
            }
            PartitionFile::Segment {
                offset,
                kind: FileKind::Log,
            } => segments.push((offset, name)),
            _ => {}
        }
    }
    snapshots.sort_unstable_by(|a, b| b.cmp(a));
    segments.sort_unstable();

    let mut fold = empty.clone();
    let mut snapshot = None;
    let mut given_up = vec![];
    for (end_offset, epoch, name) in snapshots {
        let is_beyond = high_watermark.is_some_and(|limit| end_offset > limit);
        if is_beyond {
            continue;
        }
        match fold.snapshot(&read(name)?, end_offset, epoch) {
            Ok(true) => {
                snapshot = Some(name.clone());
                break;
            }
            Ok(false) => given_up.push((name.clone(), FoldError::NoFooter)),
            Err(error) => given_up.push((name.clone(), error)),
        }
        fold = empty.clone();
    }
    if snapshot.is_none() && segments.is_empty() {
        return Ok(None);
    }
    let next_bases = segments.iter().skip(1).map(|(base, _)| Some(*base));
    let next_bases: Vec<_> = next_bases.chain([None]).collect();
    for ((_, name), next_base) in segments.into_iter().zip(next_bases) {
        if next_base.is_some_and(|next_base| next_base <= fold.image.next_offset) {
            continue;
        }
        if let Err(error) = fold.segment(&read(name)?) {
            given_up.push((name.clone(), error));
            break;
        }
    }
    Ok(Some(FoldedDir {
        snapshot,
        findings: fold.findings,
        findings_left_out: fold.findings_left_out,
        given_up,
        image: fold.image,
    }))
}
