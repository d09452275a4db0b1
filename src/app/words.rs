//! Short words for what plans and findings say.

use crate::log::{Finding, FindingCode, Severity};
use crate::plan::Mend;
use crate::plan::{
    Ask, AskReason, HandOver, PartitionPlan, Quarantine, Step, StepAction, StopState, Verdict,
};

use super::state::{LogRow, is_log};
use super::text;

/// Returns a finding's kind in two or three words: those of its name in JSON.
pub fn code(code: FindingCode) -> String {
    let name = serde_json::to_string(&code).unwrap_or_default();
    let words = name.trim_matches('"').replace('_', " ");
    words.replace("crc ", "CRC ")
}

/// Returns how bad a finding is, in one word.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Routine => "routine",
        Severity::Warning => "warning",
        Severity::Loss => "LOSS",
        Severity::Fatal => "FATAL",
    }
}

/// Returns a finding's kind and place: `CRC mismatch at 2.00 GiB`.
pub fn finding(finding: &Finding) -> String {
    let words = code(finding.code);
    match finding.position {
        Some(at) => format!("{words} at {}", text::bytes(at.0)),
        None => words,
    }
}

/// Returns the last cell of a log's row: its cause, its worst finding, how many there are more.
pub fn row_finding(row: &LogRow) -> String {
    match &row.verdict {
        Some(Verdict::Refused { cause } | Verdict::Unreadable { cause }) => return cause.clone(),
        Some(Verdict::Skipped { why }) => return why.clone(),
        _ => {}
    }
    if let Some((_, text)) = row.boot.as_ref().and_then(|boot| boot.worst.as_ref()) {
        return text.clone();
    }
    let Some(worst) = row.worst() else {
        return String::new();
    };
    match row.findings.len() - 1 {
        0 => finding(worst),
        more => format!("{} (+{more})", finding(worst)),
    }
}

/// Returns the cell that says where a log ends and what it loses.
pub fn row_offsets(row: &LogRow, plan: Option<&PartitionPlan>) -> String {
    if let Some(ask) = row.open_ask() {
        return format!("would lose {}", loss(ask));
    }
    let Some(plan) = plan else {
        return String::new();
    };
    let cut: u64 = plan
        .steps
        .iter()
        .filter(|step| is_log(&step.file))
        .map(Step::removed_bytes)
        .sum();
    let offset = |offset: Option<crate::terms::Offset>| {
        offset.map_or_else(|| text::UNKNOWN.to_owned(), text::offset)
    };
    let range = format!(
        "{} .. {}",
        offset(plan.log_start_offset),
        offset(plan.log_end_offset)
    );
    if cut > 0 && plan.verdict.is_applied() {
        format!("−{}, end {}", text::bytes(cut), offset(plan.log_end_offset))
    } else {
        range
    }
}

/// Returns what Kafka's way costs: segments where whole ones go, else bytes.
pub fn loss(ask: &Ask) -> String {
    match ask.lost_segments {
        0 => text::bytes(ask.lost_bytes),
        segments => format!("{segments} seg., {}", text::bytes(ask.lost_bytes)),
    }
}

/// Returns why Kafka's way costs good records.
pub fn ask_reason(reason: AskReason) -> &'static str {
    match reason {
        AskReason::BatchesBehindCut => "good batches follow the bad place in the same segment",
        AskReason::LaterSegments => "later segments with good batches are deleted",
        AskReason::SegmentEmptied => "a segment is emptied because its offsets go back",
        AskReason::LogStartBeyondEnd => "all is deleted: the log start lies beyond the end",
        AskReason::SwapIncomplete => "originals are replaced by a .swap that is not whole",
        AskReason::SegmentReplaced => "a segment is replaced by a piece of one that is split",
        AskReason::NotLoaded => "Kafka does not load the log",
    }
}

/// Returns a step as a sentence without a subject.
pub fn step(step: &Step) -> String {
    let file = &step.file;
    match &step.action {
        StepAction::Remove { len } => format!("remove {file} ({})", text::bytes(*len)),
        StepAction::SetLen { from, to } => format!(
            "cut {file} at byte {} (−{})",
            text::count(*to),
            text::bytes(from.saturating_sub(*to))
        ),
        StepAction::Write { content, replaces } => match replaces {
            Some(_) => format!("rewrite {file} ({})", text::bytes(content.len)),
            None => format!("write {file} ({})", text::bytes(content.len)),
        },
        StepAction::CopyPart {
            source, start, len, ..
        } => format!(
            "write {file} from byte {} of {source} on ({})",
            text::count(*start),
            text::bytes(*len)
        ),
        StepAction::Allocate { len, .. } => {
            format!(
                "write {file}, {} of zeros without blocks",
                text::bytes(*len)
            )
        }
        StepAction::Rename { to } => format!("rename {file} to {to}"),
        StepAction::RemoveDir => format!("remove the dir {file}"),
        StepAction::Restore { kept, .. } => {
            format!("put {file} back ({})", text::bytes(kept.len))
        }
        StepAction::Append { from, kept, .. } => format!(
            "put {} back behind byte {} of {file}",
            text::bytes(kept.len),
            text::count(*from)
        ),
        StepAction::CopyOut { to, len, .. } => {
            format!("copy {file} to {} ({})", to.display(), text::bytes(*len))
        }
        StepAction::MoveDir { from, to } => {
            format!("rename {} to {}", from.display(), to.display())
        }
        StepAction::SetOwner { to, .. } => {
            let what = if file == "." { "the dir" } else { file };
            owner(what, to)
        }
    }
}

/// Returns that something is given to an owner.
pub fn owner(what: &str, to: &crate::plan::FileOwner) -> String {
    let (uid, gid, mode) = (to.uid, to.gid, to.mode & 0o7777);
    format!("give {what} to user {uid} and group {gid}, mode {mode:o}")
}

/// Returns a change of a log dir's own names as a sentence without a subject.
pub fn mend(mend: &Mend) -> String {
    let name = mend.name();
    match mend {
        Mend::Write { text, replaces, .. } => {
            let verb = if replaces.is_some() {
                "rewrite"
            } else {
                "write"
            };
            format!("{verb} {name} ({})", text::bytes(text.len() as u64))
        }
        Mend::SetOwner { to, .. } => {
            let what = if name == "." { "the log dir" } else { name };
            owner(what, to)
        }
        Mend::RemoveDir { .. } => format!("remove the empty dir {name}"),
        Mend::CreateDir { .. } => format!("create the dir {name}"),
        Mend::RenameDir { to, .. } => format!("rename the dir {name} to {to}"),
    }
}

/// Says whether a step's bytes are kept, as words behind the step.
pub fn kept(step: &Step) -> &'static str {
    match step.quarantine {
        Quarantine::Keep if step.removed_bytes() > 0 => ", copied to the quarantine first",
        _ => "",
    }
}

/// Returns how a broker stopped, in one word; `?` where nobody knows.
pub fn stop(stop: Option<StopState>) -> &'static str {
    match stop {
        Some(StopState::Clean) => "clean",
        Some(StopState::Unclean) => "unclean",
        None => text::UNKNOWN,
    }
}

/// Returns what a hand-over means for the next boot.
pub fn hand_over(hand_over: HandOver) -> &'static str {
    match hand_over {
        HandOver::None => "no checkpoint, no marker: a boot reads all of it again",
        HandOver::Verify => {
            "recovery points move to the ends: a boot reads each last segment again"
        }
        HandOver::Clean => "recovery points and an empty clean marker: a boot reads no batch again",
    }
}
