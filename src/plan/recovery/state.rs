//! Where the machine stands with one log.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::facts::{Facts, Interrupt};
use super::need::{LogPart, LookupRequest};
use crate::format::file_name::{FileKind, PartitionFile, segment_file_name};
use crate::log::{Finding, LeaderEpochs, Lookup, OffsetIndexSearch, SegmentScan};
use crate::plan::undo_map::UndoMap;
use crate::plan::virtual_dir::{VirtualDir, VirtualFile};
use crate::plan::{AskReason, SegmentSummary, Truncation};
use crate::terms::{Offset, Position};

/// A segment that was loaded.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    /// Length of its `.log` in bytes, after what was cut so far.
    pub(super) len: u64,
    /// The offset behind its last good batch, once it was scanned.
    pub(super) next_offset: Option<Offset>,
}

/// What Kafka's way costs in good records.
#[derive(Debug, Clone, Default)]
pub(super) struct Loss {
    pub(super) reasons: Vec<AskReason>,
    pub(super) bytes: u64,
    pub(super) records: Option<u64>,
    pub(super) segments: u64,
}

impl Loss {
    pub(super) fn add(&mut self, reason: AskReason, bytes: u64, records: Option<u64>) {
        self.records = match (self.reasons.is_empty(), self.records, records) {
            (true, _, records) => records,
            (false, Some(known), Some(more)) => Some(known + more),
            _ => None,
        };
        self.reasons.push(reason);
        self.bytes += bytes;
    }
}

/// What the machine does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Reads the epoch file, removes temporary files.
    Begin,
    /// Loads the segment at this place of the sorted `.log` names.
    Load(usize),
    /// Recovers the unflushed segment from this base offset on.
    Recover(Offset),
    /// Finds the log's end, trims epochs, rebuilds producers.
    Finish,
    /// Compares with the disk and orders the steps.
    Compare,
    /// The plan is made.
    Done,
}

/// All that changes while the machine runs.
#[derive(Debug)]
pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) dir: VirtualDir,
    pub(super) log_files: Arc<[(Offset, String)]>,
    pub(super) segments: UndoMap<Offset, Segment>,
    pub(super) epochs: LeaderEpochs,
    /// Whether a segment that was read told of an epoch that the epoch file did not know.
    pub(super) adds_epochs: bool,
    /// The snapshots that the log's own producer state manager listed when it was made.
    pub(super) listed_snapshots: Arc<BTreeSet<Offset>>,
    /// The snapshots on disk that producers were loaded from.
    pub(super) loaded_snapshots: BTreeSet<Offset>,
    /// The snapshots without producers that a clean load of a log without snapshots makes.
    pub(super) empty_snapshots: BTreeSet<Offset>,
    pub(super) findings: Vec<Finding>,
    pub(super) loss: Loss,
    pub(super) summaries: UndoMap<Offset, SegmentSummary>,
    pub(super) log_start_offset: Option<Offset>,
    pub(super) log_end_offset: Option<Offset>,
    pub(super) scan_bytes: u64,
    /// What the truncation came to that was asked for.
    pub(super) truncation: Option<Truncation>,
    /// The first unflushed segment, where there is one to read.
    pub(super) first_read: Option<Offset>,
    /// Swaps that belong to an incomplete set.
    pub(super) invalid_swaps: BTreeSet<String>,
    /// The offsets, from inclusive to exclusive, whose files a completed swap replaces.
    pub(super) swap_range: Option<(Offset, Offset)>,
    /// Segments below the recovery point that are read because an index is missing or corrupt.
    pub(super) repaired: BTreeSet<Offset>,
    /// Bases of segments that were split.
    pub(super) split_bases: BTreeSet<Offset>,
    /// Bases of the segments that splits made.
    pub(super) pieces: BTreeSet<Offset>,
    /// Segments whose scans say nothing any more.
    pub(super) stale_scans: Vec<Offset>,
    /// The last file that was compared with the disk.
    pub(super) compared: Option<String>,
}

