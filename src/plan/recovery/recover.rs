//! Reading segments in full, and what is cut behind a bad place (`LogLoader.recoverLog`, `recoverSegment`).

use super::Recovery;
use super::facts::{Interrupt, refused};
use super::need::{Need, ReplayRequest, ScanRequest};
use super::producers::Producers;
use super::state::{Phase, Segment, State, name_of};
use super::words;
use crate::format::file_name::FileKind;
use crate::format::txn_index::AbortedTxn;
use crate::log::{Lookup, OffsetSearch, RebuiltIndex, ScanStop, SegmentScan};
use crate::plan::{AskReason, Content, OnLoss};
use crate::terms::{Offset, Position};

/// How many segments are named that will be read next: more than anybody reads at once.
const SCANS_AHEAD: usize = 32;

/// What became of a segment that was read.
pub(super) enum Recovered {
    /// It ends at its last good batch.
    Segment(Segment),
    /// Kafka would empty it; its length before.
    OffsetsGoBack(u64),
    /// A batch ends at this offset, which does not fit the segment.
    Overflow(Offset),
}

impl Recovery {
    /// Recovers the unflushed segment `base`; what follows a cut goes.
    pub(super) fn recover_next(&self, state: &mut State, base: Offset) -> Result<(), Interrupt> {
        let Some(segment) = state.segments.get(&base).cloned() else {
            state.phase = Phase::Finish;
            return Ok(());
        };
        let len = segment.len;
        let truncated = match self.recover_segment(state, base, &segment)? {
            Recovered::Segment(segment) => {
                let truncated = segment.len < len;
                state.segments.insert(base, segment);
                truncated
            }
            Recovered::OffsetsGoBack(len) => {
                self.empty_segment(state, base)?;
                len > 0
            }
            Recovered::Overflow(last_offset) => {
                return self.split_segment(state, base, last_offset);
            }
        };
        let keeps_behind = self.inputs.on_loss == OnLoss::CutHere;
        if truncated && keeps_behind {
            self.note_kept_behind(state, base);
        } else if truncated {
            self.drop_segments_behind(state, base)?;
            state.phase = Phase::Finish;
            return Ok(());
        }
        let next = state
            .segments
            .range((std::ops::Bound::Excluded(base), std::ops::Bound::Unbounded))
            .next();
        state.phase = next.map_or(Phase::Finish, |(base, _)| Phase::Recover(*base));
        Ok(())
    }

    /// Reads one segment in full and applies what recovery does with it.
    pub(super) fn recover_segment(
        &self,
        state: &mut State,
        base: Offset,
        segment: &Segment,
    ) -> Result<Recovered, Interrupt> {
        let scan = self.scan(state, base)?;
        let log_start = self.inputs.log_start_or_zero();
        let mut producers = Producers::open(&self.inputs, &self.facts, &state.dir)?;
        producers.rebuild(state, log_start, base, false)?;
        let aborted = self.apply_events(state, &mut producers, scan, segment)?;
        for entry in &scan.epochs {
            let known = state.epochs.latest();
            state.epochs.on_recovered_batch(*entry);
            state.adds_epochs |= state.epochs.latest() != known;
        }
        state.note_scan(scan);
        if let ScanStop::Fatal { cause } = &scan.stop {
            let (file, position) = (name_of(base, FileKind::Log), scan.valid_up_to);
            return Err(refused(format!("{file} at position {position}: {cause}")));
        }
        let txn = name_of(base, FileKind::TxnIndex);
        if state.dir.contains(&txn) || !aborted.is_empty() {
            state
                .dir
                .write(&txn, Content::new(encode_aborted(&aborted)))?;
        }
        // Where a single place is bad the segment can be cut there.
        let cuts_here =
            self.inputs.on_loss == OnLoss::CutHere && scan.valid_up_to.0 < scan.file_len;
        match scan.stop {
            ScanStop::OffsetsGoBack { .. } if cuts_here => {}
            ScanStop::OffsetsGoBack { .. } => return Ok(Recovered::OffsetsGoBack(segment.len)),
            ScanStop::OffsetOverflow { last_offset } => {
                return Ok(Recovered::Overflow(last_offset));
            }
            _ => {}
        }
        if scan.valid_up_to.0 < segment.len {
            self.note_cut(state, scan);
        }
        state
            .dir
            .cut(&name_of(base, FileKind::Log), scan.valid_up_to.0);
        put_index(state, &name_of(base, FileKind::Index), &scan.offset_index)?;
        put_index(state, &name_of(base, FileKind::TimeIndex), &scan.time_index)?;
        producers.take_snapshot(&mut state.dir)?;
        Ok(Recovered::Segment(Segment {
            len: scan.valid_up_to.0.min(segment.len),
            next_offset: self.trusts_end(scan).then_some(scan.next_offset),
        }))
    }

