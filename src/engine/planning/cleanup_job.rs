//! Plans what goes to free space: finds the leftovers, lets [`plan_cleanup`] choose, and turns its choice into steps.
//!
//! Nothing that frees space needs space on its volume first: steps remove files, and a log's leader epochs are written only
//! behind them. The log-start checkpoint is written behind the last step; a log starts at its first segment without it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cleanup_log::{CleanupLog, forget_epochs, is_plain};
use crate::disk::{Listed, Storage, SubDir};
use crate::engine::read::dir_facts::{DirFacts, read_whole};
use crate::engine::store::plan_store::MadePlan;
use crate::engine::{EngineError, Replicas};
use crate::format::file_name::{DirName, PARTITION_METADATA, PartitionFile};
use crate::format::partition_metadata::PartitionMetadata;
use crate::log::UsageKind;
use crate::plan::cleanup::{
    CleanupPlan, CleanupWish, FreeableLog, GroupCommits, Leftover, LeftoverProof, PartitionBytes,
    plan_cleanup,
};
use crate::plan::{
    CheckpointEntry, HandOver, LogDirPlan, PartitionPlan, PlanAct, RecoveryPlan, Verdict,
};
use crate::terms::{KafkaVersion, Offset, Timestamp, TopicPartition, Uuid};

/// Says whether a stray or future dir is proved to be one; with its partition's topic id, as far as it is known.
pub type AskProof = Arc<dyn Fn(&Path, &DirName, Option<Uuid>) -> LeftoverProof + Send + Sync>;

/// Returns what consumer groups have committed; asked once, where segments go.
pub type AskGroups = Arc<dyn Fn() -> GroupCommits + Send + Sync>;

/// What a cleanup is asked for.
#[derive(Clone)]
pub struct CleanupSpec {
    /// The log dirs that the plan is for, all of `log.dirs` unless a living broker has the others.
    pub log_dirs: Vec<PathBuf>,
    /// Those in which something may go: all that lie on the volume that is to become free.
    pub on: Vec<PathBuf>,
    /// What is asked for.
    pub wish: CleanupWish,
    /// Leftovers that may go, by log dir, dir and kind; all of them where `None`.
    pub only: Option<BTreeSet<(PathBuf, String, UsageKind)>>,
    /// Logs from whose start segments may go.
    pub logs: Vec<FreeableLog>,
    /// The release that will boot.
    pub kafka_version: KafkaVersion,
    /// Where that is from.
    pub version_source: String,
    /// The clock that retention was judged with.
    pub now: Timestamp,
    /// Where what goes is kept; `None` for nowhere.
    pub quarantine: Option<PathBuf>,
    /// Whether a broker serves other log dirs meanwhile.
    pub beside_broker: bool,
    /// Who else has a partition.
    pub replicas: Replicas,
    /// Whether a stray or future dir is one.
    pub proof: AskProof,
    /// What consumer groups have committed.
    pub groups: AskGroups,
}

impl fmt::Debug for CleanupSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CleanupSpec")
            .field("log_dirs", &self.log_dirs)
            .field("on", &self.on)
            .field("wish", &self.wish)
            .finish_non_exhaustive()
    }
}

/// A plan, and what was left out of it.
#[derive(Debug)]
pub struct MadeCleanup {
    /// The plan.
    pub made: MadePlan,
    /// What was chosen, from what costs nothing on.
    pub chosen: CleanupPlan,
    /// Leftovers, by the numbers of the choice.
    pub leftovers: Vec<Leftover>,
    /// Logs from whose start segments could go, by the numbers of the choice.
    pub logs: Vec<FreeableLog>,
    /// What the next boot needs, by sizes alone.
    pub boot: BootNeeds,
    /// What consumer groups have committed; not asked for where no segment is chosen.
    pub groups: GroupCommits,
    /// The partitions on the volume that is to become free.
    pub partitions: Vec<PartitionBytes>,
}

/// What a boot of the log dirs needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BootNeeds {
    /// Bytes free on their volumes: two snapshots and a checkpoint a log, and the indexes of what it reads.
    pub free: u64,
    /// Bytes that it reads again.
    pub reads: u64,
}

