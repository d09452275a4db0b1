//! What lies over the panes: how it is drawn and what its keys ask for.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::app::act::ActItem;
use crate::app::action::{Action, PaneId};
use crate::app::command::COMMANDS;
use crate::app::facts::{BrokerChoice, KeptFacts};
use crate::app::lines::short_hash;
use crate::app::state::{CommandLine, FreeStage, Overlay, State, WorkKind};
use crate::app::text;

use super::confirm;
use super::free_space::free_space;
use super::keymap::{self, Binding};
use super::live;
use super::theme::Theme;
use super::widgets::{ListBox, Long, Place};

/// Rows that a page key moves in a box.
const PAGE: u16 = 10;

/// Returns what a key asks of an overlay.
pub(super) fn on_key(overlay: &Overlay, key: KeyEvent) -> Option<Action> {
    if keymap::is_interrupt(key) {
        return Some(Action::Quit);
    }
    match overlay {
        Overlay::Command(_) => match key.code {
            KeyCode::Down => Some(Action::Complete(1)),
            KeyCode::Up => Some(Action::Complete(-1)),
            _ => keymap::edit(key),
        },
        Overlay::FreeSpace(dialog) if dialog.stage == FreeStage::Asking => keymap::edit(key),
        Overlay::Help { .. } | Overlay::Filter { .. } => match key.code {
            KeyCode::Down | KeyCode::Up | KeyCode::PageDown | KeyCode::PageUp => {
                keymap::find(&keymap::MOVES, key, PAGE)
            }
            _ => keymap::edit(key),
        },
        Overlay::WhatIf => match key.code {
            KeyCode::Down | KeyCode::Up => keymap::find(&keymap::MOVES, key, PAGE),
            _ => keymap::edit(key),
        },
        Overlay::Plan(dialog) if dialog.prompt.is_some() => match key.code {
            KeyCode::Down | KeyCode::Up | KeyCode::PageDown | KeyCode::PageUp => None,
            _ => keymap::edit(key),
        },
        Overlay::Live(dialog) if dialog.prompt.is_some() => match key.code {
            KeyCode::Down | KeyCode::Up | KeyCode::PageDown | KeyCode::PageUp => None,
            _ => keymap::edit(key),
        },
        Overlay::Plan(_) | Overlay::Live(_) | Overlay::Lines { .. }
            if key.code == KeyCode::Char(':') =>
        {
            Some(Action::OpenCommand)
        }
        Overlay::Plan(_) | Overlay::Live(_) | Overlay::Lines { .. }
            if key.code == KeyCode::Char('s') =>
        {
            Some(Action::SaveScreen)
        }
        _ => match key.code {
            KeyCode::Esc => Some(Action::Back),
            KeyCode::Enter => Some(Action::Enter),
            _ => keymap::find(&keymap::MOVES, key, PAGE).or(match key.code {
                KeyCode::Char(letter) => Some(Action::Choose(letter)),
                _ => None,
            }),
        },
    }
}

/// Draws an overlay over the panes.
pub(super) fn render(
    overlay: &Overlay,
    state: &State,
    theme: &Theme,
    bindings: &[&Binding],
    (screen, buf): (Rect, &mut Buffer),
) {
    let (list, place) = match overlay {
        Overlay::Chooser { cursor } => chooser(&state.world.choices, *cursor, theme),
        Overlay::Help { input, scroll } => help(input.value(), *scroll, bindings, theme),
        Overlay::Command(line) => command(line, theme),
        Overlay::Filter { input, .. } => filter(input.value(), state, theme),
        Overlay::Acts {
            items,
            cursor,
            refused,
        } => acts(items, *cursor, refused.as_deref(), theme),
        Overlay::Kept {
            items,
            cursor,
            refused,
        } => kept(items, *cursor, refused.as_deref(), (state, theme)),
        Overlay::Plan(dialog) => (confirm::plan(dialog, state, theme), Place::Middle(110)),
        Overlay::FreeSpace(dialog) => (free_space(dialog, state, theme), Place::Middle(130)),
        Overlay::Live(dialog) => (live::plan(dialog, state, theme), Place::Middle(120)),
        // The pane draws it, as what it changes is there.
        Overlay::WhatIf => return,
        Overlay::Quit => quit(state, theme),
        Overlay::Lines {
            title,
            lines,
            scroll,
        } => read_lines(title, (lines, *scroll), theme),
    };
    list.render(buf, theme, screen, place);
}

fn boxed(title: &str, keys: &str, theme: &Theme) -> ListBox {
    ListBox {
        title: title.to_owned(),
        keys: keys.to_owned(),
        border: theme.border,
        ..ListBox::default()
    }
}

