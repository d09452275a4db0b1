//! Reads the segments that a boot does not read: below the recovery point, and in clean dirs.
//!
//! What is found there is told and never planned for: a boot leaves those segments alone.

use std::collections::BTreeMap;

use super::log_target::LogTarget;
use crate::engine::read::dir_facts::read_whole;
use crate::engine::read::log_reader::LogReader;
use crate::format::file_name::{DirName, FileKind, LEADER_EPOCH_CHECKPOINT, segment_file_name};
use crate::format::{leader_epoch_checkpoint, offset_index, time_index};
use crate::log::{Finding, FindingCode, ScanStop, SegmentScan, Severity};
use crate::plan::recovery::ScanRequest;
use crate::plan::{PartitionPlan, SegmentSummary};
use crate::terms::{Offset, Position};

/// The largest index that is read whole; Kafka's are 10 MiB.
const MAX_INDEX: u64 = 64 << 20;
const NEXT: &str =
    "a boot does not see it; compare with the other replicas, and let this one be fetched again";

/// Returns the scans of the segments that the plan did not read.
pub(in crate::engine) fn requests(target: &LogTarget, plan: &PartitionPlan) -> Vec<ScanRequest> {
    if matches!(target.parsed, DirName::Delete(_)) {
        return Vec::new();
    }
    let read: BTreeMap<Offset, bool> = plan
        .segments
        .iter()
        .map(|segment| (segment.base_offset, segment.scanned))
        .collect();
    target
        .segments
        .iter()
        .copied()
        .filter(|(base, _)| read.get(base) != Some(&true))
        .map(|(base_offset, len)| target.scan_of(base_offset, len))
        .collect()
}

/// Takes what a scan below the recovery point says.
pub(in crate::engine) fn take_scan(
    reader: &LogReader<'_>,
    target: &LogTarget,
    plan: &mut PartitionPlan,
    scan: &SegmentScan,
) {
    let summary = SegmentSummary {
        base_offset: scan.base_offset,
        next_offset: Some(scan.next_offset),
        bytes: scan.file_len,
        valid_bytes: Some(scan.valid_up_to.0),
        batches: scan.batches,
        records: scan.records,
        largest_timestamp: scan.largest_timestamp.map(|(timestamp, _)| timestamp),
        scanned: false,
    };
    let place = plan
        .segments
        .binary_search_by_key(&scan.base_offset, |segment| segment.base_offset);
    match place {
        Ok(known) => {
            if let Some(known) = plan.segments.get_mut(known) {
                *known = summary;
            }
        }
        Err(place) => plan.segments.insert(place, summary),
    }
    plan.findings.extend(log_finding(scan));
    plan.findings.extend(index_findings(reader, target, scan));
    plan.findings.extend(epoch_finding(reader, target, scan));
}

/// Returns the finding for a segment that does not scan to its end.
fn log_finding(scan: &SegmentScan) -> Option<Finding> {
    let (code, what) = match &scan.stop {
        ScanStop::EndOfFile => return None,
        ScanStop::Torn => (FindingCode::TornTail, "its last batch is torn".to_owned()),
        ScanStop::LengthTooSmall { size: 0 } => (
            FindingCode::ZeroTail,
            "zeros lie behind its last batch".to_owned(),
        ),
        ScanStop::LengthTooSmall { size } => (
            FindingCode::LengthTooSmall,
            format!("a batch declares {size} bytes"),
        ),
        ScanStop::BatchTooShort { size } => (
            FindingCode::LengthTooSmall,
            format!("a batch of {size} bytes is shorter than its header"),
        ),
        ScanStop::CrcMismatch { stored, computed } => (
            FindingCode::CrcMismatch,
            format!("a batch has CRC {stored:08x}, and its bytes have {computed:08x}"),
        ),
        ScanStop::ControlInvalid { cause } => (
            FindingCode::ControlRecordInvalid,
            format!("a control record does not parse: {cause}"),
        ),
        ScanStop::OffsetOverflow { last_offset } => (
            FindingCode::OffsetOverflow,
            format!("a batch ends at offset {last_offset}, which does not fit the segment"),
        ),
        ScanStop::OffsetsGoBack { last_offset } => (
            FindingCode::OffsetsGoBack,
            format!("offsets go back to {last_offset}"),
        ),
        ScanStop::Fatal { cause } => (FindingCode::Refused, cause.clone()),
    };
    let tail = scan.tail.clone().unwrap_or_default();
    let bad = tail.bytes.saturating_sub(tail.good_bytes);
    Some(
        Finding::new(
            code,
            Severity::Loss,
            format!("{what}, in a segment that a boot does not read"),
        )
        .file(segment_file_name(scan.base_offset, FileKind::Log))
        .at(scan.valid_up_to)
        .offset(scan.next_offset)
        .loses(bad, None)
        .next(NEXT),
    )
}

