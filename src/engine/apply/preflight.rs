//! What must hold before the first step: nobody else at the files, nothing changed, room and permission for every write.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::dir_progress::check_resumed_dir;
use super::log_progress::{Identity, LogSteps, Progress};
use super::mend::{check_mends, is_new_name};
use super::permission::{check_dir_permissions, check_log_permissions};
use super::relocation::is_moved_name;
use super::run::is_failed_dir;
use super::space::check_space;
use super::stamps::{check_log_dir, check_names, check_partition};
use crate::disk::{
    LockError, LockState, LogDirListing, LogDirLock, Storage, Volume, look_at_lock, users_in,
    writers_in,
};
use crate::engine::job::job_spec::JobSpec;
use crate::engine::job::volumes::Volumes;
use crate::engine::keep::journal::JournalText;
use crate::engine::keep::quarantine::plan_folder;
use crate::engine::read::dir_facts::stamps;
use crate::engine::store::plan_store::StoredPlan;
use crate::plan::{DirUndo, HandOver, LogDirPlan, PartitionPlan, RecoveryPlan, Step, Verdict};

/// The device of each partition dir that has steps and is there, by log dir and name.
pub(in crate::engine) type Devices<'a> = HashMap<(&'a Path, &'a str), u64>;

/// A plan that may be carried out; the log dirs are locked as long as this lives.
#[derive(Debug)]
pub(in crate::engine) struct Ready {
    /// What the operator should know.
    pub(in crate::engine) notes: Vec<String>,
    /// The plan's log dirs by volume.
    pub(in crate::engine) volumes: Volumes,
    /// A path on each volume that has to be synced.
    pub(in crate::engine) sync_paths: BTreeMap<u64, PathBuf>,
    /// Where cut bytes go: the plan's own folder; absolute.
    pub(in crate::engine) quarantine: Option<PathBuf>,
    /// Which steps an interrupted run of this plan did, by log dir and dir name; none where nothing is said.
    resumed: HashMap<(PathBuf, String), Progress>,
    _locks: Vec<LogDirLock>,
}

impl Ready {
    /// Says whether an interrupted run of this plan did steps already.
    pub(in crate::engine) fn is_resumed(&self) -> bool {
        !self.resumed.is_empty()
    }

    /// Returns which steps of a log an interrupted run of this plan did.
    pub(in crate::engine) fn steps_done(&self, log_dir: &Path, dir_name: &str) -> Progress {
        let log = (log_dir.to_owned(), dir_name.to_owned());
        self.resumed.get(&log).cloned().unwrap_or_default()
    }
}

/// Checks everything, and locks the log dirs; an error is a sentence that says what to do.
pub(in crate::engine) fn preflight(
    storage: &dyn Storage,
    state_dir: &Path,
    stored: &StoredPlan,
    spec: &JobSpec,
) -> Result<Ready, String> {
    let plan = &stored.plan;
    let mut notes = Vec::new();
    let state_dir = std::path::absolute(state_dir).map_err(|error| error.to_string())?;
    let quarantine = plan
        .quarantine
        .as_deref()
        .map(std::path::absolute)
        .transpose()
        .map_err(|error| error.to_string())?;
    let all = all_dirs(plan, spec);
    outside_of_log_dirs(&state_dir, "state dir", &all)?;
    if let Some(quarantine) = &quarantine {
        outside_of_log_dirs(quarantine, "quarantine", &all)?;
    }
    nobody_at_work(&all)?;
    if plan.beside_broker
        && let Some(user) = users_in(&all).first()
    {
        return Err(format!(
            "process {} ({}) has {} open or mapped: it has not given this dir up",
            user.pid,
            user.command,
            user.file.display()
        ));
    }
    let volumes: Vec<Option<Volume>> = plan
        .log_dirs
        .iter()
        .map(|dir| Volume::of(&dir.path).ok())
        .collect();
    for (dir, volume) in plan.log_dirs.iter().zip(&volumes) {
        check_volume(dir, volume.as_ref(), &mut notes)?;
        check_dir_permissions(dir)?;
        check_mends(storage, dir)?;
    }
    let locks = lock_all(storage, plan, &all, &mut notes)?;
    let journal = JournalText::read(&state_dir, &stored.hash).map_err(|error| error.sentence())?;
    let interrupted = journal.as_ref().filter(|text| text.is_interrupted());
    let mut logs: Vec<(usize, &LogDirPlan, &PartitionPlan)> = Vec::new();
    for (index, dir) in plan.log_dirs.iter().enumerate() {
        if is_failed_dir(dir) {
            notes.push(format!(
                "{} stays as it is: it could not be read",
                dir.path.display()
            ));
            continue;
        }
        check_unchanged(storage, (plan, dir), interrupted)?;
        logs.extend(dir.partitions.iter().map(|plan| (index, dir, plan)));
    }
    let by_volume = Volumes::of(volumes.iter().map(Option::as_ref));
    let numbers: Vec<usize> = logs.iter().map(|(index, ..)| *index).collect();
    let resumed = Mutex::new(HashMap::new());
    let devices = Mutex::new(Devices::new());
    by_volume.for_each_log(spec.threads, &numbers, |number| {
        let Some((_, dir, plan)) = logs.get(number) else {
            return Ok(());
        };
        let (done, device) = check_log(storage, dir, plan, interrupted)?;
        if let Some(device) = device {
            let mut devices = devices.lock().unwrap_or_else(PoisonError::into_inner);
            devices.insert((dir.path.as_path(), plan.dir_name.as_str()), device);
        }
        if !done.is_none() {
            let log = (dir.path.clone(), plan.dir_name.clone());
            let mut resumed = resumed.lock().unwrap_or_else(PoisonError::into_inner);
            resumed.insert(log, done);
        }
        Ok::<(), String>(())
    })?;
    let devices = devices.into_inner().unwrap_or_else(PoisonError::into_inner);
    check_space(plan, quarantine.as_deref(), &devices)?;
    let sync_paths = sync_paths(storage, (plan, &devices), &volumes, quarantine.as_deref())?;
    let quarantine = quarantine.map(|root| plan_folder(&root, &stored.hash));
    Ok(Ready {
        resumed: resumed.into_inner().unwrap_or_else(PoisonError::into_inner),
        notes,
        volumes: by_volume,
        sync_paths,
        quarantine,
        _locks: locks,
    })
}

