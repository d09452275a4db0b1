//! A session that is driven by keys and events, and drawn into cells.

use krescue::app::state::{Setup, Subject};
use krescue::app::{Action, Effect, Event, State, update};
use krescue::terms::Timestamp;
use krescue::tui::theme::Theme;
use krescue::tui::{Charset, Look, Root, to_text};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::fixtures::NOW;

/// The sizes at which each screen is kept.
pub(super) const SIZES: [(u16, u16); 3] = [(80, 24), (120, 32), (200, 50)];

pub(super) struct Session {
    pub(super) state: State,
    pub(super) root: Root,
    /// What was asked for and not yet looked at.
    pub(super) effects: Vec<Effect>,
}

impl Session {
    pub(super) fn new() -> Self {
        Self::with(setup(), look(Charset::Unicode, true))
    }

    pub(super) fn with(setup: Setup, look: Look) -> Self {
        Self {
            state: State::new(setup),
            root: Root::new(look),
            effects: Vec::new(),
        }
    }

    pub(super) fn event(&mut self, event: Event) {
        self.effects.extend(update(&mut self.state, event));
    }

    pub(super) fn later(&mut self, milliseconds: i64) {
        let now = Timestamp(self.state.now.0 + milliseconds);
        self.event(Event::Tick(now));
    }

    pub(super) fn press(&mut self, code: KeyCode) {
        self.key(KeyEvent::new(code, KeyModifiers::NONE));
    }

    pub(super) fn key(&mut self, key: KeyEvent) {
        let action: Action = self.root.on_key(&self.state, key);
        let at = self.state.now;
        self.event(Event::Action { action, at });
    }

    /// Presses a key for each character; `\n` is Enter.
    pub(super) fn type_keys(&mut self, text: &str) {
        for c in text.chars() {
            self.press(if c == '\n' {
                KeyCode::Enter
            } else {
                KeyCode::Char(c)
            });
        }
    }

    pub(super) fn buffer(&mut self, width: u16, height: u16) -> Buffer {
        self.state.refresh();
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        self.root.render(&self.state, area, &mut buffer);
        buffer
    }

    pub(super) fn screen(&mut self, width: u16, height: u16) -> String {
        to_text(&self.buffer(width, height))
    }

    /// Returns the effects so far and forgets them.
    pub(super) fn take(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Returns the effects so far without lines of the log, and forgets them.
    pub(super) fn take_acts(&mut self) -> Vec<Effect> {
        let mut effects = self.take();
        effects.retain(|effect| !matches!(effect, Effect::Log { .. } | Effect::DrainInput));
        effects
    }
}

pub(super) fn setup() -> Setup {
    Setup {
        host: "kafka-07".to_owned(),
        zone: jiff::tz::TimeZone::UTC,
        forbidden: None,
        subject: Subject::Host,
        armed: false,
        now: NOW,
    }
}

pub(super) fn look(charset: Charset, colours: bool) -> Look {
    Look {
        theme: Theme::built_in(colours),
        charset,
        log_times: false,
    }
}
