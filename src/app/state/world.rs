//! The whole state, and the part of it that is facts.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::app::confirm::PlanSummary;
use crate::app::effect::PlanRequest;
use crate::app::facts::{BrokerChoice, BrokerFacts, Presence};
use crate::app::session::Session;
use crate::engine::JobOutcome;
use crate::plan::{HandOver, LogDirPlan, PartitionPlan, PlanAct, RecoveryPlan, StopState};
use crate::terms::Timestamp;

use super::boot::Boot;
use super::live::{Freeing, KeptChange, LiveWork};
use super::logs::{LogRow, Logs};
use super::mirror::MirrorRead;
use super::replicas::ClusterView;
use super::segments::RetentionFacts;
use super::view::View;
use super::volumes::VolumesFacts;
use super::work::Work;

/// What is known before anything was looked at.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The host's name.
    pub host: String,
    /// The time zone that times are shown in.
    pub zone: TimeZone,
    /// Why this session may never act.
    pub forbidden: Option<String>,
    /// Whether it begins armed.
    pub armed: bool,
    /// The time.
    pub now: Timestamp,
    /// What is shown.
    pub subject: Subject,
}

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A host, as it is.
    Host,
    /// A recording of one.
    Recording,
}

/// A plan that was made and stored.
#[derive(Debug, Clone)]
pub struct ShownPlan {
    /// The plan.
    pub plan: Arc<RecoveryPlan>,
    /// The plan in numbers.
    pub sum: PlanSummary,
    /// Its hash.
    pub hash: String,
    /// What it was made for.
    pub request: PlanRequest,
    /// When it was made.
    pub made: Timestamp,
    /// Why it is not in the store and cannot be carried out.
    pub unstored: Option<String>,
    /// Whether somebody used the log dirs when it was made: then it only says what was seen.
    pub beside: Beside,
    /// Whether it was carried out: then it is history and cannot be again.
    pub applied: bool,
}

/// Whether a living broker used the log dirs while they were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Nobody did.
    Nobody,
    /// A broker did, or may have.
    LiveBroker,
}

impl ShownPlan {
    /// Says whether carrying it out would change nothing at all.
    pub fn changes_nothing(&self) -> bool {
        let steps = self
            .plan
            .partitions()
            .any(|log| log.verdict.is_applied() && !log.steps.is_empty());
        let hands_over = |dir: &LogDirPlan| {
            dir.removes_marker
                || dir.recovery_points.is_some()
                || (dir.hand_over == HandOver::Clean && dir.stop == StopState::Unclean)
        };
        !steps && !self.plan.log_dirs.iter().any(hands_over)
    }

    /// Returns what became of it, in words.
    pub fn fate(&self) -> &'static str {
        match self.applied {
            true => "carried out",
            false if self.beside == Beside::LiveBroker => "read beside a living broker",
            false if self.changes_nothing() => "nothing to do",
            false => "not carried out",
        }
    }
}

/// A job that ended, as long as the session lasts.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Its id.
    pub job: String,
    /// How.
    pub outcome: JobOutcome,
    /// What its plan was to do; `None` for a job of another session.
    pub did: Option<PlanSummary>,
    /// What it handed over as.
    pub hand_over: Option<HandOver>,
    /// Where the cut bytes are.
    pub quarantine: Option<PathBuf>,
    /// When.
    pub at: Timestamp,
}

/// A job whose process is gone without a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KilledJob {
    /// Its id.
    pub job: String,
    /// What its plan was; `None` where it is no longer stored.
    pub act: Option<PlanAct>,
    /// The hash of its plan.
    pub plan: String,
    /// The hash of the plan that it took back.
    pub undoes: Option<String>,
    /// When that was seen.
    pub at: Timestamp,
}

