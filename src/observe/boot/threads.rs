//! What `/proc` tells of a booting broker: what its recovery threads have read, where its log goes, whether it lives.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::meter::Reads;

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
        let (state, started) = state_and_start(&stat)?;
        (!matches!(state, "Z" | "X")).then_some(Self { pid, started })
    }

    /// Returns its root dir as it is seen from here.
    pub(super) fn root(&self, proc: &Path) -> PathBuf {
        proc.join(self.pid.to_string()).join("root")
    }

    /// Returns when it began, in ms since 1970, to the second; `None` where the host does not tell when it began itself.
    pub fn began_ms(&self, proc: &Path) -> Option<i64> {
        let host_began = boot_time(&fs::read_to_string(proc.join("stat")).ok()?)?;
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        let seconds = i64::try_from(self.started / ticks).ok()?;
        Some((host_began + seconds) * 1000)
    }

    /// Returns when it began, in seconds since the system's boot.
    pub fn began_s(&self) -> u64 {
        self.started / rustix::param::clock_ticks_per_second().max(1)
    }

    /// Says whether it goes on.
    pub fn goes_on(&self, proc: &Path) -> bool {
        Self::of(proc, self.pid) == Some(*self)
    }
}

/// Returns the state and the start, in ticks, of a process' or thread's `stat`.
fn state_and_start(stat: &str) -> Option<(&str, u64)> {
    // The command stands in parentheses and may hold anything.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let started = fields.nth(18)?.parse().ok()?;
    Some((state, started))
}

/// Returns when the host began, in seconds since 1970.
fn boot_time(stat: &str) -> Option<i64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

/// What a recovery thread has done since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadReads {
    /// Bytes that it has read of any file, cached or not.
    pub bytes: u64,
    /// Time that it had a processor or waited for one, in ms; `None` where that cannot be seen.
    pub cpu_ms: Option<u64>,
}

/// When a thread began, in the system's ticks, and its id: together the order in which threads were started.
type ThreadKey = (u64, u32);
/// How often another thread's name is looked at: a thread names itself once it runs.
const NAME_LOOKS: u8 = 20;
/// Looks after which a thread that has read nothing is taken by its name.
const SURE_LOOKS: u8 = 10;

/// What is known of one thread.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// What it had read at the last mark.
    before: ThreadReads,
    /// What it has read by now.
    now: ThreadReads,
    looks: u8,
}

impl Seen {
    /// Says whether it is surely one of them: others that they start have their name too until they run, and read nothing.
    fn counts(&self) -> bool {
        self.now.bytes > 0 || self.looks >= SURE_LOOKS
    }
}

/// The recovery threads of one process, from one look to the next.
#[derive(Debug, Default)]
pub struct RecoveryThreads {
    /// Threads with other names, and how often that was seen.
    others: BTreeMap<u32, u8>,
    /// One that ended keeps what it had read last.
    seen: BTreeMap<ThreadKey, Seen>,
    alive: usize,
}

impl RecoveryThreads {
    /// Looks at the recovery threads of process `pid`; none are there before the loading begins.
    ///
    /// # Errors
    ///
    /// Another user's process, without the right to see what its threads read; how many are alive is known all the same.
    pub fn look(&mut self, proc: &Path, pid: u32) -> io::Result<()> {
        let tasks = proc.join(pid.to_string()).join("task");
        let mut others = BTreeMap::new();
        let mut denied = None;
        self.alive = 0;
        for entry in fs::read_dir(tasks)? {
            let Ok(thread) = entry.map(|entry| entry.path()) else {
                continue;
            };
            let id = thread.file_name().and_then(|id| id.to_str()?.parse().ok());
            let Some(id) = id else { continue };
            let looks = self.others.get(&id).copied().unwrap_or(0);
            if looks < NAME_LOOKS {
                // A thread may end between two looks.
                let Ok(name) = fs::read_to_string(thread.join("comm")) else {
                    continue;
                };
                if name.starts_with(RECOVERY_THREAD) {
                    self.alive += 1;
                    match self.take(&thread, id) {
                        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                            denied = Some(error);
                        }
                        _ => {}
                    }
                    continue;
                }
            }
            self.forget(&thread, id);
            others.insert(id, looks.saturating_add(1).min(NAME_LOOKS));
        }
        self.others = others;
        denied.map_or(Ok(()), Err)
    }

    fn take(&mut self, thread: &Path, id: u32) -> io::Result<()> {
        let text = fs::read_to_string(thread.join("io"))?;
        let stat = fs::read_to_string(thread.join("stat"))?;
        let wanted = fs::read_to_string(thread.join("schedstat")).ok();
        let Some((_, started)) = state_and_start(&stat) else {
            return Ok(());
        };
        let reads = ThreadReads {
            bytes: read_bytes(&text).unwrap_or(0),
            cpu_ms: wanted.and_then(|text| wanted_ms(&text)),
        };
        let seen = self.seen.entry((started, id)).or_default();
        seen.now = reads;
        seen.looks = seen.looks.saturating_add(1);
        Ok(())
    }

    /// Forgets a thread that has another name by now; an id may have been given away again.
    fn forget(&mut self, thread: &Path, id: u32) {
        if self.seen.keys().any(|(_, of)| *of == id)
            && let Ok(stat) = fs::read_to_string(thread.join("stat"))
            && let Some((_, started)) = state_and_start(&stat)
        {
            self.seen.remove(&(started, id));
        }
    }

    /// Marks what was read by now as what was read before.
    pub fn mark(&mut self) {
        for seen in self.seen.values_mut() {
            seen.before = seen.now;
        }
    }

    /// Returns how many there are.
    pub fn alive(&self) -> usize {
        self.alive
    }

    /// Returns what each had read at the last mark and has read by now, those that ended included, in the order in which
    /// they were started.
    pub fn reads(&self) -> Reads {
        let seen = self.seen.values().filter(|seen| seen.counts());
        let (before, after) = seen.map(|seen| (seen.before, seen.now)).unzip();
        Reads { before, after }
    }
}

