//! The decision and the order of its steps.

use super::{Relocation, RelocationInputs, RelocationPlan, SourceFile, TargetCopy};
use crate::format::file_name::{DirName, PartitionFile, delete_dir_name, leading_offset};
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::{Quarantine, Step, StepAction, StopState, Verdict};
use crate::terms::Offset;

/// Decides a relocation; same inputs, same plan.
pub fn plan_relocation(inputs: &RelocationInputs) -> RelocationPlan {
    let mut plan = RelocationPlan {
        verdict: Verdict::Nothing,
        steps: Vec::new(),
        findings: Vec::new(),
        removes_target_marker: false,
        log_start_offset: log_start(inputs),
        log_end_offset: inputs
            .recovery_point
            .filter(|_| inputs.stop == StopState::Clean),
    };
    if let Some(cause) = refusal(inputs) {
        plan.verdict = Verdict::Refused { cause };
        return plan;
    }
    let aside = delete_dir_name(&inputs.topic_partition, &inputs.id);
    let moves = Moves {
        inputs,
        name: inputs.topic_partition.to_string(),
        aside: aside.clone(),
    };
    plan.steps = moves.steps();
    plan.removes_target_marker =
        inputs.stop == StopState::Unclean && inputs.target_stop == StopState::Clean;
    let goes_out = |step: &&Step| matches!(step.action, StepAction::CopyOut { .. });
    let copied = plan.steps.iter().filter(goes_out);
    let copied = copied.filter_map(|step| moves.file(&step.file));
    let evidence = inputs.replicas.as_ref();
    plan.verdict = Verdict::Move(Relocation {
        to: inputs.to.clone(),
        aside,
        copied_bytes: copied.map(|file| file.len).sum(),
        freed: if inputs.same_volume && inputs.target == TargetCopy::Nothing {
            0
        } else {
            inputs.files.iter().map(|file| file.allocated).sum()
        },
        last_copy: evidence.is_none_or(|of| of.others().next().is_none()),
        bytes: logs(inputs).map(|file| file.len).sum(),
    });
    plan.findings = findings(inputs, plan.removes_target_marker);
    plan
}

/// Returns why the partition stays where it is.
fn refusal(inputs: &RelocationInputs) -> Option<String> {
    let partition = &inputs.topic_partition;
    let (from, to) = (inputs.from.display(), inputs.to.display());
    if DirName::parse(&partition.to_string()).is_cluster_metadata() {
        return Some(
            "the metadata log is never moved: metadata.log.dir says where it lies".to_owned(),
        );
    }
    if let Some(cause) = &inputs.immovable {
        return Some(cause.clone());
    }
    if let Some(dir) = &inputs.future_in {
        return Some(format!(
            "a -future dir in {} is a move of the broker's own: its next boot goes on with it, cleanup --leftovers ends it",
            dir.display()
        ));
    }
    let mut files = inputs.files.iter();
    if let Some(file) = files.clone().find(|file| !file.is_plain) {
        return Some(format!("{} in it is no plain file", file.name));
    }
    let unfinished = |file: &&SourceFile| {
        matches!(
            PartitionFile::parse(&file.name),
            PartitionFile::Swap { .. } | PartitionFile::Cleaned { .. }
        )
    };
    if let Some(file) = files.find(unfinished) {
        return Some(format!(
            "{} waits for a boot to end a compaction or a split: recover the log first",
            file.name
        ));
    }
    if inputs.target == TargetCopy::Other {
        return Some(format!(
            "{to} has a {partition} of its own, which is not the log in {from}: preflight tells them apart"
        ));
    }
    if inputs.replicas.is_none() {
        return Some(
            "nothing says who else has it, so this may be the last copy: the metadata log on this host would, or --bootstrap \
             HOST:PORT of the living cluster"
                .to_owned(),
        );
    }
    let (bytes, count) = needed(inputs);
    if let Some(free) = inputs.room.bytes.filter(|free| *free < bytes) {
        return Some(format!(
            "the volume of {to} has {free} bytes free and {bytes} are needed"
        ));
    }
    let inodes = inputs.room.inodes.filter(|free| *free < count);
    inodes.map(|free| format!("the volume of {to} has {free} inodes free and {count} are needed"))
}

/// Returns the bytes and the inodes that the copy takes.
fn needed(inputs: &RelocationInputs) -> (u64, u64) {
    if inputs.same_volume || inputs.target == TargetCopy::Whole {
        return (0, 0);
    }
    let copied = inputs.files.iter().filter(|file| is_copied(file));
    copied.fold((0, 1), |(bytes, count), file| {
        (bytes + file.allocated, count + 1)
    })
}

