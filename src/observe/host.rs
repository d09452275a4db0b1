//! Limits of this host, and the mounts that it is meant to have.

use std::fs;
use std::path::{Path, PathBuf};

use super::kernel_records::each_line;
use super::unit::{UNIT_DIRS, list};

/// A mount that `/etc/fstab` or a mount unit names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedMount {
    /// Where.
    pub mount_point: PathBuf,
    /// What (`UUID=…`, `/dev/sdb1`).
    pub source: String,
    /// Who says so (`/etc/fstab line 7`, `/etc/systemd/system/data.mount`).
    pub told_by: String,
}

/// Returns `vm.max_map_count`.
pub fn max_map_count(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/sys/vm/max_map_count")).ok()?;
    text.trim().parse().ok()
}

/// Returns how many files a process may have open: its hard limit, to which a JVM raises its soft one.
pub fn open_files_of(root: &Path, pid: u32) -> Option<u64> {
    let text = fs::read_to_string(root.join(format!("proc/{pid}/limits"))).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    let hard = line.split_whitespace().nth(1)?;
    if hard == "unlimited" {
        Some(u64::MAX)
    } else {
        hard.parse().ok()
    }
}

/// Returns the mounts that the host is meant to have at its start, those of files that cannot be read left out.
pub fn named_mounts(root: &Path) -> Vec<NamedMount> {
    let mut mounts = Vec::new();
    let fstab = root.join("etc/fstab");
    for (number, line) in fs::read_to_string(&fstab)
        .unwrap_or_default()
        .lines()
        .enumerate()
    {
        if let Some((source, mount_point)) = parse_fstab(line) {
            mounts.push(NamedMount {
                mount_point,
                source,
                told_by: format!("/etc/fstab line {}", number + 1),
            });
        }
    }
    for dir in UNIT_DIRS {
        for (_, file) in list(&root.join(dir), ".mount") {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let value = |key: &str| {
                let mut lines = text.lines().rev().filter_map(|line| line.split_once('='));
                lines
                    .find(|(name, _)| name.trim() == key)
                    .map(|(_, value)| value.trim().to_owned())
            };
            let (Some(source), Some(mount_point)) = (value("What"), value("Where")) else {
                continue;
            };
            if is_volume(&value("Type").unwrap_or_default())
                && !mounts
                    .iter()
                    .any(|known| known.mount_point == Path::new(&mount_point))
            {
                mounts.push(NamedMount {
                    mount_point: PathBuf::from(mount_point),
                    source,
                    told_by: file.display().to_string(),
                });
            }
        }
    }
    mounts
}

fn is_volume(fs_type: &str) -> bool {
    const OTHERS: [&str; 9] = [
        "swap", "proc", "sysfs", "devpts", "debugfs", "tracefs", "fusectl", "configfs", "mqueue",
    ];
    !OTHERS.contains(&fs_type)
}

/// Returns what a line of fstab mounts at the start of the host, and where.
fn parse_fstab(line: &str) -> Option<(String, PathBuf)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let mut fields = line.split_whitespace();
    let (source, point) = (fields.next()?, fields.next()?);
    let (fs_type, options) = (fields.next()?, fields.next().unwrap_or_default());
    let noauto = options.split(',').any(|option| option == "noauto");
    if noauto || !point.starts_with('/') || !is_volume(fs_type) {
        return None;
    }
    // Blanks and the like stand as octal numbers.
    let point = point.replace("\\040", " ").replace("\\011", "\t");
    Some((source.to_owned(), PathBuf::from(point)))
}

/// Returns why a source cannot be mounted, as far as that shows: its device is not there, or the kernel said so.
pub fn mount_error(root: &Path, source: &str) -> Option<String> {
    let by = |kind: &str, name: &str| format!("/dev/disk/by-{kind}/{}", name.trim_matches('"'));
    let device = match source.split_once('=') {
        Some(("UUID", name)) => by("uuid", name),
        Some(("LABEL", name)) => by("label", name),
        Some(("PARTUUID", name)) => by("partuuid", name),
        Some(("PARTLABEL", name)) => by("partlabel", name),
        _ if source.starts_with("/dev/") => source.to_owned(),
        _ => return None,
    };
    let path = super::open_under(root, Path::new(&device));
    if !path.exists() {
        return Some(format!("{device} does not exist: the disk is not there"));
    }
    let real = fs::canonicalize(&path).ok()?;
    let name = real.file_name()?.to_str()?.to_owned();
    let mut last = None;
    let take = |record: &str| {
        let message = record.split_once(';').map(|(_, message)| message);
        if let Some(message) = message.filter(|it| it.contains(&name) && is_error(it)) {
            last = Some(format!("kernel: {message}"));
        }
    };
    // Who may not read it sees no message.
    let _ = each_line(&root.join("dev/kmsg"), take);
    last
}

fn is_error(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    ["error", "fail", "corrupt", "unable to mount", "remount"]
        .iter()
        .any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fstab_and_mount_units_name_volumes() {
        let tmp = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tmp.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "etc/fstab",
            "# comment\nUUID=1 / ext4 defaults 0 1\n/dev/sdb1 /data\\040one xfs noatime 0 2\n\
             /dev/sdc1 /spare xfs noauto 0 2\n/dev/sda2 none swap sw 0 0\n",
        );
        write(
            "etc/systemd/system/data-two.mount",
            "[Mount]\nWhat=/dev/disk/by-label/two\nWhere=/data/two\nType=xfs\n",
        );
        let mounts = named_mounts(tmp.path());
        let found: Vec<(&str, &str)> = mounts
            .iter()
            .map(|mount| (mount.mount_point.to_str().unwrap(), mount.source.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("/", "UUID=1"),
                ("/data one", "/dev/sdb1"),
                ("/data/two", "/dev/disk/by-label/two")
            ]
        );
        assert_eq!(mounts[1].told_by, "/etc/fstab line 3");
    }

    #[test]
    fn a_device_that_is_not_there_is_the_error() {
        let tmp = tempfile::tempdir().unwrap();
        let error = mount_error(tmp.path(), "UUID=\"7f-1\"").unwrap();
        assert!(
            error.starts_with("/dev/disk/by-uuid/7f-1 does not exist"),
            "{error}"
        );
        assert_eq!(mount_error(tmp.path(), "host:/export"), None);
    }

    #[test]
    fn limits_are_read() {
        let tmp = tempfile::tempdir().unwrap();
        fs::create_dir_all(tmp.path().join("proc/7")).unwrap();
        fs::create_dir_all(tmp.path().join("proc/sys/vm")).unwrap();
        fs::write(
            tmp.path().join("proc/7/limits"),
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max open files            1024                 524288               files     \n",
        )
        .unwrap();
        fs::write(tmp.path().join("proc/sys/vm/max_map_count"), "65530\n").unwrap();
        assert_eq!(open_files_of(tmp.path(), 7), Some(524_288));
        assert_eq!(max_map_count(tmp.path()), Some(65_530));
        assert_eq!(open_files_of(tmp.path(), 8), None);
    }
}
