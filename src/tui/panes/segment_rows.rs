//! Cells of the segments pane: a segment, a leftover, a topic or a log.

use crate::app::retention_words as words;
use crate::app::state::{HostRow, RetentionFacts, SegmentsView};
use crate::app::text;
use crate::plan::retention::{Amount, LogRetention, RetainedLog};
use crate::tui::theme::Theme;
use crate::tui::widgets::Cell;

use super::segments::verdict_style;

pub(super) fn segment_cells(
    facts: &RetentionFacts,
    (log, judged): (&RetainedLog, &LogRetention),
    index: usize,
    (theme, wide): (&Theme, bool),
) -> Vec<Cell> {
    let plain = |text: String| Cell {
        text,
        style: theme.text,
    };
    let Some(segment) = log.facts.segments.get(index) else {
        return Vec::new();
    };
    let now = facts.host.now;
    let mut cells = vec![
        plain(text::offset(segment.base_offset)),
        plain(text::bytes(segment.bytes)),
    ];
    if wide {
        let next = log.facts.next_offset(index);
        let span = next.and_then(|next| u64::try_from(next.0 - segment.base_offset.0).ok());
        cells.push(plain(
            span.map_or_else(|| text::UNKNOWN.to_owned(), text::count),
        ));
    }
    cells.push(plain(words::largest(segment)));
    if wide {
        let age = now.0.saturating_sub(segment.largest_timestamp.0);
        let age = u64::try_from(age / 1000);
        cells.push(plain(age.map_or_else(|_| "-".to_owned(), text::duration)));
    }
    let verdict = judged.segments.get(index).map(|of| of.verdict);
    cells.push(Cell {
        text: words::segment(log, judged, index, now),
        style: verdict.map_or(theme.text, |verdict| verdict_style(verdict, theme)),
    });
    cells
}

pub(super) fn leftover_cells(
    facts: &RetentionFacts,
    log: &RetainedLog,
    number: usize,
    (theme, wide): (&Theme, bool),
) -> Vec<Cell> {
    let plain = |text: String| Cell {
        text,
        style: theme.dim,
    };
    let Some(of) = log.facts.leftovers.get(number) else {
        return Vec::new();
    };
    let host = &facts.host;
    let base = of.base_offset;
    let mut cells = vec![
        plain(base.map_or_else(|| text::UNKNOWN.to_owned(), text::offset)),
        plain(text::bytes(of.bytes)),
    ];
    if wide {
        cells.push(plain("-".to_owned()));
    }
    cells.push(plain("-".to_owned()));
    if wide {
        cells.push(plain("-".to_owned()));
    }
    cells.push(Cell {
        text: words::leftover(log, of, host.now, host.is_served),
        style: theme.warn,
    });
    cells
}

pub(super) fn host_cells(
    facts: &RetentionFacts,
    view: &SegmentsView,
    row: &HostRow,
    (theme, is_wide): (&Theme, bool),
) -> Vec<Cell> {
    let cell = |text: String, style| Cell { text, style };
    let (name, logs, totals, why) = match row {
        HostRow::Topic(number) => {
            let Some(topic) = view.judged().topics.get(*number) else {
                return Vec::new();
            };
            (
                topic.topic.clone(),
                topic.logs.len().to_string(),
                topic.totals,
                words::why(topic),
            )
        }
        HostRow::Log(number) => {
            let logs = facts.host.logs.get(*number);
            let (Some(log), Some(judged)) = (logs, view.judged().logs.get(*number)) else {
                return Vec::new();
            };
            let role = match log.leads {
                Some(true) => "leader",
                Some(false) => "follower",
                None => "",
            };
            (
                format!("  {}", log.facts.dir_name),
                String::new(),
                judged.totals,
                format!("{role} on {}", log.facts.log_dir.display()),
            )
        }
    };
    let goes = if totals.delete.segments > 0 {
        theme.danger
    } else {
        theme.dim
    };
    let held = if totals.held.segments > 0 {
        theme.warn
    } else {
        theme.dim
    };
    let mut cells = vec![cell(name, theme.text)];
    if is_wide {
        cells.push(cell(logs, theme.text));
    }
    cells.push(cell(text::bytes(totals.all.bytes), theme.text));
    cells.push(cell(amount(totals.delete), goes));
    if is_wide {
        cells.push(cell(amount(totals.next_day), theme.text));
    }
    cells.push(cell(amount(totals.held), held));
    cells.push(cell(why, theme.text));
    cells
}

fn amount(amount: Amount) -> String {
    if amount.segments == 0 {
        "-".to_owned()
    } else {
        text::bytes(amount.bytes)
    }
}
