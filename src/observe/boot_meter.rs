//! How far a boot is in bytes: what its log says, refined by what its recovery threads have read.

use std::collections::VecDeque;

use crate::terms::Offset;

use super::server_log::{Boot, BootPhase};

/// How long the rate looks back, in ms.
const WINDOW_MS: i64 = 10_000;
/// What a broker reads for a byte of a segment, before it is measured: a second read of each batch's first 17 bytes.
const READS_PER_BYTE: f64 = 1.01;
/// Bytes that must be done before the broker's own ratio is trusted.
const MEASURABLE: u64 = 64 << 20;

/// What a boot reads of one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogBytes {
    /// The log dir, as the broker names it.
    pub dir: String,
    /// The partition dir's name.
    pub name: String,
    /// The segments that it reads in full: base offset and bytes, ascending.
    pub segments: Vec<(Offset, u64)>,
}

impl LogBytes {
    fn total(&self) -> u64 {
        self.segments.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Returns the bytes of the segments before `base_offset`.
    fn before(&self, base_offset: Offset) -> u64 {
        let before = self.segments.iter().filter(|(base, _)| *base < base_offset);
        before.map(|(_, bytes)| bytes).sum()
    }

    fn segment(&self, base_offset: Offset) -> u64 {
        let found = self.segments.iter().find(|(base, _)| *base == base_offset);
        found.map_or(0, |(_, bytes)| *bytes)
    }
}

/// How far a boot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BootProgress {
    /// Bytes of segments that were read; never goes back.
    pub bytes_done: u64,
    /// Bytes of segments that this boot reads.
    pub bytes_total: u64,
    /// Bytes a second over the last 10 s; `None` before there is one.
    pub bytes_per_s: Option<u64>,
    /// Ms until all is read at that rate.
    pub left_ms: Option<i64>,
}

/// Measures one boot.
#[derive(Debug)]
pub struct BootMeter {
    logs: Vec<LogBytes>,
    total: u64,
    done: u64,
    /// Bytes done by the log's word, and the threads' reads, when the log last told of progress.
    mark: (u64, u64),
    /// The same when the loading began.
    origin: Option<(u64, u64)>,
    samples: VecDeque<(i64, u64)>,
}

impl BootMeter {
    /// Returns a meter of a boot that reads `logs`.
    pub fn new(logs: Vec<LogBytes>) -> Self {
        let total = logs.iter().map(LogBytes::total).sum();
        Self {
            logs,
            total,
            done: 0,
            mark: (0, 0),
            origin: None,
            samples: VecDeque::new(),
        }
    }

    /// Measures at `now_ms`: `reads` are the bytes that the recovery threads have read, if they may be seen.
    pub fn measure(&mut self, boot: &Boot, reads: Option<u64>, now_ms: i64) -> BootProgress {
        let told = self.told(boot);
        let mut done = told;
        if let Some(reads) = reads.filter(|_| boot.phase == BootPhase::Loading) {
            let origin = *self.origin.get_or_insert((told, reads));
            if told > self.mark.0 || self.mark.1 == 0 {
                self.mark = (told, reads);
            }
            let within = scaled(reads.saturating_sub(self.mark.1), self.ratio(origin));
            done = told + within.min(self.in_work(boot));
        }
        self.done = self.done.max(done.min(self.total));
        self.samples.push_back((now_ms, self.done));
        while self
            .samples
            .front()
            .is_some_and(|(at, _)| now_ms - at > WINDOW_MS)
            && self.samples.len() > 2
        {
            self.samples.pop_front();
        }
        let bytes_per_s = self.rate();
        let left = self.total - self.done;
        let left_ms = bytes_per_s
            .filter(|rate| *rate > 0)
            .and_then(|rate| i64::try_from(left.saturating_mul(1000) / rate).ok());
        BootProgress {
            bytes_done: self.done,
            bytes_total: self.total,
            bytes_per_s,
            left_ms,
        }
    }

    /// Returns the bytes that are done by the log's word: whole logs and whole segments.
    fn told(&self, boot: &Boot) -> u64 {
        if boot.phase > BootPhase::Loading {
            return self.total;
        }
        let of = |log: &LogBytes| {
            if boot.finished.contains(&(log.dir.clone(), log.name.clone())) {
                return log.total();
            }
            let work = boot.working.get(&log.name);
            let work = work.filter(|work| work.dir == log.dir);
            work.map_or(0, |work| log.before(work.base_offset))
        };
        self.logs.iter().map(of).sum()
    }

