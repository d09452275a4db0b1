//! What the disk refused, where, and why.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::terms::Position;

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DiskAction {
    /// Listing a dir.
    List,
    /// Asking for a file's attributes.
    Stat,
    /// Opening a file.
    Open,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Creating a file or a dir.
    Create,
    /// Copying.
    Copy,
    /// Changing a length.
    SetLen,
    /// Renaming.
    Rename,
    /// Making a hard link.
    Link,
    /// Removing.
    Remove,
    /// Syncing.
    Sync,
    /// Setting owner, mode or attributes.
    SetOwner,
    /// Setting the modification time.
    SetTime,
    /// Locking.
    Lock,
}

impl fmt::Display for DiskAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "list",
            Self::Stat => "look at",
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::Create => "create",
            Self::Copy => "copy",
            Self::SetLen => "set the length of",
            Self::Rename => "rename",
            Self::Link => "link",
            Self::Remove => "remove",
            Self::Sync => "sync",
            Self::SetOwner => "set owner and mode of",
            Self::SetTime => "set the modification time of",
            Self::Lock => "lock",
        })
    }
}

/// A refused system call with its file and place.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}{}", path.display(), At(*position))]
pub struct DiskError {
    /// What was tried.
    pub action: DiskAction,
    /// On which file or dir.
    pub path: PathBuf,
    /// At which byte, for reads.
    pub position: Option<Position>,
    /// The system's answer.
    #[source]
    pub source: io::Error,
}

impl DiskError {
    /// Returns the error of `action` on `path`.
    pub fn new(action: DiskAction, path: &Path, source: io::Error) -> Self {
        Self {
            action,
            path: path.to_owned(),
            position: None,
            source,
        }
    }

    /// Returns a closure for `map_err`.
    pub fn of(action: DiskAction, path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::new(action, path, source)
    }

    /// Names the byte.
    #[must_use]
    pub fn at(mut self, position: u64) -> Self {
        self.position = Some(Position(position));
        self
    }

    /// Returns error and cause in one line.
    pub fn sentence(&self) -> String {
        format!("{self}: {}", self.source)
    }

    /// Says whether the file or dir is not there.
    pub fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}

struct At(Option<Position>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(position) => write!(f, " at byte {position}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_file_place_and_cause() {
        let error = DiskError::new(
            DiskAction::Read,
            Path::new("/d/t-0/0.log"),
            io::Error::from_raw_os_error(5),
        )
        .at(4096);
        assert_eq!(
            error.sentence(),
            "cannot read /d/t-0/0.log at byte 4096: Input/output error (os error 5)"
        );
    }
}
