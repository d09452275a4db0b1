//! One line a log dir: what it is, or how far its scan or job is.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::facts::Presence;
use crate::app::lines::hand_over_word;
use crate::app::state::{BootDir, DirRow, World, seconds};
use crate::app::{text, words};
use crate::engine::Phase;
use crate::log::Severity;
use crate::plan::StopState;
use crate::tui::canvas::{Pen, cut, cut_middle, put, width};
use crate::tui::theme::Theme;

use super::bar;

/// Returns how many lines the log dirs take, of `room`.
pub fn dir_rows_height(world: &World, room: u16) -> u16 {
    let dirs = u16::try_from(world.logs.dirs.len()).unwrap_or(u16::MAX);
    dirs.clamp(1, (room / 3).max(1))
}

/// Draws the log dirs.
///
/// ```text
///  data1  ██████████████░░░░░░  64 %  257/401 logs  0.78/1.21 TiB  412 MiB/s  ~18 min
///  data2  unclean · 398 logs · 1.18 TiB · boot reads 0.34 TiB · hand-over verify
/// ```
pub fn dir_rows(world: &World, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let dirs = &world.logs.dirs;
    if dirs.is_empty() {
        put(buf, area, (1, 0), "no log dir was listed yet", theme.dim);
        return;
    }
    let labels = dirs.iter().map(|dir| width(&dir.label)).max().unwrap_or(0);
    let label_width = labels.min((area.width / 4).max(6));
    let shown = usize::from(area.height);
    let hidden = dirs.len().saturating_sub(shown);
    for (index, dir) in dirs.iter().enumerate().take(shown) {
        let y = u16::try_from(index).unwrap_or(u16::MAX);
        if hidden > 0 && index + 1 == shown {
            let text = format!("+{} log dirs more", hidden + 1);
            put(buf, area, (1, y), &text, theme.dim);
            break;
        }
        let label = cut_middle(&dir.label, label_width);
        put(buf, area, (1, y), &label, theme.title);
        let x = label_width + 3;
        let pen = &mut Pen { buf, theme, area };
        let boot = world.booting().filter(|boot| boot.has_logs_to_load());
        if let Some(report) = boot.and_then(|boot| boot.dir(dir)) {
            booting(pen, (x, y), report);
            continue;
        }
        let work = world.running().and_then(|work| {
            let dirs = &work.progress.dirs;
            Some((work, dirs.iter().position(|d| d.log_dir == dir.path)?))
        });
        match work {
            Some((work, at)) if work.progress.phase == Phase::Scanning => {
                let progress = dir.progress.as_ref().map(|progress| Reading {
                    bytes: (progress.bytes_done, progress.bytes_total),
                    logs: (progress.logs_done, Some(progress.logs_total)),
                    rate: work.dir_rate(at),
                    left: work.dir_left(at),
                });
                moving(pen, (x, y), progress);
            }
            Some((work, _)) if work.is_apply() => changing(pen, (x, y), dir),
            _ => standing(pen, (x, y), world, index),
        }
    }
}

/// Draws how far a job is with the logs of a log dir.
fn changing(pen: &mut Pen<'_>, (x, y): (u16, u16), dir: &DirRow) {
    let theme = pen.theme;
    let (done, total) = dir
        .progress
        .as_ref()
        .map_or((0, 0), |dir| (dir.logs_done, dir.logs_total));
    let bar_width = pen.area.width.saturating_sub(x + 30).clamp(8, 40);
    bar(pen, (x, y, bar_width), (done, total));
    let percent = text::percent(done, total);
    let percent = percent.map_or_else(|| "? %".to_owned(), |percent| format!("{percent} %"));
    let words = format!("{percent:>5}  {done}/{total} logs");
    pen.put((x + bar_width + 1, y), &words, theme.text);
}

/// How far the reading of a log dir is.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// Done, and in all.
    bytes: (u64, u64),
    /// Done, and in all.
    logs: (u64, Option<u64>),
    /// Bytes a second.
    rate: Option<u64>,
    /// Seconds.
    left: Option<u64>,
}

/// Draws how far the broker's boot is with a log dir.
fn booting(pen: &mut Pen<'_>, (x, y): (u16, u16), dir: &BootDir) {
    let theme = pen.theme;
    if dir.offline {
        let text = "OFFLINE: the broker gave it up and serves none of its logs";
        pen.put(
            (x, y),
            &cut(text, pen.area.width.saturating_sub(x)),
            theme.danger,
        );
        return;
    }
    let logs = (dir.logs_done, dir.logs_total);
    let Some(progress) = dir.progress.filter(|_| dir.unclean != Some(false)) else {
        let all = dir.logs_total.map_or_else(|| "?".to_owned(), text::count);
        let how = match dir.unclean {
            Some(false) => "stopped cleanly: loaded, not read",
            _ => "bytes ?: its files cannot be seen",
        };
        let text = format!("{}/{all} logs · {how}", dir.logs_done);
        pen.put(
            (x, y),
            &cut(&text, pen.area.width.saturating_sub(x)),
            theme.text,
        );
        return;
    };
    let left = progress
        .left
        .and_then(|left| u64::try_from(left.likely_ms).ok());
    let reading = Reading {
        bytes: (progress.bytes_done, progress.bytes_total),
        logs,
        rate: progress.bytes_per_s,
        left: left.and_then(|ms| seconds(ms, 1000)),
    };
    moving(pen, (x, y), Some(reading));
}

