//! A job's counters in a file of fixed size, written in place and read by anybody at any time.
//!
//! ```text
//!  0 "KRPROG01"
//!  8 length i64  bytes of the text
//! 16 crc    u32  CRC-32C of the text
//! 20 text        JSON, then zeros up to the file's size
//! ```
//!
//! A reader that meets a half-written file sees a wrong CRC and reads again.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use crate::disk::{DiskAction, DiskError};
use crate::engine::{EngineError, Progress};

const MAGIC: &[u8; 8] = b"KRPROG01";
const HEADER_LEN: usize = 20;
/// Room for the numbers of one log dir, beside its path.
const ROOM_PER_DIR: usize = 256;

/// The writer's side.
#[derive(Debug)]
pub(in crate::engine) struct ProgressFile {
    file: File,
    size: usize,
}

impl ProgressFile {
    /// Creates the file, large enough for what `first` will grow to.
    pub(in crate::engine) fn create(path: &Path, first: &Progress) -> Result<Self, DiskError> {
        let paths: usize = first
            .dirs
            .iter()
            // A path may be written with escapes of six characters a byte.
            .map(|dir| ROOM_PER_DIR + 6 * dir.log_dir.as_os_str().len())
            .sum();
        let size = (HEADER_LEN + ROOM_PER_DIR + paths).next_multiple_of(4096);
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)
            .map_err(DiskError::of(DiskAction::Create, path))?;
        let this = Self { file, size };
        this.write(first)
            .map_err(DiskError::of(DiskAction::Write, path))?;
        Ok(this)
    }

    /// Replaces what the file says.
    pub(in crate::engine) fn write(&self, progress: &Progress) -> std::io::Result<()> {
        let text = serde_json::to_vec(progress)?;
        let mut bytes = Vec::with_capacity(self.size);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
        bytes.extend_from_slice(&crate::format::checksum::crc32c(&text).to_be_bytes());
        bytes.extend_from_slice(&text);
        bytes.resize(self.size.max(bytes.len()), 0);
        self.file.write_all_at(&bytes, 0)
    }
}

/// Reads the counters; `None` if the file is missing, or half-written each time it was tried.
pub(in crate::engine) fn read_progress(path: &Path) -> Option<Progress> {
    (0..50).find_map(|_| {
        let bytes = std::fs::read(path).ok()?;
        decode(&bytes).ok()
    })
}

fn decode(bytes: &[u8]) -> Result<Progress, EngineError> {
    let damaged = |cause: &str| EngineError::damaged("progress", &cause);
    let body = bytes
        .strip_prefix(MAGIC)
        .ok_or_else(|| damaged("no magic"))?;
    let (len, body) = body
        .split_first_chunk()
        .ok_or_else(|| damaged("too short"))?;
    let (crc, body) = body
        .split_first_chunk()
        .ok_or_else(|| damaged("too short"))?;
    let len = usize::try_from(u64::from_be_bytes(*len)).map_err(|_| damaged("length"))?;
    let text = body.get(..len).ok_or_else(|| damaged("length"))?;
    if crate::format::checksum::crc32c(text) != u32::from_be_bytes(*crc) {
        return Err(damaged("half-written"));
    }
    serde_json::from_slice(text).map_err(|error| damaged(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::engine::{DirProgress, Phase};

    #[test]
    fn the_file_keeps_its_size_and_the_last_counters() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("progress");
        let mut progress = Progress {
            dirs: vec![DirProgress {
                log_dir: PathBuf::from("/var/lib/kafka/d1"),
                ..DirProgress::default()
            }],
            ..Progress::default()
        };
        let file = ProgressFile::create(&path, &progress).unwrap();
        let size = std::fs::metadata(&path).unwrap().len();
        progress.phase = Phase::Ended;
        progress.steps_done = u64::MAX;
        progress.dirs[0].bytes_done = u64::MAX;
        file.write(&progress).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), size);
        assert_eq!(read_progress(&path), Some(progress));
    }

    #[test]
    fn a_torn_file_says_nothing() {
        assert!(decode(b"").is_err());
        assert!(decode(b"KRPROG01\0\0\0\0\0\0\0\x05\0\0\0\0{}").is_err());
    }
}
