//! Log dirs with a malformed checkpoint, with dirs that no broker takes, with dirs that it deletes or leaves alone.

use std::path::Path;

use krescue::disk::RealStorage;
use krescue::engine::{JobOutcome, PlanSpec, start_plan};
use krescue::log::{Finding, FindingCode, Severity};
use krescue::plan::{HandOver, LogDirPlan, Verdict};
use krescue::terms::{KafkaVersion, Timestamp};

use crate::support::apply::{apply, contents, stored};
use crate::support::fixture::{SEGMENT, Tree, segment};

const DELETED: &str = "t-9.3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5-delete";
const STRAY: &str = "t-1.3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5-stray";

fn spec(tree: &Tree) -> PlanSpec {
    let now = Timestamp(1_700_000_100_000);
    let mut spec = PlanSpec::new(vec![tree.path("d1")], KafkaVersion::NEWEST_KNOWN, now);
    spec.quarantine = Some(tree.path("quarantine"));
    spec
}

fn planned(tree: &Tree) -> LogDirPlan {
    let made = start_plan(spec(tree)).unwrap().join().unwrap();
    made.plan.log_dirs.into_iter().next().unwrap()
}

fn found(plan: &LogDirPlan, code: FindingCode) -> &Finding {
    let mut findings = plan.findings.iter();
    findings.find(|finding| finding.code == code).unwrap()
}

/// Applies the plan of the whole dir, with `verify`.
fn recovered(tree: &Tree) {
    let mut spec = spec(tree);
    spec.hand_over = HandOver::Verify;
    let plan = stored(&tree.path("state"), spec);
    let outcome = apply(&RealStorage, &tree.path("state"), &plan);
    assert_eq!(outcome, JobOutcome::Done);
}

#[test]
fn one_malformed_line_makes_a_whole_recovery_point_checkpoint_count_for_nothing() {
    let tree = Tree::t4();
    tree.write(
        "d1/recovery-point-offset-checkpoint",
        "0\n2\nt 0 3000\naa\n",
    );
    let plan = planned(&tree);
    let finding = found(&plan, FindingCode::CheckpointMalformed);
    let text = format!(
        "Malformed line in checkpoint file [{}]: aa",
        tree.path("d1/recovery-point-offset-checkpoint").display()
    );
    assert!(finding.text.starts_with(&text), "{}", finding.text);
    assert!(
        finding.text.contains("the dir goes offline"),
        "{}",
        finding.text
    );
    assert_eq!(finding.severity, Severity::Fatal);
    // Not even the line that is whole counts.
    assert_eq!(plan.partitions[0].scan_bytes, 4 * SEGMENT as u64);
    assert_eq!(plan.partitions[0].recovery_point, None);
    recovered(&tree);
    let points = std::fs::read_to_string(tree.path("d1/recovery-point-offset-checkpoint"));
    assert_eq!(points.unwrap(), "0\n1\nt 0 4000\n");
}

#[test]
fn lost_and_found_keeps_a_broker_from_starting_and_is_never_removed() {
    for inside in [None, Some("#12")] {
        let tree = Tree::t4();
        std::fs::create_dir(tree.path("d1/lost+found")).unwrap();
        if let Some(name) = inside {
            tree.write(&format!("d1/lost+found/{name}"), "saved");
        }
        let plan = planned(&tree);
        let finding = found(&plan, FindingCode::ForeignName);
        let text = format!(
            "Found directory {}, 'lost+found' is not in the form of topic-partition or \
             topic-partition.uniqueId-delete (if marked for deletion).",
            tree.path("d1/lost+found").display()
        );
        assert!(finding.text.contains(&text), "{}", finding.text);
        assert_eq!(finding.severity, Severity::Fatal);
        assert_eq!(
            finding.next.contains("rmdir"),
            inside.is_none(),
            "{}",
            finding.next
        );
        assert!(finding.next.contains("one level down"), "{}", finding.next);
        recovered(&tree);
        assert!(tree.path("d1/lost+found").is_dir());
        assert!(inside.is_none_or(|name| tree.path("d1/lost+found").join(name).exists()));
    }
}

#[test]
fn a_dir_that_is_to_be_deleted_is_left_to_the_broker_and_one_that_is_stray_to_the_operator() {
    let tree = Tree::t4();
    for name in [DELETED, STRAY] {
        tree.add_partition("d1", name, 1);
    }
    let empty = "t-8.3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5-delete";
    std::fs::create_dir(tree.path("d1").join(empty)).unwrap();
    let plan = planned(&tree);
    for name in [DELETED, STRAY, empty] {
        let log = plan.partitions.iter().find(|log| log.dir_name == name);
        let log = log.unwrap();
        assert!(
            matches!(log.verdict, Verdict::Nothing | Verdict::Recover),
            "{name}: {:?}",
            log.verdict
        );
    }
    recovered(&tree);
    let left = contents(&tree.path("d1"));
    for name in [DELETED, STRAY] {
        let log = &left[&Path::new(name).join("00000000000000000000.log")];
        assert_eq!(*log, segment(0), "{name}");
    }
    assert!(tree.path("d1").join(empty).is_dir());
    // Neither gets a recovery point: a boot would take it for that of a live log.
    let points = std::fs::read_to_string(tree.path("d1/recovery-point-offset-checkpoint"));
    assert_eq!(points.unwrap(), "0\n1\nt 0 4000\n");
}
