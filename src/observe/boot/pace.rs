//! How long a boot still takes.
//!
//! A boot is no steady stream. A batch costs as much time as its bytes and 16 KiB more, so small batches are slow; a log
//! costs some milliseconds whatever its size; and Java's compiler makes the first hundreds of megabytes several times
//! slower than what follows. Each is taken out of what was measured and put back into what is left. Where threads wait for
//! the disk rather than for a processor, bytes alone count.
//!
//! The constants were fitted to boots of 3.9.1, 4.0.2 and 4.4.0 with batches of 200 bytes to 32 KB, 1 and 2 threads.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::log_bytes::as_float;

/// The bytes whose reading takes as long as what is done once for a batch.
pub(super) const BATCH_COST: f64 = 16_384.0;
/// How many times slower the first byte is than a warm one, less one.
const COLD: f64 = 2.2;
/// The cost after which that has fallen to a third.
const WARM_UP: f64 = 600e6;
/// How long the rate on screen looks back, in ms.
const WINDOW_MS: i64 = 10_000;
/// The shortest time that a rate is taken from, in ms.
const SHORTEST_MS: i64 = 800;
/// What a log takes beside its bytes, in ms, until small logs have shown it.
const LOG_MS: f64 = 10.0;
/// Logs whose time is kept.
const TIMES: usize = 64;
/// Samples that are kept, about.
const SAMPLES: usize = 1024;

/// How long something still takes, in ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// If all goes as well as it did at best.
    pub least_ms: i64,
    /// As it went lately.
    pub likely_ms: i64,
    /// If all goes as badly as it did at worst.
    pub most_ms: i64,
}

/// What a log dir had done at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub(super) at_ms: i64,
    /// Bytes of segments.
    pub(super) bytes: u64,
    /// What they cost, in bytes of endless batches.
    pub(super) cost: f64,
    /// The cost of all log dirs, which warms the compiler.
    pub(super) all_cost: f64,
    /// Logs that are done.
    pub(super) logs: u64,
    /// Time that its threads had or wanted a processor, in ms; `None` where that cannot be seen.
    pub(super) cpu_ms: Option<u64>,
}

/// What a log dir has still to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Left {
    pub(super) bytes: u64,
    pub(super) cost: f64,
    /// The cost of all log dirs.
    pub(super) all_cost: f64,
    pub(super) logs: u64,
    /// The largest cost that one thread must bear alone.
    pub(super) largest: f64,
    pub(super) threads: usize,
}

/// The pace of one log dir.
#[derive(Debug, Default)]
pub(super) struct Pace {
    samples: VecDeque<Sample>,
    /// Times of logs without much in them, in ms.
    times: VecDeque<u64>,
}

/// A speed that was measured.
#[derive(Debug, Clone, Copy)]
struct Speed {
    /// Cost in a ms of one thread, as if it were warm.
    cost: f64,
    /// Bytes in a ms of one thread.
    bytes: f64,
    /// How much of it hung on processors, 0 to 1.
    on_processor: f64,
}

impl Pace {
    /// Takes what was done at a moment, no more often than it is worth keeping.
    pub(super) fn take(&mut self, sample: Sample) {
        let elapsed = self
            .samples
            .front()
            .map_or(0, |first| sample.at_ms - first.at_ms);
        let step = (elapsed / i64::try_from(SAMPLES).unwrap_or(i64::MAX)).max(150);
        if let Some(before) = self.samples.iter().rev().nth(1)
            && sample.at_ms - before.at_ms < step
        {
            // The newest stands for the present until it is worth keeping.
            self.samples.pop_back();
        }
        self.samples.push_back(sample);
        let kept = (elapsed / 3).max(WINDOW_MS);
        while self
            .samples
            .get(1)
            .is_some_and(|second| sample.at_ms - second.at_ms > kept)
        {
            self.samples.pop_front();
        }
    }

    /// Takes how long a log took in which there was next to nothing to read.
    pub(super) fn take_log(&mut self, ms: u64) {
        if self.times.len() == TIMES {
            self.times.pop_front();
        }
        self.times.push_back(ms);
    }

