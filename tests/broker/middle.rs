//! A broker that is started in the middle of an apply: it fails on the lock, and the apply goes on.

use std::fs;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use krescue::disk::DiskAction;
use krescue::engine::{
    Confirmed, JobOutcome, JobSpec, PlanSpec, PlanStore, Who, apply_here, start_plan,
};
use krescue::plan::{HandOver, OnLoss};
use krescue::terms::Timestamp;

use crate::faults::{Fault, FaultyStorage};
use crate::hand_over::cut_tails;
use crate::loading::work_folder;
use crate::support::broker::{Broker, PATIENCE};
use crate::support::source::{SETTINGS, Source};

#[test]
fn a_broker_started_in_the_middle_of_an_apply_fails_on_the_lock_3_9_1() {
    in_the_middle("3.9.1");
}

#[test]
fn a_broker_started_in_the_middle_of_an_apply_fails_on_the_lock_4_4_0() {
    in_the_middle("4.4.0");
}

fn in_the_middle(version: &str) {
    let source = Source::shared(version);
    let folder = work_folder(&format!("middle-{version}"));
    let node = folder.join("node");
    source.copy_to(&node);
    let damaged = cut_tails(&node);
    let state = folder.join("state");
    let log_dirs = ["data1", "data2"].map(|dir| node.join(dir));
    let release = version.parse().unwrap();
    let mut spec = PlanSpec::new(log_dirs.to_vec(), release, Timestamp(source.now));
    spec.hand_over = HandOver::Clean;
    spec.decisions.others = OnLoss::LikeKafka;
    spec.state_dir = Some(state.clone());
    let plan = PlanStore::new(&state)
        .save(start_plan(spec).unwrap().join().unwrap())
        .unwrap();

    let (reached, middle) = channel();
    let (go_on, may_go_on) = channel::<()>();
    let first = Mutex::new(Some((reached, may_go_on)));
    let storage = FaultyStorage::new(move |call| {
        if call.action == DiskAction::SetLen
            && let Some((reached, may_go_on)) = first.lock().unwrap().take()
        {
            reached.send(()).unwrap();
            may_go_on.recv().unwrap();
        }
        Fault::None
    });
    let who = Who::named("a test");
    let job = JobSpec::of(&plan, Timestamp(source.now), who, Confirmed::YesToAll);
    let outcome = std::thread::scope(|scope| {
        let apply = scope.spawn(|| apply_here(&storage, &state, &plan, &job, |_| ()));
        middle.recv().unwrap();
        let mut broker = Broker::at(Arc::clone(&source.kafka), &node, &SETTINGS);
        broker.launch();
        broker.wait_for("Failed to acquire lock on file .lock", PATIENCE);
        broker.kill();
        go_on.send(()).unwrap();
        apply.join().unwrap()
    });
    assert_eq!(outcome, JobOutcome::Done);
    let mut broker = Broker::at(Arc::clone(&source.kafka), &node, &SETTINGS);
    broker.start();
    let log = broker.output();
    assert!(log.contains("Skipping recovery of"), "{log}");
    broker.kill();
    eprintln!(
        "{version}: {} damaged logs, a broker in the middle",
        damaged.len()
    );
    fs::remove_dir_all(&folder).unwrap();
}
