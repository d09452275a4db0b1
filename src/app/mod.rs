//! The state and its one writer: [`update`]. Pure: no I/O, no clock, no terminal type.
//!
//! A key becomes an [`Action`] in `tui`; [`update`] changes the [`State`] and returns [`Effect`]s; the dashboard carries
//! them out and what comes of them returns as [`Event`]s. Nothing else changes the state.

pub mod act;
pub mod action;
pub mod boot_remedy;
pub mod boot_words;
mod broken_job;
pub mod command;
pub mod confirm;
pub mod crash_loop;
pub mod effect;
pub mod event;
pub mod facts;
pub mod free_words;
pub mod killers;
pub mod lines;
mod live_act;
pub mod live_words;
pub mod metadata_words;
pub mod plan_text;
pub mod recording;
pub mod replica_words;
pub mod retention_words;
pub mod session;
pub mod situation;
pub mod state;
pub mod text;
mod update;
pub mod volume_words;
pub mod words;

pub use action::{Action, PaneId};
pub use effect::{Effect, PlanRequest, Scope};
pub use event::{Event, Level, Verified};
pub use state::State;
pub use update::update;
