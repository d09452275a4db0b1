//! Options of `audit`.

use clap::Args as ClapArgs;

use crate::cli::value::{HashPrefix, parse_hash};

/// Arguments of `audit`.
#[derive(Debug, ClapArgs)]
pub struct AuditArgs {
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// Only what concerns this plan (8 or more hex digits of its hash)
    #[arg(long, value_name = "HASH", value_parser = parse_hash)]
    pub plan: Option<HashPrefix>,
}
