//! Options of `scan`.

use clap::Args as ClapArgs;

use crate::cli::value::parse_partition;
use crate::settings::parse_rate;
use crate::terms::TopicPartition;

/// Arguments of `scan`.
#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct ScanArgs {
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// Read names, sizes and checkpoints only, no batch
    #[arg(long, conflicts_with = "read_batches")]
    pub structure: bool,
    /// Read batches although a broker lives on these dirs, at --rate
    #[arg(long)]
    pub read_batches: bool,
    /// How fast batches are read beside a living broker [default: 50MiB/s]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub rate: Option<u64>,
    /// Only these partitions
    #[arg(long, value_name = "TP", num_args = 1.., value_delimiter = ',', value_parser = parse_partition)]
    pub partition: Vec<TopicPartition>,
}
