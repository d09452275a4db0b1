//! The headless root: arguments, one file a command, reports as text and JSON, errors to exit codes.

mod apply;
pub mod args;
pub mod audit_words;
mod clock;
pub mod command;
mod confirm;
mod context;
mod exit;
mod help;
mod look;
mod out;
mod report;
mod run;
mod signals;
pub mod target;
mod value;

pub use context::Context;
pub use exit::{CliError, Exit};
pub use look::{BesideBroker, Look};
pub use run::run;
pub use value::HashPrefix;
