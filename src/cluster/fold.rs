//! Batches of a snapshot and of the metadata log, folded into an image.
//!
//! The order is Kafka's: the newest whole snapshot, then every batch of the log from the snapshot's end on. Records
//! between the begin and the end of a metadata transaction count together or not at all.

use std::collections::BTreeMap;
use std::fmt;

use crate::cluster::image::MetadataImage;
use crate::format::FormatError;
use crate::format::control_record::ControlType;
use crate::format::metadata_record::{
    MetadataRecord, RecordType, Voter, decode_kraft_version, decode_snapshot_header, decode_voters,
    record_type_name,
};
use crate::format::record::{Record, Records, plain_records};
use crate::format::record_batch::{Batch, BatchHeader};
use crate::terms::{LeaderEpoch, Offset, Uuid};

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

impl fmt::Display for FoldFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undecodable { offset, error } => {
                write!(f, "the record at offset {offset} does not decode")?;
                match error {
                    Some(error) => write!(f, " ({error}): what it set is missing"),
                    None => f.write_str(": what its batch set is missing"),
                }
            }
            Self::UnknownRecord { offset, kind } => {
                let name = record_type_name(kind.key).unwrap_or("unknown");
                write!(
                    f,
                    "the record at offset {offset} is of type {} ({name}) version {}, which is newer than krescue: topics, \
                     configs or replicas that it set may be missing",
                    kind.key, kind.version
                )
            }
            Self::Gap { from, to } => write!(
                f,
                "the records from offset {from} to {to} are missing, and what they set with them"
            ),
            Self::Dangling { offset } => write!(
                f,
                "the record at offset {offset} changes what is not there: an earlier record is missing"
            ),
        }
    }
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
    deleted_topics: BTreeMap<Uuid, String>,
    voters: Option<Vec<Voter>>,
    kraft_version: Option<i16>,
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

    /// Folds a batch of a snapshot; all of one snapshot come first, if there is one.
    pub fn snapshot_batch(&mut self, batch: &Batch<'_>) {
        self.records(batch, true);
    }

    /// Ends the snapshot of `end_offset` and `epoch`, as its name says.
    ///
    /// Returns whether it was whole, that is ended in its footer. One that was not must not be used: start anew.
    pub fn end_snapshot(&mut self, end_offset: Offset, epoch: LeaderEpoch) -> bool {
        self.transaction = None;
        self.image.next_offset = end_offset;
        self.image.epoch = epoch;
        self.snapshot_epoch = Some(epoch);
        self.saw_footer
    }

    /// Folds a batch of the log; they come in the order of the log, those before the snapshot's end too.
    pub fn log_batch(&mut self, batch: &Batch<'_>) {
        let header = batch.header();
        let expected = self.image.next_offset;
        let is_older = Some(header.partition_leader_epoch) < self.snapshot_epoch;
        let is_known = header.last_offset() < expected;
        let is_beyond = self
            .limit
            .is_some_and(|limit| header.last_offset() >= limit);
        if is_older || is_known || is_beyond {
            return;
        }
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
    }

    /// Returns the oddities seen, and how many more were left out.
    pub fn findings(&self) -> (&[FoldFinding], u64) {
        (&self.findings, self.findings_left_out)
    }

    /// Returns the topics whose deletion lies behind the snapshot: id and name.
    pub fn deleted_topics(&self) -> &BTreeMap<Uuid, String> {
        &self.deleted_topics
    }

    /// Returns the voters of the quorum and the version of KRaft's own protocol, as far as control records say them: of a
    /// quorum with static voters they say none.
    pub fn quorum(&self) -> (Option<&[Voter]>, Option<i16>) {
        (self.voters.as_deref(), self.kraft_version)
    }

    /// Returns the image so far.
    pub fn image(&self) -> &MetadataImage {
        &self.image
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
                    self.control(&record, is_snapshot);
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

    fn control(&mut self, record: &Record<'_>, is_snapshot: bool) {
        let kind = record.key.and_then(|key| ControlType::decode_key(key).ok());
        let value = record.value.unwrap_or_default();
        match kind {
            Some(ControlType::KRaftVoters) => match decode_voters(value) {
                Ok(voters) => {
                    self.image.voters = voters.iter().map(|voter| voter.id).collect();
                    self.voters = Some(voters);
                }
                Err(error) => self.found(FoldFinding::Undecodable {
                    offset: record.offset,
                    error: Some(error),
                }),
            },
            Some(ControlType::KRaftVersion) => {
                self.kraft_version = decode_kraft_version(value).ok().or(self.kraft_version);
            }
            _ if !is_snapshot => {}
            Some(ControlType::SnapshotHeader) => {
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
        if let MetadataRecord::RemoveTopic { topic_id } = &record
            && let Some(name) = self.image.topic_name(*topic_id)
        {
            self.deleted_topics.insert(*topic_id, name.to_owned());
        }
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
