//! What stands in a boot's way by the files, once it has ended badly: a death in the log often names no file.

use std::path::PathBuf;

use crate::cli::Context;
use crate::cli::boot_facts::{Ports, boot_facts, boot_problems};
use crate::cli::look::{BesideBroker, Look};
use crate::cli::target::{Candidate, Presence};
use crate::log::Severity;
use crate::observe::server_log::{Boot, BootEnd};
use crate::plan::preflight::Problem;

/// Returns what a preflight finds fatal in the log dirs of `candidate`, if `boot` is one of that broker.
pub(super) fn causes(context: &Context, candidate: &Candidate, boot: &Boot) -> Vec<Problem> {
    let is_of_it = is_of(boot, &candidate.broker.log_dirs.value);
    let look = is_of_it
        .then(|| Look::whatever_is_there(context, candidate.clone(), BesideBroker::StructureOnly));
    let Some(Ok(look)) = look else {
        return Vec::new();
    };
    let ports = match look.presence {
        Presence::Down => Ports::Try,
        _ => Ports::Leave,
    };
    let mut found = boot_problems(&look, &boot_facts(context, &look, ports));
    found.retain(|problem| problem.finding.severity == Severity::Fatal);
    found
}

/// Says whether a boot names one of these log dirs, in its lines or in the cause of its end.
fn is_of(boot: &Boot, log_dirs: &[PathBuf]) -> bool {
    let paths = || log_dirs.iter().filter_map(|dir| dir.to_str());
    let told = paths().any(|path| boot.dirs.iter().any(|dir| dir.path == path));
    let in_cause = |cause: &str| paths().any(|path| cause.contains(path));
    told || matches!(&boot.end, Some(BootEnd::Died { cause }) if in_cause(cause))
        || boot
            .troubles
            .iter()
            .any(|trouble| trouble.cause.as_deref().is_some_and(in_cause))
}
