//! Pane 6: the flows of MirrorMaker 2 and what its rules found; then a flow's partitions; then where its groups go on.
//!
//! ```text
//!  FLOW▲               STATE   TOPICS  BEHIND   LAST SYNC  CHECKPOINT   HEARTBEAT  TASKS
//! ›primary->secondary  ACTIVE      12      69       1 min       2 min       1 min  RUNNING
//!  LINTS: 2 errors, 5 warnings · 9 rules silent for want of a fact
//!  E-PURGED     race-0  retention took 25 offsets before they were copied
//! ```

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::mirror_rows::{Rows, align, detail, least_width};
use crate::app::state::{Direction, MirrorColumn, MirrorPage, MirrorView, MirrorWorld};
use crate::app::{Action, State, text};
use crate::tui::canvas::{Pen, cut, put, put_right, width, wrap};
use crate::tui::keymap::{self, Binding};
use crate::tui::pane::Pane;
use crate::tui::theme::Theme;
use crate::tui::widgets::{Cell, Column, Cursor, Mark, SortableTable, TableRow};

/// Lines that the selected row is told in.
const DETAIL: u16 = 4;
/// Rows from which on there is room for them.
const ROOM_FOR_DETAIL: u16 = 14;

/// The mirror pane.
#[derive(Debug, Default)]
pub struct MirrorPane {
    table: SortableTable,
    lints: SortableTable,
}

impl Pane for MirrorPane {
    fn render(&mut self, state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
        let view = &state.view.mirror;
        let world = match &state.shown().mirror {
            Some(Ok(world)) => world,
            Some(Err(cause)) if !view.reading => return told(cause, theme.warn, area, buf),
            _ => return told(nothing_read(state), theme.text, area, buf),
        };
        let below = if area.height >= ROOM_FOR_DETAIL {
            DETAIL
        } else {
            0
        };
        let (title, rest) = split(area, 1);
        let (list, below) = split(rest, rest.height - below);
        draw_title(state, world, (theme, title), buf);
        let rows = Rows {
            theme,
            world,
            now: world.clock.unwrap_or(state.now),
        };
        match &view.page {
            MirrorPage::Flows => self.flows(view, &rows, (list, buf)),
            page => {
                let (order, cursor) = (view.order(), view.cursor());
                if order.is_empty() {
                    told(&empty(view), theme.dim, list, buf);
                }
                let table = (&columns(view, &rows, list.width)[..], order, cursor);
                draw(&mut self.table, theme, table, (list, buf), |index| {
                    rows.cells(page, index)
                });
            }
        }
        for (y, (line, style)) in (0..).zip(detail(&rows, view, below.width)) {
            put(buf, below, (1, y), &line, style);
        }
    }

    fn on_key(&self, _: &State, key: KeyEvent) -> Option<Action> {
        let page = self.table.height().max(self.lints.height());
        keymap::find(&keymap::MIRROR, key, page).or_else(|| keymap::find(&keymap::MOVES, key, page))
    }

    fn bindings(&self, _: &State) -> Vec<&'static Binding> {
        keymap::MIRROR.iter().chain(&keymap::MOVES).collect()
    }
}

impl MirrorPane {
    /// Draws the flows, and below them what the rules found.
    fn flows(&mut self, view: &MirrorView, rows: &Rows<'_>, (area, buf): (Rect, &mut Buffer)) {
        let (theme, world) = (rows.theme, rows.world);
        let all = view.order();
        let first_lint = all.partition_point(|index| *index < world.flows.len());
        let (flows, lints) = all.split_at(first_lint);
        let cursor = view.cursor();
        let height = u16::try_from(flows.len())
            .unwrap_or(u16::MAX)
            .saturating_add(1);
        let (top, rest) = split(area, height.min(area.height / 2).max(2));
        let here = cursor.filter(|cursor| *cursor < flows.len());
        let table = (&columns(view, rows, top.width)[..], flows, here);
        draw(&mut self.table, theme, table, (top, buf), |index| {
            rows.cells(&MirrorPage::Flows, index)
        });
        let (title, rest) = split(rest, 1);
        let (errors, warnings) = world.lint_counts();
        let counted = format!(
            "LINTS: {}, {} · {} silent for want of a fact",
            text::plural(errors as u64, "error", "errors"),
            text::plural(warnings as u64, "warning", "warnings"),
            text::plural(world.silent as u64, "rule", "rules")
        );
        put(buf, title, (1, 0), &cut(&counted, title.width), theme.title);
        let here = cursor.and_then(|cursor| cursor.checked_sub(flows.len()));
        let table = (&lint_columns(rows)[..], lints, here);
        draw(&mut self.lints, theme, table, (rest, buf), |index| {
            rows.cells(&MirrorPage::Flows, index)
        });
    }
}

/// Returns the upper `height` lines of an area, and the others.
fn split(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    let upper = Rect { height, ..area };
    let lower = Rect {
        y: area.y + height,
        height: area.height - height,
        ..area
    };
    (upper, lower)
}