fn chooser(choices: &[BrokerChoice], cursor: usize, theme: &Theme) -> (ListBox, Place) {
    let lines = choices
        .iter()
        .map(|choice| {
            let dirs: Vec<String> = choice
                .log_dirs
                .iter()
                .map(|dir| dir.display().to_string())
                .collect();
            vec![
                (format!("{:<28} ", choice.label), theme.title),
                (format!("{:<22} ", choice.source), theme.dim),
                (dirs.join(", "), theme.text),
            ]
        })
        .collect();
    let list = ListBox {
        lines,
        cursor: Some(cursor),
        ..boxed(
            "several brokers were found on this host",
            "↑ ↓ Enter choose · q quit",
            theme,
        )
    };
    (list, Place::Middle(100))
}

fn help(wanted: &str, scroll: usize, bindings: &[&Binding], theme: &Theme) -> (ListBox, Place) {
    let fits = |text: &str| text.to_lowercase().contains(&wanted.to_lowercase());
    let mut lines = Vec::new();
    let mut section = |title: &str, entries: Vec<(String, &str)>| {
        let mut entries = entries
            .into_iter()
            .filter(|(key, words)| fits(key) || fits(words))
            .peekable();
        if entries.peek().is_some() {
            lines.push(vec![(title.to_owned(), theme.title)]);
        }
        for (key, words) in entries {
            lines.push(vec![
                (format!("  {key:<30} "), theme.key),
                (words.to_owned(), theme.text),
            ]);
        }
    };
    let keys = |bindings: &[&Binding]| -> Vec<(String, &'static str)> {
        let entry = |binding: &&Binding| (binding.shown.to_owned(), binding.words);
        bindings.iter().map(entry).collect()
    };
    section("THIS PANE", keys(bindings));
    section(
        "EVERYWHERE",
        keys(&keymap::GLOBAL.iter().collect::<Vec<_>>()),
    );
    let commands = COMMANDS.iter().map(|command| {
        let line = format!(":{} {}", command.name, command.arguments);
        (line.trim_end().to_owned(), command.does)
    });
    section("COMMANDS", commands.collect());
    section(
        "WORDS",
        vec![
            ("ASK".to_owned(), "a boot would delete good records: decide"),
            ("REFUSED".to_owned(), "Kafka would not load this log"),
            ("class A".to_owned(), "regenerable files only: y"),
            (
                "class B".to_owned(),
                "what a boot would cut anyway: type the name or the number",
            ),
            (
                "class C".to_owned(),
                "good data is lost: type host and bytes",
            ),
            ("?".to_owned(), "unknown; never a zero"),
        ],
    );
    if lines.is_empty() {
        lines.push(vec![("nothing fits".to_owned(), theme.dim)]);
    }
    let list = ListBox {
        lines,
        scroll,
        below: vec![vec![
            ("search: ".to_owned(), theme.dim),
            (format!("{wanted}▏"), theme.text),
        ]],
        ..boxed("keys", "type to search · ↑ ↓ scroll · Esc close", theme)
    };
    (list, Place::Middle(96))
}

fn command(line: &CommandLine, theme: &Theme) -> (ListBox, Place) {
    let entry = |(index, candidate): (usize, &String)| {
        let style = if line.picked == Some(index) {
            theme.selected
        } else {
            theme.text
        };
        let name = candidate.split(' ').next().unwrap_or_default();
        let help = COMMANDS
            .iter()
            .find(|command| command.name == name && candidate == command.name);
        let mut pieces = vec![(format!("{candidate:<22}"), style)];
        if let Some(help) = help {
            pieces.push((format!(" {:<24} {}", help.arguments, help.does), theme.dim));
        }
        pieces
    };
    let lines = line.candidates.iter().enumerate().map(entry).collect();
    let mut below = vec![vec![
        (":".to_owned(), theme.key),
        (
            with_cursor(line.input.value(), line.input.cursor()),
            theme.text,
        ),
    ]];
    if let Some(error) = &line.error {
        below.push(vec![(error.clone(), theme.warn)]);
    }
    let list = ListBox {
        lines,
        scroll: line.picked.unwrap_or(0).saturating_sub(4),
        below,
        ..boxed("command", "Tab completes · Enter does · Esc leaves", theme)
    };
    (list, Place::Bottom)
}

