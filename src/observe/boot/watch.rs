//! Watches one boot: reads its sources, and says what is new.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::observe::metrics::MetricsPoll;
use crate::observe::server_log::{Boot, BootEnd, BootLog, BootPhase, BootTrouble, Boots, LineTime};
use crate::observe::supervisor::{KernelKill, kernel_kill_of, supervision_of};
use crate::terms::Timestamp;

use super::attempts::{History, failed_before};
use super::cut_bytes::cut_bytes;
use super::gauges::Gauges;
use super::log_bytes::LogBytes;
use super::meter::{BootMeter, Reads};
use super::report::{BootReport, BootSource, DirReport, SourceReport, WorkReport};
use super::threads::{ProcessLife, RecoveryThreads, ThreadReads};
use super::told_by::{More, ToldBy};

const PROC: &str = "/proc";
/// How far a clock may have been set since the process began.
const CLOCK_SLACK_MS: i64 = 5000;

/// How long a log is read on once the broker has started: some losses are told only then, within a tenth of a second.
pub const SETTLE: Duration = Duration::from_secs(3);

/// What a boot is watched through.
#[derive(Debug)]
pub struct BootSources {
    /// The broker's process, where it runs here.
    pub process: Option<ProcessLife>,
    /// Who tells of it: its log, or what shows without one.
    pub told_by: ToldBy,
    /// What the boot reads, where its log dirs can be seen.
    pub logs: Option<Vec<LogBytes>>,
    /// Whether the log is surely that of the process and the log dirs.
    pub origin: Origin,
    /// Who asks its metrics, if it has any.
    pub metrics: Option<MetricsPoll>,
}

/// Whose a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// That of the broker that is known.
    Own,
    /// Perhaps: it is, if it names the same log dirs.
    Perhaps,
}

/// A boot that is watched.
#[derive(Debug)]
pub struct BootWatch {
    process: Option<ProcessLife>,
    /// When it began, in ms since 1970.
    began_ms: Option<i64>,
    told_by: ToldBy,
    boots: Boots,
    meter: Option<BootMeter>,
    origin: Origin,
    /// Whether the log turned out to be another broker's.
    is_another: bool,
    threads: Counters,
    log_at: Option<Timestamp>,
    more: More,
    metrics: Option<MetricsPoll>,
    gauges: Gauges,
    told: Told,
}

/// How the threads' counters are.
#[derive(Debug, Default)]
struct Counters {
    at: Option<Timestamp>,
    seen: RecoveryThreads,
    last: Vec<ThreadReads>,
    trouble: Option<String>,
}

/// What was told of the boot that began then.
#[derive(Debug, Default)]
struct Told {
    began: Option<LineTime>,
    finished: usize,
    troubles: usize,
    history: bool,
}

impl BootWatch {
    /// Begins to watch.
    pub fn new(sources: BootSources) -> Self {
        let BootSources {
            process,
            told_by,
            logs,
            origin,
            metrics,
        } = sources;
        Self {
            // A log that is perhaps another's has nothing to do with when this process began.
            began_ms: process
                .filter(|_| origin == Origin::Own)
                .and_then(|life| life.began_ms(Path::new(PROC))),
            process,
            told_by,
            boots: Boots::default(),
            meter: logs.map(BootMeter::new),
            origin,
            is_another: false,
            threads: Counters::default(),
            log_at: None,
            more: More::MayCome,
            metrics,
            gauges: Gauges::default(),
            told: Told::default(),
        }
    }

    /// Takes what the boot reads, learned after it was begun to be watched.
    pub fn take_logs(&mut self, logs: Option<Vec<LogBytes>>) {
        self.meter = logs.map(BootMeter::new);
        self.told = Told::default();
    }

    /// Returns all boots that the log tells of, oldest first.
    pub fn boots(&self) -> &Boots {
        &self.boots
    }

    /// Says whether a process is known.
    pub fn has_process(&self) -> bool {
        self.process.is_some()
    }

    /// Says whether the process goes on, where one is known.
    pub fn lives(&self) -> bool {
        self.process
            .is_some_and(|life| life.goes_on(Path::new(PROC)))
    }

