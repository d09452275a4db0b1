//! What a person wants, whichever key or command said it.

use std::path::PathBuf;

use tui_input::InputRequest;

use super::act::Act;
use super::state::{Direction, LogColumn, MapScale, MirrorSort, ReplicaColumn, VolumeColumn};
use crate::plan::HandOver;

/// A pane; its number is its key for good, so that fingers may learn it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PaneId {
    /// The host at a glance.
    #[default]
    Overview,
    /// Log dirs, logs and findings.
    Recovery,
    /// Segments and what retention does with them.
    Segments,
    /// The volumes of the log dirs and what fills them.
    Volumes,
    /// Who is behind in the living cluster.
    Replicas,
    /// MirrorMaker 2.
    Mirror,
    /// krescue's own events.
    Log,
}

impl PaneId {
    /// The panes that exist, in their order.
    pub const ALL: [Self; 7] = [
        Self::Overview,
        Self::Recovery,
        Self::Segments,
        Self::Volumes,
        Self::Replicas,
        Self::Mirror,
        Self::Log,
    ];

    /// Returns the digit that shows the pane.
    pub fn digit(self) -> char {
        match self {
            Self::Overview => '1',
            Self::Recovery => '2',
            Self::Segments => '3',
            Self::Volumes => '4',
            Self::Replicas => '5',
            Self::Mirror => '6',
            Self::Log => '7',
        }
    }

    /// Returns the pane's name, which is its command too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Recovery => "recovery",
            Self::Segments => "segments",
            Self::Volumes => "volumes",
            Self::Replicas => "replicas",
            Self::Mirror => "mirror",
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
    /// Sorts the replicas by a column.
    SortReplicas {
        /// Which.
        column: ReplicaColumn,
        /// Which way.
        direction: Direction,
    },
    /// Sorts the volumes, or what fills one, by a column.
    SortVolumes {
        /// Which.
        column: VolumeColumn,
        /// Which way.
        direction: Direction,
    },
    /// Asks what can go to free space: so many bytes, and on which log dir; what is not said is asked for.
    FreeSpace {
        /// Bytes that are to become free.
        target: Option<u64>,
        /// The log dir whose volume is meant; the selected one where none is named.
        dir: Option<PathBuf>,
    },
    /// Sorts the page of the mirror pane.
    SortMirror(MirrorSort),
    /// Shows other replicas: the cluster's, this host's as a follower, as a leader.
    NextScope,
    /// Turns the order.
    TurnOrder,
    /// Sets the filter.
    SetFilter(String),
    /// Draws the map of a log by another scale.
    SetScale(MapScale),
    /// Opens the limits that are tried.
    OpenWhatIf,
    /// Opens every setting of the topic, with who set it.
    OpenSettings,
    /// Shows what the newest live change has freed so far.
    ShowFreed,
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
    /// Shows where the groups of a flow go on if its source is gone.
    Failover,
    /// Freezes the screen, or lets it go on.
    Freeze,
    /// Saves the screen as text.
    SaveScreen,
    /// Begins a recording of what is seen, in this file or a new one of the state dir, or ends the one that runs.
    Record(Option<PathBuf>),
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
