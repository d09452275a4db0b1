//! Options of `segments`.

use clap::Args as ClapArgs;

use crate::cli::value::parse_partition;
use crate::plan::retention::WhatIf;
use crate::terms::TopicPartition;

/// Arguments of `segments`.
#[derive(Debug, ClapArgs)]
pub struct SegmentsArgs {
    /// Only these partitions: TOPIC-N
    #[arg(value_name = "TP", num_args = 0.., value_delimiter = ',', value_parser = parse_partition)]
    pub partition: Vec<TopicPartition>,
    /// Judge by other limits, such as retention.ms=3d,retention.bytes=20GiB (-1: no limit)
    #[arg(long, value_name = "KEY=VALUE,..", value_parser = WhatIf::parse)]
    pub what_if: Option<WhatIf>,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
}
