//! Three brokers of one cluster, each a controller too, and Kafka's own clients beside them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use super::admin::Admin;
use super::broker::{Broker, Seat};
use super::kafka::Kafka;

/// A dead broker is found soon, and a follower that lags leaves the ISR soon; but none that lives on a loaded machine.
const SETTINGS: [&str; 9] = [
    "broker.session.timeout.ms=9000",
    "broker.heartbeat.interval.ms=500",
    "replica.lag.time.max.ms=9000",
    "log.segment.bytes=1048576",
    "log.retention.check.interval.ms=2000",
    "log.cleaner.backoff.ms=1000",
    "offsets.topic.num.partitions=1",
    // So little at a time that nobody has caught up before a throttle reaches him.
    "replica.fetch.max.bytes=65536",
    "num.recovery.threads.per.data.dir=2",
];

/// Three running brokers with the ids 1, 2 and 3.
#[derive(Debug)]
pub(crate) struct Trio {
    pub(crate) kafka: Arc<Kafka>,
    pub(crate) brokers: Vec<Broker>,
    pub(crate) admin: Admin,
    home: std::path::PathBuf,
}

/// What a run of krescue said.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) exit: i32,
    pub(crate) lines: Vec<Value>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Trio {
    /// Formats and starts three brokers in `folder`.
    pub(crate) fn start(version: &str, folder: &Path) -> Self {
        let kafka = Kafka::resolve(version);
        let brokers = Seat::of_cluster(3).into_iter().map(|seat| {
            let folder = folder.join(format!("node{}", seat.id));
            fs::create_dir_all(&folder).unwrap();
            let broker = Broker::seated(Arc::clone(&kafka), &folder, seat, &SETTINGS);
            broker.format(&[]);
            broker
        });
        let mut brokers: Vec<_> = brokers.collect();
        brokers.iter_mut().for_each(Broker::launch);
        brokers.iter_mut().for_each(Broker::wait_until_up);
        let bootstrap: Vec<_> = brokers.iter().map(Broker::bootstrap).collect();
        let admin = Admin::start(&kafka, &bootstrap.join(","));
        let home = folder.join("home");
        fs::create_dir_all(&home).unwrap();
        Self {
            kafka,
            brokers,
            admin,
            home,
        }
    }

    /// Returns the broker `id`.
    pub(crate) fn broker(&mut self, id: usize) -> &mut Broker {
        &mut self.brokers[id - 1]
    }

    /// Returns where clients connect first.
    pub(crate) fn bootstrap(&self) -> String {
        let all: Vec<_> = self.brokers.iter().map(Broker::bootstrap).collect();
        all.join(",")
    }

    /// Sends a signal to a broker.
    pub(crate) fn signal(&self, id: usize, signal: Signal) {
        let id = self.brokers[id - 1].process_id().unwrap();
        killpg(Pid::from_raw(i32::try_from(id).unwrap()), signal).unwrap();
    }

    /// Runs krescue over the cluster's bootstrap list.
    pub(crate) fn krescue(&self, words: &[&str]) -> Told {
        let bootstrap = self.bootstrap();
        let all = [&["--bootstrap", &bootstrap], words].concat();
        Told::of(self.command(&all).output().unwrap())
    }

    /// Returns krescue with `words` alone.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
        command
            .env("XDG_STATE_HOME", self.home.join("state"))
            .current_dir(&self.home)
            .args(words)
            .stdin(Stdio::null());
        command
    }

    /// Returns what the replicas of a partition say, by broker.
    #[track_caller]
    pub(crate) fn replica(&self, topic: &str, partition: i64, broker: i64) -> Value {
        let told = self.krescue(&["replicas", topic, "--json"]);
        told.replica(partition, broker)
    }
}

impl Told {
    /// Returns what a finished run said.
    pub(crate) fn of(output: Output) -> Self {
        let out = String::from_utf8(output.stdout).unwrap();
        Self {
            exit: output.status.code().unwrap_or(-1),
            err: String::from_utf8(output.stderr).unwrap(),
            ..Self::read(&out)
        }
    }

    /// Returns what a run said in `out`, without its end.
    pub(crate) fn read(out: &str) -> Self {
        let lines = out
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        Self {
            exit: 0,
            lines: lines.collect(),
            err: String::new(),
            out: out.to_owned(),
        }
    }

    /// Fails unless the exit is `exit`.
    #[track_caller]
    pub(crate) fn exits(self, exit: i32) -> Self {
        assert_eq!(self.exit, exit, "{}\n{}", self.out, self.err);
        self
    }

    /// Returns the line of a replica of one topic among several.
    #[track_caller]
    pub(crate) fn of_topic(&self, topic: &str, partition: i64, broker: i64) -> Value {
        let of_topic = Self {
            lines: self
                .lines
                .iter()
                .filter(|line| line["topic"] == topic)
                .cloned()
                .collect(),
            exit: self.exit,
            out: self.out.clone(),
            err: self.err.clone(),
        };
        of_topic.replica(partition, broker)
    }

    /// Returns the line of a replica.
    #[track_caller]
    pub(crate) fn replica(&self, partition: i64, broker: i64) -> Value {
        let wanted = |line: &&Value| {
            line["kind"] == "replica" && line["partition"] == partition && line["broker"] == broker
        };
        let found = self.lines.iter().find(wanted);
        found
            .unwrap_or_else(|| panic!("no replica {partition} {broker}: {self:?}"))
            .clone()
    }
}
