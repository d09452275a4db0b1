//! What a boot would make of one log (`LogLoader.load`), as a machine without I/O.
//!
//! [`Recovery::next`] says what the machine needs; whoever can read answers with a `supply_*` call and asks again, until
//! the answer is [`Need::Done`]. The work is cut into phases. What a phase changed is taken back if
//! it lacks a fact, and it is run again when the fact is there.

mod decide;
mod facts;
mod finish;
mod load;
mod need;
mod producers;
mod recover;
mod set_aside;
mod split;
mod state;
mod steps;
mod swap;
mod truncate;
mod words;

pub use need::{
    CutRequest, LogPart, LookupRequest, Need, ReplayRequest, ScanRequest, SplitRequest, WalkRequest,
};

use std::borrow::Cow;

use decide::KafkasWay;
use facts::{Facts, Interrupt};
use state::{Phase, State};
use steps::EpochTurn;

use super::virtual_dir::{DirEntry, VirtualDir, VirtualFile};
use super::{AskReason, OnLoss, PartitionPlan, RecoveryInputs, Verdict};
use crate::format::file_name::DirName;
use crate::log::{CutFound, Finding, FindingCode, Replayed, SegmentScan, Severity, Split, Walked};
use crate::terms::Position;

/// The recovery of one log, from a listing of its dir to its plan.
#[derive(Debug)]
pub struct Recovery {
    dir_name: String,
    is_delete: bool,
    /// Sorted by name.
    listing: Vec<DirEntry>,
    inputs: RecoveryInputs,
    facts: Facts,
    state: State,
    stopped: Option<Verdict>,
    /// What Kafka's way is, once the machine runs for a log that is to be left as it is.
    kafkas_way: Option<KafkasWay>,
}

impl Recovery {
    /// Returns the machine for the partition dir `dir_name` with the entries of `listing`.
    pub fn new(
        dir_name: impl Into<String>,
        mut listing: Vec<DirEntry>,
        inputs: RecoveryInputs,
    ) -> Self {
        let dir_name = dir_name.into();
        listing.sort_by(|a, b| a.stamp.name.cmp(&b.stamp.name));
        Self {
            is_delete: matches!(DirName::parse(&dir_name), DirName::Delete(_)),
            state: State::new(VirtualDir::new(&listing)),
            dir_name,
            listing,
            inputs,
            facts: Facts::default(),
            stopped: None,
            kafkas_way: None,
        }
    }

