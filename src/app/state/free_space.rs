//! What can go to free space, from what costs nothing on, and what of it is marked.

use std::path::PathBuf;
use std::sync::Arc;

use tui_input::Input;

use crate::app::effect::{CleanupAsk, CleanupRequest, Copies, FreeChoice, FreeWhat};
use crate::log::Finding;
use crate::plan::cleanup::{
    CleanupChoice, CleanupPlan, DeletionCost, FreeableLog, GroupCommits, Leftover, LeftoverProof,
    OtherWay,
};
use crate::plan::volumes::SpaceFacts;
use crate::plan::{Class, GroupBelow};
use crate::terms::{Offset, Timestamp, TopicPartition};

/// Lines of what is not needed for the target that are shown at most.
const MOST_SPARE: usize = 500;

/// One piece of a line: a leftover, or a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreePiece {
    /// Bytes that become free.
    pub freed: u64,
    /// Bytes of batches that go.
    pub bytes: u64,
    /// Where the log starts once it is gone; `None` of a leftover.
    pub next_offset: Option<Offset>,
}

/// Something that can go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeLine {
    /// Its log dir.
    pub log_dir: PathBuf,
    /// The dir's name in it.
    pub dir_name: String,
    /// What it costs.
    pub cost: DeletionCost,
    /// Its pieces, in the order in which they go.
    pub pieces: Vec<FreePiece>,
    /// How many of them are marked.
    pub marked: usize,
    /// Where the log starts now.
    pub log_start: Option<Offset>,
    /// Who else has it; `None` of what nobody needs.
    pub elsewhere: Option<String>,
    /// Groups that have committed less than the end of the last piece; `None` where nothing of groups is known.
    pub groups: Option<Vec<GroupBelow>>,
    /// Whether groups were not looked at, since the ranked plan takes no segment.
    pub groups_unasked: bool,
}

impl FreeLine {
    /// Returns the bytes that its marked pieces free.
    pub fn freed(&self) -> u64 {
        self.pieces
            .iter()
            .take(self.marked)
            .map(|of| of.freed)
            .sum()
    }

    /// Returns the bytes that all of it would free.
    pub fn whole(&self) -> u64 {
        self.pieces.iter().map(|of| of.freed).sum()
    }

    /// Returns the bytes of good batches that its marked pieces cost.
    pub fn lost(&self) -> u64 {
        match self.cost {
            DeletionCost::Records => self
                .pieces
                .iter()
                .take(self.marked)
                .map(|of| of.bytes)
                .sum(),
            _ => 0,
        }
    }

    /// Returns where the log starts once the marked pieces are gone.
    pub fn next_start(&self) -> Option<Offset> {
        let last = self.marked.checked_sub(1)?;
        self.pieces.get(last)?.next_offset
    }

    /// Returns the groups that have not read all of the marked pieces; `None` where nothing of groups is known.
    pub fn groups_below(&self) -> Option<Vec<GroupBelow>> {
        let start = self.next_start();
        let below = |of: &&GroupBelow| start.is_some_and(|start| of.committed < start);
        let known = self.groups.as_ref()?;
        Some(known.iter().filter(below).cloned().collect())
    }

    /// Returns the line with all of its pieces marked: what it would come to.
    #[must_use]
    pub fn whole_line(&self) -> Self {
        Self {
            marked: self.pieces.len(),
            ..self.clone()
        }
    }

    fn is_of(&self, other: &Self) -> bool {
        self.log_dir == other.log_dir && self.dir_name == other.dir_name
    }
}

/// A leftover that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptLeftover {
    /// Its dir's name.
    pub dir_name: String,
    /// What it takes.
    pub allocated: u64,
    /// Why.
    pub why: String,
}

/// What can go from a volume.
#[derive(Debug, Clone, PartialEq)]
pub struct FreeOffer {
    /// The log dir whose volume is meant.
    pub dir: PathBuf,
    /// Bytes that are to become free.
    pub target: u64,
    /// The volume's space.
    pub space: Option<SpaceFacts>,
    /// Space that costs no data; each with its command.
    pub costless: Vec<Finding>,
    /// What can go, the safest first; marked is what the target needs.
    pub lines: Vec<FreeLine>,
    /// What else makes room, each an act of its own.
    pub ways: Vec<OtherWay>,
    /// Leftovers that stay.
    pub kept: Vec<KeptLeftover>,
    /// Bytes that the next boot needs free.
    pub boot_free: u64,
    /// Bytes that it reads again.
    pub boot_reads: u64,
    /// Bytes a second at which it is taken to read them: a guess, not a measurement of this host.
    pub boot_rate: u64,
    /// Whether what is kept for an undo would lie on the same volume, and free nothing.
    pub copies_here: bool,
    /// What else is to be known.
    pub notes: Vec<String>,
    /// When it was looked.
    pub at: Timestamp,
}

