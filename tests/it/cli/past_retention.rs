//! `cleanup --past-retention`: what Kafka would delete now goes, and only that.

use std::time::Duration;

use serde_json::json;

use crate::support::apply::contents;
use crate::support::fixture::{SEGMENT, Tree};
use crate::support::namespace::{inside, mount_tmpfs};
use crate::support::program::{Ran, run};

/// What each call names of the log dirs.
const NAMED: [&str; 6] = [
    "--log-dirs",
    "d1",
    "--topic-config",
    "topics",
    "--kafka-version",
    "4.4.0",
];
const CLEANUP: [&str; 2] = ["cleanup", "--past-retention"];

/// A `T4` of 2023, stopped cleanly just now, with a retention of a day.
fn tree() -> Tree {
    let tree = Tree::t4();
    tree.write("topics", "t retention.ms=86400000\n");
    tree.write("d1/.kafka_cleanshutdown", "");
    tree
}

fn cleanup(tree: &Tree, more: &[&str]) -> Ran {
    // A quarantine on the same volume would free nothing.
    let none = ["--quarantine", "none"];
    let all = [&NAMED[..], &CLEANUP, more, &none].concat();
    run(&tree.path("."), &all)
}

fn names(tree: &Tree) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(tree.path("d1/t-0"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.strip_suffix(".log").is_some())
        .collect();
    names.sort();
    names
}

#[test]
fn a_plan_names_what_goes_and_an_apply_deletes_it_and_moves_the_log_start() {
    let tree = tree();
    let ran = cleanup(&tree, &["--json"]).exits(3);
    assert_eq!(ran.summary()["class"], "B");
    let partition = ran.kind("partition").remove(0);
    assert_eq!(partition["verdict"], "delete");
    assert_eq!(partition["log_start_offset"], 3000);
    assert_eq!(partition["log_end_offset"], 4000);
    assert_eq!(partition["lost_bytes"], 0);
    assert_eq!(names(&tree).len(), 4);
    cleanup(&tree, &["--json", "--apply", "--yes-to-all"]).exits(0);
    // The active one is the broker's: it rolls it first.
    assert_eq!(names(&tree), ["00000000000000003000.log"]);
    let starts = std::fs::read_to_string(tree.path("d1/log-start-offset-checkpoint")).unwrap();
    assert_eq!(starts, "0\n1\nt 0 3000\n");
    assert!(tree.path("d1/.kafka_cleanshutdown").exists());
}

#[test]
fn a_log_whose_compaction_waits_for_its_end_keeps_its_records_and_says_why() {
    let tree = tree();
    tree.write("d1/t-0/00000000000000001000.log.swap", "");
    let ran = cleanup(&tree, &["--json", "--apply", "--yes-to-all"]);
    let finding = ran.finding("swap_incomplete");
    assert_eq!(finding["partition"], "t-0");
    assert_eq!(names(&tree).len(), 4);
}

#[test]
fn a_state_dir_without_room_leaves_the_plan_to_look_at_and_nothing_to_apply() {
    if !inside() {
        return;
    }
    let tree = tree();
    mount_tmpfs(&tree.path("full"), "size=64k");
    let before = contents(&tree.path("d1"));
    let at_full = |more: &[&str]| cleanup(&tree, &[&["--state-dir", "full/state"], more].concat());
    let shown = at_full(&["--json"]).exits(3);
    assert_eq!(shown.summary()["stored"], false);
    assert_eq!(shown.kind("partition")[0]["verdict"], "delete");
    let refused = at_full(&["--apply", "--yes-to-all"]).exits(4);
    assert!(
        refused.err.contains("lies on a full volume"),
        "{}",
        refused.err
    );
    assert_eq!(contents(&tree.path("d1")), before);
}

