//! What is decided of a log and what is done to it, in words for people.

use super::Reached;
use crate::app::text::{bytes, count, plural};
use crate::plan::{OnLoss, Step, StepAction, Verdict};

/// Returns what was decided of a log, in words.
pub(super) fn verdict(verdict: &Verdict, reached: Reached) -> String {
    match (verdict, reached) {
        (Verdict::Nothing, _) => "nothing to do".to_owned(),
        (Verdict::Recover, Reached::Planned) => "would be recovered".to_owned(),
        (Verdict::Recover, Reached::End) => "recovered".to_owned(),
        (Verdict::Recover, Reached::Not) => "NOT recovered".to_owned(),
        (Verdict::Mend, Reached::Planned) => "would be mended".to_owned(),
        (Verdict::Mend, Reached::End) => "mended".to_owned(),
        (Verdict::Mend, Reached::Not) => "NOT mended".to_owned(),
        (Verdict::TakeBack, Reached::Planned) => "would be taken back".to_owned(),
        (Verdict::TakeBack, Reached::End) => "taken back".to_owned(),
        (Verdict::TakeBack, Reached::Not) => "NOT taken back".to_owned(),
        (Verdict::Truncate(cut), reached) => {
            let word = match reached {
                Reached::Planned => "would be truncated",
                Reached::End => "truncated",
                Reached::Not => "NOT truncated",
            };
            format!(
                "{word} to {}, loses {}",
                cut.asked.words(),
                bytes(cut.lost_bytes)
            )
        }
        (Verdict::Delete(deletion), reached) => {
            let word = match reached {
                Reached::Planned => "frees",
                Reached::End => "freed",
                Reached::Not => "NOT deleted, would free",
            };
            let what = match deletion.deleted_segments {
                0 => String::new(),
                segments => format!(", {}", plural(segments, "segment", "segments")),
            };
            let loses = match deletion.lost_bytes {
                0 => String::new(),
                lost => format!(", loses {}", bytes(lost)),
            };
            let cost = deletion.cost.words();
            format!("{cost}: {word} {}{what}{loses}", bytes(deletion.freed))
        }
        (Verdict::Move(relocation), reached) => {
            let word = match reached {
                Reached::Planned => "would go",
                Reached::End => "went",
                Reached::Not => "did NOT go",
            };
            let how = match relocation.copied_bytes {
                0 => "nothing is copied".to_owned(),
                copied => format!("{} copied and compared", bytes(copied)),
            };
            format!("{word} to {}, {how}", relocation.to.display())
        }
        (Verdict::Ask(ask), _) if ask.decided == OnLoss::Leave => {
            "left as it is, bad place and all".to_owned()
        }
        (Verdict::Ask(ask), _) if ask.decided == OnLoss::CutHere => {
            format!("cut only here, loses {}", bytes(ask.lost_bytes))
        }
        (Verdict::Ask(ask), reached) if ask.decided == OnLoss::SetAside => {
            let word = match reached {
                Reached::Planned => "would be set aside, to be fetched again",
                Reached::End => "set aside, to be fetched again",
                Reached::Not => "NOT set aside",
            };
            format!("{word}, {}", bytes(ask.lost_bytes))
        }
        (Verdict::Ask(ask), _) if ask.accepted => {
            format!("Kafka's way, loses {}", bytes(ask.lost_bytes))
        }
        (Verdict::Ask(ask), _) => format!(
            "ASK, untouched: Kafka's way loses {}{}",
            bytes(ask.lost_bytes),
            match ask.lost_segments {
                0 => String::new(),
                segments => format!(" with {}", plural(segments, "segment", "segments")),
            }
        ),
        (Verdict::Refused { cause }, _) => format!("REFUSED, untouched: {cause}"),
        (Verdict::Unreadable { cause }, _) => format!("unreadable, untouched: {cause}"),
        (Verdict::Skipped { why }, _) => format!("skipped: {why}"),
    }
}

/// Returns steps as counts, cuts first.
pub(super) fn steps(steps: &[Step]) -> String {
    // A truncation cuts one file twice.
    let mut cuts: Vec<(&str, u64, u64)> = Vec::new();
    for step in steps {
        if let StepAction::SetLen { from, to } = step.action
            && step.file.strip_suffix(".log").is_some()
        {
            match cuts.iter_mut().find(|(file, ..)| *file == step.file) {
                Some((_, _, last)) => *last = to,
                None => cuts.push((&step.file, from, to)),
            }
        }
    }
    let cut = |(file, from, to): (&str, u64, u64)| {
        format!("cut {file} from {} to {} bytes", count(from), count(to))
    };
    let mut parts: Vec<String> = cuts.into_iter().map(cut).collect();
    let number =
        |is: fn(&StepAction) -> bool| steps.iter().filter(|step| is(&step.action)).count() as u64;
    for (files, verb) in [
        (
            number(|action| matches!(action, StepAction::CopyOut { .. })),
            "copy and compare",
        ),
        (
            number(|action| matches!(action, StepAction::Remove { .. })),
            "remove",
        ),
        (
            number(|action| {
                matches!(
                    action,
                    StepAction::Write { .. }
                        | StepAction::CopyPart { .. }
                        | StepAction::Allocate { .. }
                )
            }),
            "write",
        ),
        (
            steps
                .iter()
                .filter(|step| {
                    let trims = matches!(step.action, StepAction::SetLen { .. });
                    trims && step.file.strip_suffix(".log").is_none()
                })
                .count() as u64,
            "trim",
        ),
        (
            number(|action| matches!(action, StepAction::Rename { .. })),
            "rename",
        ),
        (
            number(|action| {
                matches!(
                    action,
                    StepAction::Restore { .. } | StepAction::Append { .. }
                )
            }),
            "put back",
        ),
        (
            number(|action| matches!(action, StepAction::SetOwner { .. })),
            "give away",
        ),
    ] {
        if files > 0 {
            parts.push(format!("{verb} {}", plural(files, "file", "files")));
        }
    }
    let dirs = number(|action| matches!(action, StepAction::MoveDir { .. }));
    if dirs > 0 {
        parts.push(format!("rename {}", plural(dirs, "dir", "dirs")));
    }
    if parts.is_empty() {
        parts.push(plural(steps.len() as u64, "step", "steps"));
    }
    parts.join(", ")
}
