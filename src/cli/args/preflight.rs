//! Arguments of `preflight`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Answers;
use crate::settings::Quarantine;

/// Arguments of `preflight`.
#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct PreflightArgs {
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// Read names, sizes and small files only: what a boot would cut is not looked for
    #[arg(long)]
    pub structure: bool,
    /// What a stop would cost, rather than a start: how long it takes, who falls below min.insync.replicas
    #[arg(long, conflicts_with_all = ["fix", "apply", "failed"])]
    pub stop: bool,
    /// What was on this log dir, which failed: what has no other copy, what to do before and after the boot
    #[arg(long, value_name = "DIR", conflicts_with_all = ["fix", "apply"])]
    pub failed: Option<PathBuf>,
    /// Plan what mends the problems that can be mended safely; --apply does it
    #[arg(long)]
    pub fix: bool,
    /// What is done with the plan of --fix
    #[command(flatten)]
    pub answers: Answers,
    /// Where what is replaced is copied to, or "none" [default: STATE/quarantine]
    #[arg(long, value_name = "DIR|none")]
    pub quarantine: Option<Quarantine>,
}
