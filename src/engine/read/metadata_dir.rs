//! The metadata of a node, read from its disk.

use std::path::Path;

use crate::cluster::{FoldedDir, FollowedDir, MetadataImage, fold_dir};
use crate::disk::{DiskAction, DiskError, EntryKind, ReadAt, Storage};
use crate::terms::Offset;

/// Folds `dir`, the `__cluster_metadata-0` of a node; `None` if it holds nothing to fold.
///
/// Changes nothing and needs no lock: a snapshot never changes, and what a live node appends meanwhile may or may not be
/// in the image. Without `high_watermark` the last records may be uncommitted.
///
/// # Errors
///
/// A dir or file that cannot be read, or one that the node deletes meanwhile: try again.
pub fn read_metadata_dir(
    storage: &dyn Storage,
    dir: &Path,
    high_watermark: Option<Offset>,
) -> Result<Option<FoldedDir>, DiskError> {
    fold_dir(&names(storage, dir)?, high_watermark, reader(storage, dir))
}

/// Folds what was appended to `dir` since the last call; see [`FollowedDir::advance`].
///
/// # Errors
///
/// A dir or file that cannot be read, or one that the node deletes meanwhile: try again.
pub fn follow_metadata_dir<'a>(
    storage: &dyn Storage,
    dir: &Path,
    followed: &'a mut FollowedDir,
) -> Result<Option<&'a MetadataImage>, DiskError> {
    followed.advance(&names(storage, dir)?, reader(storage, dir))
}

fn names(storage: &dyn Storage, dir: &Path) -> Result<Vec<String>, DiskError> {
    let listed = storage.list(dir)?.into_iter();
    let files = listed.filter(|entry| entry.is_utf8 && entry.stat.kind == EntryKind::File);
    Ok(files.map(|entry| entry.name).collect())
}

/// Reads windows of the files of `dir`; keeps the last one open.
fn reader(
    storage: &dyn Storage,
    dir: &Path,
) -> impl FnMut(&str, u64, usize) -> Result<Vec<u8>, DiskError> {
    let mut open: Option<(String, Box<dyn ReadAt>)> = None;
    move |name, position, count| {
        let path = dir.join(name);
        if open.as_ref().is_none_or(|(opened, _)| opened != name) {
            let file = storage.open(&path)?;
            file.advise_sequential();
            open = Some((name.to_owned(), file));
        }
        let Some((_, file)) = &open else {
            return Ok(vec![]);
        };
        read_window(file.as_ref(), position, count)
            .map_err(|error| DiskError::new(DiskAction::Read, &path, error).at(position))
    }
}

fn read_window(file: &dyn ReadAt, position: u64, count: usize) -> std::io::Result<Vec<u8>> {
    let left = file.file_len()?.saturating_sub(position);
    let mut bytes = vec![0; usize::try_from(left).unwrap_or(count).min(count)];
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, position + done as u64)? {
            0 => break,
            read => done += read,
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealStorage;
    use crate::format::record_batch::tests::case_batch;

    #[test]
    fn a_dir_without_metadata_has_no_image() {
        let dir = tempfile::tempdir().unwrap();
        let fold = || read_metadata_dir(&RealStorage, dir.path(), None).unwrap();
        assert_eq!(fold(), None);
        let log = dir.path().join("00000000000000000000.log");
        std::fs::write(&log, case_batch(0, 1)).unwrap();
        let folded = fold().unwrap();
        assert_eq!(folded.image.next_offset, Offset(10));
        assert_eq!(folded.findings.len(), 10);
        assert_eq!(folded.given_up, []);
        std::fs::write(&log, [0; 100]).unwrap();
        assert_eq!(fold().unwrap().given_up.len(), 1);
        let missing = dir.path().join("missing");
        assert!(read_metadata_dir(&RealStorage, &missing, None).is_err());
    }
}
