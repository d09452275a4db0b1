//! The files of a partition dir.

use crate::format::java;
use crate::terms::{LeaderEpoch, Offset};

/// Ends the name of a file that is to be deleted.
pub const DELETED_SUFFIX: &str = ".deleted";
/// Ends the name of a file that the cleaner or a split is writing.
pub const CLEANED_SUFFIX: &str = ".cleaned";
/// Ends the name of a file that the cleaner or a split has written.
pub const SWAP_SUFFIX: &str = ".swap";
/// The leader epochs of the partition.
pub const LEADER_EPOCH_CHECKPOINT: &str = "leader-epoch-checkpoint";
/// The partition's topic id.
pub const PARTITION_METADATA: &str = "partition.metadata";
/// The vote of a KRaft node, in `__cluster_metadata-0`.
pub const QUORUM_STATE: &str = "quorum-state";

const SNAPSHOT_SUFFIX: &str = ".checkpoint";
const OFFSET_WIDTH: usize = 20;
const EPOCH_WIDTH: usize = 10;

/// What a file that is named by an offset holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// Record batches.
    Log,
    /// The offset index.
    Index,
    /// The time index.
    TimeIndex,
    /// The aborted transactions.
    TxnIndex,
    /// The producer snapshot.
    Snapshot,
}

impl FileKind {
    /// All kinds, in the order in which Kafka renames those of a segment.
    pub const ALL: [Self; 5] = [
        Self::Log,
        Self::Index,
        Self::TimeIndex,
        Self::TxnIndex,
        Self::Snapshot,
    ];

    /// Returns the end of the file's name, with its dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Log => ".log",
            Self::Index => ".index",
            Self::TimeIndex => ".timeindex",
            Self::TxnIndex => ".txnindex",
            Self::Snapshot => ".snapshot",
        }
    }

    /// Says whether the file is one of the three that Kafka deletes if its `.log` is missing.
    pub fn is_index(self) -> bool {
        matches!(self, Self::Index | Self::TimeIndex | Self::TxnIndex)
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| name.ends_with(kind.suffix()))
    }
}

/// What the name of a plain file in a partition dir says, by the rules of `LogLoader`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartitionFile {
    /// A file of a segment, or a producer snapshot.
    ///
    /// A name whose offset is not in 20 digits counts too, but Kafka then opens the file of the right name beside it:
    /// compare with [`segment_file_name`].
    Segment {
        /// The base offset; for a snapshot the offset behind it.
        offset: Offset,
        /// What it holds.
        kind: FileKind,
    },
    /// `….deleted`: Kafka deletes it first of all, whatever stands before.
    Deleted,
    /// `….cleaned`: Kafka deletes it, and each `.swap` from its offset on.
    Cleaned {
        /// The offset in the name.
        offset: Offset,
        /// What it holds, if the name says so.
        kind: Option<FileKind>,
    },
    /// `….swap`: Kafka drops the suffix, once it has deleted what a `.log.swap` replaces.
    Swap {
        /// The offset in the name.
        offset: Offset,
        /// What it holds, if the name says so.
        kind: Option<FileKind>,
    },
    /// `leader-epoch-checkpoint`.
    LeaderEpochCheckpoint,
    /// `partition.metadata`.
    PartitionMetadata,
    /// A snapshot of KRaft's metadata: `OFFSET-EPOCH.checkpoint`.
    MetadataSnapshot {
        /// The first offset that is not in it.
        end_offset: Offset,
        /// The epoch of the last record in it.
        epoch: LeaderEpoch,
    },
    /// A snapshot of KRaft's metadata that is to be deleted; recovery leaves it alone.
    MetadataSnapshotDeleted,
    /// A snapshot of KRaft's metadata that was never finished.
    MetadataSnapshotPart,
    /// `quorum-state`.
    QuorumState,
    /// A name that Kafka does not look at, but see [`leading_offset`].
    Other,
    /// A suffix that asks for an offset, and none before it: `NumberFormatException`, start-up fails.
    BadNumber,
}

impl PartitionFile {
    /// Says whether the file is a segment's `.log`.
    pub fn is_log(&self) -> bool {
        matches!(
            self,
            Self::Segment {
                kind: FileKind::Log,
                ..
            }
        )
    }

    /// Parses a file's name.
    pub fn parse(name: &str) -> Self {
        if name.ends_with(".checkpoint.deleted") {
            return Self::MetadataSnapshotDeleted;
        }
        if name.ends_with(DELETED_SUFFIX) {
            return Self::Deleted;
        }
        let offset = leading_offset(name);
        let with_offset = |file: fn(Offset, Option<FileKind>) -> Self, kind| {
            offset.map_or(Self::BadNumber, |offset| file(offset, kind))
        };
        if let Some(name) = name.strip_suffix(CLEANED_SUFFIX) {
            let kind = FileKind::of(name);
            return with_offset(|offset, kind| Self::Cleaned { offset, kind }, kind);
        }
        if let Some(name) = name.strip_suffix(SWAP_SUFFIX) {
            let kind = FileKind::of(name);
            return with_offset(|offset, kind| Self::Swap { offset, kind }, kind);
        }
        if let Some(kind) = FileKind::of(name) {
            return offset.map_or(Self::BadNumber, |offset| Self::Segment { offset, kind });
        }
        match name {
            LEADER_EPOCH_CHECKPOINT => Self::LeaderEpochCheckpoint,
            PARTITION_METADATA => Self::PartitionMetadata,
            QUORUM_STATE => Self::QuorumState,
            _ if name.ends_with(".checkpoint.part") => Self::MetadataSnapshotPart,
            _ => parse_metadata_snapshot(name).unwrap_or(Self::Other),
        }
    }
}

