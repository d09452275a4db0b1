//! A real boot without a log that could be read, watched by what shows of it all the same.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use serde_json::Value;

use crate::loading::work_folder;
use crate::metrics::{first_log, logs_of, open_when_read};
use crate::support::broker::{Broker, PATIENCE};
use crate::support::krescue::watch_command;
use crate::support::process::Process;
use crate::support::source::{SETTINGS, Source};
use crate::watch::{bytes_that_are_read, lines};

#[test]
fn a_boot_without_a_log_is_told_by_its_threads_open_files_and_log_dirs() {
    let source = Source::shared("4.4.0");
    let folder = work_folder("watch-signs-4.4.0");
    let node = folder.join("node");
    source.copy_to(&node);
    drop(Broker::at(Arc::clone(&source.kafka), &node, &SETTINGS));
    let reads = bytes_that_are_read(&node);
    // Its reader waits until somebody writes: the load stands still there, at a place that is known.
    let pipe = first_log(&node).join("leader-epoch-checkpoint");
    fs::remove_file(&pipe).unwrap();
    nix::unistd::mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let mut watch = Process::spawn(&mut watch_command(&node, &[]), &folder.join("watch"));
    let mut broker = launch(&source, &node, &folder);
    let writer = open_when_read(&pipe, &mut broker);
    // All but that log come to their end.
    let dirs = ["data1", "data2"].map(|dir| node.join(dir).display().to_string());
    let said = broker.output();
    for (dir, left) in dirs.iter().zip([0, 1]) {
        let logs = logs_of(&said, dir);
        broker.wait_for(
            &format!("({}/{logs} completed in {dir})", logs - left),
            PATIENCE,
        );
    }
    let all = dirs.iter().map(|dir| logs_of(&said, dir)).sum::<u64>();
    watch.wait_for(
        &format!("\"logs_done\":{},\"logs_total\":{all},", all - 1),
        PATIENCE,
    );
    let line = lines(&watch.output()).pop().unwrap();
    let waits = pipe
        .parent()
        .unwrap()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap();
    let done: u64 = reads.values().sum::<u64>() - reads[waits];
    assert_eq!(line["bytes_done"], done, "{line:#}");
    assert_eq!(line["bytes_total"], reads.values().sum::<u64>());
    assert_eq!(line["phase"], "loading");
    assert_eq!(line["bytes_source"], "threads");
    for (dir, left) in line["dirs"].as_array().unwrap().iter().zip([0, 1]) {
        assert_eq!(dir["logs_source"], "files");
        let logs = logs_of(&said, dir["dir"].as_str().unwrap());
        assert_eq!(dir["logs_done"], logs - left, "{line:#}");
    }
    let sources = line["sources"].as_array().unwrap();
    let of = |name: &str| sources.iter().find(|of| of["source"] == name).unwrap();
    assert!(of("files")["at"].is_string() && of("files")["trouble"].is_null());
    assert!(of("log")["at"].is_null() && of("log")["trouble"].is_string());

    (&writer).write_all(b"0\n0\n").unwrap();
    drop(writer);
    let status = watch.wait(PATIENCE);
    assert_eq!(status.code(), Some(0), "{}", watch.output());
    broker.wait_for("Kafka Server started", PATIENCE);
    let all_lines = lines(&watch.output());
    let end = all_lines.last().unwrap()["text"].as_str().unwrap();
    assert!(end.starts_with("the broker is up"), "{end}");
    let progress: Vec<_> = all_lines
        .iter()
        .filter(|line| line["kind"] == "progress")
        .collect();
    for pair in progress.windows(2) {
        for name in ["bytes_done", "logs_done"] {
            let of = |line: &Value| line[name].as_u64().unwrap_or(0);
            assert!(of(pair[0]) <= of(pair[1]), "{pair:#?}");
        }
    }
    broker.stop(Signal::SIGKILL);

    // One that dies says so, and where to look. It waits again, so that it is killed in the middle.
    fs::remove_file(&pipe).unwrap();
    nix::unistd::mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let mut watch = Process::spawn(&mut watch_command(&node, &[]), &folder.join("watch-killed"));
    let mut broker = launch(&source, &node, &folder);
    watch.wait_for("\"phase\":\"loading\"", PATIENCE);
    broker.stop(Signal::SIGKILL);
    assert_eq!(watch.wait(PATIENCE).code(), Some(1), "{}", watch.output());
    let end = lines(&watch.output()).pop().unwrap();
    assert!(
        end["text"].as_str().unwrap().contains("only its log tells"),
        "{end}"
    );
    eprintln!(
        "4.4.0: {} of {all} logs and {done} bytes told without a log",
        all - 1
    );
    fs::remove_dir_all(&folder).unwrap();
}

/// Starts a broker whose output goes through a pipe, as into a container's runtime.
fn launch(source: &Source, node: &Path, folder: &Path) -> Process {
    let java = source.kafka.attached("512m", "kafka.Kafka");
    let mut command = Command::new("sh");
    command
        .args(["-c", "\"$@\" 2>&1 | cat", "sh"])
        .arg(java.get_program())
        .args(java.get_args())
        .arg(node.join("server.properties"))
        .stdin(Stdio::piped());
    Process::spawn(&mut command, &folder.join("broker"))
}
