//! A plain file that is read by position.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::storage::ReadAt;

/// An open plain file.
#[derive(Debug)]
pub(super) struct PlainFile {
    file: File,
    /// Its length when it was opened.
    opened_len: u64,
}

impl PlainFile {
    /// Opens a plain file for reading; never blocks on a pipe that lies in a file's place.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_CLOEXEC)
            .open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if !metadata.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a plain file",
            ));
        }
        Ok(Self {
            file,
            opened_len: metadata.len(),
        })
    }
}

impl ReadAt for PlainFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        read_full(&self.file, buffer, position)
    }

    fn file_len(&self) -> io::Result<u64> {
        self.file.metadata().map(|metadata| metadata.len())
    }

    fn opened_len(&self) -> io::Result<u64> {
        Ok(self.opened_len)
    }

    fn advise_sequential(&self) {
        // Advice may be ignored, and so may its error.
        let _ = rustix::fs::fadvise(self.file.as_fd(), 0, None, rustix::fs::Advice::Sequential);
    }

    fn next_data(&self, position: u64) -> io::Result<Option<u64>> {
        match rustix::fs::seek(self.file.as_fd(), rustix::fs::SeekFrom::Data(position)) {
            Ok(data) => Ok(Some(data)),
            Err(rustix::io::Errno::NXIO) => Ok(None),
            Err(rustix::io::Errno::INVAL) => Ok(Some(position)),
            Err(error) => Err(error.into()),
        }
    }

    fn data_end(&self, position: u64) -> io::Result<u64> {
        match rustix::fs::seek(self.file.as_fd(), rustix::fs::SeekFrom::Hole(position)) {
            Ok(hole) => Ok(hole),
            Err(rustix::io::Errno::NXIO | rustix::io::Errno::INVAL) => self.file_len(),
            Err(error) => Err(error.into()),
        }
    }

    fn is_cached(&self, position: u64, len: u64) -> Option<bool> {
        super::page_cache::is_cached(&self.file, position, len)
    }

    fn drop_cached(&self, position: u64, len: u64) {
        let len = std::num::NonZeroU64::new(len);
        let _ = rustix::fs::fadvise(
            self.file.as_fd(),
            position,
            len,
            rustix::fs::Advice::DontNeed,
        );
    }
}

/// Reads until `buffer` is full or the file ends; goes on after signals and short reads.
fn read_full(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match FileExt::read_at(file, rest, position + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The good prefix first: the next read meets the error at its exact place.
            Err(_) if done > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
