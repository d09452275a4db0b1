//! A tmpfs that only this process and those that it starts see.

use std::io;
use std::path::Path;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

/// Mounts a tmpfs of `bytes` on `dir` in a mount namespace of this process's own: it is gone with the last process in it,
/// however that ends. To be called before a second thread runs.
///
/// # Errors
///
/// Whoever runs it may not mount.
pub fn mount_private_tmpfs(dir: &Path, bytes: u64) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let nothing: Option<&str> = None;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(nothing, "/", nothing, private, nothing)?;
    let size = format!("size={bytes}");
    let kind = Some("tmpfs");
    mount(kind, dir, kind, MsFlags::empty(), Some(size.as_str()))?;
    Ok(())
}

/// Gives a tmpfs that was mounted so another size; not less than what it holds.
///
/// # Errors
///
/// It holds more.
pub fn resize_private_tmpfs(dir: &Path, bytes: u64) -> io::Result<()> {
    let nothing: Option<&str> = None;
    let size = format!("size={bytes}");
    mount(
        nothing,
        dir,
        nothing,
        MsFlags::MS_REMOUNT,
        Some(size.as_str()),
    )?;
    Ok(())
}

/// Unmounts it, also while somebody has a file of it open.
///
/// # Errors
///
/// It is not mounted.
pub fn unmount_private_tmpfs(dir: &Path) -> io::Result<()> {
    Ok(umount2(dir, MntFlags::MNT_DETACH)?)
}
