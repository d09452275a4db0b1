//! What a watched boot shows of `watch` itself: how near its end times were, and what looking cost.
#![expect(clippy::cast_precision_loss, reason = "shares in percent")]

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

/// Measures the processor time of two processes until it is asked.
pub(crate) struct CpuMeter {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<[u64; 2]>,
}

impl CpuMeter {
    pub(crate) fn start(ids: [u32; 2]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut last = [0; 2];
            while !is_stopped.load(Ordering::Relaxed) {
                for (last, id) in last.iter_mut().zip(ids) {
                    // One that has ended keeps what it had last.
                    *last = cpu_ms(id).unwrap_or(*last);
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            last
        });
        Self { stop, thread }
    }

    /// Returns the time of each, in ms, as long as it lived.
    pub(crate) fn end(self) -> [u64; 2] {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Returns the time that a process has run, in ms.
fn cpu_ms(id: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    // Linux counts in hundredths of a second.
    Some((next()? + next()?) * 10)
}

/// Returns how near the end times of `lines` were to `ended_ms` from half of the load on, in words, and how far the worst was
/// off, in percent of the load's time.
pub(crate) fn end_times(lines: &[Value], (began_ms, ended_ms): (i64, i64)) -> (String, f64) {
    let at = |line: &Value, name: &str| -> Option<i64> {
        let time: jiff::Timestamp = line[name].as_str()?.parse().ok()?;
        Some(time.as_millisecond())
    };
    let whole = (ended_ms - began_ms).max(1);
    let mut off = Vec::new();
    for line in lines.iter().filter(|line| line["phase"] == "loading") {
        let (Some(now), Some(end)) = (at(line, "at"), at(line, "end_time")) else {
            continue;
        };
        if now - began_ms >= whole / 2 {
            off.push((end - ended_ms) as f64 * 100.0 / whole as f64);
        }
    }
    let most = off.iter().fold(0.0_f64, |most, off| most.max(off.abs()));
    let text = format!(
        "load of {whole} ms, {} end times from half of it on, off by at most {most:.0} % of it",
        off.len()
    );
    (text, most)
}
