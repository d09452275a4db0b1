//! Arguments of `verify`.

use clap::Args as ClapArgs;

use super::Answers;
use crate::cli::value::parse_partition;
use crate::settings::{Quarantine, parse_rate};
use crate::terms::TopicPartition;

/// Arguments of `verify`.
#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct VerifyArgs {
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// Go on with a run that was stopped: logs that are as they were when they were verified are not read again
    #[arg(long)]
    pub resume: bool,
    /// How fast batches are read beside a living broker [default: 50MiB/s]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub rate: Option<u64>,
    /// Plan new indexes, made from the batches, for those that cannot be right; --apply does it
    #[arg(long)]
    pub fix: bool,
    /// What is done with the plan of --fix
    #[command(flatten)]
    pub answers: Answers,
    /// Where what is replaced is copied to, or "none" [default: STATE/quarantine]
    #[arg(long, value_name = "DIR|none")]
    pub quarantine: Option<Quarantine>,
    /// Only these partitions
    #[arg(long, value_name = "TP", num_args = 1.., value_delimiter = ',', value_parser = parse_partition)]
    pub partition: Vec<TopicPartition>,
}
