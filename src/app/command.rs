//! The command line behind `:`: every jump and every act by name.

use std::path::PathBuf;

use crate::plan::{HandOver, OnLoss, TruncationTarget};
use crate::terms::{LeaderEpoch, Offset};

use super::act::{self, Act, Target};
use super::action::{Action, PaneId};
use super::effect::{CleanupAsk, Copies};
use super::free_words::parse_target;
use super::live_act;
use super::state::{
    Direction, LogColumn, MirrorColumn, MirrorSort, ReplicaColumn, State, VolumeColumn,
};

/// One command: name, arguments, what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandHelp {
    /// Its name.
    pub name: &'static str,
    /// What may follow it.
    pub arguments: &'static str,
    /// What it does.
    pub does: &'static str,
}

const fn help(name: &'static str, arguments: &'static str, does: &'static str) -> CommandHelp {
    CommandHelp {
        name,
        arguments,
        does,
    }
}

/// The commands, in the order in which they are listed.
pub const COMMANDS: [CommandHelp; 47] = [
    help("overview", "", "show the host at a glance"),
    help("recovery", "", "show log dirs, logs and findings"),
    help(
        "segments",
        "",
        "show segments and what retention does with them",
    ),
    help("what-if", "", "try other limits on the segments"),
    help("settings", "", "every setting of the topic, and who set it"),
    help(
        "shorten",
        "[no-copies]",
        "delete what the limits that are tried take, broker down",
    ),
    help("volumes", "", "show the volumes and what fills them"),
    help(
        "free",
        "[SIZE [DIR]]",
        "show what can go to free space, the safest first",
    ),
    help(
        "cleanup",
        "leftovers|strays|past-retention [TOPIC..]",
        "show the plan that deletes them",
    ),
    help("replicas", "", "show who is behind in the living cluster"),
    help("mirror", "", "the flows of MirrorMaker 2"),
    help("log", "", "show krescue's own events"),
    help("scan", "", "read the batches, change nothing"),
    help(
        "verify",
        "[DIR|PARTITION|marked]",
        "read every segment in full, change nothing",
    ),
    help("preflight", "", "look what stands in the way of a boot"),
    help(
        "recover",
        "[DIR|PARTITION|marked]",
        "show the plan of a recovery",
    ),
    help(
        "mend",
        "",
        "show the plan that mends what a boot stumbles over",
    ),
    help("plan", "", "show the newest plan"),
    help(
        "hand-over",
        "none|verify|clean",
        "plan with another hand-over",
    ),
    help(
        "kafkas-way",
        "[PARTITION]",
        "show the plan that loses good records as Kafka does",
    ),
    help(
        "set-aside",
        "[PARTITION]",
        "show the plan that sets a replica aside, to be fetched again",
    ),
    help(
        "cut-here",
        "[PARTITION]",
        "show the plan that cuts a log only where it is bad",
    ),
    help(
        "keep",
        "[PARTITION]",
        "show the plan that keeps all of a log, unread by a boot",
    ),
    help("leave", "[PARTITION]", "leave an ASK undecided"),
    help(
        "truncate",
        "PARTITION to-offset N|to-epoch N|to-high-watermark|to-last-stable",
        "show the plan that ends a log there",
    ),
    help(
        "undo",
        "[PLAN]",
        "take back what a plan did; alone: list the plans",
    ),
    help(
        "retention",
        "[TOPIC] set KEY=VALUE..|reset KEY..|restore",
        "show the plan that changes a topic, live",
    ),
    help(
        "delete-records",
        "[TP] to-offset N|to-time TIME|free SIZE",
        "show the plan that deletes records, live",
    ),
    help(
        "move",
        "[TP] to DIR|cancel",
        "show the plan that moves a replica, live",
    ),
    help(
        "quota",
        "RATE|none|restore [CLIENT]",
        "show the plan that caps writers, live",
    ),
    help(
        "cordon",
        "DIR [lift]",
        "show the plan that cordons a log dir, live",
    ),
    help("freed", "", "what the newest live change has freed so far"),
    help("stop", "", "stop the job after its step, or the scan"),
    help("arm", "", "let a confirmed plan change files"),
    help("disarm", "", "look only again"),
    help(
        "read-only",
        "",
        "forbid acting for the rest of this session",
    ),
    help("sort", "COLUMN [asc|desc]", "sort the table"),
    help(
        "failover",
        "",
        "where each group goes on if a mirror's source is gone",
    ),
    help("filter", "[REGEX]", "show only matching rows; ! inverts"),
    help("refresh", "", "list the log dirs anew"),
    help("freeze", "", "freeze the screen, or let it go on"),
    help("save", "", "save the screen as text"),
    help(
        "record",
        "[FILE]",
        "record what is seen, or end the recording",
    ),
    help("lines", "", "the same as command lines"),
    help("acts", "", "the acts of the selected log"),
    help("help", "", "the keys of this pane"),
    help("q", "", "quit"),
];

