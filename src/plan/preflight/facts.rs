//! What the rules look at. Whoever gathers it reads names, sizes and small files; no batch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cluster::MetadataImage;
use crate::format::file_name::{DirName, FileKind, PartitionFile};
use crate::format::leader_epoch_checkpoint::EpochEntry;
use crate::log::GapSearch;
use crate::plan::EntryKind;
use crate::terms::{KafkaVersion, Offset, Timestamp};

/// Everything that a boot depends on; what could not be learned is `None` and suppresses the rules that need it.
#[derive(Debug, Clone)]
pub struct BootFacts {
    /// The release that will boot.
    pub version: KafkaVersion,
    /// The clock.
    pub now: Timestamp,
    /// What its configuration says.
    pub config: ConfigFacts,
    /// The user who will boot.
    pub user: Option<BootUser>,
    /// All of `log.dirs`, in its order; then the metadata dir, if it is another one.
    pub dirs: Vec<LogDirFacts>,
    /// Limits and mounts of the host.
    pub host: HostFacts,
    /// The cluster by the metadata log of this host.
    pub image: Option<Arc<MetadataImage>>,
}

/// Where a cluster's metadata is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MetadataKept {
    /// In ZooKeeper, or nobody knows.
    #[default]
    ZooKeeper,
    /// In the metadata log, of which other controllers have copies.
    Quorum,
    /// In the metadata log of this node alone.
    HereAlone,
}

/// What `server.properties` says.
#[derive(Debug, Clone, Default)]
pub struct ConfigFacts {
    /// The file.
    pub file: Option<PathBuf>,
    /// `node.id` or `broker.id`.
    pub node_id: Option<i32>,
    /// Where the metadata log lies.
    pub metadata_dir: Option<PathBuf>,
    /// Where the cluster's metadata is kept.
    pub metadata: MetadataKept,
    /// The line of `log.dirs`, from 1.
    pub log_dirs_line: Option<usize>,
    /// Where the broker will listen.
    pub ports: Vec<PortFacts>,
    /// The controllers that it names; none where they were not asked.
    pub controllers: Vec<ControllerFacts>,
    /// Bytes of heap that the log cleaner takes when it starts (`log.cleaner.dedupe.buffer.size`); `None` where it does not.
    pub dedupe_buffer: Option<u64>,
}

/// A controller that the configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerFacts {
    /// `HOST:PORT`.
    pub address: String,
    /// The key that names it.
    pub key: &'static str,
    /// Whether it is this node.
    pub is_self: bool,
    /// Why it cannot be reached; `None` if it can, or is this node.
    pub refused: Option<String>,
}

/// A port that the broker will bind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortFacts {
    /// The listener as the configuration names it (`PLAINTEXT://:9092`).
    pub listener: String,
    /// Whether it is one of the controller's: bound before the logs are loaded, not behind.
    pub is_controller: bool,
    /// Why it cannot be bound; `None` if it can.
    pub refused: Option<String>,
}

/// The user who will boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootUser {
    /// User id.
    pub uid: u32,
    /// Group ids, the primary one first.
    pub gids: Vec<u32>,
    /// The name, where there is one.
    pub name: String,
    /// Where that is known from (`User= of kafka.service`, `the owner of /d1/meta.properties`).
    pub source: String,
}

/// Owner and mode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Permission bits.
    pub mode: u32,
}

impl BootUser {
    /// Says whether the user has all of `wanted` (4 read, 2 write, 1 search). Access lists are not looked at.
    pub fn may(&self, file: Access, wanted: u32) -> bool {
        let shift = if file.uid == self.uid {
            6
        } else if self.gids.contains(&file.gid) {
            3
        } else {
            0
        };
        self.uid == 0 || (file.mode >> shift) & wanted == wanted
    }
}

/// A small file as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SmallFile {
    /// There is none.
    #[default]
    Missing,
    /// Its bytes.
    Bytes(Vec<u8>),
    /// It cannot be read; why.
    Unreadable(String),
}

impl SmallFile {
    /// Returns its bytes, if it could be read.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// One name in a dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryFacts {
    /// The name.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// Owner and mode.
    pub access: Access,
    /// Length in bytes.
    pub len: u64,
    /// Modification time in ns since 1970.
    pub mtime_ns: i64,
    /// Inode.
    pub inode: u64,
    /// How many names a dir has that is no partition's; `None` where that was not looked at.
    pub children: Option<u64>,
}

