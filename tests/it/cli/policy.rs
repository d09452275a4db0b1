//! The host's policy in `/etc/krescue`, in a mount namespace with an `/etc` of its own: enforced whatever is asked for.

use std::path::Path;

use crate::support::apply::contents;
use crate::support::fixture::{BATCH, SEGMENT, Tree};
use crate::support::namespace::{inside, mount_tmpfs};
use crate::support::program::{Ran, run};

/// Makes `/etc/krescue/policy.toml`, in the namespace only.
fn policy(text: &str) {
    let dir = Path::new("/etc/krescue");
    if !dir.exists() {
        mount_tmpfs(Path::new("/etc"), "size=1m");
        std::fs::create_dir(dir).unwrap();
    }
    std::fs::write(dir.join("policy.toml"), text).unwrap();
}

fn torn() -> Tree {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
    tree
}

fn recover(tree: &Tree, more: &[&str]) -> Ran {
    let mut arguments = vec!["--log-dirs", "d1", "--kafka-version", "4.4.0", "recover"];
    arguments.extend(more);
    run(&tree.path("."), &arguments)
}

/// Runs what must be refused with file and line, and change nothing.
fn refused(tree: &Tree, more: &[&str], place: &str) {
    let before = contents(&tree.path("d1"));
    let ran = recover(tree, more).exits(4);
    assert!(ran.err.contains(place), "{}", ran.err);
    assert!(
        ran.err.contains("/etc/krescue/policy.toml line "),
        "{}",
        ran.err
    );
    assert_eq!(contents(&tree.path("d1")), before);
}

fn audit(tree: &Tree) -> Vec<serde_json::Value> {
    run(&tree.path("."), &["audit", "--json"]).exits(0).lines()
}

#[test]
fn a_policy_that_forbids_to_act_beats_every_flag_and_each_attempt_is_in_the_audit() {
    if !inside() {
        return;
    }
    policy("# Fleet\nread_only = true\n");
    let tree = torn();
    refused(
        &tree,
        &["--apply", "--yes-to-all"],
        "this session is read-only (read_only in /etc/krescue/policy.toml line 2)",
    );
    let lines = audit(&tree);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["act"], "refused");
    assert_eq!(lines[0]["what"], "recover");
    assert!(lines[0]["cause"].as_str().unwrap().contains("line 2"));
    // Looking goes on.
    recover(&tree, &["--json"]).exits(3);
}

#[test]
fn a_policy_that_cannot_be_read_refuses_acts_and_names_the_line() {
    if !inside() {
        return;
    }
    policy("read_only = false\nforbid_everything = true\n");
    let tree = torn();
    refused(&tree, &["--apply", "--yes-to-all"], "line 2: unknown field");
    recover(&tree, &["--json"]).exits(3);
}

#[test]
fn answers_ways_and_classes_can_be_forbidden() {
    if !inside() {
        return;
    }
    policy("forbid_yes_to_all = true\n");
    let tree = torn();
    refused(
        &tree,
        &["--apply", "--yes-to-all"],
        "--yes-to-all is forbidden",
    );
    let plan = recover(&tree, &["--json"]).exits(3).summary()["plan"].clone();
    let hash = plan.as_str().unwrap();
    policy("forbid_classes = [\"C\", \"B\"]\n");
    // The plan is stored and named: the job itself refuses it.
    refused(&tree, &["--apply", "--yes", hash], "class B is forbidden");
    let last = audit(&tree).pop().unwrap();
    assert_eq!(
        (&last["act"], &last["outcome"]),
        (&"end".into(), &"refused".into())
    );
    assert_eq!(last["plan"], plan);
    policy("forbid_classes = [\"C\"]\n");
    recover(&tree, &["--apply", "--yes", hash]).exits(0);

    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[BATCH * 50 + 300] ^= 1);
    let plan = recover(&tree, &["--json", "--like-kafka"])
        .exits(3)
        .summary()["plan"]
        .clone();
    policy("forbid_like_kafka = true\n");
    let way = "Kafka's way is forbidden";
    refused(&tree, &["--apply", "--yes-to-all", "--like-kafka"], way);
    refused(&tree, &["--apply", "--yes", plan.as_str().unwrap()], way);
}

#[test]
fn state_dir_and_quarantine_are_those_of_the_policy() {
    if !inside() {
        return;
    }
    let tree = torn();
    let (state, kept) = (tree.path("fleet"), tree.path("kept"));
    policy(&format!(
        "state_dir = \"{}\"\nquarantine_dir = \"{}\"\n",
        state.display(),
        kept.display()
    ));
    refused(
        &tree,
        &["--state-dir", "elsewhere", "--apply", "--yes-to-all"],
        "state_dir in",
    );
    refused(
        &tree,
        &["--quarantine", "none", "--apply", "--yes-to-all"],
        "quarantine_dir in",
    );
    recover(&tree, &["--apply", "--yes-to-all"]).exits(0);
    assert!(state.join("audit.jsonl").exists());
    let kept = contents(&kept);
    assert!(kept.values().any(|bytes| bytes.len() == 1141), "{kept:?}");
}
