//! A living cluster of three brokers, looked at and acted on.

mod acts;
mod cleaner;
mod forecast;
mod readme;
mod replicas;
mod scale;
mod segments;

use std::fs;

use crate::loading::work_folder;
use crate::support::trio::Trio;

#[test]
fn a_living_cluster_3_9_1() {
    live("3.9.1");
}

#[test]
fn a_living_cluster_4_4_0() {
    live("4.4.0");
}

fn live(version: &str) {
    let folder = work_folder(&format!("live-{version}"));
    let mut trio = Trio::start(version, &folder);
    replicas::followers_are_measured(&mut trio);
    forecast::cuts_are_foretold(&mut trio);
    segments::segments_are_judged_by_the_brokers(&mut trio);
    acts::acts_are_what_kafka_says(&mut trio);
    cleaner::a_log_is_given_up(&mut trio);
    readme::the_readmes_walks_work(&mut trio);
    if trio.kafka.is_4() {
        scale::a_look_at_2000_partitions_takes_few_requests(&mut trio);
    }
    drop(trio);
    fs::remove_dir_all(&folder).unwrap();
}
