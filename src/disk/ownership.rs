//! Owner, group, mode and security attributes that a new file takes over.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Gid, Mode, Uid, XattrFlags};
use rustix::io::{Errno, retry_on_intr};

/// What a file that krescue creates must look like, so that the broker's user can go on with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ownership {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Permission bits.
    pub mode: u32,
    /// Extended attributes: `SELinux`'s label, access lists, and what users noted.
    pub attributes: Vec<(CString, Vec<u8>)>,
}

impl Ownership {
    /// Reads what `path` has; a dir's mode becomes that of a file in it (no execute bits, no set-id bits).
    pub fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        let mode = if metadata.is_dir() {
            metadata.mode() & 0o666
        } else {
            metadata.mode() & 0o7777
        };
        let file = metadata.is_file().then(|| File::open(path));
        let attributes = match file {
            Some(Ok(file)) => attributes(&file),
            _ => Vec::new(),
        };
        Ok(Self {
            uid: metadata.uid(),
            gid: metadata.gid(),
            mode,
            attributes,
        })
    }

    /// Gives them to an open file; owner and group only where they differ.
    pub fn apply(&self, file: &File) -> io::Result<()> {
        let metadata = file.metadata()?;
        if metadata.uid() != self.uid || metadata.gid() != self.gid {
            let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
            retry_on_intr(|| rustix::fs::fchown(file.as_fd(), Some(uid), Some(gid)))?;
        }
        if metadata.mode() & 0o7777 != self.mode {
            let mode = Mode::from_raw_mode(self.mode);
            retry_on_intr(|| rustix::fs::fchmod(file.as_fd(), mode))?;
        }
        for (name, value) in &self.attributes {
            if attribute(file, name).as_ref() == Some(value) {
                continue;
            }
            let set = || rustix::fs::fsetxattr(file, name.as_c_str(), value, XattrFlags::empty());
            match retry_on_intr(set) {
                Ok(()) | Err(Errno::OPNOTSUPP) => {}
                // Without SELinux a label is a privilege, and decides nothing; with it a refusal is another error.
                Err(Errno::PERM) if name.to_bytes() == b"security.selinux" => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The most bytes that names or a value can have on Linux.
const MAX_ATTRIBUTE: usize = 64 << 10;

/// Reads the attributes that a rewritten file keeps; a file system without any has none.
fn attributes(file: &File) -> Vec<(CString, Vec<u8>)> {
    let mut names = vec![0_u8; MAX_ATTRIBUTE];
    let Ok(len) = rustix::fs::flistxattr(file, names.as_mut_slice()) else {
        return Vec::new();
    };
    names.truncate(len);
    names
        .split_inclusive(|byte| *byte == 0)
        .filter_map(|name| CStr::from_bytes_with_nul(name).ok())
        .filter(|name| is_kept(name))
        .filter_map(|name| Some((name.to_owned(), attribute(file, name)?)))
        .collect()
}

fn attribute(file: &File, name: &CStr) -> Option<Vec<u8>> {
    let mut value = vec![0_u8; MAX_ATTRIBUTE];
    let len = rustix::fs::fgetxattr(file, name, value.as_mut_slice()).ok()?;
    value.truncate(len);
    Some(value)
}

/// Hashes and rights that belong to a file's bytes do not pass over to others.
fn is_kept(name: &CStr) -> bool {
    let name = name.to_bytes();
    let of_bytes: [&[u8]; 3] = [b"security.capability", b"security.evm", b"security.ima"];
    name == b"system.posix_acl_access"
        || name.starts_with(b"user.")
        || name.starts_with(b"trusted.")
        || (name.starts_with(b"security.") && !of_bytes.contains(&name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_takes_mode_and_owner_of_its_model() {
        let dir = tempfile::tempdir().unwrap();
        let model = dir.path().join("model");
        std::fs::write(&model, b"x").unwrap();
        std::fs::set_permissions(&model, std::fs::Permissions::from_mode(0o640)).unwrap();
        let file = File::create(dir.path().join("new")).unwrap();
        Ownership::of(&model).unwrap().apply(&file).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o640);
    }

    #[test]
    fn a_dir_lends_its_mode_without_execute_bits() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o750)).unwrap();
        assert_eq!(Ownership::of(dir.path()).unwrap().mode, 0o640);
    }
}
