//! Options of `demo`.

use clap::{Args as ClapArgs, ValueEnum};

use crate::settings::parse_size;

/// The demo's log dirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Two small log dirs of a broker that was killed under load
    Crashed,
    /// The same broker a week later, under limits that half of its segments exceed
    Retention,
    /// The same broker with one log dir on a full volume of its own, where root runs it
    FullDisk,
    /// Two clusters and MirrorMaker 2 between them, after the first has died
    Mirror,
    /// The same batches multiplied, many partitions, some damaged
    Large,
    /// A recording of a real broker that boots after a crash, with its pace
    Boot,
    /// A recording of three real brokers: one stops, falls out of the ISR, is started again and catches up
    Cluster,
}

/// Arguments of `demo`.
#[derive(Debug, ClapArgs)]
pub struct DemoArgs {
    /// Which log dirs
    #[arg(value_enum, default_value = "crashed")]
    pub scenario: Scenario,
    /// How much data "large" writes first [default: 8GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<u64>,
}
