//! `status` for many hosts: one line each, one table of all, a text file for a collector.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::support::fake_broker::FakeBroker;
use crate::support::fixture::{BATCH, SEGMENT, Tree};
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

const RECOVER: [&str; 5] = ["--log-dirs", "d1", "--kafka-version", "4.4.0", "recover"];

fn status(tree: &Tree, exit: i32) -> Value {
    let ran = run(&tree.path("."), &STATUS).exits(exit);
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn an_ask_that_nobody_decided_is_the_situation() {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[60_000] ^= 1);
    assert_eq!(status(&tree, 0)["undecided_asks"], Value::Null);
    run(&tree.path("."), &RECOVER).exits(3);
    let asks = status(&tree, 3);
    assert_eq!(asks["undecided_asks"], 1);
    assert_eq!(asks["exit"], 3);
    let situation = asks["situation"].as_str().unwrap();
    assert!(
        situation.starts_with("DO NOT START: a boot deletes 2 segments of t-0 ("),
        "{situation}"
    );
    // What else stands in the way of a boot comes behind it.
    tree.write("d1/t-0/leader-epoch-checkpoint", "0\n1\nx 0\n");
    let both = status(&tree, 3);
    assert_eq!(both["situation"], situation);
    assert_eq!(both["preflight"]["fatal"], 1);
    tree.write("d1/t-0/leader-epoch-checkpoint", "0\n1\n0 0\n");
    // A plan of another log says nothing of this one.
    tree.add_partition("d1", "u-0", 1);
    run(
        &tree.path("."),
        &[&RECOVER[..], &["--partition", "u-0"]].concat(),
    );
    assert_eq!(status(&tree, 3)["undecided_asks"], 1);
    // Of two plans the one that was made last counts, as often as it was made before.
    let decide = ["--decide", "t-0=cut-here"];
    run(&tree.path("."), &[&RECOVER[..], &decide].concat());
    assert_eq!(status(&tree, 0)["undecided_asks"], 0);
    run(&tree.path("."), &RECOVER).exits(3);
    assert_eq!(status(&tree, 3)["undecided_asks"], 1);
    // A decision that is carried out ends it; the hole that it left stays known.
    let decide = [&decide[..], &["--apply", "--yes-to-all"]].concat();
    run(&tree.path("."), &[&RECOVER[..], &decide].concat()).exits(0);
    let decided = status(&tree, 3);
    let worst = decided["preflight"].clone();
    assert_eq!(
        worst["fatal"].as_u64().zip(worst["loss"].as_u64()),
        Some((0, 0))
    );
    assert_eq!(decided["undecided_asks"], 0);
    let situation = decided["situation"].as_str().unwrap();
    let alarms = ["DO NOT START", "will fail"];
    assert!(
        !alarms.iter().any(|it| situation.contains(it)),
        "{situation}"
    );
}

#[test]
fn an_ask_of_files_that_are_others_by_now_is_no_answer() {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(1000, "log"), |bytes| bytes[60_000] ^= 1);
    run(&tree.path("."), &RECOVER).exits(3);
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(BATCH));
    let changed = status(&tree, 0);
    assert_eq!(changed["undecided_asks"], Value::Null);
}

#[test]
fn many_hosts_make_one_table_worst_first() {
    let asking = |host: &str, fatal: u64, exit: u64, asks: &str| {
        format!(
            "{{\"kind\":\"status\",\"host\":\"{host}\",\"node_id\":1,\"broker\":\"down\",\"scan_bytes\":5,\
             \"undecided_asks\":{asks},\"preflight\":{{\"fatal\":{fatal},\"loss\":0,\"warning\":0}},\"situation\":\"of {host}\",\"exit\":{exit}}}\n"
        )
    };
    let line = |host: &str, fatal: u64, exit: u64| asking(host, fatal, exit, "null");
    let tree = Tree::t4();
    let lines = format!(
        "{}{}ssh: connect to host c port 22: Connection refused\nhost-b | {}\n{}",
        line("a", 0, 0),
        asking("e", 0, 3, "1"),
        line("b", 2, 3),
        line("d", 0, 3)
    );
    let ran = merge(&tree, &lines, &[]).exits(3);
    let rows: Vec<&str> = ran.out.lines().collect();
    assert!(rows[0].starts_with("HOST"), "{}", ran.out);
    let hosts: Vec<&str> = rows[1..5].iter().map(|row| &row[..1]).collect();
    assert_eq!(hosts, ["e", "b", "d", "a"]);
    assert!(rows[5].starts_with("1 lines are no status"), "{}", ran.out);
    let json = merge(&tree, &lines, &["--json"]).exits(3);
    assert_eq!(json.out.lines().count(), 4);
    merge(&tree, &line("a", 0, 0), &[]).exits(0);
    merge(&tree, "nothing\n", &[]).exits(1);
    merge(&tree, "\0\0\n{\"kind\":\"status\"", &[]).exits(1);
}

