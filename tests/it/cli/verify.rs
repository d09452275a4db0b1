//! `verify`: every batch and index entry, below the recovery point too; stopped and resumed.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::fixture::{BATCH, SEGMENT, Tree};
use crate::support::lock::hold_lock;
use crate::support::program::{Ran, program, ran, run};

fn verify(tree: &Tree, more: &[&str]) -> Ran {
    let before = tree.fingerprint("d1");
    let mut arguments = vec![
        "--log-dirs",
        "d1",
        "--now",
        "1700000400000",
        "verify",
        "--json",
    ];
    arguments.extend(more);
    let ran = run(&tree.path("."), &arguments);
    assert_eq!(tree.fingerprint("d1"), before, "verifying changes nothing");
    ran
}

/// A tree in which nothing is read by a boot: all below the recovery point, stopped cleanly.
fn clean() -> Tree {
    let tree = Tree::t4();
    tree.write("d1/recovery-point-offset-checkpoint", "0\n1\nt 0 4000\n");
    tree.write("d1/.kafka_cleanshutdown", "");
    tree
}

#[track_caller]
fn only(ran: &Ran) -> Value {
    let mut findings = ran.kind("finding");
    findings.retain(|line| line["severity"] != "routine");
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.remove(0)
}

#[test]
fn a_whole_log_is_good() {
    let ran = verify(&clean(), &[]).exits(0);
    let logs = ran.kind("verified");
    assert_eq!(logs.len(), 1);
    assert_eq!(
        (&logs[0]["good"], &logs[0]["segments"]),
        (&true.into(), &4.into())
    );
    assert_eq!(logs[0]["bytes"], SEGMENT * 4);
    ran.summary();
}

#[test]
fn a_flipped_bit_below_the_recovery_point_is_found_where_no_boot_looks() {
    let tree = clean();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[BATCH * 3 + 100] ^= 1);
    let ran = verify(&tree, &[]).exits(3);
    let finding = only(&ran);
    assert_eq!(finding["code"], "crc_mismatch");
    assert_eq!(finding["position"], BATCH * 3);
    assert_eq!(ran.kind("verified")[0]["good"], false);
}

#[test]
fn an_index_entry_that_names_no_batch_is_found() {
    let tree = clean();
    tree.edit(&tree.t0(1000, "index"), |bytes| bytes[15] ^= 1);
    let finding = only(&verify(&tree, &[]).exits(3));
    assert_eq!(
        (&finding["code"], &finding["position"]),
        (&"index_corrupt".into(), &8.into())
    );
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("no batch begins"), "{text}");
}

/// Both are below what a boot looks at: Kafka would go on with them.
#[test]
fn an_index_below_its_base_and_one_of_an_odd_size_are_found() {
    let tree = clean();
    tree.edit(&tree.t0(1000, "index"), |bytes| {
        *bytes = [(-5_i32).to_be_bytes(), 4604_i32.to_be_bytes()].concat();
    });
    let finding = only(&verify(&tree, &[]).exits(3));
    assert_eq!(finding["code"], "index_corrupt");
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("995"), "{text}");

    let tree = clean();
    tree.edit(&tree.t0(1000, "index"), |bytes| {
        assert_eq!(bytes.len(), 192);
        bytes.extend([0; 3]);
    });
    let finding = only(&verify(&tree, &[]).exits(3));
    assert_eq!(finding["code"], "index_corrupt");
    assert!(finding["file"].as_str().unwrap().ends_with("1000.index"));
}

#[test]
fn a_time_of_the_index_that_no_record_has_is_found() {
    let tree = clean();
    tree.edit(&tree.t0(1000, "timeindex"), |bytes| {
        let last = bytes.len() - 12;
        bytes[last + 2] ^= 1;
    });
    assert_eq!(only(&verify(&tree, &[]).exits(3))["code"], "index_corrupt");
}

