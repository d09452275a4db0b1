//! Gathers what the rules of a preflight look at in the log dirs: names, sizes, owners, small files; no batch, unless a
//! leader-epoch checkpoint cannot be used or a segment spans too many offsets for its bytes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::dir_facts::read_whole;
use crate::disk::{
    EntryKind, FileStat, Listed, LockState, ReadAt, Storage, Volume, VolumeSpace, look_at_lock,
};
use crate::engine::segments::offset_gaps;
use crate::format::file_name::{
    CLEANER_CHECKPOINT, DirName, HIGH_WATERMARK_CHECKPOINT, LEADER_EPOCH_CHECKPOINT, LOCK,
    LOG_START_CHECKPOINT, META_PROPERTIES, PARTITION_METADATA, QUORUM_STATE,
    RECOVERY_POINT_CHECKPOINT, segment_file_name,
};
use crate::format::leader_epoch_checkpoint::EpochEntry;
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::log::{EpochStart, GapSearch, LeaderEpochs};
use crate::plan::preflight::{
    Access, CheckpointFacts, DirState, EntryFacts, LockFacts, LogDirFacts, PartitionFacts,
    SmallFile, VolumeFacts, VolumeKept, needs_log_epochs,
};
use crate::terms::{LeaderEpoch, Offset, TopicPartition};

/// The largest checkpoint of a log dir that is read.
const MAX_CHECKPOINT: u64 = 100_000_000;
/// The largest other file that is read whole.
const MAX_SMALL: u64 = 4 << 20;
/// How much of a segment is read at once when its headers are walked.
const WINDOW: usize = 256 << 10;
/// A batch's header up to its magic.
const HEADER: usize = 17;

const CHECKPOINTS: [&str; 4] = [
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    CLEANER_CHECKPOINT,
];

/// How far the reading of [`read_boot_dirs`] is, for who waits for it; it can be stopped through this.
#[derive(Debug, Default)]
pub struct BootDirsRead {
    logs_done: AtomicU64,
    logs: AtomicU64,
    stopped: AtomicBool,
}

impl BootDirsRead {
    /// Returns logs that were looked at, and those that are known of.
    pub fn logs(&self) -> (u64, u64) {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        (of(&self.logs_done), of(&self.logs))
    }

