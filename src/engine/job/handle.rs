//! Jobs that outlive screens: started as a process of their own, watched and stopped through their folder.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::job_dir::{JobDir, jobs_dir};
use super::job_spec::{JobId, JobSpec};
use super::progress_file::read_progress;
use crate::disk::{DiskAction, DiskError, changes_forbidden};
use crate::engine::keep::journal::JournalText;
use crate::engine::store::plan_store::PlanStore;
use crate::engine::{EngineError, JobEvent, JobOutcome, LogState, Progress};
use crate::terms::Timestamp;

/// The hidden subcommand that runs a job: `krescue __job ID --state-dir S`.
pub const JOB_SUBCOMMAND: &str = "__job";

/// What a job is doing, seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    /// Its process runs.
    Running,
    /// It ended and said how.
    Ended(JobOutcome),
    /// Its process is gone and said nothing: killed. A rerun goes on.
    Killed,
}

/// A job of a state dir.
#[derive(Debug, Clone, PartialEq)]
pub struct JobSummary {
    /// Its id.
    pub id: JobId,
    /// What it was started with.
    pub spec: JobSpec,
    /// What it is doing.
    pub state: JobState,
    /// Its last counters.
    pub progress: Option<Progress>,
}

/// A [`JobEvent`] as far as it says where a log stands, that a step was done, or a line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ToldEvent {
    /// Its tag, which names the kind of event.
    pub event: String,
    /// The log dir that it is about.
    pub log_dir: Option<PathBuf>,
    /// The name of the partition dir that it is about.
    pub dir_name: Option<String>,
    /// The log's new state.
    pub state: Option<LogState>,
    /// The line.
    pub text: Option<String>,
}

/// What a job said since it was last asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail<E = JobEvent> {
    /// New events, oldest first.
    pub events: Vec<E>,
    /// The counters now.
    pub progress: Option<Progress>,
    /// What it is doing.
    pub state: JobState,
}

/// A view of a job, from whichever process.
#[derive(Debug)]
pub struct JobHandle {
    id: JobId,
    dir: JobDir,
    /// How much of the events file was told; always behind a newline.
    told: u64,
    /// The job's process, where this process started it; reaped when it ends.
    child: Option<Child>,
}

impl JobHandle {
    /// Finds a job; its events are told from the first one on.
    pub fn open(state_dir: &Path, id: &JobId) -> Result<Self, EngineError> {
        Ok(Self {
            id: id.clone(),
            dir: JobDir::open(state_dir, id)?,
            told: 0,
            child: None,
        })
    }

    /// Returns the job's id.
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// Returns the folder's file that holds what a panic said.
    pub fn stderr_path(&self) -> PathBuf {
        self.dir.file("stderr")
    }

    /// Returns what was said since the last call; never waits.
    pub fn tail(&mut self) -> Result<Tail, EngineError> {
        self.tail_of()
    }

    /// Returns what [`Self::tail`] does, but of each event only what [`ToldEvent`] has: many times faster.
    pub fn brief_tail(&mut self) -> Result<Tail<ToldEvent>, EngineError> {
        self.tail_of()
    }

    /// Waits until the job's process ends, `patience` at the longest; where another process started it, always so long.
    pub fn wait(&self, patience: Duration) {
        let process = self.child.as_ref().and_then(|child| {
            let pid = Pid::from_raw(i32::try_from(child.id()).ok()?)?;
            pidfd_open(pid, PidfdFlags::empty()).ok()
        });
        let Some(process) = process else {
            return std::thread::sleep(patience);
        };
        let mut ended = [PollFd::new(&process, PollFlags::IN)];
        // A signal ends it early: whoever waits looks for one.
        let _ = poll(&mut ended, Timespec::try_from(patience).ok().as_ref());
    }

    /// Asks the job to stop after the step at hand.
    pub fn request_stop(&self) -> Result<(), EngineError> {
        Ok(self.dir.request_stop()?)
    }

    /// Returns what the job is doing.
    pub fn state(&mut self) -> JobState {
        if let Some(child) = &mut self.child
            && !matches!(child.try_wait(), Ok(None))
        {
            self.child = None;
        }
        state_of(&self.dir)
    }

    fn tail_of<E: DeserializeOwned>(&mut self) -> Result<Tail<E>, EngineError> {
        // The state first: what an ended job said last is then in the events.
        let state = self.state();
        Ok(Tail {
            events: self.new_events()?,
            progress: read_progress(&self.dir.file("progress")),
            state,
        })
    }

