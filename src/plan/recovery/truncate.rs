//! Kafka's truncation of a log that is loaded or recovered so far in the virtual dir (`UnifiedLog.truncateTo`).
//!
//! The end is what Kafka leaves once it has truncated the log and closed it: indexes trimmed, the time index with its
//! final entry, a snapshot of the producers at the target.

use super::Recovery;
use super::facts::{Interrupt, refused};
use super::need::CutRequest;
use super::producers::Producers;
use super::state::{Segment, State, name_of};
use crate::format::file_name::{FileKind, PartitionFile};
use crate::log::{
    CutFound, Finding, FindingCode, OffsetIndexSearch, OffsetSearch, Severity, TimeIndexSearch,
    txn_index_cut,
};
use crate::plan::{AskReason, Content, Truncation, TruncationTarget};
use crate::terms::{Offset, Position, Timestamp};

/// A log's first offset and its end, as a boot finds them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub(super) log_start: Offset,
    pub(super) log_end: Offset,
}

impl Recovery {
    /// Truncates the log, if that was asked for.
    pub(super) fn truncate(
        &self,
        state: &mut State,
        producers: &mut Producers<'_>,
        ends: Ends,
    ) -> Result<(), Interrupt> {
        let Some(asked) = self.inputs.truncation else {
            return Ok(());
        };
        self.check_may_truncate()?;
        let target = self.truncation_offset(state, producers, asked, ends)?;
        if target < ends.log_start {
            return Err(refused(below_log_start(asked, target, state, ends)));
        }
        if target >= ends.log_end {
            state.findings.push(Finding::new(
                FindingCode::NoEffect,
                Severity::Routine,
                format!(
                    "the log ends at {}, not beyond {}: nothing is truncated",
                    ends.log_end,
                    named(asked, target)
                ),
            ));
            return Ok(());
        }
        check_loss(state)?;
        state.findings.extend(
            self.inputs
                .replicas
                .as_ref()
                .map(|replicas| replicas.finding(self.inputs.now)),
        );
        let truncation = self.cut_segments(state, asked, target, ends)?;
        state.epochs.truncate_from_end(target);
        Self::write_epochs(state)?;
        producers.rebuild(state, ends.log_start, target, false)?;
        state.findings.push(truncated(&truncation, state));
        state.truncation = Some(truncation);
        Ok(())
    }

    /// Refuses what no target makes right.
    fn check_may_truncate(&self) -> Result<(), Interrupt> {
        if self.is_delete {
            return Err(refused(
                "the log is to be deleted: there is nothing to truncate",
            ));
        }
        // A boot drops `.cleaned` files alone; a swap it finishes.
        let unfinished = (self.listing.iter())
            .map(|entry| entry.stamp.name.as_str())
            .find(|name| matches!(PartitionFile::parse(name), PartitionFile::Swap { .. }));
        if let Some(name) = unfinished {
            return Err(refused(format!(
                "{name}: a compaction or split was interrupted here; recover the log first, then truncate it"
            )));
        }
        if self.inputs.replicas.is_none() {
            return Err(refused(
                "nothing on this host says which replicas are in sync, so this may be the last copy: it needs the \
                 metadata log (--config FILE names its dir)",
            ));
        }
        Ok(())
    }

    /// Returns the offset that the target stands for.
    fn truncation_offset(
        &self,
        state: &State,
        producers: &Producers<'_>,
        target: TruncationTarget,
        ends: Ends,
    ) -> Result<Offset, Interrupt> {
        let high_watermark = || {
            self.inputs.high_watermark.ok_or_else(|| {
                refused("replication-offset-checkpoint has no high watermark of this partition")
            })
        };
        match target {
            TruncationTarget::Offset(offset) => Ok(offset),
            TruncationTarget::HighWatermark => high_watermark(),
            TruncationTarget::LastStable => {
                let high_watermark = high_watermark()?;
                // A transaction whose marker lies at or behind the high watermark counts as open there, unless the marker
                // lies before the snapshot that was loaded: snapshots keep open transactions alone.
                let end = high_watermark.max(producers.loaded_from).min(ends.log_end);
                let (mut there, mut at_end) = (state.aside(), producers.clone());
                at_end.rebuild(&mut there, ends.log_start, end, false)?;
                let open = at_end.state.first_undecided_offset();
                Ok(open.map_or(high_watermark, |first| {
                    first.max(ends.log_start).min(high_watermark)
                }))
            }
            TruncationTarget::Epoch(epoch) => {
                state.epochs.end_offset(epoch, ends.log_end).ok_or_else(|| {
                    let latest = state.epochs.latest().map_or_else(
                        || "it knows no epoch".to_owned(),
                        |latest| format!("its latest is {latest}"),
                    );
                    refused(format!("the log knows no leader epoch {epoch}: {latest}"))
                })
            }
        }
    }

