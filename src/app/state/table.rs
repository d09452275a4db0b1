//! The order of a table: filter, sort, selection by key, marks.

use std::collections::BTreeSet;

use regex::Regex;

use super::logs::{LogId, LogRow, Logs};

/// A pattern that rows must fit, or must not.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    text: String,
    regex: Option<Regex>,
    inverted: bool,
    error: Option<String>,
}

impl Filter {
    /// Returns the filter of `text`: a regular expression without regard to case; a leading `!` inverts it.
    ///
    /// A pattern that is none lets all pass and keeps its error.
    pub fn new(text: &str) -> Self {
        let (inverted, pattern) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let mut filter = Self {
            text: text.to_owned(),
            inverted,
            ..Self::default()
        };
        if pattern.is_empty() {
            return filter;
        }
        match regex::RegexBuilder::new(pattern)
            .case_insensitive(true)
            .size_limit(1 << 20)
            .build()
        {
            Ok(regex) => filter.regex = Some(regex),
            Err(error) => {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default();
                filter.error = Some(last.trim_start_matches("error: ").to_owned());
            }
        }
        filter
    }

    /// Returns what was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what is wrong with the pattern.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Says whether rows are hidden.
    pub fn is_active(&self) -> bool {
        self.regex.is_some()
    }

    /// Says whether a row with these texts is shown.
    pub fn lets_pass<'a>(&self, mut texts: impl Iterator<Item = &'a str>) -> bool {
        self.regex
            .as_ref()
            .is_none_or(|regex| texts.any(|text| regex.is_match(text)) != self.inverted)
    }
}

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// A column of the table of logs, from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogColumn {
    /// The dir's name.
    Partition,
    /// Its log dir.
    Dir,
    /// What happens, or would happen.
    State,
    /// Segments read of segments.
    Segments,
    /// Bytes.
    Bytes,
    /// Where the log ends, and what is lost.
    Offsets,
    /// The worst finding.
    Finding,
}

impl LogColumn {
    /// All columns, from left to right.
    pub const ALL: [Self; 7] = [
        Self::Partition,
        Self::Dir,
        Self::State,
        Self::Segments,
        Self::Bytes,
        Self::Offsets,
        Self::Finding,
    ];

    /// Returns the column's heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Partition => "PARTITION",
            Self::Dir => "DIR",
            Self::State => "STATE",
            Self::Segments => "SEGMENTS",
            Self::Bytes => "BYTES",
            Self::Offsets => "OFFSETS",
            Self::Finding => "FINDING",
        }
    }

    /// Says whether its natural order goes down: large numbers and bad findings come first.
    pub fn descends(self) -> bool {
        matches!(
            self,
            Self::Segments | Self::Bytes | Self::Offsets | Self::Finding
        )
    }

    /// Returns the column that `name` begins, whatever its case.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.to_ascii_uppercase();
        let name = if name == "SIZE" {
            "BYTES"
        } else {
            name.as_str()
        };
        (!name.is_empty())
            .then(|| Self::ALL.into_iter().find(|c| c.title().starts_with(name)))
            .flatten()
    }

    /// Returns the column `step` places to the right, around the end.
    #[must_use]
    pub fn beside(self, step: isize) -> Self {
        let at = Self::ALL.iter().position(|&c| c == self).unwrap_or(0);
        let len = Self::ALL.len().cast_signed();
        let next = (at.cast_signed() + step).rem_euclid(len);
        Self::ALL
            .get(next.cast_unsigned())
            .copied()
            .unwrap_or(Self::Partition)
    }
}

/// Which way a table is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// As the column is usually wanted: names up, sizes and dangers down.
    Natural,
    /// The other way round.
    Turned,
}

impl Direction {
    /// Returns the other way round.
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Self::Natural => Self::Turned,
            Self::Turned => Self::Natural,
        }
    }
}

/// The table of logs as it is looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct LogTable {
    selected: Option<LogId>,
    /// The column that decides the order.
    pub sort: LogColumn,
    /// Which way.
    pub direction: Direction,
    /// What hides rows.
    pub filter: Filter,
    /// Marked logs.
    pub marks: BTreeSet<LogId>,
    order: Vec<LogId>,
    hold: Hold,
    stale: bool,
}

/// What the cursor holds on to when rows move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// The first row: nobody has moved it yet, and the worst is there.
    Top,
    /// Its log.
    Log,
}

impl Default for LogTable {
    fn default() -> Self {
        Self {
            selected: None,
            sort: LogColumn::State,
            direction: Direction::Natural,
            filter: Filter::default(),
            marks: BTreeSet::new(),
            order: Vec::new(),
            hold: Hold::Top,
            stale: true,
        }
    }
}

impl LogTable {
    /// Notes that rows changed; the order is made anew before the next look.
    pub fn touch(&mut self) {
        self.stale = true;
    }

    /// Returns the logs in their order.
    pub fn order(&self) -> &[LogId] {
        &self.order
    }

    /// Returns the log under the cursor.
    pub fn selected(&self) -> Option<LogId> {
        self.selected
    }

    /// Returns the cursor's row.
    pub fn cursor(&self) -> Option<usize> {
        let selected = self.selected?;
        self.order.iter().position(|&id| id == selected)
    }

