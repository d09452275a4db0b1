//! How far each log is by the files in its partition dir, and by whether it was opened.
//!
//! During an unclean load the snapshots behind the first segment that is read are deleted, and one is written at the end of
//! each segment. A segment that is not the last has an index of full size while it is read. (The last entry of an index
//! and the position of a descriptor tell nothing: both are those of the end from the beginning.)

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::format::file_name::{FileKind, PartitionFile, segment_file_name};
use crate::observe::server_log::BootEvent;
use crate::terms::{Offset, Timestamp};

use super::log_bytes::LogBytes;

/// The size of an index that is written to (`segment.index.bytes`).
const UNTRIMMED: u64 = 10 << 20;
/// A dir that changed so lately may change again without a new time.
const SETTLED_MS: i64 = 2000;

/// A log dir that a boot loads.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedDir {
    /// Its path, as the broker names it.
    pub path: String,
    /// Its path, as it is opened from here.
    pub here: PathBuf,
    /// Whether it was stopped cleanly.
    pub is_clean: bool,
    /// Its logs.
    pub logs: Vec<LogBytes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    /// In work, with its place in the order in which they were begun.
    InWork(usize),
    Done,
}

#[derive(Debug)]
struct SignLog {
    dir: usize,
    here: PathBuf,
    log: LogBytes,
    state: State,
    opened: bool,
    segments_done: usize,
    /// When the dir was changed, as of the last look at what is in it.
    changed: Option<(i64, i64)>,
}

/// The logs of a boot.
#[derive(Debug)]
pub(super) struct SignsOfLogs {
    dirs: Vec<LoadedDir>,
    /// Logs that are done, by log dir.
    done: Vec<u64>,
    /// All logs, by log dir.
    totals: Vec<u64>,
    logs: Vec<SignLog>,
    by_name: HashMap<String, Vec<usize>>,
    /// When the process began, in seconds: files from before are not its.
    began_s: i64,
    begun: usize,
}

