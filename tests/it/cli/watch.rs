//! `watch` over logs that real brokers wrote: how it ends, and what it tells.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::server_log::logs;
use crate::support::program::{Ran, run};

fn watch(name: &str, arguments: &[&str]) -> Ran {
    let tmp = tempfile::tempdir().unwrap();
    let file = tmp.path().join("server.log");
    fs::write(&file, &logs()[&format!("{name}.log")]).unwrap();
    let mut words = vec!["watch", "--log", "server.log"];
    words.extend(arguments);
    run(tmp.path(), &words)
}

#[test]
fn the_exit_tells_up_died_or_up_with_a_loss() {
    for (name, exit) in [
        ("4.4.0-crash-boot-1-thread", 0),
        ("3.7.2-clean-boot", 0),
        ("4.4.0-corrupt-boot", 3),
        ("3.9.1-offline-read-only", 3),
        ("4.4.0-fatal-lock-held", 1),
        ("3.9.1-sigterm-during-recovery", 1),
        ("4.4.0-fatal-emfile500", 1),
    ] {
        let ran = watch(name, &[]);
        assert_eq!(ran.exit, exit, "{name}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn a_loss_is_a_line_with_its_log() {
    let ran = watch("4.4.0-corrupt-boot", &["--json"]);
    let deleted: Vec<_> = ran
        .kind("finding")
        .into_iter()
        .filter(|line| line["code"] == "segments_deleted")
        .collect();
    assert_eq!(deleted.len(), 2);
    assert_eq!(deleted[0]["severity"], "loss");
    assert_eq!(deleted[0]["dir"], "/var/lib/kafka/data2");
    assert_eq!(deleted[0]["partition"], "orders-6");
    let last = ran.kind("progress").pop().unwrap();
    assert_eq!(
        (&last["logs_done"], &last["logs_total"]),
        (&22.into(), &22.into())
    );
    assert_eq!(
        last["bytes_total"],
        serde_json::Value::Null,
        "no log dir is known"
    );
    assert_eq!(ran.summary()["exit"], 3);
    assert_eq!(ran.summary()["losses"], 3);
}

#[test]
fn a_death_is_told_with_its_cause() {
    let ran = watch("3.9.1-fatal-port-in-use", &[]);
    let last = ran.out.lines().last().unwrap();
    assert!(
        last.contains("the boot died") && last.contains("Address already in use"),
        "{last}"
    );
}

#[test]
fn the_standard_input_is_watched_to_its_end() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_krescue"))
        .args(["watch", "--log", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let log = &logs()["3.9.1-crash-boot-1-thread.log"];
    let mut input = child.stdin.take().unwrap();
    // The boot is over where the broker is up, though the log goes on.
    let _ = input.write_all(log);
    let output = child.wait_with_output().unwrap();
    drop(input);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.ends_with("the broker is up\n"), "{text}");
}

#[test]
fn what_is_no_broker_s_log_is_said_to_be_none() {
    let tmp = tempfile::tempdir().unwrap();
    fs::write(tmp.path().join("x"), "Dear diary,\n\nno.\n").unwrap();
    let ran = run(tmp.path(), &["watch", "--log", "x"]);
    assert_eq!(ran.exit, 2, "1 would say that the broker died");
    assert!(ran.err.contains("no broker's log"), "{}", ran.err);
    let ran = run(tmp.path(), &["watch", "--log", "missing"]);
    assert_eq!(ran.exit, 2);
    assert!(
        ran.err.contains("missing") && ran.err.contains("next:"),
        "{}",
        ran.err
    );
}

#[test]
fn each_boot_in_a_log_tells_its_own_losses() {
    let tmp = tempfile::tempdir().unwrap();
    let log = [
        logs()["4.4.0-fatal-duplicate-partition.log"].as_slice(),
        logs()["4.4.0-corrupt-boot.log"].as_slice(),
    ];
    fs::write(tmp.path().join("server.log"), log.concat()).unwrap();
    let ran = run(tmp.path(), &["watch", "--log", "server.log"]).exits(3);
    let losses = ran
        .out
        .lines()
        .filter(|line| line.starts_with("LOSS"))
        .count();
    assert_eq!(losses, 3, "{}", ran.out);
    assert!(ran.out.contains("3 losses are told above"));
}