    /// Says whether the log is surely that of the broker that is known here.
    pub fn is_ours(&self) -> bool {
        self.origin == Origin::Own && !self.is_another
    }

    /// Says whether what was taken for its log is none.
    pub fn is_foreign(&self) -> bool {
        self.told_by.is_foreign()
    }

    /// Says whether its log may still grow: its process goes on or, where none is known or it is an input, it is not over.
    pub fn may_tell_more(&self) -> bool {
        match (self.process, self.told_by.is_file()) {
            (Some(_), true) => self.lives(),
            _ => self.more == More::MayCome && self.told_by.no_log().is_none(),
        }
    }

    /// Takes that the broker is gone whose log a file is: what it has written is read once more, then the boot has ended.
    pub fn give_up(&mut self) {
        self.more = More::GivenUp;
    }

    /// Says whether only a file tells of the boot: no process of it is known.
    pub fn is_by_file_alone(&self) -> bool {
        self.process.is_none() && self.told_by.is_file()
    }

    /// Returns why there is no log, as a clause; `None` where there is one.
    pub fn no_log(&self) -> Option<&str> {
        self.told_by.no_log()
    }

    /// Returns the boot that is watched: the newest of the log, unless it is one from before the process.
    pub fn boot(&self) -> Option<&Boot> {
        self.present(&self.boots)
    }

