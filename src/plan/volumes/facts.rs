//! What was seen of a log dir and of the volume that it lies on.

use std::path::PathBuf;

use crate::log::{GapSearch, Usage, UsageByKind, UsageKind};
use crate::terms::Timestamp;

/// Bytes that a log took in during the last 10 minutes and the last 24 hours, by its segments' times; they say nothing of
/// what was deleted meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// In the last 10 minutes.
    pub minutes: u64,
    /// In the last 24 hours.
    pub day: u64,
}

/// One dir of a log dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogUsage {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: UsageKind,
    /// What its files take.
    pub usage: UsageByKind,
    /// Its segments.
    pub segments: u64,
    /// Its `.log` files: logical and allocated bytes.
    pub data: Usage,
    /// Its indexes: logical and allocated bytes.
    pub indexes: Usage,
    /// Bytes of `.log` files that have no block: a preallocated end, or a hole.
    pub holes: u64,
    /// When a segment was last written to.
    pub written_at: Option<Timestamp>,
    /// What it took in lately.
    pub written: Written,
    /// Whether it lies on another volume than its log dir, behind a mount or a link.
    pub elsewhere: bool,
    /// Why it could not be looked at.
    pub error: Option<String>,
    /// Where its segments do not follow each other; not looked for beside a running broker, nor in what was compacted.
    pub gaps: GapSearch,
}

impl LogUsage {
    /// Returns the bytes that it takes on its volume.
    pub fn allocated(&self) -> u64 {
        self.usage.sum(|_| true).allocated
    }

    /// Returns the topic that it belongs to, if its name gives one.
    pub fn topic(&self) -> Option<String> {
        let name = crate::format::file_name::DirName::parse(&self.name);
        name.partition().map(|partition| partition.topic.clone())
    }
}

/// One file of a dir of a log dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUsage {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub kind: UsageKind,
    /// The base offset of its segment, if it is of one.
    pub base_offset: Option<i64>,
    /// Whether it is a segment's `.log`.
    pub is_log: bool,
    /// What it takes.
    pub usage: Usage,
    /// When it was last written to.
    pub written_at: Timestamp,
}

/// Something in a log dir that is not Kafka's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignEntry {
    /// Its path inside the log dir.
    pub name: String,
    /// What it takes.
    pub usage: Usage,
    /// Whether a boot refuses it: a dir that is no partition dir.
    pub stops_boot: bool,
}

/// What lies in a log dir.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirUsage {
    /// Its dirs, as far as they were looked at.
    pub logs: Vec<LogUsage>,
    /// Its own files.
    pub own: Usage,
    /// What is not Kafka's.
    pub foreign: Vec<ForeignEntry>,
    /// Whether all of it was looked at.
    pub is_whole: bool,
}

impl DirUsage {
    /// Returns what each kind takes on the log dir's own volume.
    pub fn by_kind(&self) -> UsageByKind {
        let mut sum = UsageByKind::default();
        for log in self.logs.iter().filter(|log| !log.elsewhere) {
            sum.merge(&log.usage);
        }
        sum.add(UsageKind::Own, self.own);
        for entry in &self.foreign {
            sum.add(UsageKind::Foreign, entry.usage);
        }
        sum
    }
}

/// What a file system says of its space, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceFacts {
    /// All.
    pub total: u64,
    /// Free for a process without privileges, such as the broker.
    pub free: u64,
    /// Free for root: more where blocks are reserved.
    pub free_root: u64,
    /// All inodes, where they are numbered.
    pub inodes: Option<u64>,
    /// Free inodes, where they are numbered.
    pub free_inodes: Option<u64>,
}

impl SpaceFacts {
    /// Returns the bytes that are in use.
    pub fn used(&self) -> u64 {
        self.total.saturating_sub(self.free_root)
    }

    /// Returns the bytes that are kept for root.
    pub fn reserved(&self) -> u64 {
        self.free_root.saturating_sub(self.free)
    }

    /// Returns the share in use in percent, of what a broker can get; rounded up, as `df` does.
    pub fn used_percent(&self) -> u64 {
        let whole = self.used().saturating_add(self.free);
        if whole == 0 {
            return 0;
        }
        let share = u128::from(self.used()) * 100;
        u64::try_from(share.div_ceil(u128::from(whole))).unwrap_or(100)
    }
}

/// Why a log dir is not served, or will not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirProblem {
    /// It cannot be looked at.
    Missing {
        /// Why.
        cause: String,
    },
    /// The mount point that the system's table names is not mounted.
    NotMounted {
        /// That mount point.
        mount_point: PathBuf,
    },
    /// The broker has given it up.
    Offline {
        /// When, as the broker's log has it; `None` where only its free lock shows it.
        since: Option<Timestamp>,
        /// The first error.
        cause: Option<String>,
    },
    /// Its file system can only be read.
    ReadOnly,
    /// The kernel reports I/O errors of its device.
    Failing {
        /// How many.
        errors: u64,
        /// The last one.
        last: String,
    },
    /// No new replica is placed on it.
    Cordoned,
}

/// Deleted files that processes still hold, summed by process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBytes {
    /// The process.
    pub pid: u32,
    /// Its name.
    pub command: String,
    /// How many files.
    pub files: u64,
    /// Bytes on the volume.
    pub allocated: u64,
    /// The largest of them.
    pub largest: PathBuf,
}

/// What was seen of a log dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeFacts {
    /// The log dir, as the configuration names it.
    pub dir: PathBuf,
    /// What tells its volume from others; `None` where the dir cannot be looked at.
    pub volume: Option<String>,
    /// Where the volume is mounted.
    pub mount_point: Option<PathBuf>,
    /// The file system's type.
    pub fs_type: Option<String>,
    /// The device or export.
    pub source: Option<String>,
    /// The mount options.
    pub options: String,
    /// Its space.
    pub space: Option<SpaceFacts>,
    /// Bytes of the device below.
    pub device_bytes: Option<u64>,
    /// What is wrong.
    pub problems: Vec<DirProblem>,
    /// What lies there.
    pub usage: DirUsage,
    /// Deleted files on the volume that are still held.
    pub held: Vec<HeldBytes>,
}
