//! One partition dir, read for retention.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use super::index_end::{last_time, last_written_position, last_written_time};
use crate::disk::{
    DiskAction, DiskError, EntryKind, FileStat, Listed, Pace, ReadManner, SegmentBytes, Storage,
    WindowBuffer,
};
use crate::engine::read::dir_facts::read_whole;
use crate::format::file_name::{DELETED_SUFFIX, FileKind, PartitionFile, leading_offset};
use crate::format::{producer_snapshot, time_index};
use crate::log::{Feed, Finding, FindingCode, HeaderTimes, SegmentParser as _, Severity, TimeWalk};
use crate::plan::retention::{
    HighWatermark, LeftoverKind, LeftoverSegment, LogFacts, LogRole, OpenTransaction, SegmentFacts,
    TimeSource,
};
use crate::terms::{Offset, Position, Timestamp, TopicPartition};

/// The largest producer snapshot that is read: 46 bytes a producer, for half a million of them.
const MAX_SNAPSHOT: u64 = 24 << 20;

/// What decides beside the files of the dir.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "facts of the metadata")]
pub(in crate::engine) struct LogContext {
    pub(in crate::engine) topic_partition: TopicPartition,
    pub(in crate::engine) role: LogRole,
    /// The checkpointed log start.
    pub(in crate::engine) log_start_offset: Option<Offset>,
    /// The checkpointed high watermark.
    pub(in crate::engine) high_watermark: Option<Offset>,
    /// The checkpointed first dirty offset.
    pub(in crate::engine) cleaner_offset: Option<Offset>,
    /// When that checkpoint was written.
    pub(in crate::engine) cleaner_written_at: Option<Timestamp>,
    /// From where on a boot reads the log again; `None` of a dir that was stopped cleanly.
    pub(in crate::engine) recovered_from: Option<Offset>,
    /// Whether this broker alone is in sync, and that is enough.
    pub(in crate::engine) is_sole_in_sync: bool,
    /// Whether open transactions matter.
    pub(in crate::engine) reads_producers: bool,
    /// Which ends of closed segments are read to see whether the next one follows.
    pub(in crate::engine) gaps: Gaps,
}

/// Which ends of closed segments are compared with the next one's begin; a compacted log has holes by nature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Gaps {
    /// None.
    Unread,
    /// Of those that span too many offsets for their bytes.
    Suspects,
    /// All.
    All,
}

/// Reads files of one partition dir.
pub(in crate::engine) struct LogFiles<'a> {
    pub(in crate::engine) storage: &'a dyn Storage,
    pub(in crate::engine) pace: &'a Pace,
    pub(in crate::engine) is_live: bool,
    /// Says whether anybody still waits for what is read.
    pub(in crate::engine) is_wanted: &'a (dyn Fn() -> bool + Sync),
}

/// A segment's files, as far as they are there.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) base_offset: Offset,
    pub(super) log: Option<FileStat>,
    index: Option<FileStat>,
    time_index: Option<FileStat>,
    allocated: u64,
}

/// Reads what retention depends on; `listed` are the dir's files.
pub(in crate::engine) fn log_facts(
    files: &LogFiles<'_>,
    (log_dir, dir_name): (&Path, &str),
    listed: &[Listed],
    context: LogContext,
) -> LogFacts {
    let dir = log_dir.join(dir_name);
    let mut reader = LogRead::new(files, &dir);
    let (groups, leftovers) = group(listed);
    let first_base = groups
        .first()
        .map_or(Offset::ZERO, |group| group.base_offset);
    let log_start_offset = context
        .log_start_offset
        .unwrap_or(first_base)
        .max(first_base);
    let (segments, end) = reader.segments(&groups, context.recovered_from);
    let gaps = reader.gaps(&groups, context.gaps);
    reader.findings.extend(gaps.findings());
    let log_end_offset = match (end, groups.last()) {
        (Some(end), Some(active)) => Some(end.next_offset.unwrap_or(active.base_offset)),
        (None, Some(_)) => None,
        (_, None) => Some(log_start_offset),
    };
    let high_watermark = match (
        context.is_sole_in_sync,
        context.high_watermark,
        log_end_offset,
    ) {
        (true, _, Some(end)) => HighWatermark::SoleInSync(end),
        (_, Some(offset), Some(end)) => {
            HighWatermark::Checkpoint(offset.min(end).max(log_start_offset))
        }
        _ => HighWatermark::Unknown,
    };
    let active_since = end
        .and_then(|_| groups.last())
        .and_then(|active| reader.first_timestamp(active));
    let open_transaction = context
        .reads_producers
        .then(|| reader.open_transaction(listed))
        .flatten();
    LogFacts {
        log_dir: log_dir.to_owned(),
        dir_name: dir_name.to_owned(),
        topic_partition: context.topic_partition,
        role: context.role,
        segments,
        log_start_offset,
        log_end_offset,
        high_watermark,
        active_since,
        cleaner_offset: context.cleaner_offset,
        cleaner_written_at: context.cleaner_written_at,
        open_transaction,
        recovered_from: context.recovered_from,
        leftovers,
        findings: reader.findings,
    }
}

