//! What is known before a plan is made: broker, log dirs, release, topics' settings, who uses the dirs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::living::{AskedBy, LivingCluster};
use super::report::{ProgressReport, RunLine};
use super::target::{
    Candidate, Identity, Presence, TopicSettings, VersionChoice, choose_version, find_candidates,
    only_candidate, presence_of, topic_settings,
};
use super::{CliError, Context};
use crate::engine::{Beside, MadePlan, PlanSpec, Reading, Replicas, interrupted_clock, start_plan};
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::{EvidenceSource, ReplicaEvidence};
use crate::settings::{SettingsError, check_log_dirs};
use crate::terms::{Timestamp, TopicPartition};

const DAY_MS: i64 = 86_400_000;

/// How often the counters are looked at.
const TICK: Duration = Duration::from_millis(50);

/// A broker whose log dirs were looked at by name.
#[derive(Debug)]
pub struct Look {
    /// The broker.
    pub candidate: Candidate,
    /// Who its log dirs say they belong to.
    pub identity: Identity,
    /// Its log dirs that can be looked at.
    pub log_dirs: Vec<PathBuf>,
    /// These, and the others of the configuration that has them: none of them may be locked or in use.
    pub guarded: Vec<PathBuf>,
    /// What is wrong with the others.
    pub broken: Vec<SettingsError>,
    /// Who uses the log dirs.
    pub presence: Presence,
    /// The release whose boot is planned for.
    pub version: VersionChoice,
    /// The topics' settings.
    pub topics: TopicSettings,
    /// What the living cluster says, where it was asked.
    living: Option<Arc<LivingCluster>>,
    /// Why it says nothing.
    silence: Option<Finding>,
}

/// Whether batches may be read beside a living broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BesideBroker {
    /// Names, sizes and checkpoints only.
    StructureOnly,
    /// Batches too, as slowly as the settings say.
    ReadBatches,
}

impl Look {
    /// Finds the broker and looks at its log dirs' names, sizes and locks.
    ///
    /// # Errors
    ///
    /// No broker or several; a configuration or a log dir that cannot be used.
    pub fn open(context: &Context, beside: BesideBroker) -> Result<Self, CliError> {
        let found = find_candidates(context)?;
        Self::of(context, only_candidate(found)?, beside)
    }

    /// Looks at the log dirs of a broker that was chosen.
    ///
    /// # Errors
    ///
    /// A log dir that cannot be used, if there is no other; a file of topic overrides that cannot be used.
    pub fn of(
        context: &Context,
        candidate: Candidate,
        beside: BesideBroker,
    ) -> Result<Self, CliError> {
        let mut look = Self::whatever_is_there(context, candidate, beside)?;
        if look.log_dirs.is_empty() && !look.broken.is_empty() {
            return Err(look.broken.swap_remove(0).into());
        }
        Ok(look)
    }

    /// Looks at a broker although none of its log dirs may be there.
    ///
    /// # Errors
    ///
    /// Log dirs that contradict each other; a file of topic overrides that cannot be used.
    pub fn whatever_is_there(
        context: &Context,
        candidate: Candidate,
        beside: BesideBroker,
    ) -> Result<Self, CliError> {
        let checked = check_log_dirs(&candidate.broker.log_dirs)?;
        let broken = checked.broken;
        if let Some(state_dir) = &context.settings.state_dir {
            crate::settings::check_state_dir(state_dir, &checked.usable)?;
            crate::settings::check_state_dir(state_dir, &candidate.replaced_log_dirs)?;
        }
        let guarded = candidate.guarded(&checked.usable);
        let presence = presence_of(&candidate, &guarded);
        let may_read = presence == Presence::Down || beside == BesideBroker::ReadBatches;
        let topics = topic_settings(&context.settings, &candidate, &checked.usable, may_read)?;
        let version = choose_version(&context.settings, &candidate, topics.metadata_version);
        Ok(Self {
            candidate,
            identity: Identity::read(&checked.usable),
            log_dirs: checked.usable,
            guarded,
            broken,
            presence,
            version,
            topics,
            living: None,
            silence: None,
        })
    }

