//! `recover --apply`: from the plan to the job's end.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::fixture::{SEGMENT, Tree};
use crate::support::program::{Ran, program, run};

/// The options of every apply here.
const COMMON: [&str; 8] = [
    "--log-dirs",
    "d1",
    "--kafka-version",
    "4.4.0",
    "--now",
    "1700000400000",
    "recover",
    "--json",
];

fn recover(tree: &Tree, more: &[&str]) -> Ran {
    let mut arguments = COMMON.to_vec();
    arguments.extend(more);
    run(&tree.path("."), &arguments)
}

fn torn() -> Tree {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
    tree
}

fn checkpoint(tree: &Tree) -> String {
    fs::read_to_string(tree.path("d1/recovery-point-offset-checkpoint")).unwrap()
}

/// The file that is cut lies under its `.swap` name until a step before renames it.
#[test]
fn a_swap_with_a_torn_tail_is_completed_and_cut() {
    let tree = torn();
    for suffix in ["log", "index", "timeindex"] {
        let path = tree.t0(3000, suffix);
        fs::rename(&path, path.with_extension(format!("{suffix}.swap"))).unwrap();
    }
    let all = ["--like-kafka", "--apply", "--yes-to-all"];
    let ran = recover(&tree, &all).exits(0);
    assert_eq!(ran.kind("partition")[0]["log_end_offset"], 3990);
    let len = fs::metadata(tree.t0(3000, "log")).unwrap().len();
    assert_eq!(len, u64::try_from(SEGMENT - 1151).unwrap());
    assert!(!tree.t0(3000, "log.swap").exists());
    recover(&tree, &all).exits(0);
}

#[test]
fn an_apply_that_asks_nothing_reaches_the_planned_end() {
    let tree = torn();
    let ran = recover(&tree, &["--apply", "--yes-to-all"]).exits(0);
    assert_eq!(ran.kind("partition").len(), 1, "{}", ran.out);
    let partition = &ran.kind("partition")[0];
    assert_eq!(partition["applied"], true);
    assert_eq!(partition["log_start_offset"], 0);
    assert_eq!(partition["log_end_offset"], 3990);
    let summary = ran.summary();
    assert_eq!(summary["class"], "B");
    assert!(summary["job"].is_string());
    let len = fs::metadata(tree.t0(3000, "log")).unwrap().len();
    assert_eq!(len, u64::try_from(SEGMENT - 1151).unwrap());
    // The hand-over is `verify`: the recovery point is the end, and no marker lies there.
    assert_eq!(checkpoint(&tree), "0\n1\nt 0 3990\n");
    assert!(!tree.path("d1/.kafka_cleanshutdown").exists());
    // What was cut is in the quarantine.
    let quarantined = files_below(&tree.path("state/krescue/quarantine"));
    assert!(
        quarantined.iter().any(|bytes| bytes.len() == 1141),
        "{quarantined:?}"
    );
    // A second run has nothing to do.
    let again = recover(&tree, &["--apply", "--yes-to-all"]).exits(0);
    assert_eq!(again.summary()["steps"], 0);
    let jobs = run(&tree.path("."), &["jobs", "--json"]).exits(0);
    assert_eq!(jobs.kind("job")[0]["state"], "done");
    assert_eq!(jobs.kind("job")[0]["confirmed"], "yes_to_all");
    assert!(!jobs.kind("progress").is_empty());
}

