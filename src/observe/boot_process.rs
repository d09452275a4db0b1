//! What `/proc` tells of a booting broker: what its recovery threads have read, where its log goes, whether it lives.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How the recovery threads' names begin; the system keeps 15 characters of `log-recovery-DIR-N`.
const RECOVERY_THREAD: &str = "log-recovery-";
/// The name of the broker's log in every distribution.
const SERVER_LOG: &str = "server.log";

/// What names one life of a process: its id may be given away again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessLife {
    /// The process id.
    pub pid: u32,
    /// When it began, in the system's ticks since its boot.
    started: u64,
}

impl ProcessLife {
    /// Returns the life of process `pid`; `None` if there is no such process, or it has ended and waits to be reaped.
    pub fn of(proc: &Path, pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?;
        // The command stands in parentheses and may hold anything.
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(Self { pid, started })
    }

    /// Returns when it began, in ms since 1970, to the second; `None` where the host does not tell when it began itself.
    pub fn began_ms(&self, proc: &Path) -> Option<i64> {
        let host_began = boot_time(&fs::read_to_string(proc.join("stat")).ok()?)?;
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        let seconds = i64::try_from(self.started / ticks).ok()?;
        Some((host_began + seconds) * 1000)
    }

    /// Says whether it goes on.
    pub fn goes_on(&self, proc: &Path) -> bool {
        Self::of(proc, self.pid) == Some(*self)
    }
}

/// Returns when the host began, in seconds since 1970.
fn boot_time(stat: &str) -> Option<i64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

/// Returns the bytes that the recovery threads of process `pid` have read in all; `None` while there is none.
///
/// # Errors
///
/// Another user's process, without the right to see.
pub fn recovery_reads(proc: &Path, pid: u32) -> io::Result<Option<u64>> {
    let mut sum = None;
    for entry in fs::read_dir(proc.join(pid.to_string()).join("task"))? {
        let Ok(thread) = entry.map(|entry| entry.path()) else {
            continue;
        };
        // A thread may end between two looks.
        let Ok(name) = fs::read_to_string(thread.join("comm")) else {
            continue;
        };
        if !name.starts_with(RECOVERY_THREAD) {
            continue;
        }
        match fs::read_to_string(thread.join("io")) {
            Ok(text) => *sum.get_or_insert(0) += read_bytes(&text).unwrap_or(0),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            Err(_) => {}
        }
    }
    Ok(sum)
}

/// Returns `rchar` of a thread's `io`: what it asked of any file, cached or not.
fn read_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: "))?;
    line.trim().parse().ok()
}

/// Returns the file that the broker of process `pid` logs to: its open `server.log`, else its standard output where
/// that is a file; as it is opened from here.
///
/// # Errors
///
/// Another user's process, without the right to see.
pub fn log_file_of(proc: &Path, pid: u32) -> io::Result<Option<PathBuf>> {
    let dir = proc.join(pid.to_string());
    let root = dir.join("root");
    let here = |path: PathBuf| {
        if path.exists() {
            path
        } else {
            super::open_under(&root, &path)
        }
    };
    let mut log = None;
    for entry in fs::read_dir(dir.join("fd"))? {
        let Ok(link) = entry.and_then(|entry| fs::read_link(entry.path())) else {
            continue;
        };
        if link.file_name().is_some_and(|name| name == SERVER_LOG) {
            log = Some(here(link));
        }
    }
    if log.is_some() {
        return Ok(log);
    }
    let out = here(fs::read_link(dir.join("fd/1"))?);
    Ok(fs::metadata(&out)
        .is_ok_and(|meta| meta.is_file())
        .then_some(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_threads_are_summed_and_others_are_not() {
        let tmp = tempfile::tempdir().unwrap();
        let thread = |id: u32, name: &str, rchar: u64| {
            let dir = tmp.path().join("7/task").join(id.to_string());
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("comm"), format!("{name}\n")).unwrap();
            let text = format!("rchar: {rchar}\nwchar: 5\nread_bytes: 0\n");
            fs::write(dir.join("io"), text).unwrap();
        };
        thread(7, "java", 1000);
        assert_eq!(recovery_reads(tmp.path(), 7).unwrap(), None);
        thread(8, "log-recovery-/v", 30);
        thread(9, "log-recovery-/v", 12);
        assert_eq!(recovery_reads(tmp.path(), 7).unwrap(), Some(42));
    }

    #[test]
    fn a_life_ends_with_its_process() {
        let proc = Path::new("/proc");
        let life = ProcessLife::of(proc, std::process::id()).unwrap();
        assert!(life.goes_on(proc));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let life = ProcessLife::of(proc, child.id());
        child.wait().unwrap();
        assert!(life.is_none_or(|life| !life.goes_on(proc)));
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("5");
        fs::create_dir_all(&dir).unwrap();
        fs::write(
            dir.join("stat"),
            "5 (a) b) S 1 5 5 0 -1 4 0 0 0 0 1 2 0 0 20 0 9 0 777 1 1",
        )
        .unwrap();
        let life = ProcessLife::of(tmp.path(), 5).unwrap();
        assert_eq!((life.pid, life.started), (5, 777));
    }

    #[test]
    fn the_log_is_the_open_server_log_else_the_standard_output() {
        let tmp = tempfile::tempdir().unwrap();
        let link = |fd: u32, to: &Path| {
            let dir = tmp.path().join("7/fd");
            fs::create_dir_all(&dir).unwrap();
            std::os::unix::fs::symlink(to, dir.join(fd.to_string())).unwrap();
        };
        let (out, log) = (tmp.path().join("out.txt"), tmp.path().join("server.log"));
        fs::write(&out, "").unwrap();
        fs::write(&log, "").unwrap();
        link(1, &out);
        assert_eq!(log_file_of(tmp.path(), 7).unwrap(), Some(out));
        link(9, &log);
        assert_eq!(log_file_of(tmp.path(), 7).unwrap(), Some(log));
    }
}
