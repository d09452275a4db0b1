//! All logs of the log dirs, read for retention, volume by volume.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::log_facts::{Gaps, LogContext, LogFiles, log_facts};
use crate::disk::{Pace, Storage};
use crate::engine::job::volumes::Volumes;
use crate::engine::planning::gather::same_dirs;
use crate::engine::read::dir_facts::DirFacts;
use crate::engine::{Beside, EngineError};
use crate::format::file_name::{CLEANER_CHECKPOINT, DirName};
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::StopState;
use crate::plan::retention::{CheckpointTimes, LogFacts, LogRole};
use crate::terms::{Offset, Timestamp, TopicPartition};

/// Says something of a partition.
pub type AskPartition = Arc<dyn Fn(&TopicPartition) -> bool + Send + Sync>;

/// What is read for retention.
#[derive(Clone)]
pub struct RetentionSpec {
    /// The log dirs, all of `log.dirs`.
    pub log_dirs: Vec<PathBuf>,
    /// The partitions asked for; `None` for all.
    pub selection: Option<BTreeSet<TopicPartition>>,
    /// Who else may be using the dirs.
    pub beside: Beside,
    /// Says whether this broker alone is in sync with a partition, and that is enough for its high watermark to be the log's
    /// end.
    pub is_sole_in_sync: AskPartition,
    /// Says whether a partition's open transactions matter: it is compacted.
    pub is_compacted: AskPartition,
    /// Workers in all; `None` for min(cores, 16).
    pub threads: Option<NonZeroUsize>,
}

impl fmt::Debug for RetentionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetentionSpec")
            .field("log_dirs", &self.log_dirs)
            .field("selection", &self.selection)
            .field("beside", &self.beside)
            .finish_non_exhaustive()
    }
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RetentionReading {
    /// The logs that retention visits, sorted by dir and name.
    pub logs: Vec<LogFacts>,
    /// What was seen beside them, by log dir.
    pub findings: Vec<(PathBuf, Finding)>,
    /// The newest modification time of the dirs' own files and of the logs: when a broker last wrote here.
    pub newest_write: Option<Timestamp>,
    /// When a broker last wrote each dir's checkpoints.
    pub checkpoints: BTreeMap<PathBuf, CheckpointTimes>,
}

/// One partition dir to read.
struct Target {
    dir_index: usize,
    log_dir: PathBuf,
    dir_name: String,
    context: LogContext,
}