    /// Cuts the segment that holds `target` and drops those behind it.
    fn cut_segments(
        &self,
        state: &mut State,
        asked: TruncationTarget,
        target: Offset,
        ends: Ends,
    ) -> Result<Truncation, Interrupt> {
        let holder = state.segments.range(..=target).next_back();
        let Some((base, segment)) = holder.map(|(base, segment)| (*base, segment.clone())) else {
            return Err(refused(format!("no segment holds offset {target}")));
        };
        let last_base = state.segments.keys().next_back().copied().unwrap_or(base);
        // After the steps, and after any part of them, an unclean boot reads from here on.
        let reads_from = self.inputs.recovery_point_or_zero().min(target);
        let first_read = state.segments_from(reads_from).next();
        state.first_read = first_read;
        let name = name_of(base, FileKind::Log);
        let found = self.cut_indexes(state, base, target, segment.len)?;
        if let Some(cause) = &found.fatal {
            return Err(refused(format!(
                "{name}: {cause}: Kafka's truncation dies of it"
            )));
        }
        let cut_at = found.position.map_or(segment.len, |position| position.0);
        let mut truncation = Truncation {
            asked,
            offset: target,
            end_before: ends.log_end,
            active_base: base,
            active_base_before: last_base,
            lost_bytes: state.loss.bytes + found.end.0.saturating_sub(cut_at),
            lost_records: Some(found.records_cut),
            lost_segments: 0,
        };
        if !state.loss.reasons.is_empty() {
            truncation.add_records(state.loss.records);
        }
        state.dir.cut(&name, cut_at);
        let cut = Segment {
            len: cut_at,
            next_offset: None,
        };
        state.segments.insert(base, cut);
        let later: Vec<(Offset, u64)> = state
            .segments
            .range((std::ops::Bound::Excluded(base), std::ops::Bound::Unbounded))
            .map(|(base, segment)| (*base, segment.len))
            .collect();
        for (later, len) in later {
            truncation.lost_bytes += len;
            truncation.lost_segments += 1;
            let summary = state.summaries.get(&later);
            let records = summary
                .and_then(|summary| (summary.scanned || len == 0).then_some(summary.records));
            truncation.add_records(records);
            state.remove_segment(later);
        }
        state.loss = super::state::Loss::default();
        let left_end = found.next_offset.unwrap_or(base);
        // A batch that reaches across the log's start went whole: a boot deletes what lies below and begins there.
        let boot_end = left_end.max(ends.log_start);
        state.log_end_offset = Some(boot_end);
        if let Some(first) = found.first_cut.filter(|first| *first < target) {
            state.findings.push(
                Finding::new(
                    FindingCode::WholeBatchCut,
                    Severity::Warning,
                    format!(
                        "offset {target} lies inside the batch from {first} on, which goes as a whole: a boot finds \
                         the log's end at {boot_end}{}",
                        if left_end < boot_end {
                            ", its start, and deletes the segments below it"
                        } else {
                            ""
                        }
                    ),
                )
                .file(name)
                .at(Position(cut_at))
                .offset(first),
            );
        }
        Ok(truncation)
    }

