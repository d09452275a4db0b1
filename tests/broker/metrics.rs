//! A boot whose log says little, watched by what real agents say of it over HTTP.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use serde_json::Value;

use crate::loading::work_folder;
use crate::support::broker::{Broker, PATIENCE, free_ports};
use crate::support::kafka::jar;
use crate::support::process::Process;
use crate::support::source::{SETTINGS, Source};

const EXPORTER: &str = "io.prometheus.jmx:jmx_prometheus_javaagent:1.0.1";
const JOLOKIA: &str = "org.jolokia:jolokia-agent-jvm:2.1.2:jar:javaagent";

#[test]
fn logs_that_are_done_are_told_by_jmx_exporter_and_by_jolokia() {
    let source = Source::shared("4.4.0");
    let folder = work_folder("metrics-4.4.0");
    let node = folder.join("node");
    source.copy_to(&node);
    drop(Broker::at(Arc::clone(&source.kafka), &node, &SETTINGS));
    let ports = free_ports(2);
    let rules = folder.join("rules.yml");
    fs::write(&rules, "rules:\n- pattern: \".*\"\n").unwrap();
    let agents = format!(
        "-javaagent:{}=127.0.0.1:{}:{} -javaagent:{}=port={},host=127.0.0.1",
        jar(EXPORTER).display(),
        ports[0],
        rules.display(),
        jar(JOLOKIA).display(),
        ports[1],
    );
    // Its reader waits until somebody writes: the load stands still there, and the gauges with it.
    let pipe = first_log(&node).join("leader-epoch-checkpoint");
    fs::remove_file(&pipe).unwrap();
    nix::unistd::mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let mut command = source.kafka.attached("512m", "kafka.Kafka");
    command
        .arg(node.join("server.properties"))
        .env("JAVA_TOOL_OPTIONS", agents);
    let mut broker = Process::spawn(&mut command, &folder.join("broker"));
    let writer = open_when_read(&pipe, &mut broker);
    let said = broker.output();
    // All but that log come to their end.
    for (dir, left) in [("data1", 0), ("data2", 1)] {
        let dir = node.join(dir).display().to_string();
        let logs = logs_of(&said, &dir);
        let text = format!("({}/{logs} completed in {dir})", logs - left);
        broker.wait_for(&text, PATIENCE);
    }

    let urls = [
        format!("http://127.0.0.1:{}/metrics", ports[0]),
        format!("http://127.0.0.1:{}/jolokia", ports[1]),
    ];
    let mut told = Vec::new();
    for (at, url) in urls.iter().enumerate() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
        command
            .args(["watch", "--log", "-", "--json", "--metrics", url])
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::piped());
        let mut watch = Process::spawn(&mut command, &folder.join(format!("watch-{at}")));
        let mut input = watch.input();
        // The boot as far as the log dirs' names: a log that lags behind.
        let said = broker.output();
        let (begin, rest) = said.split_at(end_of_dirs(&said));
        input.write_all(begin.as_bytes()).unwrap();
        watch.wait_for("\"logs_source\":\"metrics\"", PATIENCE);
        let line = with_metrics(&watch.output());
        let done = |dir: &str| rest.matches(&format!("completed in {dir})")).count() as u64;
        for dir in line["dirs"].as_array().unwrap() {
            let path = dir["dir"].as_str().unwrap();
            assert_eq!(dir["logs_done"], done(path), "{path} by {url}: {line:#}");
            told.push(done(path));
        }
        drop(input);
        assert_eq!(watch.wait(PATIENCE).code(), Some(1), "the log broke off");
    }
    assert!(told.iter().any(|done| *done > 0), "{told:?}");
    assert_eq!(told[..2], told[2..]);

    // Who is told of no agent finds those of the process; the load goes on before its eyes.
    let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
    command
        .arg("--config")
        .arg(node.join("server.properties"))
        .args(["watch", "--json"])
        .env_remove("XDG_STATE_HOME")
        .stdin(Stdio::null());
    let mut watch = Process::spawn(&mut command, &folder.join("watch"));
    watch.wait_for("\"source\":\"metrics\",\"at\":\"", PATIENCE);
    (&writer).write_all(b"0\n0\n").unwrap();
    drop(writer);
    broker.wait_for("Kafka Server started", PATIENCE);
    assert_eq!(watch.wait(PATIENCE).code(), Some(0), "{}", watch.output());
    broker.stop(Signal::SIGKILL);
    eprintln!("4.4.0: {told:?} logs done, told by both agents");
    fs::remove_dir_all(&folder).unwrap();
}

/// Returns a log of the second log dir.
pub(crate) fn first_log(node: &Path) -> PathBuf {
    let entries = fs::read_dir(node.join("data2")).unwrap();
    let mut logs: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("leader-epoch-checkpoint").is_file())
        .collect();
    logs.sort();
    logs.remove(0)
}

/// Opens a pipe for writing once somebody reads it.
pub(crate) fn open_when_read(pipe: &Path, broker: &mut Process) -> File {
    let begin = Instant::now();
    loop {
        let mut options = OpenOptions::new();
        options.write(true).custom_flags(nix::libc::O_NONBLOCK);
        match options.open(pipe) {
            Ok(file) => return file,
            Err(_) => assert!(begin.elapsed() < PATIENCE, "{}", broker.output()),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns how many logs a boot recovers in a log dir.
pub(crate) fn logs_of(log: &str, dir: &str) -> u64 {
    let line = log
        .lines()
        .find(|line| line.contains(&format!(" logs from {dir} since no clean")));
    let (front, _) = line.unwrap().split_once(" logs from ").unwrap();
    front.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Returns where the lines end that name the log dirs.
fn end_of_dirs(log: &str) -> usize {
    let last = log.rfind("since no clean shutdown file was found").unwrap();
    last + log[last..].find('\n').unwrap() + 1
}

/// Returns the first line in which the metrics say how many logs are done.
fn with_metrics(output: &str) -> Value {
    let lines = output
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let mut lines = lines.filter(|line: &Value| {
        let mut dirs = line["dirs"].as_array().into_iter().flatten();
        dirs.any(|dir| dir["logs_source"] == "metrics")
    });
    lines.next().unwrap()
}