impl SignsOfLogs {
    pub(super) fn new(mut dirs: Vec<LoadedDir>, began_s: i64) -> Self {
        let totals = dirs.iter().map(|dir| dir.logs.len() as u64).collect();
        let mut logs = Vec::new();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, dir) in dirs.iter_mut().enumerate() {
            for log in std::mem::take(&mut dir.logs) {
                by_name
                    .entry(log.name.clone())
                    .or_default()
                    .push(logs.len());
                logs.push(SignLog {
                    dir: at,
                    here: dir.here.join(&log.name),
                    log,
                    state: State::Waiting,
                    opened: false,
                    segments_done: 0,
                    changed: None,
                });
            }
        }
        Self {
            done: vec![0; dirs.len()],
            dirs,
            totals,
            logs,
            by_name,
            began_s,
            begun: 0,
        }
    }

    pub(super) fn all(&self) -> usize {
        self.logs.len()
    }

    /// Returns how many are not done.
    pub(super) fn left(&self) -> usize {
        let done = self.done.iter().sum::<u64>();
        self.logs
            .len()
            .saturating_sub(usize::try_from(done).unwrap_or(usize::MAX))
    }

    /// Tells the log dirs.
    pub(super) fn begin(&self, events: &mut Vec<BootEvent>) {
        events.push(BootEvent::LoadingLogs);
        for (at, dir) in self.dirs.iter().enumerate() {
            let logs = self.logs_of(at);
            let dir_path = dir.path.clone();
            events.push(match (logs, dir.is_clean) {
                (0, _) => BootEvent::DirEmpty { dir: dir_path },
                (logs, true) => BootEvent::DirClean {
                    dir: dir_path,
                    logs,
                },
                (logs, false) => BootEvent::DirUnclean {
                    dir: dir_path,
                    logs,
                },
            });
        }
    }

    fn logs_of(&self, dir: usize) -> u64 {
        self.totals.get(dir).copied().unwrap_or(0)
    }

    /// Says whether one of these segments is of one of the logs.
    pub(super) fn has_one_of(&self, opened: &[PathBuf]) -> bool {
        opened.iter().any(|segment| self.log_of(segment).is_some())
    }

    /// Returns the log of a segment that is named as its process sees it.
    fn log_of(&self, segment: &Path) -> Option<usize> {
        let dir = segment.parent()?;
        let found = self.by_name.get(dir.file_name()?.to_str()?)?;
        let log_dir = dir.parent()?;
        let is_its = |at: &&usize| {
            let dir = self.logs.get(**at).and_then(|log| self.dirs.get(log.dir));
            dir.is_some_and(|dir| Path::new(&dir.path) == log_dir || dir.here == log_dir)
        };
        let only = (found.len() == 1).then(|| found.first()).flatten();
        found.iter().find(is_its).or(only).copied()
    }

    /// Tells what happened since the last look; `opened` are the segments that were opened meanwhile, `None` where that is
    /// hidden.
    pub(super) fn look(
        &mut self,
        opened: Option<&[PathBuf]>,
        threads: usize,
        now: Timestamp,
        events: &mut Vec<BootEvent>,
    ) {
        for segment in opened.unwrap_or_default() {
            if let Some(log) = self.log_of(segment).and_then(|at| self.logs.get_mut(at)) {
                log.opened = true;
            }
        }
        let mut begun = Vec::new();
        for at in 0..self.logs.len() {
            let (began_s, Some(log)) = (self.began_s, self.logs.get_mut(at)) else {
                continue;
            };
            if log.state == State::Done {
                continue;
            }
            let before = log.segments_done;
            log.look(began_s, now);
            let in_work = matches!(log.state, State::InWork(_));
            if in_work {
                log.tell_segments(before, events);
            }
            let is_read = log.segments_done == log.log.segments.len();
            let has_begun = in_work
                || log.opened
                || log.segments_done > 0
                || (opened.is_none() && log.is_scanned());
            match (in_work, has_begun, is_read) {
                (true, _, true) => self.finish(at, events),
                (false, true, _) => begun.push(at),
                _ => {}
            }
        }
        // Those that are done free their threads for those that begin.
        for at in begun {
            let is_read = self.begin_log(at, events);
            if is_read {
                self.finish(at, events);
            }
        }
        self.free_threads(threads, events);
    }

    /// Tells that a log was begun, and how far it is; returns whether it is read to its end.
    fn begin_log(&mut self, at: usize, events: &mut Vec<BootEvent>) -> bool {
        let (dirs, Some(log)) = (&self.dirs, self.logs.get_mut(at)) else {
            return false;
        };
        self.begun += 1;
        log.state = State::InWork(self.begun);
        let first = log.log.segments.first();
        if let (Some(first), Some(dir)) = (first, dirs.get(log.dir)) {
            events.push(BootEvent::SegmentBegun {
                log: log.log.name.clone(),
                dir: dir.path.clone(),
                base_offset: first.base_offset,
                of: Some((0, log.log.segments.len() as u64)),
            });
            log.tell_segments(0, events);
        }
        log.segments_done == log.log.segments.len()
    }

    fn finish(&mut self, at: usize, events: &mut Vec<BootEvent>) {
        let Some(log) = self.logs.get_mut(at) else {
            return;
        };
        log.state = State::Done;
        let dir = log.dir;
        if let Some(done) = self.done.get_mut(dir) {
            *done += 1;
        }
        let (Some(log), Some(of)) = (self.logs.get(at), self.dirs.get(dir)) else {
            return;
        };
        events.push(BootEvent::LogDone {
            dir: of.path.clone(),
            name: log.log.name.clone(),
            done: self.done.get(dir).copied().unwrap_or(0),
            total: self.logs_of(dir),
        });
    }

    /// A thread has one log at a time: where more are in work than there are threads, the first are done. Their last
    /// segment was cut to nothing, or its snapshot lay there already.
    fn free_threads(&mut self, threads: usize, events: &mut Vec<BootEvent>) {
        let logs = self.logs.iter().enumerate();
        let in_work = logs.filter_map(|(at, log)| match log.state {
            State::InWork(order) => Some((order, at)),
            _ => None,
        });
        let in_work: BTreeMap<usize, usize> = in_work.collect();
        let over = in_work.len().saturating_sub(threads.max(1));
        for at in in_work.values().take(over) {
            self.finish(*at, events);
        }
    }
}

