//! What the state wants done outside of it; only the dashboard does it.

use std::path::PathBuf;

use crate::log::UsageKind;
use crate::plan::retention::WhatIf;
use crate::plan::{HandOver, LiveWish, OnLoss, TruncationTarget};
use crate::terms::Position;

use super::event::Level;
use super::recording::Fact;
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
    /// What a boot would stumble over, wherever it lies; no batch is read.
    Mends,
    /// What is to go to free space; no batch is read.
    Cleanup(CleanupRequest),
}

/// What is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanupAsk {
    /// What a broker or its next boot removes by itself.
    Leftovers,
    /// Dirs that the metadata proves to be strays.
    Strays,
    /// What retention deletes at the next pass, of all topics or of these.
    PastRetention(Vec<String>),
    /// What would go under other limits: good records.
    Shorten(Shorten),
    /// So many bytes, the cheapest first.
    Free(u64),
    /// Just this.
    Marked(Vec<FreeChoice>),
}

/// Other limits, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shorten {
    /// Topics or partitions; all where none is named.
    pub names: Vec<String>,
    /// The limits.
    pub limits: WhatIf,
    /// Whether what goes is kept for an undo.
    pub copies: Copies,
}

/// Something that was marked to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeChoice {
    /// Its log dir.
    pub log_dir: PathBuf,
    /// The dir's name in it.
    pub dir_name: String,
    /// What of it.
    pub what: FreeWhat,
}

/// What of a dir goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreeWhat {
    /// Its leftovers of a kind.
    Leftover(UsageKind),
    /// So many of its oldest segments.
    Segments(usize),
}

/// A cleanup that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupRequest {
    /// What is to go.
    pub ask: CleanupAsk,
    /// The log dir whose volume is to become free; all where none is named.
    pub on: Option<PathBuf>,
    /// Whether what goes is kept for an undo.
    pub copies: Copies,
}

/// Whether what goes is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Copies {
    /// In the quarantine.
    #[default]
    Kept,
    /// Nowhere: it is gone for good.
    None,
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
    /// The leading digits of the plan that is taken back; then nothing else counts.
    pub undoes: Option<String>,
    /// Every segment of the scope is read in full and judged; no plan comes of it.
    pub verifies: bool,
}

/// One thing to be done outside of the state.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Opens the broker of this index among those found.
    OpenBroker(usize),
    /// Lists names, sizes and checkpoints.
    List,
    /// Reads what retention depends on: names, sizes, checkpoints, the ends of indexes.
    ReadRetention,
    /// Looks at the volumes and at what fills them: one `stat` a file.
    ReadVolumes,
    /// Lists the files of a dir.
    ListFiles {
        /// Its log dir.
        dir: PathBuf,
        /// Its name.
        name: String,
    },
    /// Looks what can go to free space.
    OfferFree {
        /// The log dir whose volume is meant.
        dir: PathBuf,
        /// Bytes that are to become free.
        target: u64,
    },
    /// Reads batches and makes a plan.
    Plan(PlanRequest),
    /// Looks which plans can be taken back.
    ListKept,
    /// Looks what stands in the way of a boot, and lists it with the log dirs.
    Preflight,
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
    /// Asks the living cluster again and again, or no longer: somebody looks at it, or nobody does.
    WatchCluster(bool),
    /// Asks the living cluster now.
    AskCluster,
    /// Asks the living cluster for the plan of a wish.
    PlanLive(LiveWish),
    /// Carries out the stored plan of this hash on the living cluster; only for a plan that was shown and confirmed.
    ApplyLive {
        /// The plan's hash.
        hash: String,
    },
    /// Reads what is known of MirrorMaker 2.
    ReadMirror,
    /// Writes the screen to a file.
    SaveScreen,
    /// Begins a recording, or ends the one that runs; what is known already comes first.
    Record {
        /// The file; `None` for a new one in the state dir.
        file: Option<PathBuf>,
        /// What is known already.
        known: Vec<Fact>,
    },
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