    /// Ends the reading; what it returns is of no use then.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Says whether it was ended.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Reads the facts of all log dirs, side by side, and of the metadata dir if that is another one. Nothing is changed and
/// nothing is locked; what cannot be read is told in the facts. `read` says how far it is.
pub fn read_boot_dirs(
    storage: &dyn Storage,
    log_dirs: &[PathBuf],
    metadata_dir: Option<&Path>,
    read: &BootDirsRead,
) -> Vec<LogDirFacts> {
    let mut dirs: Vec<(PathBuf, bool)> = log_dirs.iter().map(|dir| (dir.clone(), true)).collect();
    if let Some(dir) = metadata_dir.filter(|dir| !log_dirs.iter().any(|of| of == dir)) {
        dirs.push((dir.to_owned(), false));
    }
    std::thread::scope(|scope| {
        let readers: Vec<_> = dirs
            .iter()
            .map(|(path, has_logs)| scope.spawn(move || read_dir(storage, path, *has_logs, read)))
            .collect();
        let readers = readers.into_iter().zip(&dirs);
        readers
            .map(|(reader, (path, has_logs))| {
                reader.join().unwrap_or_else(|_| {
                    let why = "it could not be read".to_owned();
                    empty(path, *has_logs, DirState::Unreadable(why))
                })
            })
            .collect()
    })
}

fn empty(path: &Path, has_logs: bool, state: DirState) -> LogDirFacts {
    LogDirFacts {
        path: path.to_owned(),
        has_logs,
        state,
        access: Access::default(),
        volume: None,
        entries: Vec::new(),
        meta: SmallFile::Missing,
        checkpoints: Vec::new(),
        lock: LockFacts::Unknown,
        partitions: Vec::new(),
        quorum_state: SmallFile::Missing,
    }
}

fn read_dir(
    storage: &dyn Storage,
    path: &Path,
    has_logs: bool,
    read: &BootDirsRead,
) -> LogDirFacts {
    let stat = match storage.stat(path) {
        Ok(stat) if stat.kind == EntryKind::Dir => stat,
        Ok(_) => return empty(path, has_logs, DirState::NotADir),
        Err(error) if error.is_not_found() => return empty(path, has_logs, DirState::Missing),
        Err(error) => return empty(path, has_logs, DirState::Unreadable(error.sentence())),
    };
    let listed = match storage.list(path) {
        Ok(listed) => listed,
        Err(error) => return empty(path, has_logs, DirState::Unreadable(error.sentence())),
    };
    let mut facts = empty(path, has_logs, DirState::Listed);
    facts.access = access(&stat);
    facts.volume = volume(path);
    facts.meta = small(storage, &path.join(META_PROPERTIES), MAX_SMALL);
    facts.checkpoints = CHECKPOINTS
        .into_iter()
        .map(|name| CheckpointFacts {
            name,
            file: small(storage, &path.join(name), MAX_CHECKPOINT),
            tmp: small(storage, &path.join(format!("{name}.tmp")), MAX_CHECKPOINT),
        })
        .collect();
    let points = checkpointed(&facts, RECOVERY_POINT_CHECKPOINT).unwrap_or_default();
    let cleaned = checkpointed(&facts, CLEANER_CHECKPOINT);
    facts.lock = match (
        look_at_lock(path),
        listed.iter().any(|entry| entry.name == LOCK),
    ) {
        (Ok(LockState::Held { pid }), _) => LockFacts::Held(pid),
        (Ok(LockState::Free), true) => LockFacts::Free,
        (Ok(LockState::Free), false) => LockFacts::Absent,
        (Err(_), _) => LockFacts::Unknown,
    };
    let is_log = |entry: &Listed, parsed: &DirName| {
        let is_other = matches!(parsed, DirName::Invalid | DirName::RemoteLogIndexCache);
        entry.stat.kind == EntryKind::Dir && !is_other
    };
    let logs = listed.iter();
    let logs = logs.filter(|entry| is_log(entry, &DirName::parse(&entry.name)));
    read.logs.fetch_add(logs.count() as u64, Ordering::Relaxed);
    for entry in listed {
        if read.is_stopped() {
            break;
        }
        let parsed = DirName::parse(&entry.name);
        let is_dir = entry.stat.kind == EntryKind::Dir;
        let mut facts_of_it = entry_facts(&entry);
        if is_log(&entry, &parsed) {
            let point = parsed
                .partition()
                .and_then(|partition| points.get(partition));
            let point = point.copied().unwrap_or(Offset::ZERO);
            // What was compacted has holes by nature; what a broker writes to is not read.
            let is_still = matches!(facts.lock, LockFacts::Free | LockFacts::Absent);
            let may_have_gaps = match (&parsed, &cleaned) {
                (DirName::Normal(partition), Some(cleaned)) if is_still => {
                    !cleaned.contains_key(partition) && !partition.topic.starts_with("__")
                }
                _ => false,
            };
            let how = (parsed, point, may_have_gaps);
            facts
                .partitions
                .push(read_partition(storage, path, &entry, how, read));
            read.logs_done.fetch_add(1, Ordering::Relaxed);
        } else if is_dir && parsed == DirName::Invalid {
            let names = storage.list(&path.join(&entry.name));
            facts_of_it.children = names.ok().map(|names| names.len() as u64);
        }
        facts.entries.push(facts_of_it);
    }
    if let Some(log) = facts.partitions.iter().find(|log| log.is_metadata_log()) {
        facts.quorum_state = small(
            storage,
            &path.join(&log.dir_name).join(QUORUM_STATE),
            MAX_SMALL,
        );
    }
    facts
}

/// Returns the entries of a checkpoint, none of one that is not there; `None` of one that a boot cannot read.
fn checkpointed(facts: &LogDirFacts, name: &str) -> Option<HashMap<TopicPartition, Offset>> {
    let mut checkpoints = facts.checkpoints.iter();
    let found = checkpoints.find(|checkpoint| checkpoint.name == name);
    match &found?.file {
        SmallFile::Missing => Some(HashMap::new()),
        SmallFile::Bytes(bytes) => {
            let parsed = OffsetCheckpoint::parse(bytes).ok()?;
            Some(parsed.entries.into_iter().collect())
        }
        SmallFile::Unreadable(_) => None,
    }
}

fn read_partition(
    storage: &dyn Storage,
    log_dir: &Path,
    entry: &Listed,
    (parsed, recovery_point, may_have_gaps): (DirName, Offset, bool),
    read: &BootDirsRead,
) -> PartitionFacts {
    let path = log_dir.join(&entry.name);
    let mut facts = PartitionFacts {
        dir_name: entry.name.clone(),
        parsed,
        access: access(&entry.stat),
        unreadable: None,
        entries: Vec::new(),
        metadata: SmallFile::Missing,
        epochs: SmallFile::Missing,
        epochs_in_log: None,
        recovery_point,
        gaps: GapSearch::default(),
    };
    match storage.list(&path) {
        Ok(listed) => {
            facts.entries = listed.iter().map(entry_facts).collect();
            if may_have_gaps {
                facts.gaps = offset_gaps(storage, &path, &listed, &|| !read.is_stopped());
            }
        }
        Err(error) => {
            facts.unreadable = Some(error.sentence());
            return facts;
        }
    }
    let read = |name: &str| {
        let found = facts
            .entries
            .binary_search_by(|entry| entry.name.as_str().cmp(name));
        match found {
            Ok(_) => small(storage, &path.join(name), MAX_SMALL),
            Err(_) => SmallFile::Missing,
        }
    };
    (facts.metadata, facts.epochs) = (read(PARTITION_METADATA), read(LEADER_EPOCH_CHECKPOINT));
    if needs_log_epochs(&facts.epochs) {
        facts.epochs_in_log = epochs_in_log(storage, &path, &facts);
    }
    facts
}

fn access(stat: &FileStat) -> Access {
    Access {
        uid: stat.uid,
        gid: stat.gid,
        mode: stat.mode & 0o7777,
    }
}

fn entry_facts(entry: &Listed) -> EntryFacts {
    EntryFacts {
        name: entry.name.clone(),
        kind: match entry.stat.kind {
            EntryKind::File => crate::plan::EntryKind::File,
            EntryKind::Dir => crate::plan::EntryKind::Dir,
            EntryKind::Other => crate::plan::EntryKind::Other,
        },
        access: access(&entry.stat),
        len: entry.stat.len,
        mtime_ns: entry.stat.mtime_ns,
        inode: entry.stat.inode,
        children: None,
    }
}

fn volume(path: &Path) -> Option<VolumeFacts> {
    let volume = Volume::of(path).ok()?;
    let space = VolumeSpace::of(path).ok()?;
    Some(VolumeFacts {
        device: volume.device,
        kept: if volume.is_network() {
            VolumeKept::Elsewhere
        } else if volume.is_memory() {
            VolumeKept::Memory
        } else {
            VolumeKept::Disk
        },
        mount_point: volume.mount_point,
        fs_type: volume.fs_type,
        options: volume.options,
        read_only: volume.read_only,
        available: space.free_user,
        free: space.free_root,
        block: space.block,
        free_inodes: space.free_inodes,
    })
}

/// Reads a small file whole.
fn small(storage: &dyn Storage, path: &Path, limit: u64) -> SmallFile {
    match read_whole(storage, path, limit) {
        Ok(bytes) => SmallFile::Bytes(bytes),
        Err(error) if error.is_not_found() => SmallFile::Missing,
        Err(error) => SmallFile::Unreadable(error.sentence()),
    }
}

/// Returns the leader epochs that the headers of all batches tell, up to the first place that is none; `None` if a file
/// cannot be read.
fn epochs_in_log(
    storage: &dyn Storage,
    dir: &Path,
    facts: &PartitionFacts,
) -> Option<Vec<EpochEntry>> {
    let mut epochs = LeaderEpochs::default();
    for segment in facts.segments() {
        let name = segment_file_name(segment.base_offset, crate::format::file_name::FileKind::Log);
        let file = storage.open(&dir.join(name)).ok()?;
        if !walk(file.as_ref(), segment.bytes, &mut epochs)? {
            break;
        }
    }
    Some(epochs.entries().iter().copied().map(Into::into).collect())
}

/// Walks the headers of one segment; says whether they reach its end.
fn walk(file: &dyn ReadAt, len: u64, epochs: &mut LeaderEpochs) -> Option<bool> {
    let mut window = vec![0_u8; WINDOW];
    let mut position = 0_u64;
    while position < len {
        let read = file.fill(&mut window, position).ok()?;
        let mut at = 0_usize;
        while let Some(header) = window.get(..read)?.get(at..).and_then(<[u8]>::first_chunk) {
            let header: &[u8; HEADER] = header;
            let Some((entry, total)) = parse_header(header) else {
                return Some(false);
            };
            let next = position + at as u64 + total;
            if next > len {
                return Some(false);
            }
            if let Some(entry) = entry {
                epochs.on_recovered_batch(entry);
            }
            at = at.saturating_add(usize::try_from(total).ok()?);
        }
        if at == 0 {
            return Some(false);
        }
        position += at as u64;
    }
    Some(true)
}

/// Returns where a batch's epoch begins, if its format has one, and its length with the header.
fn parse_header(header: &[u8; HEADER]) -> Option<(Option<EpochStart>, u64)> {
    let base_offset = i64::from_be_bytes(*header.first_chunk()?);
    let length = i32::from_be_bytes(*header.get(8..)?.first_chunk()?);
    let epoch = i32::from_be_bytes(*header.get(12..)?.first_chunk()?);
    let magic = i8::from_be_bytes(*header.get(16..)?.first_chunk()?);
    let total = u64::try_from(length).ok().filter(|length| *length >= 14)? + 12;
    let entry = (magic >= 2).then_some(EpochStart {
        epoch: LeaderEpoch(epoch),
        start_offset: Offset(base_offset),
    });
    Some((entry, total))
}
