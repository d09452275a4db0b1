//! `watch` over logs that real brokers wrote: how it ends, and what it tells.

use std::fs;
use std::io::{BufRead as _, Read as _, Write as _};
use std::process::{Command, Stdio};

use crate::server_log::logs;
use crate::support::fixture::Tree;
use crate::support::lock::hold_lock;
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
fn boots_in_older_files_of_a_log_count() {
    let tmp = tempfile::tempdir().unwrap();
    let killed = &logs()["3.9.1-sigterm-during-recovery.log"];
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(killed).unwrap();
    let begin = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    for (hour, name, bytes) in [
        (0, "server.log.2026-11-30-07.gz", packed.finish().unwrap()),
        (1, "server.log.2026-11-30-08", killed.clone()),
        (
            2,
            "server.log",
            logs()["3.9.1-crash-boot-1-thread.log"].clone(),
        ),
    ] {
        let path = tmp.path().join(name);
        fs::write(&path, bytes).unwrap();
        let written = begin + std::time::Duration::from_secs(hour * 3600);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(written)
            .unwrap();
    }
    let ran = run(tmp.path(), &["watch", "--log", "server.log", "--json"]).exits(0);
    let last = ran.kind("progress").pop().unwrap();
    assert_eq!(last["failed_boots"], 2);
    // Each got the signal at the same age: that is a probe's pattern.
    let could = last["could_end_it"].to_string();
    assert!(could.contains("2 boots before got SIGTERM"), "{could}");
    // One packed file alone is a log too.
    let name = "server.log.2026-11-30-07.gz";
    run(tmp.path(), &["watch", "--log", name]).exits(1);
}

#[test]
fn a_death_is_followed_by_what_the_files_say() {
    let tree = Tree::t4();
    tree.add_log_dir("d2", 2);
    fs::create_dir(tree.path("d2/lost+found")).unwrap();
    let told = logs()["4.4.0-fatal-lost-and-found.log"].clone();
    let told = String::from_utf8(told).unwrap();
    let mut of_here = told.clone();
    for (theirs, ours) in [("data1", "d1"), ("data2", "d2")] {
        let ours = tree.path(ours).canonicalize().unwrap();
        of_here = of_here.replace(&format!("/var/lib/kafka/{theirs}"), ours.to_str().unwrap());
    }
    fs::write(tree.path("ours.log"), of_here).unwrap();
    fs::write(tree.path("theirs.log"), told).unwrap();
    let watch = |log: &str| {
        let words = ["--log-dirs", "d1,d2", "watch", "--log", log, "--json"];
        run(&tree.path("."), &words).exits(1)
    };
    let found = watch("ours.log").kind("finding");
    let named: Vec<_> = found
        .iter()
        .filter(|line| line["rule"] == "dir_names")
        .collect();
    assert_eq!(named.len(), 1, "{found:#?}");
    assert_eq!(named[0]["file"], "lost+found");
    // The log of another broker says nothing of these files.
    let found = watch("theirs.log").kind("finding");
    assert!(
        found.iter().all(|line| line["rule"].is_null()),
        "{found:#?}"
    );
}

