//! Whether a process still runs, by its id and start time, as `/proc` tells.

use std::path::Path;

/// A process that cannot be mistaken for a later one with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct ProcessId {
    /// Its id.
    pub(in crate::engine) pid: u32,
    /// When it started, in clock ticks since boot.
    pub(in crate::engine) start: u64,
}

impl ProcessId {
    /// Returns the process that has `pid` now; `None` if there is none or it has ended already.
    pub(in crate::engine) fn of(pid: u32) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The command's name is in parentheses and may hold any character, parentheses too.
        let (_, fields) = text.rsplit_once(") ")?;
        let mut fields = fields.split(' ');
        let state = fields.next()?;
        if matches!(state, "Z" | "X") {
            return None;
        }
        let start = fields.nth(18)?.parse().ok()?;
        Some(Self { pid, start })
    }

    /// Says whether it still runs.
    pub(in crate::engine) fn is_running(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Returns it as a file of ours holds it.
    pub(in crate::engine) fn to_text(self) -> String {
        format!("{} {}\n", self.pid, self.start)
    }

    /// Reads what [`Self::to_text`] wrote.
    pub(in crate::engine) fn parse(text: &str) -> Option<Self> {
        let (pid, start) = text.trim_end().split_once(' ')?;
        Some(Self {
            pid: pid.parse().ok()?,
            start: start.parse().ok()?,
        })
    }
}

/// Says whether some process has this id.
pub(in crate::engine) fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_its_text_comes_back() {
        let this = ProcessId::of(std::process::id()).unwrap();
        assert!(this.is_running());
        assert_eq!(ProcessId::parse(&this.to_text()), Some(this));
        let earlier = ProcessId {
            start: this.start + 1,
            ..this
        };
        assert!(!earlier.is_running());
    }
}
