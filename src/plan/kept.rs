//! What an apply keeps of a file, so that an undo can put it back as it was.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Mend, Step};

/// Owner, group, mode and the extended attributes that decide access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileOwner {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Permission bits.
    pub mode: u32,
    /// Attributes, name and value in lower-case hex each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<(String, String)>,
}

/// Bytes that an apply took away from a file: all of them, or those behind a cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Where they are; `None` where all of them are zeros, which need no copy.
    pub path: Option<PathBuf>,
    /// How many.
    pub len: u64,
    /// Their SHA-256 in lower-case hex; `None` for zeros and for a large file that was linked.
    pub sha256: Option<String>,
    /// The file's modification time before, in ns since 1970.
    pub mtime_ns: i64,
    /// The file's owner and mode before.
    pub owner: FileOwner,
}

/// What an undo does to the files of a log dir itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DirUndo {
    /// The checkpoints that the hand-over wrote, before the logs' steps.
    pub checkpoints: Vec<Step>,
    /// The marker that the apply took away or replaced, before the logs' steps too.
    pub marker: Option<Step>,
    /// What a truncation changed before its steps: recovery points, then the marker. They come back behind the logs' steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<Step>,
    /// What takes an apply's other changes of the dir's names back, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mends: Vec<Mend>,
}
