//! What lies in log dirs, by names and sizes: one `stat` a file; no byte is read, but for the end of a segment that spans too
//! many offsets for its bytes, where no broker runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::disk::{
    DiskError, EntryKind, Listed, LockState, Storage, Volume, look_at_lock, tree_usage,
};
use crate::engine::job::volumes::Volumes;
use crate::engine::read::dir_facts::read_whole;
use crate::engine::segments::offset_gaps;
use crate::format::file_name::{
    CLEAN_SHUTDOWN_MARKER, CLEANER_CHECKPOINT, DirName, FileKind, HIGH_WATERMARK_CHECKPOINT, LOCK,
    LOG_START_CHECKPOINT, META_PROPERTIES, PartitionFile, RECOVERY_POINT_CHECKPOINT,
};
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::log::{GapSearch, Usage, UsageKind};
use crate::plan::volumes::{DirUsage, FileUsage, ForeignEntry, LogUsage, SegmentTimes, Written};
use crate::terms::{Timestamp, TopicPartition};

/// Files that a broker keeps beside its partition dirs; each may have a `.tmp` beside it.
const OWN_FILES: [&str; 8] = [
    CLEAN_SHUTDOWN_MARKER,
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOCK,
    LOG_START_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    "bootstrap.checkpoint",
];

/// What a survey tells as it goes; `dir` is the log dir's number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SurveyEvent {
    /// A log dir's own files, and how many dirs it has.
    Begun {
        /// Which.
        dir: usize,
        /// Its own files and what is not Kafka's.
        usage: DirUsage,
        /// Its dirs.
        logs: usize,
    },
    /// A dir of it.
    Log {
        /// Which.
        dir: usize,
        /// What it holds.
        usage: Box<LogUsage>,
    },
    /// A log dir cannot be listed.
    Failed {
        /// Which.
        dir: usize,
        /// Why.
        cause: String,
    },
}

/// Looks at everything in `dirs`, on several threads a volume; `tell` takes what is found, in any order. `stop` ends it.
pub fn survey(
    storage: &dyn Storage,
    dirs: &[PathBuf],
    now: Timestamp,
    stop: &AtomicBool,
    tell: impl FnMut(SurveyEvent) + Send,
) {
    let tell = Mutex::new(tell);
    let tell = |event| (tell.lock().unwrap_or_else(PoisonError::into_inner))(event);
    let mut logs: Vec<(usize, Listed)> = Vec::new();
    let mut devices = Vec::new();
    for (dir, path) in dirs.iter().enumerate() {
        devices.push(storage.stat(path).map_or(0, |stat| stat.device));
        match storage.list(path) {
            Ok(entries) => {
                let (own, found) = sort(path, entries);
                let count = found.len();
                tell(SurveyEvent::Begun {
                    dir,
                    usage: own,
                    logs: count,
                });
                logs.extend(found.into_iter().map(|entry| (dir, entry)));
            }
            Err(error) => tell(SurveyEvent::Failed {
                dir,
                cause: error.sentence(),
            }),
        }
    }
    let is_free = |dir: &PathBuf| matches!(look_at_lock(dir), Ok(LockState::Free));
    // Nothing is read beside a running broker.
    let may_read = dirs.iter().all(is_free);
    let cleaned: Vec<Option<BTreeSet<TopicPartition>>> = dirs
        .iter()
        .map(|dir| may_read.then(|| compacted(storage, dir)).flatten())
        .collect();
    let on: Vec<Option<Volume>> = dirs.iter().map(|dir| Volume::of(dir).ok()).collect();
    let volumes = Volumes::of(on.iter().map(Option::as_ref));
    let of_logs: Vec<usize> = logs.iter().map(|(dir, _)| *dir).collect();
    let stopped = volumes.for_each_log(None, &of_logs, |number| {
        if stop.load(Ordering::Relaxed) {
            return Err(());
        }
        let Some((dir, entry)) = logs.get(number) else {
            return Ok(());
        };
        let (Some(path), Some(device)) = (dirs.get(*dir), devices.get(*dir)) else {
            return Ok(());
        };
        let cleaned = cleaned.get(*dir).and_then(Option::as_ref);
        let is_wanted = || !stop.load(Ordering::Relaxed);
        let cleaned = (cleaned, &is_wanted as &(dyn Fn() -> bool + Sync));
        let usage = look_at_log(storage, path, (entry, *device), cleaned, now);
        tell(SurveyEvent::Log {
            dir: *dir,
            usage: Box::new(usage),
        });
        Ok(())
    });
    // A survey that was stopped told what it had.
    let _ = stopped;
}