    /// Returns bytes a second of late.
    pub(super) fn rate(&self) -> Option<u64> {
        let last = self.samples.back()?;
        let first = self.since(last.at_ms - WINDOW_MS)?;
        let ms = u64::try_from(last.at_ms - first.at_ms).ok()?;
        let bytes = last.bytes.saturating_sub(first.bytes);
        (ms > 0 && bytes > 0).then(|| bytes.saturating_mul(1000) / ms)
    }

    /// Returns how long `left` takes; `None` before there is a speed.
    pub(super) fn left(&self, left: &Left) -> Option<Span> {
        if left.bytes == 0 && left.logs == 0 {
            return Some(Span {
                least_ms: 0,
                likely_ms: 0,
                most_ms: 0,
            });
        }
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let all = self.speed(first, last, left.threads)?;
        let likely = self.time(left, all, last.all_cost);
        // Quarters of the time tell how steady it is.
        let quarter = (last.at_ms - first.at_ms) / 4;
        let mut times: Vec<f64> = (0..4)
            .filter_map(|at| {
                let from = self.since(first.at_ms + at * quarter)?;
                let to = self.since(first.at_ms + (at + 1) * quarter)?;
                let speed = self.speed(from, to, left.threads)?;
                Some(self.time(left, speed, last.all_cost))
            })
            .collect();
        times.push(likely);
        let (best, worst) = times
            .iter()
            .fold((likely * 0.9, likely * 1.1), |(best, worst), time| {
                (best.min(*time), worst.max(*time))
            });
        // A compiler that does not come to its work leaves all as slow as it is.
        let warm = ahead(last.all_cost, left.all_cost) / boost(last.all_cost);
        Some(Span {
            least_ms: whole(f64::midpoint(best, likely)),
            likely_ms: whole(likely),
            most_ms: whole(f64::midpoint(worst, likely).max(likely / warm.max(0.2))),
        })
    }

    /// Returns the first sample at or after `at_ms`.
    fn since(&self, at_ms: i64) -> Option<&Sample> {
        self.samples.iter().find(|sample| sample.at_ms >= at_ms)
    }

    /// Returns what a log takes beside its bytes, in ms.
    fn log_ms(&self) -> f64 {
        let mut times: Vec<u64> = self.times.iter().copied().collect();
        times.sort_unstable();
        times
            .get(times.len() / 2)
            .map_or(LOG_MS, |ms| as_float(*ms))
    }

    fn speed(&self, first: &Sample, last: &Sample, threads: usize) -> Option<Speed> {
        let elapsed = last.at_ms - first.at_ms;
        if elapsed < SHORTEST_MS {
            return None;
        }
        let logs = as_float(last.logs.saturating_sub(first.logs)) * self.log_ms();
        let all = as_float(elapsed.unsigned_abs()) * as_float(threads.max(1) as u64);
        let busy = (all - logs).max(all * 0.1);
        let bytes = last.bytes.saturating_sub(first.bytes);
        let cost = last.cost - first.cost;
        if bytes == 0 || cost <= 0.0 {
            // Only logs with nothing to read were done.
            return (logs > 0.0).then_some(Speed {
                cost: f64::INFINITY,
                bytes: f64::INFINITY,
                on_processor: 1.0,
            });
        }
        let share = match (first.cpu_ms, last.cpu_ms) {
            (Some(first), Some(last)) => as_float(last.saturating_sub(first)) / all,
            _ => 1.0,
        };
        let cold = mean_boost(first.all_cost, last.all_cost);
        Some(Speed {
            cost: cost * cold / busy,
            bytes: as_float(bytes) / busy,
            on_processor: ((share - 0.3) / 0.4).clamp(0.0, 1.0),
        })
    }

    fn time(&self, left: &Left, speed: Speed, done: f64) -> f64 {
        let on_processor = |cost: f64| cost * ahead(done, left.all_cost) / speed.cost;
        let of_disk = |bytes: f64| bytes / speed.bytes;
        let mixed = |cost: f64, bytes: f64| {
            speed.on_processor * on_processor(cost) + (1.0 - speed.on_processor) * of_disk(bytes)
        };
        let threads = as_float(left.threads.max(1) as u64);
        let together = mixed(left.cost, as_float(left.bytes)) + as_float(left.logs) * self.log_ms();
        let share = if left.cost > 0.0 {
            left.largest / left.cost
        } else {
            0.0
        };
        let alone = mixed(left.largest, as_float(left.bytes) * share);
        (together / threads).max(alone)
    }
}

