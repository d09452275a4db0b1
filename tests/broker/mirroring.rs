//! Two clusters and a real MirrorMaker 2 between them: what krescue reads from their log dirs is what Kafka's own classes
//! say, and after the source's death a consumer that starts where krescue says misses no record that was copied.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::loading::work_folder;
use crate::support::broker::{Broker, PATIENCE};
use crate::support::kafka::{Kafka, run};
use crate::support::pack::pack_demo;
use crate::support::process::Process;
use crate::support::source::now_ms;
use crate::support::trio::Told;

#[test]
fn translations_and_positions_are_those_of_mirror_maker_4_3_1() {
    mirrored("4.3.1");
}

#[test]
fn translations_and_positions_are_those_of_mirror_maker_3_9_1() {
    mirrored("3.9.1");
}

#[test]
#[ignore = "writes demo-data/mirror.tar.zst; needs GNU tar and zstd"]
fn makes_the_mirror_demo() {
    let mut pair = Pair::start("4.3.1", "mirror-demo");
    pair.ask(&["make", &pair.primary.bootstrap()]);
    let mut mirror = pair.start_mirror();
    pair.settle();
    pair.ask(&["more", &pair.primary.bootstrap(), "1"]);
    pair.settle();
    // The source goes on for a while after MirrorMaker 2 has died, then dies too.
    mirror.stop(Signal::SIGKILL);
    pair.ask(&["more", &pair.primary.bootstrap(), "3"]);
    pair.primary.kill();
    let killed = now_ms();
    pair.secondary.kill();

    let demo = pair.folder.join("demo");
    fs::create_dir_all(&demo).unwrap();
    let mut properties = fs::read_to_string(pair.folder.join("mm2.properties")).unwrap();
    for (broker, port) in [(&pair.primary, "9092"), (&pair.secondary, "9094")] {
        let address = broker.bootstrap();
        properties = properties.replace(&address, &format!("127.0.0.1:{port}"));
        let name = broker.folder().file_name().unwrap();
        run(
            Command::new("cp")
                .args(["-a", "--sparse=always"])
                .arg(broker.folder())
                .arg(&demo),
            "cp",
        );
        let folder = demo.join(name);
        let text = fs::read_to_string(folder.join("server.properties")).unwrap();
        let text: Vec<&str> = text
            .lines()
            .map(|line| {
                if line.starts_with("log.dirs=") {
                    "log.dirs=/var/lib/kafka/data1,/var/lib/kafka/data2"
                } else {
                    line
                }
            })
            .collect();
        let text = text
            .join("\n")
            .replace(&address, &format!("127.0.0.1:{port}"));
        fs::write(folder.join("server.properties"), text + "\n").unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "log") {
                fs::remove_file(path).unwrap();
            }
        }
    }
    fs::write(demo.join("mm2.properties"), properties).unwrap();
    let about = format!(
        "# What this tree is: two clusters and MirrorMaker 2 between them, after the source was killed.\n\
         kafka.version=4.3.1\n# Milliseconds since 1970: the clock to judge it by (--now).\nkilled.at={killed}\n"
    );
    fs::write(demo.join("about.properties"), about).unwrap();
    let names = ["about.properties", "mm2.properties", "primary", "secondary"];
    pack_demo(&demo, &names, "mirror.tar.zst");
    fs::remove_dir_all(&pair.folder).unwrap();
}

const SETTINGS: [&str; 6] = [
    "offsets.topic.num.partitions=4",
    "transaction.state.log.num.partitions=2",
    "log.cleaner.backoff.ms=300",
    "log.segment.bytes=1048576",
    "auto.create.topics.enable=false",
    "log.initial.task.delay.ms=500",
];

/// A record of a topic: where, and its value, which no other record has.
type Records = BTreeMap<(String, String), Vec<(i64, String)>>;

/// A group that has a member on the target while positions are set.
const BUSY: &str = "g-plain-0-6";

/// What krescue is to look at.
#[derive(Clone, Copy)]
enum Seen {
    /// Both clusters' brokers.
    Live,
    /// Both clusters' log dirs.
    OnDisk,
    /// The source's log dirs, the target's broker.
    TargetLive,
}