/// Sorts a dir's files by the segment that they belong to.
pub(super) fn group(listed: &[Listed]) -> (Vec<Files>, Vec<LeftoverSegment>) {
    let mut groups: std::collections::BTreeMap<Offset, Files> = std::collections::BTreeMap::new();
    let mut leftovers = Vec::new();
    for entry in listed {
        if entry.stat.kind != EntryKind::File || !entry.is_utf8 {
            continue;
        }
        let (offset, kind) = match PartitionFile::parse(&entry.name) {
            PartitionFile::Segment { offset, kind } => (offset, kind),
            other => {
                leftovers.extend(leftover(entry, other));
                continue;
            }
        };
        let group = groups.entry(offset).or_insert_with(|| Files {
            base_offset: offset,
            ..Files::default()
        });
        group.allocated += entry.stat.allocated;
        match kind {
            FileKind::Log => group.log = Some(entry.stat),
            FileKind::Index => group.index = Some(entry.stat),
            FileKind::TimeIndex => group.time_index = Some(entry.stat),
            FileKind::TxnIndex | FileKind::Snapshot => {}
        }
    }
    let groups = groups.into_values().filter(|group| group.log.is_some());
    (groups.collect(), leftovers)
}

/// Returns the leftover that a file is, if it is that of a `.log`.
fn leftover(entry: &Listed, parsed: PartitionFile) -> Option<LeftoverSegment> {
    let (base_offset, kind) = match parsed {
        PartitionFile::Deleted => {
            let name = entry.name.strip_suffix(DELETED_SUFFIX)?;
            let is_log = name.ends_with(FileKind::Log.suffix());
            (is_log.then(|| leading_offset(name))?, LeftoverKind::Deleted)
        }
        PartitionFile::Cleaned {
            offset,
            kind: Some(FileKind::Log),
        } => (Some(offset), LeftoverKind::Cleaned),
        PartitionFile::Swap {
            offset,
            kind: Some(FileKind::Log),
        } => (Some(offset), LeftoverKind::Swap),
        _ => return None,
    };
    Some(LeftoverSegment {
        base_offset,
        kind,
        bytes: entry.stat.len,
        allocated: entry.stat.allocated,
        changed_at: Timestamp(entry.stat.changed_ns.div_euclid(1_000_000)),
    })
}

pub(super) struct LogRead<'a> {
    pub(super) files: &'a LogFiles<'a>,
    dir: &'a Path,
    buffer: WindowBuffer,
    findings: Vec<Finding>,
}

/// What decides how a segment's largest timestamp is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The last entry of the time index, whatever it is.
    TimeIndex,
    /// The last written entry, and the headers behind it.
    Tail,
    /// All headers: a boot rebuilds the indexes.
    Headers,
}

impl<'a> LogRead<'a> {
    /// Returns a reader of the files of `dir`.
    pub(super) fn new(files: &'a LogFiles<'a>, dir: &'a Path) -> Self {
        Self {
            files,
            dir,
            buffer: WindowBuffer::default(),
            findings: Vec::new(),
        }
    }

