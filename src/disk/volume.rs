//! Which volume a log dir lies on, and what that volume can do.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::{DiskAction, DiskError};
use super::mounts::{missing_mount, mount_of, read_mounts};

/// The volume under a log dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// The device's number; equal for all dirs of one file system.
    pub device: u64,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The file system's type (`xfs`).
    pub fs_type: String,
    /// The device or export (`/dev/sdb1`).
    pub source: String,
    /// Whether it is mounted read-only.
    pub read_only: bool,
    /// Whether its disk turns; `None` where the system does not tell, or a hypervisor tells.
    pub rotational: Option<bool>,
    /// The file system's options, with commas.
    pub options: String,
    /// Bytes of the block device below; `None` where there is none.
    pub device_bytes: Option<u64>,
}

/// What is free on a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeSpace {
    /// All bytes.
    pub total: u64,
    /// Bytes that this process may still use.
    pub free: u64,
    /// Bytes that nobody uses, those kept for root among them.
    pub free_root: u64,
    /// Bytes that a process without privileges may still use.
    pub free_user: u64,
    /// All inodes; `None` where the file system makes them as needed.
    pub inodes: Option<u64>,
    /// Bytes of one block.
    pub block: u64,
    /// Inodes that are free; `None` where the file system makes them as needed.
    pub free_inodes: Option<u64>,
}

impl Volume {
    /// Finds the volume of a dir.
    pub fn of(dir: &Path) -> Result<Self, DiskError> {
        let stat = DiskError::of(DiskAction::Stat, dir);
        let real = std::fs::canonicalize(dir).map_err(stat)?;
        let device = std::fs::metadata(&real)
            .map_err(DiskError::of(DiskAction::Stat, dir))?
            .dev();
        let mounts = read_mounts();
        let mount = mount_of(&mounts, &real);
        let numbers = mount.map_or_else(|| device_numbers(device), |mount| mount.device.clone());
        let source = mount.map_or("?", |mount| &mount.source).to_owned();
        Ok(Self {
            device,
            mount_point: mount.map_or_else(|| real.clone(), |mount| mount.mount_point.clone()),
            fs_type: mount.map_or("?", |mount| &mount.fs_type).to_owned(),
            read_only: mount.is_some_and(|mount| mount.read_only),
            rotational: rotational(&numbers).or_else(|| rotational_source(&source)),
            options: mount.map(|mount| mount.options.clone()).unwrap_or_default(),
            device_bytes: device_bytes(&numbers),
            source,
        })
    }

    /// Returns where `dir` should lie: the mount point that `/etc/fstab` names and that is not mounted.
    pub fn missing_mount(dir: &Path) -> Option<PathBuf> {
        let real = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
        missing_mount(&read_mounts(), &real)
    }

    /// Returns what tells file systems apart: subvolumes of one device share its space.
    pub fn identity(&self) -> String {
        if self.source.starts_with("/dev/") {
            self.source.clone()
        } else {
            device_numbers(self.device)
        }
    }

    /// Returns how many errors ext4 has counted on this device since it was made; `None` where nobody counts.
    pub fn counted_errors(&self) -> Option<u64> {
        let name = self.device_name()?;
        let path = Path::new("/sys/fs/ext4").join(name).join("errors_count");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    }

    /// Returns the kernel's name of the block device (`sdb1`).
    pub fn device_name(&self) -> Option<String> {
        let numbers = device_numbers(self.device);
        let link = std::fs::canonicalize(Path::new("/sys/dev/block").join(numbers)).ok()?;
        Some(link.file_name()?.to_str()?.to_owned())
    }

    /// Says whether the files lie on another host: locks and syncs mean less there.
    pub fn is_network(&self) -> bool {
        const NETWORK: [&str; 10] = [
            "nfs",
            "nfs4",
            "cifs",
            "smb3",
            "smbfs",
            "ceph",
            "glusterfs",
            "lustre",
            "9p",
            "afs",
        ];
        NETWORK.contains(&self.fs_type.as_str())
            || self
                .fs_type
                .strip_prefix("fuse.")
                .is_some_and(|kind| ["sshfs", "glusterfs", "ceph", "s3fs"].contains(&kind))
    }

    /// Says whether what lies there is gone after a reboot.
    pub fn is_memory(&self) -> bool {
        matches!(self.fs_type.as_str(), "tmpfs" | "ramfs" | "devtmpfs")
    }
}

