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

/// Returns the words of a text: what stands between other characters than those of a field's name.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'))
}

/// Returns the words behind each kind in the help's list of JSON lines.
fn documented(help: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut current = None;
    let (_, list) = help.split_once("JSON lines (--json)").unwrap();
    for line in list.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        match text.split_once("  ") {
            Some((kind, rest)) if indent == 2 && !kind.contains(' ') => {
                current = Some(kind);
                kinds.entry(kind).or_default().extend(words(rest));
            }
            _ if indent > 2 => {
                if let Some(kind) = current {
                    kinds.entry(kind).or_default().extend(words(text));
                }
            }
            _ => current = None,
        }
    }
    kinds
}

/// Each field of the snapshots above is told of in the help, and what no snapshot has a line of too.
#[test]
fn the_help_names_every_field() {
    let home = tempfile::tempdir().unwrap();
    let help = run(home.path(), &["recover", "--help"]).exits(0).out;
    let (_, list) = help.split_once("JSON lines (--json)").unwrap();
    let anywhere: Vec<&str> = words(list).collect();
    let kinds = documented(&help);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let mut checked = 0;
    for (name, by_kind) in [
        ("cli-json-fields", true),
        ("cli-json-fields-retention", false),
    ] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.snap"))).unwrap();
        for line in text.lines() {
            let Some((kind, keys)) = line.split_once(": kind ") else {
                continue;
            };
            let told = kinds.get(kind).filter(|_| by_kind).unwrap_or(&anywhere);
            for key in keys.split(' ') {
                assert!(told.contains(&key), "{kind} {key} is not in the help");
                checked += 1;
            }
        }
    }
    assert!(checked > 150, "{checked}");
    for (kind, key) in [
        ("partition", "mend"),
        ("step", "create_dir"),
        ("step", "rename_dir"),
        ("finding", "rule"),
        ("finding", "at_boot"),
        ("finding", "line"),
        ("finding", "fix"),
        ("verified", "good"),
    ] {
        assert!(kinds[kind].contains(&key), "{kind} {key}");
    }
}

/// `dump`, `jobs` and `stop` tell their exit codes, and their lines where they have any.
#[test]
fn the_help_of_dump_jobs_and_stop_is_whole() {
    let tree = Tree::t4();
    let home = tree.path(".");
    let help = |command| run(&home, &[command, "--help"]).exits(0).out;
    for command in ["dump", "jobs", "stop"] {
        assert!(help(command).contains("Exit codes"), "{command}");
    }
    let (dump, jobs) = (help("dump"), help("jobs"));
    let told = documented(&dump);
    let base = "d1/t-0/00000000000000003000";
    for file in [
        &format!("{base}.log"),
        &format!("{base}.index"),
        &format!("{base}.timeindex"),
        "d1/recovery-point-offset-checkpoint",
        "d1/t-0/leader-epoch-checkpoint",
    ] {
        for line in run(&home, &["dump", file, "--json"]).exits(0).lines() {
            let kind = line["kind"].as_str().unwrap();
            let of_kind = &told[kind];
            // A summary counts what the file has.
            for key in line.as_object().unwrap().keys() {
                let is_told = key == "kind" || kind == "summary" || of_kind.contains(&key.as_str());
                assert!(is_told, "{file}: {kind} {key}");
            }
        }
    }
    assert!(documented(&jobs)["job"].contains(&"confirmed"));
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
