//! Who tells where the threads of a boot are: its log, or signs where that cannot be read.

use std::io;
use std::time::Duration;

use crate::observe::server_log::{Boots, LogSource};
use crate::terms::Timestamp;

use super::report::{BootSource, SourceReport};
use super::signs::BootSigns;

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

    /// Says whether nothing more can come where nobody writes to a file any more.
    pub(super) fn is_at_end(&self) -> bool {
        match self {
            Self::Log(log) => log.is_at_end(),
            Self::Signs(_) => false,
        }
    }

    /// Says whether more of a log can come, while the process that writes to it goes on or not.
    pub(super) fn may_grow(&self, lives: bool) -> bool {
        match self {
            Self::Log(log) => log.may_grow(lives),
            Self::Signs(_) => false,
        }
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

    /// Returns how the log is, and the signs in its place; `log_at` is when the log said something last.
    pub(super) fn reports(&self, log_at: Option<Timestamp>) -> Vec<SourceReport> {
        let of = |source, at, trouble| SourceReport {
            source,
            at,
            trouble,
        };
        match self {
            Self::Log(log) => {
                let skipped = log.skipped();
                let trouble =
                    (skipped > 0).then(|| format!("{skipped} bytes of it were passed over"));
                vec![of(BootSource::Log, log_at, trouble)]
            }
            Self::Signs(signs) => vec![
                of(BootSource::Log, None, Some(signs.no_log().to_owned())),
                of(BootSource::Files, signs.at(), None),
            ],
        }
    }
}
