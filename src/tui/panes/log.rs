//! Pane 7: krescue's own events and those of its jobs, by tui-logger.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;
use tui_logger::{
    TuiLoggerLevelOutput, TuiLoggerSmartWidget, TuiLoggerWidget, TuiWidgetEvent, TuiWidgetState,
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
    /// Whether it was scrolled back, so that Esc has something to do.
    scrolled: std::cell::Cell<bool>,
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
            scrolled: std::cell::Cell::new(false),
        }
    }

    /// Draws the last lines only, without the targets.
    pub(super) fn tail(times: bool, theme: &Theme, area: Rect, buf: &mut Buffer) {
        if area.is_empty() {
            return;
        }
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
            .render(area, buf);
    }
}

impl Pane for LogPane {
    fn render(&mut self, _state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
        if area.width < 4 || area.height < 3 {
            return;
        }
        TuiLoggerSmartWidget::default()
            .title_log(" events ")
            .title_target(" targets ")
            .border_style(theme.border)
            .output_timestamp(self.times.then(|| "%H:%M:%S".to_owned()))
            .output_level(Some(TuiLoggerLevelOutput::Abbreviated))
            .output_file(false)
            .output_line(false)
            .output_separator(' ')
            .style(theme.text)
            .style_error(theme.danger)
            .style_warn(theme.warn)
            .style_info(theme.text)
            .style_debug(theme.dim)
            .style_trace(theme.dim)
            .highlight_style(theme.selected)
            .state(&self.widget)
            .render(area, buf);
    }

    fn on_key(&self, _state: &State, key: KeyEvent) -> Option<Action> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return None;
        }
        let event = match key.code {
            KeyCode::Char('h') => TuiWidgetEvent::HideKey,
            KeyCode::Char('+') => TuiWidgetEvent::PlusKey,
            KeyCode::Char('-') => TuiWidgetEvent::MinusKey,
            KeyCode::Up | KeyCode::Char('k') => TuiWidgetEvent::UpKey,
            KeyCode::Down | KeyCode::Char('j') => TuiWidgetEvent::DownKey,
            KeyCode::Left => TuiWidgetEvent::LeftKey,
            KeyCode::Right => TuiWidgetEvent::RightKey,
            KeyCode::PageUp => {
                self.scrolled.set(true);
                TuiWidgetEvent::PrevPageKey
            }
            KeyCode::PageDown => TuiWidgetEvent::NextPageKey,
            KeyCode::Esc if self.scrolled.take() => TuiWidgetEvent::EscapeKey,
            _ => return None,
        };
        self.widget.transition(event);
        Some(Action::Nothing)
    }

    fn bindings(&self, _state: &State) -> Vec<&'static Binding> {
        KEYS.iter().collect()
    }
}