struct Pair {
    /// Whether a topic of the second cluster is copied to the first too.
    both_ways: bool,
    kafka: Arc<Kafka>,
    folder: PathBuf,
    primary: Broker,
    secondary: Broker,
    starts: u32,
}

fn mirrored(version: &str) {
    let mut pair = Pair::start(version, &format!("mirror-{version}"));
    pair.both_ways = true;
    pair.ask(&["make", &pair.primary.bootstrap()]);
    pair.ask(&["home", &pair.secondary.bootstrap()]);
    let mut mirror = pair.start_mirror();
    pair.settle();
    pair.ask(&["more", &pair.primary.bootstrap(), "1"]);
    pair.settle();
    // In the middle of its work.
    mirror.stop(Signal::SIGKILL);
    pair.ask(&["more", &pair.primary.bootstrap(), "2"]);
    pair.what_no_mirror_has_is_good_data(version);
    let mut mirror = pair.start_mirror();
    pair.settle();
    let source = pair.dump(&pair.primary, "source.txt");
    let target = pair.dump(&pair.secondary, "target.txt");
    let mut told = pair.answers("primary", &pair.secondary);
    let back = pair.answers("secondary", &pair.primary);
    assert!(back.len() > 10, "{back:?}");
    told.extend(back);
    mirror.stop(Signal::SIGKILL);
    // The brokers tell what their dirs will tell.
    let compared = pair.same_translations(version, &told, Seen::Live);
    pair.nothing_is_behind(&source, Seen::Live);
    let live = pair.facts(Seen::Live);
    pair.primary.kill();

    assert_eq!(
        pair.same_translations(version, &told, Seen::OnDisk),
        compared
    );
    let kept = pair.nothing_is_missed(&source, &target, Seen::OnDisk);
    pair.nothing_is_behind(&source, Seen::OnDisk);
    let facts = same_facts(&live, &pair.facts(Seen::OnDisk));
    eprintln!(
        "{version}: {compared} translations equal, {kept} positions miss nothing, {facts} facts equal live and on disk"
    );
    assert!(compared > 60 && kept > 60 && facts > 100);
    let read = pair.consumers_go_on(&source, &target);
    eprintln!("{version}: {read} consumers went on where krescue had set them");
    assert!(read > 60);
    pair.secondary.kill();
    fs::remove_dir_all(&pair.folder).unwrap();
}

impl Pair {
    /// Starts both clusters.
    fn start(version: &str, name: &str) -> Self {
        let kafka = Kafka::resolve_with_mirror(version);
        let folder = work_folder(name);
        let create = |name: &str| Broker::create(Arc::clone(&kafka), &folder.join(name), &SETTINGS);
        let mut pair = Self {
            both_ways: false,
            primary: create("primary"),
            secondary: create("secondary"),
            kafka,
            folder,
            starts: 0,
        };
        pair.primary.launch();
        pair.secondary.start();
        pair.primary.wait_until_up();
        pair
    }

    /// Waits until all is copied and a whole pass over the groups has followed.
    fn settle(&self) {
        self.ask(&[
            "settle",
            &self.primary.bootstrap(),
            &self.secondary.bootstrap(),
        ]);
    }

    fn ask(&self, arguments: &[&str]) {
        let mut command = self.kafka.java("256m", "Mirrored");
        command.args(arguments);
        run(&mut command, &format!("{arguments:?}"));
    }

