//! Pane 3: what retention does with each segment, and why.
//!
//! ```text
//!  orders-7 on /d/data2 · 48 segments · 47.6 GiB · goes 4.00 GiB · held 0 B
//!  retention.bytes 40.0 GiB (topic) · retention.ms 7 d 0 h (dynamic default) · delete (default)
//!  ████▓▓▓▓▓▓▓▓░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
//!  bytes: 0 .. 47.6 GiB · █ 4 delete · ▓ 8 next 24 h · ▒ 0 held · ░ 36 keep
//!  BASE OFFSET       SIZE    OFFSETS  LARGEST TS (UTC)       AGE  VERDICT
//! ›  47,104,000  1.00 GiB    301,223  2026-11-22 09:31  8 d 4 h  DELETE time: 1 d 4 h over
//! ```
//!
//! `Esc` leads to the topics of the host: what goes, what is held and why.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::app::retention_words as words;
use crate::app::state::{
    Freeing, MapCell, MapScale, Overlay, RetentionFacts, SegmentsView, WhatIfField,
};
use crate::app::{Action, State, live_words, text};
use crate::plan::retention::{LogRetention, RetainedLog, RetentionVerdict};
use crate::terms::Timestamp;
use crate::tui::canvas::{Pen, cut, put, put_right, width};
use crate::tui::keymap::{self, Binding};
use crate::tui::pane::Pane;
use crate::tui::theme::Theme;
use crate::tui::widgets::{Align, Column, Cursor, Mark, SortableTable, TableRow};

use super::segment_rows::{host_cells, leftover_cells, segment_cells};

/// Columns from which on the offsets of a segment are shown.
const ROOM_FOR_OFFSETS: u16 = 100;

/// The segments pane.
#[derive(Debug, Default)]
pub struct SegmentsPane {
    topics: SortableTable,
    segments: SortableTable,
}

impl Pane for SegmentsPane {
    fn render(&mut self, state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
        let view = &state.view.segments;
        let Some(facts) = &state.shown().retention else {
            put(buf, area, (1, 1), &nothing(view), theme.dim);
            return;
        };
        let mut pen = Pen { buf, theme, area };
        match view.open_log(facts) {
            Some((number, log)) => self.log(state, facts, (number, log), &mut pen),
            None => self.host(state, facts, &mut pen),
        }
    }

    fn on_key(&self, state: &State, key: KeyEvent) -> Option<Action> {
        let page = match state.view.segments.open {
            Some(_) => self.segments.height(),
            None => self.topics.height(),
        };
        keymap::find(&keymap::SEGMENTS, key, page)
            .or_else(|| keymap::find(&keymap::MOVES, key, page))
    }

    fn bindings(&self, _: &State) -> Vec<&'static Binding> {
        keymap::SEGMENTS.iter().chain(&keymap::MOVES).collect()
    }
}

/// Says why there is nothing to see.
fn nothing(view: &SegmentsView) -> String {
    match (&view.error, view.is_reading) {
        (_, true) => "Names, sizes, checkpoints and the ends of indexes are being read.".to_owned(),
        (Some(cause), false) => format!("They could not be read: {cause}"),
        (None, false) => "Not read yet: r reads them.".to_owned(),
    }
}

impl SegmentsPane {
    /// Draws one log.
    fn log(
        &mut self,
        state: &State,
        facts: &RetentionFacts,
        (number, log): (usize, &RetainedLog),
        pen: &mut Pen<'_>,
    ) {
        let (view, theme) = (&state.view.segments, pen.theme);
        let Some(judged) = view.judged().logs.get(number) else {
            return;
        };
        let of = &log.facts;
        let title = format!(
            "{} · {} · {} · goes {} · held {} · in {}",
            of.dir_name,
            text::plural(of.segments.len() as u64, "segment", "segments"),
            text::bytes(of.bytes()),
            text::bytes(judged.totals.delete.bytes),
            text::bytes(judged.totals.held.bytes),
            of.log_dir.display(),
        );
        head(pen, &title, &words::limits(log), &age(state, facts));
        let width = pen.area.width.saturating_sub(2);
        for (x, cell) in (1..).zip(view.map(facts, number, width)) {
            let (symbol, style) = map_symbol(cell, theme);
            pen.put((x, 2), symbol, style);
        }
        legend(pen, view, (log, judged), facts.host.now);
        let sources = words::sources(log, &facts.sources, state.now);
        let sources = cut(&sources, pen.area.width.saturating_sub(2));
        pen.put((1, 4), &sources, theme.dim);
        let line = 1 + what_if_line(state, pen);
        let line = line + freed_line(state, 4 + line, Some(&of.topic_partition.topic), pen);
        let table = Rect {
            y: pen.area.y + 4 + line,
            height: pen.area.height.saturating_sub(4 + line),
            ..pen.area
        };
        let wide = pen.area.width >= ROOM_FOR_OFFSETS;
        let mut columns = vec![
            column("BASE OFFSET", 15, Align::Right),
            column("SIZE", 9, Align::Right),
        ];
        if wide {
            columns.push(column("OFFSETS", 11, Align::Right));
        }
        columns.push(column("LARGEST TS", 17, Align::Left));
        if wide {
            columns.push(column("AGE", 10, Align::Right));
        }
        columns.push(column("VERDICT", 20, Align::Left));
        let cursor = view.segment_cursor(log);
        self.segments.render(
            &mut Pen {
                buf: pen.buf,
                theme,
                area: table,
            },
            &columns,
            (of.segments.len() + of.leftovers.len(), cursor),
            |index| TableRow {
                cells: match index.checked_sub(of.segments.len()) {
                    Some(number) => leftover_cells(facts, log, number, (theme, wide)),
                    None => segment_cells(facts, (log, judged), index, (theme, wide)),
                },
                cursor: here(cursor == Some(index)),
                mark: Mark::None,
            },
        );
    }

