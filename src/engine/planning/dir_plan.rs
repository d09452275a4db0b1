//! Puts the plans of a log dir's partitions together, and decides its hand-over.

use std::collections::HashMap;

use super::plan_spec::PlanSpec;
use super::truncation_dir_plan::truncation_dir_plan;
use crate::engine::read::dir_facts::DirFacts;
use crate::format::file_name::{CLEAN_SHUTDOWN_MARKER, DirName, PartitionFile};
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::{
    CheckpointEntry, HandOver, LogDirPlan, LoweredCheckpoints, OnLoss, PartitionPlan, StepAction,
    StopState, Verdict,
};
use crate::terms::{Offset, TopicPartition};

/// Returns the plan of a log dir that could be read.
pub(in crate::engine) fn dir_plan(
    spec: &PlanSpec,
    facts: DirFacts,
    mut partitions: Vec<PartitionPlan>,
) -> LogDirPlan {
    partitions.sort_by(|a, b| a.dir_name.cmp(&b.dir_name));
    if spec.truncation.is_some() {
        return truncation_dir_plan(spec.hand_over, facts, partitions);
    }
    let has_steps = partitions
        .iter()
        .any(|plan| plan.verdict.is_applied() && !plan.steps.is_empty());
    let has_marker = facts.listing.has_marker();
    let removes_marker = has_marker && has_steps;
    // A clean dir with nothing to do keeps its marker and its checkpoints; an empty one may be a volume that is not
    // mounted.
    let keeps_all = has_marker && !has_steps;
    // Steps of a boot that finds no marker would leave, half done, what one that finds it does not expect.
    let marker_goes_first = removes_marker && facts.stop == StopState::Unclean;
    let hand_over = if keeps_all || facts.listing.is_empty() {
        HandOver::None
    } else {
        hand_over(spec.hand_over, &partitions)
    };
    if hand_over == HandOver::Clean {
        trim_new_segments(&mut partitions);
    } else if spec.hand_over == HandOver::Clean {
        reopen_what_is_left(&mut partitions);
    }
    let recovery_points = (hand_over != HandOver::None)
        .then(|| recovery_points(&facts.recovery_points, &partitions))
        .flatten();
    LogDirPlan {
        path: facts.path,
        stop: facts.stop,
        hand_over,
        recovery_points,
        lowered: marker_goes_first.then(LoweredCheckpoints::default),
        log_starts: None,
        arrival: None,
        departure: None,
        removes_marker,
        findings: facts.findings,
        partitions,
        stamps: facts.stamps,
        mends: Vec::new(),
        undo: None,
    }
}

/// Returns the plan of a log dir in which nothing can be planned.
pub(in crate::engine) fn failed_dir_plan(path: std::path::PathBuf, finding: Finding) -> LogDirPlan {
    LogDirPlan {
        findings: vec![finding],
        ..bare_dir_plan(path)
    }
}

/// Returns the plan of a log dir in which nothing is to be done.
pub(in crate::engine) fn bare_dir_plan(path: std::path::PathBuf) -> LogDirPlan {
    LogDirPlan {
        path,
        stop: StopState::Unclean,
        hand_over: HandOver::None,
        recovery_points: None,
        lowered: None,
        log_starts: None,
        arrival: None,
        departure: None,
        removes_marker: false,
        findings: Vec::new(),
        partitions: Vec::new(),
        stamps: Vec::new(),
        mends: Vec::new(),
        undo: None,
    }
}

/// Says whether a boot must read this log: the plan does not bring it to its end. The metadata log needs no plan.
pub(in crate::engine) fn is_unread(plan: &PartitionPlan) -> bool {
    !plan.verdict.reaches_end() && !DirName::parse(&plan.dir_name).is_cluster_metadata()
}

/// A log that stays as it is must be read by the next boot, so no marker may say otherwise.
fn hand_over(asked: HandOver, partitions: &[PartitionPlan]) -> HandOver {
    match asked {
        HandOver::Clean if partitions.iter().any(is_unread) => HandOver::Verify,
        asked => asked,
    }
}

