//! The columns of the mirror pane's pages, and the order that each gives.

use std::cmp::Ordering;

use super::mirror::{MirrorFlow, MirrorWorld};
use super::mirror_view::{MirrorPage, MirrorSort};
use super::table::{Direction, natural};
use crate::mirror::{FailoverPosition, Lint, PartitionLag};

/// A column of one of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum MirrorColumn {
    /// The flow.
    #[default]
    Flow,
    /// Whether it runs.
    State,
    /// Topics that are copied.
    Topics,
    /// Records of the source that are not copied.
    Behind,
    /// When the newest offset sync was written.
    LastSync,
    /// When the newest checkpoint was.
    Checkpoint,
    /// When the newest heartbeat came through.
    Heartbeat,
    /// The worst state of a task.
    Tasks,
    /// The partition of the source.
    Partition,
    /// The last offset of the source that is copied.
    CopiedTo,
    /// Where the source ends.
    SourceEnd,
    /// What retention may take before it takes what is not copied.
    Headroom,
    /// When the newest record was written that is copied.
    NewestCopied,
    /// The group.
    Group,
    /// The partition of the target.
    OnTarget,
    /// What the group committed on the source.
    Commit,
    /// Where it goes on.
    Position,
    /// How many records it reads again.
    Again,
    /// What is odd.
    Note,
}

impl MirrorColumn {
    /// The columns of flows.
    pub const FLOWS: [Self; 8] = [
        Self::Flow,
        Self::State,
        Self::Behind,
        Self::LastSync,
        Self::Checkpoint,
        Self::Heartbeat,
        Self::Tasks,
        Self::Topics,
    ];
    /// The columns of partitions.
    pub const PARTITIONS: [Self; 6] = [
        Self::Partition,
        Self::Behind,
        Self::CopiedTo,
        Self::SourceEnd,
        Self::Headroom,
        Self::NewestCopied,
    ];
    /// The columns of groups.
    pub const GROUPS: [Self; 6] = [
        Self::Group,
        Self::OnTarget,
        Self::Commit,
        Self::Position,
        Self::Again,
        Self::Note,
    ];

    /// Returns the column's heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Flow => "FLOW",
            Self::State => "STATE",
            Self::Topics => "TOPICS",
            Self::Behind => "BEHIND",
            Self::LastSync => "LAST SYNC",
            Self::Checkpoint => "CHECKPOINT",
            Self::Heartbeat => "HEARTBEAT",
            Self::Tasks => "TASKS",
            Self::Partition => "PARTITION",
            Self::CopiedTo => "COPIED TO",
            Self::SourceEnd => "SOURCE ENDS",
            Self::Headroom => "HEADROOM",
            Self::NewestCopied => "NEWEST COPIED",
            Self::Group => "GROUP",
            Self::OnTarget => "ON TARGET",
            Self::Commit => "COMMIT",
            Self::Position => "POSITION",
            Self::Again => "AGAIN",
            Self::Note => "NOTE",
        }
    }

    /// Says whether its natural order goes down: what needs a look comes first.
    pub fn descends(self) -> bool {
        matches!(self, Self::Topics | Self::Behind | Self::Again | Self::Note)
    }

    /// Returns the column of `page` that `name` begins, whatever its case.
    pub fn parse(page: &MirrorPage, name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let fits = |column: &&Self| column.word().starts_with(&name);
        let found = page.columns().iter().find(fits).copied();
        found.filter(|_| !name.is_empty())
    }

    /// Returns the column's name as it is typed.
    pub fn word(self) -> String {
        self.title().to_ascii_lowercase().replace(' ', "-")
    }
}

/// Returns what a filter is compared with.
pub(super) fn names(page: &MirrorPage, world: &MirrorWorld, index: usize) -> Vec<String> {
    match page {
        MirrorPage::Flows => match (world.flows.get(index), lint_at(world, index)) {
            (Some(flow), _) => vec![flow.name.to_string()],
            (None, Some(lint)) => {
                let flow = lint.flow.as_ref().map(ToString::to_string);
                let names = [Some(lint.code.to_owned()), flow, lint.place.clone()];
                names.into_iter().flatten().collect()
            }
            (None, None) => vec![],
        },
        MirrorPage::Partitions(name) => {
            let lag = world
                .flow(name)
                .and_then(|flow| flow.status.partitions.get(index));
            lag.map(|lag| format!("{}-{}", lag.topic, lag.partition))
                .into_iter()
                .collect()
        }
        MirrorPage::Groups(name, _) => {
            let it = world.flow(name).and_then(|flow| flow.positions.get(index));
            it.map_or_else(Vec::new, |it| {
                vec![
                    it.group.clone(),
                    format!("{}-{}", it.remote_topic, it.partition),
                ]
            })
        }
    }
}

