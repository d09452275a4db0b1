//! A log that the running broker's cleaner gives up, by the broker's log and by krescue.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::broker::PATIENCE;
use crate::support::trio::{Told, Trio};

/// Where a batch's records begin.
const RECORDS_AT: u64 = 61;

/// A record that nobody can read makes the cleaner give the log up; krescue says so, and why nothing of it goes.
pub(super) fn a_log_is_given_up(trio: &mut Trio) {
    trio.admin
        .run("create spoilt 1 segment.bytes=1048576 min.cleanable.dirty.ratio=0.01");
    trio.admin.run("produce spoilt 0 3000 1000");
    let dirs = ["data1", "data2"].map(|dir| trio.broker(1).folder().join(dir).join("spoilt-0"));
    let first: PathBuf = dirs
        .iter()
        .map(|dir| dir.join("00000000000000000000.log"))
        .find(|file| file.exists())
        .unwrap();
    let file = OpenOptions::new().write(true).open(first).unwrap();
    file.write_all_at(&[0xff; 64], RECORDS_AT).unwrap();
    assert!(log(trio)["cleaner_gave_up"].is_null());
    trio.admin.run("set topic spoilt cleanup.policy compact");
    trio.broker(1)
        .wait_for("(spoilt-0) as uncleanable", PATIENCE);
    let told = log(trio);
    let gave_up = told["cleaner_gave_up"].as_str().unwrap_or_default();
    // The broker's own words: when, then the exception.
    let at = gave_up.get(..19).unwrap_or_default();
    let output = trio.broker(1).output();
    let line = output
        .lines()
        .find(|line| line.contains("(spoilt-0) as uncleanable"));
    assert!(line.unwrap().contains(at), "{told}");
    let cause = gave_up.get(21..).unwrap_or_default();
    assert!(
        cause.contains("Exception") && output.contains(cause),
        "{told}"
    );
    eprintln!("{}: the cleaner gave up {gave_up}", trio.kafka.version);
    trio.admin.run("delete spoilt");
}

/// Returns what `segments` on broker 1's host says of the log.
fn log(trio: &mut Trio) -> Value {
    let config = trio.broker(1).properties();
    let words = [
        "--config",
        config.to_str().unwrap(),
        "segments",
        "spoilt-0",
        "--json",
    ];
    let told = Told::of(trio.command(&words).output().unwrap());
    let is_log = |line: &&Value| line["kind"] == "retention" && line["topic"] == "spoilt";
    let found = told.lines.iter().find(is_log).cloned();
    found.unwrap_or_else(|| panic!("{}{}", told.out, told.err))
}