/// Returns what can go as lines, the safest first: leftovers, what retention deletes anyway, good records; what `chosen`
/// picks is marked. `elsewhere` says who else has a partition, `groups` who has read what of it.
pub fn free_lines(
    leftovers: &[Leftover],
    logs: &[FreeableLog],
    (chosen, groups): (&CleanupPlan, &GroupCommits),
    elsewhere: impl Fn(&TopicPartition) -> Option<String>,
) -> Vec<FreeLine> {
    let mut free: Vec<FreeLine> = leftovers
        .iter()
        .enumerate()
        .filter(|(_, of)| of.proof == LeftoverProof::Proved)
        .filter(|(_, of)| of.kind != crate::log::UsageKind::StrayDirs)
        .map(|(number, of)| FreeLine {
            log_dir: of.log_dir.clone(),
            dir_name: of.dir_name.clone(),
            cost: DeletionCost::Leftover(of.kind),
            pieces: vec![FreePiece {
                freed: of.allocated,
                bytes: of.log_bytes,
                next_offset: None,
            }],
            marked: usize::from(chosen.choices.contains(&CleanupChoice::Leftover(number))),
            log_start: None,
            elsewhere: None,
            groups: None,
            groups_unasked: false,
        })
        .collect();
    let counts = chosen.segments();
    for (number, log) in logs.iter().enumerate() {
        let past = log.segments.iter().take_while(|of| of.past_retention);
        let past = past.count();
        let count = counts.get(&number).map_or(0, |(count, _)| *count);
        let (first, rest) = log.segments.split_at(past);
        let told = elsewhere(&log.topic_partition);
        let parts = [
            (DeletionCost::PastRetention, first, count.min(past)),
            (DeletionCost::Records, rest, count.saturating_sub(past)),
        ];
        free.extend(
            parts
                .into_iter()
                .filter(|(_, segments, _)| !segments.is_empty())
                .map(|(cost, segments, marked)| FreeLine {
                    log_dir: log.log_dir.clone(),
                    dir_name: log.dir_name.clone(),
                    cost,
                    pieces: segments
                        .iter()
                        .map(|of| FreePiece {
                            freed: of.freed,
                            bytes: of.bytes,
                            next_offset: Some(of.next_offset),
                        })
                        .collect(),
                    marked,
                    log_start: Some(log.log_start_offset),
                    elsewhere: told.clone(),
                    groups: segments
                        .last()
                        .and_then(|of| groups.below(&log.topic_partition, of.next_offset)),
                    groups_unasked: groups.is_unasked,
                }),
        );
    }
    free.sort_by_key(|line| {
        (
            line.cost.class(),
            std::cmp::Reverse(line.freed()),
            std::cmp::Reverse(line.whole()),
        )
    });
    let mut spare = 0;
    free.retain(|line| {
        spare += usize::from(line.marked == 0);
        line.marked > 0 || spare <= MOST_SPARE
    });
    free
}

impl FreeOffer {
    /// Returns the seconds in which the next boot reads what it reads again, at the guessed rate.
    pub fn boot_seconds(&self) -> u64 {
        self.boot_reads.div_ceil(self.boot_rate.max(1))
    }
}

/// Where the dialog stands.
#[derive(Debug, Clone, PartialEq)]
pub enum FreeStage {
    /// It asks how much.
    Asking,
    /// It is being looked what can go.
    Looking,
    /// What can go is shown.
    Ranked(Arc<FreeOffer>),
}

/// The dialog that frees space.
#[derive(Debug, Clone)]
pub struct FreeDialog {
    /// The log dir whose volume is meant.
    pub dir: PathBuf,
    /// How much, as typed.
    pub input: Input,
    /// Where it stands.
    pub stage: FreeStage,
    /// The lines with their marks.
    pub lines: Vec<FreeLine>,
    /// The line under the cursor.
    pub cursor: usize,
    /// Whether marks were changed: then the plan is no longer the ranked one.
    pub is_changed: bool,
    /// Whether what goes is kept.
    pub copies: Copies,
    /// What is wrong, or why there is no plan.
    pub error: Option<String>,
}

impl FreeDialog {
    /// Returns the dialog that asks how much is to become free on the volume of `dir`.
    pub fn new(dir: PathBuf, input: &str) -> Self {
        Self {
            dir,
            input: Input::new(input.to_owned()),
            stage: FreeStage::Asking,
            lines: Vec::new(),
            cursor: 0,
            is_changed: false,
            copies: Copies::Kept,
            error: None,
        }
    }

    /// Returns what can go, once it is known.
    pub fn offer(&self) -> Option<&Arc<FreeOffer>> {
        match &self.stage {
            FreeStage::Ranked(offer) => Some(offer),
            FreeStage::Asking | FreeStage::Looking => None,
        }
    }

