//! A storage that fails, lies or changes things under krescue's feet, as a rule says.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use krescue::disk::{
    DiskAction, DiskError, FileStat, Listed, Ownership, Piece, ReadAt, RealStorage, Storage,
};

/// One call of a storage.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Its number, from 0 on.
    pub(crate) number: usize,
    /// What it does.
    pub(crate) action: DiskAction,
    /// On what.
    pub(crate) path: PathBuf,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// It is done.
    None,
    /// It fails with this error number, and nothing is done.
    Fails(i32),
    /// It fails with this error number when half of its bytes are written.
    FailsHalfWay(i32),
    /// It reads fewer bytes than asked for.
    ReadsShort,
    /// It reads another byte at this position of the file than lies there.
    Lies(u64),
}

type Rule = dyn FnMut(&Call) -> Fault + Send;

/// The real files, with faults; nothing is synced.
#[derive(Clone)]
pub(crate) struct FaultyStorage(Arc<Mutex<(usize, Box<Rule>)>>);

impl FaultyStorage {
    /// Asks `rule` before each call.
    pub(crate) fn new(rule: impl FnMut(&Call) -> Fault + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new((0, Box::new(rule)))))
    }

    /// Fails call `number` alone.
    pub(crate) fn failing_at(number: usize, fault: Fault) -> Self {
        Self::new(move |call| {
            if call.number == number {
                fault
            } else {
                Fault::None
            }
        })
    }

    /// Returns how many calls there were.
    pub(crate) fn calls(&self) -> usize {
        self.0.lock().unwrap().0
    }

    fn ask(&self, action: DiskAction, path: &Path) -> Fault {
        let mut state = self.0.lock().unwrap();
        let call = Call {
            number: state.0,
            action,
            path: path.to_owned(),
        };
        state.0 += 1;
        (state.1)(&call)
    }

    fn check(&self, action: DiskAction, path: &Path) -> Result<(), DiskError> {
        match self.ask(action, path) {
            Fault::Fails(errno) | Fault::FailsHalfWay(errno) => {
                let error = std::io::Error::from_raw_os_error(errno);
                Err(DiskError::new(action, path, error))
            }
            Fault::None | Fault::ReadsShort | Fault::Lies(_) => Ok(()),
        }
    }
}

/// An open file with faults.
struct FaultyFile {
    file: Box<dyn ReadAt>,
    path: PathBuf,
    storage: FaultyStorage,
}

impl ReadAt for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> std::io::Result<usize> {
        match self.storage.ask(DiskAction::Read, &self.path) {
            Fault::Fails(errno) | Fault::FailsHalfWay(errno) => {
                Err(std::io::Error::from_raw_os_error(errno))
            }
            Fault::None => self.file.read_at(buffer, position),
            Fault::ReadsShort => {
                let half = buffer.len().div_ceil(2);
                self.file.read_at(&mut buffer[..half], position)
            }
            Fault::Lies(at) => {
                let read = self.file.read_at(buffer, position)?;
                let place = at.checked_sub(position).map(usize::try_from);
                if let Some(Ok(place)) = place
                    && let Some(byte) = buffer[..read].get_mut(place)
                {
                    *byte ^= 1;
                }
                Ok(read)
            }
        }
    }

    fn file_len(&self) -> std::io::Result<u64> {
        match self.storage.ask(DiskAction::Stat, &self.path) {
            Fault::Fails(errno) => Err(std::io::Error::from_raw_os_error(errno)),
            _ => self.file.file_len(),
        }
    }
}

impl Storage for FaultyStorage {
    fn list(&self, dir: &Path) -> Result<Vec<Listed>, DiskError> {
        self.check(DiskAction::List, dir)?;
        RealStorage.list(dir)
    }

    fn stat(&self, path: &Path) -> Result<FileStat, DiskError> {
        self.check(DiskAction::Stat, path)?;
        RealStorage.stat(path)
    }

    fn open(&self, path: &Path) -> Result<Box<dyn ReadAt>, DiskError> {
        self.check(DiskAction::Open, path)?;
        Ok(Box::new(FaultyFile {
            file: RealStorage.open(path)?,
            path: path.to_owned(),
            storage: self.clone(),
        }))
    }

    fn write_file(&self, path: &Path, bytes: &[u8], owner: &Ownership) -> Result<(), DiskError> {
        match self.ask(DiskAction::Write, path) {
            Fault::None | Fault::ReadsShort | Fault::Lies(_) => {
                RealStorage.write_file(path, bytes, owner)
            }
            Fault::Fails(errno) => Err(failed(path, errno)),
            Fault::FailsHalfWay(errno) => {
                RealStorage.write_file(path, &bytes[..bytes.len() / 2], owner)?;
                Err(failed(path, errno))
            }
        }
    }

    fn copy_range(&self, from: &Path, position: u64, len: u64, to: &Path) -> Result<(), DiskError> {
        match self.ask(DiskAction::Write, to) {
            Fault::None | Fault::ReadsShort => RealStorage.copy_range(from, position, len, to),
            Fault::Fails(errno) => Err(failed(to, errno)),
            Fault::FailsHalfWay(errno) => {
                RealStorage.copy_range(from, position, len / 2, to)?;
                Err(failed(to, errno))
            }
            Fault::Lies(at) => {
                RealStorage.copy_range(from, position, len, to)?;
                let mut bytes = std::fs::read(to).unwrap();
                bytes[usize::try_from(at - position).unwrap()] ^= 1;
                std::fs::write(to, bytes).unwrap();
                Ok(())
            }
        }
    }

    fn copy_into(&self, from: &Path, piece: Piece, to: &Path) -> Result<(), DiskError> {
        self.check(DiskAction::Write, to)?;
        RealStorage.copy_into(from, piece, to)
    }

    fn set_owner(&self, path: &Path, owner: &Ownership) -> Result<(), DiskError> {
        self.check(DiskAction::SetOwner, path)?;
        RealStorage.set_owner(path, owner)
    }

    fn set_mtime(&self, path: &Path, mtime_ns: i64) -> Result<(), DiskError> {
        self.check(DiskAction::SetTime, path)?;
        RealStorage.set_mtime(path, mtime_ns)
    }

    fn set_len(&self, path: &Path, len: u64) -> Result<(), DiskError> {
        self.check(DiskAction::SetLen, path)?;
        RealStorage.set_len(path, len)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.check(DiskAction::Rename, from)?;
        RealStorage.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.check(DiskAction::Link, from)?;
        RealStorage.link(from, to)
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.check(DiskAction::Remove, path)?;
        RealStorage.remove(path)
    }

    fn remove_dir(&self, dir: &Path) -> Result<(), DiskError> {
        self.check(DiskAction::Remove, dir)?;
        RealStorage.remove_dir(dir)
    }

    fn create_dir(&self, dir: &Path) -> Result<(), DiskError> {
        self.check(DiskAction::Create, dir)?;
        RealStorage.create_dir(dir)
    }

    fn sync_file(&self, path: &Path) -> Result<(), DiskError> {
        self.check(DiskAction::Sync, path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), DiskError> {
        self.check(DiskAction::Sync, dir)
    }

    fn sync_volume(&self, path: &Path) -> Result<(), DiskError> {
        self.check(DiskAction::Sync, path)
    }
}

fn failed(path: &Path, errno: i32) -> DiskError {
    let error = std::io::Error::from_raw_os_error(errno);
    DiskError::new(DiskAction::Write, path, error)
}
