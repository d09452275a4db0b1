//! Pane 4: the volumes of the log dirs, what fills them, and until when.
//!
//! ```text
//!  2 log dirs on 2 volumes · Kafka 2.79 TiB · leftovers 96.0 GiB                                  looked 3 s ago
//!  DIR    MOUNT          STATE    FS   SIZE      FREE     USED   KAFKA     FOREIGN   IMBALANCE  FULL IN
//! ›data1  /var/lib/k1    offline  xfs  1.80 TiB  0 B      100 %  1.79 TiB  4.10 GiB      +31 %  FULL
//!  data2  /var/lib/k2    online   xfs  1.80 TiB  820 GiB   56 %  1.00 TiB   200 MiB      −31 %  9 d / 21 d
//!
//!  data1   topics 1.61 TiB · leftovers 96.0 GiB (-delete 71.0 GiB, -stray 22.0 GiB) · __* 84.0 GiB · not Kafka 4.10 GiB
//!          offline since 2026-11-30T13:46:02Z (16 min ago), first error: java.io.IOException: No space left on device
//! ```
//!
//! `Enter` walks in by kind, topic, partition and segment; `Esc` leads out.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::app::state::{UsageKey, VolumeColumn, VolumesFacts, VolumesView};
use crate::app::volume_words as words;
use crate::app::{Action, State, text};
use crate::log::Severity;
use crate::plan::volumes::VolumeRow;
use crate::tui::canvas::{Pen, cut, put, put_right, width, wrap};
use crate::tui::keymap::{self, Binding};
use crate::tui::pane::Pane;
use crate::tui::theme::Theme;
use crate::tui::widgets::{Align, Column, Cursor, Mark, SortableTable, TableRow};

use super::volume_rows::{BAR, arrow, dir_cell, dir_columns, item_cells};

/// Columns from which on bars are drawn.
const ROOM_FOR_BAR: u16 = 100;

/// The volumes pane.
#[derive(Debug, Default)]
pub struct VolumesPane {
    dirs: SortableTable,
    items: SortableTable,
}

impl Pane for VolumesPane {
    fn render(&mut self, state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
        let view = &state.view.volumes;
        let Some(facts) = &state.shown().volumes else {
            put(buf, area, (1, 1), &nothing(view), theme.dim);
            return;
        };
        let mut pen = Pen { buf, theme, area };
        match (&view.open, view.dir(&facts.report)) {
            (Some(_), Some(row)) => self.inside(state, facts, row, &mut pen),
            _ => self.overview(state, facts, &mut pen),
        }
    }

    fn on_key(&self, state: &State, key: KeyEvent) -> Option<Action> {
        let page = match state.view.volumes.open {
            Some(_) => self.items.height(),
            None => self.dirs.height(),
        };
        keymap::find(&keymap::VOLUMES, key, page)
            .or_else(|| keymap::find(&keymap::MOVES, key, page))
    }

    fn bindings(&self, _: &State) -> Vec<&'static Binding> {
        keymap::VOLUMES.iter().chain(&keymap::MOVES).collect()
    }
}

/// Says why there is nothing to see.
fn nothing(view: &VolumesView) -> String {
    match (&view.error, view.is_reading) {
        (_, true) => "The volumes are being looked at.".to_owned(),
        (Some(cause), false) => format!("They could not be looked at: {cause}"),
        (None, false) => "Not looked at yet: r does.".to_owned(),
    }
}

