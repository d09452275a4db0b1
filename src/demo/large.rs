//! As much valid data as is asked for: the embedded broker with many more partitions, some of them damaged.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::template::Template;
use super::tree::{DemoError, DemoTree, write_crashed};
use crate::disk::VolumeSpace;
use crate::format::file_name::{
    FileKind, HIGH_WATERMARK_CHECKPOINT, LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA,
    segment_file_name,
};
use crate::format::leader_epoch_checkpoint::{self, EpochEntry};
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::format::{offset_index, producer_snapshot, time_index};
use crate::log::SegmentLimits;
use crate::terms::{LeaderEpoch, Offset, TopicPartition};

/// Topics whose batches are multiplied: each codec, both kinds of timestamps.
const TOPICS: [&str; 6] = [
    "clicks",
    "metrics",
    "audit",
    "invoices",
    "telemetry",
    "notifications",
];
/// New partitions of each topic.
const PARTITIONS: u64 = 8;
/// The number of the first new partition.
const FIRST: i32 = 10;
/// Segments of a partition, about.
const SEGMENTS: u64 = 4;
const LEAST_SEGMENT: u64 = 64 << 10;
const MOST_SEGMENT: u64 = 64 << 20;
/// Length of the indexes of a segment that is written to.
const LIMITS: SegmentLimits = SegmentLimits {
    index_interval_bytes: 4096,
    segment_index_bytes: 10 << 20,
};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct LargeSpec<'a> {
    /// Bytes of records, about.
    pub size: u64,
    /// Set from outside to stop.
    pub cancel: &'a AtomicBool,
}

/// What is wrong with a new partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    None,
    /// The last batch is not whole.
    Torn,
    /// Zeros follow the last batch.
    Zeros,
    /// One bit of a batch in the middle of the second segment is flipped.
    Flipped,
}

impl Damage {
    /// Spreads damage over the partitions, always the same way.
    fn of(number: u64) -> Self {
        match number % 12 {
            3 => Self::Torn,
            6 => Self::Zeros,
            9 => Self::Flipped,
            _ => Self::None,
        }
    }
}

/// Unpacks the broker into `folder` and adds partitions; `on_progress` hears bytes written and bytes to write.
///
/// # Errors
///
/// The disk's, too little room, or the wish to stop.
pub fn write_large(
    folder: &Path,
    spec: LargeSpec<'_>,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<DemoTree, DemoError> {
    let free = VolumeSpace::of(folder)
        .map_err(crate::disk::UnpackError::from)?
        .free;
    // The index files of new segments and what a recovery writes need room too.
    let needed = spec.size + spec.size / 20 + (64 << 20);
    if free < needed {
        return Err(DemoError::NoSpace {
            path: folder.to_owned(),
            needed,
            free,
        });
    }
    let tree = write_crashed(folder)?;
    let all = TOPICS.len() as u64 * PARTITIONS;
    let each = spec.size / all;
    let segment = (each / SEGMENTS).clamp(LEAST_SEGMENT, MOST_SEGMENT);
    let mut writer = Writer {
        spec,
        on_progress,
        written: 0,
        ends: vec![OffsetCheckpoint::default(); tree.log_dirs.len()],
    };
    let mut number = 0;
    for topic in TOPICS {
        let source = read_topic(&tree, topic)?;
        let len = usize::try_from(segment).unwrap_or(usize::MAX);
        let mut template = Template::new(&source.records, len, LIMITS)
            .ok_or(DemoError::Missing("batch that can be multiplied"))?;
        for partition in (FIRST..).take(usize::try_from(PARTITIONS).unwrap_or(0)) {
            let at = usize::try_from(number).unwrap_or(0) % tree.log_dirs.len().max(1);
            let Some(dir) = tree.log_dirs.get(at) else {
                continue;
            };
            let name = TopicPartition::new(topic, partition);
            let dir = dir.join(name.to_string());
            let end = writer.partition(&dir, &source, &mut template, (each, Damage::of(number)))?;
            if let Some(ends) = writer.ends.get_mut(at) {
                ends.entries.push((name, end));
            }
            number += 1;
        }
    }
    add_ends(&tree, &writer.ends)?;
    Ok(tree)
}

/// A topic of the embedded broker.
struct Source {
    records: Vec<u8>,
    metadata: Vec<u8>,
}

fn read_topic(tree: &DemoTree, topic: &str) -> Result<Source, DemoError> {
    let dir = tree
        .log_dirs
        .iter()
        .map(|dir| dir.join(format!("{topic}-0")))
        .find(|dir| dir.is_dir())
        .ok_or(DemoError::Missing("topic to multiply"))?;
    let mut logs: Vec<PathBuf> = fs::read_dir(&dir)
        .map_err(DemoError::at(&dir))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "log"))
        .collect();
    logs.sort();
    let mut records = Vec::new();
    for path in logs {
        // The last batch may be torn: what follows a bad place is not taken.
        records.extend(fs::read(&path).map_err(DemoError::at(&path))?);
    }
    let path = dir.join(PARTITION_METADATA);
    let metadata = fs::read(&path).map_err(DemoError::at(&path))?;
    Ok(Source { records, metadata })
}

struct Writer<'a> {
    spec: LargeSpec<'a>,
    on_progress: &'a mut dyn FnMut(u64, u64),
    written: u64,
    /// High watermarks to be, by log dir.
    ends: Vec<OffsetCheckpoint>,
}