    /// Returns the bytes that the marked lines free.
    pub fn freed(&self) -> u64 {
        self.lines.iter().map(FreeLine::freed).sum()
    }

    /// Returns the bytes of good batches that they cost.
    pub fn lost(&self) -> u64 {
        self.lines.iter().map(FreeLine::lost).sum()
    }

    /// Returns their highest class.
    pub fn class(&self) -> Option<Class> {
        let marked = self.lines.iter().filter(|line| line.marked > 0);
        marked.map(|line| line.cost.class()).max()
    }

    /// Marks the line under the cursor or takes its mark away, and goes on to the next one. Of good records as many segments
    /// are marked as the target still needs.
    pub fn toggle(&mut self) {
        let target = self.offer().map_or(0, |offer| offer.target);
        let missing = target.saturating_sub(self.freed());
        let Some(line) = self.lines.get(self.cursor) else {
            return;
        };
        let wanted = match line.cost {
            _ if line.marked > 0 => 0,
            DeletionCost::Records => {
                let (mut count, mut freed) = (0, 0_u64);
                for piece in &line.pieces {
                    if count > 0 && freed >= missing {
                        break;
                    }
                    count += 1;
                    freed = freed.saturating_add(piece.freed);
                }
                count
            }
            _ => line.pieces.len(),
        };
        self.mark(wanted);
        self.cursor = (self.cursor + 1).min(self.lines.len().saturating_sub(1));
    }

    /// Takes what the target needs from the lines that `is_wanted` picks, the safest first, if it picks any.
    pub fn prefer(&mut self, is_wanted: impl Fn(&FreeLine) -> bool) {
        let wanted: Vec<usize> = (0..self.lines.len())
            .filter(|at| self.lines.get(*at).is_some_and(&is_wanted))
            .collect();
        if wanted.is_empty() {
            return;
        }
        for line in &mut self.lines {
            line.marked = 0;
        }
        let target = self.offer().map_or(0, |offer| offer.target);
        for at in wanted {
            self.cursor = at;
            let is_open = self.lines.get(at).is_some_and(|line| line.marked == 0);
            if is_open && self.freed() < target {
                self.toggle();
            }
        }
        self.cursor = 0;
        self.is_changed = true;
    }

    /// Marks so many pieces more or fewer of the line under the cursor.
    pub fn mark_by(&mut self, step: isize) {
        if let Some(line) = self.lines.get(self.cursor) {
            let wanted = line.marked.saturating_add_signed(step);
            self.mark(wanted.min(line.pieces.len()));
        }
    }

    /// Marks so many pieces of the line under the cursor. A log loses a prefix: its good records go only behind all that
    /// retention deletes.
    fn mark(&mut self, wanted: usize) {
        let Some(line) = self.lines.get_mut(self.cursor) else {
            return;
        };
        line.marked = wanted;
        let line = line.clone();
        let is_part = wanted < line.pieces.len();
        for other in self.lines.iter_mut().filter(|other| other.is_of(&line)) {
            match (line.cost, other.cost) {
                (DeletionCost::Records, DeletionCost::PastRetention) if wanted > 0 => {
                    other.marked = other.pieces.len();
                }
                (DeletionCost::PastRetention, DeletionCost::Records) if is_part => {
                    other.marked = 0;
                }
                _ => {}
            }
        }
        self.is_changed = true;
        self.error = None;
    }

    /// Returns the plan that is asked for.
    pub fn request(&self) -> CleanupRequest {
        let ask = match self.offer() {
            Some(offer) if !self.is_changed => CleanupAsk::Free(offer.target),
            _ => CleanupAsk::Marked(self.choices()),
        };
        CleanupRequest {
            ask,
            on: Some(self.dir.clone()),
            copies: self.copies,
        }
    }