/// A state's small parts at one moment; with what the large ones remember, the whole state.
#[derive(Debug)]
pub(super) struct Mark {
    phase: Phase,
    log_files: Arc<[(Offset, String)]>,
    epochs: LeaderEpochs,
    adds_epochs: bool,
    listed_snapshots: Arc<BTreeSet<Offset>>,
    loaded_snapshots: BTreeSet<Offset>,
    empty_snapshots: BTreeSet<Offset>,
    findings: usize,
    loss: Loss,
    log_start_offset: Option<Offset>,
    log_end_offset: Option<Offset>,
    scan_bytes: u64,
    truncation: Option<Truncation>,
    first_read: Option<Offset>,
    invalid_swaps: BTreeSet<String>,
    swap_range: Option<(Offset, Offset)>,
    repaired: BTreeSet<Offset>,
    split_bases: BTreeSet<Offset>,
    pieces: BTreeSet<Offset>,
    compared: Option<String>,
}

impl State {
    pub(super) fn new(dir: VirtualDir) -> Self {
        Self {
            phase: Phase::Begin,
            dir,
            log_files: Arc::default(),
            segments: UndoMap::default(),
            epochs: LeaderEpochs::default(),
            adds_epochs: false,
            listed_snapshots: Arc::default(),
            loaded_snapshots: BTreeSet::new(),
            empty_snapshots: BTreeSet::new(),
            findings: Vec::new(),
            loss: Loss::default(),
            summaries: UndoMap::default(),
            log_start_offset: None,
            log_end_offset: None,
            scan_bytes: 0,
            truncation: None,
            first_read: None,
            invalid_swaps: BTreeSet::new(),
            swap_range: None,
            repaired: BTreeSet::new(),
            split_bases: BTreeSet::new(),
            pieces: BTreeSet::new(),
            stale_scans: Vec::new(),
            compared: None,
        }
    }

    /// Returns a state with the same files and segments, for what shall not change this one.
    pub(super) fn aside(&self) -> Self {
        Self {
            segments: self.segments.clone(),
            ..Self::new(self.dir.clone())
        }
    }

    /// Keeps all changes so far; those after it can be taken back.
    ///
    /// A log has thousands of segments, and a phase changes one: a copy of the whole state would cost more than its read.
    pub(super) fn mark(&mut self) -> Mark {
        let Self {
            phase,
            dir,
            log_files,
            segments,
            epochs,
            adds_epochs,
            listed_snapshots,
            loaded_snapshots,
            empty_snapshots,
            findings,
            loss,
            summaries,
            log_start_offset,
            log_end_offset,
            scan_bytes,
            truncation,
            first_read,
            invalid_swaps,
            swap_range,
            repaired,
            split_bases,
            pieces,
            stale_scans,
            compared,
        } = self;
        stale_scans.clear();
        dir.mark();
        segments.mark();
        summaries.mark();
        Mark {
            phase: *phase,
            log_files: Arc::clone(log_files),
            epochs: epochs.clone(),
            adds_epochs: *adds_epochs,
            listed_snapshots: Arc::clone(listed_snapshots),
            loaded_snapshots: loaded_snapshots.clone(),
            empty_snapshots: empty_snapshots.clone(),
            findings: findings.len(),
            loss: loss.clone(),
            log_start_offset: *log_start_offset,
            log_end_offset: *log_end_offset,
            scan_bytes: *scan_bytes,
            truncation: truncation.clone(),
            first_read: *first_read,
            invalid_swaps: invalid_swaps.clone(),
            swap_range: *swap_range,
            repaired: repaired.clone(),
            split_bases: split_bases.clone(),
            pieces: pieces.clone(),
            compared: compared.clone(),
        }
    }

    /// Takes back all changes since the last mark, which `mark` is; findings are only ever added.
    pub(super) fn roll_back(&mut self, mark: Mark) {
        self.dir.roll_back();
        self.segments.roll_back();
        self.summaries.roll_back();
        self.findings.truncate(mark.findings);
        self.phase = mark.phase;
        self.log_files = mark.log_files;
        self.epochs = mark.epochs;
        self.adds_epochs = mark.adds_epochs;
        self.listed_snapshots = mark.listed_snapshots;
        self.loaded_snapshots = mark.loaded_snapshots;
        self.empty_snapshots = mark.empty_snapshots;
        self.loss = mark.loss;
        self.log_start_offset = mark.log_start_offset;
        self.log_end_offset = mark.log_end_offset;
        self.scan_bytes = mark.scan_bytes;
        self.truncation = mark.truncation;
        self.first_read = mark.first_read;
        self.invalid_swaps = mark.invalid_swaps;
        self.swap_range = mark.swap_range;
        self.repaired = mark.repaired;
        self.split_bases = mark.split_bases;
        self.pieces = mark.pieces;
        self.stale_scans.clear();
        self.compared = mark.compared;
    }

