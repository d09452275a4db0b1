//! `preflight --stop` and `preflight --failed` over the log dirs of a real broker.

use std::fs;
use std::path::Path;

use krescue::demo::write_crashed;

use crate::support::program::{Ran, run};

/// The demo's log dirs with the configuration of their broker.
fn broker(folder: &Path, more: &str) {
    write_crashed(folder).unwrap();
    let dirs: Vec<String> = ["data1", "data2"]
        .iter()
        .map(|dir| folder.join(dir).display().to_string())
        .collect();
    fs::write(
        folder.join("server.properties"),
        format!(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:9093\n\
             controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n\
             log.dirs={}\n{more}",
            dirs.join(",")
        ),
    )
    .unwrap();
}

fn preflight(folder: &Path, version: &str, more: &[&str]) -> Ran {
    let mut arguments = vec![
        "--config",
        "server.properties",
        "--kafka-version",
        version,
        "preflight",
        "--json",
    ];
    arguments.extend(more);
    run(folder, &arguments)
}

#[test]
fn a_stop_that_takes_partitions_offline_is_told_by_topic() {
    let tmp = tempfile::tempdir().unwrap();
    broker(
        tmp.path(),
        "controlled.shutdown.enable=false\ncontrolled.shutdown.max.retries=3\n",
    );
    let ran = preflight(tmp.path(), "4.4.0", &["--stop"]).exits(3);
    let findings = ran.kind("finding");
    let offline = findings
        .iter()
        .find(|line| {
            line["code"] == "below_min_isr" && line["text"].as_str().unwrap().starts_with("orders")
        })
        .unwrap_or_else(|| panic!("{findings:#?}"));
    assert_eq!(offline["severity"], "loss");
    let controlled: Vec<&str> = findings
        .iter()
        .filter(|line| line["code"] == "controlled_shutdown")
        .map(|line| line["text"].as_str().unwrap())
        .collect();
    assert_eq!(controlled.len(), 2, "{controlled:?}");
    assert!(
        controlled
            .iter()
            .any(|text| text.contains("max.retries is not read")),
        "{controlled:?}"
    );
    let times = ran.finding("boot_time");
    assert!(times["text"].as_str().unwrap().contains("1: "), "{times}");
    let ran = run(
        tmp.path(),
        &[
            "--config",
            "server.properties",
            "--kafka-version",
            "4.4.0",
            "preflight",
            "--stop",
        ],
    );
    assert!(ran.out.contains("DO NOT STOP"), "{}", ran.out);
}

#[test]
fn a_failed_disk_is_walked_through_with_the_sole_copies_first() {
    let tmp = tempfile::tempdir().unwrap();
    broker(tmp.path(), "");
    let dir = tmp.path().join("data2").display().to_string();
    let ran = preflight(tmp.path(), "3.9.1", &["--failed", &dir]).exits(3);
    let findings = ran.kind("finding");
    let on_disk = fs::read_dir(tmp.path().join("data2"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_dir())
        .count();
    let alone: Vec<_> = findings
        .iter()
        .filter(|line| line["severity"] == "loss")
        .collect();
    assert_eq!(
        alone.len(),
        on_disk,
        "every partition of a single broker is a sole copy"
    );
    assert_eq!(findings[0]["severity"], "loss", "they come first");
    let line = format!("line 6: log.dirs={}", tmp.path().join("data1").display());
    let says = |word: &str| {
        findings.iter().any(|finding| {
            finding["next"].as_str().unwrap().contains(word)
                || finding["text"].as_str().unwrap().contains(word)
        })
    };
    assert!(says(&line), "{findings:#?}");
    assert!(
        says("kafka-storage.sh format --ignore-formatted -t "),
        "{findings:#?}"
    );
    assert!(
        says("Duplicate log directories"),
        "3.9.1 creates leaders anew"
    );
    let ran = preflight(tmp.path(), "4.4.0", &["--failed", &dir]).exits(3);
    let again = ran.kind("finding").iter().any(|line| {
        line["text"]
            .as_str()
            .unwrap()
            .contains("Duplicate log directories")
    });
    assert!(!again, "4.4.0 does not");
    // The disk is gone as a whole: its id is the one that no other dir has.
    fs::remove_dir_all(tmp.path().join("data2")).unwrap();
    let ran = preflight(tmp.path(), "4.4.0", &["--failed", &dir]).exits(3);
    let gone = ran.kind("finding");
    let alone = gone
        .iter()
        .filter(|line| line["severity"] == "loss")
        .count();
    assert_eq!(alone, on_disk);
    preflight(tmp.path(), "4.4.0", &["--failed", "/elsewhere"]).exits(2);
}