fn filter(text: &str, state: &State, theme: &Theme) -> (ListBox, Place) {
    let table = &state.view.table;
    let shown = table.order().len();
    let all = state.shown().logs.len();
    let volumes = &state.view.volumes;
    let (error, counted) = match state.view.pane {
        PaneId::Volumes if volumes.open.is_some() => {
            let rows = volumes.items().len() as u64;
            (volumes.filter.error(), text::plural(rows, "row", "rows"))
        }
        PaneId::Volumes => {
            let rows = volumes.dirs().len() as u64;
            (volumes.filter.error(), text::plural(rows, "row", "rows"))
        }
        _ => (table.filter.error(), format!("{shown} of {all} logs")),
    };
    let (says, style) = match error {
        Some(error) => (error.to_owned(), theme.warn),
        None => (counted, theme.dim),
    };
    let list = ListBox {
        lines: vec![vec![
            ("/".to_owned(), theme.key),
            (format!("{text}▏  "), theme.text),
            (says, style),
        ]],
        ..boxed(
            "filter by name, dir, state and findings; ! inverts",
            "Enter keep · Esc undo",
            theme,
        )
    };
    (list, Place::Bottom)
}

fn acts(
    items: &[ActItem],
    cursor: usize,
    refused: Option<&str>,
    theme: &Theme,
) -> (ListBox, Place) {
    let lines = items
        .iter()
        .map(|item| {
            let (style, cost) = match &item.refused {
                Some(why) => (theme.dim, (format!("not now: {why}"), theme.warn)),
                None => (theme.text, (item.class.to_owned(), theme.dim)),
            };
            vec![
                (format!("{} ", item.letter), theme.key),
                (format!("{:<44} ", item.text), style),
                cost,
            ]
        })
        .collect();
    let below = refused
        .map(|why| vec![vec![(format!("not now: {why}"), theme.warn)]])
        .unwrap_or_default();
    let list = ListBox {
        lines,
        cursor: Some(cursor),
        below,
        ..boxed("acts", "letter or Enter: opens the plan · Esc leave", theme)
    };
    (list, Place::Middle(100))
}

fn kept(
    items: &[KeptFacts],
    cursor: usize,
    refused: Option<&str>,
    (state, theme): (&State, &Theme),
) -> (ListBox, Place) {
    let lines = items
        .iter()
        .map(|item| {
            let time = text::date_time(item.at, &state.setup.zone);
            let logs = match item.partitions.as_slice() {
                [] => "no log".to_owned(),
                [one] => one.clone(),
                [one, more @ ..] => format!("{one} and {} more", more.len()),
            };
            let (style, says) = match &item.why_not {
                Some(why) => (theme.dim, (format!("not now: {why}"), theme.warn)),
                None => (
                    theme.text,
                    (
                        format!("{} kept, by {}", text::bytes(item.bytes), item.who),
                        theme.dim,
                    ),
                ),
            };
            vec![
                (format!("{} ", short_hash(&item.plan)), theme.key),
                (format!("{time}  {logs:<24} "), style),
                says,
            ]
        })
        .collect();
    let below = refused
        .map(|why| vec![vec![(format!("not now: {why}"), theme.warn)]])
        .unwrap_or_default();
    let list = ListBox {
        lines,
        cursor: Some(cursor),
        below,
        ..boxed(
            "plans that were carried out, the newest first",
            "Enter shows the plan that takes it back · Esc leave",
            theme,
        )
    };
    (list, Place::Middle(110))
}

fn quit(state: &State, theme: &Theme) -> (ListBox, Place) {
    let entry = |letter: &str, words: &str| -> Vec<(String, Style)> {
        vec![
            (format!("{letter:<5}"), theme.key),
            (words.to_owned(), theme.text),
        ]
    };
    let (title, lines) = match state.world.running().map(|work| &work.kind) {
        Some(WorkKind::Apply { job, .. }) => (
            format!("job {job} runs"),
            vec![
                entry("l", "leave it running and quit; krescue shows it again"),
                entry("t", "stop it after this step, then quit"),
                entry("Esc", "stay"),
            ],
        ),
        _ => (
            "a scan runs; it changes nothing".to_owned(),
            vec![
                entry("e", "end it and quit; what it found is lost"),
                entry("Esc", "stay"),
            ],
        ),
    };
    let list = ListBox {
        lines,
        ..boxed(&title, "", theme)
    };
    (list, Place::Middle(64))
}

fn read_lines(title: &str, (lines, scroll): (&[String], usize), theme: &Theme) -> (ListBox, Place) {
    let entry = |line: &String| {
        let style = if line.starts_with('#') {
            theme.dim
        } else {
            theme.text
        };
        vec![(line.clone(), style)]
    };
    let list = ListBox {
        lines: lines.iter().map(entry).collect(),
        long: Long::Wraps,
        scroll,
        ..boxed(title, "s save · Esc close", theme)
    };
    (list, Place::Middle(140))
}

/// Returns a line with the cursor's mark in it.
pub(super) fn with_cursor(text: &str, cursor: usize) -> String {
    let mut line: String = text.chars().take(cursor).collect();
    line.push('▏');
    line.extend(text.chars().skip(cursor));
    line
}
