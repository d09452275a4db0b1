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

#[test]
fn no_look_opens_anything_for_writing() {
    let tree = torn();
    let home = tree.path(".");
    let log = tree.t0(0, "log");
    let looks: [&[&str]; 10] = [
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
    ];
    let watch = Watch::over(&tree.path("d1"));
    for read_only in [&[][..], &["--read-only"]] {
        for look in looks {
            let before = ["--log-dirs", "d1"];
            let ran = run(&home, look, &[&before[..], read_only].concat());
            assert!(matches!(ran.exit, 0 | 3), "{look:?}: {ran:?}");
            assert_eq!(
                watch.changes(),
                Vec::<String>::new(),
                "{look:?} {read_only:?}"
            );
        }
    }
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
