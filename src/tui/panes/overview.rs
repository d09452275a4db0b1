//! Pane 1: the host at a glance. Large screens show the other panes' widgets side by side, small ones a fact a line.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::app::confirm::class_word;
use crate::app::facts::Presence;
use crate::app::killers::killers;
use crate::app::lines::{hand_over_word, short_hash};
use crate::app::situation::Situation;
use crate::app::state::{Boot, World};
use crate::app::{Action, State, boot_words, text, volume_words, words};
use crate::tui::canvas::{cut, put, wrap};
use crate::tui::keymap::{self, Binding};
use crate::tui::pane::Pane;
use crate::tui::theme::Theme;
use crate::tui::widgets::{SortableTable, dir_rows, dir_rows_height, log_table};

use super::log::LogPane;

/// Columns of the words before each fact.
const LABEL: u16 = 12;
/// The size from which on widgets stand side by side.
const LARGE: (u16, u16) = (118, 27);

/// The overview.
#[derive(Debug, Default)]
pub struct OverviewPane {
    table: SortableTable,
    times: bool,
}

impl OverviewPane {
    /// Returns the pane; `times` says whether log lines begin with their time.
    pub fn new(times: bool) -> Self {
        Self {
            table: SortableTable::default(),
            times,
        }
    }
}

impl Pane for OverviewPane {
    fn render(&mut self, state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
        let world = state.shown();
        let facts = facts(state, theme);
        if area.width < LARGE.0 || area.height < LARGE.1 {
            let used = draw_facts(&facts, theme, area, buf);
            let rest = below(area, used + 1);
            dir_rows(
                world,
                theme,
                Rect {
                    height: rest.height.min(dir_rows_height(world, area.height)),
                    ..rest
                },
                buf,
            );
            return;
        }
        // Facts and log dirs above, the logs that need somebody in the middle, what was said below.
        let half = area.width / 2;
        let left = Rect {
            width: half.saturating_sub(1),
            ..area
        };
        let right = Rect {
            x: area.x + half,
            width: area.width - half,
            ..area
        };
        let used = draw_facts(&facts, theme, left, buf);
        put(buf, right, (1, 0), "SITUATION", theme.title);
        let situation = Situation::of(state);
        let mut y = 1;
        for line in wrap(&situation.text, right.width.saturating_sub(2)) {
            put(buf, right, (1, y), &line, theme.urgency(situation.urgency));
            y += 1;
        }
        let dirs = dir_rows_height(world, area.height);
        let dirs_area = Rect {
            y: right.y + y + 1,
            height: dirs.min(right.height.saturating_sub(y + 1)),
            ..right
        };
        dir_rows(world, theme, dirs_area, buf);
        let top = used.max(y + 1 + dirs) + 1;
        let rest = below(area, top);
        let log_height = (rest.height / 4).clamp(3, 12).min(rest.height);
        let table_area = Rect {
            height: rest.height.saturating_sub(log_height + 2),
            ..rest
        };
        log_table(&mut self.table, state, theme, table_area, buf);
        let log = below(rest, table_area.height + 1);
        put(buf, log, (1, 0), "EVENTS", theme.title);
        let log = below(log, 1);
        let log = Rect {
            x: log.x + 1,
            width: log.width.saturating_sub(1),
            ..log
        };
        LogPane::tail(self.times, theme, log, buf);
    }

    fn on_key(&self, _state: &State, key: KeyEvent) -> Option<Action> {
        let page = self.table.height();
        keymap::find(&keymap::OVERVIEW, key, page)
            .or_else(|| keymap::find(&keymap::MOVES, key, page))
    }

    fn bindings(&self, _state: &State) -> Vec<&'static Binding> {
        keymap::OVERVIEW.iter().chain(&keymap::MOVES).collect()
    }
}

fn below(area: Rect, lines: u16) -> Rect {
    let lines = lines.min(area.height);
    Rect {
        y: area.y + lines,
        height: area.height - lines,
        ..area
    }
}

