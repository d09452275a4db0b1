//! A booting broker as the screen knows it.

use crate::app::boot_words::Told;
use crate::app::crash_loop::{self, Foresight};
use crate::log::Severity;
pub use crate::observe::DirReport as BootDir;
use crate::observe::server_log::{BootEnd, BootPhase, BootTrouble};
use crate::observe::{BootReport, History, WorkReport};
use crate::terms::Timestamp;

use super::logs::{DirRow, LogId, Logs};

/// A boot: what its newest look says, and what was told of it so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Boot {
    /// The newest look; what it tells once is not kept in it.
    pub report: BootReport,
    /// When it was first seen.
    pub seen: Timestamp,
    /// What went wrong, in order.
    pub troubles: Vec<BootTold>,
    /// The boots before, and who could end this one.
    pub history: History,
    /// What looks told once so far, for a recording that begins in the middle.
    pub once: Once,
}

/// What looks tell once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Once {
    /// Logs that are done.
    pub finished: Vec<(usize, String)>,
    /// What went wrong.
    pub troubles: Vec<BootTrouble>,
}

/// Something that went wrong in a boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootTold {
    /// Of which log, where that is known.
    pub log: Option<LogId>,
    /// How bad.
    pub severity: Severity,
    /// What.
    pub told: Told,
}

/// What a boot does with a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BootRow {
    /// Segments that it reads; `None` where nobody knows.
    pub segments: Option<u64>,
    /// Bytes that it reads; `None` where nobody knows.
    pub bytes: Option<u64>,
    /// What happened to it, in a word.
    pub word: Option<&'static str>,
    /// The worst that was told of it.
    pub worst: Option<(Severity, String)>,
}

impl BootRow {
    /// Takes what was told of the log.
    pub fn tell(&mut self, severity: Severity, told: &Told) {
        let word = match told.code {
            "cut" => "cut",
            "segment_emptied" => "EMPTIED",
            "segments_deleted" | "all_deleted" => "LOST",
            "stray" => "STRAY",
            "log_failed" => "FAILED",
            "recreated_empty" => "RE-CREATED",
            _ => return,
        };
        if self
            .worst
            .as_ref()
            .is_none_or(|(worst, _)| severity >= *worst)
        {
            self.word = Some(word);
            self.worst = Some((severity, told.text.clone()));
        }
    }
}

impl Boot {
    /// Says whether it goes on.
    pub fn goes_on(&self) -> bool {
        self.report.end.is_none()
    }

    /// Says whether its logs are not loaded yet.
    pub fn has_logs_to_load(&self) -> bool {
        self.goes_on() && self.report.phase <= BootPhase::Loading
    }

    /// Says whether the broker came up.
    pub fn is_up(&self) -> bool {
        self.report.end == Some(BootEnd::Up)
    }

    /// Returns the newest look with all that was told before it.
    pub fn whole(&self) -> BootReport {
        BootReport {
            finished: self.once.finished.clone(),
            troubles: self.once.troubles.clone(),
            history: Some(self.history.clone()),
            ..self.report.clone()
        }
    }

    /// Returns who will end it, whether it is one of a row that failed, and what to do; `rate` is that at which krescue
    /// reads batches here.
    pub fn foresight(&self, rate: Option<u64>) -> Foresight {
        crash_loop::foresee_report(&self.report, &self.history, rate)
    }

    /// Returns what it says of a log dir.
    pub fn dir(&self, row: &DirRow) -> Option<&BootDir> {
        self.report.dirs.iter().find(|dir| is_same(row, &dir.path))
    }

    /// Returns what its threads work on, with their log dirs.
    pub fn works(&self) -> impl Iterator<Item = (&BootDir, &WorkReport)> {
        let works = self.report.works.iter();
        works.filter_map(|work| Some((self.report.dirs.get(work.dir)?, work)))
    }

    /// Returns how many losses were told.
    pub fn losses(&self) -> u64 {
        let losses = self.troubles.iter();
        losses
            .filter(|trouble| trouble.severity >= Severity::Loss)
            .count() as u64
    }
}

impl Logs {
    /// Forgets what was said before: the broker itself loads the logs now.
    pub fn on_boot_started(&mut self) {
        self.on_scan_started();
        for row in self.rows_mut() {
            row.boot = Some(BootRow {
                bytes: row.boot_reads,
                ..BootRow::default()
            });
        }
    }

    /// Forgets how far a boot was that broke off; what it lost stays told.
    pub fn on_boot_broken_off(&mut self) {
        for row in self.rows_mut() {
            row.state = None;
            (row.segments_read, row.bytes_read) = (0, 0);
            row.boot.take_if(|boot| boot.worst.is_none());
        }
    }
}

/// Says whether `path`, as the broker sees it, is this log dir; a container's is seen from here below `/proc`.
pub fn is_same(row: &DirRow, path: &str) -> bool {
    row.path.as_os_str() == path
        || (row.path.starts_with("/proc") && row.path.ends_with(path.trim_start_matches('/')))
}
