//! Options of `watch`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Arguments of `watch`.
#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct WatchArgs {
    /// The broker's log, "-" for the standard input [default: the file that the broker's process logs to]
    #[arg(long, value_name = "FILE|-")]
    pub log: Option<PathBuf>,
    /// The broker's metrics, http://HOST:PORT/PATH of a Prometheus exporter or Jolokia [default: those of its -javaagent options]
    #[arg(long, value_name = "URL")]
    pub metrics: Option<String>,
    /// Go on when the broker is up, until all its partitions are in sync
    #[arg(long)]
    pub until_in_sync: bool,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
}
