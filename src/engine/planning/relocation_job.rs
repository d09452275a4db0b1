//! Plans that a partition goes to another log dir: looks at both, lets [`plan_relocation`] decide, and adds the checkpoints.

use std::path::{Path, PathBuf};

use super::cleanup_log::{is_plain, segments_of, stamp};
use crate::disk::{Listed, Storage, SubDir, Volume, VolumeSpace};
use crate::engine::read::dir_facts::DirFacts;
use crate::engine::read::file_bytes::same_bytes;
use crate::engine::store::plan_store::MadePlan;
use crate::engine::{EngineError, Replicas};
use crate::format::file_name::{DirName, PartitionFile, delete_dir_name};
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::log::FindingCode;
use crate::plan::relocation::{RelocationInputs, Room, SourceFile, TargetCopy, plan_relocation};
use crate::plan::{
    CheckpointEntry, HandOver, LogDirPlan, MovedCheckpoints, PartitionPlan, PlanAct, RecoveryPlan,
    StopState, Verdict,
};
use crate::terms::{KafkaVersion, Offset, Timestamp, TopicPartition};

/// What a relocation is asked for.
#[derive(Clone)]
pub struct RelocationSpec {
    /// All log dirs of the broker.
    pub log_dirs: Vec<PathBuf>,
    /// The partition.
    pub partition: TopicPartition,
    /// The log dir that it goes to, one of `log_dirs`.
    pub to: PathBuf,
    /// The release that will boot.
    pub kafka_version: KafkaVersion,
    /// Where that is from.
    pub version_source: String,
    /// The clock.
    pub now: Timestamp,
    /// Who else has a partition.
    pub replicas: Replicas,
}

impl std::fmt::Debug for RelocationSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RelocationSpec")
            .field("log_dirs", &self.log_dirs)
            .field("partition", &self.partition)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}

/// Plans a relocation; nothing is changed. A partition that lies in no other log dir than the target has no step.
///
/// # Errors
///
/// A log dir or a dir of the partition that cannot be listed.
pub fn make_relocation(
    storage: &dyn Storage,
    spec: &RelocationSpec,
) -> Result<MadePlan, EngineError> {
    let mut dirs = Vec::new();
    for path in &spec.log_dirs {
        dirs.push(DirFacts::read(storage, path)?);
    }
    let name = spec.partition.to_string();
    let sources: Vec<&DirFacts> = dirs
        .iter()
        .filter(|dir| dir.path != spec.to && has_dir(dir, &name))
        .collect();
    let target = dirs.iter().find(|dir| dir.path == spec.to);
    let moved = match (sources.first(), target) {
        (Some(source), Some(target)) => {
            let looked = Looked {
                storage,
                spec,
                source,
                target,
                name: &name,
            };
            let more = sources.get(1).map(|more| {
                let (one, other) = (source.path.display(), more.path.display());
                format!("{name} lies in {one} and in {other}: preflight tells them apart")
            });
            Some(looked.plan(&dirs, more)?)
        }
        _ => None,
    };
    let log_dirs = dirs
        .iter()
        .map(|dir| dir_plan(dir, spec, moved.as_ref()))
        .collect();
    let plan = RecoveryPlan {
        schema: 1,
        act: PlanAct::Move,
        kafka_version: spec.kafka_version,
        version_source: spec.version_source.clone(),
        now: spec.now,
        hand_over: HandOver::None,
        // What goes was compared with what came.
        quarantine: None,
        undoes: None,
        beside_broker: false,
        log_dirs,
    };
    Ok(MadePlan {
        plan,
        staging: None,
    })
}

fn has_dir(dir: &DirFacts, name: &str) -> bool {
    dir.listing.sub_dirs().any(|sub_dir| sub_dir.name == name)
}

/// What was decided, and what follows for the two log dirs.
struct Moved {
    plan: PartitionPlan,
    aside: String,
    from: PathBuf,
    removes_target_marker: bool,
    arrival: MovedCheckpoints,
    departure: MovedCheckpoints,
}

struct Looked<'a> {
    storage: &'a dyn Storage,
    spec: &'a RelocationSpec,
    source: &'a DirFacts,
    target: &'a DirFacts,
    name: &'a str,
}

