//! Feeds the parsers of [`crate::log`] with a partition dir's files.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::dir_facts::read_whole;
use crate::disk::{DiskError, Pace, ReadManner, SegmentBytes, Storage, WindowBuffer};
use crate::engine::job::context::JobContext;
use crate::engine::store::contents::Contents;
use crate::format::file_name::{FileKind, segment_file_name};
use crate::format::offset_index::{self, OffsetEntry};
use crate::log::{
    CutFound, CutSearch, Feed, NextOffsetWalk, ProducerReplay, RebuiltIndex, Replayed, ScanStop,
    SegmentParser, SegmentScan, SegmentScanner, Split, SplitWalk, Walked,
};
use crate::plan::recovery::{
    CutRequest, LogPart, ReplayRequest, ScanRequest, SplitRequest, WalkRequest,
};

/// The largest index that is read whole; Kafka's are 10 MiB.
const MAX_INDEX: u64 = 64 << 20;

/// Bytes that are compared at once.
const COMPARE_WINDOW: usize = 64 << 10;

/// How often a parser may ask for bytes that it was given already.
const MAX_STALLS: u32 = 16;

/// Why a file was not read to its end.
#[derive(Debug)]
pub(in crate::engine) enum ReadFailure {
    /// The job was asked to stop, or the result is not wanted any more.
    Cancelled,
    /// It could not be read; the sentence names file, position and cause.
    Unreadable(String),
}

impl From<DiskError> for ReadFailure {
    fn from(error: DiskError) -> Self {
        Self::Unreadable(error.sentence())
    }
}

/// What all readers of one job share.
pub(in crate::engine) struct LogReader<'a> {
    pub(in crate::engine) storage: &'a dyn Storage,
    pub(in crate::engine) context: &'a JobContext,
    pub(in crate::engine) contents: &'a Contents,
    pub(in crate::engine) pace: &'a Pace,
    /// Whether a broker may be using the files: the page cache is left as it is, and files may change meanwhile.
    pub(in crate::engine) is_live: bool,
}

/// One partition dir's part of it.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Source<'a> {
    /// The partition dir.
    pub(in crate::engine) dir: &'a Path,
    /// Counts the bytes read.
    pub(in crate::engine) counter: &'a AtomicU64,
    /// Set once nobody wants the result any more.
    pub(in crate::engine) abandoned: &'a AtomicBool,
}

