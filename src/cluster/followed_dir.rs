//! `__cluster_metadata-0` as it grows: what was folded once is not read again.

use crate::cluster::fold::ImageFold;
use crate::cluster::image::MetadataImage;
use crate::cluster::metadata_dir::{fold_files, for_each_batch};
use crate::format::file_name::{FileKind, PartitionFile};
use crate::terms::Offset;

/// A metadata log that is followed.
#[derive(Debug, Default)]
pub struct FollowedDir {
    fold: Option<ImageFold>,
    /// The segment and the position where the next batch begins.
    end: Option<(String, u64)>,
}

impl FollowedDir {
    /// Folds what was appended since the last call and returns the image; the first call folds all, and so does one that
    /// finds the log gone on from elsewhere. `names` and `read` are those of [`fold_dir`](super::fold_dir).
    ///
    /// A log that was cut and has grown again since cannot be told from one that only grew: who sees a file shrink starts
    /// anew.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub fn advance<E>(
        &mut self,
        names: &[String],
        mut read: impl FnMut(&str, u64, usize) -> Result<Vec<u8>, E>,
    ) -> Result<Option<&MetadataImage>, E> {
        if !self.go_on(names, &mut read)? {
            let whole = fold_files(names, None, read)?;
            (self.fold, self.end) = match whole {
                Some(whole) => (Some(whole.fold), whole.end),
                None => (None, None),
            };
        }
        Ok(self.fold.as_ref().map(ImageFold::image))
    }

    /// Says whether the log goes on where it was left.
    fn go_on<E>(
        &mut self,
        names: &[String],
        read: &mut impl FnMut(&str, u64, usize) -> Result<Vec<u8>, E>,
    ) -> Result<bool, E> {
        let (Some(fold), Some((segment, position))) = (&mut self.fold, &mut self.end) else {
            return Ok(false);
        };
        let Some(first) = base_offset(segment).filter(|_| names.contains(segment)) else {
            return Ok(false);
        };
        let mut segments: Vec<_> = names
            .iter()
            .filter_map(|name| Some((base_offset(name)?, name)))
            .filter(|(base, _)| *base >= first)
            .collect();
        segments.sort_unstable();
        for (_, name) in segments {
            if name != segment {
                name.clone_into(segment);
                *position = 0;
            }
            let read = |position, count| read(name, position, count);
            match for_each_batch(*position, read, |batch| fold.log_batch(batch))? {
                Ok(end) => *position = end,
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }
}

fn base_offset(name: &str) -> Option<Offset> {
    match PartitionFile::parse(name) {
        PartitionFile::Segment {
            offset,
            kind: FileKind::Log,
        } => Some(offset),
        _ => None,
    }
}
