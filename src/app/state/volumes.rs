//! The volumes of the log dirs and what fills them, as they are looked at: the dirs, then kinds, topics, logs, segments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::log::UsageKind;
use crate::plan::cleanup::DeletionCost;
use crate::plan::volumes::{LogUsage, VolumeReport, VolumeRow};

use crate::terms::Timestamp;

use super::free_space::FreeLine;
use super::table::{Direction, Filter};
use super::volume_items::{FilesOfLog, UsageItem, UsageKey, items_of};

/// What was seen of the volumes.
#[derive(Debug, Clone, PartialEq)]
pub struct VolumesFacts {
    /// The log dirs, in the order of the configuration.
    pub report: VolumeReport,
    /// Dirs that were looked at.
    pub dirs_done: u64,
    /// Dirs that there are.
    pub dirs_total: u64,
    /// When it was looked, by this host's clock.
    pub at: Timestamp,
}

/// What decides the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeColumn {
    /// The name; of log dirs the order of the configuration.
    Name,
    /// The state.
    State,
    /// The volume's size.
    Size,
    /// What is free.
    Free,
    /// What is in use.
    Used,
    /// Kafka's bytes.
    Kafka,
    /// What is not Kafka's.
    Foreign,
    /// Bytes against the mean.
    Imbalance,
    /// When it is full.
    FullIn,
    /// Bytes on the volume.
    Bytes,
    /// The sum of the files' lengths.
    Length,
    /// How many files.
    Files,
    /// The last write.
    Written,
}

impl VolumeColumn {
    /// The columns of the log dirs by which they can be sorted.
    pub const OF_DIRS: [Self; 9] = [
        Self::Name,
        Self::State,
        Self::Size,
        Self::Free,
        Self::Used,
        Self::Kafka,
        Self::Foreign,
        Self::Imbalance,
        Self::FullIn,
    ];
    /// The columns of what fills one.
    pub const OF_ITEMS: [Self; 5] = [
        Self::Name,
        Self::Bytes,
        Self::Length,
        Self::Files,
        Self::Written,
    ];

    /// Returns its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Name => "NAME",
            Self::State => "STATE",
            Self::Size => "SIZE",
            Self::Free => "FREE",
            Self::Used => "USED",
            Self::Kafka => "KAFKA",
            Self::Foreign => "FOREIGN",
            Self::Imbalance => "IMBALANCE",
            Self::FullIn => "FULL IN",
            Self::Bytes => "BYTES",
            Self::Length => "LENGTH",
            Self::Files => "FILES",
            Self::Written => "WRITTEN",
        }
    }

    /// Says whether its natural order goes down: what is large, or bad, comes first.
    pub fn descends(self) -> bool {
        !matches!(self, Self::Name | Self::Free | Self::FullIn)
    }
}

/// A column and a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeSort {
    /// Which column.
    pub column: VolumeColumn,
    /// Which way.
    pub direction: Direction,
}

/// How the volumes are looked at.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what is under way and what is stale do not depend on each other"
)]
pub struct VolumesView {
    /// The log dir that was entered; `None` shows all.
    pub open: Option<PathBuf>,
    /// The way into it.
    pub path: Vec<UsageKey>,
    /// The order of the log dirs.
    pub of_dirs: VolumeSort,
    /// The order of what fills one.
    pub of_items: VolumeSort,
    /// What hides rows.
    pub filter: Filter,
    /// Whether it is being looked at.
    pub is_reading: bool,
    /// Why it could not be.
    pub error: Option<String>,
    /// The files of the log that was entered, once they were listed.
    pub files: Option<FilesOfLog>,
    dir_selected: Option<PathBuf>,
    selected: Option<UsageKey>,
    marks: BTreeMap<(PathBuf, Vec<UsageKey>), u64>,
    dirs: Vec<usize>,
    items: Vec<UsageItem>,
    is_stale: bool,
}

impl Default for VolumesView {
    fn default() -> Self {
        let natural = |column| VolumeSort {
            column,
            direction: Direction::Natural,
        };
        Self {
            open: None,
            path: Vec::new(),
            of_dirs: natural(VolumeColumn::Name),
            of_items: natural(VolumeColumn::Bytes),
            filter: Filter::default(),
            is_reading: false,
            error: None,
            files: None,
            dir_selected: None,
            selected: None,
            marks: BTreeMap::new(),
            dirs: Vec::new(),
            items: Vec::new(),
            is_stale: true,
        }
    }
}

