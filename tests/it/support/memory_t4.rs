//! T4 in memory: four segments of one partition, and what decides its recovery.

use std::collections::BTreeMap;

use krescue::format::file_name::{FileKind, segment_file_name};
use krescue::log::FindingCode;
use krescue::plan::{LogConfig, OnLoss, PartitionPlan, RecoveryInputs, StopState};
use krescue::terms::{KafkaVersion, Offset, Timestamp, TopicPartition};

use super::fixture::{TOPIC_ID, indexes, segment};
use super::memory_dir::MemoryDir;

pub(crate) fn log_name(base: i64) -> String {
    segment_file_name(Offset(base), FileKind::Log)
}

/// T4 of the cases: four segments with right indexes, no snapshots.
pub(crate) fn t4() -> MemoryDir {
    let mut files = BTreeMap::new();
    for base in [0, 1000, 2000, 3000] {
        let bytes = segment(base);
        let (offset_index, time_index) = indexes(base);
        files.insert(
            segment_file_name(Offset(base), FileKind::Index),
            Some(offset_index),
        );
        files.insert(
            segment_file_name(Offset(base), FileKind::TimeIndex),
            Some(time_index),
        );
        files.insert(log_name(base), Some(bytes));
    }
    let metadata = format!("version: 0\ntopic_id: {TOPIC_ID}");
    files.insert("partition.metadata".to_owned(), Some(metadata.into_bytes()));
    files.insert(
        "leader-epoch-checkpoint".to_owned(),
        Some(b"0\n1\n0 0\n".to_vec()),
    );
    MemoryDir {
        name: "t-0".to_owned(),
        files,
    }
}

pub(crate) fn inputs(recovery_point: i64) -> RecoveryInputs {
    RecoveryInputs {
        topic_partition: TopicPartition::new("t", 0),
        version: KafkaVersion::new(4, 4, 0),
        now: Timestamp(1_700_000_100_000),
        producer_id_expiration_ms: 86_400_000,
        stop: StopState::Unclean,
        recovery_point: Some(Offset(recovery_point)),
        log_start_offset: None,
        high_watermark: Some(Offset(4000)),
        config: LogConfig::default(),
        on_loss: OnLoss::Ask,
        checkpoint_io_error: false,
        hand_over: krescue::plan::HandOver::Verify,
        truncation: None,
        replicas: None,
        quarantine: Some("quarantine".into()),
    }
}

pub(crate) fn bytes_of<'a>(dir: &'a mut MemoryDir, name: &str) -> &'a mut Vec<u8> {
    dir.files.get_mut(name).unwrap().as_mut().unwrap()
}

pub(crate) fn codes(plan: &PartitionPlan) -> Vec<FindingCode> {
    plan.findings.iter().map(|finding| finding.code).collect()
}

pub(crate) fn run(dir: &MemoryDir, plan: &PartitionPlan) -> MemoryDir {
    let mut after = dir.clone();
    plan.steps.iter().for_each(|step| after.apply(step));
    after
}

/// Plans on every prefix of a plan's steps; returns those that do not end where the whole plan does.
pub(crate) fn wrong_prefixes(
    dir: &MemoryDir,
    inputs: &RecoveryInputs,
    plan: &PartitionPlan,
) -> Vec<String> {
    let end = run(dir, plan);
    let mut half = dir.clone();
    let mut wrong = Vec::new();
    for (done, step) in plan.steps.iter().enumerate() {
        let rest = half.plan(inputs);
        let booted = if rest.verdict.is_applied() {
            run(&half, &rest)
        } else {
            half.clone()
        };
        if booted != end {
            wrong.push(format!(
                "after {done} steps, before {}: {:?}",
                step.file, rest.verdict
            ));
        }
        half.apply(step);
    }
    wrong
}
