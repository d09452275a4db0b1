//! The cells of the mirror pane's rows, and what is told of the selected one.

use ratatui::style::Style;

use crate::app::state::{MirrorColumn, MirrorFlow, MirrorPage, MirrorRow, MirrorView, MirrorWorld};
use crate::app::text::{self, UNKNOWN};
use crate::mirror::{FailoverPosition, FlowState, Lint, LintSeverity, PartitionLag};
use crate::terms::{Offset, Timestamp};
use crate::tui::canvas::{width, wrap};
use crate::tui::theme::Theme;
use crate::tui::widgets::{Align, Cell};

/// Lines that the selected row is told in.
const DETAIL: usize = 4;

/// What cells are made of.
pub(super) struct Rows<'a> {
    pub(super) theme: &'a Theme,
    pub(super) world: &'a MirrorWorld,
    pub(super) now: Timestamp,
}

/// Returns on which side of its column a text stands.
pub(super) fn align(column: MirrorColumn) -> Align {
    use MirrorColumn::{Flow, Group, Note, OnTarget, Partition, State, Tasks};
    match column {
        Flow | Partition | Group | OnTarget => Align::Name,
        State | Tasks | Note => Align::Left,
        _ => Align::Right,
    }
}

/// Returns the least width of a column.
pub(super) fn least_width(column: MirrorColumn) -> u16 {
    use MirrorColumn as C;
    match column {
        C::Flow | C::Group => 18,
        C::State | C::Topics | C::Again => 7,
        C::Behind => 8,
        C::Headroom | C::Commit | C::Position => 9,
        C::LastSync | C::Checkpoint | C::Heartbeat | C::Tasks | C::CopiedTo => 10,
        C::SourceEnd => 12,
        C::Partition | C::OnTarget => 20,
        C::NewestCopied | C::Note => 14,
    }
}

impl Rows<'_> {
    /// Returns the width of the longest name in a column; 0 for a column of other things.
    pub(super) fn longest(&self, page: &MirrorPage, column: MirrorColumn) -> u16 {
        // A partition's number and its dash.
        const NUMBER: u16 = 4;
        let longest = |widths: &mut dyn Iterator<Item = u16>| widths.max().unwrap_or(0);
        let flow = match page {
            MirrorPage::Flows => None,
            MirrorPage::Partitions(name) | MirrorPage::Groups(name, _) => self.world.flow(name),
        };
        let lags = flow.into_iter().flat_map(|flow| &flow.status.partitions);
        let mut positions = flow.into_iter().flat_map(|flow| &flow.positions);
        match column {
            MirrorColumn::Flow => {
                let flows = self.world.flows.iter();
                longest(&mut flows.map(|flow| width(&flow.name.to_string())))
            }
            MirrorColumn::Partition => longest(&mut lags.map(|it| width(&it.topic) + NUMBER)),
            MirrorColumn::Group => longest(&mut positions.by_ref().map(|it| width(&it.group))),
            MirrorColumn::OnTarget => {
                longest(&mut positions.map(|it| width(&it.remote_topic) + NUMBER))
            }
            _ => 0,
        }
    }

    /// Returns the cells of the row of this index.
    pub(super) fn cells(&self, page: &MirrorPage, index: usize) -> Vec<Cell> {
        let cells = match page {
            MirrorPage::Flows => {
                let lint = index.checked_sub(self.world.flows.len());
                let lint = lint.and_then(|index| self.world.lints.get(index));
                let flow = self.world.flows.get(index).map(|flow| self.flow(flow));
                flow.or_else(|| lint.map(|lint| self.lint(lint)))
            }
            MirrorPage::Partitions(name) => {
                let flow = self.world.flow(name);
                let lag = flow.and_then(|flow| flow.status.partitions.get(index));
                lag.map(|lag| self.partition(lag))
            }
            MirrorPage::Groups(name, _) => {
                let flow = self.world.flow(name);
                let it = flow.and_then(|flow| flow.positions.get(index));
                it.map(|it| self.position(it))
            }
        };
        cells.unwrap_or_default()
    }

    fn cell(&self, text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            style: self.theme.text,
        }
    }

    fn age(&self, at: Option<Timestamp>) -> Cell {
        let at = at.filter(|at| at.0 >= 0);
        let text = at.map_or_else(|| UNKNOWN.to_owned(), |at| text::age(at, self.now));
        self.cell(text.trim_end_matches(" ago"))
    }

    fn number(&self, number: Option<u64>) -> Cell {
        self.cell(number.map_or_else(|| UNKNOWN.to_owned(), text::count))
    }

    fn offset(&self, offset: Option<Offset>) -> Cell {
        self.cell(offset.map_or_else(|| UNKNOWN.to_owned(), text::offset))
    }

    fn flow(&self, flow: &MirrorFlow) -> Vec<Cell> {
        let status = &flow.status;
        let (behind, unknown) = status.behind();
        let told = status.partitions.len() > unknown;
        let state = match flow.state {
            FlowState::HeartbeatOnly => "BEATS",
            FlowState::Active => "ACTIVE",
            FlowState::Off => "OFF",
            FlowState::Invalid => "INVALID",
        };
        let mut lag = self.number(told.then_some(behind));
        if unknown > 0 && told {
            lag.text.push_str(" +?");
        }
        if behind > 0 {
            lag.style = self.theme.warn;
        }
        let task = status.task_state();
        let mut tasks = self.cell(task.map_or(UNKNOWN, |task| task.state.as_str()));
        if tasks.text == "FAILED" {
            tasks.style = self.theme.danger;
        }
        vec![
            self.cell(flow.name.to_string()),
            self.cell(state),
            lag,
            self.age(status.last_sync),
            self.age(status.last_checkpoint),
            self.age(status.heartbeat),
            tasks,
            self.number(Some(status.copied_topics() as u64)),
        ]
    }

    fn lint(&self, lint: &Lint) -> Vec<Cell> {
        vec![
            Cell {
                text: lint.code.to_owned(),
                style: self.severity(lint),
            },
            self.cell(place(lint)),
            self.cell(lint.text.clone()),
        ]
    }

    fn severity(&self, lint: &Lint) -> Style {
        match lint.severity() {
            LintSeverity::Error => self.theme.danger,
            LintSeverity::Warning => self.theme.warn,
            LintSeverity::Info => self.theme.dim,
        }
    }

    fn partition(&self, lag: &PartitionLag) -> Vec<Cell> {
        let mut behind = self.number(lag.behind);
        if lag.behind != Some(0) {
            behind.style = self.theme.warn;
        }
        let mut headroom = match lag.retention.first() {
            Some((at, _)) => self.cell(text::until(at, self.now)),
            None => self.offset(lag.headroom.map(Offset)),
        };
        if lag.headroom.is_some_and(|it| it < 0) {
            headroom.style = self.theme.danger;
        }
        vec![
            self.cell(format!("{}-{}", lag.topic, lag.partition)),
            behind,
            self.offset(lag.copied),
            self.offset(lag.source.map(|(_, end)| end)),
            headroom,
            self.age(lag.newest_copied),
        ]
    }

    fn position(&self, it: &FailoverPosition) -> Vec<Cell> {
        let notes: Vec<String> = it.notes.iter().map(ToString::to_string).collect();
        let mut position = self.offset(it.position);
        if it.position.is_none() {
            "none".clone_into(&mut position.text);
            position.style = self.theme.warn;
        }
        vec![
            self.cell(it.group.clone()),
            self.cell(format!("{}-{}", it.remote_topic, it.partition)),
            self.offset(it.upstream),
            position,
            self.number(it.read_again),
            Cell {
                text: notes.join("; "),
                style: self.theme.warn,
            },
        ]
    }
}

