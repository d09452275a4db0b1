//! The segments of the logs and what retention does with them, as they are looked at.

use std::path::PathBuf;
use std::sync::Arc;

use tui_input::Input;

use crate::cluster::SettingsTable;
use crate::plan::retention::{
    FactSources, HostRetention, LeftoverKind, LogRetention, RetainedLog, RetentionTotals,
    RetentionVerdict, TopicRetention, WhatIf, WhatIfScope, parse_retention_bytes,
    parse_retention_ms,
};
use crate::terms::{Offset, Timestamp};

/// What was read of the logs, at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct RetentionFacts {
    /// The logs with their settings.
    pub host: HostRetention,
    /// Where the topics' settings are from.
    pub settings_source: String,
    /// Every setting of every topic.
    pub settings: Arc<SettingsTable>,
    /// Where each kind of fact is from, and how old it is.
    pub sources: FactSources,
    /// What was seen, a sentence each.
    pub notes: Vec<String>,
    /// When it was read.
    pub at: Timestamp,
}

/// Names a log: its dir and its partition dir.
pub type LogKey = (PathBuf, String);

/// What one column of the map stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MapScale {
    /// The same number of bytes.
    #[default]
    Bytes,
    /// The same span of time.
    Time,
}

/// What a column of the map shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapCell {
    /// No segment lies there.
    Nothing,
    /// A segment with this verdict.
    Of(RetentionVerdict),
    /// A segment that goes by time within 24 h.
    NextDay,
}

/// A row of the host's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRow {
    /// A topic, by its number among the topics.
    Topic(usize),
    /// A log of an unfolded topic, by its number among the logs.
    Log(usize),
}

/// What names a row of the host's list, whatever its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostKey {
    /// A topic.
    Topic(String),
    /// A log.
    Log(LogKey),
}

/// Which of the two values takes the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhatIfField {
    /// `retention.ms`.
    #[default]
    Ms,
    /// `retention.bytes`.
    Bytes,
}

/// How far other values reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhatIfReach {
    /// The open partition, else the selected topic.
    #[default]
    Partition,
    /// Its topic.
    Topic,
    /// All logs.
    Host,
}

impl WhatIfReach {
    const ALL: [Self; 3] = [Self::Partition, Self::Topic, Self::Host];

    /// Returns the reach `step` places on, around the end.
    #[must_use]
    pub fn beside(self, step: isize) -> Self {
        let at = Self::ALL.iter().position(|of| *of == self).unwrap_or(0);
        let next = (at.cast_signed() + step.signum()).rem_euclid(3);
        Self::ALL
            .get(next.cast_unsigned())
            .copied()
            .unwrap_or_default()
    }

    /// Returns it in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Partition => "this partition",
            Self::Topic => "this topic",
            Self::Host => "this host",
        }
    }
}

/// Values that are tried.
#[derive(Debug, Clone, Default)]
pub struct WhatIfEdit {
    /// `retention.ms` as typed.
    pub ms: Input,
    /// `retention.bytes` as typed.
    pub bytes: Input,
    /// Which takes the keys.
    pub field: WhatIfField,
    /// How far they reach.
    pub reach: WhatIfReach,
}

impl WhatIfEdit {
    /// Returns the value that takes the keys.
    pub fn input_mut(&mut self) -> &mut Input {
        match self.field {
            WhatIfField::Ms => &mut self.ms,
            WhatIfField::Bytes => &mut self.bytes,
        }
    }

    /// Returns what was typed as values, and what is wrong with it; what is empty or wrong changes nothing.
    pub fn wish(&self) -> (WhatIf, Option<String>) {
        let mut error = None;
        let mut value = |input: &Input, parse: fn(&str) -> Result<i64, String>| {
            let text = input.value().trim();
            if text.is_empty() {
                return None;
            }
            parse(text).map_err(|wrong| error = Some(wrong)).ok()
        };
        let wish = WhatIf {
            retention_ms: value(&self.ms, parse_retention_ms),
            retention_bytes: value(&self.bytes, parse_retention_bytes),
        };
        (wish, error)
    }
}