impl Writer<'_> {
    /// Writes a partition of `size` bytes; returns its log's end.
    fn partition(
        &mut self,
        dir: &Path,
        source: &Source,
        template: &mut Template,
        (size, damage): (u64, Damage),
    ) -> Result<Offset, DemoError> {
        fs::create_dir(dir).map_err(DemoError::at(dir))?;
        write(&dir.join(PARTITION_METADATA), &source.metadata)?;
        let epochs = leader_epoch_checkpoint::encode(&[EpochEntry {
            epoch: LeaderEpoch(0),
            start_offset: Offset(0),
        }]);
        write(&dir.join(LEADER_EPOCH_CHECKPOINT), &epochs)?;
        let mut base = Offset(0);
        let mut left = usize::try_from(size).unwrap_or(usize::MAX);
        let mut segment = 0;
        loop {
            if self.spec.cancel.load(Ordering::Relaxed) {
                return Err(DemoError::Cancelled);
            }
            let (len, offsets) = template.up_to(left);
            if len == 0 {
                break;
            }
            let last = left - len < template.bytes().len() / 8;
            template.move_to(base);
            let here = match damage {
                Damage::Flipped if segment == 1 => damage,
                Damage::Torn | Damage::Zeros if last => damage,
                _ => Damage::None,
            };
            write_segment(dir, template, (base, len), (last, here))?;
            if base.0 > 0 {
                let path = dir.join(segment_file_name(base, FileKind::Snapshot));
                write(&path, &producer_snapshot::encode(&[]))?;
            }
            base = base.plus(offsets);
            left -= len;
            segment += 1;
            self.written += len as u64;
            (self.on_progress)(self.written, self.spec.size);
            if last {
                break;
            }
        }
        Ok(base)
    }
}

/// Writes one segment with its indexes; those of the last one are as long as a broker makes them.
fn write_segment(
    dir: &Path,
    template: &Template,
    (base, len): (Offset, usize),
    (last, damage): (bool, Damage),
) -> Result<(), DemoError> {
    let path = dir.join(segment_file_name(base, FileKind::Log));
    let file = File::create(&path).map_err(DemoError::at(&path))?;
    let bytes = template.bytes().get(..len).unwrap_or_default();
    let damaged = || -> std::io::Result<()> {
        (&file).write_all(bytes)?;
        match damage {
            Damage::None => Ok(()),
            Damage::Torn => file.set_len((len as u64).saturating_sub(23)),
            Damage::Zeros => file.set_len(len as u64 + 8192),
            Damage::Flipped => {
                let at = template.middle(len) + 70;
                let byte = bytes.get(at).copied().unwrap_or(0) ^ 0x10;
                file.write_all_at(&[byte], at as u64)
            }
        }
    };
    damaged().map_err(DemoError::at(&path))?;
    let offsets: Vec<u8> = offset_index::decode(&template.offset_index)
        .filter(|entry| usize::try_from(entry.position).is_ok_and(|at| at < len))
        .fold(Vec::new(), |mut out, entry| {
            entry.encode_into(&mut out);
            out
        });
    let index = dir.join(segment_file_name(base, FileKind::Index));
    let times = dir.join(segment_file_name(base, FileKind::TimeIndex));
    if !last {
        write(&index, &offsets)?;
        return write(&times, &template.time_index);
    }
    let size = u64::from(LIMITS.segment_index_bytes.unsigned_abs());
    write_sparse(&index, &offsets, size)?;
    let newest = offset_index::decode(&offsets)
        .last()
        .map_or(0, |entry| entry.relative_offset);
    let entries: Vec<u8> = time_index::decode(&template.time_index)
        .filter(|entry| entry.relative_offset <= newest)
        .fold(Vec::new(), |mut out, entry| {
            entry.encode_into(&mut out);
            out
        });
    write_sparse(&times, &entries, size / 12 * 12)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), DemoError> {
    fs::write(path, bytes).map_err(DemoError::at(path))
}

fn write_sparse(path: &Path, bytes: &[u8], len: u64) -> Result<(), DemoError> {
    write(path, bytes)?;
    File::options()
        .write(true)
        .open(path)
        .and_then(|file| file.set_len(len))
        .map_err(DemoError::at(path))
}

/// Adds the ends of new logs to the high watermarks of their dirs; recovery points they have none, so all is read.
fn add_ends(tree: &DemoTree, ends: &[OffsetCheckpoint]) -> Result<(), DemoError> {
    for (dir, ends) in tree.log_dirs.iter().zip(ends) {
        let path = dir.join(HIGH_WATERMARK_CHECKPOINT);
        let bytes = fs::read(&path).unwrap_or_default();
        let mut checkpoint = OffsetCheckpoint::parse(&bytes).unwrap_or_default();
        checkpoint.entries.extend(ends.entries.iter().cloned());
        write(&path, &checkpoint.encode())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_spread_the_same_way_each_time() {
        let damaged = (0..48).filter(|n| Damage::of(*n) != Damage::None).count();
        assert_eq!(damaged, 12);
    }

    #[test]
    fn a_wish_to_stop_is_heard() {
        let folder = tempfile::tempdir().unwrap();
        let spec = LargeSpec {
            size: 4 << 20,
            cancel: &AtomicBool::new(true),
        };
        let error = write_large(folder.path(), spec, &mut |_, _| {}).unwrap_err();
        assert!(matches!(error, DemoError::Cancelled), "{error}");
    }
}
