//! Java processes that the kernel killed for memory, from its messages.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::observe::kernel_records::each_line;

/// A process that was killed for memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelKill {
    /// Its id.
    pub pid: u32,
    /// When, in seconds since the host began.
    pub at_s: u64,
    /// Whether a cgroup's limit was met rather than the host's.
    pub by_cgroup: bool,
}

/// Reads the messages at `path` (`/dev/kmsg`).
///
/// # Errors
///
/// They may not be read by this user.
pub(super) fn kernel_kills(path: &Path) -> io::Result<Vec<KernelKill>> {
    let mut kills = Vec::new();
    each_line(path, |record| kills.extend(parse(record)))?;
    Ok(kills)
}

fn parse(record: &str) -> Option<KernelKill> {
    let (head, text) = record.split_once(';')?;
    let micros: u64 = head.split(',').nth(2)?.parse().ok()?;
    let (why, rest) = text.split_once("illed process ")?;
    let (pid, rest) = rest.split_once(" (")?;
    let (name, _) = rest.split_once(')')?;
    (name == "java").then_some(KernelKill {
        pid: pid.parse().ok()?,
        at_s: micros / 1_000_000,
        by_cgroup: why.starts_with("Memory cgroup"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_processes_that_were_killed_are_found() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("kmsg");
        let text = "6,100,5000000,-;eth0: link up\n\
            3,101,7000000,-;Memory cgroup out of memory: Killed process 812 (java) total-vm:1kB, anon-rss:2kB\n\
            3,102,8000000,-;Out of memory: Killed process 9 (mysqld) total-vm:1kB\n\
            3,103,9500000,-;Out of memory: Killed process 813 (java) total-vm:1kB\n";
        std::fs::write(&path, text).unwrap();
        let kills = kernel_kills(&path).unwrap();
        let told: Vec<_> = kills
            .iter()
            .map(|kill| (kill.pid, kill.at_s, kill.by_cgroup))
            .collect();
        assert_eq!(told, [(812, 7, true), (813, 9, false)]);
        assert!(kernel_kills(&tmp.path().join("none")).is_err());
    }
}