    /// Returns the segments, and what the headers at the end of the last one say; `None` if they cannot be read.
    fn segments(
        &mut self,
        groups: &[Files],
        recovered_from: Option<Offset>,
    ) -> (Vec<SegmentFacts>, Option<HeaderTimes>) {
        let mut segments = Vec::with_capacity(groups.len());
        let mut end = None;
        for (number, group) in groups.iter().enumerate() {
            let next = groups.get(number + 1).map(|next| next.base_offset);
            let is_recovered =
                recovered_from.is_some_and(|point| next.is_none_or(|next| next > point));
            let way = match (group.index.is_some(), is_recovered) {
                (false, _) => Way::Headers,
                (true, true) => Way::Tail,
                (true, false) => Way::TimeIndex,
            };
            let tail = (way != Way::TimeIndex || next.is_none())
                .then(|| self.tail(group, way))
                .flatten();
            if next.is_none() {
                end = tail;
            }
            segments.push(self.segment(group, way, tail));
        }
        (segments, end)
    }

    fn segment(&mut self, group: &Files, way: Way, tail: Option<HeaderTimes>) -> SegmentFacts {
        let log = group.log;
        let len = log.map_or(0, |stat| stat.len);
        let by_index = match way {
            Way::TimeIndex => self.time_index(group, last_time),
            Way::Tail => self.time_index(group, last_written_time),
            Way::Headers => None,
        };
        let by_headers = tail
            .filter(|_| way != Way::TimeIndex)
            .map(|tail| tail.largest_timestamp)
            .filter(|timestamp| timestamp.0 >= 0);
        let by_index = by_index.filter(|timestamp| timestamp.0 >= 0);
        let (largest_timestamp, time_source) = match (by_index, by_headers) {
            (Some(index), Some(headers)) if headers > index => (headers, TimeSource::Batches),
            (Some(index), _) => (index, TimeSource::TimeIndex),
            (None, Some(headers)) => (headers, TimeSource::Batches),
            (None, None) => {
                let mtime_ns = log.map_or(0, |stat| stat.mtime_ns);
                (
                    Timestamp(mtime_ns.div_euclid(1_000_000)),
                    TimeSource::FileTime,
                )
            }
        };
        SegmentFacts {
            base_offset: group.base_offset,
            // What was allocated ahead, or is torn, is cut by a boot, and a living broker does not count it.
            bytes: match tail {
                Some(tail) if way == Way::Tail && tail.next_offset.is_some() => len.min(tail.end.0),
                _ => len,
            },
            allocated: log.map_or(0, |stat| stat.allocated),
            freed: group.allocated,
            largest_timestamp,
            time_source,
        }
    }

    /// Reads the last timestamp of a time index; one that is missing, empty or unreadable has none.
    fn time_index(
        &mut self,
        group: &Files,
        last: impl Fn(&dyn crate::disk::ReadAt, u64) -> std::io::Result<Option<Timestamp>>,
    ) -> Option<Timestamp> {
        let stat = group.time_index?;
        let path = self.path(group.base_offset, FileKind::TimeIndex);
        if !stat.len.is_multiple_of(time_index::ENTRY_LEN as u64) {
            self.finding(
                FindingCode::IndexCorrupt,
                &path,
                "its length is no multiple of 12: Kafka takes the last whole entry for the segment's largest timestamp",
            );
        }
        let file = match self.files.storage.open(&path) {
            Ok(file) => file,
            Err(error) => return self.unreadable(&path, &error),
        };
        match last(file.as_ref(), stat.len) {
            Ok(found) => found,
            Err(source) => self.unreadable(&path, &DiskError::new(DiskAction::Read, &path, source)),
        }
    }

    /// Returns from where on the headers of a segment are walked: from its begin, or from its last index entry on.
    pub(super) fn walk_from(&mut self, group: &Files, way: Way) -> Option<Position> {
        let Some(stat) = group.index.filter(|_| way != Way::Headers) else {
            return Some(Position(0));
        };
        let path = self.path(group.base_offset, FileKind::Index);
        let file = match self.files.storage.open(&path) {
            Ok(file) => file,
            Err(error) => return self.unreadable(&path, &error),
        };
        match last_written_position(file.as_ref(), stat.len) {
            Ok(position) => Some(position),
            Err(source) => self.unreadable(&path, &DiskError::new(DiskAction::Read, &path, source)),
        }
    }

