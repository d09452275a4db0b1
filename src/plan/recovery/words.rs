//! The sentences of recovery's findings.

use crate::format::file_name::FileKind;
use crate::log::{
    Finding, FindingCode, Piece, ScanStop, Searched, SegmentScan, Severity, TailReport,
};
use crate::plan::LogConfig;
use crate::terms::Offset;

use super::state::name_of;

/// Returns the finding for zeros behind the last good batch of a log that was stopped cleanly (KAFKA-21000); `None` if
/// something else ends it. Nothing cuts them as long as the marker lies there.
pub(super) fn zeros_under_marker(scan: &SegmentScan, file: &str) -> Option<Finding> {
    let tail = scan.tail.as_ref().filter(|tail| tail.all_zero)?;
    Some(
        Finding::new(
            FindingCode::ZeroTail,
            Severity::Warning,
            format!(
                "clean marker, but {} NUL bytes behind the last good batch, which ends at offset {} (preallocate, \
                 KAFKA-21000)",
                tail.bytes, scan.next_offset
            ),
        )
        .file(file)
        .at(scan.valid_up_to)
        .next(
            "no record is lost by a cut: krescue recover --distrust-marker plans it, and --apply does it: .kafka_cleanshutdown \
             goes first, then the zeros; a boot without the marker reads the last segment of each log of the dir again",
        ),
    )
}

/// Returns the finding for a segment that is cut at its last good batch.
pub(super) fn cut(scan: &SegmentScan, file: &str, config: &LogConfig) -> Finding {
    let bytes = scan.file_len.saturating_sub(scan.valid_up_to.0);
    let tail = scan.tail.clone().unwrap_or_default();
    let behind = tail.good_batches > 0;
    let (code, what) = match &scan.stop {
        _ if tail.all_zero && scan.file_len == u64::try_from(config.segment_bytes).unwrap_or(0) => {
            (
                FindingCode::PreallocatedTail,
                format!("{bytes} zero bytes of a preallocated file follow the last batch"),
            )
        }
        _ if tail.all_zero && bytes > 17 => (
            FindingCode::ZeroTail,
            format!("{bytes} zero bytes follow the last batch (power loss)"),
        ),
        ScanStop::Torn if behind => (
            FindingCode::LengthPastEnd,
            "a batch claims more bytes than the file has".to_owned(),
        ),
        ScanStop::Torn if bytes <= 17 => (
            FindingCode::TornTail,
            format!("{bytes} bytes, fewer than a header, follow the last batch"),
        ),
        ScanStop::Torn => (
            FindingCode::TornTail,
            format!("the last batch is torn after {bytes} bytes"),
        ),
        ScanStop::LengthTooSmall { size } => (
            FindingCode::LengthTooSmall,
            format!("a batch claims {size} bytes, fewer than the least of 14"),
        ),
        ScanStop::BatchTooShort { size } => (
            FindingCode::LengthTooSmall,
            format!("a batch of {size} bytes is shorter than its header"),
        ),
        ScanStop::CrcMismatch { stored, computed } => (
            FindingCode::CrcMismatch,
            format!("a batch's CRC is {computed:#010x}, its header says {stored:#010x}"),
        ),
        ScanStop::ControlInvalid { cause } => (
            FindingCode::ControlRecordInvalid,
            format!("a control record does not parse ({cause})"),
        ),
        ScanStop::OffsetsGoBack { last_offset } => (
            FindingCode::OffsetsGoBack,
            format!("a batch's last offset {last_offset} does not rise"),
        ),
        ScanStop::OffsetOverflow { last_offset } => (
            FindingCode::OffsetOverflow,
            format!("a batch's last offset {last_offset} does not fit the segment"),
        ),
        ScanStop::EndOfFile | ScanStop::Fatal { .. } => (
            FindingCode::TornTail,
            format!("{bytes} bytes follow the last good batch"),
        ),
    };
    let severity = match code {
        FindingCode::PreallocatedTail => Severity::Routine,
        FindingCode::TornTail | FindingCode::ZeroTail => Severity::Warning,
        _ => Severity::Loss,
    };
    let finding = Finding::new(
        code,
        severity,
        format!("{what}; a boot cuts {bytes} bytes here{}", lost(&tail)),
    )
    .file(file)
    .at(scan.valid_up_to)
    .offset(scan.next_offset);
    let records = tail.countable_records();
    let finding = match severity {
        Severity::Routine => finding,
        _ => finding.loses(bytes, records),
    };
    if tail.may_hold_good_batches() {
        finding.next("decide: take Kafka's way, or leave the log and fetch it from another replica")
    } else {
        finding
    }
}

fn lost(tail: &TailReport) -> String {
    match (tail.resync, tail.may_hold_good_batches()) {
        (Some((position, offset)), _) => format!(
            ", and with them {} good batches ({} records, {} bytes) from position {position}, offset {offset}",
            tail.good_batches, tail.good_records, tail.good_bytes
        ),
        (None, true) => ", and perhaps good batches in them".to_owned(),
        (None, false) => String::new(),
    }
}