impl VolumesPane {
    /// Draws the log dirs, and what fills the selected one below them.
    fn overview(&mut self, state: &State, facts: &VolumesFacts, pen: &mut Pen<'_>) {
        let (view, theme) = (&state.view.volumes, pen.theme);
        let report = &facts.report;
        let volumes = report.rows.iter().filter(|row| row.shares_with.is_none());
        let kafka = report.rows.iter().map(VolumeRow::kafka).sum();
        let leftovers = report
            .rows
            .iter()
            .map(|row| row.leftovers().allocated)
            .sum();
        let next = report.rows.iter().find(|row| row.takes_next);
        let next = next.map_or_else(String::new, |row| {
            let label = words::label(state.shown(), &row.facts.dir);
            format!(" · next replica: {label}")
        });
        let title = format!(
            "{} on {} · Kafka {} · leftovers {}{next}",
            text::plural(report.rows.len() as u64, "log dir", "log dirs"),
            text::plural(volumes.count() as u64, "volume", "volumes"),
            text::bytes(kafka),
            text::bytes(leftovers),
        );
        head(pen, &title, &age(state, facts));
        let rows = u16::try_from(view.dirs().len()).unwrap_or(u16::MAX);
        // At least half of the pane tells of the selected dir.
        let height = rows
            .saturating_add(1)
            .min((pen.area.height.saturating_sub(1) / 2).max(2));
        let table = Rect {
            y: pen.area.y + 1,
            height,
            ..pen.area
        };
        let columns = dir_columns(state, facts, pen.area.width);
        let titles: Vec<Column> = columns.iter().map(|(_, column)| *column).collect();
        let cursor = view.dir_cursor(report);
        self.dirs.render(
            &mut Pen {
                buf: pen.buf,
                theme,
                area: table,
            },
            &titles,
            (view.dirs().len(), cursor),
            |place| {
                let number = view.dirs().get(place);
                let row = number.and_then(|number| report.rows.get(*number));
                TableRow {
                    cells: row.map_or_else(Vec::new, |row| {
                        columns
                            .iter()
                            .map(|(of, _)| dir_cell(state, row, *of, theme))
                            .collect()
                    }),
                    cursor: here(cursor == Some(place)),
                    mark: Mark::None,
                }
            },
        );
        if let Some(row) = view.dir(report) {
            let below = Rect {
                y: table.bottom() + 1,
                height: pen.area.height.saturating_sub(height + 2),
                ..pen.area
            };
            tell(
                state,
                facts,
                row,
                &mut Pen {
                    buf: pen.buf,
                    theme,
                    area: below,
                },
            );
        }
    }

    /// Draws what fills the place that was entered.
    fn inside(&mut self, state: &State, facts: &VolumesFacts, row: &VolumeRow, pen: &mut Pen<'_>) {
        let (view, theme) = (&state.view.volumes, pen.theme);
        let items = view.items();
        let sum: u64 = items.iter().map(|item| item.usage.allocated).sum();
        let (marks, marked) = view.marked();
        let marks = match marks {
            0 => String::new(),
            marks => format!(" · {marks} marked, {}", text::bytes(marked)),
        };
        let place = place(state, row);
        let title = format!("{place} · {}{marks}", text::bytes(sum));
        head(pen, &title, &age(state, facts));
        let wide = pen.area.width >= ROOM_FOR_BAR;
        let sort = view.of_items;
        let column = |title, of: VolumeColumn, width, align| Column {
            title,
            width,
            align,
            arrow: (of == sort.column).then(|| arrow(of, sort.direction)),
        };
        let name = (pen.area.width / 4).clamp(16, 60);
        let mut columns = vec![
            column("NAME", VolumeColumn::Name, name, Align::Name),
            column("BYTES", VolumeColumn::Bytes, 9, Align::Right),
            column("%", VolumeColumn::Used, 3, Align::Right),
        ];
        if wide {
            columns.push(column("", VolumeColumn::Used, BAR, Align::Left));
        }
        columns.push(column("LENGTH", VolumeColumn::Length, 9, Align::Right));
        columns.push(column("FILES", VolumeColumn::Files, 7, Align::Right));
        if wide {
            columns.push(column("WRITTEN", VolumeColumn::Written, 13, Align::Right));
        }
        columns.push(column("", VolumeColumn::State, 16, Align::Left));
        let most = items.iter().map(|item| item.usage.allocated).max();
        let cursor = view.item_cursor();
        let table = Rect {
            y: pen.area.y + 1,
            height: pen.area.height.saturating_sub(1),
            ..pen.area
        };
        if items.is_empty() {
            pen.put((1, 2), &empty(view), theme.dim);
            return;
        }
        self.items.render(
            &mut Pen {
                buf: pen.buf,
                theme,
                area: table,
            },
            &columns,
            (items.len(), cursor),
            |at| {
                let item = items.get(at);
                let is_marked = item.is_some_and(|item| view.is_marked(item));
                TableRow {
                    cells: item.map_or_else(Vec::new, |item| {
                        item_cells(state, item, (sum, most.unwrap_or(0)), (theme, wide))
                    }),
                    cursor: here(cursor == Some(at)),
                    mark: if is_marked { Mark::Marked } else { Mark::None },
                }
            },
        );
    }
}

