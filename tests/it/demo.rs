//! The demo's trees, as the planner sees them.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use krescue::demo::{
    DemoTree, LargeSpec, write_crashed, write_full_disk, write_large, write_retention,
};
use krescue::engine::{PlanSpec, start_plan};
use krescue::plan::{RecoveryPlan, Verdict};

use crate::support::namespace::inside;
use crate::support::program::run;

fn plan(tree: &DemoTree) -> RecoveryPlan {
    let spec = PlanSpec::new(tree.log_dirs.clone(), tree.kafka_version, tree.now);
    start_plan(spec).unwrap().join().unwrap().plan
}

/// Returns the word of each log's verdict.
fn verdicts(plan: &RecoveryPlan) -> BTreeMap<String, &'static str> {
    plan.partitions()
        .map(|log| {
            let word = match &log.verdict {
                Verdict::Nothing => "nothing",
                Verdict::Recover => "recover",
                Verdict::Ask(_) => "ask",
                Verdict::Skipped { .. } => "skipped",
                other => panic!("{}: {other:?}", log.dir_name),
            };
            (log.dir_name.clone(), word)
        })
        .collect()
}

#[test]
fn the_crashed_demo_has_one_decision_and_two_cut_tails() {
    let folder = tempfile::tempdir().unwrap();
    let tree = write_crashed(folder.path()).unwrap();
    let plan = plan(&tree);
    let verdicts = verdicts(&plan);
    assert_eq!(verdicts["payments-1"], "ask");
    assert_eq!(verdicts.values().filter(|word| **word == "ask").count(), 1);
    for name in ["notifications-0", "orders-2"] {
        let log = plan.partitions().find(|log| log.dir_name == name).unwrap();
        assert_eq!(log.verdict, Verdict::Recover);
        assert!(krescue::app::state::shortens(log), "{name}");
    }
}

#[test]
fn the_large_demo_is_good_data_but_for_what_was_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = AtomicBool::new(false);
    let spec = LargeSpec {
        size: 24 << 20,
        cancel: &cancel,
    };
    let mut last = (0, 0);
    let tree = write_large(folder.path(), spec, &mut |done, total| last = (done, total)).unwrap();
    assert!(last.0 > last.1 * 9 / 10 && last.0 <= last.1, "{last:?}");
    let plan = plan(&tree);
    let added: Vec<_> = plan
        .partitions()
        .filter(|log| {
            let number = log.topic_partition.as_ref().unwrap().partition;
            (10..20).contains(&number)
        })
        .collect();
    assert_eq!(added.len(), 48);
    let count = |is: &dyn Fn(&krescue::plan::PartitionPlan) -> bool| {
        added.iter().filter(|log| is(log)).count()
    };
    assert_eq!(count(&|log| matches!(log.verdict, Verdict::Ask(_))), 4);
    let cut = count(&|log| log.verdict == Verdict::Recover && krescue::app::state::shortens(log));
    assert_eq!(cut, 8);
    // All of it is read, since nothing of it was flushed.
    let read: u64 = added.iter().map(|log| log.scan_bytes).sum();
    let there: u64 = added
        .iter()
        .flat_map(|log| &log.segments)
        .map(|s| s.bytes)
        .sum();
    assert!(read > 20 << 20, "{read} of {there}");
    // Closed segments have the indexes that a broker wrote.
    let good = added
        .iter()
        .find(|log| log.dir_name == "clicks-10")
        .unwrap();
    let rewritten: Vec<_> = good.steps.iter().map(|step| step.file.clone()).collect();
    let closed = &good.segments[..good.segments.len() - 1];
    for segment in closed {
        let name = format!("{:020}.index", segment.base_offset.0);
        assert!(!rewritten.contains(&name), "{rewritten:?}");
    }
}

#[test]
fn the_retention_demo_has_segments_that_go_and_segments_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    let tree = write_retention(folder.path()).unwrap();
    let config = tree.config.display().to_string();
    let now = tree.now.0.to_string();
    let arguments = ["--config", &config, "--now", &now, "segments", "--json"];
    let ran = run(folder.path(), &arguments);
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for line in ran.kind("segment") {
        let word = |key: &str| line[key].as_str().unwrap().to_owned();
        *found
            .entry(format!("{} {}", word("verdict"), word("reason")))
            .or_default() += 1;
    }
    for wanted in [
        "delete time",
        "delete size",
        "keep time",
        "keep active",
        "compact dirty_ratio",
    ] {
        assert!(found.contains_key(wanted), "{wanted} in {found:?}");
    }
    let limits = &ran.kind("retention")[0];
    assert!(!limits["retention_ms_source"].is_null());
}