/// Draws how far the reading of a log dir is.
fn moving(pen: &mut Pen<'_>, (x, y): (u16, u16), progress: Option<Reading>) {
    let (theme, area) = (pen.theme, pen.area);
    let Some(Reading {
        bytes: (done, total),
        logs,
        rate,
        left,
    }) = progress
    else {
        pen.put((x, y), "?", theme.dim);
        return;
    };
    let percent =
        text::percent(done, total).map_or_else(|| "?".to_owned(), |percent| format!("{percent} %"));
    let all = logs.1.map_or_else(|| "?".to_owned(), |all| all.to_string());
    let logs = format!("{}/{all} logs", logs.0);
    let rate = match rate {
        _ if done == 0 => String::new(),
        Some(rate) => text::rate(rate),
        None => "? B/s".to_owned(),
    };
    let left = match left {
        _ if total == 0 => "nothing".to_owned(),
        _ if done >= total => "read".to_owned(),
        _ if done == 0 => "waits".to_owned(),
        Some(left) => format!("~{}", text::duration(left)),
        None => "time ?".to_owned(),
    };
    let words = [percent, logs, text::bytes_of(done, total), rate, left];
    let columns = [5, 13, 14, 11, 10];
    let bar_width = area.width.saturating_sub(x + 60).clamp(8, 40);
    bar(pen, (x, y, bar_width), (done, total));
    let mut x = x + bar_width + 1;
    for (word, column) in words.iter().zip(columns) {
        // A number that does not fit is not shown at all: half a number lies.
        if x + width(word) > area.width {
            break;
        }
        let indent = u16::saturating_sub(column, width(word));
        pen.put((x + indent, y), word, theme.text);
        x += column.max(width(word)) + 1;
    }
}

/// Draws what a log dir is while nothing reads it.
fn standing(pen: &mut Pen<'_>, (x, y): (u16, u16), world: &World, index: usize) {
    let (theme, area) = (pen.theme, pen.area);
    let Some(dir) = world.logs.dirs.get(index) else {
        return;
    };
    // Beside a living broker a missing marker says nothing.
    let live = matches!(world.presence(), Some(Presence::Running { .. }));
    let (stopped, style) = match dir.stop {
        _ if live => ("in use", theme.busy),
        Some(StopState::Clean) => (words::stop(dir.stop), theme.good),
        Some(StopState::Unclean) => (words::stop(dir.stop), theme.warn),
        None => (words::stop(dir.stop), theme.danger),
    };
    let rows = || world.logs.rows().filter(|row| row.dir == index);
    let bytes = rows().filter_map(|row| row.bytes).sum();
    let mut facts = vec![
        (stopped.to_owned(), style),
        (
            text::plural(rows().count() as u64, "log", "logs"),
            theme.text,
        ),
        (text::bytes(bytes), theme.text),
    ];
    if dir.stop == Some(StopState::Unclean) && !live {
        let reads: Option<u64> = rows().map(|row| row.boot_reads).sum();
        let reads = reads.map_or_else(|| "?".to_owned(), text::bytes);
        facts.push((format!("boot reads {reads}"), theme.text));
    }
    if let Some(hand_over) = dir
        .hand_over
        .filter(|_| dir.stop != Some(StopState::Clean) && !live)
    {
        let text = format!("hand-over {}", hand_over_word(hand_over));
        facts.push((text, theme.text));
    }
    if !dir.why.is_empty() && !live {
        facts.push((dir.why.clone(), theme.dim));
    }
    let worst = dir
        .findings
        .iter()
        .filter(|finding| finding.severity >= Severity::Warning)
        .max_by_key(|finding| finding.severity);
    if let Some(finding) = worst {
        // What is wrong with the dir stands right behind its state.
        let style = theme.severity(finding.severity);
        facts.insert(1, (finding.text.clone(), style));
    }
    let mut x = x;
    for (number, (text, style)) in facts.iter().enumerate() {
        if number > 0 {
            // A fact that does not fit is left out whole, and all that follow with it.
            if x + 3 + width(text) > area.width && number > 1 {
                break;
            }
            x = pen.put((x, y), " · ", theme.dim);
        }
        let room = area.width.saturating_sub(x);
        x = pen.put((x, y), &cut(text, room), *style);
    }
}
