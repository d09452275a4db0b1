//! The file that is dumped, read by position.

use std::io;
use std::path::{Path, PathBuf};

use crate::cli::CliError;
use crate::disk::{DiskAction, DiskError, ReadAt, RealStorage, Storage as _};

/// Bytes that are read at once.
pub(super) const WINDOW: usize = 1 << 20;

/// A file and its length when it was opened.
pub(super) struct Source {
    path: PathBuf,
    file: Box<dyn ReadAt>,
    len: u64,
}

impl Source {
    /// Opens the file at `path`.
    pub(super) fn open(path: &Path) -> Result<Self, CliError> {
        let cannot = |error: &DiskError| CliError::failed("cannot dump the file").because(error);
        let file = RealStorage.open(path).map_err(|error| cannot(&error))?;
        let len = file
            .file_len()
            .map_err(|error| cannot(&DiskError::new(DiskAction::Stat, path, error)))?;
        file.advise_sequential();
        Ok(Self {
            path: path.to_owned(),
            file,
            len,
        })
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Reads `count` bytes from `position` on; fewer where the file ends.
    pub(super) fn read(&self, position: u64, count: usize) -> Result<Vec<u8>, CliError> {
        let left = self.len.saturating_sub(position);
        let mut bytes = vec![0; usize::try_from(left).unwrap_or(count).min(count)];
        let done = self.fill(&mut bytes, position).map_err(|error| {
            let error = DiskError::new(DiskAction::Read, &self.path, error).at(position);
            CliError::failed("cannot read the file").because(&error)
        })?;
        bytes.truncate(done);
        Ok(bytes)
    }

    /// Reads the whole file; at most `cap` bytes of it.
    pub(super) fn read_all(&self, cap: usize) -> Result<Vec<u8>, CliError> {
        self.read(0, cap)
    }

    /// Returns the first position from `position` on that holds no zero; the length if there is none.
    pub(super) fn first_non_zero(&self, position: u64) -> Result<u64, CliError> {
        let mut at = position;
        loop {
            let bytes = self.read(at, WINDOW)?;
            if bytes.is_empty() {
                return Ok(at);
            }
            if let Some(index) = bytes.iter().position(|byte| *byte != 0) {
                return Ok(at + index as u64);
            }
            at += bytes.len() as u64;
        }
    }

    fn fill(&self, bytes: &mut [u8], position: u64) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, position + done as u64)? {
                0 => break,
                read => done += read,
            }
        }
        Ok(done)
    }
}

/// A stretch of a file in memory.
#[derive(Default)]
pub(super) struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Returns `count` bytes from `position` on; fewer where the file ends.
    pub(super) fn get(
        &mut self,
        source: &Source,
        position: u64,
        count: usize,
    ) -> Result<&[u8], CliError> {
        let left = source.len().saturating_sub(position);
        let count = usize::try_from(left).unwrap_or(count).min(count);
        let at = position.checked_sub(self.start).map(usize::try_from);
        let mut range = match at {
            Some(Ok(at)) => at..at.saturating_add(count),
            _ => 0..usize::MAX,
        };
        if range.end > self.bytes.len() {
            self.bytes = source.read(position, count.max(WINDOW))?;
            self.start = position;
            range = 0..count.min(self.bytes.len());
        }
        Ok(self.bytes.get(range).unwrap_or_default())
    }
}
