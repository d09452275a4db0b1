//! Kafka's `.lock`: a POSIX record lock over the whole file (`FileLock`). `flock` is invisible to Java.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::error::{DiskAction, DiskError};
use super::ownership::Ownership;
use super::session::may_change;
use super::storage::Storage;

/// The lock file's name in a log dir.
pub const LOCK_FILE: &str = ".lock";

/// Who holds the lock of a log dir.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockState {
    /// Nobody; the file may be missing.
    Free,
    /// A process.
    Held {
        /// Its id; `None` where the system does not tell (a krescue's own lock has none).
        pid: Option<u32>,
    },
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody holds it.
    #[error("{} is locked by {}", dir.display(), holder(*pid))]
    Held {
        /// The log dir.
        dir: PathBuf,
        /// The holder's id, where the system tells.
        pid: Option<u32>,
    },
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(
        || "a process that cannot be seen from here".to_owned(),
        |pid| format!("process {pid}"),
    )
}

/// A held lock; given up when it is dropped. The file stays.
#[derive(Debug)]
pub struct LogDirLock {
    file: File,
}

impl Drop for LogDirLock {
    /// A child that was forked meanwhile shares the lock until it begins its program: closing the file is not enough.
    fn drop(&mut self) {
        let unlock = libc::flock {
            l_type: lock_type(libc::F_UNLCK),
            ..whole_file_write_lock()
        };
        let _ = fcntl(self.file.as_fd(), FcntlArg::F_OFD_SETLK(&unlock));
    }
}

impl LogDirLock {
    /// Takes a log dir's lock, or says who has it; a missing file is created with the owner of `meta.properties`.
    pub fn acquire(storage: &dyn Storage, dir: &Path) -> Result<Self, LockError> {
        let path = dir.join(LOCK_FILE);
        may_change(DiskAction::Lock, &path)?;
        if matches!(storage.stat(&path), Err(error) if error.is_not_found()) {
            storage.write_file(&path, b"", &lock_owner(dir)?)?;
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&path)
            .map_err(DiskError::of(DiskAction::Open, &path))?;
        // An open-file-description lock: it conflicts with Java's, and is not lost when another descriptor closes.
        match fcntl(
            file.as_fd(),
            FcntlArg::F_OFD_SETLK(&whole_file_write_lock()),
        ) {
            Ok(_) => Self::still_there(file, &path),
            Err(nix::Error::EAGAIN | nix::Error::EACCES) => Err(LockError::Held {
                dir: dir.to_owned(),
                pid: holder_of(&file),
            }),
            Err(error) => Err(DiskError::new(DiskAction::Lock, &path, error.into()).into()),
        }
    }

    /// A stopping broker deletes its lock file: a lock on a file that is gone keeps nobody out.
    fn still_there(file: File, path: &Path) -> Result<Self, LockError> {
        let inode = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let ours = file.metadata().map(inode);
        let named = std::fs::metadata(path).map(inode);
        match (ours, named) {
            (Ok(ours), Ok(named)) if ours == named => Ok(Self { file }),
            _ => Err(LockError::Held {
                dir: path.parent().unwrap_or(path).to_owned(),
                pid: None,
            }),
        }
    }
}

/// Looks who holds a log dir's lock, without touching the file.
pub fn look_at_lock(dir: &Path) -> Result<LockState, DiskError> {
    let path = dir.join(LOCK_FILE);
    let file = match OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(&path)
    {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(LockState::Free),
        Err(error) => return Err(DiskError::new(DiskAction::Open, &path, error)),
    };
    state_of(&file).map_err(|error| DiskError::new(DiskAction::Lock, &path, error.into()))
}

/// Asks who would keep this process from locking the file; works on a descriptor that only reads.
fn state_of(file: &File) -> nix::Result<LockState> {
    let mut lock = whole_file_write_lock();
    fcntl(file.as_fd(), FcntlArg::F_GETLK(&mut lock))?;
    if libc::c_int::from(lock.l_type) == libc::F_UNLCK {
        return Ok(LockState::Free);
    }
    // −1 stands for an open-file-description lock, 0 for a process outside of this pid namespace.
    let pid = u32::try_from(lock.l_pid).ok().filter(|pid| *pid > 0);
    Ok(LockState::Held { pid })
}

fn holder_of(file: &File) -> Option<u32> {
    match state_of(file) {
        Ok(LockState::Held { pid }) => pid,
        _ => None,
    }
}

fn lock_owner(dir: &Path) -> Result<Ownership, DiskError> {
    Ownership::of(&dir.join("meta.properties"))
        .or_else(|_| Ownership::of(dir))
        .map_err(DiskError::of(DiskAction::Stat, dir))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the constants are at most 2"
)]
fn lock_type(constant: libc::c_int) -> libc::c_short {
    constant as libc::c_short
}

fn whole_file_write_lock() -> libc::flock {
    libc::flock {
        l_type: lock_type(libc::F_WRLCK),
        l_whence: lock_type(libc::SEEK_SET),
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::storage::RealStorage;
    use super::*;

    #[test]
    fn a_lock_keeps_a_second_holder_out_and_leaves_the_file() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(look_at_lock(dir.path()).unwrap(), LockState::Free);
        assert!(!dir.path().join(LOCK_FILE).exists());
        let lock = LogDirLock::acquire(&RealStorage, dir.path()).unwrap();
        assert!(matches!(
            look_at_lock(dir.path()).unwrap(),
            LockState::Held { .. }
        ));
        let second = LogDirLock::acquire(&RealStorage, dir.path());
        assert!(matches!(second, Err(LockError::Held { .. })));
        drop(lock);
        assert_eq!(look_at_lock(dir.path()).unwrap(), LockState::Free);
        assert!(dir.path().join(LOCK_FILE).exists());
    }

    #[test]
    fn a_lock_of_another_process_is_seen_with_its_pid() {
        // A POSIX lock, as Java takes it, held by a Python child: skipped where there is no Python.
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LOCK_FILE);
        std::fs::write(&path, b"").unwrap();
        let script = "import fcntl,sys\nf=open(sys.argv[1],'r+')\nfcntl.lockf(f,fcntl.LOCK_EX)\nprint('held',flush=True)\nsys.stdin.read()";
        let Ok(mut child) = std::process::Command::new("python3")
            .args(["-c", script])
            .arg(&path)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
        else {
            println!("skipped: no python3 to hold a POSIX lock");
            return;
        };
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let held = LockState::Held {
            pid: Some(child.id()),
        };
        assert_eq!(look_at_lock(dir.path()).unwrap(), held);
        let error = LogDirLock::acquire(&RealStorage, dir.path()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("process {}", child.id()))
        );
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
