//! How the mirror pane is looked at: its page, the order of its rows, the row under the cursor.

use crate::app::text;
use crate::mirror::{FlowName, FlowState};

use super::mirror::{MirrorRead, MirrorWorld};
use super::mirror_order::{MirrorColumn, compare, names};
use super::table::{Direction, Filter};

/// What the mirror pane shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MirrorPage {
    /// The flows, then the rules' findings.
    #[default]
    Flows,
    /// A flow's partitions.
    Partitions(FlowName),
    /// Where the groups go on that read this topic of the source, or any topic of the flow.
    Groups(FlowName, Option<String>),
}

/// A row by what it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirrorRow {
    /// A flow.
    Flow(FlowName),
    /// A finding of a rule: the rule, the flow, the place.
    Lint(&'static str, Option<FlowName>, Option<String>),
    /// A partition of the source.
    Partition(String, i32),
    /// A group in a partition of the source.
    Group(String, String, i32),
}

/// What decides the order of a page's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MirrorSort {
    /// The column.
    pub column: MirrorColumn,
    /// Which way.
    pub direction: Direction,
}

/// How the mirror pane is looked at.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent of each other")]
pub struct MirrorView {
    /// The page.
    pub page: MirrorPage,
    /// What hides rows.
    pub filter: Filter,
    /// Whether the facts are being read.
    pub reading: bool,
    /// By which column each kind of page is sorted, where somebody chose one.
    sorts: [Option<MirrorSort>; 3],
    selected: Option<MirrorRow>,
    /// Indexes of the shown rows, in their order.
    order: Vec<usize>,
    /// The cursor's place among them.
    place: usize,
    is_fresh: bool,
}

impl MirrorPage {
    fn kind(&self) -> usize {
        match self {
            Self::Flows => 0,
            Self::Partitions(_) => 1,
            Self::Groups(..) => 2,
        }
    }

    /// Returns the page's columns, from left to right; those of the flows are the first page's.
    pub fn columns(&self) -> &'static [MirrorColumn] {
        match self {
            Self::Flows => &MirrorColumn::FLOWS,
            Self::Partitions(_) => &MirrorColumn::PARTITIONS,
            Self::Groups(..) => &MirrorColumn::GROUPS,
        }
    }

    /// Returns how many rows the page has before the filter.
    fn len(&self, world: &MirrorWorld) -> usize {
        match self {
            Self::Flows => world.flows.len() + world.lints.len(),
            Self::Partitions(name) => {
                let flow = world.flow(name);
                flow.map_or(0, |flow| flow.status.partitions.len())
            }
            Self::Groups(name, _) => world.flow(name).map_or(0, |flow| flow.positions.len()),
        }
    }

    /// Returns what the row of this index is of.
    fn row(&self, world: &MirrorWorld, index: usize) -> Option<MirrorRow> {
        match self {
            Self::Flows => {
                if let Some(flow) = world.flows.get(index) {
                    return Some(MirrorRow::Flow(flow.name.clone()));
                }
                let lint = world.lints.get(index - world.flows.len())?;
                Some(MirrorRow::Lint(
                    lint.code,
                    lint.flow.clone(),
                    lint.place.clone(),
                ))
            }
            Self::Partitions(name) => {
                let lag = world.flow(name)?.status.partitions.get(index)?;
                Some(MirrorRow::Partition(lag.topic.clone(), lag.partition))
            }
            Self::Groups(name, _) => {
                let it = world.flow(name)?.positions.get(index)?;
                Some(MirrorRow::Group(
                    it.group.clone(),
                    it.topic.clone(),
                    it.partition,
                ))
            }
        }
    }

    /// Says whether the row of this index is of this topic, where the page is of one.
    fn holds(&self, world: &MirrorWorld, index: usize) -> bool {
        let Self::Groups(name, Some(topic)) = self else {
            return true;
        };
        let flow = world.flow(name);
        let position = flow.and_then(|flow| flow.positions.get(index));
        position.is_some_and(|it| it.topic == *topic)
    }
}

impl MirrorView {
    /// Notes that what is shown changed; the order is made anew before the next look.
    pub fn touch(&mut self) {
        self.is_fresh = false;
    }

    /// Returns the shown rows' indexes in their order: on the first page flows, then findings counted on from them.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the cursor's place among them; `None` where there is no row.
    pub fn cursor(&self) -> Option<usize> {
        (!self.order.is_empty()).then_some(self.place)
    }

    /// Returns what the row under the cursor is of.
    pub fn selected(&self) -> Option<&MirrorRow> {
        self.selected.as_ref()
    }

    /// Returns by what the page is sorted.
    pub fn sort(&self) -> MirrorSort {
        let chosen = self.sorts.get(self.page.kind()).copied().flatten();
        chosen.unwrap_or_else(|| MirrorSort {
            column: self.page.columns().first().copied().unwrap_or_default(),
            direction: Direction::Natural,
        })
    }

    /// Sorts the page by a column; one that it lacks changes nothing.
    pub fn sort_by(&mut self, sort: MirrorSort) {
        if self.page.columns().contains(&sort.column)
            && let Some(chosen) = self.sorts.get_mut(self.page.kind())
        {
            *chosen = Some(sort);
            self.touch();
        }
    }