/// Plans a cleanup; nothing is changed.
///
/// # Errors
///
/// A log dir that cannot be listed.
pub fn make_cleanup(storage: &dyn Storage, spec: &CleanupSpec) -> Result<MadeCleanup, EngineError> {
    let mut dirs = Vec::new();
    for path in &spec.log_dirs {
        dirs.push(CleanupDir::read(storage, path)?);
    }
    let leftovers: Vec<Leftover> = dirs
        .iter()
        .filter(|dir| spec.on.contains(&dir.facts.path))
        .flat_map(|dir| dir.leftovers(storage, spec))
        .filter(|of| {
            let key = (of.log_dir.clone(), of.dir_name.clone(), of.kind);
            spec.only.as_ref().is_none_or(|only| only.contains(&key))
        })
        .collect();
    let in_the_way: BTreeSet<(PathBuf, String)> = dirs
        .iter()
        .flat_map(|dir| dir.logs.iter().map(move |log| (dir, log)))
        .filter(|(_, log)| log.has_unfinished())
        .map(|(dir, log)| (dir.facts.path.clone(), log.name.clone()))
        .collect();
    let logs: Vec<FreeableLog> = spec
        .logs
        .iter()
        .filter(|log| spec.on.contains(&log.log_dir))
        .filter(|log| !in_the_way.contains(&(log.log_dir.clone(), log.dir_name.clone())))
        .map(|log| with_evidence(spec, log))
        .collect();
    let chosen = plan_cleanup(spec.wish, &leftovers, &logs);
    let boot = dirs.iter().fold(BootNeeds::default(), |sum, dir| {
        let of_dir = dir.boot_needs();
        BootNeeds {
            free: sum.free.saturating_add(of_dir.free),
            reads: sum.reads.saturating_add(of_dir.reads),
        }
    });
    // To read them costs as much as all of __consumer_offsets; leftovers move no log's start.
    let moves_a_start = chosen.segments().values().any(|(count, _)| *count > 0);
    let groups = if moves_a_start {
        (spec.groups)()
    } else {
        GroupCommits::unasked()
    };
    let meant = dirs.iter().filter(|dir| spec.on.contains(&dir.facts.path));
    let partitions = meant.flat_map(CleanupDir::partitions).collect();
    let choice = Choice {
        leftovers: &leftovers,
        logs: &logs,
        chosen: &chosen,
        groups: &groups,
    };
    let log_dirs = dirs
        .into_iter()
        .map(|dir| dir.plan(storage, spec, &choice))
        .collect();
    let plan = RecoveryPlan {
        schema: 1,
        act: PlanAct::CleanUp,
        kafka_version: spec.kafka_version,
        version_source: spec.version_source.clone(),
        now: spec.now,
        hand_over: HandOver::None,
        quarantine: spec.quarantine.clone(),
        undoes: None,
        beside_broker: spec.beside_broker,
        log_dirs,
    };
    let made = MadePlan {
        plan,
        staging: None,
    };
    Ok(MadeCleanup {
        made,
        chosen,
        leftovers,
        logs,
        boot,
        groups,
        partitions,
    })
}

/// What was chosen, and from what.
pub(in crate::engine) struct Choice<'a> {
    pub(in crate::engine) leftovers: &'a [Leftover],
    pub(in crate::engine) logs: &'a [FreeableLog],
    pub(in crate::engine) chosen: &'a CleanupPlan,
    pub(in crate::engine) groups: &'a GroupCommits,
}

/// A log dir and its dirs' files.
struct CleanupDir {
    facts: DirFacts,
    logs: Vec<CleanupLog>,
}

impl CleanupDir {
    fn read(storage: &dyn Storage, path: &Path) -> Result<Self, EngineError> {
        let facts = DirFacts::read(storage, path)?;
        let read = |sub_dir: SubDir| {
            let listed = if sub_dir.is_utf8 {
                storage.list(&path.join(&sub_dir.name))
            } else {
                Ok(Vec::new())
            };
            let (files, error) = match listed {
                Ok(files) => (files, None),
                Err(error) => (Vec::new(), Some(error.sentence())),
            };
            CleanupLog {
                name: sub_dir.name,
                parsed: sub_dir.parsed,
                files,
                error,
            }
        };
        let logs = facts
            .listing
            .sub_dirs()
            .filter(|sub_dir| sub_dir.parsed != DirName::Invalid)
            .map(read)
            .collect();
        Ok(Self { facts, logs })
    }

