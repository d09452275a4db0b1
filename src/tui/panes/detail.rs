//! An open log: what was found, its segments, and for the line under the cursor what Kafka would do, what krescue
//! proposes and why, and the bytes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::app::state::{Detail, DetailItem, LogRow, World};
use crate::app::{State, text, words};
use crate::log::Finding;
use crate::plan::{Ask, SegmentSummary, Verdict};
use crate::tui::canvas::{Pen, cut, put, wrap};
use crate::tui::theme::Theme;

use super::hex::draw_bytes;

/// A line of the explanation: a word, a text, how.
type Told = (&'static str, String, Style);

/// Columns of the words before each text.
const LABEL: u16 = 10;

/// How an open log stands on screen.
#[derive(Debug, Default)]
pub(super) struct DetailView {
    offset: usize,
    height: u16,
}

impl DetailView {
    /// Returns how many lines of the list fit.
    pub(super) fn height(&self) -> u16 {
        self.height
    }

    /// Draws the log that was entered.
    pub(super) fn render(&mut self, state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
        let world = state.shown();
        let Some(detail) = &state.view.detail else {
            return;
        };
        let Some(row) = world.logs.row(detail.log) else {
            put(buf, area, (1, 0), "This log is gone.", theme.dim);
            return;
        };
        head(world, row, theme, area, buf);
        let items = Detail::items(world, row);
        let told = told(state, world, row, items.get(detail.cursor).copied(), theme);
        let room = area.height.saturating_sub(2);
        let wanted = u16::try_from(items.len()).unwrap_or(u16::MAX).max(1);
        // The list takes what it needs, but leaves half of the pane to what is told of its line.
        let list_height = wanted.min((room / 4).max(4)).min(room);
        let list = below(area, 2, list_height);
        self.height = list_height;
        self.list(
            &mut Pen {
                buf,
                theme,
                area: list,
            },
            world,
            row,
            detail.cursor,
        );
        let rest = below(area, 2 + list_height, room - list_height);
        let bytes = if detail.place(world).is_some() {
            (rest.height / 3).clamp(4, 12)
        } else {
            0
        };
        let used = draw_told(&told, theme, (rest, bytes), buf);
        if detail.place(world).is_some() {
            let bytes = below(rest, used, rest.height.saturating_sub(used));
            draw_bytes(detail.bytes.as_ref(), theme, bytes, buf);
        }
    }

    /// Draws what is known of the log under the cursor, below its table.
    pub(super) fn preview(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
        let world = state.shown();
        let Some(row) = state.selected_log() else {
            return;
        };
        let line = "─".repeat(usize::from(area.width));
        put(buf, area, (0, 0), &line, theme.border);
        let area = below(area, 1, area.height.saturating_sub(1));
        head(world, row, theme, area, buf);
        let mut y = 2;
        for finding in &row.findings {
            if y >= area.height {
                return;
            }
            finding_line(&mut Pen { buf, theme, area }, y, finding);
            y += 1;
        }
        let told = told(state, world, row, None, theme);
        let rest = below(area, y, area.height.saturating_sub(y));
        draw_told(&told, theme, (rest, 0), buf);
    }

    fn list(&mut self, pen: &mut Pen<'_>, world: &World, row: &LogRow, cursor: usize) {
        let theme = pen.theme;
        let items = Detail::items(world, row);
        if items.is_empty() {
            let text = match row.state {
                None => "Its batches were not read: :scan or :recover reads them.",
                Some(_) => "Nothing was found.",
            };
            pen.put((1, 0), text, theme.dim);
            return;
        }
        let height = usize::from(pen.area.height).max(1);
        self.offset = self
            .offset
            .clamp((cursor + 1).saturating_sub(height), cursor)
            .min(items.len().saturating_sub(height));
        for (index, item) in items.iter().enumerate().skip(self.offset).take(height) {
            let y = u16::try_from(index - self.offset).unwrap_or(u16::MAX);
            match *item {
                DetailItem::Finding(at) => {
                    if let Some(finding) = row.findings.get(at) {
                        finding_line(pen, y, finding);
                    }
                }
                DetailItem::Segment(at) => {
                    if let Some(segment) = world.planned(row).and_then(|plan| plan.segments.get(at))
                    {
                        segment_line(pen, y, segment);
                    }
                }
            }
            if index == cursor {
                pen.fill(y, theme.selected);
                pen.put((0, y), "›", theme.selected);
            }
        }
    }
}

fn below(area: Rect, lines: u16, height: u16) -> Rect {
    let lines = lines.min(area.height);
    Rect {
        y: area.y + lines,
        height: height.min(area.height - lines),
        ..area
    }
}

/// Draws the log's name and its offsets, in two lines.
fn head(world: &World, row: &LogRow, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let label = world.logs.dir_of(row).map_or("?", |dir| &dir.label);
    let name = format!("{} on {label}", row.dir_name);
    let x = put(
        buf,
        area,
        (1, 0),
        &cut(&name, area.width.saturating_sub(14)),
        theme.title,
    );
    let x = put(buf, area, (x, 0), " · ", theme.dim);
    let x = put(buf, area, (x, 0), row.word(), theme.word(row.word()));
    let unknown = || text::UNKNOWN.to_owned();
    let segments = row
        .segments
        .map_or_else(unknown, |all| text::plural(all, "segment", "segments"));
    let bytes = row.bytes.map_or_else(unknown, text::bytes);
    let reads = row.boot_reads.map_or_else(unknown, text::bytes);
    let sizes = format!(" · {segments} · {bytes} · a boot reads {reads}");
    put(buf, area, (x, 0), &sizes, theme.text);
    let Some(plan) = world.planned(row) else {
        return;
    };
    let offset = |offset: Option<crate::terms::Offset>| offset.map_or_else(unknown, text::offset);
    let line = format!(
        "log start {} · end {} · recovery point {} · high watermark {}",
        offset(plan.log_start_offset),
        offset(plan.log_end_offset),
        offset(plan.recovery_point),
        offset(plan.high_watermark)
    );
    put(
        buf,
        area,
        (1, 1),
        &cut(&line, area.width.saturating_sub(1)),
        theme.dim,
    );
}

fn finding_line(pen: &mut Pen<'_>, y: u16, finding: &Finding) {
    let (theme, area) = (pen.theme, pen.area);
    let style = theme.severity(finding.severity);
    let severity = format!("{:<9}", words::severity(finding.severity));
    let x = pen.put((1, y), &severity, style);
    let x = pen.put((x, y), &words::finding(finding), style);
    let mut facts = Vec::new();
    if let Some(file) = &finding.file {
        facts.push(match finding.position {
            Some(at) => format!("{file} byte {}", text::count(at.0)),
            None => file.clone(),
        });
    }
    if let Some(offset) = finding.offset {
        facts.push(format!("offset {}", text::offset(offset)));
    }
    if finding.lost_bytes > 0 {
        let records = finding.lost_records.map_or_else(
            || "? records".to_owned(),
            |records| format!("{} records", text::count(records)),
        );
        facts.push(format!("−{}, {records}", text::bytes(finding.lost_bytes)));
    }
    let facts = format!("  {}", facts.join(" · "));
    let room = area.width.saturating_sub(x);
    pen.put((x, y), &cut(&facts, room), theme.text);
}

fn segment_line(pen: &mut Pen<'_>, y: u16, segment: &SegmentSummary) {
    let (theme, area) = (pen.theme, pen.area);
    let read = if segment.scanned {
        let next = segment
            .next_offset
            .map_or_else(|| text::UNKNOWN.to_owned(), text::offset);
        format!(
            "next {next} · {} · {}",
            text::plural(segment.batches, "batch", "batches"),
            text::plural(segment.records, "record", "records")
        )
    } else {
        "not read: a boot does not".to_owned()
    };
    let line = format!(
        "segment  {:>15} {:>10}  {read}",
        text::offset(segment.base_offset),
        text::bytes(segment.bytes)
    );
    let x = pen.put(
        (1, y),
        &cut(&line, area.width.saturating_sub(1)),
        theme.text,
    );
    if let Some(valid) = segment.valid_bytes.filter(|&valid| valid < segment.bytes) {
        let bad = format!(" · good up to byte {}", text::count(valid));
        pen.put((x, y), &bad, theme.warn);
    }
}

/// Returns what is told of a line of the list, or of the whole log.
fn told(
    state: &State,
    world: &World,
    row: &LogRow,
    item: Option<DetailItem>,
    theme: &Theme,
) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    let mut file = None;
    match item {
        Some(DetailItem::Finding(at)) => {
            if let Some(finding) = row.findings.get(at) {
                let style = theme.severity(finding.severity);
                told.push(("seen", finding.text.clone(), style));
                if !finding.next.is_empty() {
                    told.push(("next", finding.next.clone(), theme.text));
                }
                file.clone_from(&finding.file);
            }
        }
        Some(DetailItem::Segment(at)) => {
            if let Some(segment) = world.planned(row).and_then(|plan| plan.segments.get(at)) {
                let time = segment.largest_timestamp.map_or_else(
                    || text::UNKNOWN.to_owned(),
                    |at| text::date_time(at, &state.setup.zone),
                );
                told.push(("largest", format!("timestamp {time}"), theme.text));
                file = Some(format!("{:020}", segment.base_offset.0));
            }
        }
        None => {}
    }
    match &row.verdict {
        Some(Verdict::Ask(ask)) if !ask.accepted => told.extend(told_of_ask(ask, world, theme)),
        Some(Verdict::Refused { cause }) => {
            told.push(("kafka", format!("would not load it: {cause}"), theme.danger));
            told.push(("krescue", "leaves it as it is".to_owned(), theme.text));
        }
        Some(Verdict::Unreadable { cause }) => {
            told.push(("krescue", format!("could not read it: {cause}"), theme.warn));
        }
        Some(Verdict::Skipped { why }) => {
            told.push(("krescue", format!("skips it: {why}"), theme.dim));
        }
        Some(Verdict::Mend | Verdict::TakeBack) => {
            let text = "brings it back to what it was before the plan".to_owned();
            told.push(("krescue", text, theme.text));
        }
        Some(Verdict::Nothing) => {
            let text = "a boot leaves these files as they are".to_owned();
            told.push(("kafka", text, theme.good));
        }
        Some(
            Verdict::Recover
            | Verdict::Truncate(_)
            | Verdict::Ask(_)
            | Verdict::Delete(_)
            | Verdict::Move(_),
        )
        | None => {}
    }
    told.extend(told_of_steps(world, row, file.as_deref(), theme));
    told
}

