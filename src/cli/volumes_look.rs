//! What is known of the volumes of a broker's log dirs, from the disk, the system, the kernel's and the broker's log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Look;
use super::target::Presence;
use crate::disk::Volume;
use crate::engine::{keep_volume_samples, volume_facts, volume_samples};
use crate::observe::server_log::{Boots, DirFailure, LineTime, LogReader, Tail, dir_failures};
use crate::observe::{DeviceErrors, kernel_io_errors, log_file_of};
use crate::plan::volumes::{DirProblem, UsedSample, VolumeFacts};
use crate::settings::is_writable;
use crate::terms::Timestamp;

use super::Context;
use super::look::broken_dir;

const KMSG: &str = "/dev/kmsg";

/// Looks at the volumes of a broker's log dirs, those that cannot be listed among them; what lies in them is to be filled
/// in. `log` is the broker's log, if it was named.
pub(crate) fn volumes_of(look: &Look, log: Option<&Path>) -> Vec<VolumeFacts> {
    let mut known = FailureLog::default();
    known.read(look, log);
    known.finish();
    with_failures(look, &known.failures())
}

/// Looks at the volumes again; of the broker's log only what was written since is read.
#[cfg(feature = "tui")]
pub(crate) fn volumes_again(look: &Look, known: &mut FailureLog) -> Vec<VolumeFacts> {
    known.read(look, None);
    with_failures(look, &known.failures())
}

fn with_failures(look: &Look, failures: &[(DirFailure, Timestamp)]) -> Vec<VolumeFacts> {
    let errors = kernel_io_errors(Path::new(KMSG));
    let cordoned = cordoned(look);
    let mut facts = volume_facts(&look.log_dirs);
    for of_dir in &mut facts {
        let dir = &of_dir.dir;
        let failure = failures
            .iter()
            .find(|(failure, _)| Path::new(&failure.dir) == dir);
        let given_up = match &look.presence {
            Presence::Running { locked, .. } => !locked.is_empty() && !locked.contains(dir),
            _ => false,
        };
        if failure.is_some() || given_up {
            of_dir.problems.push(DirProblem::Offline {
                since: failure.map(|(_, since)| *since),
                cause: failure.and_then(|(failure, _)| failure.cause.clone()),
            });
        }
        if let Some((errors, last)) = device_errors(dir, &errors) {
            of_dir.problems.push(DirProblem::Failing { errors, last });
        }
        if cordoned
            .iter()
            .any(|name| name == "*" || Path::new(name) == dir)
        {
            of_dir.problems.push(DirProblem::Cordoned);
        }
    }
    for error in &look.broken {
        let (dir, cause) = broken_dir(error);
        let dirs = [dir.unwrap_or_default()];
        facts.extend(volume_facts(&dirs).into_iter().map(|mut facts| {
            facts.problems.push(DirProblem::Missing {
                cause: cause.clone(),
            });
            facts.usage.is_whole = true;
            facts
        }));
    }
    let order = &look.candidate.broker.log_dirs.value;
    facts.sort_by_key(|facts| order.iter().position(|dir| *dir == facts.dir));
    facts
}

/// Returns the dirs that may be listed.
pub(crate) fn listable(facts: &[VolumeFacts]) -> Vec<PathBuf> {
    let is_there = |facts: &&VolumeFacts| {
        !facts
            .problems
            .iter()
            .any(|problem| matches!(problem, DirProblem::Missing { .. }))
    };
    facts
        .iter()
        .filter(is_there)
        .map(|facts| facts.dir.clone())
        .collect()
}

/// Returns the samples of earlier looks, and keeps one of this look where the state dir can be written.
pub(crate) fn samples(context: &Context, facts: &[VolumeFacts], now: Timestamp) -> Vec<UsedSample> {
    let Some(state_dir) = &context.settings.state_dir else {
        return Vec::new();
    };
    let known = volume_samples(&state_dir.value);
    let mut new: BTreeMap<&str, UsedSample> = BTreeMap::new();
    for facts in facts {
        if let (Some(volume), Some(space)) = (&facts.volume, facts.space) {
            new.entry(volume).or_insert_with(|| UsedSample {
                at: now,
                volume: volume.clone(),
                used: space.used(),
            });
        }
    }
    let new: Vec<UsedSample> = new.into_values().collect();
    if !context.now_given && context.forbidden().is_none() && is_writable(&state_dir.value) {
        // Without it the next look has no rate of its own, and says so.
        let _ = keep_volume_samples(&state_dir.value, &known, &new);
    }
    known
}

