//! Whether every volume has room for what an apply writes before it frees anything.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::apply_log::writes_late;
use super::preflight::Devices;
use crate::disk::VolumeSpace;
use crate::engine::keep::quarantine::with_suffix;
use crate::engine::planning::log_target::OWN_SUFFIX;
use crate::plan::{
    HandOver, LogDirPlan, PartitionPlan, Quarantine, RecoveryPlan, StepAction, Verdict,
};

/// What is needed on one volume.
#[derive(Debug, Default)]
struct Needs {
    path: PathBuf,
    /// Lengths of the files that are written there.
    files: Vec<u64>,
    /// Names that are made beside: links and dirs, an inode and a block each at the most.
    names: u64,
    for_quarantine: u64,
}

/// Checks space and inodes on every volume; an error is a sentence that says what to do.
pub(in crate::engine) fn check_space(
    plan: &RecoveryPlan,
    quarantine: Option<&Path>,
    devices: &Devices<'_>,
) -> Result<(), String> {
    let mut needs: BTreeMap<u64, Needs> = BTreeMap::new();
    let kept_on = quarantine.map(existing_ancestor);
    for dir in &plan.log_dirs {
        let Ok(device) = device_of(&dir.path) else {
            continue;
        };
        let on_dir = needs.entry(device).or_default();
        on_dir.path.clone_from(&dir.path);
        on_dir.files.extend(files_of_dir(dir));
        for log in applied(dir) {
            // A link or a mount may lead to another volume.
            let known = devices.get(&(dir.path.as_path(), log.dir_name.as_str()));
            let device = known.copied().unwrap_or(device);
            let on_log = needs.entry(device).or_insert_with(|| Needs {
                path: dir.path.join(&log.dir_name),
                ..Needs::default()
            });
            if !writes_late(log) {
                on_log.files.extend(files_of_log(log, device));
            }
            for (dir, len) in copies(log) {
                let device = device_of(&dir).map_err(|error| error.to_string())?;
                let on_target = needs.entry(device).or_default();
                on_target.path = dir;
                on_target.files.push(len);
            }
            if let Some(root) = &kept_on {
                let root_device = device_of(root).map_err(|error| error.to_string())?;
                let same = root_device == device;
                let on_root = needs.entry(root_device).or_default();
                on_root.path.clone_from(root);
                on_root.names += 2;
                for (len, whole) in kept(log) {
                    // A whole file is linked on its own file system; that it cannot be is seen only then.
                    let copied = if whole && same { 0 } else { len };
                    on_root.files.push(copied);
                    on_root.for_quarantine += copied;
                }
            }
        }
    }
    needs.values().try_for_each(check)
}

fn check(needs: &Needs) -> Result<(), String> {
    if needs.files.is_empty() && needs.names == 0 {
        return Ok(());
    }
    let space = VolumeSpace::of(&needs.path).map_err(|error| error.sentence())?;
    let in_blocks = |len: u64| len.div_ceil(space.block).saturating_mul(space.block);
    let files: u64 = needs.files.iter().map(|len| in_blocks(*len)).sum();
    let bytes = files + needs.names * space.block;
    let hint = if needs.for_quarantine > 0 {
        format!(
            "; {} bytes of it are for the quarantine: --quarantine DIR names another place, --quarantine none keeps no copy",
            needs.for_quarantine
        )
    } else {
        String::new()
    };
    if bytes > space.free {
        return Err(format!(
            "the volume of {} has {} bytes free and {bytes} are needed{hint}",
            needs.path.display(),
            space.free
        ));
    }
    let inodes = needs.files.len() as u64 + needs.names;
    if let Some(free) = space.free_inodes
        && inodes > free
    {
        return Err(format!(
            "the volume of {} has {free} inodes free and {inodes} are needed{hint}",
            needs.path.display()
        ));
    }
    Ok(())
}

fn applied(dir: &LogDirPlan) -> impl Iterator<Item = &PartitionPlan> {
    dir.partitions
        .iter()
        .filter(|plan| plan.verdict.is_applied() && !plan.steps.is_empty())
}

