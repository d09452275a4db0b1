//! Every look at and every change of a log dir's files, behind one trait.
//!
//! Tests wrap [`RealStorage`] to stop after the n-th change, which is what SIGKILL does.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::io::retry_on_intr;

use super::error::{DiskAction, DiskError};
use super::ownership::Ownership;
use super::plain_file::PlainFile;
use super::session::may_change;

/// What lies behind a name; symbolic links are followed, as Java's `File` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A plain file.
    File,
    /// A dir.
    Dir,
    /// A device, a socket, a broken link.
    Other,
}

/// A file's state at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// What it is.
    pub kind: EntryKind,
    /// Bytes.
    pub len: u64,
    /// Bytes that it takes on the volume.
    pub allocated: u64,
    /// The inode's number.
    pub inode: u64,
    /// The device's number.
    pub device: u64,
    /// Modification time in ns since 1970.
    pub mtime_ns: i64,
    /// When its inode was changed last, by a rename too, in ns since 1970.
    pub changed_ns: i64,
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Permission bits.
    pub mode: u32,
}

/// One name of a dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The name, with U+FFFD where it is not UTF-8.
    pub name: String,
    /// Whether the name is UTF-8; if not, nothing on this system can be addressed by `name`.
    pub is_utf8: bool,
    /// What lies there.
    pub stat: FileStat,
}

/// Bytes of one file that are copied into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Their position in the file that they are read from.
    pub from: u64,
    /// How many.
    pub len: u64,
    /// Their position in the file that they are written to.
    pub to: u64,
}

/// An open file that is read by position.
pub trait ReadAt: Send + Sync {
    /// Reads into `buffer` from `position` on; short at the file's end, or before a place that cannot be read.
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize>;

    /// Reads until `buffer` is full or the file ends; returns how much.
    fn fill(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.read_at(rest, position + done as u64)? {
                0 => break,
                read => done += read,
            }
        }
        Ok(done)
    }

    /// Returns the file's length now.
    fn file_len(&self) -> io::Result<u64>;

    /// Returns the file's length when it was opened, or now.
    fn opened_len(&self) -> io::Result<u64> {
        self.file_len()
    }

    /// Tells the system that the file is read front to back.
    fn advise_sequential(&self) {}

    /// Returns where the next bytes lie that are no hole, from `position` on; `None` if only a hole follows. A system that
    /// does not tell holes apart says `position`.
    fn next_data(&self, position: u64) -> io::Result<Option<u64>> {
        Ok(Some(position))
    }

    /// Returns where the bytes from `position` on end: at a hole, or at the file's end.
    fn data_end(&self, _position: u64) -> io::Result<u64> {
        self.file_len()
    }

    /// Says whether the page cache holds any of the range; `None` if the system cannot tell.
    fn is_cached(&self, _position: u64, _len: u64) -> Option<bool> {
        None
    }

    /// Drops the range from the page cache.
    fn drop_cached(&self, _position: u64, _len: u64) {}
}

/// All that krescue does to files in log dirs and in its quarantine.
pub trait Storage: Send + Sync {
    /// Lists a dir, sorted by name; entries that vanish meanwhile are left out.
    fn list(&self, dir: &Path) -> Result<Vec<Listed>, DiskError>;
    /// Looks at a file, following links.
    fn stat(&self, path: &Path) -> Result<FileStat, DiskError>;
    /// Opens a file for reading.
    fn open(&self, path: &Path) -> Result<Box<dyn ReadAt>, DiskError>;
    /// Creates or empties a file, writes `bytes` and gives it to `owner`.
    fn write_file(&self, path: &Path, bytes: &[u8], owner: &Ownership) -> Result<(), DiskError>;
    /// Creates a file with `len` bytes of `from` behind `position`, readable by its owner alone.
    fn copy_range(&self, from: &Path, position: u64, len: u64, to: &Path) -> Result<(), DiskError>;
    /// Writes a piece of `from` into `to`, which is there and grows as needed.
    fn copy_into(&self, from: &Path, piece: Piece, to: &Path) -> Result<(), DiskError>;
    /// Gives a file or a dir to `owner`; refuses a link.
    fn set_owner(&self, path: &Path, owner: &Ownership) -> Result<(), DiskError>;
    /// Sets a file's modification time, in ns since 1970.
    fn set_mtime(&self, path: &Path, mtime_ns: i64) -> Result<(), DiskError>;
    /// Cuts or grows a file.
    fn set_len(&self, path: &Path, len: u64) -> Result<(), DiskError>;
    /// Renames within a file system; replaces what has the new name.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;
    /// Gives a file a second name on its file system.
    fn link(&self, from: &Path, to: &Path) -> Result<(), DiskError>;
    /// Removes a file's name.
    fn remove(&self, path: &Path) -> Result<(), DiskError>;
    /// Removes a dir, which must be empty.
    fn remove_dir(&self, dir: &Path) -> Result<(), DiskError>;
    /// Creates a dir and its parents, mode 0700, where they are missing.
    fn create_dir(&self, dir: &Path) -> Result<(), DiskError>;
    /// Makes a file's bytes durable.
    fn sync_file(&self, path: &Path) -> Result<(), DiskError>;
    /// Makes a dir's names durable.
    fn sync_dir(&self, dir: &Path) -> Result<(), DiskError>;
    /// Makes everything on the file system of `path` durable.
    fn sync_volume(&self, path: &Path) -> Result<(), DiskError>;
}

