//! Writes our own archives to disk, holes as holes.

use std::fs::{self, File, FileTimes};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use super::{DiskAction, DiskError};
use crate::format::archive::{ArchiveError, Entry, Node, entries};

/// Bytes that an unpacked archive of ours may have: the largest has 14 MB.
const LIMIT: u64 = 256 << 20;

/// Why an archive is not on disk.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The compressed stream is not one.
    #[error("the archive does not decompress: {0}")]
    Packed(String),
    /// The archive is not ours.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// Writes the entries of the zstd-compressed archive `packed` below `folder`, which is there already, with their modes and
/// times. Owner and group are the caller's. What was written before an error stays.
pub fn unpack(packed: &[u8], folder: &Path) -> Result<(), UnpackError> {
    let archive = decompress(packed)?;
    let mut dirs = Vec::new();
    for entry in entries(&archive) {
        let entry = entry?;
        let path = folder.join(&*entry.path);
        match &entry.node {
            Node::Directory => {
                fs::create_dir_all(&path).map_err(DiskError::of(DiskAction::Create, &path))?;
                dirs.push((path, entry));
            }
            Node::File { length, parts } => {
                write_file(&path, *length, parts)?;
                set_attributes(&path, &entry)?;
            }
        }
    }
    // Files below change a dir's time, so the innermost comes first.
    for (path, entry) in dirs.iter().rev() {
        set_attributes(path, entry)?;
    }
    Ok(())
}

fn decompress(packed: &[u8]) -> Result<Vec<u8>, UnpackError> {
    let mut archive = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(packed)
        .map_err(|error| UnpackError::Packed(error.to_string()))?
        .take(LIMIT)
        .read_to_end(&mut archive)
        .map_err(|error| UnpackError::Packed(error.to_string()))?;
    Ok(archive)
}

fn write_file(path: &Path, length: u64, parts: &[(u64, &[u8])]) -> Result<(), DiskError> {
    let file = File::create(path).map_err(DiskError::of(DiskAction::Create, path))?;
    let write = || -> io::Result<()> {
        file.set_len(length)?;
        for (position, bytes) in parts {
            file.write_all_at(bytes, *position)?;
        }
        Ok(())
    };
    write().map_err(DiskError::of(DiskAction::Write, path))
}

fn set_attributes(path: &Path, entry: &Entry<'_>) -> Result<(), DiskError> {
    let set = || -> io::Result<()> {
        let modified = UNIX_EPOCH + Duration::from_secs(entry.modified);
        File::open(path)?.set_times(FileTimes::new().set_modified(modified))?;
        fs::set_permissions(path, fs::Permissions::from_mode(entry.mode & 0o777))
    };
    set().map_err(DiskError::of(DiskAction::SetOwner, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn the_demo_unpacks_with_holes_and_times() {
        let folder = tempfile::tempdir().unwrap();
        unpack(
            include_bytes!("../../demo-data/crashed.tar.zst"),
            folder.path(),
        )
        .unwrap();
        let indexes: Vec<_> = fs::read_dir(folder.path().join("data1"))
            .unwrap()
            .filter_map(|dir| fs::read_dir(dir.unwrap().path()).ok())
            .flatten()
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|suffix| suffix == "index"))
            .map(|path| fs::metadata(path).unwrap())
            .filter(|file| file.len() == 10_485_760)
            .collect();
        assert!(indexes.len() > 5);
        let allocated: u64 = indexes.iter().map(|file| file.blocks() * 512).sum();
        assert!(allocated < 1 << 20, "{allocated} bytes allocated");
        let about = fs::read_to_string(folder.path().join("about.properties")).unwrap();
        let killed: i64 = about
            .lines()
            .find_map(|line| line.strip_prefix("killed.at="))
            .unwrap()
            .parse()
            .unwrap();
        let before = |file: &fs::Metadata| killed / 1000 - file.mtime();
        assert!(indexes.iter().all(|file| (0..600).contains(&before(file))));
    }

    #[test]
    fn junk_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = unpack(b"junk", folder.path()).unwrap_err();
        assert!(matches!(error, UnpackError::Packed(_)), "{error}");
    }
}