/// Returns what the kernel, or ext4's own count, says of the device below a dir.
fn device_errors(dir: &Path, errors: &BTreeMap<String, DeviceErrors>) -> Option<(u64, String)> {
    let volume = Volume::of(dir).ok()?;
    let name = volume.device_name();
    let reported = name.as_ref().and_then(|name| {
        errors.get(name).or_else(|| {
            // A partition's errors are reported under its disk.
            let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
            errors
                .get(disk)
                .or_else(|| errors.get(disk.trim_end_matches('p')))
        })
    });
    if let Some(reported) = reported {
        return Some((reported.count, reported.last.clone()));
    }
    let counted = volume.counted_errors().filter(|errors| *errors > 0)?;
    Some((counted, "counted by ext4 since it was made".to_owned()))
}

/// Returns the log dirs that are not to take new replicas.
fn cordoned(look: &Look) -> Vec<String> {
    let key = "cordoned.log.dirs";
    let broker = &look.candidate.broker;
    let id = broker
        .node_id
        .as_ref()
        .map(|id| id.value)
        .or(look.identity.node_id);
    let image = look.topics.image.as_ref();
    let dynamic = image.and_then(|image| {
        id.and_then(|id| image.broker_config(Some(id), key))
            .or_else(|| image.broker_config(None, key))
    });
    let text = dynamic.or(broker.cordoned_log_dirs.as_deref());
    let names = text.unwrap_or_default().split(',').map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(ToOwned::to_owned)
        .collect()
}

/// The broker's log as far as it was read, for the dirs that it gave up.
#[derive(Debug, Default)]
pub(crate) struct FailureLog {
    open: Option<OpenLog>,
}

#[derive(Debug)]
struct OpenLog {
    path: PathBuf,
    tail: Tail,
    reader: LogReader,
    boots: Boots,
}

impl FailureLog {
    /// Reads on in the log that was named, else in the broker's own.
    fn read(&mut self, look: &Look, log: Option<&Path>) {
        let pid = look.presence.pid().or(look.candidate.pid);
        let own = || log_file_of(Path::new("/proc"), pid?).ok().flatten();
        let Some(path) = log.map(Path::to_owned).or_else(own) else {
            self.open = None;
            return;
        };
        if self.open.as_ref().is_none_or(|open| open.path != path) {
            self.open = Tail::open(&path).ok().map(|tail| OpenLog {
                path,
                tail,
                reader: LogReader::new(),
                boots: Boots::default(),
            });
        }
        let Some(open) = &mut self.open else { return };
        let mut buffer = Vec::new();
        while open.tail.read(&mut buffer).is_ok() && !buffer.is_empty() {
            let boots = &mut open.boots;
            open.reader.feed(&buffer, |event| boots.take(event));
        }
    }

    /// Takes a last line without an end too; nothing is read on after it.
    fn finish(&mut self) {
        if let Some(OpenLog { reader, boots, .. }) = &mut self.open {
            reader.finish(|event| boots.take(event));
        }
    }

    /// Returns the dirs that the broker gave up in its present or last run, and when.
    fn failures(&self) -> Vec<(DirFailure, Timestamp)> {
        let Some(open) = &self.open else {
            return Vec::new();
        };
        let last = open.reader.last_time();
        let zone = last
            .zip(open.tail.written_at().ok())
            .map_or(0, |(last, written)| LineTime::zone_of(last, written));
        dir_failures(&open.boots)
            .into_iter()
            .map(|failure| {
                let at = Timestamp(failure.at.0.saturating_sub(zone));
                (failure, at)
            })
            .collect()
    }
}
