//! How far a boot is with one log dir.

use std::collections::{BTreeMap, HashMap};

use crate::observe::server_log::{Boot, BootPhase, DoneLog};

use super::log_bytes::{LogBytes, as_float};
use super::pace::{BATCH_COST, Left, Pace, Sample};
use super::report::BootProgress;
use super::threads::ThreadReads;

/// What a broker reads for a byte of a segment, before anything is known of its batches.
const READS_PER_BYTE: f64 = 1.004;
/// Bytes that must be done before the broker's own ratio is trusted.
const MEASURABLE: u64 = 64 << 20;
/// A log with less to read tells what a log costs beside its bytes.
const SMALL: u64 = 256 << 10;
/// More threads than that for a log dir are nobody's setting.
pub(super) const THREADS_CAP: usize = 256;

/// One thread of a log dir.
#[derive(Debug, Clone, Copy, Default)]
struct Lane {
    /// What it has read of logs that are done, as far as that can be guessed.
    done_reads: u64,
    /// The same and what it has read of its log, by the log's word.
    told: u64,
    /// What is left of the segment that it reads.
    room: u64,
}

/// A log dir and its threads.
#[derive(Debug)]
pub(super) struct DirMeter {
    pub(super) path: String,
    pub(super) logs: Vec<LogBytes>,
    pub(super) by_name: HashMap<String, usize>,
    is_done: Vec<bool>,
    done_logs: u64,
    done_bytes: u64,
    done_cost: f64,
    lanes: Vec<Lane>,
    /// What is read for a byte that was guessed to be read.
    ratio: f64,
    /// Bytes of the logs in work that were read, by log; never goes back.
    pub(super) in_work: BTreeMap<usize, u64>,
    bytes_done: u64,
    pace: Pace,
    pub(super) progress: BootProgress,
}

