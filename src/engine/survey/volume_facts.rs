//! What the system says of the volumes of log dirs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::disk::{HeldFile, Volume, VolumeSpace, held_files};
use crate::plan::volumes::{DirProblem, DirUsage, HeldBytes, SpaceFacts, VolumeFacts};

/// Looks at the volumes of `dirs`; their contents are to be filled in, and what others say is wrong with them. Reads the
/// mount table, `statvfs` and the open files of processes.
pub fn volume_facts(dirs: &[PathBuf]) -> Vec<VolumeFacts> {
    let volumes: Vec<Option<Volume>> = dirs.iter().map(|dir| Volume::of(dir).ok()).collect();
    let devices: Vec<u64> = volumes
        .iter()
        .flatten()
        .map(|volume| volume.device)
        .collect();
    let held = held_files(&devices);
    dirs.iter()
        .zip(&volumes)
        .map(|(dir, volume)| facts_of(dir, volume.as_ref(), &held))
        .collect()
}

fn facts_of(dir: &Path, volume: Option<&Volume>, held: &[HeldFile]) -> VolumeFacts {
    let mut problems = Vec::new();
    if let Some(mount_point) = Volume::missing_mount(dir) {
        problems.push(DirProblem::NotMounted { mount_point });
    }
    if volume.is_some_and(|volume| volume.read_only) {
        problems.push(DirProblem::ReadOnly);
    }
    VolumeFacts {
        dir: dir.to_owned(),
        volume: volume.map(Volume::identity),
        mount_point: volume.map(|volume| volume.mount_point.clone()),
        fs_type: volume.map(|volume| volume.fs_type.clone()),
        source: volume.map(|volume| volume.source.clone()),
        options: volume
            .map(|volume| volume.options.clone())
            .unwrap_or_default(),
        space: VolumeSpace::of(dir).ok().map(|space| SpaceFacts {
            total: space.total,
            free: space.free_user,
            free_root: space.free_root,
            inodes: space.inodes,
            free_inodes: space.free_inodes,
        }),
        device_bytes: volume.and_then(|volume| volume.device_bytes),
        problems,
        usage: DirUsage::default(),
        held: volume.map_or_else(Vec::new, |volume| held_on(volume.device, held)),
    }
}

/// Sums what each process holds on one device, the most first.
fn held_on(device: u64, held: &[HeldFile]) -> Vec<HeldBytes> {
    let mut by_process: BTreeMap<u32, HeldBytes> = BTreeMap::new();
    // The largest file of a process comes first.
    for file in held.iter().filter(|file| file.device == device) {
        let sum = by_process.entry(file.pid).or_insert_with(|| HeldBytes {
            pid: file.pid,
            command: file.command.clone(),
            files: 0,
            allocated: 0,
            largest: file.file.clone(),
        });
        sum.files += 1;
        sum.allocated = sum.allocated.saturating_add(file.allocated);
    }
    let mut sums: Vec<HeldBytes> = by_process.into_values().collect();
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.allocated));
    sums
}
