//! How far a plan or a job is, on the standard error: one line that is drawn over on a terminal, else a line each 10 s.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;

use super::line::{ProgressLine, time};
use crate::app::text::{bytes_of, clock as clock_text, duration, plural, rate};
use crate::cli::clock;
use crate::engine::{Phase, Progress};
use crate::terms::Timestamp;

/// How often a terminal's line is drawn.
const REDRAW: Duration = Duration::from_millis(250);
/// How often a line is written where there is no terminal.
const LINE: Duration = Duration::from_secs(10);

/// Writes progress to the standard error.
#[derive(Debug)]
pub(crate) struct ProgressReport {
    manner: Manner,
    started: Instant,
    /// When the last line was written; `None` before the first.
    last: Option<Instant>,
}

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// One under the other.
    Lines,
    /// Over each other, on a terminal on which none stands now.
    Wiped,
    /// Over each other, on a terminal on which one stands now.
    Drawn,
}

impl ProgressReport {
    /// Starts the clock.
    pub(crate) fn start() -> Self {
        Self {
            manner: if io::stderr().is_terminal() {
                Manner::Wiped
            } else {
                Manner::Lines
            },
            started: Instant::now(),
            last: None,
        }
    }

    /// Writes the counters, if it is time; returns them if a line was due (for a JSON line of the same rhythm).
    pub(crate) fn tick(&mut self, progress: &Progress) -> Option<ProgressLine> {
        let every = match self.manner {
            Manner::Lines => LINE,
            Manner::Wiped | Manner::Drawn => REDRAW,
        };
        // The first line comes after one period: short runs say nothing.
        if self.last.unwrap_or(self.started).elapsed() < every {
            return None;
        }
        self.last = Some(Instant::now());
        let line = line_of(progress, self.started.elapsed());
        let text = text_of(progress, &line, clock::now(), &TimeZone::system());
        let mut err = io::stderr().lock();
        // Nobody to read it is no reason to stop.
        let _ = match self.manner {
            Manner::Lines => writeln!(err, "{text}"),
            Manner::Wiped | Manner::Drawn => {
                self.manner = Manner::Drawn;
                write!(err, "\r\x1b[K{text}").and_then(|()| err.flush())
            }
        };
        Some(line)
    }

    /// Wipes the terminal's line.
    pub(crate) fn end(&mut self) {
        if self.manner == Manner::Drawn {
            self.manner = Manner::Wiped;
            let mut err = io::stderr().lock();
            let _ = write!(err, "\r\x1b[K").and_then(|()| err.flush());
        }
    }
}

impl Drop for ProgressReport {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns the counters with rate and end time, after `elapsed`.
fn line_of(progress: &Progress, elapsed: Duration) -> ProgressLine {
    let (bytes_done, bytes_total) = progress.bytes();
    let (logs_done, logs_total) = progress.logs();
    let ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let bytes_per_s = (ms > 0 && bytes_done > 0)
        .then(|| u64::try_from(u128::from(bytes_done) * 1000 / u128::from(ms)).ok())
        .flatten();
    let left_ms = bytes_per_s
        .filter(|rate| *rate > 0 && progress.phase == Phase::Scanning)
        .map(|rate| bytes_total.saturating_sub(bytes_done).saturating_mul(1000) / rate);
    let end_time = left_ms
        .and_then(|left| i64::try_from(left).ok())
        .and_then(|left| time(Timestamp(clock::now().0.saturating_add(left))));
    ProgressLine {
        job: None,
        phase: progress.phase,
        bytes_done,
        bytes_total,
        logs_done,
        logs_total,
        steps_done: progress.steps_done,
        steps_total: progress.steps_total,
        bytes_per_s,
        end_time,
    }
}

/// Returns the counters as a sentence.
fn text_of(progress: &Progress, line: &ProgressLine, now: Timestamp, zone: &TimeZone) -> String {
    match progress.phase {
        Phase::Listing => "listing the log dirs".to_owned(),
        Phase::Scanning => {
            let rate_text = line
                .bytes_per_s
                .map(|per_second| {
                    let left = line.bytes_total.saturating_sub(line.bytes_done) / per_second.max(1);
                    let end = i64::try_from(left)
                        .map_or(i64::MAX, |left| left.saturating_mul(1000))
                        .saturating_add(now.0);
                    format!(
                        ", {}, ~{} left, until {}",
                        rate(per_second),
                        duration(left),
                        clock_text(Timestamp(end), zone)
                    )
                })
                .unwrap_or_default();
            format!(
                "reading batches: {}, {} of {}{rate_text}",
                bytes_of(line.bytes_done, line.bytes_total),
                line.logs_done,
                plural(line.logs_total, "log", "logs"),
            )
        }
        Phase::Checking => "checking locks, space and permissions".to_owned(),
        Phase::Applying => format!(
            "applying: {} of {}",
            line.steps_done,
            plural(line.steps_total, "step", "steps")
        ),
        Phase::Syncing => "syncing the volumes".to_owned(),
        Phase::HandingOver => "writing checkpoints and markers".to_owned(),
        Phase::Ended => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::engine::DirProgress;

    #[test]
    fn rate_and_end_time_follow_from_the_bytes() {
        let progress = Progress {
            phase: Phase::Scanning,
            dirs: vec![DirProgress {
                log_dir: PathBuf::from("/d"),
                bytes_done: 10 << 20,
                bytes_total: 30 << 20,
                logs_done: 1,
                logs_total: 3,
            }],
            ..Progress::default()
        };
        let line = line_of(&progress, Duration::from_secs(2));
        assert_eq!(line.bytes_per_s, Some(5 << 20));
        assert!(line.end_time.is_some());
        assert_eq!(
            text_of(
                &progress,
                &line,
                Timestamp(1_700_000_000_000),
                &TimeZone::UTC
            ),
            "reading batches: 10.0/30.0 MiB, 1 of 3 logs, 5.00 MiB/s, ~4 s left, until 22:13:24"
        );
        let nothing = line_of(&Progress::default(), Duration::from_secs(2));
        assert_eq!((nothing.bytes_per_s, nothing.end_time), (None, None));
    }
}
