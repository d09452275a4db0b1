//! Sums over verdicts: of a log, a topic, a host.

use std::ops::AddAssign;

use super::verdict::RetentionVerdict;

/// How many segments, and what they take on the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Segments.
    pub segments: u64,
    /// Bytes on the volume of all their files.
    pub bytes: u64,
}

impl Amount {
    /// Adds one segment.
    pub(super) fn add(&mut self, bytes: u64) {
        self.segments += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        self.segments += other.segments;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// What becomes of the segments of one or several logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetentionTotals {
    /// All.
    pub all: Amount,
    /// What the next pass deletes.
    pub delete: Amount,
    /// What goes by time within the 24 h that follow, if nothing is appended.
    pub next_day: Amount,
    /// What a rule takes and something holds.
    pub held: Amount,
    /// What stays.
    pub keep: Amount,
    /// What the cleaner takes in.
    pub compact: Amount,
}

impl RetentionTotals {
    pub(super) fn add(&mut self, verdict: RetentionVerdict, bytes: u64) {
        self.all.add(bytes);
        match verdict {
            RetentionVerdict::Delete => self.delete.add(bytes),
            RetentionVerdict::Held => self.held.add(bytes),
            RetentionVerdict::Compact => self.compact.add(bytes),
            RetentionVerdict::Keep | RetentionVerdict::Leftover => self.keep.add(bytes),
        }
    }
}

impl AddAssign for RetentionTotals {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.delete += other.delete;
        self.next_day += other.next_day;
        self.held += other.held;
        self.keep += other.keep;
        self.compact += other.compact;
    }
}
