//! How far a boot is in bytes: what its log says, refined by what its recovery threads have read.
//!
//! The log tells whole segments and logs, the threads' counters what lies between. Neither alone is right: nothing is
//! printed inside a segment, and a broker reads a little more than the bytes of its segments. So each thread stands where
//! its counter says, but never before the segment that the log has it in, and never behind it.

use crate::observe::server_log::{Boot, BootLog, BootPhase};
use crate::terms::Offset;

use super::dir_meter::{DirMeter, THREADS_CAP};
use super::log_bytes::LogBytes;
use super::pace::Span;
use super::report::{BootProgress, BootSource};
use super::threads::ThreadReads;

/// What the recovery threads had read before and after the log was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reads {
    /// Before, by thread id.
    pub before: Vec<ThreadReads>,
    /// After, by thread id.
    pub after: Vec<ThreadReads>,
}

/// How far one thread is with its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InWork {
    /// Bytes of the log that were read; never goes back.
    pub(super) bytes_done: u64,
    /// Bytes of the log that are read.
    pub(super) bytes_total: u64,
    /// Segments of the log that are read.
    pub(super) segments: u64,
}

/// Measures one boot.
#[derive(Debug)]
pub struct BootMeter {
    dirs: Vec<DirMeter>,
    /// Logs of [`Boot::finished`] that were counted.
    counted: usize,
    /// Whether the threads' counters say what lies between the log's lines.
    by_threads: bool,
}

impl BootMeter {
    /// Returns a meter of a boot that reads `logs`.
    pub fn new(logs: Vec<LogBytes>) -> Self {
        let mut dirs: Vec<DirMeter> = Vec::new();
        for log in logs {
            if let Some(dir) = dirs.iter_mut().find(|dir| dir.path == log.dir) {
                dir.add(log);
            } else {
                let mut dir = DirMeter::new(&log.dir);
                dir.add(log);
                dirs.push(dir);
            }
        }
        dirs.iter_mut().for_each(DirMeter::begin);
        Self {
            dirs,
            counted: 0,
            by_threads: false,
        }
    }

    /// Measures at `now_ms`; `reads` are what the recovery threads have read, if they may be seen.
    pub fn measure(&mut self, boot: &Boot, reads: Option<&Reads>, now_ms: i64) {
        for done in boot.finished.get(self.counted..).unwrap_or_default() {
            if let Some(dir) = self.dirs.iter_mut().find(|dir| dir.path == done.dir) {
                dir.finish(done);
            }
        }
        self.counted = boot.finished.len();
        for dir in &mut self.dirs {
            dir.take_words(boot);
        }
        let reads = reads.filter(|_| boot.phase == BootPhase::Loading);
        let threads = reads.and_then(|reads| Some((reads, self.threads(boot, reads.after.len())?)));
        self.by_threads = threads.is_some();
        let mut first = 0;
        for (index, dir) in self.dirs.iter_mut().enumerate() {
            let own = threads.as_ref().and_then(|(reads, counts)| {
                let count = *counts.get(index)?;
                let of = |reads: &[ThreadReads]| {
                    let own = reads.get(first..first + count)?;
                    Some(own.to_vec())
                };
                let own = (of(&reads.before)?, of(&reads.after)?);
                first += count;
                Some(own)
            });
            dir.place(boot, own.as_ref());
        }
        let all_cost = self.dirs.iter().map(DirMeter::cost_done).sum();
        let all_left = self.dirs.iter().map(DirMeter::cost_left).sum();
        for (index, dir) in self.dirs.iter_mut().enumerate() {
            let cpu = threads.as_ref().and_then(|(reads, counts)| {
                let first: usize = counts.iter().take(index).sum();
                let own = reads.after.get(first..first + counts.get(index)?)?;
                own.iter().map(|thread| thread.cpu_ms).sum()
            });
            let has_begun = boot.phase >= BootPhase::Loading;
            dir.take_pace(has_begun.then_some(now_ms), (all_cost, all_left), cpu);
        }
    }

    /// Returns which source placed the threads at the last look: their counters, or `told_by`.
    pub(super) fn placed_by(&self, told_by: BootSource) -> BootSource {
        if self.by_threads {
            BootSource::Threads
        } else {
            told_by
        }
    }