type Fact = (&'static str, String, Style);

fn draw_facts(facts: &[Fact], theme: &Theme, area: Rect, buf: &mut Buffer) -> u16 {
    let mut y = 0;
    for (label, text, style) in facts {
        if y >= area.height {
            break;
        }
        put(buf, area, (1, y), label, theme.dim);
        let room = area.width.saturating_sub(LABEL + 1);
        put(buf, area, (1 + LABEL, y), &cut(text, room), *style);
        y += 1;
    }
    y
}

/// Returns what is known of the host, a fact a line; unknown is `?`.
fn facts(state: &State, theme: &Theme) -> Vec<Fact> {
    let world = state.shown();
    let mut facts = broker_facts(state, theme);
    let logs = &world.logs;
    let bytes = logs.rows().filter_map(|row| row.bytes).sum();
    let listed = world.listed.map_or_else(
        || "not listed yet".to_owned(),
        |at| format!("listed {}", text::age(at, state.now)),
    );
    let text = format!(
        "{} in {}, {} · {listed}",
        text::plural(logs.len(), "log", "logs"),
        text::plural(logs.dirs.len() as u64, "log dir", "log dirs"),
        text::bytes(bytes),
    );
    facts.push(("logs", text, theme.text));
    for (urgency, text) in volume_words::summary(world, 4) {
        facts.push(("volumes", text, theme.urgency(urgency)));
    }
    if let Some(boot) = world.booting() {
        let text = format!(
            "{}, seen for {}; {}",
            boot_words::phase(boot.report.phase),
            text::age(boot.seen, state.now).replace(" ago", ""),
            boot_words::sources(&boot.report, state.now)
        );
        facts.push(("boots", text, theme.busy));
        facts.extend(foresight_facts(state, boot, theme));
    }
    facts.extend(plan_facts(state, world, theme));
    if let Some(ended) = &world.ended {
        let did = ended.did.map_or_else(
            || "? its plan is of another session".to_owned(),
            |sum| {
                format!(
                    "{} changed, {} cut off {}",
                    text::plural(sum.changed, "log", "logs"),
                    text::bytes(sum.cut_bytes),
                    text::plural(sum.cut_logs, "log", "logs"),
                )
            },
        );
        let handed = ended.hand_over.map_or("?", hand_over_word);
        let text = format!(
            "{} · {did} · hand-over {handed} · {}",
            outcome_word(&ended.outcome),
            text::age(ended.at, state.now)
        );
        facts.push(("last job", text, theme.good));
        let cut = ended.did.is_some_and(|did| did.quarantine_bytes > 0);
        if let Some(quarantine) = ended.quarantine.as_ref().filter(|_| cut) {
            facts.push((
                "cut bytes",
                format!("in {}", quarantine.display()),
                theme.text,
            ));
        }
    }
    let unknown = if world.plan.is_some() {
        "? too little was read to tell a rate"
    } else {
        "? no batch was read yet"
    };
    let rate = world.measured_rate.map_or_else(
        || unknown.to_owned(),
        |rate| format!("{} as measured here", text::rate(rate)),
    );
    facts.push(("reading", rate, theme.dim));
    let metadata = world.broker.iter().flat_map(|broker| &broker.metadata);
    for (number, line) in metadata.enumerate() {
        let label = if number == 0 { "metadata" } else { "" };
        facts.push((label, line.clone(), theme.text));
    }
    facts
}

/// Returns who will end the boot, what is to be raised, and what is the shorter way.
fn foresight_facts(state: &State, boot: &Boot, theme: &Theme) -> Vec<Fact> {
    let foresight = boot.foresight(state.shown().measured_rate);
    let mut facts = Vec::new();
    if let Some(kill) = foresight.killed {
        let at = text::clock(kill.at, &state.setup.zone);
        facts.push(("killed at", format!("{at} by {}", kill.who), theme.danger));
        facts.push(("raise", kill.raise, theme.warn));
    }
    if let Some(advice) = foresight.advice {
        facts.push(("advice", advice, theme.text));
    }
    let killers = killers(&boot.history);
    if !killers.is_empty() {
        facts.push(("can end it", killers.join(" · "), theme.warn));
    }
    let unseen = &boot.history.supervision.unseen;
    if !unseen.is_empty() {
        facts.push(("not seen", unseen.join(" · "), theme.dim));
    }
    let pass = boot.report.first_pass.as_ref();
    if let Some(text) = pass.and_then(boot_words::first_pass) {
        facts.push(("then", text, theme.warn));
    }
    facts
}

fn outcome_word(outcome: &crate::engine::JobOutcome) -> &'static str {
    use crate::engine::JobOutcome;
    match outcome {
        JobOutcome::Done => "done",
        JobOutcome::DoneButLeft { .. } => "done, but some stay",
        JobOutcome::Refused { .. } => "refused",
        JobOutcome::Stopped => "stopped",
        JobOutcome::Failed { .. } => "FAILED",
    }
}

