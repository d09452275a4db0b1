//! What a follower will cut, told before it boots, and by its own log once it has met its leader.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::replicas::end_on_disk;
use crate::support::broker::PATIENCE;
use crate::support::trio::Trio;

const TOPIC: &str = "forked";

/// Broker 3 leads alone and dies with records that nobody else has: once with an epoch that its next leader knows, once
/// with one that it never saw.
pub(super) fn cuts_are_foretold(trio: &mut Trio) {
    trio.admin
        .run(&format!("create {TOPIC} 3,1,2 min.insync.replicas=1"));
    trio.admin.run(&format!("produce {TOPIC} 0 1000 1000"));
    let first = fork(trio, 500);
    // Its preferred leader is broker 3: it leads again, in an epoch of its own.
    let begin = Instant::now();
    while trio.admin.try_run(&format!("state {TOPIC} 0")).as_deref() != Ok("3 1,2,3") {
        // It may lead again already: the controller looks for that by itself.
        let _ = trio.admin.try_run(&format!("elect {TOPIC} 0"));
        assert!(begin.elapsed() < PATIENCE, "broker 3 never leads again");
        std::thread::sleep(Duration::from_millis(100));
    }
    let second = fork(trio, 200);
    eprintln!(
        "{}: {first} and {second} records were foretold to be cut, and the follower's log says the same",
        trio.kafka.version
    );
}

/// Returns how many records were cut.
fn fork(trio: &mut Trio, records: u32) -> i64 {
    let alone = format!("produce-one {TOPIC} 0");
    all_follow_broker_3(trio);
    trio.admin.run(&format!("{alone} 1 10"));
    trio.signal(1, Signal::SIGSTOP);
    trio.signal(2, Signal::SIGSTOP);
    trio.admin.run(&format!("{alone} {records} 1000"));
    trio.admin.run(&format!("{alone} {records} 1000"));
    trio.broker(3).kill();
    trio.signal(1, Signal::SIGCONT);
    trio.signal(2, Signal::SIGCONT);
    becomes_state(trio, "1 1,2");
    trio.admin.run(&format!("produce {TOPIC} 0 300 1000"));

    let end = end_on_disk(trio, &format!("{TOPIC}-0"));
    let config = trio.broker(3).properties();
    let words = ["--config", config.to_str().unwrap(), "replicas", "--json"];
    let told = trio.krescue(&words).exits(3);
    let line = told.of_topic(TOPIC, 0, 3);
    let to = line["will_cut_to_offset"].as_i64().unwrap();
    let cut = line["will_cut_records"].as_i64().unwrap();
    assert_eq!(cut, end - to, "{line}");
    assert!(cut >= i64::from(records), "{line}");
    assert_eq!(line["will_cut_cause"], "diverged", "{line}");
    assert_eq!(
        told.of_topic("orders", 0, 3)["will_cut_records"],
        0,
        "{told:?}"
    );
    let others = told.of_topic(TOPIC, 0, 2);
    assert!(others["will_cut_records"].is_null(), "{others}");

    trio.broker(3).start();
    trio.krescue(&[
        "replicas",
        "--wait-in-sync",
        "2m",
        "--broker",
        "3",
        "--json",
    ])
    .exits(0);
    let log = trio.broker(3).output();
    let cuts: Vec<i64> = log
        .lines()
        .filter(|line| line.contains(&format!("partition={TOPIC}-0")))
        .filter_map(|line| line.split("Truncating to offset ").nth(1))
        .map(|rest| rest.split(' ').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(cuts.last(), Some(&to), "{cuts:?}");
    // The controllers' own log has a leader of its own.
    let others = log.lines().filter(|line| {
        line.contains("Truncating to offset ") && !line.contains("__cluster_metadata")
    });
    assert_eq!(others.count(), cuts.len(), "no other log was cut");
    let told = trio.krescue(&words);
    assert!(told.of_topic(TOPIC, 0, 3)["will_cut_records"].is_null());
    cut
}

fn becomes_state(trio: &mut Trio, state: &str) {
    let begin = Instant::now();
    let question = format!("state {TOPIC} 0");
    while trio.admin.try_run(&question).as_deref() != Ok(state) {
        assert!(begin.elapsed() < PATIENCE, "never {state}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until each broker has taken its part: what the controllers decided reaches them one by one, and one that is stopped
/// before never hears of it.
fn all_follow_broker_3(trio: &mut Trio) {
    let begin = Instant::now();
    let parts = ["Leader", "Follower"].map(|part| format!("] {part} {TOPIC}-0 "));
    let follows = |trio: &mut Trio, id: usize| {
        let log = trio.broker(id).output();
        let mut lines = log.lines().rev();
        let last = lines.find(|line| parts.iter().any(|part| line.contains(part)));
        let wanted = if id == 3 { &parts[0] } else { &parts[1] };
        last.is_some_and(|line| {
            line.contains(wanted) && (id == 3 || line.contains("Current leader is 3."))
        })
    };
    while !(1..=3).all(|id| follows(trio, id)) {
        assert!(begin.elapsed() < PATIENCE, "not all follow broker 3");
        std::thread::sleep(Duration::from_millis(100));
    }
}