    /// Reads the metadata log beside a living broker too: it is small, and without it nothing says who else has a log.
    ///
    /// # Errors
    ///
    /// A file of topic overrides that cannot be used.
    pub fn read_metadata(&mut self, context: &Context) -> Result<(), CliError> {
        if self.topics.image.is_none() {
            self.topics = topic_settings(&context.settings, &self.candidate, &self.log_dirs, true)?;
        }
        Ok(())
    }

    /// Asks the living cluster who else has the logs: the one that was named, else, while this host's broker is down, the others
    /// that its metadata names; returns what is told if none answers.
    pub fn ask_cluster(&mut self, context: &Context) -> Option<&Finding> {
        let asked = AskedBy {
            identity: &self.identity,
            node_id: self.node_id(),
            is_down: self.presence == Presence::Down,
            image: self.topics.image.as_deref(),
        };
        match LivingCluster::ask(context, &asked) {
            Ok(living) => self.living = living.map(Arc::new),
            Err(finding) => self.silence = Some(*finding),
        }
        self.silence.as_ref()
    }

    /// Returns what was seen beside log dirs and logs.
    pub fn findings(&self) -> Vec<(Option<PathBuf>, Finding)> {
        let broken = self.broken.iter().map(|error| {
            let (dir, text) = broken_dir(error);
            let finding = Finding::new(FindingCode::LogDir, Severity::Fatal, text)
                .next("Mount or repair it, or take it out of log.dirs; the other log dirs are looked at without it.");
            (dir, finding)
        });
        let release = (!self.version.version.is_compared()).then(|| {
            let text = format!(
                "Kafka {} ({}) lies outside of what recovery was compared with (3.7 to 4.4): a boot may do otherwise",
                self.version.version, self.version.source
            );
            let finding = Finding::new(FindingCode::ReleaseNotCompared, Severity::Routine, text)
                .next("recover --apply is refused for it.");
            (None, finding)
        });
        let topics = self
            .topics
            .findings
            .iter()
            .cloned()
            .map(|finding| (None, finding));
        let silence = self.silence.clone().map(|finding| (None, finding));
        broken.chain(release).chain(topics).chain(silence).collect()
    }

    /// Returns the clock that plans are made with: the one given, that of an apply which was interrupted within the last
    /// day, so that a rerun ends where that one would have, else the present.
    fn now(&self, context: &Context) -> Timestamp {
        let interrupted = || {
            let state_dir = context.settings.state_dir.as_ref()?;
            interrupted_clock(&state_dir.value, &self.log_dirs)
                .filter(|clock| (0..DAY_MS).contains(&context.now.0.saturating_sub(clock.0)))
        };
        let given = context.now_given.then_some(context.now);
        given.or_else(interrupted).unwrap_or(context.now)
    }

    /// Returns a plan's inputs that come from here; the rest is the command's.
    pub fn spec(&self, context: &Context) -> PlanSpec {
        let now = self.now(context);
        let mut spec = PlanSpec::new(self.log_dirs.clone(), self.version.version, now);
        spec.version_source.clone_from(&self.version.source);
        spec.producer_id_expiration_ms = self.candidate.broker.producer_id_expiration_ms.value;
        spec.topic_configs = self.topics.lookup();
        spec.replicas = self.replicas();
        spec.threads = context
            .settings
            .threads
            .as_ref()
            .map(|threads| threads.value);
        spec.beside = match self.presence {
            Presence::Down => Beside::Nobody,
            Presence::Running { .. } | Presence::Unknown { .. } => Beside::LiveBroker {
                bytes_per_second: Some(context.settings.live_read_rate.value),
            },
        };
        spec
    }

    /// Returns the broker's id, by its configuration or its log dirs.
    pub fn node_id(&self) -> Option<i32> {
        let configured = self.candidate.broker.node_id.as_ref().map(|id| id.value);
        configured.or(self.identity.node_id)
    }

    /// Returns the lookup of who else has a partition, by the living cluster, else by the metadata of this host.
    pub(super) fn replicas(&self) -> Replicas {
        let living = self.living.clone();
        let image = self.topics.image.clone();
        let broker = self.node_id();
        Arc::new(move |partition| {
            let asked = living.as_ref();
            if let Some(found) = asked.and_then(|living| living.replicas(broker, partition)) {
                return Some(found);
            }
            let image = image.as_ref()?;
            let of_partition = image.partition(partition)?;
            Some(ReplicaEvidence {
                broker,
                isr: of_partition.isr.clone(),
                leader: of_partition.leader,
                as_of: image.timestamp,
                source: EvidenceSource::Disk,
                ends: Vec::new(),
            })
        })
    }

