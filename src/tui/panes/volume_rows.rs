//! Rows of the volumes pane.

use ratatui::style::Style;

use crate::app::state::{Direction, UsageItem, UsageKey, VolumeColumn, VolumesFacts};
use crate::app::volume_words as words;
use crate::app::{State, text};
use crate::plan::volumes::{DirState, VolumeRow};
use crate::tui::canvas::width;
use crate::tui::theme::Theme;
use crate::tui::widgets::{Align, Cell, Column};

/// Columns from which on mount, file system and size are shown too.
const ROOM_FOR_MOUNT: u16 = 110;
/// Columns of a bar.
pub(super) const BAR: u16 = 12;

/// Returns the arrow of the column that decides the order.
pub(super) fn arrow(column: VolumeColumn, direction: Direction) -> &'static str {
    if column.descends() == (direction == Direction::Natural) {
        "▼"
    } else {
        "▲"
    }
}

/// What a column of the log dirs shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// What it can be sorted by.
    Sorted(VolumeColumn),
    /// Where the volume is mounted.
    Mount,
    /// Its file system.
    Fs,
}

/// Returns the columns that there is room for, the most needed ones first where there is little.
pub(super) fn dir_columns(state: &State, facts: &VolumesFacts, room: u16) -> Vec<(Of, Column)> {
    let sort = state.view.volumes.of_dirs;
    let world = state.shown();
    let rows = facts.report.rows.iter();
    let longest = rows
        .clone()
        .map(|row| width(&words::label(world, &row.facts.dir)))
        .max();
    let mounts =
        rows.filter_map(|row| Some(width(&row.facts.mount_point.as_ref()?.to_string_lossy())));
    let mount = mounts.max().unwrap_or(0).clamp(5, room / 6);
    let column = |title, of: Of, width, align| {
        let arrow = match of {
            Of::Sorted(column) if column == sort.column && column != VolumeColumn::Name => {
                Some(arrow(column, sort.direction))
            }
            _ => None,
        };
        let column = Column {
            title,
            width,
            align,
            arrow,
        };
        (of, column)
    };
    let sorted = |title, of, width, align| column(title, Of::Sorted(of), width, align);
    let mut columns = vec![sorted(
        "DIR",
        VolumeColumn::Name,
        longest.unwrap_or(5).clamp(5, room / 5),
        Align::Name,
    )];
    let is_wide = room >= ROOM_FOR_MOUNT;
    if is_wide {
        columns.push(column("MOUNT", Of::Mount, mount, Align::Name));
    }
    columns.push(sorted("STATE", VolumeColumn::State, 11, Align::Left));
    if is_wide {
        columns.push(column("FS", Of::Fs, 7, Align::Left));
        columns.push(sorted("SIZE", VolumeColumn::Size, 8, Align::Right));
    }
    columns.push(sorted("FREE", VolumeColumn::Free, 8, Align::Right));
    columns.push(sorted("USED", VolumeColumn::Used, 6, Align::Right));
    columns.push(sorted("KAFKA", VolumeColumn::Kafka, 8, Align::Right));
    columns.push(sorted("FOREIGN", VolumeColumn::Foreign, 8, Align::Right));
    if is_wide {
        columns.push(sorted(
            "IMBALANCE",
            VolumeColumn::Imbalance,
            10,
            Align::Right,
        ));
    }
    columns.push(sorted("FULL IN", VolumeColumn::FullIn, 16, Align::Left));
    columns
}

fn state_style(row: &VolumeRow, theme: &Theme) -> Style {
    match row.state {
        DirState::Online => theme.good,
        DirState::Cordoned => theme.warn,
        _ => theme.danger,
    }
}

/// Returns one cell of a log dir.
pub(super) fn dir_cell(state: &State, row: &VolumeRow, of: Of, theme: &Theme) -> Cell {
    let facts = &row.facts;
    let space = facts.space;
    let unknown = || text::UNKNOWN.to_owned();
    let full = if row.is_full() {
        theme.danger
    } else {
        theme.text
    };
    let is_whole = facts.usage.is_whole;
    let counted = |bytes: u64| {
        let more = if is_whole { "" } else { "…" };
        format!("{}{more}", text::bytes(bytes))
    };
    let (text, style) = match of {
        Of::Mount => (
            facts
                .mount_point
                .as_ref()
                .map_or_else(unknown, |path| path.display().to_string()),
            theme.text,
        ),
        Of::Fs => (facts.fs_type.clone().unwrap_or_else(unknown), theme.text),
        Of::Sorted(column) => match column {
            VolumeColumn::Name => (words::label(state.shown(), &facts.dir), theme.text),
            VolumeColumn::State => (row.state.word().to_owned(), state_style(row, theme)),
            VolumeColumn::Size => (words::known(space.map(|space| space.total)), theme.text),
            VolumeColumn::Free => (words::known(space.map(|space| space.free)), full),
            VolumeColumn::Used => (
                space.map_or_else(unknown, |space| format!("{} %", space.used_percent())),
                full,
            ),
            VolumeColumn::Kafka => (counted(row.kafka()), theme.text),
            VolumeColumn::Foreign => (words::known(row.foreign), theme.text),
            VolumeColumn::Imbalance => (
                row.imbalance
                    .map_or_else(|| "-".to_owned(), |percent| format!("{percent:+} %")),
                theme.text,
            ),
            _ => (words::full_in(row), full),
        },
    };
    Cell { text, style }
}

/// Returns the cells of something that fills a log dir; `sum` is what all of the list takes, `most` the largest.
pub(super) fn item_cells(
    state: &State,
    item: &UsageItem,
    (sum, most): (u64, u64),
    (theme, wide): (&Theme, bool),
) -> Vec<Cell> {
    let plain = |text: String| Cell {
        text,
        style: theme.text,
    };
    let share = text::percent(item.usage.allocated, sum);
    let is_leftover = matches!(&item.key, UsageKey::Kind(kind) if kind.is_leftover());
    let mut cells = vec![
        Cell {
            text: item.name(),
            style: if is_leftover { theme.warn } else { theme.text },
        },
        plain(text::bytes(item.usage.allocated)),
        plain(share.map_or_else(|| "-".to_owned(), |share| share.to_string())),
    ];
    if wide {
        let full = u128::from(item.usage.allocated) * u128::from(BAR) / u128::from(most.max(1));
        let full = usize::try_from(full).unwrap_or(0).min(usize::from(BAR));
        let rest = usize::from(BAR) - full;
        cells.push(Cell {
            text: format!("{}{}", "█".repeat(full), "░".repeat(rest)),
            style: theme.bar,
        });
    }
    cells.push(plain(text::bytes(item.usage.len)));
    cells.push(plain(text::count(item.usage.files)));
    if wide {
        let written = item.written_at.map(|at| text::age(at, state.now));
        cells.push(plain(written.unwrap_or_else(|| "-".to_owned())));
    }
    cells.push(Cell {
        text: words::item_note(item),
        style: theme.dim,
    });
    cells
}
