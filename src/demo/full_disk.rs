//! The embedded broker with its first log dir on a full volume of its own, and with what fills such volumes.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};

use super::tree::{DemoError, DemoTree, write_crashed};
use crate::disk::{VolumeSpace, mount_private_tmpfs, resize_private_tmpfs, unmount_private_tmpfs};
use crate::format::file_name::PARTITION_METADATA;
use crate::format::partition_metadata::PartitionMetadata;
use crate::terms::Uuid;

/// What the volume holds at most while it is filled.
const ROOM: u64 = 64 << 20;
/// The length of a heap dump that was left behind.
const DUMP: usize = 2 << 20;
/// What Kafka puts between a partition's name and `-delete` or `-stray`.
const IDS: [&str; 3] = [
    "1f1a8f0c2c9f4f0f9b1f6a1f3b0a5d21",
    "2b9d4c61f7e84a3f8a5e0c6d71b2e943",
    "3c7e5d82a6f94b1c9d4f2e8a60c1b357",
];

/// The demo and its volume.
#[derive(Debug)]
pub struct FullDisk {
    /// The broker.
    pub tree: DemoTree,
    /// Its volume.
    pub volume: FullVolume,
}

/// The volume of the full log dir; unmounted when it goes out of scope.
#[derive(Debug)]
pub enum FullVolume {
    /// A tmpfs of its own.
    Own(PathBuf),
    /// None could be mounted: the log dir lies in the folder, on a volume that is not full.
    Limited(String),
}

impl FullVolume {
    /// Says what this demo is not; `None` where nothing is missing.
    pub fn limit(&self) -> Option<String> {
        match self {
            Self::Own(_) => None,
            Self::Limited(why) => Some(format!(
                "no volume of its own could be mounted ({why}): data1 lies on a volume that is not full; as root it is"
            )),
        }
    }

    /// Leaves the volume mounted for a job that still runs: it is gone with the last process that sees it.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for FullVolume {
    fn drop(&mut self) {
        if let Self::Own(dir) = self {
            // Where it fails, it is gone with the process.
            let _ = unmount_private_tmpfs(dir);
        }
    }
}

/// Unpacks the broker into `folder`, which is there already and empty: its first log dir on a tmpfs of its own, as far as
/// whoever runs this may mount one, with deleted and stray partitions and a heap dump that leave no room.
///
/// # Errors
///
/// The disk's.
pub fn write_full_disk(folder: &Path) -> Result<FullDisk, DemoError> {
    let dir = folder.join("data1");
    fs::create_dir(&dir).map_err(DemoError::at(&dir))?;
    let volume = match mount_private_tmpfs(&dir, ROOM) {
        Ok(()) => FullVolume::Own(dir.clone()),
        Err(error) => FullVolume::Limited(error.to_string()),
    };
    let tree = write_crashed(folder)?;
    add_leftovers(&tree, &dir)?;
    if let FullVolume::Own(_) = volume {
        let space = VolumeSpace::of(&dir).map_err(crate::disk::UnpackError::from)?;
        let used = space.total.saturating_sub(space.free);
        resize_private_tmpfs(&dir, used).map_err(DemoError::at(&dir))?;
    }
    Ok(FullDisk { tree, volume })
}

fn add_leftovers(tree: &DemoTree, dir: &Path) -> Result<(), DemoError> {
    let clicks = find(tree, "clicks-0")?;
    for (partition, id) in (0..).zip(IDS) {
        copy_log(
            &clicks,
            &dir.join(format!("old-clicks-{partition}.{id}-delete")),
        )?;
    }
    let metrics = find(tree, "metrics-0")?;
    let [id, ..] = IDS;
    let stray = dir.join(format!("returns-0.{id}-stray"));
    copy_log(&metrics, &stray)?;
    // A topic that the metadata never had.
    let metadata = PartitionMetadata {
        version: 0,
        topic_id: Uuid(*b"returns of 2025!"),
    };
    let path = stray.join(PARTITION_METADATA);
    fs::write(&path, metadata.encode()).map_err(DemoError::at(&path))?;
    // Segments that were deleted when the kill came.
    let telemetry = find(tree, "telemetry-0")?;
    let log = first_log(&telemetry)?;
    let holder = first_partition(dir)?;
    let deleted = holder.join("00000000000000000000.log.deleted");
    copy_file(&log, &deleted)?;
    let dump = dir.join("java_pid812.hprof");
    fs::write(&dump, vec![0x4a; DUMP]).map_err(DemoError::at(&dump))?;
    let then = FileTimes::new().set_modified(modified(&log)?);
    let file = File::open(&dump).map_err(DemoError::at(&dump))?;
    file.set_times(then).map_err(DemoError::at(&dump))
}

/// Finds a partition dir, in whichever log dir it is.
fn find(tree: &DemoTree, name: &str) -> Result<PathBuf, DemoError> {
    let mut dirs = tree.log_dirs.iter().map(|dir| dir.join(name));
    dirs.find(|dir| dir.is_dir())
        .ok_or(DemoError::Missing("topic to leave behind"))
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, DemoError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(DemoError::at(dir))? {
        found.push(entry.map_err(DemoError::at(dir))?.path());
    }
    found.sort();
    Ok(found)
}

fn first_log(dir: &Path) -> Result<PathBuf, DemoError> {
    let is_log = |path: &PathBuf| path.extension().is_some_and(|suffix| suffix == "log");
    let mut files = entries(dir)?.into_iter();
    files
        .find(is_log)
        .ok_or(DemoError::Missing("segment to leave behind"))
}

/// Returns the first partition dir of a topic.
fn first_partition(dir: &Path) -> Result<PathBuf, DemoError> {
    let is_topic = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_dir() && !name.starts_with("__") && !name.contains('.')
    };
    let mut dirs = entries(dir)?.into_iter();
    dirs.find(is_topic).ok_or(DemoError::Missing("partition"))
}

/// Copies the records of a log and its small files, with their times; its indexes are mostly holes, and stay behind.
fn copy_log(from: &Path, to: &Path) -> Result<(), DemoError> {
    fs::create_dir(to).map_err(DemoError::at(to))?;
    for path in entries(from)? {
        let is_index = path
            .extension()
            .is_some_and(|suffix| suffix.to_string_lossy().ends_with("index"));
        if !is_index && let Some(name) = path.file_name() {
            copy_file(&path, &to.join(name))?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Result<(), DemoError> {
    fs::copy(from, to).map_err(DemoError::at(to))?;
    let times = FileTimes::new().set_modified(modified(from)?);
    let file = File::open(to).map_err(DemoError::at(to))?;
    file.set_times(times).map_err(DemoError::at(to))
}

fn modified(path: &Path) -> Result<std::time::SystemTime, DemoError> {
    let metadata = fs::metadata(path).map_err(DemoError::at(path))?;
    metadata.modified().map_err(DemoError::at(path))
}