    fn choices(&self) -> Vec<FreeChoice> {
        let mut choices: Vec<FreeChoice> = Vec::new();
        for line in self.lines.iter().filter(|line| line.marked > 0) {
            let what = match line.cost {
                DeletionCost::Leftover(kind) => FreeWhat::Leftover(kind),
                _ => FreeWhat::Segments(line.marked),
            };
            let is_same = |choice: &&mut FreeChoice| {
                choice.log_dir == line.log_dir && choice.dir_name == line.dir_name
            };
            // Both lines of a log are one prefix.
            if let (
                FreeWhat::Segments(more),
                Some(FreeChoice {
                    what: FreeWhat::Segments(count),
                    ..
                }),
            ) = (
                what,
                choices
                    .iter_mut()
                    .find(|choice| is_same(choice) && matches!(choice.what, FreeWhat::Segments(_))),
            ) {
                *count += more;
                continue;
            }
            choices.push(FreeChoice {
                log_dir: line.log_dir.clone(),
                dir_name: line.dir_name.clone(),
                what,
            });
        }
        choices
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::UsageKind;
    use crate::plan::cleanup::{CleanupWish, FreeableSegment, plan_cleanup};

    fn log(name: &str, segments: &[(i64, bool)]) -> FreeableLog {
        FreeableLog {
            log_dir: "/d1".into(),
            dir_name: format!("{name}-0"),
            topic_partition: TopicPartition::new(name, 0),
            log_start_offset: Offset(0),
            log_end_offset: None,
            segments: (0..)
                .zip(segments)
                .map(|(number, (time, past_retention))| FreeableSegment {
                    base_offset: Offset(number * 10),
                    next_offset: Offset(number * 10 + 10),
                    bytes: 90,
                    freed: 100,
                    largest_timestamp: Timestamp(*time),
                    past_retention: *past_retention,
                })
                .collect(),
            mirrors: Vec::new(),
            unknown_mirrors: Vec::new(),
        }
    }

    fn leftover() -> Leftover {
        Leftover {
            log_dir: "/d1".into(),
            dir_name: "t-9.x-delete".to_owned(),
            files: vec![],
            kind: UsageKind::DeleteDirs,
            removes_dir: true,
            allocated: 50,
            log_bytes: 40,
            proof: LeftoverProof::Proved,
        }
    }

    fn dialog(target: u64) -> FreeDialog {
        let leftovers = [leftover()];
        let logs = [
            log("a", &[(1, true), (2, false), (9, false)]),
            log("b", &[(5, false), (6, false)]),
        ];
        let chosen = plan_cleanup(CleanupWish::Free(target), &leftovers, &logs);
        let lines = free_lines(
            &leftovers,
            &logs,
            (&chosen, &GroupCommits::default()),
            |_| None,
        );
        let mut dialog = FreeDialog::new("/d1".into(), "");
        dialog.lines.clone_from(&lines);
        dialog.stage = FreeStage::Ranked(Arc::new(FreeOffer {
            dir: "/d1".into(),
            target,
            space: None,
            costless: vec![],
            lines,
            ways: vec![],
            kept: vec![],
            boot_free: 0,
            boot_reads: 0,
            boot_rate: 1,
            copies_here: false,
            notes: vec![],
            at: Timestamp(0),
        }));
        dialog
    }

    fn marks(dialog: &FreeDialog) -> Vec<(String, usize)> {
        let lines = dialog.lines.iter();
        lines
            .map(|line| {
                (
                    format!("{} {}", line.dir_name, line.cost.words()),
                    line.marked,
                )
            })
            .collect()
    }

    #[test]
    fn lines_go_from_the_safest_and_what_the_target_needs_is_marked() {
        let dialog = dialog(250);
        let said = marks(&dialog);
        let want = [
            ("t-9.x-delete leftover -delete", 1),
            ("a-0 past retention", 1),
            ("a-0 oldest records", 1),
            ("b-0 oldest records", 0),
        ];
        assert_eq!(said, want.map(|(name, marked)| (name.to_owned(), marked)));
        assert_eq!((dialog.freed(), dialog.lost()), (250, 90));
        assert_eq!(dialog.class(), Some(Class::C));
        assert_eq!(dialog.request().ask, CleanupAsk::Free(250));
    }

    #[test]
    fn a_log_loses_a_prefix_whatever_is_marked() {
        let mut dialog = dialog(150);
        dialog.cursor = 2;
        dialog.toggle();
        assert_eq!((dialog.lines[1].marked, dialog.lines[2].marked), (1, 1));
        dialog.cursor = 2;
        dialog.mark_by(1);
        let choices = dialog.request().ask;
        let CleanupAsk::Marked(choices) = choices else {
            panic!("{choices:?}")
        };
        assert_eq!(choices[0].what, FreeWhat::Leftover(UsageKind::DeleteDirs));
        assert_eq!(choices[1].what, FreeWhat::Segments(3));
        // What retention deletes stays, so the records behind it must.
        dialog.cursor = 1;
        dialog.toggle();
        assert_eq!((dialog.lines[1].marked, dialog.lines[2].marked), (0, 0));
        assert_eq!(dialog.freed(), 50);
    }

    #[test]
    fn a_mark_takes_as_many_segments_as_the_target_needs() {
        let mut dialog = dialog(250);
        dialog.cursor = 2;
        dialog.toggle();
        assert_eq!(dialog.cursor, 3);
        dialog.toggle();
        assert_eq!((dialog.lines[3].marked, dialog.freed()), (1, 250));
        dialog.cursor = 3;
        dialog.toggle();
        dialog.cursor = 0;
        dialog.toggle();
        dialog.cursor = 3;
        dialog.toggle();
        assert_eq!((dialog.lines[3].marked, dialog.freed()), (2, 300));
    }
}
