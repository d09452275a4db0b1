//! Keeps what an apply takes away: `QUARANTINE/LOG-DIR/PARTITION-DIR/FILE~STATE[~FROM-TO]`.
//!
//! A name says which state of which file it holds, so that a rerun finds what a killed run kept already.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::log_target::OWN_SUFFIX;
use crate::disk::{DiskAction, DiskError, Storage};
use crate::plan::{FileStamp, hex};

/// Larger files that are kept whole by a link are not read for their hash: their bytes are still there.
const MAX_HASHED_LINK: u64 = 64 << 20;

/// What a step takes away of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut<'a> {
    /// The file.
    pub(super) path: &'a Path,
    /// Its state before.
    pub(super) stamp: &'a FileStamp,
    /// The first byte that goes.
    pub(super) from: u64,
    /// Behind the last byte that goes; a file that is cut in two steps loses its end in the first.
    pub(super) until: u64,
    /// Whether the file itself is cut: a second name of it would be cut as well.
    pub(super) in_place: bool,
}

impl Cut<'_> {
    /// Says whether the whole file goes.
    fn is_whole(&self) -> bool {
        self.from == 0 && self.until >= self.stamp.len
    }
}

/// Where cut bytes are, and what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    /// Where they are; `None` without a quarantine.
    pub(super) path: Option<PathBuf>,
    /// Their SHA-256 in lower-case hex; `None` for a large file that was linked.
    pub(super) sha256: Option<String>,
}

/// The quarantine of an apply; without a root nothing is kept.
#[derive(Clone, Copy)]
pub(super) struct QuarantineDir<'a> {
    pub(super) storage: &'a dyn Storage,
    pub(super) root: Option<&'a Path>,
}

impl QuarantineDir<'_> {
    /// Keeps what goes; durable only after the quarantine's volume was synced.
    pub(super) fn keep(&self, cut: Cut<'_>) -> Result<Kept, DiskError> {
        let Some(root) = self.root else {
            return Ok(Kept {
                path: None,
                sha256: Some(self.hash(cut.path, cut.from, cut.until)?),
            });
        };
        let target = kept_path(root, cut);
        let wanted = cut.until.saturating_sub(cut.from);
        let there = self.storage.stat(&target);
        let linked = if there.is_ok_and(|stat| stat.len == wanted) {
            false
        } else {
            if let Some(parent) = target.parent() {
                self.storage.create_dir(parent)?;
            }
            self.take(cut, wanted, &target)?
        };
        let sha256 = if linked && wanted > MAX_HASHED_LINK {
            None
        } else {
            let hash = self.hash(cut.path, cut.from, cut.until)?;
            if !linked && self.hash(&target, 0, wanted)? != hash {
                let text = "the disk returned other bytes at a second read";
                let error = std::io::Error::other(text);
                return Err(DiskError::new(DiskAction::Copy, cut.path, error).at(cut.from));
            }
            Some(hash)
        };
        Ok(Kept {
            path: Some(target),
            sha256,
        })
    }

    /// Links a whole file, or copies; says whether it linked.
    fn take(&self, cut: Cut<'_>, len: u64, target: &Path) -> Result<bool, DiskError> {
        // Another file system, or one without links, is told by the error.
        if !cut.in_place && cut.is_whole() && self.storage.link(cut.path, target).is_ok() {
            return Ok(true);
        }
        let half = with_suffix(target, OWN_SUFFIX);
        self.storage.copy_range(cut.path, cut.from, len, &half)?;
        self.storage.sync_file(&half)?;
        self.storage.rename(&half, target)?;
        Ok(false)
    }

    fn hash(&self, path: &Path, from: u64, until: u64) -> Result<String, DiskError> {
        let file = self.storage.open(path)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 256 << 10];
        let mut position = from;
        while position < until {
            let left = usize::try_from(until - position).unwrap_or(usize::MAX);
            let size = left.min(buffer.len());
            let read = file
                .read_at(buffer.get_mut(..size).unwrap_or_default(), position)
                .map_err(|error| DiskError::new(DiskAction::Read, path, error).at(position))?;
            if read == 0 {
                break;
            }
            hash.update(buffer.get(..read).unwrap_or_default());
            position += read as u64;
        }
        Ok(hex(&hash.finalize()))
    }
}

/// Returns where cut bytes are kept.
fn kept_path(root: &Path, cut: Cut<'_>) -> PathBuf {
    let mut path = root.to_owned();
    // A log dir's own path, without its root, lies below the quarantine.
    let parent = cut.path.parent().unwrap_or(Path::new(""));
    path.extend(parent.components().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name),
        _ => None,
    }));
    let stamp = cut.stamp;
    let state = format!("{}~{}-{}", stamp.name, stamp.inode, stamp.mtime_ns);
    path.push(if cut.is_whole() {
        state
    } else {
        format!("{state}~{}-{}", cut.from, cut.until)
    });
    path
}

/// Returns a path with something appended to its name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealStorage;

    #[test]
    fn a_tail_is_copied_a_whole_file_is_linked_and_a_rerun_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.log");
        std::fs::write(&path, b"good and bad").unwrap();
        let stat = RealStorage.stat(&path).unwrap();
        let stamp = FileStamp {
            name: "0.log".to_owned(),
            inode: stat.inode,
            len: stat.len,
            mtime_ns: stat.mtime_ns,
        };
        let root = dir.path().join("quarantine");
        let quarantine = QuarantineDir {
            storage: &RealStorage,
            root: Some(&root),
        };
        let cut = |from| Cut {
            path: &path,
            stamp: &stamp,
            from,
            until: stamp.len,
            in_place: from > 0,
        };
        let tail = quarantine.keep(cut(5)).unwrap();
        assert_eq!(
            std::fs::read(tail.path.as_ref().unwrap()).unwrap(),
            b"and bad"
        );
        assert_eq!(tail.sha256, Some(hex(&Sha256::digest(b"and bad"))));
        assert_eq!(quarantine.keep(cut(5)).unwrap(), tail);
        let middle = Cut { until: 8, ..cut(5) };
        let middle = quarantine.keep(middle).unwrap();
        assert_eq!(
            std::fs::read(middle.path.as_ref().unwrap()).unwrap(),
            b"and"
        );
        assert_eq!(middle.sha256, Some(hex(&Sha256::digest(b"and"))));
        let whole = quarantine.keep(cut(0)).unwrap();
        let kept = RealStorage.stat(whole.path.as_ref().unwrap()).unwrap();
        assert_eq!(kept.inode, stat.inode);
        assert_eq!(quarantine.keep(cut(0)).unwrap(), whole);
        let none = QuarantineDir {
            storage: &RealStorage,
            root: None,
        };
        let kept = none.keep(cut(5)).unwrap();
        assert_eq!((kept.path, kept.sha256), (None, tail.sha256));
    }
}
