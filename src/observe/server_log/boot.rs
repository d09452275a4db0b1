//! The boots in a log: what each has done so far and how it ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::terms::Offset;

use super::event::BootEvent;
use super::line::LineTime;
use super::named::LoadedLog;
use super::reader::TimedEvent;
use super::trouble::BootTrouble;

/// How far a boot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BootPhase {
    /// The process runs; the logs are not loaded yet.
    Starting,
    /// The logs are recovered or loaded.
    Loading,
    /// The logs are loaded; the broker is fenced until it has caught up with the metadata.
    CatchingUp,
    /// The controller lets clients in; the last parts start.
    Opening,
    /// The boot is over, well or not.
    Ended,
}

/// How a boot ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BootEnd {
    /// The broker is up.
    Up,
    /// The process ended by itself: the first error and its exception.
    Died {
        /// What the log gives as the cause.
        cause: String,
    },
    /// A signal ended it in order; during the recovery all progress is lost.
    Stopped {
        /// The signal, such as `SIGTERM`.
        signal: String,
    },
    /// The log breaks off and another boot follows: killed, or the power went.
    Killed,
}

/// A log dir in a boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BootDir {
    /// Its path, as the broker sees it.
    pub path: String,
    /// Whether its logs are recovered; `None` until the log tells.
    pub unclean: Option<bool>,
    /// Its logs.
    pub logs: u64,
    /// Logs that are done, those that failed included.
    pub done: u64,
    /// Logs that could not be loaded.
    pub failed: u64,
    /// Whether the broker gave it up.
    pub offline: bool,
}

impl BootDir {
    /// Threads tell their counts in any order; a count never goes back.
    fn tell(&mut self, done: u64, total: u64) {
        self.done = self.done.max(done);
        self.logs = self.logs.max(total);
    }
}

/// A log in the work of a boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootLog {
    /// Its log dir.
    pub dir: String,
    /// The segment that is read.
    pub base_offset: Offset,
    /// Segments of it that are done.
    pub segments_done: u64,
    /// Segments that will be read; `None` from 4.0 on, which do not say.
    pub segments: Option<u64>,
    /// When its segment was begun.
    pub since: LineTime,
    /// The thread of its log dir that works on it: lines do not name it, but a thread takes its next log when it is done
    /// with one. Counted from 0.
    pub lane: usize,
}

/// A log that is done, loaded or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneLog {
    /// Its log dir.
    pub dir: String,
    /// Its partition dir's name.
    pub name: String,
    /// What the lines of its recovery call it; a stray was renamed since.
    pub partition: String,
    /// The thread that did it; `None` of one that needed no recovery.
    pub lane: Option<usize>,
    /// How long it took, in ms; `None` where it failed.
    pub took_ms: Option<u64>,
}

/// The threads of a log dir, as its lines show them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Lanes {
    count: usize,
    /// Those that are done with a log, the last freed last.
    free: Vec<usize>,
}

impl Lanes {
    fn take(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}

/// One boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// When its first line was written; `None` where the log begins in the middle of it.
    pub began: Option<LineTime>,
    /// When it last told something.
    pub last: Option<LineTime>,
    /// How far it is.
    pub phase: BootPhase,
    /// The log dirs, in the order they were told.
    pub dirs: Vec<BootDir>,
    /// The logs in work, by name.
    pub working: BTreeMap<String, BootLog>,
    /// The logs that are done, in their order.
    pub finished: Vec<DoneLog>,
    lanes: BTreeMap<String, Lanes>,
    /// Segments that were read to their end.
    pub segments_done: u64,
    /// This run of the broker, as it registers with the controller; `None` before it does.
    pub incarnation: Option<String>,
    /// How often the controller has not taken the broker.
    pub refused: u64,
    /// What went wrong, in order.
    pub troubles: Vec<BootTrouble>,
    /// How long all logs took to load, in ms.
    pub loaded_in_ms: Option<u64>,
    /// The version, once told.
    pub version: Option<String>,
    /// How it ended.
    pub end: Option<BootEnd>,
}

/// The boots in a log, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Boots {
    boots: Vec<Boot>,
}

/// How many boots are kept: enough for any start limit.
const BOOTS_CAP: usize = 64;
/// How many troubles of a boot are kept: the first are the causes.
const TROUBLES_CAP: usize = 10_000;

impl Boots {
    /// Takes the next event.
    pub fn take(&mut self, timed: TimedEvent) {
        if timed.event == BootEvent::ProcessStarted {
            if let Some(boot) = self.boots.last_mut() {
                boot.close(BootEnd::Killed);
            }
            if self.boots.len() == BOOTS_CAP {
                self.boots.remove(0);
            }
            self.boots.push(Boot::new(Some(timed.time)));
            return;
        }
        if self.boots.is_empty() {
            self.boots.push(Boot::new(None));
        }
        if let Some(boot) = self.boots.last_mut() {
            boot.take(timed);
        }
    }