fn told_of_ask(ask: &Ask, world: &World, theme: &Theme) -> Vec<Told> {
    let records = ask.lost_records.map_or_else(
        || "? records".to_owned(),
        |records| format!("{} records", text::count(records)),
    );
    let kafka = format!(
        "deletes {}, {records}: {}",
        words::loss(ask),
        words::ask_reason(ask.reason)
    );
    let first = match &ask.no_set_aside {
        None => "x b set the whole replica aside, to be fetched again, ",
        Some(_) => "",
    };
    let here = if ask.can_cut_here() {
        "x c cut only here, "
    } else {
        ""
    };
    let all = if ask.can_leave() {
        "x e keep all of it, "
    } else {
        ""
    };
    let krescue =
        format!("leaves it until you decide (class C): {first}{here}{all}x f Kafka's way");
    let mut told = vec![
        ("kafka", kafka, theme.danger),
        ("krescue", krescue, theme.text),
    ];
    let now = world.plan.as_ref().map(|shown| shown.plan.now);
    if let (Some(replicas), Some(now)) = (&ask.replicas, now) {
        told.push(("elsewhere", replicas.elsewhere(now), theme.text));
    }
    if let Some(why) = &ask.no_set_aside {
        told.push(("", format!("it cannot be set aside: {why}"), theme.dim));
    }
    told
}