/// The verdicts on what was read.
#[derive(Debug, Clone, Default)]
pub struct Judged {
    /// One for each log, in their order.
    pub logs: Vec<LogRetention>,
    /// By topic, the most bytes first.
    pub topics: Vec<TopicRetention>,
    /// Over all.
    pub totals: RetentionTotals,
    /// What goes of logs that this broker follows.
    pub followed: u64,
}

/// What names a row of a log, whatever its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKey {
    /// A segment, by its base offset.
    Segment(Offset),
    /// A file that outlived its segment.
    Leftover(Option<Offset>, LeftoverKind),
}

/// Returns what names each row of a log: its segments, then its leftovers.
pub fn segment_keys(log: &RetainedLog) -> impl Iterator<Item = SegmentKey> + '_ {
    let segments = log.facts.segments.iter();
    let leftovers = log.facts.leftovers.iter();
    segments
        .map(|segment| SegmentKey::Segment(segment.base_offset))
        .chain(leftovers.map(|of| SegmentKey::Leftover(of.base_offset, of.kind)))
}

/// How the segments are looked at.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what is under way and what is stale do not depend on each other"
)]
pub struct SegmentsView {
    /// The log that is open; `None` shows the host's list.
    pub open: Option<LogKey>,
    /// The topic whose logs are listed.
    pub unfolded: Option<String>,
    /// The row of the host's list under the cursor.
    pub host_selected: Option<HostKey>,
    /// The segment or leftover under the cursor.
    pub selected: Option<SegmentKey>,
    /// What the map's columns stand for.
    pub scale: MapScale,
    /// Values that are tried.
    pub what_if: WhatIfEdit,
    /// Whether what was read is being read anew.
    pub is_reading: bool,
    /// Why it could not be read.
    pub error: Option<String>,
    judged: Judged,
    rows: Vec<HostRow>,
    is_stale: bool,
}

impl SegmentsView {
    /// Says that verdicts or rows are to be made anew.
    pub fn touch(&mut self) {
        self.is_stale = true;
    }

