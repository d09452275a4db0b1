//! What reaches the state from outside.

use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::{JobEvent, Progress};
use crate::observe::BootReport;
use crate::plan::volumes::FileUsage;
use crate::plan::{LivePlan, RecoveryPlan};
use crate::terms::{Position, Timestamp};

use super::action::Action;
use super::effect::PlanRequest;
use super::facts::{BrokerChoice, BrokerFacts, KeptFacts, LogDirFacts};
use super::state::{
    ClusterFacts, FreeOffer, Freeing, KeptChange, KilledJob, LogId, MirrorRead, RetentionFacts,
    VolumesFacts, WorkKind,
};

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

/// What a verify came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verified {
    /// Logs that were read.
    pub logs: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Logs in which something beyond routine was found.
    pub bad: u64,
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
    /// Logs were read for retention, or could not be.
    Retention(Result<Arc<RetentionFacts>, String>),
    /// The volumes were looked at so far, or could not be; the last time it is whole.
    Volumes(Result<Arc<VolumesFacts>, String>),
    /// The files of a dir were listed, or could not be.
    Files {
        /// Its log dir.
        dir: PathBuf,
        /// Its name.
        name: String,
        /// The files.
        files: Result<Vec<FileUsage>, String>,
    },
    /// It was looked what can go to free space.
    FreeOffer(Result<Arc<FreeOffer>, String>),
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
    /// The last job on these log dirs was killed in the middle.
    JobKilled(KilledJob),
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
    /// All segments that were asked for were read; what was found was told log by log.
    Verified(Verified),
    /// What stands in the way of a boot was looked up and listed: so much ends it or destroys data, loses data, and warns.
    Preflight([u64; 3]),
    /// No plan could be made.
    PlanFailed(String),
    /// The reading was ended as asked.
    PlanCancelled,
    /// A job could not be started.
    ApplyFailed(String),
    /// The broker's boot was looked at.
    Boot(Box<BootReport>),
    /// Bytes were read.
    Bytes {
        /// Whose.
        log: LogId,
        /// What was read.
        view: BytesView,
    },
    /// The plans that were carried out from this state dir, the newest first.
    Kept(Vec<KeptFacts>),
    /// The living cluster was looked at.
    Cluster(Box<ClusterFacts>),
    /// It could not be.
    ClusterLost {
        /// Why.
        cause: String,
        /// When.
        at: Timestamp,
    },
    /// A plan for the living cluster was made.
    LivePlanned {
        /// The plan.
        plan: Arc<LivePlan>,
        /// Its hash.
        hash: String,
        /// Kafka's own line that does the same.
        line: String,
    },
    /// None could be made.
    LivePlanFailed(String),
    /// A plan was carried out on the living cluster, or not.
    LiveEnded {
        /// The plan's hash.
        hash: String,
        /// What came of it, a sentence each, or why nothing did.
        result: Result<Vec<String>, String>,
    },
    /// It was asked what a change has freed so far.
    Freed(Box<Freeing>),
    /// The changes of the living cluster that wait for their old values.
    InForce(Vec<KeptChange>),
    /// What is known of MirrorMaker 2 was read.
    Mirror(MirrorRead),
    /// Something is to be told.
    Notice {
        /// How bad.
        level: Level,
        /// What.
        text: String,
    },
}