/// Says whether an apply changes anything in a log dir.
pub(in crate::engine) fn is_changed(dir: &LogDirPlan) -> bool {
    dir.hand_over != HandOver::None
        || dir.removes_marker
        || !dir.mends.is_empty()
        || dir.arrival.is_some()
        || dir.departure.is_some()
        || dir
            .undo
            .as_ref()
            .is_some_and(|undo| *undo != DirUndo::default())
        || dir
            .partitions
            .iter()
            .any(|plan| plan.verdict.is_applied() && !plan.steps.is_empty())
}

/// Returns every log dir of the config, those of the plan first, each once.
fn all_dirs(plan: &RecoveryPlan, spec: &JobSpec) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    let planned = plan.log_dirs.iter().map(|dir| &dir.path);
    for dir in planned.chain(&spec.also_locked) {
        // One lock for two names of a dir: it would keep itself out.
        let real = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.clone());
        if !all.contains(&real) {
            all.push(real);
        }
    }
    all
}

fn outside_of_log_dirs(path: &Path, what: &str, log_dirs: &[PathBuf]) -> Result<(), String> {
    let existing = path.ancestors().find(|path| path.exists());
    let real = existing.and_then(|path| std::fs::canonicalize(path).ok());
    match log_dirs
        .iter()
        .find(|dir| real.as_ref().is_some_and(|real| real.starts_with(dir)))
    {
        Some(dir) => Err(format!(
            "the {what} {} lies inside the log dir {}: choose another place",
            path.display(),
            dir.display()
        )),
        None => Ok(()),
    }
}

fn nobody_at_work(all: &[PathBuf]) -> Result<(), String> {
    for dir in all {
        if let Ok(LockState::Held { pid }) = look_at_lock(dir) {
            // The system does not tell who holds a lock such as krescue's; whoever has the file open does.
            let pid = pid.or_else(|| {
                let writers = writers_in(std::slice::from_ref(dir));
                writers.first().map(|writer| writer.pid)
            });
            let holder = LockError::Held {
                dir: dir.clone(),
                pid,
            };
            return Err(format!("{holder}: stop it first"));
        }
    }
    match writers_in(all).first() {
        Some(writer) => Err(format!(
            "process {} ({}) has {} open for writing: stop it first",
            writer.pid,
            writer.command,
            writer.file.display()
        )),
        None => Ok(()),
    }
}

/// Locks every log dir; one that the plan does not change may be unlockable.
fn lock_all(
    storage: &dyn Storage,
    plan: &RecoveryPlan,
    all: &[PathBuf],
    notes: &mut Vec<String>,
) -> Result<Vec<LogDirLock>, String> {
    let changed: Vec<PathBuf> = plan
        .log_dirs
        .iter()
        .filter(|dir| is_changed(dir))
        .filter_map(|dir| std::fs::canonicalize(&dir.path).ok())
        .collect();
    let mut locks = Vec::new();
    for dir in all {
        match LogDirLock::acquire(storage, dir) {
            Ok(lock) => locks.push(lock),
            Err(LockError::Disk(error)) if !changed.contains(dir) => {
                notes.push(format!("not locked, and not changed: {}", error.sentence()));
            }
            Err(LockError::Disk(error)) => return Err(error.sentence()),
            Err(held @ LockError::Held { .. }) => return Err(format!("{held}: stop it first")),
        }
    }
    Ok(locks)
}

