//! Why the engine could not do what was asked.

use std::path::PathBuf;

use crate::disk::DiskError;

/// A job's, a plan's or a state dir's error. A bad log is a finding instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The job was asked to stop.
    #[error("stopped on request")]
    Cancelled,
    /// A worker died of a defect; its panic is on the terminal or in the job's `stderr`.
    #[error("a worker thread died: {cause}")]
    WorkerDied {
        /// What the panic said.
        cause: String,
    },
    /// This session may change nothing.
    #[error("{why}: nothing is applied")]
    ReadOnly {
        /// Who forbids it.
        why: &'static str,
    },
    /// A hash prefix of fewer than 8 hex digits.
    #[error("\"{prefix}\" does not name a plan: give at least 8 hex digits of its hash")]
    BadPlanHash {
        /// What was given.
        prefix: String,
    },
    /// No stored plan has that hash.
    #[error("no plan {prefix} in {}", plans.display())]
    NoSuchPlan {
        /// What was given.
        prefix: String,
        /// Where it was looked for.
        plans: PathBuf,
    },
    /// Several stored plans have that prefix.
    #[error("{count} plans begin with {prefix}: give more digits")]
    AmbiguousPlan {
        /// What was given.
        prefix: String,
        /// How many.
        count: usize,
    },
    /// A stored plan, a job's spec or one of their files does not decode.
    #[error("{} is damaged: {cause}", path.display())]
    StateDamaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// What a plan's apply did cannot be taken back.
    #[error("plan {} cannot be taken back: {cause}", plan.get(..8).unwrap_or(plan))]
    CannotUndo {
        /// Its hash.
        plan: String,
        /// Why.
        cause: String,
    },
    /// The host's policy, or somebody at work, forbids it.
    #[error("{cause}")]
    Refused {
        /// Why.
        cause: String,
    },
    /// No job has that id.
    #[error("no job {id} in {}", jobs.display())]
    NoSuchJob {
        /// What was given.
        id: String,
        /// Where it was looked for.
        jobs: PathBuf,
    },
    /// The state dir lies inside a log dir.
    #[error("the state dir {} lies inside the log dir {}", state_dir.display(), log_dir.display())]
    StateInsideLogDir {
        /// The state dir.
        state_dir: PathBuf,
        /// The log dir.
        log_dir: PathBuf,
    },
}

impl EngineError {
    /// Returns the error with its causes in one line.
    pub fn sentence(&self) -> String {
        match self {
            Self::Disk(error) => error.sentence(),
            other => other.to_string(),
        }
    }

    /// Returns the error of a file of ours that does not decode.
    pub(super) fn damaged(path: impl Into<PathBuf>, cause: &(impl ToString + ?Sized)) -> Self {
        Self::StateDamaged {
            path: path.into(),
            cause: cause.to_string(),
        }
    }
}
