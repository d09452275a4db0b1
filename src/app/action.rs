//! What a person wants, whichever key or command said it.

use tui_input::InputRequest;

use super::act::Act;
use super::state::{Direction, LogColumn};
use crate::plan::HandOver;

/// A pane; its number is its key for good, so that fingers may learn it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PaneId {
    /// The host at a glance.
    #[default]
    Overview,
    /// Log dirs, logs and findings.
    Recovery,
    /// krescue's own events.
    Log,
}

impl PaneId {
    /// The panes that exist, in their order.
    pub const ALL: [Self; 3] = [Self::Overview, Self::Recovery, Self::Log];

    /// Returns the digit that shows the pane.
    pub fn digit(self) -> char {
        match self {
            Self::Overview => '1',
            Self::Recovery => '2',
            Self::Log => '7',
        }
    }

    /// Returns the pane's name, which is its command too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Recovery => "recovery",
            Self::Log => "log",
        }
    }

    /// Returns the pane `step` places on, around the end.
    #[must_use]
    pub fn beside(self, step: isize) -> Self {
        let at = Self::ALL.iter().position(|&id| id == self).unwrap_or(0);
        let next = (at.cast_signed() + step).rem_euclid(Self::ALL.len().cast_signed());
        Self::ALL
            .get(next.cast_unsigned())
            .copied()
            .unwrap_or_default()
    }
}

/// What a key or a command asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nothing; the key still counts as a sign of life.
    Nothing,
    /// Shows a pane.
    ShowPane(PaneId),
    /// Shows the pane so many places on.
    BesidePane(isize),
    /// Moves the cursor by rows.
    MoveBy(isize),
    /// Moves the cursor to the first row.
    First,
    /// Moves the cursor to the last row.
    Last,
    /// Goes into the selected thing, or accepts what is open.
    Enter,
    /// Goes out; never ends the program.
    Back,
    /// Shows a log by its dir's name.
    JumpTo(String),
    /// Marks the selected log or takes its mark away.
    ToggleMark,
    /// Sorts by the column so many places to the right.
    SortBeside(isize),
    /// Sorts by a column.
    SortBy {
        /// Which.
        column: LogColumn,
        /// Which way.
        direction: Direction,
    },
    /// Turns the order.
    TurnOrder,
    /// Sets the filter.
    SetFilter(String),
    /// Opens the filter's line.
    OpenFilter,
    /// Opens the command line.
    OpenCommand,
    /// Opens the list of keys.
    OpenHelp,
    /// Opens the menu of acts.
    OpenActs,
    /// Opens the same as command lines.
    OpenLines,
    /// Lists the log dirs anew.
    Refresh,
    /// Freezes the screen, or lets it go on.
    Freeze,
    /// Saves the screen as text.
    SaveScreen,
    /// Asks to end the program.
    Quit,
    /// Changes the open line.
    Edit(InputRequest),
    /// Takes the next or the previous completion.
    Complete(isize),
    /// Takes the item of this letter in what is open.
    Choose(char),
    /// Does an act, or opens its plan.
    Do(Act),
    /// Chooses what the plan hands the dirs over as.
    SetHandOver(HandOver),
}
