//! The acts: what may be done with the selected thing, and why it is refused now.

use crate::plan::{OnLoss, TruncationTarget, Verdict};

use super::confirm::class_word;
use super::effect::Scope;
use super::facts::Presence;
use super::state::{LogId, LogRow, State};

/// What an act concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// All log dirs.
    All,
    /// One log dir, by its index.
    Dir(usize),
    /// The marked logs.
    Marked,
    /// One log.
    Log(LogId),
}

/// Something that can be done; those that change files only open a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Reads all batches and says what a boot would do.
    Scan,
    /// Opens the plan of a recovery.
    Recover(Target),
    /// Opens the plan that decides one ASK.
    Decide(LogId, OnLoss),
    /// Leaves one ASK as it is.
    Leave(LogId),
    /// Asks where a log is to end: opens the command line for it.
    AskTruncate(LogId),
    /// Opens the plan that truncates a log.
    Truncate(LogId, TruncationTarget),
    /// Shows the newest plan.
    ShowPlan,
    /// Stops what runs: a job after its step, a scan at once.
    Stop,
    /// Arms the session.
    Arm,
    /// Looks again.
    Disarm,
    /// Forbids acting for the rest of the session.
    ReadOnly,
}

/// One line of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActItem {
    /// Its letter.
    pub letter: char,
    /// The act.
    pub act: Act,
    /// What it does.
    pub text: String,
    /// What it costs at most, as far as that is known.
    pub class: &'static str,
    /// Why it is refused now.
    pub refused: Option<String>,
}

/// Returns the acts for the selected log, in the order of the menu: what only looks comes first.
pub fn menu(state: &State) -> Vec<ActItem> {
    let world = state.shown();
    let selected = state.selected_log();
    let mut items = vec![
        item(state, 's', Act::Scan),
        item(state, 'a', Act::Recover(Target::All)),
    ];
    if let Some(row) = selected {
        if world.logs.dirs.len() > 1 {
            items.push(item(state, 'd', Act::Recover(Target::Dir(row.dir))));
        }
        items.push(item(state, 'r', Act::Recover(Target::Log(row.id))));
    }
    if !state.view.table.marks.is_empty() {
        items.push(item(state, 'm', Act::Recover(Target::Marked)));
    }
    if let Some(row) = selected.filter(|row| row.open_ask().is_some()) {
        items.push(item(state, 'l', Act::Leave(row.id)));
        items.push(item(state, 'c', Act::Decide(row.id, OnLoss::CutHere)));
        items.push(item(state, 'e', Act::Decide(row.id, OnLoss::Leave)));
        items.push(item(state, 'f', Act::Decide(row.id, OnLoss::LikeKafka)));
    }
    if let Some(row) = selected {
        items.push(item(state, 'n', Act::AskTruncate(row.id)));
    }
    items.push(item(state, 'p', Act::ShowPlan));
    items.push(item(state, 't', Act::Stop));
    let armed = state.session.is_armed();
    items.push(item(state, 'w', if armed { Act::Disarm } else { Act::Arm }));
    items
}

fn item(state: &State, letter: char, act: Act) -> ActItem {
    ActItem {
        letter,
        text: describe(state, &act),
        class: class(state, &act),
        refused: refusal(state, &act),
        act,
    }
}

