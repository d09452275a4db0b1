//! The acts: what may be done with the selected thing, and why it is refused now.

use std::path::PathBuf;

use crate::plan::retention::WhatIfScope;
use crate::plan::{LiveWish, OnLoss, TruncationTarget, Verdict};

use super::action::PaneId;
use super::confirm::class_word;
use super::effect::{CleanupAsk, Copies, Scope, Shorten};
use super::facts::Presence;
use super::live_act;
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
    /// Reads every segment in full, below the recovery point too, and looks for what is wrong.
    Verify(Target),
    /// Looks what stands in the way of a boot.
    Preflight,
    /// Opens the plan that mends what a boot would stumble over.
    Mend,
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
    /// Asks how much is to become free on the selected volume.
    AskFree,
    /// Opens the plan of a cleanup.
    CleanUp(CleanupAsk),
    /// Lists the plans that were carried out, to take one back.
    ListKept,
    /// Opens the plan that takes the plan with these leading digits back.
    Undo(String),
    /// Asks the living cluster for a plan.
    Live(LiveWish),
    /// Opens the command line with the begin of a wish of it.
    AskLive(String),
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
    if state.view.pane == PaneId::Volumes {
        return volumes_menu(state);
    }
    let mut items = match state.view.pane {
        PaneId::Replicas | PaneId::Segments => live_act::items(state),
        _ => Vec::new(),
    };
    if let Some(of) = tried(state, Copies::Kept) {
        items.insert(0, item(state, 'X', Act::CleanUp(CleanupAsk::Shorten(of))));
    }
    if state.view.pane != PaneId::Replicas {
        items.extend(of_logs(state));
    }
    items.extend(common(state));
    items
}

/// Returns the limits that are tried on the segments pane, and for what; `None` if none are.
pub fn tried(state: &State, copies: Copies) -> Option<Shorten> {
    if state.view.pane != PaneId::Segments {
        return None;
    }
    let view = &state.view.segments;
    let (limits, error) = view.what_if.wish();
    let facts = state.shown().retention.as_ref()?;
    let names = match view.scope(facts) {
        WhatIfScope::Partition(partition) => vec![partition.to_string()],
        WhatIfScope::Topic(topic) => vec![topic],
        WhatIfScope::Host => Vec::new(),
    };
    (error.is_none() && !limits.is_empty()).then_some(Shorten {
        names,
        limits,
        copies,
    })
}

