//! How fast krescue reads beside a running broker.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Limits the bytes a second over all threads that share it.
#[derive(Debug)]
pub struct Pace {
    bytes_per_second: Option<u64>,
    /// When the bytes taken so far are paid for.
    paid: Mutex<Instant>,
}

/// How much unused time may be made up for.
const BURST: Duration = Duration::from_millis(100);

impl Pace {
    /// Returns a pace without limit.
    pub fn unlimited() -> Self {
        Self::limited(None)
    }

    /// Returns a pace of so many bytes a second; `None` for no limit.
    pub fn limited(bytes_per_second: Option<u64>) -> Self {
        Self {
            bytes_per_second: bytes_per_second.map(|rate| rate.max(1)),
            paid: Mutex::new(Instant::now()),
        }
    }

    /// Takes `bytes`, and sleeps until the rate allows for them.
    pub fn take(&self, bytes: u64) {
        let Some(rate) = self.bytes_per_second else {
            return;
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "a rate needs no more than 52 bits"
        )]
        let cost = Duration::from_secs_f64(bytes as f64 / rate as f64);
        let paid = {
            let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
            let earliest = Instant::now().checked_sub(BURST).unwrap_or(*paid);
            *paid = (*paid).max(earliest) + cost;
            *paid
        };
        std::thread::sleep(paid.saturating_duration_since(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept() {
        let pace = Pace::limited(Some(10 << 20));
        let start = Instant::now();
        for _ in 0..8 {
            pace.take(512 << 10);
        }
        // 4 MiB at 10 MiB/s take 400 ms, 100 of which may be made up for.
        assert!(start.elapsed() >= Duration::from_millis(280));
    }

    #[test]
    fn no_limit_costs_no_time() {
        let pace = Pace::unlimited();
        let start = Instant::now();
        pace.take(u64::MAX);
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}
