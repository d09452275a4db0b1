//! What scans, jobs and plans say.

use std::sync::Arc;

use crate::app::action::PaneId;
use crate::app::confirm::PlanSummary;
use crate::app::effect::{Effect, PlanRequest, Scope, Target};
use crate::app::event::{Event, Level, Verified};
use crate::app::facts::Presence;
use crate::app::lines::short_hash;
use crate::app::state::{Beside, Ended, Overlay, Pending, ShownPlan, State, Work, WorkKind};
use crate::app::text;
use crate::engine::{JobEvent, JobOutcome, LogState};
use crate::log::Severity;
use crate::plan::{OnLoss, PlanAct, RecoveryPlan};
use crate::terms::Timestamp;

use super::{acts, tell, volumes};

/// Takes what a scan, a job or a plan says.
pub(super) fn on_event(state: &mut State, event: Event, effects: &mut Vec<Effect>) {
    match event {
        Event::WorkStarted { kind, at } => started(state, kind, at),
        Event::JobKilled(killed) => {
            let text = format!(
                "job {} was killed in the middle; krescue jobs says how to go on",
                killed.job
            );
            tell(state, effects, Level::Warn, &text);
            state.world.killed = Some(killed);
        }
        Event::Progress { progress, at } => {
            state.world.logs.on_progress(&progress.dirs);
            if let Some(work) = state.world.work.as_mut().filter(|work| work.runs()) {
                work.on_progress(progress, at);
            }
        }
        Event::Work(event) => on_work(state, &event, effects),
        Event::Planned {
            plan,
            hash,
            request,
            unstored,
            at,
        } => {
            finish_scan(state);
            // A plan that mends or deletes says nothing of what a boot makes of the logs.
            if !matches!(plan.act, PlanAct::Mend | PlanAct::CleanUp) {
                state.world.logs.on_plan(&plan);
            }
            let text = describe(&plan, &hash);
            effects.push(Effect::Log {
                target: Target::Krescue,
                level: Level::Note,
                text,
            });
            state
                .view
                .overlays
                .retain(|overlay| !matches!(overlay, Overlay::Plan(dialog) if dialog.hash != hash));
            state.world.plan = Some(ShownPlan {
                sum: PlanSummary::of(&plan),
                plan,
                hash,
                request,
                unstored,
                beside: match state.world.presence() {
                    Some(Presence::Down) | None => Beside::Nobody,
                    Some(_) => Beside::LiveBroker,
                },
                made: at,
                applied: false,
            });
            state.view.table.touch();
            if std::mem::take(&mut state.view.pending) == Pending::ShowPlan {
                acts::show_plan(state, effects);
            }
        }
        Event::Verified(verified) => {
            finish_scan(state);
            let (level, text) = verified_line(verified);
            tell(state, effects, level, &text);
        }
        Event::Preflight(counts) => {
            finish_scan(state);
            let (level, text) = preflight_line(counts);
            tell(state, effects, level, &text);
        }
        Event::PlanFailed(cause) => {
            finish_scan(state);
            state.view.pending = Pending::Nothing;
            tell(state, effects, Level::Error, &cause);
        }
        Event::PlanCancelled => {
            finish_scan(state);
            state.view.pending = Pending::Nothing;
            tell(
                state,
                effects,
                Level::Note,
                "it was ended; nothing was changed",
            );
        }
        Event::ApplyFailed(cause) => {
            if let Some(shown) = &mut state.world.plan {
                shown.applied = false;
            }
            tell(state, effects, Level::Error, &cause);
        }
        _ => {}
    }
}

/// Takes a job that was found running, with the plan that it carries out.
pub(super) fn found(
    state: &mut State,
    (kind, plan, hash): (WorkKind, Arc<RecoveryPlan>, String),
    at: Timestamp,
) {
    let is_cleanup = plan.act == PlanAct::CleanUp;
    if !is_cleanup {
        state.world.logs.on_plan(&plan);
    }
    let request = PlanRequest {
        hand_over: plan.hand_over,
        undoes: plan.undoes.clone(),
        ..PlanRequest::default()
    };
    state.world.plan = Some(ShownPlan {
        sum: PlanSummary::of(&plan),
        plan,
        hash,
        request,
        unstored: None,
        beside: Beside::Nobody,
        made: at,
        applied: true,
    });
    started(state, kind, at);
    state.view.pane = if is_cleanup {
        PaneId::Volumes
    } else {
        PaneId::Recovery
    };
}

fn started(state: &mut State, kind: WorkKind, at: Timestamp) {
    match &kind {
        WorkKind::Scan | WorkKind::Verify => state.world.logs.on_scan_started(),
        WorkKind::Preflight => {}
        WorkKind::Apply { .. } => {
            state.world.killed = None;
            state.world.logs.on_apply_started();
        }
    }
    state.world.work = Some(Work::new(kind, at));
    state.view.table.touch();
}

/// Notes the rate at which batches were read, which tells how long a boot would take.
fn finish_scan(state: &mut State) {
    let now = state.now;
    if let Some(work) = state.world.work.as_mut().filter(|work| !work.is_apply()) {
        work.outcome.get_or_insert(JobOutcome::Done);
        work.at = now;
        let (done, _) = work.progress.bytes();
        if done > 0 {
            state.world.measured_rate = work.mean_rate().or(state.world.measured_rate);
        }
    }
}