    fn start_mirror(&mut self) -> Process {
        self.starts += 1;
        let file = self.folder.join("mm2.properties");
        let text = format!(
            "clusters = primary, secondary\nprimary.bootstrap.servers = {}\nsecondary.bootstrap.servers = {}\n\
             primary->secondary.enabled = true\nprimary->secondary.topics = .*\n{}\
             replication.factor = 1\noffset-syncs.topic.replication.factor = 1\ncheckpoints.topic.replication.factor = 1\n\
             heartbeats.topic.replication.factor = 1\nconfig.storage.replication.factor = 1\noffset.storage.replication.factor = 1\n\
             status.storage.replication.factor = 1\noffset.storage.partitions = 1\nstatus.storage.partitions = 1\n\
             primary.plugin.discovery = service_load\nsecondary.plugin.discovery = service_load\noffset.lag.max = 10\n\
             refresh.topics.interval.seconds = 1\nrefresh.groups.interval.seconds = 1\nemit.checkpoints.interval.seconds = 1\n\
             emit.heartbeats.interval.seconds = 1\nsync.group.offsets.enabled = true\nsync.group.offsets.interval.seconds = 1\n\
             secondary.offset.flush.interval.ms = 2000\nprimary.offset.flush.interval.ms = 2000\n",
            self.primary.bootstrap(),
            self.secondary.bootstrap(),
            if self.both_ways {
                "secondary->primary.enabled = true\nsecondary->primary.topics = home\n"
            } else {
                "secondary->primary.emit.heartbeats.enabled = false\n"
            },
        );
        fs::write(&file, text).unwrap();
        let mut command = self
            .kafka
            .attached("384m", "org.apache.kafka.connect.mirror.MirrorMaker");
        command.arg(&file);
        Process::spawn(
            &mut command,
            &self.folder.join(format!("mm2-{}.log", self.starts)),
        )
    }