    /// Makes the order anew if rows, filter or sort changed; the selection stays on its log.
    pub fn refresh(&mut self, logs: &Logs) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let cursor = self.cursor().unwrap_or(0);
        let shown = |row: &&LogRow| {
            let dir = logs.dir_of(row).map_or("", |dir| dir.label.as_str());
            let findings = row.findings.iter().map(|f| f.text.as_str());
            let texts = [row.dir_name.as_str(), dir, row.word()];
            self.filter.lets_pass(texts.into_iter().chain(findings))
        };
        let mut rows: Vec<&LogRow> = logs.rows().filter(shown).collect();
        rows.sort_by(|a, b| {
            let order = compare(self.sort, logs, a, b);
            let order = if self.direction == Direction::Turned {
                order.reverse()
            } else {
                order
            };
            order.then_with(|| natural(&a.dir_name, &b.dir_name).then(a.dir.cmp(&b.dir)))
        });
        self.order = rows.into_iter().map(|row| row.id).collect();
        self.marks.retain(|&id| logs.row(id).is_some());
        if self.hold == Hold::Top {
            self.selected = self.order.first().copied();
        } else if self.cursor().is_none() {
            let at = cursor.min(self.order.len().saturating_sub(1));
            self.selected = self.order.get(at).copied();
        }
    }

    /// Puts the cursor on a log.
    pub fn select(&mut self, id: LogId) {
        self.hold = Hold::Log;
        self.selected = Some(id);
    }

    /// Moves the cursor by `rows`, and stops at both ends.
    pub fn move_by(&mut self, rows: isize) {
        self.hold = Hold::Log;
        let at = self.cursor().unwrap_or(0).saturating_add_signed(rows);
        let at = at.min(self.order.len().saturating_sub(1));
        self.selected = self.order.get(at).copied();
    }

    /// Marks the selected log, or takes its mark away, and goes on to the next row.
    pub fn toggle_mark(&mut self) {
        if let Some(id) = self.selected {
            if !self.marks.remove(&id) {
                self.marks.insert(id);
            }
            self.move_by(1);
        }
    }
}

fn compare(column: LogColumn, logs: &Logs, a: &LogRow, b: &LogRow) -> std::cmp::Ordering {
    // Large numbers and bad findings come first: that is what a person sorts for.
    match column {
        LogColumn::Partition => natural(&a.dir_name, &b.dir_name),
        LogColumn::Dir => {
            let label = |row: &LogRow| logs.dir_of(row).map(|dir| dir.label.clone());
            label(a).cmp(&label(b))
        }
        LogColumn::State => a.rank().cmp(&b.rank()),
        LogColumn::Segments => b.segments.cmp(&a.segments),
        LogColumn::Bytes => b.bytes.cmp(&a.bytes),
        LogColumn::Offsets => lost(b).cmp(&lost(a)),
        LogColumn::Finding => b.severity().cmp(&a.severity()),
    }
}

fn lost(row: &LogRow) -> u64 {
    row.findings.iter().map(|finding| finding.lost_bytes).sum()
}

/// Compares names so that `orders-9` comes before `orders-10`.
pub(super) fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    split(a).cmp(&split(b)).then_with(|| a.cmp(b))
}

fn split(name: &str) -> (&str, Option<u64>) {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (stem, number) = name.split_at(name.len() - digits);
    (stem, number.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::facts::{LogDirFacts, PartitionFacts};

    fn logs(names: &[(&str, u64)]) -> Logs {
        let mut logs = Logs::default();
        logs.on_listed(&[LogDirFacts {
            path: "/d1".into(),
            stop: None,
            why: String::new(),
            findings: Vec::new(),
            partitions: names
                .iter()
                .map(|&(name, bytes)| PartitionFacts {
                    dir_name: name.to_owned(),
                    segments: 1,
                    bytes,
                    boot_reads: None,
                    findings: Vec::new(),
                })
                .collect(),
        }]);
        logs
    }

    fn names(table: &LogTable, logs: &Logs) -> Vec<String> {
        let name = |&id: &LogId| logs.row(id).unwrap().dir_name.clone();
        table.order().iter().map(name).collect()
    }

    #[test]
    fn partitions_sort_by_number() {
        let logs = logs(&[("t-10", 1), ("t-9", 1), ("a-1", 1)]);
        let mut table = LogTable::default();
        table.refresh(&logs);
        assert_eq!(names(&table, &logs), ["a-1", "t-9", "t-10"]);
    }

    #[test]
    fn the_selection_stays_on_its_log_when_rows_move() {
        let logs = logs(&[("a-0", 1), ("b-0", 2), ("c-0", 3)]);
        let mut table = LogTable::default();
        table.refresh(&logs);
        table.move_by(2);
        let selected = table.selected();
        table.sort = LogColumn::Bytes;
        table.touch();
        table.refresh(&logs);
        assert_eq!(names(&table, &logs), ["c-0", "b-0", "a-0"]);
        assert_eq!((table.selected(), table.cursor()), (selected, Some(0)));
    }

    #[test]
    fn a_filter_hides_or_inverts_and_a_bad_one_hides_nothing() {
        let logs = logs(&[("orders-0", 1), ("clicks-0", 2)]);
        let mut table = LogTable::default();
        for (text, want) in [
            ("ORD", &["orders-0"][..]),
            ("!ord", &["clicks-0"]),
            ("!", &["clicks-0", "orders-0"]),
            ("(", &["clicks-0", "orders-0"]),
            ("nothing", &[]),
        ] {
            table.filter = Filter::new(text);
            table.touch();
            table.refresh(&logs);
            assert_eq!(names(&table, &logs), want, "{text}");
        }
        assert!(Filter::new("(").error().is_some());
        assert_eq!(table.selected(), None);
    }

    #[test]
    fn columns_are_found_by_their_beginning() {
        assert_eq!(LogColumn::parse("size"), Some(LogColumn::Bytes));
        assert_eq!(LogColumn::parse("se"), Some(LogColumn::Segments));
        assert_eq!(LogColumn::parse(""), None);
        assert_eq!(LogColumn::Finding.beside(1), LogColumn::Partition);
        assert_eq!(LogColumn::Partition.beside(-1), LogColumn::Finding);
    }
}