/// Returns the steps of a file first, then the others, since one file's change explains another's.
fn told_of_steps(world: &World, row: &LogRow, file: Option<&str>, theme: &Theme) -> Vec<Told> {
    let Some(plan) = world.planned(row) else {
        return Vec::new();
    };
    let mut label = match &plan.verdict {
        Verdict::Ask(ask) if !ask.accepted => "as kafka",
        verdict if verdict.is_applied() => "krescue",
        _ => return Vec::new(),
    };
    let stem = file.map(|file| file.split('.').next().unwrap_or(file));
    let about = |step: &&crate::plan::Step| stem.is_some_and(|stem| step.file.starts_with(stem));
    let first = plan.steps.iter().filter(about);
    let rest = plan.steps.iter().filter(|step| !about(step));
    first
        .chain(rest)
        .map(|step| {
            let text = format!(
                "{}{}: {}",
                words::step(step),
                words::kept(step),
                step.reason
            );
            (std::mem::take(&mut label), text, theme.text)
        })
        .collect()
}

/// Draws what is told, and leaves so many lines of the area to the bytes. Returns the lines it took.
fn draw_told(told: &[Told], theme: &Theme, (area, bytes): (Rect, u16), buf: &mut Buffer) -> u16 {
    let most = area.height.saturating_sub(bytes);
    let room = area.width.saturating_sub(LABEL + 2);
    let mut y = 1;
    for (label, text, style) in told {
        let lines = wrap(text, room);
        if y + u16::try_from(lines.len()).unwrap_or(u16::MAX) > most {
            put(buf, area, (1, y), "…", theme.dim);
            return y + 1;
        }
        put(buf, area, (1, y), label, theme.dim);
        for line in lines {
            put(buf, area, (1 + LABEL, y), &line, *style);
            y += 1;
        }
    }
    y
}
