//! The demo's trees, as the planner sees them.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use krescue::demo::{DemoTree, LargeSpec, write_crashed, write_large};
use krescue::engine::{PlanSpec, start_plan};
use krescue::plan::{RecoveryPlan, Verdict};

fn plan(tree: &DemoTree) -> RecoveryPlan {
    let spec = PlanSpec::new(tree.log_dirs.clone(), tree.kafka_version, tree.now);
    start_plan(spec).unwrap().join().unwrap().plan
}

/// Returns the word of each log's verdict.
fn verdicts(plan: &RecoveryPlan) -> BTreeMap<String, &'static str> {
    plan.partitions()
        .map(|log| {
            let word = match &log.verdict {
                Verdict::Nothing => "nothing",
                Verdict::Recover => "recover",
                Verdict::Ask(_) => "ask",
                Verdict::Skipped { .. } => "skipped",
                other => panic!("{}: {other:?}", log.dir_name),
            };
            (log.dir_name.clone(), word)
        })
        .collect()
}

#[test]
fn the_crashed_demo_has_one_decision_and_two_cut_tails() {
    let folder = tempfile::tempdir().unwrap();
    let tree = write_crashed(folder.path()).unwrap();
    let plan = plan(&tree);
    let verdicts = verdicts(&plan);
    assert_eq!(verdicts["payments-1"], "ask");
    assert_eq!(verdicts.values().filter(|word| **word == "ask").count(), 1);
    for name in ["notifications-0", "orders-2"] {
        let log = plan.partitions().find(|log| log.dir_name == name).unwrap();
        assert_eq!(log.verdict, Verdict::Recover);
        assert!(krescue::app::state::shortens(log), "{name}");
    }
}

#[test]
fn the_large_demo_is_good_data_but_for_what_was_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = AtomicBool::new(false);
    let spec = LargeSpec {
        size: 24 << 20,
        cancel: &cancel,
    };
    let mut last = (0, 0);
    let tree = write_large(folder.path(), spec, &mut |done, total| last = (done, total)).unwrap();
    assert!(last.0 > last.1 * 9 / 10 && last.0 <= last.1, "{last:?}");
    let plan = plan(&tree);
    let added: Vec<_> = plan
        .partitions()
        .filter(|log| {
            let number = log.topic_partition.as_ref().unwrap().partition;
            (10..20).contains(&number)
        })
        .collect();
    assert_eq!(added.len(), 48);
    let count = |is: &dyn Fn(&krescue::plan::PartitionPlan) -> bool| {
        added.iter().filter(|log| is(log)).count()
    };
    assert_eq!(count(&|log| matches!(log.verdict, Verdict::Ask(_))), 4);
    let cut = count(&|log| log.verdict == Verdict::Recover && krescue::app::state::shortens(log));
    assert_eq!(cut, 8);
    // All of it is read, since nothing of it was flushed.
    let read: u64 = added.iter().map(|log| log.scan_bytes).sum();
    let there: u64 = added
        .iter()
        .flat_map(|log| &log.segments)
        .map(|s| s.bytes)
        .sum();
    assert!(read > 20 << 20, "{read} of {there}");
    // Closed segments have the indexes that a broker wrote.
    let good = added
        .iter()
        .find(|log| log.dir_name == "clicks-10")
        .unwrap();
    let rewritten: Vec<_> = good.steps.iter().map(|step| step.file.clone()).collect();
    let closed = &good.segments[..good.segments.len() - 1];
    for segment in closed {
        let name = format!("{:020}.index", segment.base_offset.0);
        assert!(!rewritten.contains(&name), "{rewritten:?}");
    }
}
