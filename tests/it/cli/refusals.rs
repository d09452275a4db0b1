//! What is refused before any change (4), and why.

use std::fs::File;

use crate::support::fake_broker::FakeBroker;
use crate::support::fixture::Tree;
use crate::support::lock::hold_lock;
use crate::support::program::{Ran, run};

fn apply(tree: &Tree, more: &[&str]) -> Ran {
    let mut arguments = vec!["--log-dirs", "d1", "recover", "--apply"];
    arguments.extend(more);
    let before = tree.fingerprint("d1");
    let ran = run(&tree.path("."), &arguments);
    assert_eq!(tree.fingerprint("d1"), before, "a refusal changes nothing");
    ran
}

#[test]
fn without_a_terminal_an_answer_is_needed() {
    let tree = Tree::t4();
    let ran = apply(&tree, &["--kafka-version", "4.4.0"]).exits(4);
    assert!(ran.err.contains("--yes HASH"), "{}", ran.err);
    assert!(ran.err.contains("--yes-to-all"), "{}", ran.err);
}

#[test]
fn a_release_that_nobody_named_is_refused() {
    let tree = Tree::t4();
    let ran = apply(&tree, &["--yes-to-all"]).exits(4);
    assert!(ran.err.contains("--kafka-version"), "{}", ran.err);
    for version in ["3.6.2", "4.5.0", "2.8.0"] {
        apply(&tree, &["--yes-to-all", "--kafka-version", version]).exits(4);
    }
}

#[test]
fn read_only_beats_everything() {
    let tree = Tree::t4();
    let more = [
        "--yes-to-all",
        "--kafka-version",
        "4.4.0",
        "--read-only",
        "--allow-write",
    ];
    let ran = apply(&tree, &more).exits(4);
    assert!(ran.err.contains("--read-only"), "{}", ran.err);
    // A plan may be looked at, but is not kept.
    let ran = run(
        &tree.path("."),
        &["--read-only", "recover", "--log-dirs", "d1", "--json"],
    );
    assert_eq!(ran.summary()["stored"], false);
    assert!(!tree.path("state").exists());
}

#[test]
fn a_hash_that_names_no_plan_is_refused() {
    let tree = Tree::t4();
    let ran = apply(
        &tree,
        &["--yes", "0123456789abcdef", "--kafka-version", "4.4.0"],
    )
    .exits(4);
    assert!(ran.err.contains("no plan 0123456789abcdef"), "{}", ran.err);
}

#[test]
fn a_lock_in_any_log_dir_is_a_living_broker() {
    let tree = Tree::t4();
    tree.add_log_dir("d2", 2);
    let _lock = hold_lock(&tree.path("d2"));
    let home = tree.path(".");
    let before = tree.fingerprint("d1");
    let ran = run(
        &home,
        &[
            "--log-dirs",
            "d1,d2",
            "--kafka-version",
            "4.4.0",
            "recover",
            "--apply",
            "--yes-to-all",
            "--json",
        ],
    )
    .exits(4);
    let pid = std::process::id().to_string();
    assert!(ran.err.contains(&pid), "{}", ran.err);
    assert_eq!(ran.summary()["exit"], 4);
    assert_eq!(tree.fingerprint("d1"), before);
    // Looking beside it reads names, sizes and checkpoints only.
    let ran = run(&home, &["--log-dirs", "d1,d2", "scan", "--json"]).exits(0);
    let line = &ran.kind("run")[0];
    assert_eq!(
        (line["broker"].as_str(), line["reading"].as_str()),
        (Some("running"), Some("structure"))
    );
    assert_eq!(line["pid"].to_string(), pid);
    // Batches are read when asked for.
    let ran = run(
        &home,
        &[
            "--log-dirs",
            "d1,d2",
            "scan",
            "--read-batches",
            "--rate",
            "1GiB/s",
            "--json",
        ],
    )
    .exits(0);
    assert_eq!(ran.kind("run")[0]["reading"], "everything");
    let segments = ran.kind("segment");
    assert!(
        segments.iter().any(|segment| segment["batches"] == 100),
        "{segments:?}"
    );
    assert_eq!(tree.fingerprint("d1"), before);
}

/// A broker that uses any log dir of a configuration uses them all, whichever of them were named; copies stand alone.
#[test]
fn a_log_dir_that_was_not_named_keeps_its_broker() {
    let tree = Tree::t4();
    tree.add_log_dir("d2", 2);
    tree.add_log_dir("copy", 3);
    tree.add_partition("copy", "t-0", 1);
    let dirs = ["d1", "d2"].map(|dir| tree.path(dir).display().to_string());
    tree.write(
        "server.properties",
        format!("log.dirs={}\n", dirs.join(",")),
    );
    let before = tree.fingerprint("d1");
    let recover = |dir: &str, state: &str| {
        let arguments = [
            "--config",
            "server.properties",
            "--log-dirs",
            dir,
            "--state-dir",
            state,
            "--kafka-version",
            "4.4.0",
            "recover",
            "--apply",
            "--yes-to-all",
        ];
        run(&tree.path("."), &arguments)
    };
    let ran = recover("d1", "d2/state").exits(2);
    assert!(ran.err.contains("d2"), "{}", ran.err);
    assert!(!tree.path("d2/state").exists());
    let lock = hold_lock(&tree.path("d2"));
    let ran = recover("d1", "state").exits(4);
    assert!(ran.err.contains("d2"), "{}", ran.err);
    assert_eq!(tree.fingerprint("d1"), before);
    recover("copy", "state").exits(0);
    drop(lock);
    recover("d1", "state").exits(0);
}

