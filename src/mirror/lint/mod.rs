//! What will bite: rules over the facts, each silent where a fact is missing, and then by the name of that fact.

mod config;
mod copies;
mod foreign;
mod groups;
mod keys;
mod live;
mod names;
mod rule;

pub use rule::{Lint, LintReport, LintSeverity, SilentLint, lint};
