//! Options of `replay`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Arguments of `replay`.
#[derive(Debug, ClapArgs)]
pub struct ReplayArgs {
    /// The recording, made by :record or --record
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// So many times faster than it happened
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub speed: u32,
}