    /// Returns the present boot.
    pub fn last(&self) -> Option<&Boot> {
        self.boots.last()
    }

    /// Returns all boots that are known, oldest first.
    pub fn all(&self) -> &[Boot] {
        &self.boots
    }
}

impl Boot {
    fn new(began: Option<LineTime>) -> Self {
        Self {
            began,
            last: began,
            phase: BootPhase::Starting,
            dirs: Vec::new(),
            working: BTreeMap::new(),
            finished: Vec::new(),
            lanes: BTreeMap::new(),
            segments_done: 0,
            incarnation: None,
            refused: 0,
            troubles: Vec::new(),
            loaded_in_ms: None,
            version: None,
            end: None,
        }
    }

    /// Returns logs that are done and all logs, of all dirs.
    pub fn logs(&self) -> (u64, u64) {
        self.dirs
            .iter()
            .fold((0, 0), |(done, all), dir| (done + dir.done, all + dir.logs))
    }

    /// Returns the losses among the troubles.
    pub fn losses(&self) -> impl Iterator<Item = &BootTrouble> {
        self.troubles.iter().filter(|trouble| trouble.is_loss())
    }

    fn take(&mut self, timed: TimedEvent) {
        let TimedEvent { time, event } = timed;
        self.last = Some(time);
        match self.emptied_by(event) {
            BootEvent::LoadingLogs => self.enter(BootPhase::Loading),
            BootEvent::DirUnclean { dir, logs } => self.tell_dir(&dir, true, logs),
            BootEvent::DirClean { dir, logs } => self.tell_dir(&dir, false, logs),
            BootEvent::DirEmpty { dir } => self.tell_dir(&dir, false, 0),
            BootEvent::SegmentBegun {
                log,
                dir,
                base_offset,
                of,
            } => {
                let work = BootLog {
                    dir,
                    base_offset,
                    segments_done: of.map_or(0, |(done, _)| done),
                    segments: of.map(|(_, total)| total),
                    since: time,
                    lane: 0,
                };
                self.begin_segment(log, work);
            }
            BootEvent::SnapshotWritten { log, offset } => {
                // Snapshots are written at a roll and at a stop as well.
                if let Some(work) = self.working.get_mut(&log)
                    && offset > work.base_offset
                {
                    work.segments_done += 1;
                    work.base_offset = offset;
                    self.segments_done += 1;
                }
            }
            BootEvent::LogLoaded {
                log,
                dir,
                done,
                total,
            } => self.finish_log(&log, &dir, done, total),
            BootEvent::LogDone {
                dir,
                name,
                done,
                total,
            } => {
                self.free(&dir, &name, &name, None);
                self.dir(&dir, |dir| dir.tell(done, total));
            }
            BootEvent::LogFailed {
                path,
                dir,
                done,
                total,
            } => {
                let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
                self.free(&dir, &name, &name, None);
                self.dir(&dir, |dir| {
                    dir.tell(done, total);
                    dir.failed += 1;
                });
                let event = BootEvent::LogFailed {
                    path,
                    dir,
                    done,
                    total,
                };
                self.trouble(time, event);
            }
            BootEvent::LogsLoaded { took_ms, .. } => {
                self.loaded_in_ms = Some(took_ms);
                self.working.clear();
                self.enter(BootPhase::CatchingUp);
            }
            BootEvent::DirOffline { dir } => {
                self.dir(&dir, |dir| dir.offline = true);
                self.trouble(time, BootEvent::DirOffline { dir });
            }
            BootEvent::Registering(incarnation) => self.incarnation = Some(incarnation),
            BootEvent::RegistrationRefused { .. } => self.refused += 1,
            BootEvent::ProcessStarted => {}
            BootEvent::Unfenced => self.enter(BootPhase::Opening),
            BootEvent::Version(version) => self.version = Some(version),
            BootEvent::Started => self.close(BootEnd::Up),
            BootEvent::Signal(signal) => self.close(BootEnd::Stopped { signal }),
            BootEvent::Fatal(text) => self.die(time, text),
            BootEvent::Cause(cause) => self.tell_cause(cause),
            event @ (BootEvent::Cut { .. }
            | BootEvent::InvalidMessages { .. }
            | BootEvent::EmptyTried { .. }
            | BootEvent::Emptied { .. }
            | BootEvent::SegmentsDeleted { .. }
            | BootEvent::AllDeleted { .. }
            | BootEvent::Stray { .. }
            | BootEvent::RecreatedEmpty { .. }
            | BootEvent::MetadataNotApplied { .. }
            | BootEvent::CleanerDead
            | BootEvent::Error(_)) => self.trouble(time, event),
        }
    }

