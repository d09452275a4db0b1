//! The mount table, as `/proc/self/mountinfo` tells it.
//!
//! ```text
//! 36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//! id parent major:minor root mount-point options optional... - type source super-options
//! ```

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The device's numbers, `major:minor`.
    pub device: String,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The file system's type.
    pub fs_type: String,
    /// The device or export.
    pub source: String,
    /// Whether this mount or its file system is read-only.
    pub read_only: bool,
    /// Options of this mount and of its file system, with commas.
    pub options: String,
}

/// Reads the mounts that this process sees; empty where there is no `/proc`.
pub fn read_mounts() -> Vec<Mount> {
    let text = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    text.split(|byte| *byte == b'\n')
        .filter_map(parse_mount)
        .collect()
}

/// Returns the mount that holds `path`, an absolute path without links.
pub fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.mount_point))
        // Of two at the same place the later one covers the earlier.
        .max_by_key(|mount| mount.mount_point.components().count())
}

/// Returns the mount point that `/etc/fstab` has for `path` although nothing is mounted there now.
pub(super) fn missing_mount(mounts: &[Mount], path: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string("/etc/fstab").unwrap_or_default();
    missing_of(&text, mounts, path)
}

fn missing_of(fstab: &str, mounts: &[Mount], path: &Path) -> Option<PathBuf> {
    let points = fstab.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        let source = fields.next().filter(|source| !source.starts_with('#'))?;
        let point = fields.next()?;
        (source != "none" && point.starts_with('/')).then_some(point)
    });
    let points = points.map(|point| PathBuf::from(OsString::from_vec(unescape(point.as_bytes()))));
    let deepest = points
        .filter(|point| path.starts_with(point))
        .max_by_key(|point| point.components().count())?;
    let is_mounted = mounts.iter().any(|mount| mount.mount_point == deepest);
    (!is_mounted).then_some(deepest)
}

fn parse_mount(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let separator = fields.iter().position(|field| *field == b"-")?;
    let text = |field: Option<&&[u8]>| Some(String::from_utf8_lossy(field?).into_owned());
    let options = text(fields.get(5))?;
    let super_options = text(fields.get(separator + 3)).unwrap_or_default();
    let has_ro = |options: &str| options.split(',').any(|option| option == "ro");
    Some(Mount {
        device: text(fields.get(2))?,
        mount_point: PathBuf::from(OsString::from_vec(unescape(fields.get(4)?))),
        fs_type: text(fields.get(separator + 1))?,
        source: text(fields.get(separator + 2))?,
        read_only: has_ro(&options) || has_ro(&super_options),
        options: format!("{options},{super_options}"),
    })
}

/// Resolves `\040` and the like.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(octal.unwrap_or(*first));
        rest = if octal.is_some() {
            tail.get(3..).unwrap_or_default()
        } else {
            tail
        };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart_and_the_deepest_mount_counts() {
        let lines: [&[u8]; 3] = [
            b"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw",
            b"90 22 8:17 / /data\\040one rw,noatime shared:2 master:3 - xfs /dev/sdb1 rw,attr2",
            b"91 22 0:50 /x /data\\040one/nfs ro - nfs4 host:/export ro,vers=4.2",
        ];
        let mounts: Vec<Mount> = lines.iter().filter_map(|line| parse_mount(line)).collect();
        assert_eq!(mounts.len(), 3);
        let found = mount_of(&mounts, Path::new("/data one/kafka")).unwrap();
        assert_eq!((found.fs_type.as_str(), found.read_only), ("xfs", false));
        let found = mount_of(&mounts, Path::new("/data one/nfs/kafka")).unwrap();
        assert_eq!((found.fs_type.as_str(), found.read_only), ("nfs4", true));
        let found = mount_of(&mounts, Path::new("/data")).unwrap();
        assert_eq!(found.source, "/dev/vda");
        let fstab = "# data\nUUID=1 / ext4 defaults 0 1\nUUID=2 /data\\040one xfs noatime 0 0\n\
                     UUID=3 /lost xfs defaults 0 0\n/swap none swap sw 0 0\n";
        let missing = |path: &str| missing_of(fstab, &mounts, Path::new(path));
        assert_eq!(missing("/data one/kafka"), None);
        assert_eq!(missing("/lost/kafka"), Some(PathBuf::from("/lost")));
        assert_eq!(missing("/elsewhere"), None);
        assert_eq!(parse_mount(b""), None);
    }
}
