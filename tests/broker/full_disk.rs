//! Log dirs on file systems without a free block: a broker does not boot there, or loses the dir; behind krescue's plan it
//! boots whole. Each file system is a tmpfs in a mount namespace of the test's own.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use krescue::disk::{LockState, look_at_lock, users_in};

use crate::loading::work_folder;
use crate::relocating::{done, krescue};
use crate::support::admin::Admin;
use crate::support::broker::{Broker, PATIENCE};
use crate::support::kafka::{Kafka, tool};
use crate::support::krescue::Answer;
use crate::support::namespace::{inside, mount_tmpfs};
use crate::support::source::SETTINGS;

const DIRS: [&str; 2] = ["data1", "data2"];
const PARTITIONS: usize = 6;
/// Records of a partition, of 10,000 bytes each: six fill a segment, and the last one has room left. A roll that fails would
/// keep a file mapped.
const RECORDS: i64 = 63;
/// What a broker says whose disk is full; it is of no use then.
const FAILURES: [&str; 3] = [
    "InternalError",
    "No space left on device",
    "Shutdown broker because",
];

#[test]
fn a_full_disk_is_freed_and_the_broker_boots_whole_3_9_1() {
    full_disks("3.9.1");
}

#[test]
fn a_full_disk_is_freed_and_the_broker_boots_whole_4_4_0() {
    full_disks("4.4.0");
}

fn full_disks(version: &str) {
    let kafka = Kafka::resolve(version);
    if !inside() {
        return;
    }
    let folder = work_folder(&format!("full-disk-{version}"));
    let node = folder.join("node");
    for dir in DIRS {
        mount_tmpfs(&node.join(dir), "size=24m");
    }
    let settings = [&SETTINGS[..], &["log.initial.task.delay.ms=3600000"]].concat();
    let mut broker = Broker::create(Arc::clone(&kafka), &node, &settings);
    broker.start();
    let mut shell = Admin::start(&kafka, &broker.bootstrap());
    let replicas = ["1"; PARTITIONS].join("/");
    let key = kafka.segment_key();
    shell.run(&format!("create t {replicas} {key}=65536 retention.ms=-1"));
    // Each has its leader.
    assert_eq!(shell.run("offsets t latest"), all(0));
    for partition in 0..PARTITIONS {
        shell.run(&format!("produce t {partition} {RECORDS} 10000"));
    }
    broker.stop();
    save(&node, &folder.join("clean"));
    broker.start();
    ends_at(&mut shell, &all(RECORDS));
    broker.kill();
    save(&node, &folder.join("killed"));

    let mut host = Host {
        version,
        broker,
        shell,
        node,
    };
    host.killed(&folder.join("killed"));
    host.stopped(&folder.join("clean"));
    drop(host);
    fs::remove_dir_all(folder.join("clean")).unwrap();
    fs::remove_dir_all(folder.join("killed")).unwrap();
    eprintln!(
        "{version}: both dirs full, killed and clean, and one beside a living broker: freed, booted whole"
    );
}

struct Host<'a> {
    version: &'a str,
    broker: Broker,
    shell: Admin,
    node: PathBuf,
}

