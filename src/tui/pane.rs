//! What every pane is.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::{Action, State};

use super::keymap::Binding;
use super::theme::Theme;

pub use crate::app::PaneId;

/// A part of the screen with its own keys. It formats; it never computes, and what it wants is a returned action.
pub trait Pane {
    /// Draws the pane; `area` may be of any size.
    fn render(&mut self, state: &State, theme: &Theme, area: Rect, buf: &mut Buffer);

    /// Returns what a key asks for, if it is one of the pane's.
    fn on_key(&self, state: &State, key: KeyEvent) -> Option<Action>;

    /// Returns the pane's keys, for the help; first those worth a place in the last line.
    fn bindings(&self, state: &State) -> Vec<&'static Binding>;
}