/// Returns the columns of the page; names take what room they need, as far as there is some.
fn columns(view: &MirrorView, rows: &Rows<'_>, room: u16) -> Vec<Column> {
    let sort = view.sort();
    let column = |column: &MirrorColumn| Column {
        title: column.title(),
        width: least_width(*column),
        align: align(*column),
        arrow: (*column == sort.column).then(|| arrow(*column, sort.direction)),
    };
    let mut columns: Vec<Column> = view.page.columns().iter().map(column).collect();
    let used: u16 = columns.iter().map(|column| column.width + 1).sum();
    let mut spare = room.saturating_sub(used + 1);
    for (shown, named) in columns.iter_mut().zip(view.page.columns()) {
        let needed = rows.longest(&view.page, *named);
        let more = needed.saturating_sub(shown.width).min(spare);
        shown.width += more;
        spare -= more;
    }
    columns
}

fn lint_columns(rows: &Rows<'_>) -> [Column; 3] {
    let places = rows.world.lints.iter().map(super::mirror_rows::place);
    let place = places.map(|place| width(&place)).max().unwrap_or(0);
    let titles = [("RULE", 16), ("WHERE", place.clamp(12, 26)), ("WHAT", 20)];
    titles.map(|(title, width)| Column {
        title,
        width,
        align: crate::tui::widgets::Align::Left,
        arrow: None,
    })
}

fn arrow(column: MirrorColumn, direction: Direction) -> &'static str {
    match (column.descends(), direction) {
        (false, Direction::Natural) | (true, Direction::Turned) => "▲",
        _ => "▼",
    }
}

/// Draws the rows of a table that are on screen.
fn draw(
    table: &mut SortableTable,
    theme: &Theme,
    (columns, order, cursor): (&[Column], &[usize], Option<usize>),
    (area, buf): (Rect, &mut Buffer),
    cells: impl Fn(usize) -> Vec<Cell>,
) {
    let mut pen = Pen { buf, theme, area };
    table.render(&mut pen, columns, (order.len(), cursor), |place| TableRow {
        cells: order
            .get(place)
            .map_or_else(Vec::new, |index| cells(*index)),
        cursor: if Some(place) == cursor {
            Cursor::Here
        } else {
            Cursor::Elsewhere
        },
        mark: Mark::None,
    });
}

/// Draws what the page is of, how old that is, and the filter.
fn draw_title(state: &State, world: &MirrorWorld, (theme, area): (&Theme, Rect), buf: &mut Buffer) {
    let view = &state.view.mirror;
    let badge = if view.filter.is_active() {
        format!(" FILTER /{}/ ", view.filter.text())
    } else {
        String::new()
    };
    let age = match world.read_at {
        _ if view.reading => "being read anew".to_owned(),
        Some(at) => format!("read {}", text::age(at, world.clock.unwrap_or(state.now))),
        None => "from MirrorMaker 2's file alone".to_owned(),
    };
    let page = match &view.page {
        MirrorPage::Flows => "MirrorMaker 2".to_owned(),
        MirrorPage::Partitions(name) => format!("{name} · what is copied"),
        MirrorPage::Groups(name, topic) => {
            let readers = topic
                .as_ref()
                .map_or_else(String::new, |topic| format!(" that reads {topic}"));
            let source = &name.source;
            format!("{name} · where each group{readers} goes on if {source} is gone")
        }
    };
    let room = area.width.saturating_sub(width(&badge) + 2);
    let title = cut(&format!("{page} · {age}"), room);
    let end = put(buf, area, (1, 0), &title, theme.title);
    put_right(buf, area, (end, 0), &badge, theme.marked);
}

fn told(sentence: &str, style: Style, area: Rect, buf: &mut Buffer) {
    let lines = wrap(sentence, area.width.saturating_sub(2));
    for (y, line) in (1..).zip(lines) {
        put(buf, area, (1, y), &line, style);
    }
}

fn empty(view: &MirrorView) -> String {
    match &view.page {
        _ if view.filter.is_active() => "The filter hides all rows: Esc drops it.".to_owned(),
        MirrorPage::Flows => "No flow is known.".to_owned(),
        MirrorPage::Partitions(name) => {
            format!("{name} copies no partition that is known here.")
        }
        MirrorPage::Groups(..) => "No group has a commit or a checkpoint here.".to_owned(),
    }
}

fn nothing_read(state: &State) -> &'static str {
    if state.view.mirror.reading {
        "The topics of MirrorMaker 2 and of the groups are being read."
    } else {
        "r reads what this broker's log dirs say of MirrorMaker 2: its offset syncs, checkpoints, heartbeats and \
         connectors, and the groups' commits; beside a running broker at 50 MiB/s. Both clusters together: krescue \
         mirror failover SOURCE->TARGET --cluster ALIAS=DIR --cluster ALIAS=DIR."
    }
}