/// Says why a place has nothing in it.
fn empty(view: &VolumesView) -> String {
    if view.filter.is_active() {
        return "Nothing fits the filter: Esc drops it.".to_owned();
    }
    match (view.path.last(), &view.files) {
        (Some(UsageKey::Log(_)), None) => "Its files are being listed.".to_owned(),
        (Some(UsageKey::Log(_)), Some(of)) => match &of.files {
            Err(cause) => format!("Its files cannot be listed: {cause}"),
            Ok(_) => "It has no such file any more.".to_owned(),
        },
        _ => "Nothing lies here.".to_owned(),
    }
}

/// Returns the way to the place that was entered.
fn place(state: &State, row: &VolumeRow) -> String {
    let mut parts = vec![words::label(state.shown(), &row.facts.dir)];
    for key in &state.view.volumes.path {
        parts.push(match key {
            UsageKey::Kind(kind) => kind.word().to_owned(),
            UsageKey::Topic(name)
            | UsageKey::Log(name)
            | UsageKey::Entry(name)
            | UsageKey::File(name) => name.clone(),
            UsageKey::Segment(base) => base.to_string(),
        });
    }
    parts.join(" › ")
}

fn here(is_here: bool) -> Cursor {
    if is_here {
        Cursor::Here
    } else {
        Cursor::Elsewhere
    }
}

fn head(pen: &mut Pen<'_>, title: &str, age: &str) {
    let (area, theme) = (pen.area, pen.theme);
    let room = area.width.saturating_sub(width(age) + 3);
    let end = pen.put((1, 0), &cut(title, room), theme.title);
    put_right(pen.buf, area, (end, 0), &format!("{age} "), theme.dim);
}

fn age(state: &State, facts: &VolumesFacts) -> String {
    if !facts.report.is_whole() {
        return format!(
            "{} of {} dirs",
            text::count(facts.dirs_done),
            text::count(facts.dirs_total)
        );
    }
    let seen = text::age(facts.at, state.now);
    let again = if state.view.volumes.is_reading {
        ", anew"
    } else {
        ""
    };
    format!("looked {seen}{again}")
}

/// Tells of the selected log dir: what fills it, how it stands, how it grows, what else is to be known.
fn tell(state: &State, facts: &VolumesFacts, row: &VolumeRow, pen: &mut Pen<'_>) {
    let theme = pen.theme;
    let label = words::label(state.shown(), &row.facts.dir);
    let mut lines: Vec<(String, Style)> = vec![(words::fills(row), theme.text)];
    if let Some(line) = words::state_line(row, state.now) {
        lines.push((line, theme.danger));
    }
    let logical = row.kinds.kafka().len;
    lines.push((
        format!(
            "allocated {}, lengths {} · {}",
            text::bytes(row.kafka()),
            text::bytes(logical),
            words::rates(row)
        ),
        theme.dim,
    ));
    for finding in facts.report.findings(row) {
        let is_told = words::state_line(row, state.now).is_some()
            && finding.code == crate::log::FindingCode::LogDir
            && finding.severity == Severity::Loss;
        if is_told {
            continue;
        }
        let style = match finding.severity {
            Severity::Routine => theme.text,
            Severity::Warning => theme.warn,
            Severity::Loss | Severity::Fatal => theme.danger,
        };
        let file = finding.file.as_ref().map(|file| format!("{file}: "));
        let text = format!("{}{}", file.unwrap_or_default(), finding.text);
        lines.push((text, style));
        if !finding.next.is_empty() {
            lines.push((format!("  {}", finding.next), theme.key));
        }
    }
    let indent = width(&label) + 3;
    let room = pen.area.width.saturating_sub(indent + 1);
    pen.put((1, 0), &label, theme.title);
    let mut y = 0;
    for (text, style) in lines {
        for part in wrap(&text, room) {
            pen.put((indent, y), &part, style);
            y += 1;
        }
    }
}
