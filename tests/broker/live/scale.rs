//! What a look costs where there is much to look at.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::broker::PATIENCE;
use crate::support::trio::{Told, Trio};

const TOPICS: u64 = 40;
const PARTITIONS: u64 = 50;
/// Requests that a look may take.
const MOST_REQUESTS: u64 = 60;

/// 2,000 partitions with three replicas each. How long it takes is printed and no claim: that is this machine's.
pub(super) fn a_look_at_2000_partitions_takes_few_requests(trio: &mut Trio) {
    let begin = Instant::now();
    let before: Vec<u64> = (1..=3).map(|broker| held(trio, broker)).collect();
    trio.admin
        .run(&format!("create-many many {TOPICS} {PARTITIONS} 3"));
    for (broker, before) in (1..).zip(before) {
        while held(trio, broker) < before + TOPICS * PARTITIONS {
            assert!(
                begin.elapsed() < PATIENCE,
                "broker {broker} has not made all"
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    let made = begin.elapsed();
    // A broker that is busy may not answer at once: then it is looked again.
    let look = loop {
        let told = trio.krescue(&["replicas", "--json", "--all"]);
        let unknown = many(&told).filter(|line| line["log_end_offset"].is_null());
        if unknown.count() == 0 {
            break told;
        }
        assert!(begin.elapsed() < PATIENCE, "not all replicas answer");
    };
    let run = &look.lines[0];
    let requests = run["requests"].as_u64().unwrap();
    assert!(requests < MOST_REQUESTS, "{run}");
    let mut replicas = 0;
    for line in many(&look) {
        assert_eq!(line["log_end_offset"], 0, "{line}");
        assert_eq!(line["lag_records"], 0, "{line}");
        assert!(
            !line["dir"].is_null() && !line["min_isr"].is_null(),
            "{line}"
        );
        replicas += 1;
    }
    assert_eq!(replicas, TOPICS * PARTITIONS * 3);
    eprintln!(
        "{}: a look at {replicas} replicas took {requests} requests and {} ms; making them took {:.0} s",
        trio.kafka.version,
        run["took_ms"],
        made.as_secs_f64()
    );
}

/// Returns how many replicas a broker has, by Kafka's own client.
fn held(trio: &mut Trio, broker: u64) -> u64 {
    trio.admin.run(&format!("held {broker}")).parse().unwrap()
}

/// Returns the lines of the replicas that were made here.
fn many(told: &Told) -> impl Iterator<Item = &Value> {
    told.lines.iter().filter(|line| {
        let topic = line["topic"].as_str().unwrap_or_default();
        line["kind"] == "replica" && topic.starts_with("many")
    })
}