impl SignLog {
    /// Looks into the dir, if it was changed.
    fn look(&mut self, began_s: i64, now: Timestamp) {
        if self.log.bytes() == 0 {
            self.segments_done = self.log.segments.len();
            return;
        }
        let Ok(meta) = fs::metadata(&self.here) else {
            return;
        };
        let changed = (meta.mtime(), meta.mtime_nsec());
        if self.changed == Some(changed) || changed.0 < began_s {
            return;
        }
        let is_settled = now.0 - changed.0 * 1000 > SETTLED_MS;
        self.changed = is_settled.then_some(changed);
        if let Some(newest) = self.newest_snapshot(began_s) {
            let next = self
                .log
                .segments
                .iter()
                .skip(1)
                .map(|next| Some(next.base_offset));
            let ends = next.chain([None]).zip(&self.log.segments);
            let is_done = |(end, segment): &(Option<Offset>, &super::log_bytes::SegmentBytes)| {
                end.map_or(newest > segment.base_offset, |end| newest >= end)
            };
            let done = ends.filter(is_done).count();
            self.segments_done = self.segments_done.max(done);
        }
    }

    /// Returns the offset of the newest snapshot behind the first segment that this boot has written.
    fn newest_snapshot(&self, began_s: i64) -> Option<Offset> {
        let first = self.log.segments.first()?.base_offset;
        let entries = fs::read_dir(&self.here).ok()?.flatten();
        let written =
            entries.filter_map(
                |entry| match PartitionFile::parse(entry.file_name().to_str()?) {
                    PartitionFile::Segment {
                        offset,
                        kind: FileKind::Snapshot,
                    } if offset > first => {
                        (entry.metadata().ok()?.mtime() >= began_s).then_some(offset)
                    }
                    _ => None,
                },
            );
        written.max()
    }

    /// Says whether the index of a segment is as it is while the segment is read; that of the last one always is.
    fn is_scanned(&self) -> bool {
        let Some((_, others)) = self.log.segments.split_last() else {
            return false;
        };
        let Some(segment) = others.get(self.segments_done) else {
            return false;
        };
        let index = segment_file_name(segment.base_offset, FileKind::Index);
        fs::metadata(self.here.join(index)).is_ok_and(|meta| meta.len() == UNTRIMMED)
    }

