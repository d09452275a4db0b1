//! Who tells where the threads of a boot are: its log, or signs where that cannot be read.

use std::io;
use std::time::Duration;

use crate::observe::server_log::{Boots, LogSource};
use crate::terms::Timestamp;

use super::report::{BootSource, SourceReport};
use super::signs::BootSigns;

/// How long a log of no known process must be quiet, in ms, before that is told.
const QUIET_MS: i64 = 10_000;

/// Whether more comes of a log of which no process is known, as of the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum More {
    /// It may.
    MayCome,
    /// Not by what it shows itself.
    IsOver,
    /// Its broker is gone, as somebody else found.
    GivenUp,
}

/// Who tells of a boot.
#[derive(Debug)]
pub enum ToldBy {
    /// Its log.
    Log(Box<LogSource>),
    /// What shows without it.
    Signs(Box<BootSigns>),
}

impl ToldBy {
    /// Takes what is new, waiting at most `patience` for it; says whether there was any. `threads` are the recovery threads
    /// that are alive, `None` once the process is gone.
    pub(super) fn take(
        &mut self,
        boots: &mut Boots,
        patience: Duration,
        threads: Option<usize>,
        now: Timestamp,
    ) -> io::Result<bool> {
        match self {
            Self::Log(log) => log.take(boots, patience),
            Self::Signs(signs) => {
                if let Some(threads) = threads {
                    std::thread::sleep(patience);
                    signs.look(boots, threads, now);
                }
                Ok(false)
            }
        }
    }

    pub(super) fn finish(&mut self, boots: &mut Boots) {
        if let Self::Log(log) = self {
            log.finish(boots);
        }
    }

    /// Says whether nothing was said yet.
    pub(super) fn is_silent(&self) -> bool {
        match self {
            Self::Log(log) => log.is_silent(),
            Self::Signs(_) => false,
        }
    }

    /// Returns how far its clock is ahead of UTC, in ms; `None` where that does not show.
    pub(super) fn zone_ms(&self) -> Option<i64> {
        match self {
            Self::Log(log) => log.zone_ms(),
            Self::Signs(_) => Some(0),
        }
    }

    /// Returns whether more comes, where no process is known: see [`LogSource::is_over`]; `before` is what was known before.
    pub(super) fn more(&self, before: More, now: Timestamp) -> More {
        match self {
            Self::Log(log) if before != More::GivenUp && log.is_over(now.0) => More::IsOver,
            _ if before == More::GivenUp => More::GivenUp,
            _ => More::MayCome,
        }
    }

    /// Says whether it is a log in a file.
    pub(super) fn is_file(&self) -> bool {
        matches!(self, Self::Log(log) if log.is_file())
    }

    /// Says whether what came is no broker's log.
    pub(super) fn is_foreign(&self) -> bool {
        match self {
            Self::Log(log) => log.is_foreign(),
            Self::Signs(_) => false,
        }
    }

    /// Returns why there is no log, as a clause.
    pub(super) fn no_log(&self) -> Option<&str> {
        match self {
            Self::Log(_) => None,
            Self::Signs(signs) => Some(signs.no_log()),
        }
    }

    pub(super) fn source(&self) -> BootSource {
        match self {
            Self::Log(_) => BootSource::Log,
            Self::Signs(_) => BootSource::Files,
        }
    }

    /// Returns how the log is, and the signs in its place; `log_at` is when the log said something last. `is_unseen` says
    /// that no process of the log is known.
    pub(super) fn reports(
        &self,
        log_at: Option<Timestamp>,
        is_unseen: bool,
        now: Timestamp,
    ) -> Vec<SourceReport> {
        match self {
            Self::Log(log) => vec![SourceReport {
                source: BootSource::Log,
                at: log_at,
                trouble: trouble(log, is_unseen, now),
                turned: log.turned(),
            }],
            Self::Signs(signs) => {
                let of = |source, at, trouble| SourceReport {
                    source,
                    at,
                    trouble,
                    turned: 0,
                };
                vec![
                    of(BootSource::Log, None, Some(signs.no_log().to_owned())),
                    of(BootSource::Files, signs.at(), None),
                ]
            }
        }
    }
}

/// Returns what is wrong with a log, as clauses.
fn trouble(log: &LogSource, is_unseen: bool, now: Timestamp) -> Option<String> {
    let mut clauses = Vec::new();
    let skipped = log.skipped();
    if skipped > 0 {
        clauses.push(format!("{skipped} bytes of it were passed over"));
    }
    match log.cut_lines() {
        0 => {}
        1 => clauses.push("a line of it was too long and read in part".to_owned()),
        lines => clauses.push(format!(
            "{lines} lines of it were too long and read in part"
        )),
    }
    if log.is_gone() {
        clauses.push("its file is gone from its path, and no new one has come".to_owned());
    }
    if is_unseen && log.quiet_ms(now.0).is_some_and(|quiet| quiet >= QUIET_MS) {
        clauses.push(
            "it is quiet, and no process that writes it is seen from here: a boot says nothing inside a segment, or it has \
             ended"
                .to_owned(),
        );
    }
    (!clauses.is_empty()).then(|| clauses.join("; "))
}
