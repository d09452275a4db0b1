//! Keeps what an apply takes away, and gives it back: `QUARANTINE/PLAN/LOG-DIR/PARTITION-DIR/FILE~STATE[~FROM-TO]`.
//!
//! A name says which state of which file it holds, so that a rerun finds what a killed run kept already. Zeros that can be
//! made again are not kept: the journal has their number.

use std::path::{Path, PathBuf};

use crate::disk::{DiskAction, DiskError, Ownership, Storage};
use crate::engine::EngineError;
use crate::engine::planning::log_target::OWN_SUFFIX;
use crate::engine::read::file_bytes::{hash_range, is_zeros};
use crate::engine::read::file_owner::{file_owner, ownership};
use crate::plan::{FileStamp, KeptFile, Quarantine};

/// Larger files that are kept whole by a link are not read for their hash: their bytes are still there.
const MAX_HASHED_LINK: u64 = 64 << 20;

/// What a step takes away of a file.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Cut<'a> {
    /// The file.
    pub(in crate::engine) path: &'a Path,
    /// Its state before.
    pub(in crate::engine) stamp: &'a FileStamp,
    /// The first byte that goes.
    pub(in crate::engine) from: u64,
    /// Behind the last byte that goes; a file that is cut in two steps loses its end in the first.
    pub(in crate::engine) until: u64,
    /// Whether the file itself is cut: a second name of it would be cut as well.
    pub(in crate::engine) in_place: bool,
    /// Whether the bytes cannot be made again.
    pub(in crate::engine) quarantine: Quarantine,
}

impl Cut<'_> {
    /// Says whether the whole file goes.
    fn is_whole(&self) -> bool {
        self.from == 0 && self.until >= self.stamp.len
    }
}

/// Where cut bytes are, and what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) struct Kept {
    /// What an undo needs; `None` without a quarantine.
    pub(in crate::engine) file: Option<KeptFile>,
    /// Where they are; `None` without a quarantine, and for zeros that can be made again.
    pub(in crate::engine) place: Option<PathBuf>,
    /// Their SHA-256 in lower-case hex; `None` where `place` is, and for a large file that was linked.
    pub(in crate::engine) sha256: Option<String>,
}

/// The quarantine of an apply; without a root nothing is kept.
#[derive(Clone, Copy)]
pub(in crate::engine) struct QuarantineDir<'a> {
    pub(in crate::engine) storage: &'a dyn Storage,
    /// The folder of the plan, [`plan_folder`].
    pub(in crate::engine) root: Option<&'a Path>,
}