    fn new_events<E: DeserializeOwned>(&mut self) -> Result<Vec<E>, EngineError> {
        let path = self.dir.file("events.jsonl");
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(DiskError::new(DiskAction::Open, &path, error).into()),
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.told))
            .and_then(|_| file.read_to_end(&mut bytes))
            .map_err(DiskError::of(DiskAction::Read, &path))?;
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1);
        self.told += whole as u64;
        bytes
            .get(..whole)
            .unwrap_or_default()
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| {
                serde_json::from_slice(line).map_err(|error| EngineError::damaged(&path, &error))
            })
            .collect()
    }
}

/// Starts a job as a process of its own: this program again, in its own session, deaf to the terminal.
pub fn start_job(state_dir: &Path, spec: &JobSpec) -> Result<JobHandle, EngineError> {
    if let Some(why) = changes_forbidden() {
        return Err(EngineError::ReadOnly { why });
    }
    let (id, dir) = JobDir::create(state_dir, spec)?;
    let child = spawn(state_dir, &id, &dir)?;
    dir.write_pid(child.id())?;
    Ok(JobHandle {
        id,
        dir,
        told: 0,
        child: Some(child),
    })
}

fn spawn(state_dir: &Path, id: &JobId, dir: &JobDir) -> Result<Child, EngineError> {
    // A program that was replaced meanwhile is still there under this name.
    let program = std::env::current_exe()
        .ok()
        .filter(|path| path.exists())
        .unwrap_or_else(|| PathBuf::from("/proc/self/exe"));
    let log = |name: &str| {
        let path = dir.file(name);
        File::options()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(DiskError::of(DiskAction::Create, &path))
    };
    Command::new(&program)
        .arg0("krescue")
        .arg(JOB_SUBCOMMAND)
        .arg(&id.0)
        .arg("--state-dir")
        .arg(state_dir)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log("stdout")?)
        .stderr(log("stderr")?)
        .spawn()
        .map_err(|error| DiskError::new(DiskAction::Open, &program, error).into())
}

/// Asks a job to stop after the step at hand.
pub fn request_stop(state_dir: &Path, id: &JobId) -> Result<(), EngineError> {
    Ok(JobDir::open(state_dir, id)?.request_stop()?)
}

/// Returns all jobs of a state dir, oldest first; a folder without a readable spec is left out.
pub fn list_jobs(state_dir: &Path) -> Result<Vec<JobSummary>, EngineError> {
    let jobs = jobs_dir(state_dir);
    let entries = match std::fs::read_dir(&jobs) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(DiskError::new(DiskAction::List, &jobs, error).into()),
    };
    let mut summaries: Vec<(SystemTime, JobSummary)> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok()?.parse().ok())
        .filter_map(|id: JobId| summary(state_dir, id).ok())
        .collect();
    // An id tells the second; the spec is written once, when the job begins.
    summaries.sort_by(|(at_a, a), (at_b, b)| (at_a, &a.id).cmp(&(at_b, &b.id)));
    Ok(summaries.into_iter().map(|(_, job)| job).collect())
}

/// Returns the clock of the plan that an interrupted job left half done in these log dirs; `None` if the last job on
/// them reached its end.
///
/// A plan made anew with that clock reaches the end which the interrupted one had, producer expiry included.
pub fn interrupted_clock(state_dir: &Path, log_dirs: &[PathBuf]) -> Option<Timestamp> {
    let jobs = list_jobs(state_dir).ok()?;
    // Reading a large plan takes longer than all else here.
    if !jobs.iter().any(|job| is_interrupted(&job.state)) {
        return None;
    }
    let store = PlanStore::new(state_dir);
    let (plan, state) = jobs.into_iter().rev().find_map(|job| {
        let plan = store.find(&job.spec.plan).ok()?.plan;
        let same = plan.log_dirs.iter().any(|dir| log_dirs.contains(&dir.path));
        same.then_some((plan, job.state))
    })?;
    is_interrupted(&state).then_some(plan.now)
}

fn is_interrupted(state: &JobState) -> bool {
    matches!(
        state,
        JobState::Killed | JobState::Ended(JobOutcome::Stopped | JobOutcome::Failed { .. })
    )
}

/// Returns when a job was made, and what is known of it.
fn summary(state_dir: &Path, id: JobId) -> Result<(SystemTime, JobSummary), EngineError> {
    let dir = JobDir::open(state_dir, &id)?;
    let made = std::fs::metadata(dir.file("spec.json")).and_then(|spec| spec.modified());
    let job = JobSummary {
        spec: dir.spec()?,
        state: state_of(&dir),
        progress: read_progress(&dir.file("progress")),
        id,
    };
    Ok((made.unwrap_or(SystemTime::UNIX_EPOCH), job))
}

fn state_of(dir: &JobDir) -> JobState {
    // Running before outcome: a job writes its outcome while it still runs.
    let running = dir.running().is_some();
    match dir.outcome() {
        Some(outcome) => JobState::Ended(outcome),
        None if running => JobState::Running,
        None => {
            let outcome = dir.outcome().or_else(|| noted_end(dir));
            outcome.map_or(JobState::Killed, JobState::Ended)
        }
    }
}