fn describe(state: &State, act: &Act) -> String {
    let world = &state.world;
    let name = |id: &LogId| {
        world
            .logs
            .row(*id)
            .map_or_else(String::new, |row| row.dir_name.clone())
    };
    match act {
        Act::Scan => "scan: read the batches, change nothing".to_owned(),
        Act::Recover(Target::All) => "recover all log dirs: shows the plan".to_owned(),
        Act::Recover(Target::Dir(dir)) => {
            let label = world.logs.dirs.get(*dir).map_or("?", |dir| &dir.label);
            format!("recover {label}: shows the plan")
        }
        Act::Recover(Target::Marked) => {
            let marked = state.view.table.marks.len() as u64;
            let logs = super::text::plural(marked, "marked log", "marked logs");
            format!("recover {logs}: shows the plan")
        }
        Act::Recover(Target::Log(id)) => format!("recover {}: shows the plan", name(id)),
        Act::Decide(id, OnLoss::CutHere) => {
            format!("cut {} only where it is bad", name(id))
        }
        Act::Decide(id, OnLoss::Leave) => {
            format!("keep all of {}, unread by a boot", name(id))
        }
        Act::Decide(id, _) => format!("take Kafka's way with {}: shows the plan", name(id)),
        Act::Leave(id) => format!("leave {} undecided", name(id)),
        Act::AskTruncate(id) | Act::Truncate(id, _) => {
            format!("end {} at an offset or epoch: truncate", name(id))
        }
        Act::ShowPlan => "show the plan".to_owned(),
        Act::Stop => match &world.work {
            Some(work) if work.is_apply() => "stop the job after this step".to_owned(),
            Some(_) => "stop the scan".to_owned(),
            None => "stop what runs".to_owned(),
        },
        Act::Arm => "arm: a confirmed plan may change files".to_owned(),
        Act::Disarm => "look only again".to_owned(),
        Act::ReadOnly => "forbid acting for the rest of this session".to_owned(),
    }
}

fn class(state: &State, act: &Act) -> &'static str {
    match act {
        Act::Decide(..) | Act::AskTruncate(_) | Act::Truncate(..) => "class C",
        Act::Recover(_) | Act::ShowPlan => match &state.world.plan {
            Some(shown) => class_word(shown.plan.class()),
            None => "class by plan",
        },
        _ => "",
    }
}

/// Returns why `act` cannot be done now; `None` if it can.
pub fn refusal(state: &State, act: &Act) -> Option<String> {
    let world = &state.world;
    let running = world.work.as_ref().filter(|work| work.runs());
    match act {
        Act::Scan | Act::Recover(_) | Act::Decide(..) | Act::AskTruncate(_) | Act::Truncate(..)
            if world.broker.is_none() =>
        {
            Some("no broker is open".to_owned())
        }
        Act::Scan | Act::Recover(_) | Act::Decide(..) | Act::AskTruncate(_) | Act::Truncate(..)
            if running.is_some() =>
        {
            Some(
                if running.is_some_and(super::state::Work::is_apply) {
                    "a job runs"
                } else {
                    "a scan runs; it ends in a plan"
                }
                .to_owned(),
            )
        }
        Act::Recover(_) | Act::Decide(..) | Act::AskTruncate(_) | Act::Truncate(..) => {
            let refused = world.presence().and_then(Presence::refuses);
            refused.or_else(|| match act {
                Act::Recover(Target::Log(id)) => world.logs.row(*id).and_then(cannot_recover),
                _ => None,
            })
        }
        Act::ShowPlan => world
            .plan
            .is_none()
            .then(|| "no plan was made yet".to_owned()),
        Act::Stop => match running {
            None => Some("nothing runs".to_owned()),
            Some(work) if work.stopping => Some("it was asked to stop".to_owned()),
            Some(_) => None,
        },
        Act::Arm | Act::ReadOnly => state.session.forbidden().map(str::to_owned),
        _ => None,
    }
}

fn cannot_recover(row: &LogRow) -> Option<String> {
    match row.verdict.as_ref()? {
        Verdict::Refused { cause } => Some(format!("Kafka would not load it: {cause}")),
        Verdict::Unreadable { cause } => Some(cause.clone()),
        Verdict::Skipped { why } => Some(why.clone()),
        Verdict::Ask(_) => Some("decide first: Kafka's way costs good records".to_owned()),
        Verdict::Nothing | Verdict::Recover | Verdict::TakeBack | Verdict::Truncate(_) => None,
    }
}

/// Returns the logs that an act concerns.
pub fn scope(state: &State, target: &Target) -> Scope {
    let logs = &state.world.logs;
    let name = |row: &LogRow| Some((logs.dir_of(row)?.path.clone(), row.dir_name.clone()));
    let named = |wanted: &dyn Fn(&LogRow) -> bool| {
        Scope::Logs(
            logs.rows()
                .filter(|row| wanted(row))
                .filter_map(name)
                .collect(),
        )
    };
    match target {
        Target::All => Scope::All,
        Target::Dir(dir) => named(&|row| row.dir == *dir),
        Target::Marked => named(&|row| state.view.table.marks.contains(&row.id)),
        Target::Log(id) => named(&|row| row.id == *id),
    }
}