    fn present<'a>(&self, boots: &'a Boots) -> Option<&'a Boot> {
        let boot = boots.last()?;
        // A process that has not written yet is none of the boots in older files.
        if self.process.is_some() && self.told_by.is_silent() {
            return None;
        }
        match (self.began_ms, boot.began, self.told_by.zone_ms()) {
            (Some(process), Some(began), Some(zone)) => {
                (began.0 - zone >= process - CLOCK_SLACK_MS).then_some(boot)
            }
            _ => Some(boot),
        }
    }

    /// Looks at all sources, waiting at most `patience` for the log to say something; returns what they say, or `None`
    /// before the log speaks of this boot.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn look(&mut self, now: Timestamp, patience: Duration) -> io::Result<Option<BootReport>> {
        let proc = Path::new(PROC);
        // Seen before the log is read to its end: what a process says last is read after it.
        let own = self.process.filter(|_| self.origin == Origin::Own);
        let lives = own.map(|life| life.goes_on(proc));
        let before = self.read_threads(lives);
        self.threads.seen.mark();
        let alive = (lives != Some(false)).then(|| self.threads.seen.alive());
        if (self.told_by).take(&mut self.boots, patience, alive, now)? {
            self.log_at = Some(now);
        }
        self.gauges.take(self.metrics.as_ref(), now);
        self.more = self.told_by.more(self.more, now);
        let gone = lives == Some(false) || (lives.is_none() && self.more != More::MayCome);
        if gone {
            self.told_by.finish(&mut self.boots);
        }
        let after = self.read_threads(lives);
        let reads = self.threads.seen.reads();
        if reads.after != self.threads.last {
            self.threads.at = Some(now);
            self.threads.last.clone_from(&reads.after);
        }
        let reads = (before && after).then_some(reads);
        // Taken out while the rest is changed.
        let boots = std::mem::take(&mut self.boots);
        let report = match self.present(&boots) {
            Some(boot) => Some(self.measure((&boots, boot), (reads, gone), now)),
            None => gone.then(|| self.killed(now)),
        };
        self.boots = boots;
        Ok(report)
    }

    fn measure(
        &mut self,
        (boots, boot): (&Boots, &Boot),
        (reads, gone): (Option<Reads>, bool),
        now: Timestamp,
    ) -> BootReport {
        self.check_origin(boot);
        let told = boot.end.clone();
        let end = told.or_else(|| gone.then(|| self.end_of_gone()));
        if let Some(meter) = &mut self.meter {
            meter.order(boot);
            meter.measure(boot, reads.as_ref(), now.0);
        }
        self.report((boots, boot), end, now)
    }

    /// Looks at the recovery threads; says whether what they read may be seen.
    fn read_threads(&mut self, lives: Option<bool>) -> bool {
        let Some(life) = self.process else {
            return false;
        };
        match self.threads.seen.look(Path::new(PROC), life.pid) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let why = "another user's process: run krescue as the broker's user or as root";
                self.threads.trouble = Some(why.to_owned());
                false
            }
            // What they had read last still counts.
            Err(_) => lives == Some(false),
        }
    }

    /// Returns how a boot has ended whose process is gone and that told of no end.
    fn end_of_gone(&self) -> BootEnd {
        match self.told_by.no_log() {
            None => BootEnd::Killed,
            Some(why) => BootEnd::Died {
                cause: format!("its process has ended; why, only its log tells: {why}"),
            },
        }
    }

    /// Returns the report of a process that is gone before its log spoke.
    fn killed(&self, now: Timestamp) -> BootReport {
        BootReport {
            at: now,
            phase: BootPhase::Ended,
            dirs: Vec::new(),
            works: Vec::new(),
            finished: Vec::new(),
            segments_done: 0,
            progress: None,
            began: self.began_ms.map(Timestamp),
            history: None,
            troubles: Vec::new(),
            refused: 0,
            catch_up: None,
            first_pass: None,
            sources: self.sources(now),
            end: Some(self.end_of_gone()),
            bytes_by: None,
            kernel_kill: self.kernel_kill(),
        }
    }

    /// Returns whether the kernel killed the process for memory, as far as its messages may be read.
    fn kernel_kill(&self) -> Option<KernelKill> {
        let life = self.process?;
        kernel_kill_of(Path::new("/"), life.pid, life.began_s())
    }

    /// Forgets process and files, if the log names a log dir that is not among them.
    fn check_origin(&mut self, boot: &Boot) {
        if self.origin == Origin::Own || boot.dirs.is_empty() {
            return;
        }
        self.origin = Origin::Own;
        let is_ours = |path: &str| {
            let mut seen = self.meter.iter().flat_map(BootMeter::seen);
            seen.any(|(known, _)| known == path)
        };
        if !boot.dirs.iter().all(|dir| is_ours(&dir.path)) {
            (self.meter, self.process) = (None, None);
            self.is_another = true;
        }
    }

    fn report(
        &mut self,
        (boots, boot): (&Boots, &Boot),
        end: Option<BootEnd>,
        now: Timestamp,
    ) -> BootReport {
        if self.told.began != boot.began {
            self.told = Told {
                began: boot.began,
                ..Told::default()
            };
        }
        let dirs = self.dirs(boot);
        let place = |path: &str| dirs.iter().position(|dir| dir.path == path);
        let works = boot.working.iter().filter_map(|(name, work)| {
            let seen = self
                .meter
                .as_ref()
                .and_then(|meter| meter.in_work(work, name));
            Some(WorkReport {
                dir: place(&work.dir)?,
                thread: work.lane,
                name: name.clone(),
                base_offset: work.base_offset,
                segments_done: work.segments_done,
                segments: work
                    .segments
                    .or(seen.map(|seen| seen.segments))
                    .or_else(|| self.segments_by_metrics(boot, work)),
                bytes_done: seen.map_or(0, |seen| seen.bytes_done),
                bytes_total: seen.map(|seen| seen.bytes_total),
            })
        });
        let mut works: Vec<WorkReport> = works.collect();
        works.sort_by_key(|work| (work.dir, work.thread));
        let new = boot.finished.get(self.told.finished..).unwrap_or_default();
        let finished = new.iter().filter_map(|done| {
            let name = match &self.meter {
                Some(meter) if !meter.knows(&done.dir, &done.name) => &done.partition,
                _ => &done.name,
            };
            Some((place(&done.dir)?, name.clone()))
        });
        let report = BootReport {
            at: now,
            phase: if end.is_some() {
                BootPhase::Ended
            } else {
                boot.phase
            },
            works,
            finished: finished.collect(),
            segments_done: boot.segments_done,
            progress: self.meter.as_ref().map(BootMeter::progress),
            began: self.began_ms.map(Timestamp),
            history: self.history(boots, boot),
            troubles: self.new_troubles(boot),
            refused: boot.refused,
            catch_up: None,
            first_pass: None,
            sources: self.sources(now),
            bytes_by: self
                .meter
                .as_ref()
                .map(|meter| meter.placed_by(self.told_by.source())),
            kernel_kill: (end.as_ref() == Some(&self.end_of_gone()))
                .then(|| self.kernel_kill())
                .flatten(),
            end,
            dirs,
        };
        (self.told.finished, self.told.troubles) = (boot.finished.len(), boot.troubles.len());
        report
    }

    /// Returns what went wrong since the last look, cuts with their bytes.
    fn new_troubles(&self, boot: &Boot) -> Vec<BootTrouble> {
        let new = boot.troubles.get(self.told.troubles..);
        let mut new = new.unwrap_or_default().to_vec();
        // Once logs are loaded, a broker writes to them again.
        if let Some(meter) = self
            .meter
            .as_ref()
            .filter(|_| boot.phase <= BootPhase::Loading)
        {
            let root = self.process.map(|life| life.root(Path::new(PROC)));
            for trouble in &mut new {
                trouble.cut_bytes = cut_bytes(trouble, meter, root.as_deref());
            }
        }
        new
    }

    /// Returns what came before, once.
    fn history(&mut self, boots: &Boots, boot: &Boot) -> Option<History> {
        if std::mem::replace(&mut self.told.history, true) {
            return None;
        }
        Some(History {
            failed: failed_before(boots, boot),
            supervision: self
                .process
                .map(|life| supervision_of(Path::new("/"), life.pid))
                .unwrap_or_default(),
        })
    }

    fn dirs(&self, boot: &Boot) -> Vec<DirReport> {
        let of = |path: &str| self.meter.as_ref().and_then(|meter| meter.dir(path));
        let mut dirs: Vec<DirReport> = boot
            .dirs
            .iter()
            .map(|dir| {
                // A log that is piped in may lag behind; both only count up.
                let gauge = self.gauges.logs_done(&dir.path, dir.logs);
                let gauge = gauge.filter(|done| boot.end.is_none() && *done > dir.done);
                DirReport {
                    path: dir.path.clone(),
                    unclean: dir.unclean,
                    offline: dir.offline,
                    logs_done: gauge.unwrap_or(dir.done),
                    logs_total: Some(dir.logs),
                    logs_by: Some(match gauge {
                        Some(_) => BootSource::Metrics,
                        None => self.told_by.source(),
                    }),
                    failed: dir.failed,
                    progress: of(&dir.path),
                }
            })
            .collect();
        for (path, logs) in self.meter.iter().flat_map(BootMeter::seen) {
            if !dirs.iter().any(|dir| dir.path == path) {
                dirs.push(DirReport {
                    path: path.to_owned(),
                    unclean: None,
                    offline: false,
                    logs_done: 0,
                    logs_total: Some(logs),
                    logs_by: None,
                    failed: 0,
                    progress: of(path),
                });
            }
        }
        dirs
    }

    fn sources(&self, now: Timestamp) -> Vec<SourceReport> {
        let threads = self.process.map(|_| SourceReport {
            source: BootSource::Threads,
            at: self.threads.at,
            trouble: self.threads.trouble.clone(),
            turned: 0,
        });
        let metrics = self.metrics.as_ref().map(|_| SourceReport {
            source: BootSource::Metrics,
            at: self.gauges.at,
            trouble: self.gauges.trouble.clone(),
            turned: 0,
        });
        let is_unseen = self.process.is_none();
        let told_by = self.told_by.reports(self.log_at, is_unseen, now);
        threads.into_iter().chain(told_by).chain(metrics).collect()
    }

    /// Returns how many segments a log in work has, from 4.0 on told by nothing else where its files cannot be seen: only
    /// where one thread works in its log dir is it sure which gauge is of which log.
    fn segments_by_metrics(&self, boot: &Boot, work: &BootLog) -> Option<u64> {
        let others = boot.working.values().filter(|other| other.dir == work.dir);
        let left = self.gauges.said.segments_left.iter();
        let mut left = left.filter(|left| left.dir == work.dir && left.segments > 0);
        let only = left.next().filter(|_| left.next().is_none())?;
        (others.count() == 1).then_some(work.segments_done + only.segments)
    }
}
