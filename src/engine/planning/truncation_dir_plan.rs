//! The checkpoints of a log dir in which logs are truncated, and how it is handed over.
//!
//! Kafka lowers a truncated log's recovery point as soon as the log is cut, its high watermark with the next checkpoint,
//! and the cleaner's offset where the last segment is dropped. Here the recovery points are lowered before the first step:
//! a boot after any part of the steps then reads the segment in which the cut falls.

use crate::engine::read::dir_facts::DirFacts;
use crate::format::file_name::DirName;
use crate::format::offset_checkpoint::OffsetCheckpoint;
use crate::plan::{
    CheckpointEntry, HandOver, LogDirPlan, LoweredCheckpoints, PartitionPlan, StopState, Verdict,
};
use crate::terms::{Offset, TopicPartition};

/// What a truncation means for checkpoints.
#[derive(Debug, Clone, Copy)]
struct Cut {
    offset: Offset,
    active_base: Offset,
    active_base_before: Offset,
    is_compact: bool,
}

/// Returns the plan of a log dir of which some logs may be truncated; the others stay as they are.
pub(in crate::engine) fn truncation_dir_plan(
    asked: HandOver,
    facts: DirFacts,
    partitions: Vec<PartitionPlan>,
) -> LogDirPlan {
    let cuts: Vec<(TopicPartition, Cut)> = partitions.iter().filter_map(cut).collect();
    let is_clean = facts.stop == StopState::Clean;
    let hand_over = match asked {
        _ if cuts.is_empty() => HandOver::None,
        // What was stopped cleanly is as clean afterwards; what was not has other logs that a boot must read.
        HandOver::Clean if !is_clean => HandOver::Verify,
        asked => asked,
    };
    let points = &facts.recovery_points;
    let lowered = changed(points, &cuts, |cut, known| Some(known?.min(cut.offset)));
    let recovery_points = (hand_over != HandOver::None)
        .then(|| changed(points, &cuts, |cut, _| Some(cut.offset)))
        .flatten()
        .filter(|points| lowered.as_ref() != Some(points));
    let lowered = LoweredCheckpoints {
        recovery_points: lowered,
        high_watermarks: changed(&facts.high_watermarks, &cuts, |cut, known| {
            Some(known?.min(cut.offset))
        }),
        cleaner_offsets: changed(&facts.cleaner_offsets, &cuts, |cut, known| {
            let is_lowered = cut.is_compact && cut.offset < cut.active_base_before;
            known.map(|known| {
                if is_lowered {
                    known.min(cut.active_base)
                } else {
                    known
                }
            })
        }),
    };
    LogDirPlan {
        path: facts.path,
        stop: facts.stop,
        hand_over,
        recovery_points,
        lowered: (!cuts.is_empty()).then_some(lowered),
        log_starts: None,
        arrival: None,
        departure: None,
        removes_marker: is_clean && !cuts.is_empty(),
        findings: facts.findings,
        partitions,
        stamps: facts.stamps,
        mends: Vec::new(),
        undo: None,
    }
}

/// Returns a truncated partition and what its truncation came to.
fn cut(plan: &PartitionPlan) -> Option<(TopicPartition, Cut)> {
    let DirName::Normal(partition) = DirName::parse(&plan.dir_name) else {
        return None;
    };
    match &plan.verdict {
        Verdict::Truncate(cut) => Some((
            partition,
            Cut {
                offset: cut.offset,
                active_base: cut.active_base,
                active_base_before: cut.active_base_before,
                is_compact: plan.config.compact,
            },
        )),
        _ => None,
    }
}

/// Returns a checkpoint with the entries of truncated logs as `value` has them, by what is known of each; `None` if nothing
/// changes.
fn changed(
    existing: &OffsetCheckpoint,
    cuts: &[(TopicPartition, Cut)],
    value: impl Fn(&Cut, Option<Offset>) -> Option<Offset>,
) -> Option<Vec<CheckpointEntry>> {
    let mut entries: Vec<CheckpointEntry> = existing
        .entries
        .iter()
        .map(|(topic_partition, offset)| CheckpointEntry {
            topic_partition: topic_partition.clone(),
            offset: *offset,
        })
        .collect();
    let mut is_changed = false;
    for (partition, cut) in cuts {
        let known = existing.get(partition);
        let Some(offset) = value(cut, known).filter(|offset| known != Some(*offset)) else {
            continue;
        };
        is_changed = true;
        entries.retain(|entry| entry.topic_partition != *partition);
        entries.push(CheckpointEntry {
            topic_partition: partition.clone(),
            offset,
        });
    }
    is_changed.then_some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: Cut = Cut {
        offset: Offset(50),
        active_base: Offset(40),
        active_base_before: Offset(80),
        is_compact: true,
    };

    #[test]
    fn only_entries_of_truncated_logs_change_and_none_appears_by_being_lowered() {
        let checkpoint = OffsetCheckpoint::parse(b"0\n3\na 0 90\nb 0 90\nc 0 10\n").unwrap();
        let cuts = ["a", "c", "d"].map(|topic| (TopicPartition::new(topic, 0), CUT));
        let lowered = changed(&checkpoint, &cuts, |cut, known| {
            Some(known?.min(cut.offset))
        });
        let mut told: Vec<String> = lowered
            .unwrap()
            .iter()
            .map(|entry| format!("{} {}", entry.topic_partition, entry.offset))
            .collect();
        told.sort();
        assert_eq!(told, ["a-0 50", "b-0 90", "c-0 10"]);
        let cuts = [(TopicPartition::new("c", 0), CUT)];
        assert_eq!(
            changed(&checkpoint, &cuts, |cut, known| Some(
                known?.min(cut.offset)
            )),
            None
        );
    }
}
