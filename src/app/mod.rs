//! The state and its one writer: [`update`]. Pure: no I/O, no clock, no terminal type.
//!
//! A key becomes an [`Action`] in `tui`; [`update`] changes the [`State`] and returns [`Effect`]s; the dashboard carries
//! them out and what comes of them returns as [`Event`]s. Nothing else changes the state.

pub mod act;
pub mod action;
pub mod boot_words;
pub mod command;
pub mod confirm;
pub mod effect;
pub mod event;
pub mod facts;
pub mod lines;
pub mod plan_text;
pub mod session;
pub mod situation;
pub mod state;
pub mod text;
mod update;
pub mod words;

pub use action::{Action, PaneId};
pub use effect::{Effect, PlanRequest, Scope};
pub use event::{Event, Level};
pub use state::State;
pub use update::update;