    /// Returns a cut at the base of a segment as what it is, if the boot has said that it would empty it.
    fn emptied_by(&self, event: BootEvent) -> BootEvent {
        let BootEvent::Cut {
            log,
            dir,
            base_offset,
            offset,
        } = event
        else {
            return event;
        };
        let tried = BootEvent::EmptyTried {
            log: log.clone(),
            dir: dir.clone(),
            base_offset,
        };
        let mut troubles = self.troubles.iter();
        if offset == base_offset && troubles.any(|trouble| trouble.event == tried) {
            return BootEvent::Emptied {
                log,
                dir,
                base_offset,
            };
        }
        BootEvent::Cut {
            log,
            dir,
            base_offset,
            offset,
        }
    }

    fn enter(&mut self, phase: BootPhase) {
        self.phase = self.phase.max(phase);
    }

    /// Ends the boot once: what follows is the life of a broker, or the way down.
    fn close(&mut self, end: BootEnd) {
        if self.end.is_none() {
            self.end = Some(end);
            self.phase = BootPhase::Ended;
        }
    }

    fn die(&mut self, time: LineTime, text: String) {
        // The first error is the cause; the last lines are what followed from it.
        let first = self
            .troubles
            .iter()
            .find(|trouble| matches!(trouble.event, BootEvent::Error(_) | BootEvent::Fatal(_)));
        let cause = first.map_or_else(|| text.clone(), told);
        self.trouble(time, BootEvent::Fatal(text));
        self.close(BootEnd::Died { cause });
    }

    fn tell_cause(&mut self, cause: String) {
        let Some(trouble) = self.troubles.last_mut() else {
            return;
        };
        trouble.cause.get_or_insert(cause);
        let said = told(trouble);
        let is_first = self
            .troubles
            .iter()
            .filter(|trouble| matches!(trouble.event, BootEvent::Error(_) | BootEvent::Fatal(_)))
            .count()
            == 1;
        if let Some(BootEnd::Died { cause }) = &mut self.end
            && is_first
        {
            *cause = said;
        }
    }

    fn trouble(&mut self, time: LineTime, event: BootEvent) {
        if self.troubles.len() < TROUBLES_CAP {
            self.troubles.push(BootTrouble {
                time,
                event,
                cause: None,
                cut_bytes: None,
            });
        }
    }

    /// Does `change` to the log dir at `path`, which may be new.
    fn dir(&mut self, path: &str, change: impl FnOnce(&mut BootDir)) {
        if let Some(dir) = self.dirs.iter_mut().find(|dir| dir.path == path) {
            return change(dir);
        }
        let mut dir = BootDir {
            path: path.to_owned(),
            ..BootDir::default()
        };
        change(&mut dir);
        self.dirs.push(dir);
    }

    fn tell_dir(&mut self, path: &str, unclean: bool, logs: u64) {
        self.enter(BootPhase::Loading);
        self.dir(path, |dir| {
            dir.unclean = Some(unclean);
            dir.logs = logs;
        });
    }

    fn begin_segment(&mut self, log: String, mut work: BootLog) {
        // The metadata log is read before, and counts nowhere.
        if self.phase < BootPhase::Loading {
            return;
        }
        match self.working.get(&log) {
            Some(before) => {
                work.lane = before.lane;
                if work.segments.is_none() {
                    work.segments_done = before.segments_done;
                }
            }
            None => work.lane = self.lanes.entry(work.dir.clone()).or_default().take(),
        }
        self.working.insert(log, work);
    }

    /// Notes that the log `name` is done, which the lines of its recovery call `partition`.
    fn free(&mut self, dir: &str, name: &str, partition: &str, took_ms: Option<u64>) {
        let work = self.working.remove(partition);
        let lane = work.map(|work| work.lane);
        if let Some(lane) = lane {
            self.lanes
                .entry(dir.to_owned())
                .or_default()
                .free
                .push(lane);
        }
        self.finished.push(DoneLog {
            dir: dir.to_owned(),
            name: name.to_owned(),
            partition: partition.to_owned(),
            lane,
            took_ms,
        });
    }

    fn finish_log(&mut self, log: &LoadedLog, dir: &str, done: u64, total: u64) {
        let name = log.path.rsplit('/').next().unwrap_or(&log.path);
        // The dir of a stray has a new name by now.
        self.free(dir, name, &log.partition.to_string(), Some(log.took_ms));
        self.dir(dir, |dir| dir.tell(done, total));
    }
}

/// Returns a trouble with its exception, as one line.
fn told(trouble: &BootTrouble) -> String {
    let text = match &trouble.event {
        BootEvent::Error(text) | BootEvent::Fatal(text) => text.as_str(),
        _ => "",
    };
    match &trouble.cause {
        Some(cause) => format!("{text}: {cause}"),
        None => text.to_owned(),
    }
}
