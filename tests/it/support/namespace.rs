//! Mounts for tests: in a mount namespace of their own, where whoever runs the tests is root.

use std::path::Path;
use std::process::{Command, Output};

/// Set inside of the namespace.
const INSIDE: &str = "KRESCUE_TEST_NAMESPACE";

/// Returns `unshare` of util-linux with what gives a command mounts of its own.
pub(crate) fn unshare() -> Command {
    let mut command = Command::new("unshare");
    if !nix::unistd::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "--propagation", "private"]);
    command
}

/// Runs the calling test again inside of a namespace and waits for it; inside returns true, so that the test begins.
///
/// Fails where the machine has neither root nor user namespaces, for then the test says nothing.
pub(crate) fn inside() -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let thread = std::thread::current();
    let Output {
        status,
        stdout,
        stderr,
    } = unshare()
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", thread.name().unwrap(), "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    assert!(
        status.success() && said.contains("1 passed"),
        "run as root, or allow user namespaces: {said}"
    );
    false
}

/// Runs `mount`.
pub(crate) fn mount(arguments: &[&str], on: &Path) {
    let output = Command::new("mount")
        .args(arguments)
        .arg(on)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "mount {arguments:?}: {said}");
}

/// Mounts a tmpfs in a new dir.
pub(crate) fn mount_tmpfs(dir: &Path, options: &str) {
    std::fs::create_dir_all(dir).unwrap();
    mount(&["-t", "tmpfs", "-o", options, "tmpfs"], dir);
}
