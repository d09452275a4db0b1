//! What the machine has been told so far.

use std::collections::HashMap;

use super::need::{CutRequest, LookupRequest, Need, ReplayRequest, SplitRequest, WalkRequest};
use crate::format::file_name::LEADER_EPOCH_CHECKPOINT;
use crate::log::{CutFound, Replayed, SegmentScan, Split, Walked};
use crate::plan::Verdict;
use crate::plan::virtual_dir::NotAFile;
use crate::terms::{Offset, Position};

/// Why the machine cannot go on at once.
#[derive(Debug)]
pub(super) enum Interrupt {
    /// It needs something.
    Need(Need),
    /// The log stays as it is.
    Stop(Verdict),
}

/// Returns the stop for a log that Kafka would not load.
pub(super) fn refused(cause: impl Into<String>) -> Interrupt {
    Interrupt::Stop(Verdict::Refused {
        cause: cause.into(),
    })
}

impl From<NotAFile> for Interrupt {
    fn from(NotAFile(name): NotAFile) -> Self {
        refused(format!(
            "something that is not a file lies where {name} has to be written: a 3.x broker takes the log dir offline, \
             a 4.x broker empties the segment"
        ))
    }
}

/// The answers to the machine's needs.
#[derive(Debug, Default)]
pub(super) struct Facts {
    files: HashMap<String, Option<Vec<u8>>>,
    scans: HashMap<Offset, SegmentScan>,
    replays: HashMap<ReplayRequest, Replayed>,
    lookups: HashMap<LookupRequest, Position>,
    walks: HashMap<WalkRequest, Walked>,
    cuts: HashMap<CutRequest, CutFound>,
    splits: HashMap<SplitRequest, Split>,
}

impl Facts {
    pub(super) fn add_file(&mut self, file: &str, bytes: Option<Vec<u8>>) {
        self.files.insert(file.to_owned(), bytes);
    }

    pub(super) fn add_scan(&mut self, scan: SegmentScan) {
        self.scans.insert(scan.base_offset, scan);
    }

    pub(super) fn add_replay(&mut self, request: &ReplayRequest, replayed: Replayed) {
        self.replays.insert(request.clone(), replayed);
    }

    pub(super) fn add_walk(&mut self, request: &WalkRequest, walked: Walked) {
        self.walks.insert(request.clone(), walked);
    }

    pub(super) fn add_cut(&mut self, request: &CutRequest, found: CutFound) {
        self.cuts.insert(request.clone(), found);
    }

    pub(super) fn cut(&self, request: CutRequest) -> Result<&CutFound, Interrupt> {
        self.cuts
            .get(&request)
            .ok_or(Interrupt::Need(Need::Cut(request)))
    }

    pub(super) fn add_lookup(&mut self, request: &LookupRequest, position: Position) {
        self.lookups.insert(request.clone(), position);
    }

    pub(super) fn add_split(&mut self, request: &SplitRequest, split: Split) {
        self.splits.insert(request.clone(), split);
    }

    /// Returns a file's bytes; `None` if it is gone from disk.
    pub(super) fn file(&self, file: &str) -> Result<Option<&[u8]>, Interrupt> {
        match self.files.get(file) {
            Some(bytes) => Ok(bytes.as_deref()),
            None => Err(Interrupt::Need(Need::Read {
                file: file.to_owned(),
            })),
        }
    }

    pub(super) fn scan(&self, base_offset: Offset) -> Option<&SegmentScan> {
        self.scans.get(&base_offset)
    }

    pub(super) fn replay(&self, request: ReplayRequest) -> Result<&Replayed, Interrupt> {
        self.replays
            .get(&request)
            .ok_or(Interrupt::Need(Need::Replay(request)))
    }

    pub(super) fn walk(&self, request: WalkRequest) -> Result<&Walked, Interrupt> {
        match self.walks.get(&request) {
            Some(walked) => Ok(walked),
            None => Err(Interrupt::Need(Need::Walk(request))),
        }
    }

    pub(super) fn lookup(&self, request: LookupRequest) -> Result<Position, Interrupt> {
        match self.lookups.get(&request) {
            Some(position) => Ok(*position),
            None => Err(Interrupt::Need(Need::Lookup(request))),
        }
    }

    pub(super) fn split(&self, request: SplitRequest) -> Result<&Split, Interrupt> {
        match self.splits.get(&request) {
            Some(split) => Ok(split),
            None => Err(Interrupt::Need(Need::Split(request))),
        }
    }

    /// Drops what was used up, to bound the memory of a long log.
    pub(super) fn forget_scan(&mut self, base_offset: Offset) {
        self.scans.remove(&base_offset);
        self.replays.clear();
    }

    /// Drops the bytes of files that were read; those of the epochs, which are few, are asked for again.
    pub(super) fn forget_files(&mut self) {
        self.files.retain(|name, _| name == LEADER_EPOCH_CHECKPOINT);
    }
}
