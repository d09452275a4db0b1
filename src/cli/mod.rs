//! The headless root: arguments, one file a command, reports as text and JSON, errors to exit codes.

pub mod args;
pub mod command;
mod exit;
mod help;
mod out;
mod run;
mod value;

pub use exit::{CliError, Exit};
pub use run::run;
pub use value::{HashPrefix, QuarantineArg};