/// Returns the acts on the log that is selected among those of the log dirs, and on all of them.
fn of_logs(state: &State) -> Vec<ActItem> {
    let world = state.shown();
    let selected = state.selected_log();
    let mut items = vec![
        item(state, 's', Act::Scan),
        item(state, 'v', Act::Verify(Target::All)),
        item(state, 'i', Act::Preflight),
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
    let set_aside = |row: &LogRow| item(state, 'b', Act::Decide(row.id, OnLoss::SetAside));
    if let Some(row) = selected
        && let Some(ask) = row.open_ask()
    {
        // Nothing is lost where another replica is in sync.
        let is_first = ask.no_set_aside.is_none();
        items.extend(is_first.then(|| set_aside(row)));
        if ask.can_cut_here() {
            items.push(item(state, 'c', Act::Decide(row.id, OnLoss::CutHere)));
        }
        if ask.can_leave() {
            items.push(item(state, 'e', Act::Decide(row.id, OnLoss::Leave)));
        }
        items.push(item(state, 'f', Act::Decide(row.id, OnLoss::LikeKafka)));
        items.extend((!is_first).then(|| set_aside(row)));
        items.push(item(state, 'l', Act::Leave(row.id)));
    }
    if let Some(row) = selected
        && matches!(row.verdict, Some(Verdict::Refused { .. }))
    {
        items.push(set_aside(row));
    }
    if let Some(row) = selected {
        items.push(item(state, 'n', Act::AskTruncate(row.id)));
    }
    items
}

/// Returns the acts that free space.
fn volumes_menu(state: &State) -> Vec<ActItem> {
    let mut items = vec![
        item(state, 'f', Act::AskFree),
        item(state, 'l', Act::CleanUp(CleanupAsk::Leftovers)),
        item(
            state,
            'r',
            Act::CleanUp(CleanupAsk::PastRetention(Vec::new())),
        ),
        item(state, 'y', Act::CleanUp(CleanupAsk::Strays)),
    ];
    items.extend(common(state));
    items
}

/// Returns the acts that every pane has.
fn common(state: &State) -> [ActItem; 4] {
    let armed = state.session.is_armed();
    [
        item(state, 'u', Act::ListKept),
        item(state, 'p', Act::ShowPlan),
        item(state, 't', Act::Stop),
        item(state, 'w', if armed { Act::Disarm } else { Act::Arm }),
    ]
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
        Act::Verify(Target::Log(id)) => format!("verify {}: read all of it", name(id)),
        Act::Verify(_) => "verify: read every segment in full, change nothing".to_owned(),
        Act::Preflight => "preflight: what stands in the way of a boot".to_owned(),
        Act::Mend => "mend what a boot stumbles over: shows the plan".to_owned(),
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
        Act::Decide(id, OnLoss::SetAside) => {
            format!("set {} aside whole: fetched again", name(id))
        }
        Act::Decide(id, _) => format!("take Kafka's way with {}: shows the plan", name(id)),
        Act::Leave(id) => format!("leave {} undecided", name(id)),
        Act::AskTruncate(id) | Act::Truncate(id, _) => {
            format!("end {} at an offset or epoch: truncate", name(id))
        }
        Act::AskFree => "free space: what can go, the safest first".to_owned(),
        Act::CleanUp(CleanupAsk::Shorten(of)) => format!(
            "apply offline: delete what {} takes of {}",
            of.limits,
            if of.names.is_empty() {
                "all topics".to_owned()
            } else {
                of.names.join(", ")
            }
        ),
        Act::CleanUp(ask) => {
            let what = match ask {
                CleanupAsk::Leftovers => "leftovers",
                CleanupAsk::Strays => "proved strays",
                CleanupAsk::PastRetention(_) => "what is past retention",
                CleanupAsk::Free(_) | CleanupAsk::Marked(_) | CleanupAsk::Shorten(_) => {
                    "what is marked"
                }
            };
            let on = selected_volume(state);
            let on = on.map(|dir| format!(" on {}", super::volume_words::label(world, &dir)));
            format!("delete {what}{}: shows the plan", on.unwrap_or_default())
        }
        Act::ListKept | Act::Undo(_) => "undo: take back what a plan did".to_owned(),
        Act::Live(wish) => wish.words(),
        Act::AskLive(line) => line.clone(),
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
        Act::Decide(..)
        | Act::AskTruncate(_)
        | Act::Truncate(..)
        | Act::CleanUp(CleanupAsk::Strays | CleanupAsk::Shorten(_)) => "class C",
        Act::CleanUp(CleanupAsk::Leftovers) => "class A",
        Act::CleanUp(CleanupAsk::PastRetention(_)) => "class B",
        Act::AskFree | Act::CleanUp(_) => "class by plan",
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
        Act::Scan
        | Act::Verify(_)
        | Act::Preflight
        | Act::Mend
        | Act::Recover(_)
        | Act::Decide(..)
        | Act::AskTruncate(_)
        | Act::Truncate(..)
        | Act::ListKept
        | Act::AskFree
        | Act::CleanUp(_)
        | Act::Undo(_)
            if world.broker.is_none() || running.is_some() =>
        {
            let why = match running {
                _ if world.broker.is_none() => "no broker is open",
                Some(work) if work.is_apply() => "a job runs",
                _ => "a scan runs; it ends in a plan",
            };
            Some(why.to_owned())
        }
        Act::Mend
        | Act::Recover(_)
        | Act::Decide(..)
        | Act::AskTruncate(_)
        | Act::Truncate(..)
        | Act::Undo(_) => {
            let refused = world.presence().and_then(Presence::refuses);
            refused.or_else(|| match act {
                Act::Recover(Target::Log(id)) => world.logs.row(*id).and_then(cannot_recover),
                Act::Decide(id, OnLoss::SetAside) => {
                    let ask = world.logs.row(*id).and_then(LogRow::open_ask);
                    ask.and_then(|ask| ask.no_set_aside.clone())
                }
                _ => None,
            })
        }
        Act::Live(_) | Act::AskLive(_) => live_act::refusal(state, act),
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

/// Returns the log dir that the volumes pane has selected, if it is in front.
pub fn selected_volume(state: &State) -> Option<PathBuf> {
    let facts = state.world.volumes.as_ref();
    let facts = facts.filter(|_| state.view.pane == PaneId::Volumes)?;
    let row = state.view.volumes.dir(&facts.report)?;
    Some(row.facts.dir.clone())
}

/// Returns why nothing can be freed now; a plan of it is made beside a living broker too.
pub fn cleanup_refusal(state: &State) -> Option<String> {
    refusal(state, &Act::AskFree)
}

fn cannot_recover(row: &LogRow) -> Option<String> {
    match row.verdict.as_ref()? {
        Verdict::Refused { cause } => Some(format!("Kafka would not load it: {cause}")),
        Verdict::Unreadable { cause } => Some(cause.clone()),
        Verdict::Skipped { why } => Some(why.clone()),
        Verdict::Ask(_) => Some("decide first: Kafka's way costs good records".to_owned()),
        Verdict::Nothing
        | Verdict::Recover
        | Verdict::Mend
        | Verdict::TakeBack
        | Verdict::Truncate(_)
        | Verdict::Delete(_)
        | Verdict::Move(_) => None,
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
