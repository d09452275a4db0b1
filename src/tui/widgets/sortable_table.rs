//! A table that formats only the rows on screen, keeps the cursor by key and drops columns that do not fit.

use ratatui::style::Style;

use crate::tui::canvas::{Pen, cut, cut_middle, width};

/// On which side of its column a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Left; cut at its end.
    Left,
    /// Left; cut in its middle, since its end tells it apart.
    Name,
    /// Right: numbers.
    Right,
}

/// One column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// Its width; the last column, or the first where the last was dropped, takes what is left.
    pub width: u16,
    /// The side.
    pub align: Align,
    /// An arrow, if the table is sorted by it.
    pub arrow: Option<&'static str>,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// How.
    pub style: Style,
}

/// Whether the cursor is on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cursor {
    /// It is.
    Here,
    /// It is not.
    Elsewhere,
}

/// Whether a row is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It is.
    Marked,
    /// It is not.
    None,
}

/// One row on screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRow {
    /// Its cells, one a column.
    pub cells: Vec<Cell>,
    /// Whether the cursor is on it.
    pub cursor: Cursor,
    /// Whether it is marked.
    pub mark: Mark,
}

/// Where a table stands on screen; lives as long as its pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SortableTable {
    /// The first row on screen.
    offset: usize,
    /// The cursor's row when it was last drawn.
    cursor: Option<usize>,
    /// Rows that fitted when it was last drawn.
    height: u16,
}

impl SortableTable {
    /// Returns how many rows fit.
    pub fn height(&self) -> u16 {
        self.height
    }

    /// Draws headings and the rows around the cursor; `row` makes the row of an index.
    ///
    /// When rows move under the cursor, the cursor's row keeps its place on screen as far as it can.
    pub fn render(
        &mut self,
        pen: &mut Pen<'_>,
        columns: &[Column],
        (len, cursor): (usize, Option<usize>),
        row: impl Fn(usize) -> TableRow,
    ) {
        let (theme, area) = (pen.theme, pen.area);
        let widths = fit(columns, area.width);
        head(pen, columns, &widths);
        self.height = area.height.saturating_sub(1);
        self.scroll_to(len, cursor);
        let shown = usize::from(self.height).min(len.saturating_sub(self.offset));
        for (line, index) in (self.offset..self.offset + shown).enumerate() {
            let y = u16::try_from(line + 1).unwrap_or(u16::MAX);
            let row = row(index);
            let (mark, style) = match row.mark {
                Mark::Marked => ("●", theme.marked),
                Mark::None if row.cursor == Cursor::Here => ("›", theme.text),
                Mark::None => (" ", theme.text),
            };
            pen.put((0, y), mark, style);
            for ((column, x), cell) in columns.iter().zip(&widths).zip(&row.cells) {
                let Some((x, room)) = *x else { continue };
                write(pen, (x, y, room), column.align, cell);
            }
            if row.cursor == Cursor::Here {
                pen.fill(y, theme.selected);
            }
        }
    }

    fn scroll_to(&mut self, len: usize, cursor: Option<usize>) {
        let height = usize::from(self.height).max(1);
        if let (Some(before), Some(now)) = (self.cursor, cursor) {
            // A step by a key is small and scrolls only at the edge; a re-sort takes the window along.
            let moved = now.abs_diff(before);
            if moved > height {
                self.offset = (self.offset + now).saturating_sub(before);
            }
        }
        if let Some(cursor) = cursor {
            let first = (cursor + 1).saturating_sub(height);
            self.offset = self.offset.clamp(first, cursor);
        }
        self.offset = self.offset.min(len.saturating_sub(height));
        self.cursor = cursor;
    }
}

/// Gives each column its place: columns are dropped from the right until the rest fits.
fn fit(columns: &[Column], room: u16) -> Vec<Option<(u16, u16)>> {
    const CURSOR: u16 = 1;
    let mut shown = columns.len();
    let needed = |shown: usize| -> u16 {
        let columns = columns.iter().take(shown);
        CURSOR + columns.map(|column| column.width + 1).sum::<u16>()
    };
    while shown > 1 && needed(shown) > room {
        shown -= 1;
    }
    let left = room.saturating_sub(needed(shown));
    // The last column is the one with sentences, unless it was dropped; then the names take what is left.
    let grows = if shown == columns.len() { shown - 1 } else { 0 };
    let mut x = CURSOR;
    columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            (index < shown).then(|| {
                let width = column.width + if index == grows { left } else { 0 };
                let at = x;
                x += width + 1;
                (at, width)
            })
        })
        .collect()
}

fn head(pen: &mut Pen<'_>, columns: &[Column], widths: &[Option<(u16, u16)>]) {
    for (column, place) in columns.iter().zip(widths) {
        let Some((x, room)) = *place else { continue };
        let text = format!("{}{}", column.title, column.arrow.unwrap_or_default());
        let cell = Cell {
            text,
            style: pen.theme.title,
        };
        write(pen, (x, 0, room), column.align, &cell);
    }
}

fn write(pen: &mut Pen<'_>, (x, y, room): (u16, u16, u16), align: Align, cell: &Cell) {
    let room = room.min(pen.area.width.saturating_sub(x));
    let text = match align {
        Align::Name => cut_middle(&cell.text, room),
        Align::Left | Align::Right => cut(&cell.text, room),
    };
    let indent = match align {
        Align::Right => room.saturating_sub(width(&text)),
        Align::Left | Align::Name => 0,
    };
    pen.put((x + indent, y), &text, cell.style);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(width: u16, align: Align) -> Column {
        Column {
            title: "T",
            width,
            align,
            arrow: None,
        }
    }

    #[test]
    fn columns_are_dropped_from_the_right() {
        let columns = [
            column(10, Align::Name),
            column(5, Align::Right),
            column(20, Align::Left),
        ];
        assert_eq!(
            fit(&columns, 60),
            [Some((1, 10)), Some((12, 5)), Some((18, 41))]
        );
        assert_eq!(fit(&columns, 30), [Some((1, 22)), Some((24, 5)), None]);
        assert_eq!(fit(&columns, 12), [Some((1, 10)), None, None]);
        assert_eq!(fit(&columns, 0), [Some((1, 10)), None, None]);
    }

    #[test]
    fn the_cursor_stays_on_screen_whatever_moves() {
        let mut table = SortableTable {
            height: 5,
            ..SortableTable::default()
        };
        for (cursor, offset) in [(0, 0), (4, 0), (5, 1), (3, 1), (0, 0), (99, 95), (50, 46)] {
            table.scroll_to(100, Some(cursor));
            assert_eq!(table.offset, offset, "cursor {cursor}");
        }
        table.scroll_to(0, None);
        assert_eq!(table.offset, 0);
    }
}