impl QuarantineDir<'_> {
    /// Keeps what goes; durable only after the quarantine's volume was synced.
    pub(in crate::engine) fn keep(&self, cut: Cut<'_>) -> Result<Kept, DiskError> {
        let hash = || hash_range(self.storage, cut.path, cut.from, cut.until);
        let Some(root) = self.root else {
            return Ok(Kept {
                file: None,
                place: None,
                sha256: Some(hash()?),
            });
        };
        let target = kept_path(root, cut);
        let len = cut.until.saturating_sub(cut.from);
        let there = self.storage.stat(&target);
        let taken = match there {
            Ok(stat) if stat.len != len => self.take(cut, len, &target)?,
            Ok(stat) if stat.inode == cut.stamp.inode && !cut.in_place => Taken::Linked,
            Ok(_) => Taken::Copied,
            Err(_) => self.take(cut, len, &target)?,
        };
        let sha256 = match taken {
            Taken::Nothing => None,
            Taken::Linked if len > MAX_HASHED_LINK => None,
            Taken::Linked | Taken::Hole => Some(hash()?),
            Taken::Copied => {
                let hash = hash()?;
                if hash_range(self.storage, &target, 0, len)? != hash {
                    let text = "the disk returned other bytes at a second read";
                    let error = std::io::Error::other(text);
                    return Err(DiskError::new(DiskAction::Copy, cut.path, error).at(cut.from));
                }
                Some(hash)
            }
        };
        let owner = Ownership::of(cut.path).map_err(DiskError::of(DiskAction::Stat, cut.path))?;
        let is_zeros = matches!(taken, Taken::Nothing | Taken::Hole);
        Ok(Kept {
            file: Some(KeptFile {
                path: (!is_zeros).then(|| target.clone()),
                len,
                sha256: sha256.clone().filter(|_| !is_zeros),
                mtime_ns: cut.stamp.mtime_ns,
                owner: file_owner(&owner),
            }),
            place: (taken != Taken::Nothing).then_some(target),
            sha256,
        })
    }

    /// Links a whole file, or copies; zeros take no space.
    fn take(&self, cut: Cut<'_>, len: u64, target: &Path) -> Result<Taken, DiskError> {
        let links = !cut.in_place && cut.is_whole();
        let zeros = !links && is_zeros(self.storage, cut.path, cut.from, cut.until)?;
        if zeros && cut.quarantine == Quarantine::Regenerable {
            return Ok(Taken::Nothing);
        }
        if let Some(parent) = target.parent() {
            self.storage.create_dir(parent)?;
        }
        // Another file system, or one without links, is told by the error.
        if links && self.storage.link(cut.path, target).is_ok() {
            return Ok(Taken::Linked);
        }
        let half = with_suffix(target, OWN_SUFFIX);
        let taken = if zeros {
            self.storage.copy_range(cut.path, cut.from, 0, &half)?;
            self.storage.set_len(&half, len)?;
            Taken::Hole
        } else {
            let copied = self.storage.copy_range(cut.path, cut.from, len, &half);
            if copied.is_err() {
                // On a full volume nothing of ours may stay in the way.
                let _ = self.storage.remove(&half);
            }
            copied?;
            Taken::Copied
        };
        self.storage.sync_file(&half)?;
        self.storage.rename(&half, target)?;
        Ok(taken)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// By a second name.
    Linked,
    /// By their bytes.
    Copied,
    /// Zeros, by a hole.
    Hole,
    /// Zeros at the end of a preallocated index: their number is enough.
    Nothing,
}

/// Returns where a plan keeps what it takes away.
pub(in crate::engine) fn plan_folder(quarantine: &Path, hash: &str) -> PathBuf {
    quarantine.join(hash)
}

/// Writes a kept file under `half`, with its old owner, mode and time; the caller renames it.
pub(in crate::engine) fn put_beside(
    storage: &dyn Storage,
    kept: &KeptFile,
    half: &Path,
) -> Result<(), EngineError> {
    // Left by a run that was killed: a link would not replace it.
    match storage.remove(half) {
        Err(error) if !error.is_not_found() => return Err(error.into()),
        _ => {}
    }
    let owner = ownership(&kept.owner);
    let Some(source) = &kept.path else {
        storage.write_file(half, b"", &owner)?;
        storage.set_len(half, kept.len)?;
        return Ok(storage.set_mtime(half, kept.mtime_ns)?);
    };
    check_kept(storage, kept)?;
    let stat = storage.stat(source)?;
    let is_itself = stat.mtime_ns == kept.mtime_ns
        && (stat.uid, stat.gid, stat.mode) == (owner.uid, owner.gid, owner.mode);
    if is_itself && storage.link(source, half).is_ok() {
        return Ok(());
    }
    storage.copy_range(source, 0, kept.len, half)?;
    storage.set_owner(half, &owner)?;
    Ok(storage.set_mtime(half, kept.mtime_ns)?)
}