/// Returns where a finding is: its place, and its flow where it has none.
pub(super) fn place(lint: &Lint) -> String {
    match (&lint.place, &lint.flow) {
        (Some(place), _) => place.clone(),
        (None, Some(flow)) => flow.to_string(),
        (None, None) => String::new(),
    }
}

/// Returns what is told of the selected row.
pub(super) fn detail(rows: &Rows<'_>, view: &MirrorView, room: u16) -> Vec<(String, Style)> {
    let (theme, world) = (rows.theme, rows.world);
    let room = room.saturating_sub(2);
    let mut told: Vec<(String, Style)> = vec![(String::new(), theme.text)];
    let mut add = |text: &str, style| {
        told.extend(wrap(text, room).into_iter().map(|line| (line, style)));
    };
    match view.selected() {
        Some(MirrorRow::Lint(code, flow, place)) => {
            let mut lints = world.lints.iter();
            let is_it = |it: &&Lint| it.code == *code && it.flow == *flow && it.place == *place;
            if let Some(lint) = lints.find(is_it) {
                let flow = flow.as_ref();
                let flow = flow.map_or_else(String::new, |flow| format!("{flow}: "));
                add(&format!("{flow}{}", lint.text), rows.severity(lint));
                add(&format!("next: {}", lint.next), theme.key);
            }
        }
        Some(MirrorRow::Flow(name)) => {
            if let Some(flow) = world.flow(name) {
                let (version, source) = &flow.version;
                let words = flow.state_words();
                add(
                    &format!("{name} {words} · MirrorMaker 2 {version} ({source})"),
                    theme.text,
                );
            }
            add(&world.sources.join(" · "), theme.dim);
        }
        Some(MirrorRow::Partition(topic, partition)) => {
            if let MirrorPage::Partitions(name) = &view.page
                && let Some(flow) = world.flow(name)
            {
                add(
                    &flow.partition_words(topic, *partition, rows.now),
                    theme.text,
                );
            }
            add(&world.sources.join(" · "), theme.dim);
        }
        Some(MirrorRow::Group(group, topic, partition)) => {
            if let MirrorPage::Groups(name, _) = &view.page
                && let Some(flow) = world.flow(name)
            {
                add(&flow.position_words(group, topic, *partition), theme.text);
            }
            add(
                "y: the line that writes files for kafka-consumer-groups.sh --reset-offsets",
                theme.key,
            );
        }
        None => add(&world.sources.join(" · "), theme.dim),
    }
    told.truncate(DETAIL);
    told
}