impl Looked<'_> {
    fn plan(&self, dirs: &[DirFacts], more: Option<String>) -> Result<Moved, EngineError> {
        let place = self.source.path.join(self.name);
        let files = self.storage.list(&place)?;
        let partition = &self.spec.partition;
        let inputs = RelocationInputs {
            topic_partition: partition.clone(),
            from: self.source.path.clone(),
            to: self.target.path.clone(),
            files: files.iter().map(source_file).collect(),
            immovable: more.or_else(|| self.immovable(&place)),
            same_volume: same_volume(&place, &self.target.path),
            target: self.target_copy(&files)?,
            future_in: dirs.iter().find_map(|dir| {
                let mut sub_dirs = dir.listing.sub_dirs();
                let is_it = |of: SubDir| of.parsed == DirName::Future(partition.clone());
                sub_dirs.any(is_it).then(|| dir.path.clone())
            }),
            room: room(&self.target.path),
            stop: self.source.stop,
            target_stop: self.target.stop,
            target_reads: self.target_reads(),
            recovery_point: self.source.recovery_points.get(partition),
            log_start_offset: self.source.log_starts.get(partition),
            replicas: (self.spec.replicas)(partition),
            id: self.id(&place)?,
            now: self.spec.now,
        };
        let decided = plan_relocation(&inputs);
        let plan = PartitionPlan {
            findings: decided.findings,
            steps: decided.steps,
            segments: segments_of(&files),
            log_start_offset: decided.log_start_offset,
            log_end_offset: decided.log_end_offset,
            recovery_point: inputs.recovery_point,
            high_watermark: self.source.high_watermarks.get(partition),
            stamps: files.iter().map(stamp).collect(),
            ..PartitionPlan::of(
                self.name.to_owned(),
                Some(partition.clone()),
                decided.verdict,
            )
        };
        let (arrival, departure) = self.checkpoints();
        Ok(Moved {
            plan,
            aside: delete_dir_name(partition, &inputs.id),
            from: self.source.path.clone(),
            removes_target_marker: decided.removes_target_marker,
            arrival,
            departure,
        })
    }

    /// Says why the dir cannot be moved as it lies there.
    fn immovable(&self, place: &Path) -> Option<String> {
        let is_link = place.symlink_metadata().is_ok_and(|of| of.is_symlink());
        if is_link {
            return Some(format!(
                "{} is a link: look where it leads, and move that by hand",
                place.display()
            ));
        }
        let mount = |path: &Path| Volume::of(path).ok().map(|of| (of.device, of.mount_point));
        if mount(place) != mount(&self.source.path) {
            return Some(format!("{} is a mount of its own", place.display()));
        }
        // A checkpoint is written as a whole: what cannot be read of it would be lost for all logs.
        [self.source, self.target].into_iter().find_map(|dir| {
            let mut findings = dir.findings.iter();
            let bad = findings.find(|finding| {
                matches!(
                    finding.code,
                    FindingCode::CheckpointMalformed | FindingCode::Unreadable
                )
            });
            let cause = dir.unreadable.clone();
            let cause = cause.or_else(|| bad.map(|finding| finding.text.clone()))?;
            Some(format!("{cause}; krescue preflight --fix mends it first"))
        })
    }

    /// Compares what the target has under the partition's name with the source, the records byte by byte.
    fn target_copy(&self, files: &[Listed]) -> Result<TargetCopy, EngineError> {
        if !has_dir(self.target, self.name) {
            return Ok(TargetCopy::Nothing);
        }
        let there = self.target.path.join(self.name);
        let logs = |files: &[Listed]| -> Vec<(String, u64)> {
            let logs = files
                .iter()
                .filter(|file| PartitionFile::parse(&file.name).is_log());
            logs.map(|file| (file.name.clone(), file.stat.len))
                .collect()
        };
        let ours = logs(files);
        if ours.is_empty() || ours != logs(&self.storage.list(&there)?) {
            return Ok(TargetCopy::Other);
        }
        let here = self.source.path.join(self.name);
        for (name, len) in ours {
            let (a, b) = (here.join(&name), there.join(&name));
            if !same_bytes(self.storage, (&a, 0), (&b, 0), len)? {
                return Ok(TargetCopy::Other);
            }
        }
        Ok(TargetCopy::Whole)
    }

    /// Adds up the last segments of the target's logs, which its boot reads again without the marker.
    fn target_reads(&self) -> u64 {
        if self.target.stop == StopState::Unclean || self.source.stop == StopState::Clean {
            return 0;
        }
        let logs = self.target.listing.sub_dirs();
        let logs = logs.filter(|of| matches!(of.parsed, DirName::Normal(_)) && of.is_utf8);
        let last = logs.filter_map(|of| {
            let files = self.storage.list(&self.target.path.join(&of.name)).ok()?;
            segments_of(&files).last().map(|segment| segment.bytes)
        });
        last.sum()
    }

    /// Returns hex digits that make the name of this move's dirs its own.
    fn id(&self, place: &Path) -> Result<String, EngineError> {
        let inode = self.storage.stat(place)?.inode;
        Ok(format!("{inode:016x}{:016x}", self.spec.now.0))
    }

    /// Returns the checkpoints of the target with the partition's lines, and those of the source without them.
    fn checkpoints(&self) -> (MovedCheckpoints, MovedCheckpoints) {
        let partition = &self.spec.partition;
        let arrives = |source: &OffsetCheckpoint, target: &OffsetCheckpoint| {
            let offset = source.get(partition);
            (offset != target.get(partition)).then(|| with(target, partition, offset))
        };
        let leaves = |source: &OffsetCheckpoint| {
            source.get(partition)?;
            Some(with(source, partition, None))
        };
        let (source, target) = (self.source, self.target);
        let arrival = MovedCheckpoints {
            recovery_points: arrives(&source.recovery_points, &target.recovery_points),
            log_starts: arrives(&source.log_starts, &target.log_starts),
            high_watermarks: arrives(&source.high_watermarks, &target.high_watermarks),
            cleaner_offsets: arrives(&source.cleaner_offsets, &target.cleaner_offsets),
        };
        let departure = MovedCheckpoints {
            recovery_points: leaves(&source.recovery_points),
            log_starts: leaves(&source.log_starts),
            high_watermarks: leaves(&source.high_watermarks),
            cleaner_offsets: leaves(&source.cleaner_offsets),
        };
        (arrival, departure)
    }
}