    fn partitions(&self) -> impl Iterator<Item = PartitionBytes> {
        self.logs.iter().filter_map(|log| {
            let DirName::Normal(partition) = &log.parsed else {
                return None;
            };
            (!log.parsed.is_cluster_metadata()).then(|| PartitionBytes {
                partition: partition.clone(),
                allocated: log.files.iter().map(|file| file.stat.allocated).sum(),
            })
        })
    }

    fn leftovers(&self, storage: &dyn Storage, spec: &CleanupSpec) -> Vec<Leftover> {
        let path = &self.facts.path;
        let mut found = Vec::new();
        for log in &self.logs {
            let kind = UsageKind::of_dir(&log.parsed);
            let leftover = |kind: UsageKind, files: Vec<&Listed>, proof: LeftoverProof| {
                let is_log = |file: &&&Listed| PartitionFile::parse(&file.name).is_log();
                Leftover {
                    log_dir: path.clone(),
                    dir_name: log.name.clone(),
                    files: files.iter().map(|file| file.name.clone()).collect(),
                    kind,
                    removes_dir: log.kind_goes_whole(),
                    allocated: files.iter().map(|file| file.stat.allocated).sum(),
                    log_bytes: files.iter().filter(is_log).map(|file| file.stat.len).sum(),
                    proof,
                }
            };
            if log.kind_goes_whole() {
                let proof = match kind {
                    _ if log.files.iter().any(|file| !is_plain(file)) => {
                        LeftoverProof::Missing("something in it is no plain file".to_owned())
                    }
                    _ if log.error.is_some() => {
                        LeftoverProof::Missing(log.error.clone().unwrap_or_default())
                    }
                    UsageKind::DeleteDirs | UsageKind::IndexCache => LeftoverProof::Proved,
                    _ => (spec.proof)(path, &log.parsed, topic_id(storage, &path.join(&log.name))),
                };
                found.push(leftover(kind, log.files.iter().collect(), proof));
                continue;
            }
            if kind == UsageKind::Metadata {
                continue;
            }
            for (kind, files) in log.stale_files() {
                found.push(leftover(kind, files, LeftoverProof::Proved));
            }
        }
        found
    }

    /// Adds up what a boot writes and reads here: of an unclean dir the segments from the recovery point on, of a clean one
    /// nothing; each opened index takes a block.
    fn boot_needs(&self) -> BootNeeds {
        const BLOCK: u64 = 4096;
        let mut needs = BootNeeds::default();
        for log in &self.logs {
            if !matches!(log.parsed, DirName::Normal(_) | DirName::Future(_)) {
                continue;
            }
            // Snapshots and a checkpoint; both indexes of the active segment.
            needs.free += 5 * BLOCK;
            for len in log.boot_reads(&self.facts) {
                needs.reads = needs.reads.saturating_add(len);
                // At most 20 bytes of indexes for 4 KiB of batches.
                needs.free = needs
                    .free
                    .saturating_add((len / 200).next_multiple_of(BLOCK));
            }
        }
        needs
    }