    /// Draws the topics of the host.
    fn host(&mut self, state: &State, facts: &RetentionFacts, pen: &mut Pen<'_>) {
        let (view, theme) = (&state.view.segments, pen.theme);
        let judged = view.judged();
        let title = format!(
            "{} · goes {} · in 24 h {} · held {} · {}, {} · followed: goes {}",
            text::bytes(judged.totals.all.bytes),
            text::bytes(judged.totals.delete.bytes),
            text::bytes(judged.totals.next_day.bytes),
            text::bytes(judged.totals.held.bytes),
            text::plural(judged.topics.len() as u64, "topic", "topics"),
            text::plural(judged.logs.len() as u64, "log", "logs"),
            text::bytes(judged.followed),
        );
        let dirty = judged.logs.iter().filter_map(|log| log.dirty);
        let backlog = match dirty.map(|dirty| dirty.dirty_bytes).sum::<u64>() {
            0 => String::new(),
            bytes => format!("compaction backlog {} · ", text::bytes(bytes)),
        };
        let silence = match &facts.sources.silence {
            Some(why) => format!(" · not asked: {why}"),
            None => String::new(),
        };
        let source = format!("{backlog}settings of {}{silence}", facts.settings_source);
        head(pen, &title, &source, &age(state, facts));
        let line = what_if_line(state, pen);
        let line = line + freed_line(state, 2 + line, None, pen);
        let area = Rect {
            y: pen.area.y + 2 + line,
            height: pen.area.height.saturating_sub(2 + line),
            ..pen.area
        };
        // Why something stays is worth more than how many logs there are.
        let is_wide = pen.area.width >= ROOM_FOR_OFFSETS;
        let name = if is_wide { pen.area.width / 4 } else { 18 };
        let mut columns = vec![column("TOPIC", name, Align::Name)];
        if is_wide {
            columns.push(column("LOGS", 4, Align::Right));
        }
        columns.extend([
            column("BYTES", 8, Align::Right),
            column("GOES", 8, Align::Right),
        ]);
        if is_wide {
            columns.push(column("IN 24 H", 8, Align::Right));
        }
        columns.extend([
            column("HELD", 8, Align::Right),
            column("WHY THE REST STAYS", 18, Align::Left),
        ]);
        let rows = view.rows();
        let cursor = view.host_cursor(facts);
        self.topics.render(
            &mut Pen {
                buf: pen.buf,
                theme,
                area,
            },
            &columns,
            (rows.len(), cursor),
            |index| TableRow {
                cells: rows.get(index).map_or_else(Vec::new, |row| {
                    host_cells(facts, view, row, (theme, is_wide))
                }),
                cursor: here(cursor == Some(index)),
                mark: Mark::None,
            },
        );
    }
}

fn here(is_here: bool) -> Cursor {
    if is_here {
        Cursor::Here
    } else {
        Cursor::Elsewhere
    }
}

fn column(title: &'static str, width: u16, align: Align) -> Column {
    Column {
        title,
        width,
        align,
        arrow: None,
    }
}

/// Draws two lines: what is shown, and by which settings; how old it is stands at the right.
fn head(pen: &mut Pen<'_>, title: &str, settings: &str, age: &str) {
    let (area, theme) = (pen.area, pen.theme);
    let room = area.width.saturating_sub(width(age) + 3);
    let end = pen.put((1, 0), &cut(title, room), theme.title);
    put_right(pen.buf, area, (end, 0), &format!("{age} "), theme.dim);
    let settings = cut(settings, area.width.saturating_sub(2));
    pen.put((1, 1), &settings, theme.text);
}

fn age(state: &State, facts: &RetentionFacts) -> String {
    let read = text::age(facts.at, state.now);
    if state.view.segments.is_reading {
        format!("read {read}, anew")
    } else {
        format!("read {read}")
    }
}