/// Returns a checkpoint's lines with another one, or none, for `partition`.
fn with(
    checkpoint: &OffsetCheckpoint,
    partition: &TopicPartition,
    offset: Option<Offset>,
) -> Vec<CheckpointEntry> {
    let others = checkpoint.entries.iter();
    let others = others.filter(|(of, _)| of != partition);
    let line = offset.map(|offset| (partition.clone(), offset));
    others
        .cloned()
        .chain(line)
        .map(|(topic_partition, offset)| CheckpointEntry {
            topic_partition,
            offset,
        })
        .collect()
}

fn source_file(file: &Listed) -> SourceFile {
    SourceFile {
        name: file.name.clone(),
        len: file.stat.len,
        allocated: file.stat.allocated,
        is_plain: is_plain(file),
    }
}

/// Says whether a dir can be renamed into a log dir: two mounts of one file system keep it out.
fn same_volume(place: &Path, to: &Path) -> bool {
    let volume = |path: &Path| Volume::of(path).ok();
    match (volume(place), volume(to)) {
        (Some(a), Some(b)) => a.device == b.device && a.mount_point == b.mount_point,
        _ => false,
    }
}

/// Returns what the broker's user may write on the volume of `to`: blocks kept for root are not for records.
fn room(to: &Path) -> Room {
    let space = VolumeSpace::of(to).ok();
    Room {
        bytes: space.map(|space| space.free.min(space.free_user)),
        inodes: space.and_then(|space| space.free_inodes),
    }
}

fn dir_plan(dir: &DirFacts, spec: &RelocationSpec, moved: Option<&Moved>) -> LogDirPlan {
    let goes = moved.filter(|moved| matches!(moved.plan.verdict, Verdict::Move(_)));
    let is_source = |moved: &&Moved| moved.from == dir.path;
    let is_target = |_: &&Moved| spec.to == dir.path;
    let mut partitions: Vec<PartitionPlan> = dir
        .listing
        .sub_dirs()
        .filter(|of| {
            let matters = !matches!(of.parsed, DirName::Invalid | DirName::RemoteLogIndexCache);
            // Of this move's own names a rerun makes what it needs.
            let is_ours = moved.is_some_and(|moved| moved.aside == of.name);
            let is_it = moved
                .filter(is_source)
                .is_some_and(|moved| moved.plan.dir_name == of.name);
            matters && !is_ours && !is_it
        })
        .map(stays)
        .collect();
    partitions.extend(moved.filter(is_source).map(|moved| moved.plan.clone()));
    partitions.sort_by(|a, b| a.dir_name.cmp(&b.dir_name));
    LogDirPlan {
        path: dir.path.clone(),
        stop: dir.stop,
        hand_over: HandOver::None,
        recovery_points: None,
        lowered: None,
        log_starts: None,
        arrival: goes.filter(is_target).map(|moved| moved.arrival.clone()),
        departure: goes.filter(is_source).map(|moved| moved.departure.clone()),
        removes_marker: goes
            .filter(is_target)
            .is_some_and(|moved| moved.removes_target_marker),
        findings: Vec::new(),
        partitions,
        stamps: dir.stamps.clone(),
        mends: Vec::new(),
        undo: None,
    }
}

/// Returns the plan of a dir that nobody named.
fn stays(sub_dir: SubDir) -> PartitionPlan {
    let topic_partition = match &sub_dir.parsed {
        DirName::Normal(partition) | DirName::Future(partition) => Some(partition.clone()),
        _ => None,
    };
    let skipped = Verdict::Skipped {
        why: "not named".to_owned(),
    };
    PartitionPlan::of(sub_dir.name, topic_partition, skipped)
}