    /// Finds where the segment is cut, and cuts its indexes.
    fn cut_indexes(
        &self,
        state: &mut State,
        base: Offset,
        target: Offset,
        len: u64,
    ) -> Result<CutFound, Interrupt> {
        let [index, time, txn] = [FileKind::Index, FileKind::TimeIndex, FileKind::TxnIndex]
            .map(|kind| name_of(base, kind));
        let mut offsets = OffsetIndexSearch::new(&self.bytes(state, &index)?, base);
        let time_bytes = self.bytes(state, &time)?.into_owned();
        let mut times = TimeIndexSearch::new(&time_bytes, base);
        let from = offsets.lookup(target);
        let kept = offsets.truncate_to(target);
        times.truncate_to(target);
        let last_time = times.last();
        let timestamps_from = offsets.lookup(last_time.map_or(base, |(_, offset)| offset));
        let found = if len == 0 {
            let walk = crate::log::CutSearch::new(
                0,
                target,
                (from, timestamps_from),
                OffsetSearch::of(self.inputs.version),
            );
            walk.finish()
        } else {
            let request = CutRequest {
                log: state.log_part(base),
                from,
                timestamps_from,
                target,
                search: OffsetSearch::of(self.inputs.version),
            };
            self.facts.cut(request)?.clone()
        };
        // Kafka looks for a larger timestamp only where it knows of one: by the index, or as it has just read the segment.
        let read = state
            .summaries
            .get(&base)
            .filter(|summary| summary.scanned)
            .and_then(|summary| summary.largest_timestamp);
        let known = last_time.map(|(timestamp, _)| timestamp).max(read);
        if known.is_some_and(|known| known >= Timestamp(0))
            && let Some((timestamp, offset)) = found.largest_timestamp
        {
            times.append(timestamp, offset);
        }
        let txn_bytes = self.bytes(state, &txn)?.into_owned();
        state.dir.cut(&index, kept);
        let times = times.encode();
        if time_bytes.starts_with(&times) {
            state.dir.cut(&time, times.len() as u64);
        } else {
            state.dir.write(&time, Content::new(times))?;
        }
        if let Some(cut) = txn_index_cut(&txn_bytes, target) {
            state.dir.cut(&txn, cut);
        }
        Ok(found)
    }
}

impl Truncation {
    fn add_records(&mut self, records: Option<u64>) {
        self.lost_records = self.lost_records.zip(records).map(|(a, b)| a + b);
    }
}

/// What recovery would cost beside is beyond the target as well, or must be decided first.
fn check_loss(state: &State) -> Result<(), Interrupt> {
    let beyond = |reason: &AskReason| {
        matches!(
            reason,
            AskReason::BatchesBehindCut | AskReason::LaterSegments
        )
    };
    if state.loss.reasons.iter().all(beyond) {
        return Ok(());
    }
    Err(refused(
        "a boot would cost this log good records elsewhere: decide that first, with recover",
    ))
}

/// Says what Kafka would make of a target below the log start.
fn below_log_start(asked: TruncationTarget, target: Offset, state: &State, ends: Ends) -> String {
    let first_base = state.segments.keys().next().copied();
    let effect = if first_base.is_some_and(|base| base <= target) {
        "Kafka would bring back deleted records below it"
    } else {
        "Kafka would delete every segment and begin an empty log there"
    };
    format!(
        "{} lies below the log start {}: {effect}",
        named(asked, target),
        ends.log_start
    )
}

/// Returns a target with the offset that it stands for.
fn named(asked: TruncationTarget, target: Offset) -> String {
    match asked {
        TruncationTarget::Offset(_) => asked.words(),
        asked => format!("{} ({target})", asked.words()),
    }
}

/// Returns the finding that says what goes.
fn truncated(truncation: &Truncation, state: &State) -> Finding {
    let end = state.log_end_offset.unwrap_or(truncation.offset);
    let offsets = truncation.end_before.0.saturating_sub(end.0);
    let mark = if truncation.asked.is_mark() {
        "; the checkpointed mark is up to 5 s old, and committed records may lie behind it"
    } else {
        ""
    };
    Finding::new(
        FindingCode::Truncated,
        Severity::Loss,
        format!(
            "a truncation to {} ends the log at {end} instead of {}, {offsets} offsets less{mark}",
            named(truncation.asked, truncation.offset),
            truncation.end_before
        ),
    )
    .offset(end)
    .loses(truncation.lost_bytes, truncation.lost_records)
}
