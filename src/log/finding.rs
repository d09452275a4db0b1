//! One oddity: what, where, how bad, and what to do next.

use serde::{Deserialize, Serialize};

use crate::terms::{Offset, Position};

/// How bad a finding is, from what each crash leaves to what blocks a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// What every crash or live broker leaves; a boot mends it and nobody loses anything.
    Routine,
    /// Worth knowing: regenerable files are wrong, or a torn batch that was never acknowledged is cut.
    Warning,
    /// Records are gone, or a boot would remove them.
    Loss,
    /// A boot refuses this log, or the whole dir.
    Fatal,
}

/// What kind of oddity was met; its name in JSON is a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// The last batch declares more bytes than the file has, or fewer than 18 bytes follow the last batch.
    TornTail,
    /// Zeros behind the last batch: a power loss with delayed allocation.
    ZeroTail,
    /// Zeros up to `segment.bytes` behind the last batch of a preallocated file.
    PreallocatedTail,
    /// A batch's checksum does not fit its bytes.
    CrcMismatch,
    /// A length field below the smallest batch.
    LengthTooSmall,
    /// A batch in the middle declares a length past the end of the file although good batches follow.
    LengthPastEnd,
    /// A control record that does not parse.
    ControlRecordInvalid,
    /// Offsets go back at an index point: Kafka empties the segment.
    OffsetsGoBack,
    /// An offset that does not fit its segment: Kafka splits it or refuses.
    OffsetOverflow,
    /// Kafka would delete this whole later segment.
    SegmentDropped,
    /// Kafka would delete all segments: the log start lies beyond the log's end.
    LogStartBeyondEnd,
    /// The recovered end lies below the checkpointed high watermark: acknowledged records are gone here.
    EndBelowHighWatermark,
    /// An index differs from the log and is rebuilt.
    IndexRebuilt,
    /// An index that cannot be its log's, where no boot looks.
    IndexCorrupt,
    /// An offset index is missing: the segment is read in full.
    IndexMissing,
    /// A time index is missing; below the recovery point it is created empty.
    TimeIndexMissing,
    /// A transaction index contradicts its segment.
    TxnIndexCorrupt,
    /// An index without a log.
    IndexOrphaned,
    /// A producer snapshot that does not decode.
    SnapshotCorrupt,
    /// Producer snapshots that are written anew or removed.
    SnapshotRebuilt,
    /// The leader epochs change.
    LeaderEpochsChanged,
    /// A checkpoint of the log dir or the partition is malformed.
    CheckpointMalformed,
    /// `partition.metadata` is missing, empty or malformed.
    PartitionMetadata,
    /// A `.swap` that would replace its originals does not hold good batches to its end.
    SwapIncomplete,
    /// A leftover of a deletion, a compaction or a split.
    Leftover,
    /// A name that Kafka does not accept where it lies.
    ForeignName,
    /// The same partition lies in two log dirs.
    DuplicatePartition,
    /// Something could not be read.
    Unreadable,
    /// The log is one that Kafka would not load.
    Refused,
    /// What was decided does not hold: a boot would do otherwise.
    DecisionRefused,
    /// What was decided, and what follows from it.
    DecisionTaken,
    /// Recovery was not compared with this release of Kafka.
    ReleaseNotCompared,
    /// Topic overrides are unknown, so defaults were used.
    TopicConfigUnknown,
    /// The log dir lacks the clean-shutdown marker.
    UncleanStop,
    /// The log dir as a whole has a problem.
    LogDir,
    /// A truncation removes the end of this log.
    Truncated,
    /// A truncation's target lies inside a batch, which goes as a whole.
    WholeBatchCut,
    /// A truncation's target lies at the log's end or behind it.
    NoEffect,
    /// No other replica is in sync.
    LastInSyncCopy,
    /// Other replicas that are in sync.
    OtherReplicas,
    /// The living cluster could not be asked, though it was named or the metadata says where its brokers listen.
    ClusterNotAsked,
    /// The log's oldest segments go, and it starts later.
    LogStartMoves,
    /// A mirror is not known to have copied what goes.
    NotMirrored,
    /// Consumer groups have not read all of what goes.
    GroupsBelowStart,
    /// A volume is full or filling, or its space is not what it seems.
    Volume,
    /// A volume has fewer inodes than a boot takes.
    NoInodes,
    /// A volume has fewer bytes than a boot writes.
    NoSpace,
    /// The broker's user cannot read or change something.
    WrongOwner,
    /// Fewer files may be open than a boot opens.
    OpenFilesLimit,
    /// Fewer memory maps may be made than the indexes need.
    MapCountLimit,
    /// The broker's heap is too small for what it loads.
    HeapLimit,
    /// A controller cannot be reached.
    ControllerAway,
    /// Something that is no plain file lies where a boot opens one.
    NotAFile,
    /// `meta.properties` is missing, empty or malformed.
    MetaProperties,
    /// The ids of log dirs contradict each other or the configuration.
    IdentityMismatch,
    /// A volume that should be mounted is not.
    NotMounted,
    /// A volume is mounted read-only.
    ReadOnlyVolume,
    /// Somebody holds a log dir's lock.
    LockHeld,
    /// A port of the broker cannot be bound.
    PortInUse,
    /// The metadata log is lost, in the wrong place, or its vote cannot be read.
    MetadataLog,
    /// The cluster does not give this partition to this broker.
    StrayPartition,
    /// A segment is longer than Kafka opens.
    SegmentTooLarge,
    /// A segment in the middle of a log was emptied.
    SegmentEmptied,
    /// The log cleaner gave a log up, or died.
    CleanerGaveUp,
    /// A segment is missing from the middle of a log.
    SegmentMissing,
    /// Something that would have taken too long was not looked at.
    NotLookedAt,
    /// Something of the host that goes wrong later.
    HostAdvice,
    /// A stop takes longer than whoever kills the broker waits.
    StopTooSlow,
    /// What `controlled.shutdown.*` does in this release.
    ControlledShutdown,
    /// A stop leaves a partition with fewer replicas in sync than it needs to be written to.
    BelowMinIsr,
    /// What a crash now would cost.
    CrashCost,
    /// How long a boot takes.
    BootTime,
    /// What lay on a log dir that failed.
    FailedDisk,
    /// A timestamp lies in the future.
    FutureTimestamp,
}

