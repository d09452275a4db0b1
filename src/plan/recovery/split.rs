//! Segments whose offsets span more than 2^31 (`LogLoader.retryOnOffsetOverflow`, `LocalLog.splitOverflowedSegment`).

use std::collections::BTreeSet;

use super::Recovery;
use super::facts::{Interrupt, refused};
use super::finish::last_entry;
use super::need::{LogPart, SplitRequest, WalkRequest};
use super::state::{Phase, Segment, State, name_of};
use super::words;
use crate::format::file_name::FileKind;
use crate::log::{Lookup, OffsetSearch, Piece, RebuiltIndex, SegmentScan, SplitIndexing};
use crate::plan::virtual_dir::VirtualFile;
use crate::plan::{AskReason, Content, SegmentSummary};
use crate::terms::Offset;

impl Recovery {
    /// Splits the segment of `base`, whose scan met the offset `last_offset`, and begins the phase anew: that of loading
    /// where the log does not have the segment yet, else that of recovery.
    pub(super) fn split_segment(
        &self,
        state: &mut State,
        base: Offset,
        last_offset: Offset,
    ) -> Result<(), Interrupt> {
        let file = name_of(base, FileKind::Log);
        let source = state.log_part(base);
        let Some(scan) = self.facts.scan(base) else {
            return Err(refused(format!("{file} was not read, a defect of krescue")));
        };
        self.check_overflow(&source, scan, last_offset)?;
        let split = self.facts.split(SplitRequest {
            log: source.clone(),
            limits: self.inputs.config.limits(),
            indexing: SplitIndexing::of(self.inputs.version),
        })?;
        if let Some(cause) = &split.fatal {
            return Err(refused(format!(
                "{file}: its offsets span more than 2^31 and it cannot be split: {cause}"
            )));
        }
        let bases: BTreeSet<Offset> = split.pieces.iter().map(|piece| piece.base_offset).collect();
        if bases.len() != split.pieces.len() {
            return Err(refused(format!(
                "{file}: its offsets span more than 2^31, and two of the segments it splits into begin at one offset"
            )));
        }
        let was_loaded = state.segments.contains_key(&base);
        if !was_loaded && !bases.contains(&base) {
            return Err(refused(format!(
                "{file}: its offsets span more than 2^31, its first batch does not begin at {base}, and its offset index \
                 is missing or its transaction index corrupt: a boot would split it and keep the whole beside the pieces"
            )));
        }
        state.findings.push(words::split(&file, &split.pieces));
        note_replaced(state, base, &split.pieces);
        // Kafka marks for deletion what the log has, with its snapshot where no piece begins at its base. What the log
        // does not have yet is only replaced.
        if was_loaded && !bases.contains(&base) {
            state.remove_segment(base);
        } else if was_loaded {
            state.dir.remove(&name_of(base, FileKind::TxnIndex));
        }
        state.summaries.remove(base);
        for piece in &split.pieces {
            place(state, &source, piece, was_loaded)?;
        }
        state.split_bases.insert(base);
        state.stale_scans.extend(bases.into_iter().chain([base]));
        if was_loaded {
            state.phase = self.after_load(state);
        } else {
            let loaded: Vec<Offset> = state.segments.keys().copied().collect();
            for base in loaded {
                state.segments.remove(base);
            }
            state.list_logs();
            state.phase = Phase::Load(0);
        }
        Ok(())
    }

    /// Kafka splits only where the last batch does not fit either; otherwise the boot dies.
    fn check_overflow(
        &self,
        source: &LogPart,
        scan: &SegmentScan,
        last_offset: Offset,
    ) -> Result<(), Interrupt> {
        let base = scan.base_offset;
        let (position, target) = match &scan.offset_index {
            RebuiltIndex::Bytes(bytes) => last_entry(bytes, base),
            _ => last_entry(&[], base),
        };
        let request = WalkRequest {
            log: source.clone(),
            lookup: Lookup {
                offset: target,
                position,
            },
            search: OffsetSearch::of(self.inputs.version),
        };
        let walked = self.facts.walk(request)?;
        let end = walked.next_offset.unwrap_or(base);
        let last = end.0.wrapping_sub(1).wrapping_sub(base.0);
        let cause = match &walked.fatal {
            Some(cause) => cause.as_str(),
            None if (0..=i64::from(i32::MAX)).contains(&last) || end <= base => {
                "it does not belong into this segment, and the last one does"
            }
            None => return Ok(()),
        };
        Err(refused(format!(
            "{} at position {}: a batch ends at offset {last_offset}; {cause}: a boot dies of it",
            name_of(base, FileKind::Log),
            scan.valid_up_to
        )))
    }
}

/// A piece takes the place of a segment that has its base already, and Kafka does not look what is in that.
fn note_replaced(state: &mut State, base: Offset, pieces: &[Piece]) {
    for piece in pieces.iter().filter(|piece| piece.base_offset != base) {
        let name = name_of(piece.base_offset, FileKind::Log);
        let len = state.dir.get(&name).map_or(0, VirtualFile::len);
        // One of the same length is what an apply left that was interrupted.
        if len > 0 && len != piece.len {
            state
                .findings
                .push(words::replaced_by_piece(&name, piece.base_offset, len));
            state.loss.add(AskReason::SegmentReplaced, len, None);
            state.loss.segments += 1;
        }
    }
}

fn place(
    state: &mut State,
    source: &LogPart,
    piece: &Piece,
    was_loaded: bool,
) -> Result<(), Interrupt> {
    let base = piece.base_offset;
    let part = (source.file.as_str(), source.start + piece.start, piece.len);
    state.dir.take_part(&name_of(base, FileKind::Log), part)?;
    for (kind, bytes) in [
        (FileKind::Index, &piece.offset_index),
        (FileKind::TimeIndex, &piece.time_index),
    ] {
        state
            .dir
            .write(&name_of(base, kind), Content::new(bytes.clone()))?;
    }
    let segment = Segment {
        len: piece.len,
        next_offset: None,
    };
    if was_loaded {
        state.segments.insert(base, segment);
    }
    state.pieces.insert(base);
    state
        .summaries
        .insert(base, SegmentSummary::unread(base, piece.len));
    Ok(())
}
