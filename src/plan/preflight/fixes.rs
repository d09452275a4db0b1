//! A plan that takes away what can be mended safely.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::facts::{BootFacts, DirState, EntryFacts, LogDirFacts, PartitionFacts};
use super::problem::{Fix, Problem};
use crate::format::file_name::{CLEAN_SHUTDOWN_MARKER, DirName, META_PROPERTIES};
use crate::plan::preflight::checkpoints::CHECKPOINTS;
use crate::plan::{
    FileStamp, HandOver, LogDirPlan, Mend, PartitionPlan, PlanAct, RecoveryPlan, SegmentSummary,
    Step, StopState, Verdict,
};

/// What a plan says beside its steps.
#[derive(Debug, Clone)]
pub struct FixInputs {
    /// Where the release is known from.
    pub version_source: String,
    /// Where what is replaced is copied to.
    pub quarantine: Option<PathBuf>,
}

/// Plans all fixes of `problems`; log dirs and logs without one stay as they are.
pub fn plan_fixes(facts: &BootFacts, problems: &[Problem], inputs: FixInputs) -> RecoveryPlan {
    let dirs = facts
        .dirs
        .iter()
        .filter(|dir| dir.has_logs && dir.state == DirState::Listed);
    RecoveryPlan {
        schema: 1,
        act: PlanAct::Mend,
        kafka_version: facts.version,
        version_source: inputs.version_source,
        now: facts.now,
        hand_over: HandOver::None,
        quarantine: inputs.quarantine,
        undoes: None,
        beside_broker: false,
        log_dirs: dirs.map(|dir| dir_plan(dir, problems)).collect(),
    }
}

fn dir_plan(dir: &LogDirFacts, problems: &[Problem]) -> LogDirPlan {
    let mut mends: Vec<Mend> = Vec::new();
    let mut steps: BTreeMap<&str, Vec<Step>> = BTreeMap::new();
    let here = problems
        .iter()
        .filter(|problem| problem.dir.as_deref() == Some(&dir.path));
    for problem in here {
        for fix in &problem.fixes {
            match (fix, &problem.partition) {
                (Fix::Dir(mend), _) => mends.push(mend.clone()),
                (Fix::Log(step), Some(name)) => {
                    steps.entry(name.as_str()).or_default().push(step.clone());
                }
                (Fix::Log(_), None) => {}
            }
        }
    }
    // Bytes first, then owners of what is there then, names last.
    mends.sort_by_key(|mend| match mend {
        Mend::Write { .. } => 0,
        Mend::SetOwner { .. } => 1,
        Mend::RemoveDir { .. } | Mend::CreateDir { .. } | Mend::RenameDir { .. } => 2,
    });
    let partitions = dir
        .partitions
        .iter()
        .filter(|log| !matches!(log.parsed, DirName::Invalid | DirName::RemoteLogIndexCache));
    LogDirPlan {
        path: dir.path.clone(),
        stop: if dir.is_clean() {
            StopState::Clean
        } else {
            StopState::Unclean
        },
        hand_over: HandOver::None,
        recovery_points: None,
        lowered: None,
        log_starts: None,
        arrival: None,
        departure: None,
        removes_marker: false,
        findings: Vec::new(),
        partitions: partitions
            .map(|log| log_plan(log, steps.remove(log.dir_name.as_str())))
            .collect(),
        stamps: dir
            .entries
            .iter()
            .filter(|entry| is_stamped(&entry.name))
            .map(stamp)
            .collect(),
        mends,
        undo: None,
    }
}

/// Says whether a file's state belongs to a log dir's plan.
fn is_stamped(name: &str) -> bool {
    name == CLEAN_SHUTDOWN_MARKER || name == META_PROPERTIES || CHECKPOINTS.contains(&name)
}

fn stamp(entry: &EntryFacts) -> FileStamp {
    FileStamp {
        name: entry.name.clone(),
        inode: entry.inode,
        len: entry.len,
        mtime_ns: entry.mtime_ns,
    }
}

fn log_plan(log: &PartitionFacts, steps: Option<Vec<Step>>) -> PartitionPlan {
    let mut steps = steps.unwrap_or_default();
    steps.sort_by_key(|step| matches!(step.action, crate::plan::StepAction::SetOwner { .. }));
    let is_mended = !steps.is_empty();
    let verdict = if is_mended {
        Verdict::Mend
    } else {
        Verdict::Skipped {
            why: "nothing to mend".to_owned(),
        }
    };
    let partition = log.parsed.partition().cloned();
    PartitionPlan {
        steps,
        segments: log
            .segments()
            .iter()
            .map(|segment| SegmentSummary::unread(segment.base_offset, segment.bytes))
            .collect(),
        stamps: if is_mended {
            log.entries.iter().map(stamp).collect()
        } else {
            Vec::new()
        },
        ..PartitionPlan::of(log.dir_name.clone(), partition, verdict)
    }
}