fn parse_metadata_snapshot(name: &str) -> Option<PartitionFile> {
    let (offset, epoch) = name
        .strip_suffix(SNAPSHOT_SUFFIX)?
        .split_at_checked(OFFSET_WIDTH)?;
    let epoch = epoch
        .strip_prefix('-')
        .filter(|epoch| epoch.len() == EPOCH_WIDTH)?;
    Some(PartitionFile::MetadataSnapshot {
        end_offset: Offset(java::parse_i64(offset)?),
        epoch: LeaderEpoch(java::parse_i32(epoch)?),
    })
}

/// Returns the number before the first `.` of a file's name.
///
/// Every file whose number lies within a completed swap is deleted, also one of no known kind.
pub fn leading_offset(name: &str) -> Option<Offset> {
    let (number, _) = name.split_once('.')?;
    java::parse_i64(number).map(Offset)
}

/// Returns the name of a segment's file or a snapshot as Kafka writes it, without `.deleted`, `.cleaned`, `.swap`.
pub fn segment_file_name(offset: Offset, kind: FileKind) -> String {
    let sign = if offset.0 < 0 { "-" } else { "" };
    format!("{sign}{:020}{}", offset.0.unsigned_abs(), kind.suffix())
}

/// Returns the name of a snapshot of KRaft's metadata.
pub fn metadata_snapshot_name(end_offset: Offset, epoch: LeaderEpoch) -> String {
    format!("{:020}-{:010}{SNAPSHOT_SUFFIX}", end_offset.0, epoch.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_say_what_a_boot_does_with_the_file() {
        use FileKind::{Index, Log, Snapshot, TimeIndex, TxnIndex};
        let segment = |offset, kind| PartitionFile::Segment {
            offset: Offset(offset),
            kind,
        };
        let swap = |offset, kind| PartitionFile::Swap {
            offset: Offset(offset),
            kind,
        };
        let cleaned = |offset, kind| PartitionFile::Cleaned {
            offset: Offset(offset),
            kind,
        };
        for (name, file) in [
            ("00000000000000000042.log", segment(42, Log)),
            ("42.index", segment(42, Index)),
            ("-1.timeindex", segment(-1, TimeIndex)),
            ("7.8.txnindex", segment(7, TxnIndex)),
            ("00000000000000000042.snapshot", segment(42, Snapshot)),
            ("x.log", PartitionFile::BadNumber),
            (".log", PartitionFile::BadNumber),
            ("99999999999999999999.log", PartitionFile::BadNumber),
            ("x.swap", PartitionFile::BadNumber),
            ("x.cleaned", PartitionFile::BadNumber),
            ("00000000000000000042.log.deleted", PartitionFile::Deleted),
            ("x.deleted", PartitionFile::Deleted),
            (
                "00000000000000000000-0000000000.checkpoint.deleted",
                PartitionFile::MetadataSnapshotDeleted,
            ),
            ("00000000000000000042.log.swap", swap(42, Some(Log))),
            (
                "00000000000000000042.timeindex.swap",
                swap(42, Some(TimeIndex)),
            ),
            ("42.swap", swap(42, None)),
            (
                "00000000000000000042.index.cleaned",
                cleaned(42, Some(Index)),
            ),
            (
                "leader-epoch-checkpoint",
                PartitionFile::LeaderEpochCheckpoint,
            ),
            ("leader-epoch-checkpoint.tmp", PartitionFile::Other),
            ("partition.metadata", PartitionFile::PartitionMetadata),
            ("quorum-state", PartitionFile::QuorumState),
            (
                "00000000000000000123-0000000004.checkpoint",
                PartitionFile::MetadataSnapshot {
                    end_offset: Offset(123),
                    epoch: LeaderEpoch(4),
                },
            ),
            (
                "00000000000000000123-0000000004-99.checkpoint.part",
                PartitionFile::MetadataSnapshotPart,
            ),
            ("1-2.checkpoint", PartitionFile::Other),
            ("recovery-point-offset-checkpoint", PartitionFile::Other),
            ("42.txt", PartitionFile::Other),
        ] {
            assert_eq!(PartitionFile::parse(name), file, "{name}");
        }
        assert_eq!(leading_offset("42.txt"), Some(Offset(42)));
        assert_eq!(leading_offset("quorum-state"), None);
    }

    #[test]
    fn offsets_have_twenty_digits() {
        let name = |offset| segment_file_name(Offset(offset), FileKind::Log);
        assert_eq!(name(42), "00000000000000000042.log");
        assert_eq!(name(i64::MAX), "09223372036854775807.log");
        assert_eq!(name(-5), "-00000000000000000005.log");
        assert_eq!(
            metadata_snapshot_name(Offset(123), LeaderEpoch(4)),
            "00000000000000000123-0000000004.checkpoint"
        );
    }

    proptest! {
        #[test]
        fn names_survive_the_way_there_and_back(offset: i64, kind in proptest::sample::select(&FileKind::ALL[..])) {
            let offset = Offset(offset);
            let name = segment_file_name(offset, kind);
            prop_assert_eq!(PartitionFile::parse(&name), PartitionFile::Segment { offset, kind });
            prop_assert_eq!(PartitionFile::parse(&format!("{name}{SWAP_SUFFIX}")), PartitionFile::Swap { offset, kind: Some(kind) });
        }

        #[test]
        fn any_name_is_parsed_without_a_panic(name: String) {
            let _ = PartitionFile::parse(&name);
            let _ = PartitionFile::parse(&format!("{name}.checkpoint"));
        }
    }
}
