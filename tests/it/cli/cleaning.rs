//! `cleanup`: leftovers, then the oldest segments, until enough is free; and back again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::apply::{contents, copy_tree};
use crate::support::fixture::Tree;
use crate::support::namespace::{inside, mount_tmpfs};
use crate::support::program::{Ran, run};

const ID: &str = "3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5";

fn write(tree: &Tree, file: &str, len: usize) {
    let path = tree.path("d1").join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, vec![7; len]).unwrap();
}

/// `T4` with leftovers of each kind.
fn with_leftovers() -> Tree {
    let tree = Tree::t4();
    write(
        &tree,
        &format!("t-9.{ID}-delete/00000000000000000000.log"),
        50_000,
    );
    write(
        &tree,
        &format!("t-9.{ID}-delete/leader-epoch-checkpoint"),
        8,
    );
    write(&tree, "t-0/00000000000000000500.log.deleted", 30_000);
    write(&tree, "t-0/00000000000000000600.log.cleaned", 5_000);
    std::fs::create_dir(tree.path("d1").join(format!("t-6.{ID}-delete"))).unwrap();
    tree
}

fn cleanup(tree: &Tree, words: &[&str]) -> Ran {
    let common = ["--log-dirs", "d1", "--kafka-version", "4.4.0", "cleanup"];
    run(&tree.path("."), &[&common, words].concat())
}

fn tree_of(tree: &Tree) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = contents(&tree.path("d1"));
    files.remove(Path::new(".lock"));
    files
}