    /// Returns the first line of a report.
    pub(super) fn run_line(
        &self,
        context: &Context,
        command: &'static str,
        reading: Reading,
    ) -> RunLine {
        let broker = &self.candidate.broker;
        RunLine {
            schema: 1,
            krescue_version: env!("CARGO_PKG_VERSION"),
            command,
            kafka_version: self.version.version.to_string(),
            version_source: self.version.source.clone(),
            now: self.now(context).rfc3339(),
            host: context.host.clone(),
            node_id: self.node_id(),
            cluster_id: self.identity.cluster_id.clone(),
            config: broker.path.as_ref().map(|path| path.display().to_string()),
            found_by: self.candidate.found_by.clone(),
            log_dirs: broker
                .log_dirs
                .value
                .iter()
                .map(|dir| dir.display().to_string())
                .collect(),
            broker: self.presence.word(),
            pid: self.presence.pid().or(self.candidate.pid),
            unit: self.candidate.unit.clone(),
            topic_settings: self.topics.source.clone(),
            reading: match reading {
                Reading::Structure => "structure",
                Reading::AsBoot => "as_boot",
                Reading::Everything => "everything",
            },
        }
    }
}

/// Returns the dir that an error is about, and the error as a sentence.
pub(super) fn broken_dir(error: &SettingsError) -> (Option<PathBuf>, String) {
    let dir = match error {
        SettingsError::LogDirMissing { path, .. }
        | SettingsError::LogDirDangling { path, .. }
        | SettingsError::LogDirNoDirectory { path, .. }
        | SettingsError::LogDirUnreadable { path, .. }
        | SettingsError::LogDirIsPartition { path, .. } => Some(path.clone()),
        _ => None,
    };
    let text = match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    };
    (dir, text)
}

/// Makes a plan and shows how far it is; `on_line` gets the counters every 10 s, or more often on a terminal.
///
/// # Errors
///
/// The engine's.
pub(super) fn make_plan(
    spec: PlanSpec,
    mut on_line: impl FnMut(super::report::ProgressLine) -> Result<(), CliError>,
) -> Result<MadePlan, CliError> {
    let handle = start_plan(spec)?;
    let mut progress = ProgressReport::start();
    while !handle.is_finished() {
        // What is found is told from the finished plan, in order; an event only wakes this loop.
        if let Err(RecvTimeoutError::Disconnected) = handle.events().recv_timeout(TICK) {
            break;
        }
        if let Some(line) = progress.tick(&handle.progress()) {
            on_line(line)?;
        }
    }
    progress.end();
    Ok(handle.join()?)
}

/// Says whether what was found goes beyond what every crash leaves.
pub(super) fn beyond_routine<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> bool {
    findings
        .into_iter()
        .any(|finding| finding.severity > Severity::Routine)
}

/// Checks that each selected partition lies in a log dir.
///
/// # Errors
///
/// A usage error that names those that do not.
pub(super) fn check_selection(
    wanted: &[TopicPartition],
    plan: &crate::plan::RecoveryPlan,
) -> Result<(), CliError> {
    let is_there = |tp: &TopicPartition| {
        plan.partitions()
            .any(|log| log.topic_partition.as_ref() == Some(tp))
    };
    check_named(wanted, is_there)
        .map_err(|error| error.hint("krescue scan lists the partitions there are."))
}

/// Checks that every partition that was named `is_there`.
///
/// # Errors
///
/// A usage error that names those that are not.
pub(super) fn check_named(
    wanted: &[TopicPartition],
    is_there: impl Fn(&TopicPartition) -> bool,
) -> Result<(), CliError> {
    let missing: Vec<String> = wanted
        .iter()
        .filter(|tp| !is_there(tp))
        .map(ToString::to_string)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "no log dir holds {}",
        missing.join(", ")
    )))
}

/// Returns where engine contents may overflow to: the state dir, if it can be written.
pub(super) fn overflow_dir(context: &Context) -> Option<PathBuf> {
    let dir = &context.settings.state_dir.as_ref()?.value;
    crate::settings::is_writable(dir).then(|| dir.clone())
}
