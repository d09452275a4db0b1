//! The three indexes of a segment.

use super::row::{Report, Row, Severity};
use super::source::Source;
use crate::cli::CliError;
use crate::format::{offset_index, time_index, txn_index};
use crate::terms::Offset;

/// Entries that are read at once.
const ENTRIES_AT_ONCE: usize = 1 << 15;

/// Reports the offset index of the segment that begins at `base_offset`.
pub(super) fn offset_index(
    source: &Source,
    base_offset: Option<Offset>,
    report: &mut Report<'_>,
) -> Result<Row, CliError> {
    let mut last: Option<offset_index::OffsetEntry> = None;
    let entries = each_entry(
        source,
        offset_index::ENTRY_LEN,
        report,
        |at, bytes, report| {
            let Some(entry) = offset_index::decode(bytes).next() else {
                return Ok(());
            };
            report.row(
                &Row::new("index_entry")
                    .with("position", at)
                    .with("offset", absolute(base_offset, entry.relative_offset))
                    .with("relative_offset", entry.relative_offset)
                    .with("log_position", entry.position),
            )?;
            let rises = last.is_none_or(|last| {
                entry.relative_offset > last.relative_offset && entry.position > last.position
            });
            if !rises || entry.relative_offset < 0 || entry.position < 0 {
                let text =
                    "entry does not rise above the one before: stale, or the index is damaged";
                report.finding("index_not_rising", Severity::Warning, at, text)?;
            }
            last = Some(entry);
            Ok(())
        },
    )?;
    Ok(Row::new("summary").with("entries", entries))
}

/// Reports the time index of the segment that begins at `base_offset`.
pub(super) fn time_index(
    source: &Source,
    base_offset: Option<Offset>,
    report: &mut Report<'_>,
) -> Result<Row, CliError> {
    let mut last: Option<time_index::TimeEntry> = None;
    let entries = each_entry(
        source,
        time_index::ENTRY_LEN,
        report,
        |at, bytes, report| {
            let Some(entry) = time_index::decode(bytes).next() else {
                return Ok(());
            };
            report.row(
                &Row::new("time_index_entry")
                    .with("position", at)
                    .with("timestamp", entry.timestamp)
                    .with("timestamp_ms", entry.timestamp.0)
                    .with("offset", absolute(base_offset, entry.relative_offset))
                    .with("relative_offset", entry.relative_offset),
            )?;
            let rises = last.is_none_or(|last| {
                entry.timestamp > last.timestamp && entry.relative_offset >= last.relative_offset
            });
            if !rises || entry.relative_offset < 0 {
                let text =
                    "entry does not rise above the one before: stale, or the index is damaged";
                report.finding("index_not_rising", Severity::Warning, at, text)?;
            }
            last = Some(entry);
            Ok(())
        },
    )?;
    Ok(Row::new("summary").with("entries", entries))
}

/// Reports an index of aborted transactions.
pub(super) fn txn_index(source: &Source, report: &mut Report<'_>) -> Result<Row, CliError> {
    let mut last: Option<Offset> = None;
    let entries = each_entry(source, txn_index::ENTRY_LEN, report, |at, bytes, report| {
        let Some(txn) = txn_index::decode(bytes).next() else {
            return Ok(());
        };
        report.row(
            &Row::new("aborted_txn")
                .with("position", at)
                .with("version", txn.version)
                .with("producer_id", txn.producer_id.0)
                .with("first_offset", txn.first_offset)
                .with("last_offset", txn.last_offset)
                .with("last_stable_offset", txn.last_stable_offset),
        )?;
        if txn.version != txn_index::VERSION {
            let text = format!(
                "unknown version {}: Kafka 4.4 does not start with it",
                txn.version
            );
            report.finding("txn_index_corrupt", Severity::Fatal, at, text)?;
        } else if last.is_some_and(|last| txn.last_offset <= last) {
            let text = "last offset does not rise above that of the entry before";
            report.finding("txn_index_corrupt", Severity::Warning, at, text)?;
        }
        last = Some(txn.last_offset);
        Ok(())
    })?;
    Ok(Row::new("summary").with("entries", entries))
}

fn absolute(base_offset: Option<Offset>, relative_offset: i32) -> Option<Offset> {
    base_offset.map(|base| base.plus(i64::from(relative_offset)))
}

/// Calls `f` with position and bytes of each entry up to the zeros at the end; reports those and a cut entry.
///
/// Returns how many entries there were.
fn each_entry(
    source: &Source,
    entry_len: usize,
    report: &mut Report<'_>,
    mut f: impl FnMut(u64, &[u8], &mut Report<'_>) -> Result<(), CliError>,
) -> Result<u64, CliError> {
    let step = entry_len as u64;
    let whole = source.len() - source.len() % step;
    let mut entries = 0_u64;
    let mut at = 0_u64;
    while at < whole {
        let bytes = source.read(at, ENTRIES_AT_ONCE * entry_len)?;
        if bytes.len() < entry_len {
            break;
        }
        for entry in bytes.chunks_exact(entry_len) {
            // The first entry may be zeros by right: offset 0 at position 0 never is, timestamp 0 may be.
            if entry.iter().all(|byte| *byte == 0) {
                let end = source.first_non_zero(at)?;
                if end == source.len() {
                    let row = Row::new("zeros").with("position", at);
                    report.row(&row.with("bytes", end - at))?;
                    return Ok(entries);
                }
            }
            f(at, entry, report)?;
            entries += 1;
            at += step;
        }
    }
    if whole < source.len() {
        let text = format!("{} bytes behind the last whole entry", source.len() - whole);
        report.finding("partial_entry", Severity::Warning, whole, text)?;
    }
    Ok(entries)
}