    /// Goes on as far as it can; returns what it needs.
    #[expect(
        clippy::should_implement_trait,
        reason = "no iterator: it is asked again with the same answer until it is told more"
    )]
    pub fn next(&mut self) -> Need {
        while self.stopped.is_none() && self.state.phase != Phase::Done {
            if self.state.phase == Phase::Compare && self.turns_to_leave() {
                self.run_again_to_leave();
            }
            // Phases read the rest of the machine while they change the state.
            let mut state = std::mem::replace(&mut self.state, State::new(VirtualDir::default()));
            let mark = state.mark();
            let phase = state.phase;
            let result = match phase {
                Phase::Begin => self.begin(&mut state),
                Phase::Load(place) => self.load_segment(&mut state, place),
                Phase::Recover(base) => self.recover_next(&mut state, base),
                Phase::Finish => self.finish(&mut state),
                Phase::Compare => self.compare(&mut state),
                Phase::Done => Ok(()),
            };
            if matches!(result, Err(Interrupt::Need(_))) {
                state.roll_back(mark);
            }
            self.state = state;
            match result {
                Ok(()) => {
                    for base in std::mem::take(&mut self.state.stale_scans) {
                        self.facts.forget_scan(base);
                    }
                }
                Err(Interrupt::Need(need)) => return need,
                Err(Interrupt::Stop(verdict)) => self.stopped = Some(verdict),
            }
            match phase {
                Phase::Recover(base) => self.facts.forget_scan(base),
                Phase::Load(_) | Phase::Compare => self.facts.forget_files(),
                _ => {}
            }
        }
        Need::Done
    }

    /// Returns the bytes that a name of the virtual dir stands for; none if it stands for nothing.
    fn bytes(&self, state: &State, name: &str) -> Result<Cow<'_, [u8]>, Interrupt> {
        match state.dir.get(name) {
            Some(VirtualFile::New(content)) => Ok(Cow::Owned(
                content.bytes.as_deref().unwrap_or_default().to_vec(),
            )),
            Some(VirtualFile::Zeros(len)) => {
                Ok(Cow::Owned(vec![0; usize::try_from(*len).unwrap_or(0)]))
            }
            Some(VirtualFile::OnDisk { source, len, .. }) => {
                let bytes = self.facts.file(source)?.unwrap_or_default();
                let len = usize::try_from(*len).unwrap_or(usize::MAX);
                Ok(Cow::Borrowed(bytes.get(..len).unwrap_or(bytes)))
            }
            None => Ok(Cow::Borrowed(&[])),
        }
    }

    /// Answers [`Need::Read`]; `None` if the file is not there any more.
    pub fn supply_file(&mut self, file: &str, bytes: Option<Vec<u8>>) {
        self.facts.add_file(file, bytes);
    }

    /// Answers one request of [`Need::Scan`].
    pub fn supply_scan(&mut self, scan: SegmentScan) {
        self.facts.add_scan(scan);
    }

    /// Answers [`Need::Replay`].
    pub fn supply_replay(&mut self, request: &ReplayRequest, replayed: Replayed) {
        self.facts.add_replay(request, replayed);
    }

    /// Answers [`Need::Walk`].
    pub fn supply_walk(&mut self, request: &WalkRequest, walked: Walked) {
        self.facts.add_walk(request, walked);
    }

    /// Answers [`Need::Cut`].
    pub fn supply_cut(&mut self, request: &CutRequest, found: CutFound) {
        self.facts.add_cut(request, found);
    }

    /// Answers [`Need::Lookup`].
    pub fn supply_lookup(&mut self, request: &LookupRequest, position: Position) {
        self.facts.add_lookup(request, position);
    }

    /// Answers [`Need::Split`].
    pub fn supply_split(&mut self, request: &SplitRequest, split: Split) {
        self.facts.add_split(request, split);
    }

    /// Returns the plan, once [`Recovery::next`] returned [`Need::Done`].
    pub fn finish_plan(mut self) -> PartitionPlan {
        let no_effect = self.inputs.truncation.is_some() && self.state.truncation.is_none();
        // The log itself came to its end.
        let refuses_truncation = no_effect && self.state.log_end_offset.is_some();
        let set_aside = self.is_set_aside();
        let asked = self
            .ask()
            .filter(|_| self.stopped.is_none() || self.kafkas_way.is_some() || set_aside);
        // What was decided does not hold, and the steps are not those of Kafka's way either.
        let reopened = asked.as_ref().is_some_and(|(ask, _)| !ask.accepted)
            && matches!(
                self.inputs.on_loss,
                OnLoss::CutHere | OnLoss::Leave | OnLoss::SetAside
            );
        let untouched = (self.stopped.is_some() && !set_aside) || no_effect || reopened;
        if set_aside {
            // A boot makes an empty segment at the log's start.
            let start = self.inputs.log_start_or_zero();
            (self.state.log_start_offset, self.state.log_end_offset) = (Some(start), Some(start));
        }
        let more = self.refused_set_aside().filter(|_| asked.is_none());
        let steps = if untouched {
            Vec::new()
        } else if set_aside {
            self.set_aside_steps()
        } else {
            let first_unflushed = self.state.first_read;
            steps::steps(
                &self.listing,
                &self.state.dir,
                &steps::Order {
                    repaired: &self.state.repaired,
                    invalid_swaps: &self.state.invalid_swaps,
                    swap_range: self.state.swap_range,
                    split_bases: &self.state.split_bases,
                    pieces: &self.state.pieces,
                    first_read: self
                        .state
                        .repaired
                        .first()
                        .copied()
                        .into_iter()
                        .chain(first_unflushed)
                        .min(),
                    loaded_snapshots: &self.state.loaded_snapshots,
                    empty_snapshots: &self.state.empty_snapshots,
                    cuts_from_last: self.inputs.on_loss == OnLoss::CutHere,
                    truncated: self.state.truncation.as_ref().map(|cut| cut.active_base),
                    epochs: match self
                        .state
                        .loss
                        .reasons
                        .contains(&AskReason::LogStartBeyondEnd)
                    {
                        true => EpochTurn::First,
                        false if self.state.adds_epochs => EpochTurn::BeforeNewIndexes,
                        false => EpochTurn::Last,
                    },
                },
            )
        };
        let mut findings = self.state.findings;
        findings.extend(more);
        let verdict = match self.stopped {
            _ if let Some((ask, more)) = asked => {
                findings.extend(more);
                Verdict::Ask(ask)
            }
            Some(verdict) => {
                findings.extend(stop_finding(&verdict, refuses_truncation));
                verdict
            }
            None if no_effect => Verdict::Nothing,
            None if steps.is_empty() => Verdict::Nothing,
            None if let Some(truncation) = self.state.truncation => Verdict::Truncate(truncation),
            None => Verdict::Recover,
        };
        let ends = !untouched || refuses_truncation;
        PartitionPlan {
            dir_name: self.dir_name,
            topic_partition: Some(self.inputs.topic_partition),
            verdict,
            findings,
            steps,
            segments: self.state.summaries.into_values().collect(),
            log_start_offset: self.state.log_start_offset.filter(|_| ends),
            log_end_offset: self.state.log_end_offset.filter(|_| ends),
            recovery_point: match self.kafkas_way {
                Some(kafkas_way) => kafkas_way.recovery_point,
                None => self.inputs.recovery_point,
            },
            high_watermark: self.inputs.high_watermark,
            config: self.inputs.config,
            scan_bytes: self.state.scan_bytes,
            stamps: self.listing.into_iter().map(|entry| entry.stamp).collect(),
        }
    }
}

/// Returns the finding that says why a log stays as it is.
fn stop_finding(verdict: &Verdict, refuses_truncation: bool) -> Option<Finding> {
    match verdict {
        Verdict::Refused { cause } if refuses_truncation => Some(Finding::new(
            FindingCode::Refused,
            Severity::Warning,
            format!("not truncated: {cause}"),
        )),
        Verdict::Refused { cause } => Some(
            Finding::new(
                FindingCode::Refused,
                Severity::Fatal,
                format!("a boot does not load this log: {cause}"),
            )
            .next("mend the cause, or set the replica aside and let it be fetched again"),
        ),
        _ => None,
    }
}