/// The system's files.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealStorage;

impl Storage for RealStorage {
    fn list(&self, dir: &Path) -> Result<Vec<Listed>, DiskError> {
        let error = |source| DiskError::new(DiskAction::List, dir, source);
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(error)? {
            let entry = entry.map_err(error)?;
            let name = entry.file_name();
            // Only a link costs a walk of the whole path; one that leads nowhere stands for itself.
            let stat = match entry.metadata() {
                Ok(own) if own.is_symlink() => {
                    file_stat(&std::fs::metadata(entry.path()).unwrap_or(own))
                }
                Ok(own) => file_stat(&own),
                Err(source) if source.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(DiskError::new(DiskAction::Stat, &entry.path(), source)),
            };
            let is_utf8 = std::str::from_utf8(name.as_bytes()).is_ok();
            entries.push(Listed {
                name: name.to_string_lossy().into_owned(),
                is_utf8,
                stat,
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn stat(&self, path: &Path) -> Result<FileStat, DiskError> {
        std::fs::metadata(path)
            .map(|metadata| file_stat(&metadata))
            .map_err(DiskError::of(DiskAction::Stat, path))
    }

    fn open(&self, path: &Path) -> Result<Box<dyn ReadAt>, DiskError> {
        let file = PlainFile::open(path).map_err(DiskError::of(DiskAction::Open, path))?;
        Ok(Box::new(file))
    }

    fn write_file(&self, path: &Path, bytes: &[u8], owner: &Ownership) -> Result<(), DiskError> {
        may_change(DiskAction::Write, path)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(owner.mode & 0o777)
            .open(path)
            .map_err(DiskError::of(DiskAction::Create, path))?;
        owner
            .apply(&file)
            .map_err(DiskError::of(DiskAction::SetOwner, path))?;
        file.write_all(bytes)
            .map_err(DiskError::of(DiskAction::Write, path))
    }

    fn copy_range(&self, from: &Path, position: u64, len: u64, to: &Path) -> Result<(), DiskError> {
        may_change(DiskAction::Write, to)?;
        let target = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(to)
            .map_err(DiskError::of(DiskAction::Create, to))?;
        let piece = Piece {
            from: position,
            len,
            to: 0,
        };
        copy_piece(from, piece, &target, to)
    }

    fn copy_into(&self, from: &Path, piece: Piece, to: &Path) -> Result<(), DiskError> {
        may_change(DiskAction::Write, to)?;
        let target = OpenOptions::new()
            .write(true)
            .open(to)
            .map_err(DiskError::of(DiskAction::Open, to))?;
        copy_piece(from, piece, &target, to)
    }

    fn set_owner(&self, path: &Path, owner: &Ownership) -> Result<(), DiskError> {
        may_change(DiskAction::SetOwner, path)?;
        OpenOptions::new()
            .read(true)
            .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
            .open(path)
            .and_then(|file| owner.apply(&file))
            .map_err(DiskError::of(DiskAction::SetOwner, path))
    }

    fn set_mtime(&self, path: &Path, mtime_ns: i64) -> Result<(), DiskError> {
        may_change(DiskAction::SetTime, path)?;
        let time = rustix::fs::Timespec {
            tv_sec: mtime_ns.div_euclid(1_000_000_000),
            tv_nsec: mtime_ns.rem_euclid(1_000_000_000),
        };
        let times = rustix::fs::Timestamps {
            last_access: rustix::fs::Timespec {
                tv_sec: 0,
                tv_nsec: rustix::fs::UTIME_OMIT,
            },
            last_modification: time,
        };
        File::open(path)
            .and_then(|file| Ok(retry_on_intr(|| rustix::fs::futimens(&file, &times))?))
            .map_err(DiskError::of(DiskAction::SetTime, path))
    }

    fn set_len(&self, path: &Path, len: u64) -> Result<(), DiskError> {
        may_change(DiskAction::SetLen, path)?;
        OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|file| file.set_len(len))
            .map_err(DiskError::of(DiskAction::SetLen, path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        may_change(DiskAction::Rename, from)?;
        std::fs::rename(from, to).map_err(DiskError::of(DiskAction::Rename, from))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        may_change(DiskAction::Link, from)?;
        std::fs::hard_link(from, to).map_err(DiskError::of(DiskAction::Link, from))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        may_change(DiskAction::Remove, path)?;
        std::fs::remove_file(path).map_err(DiskError::of(DiskAction::Remove, path))
    }

    fn remove_dir(&self, dir: &Path) -> Result<(), DiskError> {
        may_change(DiskAction::Remove, dir)?;
        std::fs::remove_dir(dir).map_err(DiskError::of(DiskAction::Remove, dir))
    }

    fn create_dir(&self, dir: &Path) -> Result<(), DiskError> {
        may_change(DiskAction::Create, dir)?;
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(DiskError::of(DiskAction::Create, dir))
    }

    fn sync_file(&self, path: &Path) -> Result<(), DiskError> {
        File::open(path)
            .and_then(|file| file.sync_all())
            .map_err(DiskError::of(DiskAction::Sync, path))
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), DiskError> {
        self.sync_file(dir)
    }

    fn sync_volume(&self, path: &Path) -> Result<(), DiskError> {
        let sync = || -> io::Result<()> {
            let file = File::open(path)?;
            retry_on_intr(|| rustix::fs::syncfs(&file))?;
            Ok(())
        };
        sync().map_err(DiskError::of(DiskAction::Sync, path))
    }
}

/// Copies bytes of a plain file into an open one.
fn copy_piece(from: &Path, piece: Piece, target: &File, to: &Path) -> Result<(), DiskError> {
    let source = PlainFile::open(from).map_err(DiskError::of(DiskAction::Open, from))?;
    let mut buffer = vec![0_u8; 1 << 20];
    let mut done = 0;
    while done < piece.len {
        let window = usize::try_from(piece.len - done)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let window = buffer.get_mut(..window).unwrap_or_default();
        let at = piece.from.saturating_add(done);
        let read = source
            .read_at(window, at)
            .map_err(|error| DiskError::new(DiskAction::Read, from, error).at(at))?;
        if read == 0 {
            let error = io::Error::from(io::ErrorKind::UnexpectedEof);
            return Err(DiskError::new(DiskAction::Read, from, error).at(at));
        }
        let bytes = window.get(..read).unwrap_or_default();
        let at = piece.to.saturating_add(done);
        target
            .write_all_at(bytes, at)
            .map_err(|error| DiskError::new(DiskAction::Write, to, error).at(at))?;
        done += read as u64;
    }
    Ok(())
}

fn file_stat(metadata: &std::fs::Metadata) -> FileStat {
    let kind = if metadata.is_file() {
        EntryKind::File
    } else if metadata.is_dir() {
        EntryKind::Dir
    } else {
        EntryKind::Other
    };
    FileStat {
        kind,
        len: metadata.len(),
        allocated: metadata.blocks() * 512,
        inode: metadata.ino(),
        device: metadata.dev(),
        mtime_ns: metadata
            .mtime()
            .saturating_mul(1_000_000_000)
            .saturating_add(metadata.mtime_nsec()),
        changed_ns: metadata
            .ctime()
            .saturating_mul(1_000_000_000)
            .saturating_add(metadata.ctime_nsec()),
        uid: metadata.uid(),
        gid: metadata.gid(),
        mode: metadata.mode() & 0o7777,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_written_into_its_place_and_time_and_owner_are_set() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        std::fs::write(&from, b"0123456789").unwrap();
        std::fs::write(&to, b"abc").unwrap();
        let piece = Piece {
            from: 4,
            len: 3,
            to: 2,
        };
        RealStorage.copy_into(&from, piece, &to).unwrap();
        assert_eq!(std::fs::read(&to).unwrap(), b"ab456");
        let beyond = Piece { from: 8, ..piece };
        assert!(RealStorage.copy_into(&from, beyond, &to).is_err());
        assert!(
            RealStorage
                .copy_into(&from, piece, &dir.path().join("no"))
                .is_err()
        );
        for mtime_ns in [1_796_033_700_123_456_789, -1] {
            RealStorage.set_mtime(&to, mtime_ns).unwrap();
            assert_eq!(RealStorage.stat(&to).unwrap().mtime_ns, mtime_ns);
        }
        let owner = Ownership {
            mode: 0o640,
            ..Ownership::of(&from).unwrap()
        };
        RealStorage.set_owner(&to, &owner).unwrap();
        assert_eq!(RealStorage.stat(&to).unwrap().mode, 0o640);
    }

    #[test]
    fn a_hole_at_the_end_is_told_from_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        std::fs::write(&path, [7; 100]).unwrap();
        RealStorage.set_len(&path, 10 << 20).unwrap();
        let file = RealStorage.open(&path).unwrap();
        assert_eq!(file.next_data(0).unwrap(), Some(0));
        assert!((100..=10 << 20).contains(&file.data_end(0).unwrap()));
        // A file system without holes says that bytes follow, which is as good.
        assert!(matches!(
            file.next_data(1 << 20).unwrap(),
            None | Some(1_048_576)
        ));
    }
}