    /// Sorts the page by the column so many places to the right, around the end.
    pub fn sort_beside(&mut self, step: isize) {
        let columns = self.page.columns();
        let at = columns.iter().position(|it| *it == self.sort().column);
        let next = at.unwrap_or(0).cast_signed() + step;
        let next = next.rem_euclid(columns.len().cast_signed());
        if let Some(column) = columns.get(next.cast_unsigned()) {
            self.sort_by(MirrorSort {
                column: *column,
                direction: Direction::Natural,
            });
        }
    }

    /// Turns the order of the page.
    pub fn turn(&mut self) {
        let sort = self.sort();
        self.sort_by(MirrorSort {
            direction: sort.direction.turned(),
            ..sort
        });
    }

    /// Makes the order anew if anything changed it; the cursor stays on its row as long as that is shown.
    pub fn refresh(&mut self, read: Option<&MirrorRead>) {
        if std::mem::replace(&mut self.is_fresh, true) {
            return;
        }
        self.order.clear();
        let Some(Ok(world)) = read else {
            return;
        };
        let (page, sort) = (&self.page, self.sort());
        let shown = (0..page.len(world)).filter(|index| {
            let names = names(page, world, *index);
            page.holds(world, *index) && self.filter.lets_pass(names.iter().map(String::as_str))
        });
        let mut order: Vec<usize> = shown.collect();
        order.sort_by(|a, b| compare((page, world), sort, *a, *b));
        let found = self.selected.as_ref().and_then(|selected| {
            let is_it = |index: &usize| page.row(world, *index).as_ref() == Some(selected);
            order.iter().position(is_it)
        });
        self.place = found
            .unwrap_or(self.place)
            .min(order.len().saturating_sub(1));
        self.selected = order
            .get(self.place)
            .and_then(|index| page.row(world, *index));
        self.order = order;
    }

    /// Moves the cursor by `rows`, and stops at both ends.
    pub fn move_by(&mut self, world: &MirrorWorld, rows: isize) {
        let last = self.order.len().saturating_sub(1);
        self.place = self.place.saturating_add_signed(rows).min(last);
        let index = self.order.get(self.place);
        self.selected = index.and_then(|index| self.page.row(world, *index));
    }

    /// Goes into what is under the cursor: a flow's partitions, then the groups that read the partition's topic.
    pub fn enter(&mut self) {
        let page = match (&self.page, &self.selected) {
            (
                MirrorPage::Flows,
                Some(MirrorRow::Flow(name) | MirrorRow::Lint(_, Some(name), _)),
            ) => MirrorPage::Partitions(name.clone()),
            (MirrorPage::Partitions(name), Some(MirrorRow::Partition(topic, _))) => {
                MirrorPage::Groups(name.clone(), Some(topic.clone()))
            }
            _ => return,
        };
        self.open(page, None);
    }

    /// Goes out: drops the filter, then leaves the page; says whether there was anything to go out of.
    pub fn back(&mut self) -> bool {
        if self.filter.is_active() {
            self.filter = Filter::default();
            self.touch();
            return true;
        }
        let (page, selected) = match (&self.page, &self.selected) {
            (MirrorPage::Flows, _) => return false,
            (MirrorPage::Partitions(name), _) => {
                (MirrorPage::Flows, Some(MirrorRow::Flow(name.clone())))
            }
            (MirrorPage::Groups(name, _), Some(MirrorRow::Group(_, topic, partition))) => (
                MirrorPage::Partitions(name.clone()),
                Some(MirrorRow::Partition(topic.clone(), *partition)),
            ),
            (MirrorPage::Groups(name, _), _) => (MirrorPage::Partitions(name.clone()), None),
        };
        self.open(page, selected);
        true
    }

    /// Shows where all groups of a flow go on: of the flow that is looked at, else of the first that copies records.
    ///
    /// # Errors
    ///
    /// Why there is nothing to show.
    pub fn failover(&mut self, world: &MirrorWorld) -> Result<(), String> {
        let here = match (&self.page, &self.selected) {
            (MirrorPage::Partitions(name) | MirrorPage::Groups(name, _), _)
            | (MirrorPage::Flows, Some(MirrorRow::Flow(name))) => Some(name),
            _ => None,
        };
        let mut active = world.flows.iter();
        let active = active.find(|flow| {
            flow.state == FlowState::Active && here.is_none_or(|name| flow.name == *name)
        });
        match (active, here) {
            (Some(flow), _) => self.open(MirrorPage::Groups(flow.name.clone(), None), None),
            (None, Some(name)) => return Err(format!("{name} copies no records")),
            (None, None) => {
                let count = text::plural(world.flows.len() as u64, "flow", "flows");
                return Err(format!("none of {count} copies records"));
            }
        }
        Ok(())
    }

    fn open(&mut self, page: MirrorPage, selected: Option<MirrorRow>) {
        self.page = page;
        self.selected = selected;
        self.place = 0;
        self.touch();
    }
}
