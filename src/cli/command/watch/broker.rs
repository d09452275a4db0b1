//! The broker whose boot is watched: its process, and what its boot reads.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::cli::look::{self, BesideBroker, Look};
use crate::cli::target::{Presence, presence_of};
use crate::cli::{CliError, Context};
use crate::engine::Reading;
use crate::observe::{LogBytes, ProcessLife, recovery_reads};
use crate::plan::RecoveryPlan;

const PROC: &str = "/proc";

/// A broker of this host.
#[derive(Debug)]
pub(super) struct Broker {
    look: Look,
    life: Option<ProcessLife>,
    /// When its process began, in ms since 1970; `None` where that cannot be told.
    pub(super) began_ms: Option<i64>,
}

impl Broker {
    /// Finds the broker that the settings name, and its process if there is one.
    pub(super) fn find(context: &Context) -> Result<Self, CliError> {
        let look = Look::open(context, BesideBroker::StructureOnly)?;
        let mut broker = Self {
            look,
            life: None,
            began_ms: None,
        };
        let pid = broker.look.presence.pid().or(broker.look.candidate.pid);
        broker.take(pid);
        Ok(broker)
    }

    /// Looks for the process again.
    pub(super) fn look_again(&mut self) {
        self.look.presence = presence_of(&self.look.candidate, &self.look.log_dirs);
        self.take(self.look.presence.pid());
    }

    fn take(&mut self, pid: Option<u32>) {
        let proc = Path::new(PROC);
        self.life = pid.and_then(|pid| ProcessLife::of(proc, pid));
        self.began_ms = self.life.and_then(|life| life.began_ms(proc));
    }

    /// Returns what its boot reads, by names and sizes in the log dirs, as the broker names them.
    pub(super) fn boot_reads(&self, context: &Context) -> Result<Vec<LogBytes>, CliError> {
        let mut spec = self.look.spec(context);
        spec.reading = Reading::Structure;
        Ok(logs(&look::make_plan(spec, |_| Ok(()))?.plan))
    }

    /// Says whether it has locked a log dir: then its log is open, if it has one.
    pub(super) fn locks(&self) -> bool {
        matches!(&self.look.presence, Presence::Running { locked, .. } if !locked.is_empty())
    }

    /// Says whether the process goes on.
    pub(super) fn lives(&self) -> bool {
        self.life.is_some_and(|life| life.goes_on(Path::new(PROC)))
    }

    /// Returns what the recovery threads have read, if they may be seen.
    pub(super) fn reads(&self) -> Option<u64> {
        recovery_reads(Path::new(PROC), self.life?.pid).ok()?
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

    /// Returns the file that the process logs to.
    pub(super) fn log_file(&self) -> Result<Option<PathBuf>, CliError> {
        let Some(life) = self.life else {
            return Ok(None);
        };
        crate::observe::log_file_of(Path::new(PROC), life.pid).map_err(|error| {
            CliError::usage(format!("cannot see where process {} logs to", life.pid))
                .because(&error)
                .hint(
                    "Run krescue as the broker's user or as root, or name its log with --log FILE.",
                )
        })
    }
}

fn logs(plan: &RecoveryPlan) -> Vec<LogBytes> {
    let dirs = plan.log_dirs.iter();
    let logs = dirs.flat_map(|dir| dir.partitions.iter().map(move |log| (dir, log)));
    logs.map(|(dir, log)| {
        let read = log.segments.iter().filter(|segment| segment.scanned);
        LogBytes {
            dir: dir.path.display().to_string(),
            name: log.dir_name.clone(),
            segments: read
                .map(|segment| (segment.base_offset, segment.bytes))
                .collect::<BTreeMap<_, _>>()
                .into_iter()
                .collect(),
        }
    })
    .collect()
}
