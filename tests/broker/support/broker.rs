//! A broker that is its own controller, on free ports of this machine.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

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
    port: u16,
    process: Option<Process>,
    starts: u32,
}

impl Broker {
    /// Makes a new broker in `folder` and formats its log dirs.
    pub(crate) fn create(kafka: Arc<Kafka>, folder: &Path, settings: &[&str]) -> Self {
        fs::create_dir_all(folder).unwrap();
        let broker = Self::at(kafka, folder, settings);
        let mut format = broker.kafka.java("256m", "kafka.tools.StorageTool");
        format
            .args(["format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c"])
            .arg(broker.properties());
        run(&mut format, "formatting the log dirs");
        broker
    }

    /// Takes the log dirs that lie in `folder`, with `server.properties` written anew for ports that are free now.
    pub(crate) fn at(kafka: Arc<Kafka>, folder: &Path, settings: &[&str]) -> Self {
        let (port, controller) = free_ports();
        let text = format!(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{port}\ncontroller.listener.names=CONTROLLER\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\nlog.dirs={folder}/data1,{folder}/data2\n\
             offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n\
             group.initial.rebalance.delay.ms=0\n{settings}\n",
            folder = folder.display(),
            settings = settings.join("\n"),
        );
        fs::write(folder.join("server.properties"), text).unwrap();
        Self {
            kafka,
            folder: folder.to_owned(),
            port,
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
        format!("127.0.0.1:{}", self.port)
    }

    /// Starts it and waits until it serves.
    pub(crate) fn start(&mut self) {
        self.starts += 1;
        let log = self.folder.join(format!("server-{}.log", self.starts));
        let mut command = self.kafka.attached("512m", "kafka.Kafka");
        command.arg(self.properties());
        let mut process = Process::spawn(&mut command, &log);
        process.wait_for("Kafka Server started", PATIENCE);
        self.process = Some(process);
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

/// Returns two ports that nobody listens on now.
fn free_ports() -> (u16, u16) {
    let bound = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [first, second] = bound.map(|listener| listener.local_addr().unwrap().port());
    (first, second)
}