impl VolumeSpace {
    /// Asks what is free on the volume of `path`.
    pub fn of(path: &Path) -> Result<Self, DiskError> {
        let stat = rustix::fs::statvfs(path)
            .map_err(|error| DiskError::new(DiskAction::Stat, path, error.into()))?;
        let block = stat.f_frsize.max(1);
        let free_blocks = if rustix::process::geteuid().is_root() {
            stat.f_bfree
        } else {
            stat.f_bavail
        };
        Ok(Self {
            total: stat.f_blocks.saturating_mul(block),
            free: free_blocks.saturating_mul(block),
            free_root: stat.f_bfree.saturating_mul(block),
            free_user: stat.f_bavail.saturating_mul(block),
            inodes: (stat.f_files > 0).then_some(stat.f_files),
            block,
            // btrfs and the like say 0 of 0.
            free_inodes: (stat.f_files > 0).then_some(stat.f_favail),
        })
    }
}

/// Reads how large a block device is.
fn device_bytes(numbers: &str) -> Option<u64> {
    let path = Path::new("/sys/dev/block").join(numbers).join("size");
    let sectors: u64 = std::fs::read_to_string(path).ok()?.trim().parse().ok()?;
    sectors.checked_mul(512)
}

/// Reads whether a block device turns.
fn rotational(numbers: &str) -> Option<bool> {
    turns(&Path::new("/sys/dev/block").join(numbers))
}

/// The same by the device's file, for file systems that hide their device's number (btrfs).
fn rotational_source(source: &str) -> Option<bool> {
    let metadata = std::fs::metadata(source).ok()?;
    rotational(&device_numbers(metadata.rdev()))
}

/// Says whether the disk of a device in sysfs turns; of a partition its disk tells, of a volume made of others those do.
fn turns(device: &Path) -> Option<bool> {
    let real = std::fs::canonicalize(device).ok()?;
    if is_hypervisors(&real) {
        return None;
    }
    let below = std::fs::read_dir(real.join("slaves")).into_iter().flatten();
    let below: Vec<Option<bool>> = below
        .filter_map(|entry| Some(turns(&entry.ok()?.path())))
        .collect();
    if !below.is_empty() {
        return below.into_iter().flatten().reduce(|one, other| one | other);
    }
    ["queue/rotational", "../queue/rotational"]
        .iter()
        .find_map(|file| std::fs::read_to_string(real.join(file)).ok())
        .map(|text| text.trim() == "1")
}

/// Says whether a hypervisor made the disk: such a disk says that it turns, whatever lies behind it.
fn is_hypervisors(device: &Path) -> bool {
    const BUSES: [&str; 3] = ["virtio", "vbd-", "VMBUS"];
    device
        .iter()
        .filter_map(|part| part.to_str())
        .any(|part| BUSES.iter().any(|bus| part.starts_with(bus)))
}

fn device_numbers(device: u64) -> String {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    format!("{major}:{minor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dir_lies_on_a_volume_with_space() {
        let dir = tempfile::tempdir().unwrap();
        let volume = Volume::of(dir.path()).unwrap();
        assert!(!volume.fs_type.is_empty());
        assert!(!volume.is_network());
        let space = VolumeSpace::of(dir.path()).unwrap();
        assert!(space.free <= space.total);
        assert!(Volume::of(&dir.path().join("missing")).is_err());
    }

    #[test]
    fn a_disk_turns_if_it_says_so_and_no_hypervisor_made_it() {
        let sys = tempfile::tempdir().unwrap();
        let device = |path: &str, rotational: &str| {
            let device = sys.path().join(path);
            std::fs::create_dir_all(device.join("queue")).unwrap();
            std::fs::write(device.join("queue/rotational"), rotational).unwrap();
            device
        };
        let disk = device("pci0/ata1/block/sda", "1\n");
        let flash = device("pci0/nvme/nvme0n1", "0\n");
        let guest = device("pci0/virtio1/block/vda", "1\n");
        let partition = disk.join("sda1");
        std::fs::create_dir(&partition).unwrap();
        assert_eq!(turns(&disk), Some(true));
        assert_eq!(turns(&partition), Some(true));
        assert_eq!(turns(&flash), Some(false));
        assert_eq!(turns(&guest), None);
        assert_eq!(turns(&sys.path().join("none")), None);
        let of = |name: &str, parts: &[&PathBuf]| {
            let volume = device(name, "1\n");
            std::fs::create_dir(volume.join("slaves")).unwrap();
            for part in parts {
                let link = volume.join("slaves").join(part.file_name().unwrap());
                std::os::unix::fs::symlink(part, link).unwrap();
            }
            turns(&volume)
        };
        assert_eq!(of("virtual/block/dm-0", &[&guest]), None);
        assert_eq!(of("virtual/block/dm-1", &[&flash, &disk]), Some(true));
        assert_eq!(of("virtual/block/dm-2", &[&flash]), Some(false));
    }
}
