//! Arguments of `volumes`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Arguments of `volumes`.
#[derive(Debug, ClapArgs)]
pub struct VolumesArgs {
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// Count a volume as full at this share of its size
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub full_at: u8,
    /// The broker's log, for what took a log dir offline [default: the log of the running broker]
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}