    /// Returns how far all log dirs are together: the end is that of the slowest.
    pub fn progress(&self) -> BootProgress {
        let mut all = BootProgress::default();
        let mut left: Option<Option<Span>> = None;
        for dir in &self.dirs {
            let progress = dir.progress;
            all.bytes_done += progress.bytes_done;
            all.bytes_total += progress.bytes_total;
            if let Some(rate) = progress.bytes_per_s.filter(|_| dir.is_busy()) {
                all.bytes_per_s = Some(all.bytes_per_s.unwrap_or(0) + rate);
            }
            left = Some(match (left, progress.left) {
                (None, left) => left,
                (Some(Some(one)), Some(other)) => Some(Span {
                    least_ms: one.least_ms.max(other.least_ms),
                    likely_ms: one.likely_ms.max(other.likely_ms),
                    most_ms: one.most_ms.max(other.most_ms),
                }),
                _ => None,
            });
        }
        all.left = left.flatten();
        all
    }

    /// Returns how far the log dir at `path` is.
    pub fn dir(&self, path: &str) -> Option<BootProgress> {
        let dir = self.dirs.iter().find(|dir| dir.path == path)?;
        Some(dir.progress)
    }

    /// Returns the log dirs whose files were seen, with their logs' number.
    pub(super) fn seen(&self) -> impl Iterator<Item = (&str, u64)> {
        let dirs = self.dirs.iter();
        dirs.map(|dir| (dir.path.as_str(), dir.logs.len() as u64))
    }

    /// Says whether a log of this name lies in the log dir at `dir`.
    pub(super) fn knows(&self, dir: &str, name: &str) -> bool {
        let mut dirs = self.dirs.iter();
        dirs.any(|known| known.path == dir && known.by_name.contains_key(name))
    }

    /// Returns the bytes of a segment that the boot reads, as they were before it.
    pub(super) fn segment_bytes(&self, dir: &str, name: &str, base_offset: Offset) -> Option<u64> {
        let dir = self.dirs.iter().find(|known| known.path == dir)?;
        let log = dir.logs.get(*dir.by_name.get(name)?)?;
        let mut segments = log.segments.iter();
        let found = segments.find(|segment| segment.base_offset == base_offset)?;
        Some(found.bytes)
    }

    /// Returns how far the log `name` in work is.
    pub(super) fn in_work(&self, work: &BootLog, name: &str) -> Option<InWork> {
        let dir = self.dirs.iter().find(|dir| dir.path == work.dir)?;
        let at = dir.by_name.get(name)?;
        let log = dir.logs.get(*at)?;
        Some(InWork {
            bytes_done: dir.in_work.get(at).copied().unwrap_or(0),
            bytes_total: log.bytes(),
            segments: log.segments.len() as u64,
        })
    }

    /// Returns how many of the recovery threads work on each of the meter's log dirs, in their order: each dir gets its
    /// threads in turn, one for a log up to the setting that all share. While the last are not begun the smallest setting
    /// is taken that fits to what the log tells. `None` where none does.
    fn threads(&self, boot: &Boot, found: usize) -> Option<Vec<usize>> {
        // The meter's dirs in the order in which the broker told them, which is that of their threads.
        let told = boot.dirs.iter().map(|dir| dir.path.as_str());
        let known = self.dirs.iter().take(boot.dirs.len());
        if !told.eq(known.map(|dir| dir.path.as_str())) {
            return None;
        }
        let counts_of = |setting: usize| {
            let mut left = found;
            let counts = boot.dirs.iter().map(|dir| {
                let logs = usize::try_from(dir.logs).unwrap_or(usize::MAX);
                let count = logs.min(setting).min(left);
                left -= count;
                count
            });
            let counts: Vec<usize> = counts.collect();
            (left == 0).then_some(counts)
        };
        let fits = |counts: &Vec<usize>| {
            let mut both = counts.iter().zip(&self.dirs);
            both.all(|(count, dir)| *count >= dir.threads_told())
        };
        let mut settings = (1..=THREADS_CAP).filter_map(counts_of);
        let smallest = settings.next()?;
        if fits(&smallest) {
            return Some(smallest);
        }
        settings.find(fits).or(Some(smallest))
    }

