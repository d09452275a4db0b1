//! The log's end, its epochs and producers, and the steps that lead there.

use super::Recovery;
use super::facts::{Interrupt, refused};
use super::need::{Need, WalkRequest};
use super::producers::Producers;
use super::state::{Phase, Segment, State, name_of};
use super::truncate::Ends;
use super::words;
use crate::format::file_name::{FileKind, LEADER_EPOCH_CHECKPOINT};
use crate::format::offset_index;
use crate::log::{Finding, FindingCode, Lookup, OffsetSearch, Severity};
use crate::plan::virtual_dir::VirtualFile;
use crate::plan::{AskReason, Content};
use crate::terms::{Offset, Position};

impl Recovery {
    /// Finds the log's end and rebuilds what depends on it.
    pub(super) fn finish(&self, state: &mut State) -> Result<(), Interrupt> {
        let checkpointed_start = self.inputs.log_start_or_zero();
        let log_end = if self.is_delete {
            if state.segments.is_empty() {
                state
                    .dir
                    .write(&name_of(Offset(0), FileKind::Log), Content::new(Vec::new()))?;
                state.segments.insert(
                    Offset(0),
                    Segment {
                        len: 0,
                        next_offset: Some(Offset(0)),
                    },
                );
            }
            Offset(0)
        } else {
            self.log_end(state, checkpointed_start)?
        };
        state.epochs.truncate_from_end(log_end);
        let first_base = state.segments.keys().next().copied().unwrap_or(Offset(0));
        let log_start = checkpointed_start.max(first_base);
        state.epochs.truncate_from_start(checkpointed_start);
        Self::write_epochs(state)?;
        let mut producers = Producers::open(&self.inputs, &self.facts, &state.dir)?;
        producers.remove_stray(state)?;
        producers.rebuild(state, log_start, log_end, self.inputs.is_clean())?;
        if self.inputs.checkpoint_io_error
            && (producers.state.first_undecided_offset().is_some() || producers.completed_in_scan)
        {
            return Err(refused(
                "a checkpoint of the log dir is malformed and this log has an open transaction: a boot dies of it; \
                 mend the checkpoint first",
            ));
        }
        state.log_start_offset = Some(log_start);
        state.log_end_offset = Some(log_end);
        self.truncate(state, &mut producers, Ends { log_start, log_end })?;
        self.check_high_watermark(state, log_end);
        state.phase = Phase::Compare;
        Ok(())
    }

    /// Writes the epoch file, if Kafka would have.
    pub(super) fn write_epochs(state: &mut State) -> Result<(), Interrupt> {
        if state.epochs.is_written() {
            state.dir.write(
                LEADER_EPOCH_CHECKPOINT,
                Content::new(state.epochs.to_checkpoint()),
            )?;
        }
        Ok(())
    }

    /// Returns the log's end (exclusive); deletes all where it lies below the log start, as Kafka does.
    fn log_end(&self, state: &mut State, checkpointed_start: Offset) -> Result<Offset, Interrupt> {
        if let Some((base, segment)) = state
            .segments
            .iter()
            .next_back()
            .map(|(base, s)| (*base, s.clone()))
        {
            let end = match segment.next_offset {
                Some(end) => end,
                None => self.walk_to_end(state, base, &segment)?,
            };
            if end >= checkpointed_start {
                return Ok(end);
            }
            let bytes = state.segments.values().map(|segment| segment.len).sum();
            state
                .findings
                .push(words::log_start_beyond_end(end, checkpointed_start, bytes));
            state.loss.add(AskReason::LogStartBeyondEnd, bytes, None);
            state.loss.segments += state.segments.len() as u64;
            let bases: Vec<Offset> = state.segments.keys().copied().collect();
            let mut producers = Producers::open(&self.inputs, &self.facts, &state.dir)?;
            for base in bases {
                state.remove_segment(base);
            }
            state.epochs.clear();
            producers.truncate_fully(&state.listed_snapshots, &mut state.dir, checkpointed_start);
        }
        for kind in [FileKind::Log, FileKind::Index, FileKind::TimeIndex] {
            let name = name_of(checkpointed_start, kind);
            if kind == FileKind::Log && self.inputs.config.preallocate {
                let len = u64::try_from(self.inputs.config.segment_bytes).unwrap_or(0);
                state.dir.allocate(&name, len)?;
            } else {
                state.dir.write(&name, Content::new(Vec::new()))?;
            }
        }
        state.segments.insert(
            checkpointed_start,
            Segment {
                len: 0,
                next_offset: Some(checkpointed_start),
            },
        );
        Ok(checkpointed_start)
    }