    fn dump(&self, broker: &Broker, name: &str) -> Records {
        let file = self.folder.join(name);
        self.ask(&["dump", &broker.bootstrap(), file.to_str().unwrap()]);
        let mut records = Records::new();
        for line in fs::read_to_string(&file).unwrap().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let place = (words[0].to_owned(), words[1].to_owned());
            let record = (words[2].parse().unwrap(), words[3].to_owned());
            records.entry(place).or_default().push(record);
        }
        records
    }

    /// Returns what `RemoteClusterUtils` says on a cluster of the groups of another.
    fn answers(&self, alias: &str, on: &Broker) -> BTreeMap<(String, String, i64), i64> {
        let file = self.folder.join(format!("answers-{alias}.txt"));
        self.ask(&["answers", &on.bootstrap(), alias, file.to_str().unwrap()]);
        answers_of(&file)
    }

    /// Runs krescue over both clusters.
    fn krescue(&self, arguments: &[&str], seen: Seen) -> Vec<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
        command.arg("mirror").args(arguments).arg("--json");
        command.arg("--state-dir").arg(self.folder.join("state"));
        for broker in [&self.primary, &self.secondary] {
            let folder = broker.folder();
            let name = folder.file_name().unwrap().to_str().unwrap();
            let is_live = match seen {
                Seen::Live => true,
                Seen::OnDisk => false,
                Seen::TargetLive => name == "secondary",
            };
            command.arg("--cluster").arg(if is_live {
                format!("{name}={}", broker.bootstrap())
            } else {
                format!("{name}={0}/data1,{0}/data2", folder.display())
            });
        }
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            matches!(output.status.code(), Some(0 | 3)),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Returns what `mirror facts` tells of both clusters.
    fn facts(&self, seen: Seen) -> Value {
        self.krescue(&["facts"], seen).remove(0)["facts"]["clusters"].take()
    }

    /// With the mirror down: deleting all of a topic is a loss of good data, and what the plan says of the copy is so.
    fn what_no_mirror_has_is_good_data(&self, version: &str) {
        let source = self.dump(&self.primary, "source-then.txt");
        let target = self.dump(&self.secondary, "target-then.txt");
        let behind = self.lag_is_what_was_counted(&source, &target);
        let kept = self.nothing_is_missed(&source, &target, Seen::Live);
        eprintln!(
            "{version}: {behind} offsets behind as counted, {kept} positions then miss nothing"
        );
        assert!(behind > 100 && kept > 60);
        let ask = |words: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
            command
                .args(["--bootstrap", &self.primary.bootstrap(), "--state-dir"])
                .arg(self.folder.join("state"))
                .args(words)
                .arg("--json");
            Told::of(command.output().unwrap()).exits(3)
        };
        let first = ("plain".to_owned(), "0".to_owned());
        let end = source[&first].last().unwrap().0 + 1;
        for words in [
            &["delete-records", "plain-0", "--to-offset", &end.to_string()][..],
            &["retention", "plain", "--set", "retention.ms=1"],
        ] {
            let told = ask(words);
            let plan = told
                .lines
                .iter()
                .find(|line| line["kind"] == "live_plan")
                .unwrap();
            assert_eq!(plan["class"], "C", "{version}: {plan}");
            let mirrors = plan["mirrors"].as_array().unwrap();
            let below = mirrors
                .iter()
                .find(|it| it["partition"]["partition"] == 0)
                .unwrap();
            assert_eq!(below["mirror"], "secondary", "{below}");
            let copied = below["copied"].as_i64().unwrap();
            let uncopied = below["uncopied"].as_i64().unwrap();
            assert!(uncopied > 0 && copied + uncopied < end, "{below}");
            // What is there for certain is there, record by record.
            let remote = ("primary.plain".to_owned(), "0".to_owned());
            let there: BTreeSet<&str> = target[&remote].iter().map(|(_, it)| it.as_str()).collect();
            for (_, value) in source[&first].iter().filter(|(at, _)| *at <= copied) {
                assert!(there.contains(value.as_str()), "{value}: {below}");
            }
            assert_eq!(plan["mirrors_unread"], serde_json::json!([]), "{plan}");
        }
        // Of a topic that nobody mirrors nothing is said.
        let told = ask(&["retention", "left.replica", "--set", "retention.ms=1"]);
        let plan = told.lines.iter().find(|line| line["kind"] == "live_plan");
        assert_eq!(
            plan.unwrap()["mirrors"],
            serde_json::json!([]),
            "{}",
            told.out
        );
    }

    /// Sets the positions on the target, for groups that never came there and for one that is busy too; Kafka's consumers
    /// then miss no record that was copied, and read as many again as was said.
    fn consumers_go_on(&self, source: &Records, target: &Records) -> usize {
        let bootstrap = self.secondary.bootstrap();
        // The groups of a target to which no commit was ever synced, but for one, and one that somebody uses.
        self.ask(&["forget", &bootstrap]);
        self.kafkas_tool_takes_the_csv();
        let mut command = self.kafka.java("128m", "Mirrored");
        command.args(["hold", &bootstrap, BUSY]);
        let mut busy = Process::spawn(&mut command, &self.folder.join("busy.log"));
        busy.wait_for("has partitions", PATIENCE);

        let flow = "primary->secondary";
        let shown = self.krescue(&["failover", flow, "--set"], Seen::TargetLive);
        let plan = shown
            .iter()
            .find(|line| line["act"] == "group_positions")
            .unwrap();
        assert_eq!(plan["class"], "B", "{plan}");
        let hash = plan["plan"].as_str().unwrap();
        let done = self.krescue(
            &["failover", flow, "--apply", "--yes", hash],
            Seen::TargetLive,
        );
        let end = done.last().unwrap();
        assert_eq!(end["exit"], 0, "{end}");
        let again = self.krescue(&["failover", flow, "--set"], Seen::TargetLive);
        let change = again.iter().find(|line| line["act"] == "group_positions");
        assert_eq!(change, None, "they are there");
        busy.stop(Signal::SIGKILL);

        let positions: Vec<&Value> = shown
            .iter()
            .filter(|line| line["kind"] == "position" && !line["position"].is_null())
            .filter(|line| line["group"] != BUSY && line["remote_topic"] != "home")
            .collect();
        let read = self.read_on(&positions);
        let count = missed_nothing(&positions, &read, source, target);
        // What was written over comes back.
        let back = self.krescue(
            &["failover", flow, "--restore", "--apply", "--yes-to-all"],
            Seen::TargetLive,
        );
        assert_eq!(back.last().unwrap()["exit"], 0);
        let audit = fs::read_to_string(self.folder.join("state/audit.jsonl")).unwrap();
        assert!(audit.lines().count() >= 2, "{audit}");
        count
    }

    /// Kafka's own tool sets the positions of the files that krescue wrote: a group that is not on the target, and one that is.
    fn kafkas_tool_takes_the_csv(&self) {
        let bootstrap = self.secondary.bootstrap();
        let csv = self.folder.join("csv");
        let words = [
            "failover",
            "primary->secondary",
            "--csv",
            csv.to_str().unwrap(),
        ];
        let lines = self.krescue(&words, Seen::TargetLive);
        let groups = ["everything", "g-plain-0-7"];
        for group in groups {
            let mut tool = self.kafka.java(
                "128m",
                "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
            );
            tool.args(["--bootstrap-server", &bootstrap, "--group", group]);
            tool.args(["--reset-offsets", "--execute", "--from-file"]);
            tool.arg(csv.join(format!("{group}.csv")));
            run(&mut tool, group);
        }
        let file = self.folder.join("commits.txt");
        self.ask(&[
            "commits",
            &bootstrap,
            file.to_str().unwrap(),
            groups[0],
            groups[1],
        ]);
        let set = answers_of(&file);
        let of_groups = |line: &&Value| {
            line["kind"] == "position" && groups.iter().any(|group| line["group"] == *group)
        };
        let planned: BTreeMap<(String, String, i64), i64> = lines
            .iter()
            .filter(of_groups)
            .map(|line| {
                let word = |key: &str| line[key].as_str().unwrap().to_owned();
                let partition = line["partition"].as_i64().unwrap();
                let key = (word("group"), word("remote_topic"), partition);
                (key, line["position"].as_i64().unwrap())
            })
            .collect();
        assert_eq!(set, planned);
        assert!(planned.len() >= 5, "{planned:?}");
    }

    /// Lets Kafka's consumers go on at the positions, as they stand on the target; returns the values that each read.
    fn read_on(&self, positions: &[&Value]) -> ReadOn {
        let bootstrap = self.secondary.bootstrap();
        let wanted = self.folder.join("wanted.txt");
        let lines: Vec<String> = positions
            .iter()
            .map(|line| {
                let word = |key: &str| line[key].as_str().unwrap();
                format!(
                    "{} {} {}\n",
                    word("group"),
                    word("remote_topic"),
                    line["partition"]
                )
            })
            .collect();
        fs::write(&wanted, lines.concat()).unwrap();
        let file = self.folder.join("went-on.txt");
        self.ask(&[
            "resume",
            &bootstrap,
            wanted.to_str().unwrap(),
            file.to_str().unwrap(),
        ]);
        let mut read = ReadOn::new();
        for line in fs::read_to_string(&file).unwrap().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let key = (
                words[0].to_owned(),
                words[1].to_owned(),
                words[2].to_owned(),
            );
            let values = read.entry(key).or_default();
            values.extend(words.get(3).map(|value| (*value).to_owned()));
        }
        read
    }

    /// Compares each commit's translation with `RemoteClusterUtils`; returns how many there were.
    fn same_translations(
        &self,
        version: &str,
        told: &BTreeMap<(String, String, i64), i64>,
        seen: Seen,
    ) -> usize {
        let lines = self.krescue(&["translate", "--all"], seen);
        let mut left = told.clone();
        let mut wrong = vec![];
        let mut compared = 0;
        for line in lines.iter().filter(|line| line["kind"] == "translation") {
            let flow = line["flow"].as_str().unwrap();
            let (alias, _) = flow.split_once("->").unwrap();
            let topic = format!("{alias}.{}", line["topic"].as_str().unwrap());
            let key = (
                line["group"].as_str().unwrap().to_owned(),
                topic,
                line["partition"].as_i64().unwrap(),
            );
            if left.remove(&key) != line["downstream"].as_i64() {
                wrong.push(format!(
                    "{line}: RemoteClusterUtils says {:?}",
                    told.get(&key)
                ));
            }
            compared += 1;
        }
        assert!(
            wrong.is_empty(),
            "{version}: {} of {compared} differ:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
        assert!(
            left.is_empty(),
            "{version}: without a translation: {left:?}"
        );
        compared
    }

    /// Checks each position: from there on the target has every copied record that the group had not read, and at most
    /// as many that it had read as krescue says.
    fn nothing_is_missed(&self, source: &Records, target: &Records, seen: Seen) -> usize {
        let lines = self.krescue(&["failover", "primary->secondary"], seen);
        let mut kept = 0;
        for line in lines.iter().filter(|line| line["kind"] == "position") {
            let place = (
                line["topic"].as_str().unwrap(),
                line["partition"].to_string(),
            );
            let remote = (
                line["remote_topic"].as_str().unwrap().to_owned(),
                place.1.clone(),
            );
            let (Some(position), Some(commit)) =
                (line["position"].as_i64(), line["upstream"].as_i64())
            else {
                continue;
            };
            // Groups of the way back stand on their own topics there.
            let Some(records) = source.get(&(place.0.to_owned(), place.1.clone())) else {
                continue;
            };
            let offsets: BTreeMap<&str, i64> = records
                .iter()
                .map(|(offset, value)| (value.as_str(), *offset))
                .collect();
            let copied = &target[&remote];
            let from_there: BTreeSet<&str> = copied
                .iter()
                .filter(|(offset, _)| *offset >= position)
                .map(|(_, value)| value.as_str())
                .collect();
            for (_, value) in copied {
                // A record that the source compacted away meanwhile has no offset there any more.
                let unread = offsets
                    .get(value.as_str())
                    .is_some_and(|offset| *offset >= commit);
                assert!(
                    !unread || from_there.contains(value.as_str()),
                    "{value} is missed: {line}"
                );
            }
            let again = from_there
                .iter()
                .filter(|value| offsets.get(**value).is_some_and(|offset| *offset < commit));
            let told = line["read_again"].as_u64().unwrap_or(u64::MAX);
            let again = again.count() as u64;
            assert!(again <= told, "{again} records are read again: {line}");
            kept += 1;
        }
        kept
    }

    /// With the mirror down and more written: each partition is as many offsets behind as follow its last copied record.
    fn lag_is_what_was_counted(&self, source: &Records, target: &Records) -> i64 {
        let lines = self.krescue(&["flows"], Seen::Live);
        let mut all = 0;
        for ((topic, partition), records) in source {
            let Some(copies) = target.get(&(format!("primary.{topic}"), partition.clone())) else {
                continue;
            };
            let copies: BTreeSet<&str> = copies.iter().map(|(_, value)| value.as_str()).collect();
            let arrived = records
                .iter()
                .filter(|(_, it)| copies.contains(it.as_str()));
            let last = arrived.map(|(offset, _)| *offset).max().unwrap();
            let (end, _) = records.last().unwrap();
            let number: i64 = partition.parse().unwrap();
            let is_it = |line: &&Value| {
                line["kind"] == "mirrored_partition"
                    && line["topic"] == **topic
                    && line["partition"] == number
            };
            let line = lines.iter().find(is_it).unwrap();
            assert_eq!(line["behind"], end - last, "{line}");
            all += end - last;
        }
        all
    }

    /// All was copied when the source died, and the ends are the broker's.
    fn nothing_is_behind(&self, source: &Records, seen: Seen) {
        let lines = self.krescue(&["flows"], seen);
        let flow = lines.iter().find(|line| line["kind"] == "flow").unwrap();
        assert_eq!(flow["flow"], "primary->secondary");
        assert_eq!(flow["state"], "active");
        let mut seen = 0;
        for line in lines
            .iter()
            .filter(|line| line["kind"] == "mirrored_partition")
        {
            let place = (
                line["topic"].as_str().unwrap().to_owned(),
                line["partition"].to_string(),
            );
            let Some(records) = source.get(&place) else {
                continue;
            };
            let (last, _) = records.last().unwrap();
            let copied = line["copied_offset"].as_i64().unwrap();
            // Behind the last record may lie a transaction's marker, which is never copied.
            assert!((*last..=last + 1).contains(&copied), "{line}");
            assert!(line["behind"].as_i64().unwrap() <= 1, "{line}");
            seen += 1;
        }
        assert_eq!(seen, 4);
    }
}

