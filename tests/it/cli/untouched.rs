//! Looking opens nothing below a log dir for writing, and neither does anything in a session that is read-only.

use std::path::Path;

use crate::support::apply::copy_tree;
use crate::support::fixture::{SEGMENT, Tree};
use crate::support::program::{Ran, program, ran};
use crate::support::watch::Watch;

/// `T4`, torn, with a lock file and all that a look may want to open.
fn torn() -> Tree {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
    std::fs::remove_file(tree.t0(2000, "index")).unwrap();
    tree.write("d1/.lock", "");
    tree.write("d1/t-0/00000000000000009000.index.krescue.tmp", "half");
    tree
}

fn run(home: &Path, words: &[&str], more: &[&str]) -> Ran {
    let output = program(home).args(more).args(words).output();
    ran(output.unwrap())
}

#[test]
fn a_watch_hears_of_an_open_for_writing_that_writes_nothing() {
    let tree = torn();
    let watch = Watch::over(&tree.path("d1"));
    assert!(std::fs::read(tree.t0(0, "log")).is_ok());
    assert_eq!(watch.changes(), Vec::<String>::new());
    drop(
        std::fs::File::options()
            .append(true)
            .open(tree.t0(0, "log")),
    );
    assert_eq!(watch.changes().len(), 1);
    drop(
        std::fs::File::options()
            .read(true)
            .write(true)
            .open(tree.path("d1/.lock")),
    );
    assert_eq!(watch.changes().len(), 1);
}

/// The same beside a log dir that has room for one of its logs.
fn two_dirs() -> Tree {
    let tree = torn();
    tree.add_log_dir("d2", 2);
    tree.write("d1/t-0/00000000000000009000.log.deleted", "scheduled");
    tree
}

const COMMON: [&str; 4] = ["--log-dirs", "d1,d2", "--kafka-version", "4.4.0"];

#[test]
fn no_look_opens_anything_for_writing() {
    let tree = two_dirs();
    let home = tree.path(".");
    let log = tree.t0(0, "log");
    let looks: [&[&str]; 19] = [
        &["scan"],
        &["scan", "--structure"],
        &["scan", "--json"],
        &["recover"],
        &["recover", "--json", "--like-kafka"],
        &["status"],
        &["jobs"],
        &["dump", log.to_str().unwrap()],
        &["dump", "d1/t-0/00000000000000000000.index"],
        &[],
        &["verify"],
        &["preflight"],
        &["preflight", "--structure"],
        &["preflight", "--fix"],
        &["preflight", "--stop"],
        &["segments", "t-0"],
        &["volumes"],
        &["cleanup", "--leftovers"],
        &["cleanup", "--past-retention", "--quarantine", "none"],
    ];
    let watches = ["d1", "d2"].map(|dir| Watch::over(&tree.path(dir)));
    for read_only in [&[][..], &["--read-only"]] {
        for look in looks {
            let ran = run(&home, look, &[&COMMON[..], read_only].concat());
            assert!(matches!(ran.exit, 0 | 3), "{look:?}: {ran:?}");
            for watch in &watches {
                assert_eq!(
                    watch.changes(),
                    Vec::<String>::new(),
                    "{look:?} {read_only:?}"
                );
            }
        }
    }
}

/// Acts that ask who else has a log, over log dirs whose metadata log says so.
#[test]
fn no_plan_of_a_truncation_or_a_move_opens_anything_for_writing() {
    let tmp = tempfile::tempdir().unwrap();
    let folder = tmp.path();
    krescue::demo::write_crashed(folder).unwrap();
    let dirs = ["data1", "data2"].map(|dir| folder.join(dir));
    let [from, to] = dirs.each_ref().map(|dir| dir.to_str().unwrap());
    let properties = format!(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:9093\n\
         controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n\
         log.dirs={from},{to}\n"
    );
    std::fs::write(folder.join("server.properties"), properties).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().into_string().unwrap()
    };
    let logs = std::fs::read_dir(from).unwrap().map(name);
    let log = logs
        .filter(|name| name.starts_with("orders-"))
        .min()
        .unwrap();
    let looks: [&[&str]; 4] = [
        &["truncate", &log, "--to-offset", "5"],
        &["truncate", &log, "--to-high-watermark"],
        &["move", &log, "--to", to],
        &["cleanup", "--free", "1KiB", "--on", from],
    ];
    let watches = dirs.each_ref().map(|dir| Watch::over(dir));
    for read_only in [&[][..], &["--read-only"]] {
        let common = ["--config", "server.properties", "--kafka-version", "4.4.0"];
        let common = [&common[..], read_only].concat();
        for look in looks {
            let ran = run(folder, look, &common);
            assert!(matches!(ran.exit, 0 | 3), "{look:?}: {ran:?}");
            for watch in &watches {
                assert_eq!(watch.changes(), Vec::<String>::new(), "{look:?}");
            }
        }
    }
}