impl LogReader<'_> {
    /// Scans a segment and compares its indexes with those on disk.
    pub(in crate::engine) fn scan(
        &self,
        source: Source<'_>,
        request: &ScanRequest,
        buffer: &mut WindowBuffer,
    ) -> Result<SegmentScan, ReadFailure> {
        let mut scanner = SegmentScanner::new(request.base_offset, request.log.len, request.limits);
        self.feed(source, &request.log, &mut scanner, buffer)?;
        let mut scan = scanner.finish();
        // Of a segment that is split only where its last entry points to is wanted.
        if matches!(scan.stop, ScanStop::OffsetOverflow { .. }) {
            return Ok(scan);
        }
        for (file, index) in [
            (&request.offset_index_file, &mut scan.offset_index),
            (&request.time_index_file, &mut scan.time_index),
        ] {
            let path = file.as_ref().map(|file| source.dir.join(file));
            self.compare(path.as_deref(), index);
        }
        Ok(scan)
    }

    /// Scans a segment whose indexes are not to be rebuilt.
    pub(in crate::engine) fn scan_batches(
        &self,
        source: Source<'_>,
        request: &ScanRequest,
        buffer: &mut WindowBuffer,
    ) -> Result<SegmentScan, ReadFailure> {
        let mut scanner = SegmentScanner::new(request.base_offset, request.log.len, request.limits);
        let index = segment_file_name(request.base_offset, FileKind::Index);
        // One that cannot be read, or is no index at all, is told by whoever looks at it as a whole.
        if let Ok(bytes) = read_whole(self.storage, &source.dir.join(index), MAX_INDEX) {
            let is_entry = |entry: &OffsetEntry| entry.position > 0 || entry.relative_offset > 0;
            scanner.check_index(offset_index::decode(&bytes).take_while(is_entry).collect());
        }
        self.feed(source, &request.log, &mut scanner, buffer)?;
        let mut scan = scanner.finish();
        scan.offset_index = RebuiltIndex::Bytes(Vec::new());
        scan.time_index = RebuiltIndex::Bytes(Vec::new());
        scan.producers = None;
        Ok(scan)
    }

    /// Replays a segment's producers.
    pub(in crate::engine) fn replay(
        &self,
        source: Source<'_>,
        request: &ReplayRequest,
        buffer: &mut WindowBuffer,
    ) -> Result<Replayed, ReadFailure> {
        let (log, search) = (&request.log, request.search);
        let mut replay = ProducerReplay::new(request.from, request.to, log.len, search);
        self.feed(source, &request.log, &mut replay, buffer)?;
        Ok(replay.finish())
    }

    /// Walks a segment's headers to its end.
    pub(in crate::engine) fn walk(
        &self,
        source: Source<'_>,
        request: &WalkRequest,
        buffer: &mut WindowBuffer,
    ) -> Result<Walked, ReadFailure> {
        let mut walk = NextOffsetWalk::new(request.lookup, request.log.len, request.search);
        self.feed(source, &request.log, &mut walk, buffer)?;
        Ok(walk.finish())
    }

    /// Finds where a truncation cuts a segment.
    pub(in crate::engine) fn cut(
        &self,
        source: Source<'_>,
        request: &CutRequest,
        buffer: &mut WindowBuffer,
    ) -> Result<CutFound, ReadFailure> {
        let from = (request.from, request.timestamps_from);
        let mut search = CutSearch::new(request.log.len, request.target, from, request.search);
        self.feed(source, &request.log, &mut search, buffer)?;
        Ok(search.finish())
    }

    /// Cuts a segment into pieces.
    pub(in crate::engine) fn split(
        &self,
        source: Source<'_>,
        request: &SplitRequest,
        buffer: &mut WindowBuffer,
    ) -> Result<Split, ReadFailure> {
        let mut walk = SplitWalk::new(request.log.len, request.limits, request.indexing);
        self.feed(source, &request.log, &mut walk, buffer)?;
        Ok(walk.finish())
    }

    /// Feeds a parser with a segment's bytes.
    fn feed(
        &self,
        source: Source<'_>,
        log: &LogPart,
        parser: &mut impl SegmentParser,
        buffer: &mut WindowBuffer,
    ) -> Result<(), ReadFailure> {
        let path = source.dir.join(&log.file);
        let len = log.start + log.len;
        let manner = ReadManner {
            pace: self.pace,
            keeps_cache: self.is_live,
            counter: source.counter,
        };
        let file = self.storage.open(&path)?;
        let mut bytes = SegmentBytes::new(file, &path, len, buffer, manner);
        let mut needed = 0;
        let mut stalls = 0;
        loop {
            if self.context.is_cancelled() || source.abandoned.load(Ordering::Relaxed) {
                return Err(ReadFailure::Cancelled);
            }
            let position = parser.position().0;
            let window = bytes.window(log.start + position, needed)?;
            let given = window.len();
            let feed = parser.feed(window);
            if bytes.shrank() && !self.is_live {
                return Err(ReadFailure::Unreadable(format!(
                    "{} had {len} bytes when it was listed and is shorter now: something else changes it",
                    path.display()
                )));
            }
            match feed {
                Feed::Done => return Ok(()),
                Feed::More { needed: more } => {
                    // A parser may turn to another task where it stands, but not for ever.
                    stalls = if parser.position().0 == position && more <= given {
                        stalls + 1
                    } else {
                        0
                    };
                    if stalls > MAX_STALLS {
                        return Err(ReadFailure::Unreadable(format!(
                            "{}: no progress at byte {}, a defect of krescue",
                            path.display(),
                            log.start + position
                        )));
                    }
                    needed = more;
                }
            }
        }
    }

    /// Lets go of a rebuilt index whose bytes begin the file on disk.
    fn compare(&self, path: Option<&Path>, index: &mut RebuiltIndex) {
        let RebuiltIndex::Bytes(bytes) = index else {
            return;
        };
        *index = if path.is_some_and(|path| self.begins_with(path, bytes)) {
            RebuiltIndex::OnDisk {
                len: bytes.len() as u64,
            }
        } else {
            self.contents.keep_index(std::mem::take(bytes))
        };
    }

    /// Says whether a file begins with these bytes; one that cannot be read does not.
    fn begins_with(&self, path: &Path, bytes: &[u8]) -> bool {
        let Ok(file) = self.storage.open(path) else {
            return false;
        };
        if file.opened_len().is_ok_and(|len| len < bytes.len() as u64) {
            return false;
        }
        let mut window = vec![0; COMPARE_WINDOW.min(bytes.len())];
        let mut position = 0;
        for chunk in bytes.chunks(COMPARE_WINDOW) {
            let window = window.get_mut(..chunk.len()).unwrap_or_default();
            if !matches!(file.fill(window, position), Ok(read) if read == chunk.len())
                || window != chunk
            {
                return false;
            }
            position += chunk.len() as u64;
        }
        true
    }
}
