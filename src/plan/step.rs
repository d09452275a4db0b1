//! The verbs that an executor knows.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Content, FileOwner, KeptFile};

/// Whether what a step takes away is copied to the quarantine first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quarantine {
    /// Nothing is lost: the bytes can be made again from the log.
    Regenerable,
    /// The bytes are copied first, unless the plan has no quarantine.
    Keep,
}

/// What a step does to one file of its dir.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum StepAction {
    /// Removes the file.
    Remove {
        /// Its length in bytes.
        len: u64,
    },
    /// Cuts the file at `to` bytes.
    SetLen {
        /// Its length in bytes.
        from: u64,
        /// Its new length in bytes, always smaller.
        to: u64,
    },
    /// Creates or replaces the file as a whole, by a rename.
    Write {
        /// What it will hold.
        content: Content,
        /// The length of the file that it replaces.
        replaces: Option<u64>,
    },
    /// Creates or replaces the file with bytes of another file of the dir, by a rename.
    CopyPart {
        /// The other file's name.
        source: String,
        /// Where in it the bytes begin.
        start: u64,
        /// How many.
        len: u64,
        /// The length of the file that it replaces.
        replaces: Option<u64>,
    },
    /// Creates or replaces the file with zeros that take no blocks, by a rename.
    Allocate {
        /// How many.
        len: u64,
        /// The length of the file that it replaces.
        replaces: Option<u64>,
    },
    /// Removes the dir itself, which the steps before it emptied; the step's file is its name. Always the last step.
    RemoveDir,
    /// Gives the file another name.
    Rename {
        /// The new name.
        to: String,
    },
    /// Puts a whole file back from the quarantine, by a rename.
    Restore {
        /// What was kept of it: all.
        kept: Box<KeptFile>,
        /// The length of the file that it replaces.
        replaces: Option<u64>,
    },
    /// Puts back the bytes behind a cut.
    Append {
        /// Its length in bytes.
        from: u64,
        /// Its new length in bytes, always larger.
        to: u64,
        /// What was kept of it: the bytes behind `from`.
        kept: Box<KeptFile>,
    },
    /// Copies the file into a dir of another log dir, holes, owner, mode and time included, and compares the bytes.
    CopyOut {
        /// The dir, absolute.
        to: PathBuf,
        /// Its length in bytes.
        len: u64,
        /// Bytes that it takes on its volume.
        allocated: u64,
    },
    /// Gives a dir another path on its file system; the step's file is its name. Steps behind it work in the new place if it
    /// is the partition's own dir.
    MoveDir {
        /// Its path, absolute.
        from: PathBuf,
        /// Its new path, absolute.
        to: PathBuf,
    },
    /// Gives the file another owner and mode; the name `.` stands for the dir itself.
    SetOwner {
        /// What it has.
        from: Box<FileOwner>,
        /// What it will have.
        to: Box<FileOwner>,
    },
}

/// One change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The file's name inside its partition dir.
    pub file: String,
    /// What happens to it.
    #[serde(flatten)]
    pub action: StepAction,
    /// Whether its bytes go to the quarantine first.
    pub quarantine: Quarantine,
    /// Whether all steps before it are made durable first; those between may become durable in any order.
    #[serde(default = "yes")]
    pub after_sync: bool,
    /// Why, in a few words.
    pub reason: String,
}

/// A plan of before knows no better.
fn yes() -> bool {
    true
}

impl Step {
    /// Returns how many bytes the step takes away.
    pub fn removed_bytes(&self) -> u64 {
        match &self.action {
            StepAction::Remove { len } => *len,
            StepAction::SetLen { from, to } => from.saturating_sub(*to),
            StepAction::Write { replaces, .. }
            | StepAction::CopyPart { replaces, .. }
            | StepAction::Allocate { replaces, .. } => replaces.unwrap_or(0),
            StepAction::RemoveDir
            | StepAction::Rename { .. }
            | StepAction::Restore { .. }
            | StepAction::Append { .. }
            | StepAction::CopyOut { .. }
            | StepAction::MoveDir { .. }
            | StepAction::SetOwner { .. } => 0,
        }
    }
}
