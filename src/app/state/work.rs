//! A scan or a job that runs: its counters, and what follows from how they move.

use std::collections::VecDeque;

use crate::engine::{JobOutcome, Phase, Progress};
use crate::terms::Timestamp;

/// Milliseconds over which a rate is taken.
const WINDOW_MS: i64 = 10_000;
/// Milliseconds before the first rate is worth showing.
const FIRST_RATE_MS: i64 = 1_000;

/// What runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkKind {
    /// Batches are read, nothing is changed.
    Scan,
    /// Every segment is read in full, nothing is changed.
    Verify,
    /// Names and small files are read for what stands in the way of a boot; nothing is changed.
    Preflight,
    /// A plan is carried out by a process of its own.
    Apply {
        /// The job's id.
        job: String,
        /// Its plan's hash.
        plan: String,
    },
}

/// The counters at one moment.
#[derive(Debug, Clone, PartialEq)]
struct Sample {
    at: Timestamp,
    /// Bytes read, by log dir.
    bytes: Vec<u64>,
    /// Steps done.
    steps: u64,
}

/// A scan or a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// What it is.
    pub kind: WorkKind,
    /// When it began, or was first seen.
    pub started: Timestamp,
    /// Its newest counters.
    pub progress: Progress,
    /// When these were read.
    pub at: Timestamp,
    /// Whether it was asked to stop.
    pub stopping: bool,
    /// How it ended.
    pub outcome: Option<JobOutcome>,
    samples: VecDeque<Sample>,
}

impl Work {
    /// Returns work that has just begun.
    pub fn new(kind: WorkKind, started: Timestamp) -> Self {
        Self {
            kind,
            started,
            progress: Progress::default(),
            at: started,
            stopping: false,
            outcome: None,
            samples: VecDeque::new(),
        }
    }

    /// Says whether it still runs.
    pub fn runs(&self) -> bool {
        self.outcome.is_none()
    }

    /// Says whether it is a job that changes files.
    pub fn is_apply(&self) -> bool {
        matches!(self.kind, WorkKind::Apply { .. })
    }

    /// Takes new counters.
    pub fn on_progress(&mut self, progress: Progress, at: Timestamp) {
        let sample = Sample {
            at,
            bytes: progress.dirs.iter().map(|dir| dir.bytes_done).collect(),
            steps: progress.steps_done,
        };
        let same_dirs = |last: &Sample| last.bytes.len() == sample.bytes.len();
        if !self.samples.back().is_none_or(same_dirs) {
            self.samples.clear();
        }
        self.samples.push_back(sample);
        // One sample older than the window stays, so that the window is always covered.
        while self
            .samples
            .get(1)
            .is_some_and(|sample| at.0.saturating_sub(sample.at.0) > WINDOW_MS)
        {
            self.samples.pop_front();
        }
        self.progress = progress;
        self.at = at;
    }

    /// Returns bytes a second over the last seconds of one log dir, from when it was begun; `None` where too little was
    /// seen.
    pub fn dir_rate(&self, dir: usize) -> Option<u64> {
        let of = |sample: &Sample| sample.bytes.get(dir).copied();
        let begun = self
            .samples
            .iter()
            .rposition(|sample| of(sample).is_none_or(|bytes| bytes == 0));
        self.slope(begun.unwrap_or(0), of)
    }

    /// Returns bytes a second over the last seconds of all log dirs; `None` where too little was seen.
    pub fn rate(&self) -> Option<u64> {
        self.slope(0, |sample| Some(sample.bytes.iter().sum()))
    }

    /// Returns bytes a second since the beginning; `None` where too little was seen.
    pub fn mean_rate(&self) -> Option<u64> {
        let elapsed = self.at.0.saturating_sub(self.started.0);
        per_second(self.progress.bytes().0, elapsed)
    }

    /// Returns the seconds until one log dir is read, at its rate.
    pub fn dir_left(&self, dir: usize) -> Option<u64> {
        let progress = self.progress.dirs.get(dir)?;
        seconds(
            progress.bytes_total.saturating_sub(progress.bytes_done),
            self.dir_rate(dir)?,
        )
    }

    /// Returns the seconds until all is read, or all steps are done. Of a scan they are those of the slowest log dir, or of
    /// all of them one after the other where some were not begun.
    pub fn left(&self) -> Option<u64> {
        match self.progress.phase {
            Phase::Listing | Phase::Scanning => {}
            Phase::Applying => return self.steps_left(),
            _ => return None,
        }
        let (done, total) = self.progress.bytes();
        let together = seconds(total.saturating_sub(done), self.rate()?);
        let open = self.progress.dirs.iter().enumerate();
        open.filter(|(_, dir)| dir.bytes_done < dir.bytes_total)
            .map(|(index, _)| self.dir_left(index))
            .try_fold(0, |longest, left| Some(left?.max(longest)))
            .or(together)
    }

