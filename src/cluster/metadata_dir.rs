//! The files of `__cluster_metadata-0`, folded in their order.

use std::collections::BTreeMap;

use crate::cluster::fold::{FoldError, FoldFinding, ImageFold};
use crate::cluster::image::MetadataImage;
use crate::format::batch::{FrameEnd, frame};
use crate::format::file_name::{FileKind, PartitionFile};
use crate::format::metadata_record::Voter;
use crate::format::record_batch::{Batch, UncheckedBatch};
use crate::terms::{Offset, Uuid};

/// Bytes that are read at once.
const WINDOW: usize = 4 << 20;
/// The longest batch that is read; the controller writes at most 8 MiB.
const MAX_BATCH: usize = 64 << 20;

/// What the files of `__cluster_metadata-0` gave.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldedDir {
    /// The image.
    pub image: MetadataImage,
    /// The snapshot that it begins with.
    pub snapshot: Option<String>,
    /// The topics whose deletion lies behind the snapshot, by id: their dirs may still be there.
    pub deleted_topics: BTreeMap<Uuid, String>,
    /// The oddities seen, at most a hundred.
    pub findings: Vec<FoldFinding>,
    /// How many more there were.
    pub findings_left_out: u64,
    /// The voters of a quorum whose voters may change; `None` of one with static voters.
    pub voters: Option<Vec<Voter>>,
    /// The version of KRaft's own protocol; `None` where no record says it, which is 0.
    pub kraft_version: Option<i16>,
    /// Snapshots that are damaged or not whole, and the segment in which the log was given up.
    pub given_up: Vec<(String, FoldError)>,
}

/// Folds the dir `__cluster_metadata-0` that holds files of these `names`.
///
/// `read` gives the bytes of a file from a position on, as many as asked for unless the file ends. Returns `None` if
/// there is neither a whole snapshot nor a segment. With `high_watermark`, records from it on are left out.
pub fn fold_dir<E>(
    names: &[String],
    high_watermark: Option<Offset>,
    read: impl FnMut(&str, u64, usize) -> Result<Vec<u8>, E>,
) -> Result<Option<FoldedDir>, E> {
    let Some(whole) = fold_files(names, high_watermark, read)? else {
        return Ok(None);
    };
    let (findings, findings_left_out) = whole.fold.findings();
    let (voters, kraft_version) = whole.fold.quorum();
    Ok(Some(FoldedDir {
        snapshot: whole.snapshot,
        findings: findings.to_vec(),
        findings_left_out,
        deleted_topics: whole.fold.deleted_topics().clone(),
        voters: voters.map(<[Voter]>::to_vec),
        kraft_version,
        given_up: whole.given_up,
        image: whole.fold.finish(),
    }))
}

/// What was folded, and where that ends.
pub(super) struct FoldedFiles {
    pub(super) fold: ImageFold,
    snapshot: Option<String>,
    given_up: Vec<(String, FoldError)>,
    /// The last segment and the position behind its last whole batch.
    pub(super) end: Option<(String, u64)>,
}

