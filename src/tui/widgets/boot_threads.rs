//! The recovery threads of a booting broker, a line each.
//!
//! ```text
//!  THREADS
//!  data2 #0  orders-7    31/48 segments, at 48211904   31.2/48.0 GiB  65 %
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::state::{World, is_same_dir};
use crate::app::text;
use crate::tui::canvas::{cut, cut_middle, put, width};
use crate::tui::theme::Theme;

/// Rows that the table above needs before threads are shown.
const TABLE: u16 = 8;

/// Returns how many lines the threads take, of `room` that they share with a table.
pub fn boot_threads_height(world: &World, room: u16) -> u16 {
    let works = world.booting().map_or(0, |boot| boot.report.works.len());
    let wanted = u16::try_from(works).unwrap_or(u16::MAX).saturating_add(2);
    let spare = room.saturating_sub(TABLE).min(room / 2);
    if works == 0 || spare < 3 {
        0
    } else {
        wanted.min(spare)
    }
}

/// Draws the threads below an empty line.
pub fn boot_threads(world: &World, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let Some(boot) = world.booting() else { return };
    put(buf, area, (1, 1), "THREADS", theme.title);
    let rows = usize::from(area.height.saturating_sub(2));
    let all: Vec<[String; 5]> = boot
        .works()
        .map(|(dir, work)| {
            let label = label(world, &dir.path);
            let segments = match work.segments {
                Some(all) => format!("{}/{} segments", work.segments_done, text::count(all)),
                None => text::plural(work.segments_done, "segment done", "segments done"),
            };
            let bytes = work.bytes_total.map_or_else(
                || "bytes ?".to_owned(),
                |total| text::bytes_of(work.bytes_done, total),
            );
            let share = work
                .bytes_total
                .and_then(|total| text::percent(work.bytes_done, total));
            let share = share.map_or_else(String::new, |share| format!("{share} %"));
            let place = format!("{segments}, at {}", work.base_offset);
            [
                format!("{label} #{}", work.thread),
                work.name.clone(),
                bytes,
                share,
                place,
            ]
        })
        .collect();
    let widest = |column: usize| {
        let cells = all.iter().filter_map(|row| row.get(column));
        cells.map(|cell| width(cell)).max().unwrap_or(0)
    };
    let widths = [
        widest(0).min(24),
        widest(1).min(area.width / 3),
        widest(2),
        widest(3),
        widest(4),
    ];
    for (line, row) in all.iter().take(rows).enumerate() {
        let y = u16::try_from(line + 2).unwrap_or(u16::MAX);
        if line + 1 == rows && all.len() > rows {
            let text = format!("+{} threads more", all.len() - line);
            put(buf, area, (1, y), &text, theme.dim);
            break;
        }
        let mut x = 1;
        for (column, (cell, room)) in row.iter().zip(widths).enumerate() {
            // What does not fit is left out whole: half a number lies.
            if x + room > area.width {
                break;
            }
            let (text, indent) = match column {
                0 | 1 => (cut_middle(cell, room), 0),
                4 => (cut(cell, room), 0),
                _ => (cell.clone(), room.saturating_sub(width(cell))),
            };
            put(buf, area, (x + indent, y), &text, theme.text);
            x += room + 2;
        }
    }
}

fn label(world: &World, path: &str) -> String {
    let mut dirs = world.logs.dirs.iter();
    let dir = dirs.find(|row| is_same_dir(row, path));
    dir.map_or_else(|| path.to_owned(), |dir| dir.label.clone())
}