/// Compares what brokers told with what their log dirs hold; returns how many facts were equal.
fn same_facts(live: &Value, disk: &Value) -> usize {
    let mut equal = 0;
    for alias in ["primary", "secondary"] {
        let (live, disk) = (&live[alias], &disk[alias]);
        assert_eq!(live["cluster_id"], disk["cluster_id"]);
        for (topic, partitions) in disk["logs"].as_object().unwrap() {
            for (partition, there) in partitions.as_object().unwrap() {
                // What goes on by itself after MirrorMaker 2 has gone: groups expire members, transactions their ids.
                if topic.starts_with("__") {
                    continue;
                }
                let told = &live["logs"][topic][partition];
                let place = format!("{alias} {topic}-{partition}");
                for key in ["log_start_offset", "log_end_offset", "leader_epoch"] {
                    // A log without a record has no epoch on disk.
                    if !there[key].is_null() {
                        assert_eq!(told[key], there[key], "{place} {key}");
                        equal += 1;
                    }
                }
                let folded = |facts: &Value| facts["content"]["folded"].clone();
                assert_eq!(folded(told), folded(there), "{place}");
                equal += 1;
            }
        }
        let mut groups: BTreeMap<String, Value> = BTreeMap::new();
        for there in disk["logs"]["__consumer_offsets"]
            .as_object()
            .unwrap()
            .values()
        {
            let here = there["content"]["folded"]["groups"].as_object().unwrap();
            groups.extend(
                here.iter()
                    .map(|(name, it)| (name.clone(), it["commits"].clone())),
            );
        }
        for (group, commits) in groups {
            for (topic, partitions) in commits.as_object().unwrap() {
                for (partition, commit) in partitions.as_object().unwrap() {
                    let told = &live["live_groups"][&group]["commits"][topic][partition];
                    for key in ["offset", "metadata", "leader_epoch"] {
                        assert_eq!(
                            told[key], commit[key],
                            "{alias} {group} {topic}-{partition}"
                        );
                    }
                    equal += 1;
                }
            }
        }
    }
    equal
}