    /// Returns the plan of the log dir.
    fn plan(self, storage: &dyn Storage, spec: &CleanupSpec, choice: &Choice<'_>) -> LogDirPlan {
        let path = self.facts.path.clone();
        let mut starts: BTreeMap<TopicPartition, Offset> = BTreeMap::new();
        let mut partitions: Vec<PartitionPlan> = Vec::new();
        for log in &self.logs {
            if log.parsed == DirName::RemoteLogIndexCache && log.chosen(&path, choice).is_empty() {
                continue;
            }
            let mut plan = log.plan(spec, (&path, &self.facts), choice);
            if let (Verdict::Delete(deletion), Some(partition), Some(start)) =
                (&plan.verdict, &plan.topic_partition, plan.log_start_offset)
                && deletion.deleted_segments > 0
            {
                starts.insert(partition.clone(), start);
                forget_epochs(storage, &path, &mut plan);
            }
            partitions.push(plan);
        }
        partitions.sort_by(|a, b| a.dir_name.cmp(&b.dir_name));
        let log_starts = (!starts.is_empty()).then(|| {
            let known = self.facts.log_starts.entries.iter();
            let others = known.filter(|(partition, _)| !starts.contains_key(partition));
            let others = others.map(|(partition, offset)| (partition.clone(), *offset));
            let new = starts.clone().into_iter();
            others
                .chain(new)
                .map(|(topic_partition, offset)| CheckpointEntry {
                    topic_partition,
                    offset,
                })
                .collect()
        });
        LogDirPlan {
            path,
            stop: self.facts.stop,
            hand_over: HandOver::None,
            recovery_points: None,
            lowered: None,
            log_starts,
            mends: Vec::new(),
            arrival: None,
            departure: None,
            removes_marker: false,
            findings: Vec::new(),
            partitions,
            stamps: self.facts.stamps,
            undo: None,
        }
    }
}

/// Returns a log without the records that may lie nowhere else: where nothing says who is in sync, only what retention
/// deletes anyway may go.
fn with_evidence(spec: &CleanupSpec, log: &FreeableLog) -> FreeableLog {
    let mut log = log.clone();
    if (spec.replicas)(&log.topic_partition).is_none() {
        let past = log.segments.iter().take_while(|of| of.past_retention);
        let count = past.count();
        log.segments.truncate(count);
    }
    log
}

/// Reads the topic id of a partition dir.
fn topic_id(storage: &dyn Storage, dir: &Path) -> Option<Uuid> {
    const MOST: u64 = 64 << 10;
    let bytes = read_whole(storage, &dir.join(PARTITION_METADATA), MOST).ok()?;
    PartitionMetadata::parse(&bytes).ok().map(|of| of.topic_id)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::disk::RealStorage;
    use crate::plan::cleanup::FreeableSegment;

    #[test]
    fn commits_are_read_only_if_a_segment_goes() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().to_owned();
        for name in ["t-0", "u-1.3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5-delete"] {
            std::fs::create_dir(dir.join(name)).unwrap();
            std::fs::write(dir.join(name).join("00000000000000000000.log"), [7; 5000]).unwrap();
        }
        std::fs::write(dir.join("t-0/00000000000000000010.log"), [7; 5000]).unwrap();
        let asked = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&asked);
        let mut spec = CleanupSpec {
            log_dirs: vec![dir.clone()],
            on: vec![dir.clone()],
            wish: CleanupWish::Free(1),
            only: None,
            logs: vec![FreeableLog {
                log_dir: dir,
                dir_name: "t-0".to_owned(),
                topic_partition: TopicPartition::new("t", 0),
                log_start_offset: Offset(0),
                log_end_offset: None,
                segments: vec![FreeableSegment {
                    base_offset: Offset(0),
                    next_offset: Offset(10),
                    bytes: 5000,
                    freed: 8192,
                    largest_timestamp: Timestamp(0),
                    past_retention: true,
                }],
                mirrors: vec![],
                unknown_mirrors: vec![],
            }],
            kafka_version: KafkaVersion::new(4, 4, 0),
            version_source: String::new(),
            now: Timestamp(0),
            quarantine: None,
            beside_broker: false,
            replicas: Arc::new(|_| None),
            proof: Arc::new(|_, _, _| LeftoverProof::Proved),
            groups: Arc::new(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                GroupCommits::default()
            }),
        };
        let made = make_cleanup(&RealStorage, &spec).unwrap();
        assert_eq!((made.logs.len(), made.chosen.choices.len()), (1, 1));
        assert!(made.groups.is_unasked);
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        spec.wish = CleanupWish::Free(9000);
        let made = make_cleanup(&RealStorage, &spec).unwrap();
        assert!(!made.groups.is_unasked);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}
