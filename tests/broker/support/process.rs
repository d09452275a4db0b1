//! Child processes that never outlive their test.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// A child with a process group of its own and a file that takes its output; killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; its output goes to `log`.
    pub(crate) fn spawn(command: &mut Command, log: &Path) -> Self {
        let out = File::create(log).unwrap();
        let child = command
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        Self {
            child,
            log: log.to_owned(),
        }
    }

    /// Returns its standard input, which was piped; what is read of it ends when that is dropped.
    pub(crate) fn input(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// Returns the process' id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends `signal` to the group and waits for the child's end.
    pub(crate) fn stop(&mut self, signal: Signal) -> ExitStatus {
        if self.child.try_wait().unwrap().is_none() {
            let group = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
            // The group may be gone already; then there is nothing to stop.
            let _ = killpg(group, signal);
        }
        self.wait(Duration::from_mins(2))
    }

    /// Says whether the child has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for the child's end; fails after `limit`.
    pub(crate) fn wait(&mut self, limit: Duration) -> ExitStatus {
        let end = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(
                Instant::now() < end,
                "still running after {limit:?}\n{}",
                self.tail()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a line of the output contains `text`; fails when the child ends before, or after `limit`.
    pub(crate) fn wait_for(&mut self, text: &str, limit: Duration) {
        let end = Instant::now() + limit;
        let mut seen = Vec::new();
        let mut file = File::open(&self.log).unwrap();
        loop {
            let ended = self.child.try_wait().unwrap();
            file.seek(SeekFrom::Start(seen.len() as u64)).unwrap();
            let from = seen.len().saturating_sub(text.len());
            file.read_to_end(&mut seen).unwrap();
            if String::from_utf8_lossy(&seen[from..]).contains(text) {
                return;
            }
            if let Some(status) = ended {
                panic!("ended with {status} before {text:?}\n{}", self.tail());
            }
            assert!(
                Instant::now() < end,
                "no {text:?} after {limit:?}\n{}",
                self.tail()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns all output so far.
    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned()
    }

    fn tail(&self) -> String {
        let output = self.output();
        let lines: Vec<_> = output.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            if let Ok(id) = i32::try_from(self.child.id()) {
                let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
            }
            let _ = self.child.wait();
        }
    }
}