impl Host<'_> {
    /// A killed broker boots with neither dir full, and with one no more than with both.
    fn killed(&mut self, saved: &Path) {
        self.restore(saved);
        self.fails_to_boot();
        self.restore(saved);
        let mut starts = self.free("data1", &[]);
        self.fails_to_boot();
        // What that boot made of the dir is not what krescue is asked about.
        let made = self.node.join("data1");
        empty(&self.node.join("data2"));
        copy(&saved.join("data2"), &self.node.join("data2"));
        fill(&self.node.join("data2"));
        assert!(made.join(".lock").exists());
        starts.extend(self.free("data2", &[]));
        self.boots_whole(&starts);
    }

    /// One that was stopped in order boots where only its other dir is full, and loses that dir at the first append.
    fn stopped(&mut self, saved: &Path) {
        self.restore(saved);
        self.fails_to_boot();
        self.restore(saved);
        let mut starts = self.free("data1", &[]);
        self.broker.start();
        let full = self.node.join("data2");
        let serves = |partition: &usize| !full.join(format!("t-{partition}")).is_dir();
        let (healthy, lost): (Vec<usize>, Vec<usize>) = (0..PARTITIONS).partition(serves);
        assert!(!healthy.is_empty() && !lost.is_empty());
        // Whatever the append comes to: it may lie in the log although the client hears of an error.
        let _ = self
            .shell
            .try_run(&format!("produce-one t {} 3 10000", lost[0]));
        let limit = Instant::now() + PATIENCE;
        let is_given_up = || {
            let free = !matches!(look_at_lock(&full), Ok(LockState::Held { .. }));
            free && users_in(std::slice::from_ref(&full)).is_empty()
        };
        while !is_given_up() {
            let users = || users_in(std::slice::from_ref(&full));
            assert!(Instant::now() < limit, "{:?}", users());
            // An index that failed stays mapped until the JVM's next collection.
            let pid = self.broker.process_id().unwrap().to_string();
            let mut collect = Command::new(tool("jcmd"));
            let collected = collect.args([&pid, "GC.run"]).output().unwrap();
            assert!(collected.status.success(), "{collected:?}");
        }
        // Without being told to, krescue does not act beside a living broker; nor on the dir that it serves.
        let on = full.to_str().unwrap();
        let words = ["cleanup", "--free", "1MiB", "--quarantine", "none", "--on"];
        let apply = ["--apply", "--yes-to-all", "--json"];
        let refused = |host: &Self, dir: &str, more: &[&str]| {
            let words = [&words[..], &[dir], more, &apply].concat();
            let answer = krescue(&host.node, host.version, &words);
            assert_eq!(answer.exit, 4, "{words:?}\n{}", answer.tail());
        };
        refused(self, on, &[]);
        let other = self.node.join("data1");
        refused(self, other.to_str().unwrap(), &["--beside-broker"]);
        starts.extend(self.free("data2", &["--beside-broker"]));
        self.shell.run(&format!("produce t {} 1 1000", healthy[0]));
        self.broker.kill();
        self.broker.start();
        let ends = self.shell.run("offsets t latest");
        let ends: Vec<i64> = ends.split(',').map(|end| end.parse().unwrap()).collect();
        for (partition, end) in ends.iter().enumerate() {
            let more = match partition {
                _ if partition == healthy[0] => 1..=1,
                _ if partition == lost[0] => 0..=3,
                _ => 0..=0,
            };
            assert!(more.contains(&(end - RECORDS)), "{partition}: {ends:?}");
        }
        self.reads(&starts, &ends);
        self.broker.kill();
    }

    /// Brings the dirs back as they were saved, and fills their file systems to the last block.
    fn restore(&self, saved: &Path) {
        for dir in DIRS {
            let place = self.node.join(dir);
            empty(&place);
            copy(&saved.join(dir), &place);
            fill(&place);
        }
    }

    fn fails_to_boot(&mut self) {
        self.broker.launch();
        self.broker.wait_for_failure(&FAILURES);
    }

    /// Frees a megabyte on a dir; returns the new log starts by partition.
    fn free(&self, dir: &str, more: &[&str]) -> BTreeMap<usize, i64> {
        let place = self.node.join(dir);
        let on = place.to_str().unwrap();
        let words = [
            "cleanup",
            "--free",
            "1MiB",
            "--quarantine",
            "none",
            "--on",
            on,
        ];
        let answer: Answer = done(&self.node, self.version, &[&words[..], more].concat());
        let space = rustix::fs::statvfs(&place).unwrap();
        assert!(
            space.f_bfree * space.f_frsize >= 1 << 20,
            "{}",
            answer.tail()
        );
        let went = answer.lines.iter().filter(|line| {
            line["kind"] == "partition" && line["verdict"] == "delete" && line["applied"] == true
        });
        let starts: BTreeMap<usize, i64> = went
            .map(|line| {
                assert_eq!(line["topic"], "t");
                let partition = line["partition"].as_u64().unwrap();
                let start = line["log_start_offset"].as_i64().unwrap();
                (usize::try_from(partition).unwrap(), start)
            })
            .collect();
        assert!(starts.values().all(|start| (1..RECORDS).contains(start)));
        starts
    }

    fn boots_whole(&mut self, starts: &BTreeMap<usize, i64>) {
        self.broker.start();
        ends_at(&mut self.shell, &all(RECORDS));
        self.reads(starts, &[RECORDS; PARTITIONS]);
        self.broker.kill();
    }

    /// Reads all that there is: each log from its new start to its end.
    fn reads(&mut self, starts: &BTreeMap<usize, i64>, ends: &[i64]) {
        let start = |partition: usize| starts.get(&partition).copied().unwrap_or(0);
        let planned: Vec<String> = (0..PARTITIONS).map(|it| start(it).to_string()).collect();
        assert_eq!(self.shell.run("offsets t earliest"), planned.join(","));
        let sum: i64 = (0..PARTITIONS).map(|it| ends[it] - start(it)).sum();
        self.shell.run(&format!("read-all t {sum}"));
    }
}

/// Waits until the high watermarks are those: a leader takes its own from the checkpoint first.
fn ends_at(shell: &mut Admin, ends: &str) {
    let limit = Instant::now() + PATIENCE;
    loop {
        let found = shell.run("offsets t latest");
        if found == ends {
            return;
        }
        assert!(Instant::now() < limit, "{found}, not {ends}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn all(end: i64) -> String {
    vec![end.to_string(); PARTITIONS].join(",")
}

fn save(node: &Path, to: &Path) {
    for dir in DIRS {
        fs::create_dir_all(to.join(dir)).unwrap();
        copy(&node.join(dir), &to.join(dir));
    }
}

/// Copies what lies in a dir into another one.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp")
        .args(["-a", "--sparse=always"])
        .arg(from.join("."))
        .arg(to)
        .status()
        .unwrap();
    assert!(status.success());
}

fn empty(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
}

/// Takes every free block.
fn fill(dir: &Path) {
    let filler = fs::File::create(dir.join("filler")).unwrap();
    while (&filler).write_all(&[1; 4096]).is_ok() {}
    let space = rustix::fs::statvfs(dir).unwrap();
    assert_eq!(space.f_bfree, 0);
}
