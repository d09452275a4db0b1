//! `preflight` against real boots: it names the cause before the boot, the boot goes as it said, `watch` names the cause
//! with its file after it, and once that is mended a broker comes up.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::loading::work_folder;
use crate::support::broker::{Broker, PATIENCE};
use crate::support::process::Process;
use crate::support::source::{SETTINGS, Source};

const README: &str = include_str!("../../README.md");
/// The log dirs: the metadata log lies in the first, the source has the first two.
const DIRS: [&str; 7] = [
    "data1", "data2", "data3", "data4", "data5", "data6", "data7",
];

#[test]
fn each_cause_is_named_before_and_after_the_boot_and_mended_3_9_1() {
    let mut bench = Bench::new("3.9.1");
    let victim = bench.victim();

    fs::create_dir(bench.path("data2/lost+found")).unwrap();
    bench.dies("dir_names", "is not in the form of topic-partition");
    bench.mend();

    let epochs = victim.join("leader-epoch-checkpoint");
    fs::write(&epochs, "0\n1\nx 0\n").unwrap();
    bench.dies("leader_epochs", "For input string: \"x\"");
    bench.mend();
    assert!(fs::read_to_string(&epochs).unwrap().starts_with("0\n"));

    let metadata = victim.join("partition.metadata");
    let bytes = fs::read(&metadata).unwrap();
    fs::write(&metadata, b"").unwrap();
    bench.dies("partition_metadata", "NullPointerException");
    bench.mend();
    let mended = fs::read(&metadata).unwrap();
    assert_eq!(mended, bytes, "the topic's id is that of the metadata log");

    let quorum = bench.path("data1/__cluster_metadata-0/quorum-state");
    let bytes = fs::read(&quorum).unwrap();
    fs::write(&quorum, "garbage").unwrap();
    bench.dies("metadata_log", "Quorum status");
    fs::write(&quorum, bytes).unwrap();

    let port = bench.broker.seat.ports().0;
    let other = TcpListener::bind(("127.0.0.1", port)).unwrap();
    bench.dies("ports", "Address already in use");
    drop(other);

    bench.dies_of_a_held_lock();
    bench.has_no_topic_id(&victim);
    bench.goes_offline();

    // The empty copy goes, not "the one in the dir that failed recently".
    let twin = bench.path("data1").join(victim.file_name().unwrap());
    fs::create_dir(&twin).unwrap();
    for (name, bytes) in [
        (
            "partition.metadata",
            fs::read(victim.join("partition.metadata")).unwrap(),
        ),
        ("00000000000000000000.log", Vec::new()),
    ] {
        fs::write(twin.join(name), bytes).unwrap();
    }
    bench.dies("twice", "Duplicate log directories");
    bench.mend();
    fs::create_dir(bench.path("data2/lost+found")).unwrap();
    bench.malformed("data2/recovery-point-offset-checkpoint");
    bench.the_readmes_walk_works();
    bench.comes_up();
}

