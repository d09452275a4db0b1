//! Flags beside `--apply --yes HASH`: those that the plan was made with are fine, others are a usage error.

use crate::support::fixture::{SEGMENT, Tree};
use crate::support::program::{Ran, run};

const COMMON: [&str; 6] = [
    "--log-dirs",
    "d1",
    "--kafka-version",
    "4.4.0",
    "--now",
    "1700000400000",
];

fn krescue(tree: &Tree, words: &[&str]) -> Ran {
    run(&tree.path("."), &[&COMMON[..], words, &["--json"]].concat())
}

fn hash(ran: Ran) -> String {
    let summary = ran.exits(3).summary();
    assert_eq!(summary["stored"], true);
    summary["plan"].as_str().unwrap()[..8].to_owned()
}

/// Log `t-0` asks, `u-0` is torn.
fn damaged() -> Tree {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[57_650] ^= 0xff);
    tree.add_partition("d1", "u-0", 1);
    tree.edit(&tree.path("d1/u-0/00000000000000000000.log"), |bytes| {
        bytes.truncate(SEGMENT - 10);
    });
    tree
}

#[test]
fn what_differs_from_the_stored_recovery_is_named_and_nothing_is_done() {
    let tree = damaged();
    let before = tree.fingerprint("d1");
    let made = [
        "recover",
        "--partition",
        "t-0",
        "u-0",
        "--decide",
        "t-0=cut-here",
    ];
    let hash = hash(krescue(&tree, &made));
    for (flag, more) in [
        ("--hand-over none", &["--hand-over", "none"][..]),
        ("--hand-over clean", &["--hand-over", "clean"]),
        ("--quarantine", &["--quarantine", "none"]),
        ("--quarantine", &["--quarantine", "elsewhere"]),
        ("--like-kafka", &["--like-kafka"]),
        ("--partition", &["--partition", "t-0"]),
        ("--partition", &["--partition", "t-0", "u-0", "v-0"]),
        ("--decide t-0=leave", &["--decide", "t-0=leave"]),
        ("--decide u-0=cut-here", &["--decide", "u-0=cut-here"]),
    ] {
        let words = [&["recover", "--apply", "--yes", &hash][..], more].concat();
        let ran = krescue(&tree, &words).exits(2);
        assert!(ran.err.contains(flag), "{flag}: {}", ran.err);
        assert!(ran.err.contains(&hash), "{flag}: {}", ran.err);
    }
    assert_eq!(tree.fingerprint("d1"), before);
    let quarantine = tree.path("state/krescue/quarantine");
    let quarantine = quarantine.to_str().unwrap();
    let same = ["--hand-over", "verify", "--quarantine", quarantine];
    let words = [&made[..], &same, &["--apply", "--yes", &hash]].concat();
    krescue(&tree, &words).exits(0);
}

#[test]
fn kafka_s_way_is_taken_only_where_the_plan_takes_it() {
    let tree = damaged();
    let left = hash(krescue(&tree, &["recover"]));
    let ran = krescue(
        &tree,
        &["recover", "--apply", "--yes", &left, "--like-kafka"],
    )
    .exits(2);
    assert!(ran.err.contains("--like-kafka"), "{}", ran.err);
    let taken = hash(krescue(&tree, &["recover", "--like-kafka"]));
    krescue(
        &tree,
        &["recover", "--apply", "--yes", &taken, "--like-kafka"],
    )
    .exits(0);
}

#[test]
fn a_fix_keeps_to_its_plan_too() {
    let tree = Tree::t4();
    tree.write("d1/recovery-point-offset-checkpoint", "0\n2\nt 0 3000\n");
    let fix = ["preflight", "--fix"];
    let hash = hash(krescue(&tree, &fix));
    let apply = [&fix[..], &["--apply", "--yes", &hash]].concat();
    let ran = krescue(&tree, &[&apply[..], &["--quarantine", "none"]].concat()).exits(2);
    assert!(ran.err.contains("--quarantine"), "{}", ran.err);
    krescue(&tree, &apply).exits(0);
}

#[test]
fn a_truncation_keeps_to_its_plan_too() {
    let home = tempfile::tempdir().unwrap();
    let demo = krescue::demo::write_crashed(home.path()).unwrap();
    let dirs: Vec<&str> = demo
        .log_dirs
        .iter()
        .map(|dir| dir.to_str().unwrap())
        .collect();
    let (dirs, version) = (dirs.join(","), demo.kafka_version.to_string());
    let now = demo.now.0.to_string();
    let krescue = |more: &[&str]| {
        let named = [
            "--log-dirs",
            &dirs,
            "--kafka-version",
            &version,
            "--now",
            &now,
        ];
        let words = ["truncate", "invoices-0", "--to-offset", "100", "--json"];
        run(home.path(), &[&named[..], &words, more].concat())
    };
    let hash = hash(krescue(&[]));
    for (flag, more) in [
        ("--hand-over none", ["--hand-over", "none"]),
        ("--quarantine", ["--quarantine", "none"]),
    ] {
        let ran = krescue(&[&["--apply", "--yes", &hash][..], &more].concat()).exits(2);
        assert!(ran.err.contains(flag), "{flag}: {}", ran.err);
    }
    krescue(&["--apply", "--yes", &hash]).exits(0);
}
