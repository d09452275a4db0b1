//! Jobs of the program itself: found by their files, halted and killed where they stand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::fixture::{BATCH, Tree, file_name, segment};

/// The longest that anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A job whose process has begun.
#[derive(Debug, Clone)]
pub(crate) struct BegunJob {
    /// Its id, which is the name of its folder.
    pub(crate) id: String,
    /// Its process.
    pub(crate) pid: Pid,
    dir: PathBuf,
}

impl BegunJob {
    /// Returns the newest job of a state dir that has said something: it does so in its own session first, where no
    /// hang-up reaches it.
    pub(crate) fn newest(state_dir: &Path) -> Option<Self> {
        let dirs = fs::read_dir(state_dir.join("jobs")).ok()?;
        let dir = dirs.map(|dir| dir.unwrap().path()).max()?;
        let said = fs::metadata(dir.join("events.jsonl")).is_ok_and(|file| file.len() > 0);
        let text = fs::read_to_string(dir.join("pid")).ok()?;
        let pid = text.split_whitespace().next()?.parse().ok()?;
        let id = dir.file_name()?.to_str()?.to_owned();
        let pid = Pid::from_raw(pid);
        said.then_some(Self { id, pid, dir })
    }

    /// Returns the path of one of its files.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Returns how many bytes it has said and noted so far: they grow from its begin to its end.
    pub(crate) fn told(&self, state_dir: &Path) -> u64 {
        let len = |path: PathBuf| fs::metadata(path).map_or(0, |file| file.len());
        let journals = fs::read_dir(state_dir.join("journals"));
        let journals = journals.into_iter().flatten();
        let noted: u64 = journals.map(|file| len(file.unwrap().path())).sum();
        len(self.dir.join("events.jsonl")) + noted
    }

    /// Sends it a signal; a process that has ended takes none.
    pub(crate) fn signal(&self, signal: Signal) {
        let _ = kill(self.pid, signal);
    }
}

/// Makes of a job that has ended, by its folder, one that was killed in the middle: neither it nor its journal says how.
pub(crate) fn as_if_killed(job: &Path) {
    fs::remove_file(job.join("outcome")).unwrap();
    let spec = fs::read_to_string(job.join("spec.json")).unwrap();
    let spec: serde_json::Value = serde_json::from_str(&spec).unwrap();
    let state_dir = job.ancestors().nth(2).unwrap();
    let name = format!("{}.jsonl", spec["plan"].as_str().unwrap());
    let journal = state_dir.join("journals").join(name);
    let text = fs::read_to_string(&journal).unwrap();
    let lines = text.split_inclusive('\n');
    let kept: String = lines
        .filter(|line| !line.contains("\"line\":\"end\""))
        .collect();
    assert_ne!(kept, text);
    fs::write(journal, kept).unwrap();
}

/// Waits until the first job of a state dir has begun, and halts it where it is.
pub(crate) fn halt_job(state_dir: &Path) -> BegunJob {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(job) = BegunJob::newest(state_dir) {
            job.signal(Signal::SIGSTOP);
            return job;
        }
        assert!(Instant::now() < end, "no job was started");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for the job that `child` waits for, and kills it once it has told `bytes`; does nothing if `child` ends first.
pub(crate) fn kill_when_told(child: &mut Child, state_dir: &Path, bytes: u64) {
    let mut job = None;
    while child.try_wait().unwrap().is_none() {
        if job.is_none() {
            job = BegunJob::newest(state_dir);
        }
        if let Some(job) = &job
            && job.told(state_dir) >= bytes
        {
            return job.signal(Signal::SIGKILL);
        }
        std::thread::yield_now();
    }
}

/// Returns `count` logs of 30 batches in `d1`, each damaged in one of five ways, all read by a boot.
pub(crate) fn damaged_logs(count: usize) -> Tree {
    let tree = Tree::t4_unflushed();
    for number in 0..count {
        let name = format!("p-{number}");
        tree.add_partition("d1", &name, 1);
        let dir = tree.path("d1").join(&name);
        let file = |suffix| dir.join(file_name(0, suffix));
        let mut log = segment(0)[..30 * BATCH].to_vec();
        match number % 5 {
            0 => log.truncate(30 * BATCH - 100),
            1 => log.extend([0; 4096]),
            2 => {
                log.extend([1; 17]);
                fs::remove_file(file("index")).unwrap();
            }
            3 => log[29 * BATCH + 900] ^= 1,
            _ => {
                log.truncate(29 * BATCH + 30);
                fs::remove_file(dir.join("leader-epoch-checkpoint")).unwrap();
            }
        }
        fs::write(file("log"), log).unwrap();
    }
    tree
}
