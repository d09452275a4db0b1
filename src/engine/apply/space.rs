//! Whether every volume has room for what an apply writes before it frees anything.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::apply_log::writes_late;
use super::hand_over::own_checkpoints;
use super::preflight::Devices;
use crate::disk::VolumeSpace;
use crate::engine::keep::quarantine::with_suffix;
use crate::engine::planning::log_target::OWN_SUFFIX;
use crate::format::file_name::{CLEAN_SHUTDOWN_MARKER, LOG_START_CHECKPOINT};
use crate::plan::{
    Content, HandOver, LogDirPlan, Mend, PartitionPlan, Quarantine, RecoveryPlan, Step, StepAction,
    Verdict,
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

impl Needs {
    /// Adds what is kept of one dir below `root`: bytes that are copied, 0 for a link.
    fn keep(&mut self, root: &Path, copied: impl Iterator<Item = u64>) {
        root.clone_into(&mut self.path);
        self.names += 2;
        for len in copied {
            self.files.push(len);
            self.for_quarantine += len;
        }
    }
}

/// Checks space and inodes on every volume; an error is a sentence that says what to do.
pub(in crate::engine) fn check_space(
    plan: &RecoveryPlan,
    quarantine: Option<&Path>,
    devices: &Devices<'_>,
) -> Result<(), String> {
    needs_of(plan, quarantine, devices)?
        .values()
        .try_for_each(check)
}

/// Returns what is needed, by the volumes' devices.
fn needs_of(
    plan: &RecoveryPlan,
    quarantine: Option<&Path>,
    devices: &Devices<'_>,
) -> Result<BTreeMap<u64, Needs>, String> {
    let mut needs: BTreeMap<u64, Needs> = BTreeMap::new();
    let kept_on = quarantine.map(existing_ancestor);
    let kept_on = kept_on
        .map(|root| device_of(&root).map(|device| (root, device)))
        .transpose()
        .map_err(|error| error.to_string())?;
    for dir in &plan.log_dirs {
        let Ok(device) = device_of(&dir.path) else {
            continue;
        };
        let on_dir = needs.entry(device).or_default();
        on_dir.path.clone_from(&dir.path);
        let own = own_checkpoints(dir);
        on_dir.files.extend(files_of_dir(dir, device, &own));
        on_dir.names += names_of_dir(dir);
        if let Some((root, root_device)) = &kept_on {
            let copied = kept_of_dir(dir, *root_device == device, &own);
            if !copied.is_empty() {
                needs
                    .entry(*root_device)
                    .or_default()
                    .keep(root, copied.into_iter());
            }
        }
        for log in applied(dir) {
            // A link or a mount may lead to another volume.
            let known = devices.get(&(dir.path.as_path(), log.dir_name.as_str()));
            let device = known.copied().unwrap_or(device);
            let on_log = needs.entry(device).or_insert_with(|| Needs {
                path: dir.path.join(&log.dir_name),
                ..Needs::default()
            });
            if !writes_late(log) {
                on_log.files.extend(files_of_steps(&log.steps, device));
            }
            for (dir, len) in copies(log) {
                let device = device_of(&dir).map_err(|error| error.to_string())?;
                let on_target = needs.entry(device).or_default();
                on_target.path = dir;
                on_target.files.push(len);
            }
            if let Some((root, root_device)) = &kept_on {
                let same = *root_device == device;
                // A whole file is linked on its own file system; that it cannot be is seen only then.
                let copied = kept(log).map(|(len, whole)| if whole && same { 0 } else { len });
                needs.entry(*root_device).or_default().keep(root, copied);
            }
        }
    }
    Ok(needs)
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

/// Returns the lengths of the files that steps write before anything is freed.
fn files_of_steps<'a>(
    steps: impl IntoIterator<Item = &'a Step>,
    device: u64,
) -> impl Iterator<Item = u64> {
    let steps = steps.into_iter();
    steps.filter_map(move |step| match &step.action {
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

/// Returns the lengths of the files that are written beside the logs of a dir: checkpoints, fixes, the marker, and what an
/// undo puts back. `own` are its checkpoints.
fn files_of_dir(
    dir: &LogDirPlan,
    device: u64,
    own: &[(String, Content)],
) -> impl Iterator<Item = u64> {
    // Behind the last step of a cleanup, which has freed more by then: a full volume must not refuse it.
    let frees = applied(dir).any(writes_late);
    let written = own
        .iter()
        .filter(move |(name, _)| !(frees && name == LOG_START_CHECKPOINT));
    let written = written.map(|(_, content)| content.len);
    let marker = (dir.hand_over == HandOver::Clean).then_some(0);
    let undo = dir.undo.iter().flat_map(|undo| {
        let steps = undo.checkpoints.iter();
        steps.chain(&undo.marker).chain(&undo.late)
    });
    written.chain(marker).chain(files_of_steps(undo, device))
}

/// Returns how many dirs are made beside the logs of a dir.
fn names_of_dir(dir: &LogDirPlan) -> u64 {
    let undo = dir.undo.iter().flat_map(|undo| &undo.mends);
    let mends = dir.mends.iter().chain(undo);
    mends
        .filter(|mend| matches!(mend, Mend::CreateDir { .. }))
        .count() as u64
}

/// Returns what is copied of the files of a dir itself before they are replaced: bytes, 0 for a link. `is_same` is whether
/// the copies lie on the dir's own volume, `own` are its checkpoints.
fn kept_of_dir(dir: &LogDirPlan, is_same: bool, own: &[(String, Content)]) -> Vec<u64> {
    let len = |name: &str| {
        let found = std::fs::metadata(dir.path.join(name));
        found.ok().map(|found| found.len())
    };
    // A clean hand-over empties the marker in place, so a link would not keep it.
    let marker = len(CLEAN_SHUTDOWN_MARKER).filter(|_| dir.removes_marker);
    let replaced = own.iter().filter_map(|(name, _)| len(name));
    let replaced = replaced.map(|len| if is_same { 0 } else { len });
    marker.into_iter().chain(replaced).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::planning::dir_plan::bare_dir_plan;
    use crate::plan::{CheckpointEntry, PlanAct, StopState};
    use crate::terms::{KafkaVersion, Offset, Timestamp, TopicPartition};

    fn entries(topic: &str) -> Vec<CheckpointEntry> {
        let topic_partition = TopicPartition {
            topic: topic.into(),
            partition: 0,
        };
        let offset = Offset(7);
        vec![CheckpointEntry {
            topic_partition,
            offset,
        }]
    }

    fn plan_of(dir: LogDirPlan) -> RecoveryPlan {
        RecoveryPlan {
            schema: 1,
            act: PlanAct::Mend,
            kafka_version: KafkaVersion::NEWEST_KNOWN,
            version_source: String::new(),
            now: Timestamp(0),
            hand_over: HandOver::None,
            quarantine: None,
            undoes: None,
            beside_broker: false,
            log_dirs: vec![dir],
        }
    }

    fn log_dir(path: &Path) -> LogDirPlan {
        LogDirPlan {
            stop: StopState::Clean,
            ..bare_dir_plan(path.to_owned())
        }
    }

    #[test]
    fn log_starts_fixes_and_what_is_kept_of_them_count() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::write(at("log-start-offset-checkpoint"), [b'x'; 300]).unwrap();
        std::fs::write(at(CLEAN_SHUTDOWN_MARKER), "{}").unwrap();
        let plan = plan_of(LogDirPlan {
            log_starts: Some(entries("t")),
            removes_marker: true,
            mends: vec![Mend::Write {
                file: "meta.properties".to_owned(),
                text: "version=1\n".to_owned(),
                replaces: None,
                reason: String::new(),
            }],
            ..log_dir(home.path())
        });
        let of = |quarantine: Option<&Path>| {
            let needs = needs_of(&plan, quarantine, &Devices::new()).unwrap();
            assert_eq!(needs.len(), 1);
            let needs = needs.into_values().next().unwrap();
            (needs.files, needs.names, needs.for_quarantine)
        };
        // "0\n1\nt 0 7\n", and the fix.
        assert_eq!(of(None), (vec![10, 10], 0, 0));
        // On the same volume the checkpoint is linked and the marker copied.
        assert_eq!(of(Some(home.path())), (vec![10, 10, 2, 0], 2, 2));
        let dir = &plan.log_dirs[0];
        assert_eq!(kept_of_dir(dir, false, &own_checkpoints(dir)), [2, 300]);
    }
}
