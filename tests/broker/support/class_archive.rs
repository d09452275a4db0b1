//! An archive of a broker's loaded classes, which halves what each start of a JVM costs (JEP 350).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::sys::signal::Signal;

use super::broker::{Broker, PATIENCE};
use super::kafka::Kafka;
use super::process::Process;

/// Returns where the archive lies in the folder of a version.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("classes.jsa")
}

/// Makes the archive in `folder` by a broker that boots and stops, unless it is there. A JVM that cannot use it goes on
/// without.
pub(super) fn make(kafka: &Arc<Kafka>, folder: &Path) {
    let archive = path(folder);
    if archive.exists() {
        return;
    }
    let node = folder.join("archived");
    let _ = fs::remove_dir_all(&node);
    let broker = Broker::create(Arc::clone(kafka), &node, &[]);
    // In place only when it is whole.
    let unfinished = node.join("classes.jsa");
    let option = format!("-XX:ArchiveClassesAtExit={}", unfinished.display());
    let mut boot = kafka.attached("512m", "kafka.Kafka");
    boot.arg(broker.properties())
        .env("JDK_JAVA_OPTIONS", option);
    let mut process = Process::spawn(&mut boot, &node.join("server.log"));
    process.wait_for("Kafka Server started", PATIENCE);
    process.stop(Signal::SIGTERM);
    assert!(unfinished.exists(), "no archive\n{}", process.output());
    fs::rename(unfinished, archive).unwrap();
    fs::remove_dir_all(node).unwrap();
}
