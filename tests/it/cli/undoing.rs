//! `undo`: what an apply cut is put back.

use std::fs;

use crate::support::apply::contents;
use crate::support::fixture::{SEGMENT, Tree};
use crate::support::jobs::as_if_killed;
use crate::support::program::{Ran, run};

const RECOVER: [&str; 7] = [
    "--log-dirs",
    "d1",
    "--kafka-version",
    "4.4.0",
    "recover",
    "--apply",
    "--yes-to-all",
];

fn torn() -> Tree {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
    tree
}

/// Recovers; returns the plan's hash.
fn recovered(tree: &Tree, more: &[&str]) -> String {
    let mut arguments = RECOVER.to_vec();
    arguments.push("--json");
    arguments.extend(more);
    let ran = run(&tree.path("."), &arguments).exits(0);
    ran.summary()["plan"].as_str().unwrap().to_owned()
}

fn undo(tree: &Tree, plan: &str, more: &[&str]) -> Ran {
    let mut arguments = vec!["--log-dirs", "d1", "undo", &plan[..8]];
    arguments.extend(more);
    run(&tree.path("."), &arguments)
}

#[test]
fn an_undo_is_shown_then_done_and_everything_is_as_it_was() {
    let tree = torn();
    let before = contents(&tree.path("d1"));
    let plan = recovered(&tree, &[]);
    let recovered = contents(&tree.path("d1"));
    assert_ne!(recovered, before);
    let shown = undo(&tree, &plan, &["--json"]).exits(3);
    let summary = shown.summary();
    assert_eq!(summary["class"], "A");
    assert_eq!(summary["stored"], true);
    let cut = &shown.kind("step");
    let cut = cut.iter().find(|step| step["action"] == "append").unwrap();
    assert_eq!(cut["to"], SEGMENT - 10);
    assert_eq!(shown.kind("partition")[0]["verdict"], "take_back");
    assert_eq!(contents(&tree.path("d1")), recovered, "it was only shown");
    let hash = summary["plan"].as_str().unwrap();
    let text = undo(&tree, &plan, &[]).exits(3).out;
    let takes = format!("plan {} takes {} back", &hash[..8], &plan[..8]);
    assert!(text.contains(&takes), "{text}");
    assert!(text.contains("would be taken back"), "{text}");
    let done = undo(&tree, &plan, &["--apply", "--yes", hash]).exits(0);
    assert!(done.out.contains("taken back"), "{}", done.out);
    assert_eq!(contents(&tree.path("d1")), before);
    let again = undo(&tree, &plan, &[]).exits(4);
    assert!(again.err.contains("it was taken back at"), "{}", again.err);
    // And the plan that was taken back can be made again.
    recovered_again(&tree, &recovered);
}

fn recovered_again(tree: &Tree, want: &std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>) {
    recovered(tree, &[]);
    assert_eq!(contents(&tree.path("d1")), *want);
}

#[test]
fn an_apply_says_how_it_is_taken_back() {
    let tree = torn();
    let ran = run(&tree.path("."), &RECOVER).exits(0);
    assert!(
        ran.out
            .contains("take it back: krescue --log-dirs d1 undo "),
        "{}",
        ran.out
    );
}

#[test]
fn what_cannot_be_taken_back_says_why() {
    let tree = torn();
    let unknown = undo(&tree, "01234567", &[]).exits(4);
    assert!(unknown.err.contains("no plan 01234567"), "{}", unknown.err);
    let plan = recovered(&tree, &["--quarantine", "none"]);
    let none = undo(&tree, &plan, &[]).exits(4);
    assert!(none.err.contains("without a quarantine"), "{}", none.err);

    let tree = torn();
    let plan = recovered(&tree, &[]);
    let log = tree.t0(3000, "log");
    tree.edit(&log, |bytes| bytes.extend([1; 100]));
    let written = undo(&tree, &plan, &[]).exits(4);
    assert!(
        written.err.contains("00000000000000003000.log"),
        "{}",
        written.err
    );
    assert!(
        written.err.contains("since it was carried out"),
        "{}",
        written.err
    );
}

#[test]
fn an_undo_runs_under_its_own_hash_only() {
    let tree = torn();
    let plan = recovered(&tree, &[]);
    let wrong = undo(&tree, &plan, &["--apply", "--yes", &plan[..8]]).exits(2);
    assert!(
        wrong.err.contains("is not the plan that takes"),
        "{}",
        wrong.err
    );
    let asks = undo(&tree, &plan, &["--apply"]).exits(4);
    assert!(asks.err.contains("no terminal"), "{}", asks.err);
    let read_only = undo(&tree, &plan, &["--apply", "--yes-to-all", "--read-only"]).exits(4);
    assert!(read_only.err.contains("--read-only"), "{}", read_only.err);
    undo(&tree, &plan, &["--apply", "--yes-to-all"]).exits(0);
    assert_eq!(
        fs::metadata(tree.t0(3000, "log")).unwrap().len(),
        SEGMENT as u64 - 10
    );
}

#[test]
fn a_killed_job_is_told_of_with_what_goes_on_and_what_takes_it_back() {
    let tree = torn();
    let plan = recovered(&tree, &[]);
    let jobs = tree.path("state/krescue/jobs");
    let job = fs::read_dir(jobs).unwrap().next().unwrap().unwrap().path();
    // As after SIGKILL: the process is gone and said nothing.
    as_if_killed(&job);
    let home = tree.path(".");
    let short = &plan[..8];
    for arguments in [&["jobs"][..], &["--log-dirs", "d1", "status"]] {
        let said = run(&home, arguments).out;
        assert!(
            said.contains(&format!("recover --apply --yes {short}")),
            "{said}"
        );
        assert!(said.contains(&format!(" undo {short}")), "{said}");
    }
}

#[test]
fn a_killed_undo_goes_on_by_its_own_plan() {
    let tree = torn();
    let plan = recovered(&tree, &[]);
    let undone = undo(&tree, &plan, &["--json", "--apply", "--yes-to-all"]).exits(0);
    let hash = undone.summary()["plan"].as_str().unwrap()[..8].to_owned();
    let mut jobs: Vec<_> = fs::read_dir(tree.path("state/krescue/jobs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    jobs.sort_by_key(|job| {
        fs::read_to_string(job.join("spec.json"))
            .unwrap()
            .contains(&hash)
    });
    as_if_killed(&jobs.pop().unwrap());
    let said = run(&tree.path("."), &["jobs"]).out;
    let how = format!("go on: krescue undo {} --apply --yes {hash}", &plan[..8]);
    assert!(said.contains(&how), "{said}");
}

#[test]
fn damage_in_the_quarantine_refuses_an_undo_before_any_change() {
    let tree = torn();
    let plan = recovered(&tree, &[]);
    let recovered = contents(&tree.path("d1"));
    let quarantine = tree.path("state/krescue/quarantine");
    let kept = contents(&quarantine);
    let is_cut = |name: &&std::path::PathBuf| {
        let name = name.to_str().unwrap();
        name.contains(".log~") && name.contains(&plan)
    };
    let cut = quarantine.join(kept.keys().find(is_cut).unwrap());
    tree.edit(&cut, |bytes| bytes[0] ^= 1);
    let refused = undo(&tree, &plan, &["--apply", "--yes-to-all"]).exits(4);
    assert!(
        refused.err.contains("nothing was changed")
            && refused.err.contains("do not fit their hash"),
        "{}",
        refused.err
    );
    assert!(!refused.out.contains("take it back"), "{}", refused.out);
    assert!(contents(&tree.path("d1")) == recovered);
}