/// Takes back decisions that hold under a marker only, where the dir does not get one.
fn reopen_what_is_left(partitions: &mut [PartitionPlan]) {
    for plan in partitions {
        let Verdict::Ask(ask) = &mut plan.verdict else {
            continue;
        };
        if ask.decided != OnLoss::Leave {
            continue;
        }
        ask.decided = OnLoss::Ask;
        ask.accepted = false;
        plan.steps.clear();
        plan.findings
            .retain(|finding| finding.code != FindingCode::DecisionTaken);
        plan.findings.push(
            Finding::new(
                FindingCode::DecisionRefused,
                Severity::Warning,
                "it cannot be left under --hand-over clean: another log of this dir stays as it is too, so that the dir \
                 gets no marker",
            )
            .next("decide on the other log, or leave this one under --hand-over verify"),
        );
    }
}

/// Empties the preallocated segments that a plan makes: under a marker their zeros would be read as a bad batch.
fn trim_new_segments(partitions: &mut [PartitionPlan]) {
    let steps = partitions.iter_mut().flat_map(|plan| &mut plan.steps);
    for step in steps.filter(|step| PartitionFile::parse(&step.file).is_log()) {
        if let StepAction::Allocate { len, .. } = &mut step.action {
            *len = 0;
        }
    }
}

/// Returns the new recovery points: the ends of the logs that reach their end, and all other entries as they are;
/// `None` if nothing changes.
fn recovery_points(
    existing: &OffsetCheckpoint,
    partitions: &[PartitionPlan],
) -> Option<Vec<CheckpointEntry>> {
    let mut places: HashMap<TopicPartition, usize> = HashMap::new();
    let mut entries: Vec<CheckpointEntry> = Vec::with_capacity(existing.entries.len());
    let mut set = |partition: &TopicPartition, offset: Offset| {
        let place = *places
            .entry(partition.clone())
            .or_insert_with(|| entries.len());
        let entry = CheckpointEntry {
            topic_partition: partition.clone(),
            offset,
        };
        let Some(known) = entries.get_mut(place) else {
            entries.push(entry);
            return true;
        };
        let changed = *known != entry;
        *known = entry;
        changed
    };
    for (partition, offset) in &existing.entries {
        set(partition, *offset);
    }
    let mut changed = false;
    for plan in partitions.iter().filter(|plan| plan.verdict.reaches_end()) {
        if let (Some(partition), Some(offset)) = (live_partition(plan), plan.log_end_offset) {
            changed |= set(&partition, offset);
        }
    }
    changed.then_some(entries)
}

/// Kafka checkpoints current and future logs; not those that are deleted or stray.
fn live_partition(plan: &PartitionPlan) -> Option<TopicPartition> {
    match DirName::parse(&plan.dir_name) {
        DirName::Normal(partition) | DirName::Future(partition) => Some(partition),
        _ => None,
    }
}

/// Returns the finding that says that a marker is there and counts for nothing.
pub(in crate::engine) fn distrusted_marker() -> Finding {
    Finding::new(
        FindingCode::UncleanStop,
        Severity::Routine,
        "there is a .kafka_cleanshutdown, and it is not trusted, as was asked for: logs are read as after a kill, and where \
         one of them has a step the marker goes before the first of all",
    )
    .file(CLEAN_SHUTDOWN_MARKER)
}

/// Returns the finding that says how a dir's broker stopped, if it matters.
pub(in crate::engine) fn stop_finding(
    facts: &DirFacts,
    logs: usize,
    bytes: u64,
) -> Option<Finding> {
    (facts.stop == StopState::Unclean && !facts.listing.has_marker() && logs > 0).then(|| {
        Finding::new(
            FindingCode::UncleanStop,
            Severity::Routine,
            format!("no .kafka_cleanshutdown: a boot reads {bytes} bytes of {logs} logs again"),
        )
    })
}
