//! The command line behind `:`: every jump and every act by name.

use crate::plan::{HandOver, OnLoss, TruncationTarget};
use crate::terms::{LeaderEpoch, Offset};

use super::act::{Act, Target};
use super::action::{Action, PaneId};
use super::state::{Direction, LogColumn, State};

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
pub const COMMANDS: [CommandHelp; 25] = [
    help("overview", "", "show the host at a glance"),
    help("recovery", "", "show log dirs, logs and findings"),
    help("log", "", "show krescue's own events"),
    help("scan", "", "read the batches, change nothing"),
    help(
        "recover",
        "[DIR|PARTITION|marked]",
        "show the plan of a recovery",
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
    help("stop", "", "stop the job after its step, or the scan"),
    help("arm", "", "let a confirmed plan change files"),
    help("disarm", "", "look only again"),
    help(
        "read-only",
        "",
        "forbid acting for the rest of this session",
    ),
    help("sort", "COLUMN [asc|desc]", "sort the table"),
    help("filter", "[REGEX]", "show only matching rows; ! inverts"),
    help("refresh", "", "list the log dirs anew"),
    help("freeze", "", "freeze the screen, or let it go on"),
    help("save", "", "save the screen as text"),
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
        ("log", []) => Action::ShowPane(PaneId::Log),
        ("scan", []) => Action::Do(Act::Scan),
        ("recover", []) => Action::Do(Act::Recover(Target::All)),
        ("recover", ["marked"]) => Action::Do(Act::Recover(Target::Marked)),
        ("recover", [of]) => Action::Do(Act::Recover(target(of, state)?)),
        ("plan", []) => Action::Do(Act::ShowPlan),
        ("hand-over", [word]) => Action::SetHandOver(hand_over(word)?),
        ("kafkas-way", words) => decide(words, OnLoss::LikeKafka, state)?,
        ("cut-here", words) => decide(words, OnLoss::CutHere, state)?,
        ("keep", words) => decide(words, OnLoss::Leave, state)?,
        ("truncate", [name, to @ ..]) => {
            let id = log(&[*name], state)?;
            Action::Do(Act::Truncate(id, truncation_target(to)?))
        }
        ("leave", words) => Action::Do(Act::Leave(log(words, state)?)),
        ("stop", []) => Action::Do(Act::Stop),
        ("arm", []) => Action::Do(Act::Arm),
        ("disarm", []) => Action::Do(Act::Disarm),
        ("read-only", []) => Action::Do(Act::ReadOnly),
        ("sort", [column]) => sort(column, None)?,
        ("sort", [column, "asc"]) => sort(column, Some(false))?,
        ("sort", [column, "desc"]) => sort(column, Some(true))?,
        ("refresh", []) => Action::Refresh,
        ("freeze", []) => Action::Freeze,
        ("save", []) => Action::SaveScreen,
        ("lines", []) => Action::OpenLines,
        ("acts", []) => Action::OpenActs,
        ("help", []) => Action::OpenHelp,
        ("q" | "quit", []) => Action::Quit,
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
    let dirs = state.world.logs.dirs.iter().map(|dir| dir.label.as_str());
    match command {
        "recover" => with(command, &mut dirs.chain(["marked"]).chain(logs()), part),
        "kafkas-way" | "cut-here" | "keep" | "leave" => {
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
        "hand-over" => with(command, &mut ["none", "verify", "clean"].into_iter(), part),
        "sort" => {
            let columns = LogColumn::ALL.map(|column| column.title().to_ascii_lowercase());
            with(command, &mut columns.iter().map(String::as_str), part)
        }
        _ => Vec::new(),
    }
}

fn sort(column: &str, descending: Option<bool>) -> Result<Action, String> {
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
