//! A second file system, where this user can write to one.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tempfile::TempDir;

use super::namespace::mount;

/// Returns a folder on another file system than that of the temporary folders; `None`, said in a line, where there is none.
#[expect(clippy::print_stdout, reason = "a test says what it does not check")]
pub(crate) fn on_another_volume() -> Option<TempDir> {
    let device = |path: &Path| Some(std::fs::metadata(path).ok()?.dev());
    let here = device(&std::env::temp_dir());
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").unwrap_or_default();
    let places = [
        Path::new("/dev/shm"),
        Path::new(&runtime),
        Path::new("/var/tmp"),
        Path::new(env!("CARGO_TARGET_TMPDIR")),
    ];
    let elsewhere = places
        .iter()
        .filter(|place| device(place) != here)
        .find_map(|place| tempfile::tempdir_in(place).ok());
    if elsewhere.is_none() {
        let thread = std::thread::current();
        println!(
            "{} is not checked: it needs a second file system, such as /dev/shm",
            thread.name().unwrap_or("a test")
        );
    }
    elsewhere
}

/// Returns a folder in memory, where there is one: a tree is written there hundreds of times.
pub(crate) fn fast_tempdir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Gives a mounted tmpfs another option.
pub(crate) fn remount_tmpfs(dir: &Path, option: &str) {
    // Named in full: else `mount` adds the options that it finds, such as owners that a user namespace does not know.
    mount(
        &["-t", "tmpfs", "-o", &format!("remount,{option}"), "tmpfs"],
        dir,
    );
}
