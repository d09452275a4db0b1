//! Options of what deals with jobs.

use clap::Args as ClapArgs;

/// Arguments of `jobs`.
#[derive(Debug, ClapArgs)]
pub struct JobsArgs {
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `stop`.
#[derive(Debug, ClapArgs)]
pub struct StopArgs {
    /// The job's id, as `jobs` shows it
    pub id: String,
}

/// Arguments of the hidden `__job`.
#[derive(Debug, ClapArgs)]
pub struct JobArgs {
    /// The job's id
    pub id: String,
}
