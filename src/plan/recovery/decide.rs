//! What an operator decides where Kafka's way costs good records, and whether a boot keeps to it.

use super::Recovery;
use super::state::{Loss, State};
use crate::format::file_name::PartitionFile;
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::virtual_dir::VirtualDir;
use crate::plan::{Ask, AskReason, HandOver, OnLoss, StopState, Verdict};
use crate::terms::Offset;

/// What a boot would do to a log that is to be left as it is.
#[derive(Debug)]
pub(super) struct KafkasWay {
    loss: Loss,
    findings: Vec<Finding>,
    /// The recovery point of the checkpoint.
    pub(super) recovery_point: Option<Offset>,
}

impl Recovery {
    /// Says whether the log is to be left and a boot would cut it: then the machine runs again, as a boot would that does
    /// not read what is bad.
    pub(super) fn turns_to_leave(&self) -> bool {
        self.inputs.on_loss == OnLoss::Leave
            && self.inputs.hand_over != HandOver::None
            && self.kafkas_way.is_none()
            && !self.state.loss.reasons.is_empty()
    }

    /// Begins anew with what the hand-over will tell a boot: a recovery point in the last segment, or a clean stop.
    pub(super) fn run_again_to_leave(&mut self) {
        let last = self.state.summaries.keys().next_back().copied();
        let state = std::mem::replace(&mut self.state, State::new(VirtualDir::new(&self.listing)));
        self.kafkas_way = Some(KafkasWay {
            loss: state.loss,
            findings: state.findings,
            recovery_point: self.inputs.recovery_point,
        });
        if self.inputs.hand_over == HandOver::Clean {
            self.inputs.stop = StopState::Clean;
        } else {
            self.inputs.recovery_point = last;
        }
    }

    /// Says whether the whole replica is set aside, and may be.
    pub(super) fn is_set_aside(&self) -> bool {
        let is_refused = matches!(self.stopped, Some(Verdict::Refused { .. }));
        self.inputs.on_loss == OnLoss::SetAside
            && (is_refused || self.stopped.is_none() && !self.state.loss.reasons.is_empty())
            && self.forbids_set_aside().is_none()
    }

    /// Returns why what was decided does not hold; `None` if it does, or if nothing was.
    fn objection(&self) -> Option<String> {
        let reasons = &self.state.loss.reasons;
        match self.inputs.on_loss {
            OnLoss::Ask | OnLoss::LikeKafka => None,
            OnLoss::SetAside => self
                .forbids_set_aside()
                .map(|why| format!("it cannot be set aside: {why}")),
            OnLoss::CutHere => reasons
                .iter()
                .any(|reason| {
                    !matches!(
                        reason,
                        AskReason::BatchesBehindCut | AskReason::LaterSegments
                    )
                })
                .then(|| "it cannot be cut only here: no single place of it is bad".to_owned()),
            OnLoss::Leave if self.inputs.hand_over == HandOver::None => Some(
                "it cannot be left under --hand-over none: the next boot reads it from the old recovery point and cuts it"
                    .to_owned(),
            ),
            OnLoss::Leave => match &self.stopped {
                Some(Verdict::Refused { cause }) => Some(format!("it cannot be left: {cause}")),
                _ if reasons.is_empty() => None,
                _ => Some(
                    "it cannot be left under --hand-over verify: a boot reads the bad place although the recovery point \
                     lies behind it, as it is in the last segment or an index of its segment is missing or corrupt; \
                     --hand-over clean leaves the last segment"
                        .to_owned(),
                ),
            },
        }
    }

    /// Returns the verdict of a log where Kafka's way costs good records, with what is to be told; `None` where it costs
    /// none.
    pub(super) fn ask(&mut self) -> Option<(Ask, Vec<Finding>)> {
        if self.is_set_aside() {
            return Some(self.set_aside());
        }
        let objection = self.objection();
        let known = self.kafkas_way.as_mut();
        let (loss, mut findings) = match known {
            Some(known) => (known.loss.clone(), std::mem::take(&mut known.findings)),
            None => (self.state.loss.clone(), Vec::new()),
        };
        let reason = *loss.reasons.first()?;
        let decided = match (&objection, self.inputs.on_loss) {
            (Some(_), _) => OnLoss::Ask,
            (None, decided) => decided,
        };
        findings.extend(objection.map(decision_refused));
        if decided == OnLoss::Leave {
            findings.push(left(self.inputs.hand_over));
        }
        let is_left = decided == OnLoss::Leave;
        let ask = Ask {
            reason,
            lost_bytes: if is_left { 0 } else { loss.bytes },
            lost_records: if is_left { Some(0) } else { loss.records },
            lost_segments: if is_left { 0 } else { loss.segments },
            accepted: decided != OnLoss::Ask,
            decided,
            replicas: self.inputs.replicas.clone().map(Box::new),
            no_set_aside: self.forbids_set_aside(),
        };
        Some((ask, findings))
    }

    /// Returns the verdict of a replica that is set aside: all that it has goes.
    fn set_aside(&self) -> (Ask, Vec<Finding>) {
        let logs = || {
            let stamps = self.listing.iter().map(|entry| &entry.stamp);
            stamps.filter(|stamp| PartitionFile::parse(&stamp.name).is_log())
        };
        let reason = self.state.loss.reasons.first();
        let ask = Ask {
            reason: reason.copied().unwrap_or(AskReason::NotLoaded),
            lost_bytes: logs().map(|stamp| stamp.len).sum(),
            lost_records: None,
            lost_segments: logs().count() as u64,
            accepted: true,
            decided: OnLoss::SetAside,
            replicas: self.inputs.replicas.clone().map(Box::new),
            no_set_aside: None,
        };
        (ask, self.told_set_aside().into_iter().collect())
    }

    /// Returns what is told where a log that Kafka does not load was to be set aside, and cannot be.
    pub(super) fn refused_set_aside(&self) -> Option<Finding> {
        let is_refused = matches!(self.stopped, Some(Verdict::Refused { .. }));
        (is_refused && self.inputs.on_loss == OnLoss::SetAside)
            .then(|| self.objection())?
            .map(decision_refused)
    }
}

fn decision_refused(text: String) -> Finding {
    Finding::new(FindingCode::DecisionRefused, Severity::Warning, text)
        .next("decide otherwise, or choose another hand-over")
}

/// Returns what a boot and the log's readers make of what is left.
fn left(hand_over: HandOver) -> Finding {
    let boot = match hand_over {
        HandOver::Clean => "the marker keeps the next boot from reading it",
        _ => {
            "the recovery point moves to the log's end, so that a boot reads only the last segment and cuts nothing before it"
        }
    };
    Finding::new(
        FindingCode::DecisionTaken,
        Severity::Warning,
        format!(
            "left as it is: {boot}; consumers and followers that come to the bad batch fail there until they seek past \
             it, a leader's compaction of it stops, and a boot that finds its index missing cuts it after all"
        ),
    )
}
