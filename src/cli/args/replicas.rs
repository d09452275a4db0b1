//! Arguments of `replicas`.

use clap::Args as ClapArgs;

use crate::cli::value::parse_duration;

/// Arguments of `replicas`.
#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct ReplicasArgs {
    /// Only these topics
    #[arg(value_name = "TOPIC")]
    pub topic: Vec<String>,
    /// Only replicas that this broker holds [default with --wait-in-sync: this host's]
    #[arg(long, value_name = "ID")]
    pub broker: Option<i32>,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// Wait until the broker's replicas are in sync, at most so long (such as 30m)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub wait_in_sync: Option<u64>,
    /// Show the replicas that are in sync too
    #[arg(long)]
    pub all: bool,
}
