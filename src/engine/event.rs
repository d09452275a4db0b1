//! What a job says while it runs: events on change, totals at any time.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::log::Finding;
use crate::plan::{Step, Verdict};
use crate::terms::Offset;

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Listing dirs, reading checkpoints.
    #[default]
    Listing,
    /// Reading batches.
    Scanning,
    /// Checking locks, space, permissions and stamps before the first step.
    Checking,
    /// Changing files.
    Applying,
    /// Syncing volumes.
    Syncing,
    /// Writing checkpoints and markers.
    HandingOver,
    /// Ended.
    Ended,
}

/// Where a job stands with one log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogState {
    /// Not begun.
    Waiting,
    /// Its batches are read.
    Scanning,
    /// Its plan is made.
    Planned,
    /// Its steps run.
    Applying,
    /// Its steps are done.
    Done,
    /// It stays as it is: ASK, REFUSED, not supported, unreadable or not selected.
    Left,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum JobOutcome {
    /// Each selected log reached its planned end.
    Done,
    /// Done, but some logs stay as they are.
    DoneButLeft {
        /// How many.
        left: u64,
    },
    /// Refused before any change.
    Refused {
        /// Why, and what to do.
        cause: String,
    },
    /// Asked to stop; a rerun goes on.
    Stopped,
    /// Failed in the middle; a rerun goes on.
    Failed {
        /// The error with file, position and cause.
        cause: String,
    },
}

/// A change of state within a job; one JSON line of its events file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum JobEvent {
    /// The job entered a phase.
    Phase {
        /// Which.
        phase: Phase,
    },
    /// A log's state changed.
    Log {
        /// Its log dir.
        log_dir: PathBuf,
        /// Its dir's name.
        dir_name: String,
        /// Its new state.
        state: LogState,
        /// What was decided, once it is.
        verdict: Option<Verdict>,
    },
    /// A segment was read to its end.
    Segment {
        /// Its log dir.
        log_dir: PathBuf,
        /// Its dir's name.
        dir_name: String,
        /// Its base offset.
        base_offset: Offset,
        /// Bytes read.
        bytes: u64,
    },
    /// Something was found.
    Finding {
        /// The log dir.
        log_dir: PathBuf,
        /// The dir's name; `None` for the log dir itself.
        dir_name: Option<String>,
        /// What.
        finding: Finding,
    },
    /// A step was done.
    Step {
        /// Its log dir.
        log_dir: PathBuf,
        /// Its dir's name.
        dir_name: String,
        /// Which.
        step: Step,
    },
    /// Something worth a line.
    Note {
        /// The line.
        text: String,
    },
    /// The job ended.
    Ended {
        /// How.
        outcome: JobOutcome,
    },
}

/// How far one log dir is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DirProgress {
    /// The log dir.
    pub log_dir: PathBuf,
    /// Bytes read so far.
    pub bytes_done: u64,
    /// Bytes to read in all.
    pub bytes_total: u64,
    /// Logs that are through.
    pub logs_done: u64,
    /// Logs in all.
    pub logs_total: u64,
}

/// A job's counters at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// The phase.
    pub phase: Phase,
    /// Steps done.
    pub steps_done: u64,
    /// Steps in all.
    pub steps_total: u64,
    /// Per log dir.
    pub dirs: Vec<DirProgress>,
}

impl Progress {
    /// Returns bytes read and bytes to read, over all log dirs.
    pub fn bytes(&self) -> (u64, u64) {
        self.dirs.iter().fold((0, 0), |(done, total), dir| {
            (done + dir.bytes_done, total + dir.bytes_total)
        })
    }

    /// Returns logs that are through and logs in all, over all log dirs.
    pub fn logs(&self) -> (u64, u64) {
        self.dirs.iter().fold((0, 0), |(done, total), dir| {
            (done + dir.logs_done, total + dir.logs_total)
        })
    }
}