/// Returns how many times slower the next byte is than a warm one, when so much was read.
fn boost(cost: f64) -> f64 {
    1.0 + COLD * (-cost / WARM_UP).exp()
}

/// Returns the mean of [`boost`] from one cost to another.
fn mean_boost(from: f64, to: f64) -> f64 {
    if to - from < 1.0 {
        return boost(from);
    }
    let cold = (-from / WARM_UP).exp() - (-to / WARM_UP).exp();
    1.0 + COLD * WARM_UP * cold / (to - from)
}

/// Returns the mean of [`boost`] over what is left.
fn ahead(done: f64, left: f64) -> f64 {
    mean_boost(done, done + left)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a time in ms; what does not fit is the largest there is"
)]
fn whole(ms: f64) -> i64 {
    ms.min(1e15) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: f64 = 1e6;

    /// Feeds a boot of one thread that reads `warm` MB/s once it is warm, up to `until` MB of large batches.
    fn fed(warm: f64, until: f64) -> (Pace, f64) {
        let (mut pace, mut cost, mut ms) = (Pace::default(), 0.0, 0.0);
        while cost < until * MB {
            pace.take(Sample {
                at_ms: whole(ms),
                bytes: whole(cost).unsigned_abs(),
                cost,
                all_cost: cost,
                logs: 0,
                cpu_ms: Some(whole(ms).unsigned_abs()),
            });
            cost += warm * MB * 0.1 / boost(cost);
            ms += 100.0;
        }
        (pace, ms)
    }

    fn left(bytes: f64) -> Left {
        Left {
            bytes: whole(bytes).unsigned_abs(),
            cost: bytes,
            all_cost: bytes,
            logs: 1,
            largest: 0.0,
            threads: 1,
        }
    }

    #[test]
    fn the_compiler_s_warm_up_does_not_make_the_first_end_lie() {
        // 10 GB; all of it takes this long by the same law.
        let (_, whole_ms) = fed(500.0, 10_000.0);
        let (pace, ms) = fed(500.0, 400.0);
        let span = pace.left(&left(9_600.0 * MB)).unwrap();
        let truth = whole(whole_ms - ms);
        let off = (span.likely_ms - truth).abs() * 100 / truth;
        assert!(off < 5, "{span:?}, truth {truth}");
        assert!(span.least_ms <= span.likely_ms && span.likely_ms <= span.most_ms);
        // A plain rate would say more than twice of it.
        let plain = 9_600_000 / i64::try_from(pace.rate().unwrap() / 1_000_000).unwrap();
        assert!(plain > truth * 2, "{plain} {truth}");
    }

    #[test]
    fn logs_with_nothing_in_them_take_their_time_too() {
        let mut pace = Pace::default();
        for step in 0_u32..20 {
            pace.take(Sample {
                at_ms: i64::from(step) * 200,
                bytes: u64::from(step),
                cost: f64::from(step),
                all_cost: f64::from(step),
                logs: u64::from(step) * 20,
                cpu_ms: None,
            });
            pace.take_log(10);
        }
        let span = pace
            .left(&Left {
                logs: 1000,
                ..left(10.0)
            })
            .unwrap();
        assert!((9_000..=12_000).contains(&span.likely_ms), "{span:?}");
    }

    #[test]
    fn the_largest_log_is_a_floor_for_any_number_of_threads() {
        let (pace, _) = fed(1000.0, 8_000.0);
        let many = Left {
            threads: 8,
            largest: 4_000.0 * MB,
            ..left(4_000.0 * MB)
        };
        let one = Left {
            threads: 8,
            ..left(4_000.0 * MB)
        };
        let of = |left: &Left| pace.left(left).unwrap().likely_ms;
        assert!(of(&many) > of(&one) * 6);
    }

    #[test]
    fn nothing_left_takes_no_time_and_no_sample_tells_none() {
        let none = Left {
            logs: 0,
            ..left(0.0)
        };
        assert_eq!(
            Pace::default().left(&none).map(|span| span.most_ms),
            Some(0)
        );
        assert_eq!(Pace::default().left(&left(1.0)), None);
    }
}