    /// Tells the segments that were read since `before` of them were.
    fn tell_segments(&self, before: usize, events: &mut Vec<BootEvent>) {
        let segments = self.log.segments.get(before + 1..).unwrap_or_default();
        for next in segments.iter().take(self.segments_done - before) {
            events.push(BootEvent::SnapshotWritten {
                log: self.log.name.clone(),
                offset: next.base_offset,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::super::log_bytes::SegmentBytes;
    use super::*;

    /// A log dir with files of a boot that began at a time.
    struct Dir {
        tmp: tempfile::TempDir,
        signs: SignsOfLogs,
        began: SystemTime,
    }

    impl Dir {
        fn of(logs: &[(&str, &[(i64, u64)])]) -> Self {
            let tmp = tempfile::tempdir().unwrap();
            let logs = logs.iter().map(|(name, segments)| {
                fs::create_dir(tmp.path().join(name)).unwrap();
                LogBytes {
                    dir: "/d".to_owned(),
                    name: (*name).to_owned(),
                    segments: segments
                        .iter()
                        .map(|(base, bytes)| SegmentBytes {
                            base_offset: Offset(*base),
                            bytes: *bytes,
                            passes: 1,
                        })
                        .collect(),
                    reads_per_byte: None,
                }
            });
            let dir = LoadedDir {
                path: "/d".to_owned(),
                here: tmp.path().to_owned(),
                is_clean: false,
                logs: logs.collect(),
            };
            let began = fs::metadata(tmp.path()).unwrap().modified().unwrap();
            let since = began.duration_since(SystemTime::UNIX_EPOCH).unwrap();
            let signs = SignsOfLogs::new(vec![dir], i64::try_from(since.as_secs()).unwrap());
            Self { tmp, signs, began }
        }

        fn write(&self, file: &str, len: u64) {
            let file = fs::File::create(self.tmp.path().join(file)).unwrap();
            file.set_len(len).unwrap();
        }

        /// Returns the events of a look, each as a word and a number.
        fn look(&mut self, opened: Option<&[&str]>, threads: usize) -> Vec<String> {
            let opened: Option<Vec<PathBuf>> =
                opened.map(|names| names.iter().map(PathBuf::from).collect());
            let mut events = Vec::new();
            let signs = &mut self.signs;
            signs.look(opened.as_deref(), threads, Timestamp(0), &mut events);
            let told = events.into_iter().map(|event| match event {
                BootEvent::SegmentBegun { log, of, .. } => format!("{log} of {}", of.unwrap().1),
                BootEvent::SnapshotWritten { log, offset } => format!("{log} at {}", offset.0),
                BootEvent::LogDone { name, done, .. } => format!("{name} done {done}"),
                event => panic!("{event:?}"),
            });
            told.collect()
        }
    }

    const INDEX: &str = "a-0/00000000000000000005.index";

    #[test]
    fn snapshots_and_the_size_of_an_index_tell_without_a_process() {
        let mut dir = Dir::of(&[("a-0", &[(5, 10), (9, 10), (20, 10)]), ("b-0", &[(0, 10)])]);
        dir.write(INDEX, 800);
        // One of the boot before, which is deleted once its time comes.
        let old = "a-0/00000000000000000009.snapshot";
        dir.write(old, 1);
        let before = dir.began - std::time::Duration::from_mins(1);
        let file = fs::File::options()
            .write(true)
            .open(dir.tmp.path().join(old));
        file.unwrap().set_modified(before).unwrap();
        assert!(dir.look(None, 1).is_empty());
        fs::remove_file(dir.tmp.path().join(old)).unwrap();
        dir.write(INDEX, UNTRIMMED);
        assert_eq!(dir.look(None, 1), ["a-0 of 3"]);
        dir.write(INDEX, 800);
        dir.write(old, 1);
        assert_eq!(dir.look(None, 1), ["a-0 at 9"]);
        assert!(dir.look(None, 1).is_empty());
        // Two segments and another log between two looks.
        dir.write("a-0/00000000000000000020.snapshot", 1);
        dir.write("a-0/00000000000000000031.snapshot", 1);
        dir.write("b-0/00000000000000000001.snapshot", 1);
        let told = ["a-0 at 20", "a-0 done 1", "b-0 of 1", "b-0 done 2"];
        assert_eq!(dir.look(None, 1), told);
        assert_eq!(dir.signs.left(), 0);
    }

    #[test]
    fn what_is_open_is_in_work_or_done() {
        let mut dir = Dir::of(&[("a-0", &[(0, 10)]), ("b-0", &[]), ("c-0", &[(0, 7)])]);
        let a = "/d/a-0/00000000000000000000.log";
        assert_eq!(dir.look(Some(&[a]), 1), ["a-0 of 1"]);
        // Nothing is read of it.
        let b = "/d/b-0/00000000000000000000.log";
        assert_eq!(dir.look(Some(&[b]), 2), ["b-0 done 1"]);
        // One thread has one log: the other is done, though it wrote no snapshot.
        let c = "/d/c-0/00000000000000000000.log";
        assert_eq!(dir.look(Some(&[c]), 1), ["c-0 of 1", "a-0 done 2"]);
        assert!(
            dir.signs
                .has_one_of(&[PathBuf::from("/elsewhere/c-0/1.log")])
        );
        assert!(
            !dir.signs
                .has_one_of(&[PathBuf::from("/d/__cluster_metadata-0/1.log")])
        );
    }
}