/// Returns what a command asks for, or what is wrong with it.
pub fn parse(line: &str, state: &State) -> Result<Action, String> {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    if name == "filter" {
        return Ok(Action::SetFilter(rest.to_owned()));
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    let action = match (name, words.as_slice()) {
        ("", []) => Action::Nothing,
        ("overview", []) => Action::ShowPane(PaneId::Overview),
        ("recovery", []) => Action::ShowPane(PaneId::Recovery),
        ("segments", []) => Action::ShowPane(PaneId::Segments),
        ("what-if", []) => Action::OpenWhatIf,
        ("settings", []) => Action::OpenSettings,
        ("freed", []) => Action::ShowFreed,
        ("volumes", []) => Action::ShowPane(PaneId::Volumes),
        ("free", []) => free(None, None),
        ("free", [size]) => free(Some(parse_target(size)?), None),
        ("free", [size, dir]) => free(Some(parse_target(size)?), Some(log_dir(dir, state)?)),
        ("cleanup", ["leftovers"]) => Action::Do(Act::CleanUp(CleanupAsk::Leftovers)),
        ("cleanup", ["strays"]) => Action::Do(Act::CleanUp(CleanupAsk::Strays)),
        ("cleanup", ["past-retention", topics @ ..]) => {
            let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
            Action::Do(Act::CleanUp(CleanupAsk::PastRetention(topics)))
        }
        ("shorten", []) => shorten(state, Copies::Kept)?,
        ("shorten", ["no-copies"]) => shorten(state, Copies::None)?,
        ("replicas", []) => Action::ShowPane(PaneId::Replicas),
        ("mirror", []) => Action::ShowPane(PaneId::Mirror),
        ("failover", []) => Action::Failover,
        ("log", []) => Action::ShowPane(PaneId::Log),
        ("scan", []) => Action::Do(Act::Scan),
        ("verify", []) => Action::Do(Act::Verify(Target::All)),
        ("verify", ["marked"]) => Action::Do(Act::Verify(Target::Marked)),
        ("verify", [of]) => Action::Do(Act::Verify(target(of, state)?)),
        ("preflight", []) => Action::Do(Act::Preflight),
        ("recover", []) => Action::Do(Act::Recover(Target::All)),
        ("recover", ["marked"]) => Action::Do(Act::Recover(Target::Marked)),
        ("recover", [of]) => Action::Do(Act::Recover(target(of, state)?)),
        ("mend", []) => Action::Do(Act::Mend),
        ("plan", []) => Action::Do(Act::ShowPlan),
        ("hand-over", [word]) => Action::SetHandOver(hand_over(word)?),
        ("kafkas-way", words) => decide(words, OnLoss::LikeKafka, state)?,
        ("set-aside", words) => decide(words, OnLoss::SetAside, state)?,
        ("cut-here", words) => decide(words, OnLoss::CutHere, state)?,
        ("keep", words) => decide(words, OnLoss::Leave, state)?,
        ("truncate", [name, to @ ..]) => {
            let id = log(&[*name], state)?;
            Action::Do(Act::Truncate(id, truncation_target(to)?))
        }
        ("undo", []) => Action::Do(Act::ListKept),
        ("undo", [hash]) => Action::Do(Act::Undo(plan_hash(hash)?)),
        ("leave", words) => Action::Do(Act::Leave(log(words, state)?)),
        ("stop", []) => Action::Do(Act::Stop),
        ("arm", []) => Action::Do(Act::Arm),
        ("disarm", []) => Action::Do(Act::Disarm),
        ("read-only", []) => Action::Do(Act::ReadOnly),
        ("sort", [column]) => sort(state, column, None)?,
        ("sort", [column, "asc"]) => sort(state, column, Some(false))?,
        ("sort", [column, "desc"]) => sort(state, column, Some(true))?,
        ("refresh", []) => Action::Refresh,
        ("freeze", []) => Action::Freeze,
        ("save", []) => Action::SaveScreen,
        ("record", []) => Action::Record(None),
        ("record", _) => Action::Record(Some(rest.into())),
        ("lines", []) => Action::OpenLines,
        ("acts", []) => Action::OpenActs,
        ("help", []) => Action::OpenHelp,
        ("q" | "quit", []) => Action::Quit,
        (name, words) if let Some(wish) = live_act::parse(name, words, state).transpose()? => {
            Action::Do(Act::Live(wish))
        }
        (name, []) if find_log(name, state).is_some() => Action::JumpTo(name.to_owned()),
        (name, _) => match COMMANDS.iter().find(|command| command.name == name) {
            Some(command) => {
                return Err(format!("usage: :{} {}", command.name, command.arguments));
            }
            None => return Err(format!("no command or partition is named {name}")),
        },
    };
    Ok(action)
}

/// Returns what `line` could become, whole lines each.
pub fn complete(line: &str, state: &State) -> Vec<String> {
    const MOST: usize = 200;
    let logs = || state.world.logs.rows().map(|row| row.dir_name.as_str());
    let with = |command: &str, names: &mut dyn Iterator<Item = &str>, part: &str| {
        let fits = |name: &&str| name.starts_with(part);
        let whole = |name: &str| format!("{command} {name}");
        names.filter(fits).take(MOST).map(whole).collect::<Vec<_>>()
    };
    let Some((command, part)) = line.split_once(' ') else {
        let commands = COMMANDS.iter().map(|command| command.name);
        let fits = |name: &&str| name.starts_with(line);
        // Partitions only once something was typed: the commands are to be seen first.
        let jumps = logs().filter(|_| !line.is_empty());
        let names = commands.chain(jumps).filter(fits).take(MOST);
        return names.map(str::to_owned).collect();
    };
    let mut dirs = state.world.logs.dirs.iter().map(|dir| dir.label.as_str());
    match command {
        "recover" => with(command, &mut dirs.chain(["marked"]).chain(logs()), part),
        "kafkas-way" | "set-aside" | "cut-here" | "keep" | "leave" => {
            let asks = state.world.logs.rows();
            let asks = asks.filter(|row| row.open_ask().is_some());
            with(command, &mut asks.map(|row| row.dir_name.as_str()), part)
        }
        "truncate" => match part.split_once(' ') {
            None => with(command, &mut logs(), part),
            Some((name, to)) => {
                let command = format!("{command} {name}");
                with(&command, &mut TRUNCATION_TARGETS.into_iter(), to)
            }
        },
        "cleanup" => {
            let asks = ["leftovers", "strays", "past-retention"];
            with(command, &mut asks.into_iter(), part)
        }
        "free" => match part.split_once(' ') {
            None => Vec::new(),
            Some((size, dir)) => with(&format!("{command} {size}"), &mut dirs, dir),
        },
        "hand-over" => with(command, &mut ["none", "verify", "clean"].into_iter(), part),
        "sort" if state.view.pane == PaneId::Replicas => {
            let columns = ReplicaColumn::ALL.map(|column| column.title().to_ascii_lowercase());
            with(command, &mut columns.iter().map(String::as_str), part)
        }
        "sort" if state.view.pane == PaneId::Volumes => {
            let columns = state.view.volumes.columns().iter();
            let columns: Vec<String> = columns.map(|column| word_of(*column)).collect();
            with(command, &mut columns.iter().map(String::as_str), part)
        }
        "sort" if state.view.pane == PaneId::Mirror => {
            let columns = state.view.mirror.page.columns().iter();
            let columns: Vec<String> = columns.map(|column| column.word()).collect();
            with(command, &mut columns.iter().map(String::as_str), part)
        }
        "sort" => {
            let columns = LogColumn::ALL.map(|column| column.title().to_ascii_lowercase());
            with(command, &mut columns.iter().map(String::as_str), part)
        }
        _ => Vec::new(),
    }
}

/// Returns the act that applies the limits tried on the segments pane, offline.
fn shorten(state: &State, copies: Copies) -> Result<Action, String> {
    let tried = act::tried(state, copies);
    let tried = tried.ok_or("no limits are tried: w on the segments pane does")?;
    Ok(Action::Do(Act::CleanUp(CleanupAsk::Shorten(tried))))
}

fn free(target: Option<u64>, dir: Option<PathBuf>) -> Action {
    Action::FreeSpace { target, dir }
}

/// Returns the log dir of this label or path.
fn log_dir(name: &str, state: &State) -> Result<PathBuf, String> {
    match target(name, state) {
        Ok(Target::Dir(dir)) => state.world.logs.dirs.get(dir).map(|dir| dir.path.clone()),
        _ => None,
    }
    .ok_or_else(|| format!("no log dir is named {name}"))
}

/// Returns a column's heading as one word of a command.
fn word_of(column: VolumeColumn) -> String {
    column.title().to_ascii_lowercase().replace(' ', "-")
}

fn sort_volumes(state: &State, name: &str, descending: Option<bool>) -> Result<Action, String> {
    let columns = state.view.volumes.columns();
    let name = name.to_ascii_lowercase();
    let found = columns
        .iter()
        .find(|column| word_of(**column).starts_with(&name));
    let column = *found.ok_or_else(|| {
        let names: Vec<String> = columns.iter().map(|column| word_of(*column)).collect();
        format!("no column is named {name}: {}", names.join(", "))
    })?;
    let direction = match descending {
        Some(wanted) if wanted != column.descends() => Direction::Turned,
        _ => Direction::Natural,
    };
    Ok(Action::SortVolumes { column, direction })
}

fn sort(state: &State, column: &str, descending: Option<bool>) -> Result<Action, String> {
    if state.view.pane == PaneId::Volumes {
        return sort_volumes(state, column, descending);
    }
    if state.view.pane == PaneId::Replicas {
        let column = ReplicaColumn::parse(column).ok_or_else(|| {
            let names = ReplicaColumn::ALL.map(|column| column.title().to_ascii_lowercase());
            format!("no column is named {column}: {}", names.join(", "))
        })?;
        let direction = match descending {
            Some(wanted) if wanted != column.descends() => Direction::Turned,
            _ => Direction::Natural,
        };
        return Ok(Action::SortReplicas { column, direction });
    }
    if state.view.pane == PaneId::Mirror {
        let page = &state.view.mirror.page;
        let column = MirrorColumn::parse(page, column).ok_or_else(|| {
            let names: Vec<String> = page.columns().iter().map(|it| it.word()).collect();
            format!("no column is named {column}: {}", names.join(", "))
        })?;
        return Ok(Action::SortMirror(MirrorSort {
            column,
            direction: match descending {
                Some(wanted) if wanted != column.descends() => Direction::Turned,
                _ => Direction::Natural,
            },
        }));
    }
    let column = LogColumn::parse(column).ok_or_else(|| {
        let names = LogColumn::ALL.map(|column| column.title().to_ascii_lowercase());
        format!("no column is named {column}: {}", names.join(", "))
    })?;
    let direction = match descending {
        Some(wanted) if wanted != column.descends() => Direction::Turned,
        _ => Direction::Natural,
    };
    Ok(Action::SortBy { column, direction })
}

/// Where a log can be made to end.
const TRUNCATION_TARGETS: [&str; 4] = [
    "to-offset",
    "to-high-watermark",
    "to-last-stable",
    "to-epoch",
];

fn truncation_target(words: &[&str]) -> Result<TruncationTarget, String> {
    let number = |text: &str| format!("{text} is no number of at least 0");
    match words {
        ["to-high-watermark"] => Ok(TruncationTarget::HighWatermark),
        ["to-last-stable"] => Ok(TruncationTarget::LastStable),
        ["to-offset", offset] => match offset.replace(',', "").parse() {
            Ok(value) if value >= 0 => Ok(TruncationTarget::Offset(Offset(value))),
            _ => Err(number(offset)),
        },
        ["to-epoch", epoch] => match epoch.parse() {
            Ok(value) if value >= 0 => Ok(TruncationTarget::Epoch(LeaderEpoch(value))),
            _ => Err(number(epoch)),
        },
        _ => Err(format!(
            "say where it is to end: {} (the first and the last with a number)",
            TRUNCATION_TARGETS.join(", ")
        )),
    }
}

fn plan_hash(word: &str) -> Result<String, String> {
    let is_hash = word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash
        .then(|| word.to_ascii_lowercase())
        .ok_or_else(|| format!("{word} is not the hash of a plan: at least 8 hex digits"))
}

fn hand_over(word: &str) -> Result<HandOver, String> {
    match word {
        "none" => Ok(HandOver::None),
        "verify" => Ok(HandOver::Verify),
        "clean" => Ok(HandOver::Clean),
        _ => Err(format!("{word} is not none, verify or clean")),
    }
}

fn target(name: &str, state: &State) -> Result<Target, String> {
    let dirs = &state.world.logs.dirs;
    let is_named = |dir: &super::state::DirRow| {
        dir.label == name || dir.path.as_os_str().to_str() == Some(name)
    };
    if let Some(dir) = dirs.iter().position(is_named) {
        return Ok(Target::Dir(dir));
    }
    find_log(name, state)
        .map(Target::Log)
        .ok_or_else(|| format!("no log dir or partition is named {name}"))
}

fn decide(words: &[&str], on_loss: OnLoss, state: &State) -> Result<Action, String> {
    Ok(Action::Do(Act::Decide(log(words, state)?, on_loss)))
}

fn log(words: &[&str], state: &State) -> Result<super::state::LogId, String> {
    match words {
        [] => state
            .selected_log()
            .map(|row| row.id)
            .ok_or_else(|| "no partition is selected".to_owned()),
        [name] => find_log(name, state).ok_or_else(|| format!("no partition is named {name}")),
        _ => Err("one partition at a time".to_owned()),
    }
}

/// Returns the log whose dir has this name; the first, where the same lies in two log dirs.
pub fn find_log(name: &str, state: &State) -> Option<super::state::LogId> {
    let dirs = 0..state.world.logs.dirs.len();
    dirs.into_iter()
        .find_map(|dir| state.world.logs.id(dir, name))
}