/// Returns the partitions that the cleaner has compacted; `None` where its checkpoint cannot be read.
fn compacted(storage: &dyn Storage, dir: &Path) -> Option<BTreeSet<TopicPartition>> {
    const MOST: u64 = 100_000_000;
    let bytes = match read_whole(storage, &dir.join(CLEANER_CHECKPOINT), MOST) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Some(BTreeSet::new()),
        Err(_) => return None,
    };
    let entries = OffsetCheckpoint::parse(&bytes).ok()?.entries.into_iter();
    Some(entries.map(|(partition, _)| partition).collect())
}

/// Looks at everything in `dirs` and returns it, a log dir each, or why it cannot be listed.
pub fn survey_all(
    storage: &dyn Storage,
    dirs: &[PathBuf],
    now: Timestamp,
) -> Vec<Result<DirUsage, String>> {
    let mut found: Vec<Result<DirUsage, String>> =
        dirs.iter().map(|_| Ok(DirUsage::default())).collect();
    survey(
        storage,
        dirs,
        now,
        &AtomicBool::new(false),
        |event| match event {
            SurveyEvent::Begun { dir, usage, .. } => {
                if let Some(slot) = found.get_mut(dir) {
                    *slot = Ok(usage);
                }
            }
            SurveyEvent::Log { dir, usage } => {
                if let Some(Ok(slot)) = found.get_mut(dir) {
                    slot.logs.push(*usage);
                }
            }
            SurveyEvent::Failed { dir, cause } => {
                if let Some(slot) = found.get_mut(dir) {
                    *slot = Err(cause);
                }
            }
        },
    );
    for usage in found.iter_mut().flatten() {
        usage.logs.sort_by(|a, b| a.name.cmp(&b.name));
        usage.is_whole = true;
    }
    found
}

/// Parts a log dir's entries into its own and foreign files, and the dirs to look at.
fn sort(path: &Path, entries: Vec<Listed>) -> (DirUsage, Vec<Listed>) {
    let mut usage = DirUsage::default();
    let mut dirs = Vec::new();
    for entry in entries {
        let is_dir = entry.stat.kind == EntryKind::Dir;
        let parsed = DirName::parse(&entry.name);
        if is_dir && (parsed != DirName::Invalid && entry.is_utf8) {
            dirs.push(entry);
            continue;
        }
        let own = OWN_FILES.contains(&entry.name.strip_suffix(".tmp").unwrap_or(&entry.name));
        if !is_dir && own {
            usage.own.add(of_file(&entry));
            continue;
        }
        let size = if is_dir && entry.is_utf8 {
            let tree = tree_usage(&path.join(&entry.name));
            Usage {
                files: tree.files,
                len: tree.len,
                allocated: tree.allocated,
            }
        } else {
            of_file(&entry)
        };
        usage.foreign.push(ForeignEntry {
            name: entry.name,
            usage: size,
            stops_boot: is_dir,
        });
    }
    (usage, dirs)
}

fn of_file(entry: &Listed) -> Usage {
    Usage {
        files: 1,
        len: entry.stat.len,
        allocated: entry.stat.allocated,
    }
}

/// Looks at one dir of a log dir.
fn look_at_log(
    storage: &dyn Storage,
    log_dir: &Path,
    (entry, device): (&Listed, u64),
    (cleaned, is_wanted): (
        Option<&BTreeSet<TopicPartition>>,
        &(dyn Fn() -> bool + Sync),
    ),
    now: Timestamp,
) -> LogUsage {
    let kind = UsageKind::of_dir(&DirName::parse(&entry.name));
    let path = log_dir.join(&entry.name);
    let mut log = LogUsage {
        name: entry.name.clone(),
        kind,
        usage: crate::log::UsageByKind::default(),
        segments: 0,
        data: Usage::default(),
        indexes: Usage::default(),
        holes: 0,
        written_at: None,
        written: Written::default(),
        elsewhere: entry.stat.device != device,
        error: None,
        gaps: GapSearch::default(),
    };
    log.usage.add(
        kind,
        Usage {
            allocated: entry.stat.allocated,
            ..Usage::default()
        },
    );
    match storage.list(&path) {
        Ok(files) => {
            let partition = DirName::parse(&entry.name);
            let was_compacted = |cleaned: &BTreeSet<TopicPartition>| {
                let partition = partition.partition();
                partition.is_none_or(|partition| cleaned.contains(partition))
            };
            if kind == UsageKind::Topics && cleaned.is_some_and(|cleaned| !was_compacted(cleaned)) {
                log.gaps = offset_gaps(storage, &path, &files, is_wanted);
            }
            add_files(&mut log, &path, files, now);
        }
        // A live broker removes dirs while they are listed.
        Err(error) if error.is_not_found() => {}
        Err(error) => log.error = Some(DiskError::sentence(&error)),
    }
    log
}

