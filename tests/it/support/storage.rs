//! Storages that stop, or that do not sync.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use krescue::disk::{
    DiskAction, DiskError, FileStat, Listed, Ownership, Piece, ReadAt, RealStorage, Storage,
};

/// The real files, until so many changes were made: then every further one fails, as after SIGKILL.
///
/// Nothing is synced: what a kill leaves is the page cache's view.
#[derive(Debug)]
pub(crate) struct StoppingStorage {
    left: AtomicUsize,
    /// Whether the change at which it stops is half done, where that can be.
    tears: bool,
}

impl StoppingStorage {
    /// Stops after `changes` changes.
    pub(crate) fn after(changes: usize) -> Self {
        Self {
            left: AtomicUsize::new(changes),
            tears: false,
        }
    }

    /// Stops in the middle of the change after `changes` others: of bytes that are written, half are.
    pub(crate) fn in_the_middle_after(changes: usize) -> Self {
        Self {
            tears: true,
            ..Self::after(changes)
        }
    }

    /// Never stops, and does not sync.
    pub(crate) fn never() -> Self {
        Self::after(usize::MAX)
    }

    /// Says how many changes were made since [`StoppingStorage::never`].
    pub(crate) fn changes(&self) -> usize {
        usize::MAX - self.left.load(Ordering::SeqCst)
    }

    fn change(&self, path: &Path) -> Result<(), DiskError> {
        self.left
            .try_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            })
            .map(|_| ())
            .map_err(|_| DiskError::new(DiskAction::Write, path, std::io::Error::other("killed")))
    }
}

impl Storage for StoppingStorage {
    fn list(&self, dir: &Path) -> Result<Vec<Listed>, DiskError> {
        RealStorage.list(dir)
    }

    fn stat(&self, path: &Path) -> Result<FileStat, DiskError> {
        RealStorage.stat(path)
    }

    fn open(&self, path: &Path) -> Result<Box<dyn ReadAt>, DiskError> {
        RealStorage.open(path)
    }

    fn write_file(&self, path: &Path, bytes: &[u8], owner: &Ownership) -> Result<(), DiskError> {
        let changed = self.change(path);
        if changed.is_err() && self.tears {
            RealStorage.write_file(path, &bytes[..bytes.len() / 2], owner)?;
        }
        changed?;
        RealStorage.write_file(path, bytes, owner)
    }

    fn copy_range(&self, from: &Path, position: u64, len: u64, to: &Path) -> Result<(), DiskError> {
        let changed = self.change(to);
        if changed.is_err() && self.tears {
            RealStorage.copy_range(from, position, len / 2, to)?;
        }
        changed?;
        RealStorage.copy_range(from, position, len, to)
    }

    fn copy_into(&self, from: &Path, piece: Piece, to: &Path) -> Result<(), DiskError> {
        let changed = self.change(to);
        if changed.is_err() && self.tears {
            let len = piece.len / 2;
            RealStorage.copy_into(from, Piece { len, ..piece }, to)?;
        }
        changed?;
        RealStorage.copy_into(from, piece, to)
    }

    fn set_owner(&self, path: &Path, owner: &Ownership) -> Result<(), DiskError> {
        self.change(path)?;
        RealStorage.set_owner(path, owner)
    }

    fn set_mtime(&self, path: &Path, mtime_ns: i64) -> Result<(), DiskError> {
        self.change(path)?;
        RealStorage.set_mtime(path, mtime_ns)
    }

    fn set_len(&self, path: &Path, len: u64) -> Result<(), DiskError> {
        self.change(path)?;
        RealStorage.set_len(path, len)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.change(from)?;
        RealStorage.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.change(from)?;
        RealStorage.link(from, to)
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.change(path)?;
        RealStorage.remove(path)
    }

    fn remove_dir(&self, dir: &Path) -> Result<(), DiskError> {
        self.change(dir)?;
        RealStorage.remove_dir(dir)
    }

    fn create_dir(&self, dir: &Path) -> Result<(), DiskError> {
        self.change(dir)?;
        RealStorage.create_dir(dir)
    }

    fn sync_file(&self, _path: &Path) -> Result<(), DiskError> {
        Ok(())
    }

    fn sync_dir(&self, _dir: &Path) -> Result<(), DiskError> {
        Ok(())
    }

    fn sync_volume(&self, _path: &Path) -> Result<(), DiskError> {
        Ok(())
    }
}
