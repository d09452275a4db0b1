//! The table of logs, as the recovery pane and the overview show it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::state::{Direction, LogColumn, LogRow, World};
use crate::app::{State, text, words};
use crate::engine::LogState;
use crate::tui::canvas::{Pen, width};
use crate::tui::theme::Theme;

use super::sortable_table::{Align, Cell, Column, Cursor, Mark, SortableTable, TableRow};

/// Columns from which on there is room for where a log ends.
const ROOM_FOR_OFFSETS: u16 = 104;

/// Draws the logs in the order of the state's table.
///
/// ```text
///  PARTITION   DIR    STATE▲    SEGMENTS          BYTES  OFFSETS               FINDING
/// ›payments-1  data1  ASK            3/4     191/256 KiB  would lose 1 seg.     CRC mismatch at 31.0 KiB (+1)
/// ```
pub fn log_table(
    table: &mut SortableTable,
    state: &State,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let world = state.shown();
    let view = &state.view.table;
    let columns: Vec<LogColumn> = LogColumn::ALL
        .into_iter()
        .filter(|column| *column != LogColumn::Offsets || area.width >= ROOM_FOR_OFFSETS)
        .collect();
    let widths = Widths::of(world, area.width);
    let shown: Vec<Column> = columns
        .iter()
        .map(|&column| Column {
            title: column.title(),
            width: widths.of_column(column),
            align: align(column),
            arrow: (column == view.sort).then(|| arrow(column, view.direction)),
        })
        .collect();
    let order = view.order();
    table.render(
        &mut Pen { buf, theme, area },
        &shown,
        (order.len(), view.cursor()),
        |index| {
            let row = order.get(index).and_then(|&id| world.logs.row(id));
            TableRow {
                cells: row.map_or_else(Vec::new, |row| {
                    let cell = |&column: &LogColumn| cell(world, theme, row, column);
                    columns.iter().map(cell).collect()
                }),
                cursor: if row.is_some_and(|row| Some(row.id) == view.selected()) {
                    Cursor::Here
                } else {
                    Cursor::Elsewhere
                },
                mark: if row.is_some_and(|row| view.marks.contains(&row.id)) {
                    Mark::Marked
                } else {
                    Mark::None
                },
            }
        },
    );
}

/// What names need.
struct Widths {
    partition: u16,
    dir: u16,
    bytes: u16,
}

impl Widths {
    fn of(world: &World, room: u16) -> Self {
        let name = u16::try_from(world.logs.longest_name()).unwrap_or(u16::MAX);
        let labels = world.logs.dirs.iter().map(|dir| width(&dir.label));
        Self {
            partition: name.clamp(9, (room / 4).clamp(12, 48)),
            // While a scan runs there are two numbers in this column.
            bytes: if world.booting().is_some()
                || world.running().is_some_and(|work| !work.is_apply())
            {
                13
            } else {
                9
            },
            dir: labels.max().unwrap_or(0).clamp(3, (room / 8).clamp(6, 24)),
        }
    }

    fn of_column(&self, column: LogColumn) -> u16 {
        match column {
            LogColumn::Partition => self.partition,
            LogColumn::Dir => self.dir,
            LogColumn::State => 11,
            LogColumn::Segments => 9,
            LogColumn::Bytes => self.bytes,
            LogColumn::Offsets => 28,
            LogColumn::Finding => 14,
        }
    }
}

fn align(column: LogColumn) -> Align {
    match column {
        LogColumn::Partition | LogColumn::Dir => Align::Name,
        LogColumn::Segments | LogColumn::Bytes => Align::Right,
        LogColumn::State | LogColumn::Offsets | LogColumn::Finding => Align::Left,
    }
}

fn arrow(column: LogColumn, direction: Direction) -> &'static str {
    match (column.descends(), direction) {
        (false, Direction::Natural) | (true, Direction::Turned) => "▲",
        _ => "▼",
    }
}

fn cell(world: &World, theme: &Theme, row: &LogRow, column: LogColumn) -> Cell {
    let (text, style) = match column {
        LogColumn::Partition => (row.dir_name.clone(), theme.text),
        LogColumn::Dir => {
            let label = world.logs.dir_of(row).map_or("?", |dir| &dir.label);
            (label.to_owned(), theme.dim)
        }
        LogColumn::State => (row.word().to_owned(), theme.word(row.word())),
        LogColumn::Segments => (segments(row), theme.text),
        LogColumn::Bytes => (bytes(row), theme.text),
        LogColumn::Offsets => (words::row_offsets(row, world.planned(row)), theme.text),
        LogColumn::Finding => {
            let told = row.boot.as_ref().and_then(|boot| boot.worst.as_ref());
            let style = told
                .map(|(severity, _)| *severity)
                .or_else(|| row.severity())
                .map_or(theme.dim, |worst| theme.severity(worst));
            (words::row_finding(row), style)
        }
    };
    Cell { text, style }
}

/// Segments, and how many of them were read where a scan runs or ran.
fn segments(row: &LogRow) -> String {
    if let Some(boot) = &row.boot {
        let all = boot
            .segments
            .map_or_else(|| text::UNKNOWN.to_owned(), text::count);
        return match row.state {
            Some(LogState::Waiting) => row
                .segments
                .map_or_else(|| text::UNKNOWN.to_owned(), text::count),
            Some(LogState::Done) if boot.segments.is_none() => row
                .segments
                .map_or_else(|| text::UNKNOWN.to_owned(), text::count),
            _ => format!("{}/{all}", row.segments_read),
        };
    }
    match (row.segments, row.state) {
        (None, _) => text::UNKNOWN.to_owned(),
        (Some(all), None) => text::count(all),
        (Some(all), Some(_)) => format!("{}/{}", row.segments_read, text::count(all)),
    }
}

fn bytes(row: &LogRow) -> String {
    if let (Some(boot), Some(LogState::Scanning)) = (&row.boot, row.state) {
        let all = boot.bytes.map_or_else(
            || text::UNKNOWN.to_owned(),
            |all| text::bytes_of(row.bytes_read, all),
        );
        return all;
    }
    match row.bytes {
        None => text::UNKNOWN.to_owned(),
        Some(all) if row.word() == "scanning" => text::bytes_of(row.bytes_read, all),
        Some(all) => text::bytes(all),
    }
}