fn broker_facts(state: &State, theme: &Theme) -> Vec<Fact> {
    let Some(broker) = &state.shown().broker else {
        return vec![("broker", "? not opened yet".to_owned(), theme.dim)];
    };
    let unknown = || text::UNKNOWN.to_owned();
    let node = broker.node_id.map_or_else(unknown, |id| id.to_string());
    let cluster = broker.cluster_id.clone().unwrap_or_else(unknown);
    let config = broker.config.as_ref().map_or_else(
        || "none: --log-dirs".to_owned(),
        |path| path.display().to_string(),
    );
    let (runs, style) = match &broker.presence {
        Presence::Down => ("no".to_owned(), theme.text),
        Presence::Running { pid: Some(pid) } => (format!("YES: pid {pid}"), theme.warn),
        Presence::Running { pid: None } => ("YES: its lock is held".to_owned(), theme.warn),
        Presence::Unknown { why } => (format!("? {why}"), theme.warn),
    };
    let runs = format!("{runs} · {}", text::age(broker.at, state.now));
    let mut facts = vec![
        ("broker", format!("{node} of cluster {cluster}"), theme.text),
        (
            "kafka",
            format!("{} ({})", broker.version, broker.version_source),
            theme.text,
        ),
        ("config", config, theme.text),
        ("runs", runs, style),
    ];
    if let Some(supervisor) = &broker.supervisor {
        facts.push(("hold down", supervisor.hold.clone(), theme.warn));
    }
    facts
}

fn plan_facts(state: &State, world: &World, theme: &Theme) -> Vec<Fact> {
    let Some(shown) = &world.plan else {
        return vec![(
            "a boot",
            "? batches were not read: :scan reads them, :recover plans".to_owned(),
            theme.dim,
        )];
    };
    let sum = shown.sum;
    let mut facts = vec![(
        "plan",
        format!(
            "{} {} · {} · {}",
            short_hash(&shown.hash),
            shown.fate(),
            class_word(shown.plan.class()),
            text::age(shown.made, state.now),
        ),
        theme.text,
    )];
    if shown.applied {
        return facts;
    }
    let cut = match (sum.cut_logs, sum.removed_segments) {
        (0, _) => "nothing".to_owned(),
        (logs, 0) => format!(
            "{} off {}",
            text::bytes(sum.cut_bytes),
            text::plural(logs, "log", "logs")
        ),
        (logs, segments) => format!(
            "{} off {}, {} deleted",
            text::bytes(sum.cut_bytes),
            text::plural(logs, "log", "logs"),
            text::plural(segments, "segment", "segments")
        ),
    };
    facts.push((
        "cuts",
        cut,
        if sum.cut_logs > 0 {
            theme.warn
        } else {
            theme.good
        },
    ));
    let rebuilds = format!(
        "{} in {} · {} as a boot would leave them",
        text::plural(sum.written_files, "file", "files"),
        text::plural(sum.changed, "log", "logs"),
        sum.unchanged
    );
    facts.push(("rebuilds", rebuilds, theme.text));
    let mut asks = world
        .logs
        .rows()
        .filter_map(|row| Some((row, row.open_ask()?)));
    if let Some((row, ask)) = asks.next() {
        let more = match asks.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!(
            "{}: Kafka's way loses {}{more}",
            row.dir_name,
            words::loss(ask)
        );
        facts.push(("undecided", text, theme.danger));
    }
    if sum.refused + sum.unreadable > 0 {
        let text = format!("{} REFUSED · {} UNREADABLE", sum.refused, sum.unreadable);
        facts.push(("stay", text, theme.danger));
    }
    facts.push((
        "hand-over",
        hand_over_word(shown.plan.hand_over).to_owned(),
        theme.text,
    ));
    facts
}