/// Holds the leader epochs of a segment's batches against the checkpoint, by which followers find where logs part.
fn epoch_finding(
    reader: &LogReader<'_>,
    target: &LogTarget,
    scan: &SegmentScan,
) -> Option<Finding> {
    let path = target.path().join(LEADER_EPOCH_CHECKPOINT);
    let bytes = read_whole(reader.storage, &path, MAX_INDEX).ok()?;
    // One that does not parse is told by whoever loads it.
    let known = leader_epoch_checkpoint::parse(&bytes).ok()?;
    let differs = scan.epochs.iter().find(|start| {
        let at = known.partition_point(|entry| entry.start_offset <= start.start_offset);
        let entry = at.checked_sub(1).and_then(|at| known.get(at));
        start.epoch.0 >= 0 && entry.map(|entry| entry.epoch) != Some(start.epoch)
    })?;
    let text = format!(
        "its batch at offset {} has leader epoch {}, which {LEADER_EPOCH_CHECKPOINT} does not say: a follower may cut at the \
         wrong place",
        differs.start_offset, differs.epoch
    );
    Some(
        Finding::new(FindingCode::LeaderEpochsChanged, Severity::Warning, text)
            .file(segment_file_name(scan.base_offset, FileKind::Log))
            .offset(differs.start_offset)
            .next(
                "compare with the other replicas; a boot does not mend it below the recovery point",
            ),
    )
}

/// Checks that each index can be the segment's. Its entries need not be those of a rebuild: a running broker makes one
/// an append, a rebuild one a batch.
fn index_findings(
    reader: &LogReader<'_>,
    target: &LogTarget,
    scan: &SegmentScan,
) -> impl Iterator<Item = Finding> {
    // A crash leaves the active segment's indexes at full size, zeros behind the last entry.
    let last_base = target.segments.last().map(|(base, _)| *base);
    let is_active = last_base == Some(scan.base_offset);
    [FileKind::Index, FileKind::TimeIndex]
        .into_iter()
        .filter_map(move |kind| {
            let name = segment_file_name(scan.base_offset, kind);
            let path = target.path().join(&name);
            let problem = match read_whole(reader.storage, &path, MAX_INDEX) {
                Ok(bytes) if kind == FileKind::Index => {
                    let bytes = entries(&bytes, is_active, offset_index::ENTRY_LEN);
                    offset_index_problem(bytes, scan).or_else(|| {
                        let fault = scan.index_fault.as_ref()?;
                        let at = (fault.entry * offset_index::ENTRY_LEN) as u64;
                        Some((at, fault.text.clone()))
                    })
                }
                Ok(bytes) => time_index_problem(entries(&bytes, is_active, time_index::ENTRY_LEN), scan),
                Err(error) if error.is_not_found() => return None,
                Err(error) => Some((0, error.sentence())),
            };
            let (position, text) = problem?;
            Some(
                Finding::new(
                    FindingCode::IndexCorrupt,
                    Severity::Warning,
                    format!("{text}; a boot does not look at it"),
                )
                .file(name)
                .at(Position(position))
                .next("with the broker down: krescue verify --fix plans it anew; a boot makes it again if it is not there"),
            )
        })
}

/// Returns an index's bytes; of an active segment's those before its zeros.
fn entries(bytes: &[u8], is_active: bool, entry_len: usize) -> &[u8] {
    if !is_active {
        return bytes;
    }
    let used = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    bytes
        .get(..used.next_multiple_of(entry_len).min(bytes.len()))
        .unwrap_or(bytes)
}

fn offset_index_problem(bytes: &[u8], scan: &SegmentScan) -> Option<(u64, String)> {
    let odd = odd_length(bytes, offset_index::ENTRY_LEN);
    let mut before: Option<offset_index::OffsetEntry> = None;
    for (number, entry) in offset_index::decode(bytes).enumerate() {
        let rises = before.is_none_or(|before| {
            entry.relative_offset > before.relative_offset && entry.position > before.position
        });
        let inside = u64::try_from(entry.position).is_ok_and(|at| at < scan.file_len);
        if !rises || !inside || entry.relative_offset < 0 {
            let at = (number * offset_index::ENTRY_LEN) as u64;
            let text = format!(
                "entry {number} of the offset index, offset {} at position {}, cannot be right",
                scan.base_offset.plus(i64::from(entry.relative_offset)),
                entry.position
            );
            return Some((at, text));
        }
        before = Some(entry);
    }
    odd
}

fn time_index_problem(bytes: &[u8], scan: &SegmentScan) -> Option<(u64, String)> {
    let odd = odd_length(bytes, time_index::ENTRY_LEN);
    let mut before: Option<time_index::TimeEntry> = None;
    for (number, entry) in time_index::decode(bytes).enumerate() {
        let rises = before.is_none_or(|before| {
            entry.relative_offset >= before.relative_offset && entry.timestamp > before.timestamp
        });
        let last = scan.next_offset.0.wrapping_sub(scan.base_offset.0);
        let largest = scan.largest_timestamp.map(|(timestamp, _)| timestamp);
        let is_known = largest.is_none_or(|largest| entry.timestamp <= largest);
        let inside =
            i64::from(entry.relative_offset) < last && is_known || scan.stop != ScanStop::EndOfFile;
        if !rises || !inside || entry.relative_offset < 0 {
            let at = (number * time_index::ENTRY_LEN) as u64;
            let text = format!(
                "entry {number} of the time index, offset {} at {}, cannot be right",
                scan.base_offset.plus(i64::from(entry.relative_offset)),
                entry.timestamp
            );
            return Some((at, text));
        }
        before = Some(entry);
    }
    odd
}

fn odd_length(bytes: &[u8], entry_len: usize) -> Option<(u64, String)> {
    let rest = bytes.len() % entry_len;
    (rest != 0).then(|| {
        let at = (bytes.len() - rest) as u64;
        (at, format!("{rest} bytes that are no entry end the index"))
    })
}
