//! Options of `quarantine`.

use clap::{Args as ClapArgs, Subcommand};

use crate::cli::value::{HashPrefix, parse_duration, parse_hash};

/// Arguments of `quarantine`.
#[derive(Debug, ClapArgs)]
pub struct QuarantineArgs {
    /// What to do with it
    #[command(subcommand)]
    pub command: QuarantineCommand,
}

/// What to do with the quarantine.
#[derive(Debug, Subcommand)]
pub enum QuarantineCommand {
    /// List what each plan keeps: age, size, logs, and whether it can still be taken back
    Ls(LsArgs),
    /// Remove what plans keep; they cannot be taken back any more
    Purge(PurgeArgs),
}

/// Arguments of `quarantine ls`.
#[derive(Debug, ClapArgs)]
pub struct LsArgs {
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `quarantine purge`.
#[derive(Debug, ClapArgs)]
#[command(group(clap::ArgGroup::new("which").required(true).multiple(true).args(["older_than", "plan"])))]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct PurgeArgs {
    /// Only what is older, such as 30d, 12h, 90m
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub older_than: Option<u64>,
    /// Only what this plan keeps (8 or more hex digits of its hash)
    #[arg(long, value_name = "HASH", value_parser = parse_hash)]
    pub plan: Option<HashPrefix>,
    /// Ask nothing; for scripts
    #[arg(long)]
    pub yes_to_all: bool,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
}
