//! A box over the panes with a title, lines and a last line of keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::border;
use ratatui::widgets::{Block, Clear, Widget as _};

use crate::tui::canvas::{cut, fill, put, width, wrap};
use crate::tui::theme::Theme;

/// Where a box lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the middle, as large as its lines need, at most this wide.
    Middle(u16),
    /// As wide as the screen, in its last lines.
    Bottom,
}

/// What becomes of a line that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Long {
    /// It is cut.
    #[default]
    Cut,
    /// Its last piece goes on below itself.
    Wraps,
}

/// A box: its title, its lines, its keys.
#[derive(Debug, Clone, Default)]
pub struct ListBox {
    /// The title.
    pub title: String,
    /// Lines, each of pieces with a style.
    pub lines: Vec<Vec<(String, Style)>>,
    /// Whether the last piece of a line that is too long goes on below itself, or is cut.
    pub long: Long,
    /// The line under the cursor.
    pub cursor: Option<usize>,
    /// The first line shown.
    pub scroll: usize,
    /// Lines below the list that never scroll: a prompt, a refusal.
    pub below: Vec<Vec<(String, Style)>>,
    /// The keys that work, in the lower border.
    pub keys: String,
    /// The style of border and title.
    pub border: Style,
}

impl ListBox {
    /// Draws the box over `screen`; returns the area inside it.
    pub fn render(&self, buf: &mut Buffer, theme: &Theme, screen: Rect, place: Place) -> Rect {
        let area = self.area(screen, place);
        if area.is_empty() {
            return Rect::ZERO;
        }
        Clear.render(area, buf);
        let block = Block::bordered()
            .border_set(border::PLAIN)
            .border_style(self.border);
        let inner = block.inner(area);
        block.render(area, buf);
        let head = Rect::new(area.x + 1, area.y, area.width.saturating_sub(2), 1);
        let title = cut(&format!(" {} ", self.title), head.width);
        put(buf, head, (1, 0), &title, self.border.patch(theme.title));
        let foot = Rect {
            y: area.bottom().saturating_sub(1),
            ..head
        };
        if area.height > 1 && !self.keys.is_empty() {
            let keys = cut(&format!(" {} ", self.keys), foot.width);
            put(buf, foot, (1, 0), &keys, theme.key);
        }
        self.inside(buf, theme, inner);
        inner
    }

    fn inside(&self, buf: &mut Buffer, theme: &Theme, inner: Rect) {
        let below = u16::try_from(self.below.len())
            .unwrap_or(u16::MAX)
            .min(inner.height);
        let list = Rect {
            height: inner.height - below,
            ..inner
        };
        let height = usize::from(list.height);
        let mut first = self.scroll.min(self.lines.len().saturating_sub(1));
        if self.long == Long::Cut {
            first = first.min(self.lines.len().saturating_sub(height));
        }
        if let Some(cursor) = self.cursor {
            first = first.clamp((cursor + 1).saturating_sub(height), cursor);
        }
        let mut y = 0;
        let mut shown = 0;
        for (index, line) in self.lines.iter().enumerate().skip(first) {
            if y >= list.height {
                break;
            }
            let rows = self.rows(line, list.width);
            for row in &rows {
                pieces(buf, list, y, row);
                y += 1;
            }
            shown += usize::from(y <= list.height);
            if self.cursor == Some(index) {
                fill(buf, list, y - 1, theme.selected);
            }
        }
        let hidden = self.lines.len().saturating_sub(first + shown);
        if hidden > 0 && list.height > 0 {
            let more = format!(" ↓ {hidden} more ");
            let x = list.width.saturating_sub(width(&more));
            put(buf, list, (x, list.height - 1), &more, theme.key);
        }
        let rest = Rect {
            y: list.bottom(),
            height: below,
            ..inner
        };
        for (index, line) in self.below.iter().enumerate() {
            pieces(buf, rest, u16::try_from(index).unwrap_or(u16::MAX), line);
        }
    }

    /// Returns the rows that a line takes.
    fn rows(&self, line: &[(String, Style)], room: u16) -> Vec<Vec<(String, Style)>> {
        let (Long::Wraps, Some(((text, style), head))) = (self.long, line.split_last()) else {
            return vec![line.to_vec()];
        };
        let before: u16 = head.iter().map(|(text, _)| width(text)).sum();
        let room = room.saturating_sub(before + 2);
        if room < 10 || width(text) <= room {
            return vec![line.to_vec()];
        }
        let blank = (" ".repeat(usize::from(before)), *style);
        let row = |(index, text): (usize, String)| {
            let mut row = if index == 0 {
                head.to_vec()
            } else {
                vec![blank.clone()]
            };
            row.push((text, *style));
            row
        };
        wrap(text, room).into_iter().enumerate().map(row).collect()
    }

    /// Returns how many rows the lines take, at most `most`.
    fn height(&self, room: u16, most: u16) -> u16 {
        let mut height = 0_usize;
        for line in &self.lines {
            height += self.rows(line, room).len();
            if height >= usize::from(most) {
                return most;
            }
        }
        u16::try_from(height).unwrap_or(most)
    }

    fn area(&self, screen: Rect, place: Place) -> Rect {
        let around = u16::try_from(self.below.len())
            .unwrap_or(u16::MAX)
            .saturating_add(2);
        let width = match place {
            Place::Middle(most) => most.min(screen.width),
            Place::Bottom => screen.width,
        };
        let room = width.saturating_sub(2);
        let lines = around.saturating_add(self.height(room, screen.height));
        match place {
            Place::Middle(_) => {
                let height = lines
                    .clamp(3, screen.height.saturating_sub(2).max(3))
                    .min(screen.height);
                Rect {
                    x: screen.x + (screen.width - width) / 2,
                    y: screen.y + (screen.height - height) / 2,
                    width,
                    height,
                }
            }
            Place::Bottom => {
                let height = lines
                    .clamp(3, (screen.height * 2 / 3).max(3))
                    .min(screen.height);
                Rect {
                    y: screen.bottom() - height,
                    height,
                    ..screen
                }
            }
        }
    }
}

fn pieces(buf: &mut Buffer, area: Rect, y: u16, line: &[(String, Style)]) {
    let mut x = 1;
    for (text, style) in line {
        let room = area.width.saturating_sub(x);
        x = put(buf, area, (x, y), &cut(text, room), *style);
    }
}
