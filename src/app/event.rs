//! What reaches the state from outside.

use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::{JobEvent, Progress};
use crate::plan::RecoveryPlan;
use crate::terms::{Position, Timestamp};

use super::action::Action;
use super::effect::PlanRequest;
use super::facts::{BrokerChoice, BrokerFacts, LogDirFacts};
use super::state::{LogId, WorkKind};

/// How bad a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Worth knowing.
    Note,
    /// Something was refused or did not work.
    Warn,
    /// Something failed.
    Error,
}

/// Bytes of a file around a place, and what they decode to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BytesView {
    /// The file.
    pub file: PathBuf,
    /// The place that was asked for.
    pub position: Position,
    /// Where `bytes` begin.
    pub from: Position,
    /// The bytes; fewer where the file ends.
    pub bytes: Vec<u8>,
    /// The file's length when it was read.
    pub file_len: u64,
    /// Fields that the bytes at `position` would be, with their values.
    pub fields: Vec<Field>,
    /// Why they could not be read.
    pub error: Option<String>,
}

/// One decoded field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name, as in Kafka's source.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What is wrong with it, if that shows.
    pub wrong: Option<String>,
}

/// Something that happened outside of the state.
#[derive(Debug, Clone)]
pub enum Event {
    /// A key was pressed or a command typed.
    Action {
        /// What it asks for.
        action: Action,
        /// When.
        at: Timestamp,
    },
    /// Time went by.
    Tick(Timestamp),
    /// These brokers were found; several open the chooser.
    Found(Vec<BrokerChoice>),
    /// A broker was looked at, for the first time or again.
    Opened(Box<BrokerFacts>),
    /// Whether it runs was looked at again; it is as it was.
    Present(Timestamp),
    /// Its log dirs were listed.
    Listed(Vec<LogDirFacts>),
    /// They could not be.
    ListFailed(String),
    /// A job was found that runs already; its events follow from the first one on.
    JobFound {
        /// Which.
        kind: WorkKind,
        /// The plan that it carries out.
        plan: Arc<RecoveryPlan>,
        /// That plan's hash.
        hash: String,
        /// When it began.
        at: Timestamp,
    },
    /// A scan or a job began.
    WorkStarted {
        /// Which.
        kind: WorkKind,
        /// When it began.
        at: Timestamp,
    },
    /// It spoke.
    Work(JobEvent),
    /// Its counters were read.
    Progress {
        /// What they say.
        progress: Progress,
        /// When.
        at: Timestamp,
    },
    /// A plan was made and stored.
    Planned {
        /// The plan.
        plan: Arc<RecoveryPlan>,
        /// Its hash.
        hash: String,
        /// What it was made for.
        request: PlanRequest,
        /// Why it is not in the store and cannot be carried out.
        unstored: Option<String>,
        /// When.
        at: Timestamp,
    },
    /// No plan could be made.
    PlanFailed(String),
    /// The reading was ended as asked.
    PlanCancelled,
    /// A job could not be started.
    ApplyFailed(String),
    /// Bytes were read.
    Bytes {
        /// Whose.
        log: LogId,
        /// What was read.
        view: BytesView,
    },
    /// Something is to be told.
    Notice {
        /// How bad.
        level: Level,
        /// What.
        text: String,
    },
}
