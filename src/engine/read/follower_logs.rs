//! What the logs of a broker that does not serve will tell their leaders: ends, epochs, high watermarks. Few bytes of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use super::dir_facts::{DirFacts, read_whole};
use crate::disk::{DiskError, EntryKind, Pace, ReadManner, Storage, WindowBuffer};
use crate::engine::mirror_facts::log_end;
use crate::engine::planning::gather::same_dirs;
use crate::format::file_name::{DirName, FileKind, LEADER_EPOCH_CHECKPOINT, PartitionFile};
use crate::format::leader_epoch_checkpoint;
use crate::log::LeaderEpochs;
use crate::plan::{FollowerLog, StopState};
use crate::terms::{Offset, TopicPartition};

/// The largest epoch file that is read: 30 bytes an entry, for half a million of them.
const MAX_EPOCHS: u64 = 16 << 20;

/// A log as its files say, before a boot has read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldLog {
    /// Its log dir.
    pub log_dir: PathBuf,
    /// What it will tell its leader.
    pub log: FollowerLog,
    /// Whether a boot reads it again first, and may find an earlier end.
    pub is_recovered: bool,
}

/// Reads the current logs of the log dirs; what cannot be read is left out, and nothing is changed.
pub fn read_follower_logs(
    storage: &dyn Storage,
    log_dirs: &[PathBuf],
) -> BTreeMap<TopicPartition, HeldLog> {
    let same = same_dirs(log_dirs);
    let mut found = BTreeMap::new();
    let (pace, counter) = (Pace::unlimited(), AtomicU64::new(0));
    let manner = ReadManner {
        pace: &pace,
        keeps_cache: true,
        counter: &counter,
    };
    let mut buffer = WindowBuffer::default();
    for (index, path) in log_dirs.iter().enumerate() {
        if same.contains_key(&index) {
            continue;
        }
        let Ok(facts) = DirFacts::read(storage, path) else {
            continue;
        };
        for sub_dir in facts.listing.sub_dirs() {
            let DirName::Normal(partition) = &sub_dir.parsed else {
                continue;
            };
            if sub_dir.parsed.is_cluster_metadata() || !sub_dir.is_utf8 {
                continue;
            }
            let dir = path.join(&sub_dir.name);
            let context = (
                facts.log_starts.get(partition),
                facts.high_watermarks.get(partition),
            );
            if let Ok(Some(log)) = read_log(storage, &dir, context, manner, &mut buffer) {
                let held = HeldLog {
                    log_dir: path.clone(),
                    log,
                    is_recovered: facts.stop == StopState::Unclean,
                };
                found.insert(partition.clone(), held);
            }
        }
    }
    found
}

/// Reads one log; `None` if its epochs cannot be told.
fn read_log(
    storage: &dyn Storage,
    dir: &Path,
    (log_start, high_watermark): (Option<Offset>, Option<Offset>),
    manner: ReadManner<'_>,
    buffer: &mut WindowBuffer,
) -> Result<Option<FollowerLog>, DiskError> {
    let listed = storage.list(dir)?;
    let bases = listed.iter().filter_map(|entry| {
        let is_file = entry.stat.kind == EntryKind::File && entry.is_utf8;
        match PartitionFile::parse(&entry.name) {
            PartitionFile::Segment {
                offset,
                kind: FileKind::Log,
            } if is_file => Some((offset, entry.name.as_str())),
            _ => None,
        }
    });
    let bases: BTreeMap<Offset, &str> = bases.collect();
    let first = bases.keys().next().copied().unwrap_or(Offset::ZERO);
    let log_start = log_start.unwrap_or(first).max(first);
    let log_end = match bases.last_key_value() {
        Some((base, name)) => log_end(storage, (dir, *base, name), manner, buffer)?.log_end_offset,
        None => log_start,
    };
    let path = dir.join(LEADER_EPOCH_CHECKPOINT);
    let bytes = match read_whole(storage, &path, MAX_EPOCHS) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => return Err(error),
    };
    let Ok(entries) = leader_epoch_checkpoint::parse(&bytes) else {
        return Ok(None);
    };
    let mut epochs = LeaderEpochs::new(entries);
    // As a boot leaves them.
    let log_end = log_end.max(log_start);
    epochs.truncate_from_end(log_end);
    epochs.truncate_from_start(log_start);
    Ok(Some(FollowerLog {
        log_start,
        log_end,
        epochs,
        high_watermark: high_watermark.map(|at| at.min(log_end).max(log_start)),
    }))
}