#[test]
fn each_cause_is_named_before_and_after_the_boot_and_mended_4_4_0() {
    let mut bench = Bench::new("4.4.0");
    let victim = bench.victim();

    fs::write(bench.path("data2/meta.properties"), b"").unwrap();
    bench.dies("meta_properties", "node ID not found");
    bench.mend();

    let bad = victim.join("x.log");
    fs::write(&bad, b"").unwrap();
    bench.dies("file_names", "For input string: \"x\"");
    fs::remove_file(&bad).unwrap();

    let meta = bench.path("data2/meta.properties");
    let text = fs::read_to_string(&meta).unwrap();
    fs::write(&meta, with(&text, "cluster.id", "AAAAAAAAAAAAAAAAAAAAAQ")).unwrap();
    bench.dies("ids", "Invalid cluster.id");
    fs::write(&meta, with(&text, "node.id", "7")).unwrap();
    bench.dies("ids", "Stored node id 7");
    let twin = fs::read_to_string(bench.path("data1/meta.properties")).unwrap();
    fs::write(&meta, &twin).unwrap();
    bench.dies("ids", "Duplicate directory ID");
    fs::remove_file(&meta).unwrap();
    bench.dies("meta_properties", "No `meta.properties` found");
    fs::write(&meta, text).unwrap();

    let log = victim.join("00000000000000000000.log");
    let far = victim.join("00000000009000000000.log");
    fs::copy(&log, &far).unwrap();
    bench.dies_of_its_batches("00000000009000000000.log");
    fs::remove_file(&far).unwrap();

    let of_metadata = bench.path("data1/meta.properties");
    let text = fs::read_to_string(&of_metadata).unwrap();
    fs::write(&of_metadata, with(&text, "version", "9")).unwrap();
    bench.dies(
        "meta_properties",
        "Encountered I/O error in metadata log directory",
    );
    fs::write(&of_metadata, text).unwrap();

    let metadata = bench.path("data1/__cluster_metadata-0");
    let second = bench.path("data2/__cluster_metadata-0");
    fs::create_dir(&second).unwrap();
    for entry in fs::read_dir(&metadata).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, second.join(path.file_name().unwrap())).unwrap();
    }
    bench.dies("metadata_log", "Found unexpected metadata location");
    fs::remove_dir_all(&second).unwrap();

    bench.dies_of_a_held_lock();
    bench.has_no_topic_id(&victim);
    bench.serves_half();
    bench.mend();
    bench.goes_offline();
    bench.comes_up();
    bench.empties(&victim);
    bench.has_too_few_open_files();
}

/// A copy of a crashed broker that is damaged, booted and mended again and again.
pub(crate) struct Bench {
    source: Arc<Source>,
    folder: PathBuf,
    broker: Broker,
    boots: u32,
    pub(crate) proved: Vec<&'static str>,
}

impl Bench {
    fn new(version: &str) -> Self {
        Self::named(version, "preflight")
    }

    /// Makes one in a folder of this name.
    pub(crate) fn named(version: &str, name: &str) -> Self {
        let source = Source::shared(version);
        let folder = work_folder(&format!("{name}-{version}"));
        source.copy_to(&folder);
        // The settings name the copy from here on, with ports that are free.
        let broker = Broker::at(Arc::clone(&source.kafka), &folder, &SETTINGS);
        let bench = Self {
            source,
            folder,
            broker,
            boots: 0,
            proved: Vec::new(),
        };
        let settings = fs::read_to_string(bench.path("server.properties")).unwrap();
        let all = DIRS.map(|dir| bench.path(dir).display().to_string());
        let settings = with(&settings, "log.dirs", &all.join(","));
        fs::write(bench.path("server.properties"), settings).unwrap();
        let meta = fs::read_to_string(bench.path("data2/meta.properties")).unwrap();
        for (index, dir) in DIRS.iter().enumerate().skip(2) {
            fs::create_dir(bench.path(dir)).unwrap();
            let id = format!("krescueDir{index}AAAAAAAAAAA");
            let meta = with(&meta, "directory.id", &id);
            fs::write(bench.path(dir).join("meta.properties"), meta).unwrap();
        }
        bench.is_safe();
        bench
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.join(relative)
    }

    /// Returns the exit and the lines of krescue's answer about this broker.
    fn krescue(&self, words: &[&str]) -> (i32, Vec<Value>) {
        let output = self.command(words).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines();
        let lines = lines.filter_map(|line| serde_json::from_str(line).ok());
        (output.status.code().unwrap_or(-1), lines.collect())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
        command
            .env_remove("XDG_STATE_HOME")
            .arg("--config")
            .arg(self.path("server.properties"))
            .arg("--state-dir")
            .arg(self.folder.with_extension("state"))
            .args(["--kafka-version", &self.source.kafka.version])
            .args(words)
            .arg("--json")
            .stdin(Stdio::null());
        command
    }

    /// Returns what a preflight says beyond routine, of one rule.
    pub(crate) fn found(&self, rule: &str) -> Vec<Value> {
        let mut findings = self.findings();
        findings.retain(|line| line["rule"] == rule);
        findings
    }

