//! How long a boot reads, by the number of recovery threads.
//!
//! Kafka gives each log dir its own `num.recovery.threads.per.data.dir` threads; the dirs run side by side, and the logs of
//! a dir are taken one after the other. So the slowest dir decides, and no number of threads beats its largest log.

use std::path::PathBuf;

use super::facts::{BootFacts, LogDirFacts};

/// What a boot reads of one log dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirReads {
    /// The log dir.
    pub dir: PathBuf,
    /// Bytes of each log that is read, in the order of their names.
    pub logs: Vec<(String, u64)>,
    /// Logs in all: each costs time, even if nothing of it is read.
    pub count: u64,
}

/// How fast things go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootRates {
    /// Bytes a second of one thread, once it is warm.
    pub thread: f64,
    /// Bytes a second of one log dir's disk.
    pub disk: f64,
    /// Seconds that a log costs beside its bytes: opening, three syncs.
    pub per_log: f64,
}

/// What real brokers did: 1.4 to 1.8 GB/s a thread, 10 ms and three syncs a log; the disk is a guess until it is measured.
pub(super) const ASSUMED: BootRates = BootRates {
    thread: 1.4e9,
    disk: 400e6,
    per_log: 0.02,
};

/// How long a boot takes with a number of threads.
#[derive(Debug, Clone, PartialEq)]
pub struct BootTime {
    /// Threads a log dir.
    pub threads: usize,
    /// Seconds.
    pub seconds: f64,
    /// The log dir that takes longest.
    pub slowest: Option<PathBuf>,
}

/// Returns what a boot reads of each dir: of `unclean` dirs from the recovery points on, of others nothing.
pub fn dir_reads(facts: &BootFacts, unclean: impl Fn(&LogDirFacts) -> bool) -> Vec<DirReads> {
    let dirs = facts.dirs.iter().filter(|dir| dir.has_logs);
    dirs.map(|dir| DirReads {
        dir: dir.path.clone(),
        logs: dir
            .logs()
            .filter(|_| unclean(dir))
            .map(|log| {
                let bytes = log.scanned().iter().map(|segment| segment.bytes).sum();
                (log.dir_name.clone(), bytes)
            })
            .collect(),
        count: dir.logs().count() as u64,
    })
    .collect()
}

/// Returns the time with `threads` a dir: each free thread takes the next log; a disk is not faster than it is.
pub fn boot_time(dirs: &[DirReads], threads: usize, rates: BootRates) -> BootTime {
    let mut time = BootTime {
        threads,
        seconds: 0.0,
        slowest: None,
    };
    for dir in dirs {
        let mut busy = vec![0.0_f64; threads.max(1)];
        for (_, bytes) in &dir.logs {
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let cost = *bytes as f64 / rates.thread + rates.per_log;
            if let Some(free) = busy.iter_mut().min_by(|a, b| a.total_cmp(b)) {
                *free += cost;
            }
        }
        let all: u64 = dir.logs.iter().map(|(_, bytes)| bytes).sum();
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let disk = all as f64 / rates.disk;
        let seconds = busy.into_iter().fold(disk, f64::max);
        if seconds > time.seconds || time.slowest.is_none() {
            time.seconds = seconds.max(time.seconds);
            time.slowest = Some(dir.dir.clone());
        }
    }
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    fn dir(name: &str, logs: &[u64]) -> DirReads {
        DirReads {
            dir: PathBuf::from(name),
            logs: logs
                .iter()
                .enumerate()
                .map(|(number, bytes)| (format!("t-{number}"), *bytes))
                .collect(),
            count: logs.len() as u64,
        }
    }

    #[test]
    fn threads_help_until_the_largest_log_or_the_disk_is_the_limit() {
        let rates = BootRates {
            thread: 1e9,
            disk: 4e9,
            per_log: 0.0,
        };
        let dirs = [dir("/a", &[GB; 8]), dir("/b", &[GB])];
        for (threads, wanted) in [(1, 8.0), (2, 4.0), (4, 2.0), (8, 2.0)] {
            // 8 GB at 4 GB/s take 2 s, whatever the threads.
            let seconds = boot_time(&dirs, threads, rates).seconds;
            assert!((seconds - wanted).abs() < 1e-9, "{threads}: {seconds}");
        }
        let one = [dir("/a", &[6 * GB, GB, GB])];
        assert!((boot_time(&one, 8, rates).seconds - 6.0).abs() < 1e-9);
        assert_eq!(
            boot_time(&dirs, 1, rates).slowest,
            Some(PathBuf::from("/a"))
        );
        assert_eq!(boot_time(&[], 1, rates).slowest, None);
    }
}
