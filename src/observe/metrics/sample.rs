//! What the metrics say of a boot.

/// Segments that one recovery thread still reads of the log that it is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentsLeft {
    /// The log dir, as the broker names it.
    pub dir: String,
    /// The thread of that dir, from 0.
    pub thread: u64,
    /// How many; 0 before its first log and after its last.
    pub segments: u64,
}

/// What one answer says; empty unless logs are recovered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BootMetrics {
    /// Logs that are left, by log dir as the broker names it.
    pub logs_left: Vec<(String, u64)>,
    /// Segments that are left of the logs in work.
    pub segments_left: Vec<SegmentsLeft>,
}

/// Which gauge a name is of, whatever a rule made of its case and its underscores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gauge {
    Logs,
    Segments,
}

impl Gauge {
    pub(super) fn of(name: &str) -> Option<Self> {
        let plain = plain(name);
        if plain.contains("remaininglogstorecover") {
            Some(Self::Logs)
        } else if plain.contains("remainingsegmentstorecover") {
            Some(Self::Segments)
        } else {
            None
        }
    }
}

impl BootMetrics {
    pub(super) fn take(&mut self, gauge: Gauge, dir: String, thread: Option<u64>, value: u64) {
        match (gauge, thread) {
            (Gauge::Logs, _) => self.logs_left.push((dir, value)),
            (Gauge::Segments, Some(thread)) => self.segments_left.push(SegmentsLeft {
                dir,
                thread,
                segments: value,
            }),
            (Gauge::Segments, None) => {}
        }
    }
}

/// Returns a name without what rules change: in lower case, without underscores.
pub(super) fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| *c != '_');
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns a gauge's value; `None` of what is no count.
pub(super) fn count(value: f64) -> Option<u64> {
    const MOST: f64 = 1e12;
    (0.0..=MOST).contains(&value).then(|| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within the bounds above"
        )]
        let count = value as u64;
        count
    })
}