#[test]
fn the_full_disk_demo_has_no_room_and_leftovers_that_make_some() {
    if !inside() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let demo = write_full_disk(folder.path()).unwrap();
    assert_eq!(demo.volume.limit(), None);
    let config = demo.tree.config.display().to_string();
    let now = demo.tree.now.0.to_string();
    let see = |words: &[&str]| {
        let mut arguments = vec!["--config", &config, "--now", &now];
        arguments.extend(words);
        run(folder.path(), &arguments)
    };
    let volumes = see(&["volumes", "--json"]);
    let row = &volumes.kind("volume")[0];
    assert!(row["free"].as_u64().unwrap() < 16 << 10, "{row}");
    assert_eq!(row["fs"], "tmpfs");
    for kind in ["topics", "delete_dirs", "stray_dirs", "deleted_files"] {
        assert!(row["kinds"][kind].as_u64() > Some(0), "{kind}: {row}");
    }
    let texts = |kind: &str, ran: &crate::support::program::Ran| -> String {
        let lines = ran.kind(kind);
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    assert!(texts("finding", &volumes).contains("the volume is full"));
    let leftovers = see(&["cleanup", "--leftovers", "--json"]);
    let steps = texts("step", &leftovers);
    assert!(steps.contains("old-clicks-2"), "{steps}");
    assert!(steps.contains(".log.deleted"), "{steps}");
    // The stray is one by the metadata, and a plan of its own.
    let place = demo.tree.log_dirs[0].display().to_string();
    let strays = see(&["cleanup", "--strays", "--on", &place, "--json"]);
    let strays = texts("step", &strays);
    assert!(strays.contains("returns-0"), "{strays}");
    assert!(!strays.contains("old-clicks"), "{strays}");
    let free = see(&["cleanup", "--free", "512KiB", "--on", &place, "--json"]);
    assert!(texts("finding", &free).contains("java_pid812.hprof"));
    drop(demo.volume);
    assert!(!folder.path().join("data1/meta.properties").exists());
}

#[test]
fn the_recorded_boot_is_whole() {
    use krescue::app::recording::Fact;
    use krescue::observe::server_log::BootEnd;

    let recording = krescue::cli::Recording::read(krescue::demo::boot_recording(), "demo").unwrap();
    assert!(!recording.is_torn);
    let looks: Vec<_> = recording
        .facts
        .iter()
        .filter_map(|recorded| match &recorded.fact {
            Fact::Boot(look) => Some(look),
            _ => None,
        })
        .collect();
    let done: Vec<u64> = looks
        .iter()
        .filter_map(|look| Some(look.progress?.bytes_done))
        .collect();
    assert!(done.is_sorted() && looks.len() > 5, "{done:?}");
    let last = looks.last().unwrap();
    assert_eq!(last.end, Some(BootEnd::Up));
    let progress = last.progress.unwrap();
    assert!(progress.bytes_total > 3_000_000_000);
    assert_eq!(progress.bytes_done, progress.bytes_total);
    let loaded: usize = looks.iter().map(|look| look.finished.len()).sum();
    assert_eq!(loaded as u64, last.logs().1);
}

/// Runs the calling test again where nothing can be mounted, root or not, and waits for it; inside returns true.
///
/// In a user namespace into which nobody mapped its user a process has no privileges. Where there are no such namespaces,
/// whoever is not root may not mount as it is.
fn inside_without_mounts() -> bool {
    const INSIDE: &str = "KRESCUE_TEST_UNPRIVILEGED";
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let is_root = nix::unistd::geteuid().is_root();
    let thread = std::thread::current();
    let again = |command: &mut std::process::Command| {
        command
            .args(["--exact", thread.name().unwrap(), "--nocapture"])
            .env(INSIDE, "1")
            .output()
            .unwrap()
    };
    let this = std::env::current_exe().unwrap();
    let mut output = again(
        std::process::Command::new("unshare")
            .arg("--user")
            .arg(&this),
    );
    if !output.status.success() && !is_root {
        output = again(&mut std::process::Command::new(&this));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{output:?}"
    );
    false
}

#[test]
fn a_full_disk_demo_that_may_not_mount_says_what_it_is_not() {
    if !inside_without_mounts() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let demo = write_full_disk(folder.path()).unwrap();
    let limit = demo.volume.limit().unwrap();
    assert!(
        limit.contains("no volume of its own could be mounted"),
        "{limit}"
    );
    let config = demo.tree.config.display().to_string();
    let now = demo.tree.now.0.to_string();
    let words = [
        "--config",
        &config,
        "--now",
        &now,
        "cleanup",
        "--leftovers",
        "--json",
    ];
    let leftovers = run(folder.path(), &words);
    let steps = leftovers.kind("step");
    assert!(
        steps
            .iter()
            .any(|step| step.to_string().contains("old-clicks-2"))
    );
    // What lies there is left to the folder's owner.
    drop(demo.volume);
    assert!(folder.path().join("data1/meta.properties").exists());
}
