//! The contents that a plan's steps write, in one file beside the plan.
//!
//! ```text
//! 0  "KRCONT01"
//! 8  entries: sha256 of the bytes (32), length u64, the bytes
//! ```
//!
//! A content is checked against its hash when it is read.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::disk::{DiskAction, DiskError};
use crate::engine::EngineError;
use crate::plan::{Content, hex};

const MAGIC: &[u8; 8] = b"KRCONT01";
const HASH_LEN: usize = 32;
const ENTRY_HEADER_LEN: usize = HASH_LEN + 8;

/// Where a content lies: its first byte's position and its length.
type Places = HashMap<String, (u64, u64)>;

/// A file of contents, named by their hashes.
#[derive(Debug)]
pub(in crate::engine) struct ContentPack {
    path: PathBuf,
    file: File,
    state: Mutex<PackState>,
}

#[derive(Debug, Default)]
struct PackState {
    places: Places,
    end: u64,
}

impl ContentPack {
    /// Creates an empty pack.
    pub(in crate::engine) fn create(path: &Path) -> Result<Self, DiskError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(DiskError::of(DiskAction::Create, path))?;
        file.write_all(MAGIC)
            .map_err(DiskError::of(DiskAction::Write, path))?;
        let state = PackState {
            places: Places::new(),
            end: MAGIC.len() as u64,
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            state: Mutex::new(state),
        })
    }

    /// Opens a pack and finds its entries.
    pub(in crate::engine) fn open(path: &Path) -> Result<Self, EngineError> {
        let file = File::open(path).map_err(DiskError::of(DiskAction::Open, path))?;
        let read = |error| DiskError::new(DiskAction::Read, path, error);
        let len = file.metadata().map_err(read)?.len();
        let mut magic = [0; MAGIC.len()];
        file.read_exact_at(&mut magic, 0).map_err(read)?;
        if &magic != MAGIC {
            return Err(EngineError::damaged(
                path,
                "it does not begin with KRCONT01",
            ));
        }
        let mut state = PackState {
            places: Places::new(),
            end: MAGIC.len() as u64,
        };
        while state.end < len {
            let mut header = [0; ENTRY_HEADER_LEN];
            file.read_exact_at(&mut header, state.end).map_err(read)?;
            let (hash, size) = header.split_at(HASH_LEN);
            let size = u64::from_be_bytes(size.try_into().unwrap_or_default());
            let start = state.end + ENTRY_HEADER_LEN as u64;
            let end = start.checked_add(size).filter(|end| *end <= len);
            let Some(end) = end else {
                return Err(EngineError::damaged(path, &"an entry passes its end"));
            };
            state.places.insert(hex(hash), (start, size));
            state.end = end;
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            state: Mutex::new(state),
        })
    }

    /// Stores a content's bytes unless they lie there, and lets go of them.
    pub(in crate::engine) fn store(&self, content: &mut Content) -> Result<(), DiskError> {
        let Some(bytes) = content.bytes.take() else {
            return Ok(());
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.places.contains_key(&content.sha256) {
            return Ok(());
        }
        let mut entry = Vec::with_capacity(ENTRY_HEADER_LEN + bytes.len());
        entry.extend_from_slice(&Sha256::digest(&bytes));
        entry.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        entry.extend_from_slice(&bytes);
        self.file
            .write_all_at(&entry, state.end)
            .map_err(|error| DiskError::new(DiskAction::Write, &self.path, error).at(state.end))?;
        let start = state.end + ENTRY_HEADER_LEN as u64;
        state.end += entry.len() as u64;
        state
            .places
            .insert(content.sha256.clone(), (start, bytes.len() as u64));
        Ok(())
    }

    /// Returns a content's bytes, checked against its hash.
    pub(in crate::engine) fn bytes(&self, content: &Content) -> Result<Arc<[u8]>, EngineError> {
        if let Some(bytes) = &content.bytes {
            return Ok(Arc::clone(bytes));
        }
        let place = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.places.get(&content.sha256).copied()
        };
        let damaged = |cause: &str| {
            EngineError::damaged(&self.path, &format!("content {}: {cause}", content.sha256))
        };
        let (start, len) = place.ok_or_else(|| damaged("missing"))?;
        let size = usize::try_from(len).map_err(|_| damaged("too large"))?;
        let mut bytes = vec![0; size];
        self.file
            .read_exact_at(&mut bytes, start)
            .map_err(|error| DiskError::new(DiskAction::Read, &self.path, error).at(start))?;
        if hex(&Sha256::digest(&bytes)) != content.sha256 {
            return Err(damaged("its bytes do not fit its hash"));
        }
        Ok(bytes.into())
    }

    /// Returns the pack after its file was given another name.
    pub(in crate::engine) fn renamed(self, path: PathBuf) -> Self {
        Self { path, ..self }
    }

    /// Makes what was stored durable.
    pub(in crate::engine) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_come_back_by_their_hash() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("contents");
        let pack = ContentPack::create(&path).unwrap();
        let mut contents = [
            Content::new(b"one".to_vec()),
            Content::new(Vec::new()),
            Content::new(b"one".to_vec()),
        ];
        for content in &mut contents {
            pack.store(content).unwrap();
            assert_eq!(content.bytes, None);
        }
        pack.sync().unwrap();
        let pack = ContentPack::open(&path).unwrap();
        assert_eq!(&*pack.bytes(&contents[2]).unwrap(), b"one");
        assert_eq!(&*pack.bytes(&contents[1]).unwrap(), b"");
        let unknown = Content {
            bytes: None,
            ..Content::new(b"two".to_vec())
        };
        assert!(pack.bytes(&unknown).is_err());
    }

    #[test]
    fn a_damaged_pack_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("contents");
        let pack = ContentPack::create(&path).unwrap();
        let mut content = Content::new(vec![7; 100]);
        pack.store(&mut content).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let pack = ContentPack::open(&path).unwrap();
        assert!(pack.bytes(&content).is_err());
        std::fs::write(&path, &bytes[..90]).unwrap();
        assert!(ContentPack::open(&path).is_err());
        std::fs::write(&path, b"").unwrap();
        assert!(ContentPack::open(&path).is_err());
    }
}
