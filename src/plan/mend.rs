//! Changes of a log dir's own names that take away what a boot would stumble over.

use serde::{Deserialize, Serialize};

use super::FileOwner;

/// One change of a log dir's own names. Each is one system call or a rename, can be done again, and can be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mend", rename_all = "snake_case")]
pub enum Mend {
    /// Creates or replaces a checkpoint or `meta.properties` as a whole, by a rename.
    Write {
        /// Its name.
        file: String,
        /// What it will hold.
        text: String,
        /// The length of the file that it replaces.
        replaces: Option<u64>,
        /// Why, in a few words.
        reason: String,
    },
    /// Gives a file, or a dir with all of its own attributes, another owner and mode.
    SetOwner {
        /// Its name; `.` for the log dir itself.
        file: String,
        /// What it has.
        from: FileOwner,
        /// What it will have.
        to: FileOwner,
        /// Why, in a few words.
        reason: String,
    },
    /// Removes an empty dir that is no partition's.
    RemoveDir {
        /// Its name.
        name: String,
        /// Its owner and mode.
        owner: FileOwner,
        /// Why, in a few words.
        reason: String,
    },
    /// Creates a dir again that an apply removed.
    CreateDir {
        /// Its name.
        name: String,
        /// Its owner and mode.
        owner: FileOwner,
    },
    /// Gives a partition dir another name.
    RenameDir {
        /// Its name.
        name: String,
        /// Its new name.
        to: String,
        /// Why, in a few words.
        reason: String,
    },
}

impl Mend {
    /// Returns the name that it is about.
    pub fn name(&self) -> &str {
        match self {
            Self::Write { file, .. } | Self::SetOwner { file, .. } => file,
            Self::RemoveDir { name, .. }
            | Self::CreateDir { name, .. }
            | Self::RenameDir { name, .. } => name,
        }
    }

    /// Returns why it is done.
    pub fn reason(&self) -> &str {
        match self {
            Self::Write { reason, .. }
            | Self::SetOwner { reason, .. }
            | Self::RemoveDir { reason, .. }
            | Self::RenameDir { reason, .. } => reason,
            Self::CreateDir { .. } => "as it was",
        }
    }

    /// Returns the change that takes it back; `None` for a write, whose bytes are kept elsewhere.
    #[must_use]
    pub fn backwards(&self) -> Option<Self> {
        match self.clone() {
            Self::Write { .. } => None,
            Self::SetOwner {
                file,
                from,
                to,
                reason,
            } => Some(Self::SetOwner {
                file,
                from: to,
                to: from,
                reason,
            }),
            Self::RemoveDir { name, owner, .. } => Some(Self::CreateDir { name, owner }),
            Self::CreateDir { name, owner } => Some(Self::RemoveDir {
                name,
                owner,
                reason: "as it was".to_owned(),
            }),
            Self::RenameDir { name, to, reason } => Some(Self::RenameDir {
                name: to,
                to: name,
                reason,
            }),
        }
    }
}