/// Checks that kept bytes are what they were.
pub(in crate::engine) fn check_kept(
    storage: &dyn Storage,
    kept: &KeptFile,
) -> Result<(), EngineError> {
    let Some(path) = &kept.path else {
        return Ok(());
    };
    let len = storage.stat(path)?.len;
    if len != kept.len {
        let cause = format!("it has {len} bytes, not {}", kept.len);
        return Err(EngineError::damaged(path, &cause));
    }
    if let Some(sha256) = &kept.sha256
        && hash_range(storage, path, 0, len)? != *sha256
    {
        return Err(EngineError::damaged(
            path,
            "its bytes do not fit their hash",
        ));
    }
    Ok(())
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
pub(in crate::engine) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::disk::RealStorage;
    use crate::plan::hex;

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
            quarantine: Quarantine::Keep,
        };
        let path_of = |kept: &Kept| kept.file.as_ref().unwrap().path.clone().unwrap();
        let tail = quarantine.keep(cut(5)).unwrap();
        assert_eq!(std::fs::read(path_of(&tail)).unwrap(), b"and bad");
        assert_eq!(tail.sha256, Some(hex(&Sha256::digest(b"and bad"))));
        assert_eq!(quarantine.keep(cut(5)).unwrap(), tail);
        let middle = Cut { until: 8, ..cut(5) };
        let middle = quarantine.keep(middle).unwrap();
        assert_eq!(std::fs::read(path_of(&middle)).unwrap(), b"and");
        assert_eq!(middle.sha256, Some(hex(&Sha256::digest(b"and"))));
        let whole = quarantine.keep(cut(0)).unwrap();
        let kept = RealStorage.stat(&path_of(&whole)).unwrap();
        assert_eq!(kept.inode, stat.inode);
        assert_eq!(quarantine.keep(cut(0)).unwrap(), whole);
        let none = QuarantineDir {
            storage: &RealStorage,
            root: None,
        };
        let kept = none.keep(cut(5)).unwrap();
        assert_eq!((kept.file, kept.sha256), (None, tail.sha256));
    }

    #[test]
    fn what_was_kept_comes_back_with_its_time_and_mode_and_damage_is_seen() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.index");
        std::fs::write(&path, [7; 64]).unwrap();
        RealStorage.set_len(&path, 1 << 20).unwrap();
        let mode = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(&path, mode).unwrap();
        RealStorage
            .set_mtime(&path, 1_700_000_000_123_456_789)
            .unwrap();
        let stat = RealStorage.stat(&path).unwrap();
        let stamp = FileStamp {
            name: "0.index".to_owned(),
            inode: stat.inode,
            len: stat.len,
            mtime_ns: stat.mtime_ns,
        };
        let root = dir.path().join("quarantine");
        let quarantine = QuarantineDir {
            storage: &RealStorage,
            root: Some(&root),
        };
        let cut = |from, in_place| Cut {
            path: &path,
            stamp: &stamp,
            from,
            until: stamp.len,
            in_place,
            quarantine: Quarantine::Regenerable,
        };
        let zeros = quarantine.keep(cut(64, true)).unwrap().file.unwrap();
        assert_eq!((zeros.path, zeros.len), (None, (1 << 20) - 64));
        let hole = quarantine.keep(Cut {
            quarantine: Quarantine::Keep,
            ..cut(64, true)
        });
        let hole = hole.unwrap();
        assert_eq!(hole.file.unwrap().path, None);
        let found = RealStorage.stat(&hole.place.unwrap()).unwrap();
        assert_eq!((found.len, found.allocated), ((1 << 20) - 64, 0));
        for in_place in [false, true] {
            let mut kept = quarantine.keep(cut(0, in_place)).unwrap().file.unwrap();
            if in_place {
                // A copy on another file system.
                let copy = dir.path().join("copy");
                std::fs::copy(kept.path.unwrap(), &copy).unwrap();
                kept.path = Some(copy);
            }
            let back = dir.path().join("back");
            put_beside(&RealStorage, &kept, &back).unwrap();
            let found = RealStorage.stat(&back).unwrap();
            assert_eq!(std::fs::read(&back).unwrap(), std::fs::read(&path).unwrap());
            assert_eq!((found.mode, found.mtime_ns), (0o640, stat.mtime_ns));
            assert_eq!(found.inode == stat.inode, !in_place);
            if in_place {
                std::fs::write(kept.path.as_ref().unwrap(), vec![8; 1 << 20]).unwrap();
                let error = put_beside(&RealStorage, &kept, &back).unwrap_err();
                assert!(error.to_string().contains("do not fit their hash"));
            }
        }
    }
}