    /// Makes verdicts and rows anew, if anything changed them.
    pub fn refresh(&mut self, facts: Option<&Arc<RetentionFacts>>) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let Some(facts) = facts else {
            self.judged = Judged::default();
            self.rows.clear();
            return;
        };
        let (wish, _) = self.what_if.wish();
        let logs = facts.host.judge(wish, &self.scope(facts));
        let topics = facts.host.topics(&logs);
        let mut judged = Judged {
            logs,
            topics,
            ..Judged::default()
        };
        for topic in &judged.topics {
            judged.totals += topic.totals;
            judged.followed = judged.followed.saturating_add(topic.followed.bytes);
        }
        self.judged = judged;
        self.rows = self.host_rows();
    }

    /// Returns the verdicts.
    pub fn judged(&self) -> &Judged {
        &self.judged
    }

    /// Returns the rows of the host's list.
    pub fn rows(&self) -> &[HostRow] {
        &self.rows
    }

    fn host_rows(&self) -> Vec<HostRow> {
        let mut rows = Vec::new();
        for (number, topic) in self.judged.topics.iter().enumerate() {
            rows.push(HostRow::Topic(number));
            if self.unfolded.as_deref() == Some(topic.topic.as_str()) {
                rows.extend(topic.logs.iter().copied().map(HostRow::Log));
            }
        }
        rows
    }

    /// Returns the topic that is open or selected.
    pub fn topic(&self, facts: &RetentionFacts) -> Option<String> {
        let of_log = |log: &RetainedLog| log.facts.topic_partition.topic.clone();
        match (self.open_log(facts), &self.host_selected) {
            (Some((_, log)), _) => Some(of_log(log)),
            (None, Some(HostKey::Topic(topic))) => Some(topic.clone()),
            (None, Some(HostKey::Log(key))) => find(facts, key).map(|(_, log)| of_log(log)),
            (None, None) => None,
        }
    }

    /// Returns what other values are tried on.
    pub fn scope(&self, facts: &RetentionFacts) -> WhatIfScope {
        let open = self.open_log(facts).map(|(_, log)| log);
        let partition = open.map(|log| &log.facts.topic_partition);
        match (self.what_if.reach, partition, self.topic(facts)) {
            (WhatIfReach::Partition, Some(partition), _) => {
                WhatIfScope::Partition(partition.clone())
            }
            (WhatIfReach::Partition | WhatIfReach::Topic, _, Some(topic)) => {
                WhatIfScope::Topic(topic)
            }
            _ => WhatIfScope::Host,
        }
    }

    /// Returns the open log and its number.
    pub fn open_log<'a>(&self, facts: &'a RetentionFacts) -> Option<(usize, &'a RetainedLog)> {
        find(facts, self.open.as_ref()?)
    }

    /// Returns the row of the host's list under the cursor.
    pub fn host_cursor(&self, facts: &RetentionFacts) -> Option<usize> {
        let wanted = self.host_selected.as_ref()?;
        self.rows
            .iter()
            .position(|row| self.key_of(facts, row).as_ref() == Some(wanted))
    }

    /// Returns what names a row of the host's list.
    pub fn key_of(&self, facts: &RetentionFacts, row: &HostRow) -> Option<HostKey> {
        Some(match row {
            HostRow::Topic(number) => {
                HostKey::Topic(self.judged.topics.get(*number)?.topic.clone())
            }
            HostRow::Log(number) => HostKey::Log(key(facts.host.logs.get(*number)?)),
        })
    }

    /// Returns the row of a log under the cursor, by its number; the first where none is selected.
    pub fn segment_cursor(&self, log: &RetainedLog) -> Option<usize> {
        let wanted = self.selected;
        let at = segment_keys(log).position(|key| Some(key) == wanted);
        at.or(segment_keys(log).next().map(|_| 0))
    }

    /// Returns the map of a log over `width` columns.
    pub fn map(&self, facts: &RetentionFacts, number: usize, width: u16) -> Vec<MapCell> {
        let (Some(log), Some(judged)) = (facts.host.logs.get(number), self.judged.logs.get(number))
        else {
            return Vec::new();
        };
        let cells = usize::from(width);
        let mut map = vec![MapCell::Nothing; cells];
        let ends = self.ends(log, facts.host.now);
        let total = ends.last().copied().unwrap_or(0).max(1);
        let until = facts.host.now.0.saturating_add(86_400_000);
        let mut from = 0_u128;
        for (index, end) in ends.iter().enumerate() {
            let Some(of) = judged.segments.get(index) else {
                continue;
            };
            let is_next_day = of.verdict == RetentionVerdict::Keep
                && of.changes_at.is_some_and(|at| at.0 <= until);
            let cell = if is_next_day {
                MapCell::NextDay
            } else {
                MapCell::Of(of.verdict)
            };
            let column =
                |at: u128| usize::try_from(at * u128::from(width) / total).unwrap_or(cells);
            // A segment that is too small for a column still has one, as long as nobody else does.
            let (first, last) = (column(from), column(*end).max(column(from) + 1));
            for at in first..last.min(cells) {
                if let Some(place) = map.get_mut(at) {
                    *place = cell;
                }
            }
            from = *end;
        }
        map
    }

    /// Returns where each segment ends on the map's scale, from 0 on.
    fn ends(&self, log: &RetainedLog, now: Timestamp) -> Vec<u128> {
        let segments = &log.facts.segments;
        match self.scale {
            MapScale::Bytes => {
                let mut sum = 0_u128;
                segments
                    .iter()
                    .map(|segment| {
                        sum += u128::from(segment.bytes);
                        sum
                    })
                    .collect()
            }
            MapScale::Time => {
                let times = || {
                    let times = segments.iter().map(|segment| segment.largest_timestamp.0);
                    // A time of the future or of 1970 would leave no room for the others.
                    times.map(|at| at.min(now.0))
                };
                let first = times().min().unwrap_or(now.0);
                let mut last = 0;
                times()
                    .map(|at| {
                        let end = i128::from(at) - i128::from(first) + 1;
                        last = last.max(u128::try_from(end).unwrap_or(0));
                        last
                    })
                    .collect()
            }
        }
    }
}

/// Returns what names a log.
pub fn key(log: &RetainedLog) -> LogKey {
    (log.facts.log_dir.clone(), log.facts.dir_name.clone())
}

fn find<'a>(facts: &'a RetentionFacts, wanted: &LogKey) -> Option<(usize, &'a RetainedLog)> {
    facts
        .host
        .logs
        .iter()
        .enumerate()
        .find(|(_, log)| log.facts.log_dir == wanted.0 && log.facts.dir_name == wanted.1)
}