    fn findings(&self) -> Vec<Value> {
        let (exit, mut lines) = self.krescue(&["preflight", "--structure"]);
        lines.retain(|line| line["kind"] == "finding" && line["severity"] != "routine");
        assert_eq!(exit, if lines.is_empty() { 0 } else { 3 }, "{lines:#?}");
        lines
    }

    /// Fails unless nothing stands in the way of a boot; one that died in the middle may leave an index to be made anew.
    pub(crate) fn is_safe(&self) {
        let mut findings = self.findings();
        findings.retain(|line| line["severity"] != "warning");
        assert!(findings.is_empty(), "{findings:#?}");
    }

    fn mend(&self) {
        let fix = ["preflight", "--fix", "--apply", "--yes-to-all"];
        let (exit, lines) = self.krescue(&fix);
        assert_eq!(exit, 0, "{lines:#?}");
        self.is_safe();
    }

    /// A partition in the second log dir with several segments.
    fn victim(&self) -> PathBuf {
        let segments = |dir: &Path| {
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            let logs = entries.filter(|entry| {
                let path = entry.path();
                path.extension().is_some_and(|of| of == "log")
            });
            logs.count()
        };
        let entries = fs::read_dir(self.path("data2")).unwrap();
        let mut dirs: Vec<PathBuf> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir() && segments(path) > 1)
            .filter(|path| path.join("00000000000000000000.log").exists())
            // A compacted segment may end before the next one's base: no snapshot is written there.
            .filter(|path| {
                let name = path.file_name().unwrap().to_str().unwrap();
                let others = ["__", "compacted", "deleted-prefix", "preallocated"];
                !others.iter().any(|other| name.starts_with(other))
            })
            .collect();
        dirs.sort();
        dirs.remove(0)
    }

    /// Boots until the process ends by itself, or says `until`; then it is killed, as a crash would end it.
    fn boot(&mut self, until: Option<&str>) -> String {
        self.boot_until(until.as_slice())
    }

    /// Boots until the process has said each of `texts`; with none, until it ends by itself.
    pub(crate) fn boot_until(&mut self, texts: &[&str]) -> String {
        self.boots += 1;
        let log = self.log();
        let mut command = self.source.kafka.attached("512m", "kafka.Kafka");
        command.arg(self.path("server.properties"));
        let mut process = Process::spawn(&mut command, &log);
        if texts.is_empty() {
            let status = process.wait(PATIENCE);
            assert_eq!(status.code(), Some(1), "{}", process.output());
        } else {
            for text in texts {
                process.wait_for(text, PATIENCE);
            }
            process.stop(Signal::SIGKILL);
        }
        process.output()
    }

    fn log(&self) -> PathBuf {
        self.path(&format!("boot-{}.log", self.boots))
    }

    /// Returns what `watch` says of the last boot.
    pub(crate) fn watched(&self, exit: i32) -> Vec<Value> {
        let log = self.log();
        let (ended, lines) = self.krescue(&["watch", "--log", log.to_str().unwrap()]);
        assert_eq!(ended, exit, "{lines:#?}");
        lines
    }

    /// Proves one rule: preflight names the cause, the boot dies of it, and `watch` names the same file.
    fn dies(&mut self, rule: &'static str, says: &str) {
        let found = self.found(rule);
        let first = found
            .first()
            .unwrap_or_else(|| panic!("no {rule} in {:#?}", self.findings()));
        assert_eq!(first["at_boot"], "exits", "{first:#}");
        let output = self.boot(None);
        assert!(output.contains(says), "{rule}: no {says:?} in\n{output}");
        self.is_named_after(1, rule, &found);
        self.proved.push(rule);
    }

    /// Proves what only batches tell: preflight reads them, and the boot's own last words name the `file`.
    fn dies_of_its_batches(&mut self, file: &str) {
        let (exit, lines) = self.krescue(&["preflight"]);
        assert_eq!(exit, 3);
        let found = lines.iter().find(|line| line["at_boot"] == "exits");
        let text = found.unwrap()["text"].as_str().unwrap();
        assert!(text.contains(file), "{text}");
        let output = self.boot(None);
        assert!(
            output.contains("Split operation is only permitted"),
            "{output}"
        );
        let lines = self.watched(1);
        let end = lines.last().unwrap()["text"].as_str().unwrap();
        assert!(end.contains(file), "{end}");
        self.proved.push("segments");
    }

    /// This process holds a log dir's lock, as another broker would.
    fn dies_of_a_held_lock(&mut self) {
        let path = self.path("data2/.lock");
        let mut options = fs::File::options();
        let file = options.write(true).create(true).truncate(false);
        let file = file.open(path).unwrap();
        let lock = nix::libc::flock {
            l_type: i16::try_from(nix::libc::F_WRLCK).unwrap(),
            l_whence: 0,
            l_start: 0,
            l_len: 0,
            l_pid: 0,
        };
        nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_SETLK(&lock)).unwrap();
        self.dies("lock", "Failed to acquire lock on file .lock in");
        drop(file);
        self.is_safe();
    }

    /// A log without its topic's id, which a boot would set aside as a stray: the plan writes what was there.
    fn has_no_topic_id(&self, victim: &Path) {
        let file = victim.join("partition.metadata");
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let found = self.found("stray");
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0]["at_boot"], "marks_stray");
        self.mend();
        assert_eq!(fs::read(&file).unwrap(), bytes);
        // The id of another topic is not edited away.
        let other = String::from_utf8(bytes.clone()).unwrap();
        let id = other.split("topic_id: ").nth(1).unwrap().trim();
        fs::write(&file, other.replace(id, "AAAAAAAAAAAAAAAAAAAAAQ")).unwrap();
        let found = self.found("stray");
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(
            (&found[0]["at_boot"], &found[0]["fix"]),
            (&"marks_stray".into(), &false.into())
        );
        fs::write(&file, bytes).unwrap();
    }

    /// Fewer files than segments: from 4.0 on a boot empties segments, and krescue says so before and after.
    fn has_too_few_open_files(&mut self) {
        let under = |command: Command| {
            let mut limited = Command::new("prlimit");
            limited.arg("--nofile=240:240").arg(command.get_program());
            limited.args(command.get_args());
            for (key, value) in command.get_envs() {
                match value {
                    Some(value) => limited.env(key, value),
                    None => limited.env_remove(key),
                };
            }
            if let Some(dir) = command.get_current_dir() {
                limited.current_dir(dir);
            }
            limited
        };
        let said = |output: &[u8]| -> Vec<Value> {
            let text = String::from_utf8_lossy(output);
            let lines = text.lines();
            lines
                .filter_map(|line| serde_json::from_str(line).ok())
                .filter(|line: &Value| line["rule"] == "open_files")
                .collect()
        };
        let before = under(self.command(&["preflight", "--structure"]))
            .output()
            .unwrap();
        let before = said(&before.stdout);
        assert_eq!(before[0]["at_boot"], "empties_segments", "{before:#?}");
        self.boots += 1;
        let mut kafka = self.source.kafka.attached("512m", "kafka.Kafka");
        kafka.arg(self.path("server.properties"));
        let mut kafka = under(kafka);
        kafka.stdin(Stdio::piped());
        let mut process = Process::spawn(&mut kafka, &self.log());
        process.wait_for("Too many open files", PATIENCE);
        process.stop(Signal::SIGKILL);
        let log = self.log();
        let mut watch = under(self.command(&["watch", "--log", log.to_str().unwrap()]));
        let after = watch.output().unwrap();
        let names = |lines: &[Value]| {
            lines
                .iter()
                .map(|line| line["at_boot"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&said(&after.stdout)), names(&before));
        self.proved.push("open_files");
    }

    /// Fails unless `watch` says of the last boot what a preflight had `found` by a rule.
    fn is_named_after(&self, exit: i32, rule: &str, found: &[Value]) {
        let lines = self.watched(exit);
        for before in found.iter().filter(|line| line["severity"] == "fatal") {
            let same = |line: &&Value| {
                let names = ["rule", "code", "dir", "partition", "file"];
                names.iter().all(|name| line[name] == before[name])
            };
            assert!(
                lines.iter().any(|line| same(&line)),
                "{rule}: no {before:#} in {lines:#?}"
            );
        }
    }

    /// Six log dirs fail in one boot, each by another file; what 3.9 made anew meanwhile, empty, is taken away again.
    fn goes_offline(&mut self) {
        let files = [
            "data2/replication-offset-checkpoint",
            "data3/recovery-point-offset-checkpoint",
            "data4/log-start-offset-checkpoint",
            "data5/cleaner-offset-checkpoint",
        ];
        for file in files {
            self.malformed(file);
        }
        let meta = self.path("data6/meta.properties");
        let text = fs::read_to_string(&meta).unwrap();
        fs::write(&meta, with(&text, "version", "9")).unwrap();
        fs::rename(self.path("data7"), self.path("aside")).unwrap();
        fs::write(self.path("data7"), b"a file").unwrap();
        let found = self.findings();
        for (dir, rule) in [
            ("data2", "checkpoints"),
            ("data3", "checkpoints"),
            ("data4", "checkpoints"),
            ("data5", "checkpoints"),
            ("data6", "meta_properties"),
            ("data7", "log_dir"),
        ] {
            let path = self.path(dir).display().to_string();
            let of_dir = found
                .iter()
                .find(|line| line["rule"] == rule && line["dir"] == path.as_str());
            let of_dir = of_dir.unwrap_or_else(|| panic!("no {rule} of {dir}: {found:#?}"));
            assert_eq!(of_dir["at_boot"], "dir_offline", "{of_dir:#}");
        }
        // The broker says so from threads of its own, before it has started or after.
        let stopped = [1, 2, 3, 4].map(|at: usize| {
            let dir = self.path(DIRS[at]);
            format!("Stopped serving replicas in dir {}", dir.display())
        });
        let mut until = vec!["Kafka Server started"];
        until.extend(stopped.iter().map(String::as_str));
        let output = self.boot_until(&until);
        let lines: Vec<&str> = output.lines().collect();
        for dir in &DIRS[1..] {
            let path = self.path(dir).display().to_string();
            let fails = |line: &&str| {
                let said = [
                    "Stopped serving replicas in dir ",
                    "Failed to create or validate data directory ",
                ];
                said.iter()
                    .any(|said| line.contains(&format!("{said}{path}")))
            };
            assert!(lines.iter().any(fails), "{dir}:\n{output}");
        }
        assert!(!output.contains(&format!(
            "Stopped serving replicas in dir {}",
            self.path("data1").display()
        )));
        self.is_named_after(3, "offline", &found);
        self.proved.push("six log dirs offline");
        fs::write(&meta, text).unwrap();
        fs::remove_file(self.path("data7")).unwrap();
        fs::rename(self.path("aside"), self.path("data7")).unwrap();
        // The checkpoints, and the empty copies of logs that lie in two dirs now, go by the plan.
        self.mend();
    }

    /// Makes a checkpoint announce more entries than it has.
    fn malformed(&self, file: &str) {
        let path = self.path(file);
        // A log dir without partitions has empty ones, which a boot takes.
        let text = fs::read_to_string(&path).unwrap_or_default();
        let text = if text.is_empty() { "0\n0\n" } else { &text };
        fs::write(&path, text.replacen("0\n", "0\n9", 1)).unwrap();
    }

    /// Two checkpoints in which a number is none: the broker says that it started.
    fn serves_half(&mut self) {
        for file in [
            "data2/replication-offset-checkpoint",
            "data3/cleaner-offset-checkpoint",
        ] {
            fs::write(self.path(file), "0\n1\nplain 0 five\n").unwrap();
        }
        let found = self.found("checkpoints");
        let at_boot: Vec<_> = found.iter().map(|line| line["at_boot"].as_str()).collect();
        assert!(at_boot.contains(&Some("serves_some")), "{found:#?}");
        assert!(at_boot.contains(&Some("cleaner_dies")), "{found:#?}");
        // Its cleaner dies, and part of its metadata is not taken, in threads of their own.
        let faults = ["]: Error due to", "Encountered metadata publishing fault"];
        self.boot_until(&[&["Kafka Server started"], &faults[..]].concat());
        self.is_named_after(3, "half", &found);
        self.proved.push("half of it serves");
    }

    /// Runs each line of the README's walk as it stands there; the last one beside a broker that comes up.
    fn the_readmes_walk_works(&mut self) {
        let (_, section) = README
            .split_once("### The broker does not come up")
            .unwrap();
        let (_, block) = section.split_once("```sh\n").unwrap();
        let (block, _) = block.split_once("```").unwrap();
        let (mut hash, mut ran) = (String::new(), 0);
        for line in block.lines() {
            let command = line.split('#').next().unwrap().trim();
            let words = command.strip_prefix("krescue ").unwrap();
            let words: Vec<&str> = words.split_whitespace().collect();
            let words: Vec<&str> = words
                .iter()
                .map(|word| if *word == "HASH" { hash.as_str() } else { word })
                .collect();
            ran += 1;
            if words[0] == "watch" {
                let log = self.folder.join("watch");
                let mut watch = Process::spawn(&mut self.command(&words), &log);
                self.boot_beside(&mut watch);
                continue;
            }
            let (exit, lines) = self.krescue(&words);
            assert!(matches!(exit, 0 | 3), "{command}: {exit} {lines:#?}");
            let summary = lines.last().unwrap();
            if let Some(plan) = summary["plan"].as_str() {
                plan[..8].clone_into(&mut hash);
            }
        }
        assert_eq!(ran, 7);
        self.is_safe();
    }

    /// Boots while `watch` looks, which ends well by itself; then the broker is killed.
    fn boot_beside(&mut self, watch: &mut Process) {
        self.boots += 1;
        let mut command = self.source.kafka.attached("512m", "kafka.Kafka");
        command.arg(self.path("server.properties"));
        let mut process = Process::spawn(&mut command, &self.log());
        let status = watch.wait(PATIENCE);
        assert_eq!(status.code(), Some(0), "{}", watch.output());
        assert!(process.output().contains("Kafka Server started"));
        process.stop(Signal::SIGKILL);
    }

    /// Boots once more, all mended: the broker comes up, and `watch` has nothing to add.
    pub(crate) fn comes_up(&mut self) {
        self.is_safe();
        self.boot(Some("Kafka Server started"));
        self.watched(0);
        let version = &self.source.kafka.version;
        eprintln!(
            "{version}: named before the boot and after, and mended: {:?}",
            self.proved
        );
    }

    /// Something that is no file where a snapshot is written: from 4.0 on the segment before it is emptied.
    fn empties(&mut self, victim: &Path) {
        let names = fs::read_dir(victim).unwrap();
        let mut names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        for name in names.iter().filter(|name| name.ends_with(".snapshot")) {
            fs::remove_file(victim.join(name)).unwrap();
        }
        let is_log = |name: &&String| Path::new(name).extension().is_some_and(|of| of == "log");
        let mut logs = names.iter().filter(is_log);
        let (first, second) = (logs.next().unwrap(), logs.next().unwrap());
        let len = fs::metadata(victim.join(first)).unwrap().len();
        assert!(len > 0);
        fs::create_dir(victim.join(second.replace(".log", ".snapshot"))).unwrap();
        // So that the boot reads that segment.
        let points = self.path("data2/recovery-point-offset-checkpoint");
        fs::write(points, "0\n0\n").unwrap();
        let found = self.found("not_a_file");
        assert_eq!(found[0]["at_boot"], "empties_segments", "{found:#?}");
        self.boot(Some(" logs in "));
        let left = fs::metadata(victim.join(first)).unwrap().len();
        assert_eq!(left, 0, "{first} had {len} bytes and was not emptied");
        let lines = self.watched(1);
        let told = lines.iter().find(|line| line["code"] == "segment_emptied");
        assert_eq!(told.unwrap()["severity"], "loss");
        self.is_named_after(1, "not_a_file", &found);
    }
}

/// Returns properties with another value for a key.
fn with(text: &str, key: &str, value: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once('=') {
        Some((of, _)) if of == key => format!("{key}={value}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}
