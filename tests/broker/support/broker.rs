//! A broker that is its own controller, on free ports of this machine.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::kafka::{Kafka, run};
use super::process::Process;

/// How long a broker may take to come up: it shares two cores with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// One broker's folder: `server.properties`, `data1`, `data2`, its logs.
#[derive(Debug)]
pub(crate) struct Broker {
    kafka: Arc<Kafka>,
    folder: PathBuf,
    pub(crate) seat: Seat,
    process: Option<Process>,
    starts: u32,
}

/// Where a broker sits among those of its cluster, each of which is a controller too.
#[derive(Debug, Clone)]
pub(crate) struct Seat {
    pub(crate) id: u32,
    port: u16,
    controller: u16,
    /// `controller.quorum.voters`.
    voters: String,
}

impl Seat {
    /// Returns the ports for clients and for controllers.
    pub(crate) fn ports(&self) -> (u16, u16) {
        (self.port, self.controller)
    }

    /// Returns `count` seats of one cluster, on ports that are free now.
    pub(crate) fn of_cluster(count: u32) -> Vec<Self> {
        let ports = free_ports(2 * count);
        let of = |id: u32| (ports[2 * id as usize - 2], ports[2 * id as usize - 1]);
        let voters: Vec<_> = (1..=count)
            .map(|id| format!("{id}@127.0.0.1:{}", of(id).1))
            .collect();
        (1..=count)
            .map(|id| Self {
                id,
                port: of(id).0,
                controller: of(id).1,
                voters: voters.join(","),
            })
            .collect()
    }
}

impl Broker {
    /// Makes a new broker in `folder` and formats its log dirs.
    pub(crate) fn create(kafka: Arc<Kafka>, folder: &Path, settings: &[&str]) -> Self {
        fs::create_dir_all(folder).unwrap();
        let broker = Self::at(kafka, folder, settings);
        broker.format(&[]);
        broker
    }

    /// Formats its log dirs, with further `arguments` for Kafka's storage tool.
    pub(crate) fn format(&self, arguments: &[&str]) {
        let mut format = self.kafka.java("256m", "kafka.tools.StorageTool");
        format
            .args(["format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c"])
            .arg(self.properties())
            .args(arguments);
        run(&mut format, "formatting the log dirs");
    }

    /// Takes the log dirs that lie in `folder`, with `server.properties` written anew for ports that are free now.
    pub(crate) fn at(kafka: Arc<Kafka>, folder: &Path, settings: &[&str]) -> Self {
        Self::seated(kafka, folder, Seat::of_cluster(1).remove(0), settings)
    }

    /// Takes the log dirs that lie in `folder` for the broker of `seat`, with `server.properties` written anew.
    pub(crate) fn seated(kafka: Arc<Kafka>, folder: &Path, seat: Seat, settings: &[&str]) -> Self {
        let text = format!(
            "process.roles=broker,controller\nnode.id={id}\ncontroller.quorum.voters={voters}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{port}\ncontroller.listener.names=CONTROLLER\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\nlog.dirs={folder}/data1,{folder}/data2\n\
             offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n\
             group.initial.rebalance.delay.ms=0\n{settings}\n",
            id = seat.id,
            voters = seat.voters,
            port = seat.port,
            controller = seat.controller,
            folder = folder.display(),
            settings = settings.join("\n"),
        );
        fs::write(folder.join("server.properties"), text).unwrap();
        Self {
            kafka,
            folder: folder.to_owned(),
            seat,
            process: None,
            starts: 0,
        }
    }

    /// Returns the path of its settings.
    pub(crate) fn properties(&self) -> PathBuf {
        self.folder.join("server.properties")
    }

    /// Returns where clients connect.
    pub(crate) fn bootstrap(&self) -> String {
        format!("127.0.0.1:{}", self.seat.port)
    }

    /// Returns its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts it and waits until it serves.
    pub(crate) fn start(&mut self) {
        self.launch();
        self.wait_until_up();
    }

    /// Starts it; it may have to wait for others of its cluster.
    pub(crate) fn launch(&mut self) {
        self.starts += 1;
        let log = self.folder.join(format!("server-{}.log", self.starts));
        let mut command = self.kafka.attached("512m", "kafka.Kafka");
        command.arg(self.properties());
        self.process = Some(Process::spawn(&mut command, &log));
    }

    /// Waits until it serves.
    pub(crate) fn wait_until_up(&mut self) {
        let process = self.process.as_mut().unwrap();
        process.wait_for("Kafka Server started", PATIENCE);
    }

    /// Waits until it says `text`.
    pub(crate) fn wait_for(&mut self, text: &str, limit: Duration) {
        self.process.as_mut().unwrap().wait_for(text, limit);
    }

    /// Waits until it has ended by itself, or says one of `texts`; then it is killed.
    pub(crate) fn wait_for_failure(&mut self, texts: &[&str]) {
        let end = Instant::now() + PATIENCE;
        loop {
            // What it says last is read behind its end.
            let ended = self.process.as_mut().unwrap().has_ended();
            let output = self.output();
            if ended || texts.iter().any(|text| output.contains(text)) {
                return self.kill();
            }
            assert!(Instant::now() < end, "it goes on\n{output}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until its process has ended by itself.
    pub(crate) fn wait_for_end(&mut self, limit: Duration) {
        self.process.take().unwrap().wait(limit);
    }

    /// Returns what it has logged since its last start.
    pub(crate) fn output(&self) -> String {
        fs::read_to_string(self.folder.join(format!("server-{}.log", self.starts))).unwrap()
    }

    /// Stops it in order: it leaves its clean marker.
    pub(crate) fn stop(&mut self) {
        self.process.take().unwrap().stop(Signal::SIGTERM);
        for dir in ["data1", "data2"] {
            let marker = self.folder.join(dir).join(".kafka_cleanshutdown");
            assert!(
                marker.exists(),
                "no clean stop of {}",
                self.folder.display()
            );
        }
    }

    /// Kills it: what it wrote stays in the page cache, and nothing is told to the disk.
    pub(crate) fn kill(&mut self) {
        self.process.take().unwrap().stop(Signal::SIGKILL);
    }

    /// Returns the broker's process id while it runs.
    pub(crate) fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }
}

/// Returns `count` ports that nobody listens on now. None is given twice: a broker that was killed comes back to its own.
pub(crate) fn free_ports(count: u32) -> Vec<u16> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut bound, mut ports) = (Vec::new(), Vec::new());
    while ports.len() < count as usize {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        bound.push(listener);
        if given.insert(port) {
            ports.push(port);
        }
    }
    ports
}