/// Reads the logs; changes nothing and needs no lock. A log dir that cannot be listed is a finding.
///
/// # Errors
///
/// Only if `is_wanted` says that nobody wants the result any more.
pub fn read_retention(
    storage: &dyn Storage,
    spec: &RetentionSpec,
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Result<RetentionReading, EngineError> {
    let mut reading = RetentionReading::default();
    let same = same_dirs(&spec.log_dirs);
    let mut dirs = Vec::new();
    for (index, path) in spec.log_dirs.iter().enumerate() {
        if same.contains_key(&index) {
            continue;
        }
        match DirFacts::read(storage, path) {
            Ok(facts) => dirs.push(facts),
            Err(error) => {
                let finding = Finding::new(FindingCode::LogDir, Severity::Fatal, error.sentence());
                reading.findings.push((path.clone(), finding));
            }
        }
    }
    let volumes = Volumes::of(dirs.iter().map(|facts| facts.volume.as_ref()));
    let mut targets = Vec::new();
    for (index, facts) in dirs.iter().enumerate() {
        targets.extend(targets_of(spec, index, facts));
        let findings = facts.findings.iter().cloned();
        reading
            .findings
            .extend(findings.map(|finding| (facts.path.clone(), finding)));
        let written = |name: &str| {
            let stamp = facts.stamps.iter().find(|stamp| stamp.name == name);
            stamp.map(|stamp| of_ns(stamp.mtime_ns))
        };
        let times = CheckpointTimes {
            high_watermarks: written("replication-offset-checkpoint"),
            log_starts: written("log-start-offset-checkpoint"),
        };
        reading.checkpoints.insert(facts.path.clone(), times);
        let newest = facts.stamps.iter().map(|stamp| stamp.mtime_ns).max();
        reading.newest_write = reading.newest_write.max(newest.map(of_ns));
    }
    let is_live = spec.beside != Beside::Nobody;
    let pace = match spec.beside {
        Beside::Nobody => Pace::unlimited(),
        Beside::LiveBroker { bytes_per_second } => Pace::limited(bytes_per_second),
    };
    let files = LogFiles {
        storage,
        pace: &pace,
        is_live,
        is_wanted,
    };
    let done = Mutex::new(Vec::with_capacity(targets.len()));
    let numbers: Vec<usize> = targets.iter().map(|target| target.dir_index).collect();
    let read = |number: usize| -> Result<(), EngineError> {
        if !is_wanted() {
            return Err(EngineError::Cancelled);
        }
        let Some(target) = targets.get(number) else {
            return Ok(());
        };
        let path = target.log_dir.join(&target.dir_name);
        let result = match storage.list(&path) {
            Ok(listed) => {
                let newest = listed.iter().map(|entry| entry.stat.mtime_ns).max();
                let at = (target.log_dir.as_path(), target.dir_name.as_str());
                let log = log_facts(&files, at, &listed, target.context.clone());
                Ok((log, newest.map(of_ns)))
            }
            Err(error) => Err((error.is_not_found(), error.sentence())),
        };
        done.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((number, result));
        Ok(())
    };
    volumes.for_each_log(spec.threads.map(NonZeroUsize::get), &numbers, read)?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    for (number, result) in done {
        match result {
            Ok((log, newest)) => {
                reading.newest_write = reading.newest_write.max(newest);
                reading.logs.push(log);
            }
            // A living broker deletes and moves logs.
            Err((true, _)) if is_live => {}
            Err((_, text)) => {
                if let Some(target) = targets.get(number) {
                    let finding = Finding::new(FindingCode::Unreadable, Severity::Fatal, text)
                        .file(&target.dir_name);
                    reading.findings.push((target.log_dir.clone(), finding));
                }
            }
        }
    }
    Ok(reading)
}

/// Returns the partition dirs that the log manager visits: current and future logs, not those on their way out.
fn targets_of<'a>(
    spec: &'a RetentionSpec,
    dir_index: usize,
    facts: &'a DirFacts,
) -> impl Iterator<Item = Target> + 'a {
    facts.listing.sub_dirs().filter_map(move |sub_dir| {
        let (partition, role) = match &sub_dir.parsed {
            DirName::Normal(partition) => (partition, LogRole::Current),
            DirName::Future(partition) => (partition, LogRole::Future),
            _ => return None,
        };
        let selected = spec
            .selection
            .as_ref()
            .is_none_or(|selection| selection.contains(partition));
        if !selected || sub_dir.parsed.is_cluster_metadata() || !sub_dir.is_utf8 {
            return None;
        }
        Some(Target {
            dir_index,
            log_dir: facts.path.clone(),
            dir_name: sub_dir.name.clone(),
            context: context_of(spec, facts, partition, role),
        })
    })
}

/// Returns what a dir's own files and the metadata say of a log.
fn context_of(
    spec: &RetentionSpec,
    facts: &DirFacts,
    partition: &TopicPartition,
    role: LogRole,
) -> LogContext {
    let point = facts.recovery_points.get(partition).unwrap_or(Offset::ZERO);
    let mut stamps = facts.stamps.iter();
    let cleaner_stamp = stamps.find(|stamp| stamp.name == CLEANER_CHECKPOINT);
    let is_compacted = (spec.is_compacted)(partition);
    let cleaner_offset = facts.cleaner_offsets.get(partition);
    let gaps = match spec.beside {
        _ if is_compacted || cleaner_offset.is_some() => Gaps::Unread,
        // Looking at all logs of a living broker reads no batch of a closed segment.
        Beside::LiveBroker { .. } if spec.selection.is_none() => Gaps::Unread,
        _ if spec.selection.is_some() => Gaps::All,
        _ => Gaps::Suspects,
    };
    LogContext {
        topic_partition: partition.clone(),
        role,
        log_start_offset: facts.log_starts.get(partition),
        high_watermark: facts.high_watermarks.get(partition),
        cleaner_offset,
        cleaner_written_at: cleaner_stamp.map(|stamp| of_ns(stamp.mtime_ns)),
        recovered_from: (facts.stop == StopState::Unclean).then_some(point),
        is_sole_in_sync: (spec.is_sole_in_sync)(partition),
        reads_producers: is_compacted,
        gaps,
    }
}

fn of_ns(mtime_ns: i64) -> Timestamp {
    Timestamp(mtime_ns.div_euclid(1_000_000))
}
