//! A partition dir in memory, the recovery machine driven over it, and steps done in it.

use std::collections::BTreeMap;

use krescue::log::{
    CutSearch, Feed, NextOffsetWalk, OffsetIndexSearch, ProducerReplay, SegmentParser,
    SegmentScanner, SplitWalk,
};
use krescue::plan::recovery::{LogPart, Need, Recovery};
use krescue::plan::{
    DirEntry, EntryKind, FileStamp, PartitionPlan, RecoveryInputs, Step, StepAction,
};

/// Names and bytes of a partition dir; `None` is a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryDir {
    pub(crate) name: String,
    pub(crate) files: BTreeMap<String, Option<Vec<u8>>>,
}

impl MemoryDir {
    /// Plans this dir's recovery.
    pub(crate) fn plan(&self, inputs: &RecoveryInputs) -> PartitionPlan {
        let listing = self
            .files
            .iter()
            .map(|(name, bytes)| DirEntry {
                kind: if bytes.is_some() {
                    EntryKind::File
                } else {
                    EntryKind::Dir
                },
                stamp: FileStamp {
                    name: name.clone(),
                    inode: 0,
                    len: bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
                    mtime_ns: 0,
                },
            })
            .collect();
        let mut recovery = Recovery::new(self.name.clone(), listing, inputs.clone());
        loop {
            match recovery.next() {
                Need::Done => return recovery.finish_plan(),
                Need::Read { file } => {
                    recovery.supply_file(&file, self.files.get(&file).cloned().flatten());
                }
                Need::Scan(requests) => {
                    let request = &requests[0];
                    let mut scanner =
                        SegmentScanner::new(request.base_offset, request.log.len, request.limits);
                    feed(&mut scanner, self.part(&request.log));
                    recovery.supply_scan(scanner.finish());
                }
                Need::Replay(request) => {
                    let (log, search) = (&request.log, request.search);
                    let mut replay = ProducerReplay::new(request.from, request.to, log.len, search);
                    feed(&mut replay, self.part(log));
                    recovery.supply_replay(&request, replay.finish());
                }
                Need::Walk(request) => {
                    let mut walk =
                        NextOffsetWalk::new(request.lookup, request.log.len, request.search);
                    feed(&mut walk, self.part(&request.log));
                    recovery.supply_walk(&request, walk.finish());
                }
                Need::Cut(request) => {
                    let from = (request.from, request.timestamps_from);
                    let mut search =
                        CutSearch::new(request.log.len, request.target, from, request.search);
                    feed(&mut search, self.part(&request.log));
                    recovery.supply_cut(&request, search.finish());
                }
                Need::Lookup(request) => {
                    let bytes = self.files[&request.file].as_deref().unwrap();
                    let bytes = &bytes[..usize::try_from(request.len).unwrap()];
                    let index = OffsetIndexSearch::new(bytes, request.base_offset);
                    recovery.supply_lookup(&request, index.lookup(request.offset));
                }
                Need::Split(request) => {
                    let mut walk =
                        SplitWalk::new(request.log.len, request.limits, request.indexing);
                    feed(&mut walk, self.part(&request.log));
                    recovery.supply_split(&request, walk.finish());
                }
            }
        }
    }

    fn part(&self, log: &LogPart) -> &[u8] {
        let start = usize::try_from(log.start).unwrap();
        let end = start + usize::try_from(log.len).unwrap();
        let bytes = self.files[&log.file].as_deref().unwrap();
        &bytes[start..end.min(bytes.len())]
    }

    fn put(&mut self, step: &Step, bytes: Vec<u8>, replaces: Option<u64>) {
        let old = self.files.insert(step.file.clone(), Some(bytes)).flatten();
        assert_eq!(old.map(|old| old.len() as u64), replaces);
    }

    /// Does one step.
    pub(crate) fn apply(&mut self, step: &Step) {
        match &step.action {
            StepAction::Remove { len } => {
                let gone = self.files.remove(&step.file).flatten().unwrap();
                assert_eq!(gone.len() as u64, *len);
            }
            StepAction::SetLen { from, to } => {
                let bytes = self.files.get_mut(&step.file).unwrap().as_mut().unwrap();
                assert_eq!(bytes.len() as u64, *from);
                bytes.truncate(usize::try_from(*to).unwrap());
            }
            StepAction::Write { content, replaces } => {
                self.put(step, content.bytes.as_deref().unwrap().to_vec(), *replaces);
            }
            StepAction::CopyPart {
                source,
                start,
                len,
                replaces,
            } => {
                let part = self.part(&LogPart {
                    file: source.clone(),
                    start: *start,
                    len: *len,
                });
                let part = part.to_vec();
                self.put(step, part, *replaces);
            }
            StepAction::Allocate { len, replaces } => {
                self.put(step, vec![0; usize::try_from(*len).unwrap()], *replaces);
            }
            StepAction::Restore { .. }
            | StepAction::Append { .. }
            | StepAction::CopyOut { .. }
            | StepAction::MoveDir { .. }
            | StepAction::SetOwner { .. } => {
                panic!("a step of an undo, of a mend or of a move")
            }
            StepAction::RemoveDir => assert!(self.files.is_empty()),
            StepAction::Rename { to } => {
                let bytes = self.files.remove(&step.file).unwrap();
                self.files.insert(to.clone(), bytes);
            }
        }
    }
}

/// Feeds a parser windows of a size that splits headers and batches everywhere.
pub(crate) fn feed(parser: &mut impl SegmentParser, bytes: &[u8]) {
    let mut window = 1000;
    loop {
        let start = usize::try_from(parser.position().0)
            .unwrap()
            .min(bytes.len());
        let end = (start + window).min(bytes.len());
        match parser.feed(&bytes[start..end]) {
            Feed::Done => return,
            Feed::More { needed } => window = needed.max(1000),
        }
    }
}
