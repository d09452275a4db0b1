//! Where the machine stands with one log.

use std::collections::{BTreeMap, BTreeSet};

use crate::format::file_name::{FileKind, segment_file_name};
use crate::log::{Finding, LeaderEpochs, SegmentScan};
use crate::plan::virtual_dir::VirtualDir;
use crate::plan::{AskReason, SegmentSummary};
use crate::terms::Offset;

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
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) dir: VirtualDir,
    pub(super) log_files: Vec<(Offset, String)>,
    pub(super) segments: BTreeMap<Offset, Segment>,
    pub(super) epochs: LeaderEpochs,
    /// Whether a segment that was read told of an epoch that the epoch file did not know.
    pub(super) adds_epochs: bool,
    /// The snapshots that the log's own producer state manager listed when it was made.
    pub(super) listed_snapshots: BTreeSet<Offset>,
    /// The snapshots on disk that producers were loaded from.
    pub(super) loaded_snapshots: BTreeSet<Offset>,
    /// The snapshots without producers that a clean load of a log without snapshots makes.
    pub(super) empty_snapshots: BTreeSet<Offset>,
    pub(super) findings: Vec<Finding>,
    pub(super) loss: Loss,
    pub(super) summaries: BTreeMap<Offset, SegmentSummary>,
    pub(super) log_start_offset: Option<Offset>,
    pub(super) log_end_offset: Option<Offset>,
    pub(super) scan_bytes: u64,
    /// The first unflushed segment, where there is one to read.
    pub(super) first_read: Option<Offset>,
    /// Swaps that belong to an incomplete set.
    pub(super) invalid_swaps: BTreeSet<String>,
    /// The offsets, from inclusive to exclusive, whose files a completed swap replaces.
    pub(super) swap_range: Option<(Offset, Offset)>,
    /// Segments below the recovery point that are read because an index is missing or corrupt.
    pub(super) repaired: BTreeSet<Offset>,
}

impl State {
    pub(super) fn new(dir: VirtualDir) -> Self {
        Self {
            phase: Phase::Begin,
            dir,
            log_files: Vec::new(),
            segments: BTreeMap::new(),
            epochs: LeaderEpochs::default(),
            adds_epochs: false,
            listed_snapshots: BTreeSet::new(),
            loaded_snapshots: BTreeSet::new(),
            empty_snapshots: BTreeSet::new(),
            findings: Vec::new(),
            loss: Loss::default(),
            summaries: BTreeMap::new(),
            log_start_offset: None,
            log_end_offset: None,
            scan_bytes: 0,
            first_read: None,
            invalid_swaps: BTreeSet::new(),
            swap_range: None,
            repaired: BTreeSet::new(),
        }
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
    /// Removes a segment's files, and its snapshot where the log's own manager knew of it.
    pub(super) fn remove_segment(&mut self, base: Offset) {
        self.segments.remove(&base);
        for kind in [
            FileKind::Log,
            FileKind::Index,
            FileKind::TimeIndex,
            FileKind::TxnIndex,
        ] {
            self.dir.remove(&name_of(base, kind));
        }
        if self.listed_snapshots.remove(&base) {
            self.dir.remove(&name_of(base, FileKind::Snapshot));
        }
    }

    /// Returns the name on disk of a file of the virtual dir.
    pub(super) fn source_of(&self, name: &str) -> String {
        self.dir.source(name).unwrap_or(name).to_owned()
    }

    /// Takes what a scan said into the segment's summary.
    pub(super) fn note_scan(&mut self, scan: &SegmentScan) {
        let Some(summary) = self.summaries.get_mut(&scan.base_offset) else {
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
    }
}

/// Returns the name of a segment's file.
pub(super) fn name_of(base_offset: Offset, kind: FileKind) -> String {
    segment_file_name(base_offset, kind)
}
