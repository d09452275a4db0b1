//! `move` while the broker is down: from the plan to its end and back.

use std::path::Path;

use krescue::demo::{DemoTree, write_crashed};

use crate::support::apply::contents;
use crate::support::fixture::Tree;
use crate::support::lock::hold_lock;
use crate::support::program::{Ran, run};

fn words<'a>(dirs: &'a str, version: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["--log-dirs", dirs, "--kafka-version", version], rest].concat()
}

/// Returns a partition of the first log dir.
fn some_partition(tree: &DemoTree) -> String {
    let names = std::fs::read_dir(&tree.log_dirs[0]).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("__") && !name.contains('.'))
        .collect();
    names.sort();
    names.remove(0)
}

fn moves(home: &Path, tree: &DemoTree, rest: &[&str]) -> Ran {
    let dirs: Vec<&str> = tree
        .log_dirs
        .iter()
        .map(|dir| dir.to_str().unwrap())
        .collect();
    let (dirs, version) = (dirs.join(","), tree.kafka_version.to_string());
    run(home, &words(&dirs, &version, rest))
}

#[test]
fn a_partition_goes_by_plan_and_hash_and_comes_back_by_another_move() {
    let home = tempfile::tempdir().unwrap();
    let tree = write_crashed(home.path()).unwrap();
    let name = some_partition(&tree);
    let [from, to] = [0, 1].map(|at: usize| tree.log_dirs[at].to_str().unwrap());
    let before: Vec<_> = tree.log_dirs.iter().map(|dir| contents(dir)).collect();
    let named = ["move", &name, "--to", to, "--json"];
    let plan = moves(home.path(), &tree, &named).exits(3);
    assert_eq!(plan.kind("run")[0]["command"], "move");
    let line = |ran: &Ran| {
        let mut lines = ran.kind("partition").into_iter();
        lines.find(|line| line["verdict"] == "move").unwrap()
    };
    assert_eq!(line(&plan)["dir_name"], name.as_str());
    assert_eq!(line(&plan)["dir"], from);
    assert_eq!(line(&plan)["to_dir"], to);
    assert_eq!(line(&plan)["lost_bytes"], 0);
    assert_eq!(plan.summary()["lost_bytes"], 0);
    let now: Vec<_> = tree.log_dirs.iter().map(|dir| contents(dir)).collect();
    assert_eq!(now, before);
    let hash = plan.summary()["plan"].as_str().unwrap().to_owned();
    let apply = [&named[..], &["--apply", "--yes", &hash]].concat();
    let ran = moves(home.path(), &tree, &apply).exits(0);
    assert_eq!(line(&ran)["applied"], true);
    assert!(!Path::new(from).join(&name).exists());
    assert!(Path::new(to).join(&name).is_dir());
    // What it is not undone by is told.
    let undo = moves(home.path(), &tree, &["undo", &hash]).exits(4);
    assert!(
        undo.err.contains(&format!("move {name} --to {from}")),
        "{}",
        undo.err
    );
    let there = moves(home.path(), &tree, &named).exits(0);
    assert_eq!(there.summary()["steps"], 0);
    let back = ["move", &name, "--to", from, "--apply", "--yes-to-all"];
    let said = moves(home.path(), &tree, &back).exits(0).out;
    assert!(said.contains(&format!("move {name} --to {to}")), "{said}");
    let now: Vec<_> = tree.log_dirs.iter().map(|dir| contents(dir)).collect();
    for (now, before) in now.iter().zip(&before) {
        let logs = |files: &std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>| {
            let of_logs = files
                .iter()
                .filter(|(path, _)| path.components().count() > 1);
            of_logs
                .map(|(path, bytes)| (path.clone(), bytes.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(logs(now), logs(before));
    }
}

#[test]
fn what_cannot_be_moved_is_refused_before_any_change() {
    let home = tempfile::tempdir().unwrap();
    let tree = write_crashed(home.path()).unwrap();
    let name = some_partition(&tree);
    let to = tree.log_dirs[1].to_str().unwrap();
    for (words, exit, want) in [
        (
            ["move", "nobody-0", "--to", to],
            2,
            "no log dir holds nobody-0",
        ),
        (
            ["move", &name, "--to", "/nowhere"],
            2,
            "is no log dir of this broker",
        ),
        (
            ["move", "__cluster_metadata-0", "--to", to],
            4,
            "never moved",
        ),
    ] {
        let ran = moves(home.path(), &tree, &words).exits(exit);
        assert!(ran.err.contains(want), "{want}: {}", ran.err);
    }
    // Nothing says who else has it.
    let alone = Tree::t4();
    alone.add_log_dir("d2", 2);
    alone.add_partition("d2", "u-0", 1);
    let ran = run(
        &alone.path("."),
        &words(
            "d1,d2",
            "4.4.0",
            &["move", "t-0", "--to", "d2", "--apply", "--yes-to-all"],
        ),
    )
    .exits(4);
    assert!(ran.err.contains("last copy"), "{}", ran.err);
    assert!(alone.path("d1/t-0").is_dir());
}

#[test]
fn a_living_broker_is_told_how_to_move_itself() {
    let tree = Tree::t4();
    tree.add_log_dir("d2", 2);
    let _lock = hold_lock(&tree.path("d1"));
    let ran = run(
        &tree.path("."),
        &words(
            "d1,d2",
            "4.4.0",
            &["move", "t-0", "--to", "d2", "--apply", "--yes-to-all"],
        ),
    )
    .exits(4);
    assert!(
        ran.err.contains("--bootstrap HOST:PORT move t-0 --to d2"),
        "{}",
        ran.err
    );
}