/// Whether a log dir can be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirState {
    /// It was.
    Listed,
    /// It does not exist.
    Missing,
    /// It is something else.
    NotADir,
    /// It cannot be listed; why.
    Unreadable(String),
}

/// Who holds a dir's `.lock`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockFacts {
    /// There is no such file.
    Absent,
    /// The file is there and nobody holds it.
    Free,
    /// A process does.
    Held(Option<u32>),
    /// It cannot be told.
    Unknown,
}

/// Where a volume's files are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeKept {
    /// On a disk of this host.
    Disk,
    /// On another host.
    Elsewhere,
    /// In memory: gone after a restart of the host.
    Memory,
}

/// The volume under a log dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeFacts {
    /// The device's number.
    pub device: u64,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The file system's type.
    pub fs_type: String,
    /// Mount options of the mount and of the file system.
    pub options: String,
    /// Whether it is mounted read-only.
    pub read_only: bool,
    /// Where its files are kept.
    pub kept: VolumeKept,
    /// Bytes that a user without privileges may still use.
    pub available: u64,
    /// Bytes that root may still use.
    pub free: u64,
    /// Bytes of one block.
    pub block: u64,
    /// Inodes that are free; `None` where they are made as needed.
    pub free_inodes: Option<u64>,
}

/// A log dir.
#[derive(Debug, Clone)]
pub struct LogDirFacts {
    /// As the operator named it.
    pub path: PathBuf,
    /// Whether it is one of `log.dirs`; else it holds the metadata log alone.
    pub has_logs: bool,
    /// Whether it can be listed.
    pub state: DirState,
    /// Its own owner and mode.
    pub access: Access,
    /// Its volume, if the system tells.
    pub volume: Option<VolumeFacts>,
    /// Its names, sorted; all that is UTF-8.
    pub entries: Vec<EntryFacts>,
    /// `meta.properties`.
    pub meta: SmallFile,
    /// The checkpoints beside the partition dirs, each with its half-written successor.
    pub checkpoints: Vec<CheckpointFacts>,
    /// Who holds its lock.
    pub lock: LockFacts,
    /// Its partition dirs, `__cluster_metadata-0` too, sorted by name.
    pub partitions: Vec<PartitionFacts>,
    /// `quorum-state` of its `__cluster_metadata-0`.
    pub quorum_state: SmallFile,
}

/// A checkpoint of a log dir.
#[derive(Debug, Clone)]
pub struct CheckpointFacts {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub file: SmallFile,
    /// What its `.tmp` holds.
    pub tmp: SmallFile,
}

/// A partition dir.
#[derive(Debug, Clone)]
pub struct PartitionFacts {
    /// Its name.
    pub dir_name: String,
    /// What the name says.
    pub parsed: DirName,
    /// Owner and mode of the dir.
    pub access: Access,
    /// Why it cannot be listed.
    pub unreadable: Option<String>,
    /// Its names, sorted.
    pub entries: Vec<EntryFacts>,
    /// `partition.metadata`.
    pub metadata: SmallFile,
    /// `leader-epoch-checkpoint`.
    pub epochs: SmallFile,
    /// The epochs that the batches tell, read only where the checkpoint cannot be used.
    pub epochs_in_log: Option<Vec<EpochEntry>>,
    /// Its recovery point by a checkpoint that a boot can read; 0 where it has none.
    pub recovery_point: Offset,
    /// Where its segments do not follow each other; not looked for in a log that was compacted, or that a broker has.
    pub gaps: GapSearch,
}

/// A segment by its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentFacts {
    /// Its base offset.
    pub base_offset: Offset,
    /// Bytes of its `.log`.
    pub bytes: u64,
    /// Bytes of its `.index`; `None` if that is missing.
    pub index: Option<u64>,
    /// When it was written last, in ns since 1970.
    pub mtime_ns: i64,
}