fn lint_at(world: &MirrorWorld, index: usize) -> Option<&Lint> {
    world.lints.get(index.checked_sub(world.flows.len())?)
}

/// Compares two rows of a page.
pub(super) fn compare(
    (page, world): (&MirrorPage, &MirrorWorld),
    sort: MirrorSort,
    a: usize,
    b: usize,
) -> Ordering {
    let by = match page {
        // Findings stay behind the flows, the worst first.
        MirrorPage::Flows => match (world.flows.get(a), world.flows.get(b)) {
            (Some(a), Some(b)) => flows(sort.column, a, b),
            _ => return a.cmp(&b),
        },
        MirrorPage::Partitions(name) => {
            let all = world
                .flow(name)
                .map_or(&[][..], |flow| &flow.status.partitions);
            match (all.get(a), all.get(b)) {
                (Some(a), Some(b)) => partitions(sort.column, a, b),
                _ => Ordering::Equal,
            }
        }
        MirrorPage::Groups(name, _) => {
            let all = world.flow(name).map_or(&[][..], |flow| &flow.positions);
            match (all.get(a), all.get(b)) {
                (Some(a), Some(b)) => groups(sort.column, a, b),
                _ => Ordering::Equal,
            }
        }
    };
    let by = match sort.direction {
        Direction::Natural => by,
        Direction::Turned => by.reverse(),
    };
    by.then(a.cmp(&b))
}

fn flows(column: MirrorColumn, a: &MirrorFlow, b: &MirrorFlow) -> Ordering {
    let task = |flow: &MirrorFlow| flow.status.task_state().map(|task| task.state.clone());
    match column {
        MirrorColumn::State => a.state.cmp(&b.state),
        MirrorColumn::Topics => b.status.copied_topics().cmp(&a.status.copied_topics()),
        MirrorColumn::Behind => b.status.behind().cmp(&a.status.behind()),
        MirrorColumn::LastSync => a.status.last_sync.cmp(&b.status.last_sync),
        MirrorColumn::Checkpoint => a.status.last_checkpoint.cmp(&b.status.last_checkpoint),
        MirrorColumn::Heartbeat => a.status.heartbeat.cmp(&b.status.heartbeat),
        MirrorColumn::Tasks => task(a).cmp(&task(b)),
        _ => natural(&a.name.to_string(), &b.name.to_string()),
    }
}

fn partitions(column: MirrorColumn, a: &PartitionLag, b: &PartitionLag) -> Ordering {
    // Unknown is the worst lag.
    let worst = |behind: Option<u64>| behind.unwrap_or(u64::MAX);
    match column {
        MirrorColumn::Behind => worst(b.behind).cmp(&worst(a.behind)),
        MirrorColumn::CopiedTo => a.copied.cmp(&b.copied),
        MirrorColumn::SourceEnd => {
            let end = |lag: &PartitionLag| lag.source.map(|(_, end)| end);
            end(a).cmp(&end(b))
        }
        MirrorColumn::Headroom => a.headroom.cmp(&b.headroom),
        MirrorColumn::NewestCopied => a.newest_copied.cmp(&b.newest_copied),
        _ => natural(&a.topic, &b.topic).then(a.partition.cmp(&b.partition)),
    }
}

fn groups(column: MirrorColumn, a: &FailoverPosition, b: &FailoverPosition) -> Ordering {
    let worst = |again: Option<u64>| again.unwrap_or(u64::MAX);
    match column {
        MirrorColumn::OnTarget => {
            natural(&a.remote_topic, &b.remote_topic).then(a.partition.cmp(&b.partition))
        }
        MirrorColumn::Commit => a.upstream.cmp(&b.upstream),
        MirrorColumn::Position => a.position.cmp(&b.position),
        MirrorColumn::Again => worst(b.read_again).cmp(&worst(a.read_again)),
        MirrorColumn::Note => {
            (b.position.is_none(), b.notes.len()).cmp(&(a.position.is_none(), a.notes.len()))
        }
        _ => natural(&a.group, &b.group),
    }
}