    /// Returns the scan of a segment, or asks for it and for those that will be used next.
    fn scan(&self, state: &State, base: Offset) -> Result<&SegmentScan, Interrupt> {
        if let Some(scan) = self.facts.scan(base) {
            return Ok(scan);
        }
        let mut unflushed = Vec::new();
        if !self.inputs.is_clean() && !self.is_delete {
            let point = self.inputs.recovery_point_or_zero();
            let bases = || state.log_files.iter().map(|(base, _)| *base);
            let first = bases().filter(|base| *base <= point).max();
            unflushed.extend(
                bases()
                    .filter(|other| *other > base && first.is_none_or(|first| *other >= first))
                    .filter(|base| self.facts.scan(*base).is_none())
                    .take(SCANS_AHEAD),
            );
        }
        Err(Interrupt::Need(Need::Scan(
            std::iter::once(base)
                .chain(unflushed)
                .filter_map(|base| self.scan_request(state, base))
                .collect(),
        )))
    }

    pub(super) fn scan_request(&self, state: &State, base_offset: Offset) -> Option<ScanRequest> {
        let file = name_of(base_offset, FileKind::Log);
        state.dir.source(&file)?;
        let side = |kind| {
            state
                .dir
                .source(&name_of(base_offset, kind))
                .map(str::to_owned)
        };
        Some(ScanRequest {
            base_offset,
            log: state.log_part(base_offset),
            offset_index_file: side(FileKind::Index),
            time_index_file: side(FileKind::TimeIndex),
            limits: self.inputs.config.limits(),
        })
    }

    /// Applies a scanned segment's events batch by batch; returns the aborted transactions.
    fn apply_events(
        &self,
        state: &State,
        producers: &mut Producers<'_>,
        scan: &SegmentScan,
        segment: &Segment,
    ) -> Result<Vec<AbortedTxn>, Interrupt> {
        let file = name_of(scan.base_offset, FileKind::Log);
        let events = if let Some(events) = &scan.producers {
            events
        } else {
            let mut log = state.log_part(scan.base_offset);
            log.len = scan.valid_up_to.0.min(segment.len);
            let request = ReplayRequest {
                log,
                from: Lookup {
                    offset: Offset(i64::MIN),
                    position: Position(0),
                },
                to: None,
                search: OffsetSearch::LastOffset,
            };
            &self.facts.replay(request)?.events
        };
        let mut aborted: Vec<AbortedTxn> = Vec::new();
        for event in events {
            producers
                .state
                .apply(event, &mut aborted)
                .map_err(|cause| refused(format!("{file}: {cause}")))?;
            if let [.., before, last] = aborted.as_slice()
                && last.last_offset <= before.last_offset
            {
                return Err(refused(format!(
                    "{file}: aborted transactions end in falling order"
                )));
            }
        }
        if let Some(end) = scan.producer_end {
            producers.set_end(end);
        }
        Ok(aborted)
    }

    /// Says whether a boot finds the end that the scan found: from 4.1 on it may not where offsets go back, or where it
    /// has to take compressed messages of magic 0 or 1 apart.
    fn trusts_end(&self, scan: &SegmentScan) -> bool {
        !(scan.goes_back || scan.wrappers > 0)
            || OffsetSearch::of(self.inputs.version) == OffsetSearch::LastOffset
    }

