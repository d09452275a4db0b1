//! How far a broker's boot is, in the second that a status may take.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::cli::boot_logs::{boot_logs, loaded_dirs};
use crate::cli::boot_ports::client_ports;
use crate::cli::clock;
use crate::cli::look::Look;
use crate::cli::report::{StatusBoot, phase_name, time};
use crate::cli::target::Presence;
use crate::observe::server_log::LogSource;
use crate::observe::{
    BootReport, BootSigns, BootSources, BootWatch, Origin, ProcessLife, SignSources, ToldBy,
    is_broker, is_listening, log_file_of,
};
use crate::plan::RecoveryPlan;
use crate::terms::Timestamp;

const PROC: &str = "/proc";
/// How long it is looked at: a rate needs most of it.
const LOOKED_AT: Duration = Duration::from_millis(1200);
/// How often meanwhile.
const TICK: Duration = Duration::from_millis(200);

/// Returns what a look says, as part of a status line.
pub(super) fn status_boot(look: &BootReport) -> StatusBoot {
    let progress = look.progress;
    let (logs_done, logs_total) = look.logs();
    let left = progress.and_then(|progress| progress.left);
    let end = left.map(|left| Timestamp(look.at.0.saturating_add(left.likely_ms)));
    StatusBoot {
        phase: phase_name(look.phase),
        bytes_done: progress.map(|progress| progress.bytes_done),
        bytes_total: progress.map(|progress| progress.bytes_total),
        bytes_per_s: progress.and_then(|progress| progress.bytes_per_s),
        logs_done,
        logs_total,
        end_time: end.and_then(time),
        end_s: end.map(|end| end.0 / 1000),
    }
}

/// What there is to see of a boot.
#[derive(Debug)]
pub(super) enum BootSeen {
    /// The broker boots.
    Boots(Box<BootReport>),
    /// It is down, or up.
    No,
    /// It cannot be told.
    Unknown,
}

impl BootSeen {
    /// Says whether the broker boots; `None` where that cannot be told.
    pub(super) fn is_booting(&self) -> Option<bool> {
        match self {
            Self::Boots(_) => Some(true),
            Self::No => Some(false),
            Self::Unknown => None,
        }
    }
}

/// Looks at the boot of the broker that runs, for a second if there is one; `plan` has the names and sizes.
pub(super) fn boot(look: &Look, plan: &RecoveryPlan) -> BootSeen {
    let proc = Path::new(PROC);
    let pid = match &look.presence {
        Presence::Down => return BootSeen::No,
        presence => presence.pid().filter(|pid| is_broker(proc, *pid)),
    };
    let ports = client_ports(&look.candidate.broker);
    let life = pid.and_then(|pid| ProcessLife::of(proc, pid));
    let Some(life) = life.filter(|_| !ports.is_empty()) else {
        return BootSeen::Unknown;
    };
    // One that is up has a long log, which nobody reads for this.
    if is_listening(proc, life.pid, &ports) {
        return BootSeen::No;
    }
    let mut watch = watch_of(life, ports, plan);
    let begin = Instant::now();
    let mut last = None;
    while begin.elapsed() < LOOKED_AT {
        let Ok(seen) = watch.look(clock::now(), TICK) else {
            return BootSeen::Unknown;
        };
        if seen.as_ref().is_some_and(|seen| seen.end.is_some()) {
            return BootSeen::No;
        }
        last = seen.or(last);
    }
    last.map_or(BootSeen::Unknown, |seen| BootSeen::Boots(Box::new(seen)))
}

fn watch_of(life: ProcessLife, ports: Vec<u16>, plan: &RecoveryPlan) -> BootWatch {
    let dirs = loaded_dirs(plan);
    let logs = boot_logs(&dirs);
    let log = match log_file_of(Path::new(PROC), life.pid) {
        Ok(Some(file)) => LogSource::file(&file).map_err(|error| error.to_string()),
        Ok(None) => Err("it logs to no file that can be read here".to_owned()),
        Err(error) => Err(format!("its open files are hidden: {error}")),
    };
    let told_by = match log {
        Ok(log) => ToldBy::Log(Box::new(log)),
        Err(no_log) => ToldBy::Signs(Box::new(BootSigns::new(SignSources {
            life,
            dirs,
            ports,
            no_log,
        }))),
    };
    BootWatch::new(BootSources {
        process: Some(life),
        told_by,
        logs: Some(logs),
        origin: Origin::Own,
        // A status asks nothing over a network.
        metrics: None,
    })
}
