//! What is typed wrong, and the help.

use crate::support::fixture::Tree;
use crate::support::program::run;

#[test]
fn what_is_not_a_command_or_an_option_is_usage() {
    let tree = Tree::t4();
    for arguments in [
        &["truncate", "t-0"][..],
        &["volumes", "--full-at", "much"],
        &["frobnicate"],
        &["scan", "--nonsense"],
        &["scan", "--now", "yesterday"],
        &["scan", "--threads", "0"],
        &["scan", "--structure", "--read-batches"],
        &["recover", "--yes-to-all"],
        &["recover", "--apply", "--yes", "abc"],
        &["recover", "--hand-over", "maybe"],
        &["recover", "--partition", "t"],
        &[
            "recover",
            "--log-dirs",
            "d1",
            "--hand-over",
            "clean",
            "--partition",
            "t-0",
        ],
        &["recover", "--log-dirs", "d1", "--partition", "nowhere-0"],
        &["scan", "--log-dirs", "d1", "--kafka-version", "new"],
        &["scan", "--config", "d1/nowhere.properties"][..2],
        &["stop", "../etc"],
        &["demo", "crashed", "--size", "1GiB"],
        &["demo", "imaginary"],
    ] {
        let ran = run(&tree.path("."), arguments);
        assert_eq!(ran.exit, 2, "{arguments:?}: {} {}", ran.out, ran.err);
        assert!(!ran.err.is_empty(), "{arguments:?}");
    }
}

#[test]
fn what_krescue_calls_itself_is_not_shown() {
    let tree = Tree::t4();
    let help = run(&tree.path("."), &["-h"]).exits(0).out;
    assert!(!help.contains("__job"), "{help}");
}

#[test]
fn help_tells_the_contract() {
    let tree = Tree::t4();
    let home = tree.path(".");
    super::assert_snapshot("cli-help", &run(&home, &["--help"]).exits(0).out);
    super::assert_snapshot("cli-help-scan", &run(&home, &["scan", "-h"]).exits(0).out);
    super::assert_snapshot(
        "cli-help-recover",
        &run(&home, &["recover", "-h"]).exits(0).out,
    );
    super::assert_snapshot(
        "cli-help-truncate",
        &run(&home, &["truncate", "-h"]).exits(0).out,
    );
}

#[test]
fn completions_and_manual_name_every_command() {
    let tree = Tree::t4();
    let home = tree.path(".");
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&home, &["completions", shell]).exits(0).out;
        assert!(script.contains("recover"), "{shell}");
    }
    let manual = run(&home, &["man"]).exits(0).out;
    for command in [
        "scan", "recover", "truncate", "dump", "status", "jobs", "stop", "demo",
    ] {
        assert!(manual.contains(command), "{command}");
    }
    assert!(!manual.contains("__job"));
    let version = run(&home, &["--version"]).exits(0).out;
    assert_eq!(
        version.trim(),
        concat!("krescue ", env!("CARGO_PKG_VERSION"))
    );
}
