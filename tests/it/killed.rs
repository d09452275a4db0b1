//! A job's process that is killed, stopped or left alone in the middle of an apply, as an operator or the kernel does it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use nix::sys::signal::Signal;

use crate::support::apply::{contents, copy_tree};
use crate::support::fixture::Tree;
use crate::support::jobs::{BegunJob, damaged_logs, halt_job, kill_when_told};
use crate::support::program::{Ran, program, ran, run};

const LOGS: usize = 50;
const ROUNDS: u64 = 20;
/// How often a round is tried whose job was faster than the kill.
const TRIES: usize = 10;

type Files = BTreeMap<PathBuf, Vec<u8>>;

const RECOVER: [&str; 12] = [
    "--log-dirs",
    "d1",
    "--kafka-version",
    "4.4.0",
    "--now",
    "1700000400000",
    "--threads",
    "1",
    "recover",
    "--hand-over",
    "clean",
    "--json",
];

fn recover(tree: &Tree, more: &[&str]) -> Ran {
    run(&tree.path("."), &[&RECOVER[..], more].concat())
}

fn start(tree: &Tree, more: &[&str]) -> Child {
    let mut command = program(&tree.path("."));
    command.args([&RECOVER[..], more].concat());
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Makes and stores the plan; returns its hash.
fn planned(tree: &Tree) -> String {
    let plan = recover(tree, &[]).exits(3).summary();
    plan["plan"].as_str().unwrap().to_owned()
}

/// The damaged logs, and what a run that nobody disturbs makes of them.
struct Undisturbed {
    tree: Tree,
    before: Files,
    want: Files,
    /// How much its job told.
    told: u64,
}

impl Undisturbed {
    fn of(logs: usize) -> Self {
        let tree = damaged_logs(logs);
        let before = contents(&tree.path("d1"));
        copy_tree(&tree.path("d1"), &tree.path("kept"));
        recover(&tree, &["--apply", "--yes-to-all"]).exits(0);
        let want = contents(&tree.path("d1"));
        assert_ne!(want, before);
        let state = tree.path("state/krescue");
        let told = BegunJob::newest(&state).unwrap().told(&state);
        Self {
            tree,
            before,
            want,
            told,
        }
    }

    /// Lays the damaged logs out again, with a state dir of nothing.
    fn again(&self) {
        fs::remove_dir_all(self.tree.path("d1")).unwrap();
        fs::remove_dir_all(self.tree.path("state")).unwrap();
        copy_tree(&self.tree.path("kept"), &self.tree.path("d1"));
    }

    fn now(&self) -> Files {
        contents(&self.tree.path("d1"))
    }

    /// Kills a job in the middle, at `part` of [`ROUNDS`] of what it has to tell; returns its plan's hash.
    fn killed(&self, part: u64) -> String {
        for _ in 0..TRIES {
            self.again();
            let plan = planned(&self.tree);
            let mut child = start(&self.tree, &["--apply", "--yes", &plan]);
            let told = self.told * part / ROUNDS;
            kill_when_told(&mut child, &self.tree.path("state/krescue"), told);
            let ran = ran(child.wait_with_output().unwrap());
            if ran.exit != 0 {
                let ran = ran.exits(1);
                let cause = ran.summary()["cause"].as_str().unwrap().to_owned();
                assert!(cause.contains("was killed"), "{cause}");
                return plan;
            }
        }
        panic!("the job ended before it was killed, {TRIES} times");
    }
}

/// Says the first difference: two trees of 50 logs are no text to read.
#[track_caller]
fn assert_same(now: &Files, want: &Files, what: &str) {
    let differ = |name: &&PathBuf| now.get(*name) != want.get(*name);
    let names: Vec<&PathBuf> = now.keys().chain(want.keys()).filter(differ).collect();
    assert!(names.is_empty(), "{what}: {names:?}");
}

#[test]
fn a_job_that_is_killed_at_any_moment_goes_on_or_is_taken_back() {
    let undisturbed = Undisturbed::of(LOGS);
    let (mut in_between, mut taken_back) = (0, 0);
    for part in 0..ROUNDS {
        let plan = undisturbed.killed(part);
        let half = undisturbed.now();
        in_between += usize::from(half != undisturbed.before && half != undisturbed.want);
        let what = format!("killed at {part} of {ROUNDS}");
        if part % 2 == 1 {
            let undo = ["--log-dirs", "d1", "undo", &plan[..8], "--apply"];
            let undo = [&undo[..], &["--yes-to-all"]].concat();
            let undone = run(&undisturbed.tree.path("."), &undo);
            // Where nothing had begun there is nothing to take back.
            assert!(matches!(undone.exit, 0 | 4), "{what}: {undone:?}");
            // What was half-written under a name of our own stays until a recovery.
            let mut now = undisturbed.now();
            now.retain(|name, _| !name.to_string_lossy().ends_with(".krescue.tmp"));
            assert_same(&now, &undisturbed.before, &what);
            taken_back += usize::from(undone.exit == 0);
        } else {
            recover(&undisturbed.tree, &["--apply", "--yes", &plan]).exits(0);
            assert_same(&undisturbed.now(), &undisturbed.want, &what);
        }
    }
    assert!(
        in_between >= 5,
        "only {in_between} kills met a tree between the two"
    );
    assert!(taken_back >= 3, "only {taken_back} were taken back");
}

/// Reads to the first line of progress, which comes after 10 s, and checks its fields.
fn check_progress(out: &mut impl BufRead, job: &str) {
    let mut lines = out.lines();
    let progress = lines.by_ref().map(|line| {
        let line = line.unwrap();
        serde_json::from_str::<serde_json::Value>(&line).unwrap()
    });
    let line = progress
        .into_iter()
        .find(|line| line["kind"] == "progress")
        .unwrap_or_else(|| panic!("no line of progress"));
    assert_eq!(line["job"], job);
    for field in ["bytes_done", "bytes_total", "logs_done", "logs_total"] {
        assert!(line[field].is_u64(), "{field}: {line}");
    }
    for field in [
        "bytes_per_s",
        "end_time",
        "phase",
        "steps_done",
        "steps_total",
    ] {
        assert!(line.get(field).is_some(), "{field}: {line}");
    }
}

#[test]
fn a_running_job_that_is_asked_to_stop_stops_and_a_rerun_ends_it() {
    let undisturbed = Undisturbed::of(LOGS);
    undisturbed.again();
    let tree = &undisturbed.tree;
    let plan = planned(tree);
    let mut child = start(tree, &["--apply", "--yes", &plan]);
    let job = halt_job(&tree.path("state/krescue"));
    let mut out = BufReader::new(child.stdout.take().unwrap());
    check_progress(&mut out, &job.id);
    let asked = run(&tree.path("."), &["stop", &job.id]).exits(0);
    assert!(
        asked.out.contains("stops after the step at hand"),
        "{}",
        asked.out
    );
    let listed = run(&tree.path("."), &["jobs", "--json"]).exits(0);
    assert_eq!(listed.kind("job")[0]["state"], "running");
    job.signal(Signal::SIGCONT);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let stopped = ran(child.wait_with_output().unwrap()).exits(5);
    let stopped = Ran {
        out: rest,
        ..stopped
    };
    let cause = stopped.summary()["cause"].as_str().unwrap().to_owned();
    assert!(cause.contains("stopped on request"), "{cause}");
    assert_ne!(undisturbed.now(), undisturbed.want);
    let late = run(&tree.path("."), &["stop", &job.id]).exits(0);
    assert!(late.out.contains("does not run"), "{}", late.out);
    recover(tree, &["--apply", "--yes", &plan]).exits(0);
    assert_same(&undisturbed.now(), &undisturbed.want, "after the rerun");
}

/// The last moment: all is done and noted, and only the job's own last word is missing.
#[test]
fn a_job_that_is_killed_behind_its_end_has_ended() {
    let tree = damaged_logs(2);
    recover(&tree, &["--apply", "--yes-to-all"]).exits(0);
    let jobs = || {
        let jobs = run(&tree.path("."), &["jobs", "--json"]).exits(0);
        jobs.kind("job")[0]["state"].clone()
    };
    assert_eq!(jobs(), "done");
    let job = BegunJob::newest(&tree.path("state/krescue")).unwrap();
    fs::remove_file(job.file("outcome")).unwrap();
    assert_eq!(jobs(), "done");
    // Another run of the same plan would have begun later.
    let spec = fs::read_to_string(job.file("spec.json")).unwrap();
    let mut spec: serde_json::Value = serde_json::from_str(&spec).unwrap();
    spec["started_at"] = (spec["started_at"].as_i64().unwrap() + 1).into();
    fs::write(job.file("spec.json"), spec.to_string()).unwrap();
    assert_eq!(jobs(), "killed");
}

#[test]
fn a_plan_is_kept_in_a_state_dir_that_is_not_there_yet() {
    let tree = damaged_logs(1);
    for state in ["fresh", "fresh-too/below"] {
        let ran = recover(&tree, &["--state-dir", state]).exits(3);
        assert_eq!(ran.summary()["stored"], true, "{state}");
    }
}