    /// Returns the seconds until all steps are done, at their rate.
    fn steps_left(&self) -> Option<u64> {
        let progress = &self.progress;
        let left = progress.steps_total.saturating_sub(progress.steps_done);
        let begun = self.samples.iter().rposition(|sample| sample.steps == 0);
        // A thousandth of a step, so that slow ones count too.
        let rate = self.slope(begun.unwrap_or(0), |sample| {
            Some(sample.steps.saturating_mul(1000))
        })?;
        seconds(left.saturating_mul(1000), rate)
    }

    fn slope(&self, first: usize, of: impl Fn(&Sample) -> Option<u64>) -> Option<u64> {
        let (begin, end) = (self.samples.get(first)?, self.samples.back()?);
        per_second(
            of(end)?.saturating_sub(of(begin)?),
            end.at.0.saturating_sub(begin.at.0),
        )
    }
}

fn per_second(bytes: u64, elapsed_ms: i64) -> Option<u64> {
    if elapsed_ms < FIRST_RATE_MS {
        return None;
    }
    let elapsed = u64::try_from(elapsed_ms).ok()?;
    u64::try_from(u128::from(bytes) * 1000 / u128::from(elapsed)).ok()
}

/// Returns the seconds that `bytes` take, rounded up; `None` at a standstill.
pub fn seconds(bytes: u64, bytes_per_second: u64) -> Option<u64> {
    (bytes_per_second > 0).then(|| bytes.div_ceil(bytes_per_second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::DirProgress;

    fn progress(done: &[(u64, u64)]) -> Progress {
        Progress {
            phase: Phase::Scanning,
            dirs: done
                .iter()
                .map(|&(bytes_done, bytes_total)| DirProgress {
                    bytes_done,
                    bytes_total,
                    ..DirProgress::default()
                })
                .collect(),
            ..Progress::default()
        }
    }

    #[test]
    fn a_rate_is_unknown_before_the_first_second() {
        let mut work = Work::new(WorkKind::Scan, Timestamp(0));
        work.on_progress(progress(&[(0, 100)]), Timestamp(0));
        assert_eq!(work.rate(), None);
        work.on_progress(progress(&[(50, 100)]), Timestamp(500));
        assert_eq!((work.rate(), work.left()), (None, None));
    }

    #[test]
    fn the_end_is_that_of_the_slowest_dir() {
        let mut work = Work::new(WorkKind::Scan, Timestamp(0));
        work.on_progress(progress(&[(0, 1000), (0, 1000)]), Timestamp(0));
        work.on_progress(progress(&[(100, 1000), (300, 1000)]), Timestamp(1000));
        assert_eq!(work.dir_rate(0), Some(100));
        assert_eq!(work.rate(), Some(400));
        assert_eq!(work.left(), Some(9));
    }

    #[test]
    fn steps_have_an_end_too() {
        let mut work = Work::new(WorkKind::Scan, Timestamp(0));
        for (second, steps_done) in [(0, 0), (1, 0), (2, 5), (3, 10)] {
            let progress = Progress {
                phase: Phase::Applying,
                steps_done,
                steps_total: 60,
                ..Progress::default()
            };
            work.on_progress(progress, Timestamp(second * 1000));
        }
        assert_eq!(work.left(), Some(10));
    }

    #[test]
    fn a_dir_that_waits_for_the_other_has_no_rate() {
        let mut work = Work::new(WorkKind::Scan, Timestamp(0));
        work.on_progress(progress(&[(0, 1000), (0, 1000)]), Timestamp(0));
        work.on_progress(progress(&[(500, 1000), (0, 1000)]), Timestamp(1000));
        assert_eq!(work.dir_rate(1), None);
        assert_eq!(work.left(), Some(3));
        work.on_progress(progress(&[(1000, 1000), (0, 1000)]), Timestamp(2000));
        work.on_progress(progress(&[(1000, 1000), (500, 1000)]), Timestamp(3000));
        assert_eq!(work.left(), Some(1));
    }

    #[test]
    fn a_rate_forgets_what_is_older_than_its_window() {
        let mut work = Work::new(WorkKind::Scan, Timestamp(0));
        for second in 0..=30_i64 {
            let done = if second <= 10 {
                second.unsigned_abs() * 1000
            } else {
                10_000
            };
            work.on_progress(progress(&[(done, 100_000)]), Timestamp(second * 1000));
        }
        assert_eq!(work.rate(), Some(0));
        assert_eq!(work.left(), None);
        assert_eq!(work.mean_rate(), Some(333));
    }
}
