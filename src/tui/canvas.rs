//! Writing into cells without ever leaving the area, and the plain-ASCII pass.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::theme::Theme;

/// What a part of the screen is drawn with.
#[derive(Debug)]
pub struct Pen<'a> {
    /// The cells.
    pub buf: &'a mut Buffer,
    /// The colours.
    pub theme: &'a Theme,
    /// Where it may draw.
    pub area: Rect,
}

impl Pen<'_> {
    /// Writes a text at a place of the area; returns the column behind it.
    pub(super) fn put(&mut self, at: (u16, u16), text: &str, style: Style) -> u16 {
        put(self.buf, self.area, at, text, style)
    }

    /// Gives a whole row a style.
    pub(super) fn fill(&mut self, y: u16, style: Style) {
        fill(self.buf, self.area, y, style);
    }
}

/// Writes `text` at column `x` of row `y` of `area`, both counted from its corner; what does not fit is cut.
///
/// Returns the column behind what was written.
pub(super) fn put(
    buf: &mut Buffer,
    area: Rect,
    (x, y): (u16, u16),
    text: &str,
    style: Style,
) -> u16 {
    let area = area.intersection(buf.area);
    if y >= area.height || x >= area.width {
        return x;
    }
    let room = usize::from(area.width - x);
    let (end, _) = buf.set_stringn(area.x + x, area.y + y, text, room, style);
    end - area.x
}

/// Writes `text` so that it ends at the right edge of row `y`, if all of it fits behind column `after`.
pub(super) fn put_right(
    buf: &mut Buffer,
    area: Rect,
    (after, y): (u16, u16),
    text: &str,
    style: Style,
) {
    let width = width(text);
    if let Some(x) = area.width.checked_sub(width).filter(|&x| x >= after) {
        put(buf, area, (x, y), text, style);
    }
}

/// Gives a whole row a style.
pub(super) fn fill(buf: &mut Buffer, area: Rect, y: u16, style: Style) {
    if y < area.height {
        let row = Rect::new(area.x, area.y + y, area.width, 1);
        buf.set_style(row.intersection(buf.area), style);
    }
}

/// Returns how many columns a text takes.
pub(super) fn width(text: &str) -> u16 {
    u16::try_from(text.width()).unwrap_or(u16::MAX)
}

/// Cuts a text to `room` columns, with `…` where something is missing.
pub(super) fn cut(text: &str, room: u16) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut left = usize::from(room).saturating_sub(1);
    let mut cut: String = text
        .chars()
        .take_while(|c| {
            let columns = c.width().unwrap_or(0);
            let fits = columns <= left;
            left = left.saturating_sub(columns);
            fits
        })
        .collect();
    if room > 0 {
        cut.push('…');
    }
    cut
}

/// Cuts a text in its middle, so that the end stays: numbers of partitions and names of files are told apart there.
pub(super) fn cut_middle(text: &str, room: u16) -> String {
    let chars: Vec<char> = text.chars().collect();
    let room = usize::from(room);
    if usize::from(width(text)) <= room || room < 5 {
        return cut(text, u16::try_from(room).unwrap_or(u16::MAX));
    }
    let tail = (room - 1) / 2;
    let head = room - 1 - tail;
    let head: String = chars.iter().take(head).collect();
    let tail: String = chars
        .iter()
        .skip(chars.len().saturating_sub(tail))
        .collect();
    format!("{head}…{tail}")
}

/// Breaks a text into lines of at most `room` columns, at spaces where there are any.
pub(super) fn wrap(text: &str, room: u16) -> Vec<String> {
    let room = usize::from(room.max(1));
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word = word;
        loop {
            let gap = usize::from(!line.is_empty());
            if line.width() + gap + word.width() <= room {
                if gap == 1 {
                    line.push(' ');
                }
                line.push_str(word);
                break;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
                continue;
            }
            // A word longer than the line: paths and names.
            let (head, rest) = split_at_width(word, room);
            lines.push(head.to_owned());
            word = rest;
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

fn split_at_width(word: &str, room: usize) -> (&str, &str) {
    let mut left = room;
    let mut at = 0;
    for (index, c) in word.char_indices() {
        let columns = c.width().unwrap_or(0);
        // At least one character goes, or the caller would never end.
        if columns > left && index > 0 {
            break;
        }
        left = left.saturating_sub(columns);
        at = index + c.len_utf8();
    }
    word.split_at(at)
}

/// Replaces every cell that is not ASCII, for terminals and fonts that know nothing else.
pub(super) fn to_ascii(buf: &mut Buffer) {
    for cell in &mut buf.content {
        if !cell.symbol().is_ascii() {
            let plain = ascii(cell.symbol());
            cell.set_symbol(plain);
        }
    }
}

fn ascii(symbol: &str) -> &'static str {
    match symbol {
        "█" => "#",
        "▎" | "▍" | "▌" | "▋" | "▊" | "▉" | "░" | "·" => ".",
        "▏" | "│" => "|",
        "┌" | "┐" | "└" | "┘" | "├" | "┤" => "+",
        "…" => "~",
        "─" | "−" | "–" => "-",
        "●" => "*",
        "≠" => "!",
        "▲" | "↑" => "^",
        "▼" | "↓" => "v",
        "←" => "<",
        "›" | "▶" | "→" => ">",
        _ => "?",
    }
}

/// Returns the screen as text, a line a row, without blanks at the ends.
pub fn to_text(buf: &Buffer) -> String {
    let mut text = String::new();
    for y in buf.area.top()..buf.area.bottom() {
        let mut line = String::new();
        let mut skip = 0;
        for x in buf.area.left()..buf.area.right() {
            // A wide character covers the cells behind it.
            if skip > 0 {
                skip -= 1;
                continue;
            }
            if let Some(cell) = buf.cell((x, y)) {
                skip = cell.symbol().width().saturating_sub(1);
                line.push_str(cell.symbol());
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_outside_of_the_area() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 4, 2));
        let area = Rect::new(1, 0, 9, 9);
        assert_eq!(put(&mut buf, area, (0, 0), "abcdef", Style::new()), 3);
        put(&mut buf, area, (0, 5), "x", Style::new());
        put(&mut buf, area, (30, 0), "x", Style::new());
        put(&mut buf, Rect::ZERO, (0, 0), "x", Style::new());
        assert_eq!(to_text(&buf), " abc\n\n");
    }

    #[test]
    fn cut_texts_say_so() {
        assert_eq!(cut("orders-7", 8), "orders-7");
        assert_eq!(cut("orders-7", 5), "orde…");
        assert_eq!(cut("orders-7", 0), "");
        assert_eq!(cut_middle("__consumer_offsets-12", 11), "__con…ts-12");
        assert_eq!(cut("日本語", 3), "日…");
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrap("a boot reads it", 6), ["a boot", "reads", "it"]);
        assert_eq!(wrap("/var/lib/kafka x", 5), ["/var/", "lib/k", "afka", "x"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("日本", 1), ["日", "本"]);
    }

    #[test]
    fn the_ascii_pass_leaves_ascii_only() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 8, 1));
        put(
            &mut buf,
            Rect::new(0, 0, 8, 1),
            (0, 0),
            "█░…−│日x",
            Style::new(),
        );
        to_ascii(&mut buf);
        assert!(buf.content.iter().all(|cell| cell.symbol().is_ascii()));
    }
}
