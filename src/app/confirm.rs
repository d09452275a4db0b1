//! What a plan would do, in numbers, and what must be typed to let it.

use crate::plan::{Class, RecoveryPlan, StepAction, Verdict};

use super::text;

/// A plan in numbers; "applied" logs are those whose steps an apply runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanSummary {
    /// Logs with a step that is applied.
    pub changed: u64,
    /// Logs that lose bytes of a `.log`.
    pub cut_logs: u64,
    /// Bytes of `.log` files that go.
    pub cut_bytes: u64,
    /// Whole segments that go.
    pub removed_segments: u64,
    /// Files that are written: indexes, snapshots, leader epochs.
    pub written_files: u64,
    /// Bytes that go to the quarantine.
    pub quarantine_bytes: u64,
    /// Bytes that deletions free on their volumes.
    pub freed_bytes: u64,
    /// Bytes of logs that go to another log dir.
    pub moved_bytes: u64,
    /// Logs that need nothing.
    pub unchanged: u64,
    /// Undecided ASKs.
    pub asks: u64,
    /// Good bytes that Kafka's way would cost in them.
    pub ask_bytes: u64,
    /// Good bytes that accepted ASKs and truncations cost.
    pub lost_bytes: u64,
    /// Good records that accepted ASKs and truncations cost; `None` where one cannot be counted.
    pub lost_records: Option<u64>,
    /// Logs that Kafka would not load.
    pub refused: u64,
    /// Logs that could not be read.
    pub unreadable: u64,
    /// Bytes that a boot reads.
    pub boot_reads: u64,
}

impl PlanSummary {
    /// Counts what `plan` says.
    pub fn of(plan: &RecoveryPlan) -> Self {
        let mut sum = Self {
            lost_records: Some(0),
            ..Self::default()
        };
        for log in plan.partitions() {
            sum.boot_reads += log.scan_bytes;
            match &log.verdict {
                Verdict::Nothing => sum.unchanged += 1,
                Verdict::Ask(ask) if ask.accepted => {
                    sum.lost_bytes += ask.lost_bytes;
                    sum.lost_records = sum
                        .lost_records
                        .zip(ask.lost_records)
                        .map(|(a, b)| a.saturating_add(b));
                }
                Verdict::Ask(ask) => {
                    sum.asks += 1;
                    sum.ask_bytes += ask.lost_bytes;
                }
                Verdict::Truncate(cut) => {
                    sum.lost_bytes += cut.lost_bytes;
                    sum.lost_records = sum
                        .lost_records
                        .zip(cut.lost_records)
                        .map(|(a, b)| a.saturating_add(b));
                }
                Verdict::Delete(deletion) => {
                    sum.freed_bytes += deletion.freed;
                    sum.lost_bytes += deletion.lost_bytes;
                    sum.lost_records = sum
                        .lost_records
                        .zip(deletion.lost_offsets)
                        .map(|(a, b)| a.saturating_add(b));
                }
                Verdict::Move(relocation) => {
                    sum.freed_bytes += relocation.freed;
                    sum.moved_bytes += relocation.bytes;
                }
                Verdict::Refused { .. } => sum.refused += 1,
                Verdict::Unreadable { .. } => sum.unreadable += 1,
                Verdict::Recover | Verdict::Mend | Verdict::TakeBack | Verdict::Skipped { .. } => {}
            }
            if log.verdict.is_applied() && !log.steps.is_empty() {
                sum.add_steps(log);
            }
        }
        sum
    }

    fn add_steps(&mut self, log: &crate::plan::PartitionPlan) {
        self.changed += 1;
        let mut cut = false;
        for step in &log.steps {
            // What a move removes was copied.
            let is_move = matches!(log.verdict, Verdict::Move(_));
            let is_log = super::state::is_log(&step.file) && !is_move;
            if step.quarantine == crate::plan::Quarantine::Keep {
                self.quarantine_bytes += step.removed_bytes();
            }
            match step.action {
                StepAction::Remove { len } if is_log => {
                    cut = true;
                    self.removed_segments += 1;
                    self.cut_bytes += len;
                }
                StepAction::SetLen { .. } if is_log => {
                    cut = true;
                    self.cut_bytes += step.removed_bytes();
                }
                StepAction::Write { .. }
                | StepAction::CopyPart { .. }
                | StepAction::Allocate { .. } => self.written_files += 1,
                _ => {}
            }
        }
        self.cut_logs += u64::from(cut);
    }

    /// Returns how many logs stay as they are although a boot would not leave them so.
    pub fn left(&self) -> u64 {
        self.asks + self.refused + self.unreadable
    }
}

/// What must be typed to carry a plan out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phrase {
    /// `y`; anything else is no.
    Yes,
    /// Exactly this.
    Exactly(String),
}

impl Phrase {
    /// Returns what `plan` asks for on `host`: by the highest class of its steps.
    pub fn of(plan: &RecoveryPlan, host: &str) -> Self {
        match plan.class() {
            None | Some(Class::A) => Self::Yes,
            Some(Class::B) => Self::Exactly(changed_logs(plan)),
            Some(Class::C) => {
                let sum = PlanSummary::of(plan);
                let bytes = sum.lost_bytes.saturating_add(sum.moved_bytes);
                Self::Exactly(format!("{host} {}", text::bytes(bytes)))
            }
        }
    }

    /// Says whether `typed` lets the plan be carried out.
    pub fn accepts(&self, typed: &str) -> bool {
        match self {
            Self::Yes => matches!(typed.trim(), "y" | "Y"),
            Self::Exactly(phrase) => {
                typed.split_whitespace().collect::<Vec<_>>()
                    == phrase.split_whitespace().collect::<Vec<_>>()
            }
        }
    }
}

/// Returns the one log that is changed by name, or how many there are.
fn changed_logs(plan: &RecoveryPlan) -> String {
    let mut names = plan
        .partitions()
        .filter(|log| log.verdict.is_applied() && !log.steps.is_empty())
        .map(|log| &log.dir_name);
    match (names.next(), names.count()) {
        (Some(name), 0) => name.clone(),
        (_, more) => (more + 1).to_string(),
    }
}

/// Returns a class in one or two words.
pub fn class_word(class: Option<Class>) -> &'static str {
    match class {
        None => "no step",
        Some(Class::A) => "class A",
        Some(Class::B) => "class B",
        Some(Class::C) => "class C",
    }
}

/// Returns what a class means, in a few words.
pub fn class_words(class: Option<Class>) -> &'static str {
    match class {
        None => "no step: checkpoints and markers only",
        Some(Class::A) => "class A: regenerable files only",
        Some(Class::B) => "class B: what a boot would cut anyway",
        Some(Class::C) => "class C: good data is lost",
    }
}