impl VolumeSort {
    fn turned(self, order: std::cmp::Ordering) -> std::cmp::Ordering {
        match self.direction {
            Direction::Natural => order,
            Direction::Turned => order.reverse(),
        }
    }
}

impl VolumesView {
    /// Says that the rows are to be made anew.
    pub fn touch(&mut self) {
        self.is_stale = true;
    }

    /// Returns the log dirs on screen, by their numbers in the report.
    pub fn dirs(&self) -> &[usize] {
        &self.dirs
    }

    /// Returns what fills the place that was entered.
    pub fn items(&self) -> &[UsageItem] {
        &self.items
    }

    /// Returns the order of what is on screen.
    pub fn sort(&self) -> VolumeSort {
        if self.open.is_some() {
            self.of_items
        } else {
            self.of_dirs
        }
    }

    /// Returns the order of what is on screen, to be changed.
    pub fn sort_mut(&mut self) -> &mut VolumeSort {
        if self.open.is_some() {
            &mut self.of_items
        } else {
            &mut self.of_dirs
        }
    }

    /// Returns the columns by which what is on screen can be sorted.
    pub fn columns(&self) -> &'static [VolumeColumn] {
        if self.open.is_some() {
            &VolumeColumn::OF_ITEMS
        } else {
            &VolumeColumn::OF_DIRS
        }
    }

    /// Sorts by the column so many places to the right.
    pub fn sort_beside(&mut self, step: isize) {
        let columns = self.columns();
        let sort = self.sort_mut();
        let at = columns.iter().position(|column| *column == sort.column);
        let next = at.unwrap_or(0).cast_signed() + step;
        let next = next.rem_euclid(columns.len().cast_signed()).cast_unsigned();
        sort.column = columns.get(next).copied().unwrap_or(VolumeColumn::Name);
        sort.direction = Direction::Natural;
        self.touch();
    }

    /// Makes the rows anew, if anything changed them.
    pub fn refresh(&mut self, facts: Option<&VolumesFacts>) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let Some(facts) = facts else {
            self.dirs.clear();
            self.items.clear();
            return;
        };
        let report = &facts.report;
        self.dirs = self.sorted_dirs(report);
        let row = self.open.as_ref().and_then(|open| row_of(report, open));
        self.items = row.map_or_else(Vec::new, |row| self.sorted_items(row));
        if let Some(open) = &self.open {
            for item in &self.items {
                let mut path = self.path.clone();
                path.push(item.key.clone());
                if let Some(bytes) = self.marks.get_mut(&(open.clone(), path)) {
                    *bytes = item.usage.allocated;
                }
            }
        }
    }

    fn sorted_dirs(&self, report: &VolumeReport) -> Vec<usize> {
        let shown = |row: &VolumeRow| {
            let dir = row.facts.dir.to_string_lossy();
            let texts = [dir.as_ref(), row.state.word()];
            self.open.is_some() || self.filter.lets_pass(texts.into_iter())
        };
        let rows = report.rows.iter().enumerate();
        let mut rows: Vec<(usize, &VolumeRow)> = rows.filter(|(_, row)| shown(row)).collect();
        let by = self.of_dirs.column;
        rows.sort_by(|(first, a), (second, b)| {
            let space = |row: &VolumeRow| row.facts.space;
            let order = match by {
                VolumeColumn::State => b.state.cmp(&a.state),
                VolumeColumn::Size => {
                    let size = |row| space(row).map(|space| space.total);
                    size(b).cmp(&size(a))
                }
                // What is not known comes last.
                VolumeColumn::Free => {
                    let free = |row| space(row).map_or(u64::MAX, |space| space.free);
                    free(a).cmp(&free(b))
                }
                VolumeColumn::Used => {
                    let used = |row| space(row).map(|space| space.used_percent());
                    used(b).cmp(&used(a))
                }
                VolumeColumn::Kafka => b.kafka().cmp(&a.kafka()),
                VolumeColumn::Foreign => b.foreign.cmp(&a.foreign),
                VolumeColumn::Imbalance => b.imbalance.cmp(&a.imbalance),
                VolumeColumn::FullIn => {
                    let soonest = |row: &VolumeRow| row.full_in.into_iter().flatten().min();
                    let soonest = |row| soonest(row).unwrap_or(u64::MAX);
                    soonest(a).cmp(&soonest(b))
                }
                _ => first.cmp(second),
            };
            self.of_dirs.turned(order).then(first.cmp(second))
        });
        rows.into_iter().map(|(number, _)| number).collect()
    }

    fn sorted_items(&self, row: &VolumeRow) -> Vec<UsageItem> {
        let mut items = items_of(row, &self.path, self.files.as_ref());
        items.retain(|item| self.filter.lets_pass(std::iter::once(item.name().as_str())));
        items.sort_by(|a, b| {
            let order = match self.of_items.column {
                VolumeColumn::Name => a.order(b),
                VolumeColumn::Length => b.usage.len.cmp(&a.usage.len),
                VolumeColumn::Files => b.usage.files.cmp(&a.usage.files),
                VolumeColumn::Written => b.written_at.cmp(&a.written_at),
                _ => b.usage.allocated.cmp(&a.usage.allocated),
            };
            self.of_items.turned(order).then_with(|| a.order(b))
        });
        items
    }

    /// Returns the row of the log dirs under the cursor, by its place on screen.
    pub fn dir_cursor(&self, report: &VolumeReport) -> Option<usize> {
        let wanted = self.dir_selected.as_ref();
        let is_it = |number: &usize| {
            let row = report.rows.get(*number);
            row.map(|row| &row.facts.dir) == wanted
        };
        let at = self.dirs.iter().position(is_it);
        at.or((!self.dirs.is_empty()).then_some(0))
    }

    /// Returns the log dir that was entered, or that is under the cursor.
    pub fn dir<'a>(&self, report: &'a VolumeReport) -> Option<&'a VolumeRow> {
        match &self.open {
            Some(open) => row_of(report, open),
            None => report.rows.get(*self.dirs.get(self.dir_cursor(report)?)?),
        }
    }

    /// Returns the item under the cursor, by its place on screen; the first where none was chosen, which is the largest.
    pub fn item_cursor(&self) -> Option<usize> {
        let wanted = self.selected.as_ref();
        let is_it = |item: &UsageItem| Some(&item.key) == wanted;
        let at = self.items.iter().position(is_it);
        at.or((!self.items.is_empty()).then_some(0))
    }

    /// Moves the cursor by `rows`, and stops at both ends.
    pub fn move_by(&mut self, report: &VolumeReport, rows: isize) {
        if self.open.is_some() {
            let last = self.items.len().saturating_sub(1);
            let at = self.item_cursor().unwrap_or(0);
            let item = self.items.get(at.saturating_add_signed(rows).min(last));
            self.selected = item.map(|item| item.key.clone());
            return;
        }
        let last = self.dirs.len().saturating_sub(1);
        let at = self.dir_cursor(report).unwrap_or(0);
        let number = self.dirs.get(at.saturating_add_signed(rows).min(last));
        let row = number.and_then(|number| report.rows.get(*number));
        self.dir_selected = row.map(|row| row.facts.dir.clone());
    }

    /// Goes into what is under the cursor; returns the log whose files are to be listed for it.
    pub fn enter(&mut self, report: &VolumeReport) -> Option<(PathBuf, String)> {
        let row = self.dir(report)?;
        let dir = row.facts.dir.clone();
        if self.open.is_none() {
            self.dir_selected = Some(dir.clone());
            self.open = Some(dir);
            self.step_in(None);
            return None;
        }
        let key = self.items.get(self.item_cursor()?)?.key.clone();
        match &key {
            UsageKey::Kind(UsageKind::Own)
            | UsageKey::Entry(_)
            | UsageKey::Segment(_)
            | UsageKey::File(_) => return None,
            UsageKey::Kind(_) | UsageKey::Topic(_) | UsageKey::Log(_) => {}
        }
        self.step_in(Some(key));
        // A topic of one log has nothing to choose from.
        if let [only] = items_of(row, &self.path, None).as_slice()
            && matches!(self.path.last(), Some(UsageKey::Topic(_)))
        {
            self.path.push(only.key.clone());
        }
        match self.path.last() {
            Some(UsageKey::Log(name)) => Some((dir, name.clone())),
            _ => None,
        }
    }

    fn step_in(&mut self, key: Option<UsageKey>) {
        self.path.extend(key);
        self.selected = None;
        self.files = None;
        self.filter = Filter::default();
        self.touch();
    }

    /// Goes out by one step, and drops the filter first; `false` if there is no step.
    pub fn back(&mut self, report: Option<&VolumeReport>) -> bool {
        if self.filter.is_active() {
            self.filter = Filter::default();
        } else if let Some(mut left) = self.path.pop() {
            if let (UsageKey::Log(_), Some(UsageKey::Topic(_))) = (&left, self.path.last())
                && let Some(row) = report.and_then(|report| self.dir(report))
                && items_of(row, &self.path, None).len() == 1
                && let Some(topic) = self.path.pop()
            {
                left = topic;
            }
            self.selected = Some(left);
            self.files = None;
        } else if self.open.take().is_none() {
            return false;
        }
        self.touch();
        true
    }

    /// Marks what is under the cursor or takes its mark away, and goes on to the next row.
    pub fn toggle_mark(&mut self, report: &VolumeReport) {
        let Some(open) = self.open.clone() else {
            return;
        };
        let Some(item) = self.item_cursor().and_then(|at| self.items.get(at)) else {
            return;
        };
        let mut path = self.path.clone();
        path.push(item.key.clone());
        let (mark, bytes) = ((open, path), item.usage.allocated);
        if self.marks.remove(&mark).is_none() {
            // A mark holds for all below it.
            let is_below = |other: &(PathBuf, Vec<UsageKey>)| {
                other.0 == mark.0 && other.1.starts_with(&mark.1)
            };
            self.marks.retain(|other, _| !is_below(other));
            self.marks.insert(mark, bytes);
        }
        self.move_by(report, 1);
    }

    /// Says whether an item on screen is marked, or lies in something that is.
    pub fn is_marked(&self, item: &UsageItem) -> bool {
        let Some(open) = &self.open else {
            return false;
        };
        let mut path = self.path.clone();
        path.push(item.key.clone());
        self.marks
            .keys()
            .any(|(dir, marked)| dir == open && path.starts_with(marked))
    }

    /// Says whether something that can go lies in something that is marked.
    pub fn covers(&self, report: &VolumeReport, line: &FreeLine) -> bool {
        let kind = match line.cost {
            DeletionCost::Leftover(kind) => kind,
            DeletionCost::Stray => UsageKind::StrayDirs,
            DeletionCost::PastRetention | DeletionCost::Records => UsageKind::Topics,
        };
        let row = row_of(report, &line.log_dir);
        let mut logs = row.into_iter().flat_map(|row| &row.facts.usage.logs);
        let log = logs.find(|log| log.name == line.dir_name);
        let topic = log.and_then(LogUsage::topic);
        let path = [
            UsageKey::Kind(kind),
            UsageKey::Topic(topic.unwrap_or_else(|| line.dir_name.clone())),
            UsageKey::Log(line.dir_name.clone()),
        ];
        self.marks
            .keys()
            .any(|(dir, marked)| *dir == line.log_dir && path.starts_with(marked))
    }

    /// Returns how many marks there are and what they take.
    pub fn marked(&self) -> (u64, u64) {
        let mut sum = 0_u64;
        for ((dir, path), bytes) in &self.marks {
            let is_above = |other: &&(PathBuf, Vec<UsageKey>)| {
                other.0 == *dir && other.1.len() < path.len() && path.starts_with(&other.1)
            };
            if !self.marks.keys().any(|other| is_above(&other)) {
                sum = sum.saturating_add(*bytes);
            }
        }
        (self.marks.len() as u64, sum)
    }
}