/// Parses lines of group, topic, partition and offset.
fn answers_of(file: &Path) -> BTreeMap<(String, String, i64), i64> {
    fs::read_to_string(file)
        .unwrap()
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let key = (
                words[0].to_owned(),
                words[1].to_owned(),
                words[2].parse().unwrap(),
            );
            (key, words[3].parse().unwrap())
        })
        .collect()
}

/// The values that a group read of a partition of a topic.
type ReadOn = BTreeMap<(String, String, String), BTreeSet<String>>;

/// Checks that each group read every copied record behind its commit, and no more before it than was said; returns how
/// many were checked.
fn missed_nothing(
    positions: &[&Value],
    read: &ReadOn,
    source: &Records,
    target: &Records,
) -> usize {
    let mut count = 0;
    for line in positions {
        let word = |key: &str| line[key].as_str().unwrap().to_owned();
        let partition = line["partition"].to_string();
        let key = (word("group"), word("remote_topic"), partition.clone());
        let values = read
            .get(&key)
            .unwrap_or_else(|| panic!("never started: {line}"));
        let Some(commit) = line["upstream"].as_i64() else {
            continue;
        };
        let offsets = &source[&(word("topic"), partition.clone())];
        let offsets: BTreeMap<&str, i64> = offsets
            .iter()
            .map(|(offset, value)| (value.as_str(), *offset))
            .collect();
        for (_, value) in &target[&(word("remote_topic"), partition)] {
            let unread = offsets
                .get(value.as_str())
                .is_some_and(|offset| *offset >= commit);
            assert!(
                !unread || values.contains(value),
                "{value} is missed: {line}"
            );
        }
        let again = values.iter().filter(|value| {
            offsets
                .get(value.as_str())
                .is_some_and(|offset| *offset < commit)
        });
        let told = line["read_again"].as_u64().unwrap_or(u64::MAX);
        assert!(again.count() as u64 <= told, "more is read again: {line}");
        count += 1;
    }
    count
}