#[test]
fn a_death_at_a_held_lock_names_who_holds_it() {
    let tree = Tree::t4();
    tree.add_log_dir("d2", 2);
    let told = String::from_utf8(logs()["4.4.0-fatal-lock-held.log"].clone()).unwrap();
    let ours = tree.path("d2").canonicalize().unwrap();
    let of_here = told.replace("/var/lib/kafka/data2", ours.to_str().unwrap());
    fs::write(tree.path("server.log"), of_here).unwrap();
    let _lock = hold_lock(&tree.path("d2"));
    let words = [
        "--log-dirs",
        "d1,d2",
        "watch",
        "--log",
        "server.log",
        "--json",
    ];
    let found = run(&tree.path("."), &words).exits(1).kind("finding");
    let lock = found.iter().find(|line| line["rule"] == "lock").unwrap();
    let me = format!("process {}", std::process::id());
    assert!(lock["text"].as_str().unwrap().contains(&me), "{lock}");
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

/// The names of the saved logs of boots that died.
fn deaths() -> Vec<String> {
    let names = logs().keys().filter_map(|name| name.strip_suffix(".log"));
    let died = |name: &&str| name.contains("-fatal-") || name.ends_with("controller-unreachable");
    names.filter(died).map(str::to_owned).collect()
}

#[test]
fn every_death_is_told_with_what_mends_it() {
    let words = [
        ("disk-full", "a volume is full"),
        ("oom", "raise the heap"),
        ("mmap", "vm.max_map_count"),
        ("emfile500", "LimitNOFILE="),
        ("lock-held", "another process"),
        ("partition-metadata-empty", "partition.metadata"),
        ("leader-epoch-number", "checkpoint"),
        ("lost-and-found", "lost+found"),
        ("duplicate-partition", "two log dirs"),
        ("controller-unreachable", "no controller"),
    ];
    let deaths = deaths();
    assert!(deaths.len() > 30, "{deaths:?}");
    for name in deaths {
        let ran = watch(&name, &["--json"]).exits(1);
        let end = ran.summary();
        let next = end["next"].as_str().unwrap_or_default();
        assert!(!next.is_empty(), "{name}: {end}");
        for (_, word) in words.iter().filter(|(what, _)| name.ends_with(what)) {
            assert!(next.contains(word), "{name}: {next}");
        }
    }
}

#[test]
fn causes_and_losses_are_told_behind_what_a_collector_puts_before_each_line() {
    let prefixes = [
        "Nov 30 07:51:11 kafka-07 kafka-server-start.sh[811]: ",
        "kafka-1  | ",
        "2026-11-30T07:51:11.146229301Z ",
        "2026-11-30T07:51:11.146229301Z stdout F ",
    ];
    let tmp = tempfile::tempdir().unwrap();
    let mut names = deaths();
    names.retain(|name| name.starts_with("4.4.0"));
    names.push("4.4.0-crc-cut".to_owned());
    for name in names {
        let plain = watch(&name, &["--json"]);
        let text = String::from_utf8(logs()[&format!("{name}.log")].clone()).unwrap();
        for prefix in prefixes {
            let lines: Vec<String> = text
                .lines()
                .map(|line| format!("{prefix}{line}\n"))
                .collect();
            fs::write(tmp.path().join("server.log"), lines.concat()).unwrap();
            let ran =
                run(tmp.path(), &["watch", "--log", "server.log", "--json"]).exits(plain.exit);
            let told = |ran: &Ran| {
                let end = ran.summary();
                let of = |key: &str| end[key].to_string();
                [of("text"), of("next"), of("losses")]
            };
            assert_eq!(told(&ran), told(&plain), "{name} behind {prefix}");
        }
    }
}

#[test]
fn a_segment_is_lost_only_where_it_was_emptied() {
    // By the broker's own lines: it meant to empty 7 and 3, and one of them it cut at its base.
    for (name, losses) in [("4.4.0-fatal-mmap", 0), ("4.4.0-fatal-emfile500", 1)] {
        let ran = watch(name, &["--json"]).exits(1);
        assert_eq!(ran.summary()["losses"], losses, "{name}");
    }
}

#[test]
fn what_is_lost_right_after_the_start_counts() {
    let log = &logs()["4.4.0-half-dead-high-watermark-checkpoint.log"];
    let text = String::from_utf8(log.clone()).unwrap();
    let started = text.find("Kafka Server started").unwrap();
    let cut = started + text[started..].find('\n').unwrap() + 1;
    let mut child = Command::new(env!("CARGO_BIN_EXE_krescue"))
        .args(["watch", "--log", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&text.as_bytes()[..cut]).unwrap();
    input.flush().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    // The broker is up by now; its log goes on.
    let ended = lines.any(|line| line.unwrap().contains("\"phase\":\"ended\""));
    assert!(ended);
    input.write_all(&text.as_bytes()[cut..]).unwrap();
    input.flush().unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let lost = rest
        .iter()
        .any(|line| line.contains("metadata_not_applied"));
    assert!(lost, "{rest:#?}");
    assert_eq!(child.wait().unwrap().code(), Some(3));
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

/// Writes a line of a broker's log with the present time.
fn say(mut log: &fs::File, text: &str) {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let now = now.strftime("%Y-%m-%d %H:%M:%S,%3f");
    writeln!(log, "[{now}] INFO {text}").unwrap();
}

const BEGUN: [&str; 3] = [
    "Registered kafka:type=kafka.Log4jController MBean (kafka.utils.Log4jControllerRegistration$)",
    "Loading logs from log dirs ArrayBuffer(/data) (kafka.log.LogManager)",
    "Recovering 9 logs from /data since no clean shutdown file was found (kafka.log.LogManager)",
];
const STARTED: &str =
    "[KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)";

#[test]
fn a_log_that_grows_is_watched_on_though_no_process_of_it_is_seen() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("server.log");
    let log = fs::File::create(&path).unwrap();
    for line in BEGUN {
        say(&log, line);
    }
    // As another user's process leaves it that says nothing for a while.
    let quiet = log.metadata().unwrap().modified().unwrap() - std::time::Duration::from_secs(20);
    log.set_modified(quiet).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_krescue"))
        .current_dir(tmp.path())
        .args(["watch", "--log", "server.log"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let mut wait_for = |what: &str| {
        let mut told = lines.by_ref().map(Result::unwrap);
        assert!(
            told.any(|line| line.contains(what)),
            "it ended without: {what}"
        );
    };
    wait_for("it is quiet, and no process that writes it is seen from here");
    wait_for("loading · 0 of 9 logs");
    wait_for("loading · 0 of 9 logs");
    fs::rename(&path, tmp.path().join("server.log.2026-12-01-07")).unwrap();
    let log = fs::File::create(&path).unwrap();
    say(
        &log,
        "Completed load of Log(dir=/data/t-0, topicId=yfNGtVMURdq3XsgDPNkbNA, topic=t, partition=0, highWatermark=0, \
         lastStableOffset=0, logStartOffset=0, logEndOffset=7) with 1 segments, local-log-start-offset 0 and log-end-offset 7 \
         in 12ms (1/9 completed in /data) (kafka.log.LogManager)",
    );
    wait_for("log (logs) read on in a new file");
    wait_for("loading · 1 of 9 logs");
    say(&log, STARTED);
    wait_for("the broker is up");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_log_of_this_host_ends_once_nobody_holds_its_log_dirs() {
    let tree = Tree::t4();
    let dir = tree.path("d1").canonicalize().unwrap();
    let log = fs::File::create(tree.path("broker.log")).unwrap();
    for line in BEGUN {
        say(&log, &line.replace("/data", dir.to_str().unwrap()));
    }
    let lock = hold_lock(&tree.path("d1"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_krescue"))
        .arg("--log-dirs")
        .arg(&dir)
        .args(["watch", "--log"])
        .arg(tree.path("broker.log"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        let mut told = lines.by_ref().map(Result::unwrap);
        assert!(told.any(|line| line.contains("loading · 0 of 9 logs")));
    }
    drop(lock);
    let last = lines.map(Result::unwrap).last().unwrap();
    assert!(
        last.ends_with("nobody holds the locks of its log dirs"),
        "{last}"
    );
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn an_old_log_that_breaks_off_is_one_of_a_broker_that_was_killed() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("server.log");
    let log = fs::File::create(&path).unwrap();
    for line in BEGUN {
        say(&log, line);
    }
    let old = log.metadata().unwrap().modified().unwrap() - std::time::Duration::from_hours(1);
    log.set_modified(old).unwrap();
    let ran = run(tmp.path(), &["watch", "--log", "server.log"]).exits(1);
    let last = ran.out.lines().last().unwrap();
    assert!(last.ends_with("no process of it is known here"), "{last}");
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

#[test]
fn what_was_watched_is_shown_again() {
    let tmp = tempfile::tempdir().unwrap();
    let log = &logs()["4.4.0-corrupt-boot.log"];
    fs::write(tmp.path().join("server.log"), log).unwrap();
    let record = ["watch", "--log", "server.log", "--record", "r.jsonl"];
    run(tmp.path(), &record).exits(3);
    let again = run(tmp.path(), &["replay", "r.jsonl"]).exits(0);
    let losses = again.out.lines().filter(|line| line.starts_with("LOSS"));
    assert_eq!(losses.count(), 3, "{}", again.out);
    assert!(again.out.ends_with("the broker is up\n"), "{}", again.out);
    // A recording is never written over, and is no log.
    let ran = run(tmp.path(), &record).exits(2);
    assert!(ran.err.contains("r.jsonl"), "{}", ran.err);
    let ran = run(tmp.path(), &["replay", "server.log"]).exits(2);
    assert!(
        ran.err.contains("line 1: this is no recording"),
        "{}",
        ran.err
    );
    // Its last line may break off where the recorder was killed.
    let bytes = fs::read(tmp.path().join("r.jsonl")).unwrap();
    fs::write(tmp.path().join("torn.jsonl"), &bytes[..bytes.len() - 9]).unwrap();
    let torn = run(tmp.path(), &["replay", "torn.jsonl"]).exits(0);
    assert!(
        torn.out.ends_with("the recording breaks off here\n"),
        "{}",
        torn.out
    );
    let ran = run(tmp.path(), &["status", "--record", "x"]).exits(2);
    assert!(ran.err.contains("--record"), "{}", ran.err);
}

#[test]
fn a_recorded_cluster_is_told_in_lines() {
    let tmp = tempfile::tempdir().unwrap();
    let mut recording = String::new();
    krescue::demo::cluster_recording()
        .read_to_string(&mut recording)
        .unwrap();
    // What a later krescue may record is left out, and counted.
    let later = "{\"at\":1796101499000,\"weather\":{\"rain\":true}}\n";
    let (head, rest) = recording.split_once('\n').unwrap();
    let text = format!("{head}\n{later}{rest}");
    fs::write(tmp.path().join("r.jsonl"), text).unwrap();
    let told = run(tmp.path(), &["replay", "r.jsonl"]).exits(0).out;
    let mut from = 0;
    for next in [
        "broker 3, Kafka 4.4.0",
        "3 brokers",
        "all in sync",
        "does not answer",
        "this host's boot will cut",
        "not in sync, the last in ~",
        "all in sync",
        "1 fact of kinds that only krescue",
    ] {
        let at = told[from..].find(next);
        from += at.unwrap_or_else(|| panic!("no {next:?} behind {from} in {told}"));
    }
}

#[test]
fn boots_that_fail_one_after_the_other_are_told() {
    let tmp = tempfile::tempdir().unwrap();
    let once = &logs()["4.4.0-crash-boot-1-thread.log"];
    let half = &once[..once.len() / 2];
    let log = [half, b"\n", half, b"\n", once.as_slice()].concat();
    fs::write(tmp.path().join("server.log"), log).unwrap();
    let ran = run(tmp.path(), &["watch", "--log", "server.log", "--json"]).exits(0);
    let last = ran.kind("progress").pop().unwrap();
    assert_eq!(last["failed_boots"], 2);
    let told = last["crash_loop"].as_str().unwrap();
    assert!(
        told.starts_with("CRASH LOOP: third boot") && told.contains("each killed at about"),
        "{told}"
    );
}
