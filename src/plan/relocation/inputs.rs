//! What decides a relocation.

use std::path::PathBuf;

use crate::plan::{ReplicaEvidence, StopState};
use crate::terms::{Offset, Timestamp, TopicPartition};

/// A file of the partition's dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub len: u64,
    /// Bytes that it takes on its volume.
    pub allocated: u64,
    /// Whether it is a plain file whose name can be written.
    pub is_plain: bool,
}

/// What the log dir that the partition goes to has under its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetCopy {
    /// Nothing.
    Nothing,
    /// A dir whose `.log` files have the same names and bytes: an interrupted move came so far.
    Whole,
    /// Something else.
    Other,
}

/// What is free for the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes that may be written on the target's volume; `None` where the system does not tell.
    pub bytes: Option<u64>,
    /// Files that may be made there; `None` where the file system makes them as needed.
    pub inodes: Option<u64>,
}

/// All that decides the relocation of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelocationInputs {
    /// The partition, which is its dir's name too.
    pub topic_partition: TopicPartition,
    /// The log dir that it lies in.
    pub from: PathBuf,
    /// The log dir that it goes to.
    pub to: PathBuf,
    /// The files of its dir, sorted by name.
    pub files: Vec<SourceFile>,
    /// Why the dir cannot be moved as it lies there: a link, a mount, an error.
    pub immovable: Option<String>,
    /// Whether both log dirs lie on one file system, reached through one mount.
    pub same_volume: bool,
    /// What the target has under the partition's name.
    pub target: TargetCopy,
    /// The log dir in which a `-future` dir of the partition lies, if one does.
    pub future_in: Option<PathBuf>,
    /// What is free on the target's volume.
    pub room: Room,
    /// How the broker of the source's log dir stopped.
    pub stop: StopState,
    /// How the broker of the target's log dir stopped.
    pub target_stop: StopState,
    /// `.log` bytes that a boot of the target reads again once its marker is gone.
    pub target_reads: u64,
    /// The recovery point of the source's checkpoint.
    pub recovery_point: Option<Offset>,
    /// The log start offset of the source's checkpoint.
    pub log_start_offset: Option<Offset>,
    /// Who else has the partition; `None` if nothing says.
    pub replicas: Option<ReplicaEvidence>,
    /// 32 hex digits that no other dir of these log dirs has in its name.
    pub id: String,
    /// The clock.
    pub now: Timestamp,
}
