//! Pane 2: one line a log dir, then the logs; the title says whose numbers they are.
//!
//! ```text
//!  data1  ██████████████░░░░░░  64 %  257/401 logs  0.78/1.21 TiB  412 MiB/s  ~18 min
//!  PLAN 7f3a91c2, not carried out · as Kafka 4.4.0 boots (flag) · 3 s ago
//!  PARTITION   DIR    STATE▲    SEGMENTS      BYTES  FINDING
//! ›payments-1  data1  ASK            3/4    192 KiB  CRC mismatch at 31.0 KiB (+1)
//! ```

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::facts::Presence;
use crate::app::lines::short_hash;
use crate::app::state::{WorkKind, World};
use crate::app::{Action, State, boot_remedy, boot_words, text};
use crate::observe::server_log::BootEnd;
use crate::tui::canvas::{cut, put, put_right};
use crate::tui::keymap::{self, Binding};
use crate::tui::pane::Pane;
use crate::tui::theme::Theme;
use crate::tui::widgets::{
    SortableTable, boot_threads, boot_threads_height, dir_rows, dir_rows_height, log_table,
};

use super::detail::DetailView;

/// Rows from which on the selected log is shown below the table.
const ROOM_FOR_PREVIEW: u16 = 19;

/// The recovery pane.
#[derive(Debug, Default)]
pub struct RecoveryPane {
    table: SortableTable,
    detail: DetailView,
}

impl Pane for RecoveryPane {
    fn render(&mut self, state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
        if state.view.detail.is_some() {
            self.detail.render(state, theme, area, buf);
            return;
        }
        let world = state.shown();
        let dirs = dir_rows_height(world, area.height);
        let [dirs, title, mut table] = split(area, dirs);
        dir_rows(world, theme, dirs, buf);
        draw_title(state, theme, title, buf);
        let threads = boot_threads_height(world, table.height);
        if threads > 0 {
            let area = Rect {
                y: table.y + table.height - threads,
                height: threads,
                ..table
            };
            table.height -= threads;
            boot_threads(world, theme, area, buf);
        } else if table.height >= ROOM_FOR_PREVIEW && state.selected_log().is_some() {
            let rows = u16::try_from(state.view.table.order().len()).unwrap_or(u16::MAX);
            let used = rows.saturating_add(2).min(table.height * 3 / 5);
            let preview = Rect {
                y: table.y + used,
                height: table.height - used,
                ..table
            };
            table.height = used;
            DetailView::preview(state, theme, preview, buf);
        }
        if state.view.table.order().is_empty() {
            draw_empty(state, theme, table, buf);
        } else {
            log_table(&mut self.table, state, theme, table, buf);
        }
    }

    fn on_key(&self, state: &State, key: KeyEvent) -> Option<Action> {
        if state.view.detail.is_some() {
            let page = self.detail.height();
            keymap::find(&keymap::DETAIL, key, page)
                .or_else(|| keymap::find(&keymap::MOVES, key, page))
        } else {
            let page = self.table.height();
            keymap::find(&keymap::TABLE, key, page)
                .or_else(|| keymap::find(&keymap::MOVES, key, page))
        }
    }

    fn bindings(&self, state: &State) -> Vec<&'static Binding> {
        let own: &'static [Binding] = if state.view.detail.is_some() {
            &keymap::DETAIL
        } else {
            &keymap::TABLE
        };
        own.iter().chain(&keymap::MOVES).collect()
    }
}

fn split(area: Rect, dirs: u16) -> [Rect; 3] {
    let dirs = dirs.min(area.height);
    let title = area.height.saturating_sub(dirs).min(1);
    let at = |y: u16, height: u16| Rect {
        y: area.y + y,
        height,
        ..area
    };
    [
        at(0, dirs),
        at(dirs, title),
        at(dirs + title, area.height - dirs - title),
    ]
}

/// Draws whose numbers the table shows, and the badge of a filter.
fn draw_title(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let world = state.shown();
    let title = title(state, world);
    let table = &state.view.table;
    let mut badges = Vec::new();
    if table.filter.is_active() {
        let hidden = world.logs.len().saturating_sub(table.order().len() as u64);
        badges.push(format!("FILTER /{}/ hides {hidden}", table.filter.text()));
    }
    if !table.marks.is_empty() {
        badges.push(format!("{} marked", table.marks.len()));
    }
    let badge = badges.join(" · ");
    let room = area
        .width
        .saturating_sub(crate::tui::canvas::width(&badge) + 3);
    let end = put(buf, area, (1, 0), &cut(&title, room), theme.title);
    if !badge.is_empty() {
        let badge = format!(" {badge} ");
        put_right(buf, area, (end, 0), &badge, theme.marked);
    }
}

fn title(state: &State, world: &World) -> String {
    let age = |at| text::age(at, state.now);
    if let Some(work) = world.running() {
        return match &work.kind {
            WorkKind::Verify => match world.presence() {
                Some(Presence::Down) | None => {
                    "VERIFY reads every segment: nothing is changed".to_owned()
                }
                Some(_) => {
                    "VERIFY beside a living broker: slowly, and nothing is changed".to_owned()
                }
            },
            WorkKind::Scan => match world.presence() {
                Some(Presence::Down) | None => "SCAN runs: nothing is changed".to_owned(),
                Some(_) => "SCAN beside a living broker: slowly, and nothing is changed".to_owned(),
            },
            WorkKind::Preflight => "PREFLIGHT: nothing is changed".to_owned(),
            WorkKind::Apply { job, plan } => {
                let progress = &work.progress;
                format!(
                    "JOB {job} · plan {} · {} of {} steps",
                    short_hash(plan),
                    text::count(progress.steps_done),
                    text::count(progress.steps_total)
                )
            }
        };
    }
    if let Some(boot) = &world.boot
        && world
            .plan
            .as_ref()
            .is_none_or(|plan| plan.made < boot.report.at)
    {
        let sources = boot_words::sources(&boot.report, state.now);
        // What it died of is the situation above.
        if let Some(BootEnd::Died { cause }) = &boot.report.end
            && let Some(next) = boot_remedy::remedy(cause)
        {
            return format!("THE BOOT DIED · {next} · {sources}");
        }
        let how = match &boot.report.end {
            None => boot_words::phase(boot.report.phase).to_owned(),
            Some(end) => boot_words::ended(end),
        };
        return match boot.losses() {
            0 => format!("THE BROKER'S BOOT · {how} · {sources}"),
            lost => format!(
                "THE BROKER'S BOOT · {} · {how} · {sources}",
                text::plural(lost, "LOSS", "LOSSES")
            ),
        };
    }
    if let Some(shown) = &world.plan {
        return format!(
            "PLAN {} · {} · {} · as Kafka {} boots ({})",
            short_hash(&shown.hash),
            shown.fate(),
            age(shown.made),
            shown.plan.kafka_version,
            shown.plan.version_source,
        );
    }
    match world.listed {
        Some(at) => format!(
            "LISTED {}: names, sizes and checkpoints; no batch was read",
            age(at)
        ),
        None => "not listed yet".to_owned(),
    }
}

fn draw_empty(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let world = state.shown();
    let text = if world.listed.is_none() {
        "The log dirs are being listed."
    } else if world.logs.is_empty() {
        "No partition lies in these log dirs."
    } else {
        "The filter hides all logs: Esc drops it."
    };
    put(buf, area, (1, 1), text, theme.dim);
}
