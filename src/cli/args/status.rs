//! Arguments of `status`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Arguments of `status`.
#[derive(Debug, Default, ClapArgs)]
pub struct StatusArgs {
    /// Print one JSON object in one line
    #[arg(long)]
    pub json: bool,
    /// Join the lines of many hosts' status --json into one table, worst first; "-" for the standard input
    #[arg(long, value_name = "FILE|-", conflicts_with = "prometheus")]
    pub merge: Option<PathBuf>,
    /// Write a text file for Prometheus' node exporter too, in one piece
    #[arg(long, value_name = "FILE")]
    pub prometheus: Option<PathBuf>,
}