#[test]
fn a_segment_that_is_gone_and_a_time_of_the_future_are_found() {
    let tree = clean();
    for suffix in ["log", "index", "timeindex"] {
        fs::remove_file(tree.t0(1000, suffix)).unwrap();
    }
    let finding = only(&verify(&tree, &[]).exits(3));
    assert_eq!(
        (&finding["code"], &finding["offset"]),
        (&"segment_dropped".into(), &1000.into())
    );
    let tree = clean();
    let arguments = [
        "--log-dirs",
        "d1",
        "--now",
        "1600000000000",
        "verify",
        "--json",
    ];
    let ran = run(&tree.path("."), &arguments).exits(3);
    assert_eq!(ran.codes(), ["future_timestamp"]);
}

#[test]
fn an_epoch_that_the_checkpoint_does_not_say_is_found() {
    let tree = clean();
    tree.write("d1/t-0/leader-epoch-checkpoint", "0\n2\n0 0\n4 2000\n");
    let ran = verify(&tree, &[]).exits(3);
    assert_eq!(ran.codes(), ["leader_epochs_changed"]);
}

#[test]
fn what_was_verified_is_not_read_again_unless_it_changed() {
    let tree = clean();
    tree.add_partition("d1", "t-1", 2);
    verify(&tree, &["--partition", "t-0"]).exits(0);
    let arguments = ["--log-dirs", "d1", "verify", "--resume"];
    let ran = run(&tree.path("."), &arguments).exits(0);
    assert!(
        ran.out.contains("1 log were verified before"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("2 logs of 2 verified"), "{}", ran.out);
    let ran = run(&tree.path("."), &arguments).exits(0);
    assert!(
        ran.out.contains("2 logs were verified before"),
        "{}",
        ran.out
    );
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[BATCH * 3 + 100] ^= 1);
    let ran = run(&tree.path("."), &arguments).exits(3);
    assert!(
        ran.out.contains("1 log were verified before"),
        "{}",
        ran.out
    );
    let without = ["--log-dirs", "d1", "verify"];
    let ran = run(&tree.path("."), &without).exits(3);
    assert!(!ran.out.contains("verified before"), "{}", ran.out);
}

/// The log dir's lock is held, as by a broker that runs: a rate is for reading beside one.
#[test]
fn beside_a_broker_a_rate_is_kept() {
    let tree = Tree::t4();
    let _lock = hold_lock(&tree.path("d1"));
    let begin = Instant::now();
    let ran = verify(&tree, &["--rate", "400KiB/s"]).exits(0);
    let took = begin.elapsed();
    assert_eq!(ran.kind("verified")[0]["bytes"], SEGMENT * 4);
    // 460 400 bytes; a tenth of a second may be made up for.
    assert!(took >= Duration::from_secs(1), "{took:?}");
    // Nothing is planned beside a broker; what is bad is told all the same.
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[BATCH * 3 + 100] ^= 1);
    let ran = verify(&tree, &[]).exits(3);
    assert_eq!(only(&ran)["code"], "crc_mismatch");
    assert_eq!(ran.kind("verified")[0]["good"], false);
}

#[test]
fn a_signal_stops_it_and_what_was_read_by_then_is_kept() {
    let tree = Tree::t4();
    tree.add_partition("d1", "u-0", 1);
    let arguments = ["--log-dirs", "d1", "verify", "--json"];
    let lock = hold_lock(&tree.path("d1"));
    let mut child = program(&tree.path("."))
        .args(arguments)
        .args(["--rate", "100KiB/s"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It keeps what it read of a log once it is through with it.
    let kept = || {
        let files = fs::read_dir(tree.path("state/krescue/verify"));
        let files = files.into_iter().flatten().flatten();
        let texts = files.map(|file| fs::read_to_string(file.path()).unwrap_or_default());
        texts
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .filter(|line| line.contains("\"dir_name\""))
            .count()
    };
    while kept() == 0 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(kept(), 1);
    let pid = i32::try_from(child.id()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), Signal::SIGTERM).unwrap();
    let stopped = ran(child.wait_with_output().unwrap()).exits(5);
    stopped.summary();
    drop(lock);
    let rest = run(&tree.path("."), &["--log-dirs", "d1", "verify", "--resume"]).exits(0);
    assert!(
        rest.out.contains("1 log were verified before"),
        "{}",
        rest.out
    );
    assert!(rest.out.contains("2 logs of 2 verified"), "{}", rest.out);
}