    /// Returns the bytes of the segments that are read now.
    fn in_work(&self, boot: &Boot) -> u64 {
        let of = |log: &LogBytes| {
            let work = boot.working.get(&log.name);
            let work = work.filter(|work| work.dir == log.dir);
            work.map_or(0, |work| log.segment(work.base_offset))
        };
        self.logs.iter().map(of).sum()
    }

    /// Returns what was read for a byte of a segment so far.
    fn ratio(&self, origin: (u64, u64)) -> f64 {
        let bytes = self.mark.0.saturating_sub(origin.0);
        let reads = self.mark.1.saturating_sub(origin.1);
        if bytes < MEASURABLE {
            return READS_PER_BYTE;
        }
        (as_float(reads) / as_float(bytes)).clamp(1.0, 2.5)
    }

    fn rate(&self) -> Option<u64> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let ms = u64::try_from(last.0 - first.0).ok().filter(|ms| *ms > 0)?;
        let bytes = last.1.saturating_sub(first.1);
        (bytes > 0).then(|| bytes.saturating_mul(1000) / ms)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a ratio; 53 bits are more than enough"
)]
fn as_float(bytes: u64) -> f64 {
    bytes as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a quotient of two positive numbers, the divisor at least 1"
)]
fn scaled(reads: u64, ratio: f64) -> u64 {
    (as_float(reads) / ratio) as u64
}

#[cfg(test)]
mod tests {
    use super::super::server_log::{Boots, LogReader};
    use super::*;

    const MB: u64 = 1 << 20;

    fn log(name: &str, segments: &[(i64, u64)]) -> LogBytes {
        LogBytes {
            dir: "/d".to_owned(),
            name: name.to_owned(),
            segments: segments
                .iter()
                .map(|(base, mb)| (Offset(*base), mb * MB))
                .collect(),
        }
    }

    #[test]
    fn reads_fill_what_the_log_leaves_open_and_nothing_goes_back() {
        let mut meter = BootMeter::new(vec![
            log("a-0", &[(0, 100), (50, 100)]),
            log("b-0", &[(0, 10)]),
        ]);
        let mut boots = Boots::default();
        let mut reader = LogReader::new();
        let mut say = |boots: &mut Boots, text: &str| {
            let line = format!("[2026-11-30 07:51:11,146] INFO {text} (x)\n");
            reader.feed(line.as_bytes(), |event| boots.take(event));
        };
        say(
            &mut boots,
            "Recovering 2 logs from /d since no clean shutdown file was found",
        );
        say(
            &mut boots,
            "[LogLoader partition=a-0, dir=/d] Recovering unflushed segment 0. 0 recovered for a-0.",
        );
        let mut at = |boots: &Boots, reads: u64, ms: i64| {
            meter.measure(boots.last().unwrap(), Some(reads * MB), ms)
        };
        assert_eq!(at(&boots, 1, 0).bytes_done, 0);
        let half = at(&boots, 51, 1000);
        assert!((48 * MB..=50 * MB).contains(&half.bytes_done), "{half:?}");
        assert_eq!(half.bytes_total, 210 * MB);
        let rate = half.bytes_per_s.unwrap();
        assert!((48 * MB..=50 * MB).contains(&rate));
        assert!((3000..3400).contains(&half.left_ms.unwrap()));
        // No more than the segment in work, whatever is read beside.
        assert_eq!(at(&boots, 151, 2000).bytes_done, 100 * MB);
        say(
            &mut boots,
            "[ProducerStateManager partition=a-0] Wrote producer snapshot at offset 50 with 1 producer ids in 1 ms.",
        );
        assert_eq!(at(&boots, 152, 3000).bytes_done, 100 * MB);
        say(
            &mut boots,
            "Completed load of Log(dir=/d/a-0.0123456789abcdef0123456789abcdef-stray, topic=a, partition=0, highWatermark=0, lastStableOffset=0, \
             logStartOffset=0, logEndOffset=99) with 2 segments, local-log-start-offset 0 and log-end-offset 99 in 9ms \
             (1/2 completed in /d)",
        );
        assert_eq!(at(&boots, 153, 4000).bytes_done, 200 * MB);
        say(
            &mut boots,
            "Loaded 2 logs in 5000ms (unclean log dirs = [/d])",
        );
        let end = at(&boots, 0, 5000);
        assert_eq!(end.bytes_done, end.bytes_total);
    }
}
