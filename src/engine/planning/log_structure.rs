//! What names and sizes alone say of a log; no batch is read.

use std::collections::BTreeSet;

use super::log_target::LogTarget;
use crate::format::file_name::{
    DirName, FileKind, PARTITION_METADATA, PartitionFile, segment_file_name,
};
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::{EntryKind, PartitionPlan, SegmentSummary, Verdict};
use crate::terms::Offset;

/// Returns what can be said of a log by its names; its verdict decides nothing.
pub(in crate::engine) fn plan_structure(target: &LogTarget) -> PartitionPlan {
    let why = "no batch was read".to_owned();
    let mut plan = target.untouched(Verdict::Skipped { why });
    let segments = &target.segments;
    let first_read = first_read(target, segments);
    plan.segments = segments
        .iter()
        .map(|(base_offset, bytes)| SegmentSummary {
            base_offset: *base_offset,
            next_offset: None,
            bytes: *bytes,
            valid_bytes: None,
            batches: 0,
            records: 0,
            largest_timestamp: None,
            scanned: first_read.is_some_and(|first| *base_offset >= first),
        })
        .collect();
    plan.scan_bytes = target.scan_estimate;
    plan.findings = findings(target, segments);
    plan
}

/// Returns the base offset of the first segment that a boot reads in full.
fn first_read(target: &LogTarget, segments: &[(Offset, u64)]) -> Option<Offset> {
    if target.inputs.is_clean() || matches!(target.parsed, DirName::Delete(_)) {
        return None;
    }
    let point = target.inputs.recovery_point_or_zero();
    let at_point = segments.iter().rfind(|(base, _)| *base <= point);
    at_point.or(segments.first()).map(|(base, _)| *base)
}

fn findings(target: &LogTarget, segments: &[(Offset, u64)]) -> Vec<Finding> {
    let names: BTreeSet<&str> = target
        .entries
        .iter()
        .map(|entry| entry.stamp.name.as_str())
        .collect();
    let bases: BTreeSet<Offset> = segments.iter().map(|(base, _)| *base).collect();
    let mut findings = Vec::new();
    for entry in target
        .entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::File)
    {
        let name = entry.stamp.name.as_str();
        findings.extend(match PartitionFile::parse(name) {
            PartitionFile::Deleted
            | PartitionFile::Cleaned { .. }
            | PartitionFile::Swap { .. } => Some(
                Finding::new(
                    FindingCode::Leftover,
                    Severity::Routine,
                    "a leftover of a deletion, a compaction or a split; a boot completes or removes it",
                )
                .file(name),
            ),
            PartitionFile::Segment { offset, kind } if kind.is_index() && !bases.contains(&offset) => {
                Some(
                    Finding::new(
                        FindingCode::IndexOrphaned,
                        Severity::Routine,
                        "an index without its log; a boot removes it",
                    )
                    .file(name),
                )
            }
            PartitionFile::BadNumber => Some(
                Finding::new(
                    FindingCode::Refused,
                    Severity::Fatal,
                    "the name has no offset where Kafka wants one: the broker does not start",
                )
                .file(name)
                .next("move the file out of the partition dir"),
            ),
            _ => None,
        });
    }
    for (base, _) in segments {
        for (kind, code, text) in [
            (
                FileKind::Index,
                FindingCode::IndexMissing,
                "the offset index is missing: a boot reads the segment in full",
            ),
            (
                FileKind::TimeIndex,
                FindingCode::TimeIndexMissing,
                "the time index is missing: below the recovery point a boot creates it empty",
            ),
        ] {
            let name = segment_file_name(*base, kind);
            if !names.contains(name.as_str()) {
                findings.push(Finding::new(code, Severity::Warning, text).file(name));
            }
        }
    }
    findings.extend(metadata_finding(target));
    findings
}

/// A `partition.metadata` of no bytes kills a boot; without one the log is taken for a stray.
fn metadata_finding(target: &LogTarget) -> Option<Finding> {
    if matches!(target.parsed, DirName::Delete(_) | DirName::Stray(_)) {
        return None;
    }
    let stamp = target
        .entries
        .iter()
        .map(|entry| &entry.stamp)
        .find(|stamp| stamp.name == PARTITION_METADATA);
    let finding = |severity, text: &str| {
        Finding::new(FindingCode::PartitionMetadata, severity, text).file(PARTITION_METADATA)
    };
    match stamp {
        Some(stamp) if stamp.len == 0 => Some(
            finding(
                Severity::Fatal,
                "partition.metadata is empty: the broker does not start",
            )
            .next("restore it from another replica of this topic"),
        ),
        Some(_) => None,
        None => Some(
            finding(
                Severity::Warning,
                "partition.metadata is missing: a KRaft broker takes the log for a stray and makes an empty one",
            )
            .next("restore it from another replica of this topic before the boot"),
        ),
    }
}