    /// Follows the last segment's headers from its last index entry on, as a clean load does.
    fn walk_to_end(
        &self,
        state: &mut State,
        base: Offset,
        segment: &Segment,
    ) -> Result<Offset, Interrupt> {
        let index = name_of(base, FileKind::Index);
        let (mut from, mut target) = (Position(0), base);
        if state.dir.get(&index).is_some_and(|file| file.len() > 0) {
            let bytes = self.bytes(state, &index)?;
            (from, target) = last_entry(&bytes, base);
        }
        let file = name_of(base, FileKind::Log);
        let request = WalkRequest {
            log: state.log_part(base),
            lookup: Lookup {
                offset: target,
                position: from,
            },
            search: OffsetSearch::of(self.inputs.version),
        };
        let walked = self.facts.walk(request)?;
        if let Some(cause) = &walked.fatal {
            let Some(scan) = self.facts.scan(base) else {
                let scan = self.scan_request(state, base).into_iter().collect();
                return Err(Interrupt::Need(Need::Scan(scan)));
            };
            state
                .findings
                .extend(words::zeros_under_marker(scan, &file));
            return Err(refused(format!(
                "{file}: {cause}: a boot dies of it although the marker says clean"
            )));
        }
        if walked.end.0 < segment.len {
            state.findings.push(
                Finding::new(
                    FindingCode::TornTail,
                    Severity::Warning,
                    format!(
                        "{} bytes behind the last batch stay in the file: the dir was stopped cleanly, so a boot does \
                         not cut them",
                        segment.len - walked.end.0
                    ),
                )
                .file(file.clone())
                .at(walked.end),
            );
        }
        let Some(end) = walked.next_offset else {
            if segment.len > 0 {
                state
                    .findings
                    .push(words::end_not_found(target, base, segment.len, &file));
                state.loss.add(AskReason::SegmentEmptied, segment.len, None);
            }
            return Ok(base);
        };
        Ok(end)
    }

    fn check_high_watermark(&self, state: &mut State, log_end: Offset) {
        if let Some(high_watermark) = self.inputs.high_watermark
            && log_end < high_watermark
            && !self.is_delete
        {
            state
                .findings
                .push(words::end_below_high_watermark(log_end, high_watermark));
        }
    }

    /// Takes back what would write bytes that lie there already, file by file: each is forgotten before the next is read.
    pub(super) fn compare(&self, state: &mut State) -> Result<(), Interrupt> {
        let next = state
            .dir
            .iter_behind(state.compared.as_deref())
            .find_map(|(name, file)| match file {
                VirtualFile::New(content) if self.disk_len(name) == Some(content.len) => {
                    Some((name.to_owned(), content.clone()))
                }
                _ => None,
            });
        let Some((name, content)) = next else {
            state.phase = Phase::Done;
            return Ok(());
        };
        let same = match content.bytes.as_deref() {
            Some(bytes) => {
                content.len == 0 || self.facts.file(&name)?.is_some_and(|disk| disk == bytes)
            }
            None => false,
        };
        if same {
            state.dir.restore(&name, content.len);
        }
        state.compared = Some(name);
        Ok(())
    }

    /// Returns the length of a file on disk.
    fn disk_len(&self, name: &str) -> Option<u64> {
        let place = self
            .listing
            .binary_search_by(|entry| entry.stamp.name.as_str().cmp(name))
            .ok()?;
        self.listing.get(place).map(|entry| entry.stamp.len)
    }
}

/// Returns position and offset of an offset index's last entry; the segment's begin if it has none.
pub(super) fn last_entry(index: &[u8], base: Offset) -> (Position, Offset) {
    offset_index::decode(index)
        .next_back()
        .map_or((Position(0), base), |entry| {
            let position = u64::try_from(entry.position).unwrap_or(0);
            (
                Position(position),
                base.plus(i64::from(entry.relative_offset)),
            )
        })
}