/// Returns how a job ended that was killed between the end of its journal and its own last word.
fn noted_end(dir: &JobDir) -> Option<JobOutcome> {
    let spec = dir.spec().ok()?;
    let journal = JournalText::read(dir.state_dir()?, &spec.plan).ok()??;
    journal
        .ended
        .filter(|_| journal.begin.at == spec.started_at)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::engine::{Confirmed, Phase};
    use crate::plan::{Quarantine, Step, StepAction, Verdict};

    fn spec(plan: &str) -> JobSpec {
        JobSpec {
            plan: plan.to_owned(),
            also_locked: Vec::new(),
            started_at: Timestamp(1_796_033_700_000),
            who: crate::engine::Who::named("tester"),
            confirmed: Confirmed::ByHash,
            threads: None,
            undoes: None,
        }
    }

    #[test]
    fn a_killed_job_is_told_from_one_that_runs_and_one_that_ended() {
        let state = tempfile::tempdir().unwrap();
        let (id, dir) = JobDir::create(state.path(), &spec("7f3a91c2")).unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        dir.write_pid(child.id()).unwrap();
        let state_now = || {
            JobHandle::open(state.path(), &id)
                .unwrap()
                .tail()
                .unwrap()
                .state
        };
        assert_eq!(state_now(), JobState::Running);
        // A zombie counts as gone: its parent may never ask.
        child.kill().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(state_now(), JobState::Killed);
        child.wait().unwrap();
        assert_eq!(list_jobs(state.path()).unwrap()[0].state, JobState::Killed);
        dir.write_outcome(&JobOutcome::Done).unwrap();
        assert_eq!(state_now(), JobState::Ended(JobOutcome::Done));
    }

    #[test]
    fn a_tail_tells_each_whole_line_once() {
        let state = tempfile::tempdir().unwrap();
        let (id, dir) = JobDir::create(state.path(), &spec("7f3a91c2")).unwrap();
        let mut handle = JobHandle::open(state.path(), &id).unwrap();
        assert_eq!(handle.tail().unwrap().events, []);
        let mut file = File::create(dir.file("events.jsonl")).unwrap();
        let event = JobEvent::Phase {
            phase: Phase::Applying,
        };
        let line = serde_json::to_string(&event).unwrap();
        write!(file, "{line}\n{}", &line[..5]).unwrap();
        assert_eq!(handle.tail().unwrap().events, vec![event.clone()]);
        assert_eq!(handle.tail().unwrap().events, []);
        writeln!(file, "{}", &line[5..]).unwrap();
        assert_eq!(handle.tail().unwrap().events, [event]);
        handle.request_stop().unwrap();
        assert!(dir.stop_requested());
    }

    #[test]
    fn a_brief_tail_tells_states_steps_and_lines() {
        let state = tempfile::tempdir().unwrap();
        let (id, dir) = JobDir::create(state.path(), &spec("7f3a91c2")).unwrap();
        let mut handle = JobHandle::open(state.path(), &id).unwrap();
        let (log_dir, dir_name) = (PathBuf::from("/data1"), "t-0".to_owned());
        let events = [
            JobEvent::Note {
                text: "a \"line\"".to_owned(),
            },
            JobEvent::Log {
                log_dir: log_dir.clone(),
                dir_name: dir_name.clone(),
                state: LogState::Done,
                verdict: Some(Verdict::Recover),
            },
            JobEvent::Step {
                log_dir: log_dir.clone(),
                dir_name: dir_name.clone(),
                step: Step {
                    file: "00000000000000000004.snapshot".to_owned(),
                    action: StepAction::Remove { len: 10 },
                    quarantine: Quarantine::Regenerable,
                    after_sync: false,
                    reason: "stale".to_owned(),
                },
            },
            JobEvent::Ended {
                outcome: JobOutcome::Done,
            },
        ];
        let lines = events.map(|event| serde_json::to_string(&event).unwrap() + "\n");
        std::fs::write(dir.file("events.jsonl"), lines.concat()).unwrap();
        let told = |event: &str| ToldEvent {
            event: event.to_owned(),
            log_dir: None,
            dir_name: None,
            state: None,
            text: None,
        };
        let of_log = |event| ToldEvent {
            log_dir: Some(log_dir.clone()),
            dir_name: Some(dir_name.clone()),
            ..told(event)
        };
        let expected = [
            ToldEvent {
                text: Some("a \"line\"".to_owned()),
                ..told("note")
            },
            ToldEvent {
                state: Some(LogState::Done),
                ..of_log("log")
            },
            of_log("step"),
            told("ended"),
        ];
        assert_eq!(handle.brief_tail().unwrap().events, expected);
    }
}