impl PartitionFacts {
    /// Returns its segments in order.
    pub fn segments(&self) -> Vec<SegmentFacts> {
        let mut segments: Vec<SegmentFacts> = Vec::new();
        let files = self
            .entries
            .iter()
            .filter(|entry| entry.kind == EntryKind::File);
        for entry in files.clone() {
            if let PartitionFile::Segment {
                offset,
                kind: FileKind::Log,
            } = PartitionFile::parse(&entry.name)
            {
                segments.push(SegmentFacts {
                    base_offset: offset,
                    bytes: entry.len,
                    index: None,
                    mtime_ns: entry.mtime_ns,
                });
            }
        }
        segments.sort_by_key(|segment| segment.base_offset);
        for entry in files {
            if let PartitionFile::Segment {
                offset,
                kind: FileKind::Index,
            } = PartitionFile::parse(&entry.name)
                && let Ok(at) = segments.binary_search_by_key(&offset, |of| of.base_offset)
                && let Some(segment) = segments.get_mut(at)
            {
                segment.index = Some(entry.len);
            }
        }
        segments
    }

    /// Returns the bytes of its segments.
    pub fn bytes(&self) -> u64 {
        self.segments().iter().map(|segment| segment.bytes).sum()
    }

    /// Returns the segments that an unclean boot reads: from the one that holds the recovery point on.
    pub fn scanned(&self) -> Vec<SegmentFacts> {
        if matches!(self.parsed, DirName::Delete(_)) {
            return Vec::new();
        }
        let mut segments = self.segments();
        let first = segments
            .iter()
            .rposition(|segment| segment.base_offset <= self.recovery_point);
        segments.split_off(first.unwrap_or(0))
    }

    /// Says whether this is the metadata log, which the log manager leaves alone.
    pub fn is_metadata_log(&self) -> bool {
        self.parsed.is_cluster_metadata()
    }
}

impl LogDirFacts {
    /// Says whether its broker stopped cleanly.
    pub fn is_clean(&self) -> bool {
        self.entry(crate::format::file_name::CLEAN_SHUTDOWN_MARKER)
            .is_some()
    }

    /// Returns what has this name.
    pub fn entry(&self, name: &str) -> Option<&EntryFacts> {
        let found = self
            .entries
            .binary_search_by(|entry| entry.name.as_str().cmp(name));
        self.entries.get(found.ok()?)
    }

    /// Returns the partition dirs that the log manager loads.
    pub fn logs(&self) -> impl Iterator<Item = &PartitionFacts> {
        let logs = self.partitions.iter().filter(|log| !log.is_metadata_log());
        logs.filter(|_| self.has_logs)
    }
}

/// A limit and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Its value.
    pub value: u64,
    /// Where it stands (`LimitNOFILE= of /etc/systemd/system/kafka.service line 9`).
    pub source: String,
}

/// A mount that the host is meant to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedMount {
    /// Where.
    pub mount_point: PathBuf,
    /// What.
    pub source: String,
    /// Who says so (`/etc/fstab line 7`, `data.mount`).
    pub told_by: String,
    /// Whether something is mounted there.
    pub is_mounted: bool,
    /// Why it is not, if the system says so.
    pub error: Option<String>,
}

/// Limits and mounts of the host.
#[derive(Debug, Clone, Default)]
pub struct HostFacts {
    /// Open files of the broker's process.
    pub open_files: Option<Limit>,
    /// `vm.max_map_count`.
    pub map_count: Option<u64>,
    /// The broker's heap, in bytes (`-Xmx`).
    pub heap: Option<Limit>,
    /// The mounts that the host is meant to have.
    pub mounts: Vec<ExpectedMount>,
    /// The host's clock; `None` where another time was given.
    pub clock: Option<Timestamp>,
}

impl ConfigFacts {
    /// Says whether the node is one of KRaft.
    pub fn is_kraft(&self) -> bool {
        self.metadata != MetadataKept::ZooKeeper
    }
}

impl BootFacts {
    /// Says whether the release empties a segment in whose recovery it meets any I/O error.
    pub fn empties_on_io_error(&self) -> bool {
        self.version >= KafkaVersion::new(4, 0, 0)
    }

    /// Says whether the failure of a dir ends the process: it holds the metadata log, or it is the only one.
    pub fn ends_with(&self, dir: &Path) -> bool {
        let logs = self.dirs.iter().filter(|of| of.has_logs).count();
        self.config.metadata_dir.as_deref() == Some(dir) || logs <= 1
    }
}