/// A boot removes `.deleted` files first of all.
fn is_copied(file: &SourceFile) -> bool {
    PartitionFile::parse(&file.name) != PartitionFile::Deleted
}

fn logs(inputs: &RelocationInputs) -> impl Iterator<Item = &SourceFile> {
    let files = inputs.files.iter();
    files.filter(|file| PartitionFile::parse(&file.name).is_log())
}

/// Returns where the log starts: at its first segment, or behind it where the checkpoint says so.
fn log_start(inputs: &RelocationInputs) -> Option<Offset> {
    let bases = logs(inputs).filter_map(|file| leading_offset(&file.name));
    let first = bases.min()?;
    Some(inputs.log_start_offset.unwrap_or(first).max(first))
}

struct Moves<'a> {
    inputs: &'a RelocationInputs,
    name: String,
    aside: String,
}

impl Moves<'_> {
    fn file(&self, name: &str) -> Option<&SourceFile> {
        self.inputs.files.iter().find(|file| file.name == name)
    }

    fn steps(&self) -> Vec<Step> {
        let (from, to) = (&self.inputs.from, &self.inputs.to);
        if self.inputs.same_volume && self.inputs.target == TargetCopy::Nothing {
            let action = StepAction::MoveDir {
                from: from.join(&self.name),
                to: to.join(&self.name),
            };
            return vec![self.dir_step(action, "both log dirs lie on one volume")];
        }
        let mut steps = Vec::new();
        if self.inputs.target == TargetCopy::Nothing {
            let copied = self.inputs.files.iter().filter(|file| is_copied(file));
            steps.extend(copied.map(|file| Step {
                file: file.name.clone(),
                action: StepAction::CopyOut {
                    to: to.join(&self.aside),
                    len: file.len,
                    allocated: file.allocated,
                },
                quarantine: Quarantine::Regenerable,
                after_sync: false,
                reason: "compared byte by byte".to_owned(),
            }));
            let action = StepAction::MoveDir {
                from: to.join(&self.aside),
                to: to.join(&self.name),
            };
            steps.push(self.dir_step(action, "the copy is whole"));
        }
        let action = StepAction::MoveDir {
            from: from.join(&self.name),
            to: from.join(&self.aside),
        };
        steps.push(self.dir_step(action, "the copy has its place"));
        for (number, file) in self.inputs.files.iter().enumerate() {
            steps.push(Step {
                file: file.name.clone(),
                action: StepAction::Remove { len: file.len },
                quarantine: Quarantine::Regenerable,
                after_sync: number == 0,
                reason: "moved".to_owned(),
            });
        }
        steps.push(Step {
            file: self.aside.clone(),
            action: StepAction::RemoveDir,
            quarantine: Quarantine::Regenerable,
            after_sync: true,
            reason: "moved".to_owned(),
        });
        steps
    }

    fn dir_step(&self, action: StepAction, reason: &str) -> Step {
        Step {
            file: self.name.clone(),
            action,
            quarantine: Quarantine::Regenerable,
            after_sync: true,
            reason: reason.to_owned(),
        }
    }
}

fn findings(inputs: &RelocationInputs, removes_target_marker: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    let (from, to) = (inputs.from.display(), inputs.to.display());
    let mut tell = |code, severity, text: String| found.push(Finding::new(code, severity, text));
    if let Some(evidence) = &inputs.replicas {
        let source = evidence.source(inputs.now);
        match evidence.others_in_words() {
            Some(others) => tell(
                FindingCode::OtherReplicas,
                Severity::Routine,
                format!("{others} in sync {source}"),
            ),
            None => tell(
                FindingCode::LastInSyncCopy,
                Severity::Warning,
                format!(
                    "no other replica is in sync {source}: the copy is the only one once the source is gone"
                ),
            ),
        }
    }
    if inputs.target == TargetCopy::Whole {
        tell(
            FindingCode::DuplicatePartition,
            Severity::Warning,
            format!(
                "{to} has the same records already, as a move leaves it that broke off: only the copy in {from} goes"
            ),
        );
    }
    if inputs.stop == StopState::Unclean {
        tell(
            FindingCode::UncleanStop,
            Severity::Warning,
            format!(
                "{from} was not stopped cleanly: the log goes as it is, and the next boot recovers it in {to}"
            ),
        );
    }
    if removes_target_marker {
        tell(
            FindingCode::UncleanStop,
            Severity::Warning,
            format!(
                "{to} was stopped cleanly: its marker goes, so that the boot reads the log that comes, and with it the last \
                 segment of each log there, {} bytes",
                inputs.target_reads
            ),
        );
    }
    found
}
