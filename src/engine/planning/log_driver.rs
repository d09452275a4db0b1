//! Asks the recovery machine of one log, and answers what it needs from the disk.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::log_deep;
use super::log_target::LogTarget;
use super::plan_spec::Reading;
use crate::disk::WindowBuffer;
use crate::engine::job::crew::Crew;
use crate::engine::read::dir_facts::read_whole;
use crate::engine::read::log_reader::{LogReader, ReadFailure, Source};
use crate::engine::{EngineError, JobEvent};
use crate::log::{Finding, FindingCode, OffsetIndexSearch, SegmentScan, Severity};
use crate::plan::recovery::{Need, Recovery, ScanRequest};
use crate::plan::{PartitionPlan, Verdict};
use crate::terms::Offset;

/// The largest file that the machine may ask for as a whole: a snapshot of a million producers has 46 MB.
const MAX_SMALL_FILE: u64 = 256 << 20;

/// The crew of a plan: targets by number, scans that any worker may do.
pub(in crate::engine) type PlanCrew = Crew<usize, Arc<ScanTask>>;

/// What is wanted of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Batches and the indexes that a boot would write.
    Rebuild,
    /// Batches alone.
    Batches,
}

impl Depth {
    fn scan(
        self,
        reader: &LogReader<'_>,
        source: Source<'_>,
        request: &ScanRequest,
        buffer: &mut WindowBuffer,
    ) -> Result<SegmentScan, ReadFailure> {
        match self {
            Self::Rebuild => reader.scan(source, request, buffer),
            Self::Batches => reader.scan_batches(source, request, buffer),
        }
    }
}

/// A segment that a log's driver will need soon.
#[derive(Debug)]
pub(in crate::engine) struct ScanTask {
    dir: PathBuf,
    dir_index: usize,
    request: ScanRequest,
    depth: Depth,
    abandoned: Arc<AtomicBool>,
    result: Mutex<Option<Result<SegmentScan, ReadFailure>>>,
}

impl ScanTask {
    /// Does the scan for whoever put it up.
    pub(in crate::engine) fn run(&self, reader: &LogReader<'_>, buffer: &mut WindowBuffer) {
        // A scan that dies must not leave its driver waiting.
        let mut guard = ResultGuard {
            task: self,
            result: Some(Err(ReadFailure::Unreadable(
                "the scan of a segment died".to_owned(),
            ))),
        };
        let unknown = AtomicU64::new(0);
        let counters = reader.context.dir(self.dir_index);
        let source = Source {
            dir: &self.dir,
            counter: counters.map_or(&unknown, |dir| &dir.bytes_done),
            abandoned: &self.abandoned,
        };
        guard.result = Some(self.depth.scan(reader, source, &self.request, buffer));
    }

    fn take_result(&self) -> Option<Result<SegmentScan, ReadFailure>> {
        self.result
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

struct ResultGuard<'a> {
    task: &'a ScanTask,
    result: Option<Result<SegmentScan, ReadFailure>>,
}

impl Drop for ResultGuard<'_> {
    fn drop(&mut self) {
        *self
            .task
            .result
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = self.result.take();
    }
}

/// Drives one log.
pub(in crate::engine) struct LogDriver<'a> {
    pub(in crate::engine) reader: &'a LogReader<'a>,
    pub(in crate::engine) target: &'a LogTarget,
    pub(in crate::engine) crew: &'a PlanCrew,
    /// The number of the log's volume in the crew.
    pub(in crate::engine) volume: usize,
    /// How many scans are under way ahead of the one that is needed; 0 scans none ahead.
    pub(in crate::engine) ahead: usize,
    /// How much is read.
    pub(in crate::engine) reading: Reading,
}