pub(super) fn fold_files<E>(
    names: &[String],
    high_watermark: Option<Offset>,
    mut read: impl FnMut(&str, u64, usize) -> Result<Vec<u8>, E>,
) -> Result<Option<FoldedFiles>, E> {
    let mut snapshots = vec![];
    let mut segments = vec![];
    for name in names {
        match PartitionFile::parse(name) {
            PartitionFile::MetadataSnapshot { end_offset, epoch } => {
                snapshots.push((end_offset, epoch, name));
            }
            PartitionFile::Segment {
                offset,
                kind: FileKind::Log,
            } => segments.push((offset, name)),
            _ => {}
        }
    }
    snapshots.retain(|(end, ..)| high_watermark.is_none_or(|limit| *end <= limit));
    snapshots.sort_unstable_by(|a, b| b.cmp(a));
    segments.sort_unstable();

    let anew = || high_watermark.map_or_else(ImageFold::new, ImageFold::up_to);
    let mut fold = anew();
    let mut snapshot = None;
    let mut given_up = vec![];
    for (end_offset, epoch, name) in snapshots {
        let read = |position, count| read(name, position, count);
        let walked = for_each_batch(0, read, |batch| fold.snapshot_batch(batch))?;
        match walked {
            Ok(_) if fold.end_snapshot(end_offset, epoch) => {
                snapshot = Some(name.clone());
                break;
            }
            Ok(_) => given_up.push((name.clone(), FoldError::NoFooter)),
            Err(error) => given_up.push((name.clone(), error)),
        }
        fold = anew();
    }
    if snapshot.is_none() && segments.is_empty() {
        return Ok(None);
    }
    let next_bases: Vec<_> = segments.iter().skip(1).map(|(base, _)| *base).collect();
    let next_bases = next_bases.into_iter().map(Some).chain([None]);
    let mut end = None;
    for ((_, name), next_base) in segments.into_iter().zip(next_bases) {
        if next_base.is_some_and(|next_base| next_base <= fold.image().next_offset) {
            continue;
        }
        let read = |position, count| read(name, position, count);
        match for_each_batch(0, read, |batch| fold.log_batch(batch))? {
            Ok(position) => end = Some((name.clone(), position)),
            Err(error) => {
                given_up.push((name.clone(), error));
                break;
            }
        }
    }
    Ok(Some(FoldedFiles {
        fold,
        snapshot,
        given_up,
        end,
    }))
}

/// Calls `f` for each batch that `read` gives from `start` on and returns where the last one ends; a torn end is the end.
pub(super) fn for_each_batch<E>(
    start: u64,
    mut read: impl FnMut(u64, usize) -> Result<Vec<u8>, E>,
    mut f: impl FnMut(&Batch<'_>),
) -> Result<Result<u64, FoldError>, E> {
    let mut position = start;
    let mut window = WINDOW;
    loop {
        let bytes = read(position, window)?;
        let is_last = bytes.len() < window;
        match walk(&bytes, position, &mut f) {
            Err(error) => return Ok(Err(error)),
            Ok(walked) if is_last => return Ok(Ok(position + walked.consumed as u64)),
            Ok(Walked {
                consumed: 0,
                needed,
            }) if needed > MAX_BATCH => {
                return Ok(Err(FoldError::Corrupt { position }));
            }
            Ok(Walked {
                consumed: 0,
                needed,
            }) => window = needed.max(WINDOW),
            Ok(Walked { consumed, .. }) => {
                position += consumed as u64;
                window = WINDOW;
            }
        }
    }
}

struct Walked {
    consumed: usize,
    /// Bytes of the batch that is not whole.
    needed: usize,
}

/// Walks the whole batches of `bytes`, which begin with one at `start` of their file.
fn walk(bytes: &[u8], start: u64, f: &mut impl FnMut(&Batch<'_>)) -> Result<Walked, FoldError> {
    let mut rest = bytes;
    loop {
        let consumed = bytes.len() - rest.len();
        let position = start + consumed as u64;
        let corrupt = FoldError::Corrupt { position };
        let needed = match frame(rest, u64::MAX) {
            Err(FrameEnd::EndOfLog) => WINDOW,
            Err(FrameEnd::TooSmall { size }) => return Err(FoldError::TooSmall { position, size }),
            Ok(frame) if frame.is_legacy() => return Err(corrupt),
            Ok(frame) => usize::try_from(frame.size).unwrap_or(usize::MAX),
        };
        if needed > rest.len() {
            return Ok(Walked { consumed, needed });
        }
        let (batch, tail) = UncheckedBatch::split_first(rest).map_err(|_| corrupt.clone())?;
        f(&batch.check_crc().map_err(|_| corrupt)?);
        rest = tail;
    }
}
