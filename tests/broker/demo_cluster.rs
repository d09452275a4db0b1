//! Makes `demo-data/cluster.jsonl.zst` anew: `cargo test --features real-kafka --test broker makes_the_cluster_demo -- --ignored`.

use std::fs;
use std::io::{Read as _, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::Value;

use crate::loading::work_folder;
use crate::support::broker::PATIENCE;
use crate::support::kafka::run;
use crate::support::trio::Trio;

/// Topics with the replicas of each partition; broker 3 leads one partition of `orders`, and `telemetry`.
const TOPICS: [&str; 4] = [
    "create orders 1,2,3/2,3,1/3,1,2/1,3,2/2,1,3/1,2,3 min.insync.replicas=2",
    "create payments 1,2,3/2,3,1/1,3,2 min.insync.replicas=2",
    "create clicks 2,1,3/1,3,2 min.insync.replicas=2",
    "create telemetry 3,1,2 min.insync.replicas=1",
];
/// Partitions that are written all the time: those that broker 3 does not lead, since a producer waits for a frozen leader.
const WRITTEN: [&str; 10] = [
    "orders 0",
    "orders 1",
    "orders 3",
    "orders 4",
    "orders 5",
    "payments 0",
    "payments 1",
    "payments 2",
    "clicks 0",
    "clicks 1",
];

/// A dashboard in a terminal that nobody looks at.
struct Dashboard {
    _master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
}

impl Dashboard {
    fn open(trio: &mut Trio, folder: &Path, recording: &Path) -> Self {
        let size = PtySize {
            rows: 50,
            cols: 200,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_krescue"));
        command.arg("--config");
        command.arg(trio.broker(3).properties());
        command.arg("--record");
        command.arg(recording);
        command.env("XDG_STATE_HOME", folder.join("state"));
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            while reader.read(&mut bytes).is_ok_and(|len| len > 0) {}
        });
        Self {
            _master: pair.master,
            keys,
            child,
        }
    }

    fn type_keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }
}

#[test]
#[ignore = "writes demo-data/cluster.jsonl.zst; needs zstd"]
fn makes_the_cluster_demo() {
    let folder = work_folder("demo-cluster");
    let mut trio = Trio::start("4.4.0", &folder);
    for topic in TOPICS {
        trio.admin.run(topic);
    }
    for round in 0..3 {
        write(&mut trio, 300 + round);
    }
    trio.admin.run("produce orders 2 3000 1000");
    trio.admin.run("produce-one telemetry 0 2000 1000");
    let recording = folder.join("recording");
    let mut screen = Dashboard::open(&mut trio, &folder, &recording);
    screen.type_keys("5");
    write_until(&mut trio, &recording, |looks| looks.len() > 3);

    // The last records of broker 3 are acknowledged by it alone: the others stand still for the blink of an eye.
    trio.admin.run("produce-one telemetry 0 1 10");
    trio.signal(1, Signal::SIGSTOP);
    trio.signal(2, Signal::SIGSTOP);
    // What the others' fetches wait for goes out with the first batch.
    trio.admin.run("produce-one telemetry 0 100 1000");
    trio.admin.run("produce-one telemetry 0 640 1000");
    trio.signal(3, Signal::SIGSTOP);
    trio.signal(1, Signal::SIGCONT);
    trio.signal(2, Signal::SIGCONT);
    let begin = Instant::now();
    write_until(&mut trio, &recording, |looks| {
        begin.elapsed() > Duration::from_secs(25)
            && looks.last().is_some_and(|look| {
                look["forecasts"]
                    .as_array()
                    .is_some_and(|told| !told.is_empty())
            })
    });

    for topic in ["orders", "payments", "clicks", "telemetry"] {
        trio.admin.run(&format!(
            "set topic {topic} follower.replication.throttled.replicas *"
        ));
    }
    trio.admin
        .run("set broker - follower.replication.throttled.rate 3145728");
    trio.broker(3).kill();
    trio.broker(3).launch();
    let before = looks(&recording).len();
    write_until(&mut trio, &recording, |looks| {
        let last = looks.last().unwrap();
        looks.len() > before + 5
            && is_whole(last)
            && last["forecasts"].as_array().is_some_and(Vec::is_empty)
    });
    let whole = looks(&recording).len();
    trio.admin.run("elect orders 2");
    write_until(&mut trio, &recording, |looks| looks.len() > whole + 2);
    screen.type_keys("q");
    let status = screen.child.wait().unwrap();
    assert!(status.success());

    let text = fs::read_to_string(&recording).unwrap();
    fs::write(&recording, renamed(text, &folder, &mut trio)).unwrap();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo-data/cluster.jsonl.zst");
    let mut zstd = Command::new("zstd");
    zstd.args(["-19", "-f", "-q"])
        .arg(&recording)
        .arg("-o")
        .arg(&packed);
    run(&mut zstd, "zstd");
    let length = fs::metadata(&packed).unwrap().len();
    eprintln!("{}: {length} bytes", packed.display());
    assert!(length < 200_000);
    drop(trio);
    fs::remove_dir_all(&folder).unwrap();
}

/// Writes to all partitions that broker 3 does not lead.
fn write(trio: &mut Trio, records: u32) {
    for partition in WRITTEN {
        trio.admin
            .run(&format!("produce {partition} {records} 1000"));
    }
}

/// Writes about 2 MB a second until the looks that were recorded fit.
fn write_until(trio: &mut Trio, recording: &Path, fits: impl Fn(&[Value]) -> bool) {
    let begin = Instant::now();
    while !fits(&looks(recording)) {
        assert!(
            begin.elapsed() < PATIENCE,
            "what is waited for is not recorded"
        );
        write(trio, 200);
        std::thread::sleep(Duration::from_millis(700));
    }
}

/// Returns the looks at the cluster that were recorded so far.
fn looks(recording: &Path) -> Vec<Value> {
    let text = fs::read_to_string(recording).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let looks = lines.map(|mut line: Value| line["cluster"].take());
    looks.filter(|look| !look.is_null()).collect()
}

fn is_whole(look: &Value) -> bool {
    let mut rows = look["rows"].as_array().unwrap().iter();
    rows.all(|row| row["isr"].as_array().map(Vec::len) == Some(3))
}

/// Returns the recording with the host, the folder and the ports named as a cluster's are.
fn renamed(mut text: String, folder: &Path, trio: &mut Trio) -> String {
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let host = format!("\"host\":{}", first["host"]);
    text = text.replace(&host, "\"host\":\"kafka-03\"");
    for id in 1..=3_usize {
        let node = folder.join(format!("node{id}")).display().to_string();
        let config = format!("{node}/server.properties");
        text = text.replace(&config, "/etc/kafka/server.properties");
        text = text.replace(&node, "/var/lib/kafka");
        let (port, controller) = trio.broker(id).seat.ports();
        text = text.replace(&format!("127.0.0.1:{port}"), &format!("kafka-0{id}:9092"));
        text = text.replace(
            &format!("127.0.0.1:{controller}"),
            &format!("kafka-0{id}:9093"),
        );
    }
    assert!(!text.contains(&folder.display().to_string()));
    text
}
