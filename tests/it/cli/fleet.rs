//! `status` for many hosts: one line each, one table of all, a text file for a collector.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::support::fixture::{SEGMENT, Tree};
use crate::support::program::{program, ran, run};

const STATUS: [&str; 6] = [
    "--log-dirs",
    "d1",
    "--kafka-version",
    "4.4.0",
    "status",
    "--json",
];

fn merge(tree: &Tree, lines: &str, more: &[&str]) -> crate::support::program::Ran {
    let mut command = program(&tree.path("."));
    command.args(["status", "--merge", "-"]).args(more);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    ran(child.wait_with_output().unwrap())
}

#[test]
fn a_status_is_one_line_that_says_what_it_did_not_see() {
    let tree = Tree::t4();
    let before = tree.fingerprint(".");
    let ran = run(&tree.path("."), &STATUS).exits(0);
    assert_eq!(tree.fingerprint("."), before, "no lock, no file");
    assert_eq!(ran.out.lines().count(), 1);
    let status: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(status["crash_cost_bytes"], SEGMENT);
    assert_eq!(status["preflight"]["fatal"], 0);
    assert_eq!(status["undecided_asks"], Value::Null, "no plan was made");
    assert!(!status["not_seen"].as_array().unwrap().is_empty());
}

#[test]
fn a_boot_that_will_fail_is_the_situation() {
    let tree = Tree::t4();
    tree.write("d1/t-0/leader-epoch-checkpoint", "0\n1\nx 0\n");
    let ran = run(&tree.path("."), &STATUS).exits(3);
    let status: Value = serde_json::from_str(&ran.out).unwrap();
    let situation = status["situation"].as_str().unwrap();
    assert!(
        situation.starts_with("down, a boot will fail: "),
        "{situation}"
    );
    assert!(
        situation.contains("t-0/leader-epoch-checkpoint line 3"),
        "{situation}"
    );
    assert_eq!(status["preflight"]["fatal"], 1);
}

#[test]
fn an_ask_of_the_latest_plan_is_counted() {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[60_000] ^= 1);
    run(
        &tree.path("."),
        &["--log-dirs", "d1", "--kafka-version", "4.4.0", "recover"],
    )
    .exits(3);
    let ran = run(&tree.path("."), &STATUS);
    let status: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(status["undecided_asks"], 1);
}

#[test]
fn many_hosts_make_one_table_worst_first() {
    let line = |host: &str, fatal: u64, exit: u64| {
        format!(
            "{{\"kind\":\"status\",\"host\":\"{host}\",\"node_id\":1,\"broker\":\"down\",\"scan_bytes\":5,\
             \"preflight\":{{\"fatal\":{fatal},\"loss\":0,\"warning\":0}},\"situation\":\"of {host}\",\"exit\":{exit}}}\n"
        )
    };
    let tree = Tree::t4();
    let lines = format!(
        "{}ssh: connect to host c port 22: Connection refused\nhost-b | {}\n{}",
        line("a", 0, 0),
        line("b", 2, 3),
        line("d", 0, 3)
    );
    let ran = merge(&tree, &lines, &[]).exits(3);
    let rows: Vec<&str> = ran.out.lines().collect();
    assert!(rows[0].starts_with("HOST"), "{}", ran.out);
    let hosts: Vec<&str> = rows[1..4].iter().map(|row| &row[..1]).collect();
    assert_eq!(hosts, ["b", "d", "a"]);
    assert!(rows[4].starts_with("1 lines are no status"), "{}", ran.out);
    let json = merge(&tree, &lines, &["--json"]).exits(3);
    assert_eq!(json.out.lines().count(), 3);
    merge(&tree, &line("a", 0, 0), &[]).exits(0);
    merge(&tree, "nothing\n", &[]).exits(1);
    merge(&tree, "\0\0\n{\"kind\":\"status\"", &[]).exits(1);
}

#[test]
fn a_collector_reads_a_whole_file_or_none() {
    let tree = Tree::t4();
    tree.write("d1/meta.properties", "");
    let path = tree.path("krescue.prom");
    fs::write(&path, "old").unwrap();
    let arguments = [
        "--log-dirs",
        "d1",
        "--kafka-version",
        "4.4.0",
        "status",
        "--prometheus",
        "krescue.prom",
    ];
    run(&tree.path("."), &arguments).exits(3);
    let text = fs::read_to_string(&path).unwrap();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(
            name.starts_with("krescue_") && name.ends_with('}'),
            "{line}"
        );
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    assert!(text.contains("severity=\"fatal\"} 1\n"), "{text}");
    assert!(
        text.contains(&format!(
            "krescue_crash_cost_bytes{{node_id=\"\",cluster_id=\"\"}} {SEGMENT}\n"
        )),
        "{text}"
    );
    assert!(!text.contains("undecided_asks"), "unknown is left out");
    let left = fs::read_dir(tree.path(".")).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().ends_with(".tmp")
    });
    assert_eq!(left.count(), 0);
    let inside = [
        "--log-dirs",
        "d1",
        "status",
        "--prometheus",
        "d1/krescue.prom",
    ];
    run(&tree.path("."), &inside).exits(2);
    assert!(!tree.path("d1/krescue.prom").exists());
}
