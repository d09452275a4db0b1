//! The README's walk-through over the demo's clusters, line by line.

use std::path::Path;
use std::process::Command;

use krescue::demo::write_mirror;

#[test]
fn the_walk_through_of_the_readme_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    write_mirror(folder.path()).unwrap();
    let readme = include_str!("../../../README.md");
    let (_, section) = readme
        .split_once("## Fail over to the second cluster")
        .unwrap();
    let (_, code) = section.split_once("```sh\n").unwrap();
    let (code, _) = code.split_once("```").unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_krescue")).parent().unwrap();
    let mut outputs = vec![];
    for line in code.lines() {
        let output = Command::new("sh")
            .args(["-c", line])
            .env_clear()
            .env("HOME", folder.path())
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            matches!(output.status.code(), Some(0 | 3)),
            "{line}\n{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        outputs.push(text);
    }
    assert_eq!(outputs.len(), 6);
    assert!(
        outputs[0].contains("primary->secondary  ACTIVE"),
        "{}",
        outputs[0]
    );
    assert!(outputs[3].contains("W-LOC"), "{}", outputs[3]);
    assert!(outputs[4].contains("1. stop the flow"), "{}", outputs[4]);
    assert!(
        outputs[5].contains("209 records of primary not copied"),
        "{}",
        outputs[5]
    );
    // Its newest commit says more than the checkpoint of before.
    let group = std::fs::read_to_string(folder.path().join("positions/everything.csv")).unwrap();
    assert_eq!(group.lines().count(), 4, "{group}");
    assert!(group.lines().all(|line| line.starts_with("primary.")));
}