fn add_files(log: &mut LogUsage, path: &Path, files: Vec<Listed>, now: Timestamp) {
    let mut segments: Vec<SegmentTimes> = Vec::new();
    let mut indexes: Vec<(i64, Usage)> = Vec::new();
    let mut created = None;
    for file in files {
        if file.stat.kind == EntryKind::Dir && file.is_utf8 {
            // No broker makes one; whatever it holds is not Kafka's.
            let tree = tree_usage(&path.join(&file.name));
            let usage = Usage {
                files: tree.files,
                len: tree.len,
                allocated: tree.allocated,
            };
            log.usage.add(UsageKind::Foreign, usage);
            continue;
        }
        let parsed = PartitionFile::parse(&file.name);
        let usage = of_file(&file);
        let written_at = Timestamp(file.stat.mtime_ns.div_euclid(1_000_000));
        match parsed {
            PartitionFile::Segment {
                offset,
                kind: FileKind::Log,
            } => {
                log.segments += 1;
                log.data.add(usage);
                // A block may be partly used, so only whole ones can be missing.
                let holes = file.stat.len.saturating_sub(file.stat.allocated);
                log.holes = log.holes.saturating_add(holes);
                log.written_at = log.written_at.max(Some(written_at));
                segments.push(SegmentTimes {
                    base_offset: offset.0,
                    bytes: usage.len.saturating_sub(holes),
                    written_at,
                });
            }
            PartitionFile::Segment { offset, kind } if kind.is_index() => {
                log.indexes.add(usage);
                indexes.push((offset.0, usage));
                continue;
            }
            PartitionFile::PartitionMetadata => created = Some(written_at),
            _ => {}
        }
        log.usage.add(log.kind.of_file(&parsed), usage);
    }
    log.written = Written::of(&mut segments, created, now);
    for (base, usage) in indexes {
        let has_log = segments
            .binary_search_by_key(&base, |segment| segment.base_offset)
            .is_ok();
        let is_whole_dirs = log.kind.is_leftover();
        let kind = if has_log || is_whole_dirs || log.kind == UsageKind::IndexCache {
            log.kind
        } else {
            UsageKind::OrphanIndexes
        };
        log.usage.add(kind, usage);
    }
}

/// Lists the files of one dir of a log dir, as [`survey`] counts them.
///
/// # Errors
///
/// Says why they cannot be listed.
pub fn log_files(
    storage: &dyn Storage,
    log_dir: &Path,
    name: &str,
) -> Result<Vec<FileUsage>, String> {
    let kind = UsageKind::of_dir(&DirName::parse(name));
    let files = storage
        .list(&log_dir.join(name))
        .map_err(|error| error.sentence())?;
    let parsed: Vec<(Listed, PartitionFile)> = files
        .into_iter()
        .map(|file| {
            let parsed = PartitionFile::parse(&file.name);
            (file, parsed)
        })
        .collect();
    let bases: BTreeSet<i64> = parsed
        .iter()
        .filter_map(|(_, file)| match file {
            PartitionFile::Segment {
                offset,
                kind: FileKind::Log,
            } => Some(offset.0),
            _ => None,
        })
        .collect();
    let of = |(file, parsed): (Listed, PartitionFile)| {
        let base_offset = match &parsed {
            PartitionFile::Segment { offset, .. } => Some(offset.0),
            _ => None,
        };
        let is_orphan = match &parsed {
            PartitionFile::Segment { offset, kind } => {
                kind.is_index() && !bases.contains(&offset.0)
            }
            _ => false,
        };
        let is_log = parsed.is_log();
        let in_kind = if is_orphan && !kind.is_leftover() && kind != UsageKind::IndexCache {
            UsageKind::OrphanIndexes
        } else {
            kind.of_file(&parsed)
        };
        FileUsage {
            kind: in_kind,
            base_offset: base_offset.filter(|_| !is_orphan),
            is_log,
            usage: of_file(&file),
            written_at: Timestamp(file.stat.mtime_ns.div_euclid(1_000_000)),
            name: file.name,
        }
    };
    Ok(parsed.into_iter().map(of).collect())
}
