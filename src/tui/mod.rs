//! The state as cells: panes, what lies over them, and the terminal.
//!
//! Nothing here changes the state or touches a file: a pane reads the [`State`](crate::app::State) and what it wants is a
//! returned [`Action`](crate::app::Action).

pub mod canvas;
mod confirm;
mod free_space;
pub mod keymap;
mod live;
mod overlays;
pub mod pane;
pub mod panes;
mod root;
pub mod terminal;
pub mod theme;
pub mod widgets;

pub use canvas::to_text;
pub use root::{Charset, Look, Root};