/// The status of broker `id`, whose log of `t-0` ends at `end`, with a vote among 1, 2 and 3.
fn down(status: &Value, id: i32, end: i64) -> String {
    let mut status = status.clone();
    status["host"] = format!("k{id}").into();
    status["node_id"] = id.into();
    status["ends"][0]["log_end_offset"] = end.into();
    status["ends"][0]["isr"] = serde_json::json!([1, 2, 3]);
    status["vote"] = serde_json::json!({
        "voters": [1, 2, 3], "voters_source": "quorum-state", "quorum_epoch": 6,
        "log_epoch": 6, "log_end_offset": 900 + id,
    });
    format!("{status}\n")
}

#[test]
fn hosts_that_are_all_down_say_who_has_the_newest_logs_and_who_boots_first() {
    let tree = Tree::t4();
    let ran = run(&tree.path("."), &STATUS).exits(0);
    let status: Value = serde_json::from_str(&ran.out).unwrap();
    let end = &status["ends"][0];
    assert_eq!((&end["topic"], &end["partition"]), (&"t".into(), &0.into()));
    assert_eq!(end["log_end_offset"], 4000, "{end}");
    assert_eq!(end["leader_epoch"], 0, "{end}");
    assert_eq!(end["recovered_first"], true, "{end}");
    assert_eq!(status["vote"], Value::Null, "there is no metadata log");

    let lines = [down(&status, 3, 4000), down(&status, 1, 3990)].concat();
    let ran = merge(&tree, &lines, &[]).exits(3);
    let told = [
        "1 partition on 2 hosts that are down: 1 differ between them",
        "t-0: newest on 3, epoch 0, end 4,000; 1 lacks 10 offsets, and may lead; nobody told of 2, in sync too",
        "quorum: voters 1,2,3 (quorum-state); 3,1 of them are here, 2 are needed: they can elect a controller; \
         newest metadata: epoch 6, end 903, on 3",
        "boot in this order: k3 (broker 3, a voter), k1 (broker 1, a voter)",
    ];
    for line in told {
        assert!(ran.out.contains(line), "{line}\n{}", ran.out);
    }
    let json = merge(&tree, &lines, &["--json"]).exits(3);
    let line = |kind: &str| -> Vec<Value> {
        let lines = json
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        lines.filter(|line: &Value| line["kind"] == kind).collect()
    };
    assert_eq!(line("newest_log")[0]["behind"][0]["records"], 10);
    assert_eq!(line("quorum_outlook")[0]["can_form"], true);
    let order: Vec<_> = line("boot_place")
        .iter()
        .map(|at| at["broker"].clone())
        .collect();
    assert_eq!(order, [3, 1]);

    // Equal logs need no look; one voter of three elects nobody.
    let lines = [down(&status, 3, 4000), down(&status, 1, 4000)].concat();
    merge(&tree, &lines, &[]).exits(0);
    let lines = lines.replace("\"node_id\":1,", "\"node_id\":7,");
    let ran = merge(&tree, &lines, &[]).exits(3);
    assert!(ran.out.contains("THEY CAN ELECT NOBODY"), "{}", ran.out);

    // Of a cluster that lives its leaders know better, and two clusters have nothing in common.
    let id = status["cluster_id"].as_str().unwrap();
    for (of, other) in [
        ("\"broker\":\"down\"", "\"broker\":\"running\"".to_owned()),
        (id, id.replace('A', "B").to_lowercase()),
    ] {
        let ran = merge(&tree, &lines.replacen(of, &other, 1), &[]).exits(0);
        assert!(!ran.out.contains("boot in this order"), "{}", ran.out);
    }
    let twice = [down(&status, 3, 4000), down(&status, 3, 3990)].concat();
    let ran = merge(&tree, &twice, &[]).exits(3);
    assert!(
        ran.out.contains("say that they are broker 3"),
        "{}",
        ran.out
    );
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

#[test]
fn a_broker_that_boots_tells_how_far_it_is() {
    let tree = Tree::t4_unflushed();
    tree.add_partition("d1", "u-0", 1);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    let dir = tree.path("d1").display().to_string();
    let settings = format!("node.id=1\nlog.dirs={dir}\nlisteners=PLAINTEXT://{address}\n");
    tree.write("server.properties", settings);
    let words = [
        "--config",
        "server.properties",
        "status",
        "--json",
        "--prometheus",
        "krescue.prom",
    ];
    let look = || {
        let ran = run(&tree.path("."), &words);
        let text = fs::read_to_string(tree.path("krescue.prom")).unwrap();
        (ran.lines().remove(0), text)
    };
    // Somebody listens where the broker will: that is looked up, not tried.
    let (taken, _) = look();
    assert_eq!(taken["preflight"]["fatal"], 1, "{taken:#}");
    let worst = taken["preflight"]["worst"].to_string();
    assert!(worst.contains("somebody listens at 127.0.0.1"), "{worst}");
    drop(free);
    let (down, text) = look();
    assert_eq!(down["preflight"]["fatal"], 0, "{down:#}");
    assert_eq!(
        (&down["booting"], &down["boot"]),
        (&false.into(), &Value::Null)
    );
    assert!(text.contains(
        "krescue_broker_booting{node_id=\"1\",cluster_id=\"MkU3OEVBNTcwNTJENDM2Qg\"} 0\n"
    ));
    assert!(
        !text.contains("krescue_boot_"),
        "unknown is left out: {text}"
    );

    let log = fs::File::create(tree.path("server.log")).unwrap();
    let _broker = FakeBroker::writing(&tree.path("server.properties"), log.try_clone().unwrap());
    let say = |text: &str| {
        let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
        let now = now.strftime("%Y-%m-%d %H:%M:%S,%3f");
        writeln!(&log, "[{now}] INFO {text}").unwrap();
    };
    say(
        "Registered kafka:type=kafka.Log4jController MBean (kafka.utils.Log4jControllerRegistration$)",
    );
    say(&format!(
        "Loading logs from log dirs ArrayBuffer({dir}) (kafka.log.LogManager)"
    ));
    say(&format!(
        "Recovering 2 logs from {dir} since no clean shutdown file was found (kafka.log.LogManager)"
    ));
    say(&format!(
        "[LogLoader partition=t-0, dir={dir}] Recovering unflushed segment 2000. 2/4 recovered for t-0. (kafka.log.LogLoader)"
    ));
    let (boots, text) = look();
    assert_eq!(boots["booting"], true);
    let situation = boots["situation"].as_str().unwrap();
    assert!(
        situation.starts_with("booting: loading · 0 of 2 logs"),
        "{situation}"
    );
    let boot = &boots["boot"];
    assert_eq!(boot["phase"], "loading");
    assert_eq!(boot["bytes_total"], 5 * SEGMENT);
    assert_eq!(boot["bytes_done"], 2 * SEGMENT);
    assert_eq!(
        (&boot["logs_done"], &boot["logs_total"]),
        (&0.into(), &2.into())
    );
    for (name, value) in [
        ("broker_booting", 1_usize),
        ("boot_bytes_done", 2 * SEGMENT),
        ("boot_bytes_total", 5 * SEGMENT),
        ("boot_logs_total", 2),
    ] {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("krescue_{name}{{")));
        assert!(
            line.is_some_and(|line| line.ends_with(&format!(" {value}"))),
            "{name}: {text}"
        );
    }

    say("[KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)");
    let (up, text) = look();
    assert_eq!((&up["booting"], &up["boot"]), (&false.into(), &Value::Null));
    assert!(!text.contains("krescue_boot_"), "{text}");
}
