//! The broker whose boot is watched: its process, and what its boot reads.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::app::recording::Fact;
use crate::cli::boot_logs::loaded_dirs;
use crate::cli::boot_ports::client_ports;
use crate::cli::facts::{broker_facts, listed_facts};
use crate::cli::look::{self, BesideBroker, Look};
use crate::cli::target::{Candidate, Presence, presence_of};
use crate::cli::{CatchUpWatch, CliError, Context, clock};
use crate::engine::Reading;
use crate::observe::{
    BootSigns, LoadedDir, MetricsAgent, ProcessLife, SignSources, agents_of_process,
};
use crate::plan::RecoveryPlan;

const PROC: &str = "/proc";

/// A broker of this host.
#[derive(Debug)]
pub(super) struct Broker {
    look: Look,
    life: Option<ProcessLife>,
}

impl Broker {
    /// Finds the broker that the settings name, and its process if there is one.
    pub(super) fn find(context: &Context) -> Result<Self, CliError> {
        let look = Look::open(context, BesideBroker::StructureOnly)?;
        let mut broker = Self { look, life: None };
        let pid = broker.look.presence.pid().or(broker.look.candidate.pid);
        broker.take(pid);
        Ok(broker)
    }

    /// Looks for the process again.
    pub(super) fn look_again(&mut self) {
        self.look.presence = presence_of(&self.look.candidate, &self.look.guarded);
        self.take(self.look.presence.pid());
    }

    fn take(&mut self, pid: Option<u32>) {
        self.life = pid.and_then(|pid| ProcessLife::of(Path::new(PROC), pid));
    }

    /// Returns what its boot loads, by names and sizes in the log dirs.
    pub(super) fn loaded_dirs(&self, context: &Context) -> Result<Vec<LoadedDir>, CliError> {
        Ok(loaded_dirs(&self.structure(context)?))
    }

    /// Returns what shows of its boot without a log, which is not there for the reason of `no_log`.
    pub(super) fn signs(&self, dirs: Vec<LoadedDir>, no_log: String) -> Option<BootSigns> {
        Some(BootSigns::new(SignSources {
            life: self.life?,
            dirs,
            ports: client_ports(&self.look.candidate.broker),
            no_log,
        }))
    }

    /// Returns what tells how far it has caught up, if its metadata log lies here.
    pub(super) fn catch_up(&self) -> Option<CatchUpWatch> {
        CatchUpWatch::find(&self.look)
    }

    /// Returns where it was found.
    pub(super) fn candidate(&self) -> Candidate {
        self.look.candidate.clone()
    }

    /// Returns the agents that answer for its metrics from here.
    pub(super) fn agents(&self) -> Vec<MetricsAgent> {
        let agents = |life: ProcessLife| agents_of_process(Path::new(PROC), life.pid);
        self.life.and_then(agents).unwrap_or_default()
    }

    /// Says whether a port is known at which clients find it once it is up.
    pub(super) fn has_ports(&self) -> bool {
        !client_ports(&self.look.candidate.broker).is_empty()
    }

    /// Returns its log dirs.
    pub(super) fn log_dirs(&self) -> &[PathBuf] {
        &self.look.log_dirs
    }

    /// Returns what is known of it, for a recording.
    pub(super) fn facts(&self, context: &Context) -> Result<Vec<Fact>, CliError> {
        let broker = broker_facts(context, &self.look, clock::now());
        let plan = self.structure(context)?;
        let listed = listed_facts(&plan, &self.look);
        Ok(vec![Fact::Broker(Box::new(broker)), Fact::Listed(listed)])
    }

    fn structure(&self, context: &Context) -> Result<RecoveryPlan, CliError> {
        let mut spec = self.look.spec(context);
        spec.reading = Reading::Structure;
        Ok(look::make_plan(spec, |_| Ok(()))?.plan)
    }

    /// Says whether it has locked a log dir: then its log is open, if it has one.
    pub(super) fn locks(&self) -> bool {
        matches!(&self.look.presence, Presence::Running { locked, .. } if !locked.is_empty())
    }

    /// Says whether the process goes on.
    pub(super) fn lives(&self) -> bool {
        self.life.is_some_and(|life| life.goes_on(Path::new(PROC)))
    }

    /// Returns its process, if there is one.
    pub(super) fn process(&self) -> Option<ProcessLife> {
        self.life
    }

    /// Says whether `path` is the file that the process logs to.
    pub(super) fn logs_to(&self, path: &Path) -> bool {
        let identity = |path: &Path| {
            let meta = std::fs::metadata(path).ok()?;
            Some((meta.dev(), meta.ino()))
        };
        let own = self.log_file().ok().flatten();
        own.is_some_and(|own| identity(&own).is_some() && identity(&own) == identity(path))
    }

    /// Returns the file that the process logs to, as far as that may be seen.
    pub(super) fn log_file(&self) -> io::Result<Option<PathBuf>> {
        let Some(life) = self.life else {
            return Ok(None);
        };
        crate::observe::log_file_of(Path::new(PROC), life.pid)
    }
}