#[test]
fn a_file_open_for_writing_is_a_living_broker() {
    let tree = Tree::t4();
    let _open = File::options()
        .append(true)
        .open(tree.t0(3000, "log"))
        .unwrap();
    let ran = apply(&tree, &["--yes-to-all", "--kafka-version", "4.4.0"]).exits(4);
    assert!(ran.err.contains("open for writing"), "{}", ran.err);
}

#[test]
fn a_state_dir_or_quarantine_inside_a_log_dir_is_a_usage_error() {
    let tree = Tree::t4();
    for more in [
        ["--state-dir", "d1/state"],
        ["--quarantine", "d1/quarantine"],
    ] {
        let mut arguments = vec!["--yes-to-all", "--kafka-version", "4.4.0"];
        arguments.extend(more);
        apply(&tree, &arguments).exits(2);
    }
}

#[test]
fn a_running_broker_is_known_by_its_process() {
    let tree = Tree::t4();
    let config = tree.path("server.properties");
    tree.write(
        "server.properties",
        format!("log.dirs={}\n", tree.path("d1").display()),
    );
    let broker = FakeBroker::start(&config);
    let pid = broker.id();
    let home = tree.path(".");
    let config = config.display().to_string();
    let status = run(&home, &["--config", &config, "status", "--json"]);
    let status = &status.lines()[0];
    assert_eq!(status["broker"], "running");
    assert_eq!(status["pid"], pid);
    assert_eq!(status["kafka_version"], "4.1.2");
    let source = status["version_source"].as_str().unwrap();
    assert!(
        source.contains(&format!("class path of process {pid}")),
        "{source}"
    );
    let before = tree.fingerprint("d1");
    let ran = run(
        &home,
        &["--config", &config, "recover", "--apply", "--yes-to-all"],
    )
    .exits(4);
    assert!(ran.err.contains(&format!("process {pid}")), "{}", ran.err);
    assert_eq!(tree.fingerprint("d1"), before);
    drop(broker);
    // Its class path is gone with it, so the release must be named again.
    run(
        &home,
        &["--config", &config, "recover", "--apply", "--yes-to-all"],
    )
    .exits(4);
    run(
        &home,
        &[
            "--config",
            &config,
            "--kafka-version",
            "4.1.2",
            "recover",
            "--apply",
            "--yes-to-all",
        ],
    )
    .exits(0);
}

#[test]
fn who_may_not_change_the_files_is_told_so_before_any_change() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| {
        bytes.truncate(bytes.len() - 10);
    });
    if !nix::unistd::geteuid().is_root() {
        // Nobody else's files are at hand: what this user may only read is as good.
        println!("not checked as another user: only root can become somebody else");
        read_only_files_are_told(&tree);
        return;
    }
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(tree.path("."), open).unwrap();
    let state = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(state.path(), Some(65534), Some(65534)).unwrap();
    let before = tree.fingerprint("d1");
    let output = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(env!("CARGO_BIN_EXE_krescue"))
        .args(["--log-dirs", "d1", "--kafka-version", "4.4.0"])
        .arg("--state-dir")
        .arg(state.path())
        .args(["recover", "--apply", "--yes-to-all"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .current_dir(tree.path("."))
        .output();
    let ran = crate::support::program::ran(output.unwrap()).exits(4);
    assert!(
        ran.err.contains("run as the broker's user or as root"),
        "{}",
        ran.err
    );
    assert_eq!(tree.fingerprint("d1"), before);
}

fn read_only_files_are_told(tree: &Tree) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    for entry in std::fs::read_dir(tree.path("d1/t-0")).unwrap() {
        std::fs::set_permissions(entry.unwrap().path(), mode(0o444)).unwrap();
    }
    std::fs::set_permissions(tree.path("d1/t-0"), mode(0o555)).unwrap();
    let before = tree.fingerprint("d1/t-0");
    let words = ["--log-dirs", "d1", "--kafka-version", "4.4.0", "recover"];
    let words = [&words[..], &["--apply", "--yes-to-all"]].concat();
    let ran = run(&tree.path("."), &words).exits(4);
    assert_eq!(tree.fingerprint("d1/t-0"), before);
    std::fs::set_permissions(tree.path("d1/t-0"), mode(0o755)).unwrap();
    assert!(
        ran.err.contains("run as the broker's user or as root"),
        "{}",
        ran.err
    );
}