impl LogDriver<'_> {
    /// Makes the log's plan; one that cannot be read is a plan too, which leaves it alone.
    pub(in crate::engine) fn plan(
        &self,
        buffer: &mut WindowBuffer,
    ) -> Result<PartitionPlan, EngineError> {
        let dir = self.target.path();
        let (unknown, wanted) = (AtomicU64::new(0), AtomicBool::new(false));
        let counters = self.reader.context.dir(self.target.dir_index);
        let source = Source {
            dir: &dir,
            counter: counters.map_or(&unknown, |dir| &dir.bytes_done),
            abandoned: &wanted,
        };
        let mut plan = match self.recover(source, buffer) {
            Ok(plan) => plan,
            Err(ReadFailure::Cancelled) => return Err(EngineError::Cancelled),
            Err(ReadFailure::Unreadable(cause)) => {
                return Ok(self.target.untouched(Verdict::Unreadable { cause }));
            }
        };
        if self.reading == Reading::Everything {
            self.read_the_rest(source, &mut plan, buffer)?;
        }
        Ok(plan)
    }

    /// Reads what a boot would not.
    fn read_the_rest(
        &self,
        source: Source<'_>,
        plan: &mut PartitionPlan,
        buffer: &mut WindowBuffer,
    ) -> Result<(), EngineError> {
        let mut ahead = self.scans_ahead(Depth::Batches);
        let requests = log_deep::requests(self.target, plan);
        let mut rest = requests.as_slice();
        while let Some((request, later)) = rest.split_first() {
            match ahead.scan(rest, source, buffer) {
                Ok(scan) => {
                    self.tell_segment(&scan);
                    log_deep::take_scan(self.reader, self.target, plan, &scan);
                }
                Err(ReadFailure::Cancelled) => return Err(EngineError::Cancelled),
                Err(ReadFailure::Unreadable(cause)) => plan.findings.push(
                    Finding::new(FindingCode::Unreadable, Severity::Fatal, cause)
                        .file(request.log.file.clone()),
                ),
            }
            rest = later;
        }
        Ok(())
    }

    fn scans_ahead(&self, depth: Depth) -> ScansAhead<'_> {
        ScansAhead {
            driver: self,
            depth,
            abandoned: Arc::new(AtomicBool::new(false)),
            tasks: HashMap::new(),
        }
    }

    /// Counts bytes that names and sizes did not show.
    fn expect_bytes(&self, bytes: u64) {
        if let Some(counters) = self.reader.context.dir(self.target.dir_index) {
            counters.bytes_total.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn tell_segment(&self, scan: &SegmentScan) {
        self.reader.context.emit(JobEvent::Segment {
            log_dir: self.target.log_dir.clone(),
            dir_name: self.target.dir_name.clone(),
            base_offset: scan.base_offset,
            bytes: scan.file_len,
        });
    }

    fn recover(
        &self,
        source: Source<'_>,
        buffer: &mut WindowBuffer,
    ) -> Result<PartitionPlan, ReadFailure> {
        let target = self.target;
        let mut ahead = self.scans_ahead(Depth::Rebuild);
        let mut recovery = Recovery::new(
            target.dir_name.clone(),
            target.entries.clone(),
            target.inputs.clone(),
        );
        loop {
            match recovery.next() {
                Need::Read { file } => {
                    let path = source.dir.join(&file);
                    let bytes = match read_whole(self.reader.storage, &path, MAX_SMALL_FILE) {
                        Ok(bytes) => Some(bytes),
                        Err(error) if error.is_not_found() => None,
                        Err(error) => return Err(error.into()),
                    };
                    recovery.supply_file(&file, bytes);
                }
                Need::Scan(requests) => {
                    let scan = ahead.scan(&requests, source, buffer)?;
                    self.tell_segment(&scan);
                    recovery.supply_scan(scan);
                }
                Need::Replay(request) => {
                    self.expect_bytes(request.log.len);
                    let replayed = self.reader.replay(source, &request, buffer)?;
                    recovery.supply_replay(&request, replayed);
                }
                Need::Walk(request) => {
                    let walked = self.reader.walk(source, &request, buffer)?;
                    recovery.supply_walk(&request, walked);
                }
                Need::Cut(request) => {
                    self.expect_bytes(request.log.len);
                    let found = self.reader.cut(source, &request, buffer)?;
                    recovery.supply_cut(&request, found);
                }
                Need::Lookup(request) => {
                    let path = source.dir.join(&request.file);
                    let bytes = read_whole(self.reader.storage, &path, MAX_SMALL_FILE)?;
                    let len = usize::try_from(request.len).unwrap_or(usize::MAX);
                    let bytes = bytes.get(..len).unwrap_or(&bytes);
                    let index = OffsetIndexSearch::new(bytes, request.base_offset);
                    recovery.supply_lookup(&request, index.lookup(request.offset));
                }
                Need::Split(request) => {
                    self.expect_bytes(request.log.len);
                    let split = self.reader.split(source, &request, buffer)?;
                    recovery.supply_split(&request, split);
                }
                Need::Done => return Ok(recovery.finish_plan()),
            }
        }
    }
}

/// The scans of one log that are under way or done before they are needed.
struct ScansAhead<'a> {
    driver: &'a LogDriver<'a>,
    depth: Depth,
    abandoned: Arc<AtomicBool>,
    tasks: HashMap<Offset, Arc<ScanTask>>,
}

impl ScansAhead<'_> {
    /// Returns the scan of the first request; puts up those behind it.
    fn scan(
        &mut self,
        requests: &[ScanRequest],
        source: Source<'_>,
        buffer: &mut WindowBuffer,
    ) -> Result<SegmentScan, ReadFailure> {
        let Some((first, later)) = requests.split_first() else {
            return Err(ReadFailure::Unreadable(
                "an empty request, a defect of krescue".to_owned(),
            ));
        };
        self.put_up(later);
        // A piece of a split may have the base of what was asked for before.
        let task = self.tasks.remove(&first.base_offset);
        let Some(task) = task.filter(|task| task.request == *first) else {
            return self.depth.scan(self.driver.reader, source, first, buffer);
        };
        let (crew, volume) = (self.driver.crew, self.driver.volume);
        if crew
            .take_back(volume, |other| Arc::ptr_eq(other, &task))
            .is_some()
        {
            return self.depth.scan(self.driver.reader, source, first, buffer);
        }
        loop {
            if let Some(result) = task.take_result() {
                return result;
            }
            // Another worker is at it; one of the next scans fills the time.
            match crew.take_back(volume, |other| self.is_ours(other)) {
                Some(other) => other.run(self.driver.reader, buffer),
                None => return crew.wait_for(|| task.take_result()),
            }
        }
    }

    fn put_up(&mut self, later: &[ScanRequest]) {
        for request in later.iter().take(self.driver.ahead) {
            let known = self.tasks.get(&request.base_offset);
            if known.is_some_and(|task| task.request == *request) {
                continue;
            }
            let task = Arc::new(ScanTask {
                dir: self.driver.target.path(),
                dir_index: self.driver.target.dir_index,
                request: request.clone(),
                depth: self.depth,
                abandoned: Arc::clone(&self.abandoned),
                result: Mutex::new(None),
            });
            self.tasks.insert(request.base_offset, Arc::clone(&task));
            self.driver.crew.put_up(self.driver.volume, task);
        }
    }

    fn is_ours(&self, task: &Arc<ScanTask>) -> bool {
        Arc::ptr_eq(&task.abandoned, &self.abandoned)
    }
}

impl Drop for ScansAhead<'_> {
    /// What was put up and is not needed any more, as it lies behind a cut, is given up.
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
        let (crew, volume) = (self.driver.crew, self.driver.volume);
        while crew
            .take_back(volume, |other| self.is_ours(other))
            .is_some()
        {}
    }
}