/// Returns the row of a log dir.
pub fn row_of<'a>(report: &'a VolumeReport, dir: &Path) -> Option<&'a VolumeRow> {
    report.rows.iter().find(|row| row.facts.dir == dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Usage, UsageByKind};
    use crate::plan::volumes::{DirUsage, ForeignEntry, VolumeFacts, Written};

    fn log(name: &str, kind: UsageKind, allocated: u64) -> LogUsage {
        let mut usage = UsageByKind::default();
        let used = Usage {
            files: 3,
            len: allocated,
            allocated,
        };
        usage.add(kind, used);
        LogUsage {
            name: name.to_owned(),
            kind,
            usage,
            segments: 1,
            data: used,
            indexes: Usage::default(),
            holes: 0,
            written_at: None,
            written: Written::default(),
            elsewhere: false,
            error: None,
            gaps: crate::log::GapSearch::default(),
        }
    }

    fn facts() -> VolumesFacts {
        let usage = DirUsage {
            logs: vec![
                log("a-0", UsageKind::Topics, 100),
                log("a-10", UsageKind::Topics, 300),
                log("a-9", UsageKind::Topics, 200),
                log("b-0", UsageKind::Topics, 900),
                log("x-0.1-stray", UsageKind::StrayDirs, 50),
            ],
            own: Usage {
                files: 4,
                len: 8,
                allocated: 16,
            },
            foreign: vec![ForeignEntry {
                name: "lost+found".to_owned(),
                usage: Usage::default(),
                stops_boot: true,
            }],
            is_whole: true,
        };
        let of_dir = VolumeFacts {
            dir: "/d1".into(),
            volume: None,
            mount_point: None,
            fs_type: None,
            source: None,
            options: String::new(),
            space: None,
            device_bytes: None,
            problems: vec![],
            usage,
            held: vec![],
        };
        VolumesFacts {
            report: VolumeReport::of(vec![of_dir], &[], Timestamp(0), 100),
            dirs_done: 5,
            dirs_total: 5,
            at: Timestamp(0),
        }
    }

    fn names(view: &mut VolumesView, facts: &VolumesFacts) -> Vec<String> {
        view.refresh(Some(facts));
        view.items().iter().map(UsageItem::name).collect()
    }

    #[test]
    fn the_walk_goes_in_by_kind_topic_and_log_and_out_to_where_it_came_from() {
        let facts = facts();
        let report = &facts.report;
        let mut view = VolumesView::default();
        view.refresh(Some(&facts));
        view.enter(report);
        assert_eq!(
            names(&mut view, &facts),
            ["topics", "-stray", "checkpoints"]
        );
        view.enter(report);
        assert_eq!(names(&mut view, &facts), ["b", "a"]);
        view.move_by(report, 1);
        view.enter(report);
        assert_eq!(names(&mut view, &facts), ["a-10", "a-9", "a-0"]);
        view.sort_beside(-1);
        assert_eq!(names(&mut view, &facts), ["a-0", "a-9", "a-10"]);
        view.move_by(report, 2);
        let wanted = view.enter(report);
        assert_eq!(wanted, Some(("/d1".into(), "a-10".to_owned())));
        assert!(names(&mut view, &facts).is_empty());
        assert!(view.back(Some(report)));
        view.refresh(Some(&facts));
        assert_eq!(view.item_cursor(), Some(2));
        assert!(view.back(Some(report)) && view.back(Some(report)) && view.back(Some(report)));
        assert!(!view.back(Some(report)));
    }

    #[test]
    fn a_topic_of_one_log_is_gone_through() {
        let facts = facts();
        let report = &facts.report;
        let mut view = VolumesView::default();
        view.refresh(Some(&facts));
        for _ in 0..2 {
            view.enter(report);
            view.refresh(Some(&facts));
        }
        assert_eq!(view.enter(report).unwrap().1, "b-0");
        assert_eq!(view.path.len(), 3);
        view.back(Some(report));
        assert_eq!(names(&mut view, &facts), ["b", "a"]);
    }

    #[test]
    fn a_mark_holds_for_all_below_it_and_counts_once() {
        let facts = facts();
        let report = &facts.report;
        let mut view = VolumesView::default();
        view.refresh(Some(&facts));
        for _ in 0..2 {
            view.enter(report);
            view.refresh(Some(&facts));
        }
        view.move_by(report, 1);
        view.enter(report);
        view.refresh(Some(&facts));
        view.toggle_mark(report);
        assert_eq!(view.marked(), (1, 300));
        view.back(Some(report));
        view.refresh(Some(&facts));
        view.toggle_mark(report);
        assert_eq!(view.marked(), (1, 600));
        view.enter(report);
        view.refresh(Some(&facts));
        assert!(view.items().iter().all(|item| view.is_marked(item)));
    }
}
