//! The field names of each kind of JSON line.

use std::collections::BTreeMap;

use crate::support::fixture::{SEGMENT, Tree};
use crate::support::program::{Ran, run};

/// Returns the keys of each kind, in the order in which they are printed.
fn shapes(runs: &[Ran]) -> String {
    let mut shapes: BTreeMap<String, String> = BTreeMap::new();
    for line in runs.iter().flat_map(|ran| ran.out.lines()) {
        let keys: Vec<String> = keys_of(line);
        let kind = serde_json::from_str::<serde_json::Value>(line).unwrap()["kind"]
            .as_str()
            .unwrap()
            .to_owned();
        // A line of progress comes after 10 s only; `killed` waits for one.
        if kind == "progress" {
            continue;
        }
        let keys = keys.join(" ");
        let known = shapes.entry(kind).or_insert_with(|| keys.clone());
        if known.len() < keys.len() {
            *known = keys;
        }
    }
    let lines: Vec<String> = shapes
        .into_iter()
        .map(|(kind, keys)| format!("{kind}: {keys}"))
        .collect();
    lines.join("\n")
}

/// Returns the keys of the outermost object, in order.
fn keys_of(line: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut depth = 0_usize;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            '"' => {
                let mut text = String::new();
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => {
                            chars.next();
                        }
                        _ => text.push(c),
                    }
                }
                if depth == 1 && chars.peek() == Some(&':') {
                    keys.push(text);
                }
            }
            _ => {}
        }
    }
    keys
}

#[test]
fn each_kind_has_its_fields() {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
    let home = tree.path(".");
    let runs = [
        run(&home, &["--log-dirs", "d1", "scan", "--json"]),
        run(&home, &["--log-dirs", "d1", "recover", "--json"]),
        run(&home, &["--log-dirs", "d1", "status", "--json"]),
        run(&home, &["--log-dirs", "d1", "volumes", "--json"]),
        run(
            &home,
            &[
                "--log-dirs",
                "d1",
                "--kafka-version",
                "4.4.0",
                "recover",
                "--apply",
                "--yes-to-all",
                "--json",
            ],
        ),
        run(&home, &["jobs", "--json"]),
        run(&home, &["quarantine", "ls", "--json"]),
        run(&home, &["audit", "--json"]),
    ];
    super::assert_snapshot("cli-json-fields", &shapes(&runs));
}

#[test]
fn what_others_rely_on_is_there() {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(SEGMENT - 10));
    let ran = run(&tree.path("."), &["--log-dirs", "d1", "scan", "--json"]);
    for (kind, fields) in [
        ("run", &["schema", "kafka_version", "now"][..]),
        (
            "finding",
            &[
                "code",
                "severity",
                "dir",
                "partition",
                "file",
                "position",
                "offset",
                "lost_bytes",
                "lost_records",
                "text",
                "next",
            ],
        ),
        (
            "segment",
            &[
                "dir",
                "topic",
                "partition",
                "base_offset",
                "next_offset",
                "bytes",
                "allocated",
                "largest_timestamp",
                "verdict",
                "reason",
            ],
        ),
        (
            "partition",
            &[
                "dir",
                "topic",
                "partition",
                "log_start_offset",
                "log_end_offset",
            ],
        ),
        ("summary", &["plan", "class", "exit"]),
    ] {
        let lines = ran.kind(kind);
        assert!(!lines.is_empty(), "{kind}");
        for line in lines {
            for field in fields {
                assert!(line.get(field).is_some(), "{kind} has no {field}: {line}");
            }
        }
    }
    // A run begins with `run` and ends with `summary`.
    assert_eq!(ran.lines()[0]["kind"], "run");
    ran.summary();
}

/// The field names of what frees space and of what judges it.
#[test]
fn each_kind_of_retention_and_cleanup_has_its_fields() {
    let home = tempfile::tempdir().unwrap();
    let demo = krescue::demo::write_crashed(home.path()).unwrap();
    let stale = demo.log_dirs[0].join("t-9.3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5-delete");
    std::fs::create_dir(&stale).unwrap();
    std::fs::write(stale.join("00000000000000000000.log"), vec![7; 9_000]).unwrap();
    let dirs: Vec<&str> = demo
        .log_dirs
        .iter()
        .map(|dir| dir.to_str().unwrap())
        .collect();
    let (all, version) = (dirs.join(","), demo.kafka_version.to_string());
    let look = |words: &[&str]| {
        let named = ["--log-dirs", &all, "--kafka-version", &version];
        run(home.path(), &[&named[..], words, &["--json"]].concat())
    };
    let mut names: Vec<String> = std::fs::read_dir(dirs[0])
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("__") && !name.contains('.') && name.contains('-'))
        .filter(|name| demo.log_dirs[0].join(name).is_dir())
        .collect();
    names.sort();
    let some = names[0].as_str();
    let segments = look(&["segments", some]);
    let free = [
        "cleanup",
        "--free",
        "1MiB",
        "--on",
        dirs[0],
        "--quarantine",
        "none",
    ];
    let cleanup = look(&free);
    let relocation = look(&["move", some, "--to", dirs[1]]);
    let shown =
        |name: &str, ran: &Ran| format!("# {name}\n{}\n", shapes(std::slice::from_ref(ran)));
    let text = [
        shown("segments", &segments),
        shown("cleanup", &cleanup),
        shown("move", &relocation),
    ];
    super::assert_snapshot("cli-json-fields-retention", &text.concat());
}
