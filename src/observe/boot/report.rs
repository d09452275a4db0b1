//! What one look at a booting broker says: facts with their sources, for a line, a screen or a recording.

use serde::{Deserialize, Serialize};

use crate::observe::server_log::{BootEnd, BootPhase, BootTrouble};
use crate::observe::supervisor::KernelKill;
use crate::terms::{Offset, Timestamp};

use super::attempts::History;
use super::catch_up::CatchUp;
use super::first_pass::FirstPass;
use super::pace::Span;

/// How far something is, in bytes of segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BootProgress {
    /// Bytes that were read; never goes back.
    pub bytes_done: u64,
    /// Bytes that this boot reads.
    pub bytes_total: u64,
    /// Bytes a second of late; `None` before there is a rate.
    pub bytes_per_s: Option<u64>,
    /// How long it still takes.
    pub left: Option<Span>,
}

/// A log dir of a booting broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirReport {
    /// Its path, as the broker sees it.
    pub path: String,
    /// Whether its logs are recovered; `None` until the broker tells.
    pub unclean: Option<bool>,
    /// Whether the broker gave it up.
    pub offline: bool,
    /// Logs that are done.
    pub logs_done: u64,
    /// Its logs; `None` until they are known.
    pub logs_total: Option<u64>,
    /// Which source says how many logs are done; `None` before any does.
    #[serde(default)]
    pub logs_by: Option<BootSource>,
    /// Logs that could not be loaded.
    pub failed: u64,
    /// Its bytes; `None` where the files cannot be seen.
    pub progress: Option<BootProgress>,
}

/// What a recovery thread works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkReport {
    /// The log dir's place among [`BootReport::dirs`].
    pub dir: usize,
    /// The thread, from 0.
    pub thread: usize,
    /// The log's name.
    pub name: String,
    /// The segment that is read.
    pub base_offset: Offset,
    /// Segments of it that are done.
    pub segments_done: u64,
    /// Segments that are read; `None` where nobody knows.
    pub segments: Option<u64>,
    /// Bytes of the log that were read.
    pub bytes_done: u64,
    /// Bytes of the log that are read; `None` where the files cannot be seen.
    pub bytes_total: Option<u64>,
}

/// Where numbers of a boot come from, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BootSource {
    /// The counters of the recovery threads in `/proc`.
    Threads,
    /// The broker's log.
    Log,
    /// Its metrics over HTTP.
    Metrics,
    /// Snapshots and indexes in the log dirs.
    Files,
}

impl BootSource {
    /// Returns its name on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Log => "log",
            Self::Metrics => "metrics",
            Self::Files => "files",
        }
    }
}

/// One source and how it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceReport {
    /// Which.
    pub source: BootSource,
    /// When it last said something new; `None` if it never did.
    pub at: Option<Timestamp>,
    /// Why it cannot be used, or not all of it.
    pub trouble: Option<String>,
    /// How often a log's file was renamed or cut, and the log read on in the new one.
    #[serde(default)]
    pub turned: u64,
}

/// What one look says. Logs that are done and troubles are told once, by the first look that saw them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootReport {
    /// When.
    pub at: Timestamp,
    /// How far the boot is.
    pub phase: BootPhase,
    /// The log dirs.
    pub dirs: Vec<DirReport>,
    /// What is worked on.
    pub works: Vec<WorkReport>,
    /// Logs that are done since the last look: log dir's place, dir's name.
    pub finished: Vec<(usize, String)>,
    /// Segments that were read to their end.
    pub segments_done: u64,
    /// All log dirs together; `None` where the files cannot be seen.
    pub progress: Option<BootProgress>,
    /// Which source says how many bytes are done; `None` before any does.
    #[serde(default)]
    pub bytes_by: Option<BootSource>,
    /// When the process began.
    pub began: Option<Timestamp>,
    /// The boots before, and who could end this one; told once.
    pub history: Option<History>,
    /// What went wrong since the last look.
    pub troubles: Vec<BootTrouble>,
    /// How often the controller has not taken the broker.
    pub refused: u64,
    /// How far it has caught up, once its logs are loaded.
    pub catch_up: Option<CatchUp>,
    /// What the first retention pass will delete; `None` before that is known.
    #[serde(default)]
    pub first_pass: Option<FirstPass>,
    /// Where this comes from.
    pub sources: Vec<SourceReport>,
    /// How the boot ended.
    pub end: Option<BootEnd>,
    /// The kernel killed the process for memory.
    #[serde(default)]
    pub kernel_kill: Option<KernelKill>,
}

impl BootReport {
    /// Returns logs that are done and all logs, as far as the log dirs are known.
    pub fn logs(&self) -> (u64, u64) {
        self.dirs.iter().fold((0, 0), |(done, all), dir| {
            (done + dir.logs_done, all + dir.logs_total.unwrap_or(0))
        })
    }

    /// Takes what an older look told once, which was not passed on.
    pub fn absorb(&mut self, older: Self) {
        let finished = std::mem::take(&mut self.finished);
        self.finished = older.finished.into_iter().chain(finished).collect();
        let troubles = std::mem::take(&mut self.troubles);
        self.troubles = older.troubles.into_iter().chain(troubles).collect();
        self.history = self.history.take().or(older.history);
    }

    /// Returns the log dir that takes longest, among several that still work.
    pub fn slowest(&self) -> Option<&DirReport> {
        let left = |dir: &&DirReport| {
            let progress = dir.progress?;
            (progress.bytes_done < progress.bytes_total).then_some(progress.left?.likely_ms)
        };
        let working: Vec<&DirReport> = self.dirs.iter().filter(|dir| left(dir).is_some()).collect();
        (self.dirs.len() > 1)
            .then(|| working.into_iter().max_by_key(left))
            .flatten()
    }
}
