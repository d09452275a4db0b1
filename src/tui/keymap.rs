//! Which key means what, and the words of the help.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tui_input::InputRequest;

use crate::app::action::{Action, PaneId};
use crate::app::state::MapScale;

/// What a key does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Does {
    /// An action.
    Act(Action),
    /// Moves by so many pages of the pane's height.
    Page(isize),
}

/// A key and its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The keys that do it.
    pub keys: &'static [KeyCode],
    /// The keys as they are shown.
    pub shown: &'static str,
    /// What it does, in a few words.
    pub words: &'static str,
    /// What it does.
    pub does: Does,
}

const fn binding(
    keys: &'static [KeyCode],
    shown: &'static str,
    words: &'static str,
    does: Does,
) -> Binding {
    Binding {
        keys,
        shown,
        words,
        does,
    }
}

const fn act(action: Action) -> Does {
    Does::Act(action)
}

use KeyCode::{BackTab, Char, Down, End, Enter, Esc, Home, PageDown, PageUp, Tab, Up};

/// Of every table that can be sorted.
const NEXT_COLUMN: Binding = binding(
    &[Char('>')],
    ">",
    "sort by the next column",
    act(Action::SortBeside(1)),
);
const COLUMN_BEFORE: Binding = binding(
    &[Char('<')],
    "<",
    "sort by the column before",
    act(Action::SortBeside(-1)),
);
const TURN_ORDER: Binding = binding(&[Char('o')], "o", "turn the order", act(Action::TurnOrder));

/// Keys of every list.
pub static MOVES: [Binding; 6] = [
    binding(
        &[Char('j'), Down],
        "j ↓",
        "next row",
        act(Action::MoveBy(1)),
    ),
    binding(
        &[Char('k'), Up],
        "k ↑",
        "previous row",
        act(Action::MoveBy(-1)),
    ),
    binding(&[PageDown], "PgDn", "a page on", Does::Page(1)),
    binding(&[PageUp], "PgUp", "a page back", Does::Page(-1)),
    binding(
        &[Char('g'), Home],
        "g Home",
        "first row",
        act(Action::First),
    ),
    binding(&[Char('G'), End], "G End", "last row", act(Action::Last)),
];

/// Keys of the table of logs.
pub static TABLE: [Binding; 7] = [
    binding(
        &[Enter],
        "Enter",
        "open the log: its findings and segments",
        act(Action::Enter),
    ),
    binding(
        &[Char(' ')],
        "Space",
        "mark the log, or take the mark away",
        act(Action::ToggleMark),
    ),
    NEXT_COLUMN,
    COLUMN_BEFORE,
    TURN_ORDER,
    binding(
        &[Char('/')],
        "/",
        "filter: a regular expression, ! inverts it",
        act(Action::OpenFilter),
    ),
    binding(
        &[Esc],
        "Esc",
        "drop the filter, else back to the overview",
        act(Action::Back),
    ),
];

/// Keys of the segments pane.
pub static SEGMENTS: [Binding; 6] = [
    binding(
        &[Enter],
        "Enter",
        "open the topic or the log",
        act(Action::Enter),
    ),
    binding(
        &[Char('b')],
        "b",
        "the map by bytes",
        act(Action::SetScale(MapScale::Bytes)),
    ),
    binding(
        &[Char('e')],
        "e",
        "every setting of the topic, and who set it",
        act(Action::OpenSettings),
    ),
    binding(
        &[Char('t')],
        "t",
        "the map by time",
        act(Action::SetScale(MapScale::Time)),
    ),
    binding(
        &[Char('w')],
        "w",
        "what if: other limits, live; ↑ ↓ say for what",
        act(Action::OpenWhatIf),
    ),
    binding(
        &[Esc],
        "Esc",
        "to the topics of this host, else out",
        act(Action::Back),
    ),
];

/// Keys of the volumes pane.
pub static VOLUMES: [Binding; 8] = [
    binding(
        &[Enter],
        "Enter",
        "walk in: kinds, topics, partitions, segments",
        act(Action::Enter),
    ),
    binding(
        &[Char('f')],
        "f",
        "free space: what can go, the safest first",
        act(Action::FreeSpace {
            target: None,
            dir: None,
        }),
    ),
    binding(
        &[Char(' ')],
        "Space",
        "mark it, or take the mark away: what is marked goes first with f",
        act(Action::ToggleMark),
    ),
    NEXT_COLUMN,
    COLUMN_BEFORE,
    TURN_ORDER,
    binding(
        &[Char('/')],
        "/",
        "filter by name: a regular expression, ! inverts it",
        act(Action::OpenFilter),
    ),
    binding(
        &[Esc],
        "Esc",
        "drop the filter, else out by one step",
        act(Action::Back),
    ),
];

/// Keys of the table of replicas.
pub static REPLICAS: [Binding; 6] = [
    binding(
        &[Char('v')],
        "v",
        "show the cluster, this host as follower, as leader",
        act(Action::NextScope),
    ),
    NEXT_COLUMN,
    COLUMN_BEFORE,
    TURN_ORDER,
    binding(
        &[Char('/')],
        "/",
        "filter partitions: a regular expression, ! inverts it",
        act(Action::OpenFilter),
    ),
    binding(
        &[Char('r')],
        "r",
        "ask the brokers now",
        act(Action::Refresh),
    ),
];