/// Returns `rchar` of a thread's `io`: what it asked of any file, cached or not.
fn read_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: "))?;
    line.trim().parse().ok()
}

/// Returns the time that a thread ran or was ready to, by its `schedstat`: both in ns, then the number of its turns.
fn wanted_ms(text: &str) -> Option<u64> {
    let mut fields = text.split_whitespace();
    let (ran, waited) = (fields.next()?, fields.next()?);
    Some(
        (ran.parse::<u64>()
            .ok()?
            .saturating_add(waited.parse().ok()?))
            / 1_000_000,
    )
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
            crate::observe::open_under(&root, &path)
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
    fn recovery_threads_are_known_by_their_name_and_remembered_once_they_ended() {
        let tmp = tempfile::tempdir().unwrap();
        let tasks = tmp.path().join("7/task");
        let thread = |id: u32, name: &str, started: u64, rchar: u64| {
            let dir = tasks.join(id.to_string());
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("comm"), format!("{name}\n")).unwrap();
            let stat = format!("{id} ({name}) S{} {started} 1 1", " 0".repeat(18));
            fs::write(dir.join("stat"), stat).unwrap();
            let text = format!("rchar: {rchar}\nwchar: 5\nread_bytes: 0\n");
            fs::write(dir.join("io"), text).unwrap();
        };
        let bytes = |reads: &[ThreadReads]| reads.iter().map(|of| of.bytes).collect::<Vec<_>>();
        let mut threads = RecoveryThreads::default();
        let look = |threads: &mut RecoveryThreads| threads.look(tmp.path(), 7).unwrap();
        thread(7, "java", 1, 1000);
        // Begun, and not named yet.
        thread(8, "java", 50, 0);
        look(&mut threads);
        assert_eq!((threads.alive(), threads.reads()), (0, Reads::default()));
        thread(8, "log-recovery-/v", 50, 30);
        look(&mut threads);
        threads.mark();
        // The ids have begun anew: this one was started later.
        thread(3, "log-recovery-/v", 60, 12);
        thread(8, "log-recovery-/v", 50, 31);
        look(&mut threads);
        let reads = threads.reads();
        assert_eq!(
            (bytes(&reads.before), bytes(&reads.after)),
            (vec![30, 0], vec![31, 12])
        );
        // A thread that one of them started has its name until it runs.
        thread(9, "log-recovery-/v", 70, 0);
        look(&mut threads);
        assert_eq!(bytes(&threads.reads().after), [31, 12]);
        thread(9, "kafka-scheduler", 70, 5);
        look(&mut threads);
        assert_eq!(bytes(&threads.reads().after), [31, 12]);
        assert_eq!(threads.seen.len(), 2);
        fs::remove_dir_all(tasks.join("8")).unwrap();
        thread(3, "log-recovery-/v", 60, 20);
        look(&mut threads);
        assert_eq!(
            (threads.alive(), bytes(&threads.reads().after)),
            (1, vec![31, 20])
        );
        for _ in 0..NAME_LOOKS {
            look(&mut threads);
        }
        assert_eq!(threads.others.get(&7), Some(&NAME_LOOKS));
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
