//! A job's folder, `STATE/jobs/ID`: who writes which file.
//!
//! | file | written by | what |
//! |---|---|---|
//! | `spec.json` | the starter | what to do |
//! | `pid` | the starter, then the job | process id and start time |
//! | `progress` | the job, in place | the counters |
//! | `events.jsonl` | the job, appended | events, one JSON line each |
//! | `stop` | anybody | its presence asks the job to stop after the step at hand |
//! | `outcome` | the job, last, by a rename | how it ended |
//! | `stderr` | the job | what a panic says |

use std::io;
use std::path::{Path, PathBuf};

use super::job_spec::{JobId, JobSpec};
use super::process::ProcessId;
use crate::disk::{DiskAction, DiskError};
use crate::engine::store::plan_store::{create_dirs, write_synced};
use crate::engine::{EngineError, JobOutcome};
use crate::terms::Timestamp;

/// The folder of one job.
#[derive(Debug, Clone)]
pub(in crate::engine) struct JobDir {
    dir: PathBuf,
}

impl JobDir {
    /// Creates the folder of a new job and writes its spec.
    pub(in crate::engine) fn create(
        state_dir: &Path,
        spec: &JobSpec,
    ) -> Result<(JobId, Self), EngineError> {
        let jobs = jobs_dir(state_dir);
        create_dirs(&jobs)?;
        for number in 0.. {
            let id = job_id(spec.started_at, &spec.plan, number);
            let dir = jobs.join(&id.0);
            match std::fs::create_dir(&dir) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(DiskError::new(DiskAction::Create, &dir, error).into());
                }
                Ok(()) => {
                    let this = Self { dir };
                    let path = this.file("spec.json");
                    let text = serde_json::to_vec(spec)
                        .map_err(|error| EngineError::damaged(&path, &error))?;
                    write_synced(&path, &text)?;
                    return Ok((id, this));
                }
            }
        }
        Err(EngineError::damaged(jobs, &"no free job id"))
    }

    /// Finds the folder of a job.
    pub(in crate::engine) fn open(state_dir: &Path, id: &JobId) -> Result<Self, EngineError> {
        let jobs = jobs_dir(state_dir);
        let dir = jobs.join(&id.0);
        if !dir.is_dir() {
            return Err(EngineError::NoSuchJob {
                id: id.to_string(),
                jobs,
            });
        }
        Ok(Self { dir })
    }

    /// Returns the state dir that it lies in.
    pub(in crate::engine) fn state_dir(&self) -> Option<&Path> {
        self.dir.parent()?.parent()
    }

    /// Returns the path of one of its files.
    pub(in crate::engine) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Reads what the job is to do.
    pub(in crate::engine) fn spec(&self) -> Result<JobSpec, EngineError> {
        let path = self.file("spec.json");
        let text = std::fs::read(&path).map_err(DiskError::of(DiskAction::Read, &path))?;
        serde_json::from_slice(&text).map_err(|error| EngineError::damaged(&path, &error))
    }

    /// Writes which process runs the job.
    pub(in crate::engine) fn write_pid(&self, pid: u32) -> Result<(), DiskError> {
        let text = ProcessId::of(pid).map(ProcessId::to_text);
        // The starter and the job both write it, and whoever reads must never see half of it.
        let half = self.file(&format!("pid.{}", std::process::id()));
        write_synced(&half, text.unwrap_or_default().as_bytes())?;
        let whole = self.file("pid");
        std::fs::rename(&half, &whole).map_err(DiskError::of(DiskAction::Rename, &half))
    }

    /// Returns which process runs the job, if it still does.
    pub(in crate::engine) fn running(&self) -> Option<ProcessId> {
        let text = std::fs::read_to_string(self.file("pid")).ok()?;
        ProcessId::parse(&text).filter(|process| process.is_running())
    }

    /// Reads how the job ended; `None` if it did not.
    pub(in crate::engine) fn outcome(&self) -> Option<JobOutcome> {
        let text = std::fs::read(self.file("outcome")).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes how the job ended, whole or not at all.
    pub(in crate::engine) fn write_outcome(&self, outcome: &JobOutcome) -> Result<(), EngineError> {
        let path = self.file("outcome");
        let half = self.file("outcome.tmp");
        let text =
            serde_json::to_vec(outcome).map_err(|error| EngineError::damaged(&path, &error))?;
        write_synced(&half, &text)?;
        std::fs::rename(&half, &path).map_err(DiskError::of(DiskAction::Rename, &half))?;
        Ok(())
    }

    /// Asks the job to stop after the step at hand.
    pub(in crate::engine) fn request_stop(&self) -> Result<(), DiskError> {
        write_synced(&self.file("stop"), b"")
    }

    /// Says whether it was asked to.
    pub(in crate::engine) fn stop_requested(&self) -> bool {
        self.file("stop").exists()
    }
}

/// Returns `STATE/jobs`.
pub(in crate::engine) fn jobs_dir(state_dir: &Path) -> PathBuf {
    state_dir.join("jobs")
}

/// Builds an id that sorts by time: `20261130T101500-7f3a91c2`, and `-2` behind it where it is taken.
fn job_id(started_at: Timestamp, plan: &str, number: u32) -> JobId {
    let time: String = started_at
        .rfc3339()
        .chars()
        .take_while(|c| *c != '.')
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let plan: String = plan.chars().take(8).collect();
    JobId(match number {
        0 => format!("{time}-{plan}"),
        taken => format!("{time}-{plan}-{}", taken + 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Confirmed;

    fn spec() -> JobSpec {
        JobSpec {
            plan: "7f3a91c2".repeat(8),
            also_locked: vec![PathBuf::from("/d")],
            started_at: Timestamp(1_796_033_700_000),
            who: crate::engine::Who::named("tester"),
            confirmed: Confirmed::Typed,
            threads: None,
            undoes: None,
        }
    }

    #[test]
    fn two_jobs_of_one_second_have_two_ids() {
        let state = tempfile::tempdir().unwrap();
        let (first, dir) = JobDir::create(state.path(), &spec()).unwrap();
        let (second, _) = JobDir::create(state.path(), &spec()).unwrap();
        assert_eq!(first.to_string(), "20261130T101500-7f3a91c2");
        assert_eq!(second.to_string(), "20261130T101500-7f3a91c2-2");
        assert!(first.to_string().parse::<JobId>().is_ok());
        assert_eq!(dir.spec().unwrap(), spec());
    }

    #[test]
    fn an_outcome_and_a_stop_are_seen() {
        let state = tempfile::tempdir().unwrap();
        let (id, dir) = JobDir::create(state.path(), &spec()).unwrap();
        assert_eq!(dir.outcome(), None);
        assert!(!dir.stop_requested());
        dir.request_stop().unwrap();
        dir.write_outcome(&JobOutcome::Stopped).unwrap();
        let dir = JobDir::open(state.path(), &id).unwrap();
        assert!(dir.stop_requested());
        assert_eq!(dir.outcome(), Some(JobOutcome::Stopped));
        dir.write_pid(std::process::id()).unwrap();
        assert!(dir.running().is_some());
    }
}
