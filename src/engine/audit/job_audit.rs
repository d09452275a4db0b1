//! What a job adds to the audit: what was done to each log, how each dir was handed over, how it ended.

use std::path::Path;
use std::time::Instant;

use super::audit_file::{AuditAct, AuditEntry, AuditFile, AuditStep, audit_line};
use crate::disk::DiskError;
use crate::engine::job::job_spec::JobSpec;
use crate::engine::{EngineError, JobOutcome, Who};
use crate::plan::{HandOver, PartitionPlan, StepAction};
use crate::terms::Timestamp;

/// The audit of one job.
#[derive(Debug)]
pub(in crate::engine) struct Audit<'a> {
    spec: &'a JobSpec,
    file: AuditFile,
    started: Instant,
}

/// What happened to one log.
#[derive(Debug)]
pub(in crate::engine) struct LogAct<'a> {
    dir: &'a Path,
    plan: &'a PartitionPlan,
    pub(in crate::engine) steps: Vec<AuditStep>,
}

impl<'a> Audit<'a> {
    /// Opens the audit of a state dir; refuses to act where it cannot be written.
    pub(in crate::engine) fn open(state_dir: &Path, spec: &'a JobSpec) -> Result<Self, DiskError> {
        Ok(Self {
            spec,
            file: AuditFile::open(state_dir)?,
            started: Instant::now(),
        })
    }

    /// Tells what was done to a log, complete or up to where it stopped.
    pub(in crate::engine) fn log(&self, act: &LogAct<'_>) -> Result<(), DiskError> {
        self.append(AuditAct::Log {
            dir: act.dir.to_owned(),
            partition: act.plan.dir_name.clone(),
            log_start_offset: act.plan.log_start_offset.map(|offset| offset.0),
            log_end_offset: act.plan.log_end_offset.map(|offset| offset.0),
            steps: act.steps.clone(),
        })
    }

    /// Tells what a log dir was handed over as.
    pub(in crate::engine) fn hand_over(
        &self,
        dir: &Path,
        hand_over: HandOver,
    ) -> Result<(), DiskError> {
        let dir = dir.to_owned();
        self.append(AuditAct::HandOver { dir, hand_over })
    }

    /// Tells how the job ended, and makes all durable.
    pub(in crate::engine) fn end(&self, outcome: &JobOutcome) -> Result<(), DiskError> {
        self.append(AuditAct::End {
            outcome: outcome.clone(),
        })?;
        self.file.sync()
    }

    fn append(&self, act: AuditAct) -> Result<(), DiskError> {
        let elapsed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        let at = Timestamp(self.spec.started_at.0.saturating_add(elapsed));
        self.file.append(&AuditEntry {
            at: at.rfc3339(),
            who: (&self.spec.who).into(),
            confirmed: Some(self.spec.confirmed),
            plan: Some(self.spec.plan.clone()),
            undoes: self.spec.undoes.clone(),
            act,
        })
    }
}

impl<'a> LogAct<'a> {
    /// Returns the act of a log of which nothing is done yet.
    pub(in crate::engine) fn new(dir: &'a Path, plan: &'a PartitionPlan) -> Self {
        Self {
            dir,
            plan,
            steps: Vec::new(),
        }
    }
}

/// Tells the audit that the host's policy refused something; `what` is the command.
pub fn audit_refusal(
    state_dir: &Path,
    (who, at): (&Who, Timestamp),
    what: &str,
    cause: &str,
) -> Result<(), EngineError> {
    let entry = AuditEntry {
        at: at.rfc3339(),
        who: who.into(),
        confirmed: None,
        plan: None,
        undoes: None,
        act: AuditAct::Refused {
            what: what.to_owned(),
            cause: cause.to_owned(),
        },
    };
    audit_line(state_dir, &entry)
}

/// Returns an action's name, and the file's length before and after.
pub(in crate::engine) fn action_lengths(
    action: &StepAction,
) -> (&'static str, Option<u64>, Option<u64>) {
    match action {
        StepAction::Remove { len } => ("remove", Some(*len), None),
        StepAction::SetLen { from, to } => ("set_len", Some(*from), Some(*to)),
        StepAction::Write { content, replaces } => ("write", *replaces, Some(content.len)),
        StepAction::CopyPart { len, replaces, .. } => ("copy_part", *replaces, Some(*len)),
        StepAction::Allocate { len, replaces } => ("allocate", *replaces, Some(*len)),
        StepAction::Rename { .. } => ("rename", None, None),
        StepAction::RemoveDir => ("remove_dir", None, None),
        StepAction::Restore { kept, replaces } => ("restore", *replaces, Some(kept.len)),
        StepAction::Append { from, to, .. } => ("append", Some(*from), Some(*to)),
        StepAction::CopyOut { len, .. } => ("copy_out", None, Some(*len)),
        StepAction::MoveDir { .. } => ("move_dir", None, None),
        StepAction::SetOwner { .. } => ("set_owner", None, None),
    }
}
