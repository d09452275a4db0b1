//! Options of `undo`.

use clap::Args as ClapArgs;

use super::Answers;
use crate::cli::value::{HashPrefix, parse_hash};

/// Arguments of `undo`.
#[derive(Debug, ClapArgs)]
pub struct UndoArgs {
    /// The plan that was carried out: 8 or more hex digits of its hash
    #[arg(value_name = "PLAN", value_parser = parse_hash)]
    pub plan: HashPrefix,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// What is done with the plan
    #[command(flatten)]
    pub answers: Answers,
}