/// Keys of an open log.
pub static DETAIL: [Binding; 1] = [binding(
    &[Esc],
    "Esc",
    "back to the table",
    act(Action::Back),
)];

/// Keys of the overview.
pub static OVERVIEW: [Binding; 1] = [binding(
    &[Enter],
    "Enter",
    "go to the recovery pane",
    act(Action::Enter),
)];

/// Keys of the mirror pane.
pub static MIRROR: [Binding; 7] = [
    binding(
        &[Enter],
        "Enter",
        "into the flow: its partitions, then the groups that read the topic",
        act(Action::Enter),
    ),
    binding(&[Esc], "Esc", "out again", act(Action::Back)),
    NEXT_COLUMN,
    COLUMN_BEFORE,
    TURN_ORDER,
    binding(
        &[Char('/')],
        "/",
        "filter rows by name: a regular expression, ! inverts it",
        act(Action::OpenFilter),
    ),
    binding(
        &[Char('r')],
        "r",
        "read the topics of MirrorMaker 2 anew",
        act(Action::Refresh),
    ),
];

/// Keys that mean the same on every pane.
pub static GLOBAL: [Binding; 19] = [
    binding(
        &[Char('x')],
        "x",
        "acts of the selected log, with class and refusal",
        act(Action::OpenActs),
    ),
    binding(
        &[Char(':')],
        ":",
        "command line; Tab completes",
        act(Action::OpenCommand),
    ),
    binding(&[Char('?')], "?", "these keys", act(Action::OpenHelp)),
    binding(
        &[Char('y')],
        "y",
        "the same as command lines",
        act(Action::OpenLines),
    ),
    binding(
        &[Char('r')],
        "r",
        "list the log dirs anew",
        act(Action::Refresh),
    ),
    binding(
        &[Char('p')],
        "p",
        "freeze the screen; jobs go on",
        act(Action::Freeze),
    ),
    binding(
        &[Char('s')],
        "s",
        "save the screen as text",
        act(Action::SaveScreen),
    ),
    binding(
        &[Char('1')],
        "1",
        "overview",
        act(Action::ShowPane(PaneId::Overview)),
    ),
    binding(
        &[Char('2')],
        "2",
        "recovery",
        act(Action::ShowPane(PaneId::Recovery)),
    ),
    binding(
        &[Char('3')],
        "3",
        "segments and retention",
        act(Action::ShowPane(PaneId::Segments)),
    ),
    binding(
        &[Char('4')],
        "4",
        "volumes and free space",
        act(Action::ShowPane(PaneId::Volumes)),
    ),
    binding(
        &[Char('5')],
        "5",
        "replicas",
        act(Action::ShowPane(PaneId::Replicas)),
    ),
    binding(
        &[Char('6')],
        "6",
        "mirror",
        act(Action::ShowPane(PaneId::Mirror)),
    ),
    binding(&[Char('7')], "7", "log", act(Action::ShowPane(PaneId::Log))),
    binding(&[Tab], "Tab", "next pane", act(Action::BesidePane(1))),
    binding(
        &[BackTab],
        "Shift-Tab",
        "pane before",
        act(Action::BesidePane(-1)),
    ),
    binding(
        &[Char('/')],
        "/",
        "filter the logs",
        act(Action::OpenFilter),
    ),
    binding(&[Esc], "Esc", "out; never ends krescue", act(Action::Back)),
    binding(
        &[Char('q')],
        "q ^C",
        "quit; asks while something runs",
        act(Action::Quit),
    ),
];

/// Finds what a key does among `bindings`; `page` is how many rows a page has.
pub fn find(bindings: &[Binding], key: KeyEvent, page: u16) -> Option<Action> {
    let held = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER;
    if key.modifiers.intersects(held) {
        return None;
    }
    let binding = bindings
        .iter()
        .find(|binding| binding.keys.contains(&key.code))?;
    Some(match &binding.does {
        Does::Act(action) => action.clone(),
        Does::Page(pages) => Action::MoveBy(pages * isize::try_from(page.max(1)).unwrap_or(1)),
    })
}

/// Says whether a key is the one that ends programs.
pub fn is_interrupt(key: KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, Char('c' | 'C'))
}

/// Returns what a key does to a line of text.
pub fn edit(key: KeyEvent) -> Option<Action> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let request = match key.code {
        Char('a') if control => InputRequest::GoToStart,
        Char('e') if control => InputRequest::GoToEnd,
        Char('u') if control => InputRequest::DeleteLine,
        Char('w') if control => InputRequest::DeletePrevWord,
        Char('k') if control => InputRequest::DeleteTillEnd,
        Char('h') if control => InputRequest::DeletePrevChar,
        Char(_) if control || alt => return None,
        Char(c) => InputRequest::InsertChar(c),
        KeyCode::Backspace => InputRequest::DeletePrevChar,
        KeyCode::Delete => InputRequest::DeleteNextChar,
        KeyCode::Left => InputRequest::GoToPrevChar,
        KeyCode::Right => InputRequest::GoToNextChar,
        Home => InputRequest::GoToStart,
        End => InputRequest::GoToEnd,
        Enter => return Some(Action::Enter),
        Esc => return Some(Action::Back),
        Tab => return Some(Action::Complete(1)),
        BackTab => return Some(Action::Complete(-1)),
        _ => return None,
    };
    Some(Action::Edit(request))
}
