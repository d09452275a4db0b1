//! A plan that read no batch, as facts.

use crate::app::facts::{LogDirFacts, PartitionFacts};
use crate::cli::Look;
use crate::log::Severity;
use crate::plan::{LogDirPlan, RecoveryPlan, StopState};

/// Returns what names, sizes and checkpoints say.
pub(super) fn facts_of(plan: &RecoveryPlan) -> Vec<LogDirFacts> {
    plan.log_dirs.iter().map(dir_facts).collect()
}

fn dir_facts(dir: &LogDirPlan) -> LogDirFacts {
    let fatal = dir
        .findings
        .iter()
        .any(|finding| finding.severity == Severity::Fatal);
    // A dir that could not be listed has nothing in it, and nobody knows how its broker stopped.
    let stop = (!fatal || !dir.partitions.is_empty()).then_some(dir.stop);
    let why = match stop {
        Some(StopState::Clean) => ".kafka_cleanshutdown lies there",
        Some(StopState::Unclean) => "no .kafka_cleanshutdown",
        None => "",
    };
    LogDirFacts {
        path: dir.path.clone(),
        stop,
        why: why.to_owned(),
        findings: dir.findings.clone(),
        partitions: dir
            .partitions
            .iter()
            .map(|log| PartitionFacts {
                dir_name: log.dir_name.clone(),
                segments: log.segments.len() as u64,
                bytes: log.segments.iter().map(|segment| segment.bytes).sum(),
                boot_reads: Some(log.scan_bytes),
                findings: log.findings.clone(),
            })
            .collect(),
    }
}

/// Adds the log dirs that could not be looked at, so that nobody takes them for empty.
pub(super) fn add_broken(facts: &mut Vec<LogDirFacts>, look: &Look) {
    for (dir, finding) in look.findings() {
        let Some(path) = dir else { continue };
        match facts.iter_mut().find(|facts| facts.path == path) {
            Some(known) => known.findings.push(finding),
            None => facts.push(LogDirFacts {
                path,
                stop: None,
                why: String::new(),
                findings: vec![finding],
                partitions: Vec::new(),
            }),
        }
    }
}