    /// Returns base offsets of the segments from the one that holds `offset` on; of all if none does.
    pub(super) fn segments_from(&self, offset: Offset) -> impl Iterator<Item = Offset> {
        let floor = self
            .segments
            .range(..=offset)
            .next_back()
            .map_or(Offset(i64::MIN), |(base, _)| *base);
        self.segments.range(floor..).map(|(base, _)| *base)
    }
}

impl State {
    /// Lists the `.log` files, in the order in which they are loaded.
    pub(super) fn list_logs(&mut self) {
        self.log_files = self
            .dir
            .names()
            .filter_map(|name| match PartitionFile::parse(name) {
                PartitionFile::Segment {
                    offset,
                    kind: FileKind::Log,
                } => Some((offset, name.to_owned())),
                _ => None,
            })
            .collect();
    }

    /// Removes a segment's files, and its snapshot where the log's own manager knew of it.
    pub(super) fn remove_segment(&mut self, base: Offset) {
        self.segments.remove(base);
        for kind in [
            FileKind::Log,
            FileKind::Index,
            FileKind::TimeIndex,
            FileKind::TxnIndex,
        ] {
            self.dir.remove(&name_of(base, kind));
        }
        if self.listed_snapshots.contains(&base) {
            Arc::make_mut(&mut self.listed_snapshots).remove(&base);
            self.dir.remove(&name_of(base, FileKind::Snapshot));
        }
    }

    /// Returns the name on disk of a file of the virtual dir.
    pub(super) fn source_of(&self, name: &str) -> String {
        self.dir.source(name).unwrap_or(name).to_owned()
    }

    /// Returns where the bytes of a segment's `.log` lie.
    pub(super) fn log_part(&self, base: Offset) -> LogPart {
        let name = name_of(base, FileKind::Log);
        match self.dir.get(&name) {
            Some(VirtualFile::OnDisk { source, start, len }) => LogPart {
                file: source.clone(),
                start: *start,
                len: *len,
            },
            // New segments are empty.
            _ => LogPart {
                file: name,
                start: 0,
                len: 0,
            },
        }
    }

    /// Looks an offset up in a segment's offset index.
    pub(super) fn look_up(
        &self,
        facts: &Facts,
        base: Offset,
        offset: Offset,
    ) -> Result<Lookup, Interrupt> {
        let position = match self.dir.get(&name_of(base, FileKind::Index)) {
            Some(VirtualFile::OnDisk { source, len, .. }) if *len > 0 => {
                facts.lookup(LookupRequest {
                    file: source.clone(),
                    len: *len,
                    base_offset: base,
                    offset,
                })?
            }
            Some(VirtualFile::New(content)) => {
                let bytes = content.bytes.as_deref().unwrap_or_default();
                OffsetIndexSearch::new(bytes, base).lookup(offset)
            }
            _ => Position(0),
        };
        Ok(Lookup { offset, position })
    }

    /// Takes what a scan said into the segment's summary.
    pub(super) fn note_scan(&mut self, scan: &SegmentScan) {
        let Some(mut summary) = self.summaries.get(&scan.base_offset).cloned() else {
            return;
        };
        if !summary.scanned {
            self.scan_bytes += scan.file_len;
        }
        summary.scanned = true;
        summary.next_offset = Some(scan.next_offset);
        summary.valid_bytes = Some(scan.valid_up_to.0);
        summary.batches = scan.batches;
        summary.records = scan.records;
        summary.largest_timestamp = scan.largest_timestamp.map(|(timestamp, _)| timestamp);
        self.summaries.insert(scan.base_offset, summary);
    }
}

/// Returns the name of a segment's file.
pub(super) fn name_of(base_offset: Offset, kind: FileKind) -> String {
    segment_file_name(base_offset, kind)
}