/// Returns the lengths of the files that are written for a log before anything is freed.
fn files_of_log(log: &PartitionPlan, device: u64) -> impl Iterator<Item = u64> {
    log.steps.iter().filter_map(move |step| match &step.action {
        StepAction::Write { content, .. } => Some(content.len),
        // Zeros take no space, nor does another name on the same volume.
        StepAction::Restore { kept, .. } => kept
            .path
            .as_ref()
            .filter(|path| device_of(path).ok() != Some(device))
            .map(|_| kept.len),
        StepAction::Append { kept, .. } => kept.path.as_ref().map(|_| kept.len),
        StepAction::CopyPart { len, .. } => Some(*len),
        _ => None,
    })
}

/// Returns the log dirs that copies of a log's files go to, and what each takes there; those that an interrupted run made
/// take nothing more.
fn copies(log: &PartitionPlan) -> impl Iterator<Item = (PathBuf, u64)> {
    log.steps.iter().filter_map(|step| match &step.action {
        StepAction::CopyOut { to, allocated, .. } => {
            let copy = to.join(&step.file);
            let is_there = copy.exists() || with_suffix(&copy, OWN_SUFFIX).exists();
            Some((to.parent()?.to_owned(), *allocated)).filter(|_| !is_there)
        }
        _ => None,
    })
}

/// Returns the lengths of the files that are written beside the logs of a dir.
fn files_of_dir(dir: &LogDirPlan) -> impl Iterator<Item = u64> {
    // A checkpoint's line has 24 bytes of numbers beside the topic.
    let lowered = dir.lowered.iter().flat_map(|lowered| {
        [
            &lowered.recovery_points,
            &lowered.high_watermarks,
            &lowered.cleaner_offsets,
        ]
    });
    let moved = [&dir.arrival, &dir.departure].into_iter().flatten();
    let moved = moved.flat_map(|moved| {
        [
            &moved.recovery_points,
            &moved.log_starts,
            &moved.high_watermarks,
            &moved.cleaner_offsets,
        ]
    });
    let checkpoints = [&dir.recovery_points].into_iter();
    let checkpoints = checkpoints.chain(lowered).chain(moved).flatten();
    let checkpoints = checkpoints.map(|entries| {
        let lines = entries.iter();
        lines
            .map(|entry| entry.topic_partition.topic.len() as u64 + 40)
            .sum()
    });
    let marker = (dir.hand_over == HandOver::Clean).then_some(0);
    checkpoints.chain(marker)
}

/// Returns what is kept of a log: bytes, and whether it is a whole file.
fn kept(plan: &PartitionPlan) -> impl Iterator<Item = (u64, bool)> {
    plan.steps.iter().filter_map(|step| match &step.action {
        StepAction::Remove { .. } if matches!(plan.verdict, Verdict::Move(_)) => None,
        StepAction::Remove { len } => Some((*len, true)),
        // The end of a preallocated index: zeros, which take no space.
        StepAction::SetLen { .. } if step.quarantine == Quarantine::Regenerable => None,
        StepAction::SetLen { from, to } => Some((from.saturating_sub(*to), false)),
        StepAction::Write { replaces, .. }
        | StepAction::CopyPart { replaces, .. }
        | StepAction::Allocate { replaces, .. } => replaces.map(|len| (len, true)),
        StepAction::RemoveDir
        | StepAction::Rename { .. }
        | StepAction::Restore { .. }
        | StepAction::Append { .. }
        | StepAction::CopyOut { .. }
        | StepAction::MoveDir { .. }
        | StepAction::SetOwner { .. } => None,
    })
}

fn device_of(path: &Path) -> std::io::Result<u64> {
    std::fs::metadata(path).map(|metadata| metadata.dev())
}

/// Returns the deepest dir on the way to `path` that exists.
fn existing_ancestor(path: &Path) -> PathBuf {
    path.ancestors()
        .find(|path| path.exists())
        .unwrap_or(Path::new("/"))
        .to_owned()
}