/// Returns the contents of all files below a dir.
fn files_below(dir: &std::path::Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                found.push(fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_stored_plan_is_named_by_its_hash() {
    let tree = torn();
    let shown = recover(&tree, &[]).exits(3).summary();
    assert_eq!(shown["stored"], true);
    let hash = shown["plan"].as_str().unwrap().to_owned();
    let applied = recover(&tree, &["--apply", "--yes", &hash[..8]]).exits(0);
    assert_eq!(applied.summary()["plan"], hash.as_str());
    // The tree is another one now, and the plan is not for it.
    let refused = recover(&tree, &["--apply", "--yes", &hash]).exits(4);
    assert_eq!(refused.summary()["exit"], 4);
}

#[test]
fn a_plan_is_named_without_its_log_dirs() {
    let tree = torn();
    let shown = recover(&tree, &[]).exits(3).summary();
    let hash = shown["plan"].as_str().unwrap();
    let home = tree.path(".");
    run(&home, &["recover", "--apply", "--yes", hash, "--json"]).exits(0);
    assert_eq!(checkpoint(&tree), "0\n1\nt 0 3990\n");
}

#[test]
fn a_plan_for_other_log_dirs_is_refused() {
    let tree = torn();
    tree.add_log_dir("d2", 2);
    let shown = recover(&tree, &[]).exits(3).summary();
    let hash = shown["plan"].as_str().unwrap();
    let home = tree.path(".");
    run(
        &home,
        &["--log-dirs", "d2", "recover", "--apply", "--yes", hash],
    )
    .exits(4);
}

#[test]
fn a_plan_with_a_guessed_release_needs_the_release_to_be_named() {
    let tree = torn();
    let home = tree.path(".");
    let shown = run(&home, &["--log-dirs", "d1", "recover", "--json"])
        .exits(3)
        .summary();
    let hash = shown["plan"].as_str().unwrap();
    run(&home, &["recover", "--apply", "--yes", hash]).exits(4);
    run(
        &home,
        &[
            "recover",
            "--apply",
            "--yes",
            hash,
            "--kafka-version",
            "4.4.0",
        ],
    )
    .exits(0);
}

#[test]
fn an_ask_is_left_and_kafka_s_way_is_taken_when_told() {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[57_650] ^= 0xff);
    let before = tree.fingerprint("d1/t-0");
    let ran = recover(&tree, &["--apply", "--yes-to-all", "--hand-over", "clean"]).exits(3);
    assert_eq!(ran.summary()["ask"], 1);
    assert_eq!(tree.fingerprint("d1/t-0"), before);
    assert!(!tree.path("d1/.kafka_cleanshutdown").exists());
    let ran = recover(
        &tree,
        &[
            "--like-kafka",
            "--hand-over",
            "none",
            "--quarantine",
            "none",
            "--apply",
            "--yes-to-all",
        ],
    )
    .exits(0);
    assert_eq!(ran.kind("partition")[0]["log_end_offset"], 1500);
    assert_eq!(fs::metadata(tree.t0(1000, "log")).unwrap().len(), 57_550);
    assert!(!tree.t0(2000, "log").exists());
    // `none` writes no checkpoint.
    assert_eq!(checkpoint(&tree), "0\n1\nt 0 0\n");
}

#[test]
fn clean_leaves_an_empty_marker() {
    let tree = torn();
    recover(&tree, &["--apply", "--yes-to-all", "--hand-over", "clean"]).exits(0);
    assert_eq!(fs::read(tree.path("d1/.kafka_cleanshutdown")).unwrap(), b"");
    let status = run(&tree.path("."), &["--log-dirs", "d1", "status", "--json"]).exits(0);
    assert_eq!(status.lines()[0]["dirs"][0]["state"], "clean");
    // A clean dir with nothing to do keeps its marker.
    recover(&tree, &["--apply", "--yes-to-all"]).exits(0);
    assert!(tree.path("d1/.kafka_cleanshutdown").exists());
}

#[test]
fn only_the_selected_partitions_are_touched() {
    let tree = torn();
    tree.add_partition("d1", "u-0", 1);
    tree.edit(&tree.path("d1/u-0/00000000000000000000.log"), |bytes| {
        bytes.truncate(SEGMENT - 10);
    });
    let before = tree.fingerprint("d1/u-0");
    let ran = recover(&tree, &["--apply", "--yes-to-all", "--partition", "t-0"]).exits(0);
    assert_eq!(tree.fingerprint("d1/u-0"), before);
    assert_eq!(fs::metadata(tree.t0(3000, "log")).unwrap().len(), 113_949);
    assert_eq!(ran.summary()["skipped"], 1);
}

#[test]
fn a_signal_stops_in_the_middle_and_a_rerun_goes_on() {
    let tree = Tree::t4();
    for number in 0..200 {
        let name = format!("p-{number}");
        tree.add_partition("d1", &name, 1);
        let log = tree.path("d1").join(&name).join("00000000000000000000.log");
        tree.edit(&log, |bytes| bytes.truncate(SEGMENT - 10));
    }
    // Without a clock of its own, so that the rerun takes that of the first.
    let arguments: Vec<&str> = COMMON
        .into_iter()
        .filter(|argument| !["--now", "1700000400000"].contains(argument))
        .collect();
    let mut child = program(&tree.path("."))
        .args(&arguments)
        .args(["--apply", "--yes-to-all", "--threads", "1"])
        .stdout(fs::File::create(tree.path("out")).unwrap())
        .spawn()
        .unwrap();
    // As soon as its job has a folder.
    let jobs = tree.path("state/krescue/jobs");
    let started = Instant::now();
    while fs::read_dir(&jobs).map_or(0, Iterator::count) == 0
        && started.elapsed() < Duration::from_mins(1)
    {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before its job began"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let exit = child.wait().unwrap().code().unwrap();
    // It may have been through before the signal came.
    assert!(matches!(exit, 0 | 5), "{exit}");
    let out = fs::read_to_string(tree.path("out")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(summary["exit"], exit);
    let first: serde_json::Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    let again = run(
        &tree.path("."),
        &[&arguments[..], &["--apply", "--yes-to-all"]].concat(),
    )
    .exits(0);
    assert_eq!(again.kind("run")[0]["now"] == first["now"], exit == 5);
    assert_eq!(again.kind("partition").len(), 201);
    assert!(
        again
            .kind("partition")
            .iter()
            .all(|line| line["applied"] == true)
    );
}

#[test]
fn stop_names_a_job() {
    let tree = torn();
    recover(&tree, &["--apply", "--yes-to-all"]).exits(0);
    let home = tree.path(".");
    let jobs = run(&home, &["jobs", "--json"]).exits(0);
    let id = jobs.kind("job")[0]["id"].as_str().unwrap().to_owned();
    let stop = run(&home, &["stop", &id]).exits(0);
    assert!(stop.out.contains("does not run"), "{}", stop.out);
    run(&home, &["stop", "20200101T000000-00000000"]).exits(1);
    let text = run(&home, &["jobs"]).exits(0).out;
    assert!(text.contains(&id), "{text}");
}

#[test]
fn a_real_broker_is_recovered_to_a_clean_boot() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("demo");
    fs::create_dir(&folder).unwrap();
    let demo = krescue::demo::write_crashed(&folder).unwrap();
    let config = demo.config.display().to_string();
    let now = demo.now.0.to_string();
    let recover = |more: &[&str]| {
        let mut arguments = vec![
            "--config",
            &config,
            "--now",
            &now,
            "--kafka-version",
            "4.4.0",
            "recover",
            "--json",
        ];
        arguments.extend(more);
        run(home.path(), &arguments)
    };
    let plan = recover(&[]).exits(3);
    let run_line = &plan.kind("run")[0];
    assert_eq!(run_line["node_id"], 1);
    assert!(
        run_line["topic_settings"]
            .as_str()
            .unwrap()
            .contains("__cluster_metadata-0"),
        "{run_line}"
    );
    // The topics' overrides are known, so nothing is said of guesses.
    assert!(
        !plan.codes().contains(&"topic_config_unknown".to_owned()),
        "{:?}",
        plan.codes()
    );
    assert_eq!(plan.summary()["ask"], 1);
    // The ASK is left, and its dir falls back to verify.
    let ran = recover(&["--apply", "--yes-to-all", "--hand-over", "clean"]).exits(3);
    let left: Vec<_> = ran
        .kind("partition")
        .into_iter()
        .filter(|line| line["applied"] == false && line["verdict"] != "skipped")
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0]["dir_name"], "payments-1");
    assert!(!folder.join("data1/.kafka_cleanshutdown").exists());
    assert!(folder.join("data2/.kafka_cleanshutdown").exists());
    // Kafka's way for the rest.
    let ran = recover(&[
        "--apply",
        "--yes-to-all",
        "--hand-over",
        "clean",
        "--like-kafka",
    ])
    .exits(0);
    assert_eq!(ran.summary()["class"], "C");
    assert!(folder.join("data1/.kafka_cleanshutdown").exists());
    // Nothing is left to do, and nothing to tell.
    let again = recover(&[]).exits(0);
    assert_eq!(again.summary()["steps"], 0);
    assert_eq!(again.codes(), Vec::<String>::new());
    let scan = run(home.path(), &["--config", &config, "--now", &now, "scan"]);
    assert!(scan.out.contains("clean"), "{}", scan.out);
}
