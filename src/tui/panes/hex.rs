//! Bytes of a file in hex, beside what they decode to.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::event::BytesView;
use crate::app::text;
use crate::tui::canvas::{Pen, cut, put};
use crate::tui::theme::Theme;

/// Bytes in one line.
const ROW: usize = 16;
/// Columns of a line of bytes.
const HEX_WIDTH: u16 = 1 + 10 + 2 + 3 * 16 + 1 + 16;

/// Draws the bytes around a place; those from the place on stand out.
///
/// ```text
///      31000  00 00 00 00 00 00 27 10 00 00 04 73 00 00 00 00  ......'....s....
/// ```
pub(super) fn draw_bytes(view: Option<&BytesView>, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let Some(view) = view else {
        put(buf, area, (1, 0), "reading the bytes …", theme.dim);
        return;
    };
    if let Some(error) = &view.error {
        let text = format!("the bytes could not be read: {error}");
        put(buf, area, (1, 0), &cut(&text, area.width), theme.warn);
        return;
    }
    let name = view.file.file_name().unwrap_or_default().to_string_lossy();
    let head = format!(
        "BYTES of {name} at {} of {}",
        text::count(view.position.0),
        text::count(view.file_len)
    );
    put(
        buf,
        area,
        (1, 0),
        &cut(&head, area.width.saturating_sub(1)),
        theme.title,
    );
    let beside = area.width >= HEX_WIDTH + 34;
    let fields_at = if beside { HEX_WIDTH + 1 } else { 1 };
    let lines = u16::try_from(view.bytes.len().div_ceil(ROW)).unwrap_or(u16::MAX);
    let mut pen = Pen { buf, theme, area };
    for (y, (index, row)) in (1..area.height).zip(view.bytes.chunks(ROW).enumerate()) {
        draw_row(&mut pen, view, (y, index), row);
    }
    let first = if beside { 1 } else { lines.saturating_add(1) };
    for (y, field) in (first..area.height).zip(&view.fields) {
        let x = pen.put((fields_at, y), &format!("{:<21}", field.name), theme.dim);
        let x = pen.put((x, y), &field.value, theme.text);
        if let Some(wrong) = &field.wrong {
            pen.put((x + 1, y), wrong, theme.danger);
        }
    }
}

fn draw_row(pen: &mut Pen<'_>, view: &BytesView, (y, index): (u16, usize), row: &[u8]) {
    let theme = pen.theme;
    let first = view.from.0 + (index * ROW) as u64;
    let mut x = pen.put((1, y), &format!("{first:>10}  "), theme.dim);
    let style = |at: usize| {
        if first + at as u64 >= view.position.0 {
            theme.warn
        } else {
            theme.dim
        }
    };
    for (at, byte) in row.iter().enumerate() {
        x = pen.put((x, y), &format!("{byte:02x} "), style(at));
    }
    x += u16::try_from(3 * (ROW - row.len()) + 1).unwrap_or(0);
    for (at, byte) in row.iter().enumerate() {
        let shown = if byte.is_ascii_graphic() || *byte == b' ' {
            char::from(*byte).to_string()
        } else {
            ".".to_owned()
        };
        x = pen.put((x, y), &shown, style(at));
    }
}