    /// Empties a segment whose offsets go back, as Kafka does.
    fn empty_segment(&self, state: &mut State, base: Offset) -> Result<(), Interrupt> {
        let name = name_of(base, FileKind::Log);
        if let Some(scan) = self.facts.scan(base) {
            let (finding, bytes, records) = words::offsets_go_back(scan, &name);
            state.findings.push(finding);
            state.loss.add(AskReason::SegmentEmptied, bytes, records);
        }
        state.dir.cut(&name, 0);
        for kind in [FileKind::Index, FileKind::TimeIndex] {
            state
                .dir
                .write(&name_of(base, kind), Content::new(Vec::new()))?;
        }
        let txn = name_of(base, FileKind::TxnIndex);
        if state.dir.contains(&txn) {
            state.dir.write(&txn, Content::new(Vec::new()))?;
        }
        state.segments.insert(
            base,
            Segment {
                len: 0,
                next_offset: Some(base),
            },
        );
        Ok(())
    }

    /// Removes the segments behind a cut, with their indexes and snapshots.
    fn drop_segments_behind(&self, state: &mut State, base: Offset) -> Result<(), Interrupt> {
        let behind = (std::ops::Bound::Excluded(base), std::ops::Bound::Unbounded);
        let later: Vec<(Offset, u64)> = state
            .segments
            .range(behind)
            .map(|(base, s)| (*base, s.len))
            .collect();
        let missing: Vec<_> = later
            .iter()
            .filter(|(base, len)| *len > 0 && self.facts.scan(*base).is_none())
            .filter_map(|(base, _)| self.scan_request(state, *base))
            .take(SCANS_AHEAD)
            .collect();
        if !missing.is_empty() {
            return Err(Interrupt::Need(Need::Scan(missing)));
        }
        for (later_base, len) in later {
            let scan = self.facts.scan(later_base);
            let (finding, bytes, records) = words::segment_dropped(scan, later_base, len, base);
            state.findings.push(finding);
            if bytes > 0 {
                state.loss.add(AskReason::LaterSegments, bytes, records);
                state.loss.segments += 1;
            }
            state.remove_segment(later_base);
        }
        Ok(())
    }

    /// Tells what is missing between a segment that is cut and the next one, which stays.
    fn note_kept_behind(&self, state: &mut State, base: Offset) {
        let behind = (std::ops::Bound::Excluded(base), std::ops::Bound::Unbounded);
        let next = state.segments.range(behind).next().map(|(base, _)| *base);
        let end = self.facts.scan(base).map(|scan| scan.next_offset);
        if let (Some(next), Some(end)) = (next, end) {
            state.findings.push(words::kept_behind(base, end, next));
            state.loss.add(AskReason::LaterSegments, 0, Some(0));
        }
    }

    fn note_cut(&self, state: &mut State, scan: &SegmentScan) {
        let file = name_of(scan.base_offset, FileKind::Log);
        state
            .findings
            .push(words::cut(scan, &file, &self.inputs.config));
        if let Some(tail) = &scan.tail
            && tail.may_hold_good_batches()
        {
            let records = tail.countable_records();
            state
                .loss
                .add(AskReason::BatchesBehindCut, tail.good_bytes, records);
        }
    }
}

fn put_index(state: &mut State, name: &str, index: &RebuiltIndex) -> Result<(), Interrupt> {
    match index {
        RebuiltIndex::Bytes(bytes) => state.dir.write(name, Content::new(bytes.clone()))?,
        RebuiltIndex::Stored { len, sha256 } => {
            state.dir.write(
                name,
                Content {
                    len: *len,
                    sha256: sha256.clone(),
                    bytes: None,
                },
            )?;
        }
        RebuiltIndex::OnDisk { len } => state.dir.cut(name, *len),
    }
    Ok(())
}

fn encode_aborted(aborted: &[AbortedTxn]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in aborted {
        entry.encode_into(&mut bytes);
    }
    bytes
}