/// One oddity of a log or of a log dir.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What kind.
    pub code: FindingCode,
    /// How bad.
    pub severity: Severity,
    /// The file's name inside its dir.
    pub file: Option<String>,
    /// Where in the file.
    pub position: Option<Position>,
    /// The first offset it concerns.
    pub offset: Option<Offset>,
    /// Bytes of the log that are lost or would be.
    pub lost_bytes: u64,
    /// Good records that are lost or would be; `None` where they cannot be counted.
    pub lost_records: Option<u64>,
    /// One sentence: what was seen and what Kafka does about it.
    pub text: String,
    /// What the operator may do next; empty where nothing is needed.
    pub next: String,
}

impl Finding {
    /// Returns a finding with its sentence; nothing lost, nowhere in particular.
    pub fn new(code: FindingCode, severity: Severity, text: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            file: None,
            position: None,
            offset: None,
            lost_bytes: 0,
            lost_records: Some(0),
            text: text.into(),
            next: String::new(),
        }
    }

    /// Names the file.
    #[must_use]
    pub fn file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Names the byte.
    #[must_use]
    pub fn at(mut self, position: Position) -> Self {
        self.position = Some(position);
        self
    }

    /// Names the first offset concerned.
    #[must_use]
    pub fn offset(mut self, offset: Offset) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Says what is lost: bytes of the log, and records where they can be counted.
    #[must_use]
    pub fn loses(mut self, bytes: u64, records: Option<u64>) -> Self {
        self.lost_bytes = bytes;
        self.lost_records = records;
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = next.into();
        self
    }
}
