//! What the state wants done outside of it; only the dashboard does it.

use std::path::PathBuf;

use crate::plan::{HandOver, OnLoss, TruncationTarget};
use crate::terms::Position;

use super::event::Level;
use super::state::LogId;

/// Who says a line of the log; the levels of each can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// krescue itself: what it tells in passing.
    Krescue,
    /// What was found in the files.
    Finding,
    /// What a job did.
    Job,
    /// What was done, by whom, in this session or another.
    Audit,
}

/// Which logs a plan is made for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Scope {
    /// All of them.
    #[default]
    All,
    /// Those named: log dir, and the dir's name in it.
    Logs(Vec<(PathBuf, String)>),
}

/// What is asked of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanRequest {
    /// For which logs.
    pub scope: Scope,
    /// What is done with the logs of the scope where Kafka's way costs good records.
    pub on_loss: OnLoss,
    /// What the dirs are handed over as.
    pub hand_over: HandOver,
    /// Where the log of the scope is to end, for a truncation.
    pub truncation: Option<TruncationTarget>,
}

/// One thing to be done outside of the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Opens the broker of this index among those found.
    OpenBroker(usize),
    /// Lists names, sizes and checkpoints.
    List,
    /// Reads batches and makes a plan.
    Plan(PlanRequest),
    /// Ends the reading that runs.
    CancelPlan,
    /// Starts the job that carries out the stored plan of this hash; only for a plan that was shown and confirmed.
    Apply {
        /// The plan's hash.
        plan: String,
    },
    /// Asks a job to stop after its step.
    StopJob {
        /// Its id.
        job: String,
    },
    /// Reads bytes of a file for the detail view.
    ReadBytes {
        /// Whose.
        log: LogId,
        /// The file, with its path.
        file: PathBuf,
        /// Where.
        position: Position,
    },
    /// Writes the screen to a file.
    SaveScreen,
    /// Throws away input that was typed ahead.
    DrainInput,
    /// Writes a line to krescue's log.
    Log {
        /// Who says it.
        target: Target,
        /// How bad.
        level: Level,
        /// The line.
        text: String,
    },
    /// Ends the program.
    Quit,
}