/// What is known.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// The brokers that were found.
    pub choices: Vec<BrokerChoice>,
    /// The one that is open.
    pub broker: Option<BrokerFacts>,
    /// Its log dirs and logs.
    pub logs: Logs,
    /// When they were listed.
    pub listed: Option<Timestamp>,
    /// Why they could not be.
    pub list_error: Option<String>,
    /// The newest plan.
    pub plan: Option<ShownPlan>,
    /// The scan or job that runs or ran last.
    pub work: Option<Work>,
    /// The job that ended last.
    pub ended: Option<Ended>,
    /// The job that was killed before this session, if nothing newer ran on these log dirs.
    pub killed: Option<KilledJob>,
    /// What was read for retention.
    pub retention: Option<Arc<RetentionFacts>>,
    /// The volumes of its log dirs.
    pub volumes: Option<Arc<VolumesFacts>>,
    /// The broker's boot that is watched, or was last.
    pub boot: Option<Boot>,
    /// The living cluster.
    pub cluster: ClusterView,
    /// What is asked of it now: a plan, or that it is carried out.
    pub live_work: Option<LiveWork>,
    /// Changes of it that wait for their old values, oldest first.
    pub in_force: Vec<KeptChange>,
    /// Changes of this session by which segments go, oldest first.
    pub freeing: Vec<Freeing>,
    /// What is known of MirrorMaker 2, once it was asked for.
    pub mirror: Option<MirrorRead>,
    /// Bytes a second at which batches were read on this host.
    pub measured_rate: Option<u64>,
}

impl World {
    /// Returns whether the broker runs, as far as that is known.
    pub fn presence(&self) -> Option<&Presence> {
        self.broker.as_ref().map(|broker| &broker.presence)
    }

    /// Returns what the newest plan says of a log.
    pub fn planned(&self, row: &LogRow) -> Option<&PartitionPlan> {
        let (dir, index) = row.plan?;
        let plan = &self.plan.as_ref()?.plan;
        // Mends and cleanups were never laid over the rows.
        if matches!(plan.act, PlanAct::Mend | PlanAct::CleanUp) {
            return None;
        }
        plan.log_dirs.get(dir)?.partitions.get(index)
    }

    /// Returns the boot if it goes on.
    pub fn booting(&self) -> Option<&Boot> {
        self.boot.as_ref().filter(|boot| boot.goes_on())
    }

    /// Returns the work if it still runs.
    pub fn running(&self) -> Option<&Work> {
        self.work.as_ref().filter(|work| work.runs())
    }
}

/// A screen that stands still.
#[derive(Debug, Clone)]
pub struct Frozen {
    /// What was known then.
    pub world: World,
    /// When it was frozen.
    pub since: Timestamp,
}

/// Everything that a screen is drawn from.
#[derive(Debug, Clone)]
pub struct State {
    /// What was given at the start.
    pub setup: Setup,
    /// The time.
    pub now: Timestamp,
    /// Whether this session may act.
    pub session: Session,
    /// What is known.
    pub world: World,
    /// What was known when the screen was frozen.
    pub frozen: Option<Box<Frozen>>,
    /// How it is looked at.
    pub view: View,
}

impl State {
    /// Returns the state of a session in which nothing was looked at yet.
    pub fn new(setup: Setup) -> Self {
        let mut session = Session::new(setup.forbidden.clone());
        if setup.armed && session.arm(setup.now).is_err() {
            session.disarm();
        }
        Self {
            now: setup.now,
            session,
            world: World::default(),
            frozen: None,
            view: View::default(),
            setup,
        }
    }

    /// Makes the order of rows anew if anything changed it; to be called before each screen.
    pub fn refresh(&mut self) {
        let world = match &self.frozen {
            Some(frozen) => &frozen.world,
            None => &self.world,
        };
        self.view.table.refresh(&world.logs);
        self.view.replicas.refresh(&world.cluster);
        self.view.mirror.refresh(world.mirror.as_ref());
        let retention = self.shown().retention.clone();
        self.view.segments.refresh(retention.as_ref());
        let volumes = self.shown().volumes.clone();
        self.view.volumes.refresh(volumes.as_deref());
    }

    /// Returns what the screen shows: the world, or what it was when it was frozen.
    pub fn shown(&self) -> &World {
        self.frozen
            .as_ref()
            .map_or(&self.world, |frozen| &frozen.world)
    }

    /// Returns what the change of this plan has freed so far; `None` if nothing was asked yet.
    pub fn freeing(&self, hash: &str) -> Option<&Freeing> {
        self.shown().freeing.iter().find(|of| of.hash == hash)
    }

    /// Returns the log under the cursor, or the one that is open.
    pub fn selected_log(&self) -> Option<&LogRow> {
        let open = self.view.detail.as_ref().map(|detail| detail.log);
        self.shown().logs.row(open.or(self.view.table.selected())?)
    }
}
