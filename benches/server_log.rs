//! How fast a broker's log is read, one thread: 1 GiB of what a booting broker writes, from memory in pieces of 1 MiB.
//!
//! `cargo bench --bench server_log`. Prints the median; nothing is asserted.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench prints, and fails by panicking"
)]

use std::fmt::Write as _;
use std::time::Instant;

use krescue::observe::server_log::{Boots, LogReader};

const SIZE: usize = 1 << 30;
const ROUNDS: usize = 5;

fn main() {
    let log = log();
    let mut rates: Vec<usize> = (0..ROUNDS).map(|_| round(&log)).collect();
    rates.sort_unstable();
    println!(
        "1 GiB of server.log, one thread: {} MB/s, {ROUNDS} rounds {rates:?}",
        rates[ROUNDS / 2]
    );
}

/// Reads the log over and over until it was 1 GiB; returns MB a second.
fn round(log: &str) -> usize {
    let (mut boots, mut reader) = (Boots::default(), LogReader::new());
    let began = Instant::now();
    let mut read = 0;
    while read < SIZE {
        for piece in log.as_bytes().chunks(1 << 20) {
            reader.feed(piece, |event| boots.take(event));
            read += piece.len();
        }
    }
    let ms = usize::try_from(began.elapsed().as_millis()).unwrap();
    assert!(boots.last().unwrap().logs().0 > 0);
    read / 1000 / ms.max(1)
}

/// A boot of 2,000 logs, with the lines that say nothing among those that do, as many as a broker writes.
fn log() -> String {
    let mut log = String::new();
    let mut line = |text: &str| {
        writeln!(log, "[2026-11-30 07:51:11,146] INFO {text}").unwrap();
    };
    line(
        "Registered `kafka:type=kafka.Log4jController` MBean (org.apache.kafka.server.logger.Log4jControllerRegistration)",
    );
    line(
        "Loading logs from log dirs [/var/lib/kafka/data1] (org.apache.kafka.storage.internals.log.LogManager)",
    );
    line(
        "Recovering 2000 logs from /var/lib/kafka/data1 since no clean shutdown file was found (org.apache.kafka.storage.internals.log.LogManager)",
    );
    for at in 0..2000 {
        let name = format!("orders-{at}");
        let loader = format!("[LogLoader partition={name}, dir=/var/lib/kafka/data1]");
        line(&format!(
            "{loader} Recovering unflushed segment 0. 0 recovered for {name}. (org.apache.kafka.storage.internals.log.LogLoader)"
        ));
        line(&format!(
            "{loader} Loading producer state till offset 0 (org.apache.kafka.storage.internals.log.UnifiedLog)"
        ));
        line(&format!(
            "{loader} Reloading from producer snapshot and rebuilding producer state from offset 0 (org.apache.kafka.storage.internals.log.UnifiedLog)"
        ));
        line(&format!(
            "{loader} Producer state recovery took 0ms for snapshot load and 0ms for segment recovery from offset 0 (org.apache.kafka.storage.internals.log.UnifiedLog)"
        ));
        line(&format!(
            "[ProducerStateManager partition={name}] Wrote producer snapshot at offset 3 with 0 producer ids in 2 ms. (org.apache.kafka.storage.internals.log.ProducerStateManager)"
        ));
        line(&format!(
            "Completed load of Log(dir=/var/lib/kafka/data1/{name}, topicId=abcdefghijklmnopqrstuv, topic=orders, partition={at}, highWatermark=0, lastStableOffset=0, logStartOffset=0, logEndOffset=3) with 1 segments, local-log-start-offset 0 and log-end-offset 3 in 9ms ({}/2000 completed in /var/lib/kafka/data1) (org.apache.kafka.storage.internals.log.LogManager)",
            at + 1
        ));
        line(&format!(
            "[Partition {name} broker=1] Log loaded for partition {name} with initial high watermark 3 (kafka.cluster.Partition)"
        ));
        line(&format!(
            "[ReplicaFetcherManager on broker 1] Removed fetcher for partitions Set({name}) (kafka.server.ReplicaFetcherManager)"
        ));
    }
    log
}
