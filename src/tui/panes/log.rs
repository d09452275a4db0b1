//! Pane 7: krescue's own events and those of its jobs, by tui-logger.

use std::cell::Cell;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::symbols::border;
use ratatui::text::Line;
use ratatui::widgets::{Block, Widget as _};
use tui_logger::{
    TuiLoggerLevelOutput, TuiLoggerTargetWidget, TuiLoggerWidget, TuiWidgetEvent, TuiWidgetState,
};

use crate::app::action::Action;
use crate::app::state::State;
use crate::tui::keymap::{Binding, Does};
use crate::tui::pane::Pane;
use crate::tui::theme::Theme;

/// Keys of the log, told by the help; they move inside tui-logger.
static KEYS: [Binding; 5] = [
    key("h", "hide or show the targets"),
    key("↑ ↓", "another target"),
    key("← →", "show less or more of the target"),
    key("- +", "capture less or more of the target"),
    key("PgUp PgDn Esc", "scroll back, on, to the end"),
];

const fn key(shown: &'static str, words: &'static str) -> Binding {
    Binding {
        keys: &[],
        shown,
        words,
        does: Does::Act(Action::Nothing),
    }
}

/// The log pane.
pub struct LogPane {
    widget: TuiWidgetState,
    /// Whether lines begin with their time; fixed screens have none.
    times: bool,
    hand: Cell<Hand>,
}

/// How the pane was left by its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hand {
    targets: Targets,
    place: LogPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Targets {
    Shown,
    Hidden,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogPlace {
    End,
    /// Scrolled back, so that Esc has something to do.
    Back,
}

impl std::fmt::Debug for LogPane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogPane").finish_non_exhaustive()
    }
}

impl LogPane {
    /// Returns a pane at the log's end; `times` says whether lines begin with their time.
    pub fn new(times: bool) -> Self {
        Self {
            widget: TuiWidgetState::new(),
            times,
            hand: Cell::new(Hand {
                targets: Targets::Shown,
                place: LogPlace::End,
            }),
        }
    }

    /// Draws the last lines only.
    pub(super) fn tail(times: bool, theme: &Theme, area: Rect, buf: &mut Buffer) {
        if !area.is_empty() {
            lines(times, theme).render(area, buf);
        }
    }
}

fn lines(times: bool, theme: &Theme) -> TuiLoggerWidget<'static> {
    TuiLoggerWidget::default()
        .output_timestamp(times.then(|| "%H:%M:%S".to_owned()))
        .output_level(Some(TuiLoggerLevelOutput::Abbreviated))
        .output_target(false)
        .output_file(false)
        .output_line(false)
        .output_separator(' ')
        .style(theme.text)
        .style_error(theme.danger)
        .style_warn(theme.warn)
        .style_info(theme.text)
        .style_debug(theme.dim)
        .style_trace(theme.dim)
}

impl Pane for LogPane {
    fn render(&mut self, _state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
        if area.width < 4 || area.height < 3 {
            return;
        }
        let targets_width = match self.hand.get().targets {
            Targets::Shown if area.width >= 60 => 22,
            _ => 0,
        };
        if targets_width > 0 {
            let area = Rect {
                width: targets_width,
                ..area
            };
            TuiLoggerTargetWidget::default()
                .block(block("levels by target", theme))
                .highlight_style(theme.selected)
                .style(theme.text)
                .style_show(theme.text)
                .style_hide(theme.dim)
                .style_off(theme.dim)
                .state(&self.widget)
                .render(area, buf);
        }
        let area = Rect {
            x: area.x + targets_width,
            width: area.width - targets_width,
            ..area
        };
        lines(self.times, theme)
            .output_target(true)
            .block(block("events of krescue and its jobs", theme))
            .state(&self.widget)
            .render(area, buf);
    }

    fn on_key(&self, _state: &State, key: KeyEvent) -> Option<Action> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return None;
        }
        let mut hand = self.hand.get();
        let event = match key.code {
            KeyCode::Char('h') => {
                hand.targets = match hand.targets {
                    Targets::Shown => Targets::Hidden,
                    Targets::Hidden => Targets::Shown,
                };
                self.hand.set(hand);
                return Some(Action::Nothing);
            }
            KeyCode::Char('+') => TuiWidgetEvent::PlusKey,
            KeyCode::Char('-') => TuiWidgetEvent::MinusKey,
            KeyCode::Up | KeyCode::Char('k') => TuiWidgetEvent::UpKey,
            KeyCode::Down | KeyCode::Char('j') => TuiWidgetEvent::DownKey,
            KeyCode::Left => TuiWidgetEvent::LeftKey,
            KeyCode::Right => TuiWidgetEvent::RightKey,
            KeyCode::PageUp => {
                hand.place = LogPlace::Back;
                TuiWidgetEvent::PrevPageKey
            }
            KeyCode::PageDown => TuiWidgetEvent::NextPageKey,
            KeyCode::Esc if hand.place == LogPlace::Back => {
                hand.place = LogPlace::End;
                TuiWidgetEvent::EscapeKey
            }
            _ => return None,
        };
        self.hand.set(hand);
        self.widget.transition(event);
        Some(Action::Nothing)
    }

    fn bindings(&self, _state: &State) -> Vec<&'static Binding> {
        KEYS.iter().collect()
    }
}

fn block(title: &'static str, theme: &Theme) -> Block<'static> {
    Block::bordered()
        .border_set(border::PLAIN)
        .border_style(theme.border)
        .title(Line::styled(format!(" {title} "), theme.title))
}