#[test]
fn no_act_of_a_read_only_session_changes_anything() {
    let tree = two_dirs();
    let home = tree.path(".");
    // What an undo would take back, done while that was allowed.
    let all = ["recover", "--apply", "--yes-to-all", "--json"];
    let applied = run(&home, &all, &COMMON).exits(0);
    let plan = applied.summary()["plan"].as_str().unwrap().to_owned();
    tree.write("d1/t-0/leader-epoch-checkpoint", "0\n1\nx 0\n");
    tree.write("d1/t-0/00000000000000009000.log.deleted", "scheduled");
    let acts: [&[&str]; 6] = [
        &["recover"],
        &["undo", &plan],
        &["truncate", "t-0", "--to-offset", "2500"],
        &["cleanup", "--leftovers"],
        &["move", "t-0", "--to", "d2"],
        &["preflight", "--fix"],
    ];
    let before = [tree.fingerprint("d1"), tree.fingerprint("d2")];
    let watches = ["d1", "d2"].map(|dir| Watch::over(&tree.path(dir)));
    for act in acts {
        let words = [act, &["--apply", "--yes-to-all"]].concat();
        let ran = run(&home, &words, &[&COMMON[..], &["--read-only"]].concat());
        assert_eq!(ran.exit, 4, "{act:?}: {ran:?}");
        assert!(ran.err.contains("read-only"), "{act:?}: {}", ran.err);
        for watch in &watches {
            assert_eq!(watch.changes(), Vec::<String>::new(), "{act:?}");
        }
    }
    assert_eq!([tree.fingerprint("d1"), tree.fingerprint("d2")], before);
}

#[test]
fn a_read_only_session_refuses_to_apply_and_its_job_to_run() {
    let tree = torn();
    let home = tree.path(".");
    let common = ["--log-dirs", "d1", "--kafka-version", "4.4.0"];
    let apply = ["recover", "--apply", "--yes-to-all"];
    copy_tree(&tree.path("d1"), &tree.path("copy"));
    let watch = Watch::over(&tree.path("d1"));
    let refused = run(&home, &apply, &[&common[..], &["--read-only"]].concat());
    assert_eq!(refused.exit, 4, "{refused:?}");
    assert_eq!(watch.changes(), Vec::<String>::new());

    // The job's own process, whoever started it.
    let applied = run(&home, &apply, &common);
    assert_eq!(applied.exit, 0, "{applied:?}");
    assert!(!watch.changes().is_empty());
    let jobs = std::fs::read_dir(tree.path("state/krescue/jobs")).unwrap();
    let job = jobs.last().unwrap().unwrap().file_name();
    std::fs::remove_dir_all(tree.path("d1")).unwrap();
    std::fs::rename(tree.path("copy"), tree.path("d1")).unwrap();
    let watch = Watch::over(&tree.path("d1"));
    let ran = run(&home, &["__job", job.to_str().unwrap()], &["--read-only"]);
    assert_eq!(ran.exit, 4, "{ran:?}");
    assert_eq!(watch.changes(), Vec::<String>::new());
    let outcome = tree.path("state/krescue/jobs").join(job).join("outcome");
    let outcome = std::fs::read_to_string(outcome).unwrap();
    assert!(outcome.contains("read-only"), "{outcome}");
}