/// Returns the finding for a last segment whose end a boot does not find, so that it goes on at the segment's base.
pub(super) fn end_not_found(target: Offset, base: Offset, len: u64, file: &str) -> Finding {
    Finding::new(
        FindingCode::OffsetsGoBack,
        Severity::Loss,
        format!(
            "offsets go back, so that a boot does not find offset {target} of the last index entry and takes {base} for the \
             log's end: {len} bytes stay in the file and are lost to readers"
        ),
    )
    .file(file)
    .offset(base)
    .loses(len, None)
    .next("decide: take Kafka's way, or leave the log and fetch it from another replica")
}

/// Returns the finding for a later segment that is dropped, its good bytes and records.
pub(super) fn segment_dropped(
    scan: Option<&SegmentScan>,
    base: Offset,
    len: u64,
    cut_in: Offset,
) -> (Finding, u64, Option<u64>) {
    let (bytes, records, gave_up) = scan.map_or((len, 0, len > 0), |scan| {
        let tail = scan.tail.clone().unwrap_or_default();
        (
            scan.valid_up_to.0 + tail.good_bytes,
            scan.records + tail.good_records,
            tail.searched == Searched::GaveUp,
        )
    });
    let records = (!gave_up).then_some(records);
    let count = records.map_or_else(|| "?".to_owned(), |records| records.to_string());
    let severity = if bytes > 0 {
        Severity::Loss
    } else {
        Severity::Warning
    };
    let finding = Finding::new(
        FindingCode::SegmentDropped,
        severity,
        format!("a boot deletes this whole segment because segment {cut_in} is cut: {count} good records, {bytes} bytes"),
    )
    .file(name_of(base, FileKind::Log))
    .offset(base)
    .loses(bytes, records)
    .next("decide: take Kafka's way, or leave the log and fetch it from another replica");
    (finding, bytes, records)
}

/// Returns the finding for a segment whose offsets go back, with all that goes with it.
pub(super) fn offsets_go_back(scan: &SegmentScan, file: &str) -> (Finding, u64, Option<u64>) {
    let tail = scan.tail.clone().unwrap_or_default();
    let bytes = scan.valid_up_to.0 + tail.good_bytes;
    let records = (tail.searched == Searched::Fully).then_some(scan.records + tail.good_records);
    let finding = Finding::new(
        FindingCode::OffsetsGoBack,
        Severity::Loss,
        format!("offsets go back at an index point; a boot empties the whole segment, {bytes} bytes of good batches"),
    )
    .file(file)
    .at(scan.valid_up_to)
    .offset(scan.base_offset)
    .loses(bytes, records)
    .next("decide: take Kafka's way, or leave the log and fetch it from another replica");
    (finding, bytes, records)
}

/// Returns the finding for a segment that is split.
pub(super) fn split(file: &str, pieces: &[Piece]) -> Finding {
    let bases: Vec<String> = pieces
        .iter()
        .map(|piece| piece.base_offset.to_string())
        .collect();
    Finding::new(
        FindingCode::OffsetOverflow,
        Severity::Warning,
        format!(
            "its offsets span more than 2^31: a boot splits it into {} segments, {}",
            pieces.len(),
            bases.join(" and ")
        ),
    )
    .file(file)
}

/// Returns the finding for a segment whose place a piece takes.
pub(super) fn replaced_by_piece(file: &str, base: Offset, len: u64) -> Finding {
    Finding::new(
        FindingCode::OffsetOverflow,
        Severity::Loss,
        format!("a segment that is split has a piece of the same base: a boot replaces this one, {len} bytes"),
    )
    .file(file)
    .offset(base)
    .loses(len, None)
    .next("decide: take Kafka's way, or leave the log and fetch it from another replica")
}

/// Returns the finding for segments that stay although one before them is cut.
pub(super) fn kept_behind(base: Offset, end: Offset, next: Offset) -> Finding {
    Finding::new(
        FindingCode::DecisionTaken,
        Severity::Warning,
        format!(
            "segment {base} is cut only here: it ends at {end} and the segments from {next} on stay. A boot finds each of \
             them whole and cuts nothing. Consumers go from {end} straight to {next}; as a follower this replica does not \
             fetch what is missing, and as a leader it does not have it for others"
        ),
    )
    .offset(end)
}

/// Returns the finding for a log that lies below its log start.
pub(super) fn log_start_beyond_end(end: Offset, start: Offset, bytes: u64) -> Finding {
    Finding::new(
        FindingCode::LogStartBeyondEnd,
        Severity::Loss,
        format!(
            "the log ends at {end}, below the checkpointed log start {start}; a boot deletes all segments, {bytes} bytes"
        ),
    )
    .offset(end)
    .loses(bytes, None)
    .next("check log-start-offset-checkpoint of the log dir before a boot")
}

/// Returns the finding for a log that ends below what was acknowledged.
pub(super) fn end_below_high_watermark(end: Offset, high_watermark: Offset) -> Finding {
    let missing = high_watermark.0.saturating_sub(end.0);
    Finding::new(
        FindingCode::EndBelowHighWatermark,
        Severity::Loss,
        format!(
            "the log ends at {end}, below the checkpointed high watermark {high_watermark}: up to {missing} \
             acknowledged offsets are not on this replica"
        ),
    )
    .offset(end)
    .next("let a replica that has them become leader before this broker leads the partition")
}