fn map_symbol(cell: MapCell, theme: &Theme) -> (&'static str, Style) {
    match cell {
        MapCell::Nothing => (" ", theme.text),
        MapCell::NextDay => ("▓", theme.warn),
        MapCell::Of(verdict) => (verdict_symbol(verdict), verdict_style(verdict, theme)),
    }
}

fn verdict_symbol(verdict: RetentionVerdict) -> &'static str {
    match verdict {
        RetentionVerdict::Delete => "█",
        RetentionVerdict::Held => "▒",
        RetentionVerdict::Compact => "=",
        RetentionVerdict::Keep | RetentionVerdict::Leftover => "░",
    }
}

pub(super) fn verdict_style(verdict: RetentionVerdict, theme: &Theme) -> Style {
    match verdict {
        RetentionVerdict::Delete => theme.danger,
        RetentionVerdict::Held => theme.warn,
        RetentionVerdict::Compact => theme.busy,
        RetentionVerdict::Keep | RetentionVerdict::Leftover => theme.good,
    }
}

/// Draws what the map's ends and symbols mean.
fn legend(
    pen: &mut Pen<'_>,
    view: &SegmentsView,
    (log, judged): (&RetainedLog, &LogRetention),
    now: Timestamp,
) {
    let scale = match view.scale {
        MapScale::Bytes => format!("bytes: 0 .. {}", text::bytes(log.facts.bytes())),
        MapScale::Time => {
            let times = log.facts.segments.iter();
            let first = times.map(|segment| segment.largest_timestamp).min();
            let first = first.map_or_else(|| text::UNKNOWN.to_owned(), words::day);
            format!("time: {first} .. now {}", words::day(now))
        }
    };
    let totals = judged.totals;
    let line = format!(
        "{scale} · █ {} delete · ▓ {} next 24 h · ▒ {} held · ░ {} keep",
        totals.delete.segments,
        totals.next_day.segments,
        totals.held.segments,
        totals.keep.segments
    );
    let line = match words::backlog(log, judged) {
        // What stands still is worth more than how much there is of each.
        Some(backlog) if log.gave_up.is_some() => format!("{backlog} · {line}"),
        Some(backlog) => format!("{line} · = {} compact, {backlog}", totals.compact.segments),
        None => line,
    };
    let room = pen.area.width.saturating_sub(2);
    pen.put((1, 3), &cut(&line, room), pen.theme.dim);
}

/// Draws the values that are tried, if there are any; returns how many lines they take.
fn what_if_line(state: &State, pen: &mut Pen<'_>) -> u16 {
    let what_if = &state.view.segments.what_if;
    let is_open = matches!(state.view.top(), Some(Overlay::WhatIf));
    let (wish, error) = what_if.wish();
    if !is_open && wish.is_empty() {
        return 0;
    }
    let y = match state.view.segments.open {
        Some(_) => 5,
        None => 2,
    };
    let theme = pen.theme;
    let mut x = pen.put((1, y), "WHAT IF ", theme.warn);
    let names = if pen.area.width >= ROOM_FOR_OFFSETS {
        ["retention.ms", "retention.bytes"]
    } else {
        ["ms", "bytes"]
    };
    let [ms, bytes] = names;
    for (name, input, field) in [
        (ms, &what_if.ms, WhatIfField::Ms),
        (bytes, &what_if.bytes, WhatIfField::Bytes),
    ] {
        let style = if is_open && what_if.field == field {
            theme.tab
        } else {
            theme.text
        };
        x = pen.put((x, y), name, theme.text);
        x = pen.put((x, y), &format!(" [{:<8}]", input.value()), style) + 1;
    }
    x = pen.put(
        (x, y),
        &format!("for {} ", what_if.reach.word()),
        theme.text,
    );
    let totals = state.view.segments.judged().totals;
    let words = match error {
        Some(error) => error,
        None => format!("· the host frees {}", text::bytes(totals.delete.bytes)),
    };
    let keys = if is_open {
        "  Tab ↑ ↓ Enter Esc"
    } else {
        "  w changes it, x applies it"
    };
    let room = pen.area.width.saturating_sub(x + 1);
    x = pen.put((x, y), &cut(&words, room), theme.title);
    let room = pen.area.width.saturating_sub(x + 1);
    pen.put((x, y), &cut(keys, room), theme.key);
    1
}

/// Draws what the newest change of `topic`, or of any, has freed so far, if there is one; returns how many lines that takes.
fn freed_line(state: &State, y: u16, topic: Option<&String>, pen: &mut Pen<'_>) -> u16 {
    let mut all = state.shown().freeing.iter();
    let of = |freeing: &&Freeing| topic.is_none_or(|topic| freeing.is_of(topic));
    let Some(freeing) = all.rfind(of) else {
        return 0;
    };
    let text = live_words::freed_so_far(freeing, state.now);
    let room = pen.area.width.saturating_sub(2);
    let style = pen.theme.busy;
    pen.put((1, y), &cut(&text, room), style);
    1
}