fn check_volume(
    dir: &LogDirPlan,
    volume: Option<&Volume>,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let Some(volume) = volume else { return Ok(()) };
    if volume.read_only && is_changed(dir) {
        return Err(format!(
            "{} is mounted read-only ({}): remount it read-write, and look why it is",
            volume.mount_point.display(),
            dir.path.display()
        ));
    }
    if volume.is_network() {
        notes.push(format!(
            "{} lies on {}: other hosts may write to it in spite of the lock",
            dir.path.display(),
            volume.fs_type
        ));
    }
    Ok(())
}

/// Compares a log dir with what the plan saw: its own files and its partition dirs. What an interrupted run of the same
/// plan did already is no change.
fn check_unchanged(
    storage: &dyn Storage,
    (plan, dir): (&RecoveryPlan, &LogDirPlan),
    interrupted: Option<&JournalText>,
) -> Result<(), String> {
    let listing = LogDirListing::read(storage, &dir.path).map_err(|error| error.sentence())?;
    let known = |name: &str| {
        let found = dir
            .partitions
            .binary_search_by(|plan| plan.dir_name.as_str().cmp(name));
        found.is_ok() || is_new_name(dir, name) || is_moved_name(plan, dir, name)
    };
    let unchanged = match interrupted {
        None => check_log_dir(&dir.path, &dir.stamps, &stamps(&listing)),
        Some(_) => check_resumed_dir(storage, dir, &listing),
    };
    unchanged
        .and_then(|()| check_names(&listing, known))
        .map_err(|error| again(&error.sentence()))
}

/// Compares a partition dir whose log counts with what the plan saw, and looks whether its steps are allowed; returns which
/// of them an interrupted run did, and the device on which a dir with steps lies, if it is there.
fn check_log(
    storage: &dyn Storage,
    dir: &LogDirPlan,
    plan: &PartitionPlan,
    interrupted: Option<&JournalText>,
) -> Result<(Progress, Option<u64>), String> {
    let mut done = Progress::default();
    let applied = plan.verdict.is_applied() && !plan.steps.is_empty();
    if plan.verdict.reaches_end() {
        let place = dir.path.join(&plan.dir_name);
        let unchanged = check_partition(storage, &place, &plan.stamps);
        // A log that moves stays as it was until its copy has its place.
        let may_be_done = unchanged.is_err() || matches!(plan.verdict, Verdict::Move(_));
        match (unchanged, interrupted) {
            (_, Some(_)) if applied && may_be_done => {
                let steps = LogSteps {
                    storage,
                    dir: place,
                    plan,
                    kept: None,
                    left: None,
                    identity: Identity::Same,
                };
                done = steps.done().map_err(|error| again(&error.sentence()))?;
            }
            (Ok(()), _) => {}
            (Err(error), _) => return Err(again(&error.sentence())),
        }
    }
    if !applied {
        return Ok((done, None));
    }
    let place = dir.path.join(&plan.dir_name);
    let stat = match storage.stat(&place) {
        // Removed by an interrupted run, or about to be brought back; then it lies with its log dir.
        Err(error) if error.is_not_found() => return Ok((done, None)),
        stat => stat.map_err(|error| error.sentence())?,
    };
    let left: Vec<&Step> = done.left(&plan.steps).collect();
    check_log_permissions(storage, &dir.path, &plan.dir_name, &left)?;
    Ok((done, Some(stat.device)))
}

fn again(text: &str) -> String {
    format!("{text}: make the plan again")
}

/// Returns one path for each volume that is changed; the quarantine is created if there is one.
///
/// A log may lie on another volume than its dir: behind a link, or a mount.
fn sync_paths(
    storage: &dyn Storage,
    (plan, devices): (&RecoveryPlan, &Devices<'_>),
    volumes: &[Option<Volume>],
    quarantine: Option<&Path>,
) -> Result<BTreeMap<u64, PathBuf>, String> {
    let mut paths = BTreeMap::new();
    for (dir, volume) in plan.log_dirs.iter().zip(volumes) {
        if let Some(volume) = volume.as_ref().filter(|_| is_changed(dir)) {
            paths.insert(volume.device, dir.path.clone());
        }
        let changed = dir
            .partitions
            .iter()
            .filter(|plan| plan.verdict.is_applied() && !plan.steps.is_empty());
        for plan in changed {
            if let Some(device) = devices.get(&(dir.path.as_path(), plan.dir_name.as_str())) {
                let path = || dir.path.join(&plan.dir_name);
                paths.entry(*device).or_insert_with(path);
            }
        }
    }
    if let Some(quarantine) = quarantine.filter(|_| plan.log_dirs.iter().any(is_changed)) {
        storage
            .create_dir(quarantine)
            .map_err(|error| error.sentence())?;
        let stat = storage.stat(quarantine).map_err(|error| error.sentence())?;
        paths
            .entry(stat.device)
            .or_insert_with(|| quarantine.to_owned());
    }
    Ok(paths)
}