#[test]
fn topics_that_are_named_go_alone_and_one_that_is_not_there_is_refused() {
    let tree = tree();
    tree.add_partition("d1", "u-0", 2);
    tree.write(
        "topics",
        "t retention.ms=86400000\nu retention.ms=86400000\n",
    );
    tree.write(
        "d1/replication-offset-checkpoint",
        "0\n2\nt 0 4000\nu 0 2000\n",
    );
    let ran = cleanup(&tree, &["u", "--json"]).exits(3);
    let deleted: Vec<_> = ran
        .kind("partition")
        .into_iter()
        .filter(|line| line["verdict"] == "delete")
        .map(|line| line["topic"].clone())
        .collect();
    assert_eq!(deleted, ["u"]);
    cleanup(&tree, &["nobody", "--json"]).exits(2);
    // A partition by its name, under other limits too: good records then.
    let ran = cleanup(&tree, &["t-0", "--what-if", "retention.ms=2h", "--json"]).exits(0);
    let deleted = ran.kind("partition").into_iter();
    let deleted: Vec<_> = deleted
        .filter(|line| line["verdict"] == "delete")
        .map(|line| line["dir_name"].clone())
        .collect();
    assert_eq!(
        deleted,
        Vec::<serde_json::Value>::new(),
        "nothing says who else has it"
    );
    let ran = cleanup(&tree, &["t-0", "--json"]).exits(3);
    let deleted = ran.kind("partition").into_iter();
    let deleted: Vec<_> = deleted
        .filter(|line| line["verdict"] == "delete")
        .map(|line| line["dir_name"].clone())
        .collect();
    assert_eq!(deleted, ["t-0"]);
    cleanup(&tree, &["t-1", "--json"]).exits(2);
}

#[test]
fn a_clock_that_is_far_from_the_last_write_makes_it_class_c() {
    let tree = tree();
    let written = std::fs::metadata(tree.path("topics")).unwrap();
    let old = written.modified().unwrap() - Duration::from_hours(2);
    let all = walk(&tree.path("d1"));
    for path in all {
        let file = std::fs::File::open(path).unwrap();
        file.set_modified(old).unwrap();
    }
    // No metadata says who else has these records: they stay.
    let ran = cleanup(&tree, &["--json"]);
    assert_eq!(ran.summary()["class"], json!(null));
    let said = cleanup(&tree, &[]).out;
    assert!(said.contains("the clock lies 2 h"), "{said}");
}

#[test]
fn a_clock_that_is_given_is_for_looking_only() {
    let tree = tree();
    let at = ["--now", "1700300000000"];
    let ran = cleanup(
        &tree,
        &[&at[..], &["--json", "--apply", "--yes-to-all"]].concat(),
    );
    assert_eq!(ran.exit, 4, "{}", ran.err);
    assert_eq!(names(&tree).len(), 4);
    let ran = cleanup(&tree, &["--json"]);
    let freed = &ran.kind("partition")[0]["freed_bytes"];
    assert!(freed.as_u64().unwrap() >= 3 * SEGMENT as u64, "{freed}");
}

#[test]
fn what_went_comes_back_from_a_quarantine_and_without_one_the_undo_says_why_not() {
    if !inside() {
        return;
    }
    let apply = ["--apply", "--yes-to-all", "--json"];
    let tree = tree();
    tree.write("d1/t-0/leader-epoch-checkpoint", "0\n2\n0 0\n3 2500\n");
    let before = contents(&tree.path("d1"));
    mount_tmpfs(&tree.path("kept"), "size=4m");
    let kept = ["--quarantine", "kept"];
    let go = [&NAMED[..], &CLEANUP, &kept, &apply].concat();
    let ran = run(&tree.path("."), &go).exits(0);
    assert_eq!(names(&tree), ["00000000000000003000.log"]);
    let epochs = std::fs::read(tree.path("d1/t-0/leader-epoch-checkpoint")).unwrap();
    assert_eq!(epochs, b"0\n1\n3 3000\n");
    let hash = ran.summary()["plan"].as_str().unwrap().to_owned();
    run(
        &tree.path("."),
        &[&NAMED[..], &["undo", &hash], &apply].concat(),
    )
    .exits(0);
    assert_eq!(contents(&tree.path("d1")), before);

    let ran = cleanup(&tree, &apply).exits(0);
    let hash = ran.summary()["plan"].as_str().unwrap().to_owned();
    let after = contents(&tree.path("d1"));
    let ran = run(
        &tree.path("."),
        &[&NAMED[..], &["undo", &hash], &apply].concat(),
    );
    assert_ne!(ran.exit, 0);
    assert!(
        ran.err
            .contains("without a quarantine, so nothing was kept"),
        "{}",
        ran.err
    );
    assert_eq!(contents(&tree.path("d1")), after);
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(walk(&path));
        } else {
            paths.push(path);
        }
    }
    paths
}