    /// Walks the headers of a segment: all, or those behind its last index entry.
    fn tail(&mut self, group: &Files, way: Way) -> Option<HeaderTimes> {
        let start = self.walk_from(group, way)?;
        let len = group.log.map_or(0, |stat| stat.len);
        let times = self.walk(group, TimeWalk::new(start, len))?;
        if times.next_offset.is_none() && start.0 > 0 {
            // The index points to no batch, as after a cut: only the log itself can say.
            return self.walk(group, TimeWalk::new(Position(0), len));
        }
        Some(times)
    }

    fn first_timestamp(&mut self, active: &Files) -> Option<Timestamp> {
        let len = active.log.map_or(0, |stat| stat.len);
        self.walk(active, TimeWalk::first_batch(len))?
            .first_timestamp
            .filter(|timestamp| timestamp.0 >= 0)
    }

    pub(super) fn walk(&mut self, group: &Files, mut walk: TimeWalk) -> Option<HeaderTimes> {
        let path = self.path(group.base_offset, FileKind::Log);
        let len = group.log.map_or(0, |stat| stat.len);
        let counter = AtomicU64::new(0);
        let walked = self.files.storage.open(&path).and_then(|file| {
            let manner = ReadManner {
                pace: self.files.pace,
                keeps_cache: self.files.is_live,
                counter: &counter,
            };
            let mut bytes = SegmentBytes::new(file, &path, len, &mut self.buffer, manner);
            let mut needed = 0;
            loop {
                match walk.feed(bytes.window(walk.position().0, needed)?) {
                    Feed::Done => return Ok(walk.finish()),
                    Feed::More { needed: more } => needed = more,
                }
            }
        });
        match walked {
            Ok(times) => Some(times),
            Err(error) => self.unreadable(&path, &error),
        }
    }

    /// Returns the earliest open transaction of the newest producer snapshot that can be read.
    fn open_transaction(&mut self, listed: &[Listed]) -> Option<OpenTransaction> {
        let newest = listed
            .iter()
            .filter(|entry| entry.stat.kind == EntryKind::File && entry.is_utf8)
            .filter_map(|entry| match PartitionFile::parse(&entry.name) {
                PartitionFile::Segment {
                    offset,
                    kind: FileKind::Snapshot,
                } => Some((offset, &entry.name)),
                _ => None,
            })
            .max()?;
        let path = self.dir.join(newest.1);
        let bytes = match read_whole(self.files.storage, &path, MAX_SNAPSHOT) {
            Ok(bytes) => bytes,
            Err(error) => return self.unreadable(&path, &error),
        };
        let Ok(entries) = producer_snapshot::decode(&bytes) else {
            self.finding(
                FindingCode::SnapshotCorrupt,
                &path,
                "the newest producer snapshot does not decode: open transactions are not known",
            );
            return None;
        };
        entries
            .iter()
            .filter_map(|entry| {
                Some(OpenTransaction {
                    producer_id: entry.producer_id,
                    first_offset: entry.current_txn_first_offset?,
                    timestamp: entry.timestamp,
                })
            })
            .min_by_key(|open| open.first_offset)
    }

    fn path(&self, base_offset: Offset, kind: FileKind) -> std::path::PathBuf {
        self.dir.join(crate::format::file_name::segment_file_name(
            base_offset,
            kind,
        ))
    }

    /// Tells of a file that cannot be read; one that a living broker has deleted meanwhile is no finding.
    fn unreadable<T>(&mut self, path: &Path, error: &DiskError) -> Option<T> {
        if !(error.is_not_found() && self.files.is_live) {
            self.finding(FindingCode::Unreadable, path, &error.sentence());
        }
        None
    }

    fn finding(&mut self, code: FindingCode, path: &Path, text: &str) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.findings
            .push(Finding::new(code, Severity::Warning, text).file(name));
    }
}