fn on_work(state: &mut State, event: &JobEvent, effects: &mut Vec<Effect>) {
    if state.world.logs.on_event(event) {
        state.view.table.touch();
    }
    if let Some((level, text)) = line(event) {
        let target = match event {
            JobEvent::Finding { .. } => Target::Finding,
            _ => Target::Job,
        };
        effects.push(Effect::Log {
            target,
            level,
            text,
        });
    }
    let JobEvent::Ended { outcome } = event else {
        return;
    };
    let now = state.now;
    let Some(work) = state.world.work.as_mut().filter(|work| work.is_apply()) else {
        return;
    };
    work.outcome = Some(outcome.clone());
    work.at = now;
    let WorkKind::Apply { job, plan } = work.kind.clone() else {
        return;
    };
    let carried_out = state.world.plan.as_ref().filter(|shown| shown.hash == plan);
    let carried_out_act = carried_out.map(|shown| shown.plan.act);
    state.world.ended = Some(Ended {
        job,
        outcome: outcome.clone(),
        did: carried_out.map(|shown| shown.sum),
        hand_over: carried_out.map(|shown| shown.plan.hand_over),
        quarantine: carried_out.and_then(|shown| shown.plan.quarantine.clone()),
        at: now,
    });
    let (level, text) = outcome_line(outcome);
    tell(state, effects, level, &text);
    if state.view.pending == Pending::Quit {
        effects.push(Effect::Quit);
        return;
    }
    if matches!(outcome, JobOutcome::Refused { .. }) {
        if let Some(shown) = &mut state.world.plan {
            shown.applied = false;
        }
        return;
    }
    // What a boot would do now is looked at anew, so that nobody has to believe it.
    effects.push(Effect::List);
    volumes::read(state, effects);
    let was_cleanup = carried_out_act == Some(PlanAct::CleanUp);
    if !matches!(outcome, JobOutcome::Failed { .. }) && !was_cleanup {
        let shown = state.world.plan.as_ref();
        let shown = shown.filter(|shown| shown.plan.undoes.is_none());
        let hand_over = shown.map(|shown| shown.plan.hand_over);
        effects.push(Effect::Plan(PlanRequest {
            scope: Scope::All,
            on_loss: OnLoss::Ask,
            hand_over: hand_over.unwrap_or(state.view.hand_over.0),
            truncation: None,
            undoes: None,
            verifies: false,
        }));
    }
}

/// Returns how a job ended, as a sentence.
pub(super) fn outcome_line(outcome: &JobOutcome) -> (Level, String) {
    match outcome {
        JobOutcome::Done => (
            Level::Note,
            "done: each log reached its planned end".to_owned(),
        ),
        JobOutcome::DoneButLeft { left } => {
            let logs = text::plural(*left, "log stays as it was", "logs stay as they were");
            (Level::Warn, format!("done, but {logs}"))
        }
        JobOutcome::Refused { cause } => {
            (Level::Warn, format!("refused before any change: {cause}"))
        }
        JobOutcome::Stopped => (
            Level::Warn,
            "stopped as asked; a rerun goes on from here".to_owned(),
        ),
        JobOutcome::Failed { cause } => (
            Level::Error,
            format!("failed in the middle; a rerun goes on: {cause}"),
        ),
    }
}

fn line(event: &JobEvent) -> Option<(Level, String)> {
    match event {
        JobEvent::Finding {
            log_dir,
            dir_name,
            finding,
        } => {
            let level = match finding.severity {
                Severity::Routine => return None,
                Severity::Warning => Level::Note,
                Severity::Loss => Level::Warn,
                Severity::Fatal => Level::Error,
            };
            let dir = log_dir.join(dir_name.as_deref().unwrap_or_default());
            let file = finding.file.as_deref().unwrap_or_default();
            let place = dir.join(file).display().to_string();
            let at = finding
                .position
                .map_or_else(String::new, |at| format!(" at {at}"));
            Some((level, format!("{place}{at}: {}", finding.text)))
        }
        JobEvent::Step { dir_name, step, .. } => Some((
            Level::Note,
            format!("{dir_name}/{}: {}", step.file, step.reason),
        )),
        JobEvent::Note { text } => Some((Level::Note, text.clone())),
        JobEvent::Log {
            dir_name,
            state: LogState::Left,
            ..
        } => Some((Level::Note, format!("{dir_name} stays as it is"))),
        _ => None,
    }
}

fn verified_line(verified: Verified) -> (Level, String) {
    let logs = text::plural(verified.logs, "log", "logs");
    let bytes = text::bytes(verified.bytes);
    match verified.bad {
        0 => (
            Level::Note,
            format!("verified {logs}, {bytes}: nothing beyond routine"),
        ),
        bad => (
            Level::Error,
            format!("verified {logs}, {bytes}: {bad} with findings, in their rows"),
        ),
    }
}

fn preflight_line([fatal, loss, warnings]: [u64; 3]) -> (Level, String) {
    match (fatal, loss, warnings) {
        (0, 0, 0) => (
            Level::Note,
            "preflight: nothing beyond routine; :scan says what a boot cuts".to_owned(),
        ),
        (0, 0, warnings) => (
            Level::Warn,
            format!(
                "preflight: it will start; {}",
                text::plural(warnings, "warning", "warnings")
            ),
        ),
        (0, loss, _) => (
            Level::Error,
            format!(
                "preflight: DO NOT START: a boot loses data ({})",
                text::plural(loss, "finding", "findings")
            ),
        ),
        (fatal, ..) => (
            Level::Error,
            format!(
                "preflight: DO NOT START: {} the boot or destroy data; :mend shows what can be mended",
                text::plural(fatal, "problem ends", "problems end")
            ),
        ),
    }
}

fn describe(plan: &RecoveryPlan, hash: &str) -> String {
    let sum = PlanSummary::of(plan);
    format!(
        "plan {} made: {} changed, {} cut, {} undecided",
        short_hash(hash),
        sum.changed,
        text::bytes(sum.cut_bytes),
        sum.asks
    )
}
