//! What a log's plan gets beside what the recovery machine decides.

use super::log_target::LogTarget;
use super::plan_spec::{Beside, PlanSpec};
use crate::format::file_name::{FileKind, PartitionFile, segment_file_name};
use crate::log::{Finding, FindingCode, OffsetGap, Severity};
use crate::plan::{EntryKind, PartitionPlan, Quarantine, Step, StepAction, Verdict};

/// Completes a log's plan.
pub(in crate::engine) fn finish(spec: &PlanSpec, target: &LogTarget, plan: &mut PartitionPlan) {
    if let Verdict::Unreadable { cause } = &plan.verdict {
        let known = plan
            .findings
            .iter()
            .any(|finding| finding.code == FindingCode::Unreadable);
        if !known {
            plan.findings.push(
                Finding::new(FindingCode::Unreadable, Severity::Fatal, cause.clone()).next(
                    "a 4.x broker would empty the segment it meets this in: mend the cause before a boot",
                ),
            );
        }
    }
    note_what_is_no_file(target, plan);
    note_gaps(spec, target, plan);
    if matches!(spec.beside, Beside::LiveBroker { .. }) {
        leave_to_the_broker(target, plan);
        return;
    }
    note_strange_names(target, plan);
    remove_own_leftovers(target, plan);
    plan.stamps.sort_by(|a, b| a.name.cmp(&b.name));
}

/// A boot takes plain files alone for segments, and passes over anything else of such a name.
fn note_what_is_no_file(target: &LogTarget, plan: &mut PartitionPlan) {
    let taken = target.entries.iter().filter(|entry| {
        entry.kind != EntryKind::File && PartitionFile::parse(&entry.stamp.name).is_log()
    });
    plan.findings.extend(taken.map(|entry| {
        let text = "this is no file: a boot does not see the segment, and drops its indexes";
        Finding::new(FindingCode::NotAFile, Severity::Warning, text)
            .file(entry.stamp.name.clone())
            .next("find out where the file went before the boot; the other replicas may have its records")
    }));
}

/// Offsets between two segments that neither holds, where the first was read and is whole.
fn note_gaps(spec: &PlanSpec, target: &LogTarget, plan: &mut PartitionPlan) {
    // `verify` compares the segments by itself.
    if !target.is_gapless || spec.verify {
        return;
    }
    let gaps = plan.segments.windows(2).filter_map(|pair| {
        let [before, behind] = pair else { return None };
        let is_whole = before.valid_bytes == Some(before.bytes);
        let from = before.next_offset.filter(|_| is_whole)?;
        let (after, to) = (before.base_offset, behind.base_offset);
        (from < to).then_some(OffsetGap { after, from, to })
    });
    plan.findings.extend(gaps.map(OffsetGap::finding));
}

/// Beside a running broker nothing is planned, and what it is just writing is no finding.
fn leave_to_the_broker(target: &LogTarget, plan: &mut PartitionPlan) {
    plan.steps.clear();
    let active = target
        .segments
        .last()
        .map(|(base, _)| segment_file_name(*base, FileKind::Log));
    plan.findings.retain(|finding| {
        let of_active = finding.file.is_some() && finding.file == active;
        let tail = matches!(
            finding.code,
            FindingCode::TornTail | FindingCode::ZeroTail | FindingCode::PreallocatedTail
        );
        // The high watermark moves on while the log is read.
        let moving = finding.code == FindingCode::EndBelowHighWatermark || (of_active && tail);
        finding.severity > Severity::Routine && !moving
    });
    if matches!(plan.verdict, Verdict::Nothing | Verdict::Recover) {
        plan.verdict = Verdict::Skipped {
            why: "a broker runs: looked at only".to_owned(),
        };
    }
}

/// Files that an earlier krescue left half-written go first; a log that is left alone keeps them.
fn remove_own_leftovers(target: &LogTarget, plan: &mut PartitionPlan) {
    if target.own_leftovers.is_empty() {
        return;
    }
    for leftover in &target.own_leftovers {
        plan.stamps.push(leftover.clone());
        plan.findings.push(
            Finding::new(
                FindingCode::Leftover,
                Severity::Routine,
                "a file that a stopped krescue left half-written",
            )
            .file(leftover.name.clone()),
        );
    }
    // A clean dir would lose its marker for them; they do no harm there.
    let may_change = match plan.verdict {
        Verdict::Nothing => !target.inputs.is_clean() && target.inputs.truncation.is_none(),
        _ => plan.verdict.is_applied(),
    };
    if !may_change {
        return;
    }
    let removals = target.own_leftovers.iter().map(|leftover| Step {
        file: leftover.name.clone(),
        action: StepAction::Remove { len: leftover.len },
        quarantine: Quarantine::Regenerable,
        after_sync: false,
        reason: "left half-written by a stopped krescue".to_owned(),
    });
    plan.steps.splice(0..0, removals);
    if plan.verdict == Verdict::Nothing {
        plan.verdict = Verdict::Recover;
    }
}

/// Files that no boot sees stay where they are.
fn note_strange_names(target: &LogTarget, plan: &mut PartitionPlan) {
    for file in &target.not_utf8 {
        plan.stamps.push(file.clone());
        plan.findings.push(
            Finding::new(
                FindingCode::ForeignName,
                Severity::Warning,
                "a file whose name is not UTF-8: a boot does not see it",
            )
            .file(file.name.clone())
            .next("move it out of the partition dir"),
        );
    }
}