    /// Puts the log dirs in the order in which the broker tells them.
    pub(super) fn order(&mut self, boot: &Boot) {
        for dir in &boot.dirs {
            if !self.dirs.iter().any(|known| known.path == dir.path) {
                self.dirs.push(DirMeter::new(&dir.path));
            }
        }
        let place = |path: &str| boot.dirs.iter().position(|dir| dir.path == path);
        self.dirs
            .sort_by_key(|dir| place(&dir.path).unwrap_or(usize::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::super::log_bytes::SegmentBytes;
    use super::*;
    use crate::observe::server_log::{Boots, LogReader};
    use crate::terms::Offset;

    const MB: u64 = 1 << 20;

    fn log(dir: &str, name: &str, segments: &[(i64, u64)]) -> LogBytes {
        LogBytes {
            dir: dir.to_owned(),
            name: name.to_owned(),
            segments: segments
                .iter()
                .map(|(base, mb)| SegmentBytes {
                    base_offset: Offset(*base),
                    bytes: mb * MB,
                    passes: 1,
                })
                .collect(),
            reads_per_byte: None,
        }
    }

    /// A boot that is told line by line and measured each second.
    struct Told {
        meter: BootMeter,
        boots: Boots,
        reader: LogReader,
        ms: i64,
    }

    impl Told {
        fn of(logs: Vec<LogBytes>) -> Self {
            Self {
                meter: BootMeter::new(logs),
                boots: Boots::default(),
                reader: LogReader::new(),
                ms: 0,
            }
        }

        fn say(&mut self, text: &str) {
            let line = format!("[2026-11-30 07:51:11,146] INFO {text} (x)\n");
            let boots = &mut self.boots;
            self.reader.feed(line.as_bytes(), |event| boots.take(event));
        }

        fn begin(&mut self, dir: &str, log: &str, base: i64) {
            self.say(&format!(
                "[LogLoader partition={log}, dir={dir}] Recovering unflushed segment {base}. 0 recovered for {log}."
            ));
        }

        fn wrote(&mut self, log: &str, offset: i64) {
            self.say(&format!(
                "[ProducerStateManager partition={log}] Wrote producer snapshot at offset {offset} with 1 producer ids in 1 ms."
            ));
        }

        fn load(&mut self, dir: &str, log: &str, stray: &str, done: (u64, u64)) {
            let (topic, partition) = log.rsplit_once('-').unwrap();
            self.say(&format!(
                "Completed load of Log(dir={dir}/{log}{stray}, topic={topic}, partition={partition}, highWatermark=0, \
                 lastStableOffset=0, logStartOffset=0, logEndOffset=99) with 2 segments, local-log-start-offset 0 and \
                 log-end-offset 99 in 9ms ({}/{} completed in {dir})",
                done.0, done.1
            ));
        }

        /// Measures a second later; `reads` by thread, in MB.
        fn at(&mut self, reads: &[u64]) -> BootProgress {
            let reads: Vec<ThreadReads> = reads
                .iter()
                .map(|mb| ThreadReads {
                    bytes: mb * MB,
                    cpu_ms: None,
                })
                .collect();
            let reads = Reads {
                before: reads.clone(),
                after: reads,
            };
            self.ms += 1000;
            let boot = self.boots.last().unwrap();
            self.meter.order(boot);
            self.meter.measure(boot, Some(&reads), self.ms);
            self.meter.progress()
        }
    }

    const UNCLEAN: &str = "since no clean shutdown file was found";

    #[test]
    fn reads_fill_what_the_log_leaves_open_and_nothing_goes_back() {
        let mut told = Told::of(vec![
            log("/d", "a-0", &[(0, 100), (50, 100)]),
            log("/d", "b-0", &[(0, 10)]),
        ]);
        told.say(&format!("Recovering 2 logs from /d {UNCLEAN}"));
        told.begin("/d", "a-0", 0);
        assert!(told.at(&[1]).bytes_done <= MB);
        let half = told.at(&[51]);
        assert!((48 * MB..=51 * MB).contains(&half.bytes_done), "{half:?}");
        assert_eq!(half.bytes_total, 210 * MB);
        let rate = half.bytes_per_s.unwrap();
        assert!((48 * MB..=51 * MB).contains(&rate), "{rate}");
        // No more than the segment in work, whatever is read beside.
        assert_eq!(told.at(&[151]).bytes_done, 100 * MB);
        told.wrote("a-0", 50);
        let next = told.at(&[152]).bytes_done;
        assert!((100 * MB..=152 * MB).contains(&next));
        told.load(
            "/d",
            "a-0",
            ".0123456789abcdef0123456789abcdef-stray",
            (1, 2),
        );
        assert_eq!(told.at(&[201]).bytes_done, 200 * MB);
        told.say("Loaded 2 logs in 5000ms (unclean log dirs = [/d])");
        let end = told.at(&[]);
        assert_eq!(end.bytes_done, end.bytes_total);
    }

    #[test]
    fn threads_of_two_dirs_are_told_apart_by_their_order() {
        let mut told = Told::of(vec![
            log("/2", "b-0", &[(0, 100)]),
            log("/1", "a-0", &[(0, 100)]),
            log("/1", "a-1", &[(0, 100)]),
        ]);
        told.say(&format!("Recovering 2 logs from /1 {UNCLEAN}"));
        told.say(&format!("Recovering 1 logs from /2 {UNCLEAN}"));
        told.begin("/1", "a-0", 0);
        told.begin("/1", "a-1", 0);
        told.begin("/2", "b-0", 0);
        // Two for /1, one for /2.
        told.at(&[20, 30, 70]);
        let one = told.meter.dir("/1").unwrap().bytes_done / MB;
        let two = told.meter.dir("/2").unwrap().bytes_done / MB;
        assert!(
            (49..=50).contains(&one) && (69..=70).contains(&two),
            "{one} {two}"
        );
    }

    #[test]
    fn a_thread_that_is_done_takes_nothing_from_the_other() {
        let mut told = Told::of(vec![
            log("/d", "a-0", &[(0, 1000)]),
            log("/d", "b-0", &[(0, 100)]),
            log("/d", "c-0", &[(0, 100)]),
        ]);
        told.say(&format!("Recovering 3 logs from /d {UNCLEAN}"));
        told.begin("/d", "a-0", 0);
        told.begin("/d", "b-0", 0);
        let before = told.at(&[400, 90]).bytes_done;
        told.load("/d", "b-0", "", (1, 3));
        told.begin("/d", "c-0", 0);
        let after = told.at(&[450, 120]).bytes_done;
        assert!(before > 480 * MB && after > 560 * MB, "{before} {after}");
        let work = told.boots.last().unwrap().working["a-0"].clone();
        let in_work = told.meter.in_work(&work, "a-0").unwrap();
        assert!((440 * MB..=450 * MB).contains(&in_work.bytes_done));
    }

    #[test]
    fn the_broker_s_own_ratio_is_learned() {
        // Tiny batches: 1.10 bytes are read for a byte.
        let logs = (0..20).map(|at| log("/d", &format!("a-{at}"), &[(0, 100)]));
        let mut told = Told::of(logs.collect());
        told.say(&format!("Recovering 20 logs from /d {UNCLEAN}"));
        for at in 0..10 {
            let name = format!("a-{at}");
            told.begin("/d", &name, 0);
            told.at(&[at * 110 + 55]);
            told.load("/d", &name, "", (at + 1, 20));
            told.at(&[(at + 1) * 110]);
        }
        told.begin("/d", "a-10", 0);
        let done = told.at(&[1100 + 55]).bytes_done / MB;
        assert!((1045..=1055).contains(&done), "{done}");
    }

    #[test]
    fn a_clean_dir_is_not_read() {
        let mut told = Told::of(vec![log("/d", "a-0", &[(0, 100)])]);
        told.say("Skipping recovery of 1 logs from /d since clean shutdown file was found");
        let progress = told.at(&[1]);
        assert_eq!((progress.bytes_done, progress.bytes_total), (0, 0));
    }
}