/// Returns the dirs in the log dir.
fn dirs(tree: &Tree) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(tree.path("d1"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn leftovers_go_and_nothing_else() {
    let tree = with_leftovers();
    let whole = Tree::t4();
    let plan = cleanup(&tree, &["--leftovers", "--json"]).exits(3);
    assert_eq!(plan.summary()["class"], "A");
    let hash = plan.summary()["plan"].as_str().unwrap().to_owned();
    let before = tree_of(&tree);
    assert!(before.len() > tree_of(&whole).len());
    let ran = cleanup(&tree, &["--leftovers", "--apply", "--yes", &hash, "--json"]).exits(0);
    let freed: u64 = ran
        .kind("partition")
        .iter()
        .map(|line| line["freed_bytes"].as_u64().unwrap())
        .sum();
    assert!(freed >= 85_000, "{freed}");
    assert_eq!(tree_of(&tree), tree_of(&whole));
    assert_eq!(dirs(&tree), ["t-0"]);
    cleanup(&tree, &["--leftovers", "--json"]).exits(0);
}

#[test]
fn leftovers_come_back_from_another_volume() {
    if !inside() {
        return;
    }
    let tree = with_leftovers();
    let before = tree_of(&tree);
    mount_tmpfs(&tree.path("kept"), "size=4m");
    let words = [
        "--leftovers",
        "--quarantine",
        "kept",
        "--apply",
        "--yes-to-all",
        "--json",
    ];
    let ran = cleanup(&tree, &words).exits(0);
    let hash = ran.summary()["plan"].as_str().unwrap().to_owned();
    assert_eq!(dirs(&tree), ["t-0"]);
    let common = ["--log-dirs", "d1", "undo", &hash, "--apply", "--yes-to-all"];
    run(&tree.path("."), &common).exits(0);
    assert_eq!(tree_of(&tree), before);
}

#[test]
fn what_nobody_proves_to_be_a_leftover_stays() {
    let tree = Tree::t4();
    write(
        &tree,
        &format!("t-8.{ID}-stray/00000000000000000000.log"),
        20_000,
    );
    write(
        &tree,
        &format!("t-7.{ID}-future/00000000000000000000.log"),
        9_000,
    );
    write(&tree, "t-0/00000000000000000700.log.swap", 5_000);
    write(&tree, "t-0/00000000000000000800.index.cleaned", 500);
    let before = tree_of(&tree);
    for what in ["--leftovers", "--strays"] {
        let ran = cleanup(&tree, &[what, "--apply", "--yes-to-all", "--json"]).exits(0);
        assert!(
            ran.finding("leftover")["text"]
                .as_str()
                .unwrap()
                .contains("stays")
        );
    }
    assert_eq!(tree_of(&tree), before);
}

#[test]
fn what_may_be_the_last_copy_is_not_taken_without_evidence() {
    let tree = with_leftovers();
    let before = tree_of(&tree);
    let words = ["--free", "300KiB", "--on", "d1", "--quarantine", "none"];
    let apply = [&words[..], &["--apply", "--yes-to-all", "--json"]].concat();
    let ran = cleanup(&tree, &apply).exits(4);
    assert!(ran.err.contains("can be freed"), "{}", ran.err);
    assert_eq!(tree_of(&tree), before);
}

#[test]
fn a_quarantine_on_the_volume_that_is_to_become_free_is_refused() {
    let tree = with_leftovers();
    let words = [
        "--leftovers",
        "--quarantine",
        "kept",
        "--apply",
        "--yes-to-all",
    ];
    let ran = cleanup(&tree, &words).exits(4);
    assert!(ran.err.contains("frees nothing"), "{}", ran.err);
}

/// Runs `cleanup --free` over copies of a crashed broker's log dirs; returns its lines, and what people are shown.
fn ranked_of_demo(size: &str) -> (Ran, String) {
    let home = tempfile::tempdir().unwrap();
    let demo = krescue::demo::write_crashed(home.path()).unwrap();
    let stale = demo.log_dirs[0].join(format!("t-9.{ID}-delete"));
    std::fs::create_dir(&stale).unwrap();
    std::fs::write(stale.join("00000000000000000000.log"), vec![7; 9_000]).unwrap();
    let dirs: Vec<&str> = demo
        .log_dirs
        .iter()
        .map(|dir| dir.to_str().unwrap())
        .collect();
    let (all, version) = (dirs.join(","), demo.kafka_version.to_string());
    let words = ["--log-dirs", &all, "--kafka-version", &version, "cleanup"];
    let free = ["--free", size, "--on", dirs[0], "--quarantine", "none"];
    let words = [&words[..], &free].concat();
    let text = run(home.path(), &words).exits(3).out;
    (
        run(home.path(), &[&words[..], &["--json"]].concat()).exits(3),
        text,
    )
}

#[test]
fn what_can_go_is_ranked_with_its_price_and_a_running_total() {
    let (ran, text) = ranked_of_demo("1MiB");
    let lines = ran.kind("freeable");
    let classes: Vec<&str> = lines
        .iter()
        .map(|line| line["class"].as_str().unwrap())
        .collect();
    let mut sorted = classes.clone();
    sorted.sort_unstable();
    assert_eq!(classes, sorted, "the safest is not first");
    assert!(
        classes.contains(&"A") && classes.contains(&"C"),
        "{classes:?}"
    );
    let mut total = 0;
    for (line, rank) in lines.iter().zip(1..) {
        assert_eq!(line["rank"], rank);
        if line["chosen"] == true {
            total += line["allocated"].as_u64().unwrap();
        }
        assert_eq!(line["total"], total);
        for words in ["loses", "at_boot"] {
            assert!(!line[words].as_str().unwrap().is_empty(), "{line}");
        }
        let is_loss = line["cost"] == "oldest_records";
        assert_eq!(line["lost_bytes"].as_u64().unwrap() > 0, is_loss, "{line}");
        assert_eq!(
            line["log_start_offset"].is_null(),
            line["cost"] == "leftover"
        );
    }
    // What the plan frees is what the chosen lines free.
    assert_eq!(ran.summary()["freed_bytes"], total);
    assert!(total >= 1 << 20, "{total}");
    let needs = &ran.kind("boot_needs")[0];
    let read = needs["read_bytes"].as_u64().unwrap();
    let rate = needs["bytes_per_s"].as_u64().unwrap();
    assert!(read > 0 && needs["free_bytes"].as_u64().unwrap() > 0);
    assert_eq!(needs["seconds"], read.div_ceil(rate));
    assert_eq!(needs["measured"], false);
    for line in ran.kind("doubt") {
        let doubt = line["text"].as_str().unwrap().to_owned();
        assert!(text.contains(&doubt), "{doubt}\n{text}");
    }
    for words in [
        "the safest first",
        "TOTAL",
        "loses nothing that anybody reads",
        "next boot then needs",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn more_than_there_is_is_a_doubt_that_programs_see() {
    let (ran, _) = ranked_of_demo("1TiB");
    let doubts = ran.kind("doubt");
    let texts = doubts.iter().map(|line| line["text"].as_str().unwrap());
    assert!(
        texts
            .clone()
            .any(|text| text.contains("less than asked for")),
        "{doubts:?}"
    );
}

/// A broker's three log dirs with its metadata, on a full volume of their own.
#[test]
fn the_oldest_segments_go_from_a_full_volume_until_enough_is_free() {
    if !inside() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let demo = krescue::demo::write_crashed(home.path()).unwrap();
    let volume = home.path().join("volume");
    mount_tmpfs(&volume, "size=64m");
    let mut dirs = Vec::new();
    for (number, dir) in demo.log_dirs.iter().enumerate() {
        let to = volume.join(format!("d{number}"));
        copy_tree(dir, &to);
        dirs.push(to);
    }
    let filler = std::fs::File::create(volume.join("filler")).unwrap();
    while std::io::Write::write_all(&mut &filler, &[1; 4096]).is_ok() {}
    let free = || rustix::fs::statvfs(&volume).unwrap().f_bfree * 4096;
    assert_eq!(free(), 0);
    let names: Vec<&str> = dirs.iter().map(|dir| dir.to_str().unwrap()).collect();
    let (all, version) = (names.join(","), demo.kafka_version.to_string());
    let before: Vec<_> = dirs.iter().map(|dir| contents(dir)).collect();
    let words = |rest: &[&'static str]| {
        let mut words = vec!["--log-dirs", &all, "--kafka-version", &version, "cleanup"];
        words.extend(["--free", "1MiB", "--on", names[0], "--json"]);
        words.extend(rest);
        run(home.path(), &words)
    };
    let plan = words(&[]).exits(3);
    assert_eq!(plan.summary()["class"], "C", "{}", plan.out);
    let planned: u64 = plan
        .kind("partition")
        .iter()
        .map(|line| line["freed_bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(free(), 0);
    let ran = words(&["--apply", "--yes-to-all"]).exits(0);
    assert!(free() >= 1 << 20, "{}", free());
    assert!(free() <= planned);
    // What went is a prefix of each log, whole segments, and the checkpoint says where the log starts now.
    let mut changed = 0;
    for line in ran.kind("partition") {
        // Leftovers move no log's start.
        if line["lost_segments"] == 0 {
            continue;
        }
        changed += 1;
        let dir = PathBuf::from(line["dir"].as_str().unwrap());
        let name = line["dir_name"].as_str().unwrap();
        assert!(!name.starts_with("__"), "{name}");
        let start = line["log_start_offset"].as_i64().unwrap();
        let mut bases: Vec<i64> = std::fs::read_dir(dir.join(name))
            .unwrap()
            .filter_map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                name.strip_suffix(".log").map(|base| base.parse().unwrap())
            })
            .collect();
        bases.sort_unstable();
        assert_eq!(bases[0], start, "{name}");
        let checkpoint = std::fs::read_to_string(dir.join("log-start-offset-checkpoint")).unwrap();
        let (topic, partition) = name.rsplit_once('-').unwrap();
        let entry = format!("{topic} {partition} {start}");
        assert!(checkpoint.lines().any(|line| line == entry), "{checkpoint}");
        let number = dirs.iter().position(|of| *of == dir).unwrap();
        for (path, bytes) in &contents(&dir) {
            if !path.starts_with(name) {
                continue;
            }
            let old = before[number].get(path);
            if path.ends_with("leader-epoch-checkpoint") {
                let old = epochs(old.unwrap());
                let mut want: Vec<_> = old.iter().copied().filter(|of| of.1 > start).collect();
                let first = old.iter().rfind(|of| of.1 <= start);
                want.splice(..0, first.map(|of| (of.0, start)));
                assert_eq!(epochs(bytes), want, "{name}");
                continue;
            }
            assert_eq!(old, Some(bytes), "{}", path.display());
        }
    }
    assert!(changed > 0);
}

/// Returns the epochs of a checkpoint and where they begin.
fn epochs(bytes: &[u8]) -> Vec<(i64, i64)> {
    let text = std::str::from_utf8(bytes).unwrap();
    let entries = text.lines().skip(2).map(|line| {
        let (epoch, start) = line.split_once(' ').unwrap();
        (epoch.parse().unwrap(), start.parse().unwrap())
    });
    entries.collect()
}

/// Runs what the readme says, as written but for the place and the answers.
#[test]
fn the_walk_through_of_the_readme_frees_a_full_volume() {
    if !inside() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let demo = krescue::demo::write_crashed(home.path()).unwrap();
    let volume = home.path().join("volume");
    mount_tmpfs(&volume, "size=64m");
    let data = volume.join("data1");
    copy_tree(&demo.log_dirs[0], &data);
    let filler = std::fs::File::create(volume.join("filler")).unwrap();
    while std::io::Write::write_all(&mut &filler, &[1; 4096]).is_ok() {}
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let (_, section) = readme.split_once("### When a disk is full").unwrap();
    let block = section.split("```").nth(1).unwrap();
    let commands: Vec<&str> = block
        .lines()
        .filter_map(|line| line.strip_prefix("krescue "))
        .collect();
    assert_eq!(commands.len(), 5);
    for command in commands {
        let command = command.split('#').next().unwrap();
        let place = data.to_str().unwrap();
        let version = demo.kafka_version.to_string();
        let mut words: Vec<String> = vec!["--log-dirs".into(), place.into()];
        words.extend(["--kafka-version".into(), version]);
        words.extend(
            command
                .split_whitespace()
                .map(|word| word.replace("/data1", place)),
        );
        let applies = command.contains("--apply");
        if applies {
            words.push("--yes-to-all".to_owned());
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        run(home.path(), &words).exits(if applies { 0 } else { 3 });
    }
    let free = rustix::fs::statvfs(&volume).unwrap().f_bfree * 4096;
    assert!(free >= 256 << 10, "{free}");
}
