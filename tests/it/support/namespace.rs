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

/// Says whether mounts of one's own can be had; where this user is not root and the machine has no user namespaces they
/// cannot, which is told in a line. Fails for root, who needs `unshare` only.
#[expect(clippy::print_stdout, reason = "a test says what it does not check")]
pub(crate) fn can_mount() -> bool {
    let tried = unshare().arg("true").output();
    let can = tried.as_ref().is_ok_and(|tried| tried.status.success());
    if !can {
        assert!(
            !nix::unistd::geteuid().is_root(),
            "root needs unshare of util-linux for this test: {tried:?}"
        );
        let thread = std::thread::current();
        println!(
            "{} is not checked: it needs root or user namespaces",
            thread.name().unwrap_or("a test")
        );
    }
    can
}

/// Runs the calling test again inside of a namespace and waits for it; inside returns true, so that the test begins.
/// Where nothing can be mounted it says so and returns false at once.
pub(crate) fn inside() -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    if !can_mount() {
        return false;
    }
    let thread = std::thread::current();
    let Output {
        status,
        stdout,
        stderr,
    } = unshare()
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", thread.name().unwrap(), "--nocapture"])
        .env(INSIDE, if is_root() { "root" } else { "mapped" })
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    assert!(
        status.success() && said.contains("1 passed"),
        "in a namespace: {said}"
    );
    false
}

/// Says whether this user is root of the machine; within a user namespace everybody is called so.
pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root() && std::env::var_os(INSIDE).is_none_or(|who| who != "mapped")
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