impl DirMeter {
    pub(super) fn new(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            logs: Vec::new(),
            by_name: HashMap::new(),
            is_done: Vec::new(),
            done_logs: 0,
            done_bytes: 0,
            done_cost: 0.0,
            lanes: Vec::new(),
            ratio: 1.0,
            in_work: BTreeMap::new(),
            bytes_done: 0,
            pace: Pace::default(),
            progress: BootProgress::default(),
        }
    }

    pub(super) fn add(&mut self, log: LogBytes) {
        self.by_name.insert(log.name.clone(), self.logs.len());
        self.logs.push(log);
        self.is_done.push(false);
    }

    /// Notes the total.
    pub(super) fn begin(&mut self) {
        self.progress.bytes_total = self.logs.iter().map(LogBytes::bytes).sum();
    }

    /// Forgets its logs: it was stopped cleanly, so none is read.
    fn is_clean(&mut self) {
        self.logs.clear();
        self.by_name.clear();
        self.is_done.clear();
        self.progress.bytes_total = 0;
    }

    fn lane(&mut self, lane: usize) -> Option<&mut Lane> {
        // A log in which lines are missing could make thousands.
        if lane < THREADS_CAP && self.lanes.len() <= lane {
            self.lanes.resize(lane + 1, Lane::default());
        }
        self.lanes.get_mut(lane)
    }

    pub(super) fn finish(&mut self, done: &DoneLog) {
        let at = self
            .by_name
            .get(&done.name)
            .or_else(|| self.by_name.get(&done.partition));
        let Some(at) = at.copied() else { return };
        let Some(is_done) = self.is_done.get_mut(at) else {
            return;
        };
        if std::mem::replace(is_done, true) {
            return;
        }
        let Some(log) = self.logs.get(at) else { return };
        let (bytes, work, cost) = (log.bytes(), log.work(), cost_factor(log));
        let reads = scaled(work, read_factor(log));
        self.done_logs += 1;
        self.done_bytes += bytes;
        self.done_cost += as_float(bytes) * cost;
        self.in_work.remove(&at);
        if let Some(ms) = done.took_ms.filter(|_| work < SMALL) {
            self.pace.take_log(ms);
        }
        if let Some(lane) = done.lane.and_then(|lane| self.lane(lane)) {
            lane.done_reads += reads;
        }
    }

    /// Puts the threads where the log has them.
    pub(super) fn take_words(&mut self, boot: &Boot) {
        let told = boot.dirs.iter().find(|dir| dir.path == self.path);
        if told.is_some_and(|dir| dir.unclean == Some(false)) && !self.logs.is_empty() {
            self.is_clean();
        }
        for lane in &mut self.lanes {
            (lane.told, lane.room) = (lane.done_reads, 0);
        }
        for (name, work) in &boot.working {
            let known = self.by_name.get(name).copied();
            let Some(at) = known.filter(|_| work.dir == self.path) else {
                continue;
            };
            let Some(log) = self.logs.get(at) else {
                continue;
            };
            let before = log.before(work.base_offset);
            let factor = read_factor(log);
            let told = scaled(log.silent() + before, factor);
            let room = scaled(log.segment(work.base_offset), factor);
            let known = self.in_work.entry(at).or_default();
            *known = before.max(*known);
            if let Some(lane) = self.lane(work.lane) {
                lane.told += told;
                lane.room = room;
            }
        }
    }

    /// Puts the threads where they are by their counters: `reads` before and after the log was read.
    ///
    /// Their sum is what counts: which thread has which log is only told by their order, and that may be wrong.
    pub(super) fn place(
        &mut self,
        boot: &Boot,
        reads: Option<&(Vec<ThreadReads>, Vec<ThreadReads>)>,
    ) {
        let mut in_work: u64 = 0;
        if let Some((before, after)) = reads {
            self.learn(before, after);
            let (told, room) = self.told();
            let all = over(sum(after), self.ratio).clamp(told, told + room) - told;
            let within = self.spread(after, all);
            for (name, work) in boot
                .working
                .iter()
                .filter(|(_, work)| work.dir == self.path)
            {
                let Some((at, log)) = self
                    .by_name
                    .get(name)
                    .and_then(|at| Some((*at, self.logs.get(*at)?)))
                else {
                    continue;
                };
                let within = within.get(work.lane).copied().unwrap_or(0);
                let bytes = log.before(work.base_offset) + over(within, read_factor(log));
                in_work += bytes;
                let known = self.in_work.entry(at).or_default();
                *known = bytes.max(*known);
            }
        } else {
            // Whole segments only: what each thread seemed to have is no sum.
            for (name, work) in boot
                .working
                .iter()
                .filter(|(_, work)| work.dir == self.path)
            {
                let log = self.by_name.get(name).and_then(|at| self.logs.get(*at));
                in_work += log.map_or(0, |log| log.before(work.base_offset));
            }
        }
        let total = self.progress.bytes_total;
        let done = if boot.phase > BootPhase::Loading {
            total
        } else {
            (self.done_bytes + in_work).min(total)
        };
        self.bytes_done = self.bytes_done.max(done);
    }

    /// Returns what the log has the threads read, and what is left of the segments that they read.
    fn told(&self) -> (u64, u64) {
        let lanes = self.lanes.iter();
        lanes.fold((0, 0), |(told, room), lane| {
            (told + lane.told, room + lane.room)
        })
    }

    /// Shares `all` that was read of the segments in work among the threads, as their counters have it.
    fn spread(&self, after: &[ThreadReads], all: u64) -> Vec<u64> {
        let mut threads: Vec<u64> = after.iter().map(|thread| thread.bytes).collect();
        threads.sort_unstable_by(|a, b| b.cmp(a));
        let mut lanes: Vec<(usize, &Lane)> = self.lanes.iter().enumerate().collect();
        lanes.sort_by_key(|(_, lane)| std::cmp::Reverse(lane.told + lane.room / 2));
        let mut within = vec![0; lanes.len()];
        for ((at, lane), read) in lanes.into_iter().zip(threads) {
            let position = over(read, self.ratio).clamp(lane.told, lane.told + lane.room);
            if let Some(within) = within.get_mut(at) {
                *within = position - lane.told;
            }
        }
        // What that leaves open, or has too much, is shared by the room there is.
        let shared: u64 = within.iter().sum();
        let (_, room) = self.told();
        for (within, lane) in within.iter_mut().zip(&self.lanes) {
            if shared > all {
                *within = share(*within, all, shared);
            } else {
                *within += share(lane.room - *within, all - shared, room - shared);
            }
        }
        within
    }

    /// Narrows the ratio down: all that was read is at least what is done, and at most that and what is in work.
    fn learn(&mut self, before: &[ThreadReads], after: &[ThreadReads]) {
        let (told, room) = self.told();
        let waits_silently = (self.logs.iter().zip(&self.is_done))
            .any(|(log, is_done)| !is_done && log.silent() > 0);
        if told + room >= MEASURABLE && !waits_silently {
            self.ratio = self
                .ratio
                .max(as_float(sum(before)) / as_float(told + room));
        }
        if told >= MEASURABLE {
            self.ratio = self.ratio.min(as_float(sum(after)) / as_float(told));
        }
        self.ratio = self.ratio.clamp(0.9, 1.25);
    }

    pub(super) fn cost_done(&self) -> f64 {
        let in_work = self.in_work.iter().filter_map(|(at, bytes)| {
            let log = self.logs.get(*at)?;
            Some(as_float(*bytes) * cost_factor(log))
        });
        self.done_cost + in_work.sum::<f64>()
    }

    pub(super) fn cost_left(&self) -> f64 {
        self.open()
            .map(|(log, bytes)| as_float(bytes) * cost_factor(log))
            .sum()
    }

    /// Returns the logs that are not done, and what is left of each.
    fn open(&self) -> impl Iterator<Item = (&LogBytes, u64)> {
        let logs = self.logs.iter().enumerate().zip(&self.is_done);
        logs.filter(|(_, is_done)| !**is_done)
            .map(|((at, log), _)| {
                let done = self.in_work.get(&at).copied().unwrap_or(0);
                (log, log.bytes().saturating_sub(done))
            })
    }

    /// Returns how many threads the log's lines show at least.
    pub(super) fn threads_told(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.progress.bytes_done < self.progress.bytes_total
    }

    pub(super) fn take_pace(
        &mut self,
        now_ms: Option<i64>,
        (all_cost, all_left): (f64, f64),
        cpu: Option<u64>,
    ) {
        self.progress.bytes_done = self.bytes_done;
        let Some(at_ms) = now_ms else { return };
        let work_cost = self.cost_done();
        self.pace.take(Sample {
            at_ms,
            bytes: self.bytes_done,
            cost: work_cost,
            all_cost,
            logs: self.done_logs,
            cpu_ms: cpu,
        });
        let costs = self
            .open()
            .map(|(log, bytes)| as_float(bytes) * cost_factor(log));
        let largest = costs.fold(0.0, f64::max);
        let left = Left {
            bytes: self.progress.bytes_total.saturating_sub(self.bytes_done),
            cost: self.cost_left(),
            all_cost: all_left,
            logs: (self.logs.len() as u64).saturating_sub(self.done_logs),
            largest,
            threads: self.lanes.len().max(1),
        };
        self.progress.bytes_per_s = self.pace.rate();
        self.progress.left = self.pace.left(&left);
    }
}

/// Returns what a byte of a log costs, in bytes of endless batches; a missing index doubles it.
fn cost_factor(log: &LogBytes) -> f64 {
    let bytes = as_float(log.bytes().max(1));
    // 17 bytes more are read for a batch.
    let batches = log
        .reads_per_byte
        .map_or(1.0 / BATCH_COST, |ratio| (ratio - 1.0) / 17.0);
    (1.0 + BATCH_COST * batches) * as_float(log.work().max(1)) / bytes
}

/// Returns what is read for a byte of a log.
fn read_factor(log: &LogBytes) -> f64 {
    log.reads_per_byte.unwrap_or(READS_PER_BYTE)
}

fn sum(reads: &[ThreadReads]) -> u64 {
    reads.iter().map(|thread| thread.bytes).sum()
}

/// Returns `part` of `number`, of `whole` parts.
fn share(number: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(number) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

fn over(reads: u64, ratio: f64) -> u64 {
    scaled(reads, 1.0 / ratio)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a product of two positive numbers"
)]
fn scaled(reads: u64, ratio: f64) -> u64 {
    (as_float(reads) * ratio).round() as u64
}
