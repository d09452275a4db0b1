//! Options of `dump`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Arguments of `dump`.
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
#[derive(Debug, ClapArgs)]
pub struct DumpArgs {
    /// The file; what it is shows in its name
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Show the records in each batch too
    #[arg(long)]
    pub records: bool,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
}
