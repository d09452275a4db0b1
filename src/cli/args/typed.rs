//! What is typed: options that say *where* and *as what*, which go before or after the command, and the command.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

use super::{
    AuditArgs, CleanupArgs, CompletionsArgs, CordonArgs, DeleteRecordsArgs, DemoArgs, DumpArgs,
    JobArgs, JobsArgs, MirrorArgs, MoveArgs, PreflightArgs, QuarantineArgs, QuotaArgs, RecoverArgs,
    ReplayArgs, ReplicasArgs, RetentionArgs, ScanArgs, SegmentsArgs, StatusArgs, StopArgs,
    TruncateArgs, UndoArgs, VerifyArgs, VolumesArgs, WatchArgs,
};
use crate::cli::help;
use crate::cli::value::parse_time;
use crate::terms::{KafkaVersion, Timestamp};

/// Recovery and storage console for Kafka broker hosts
#[derive(Debug, Parser)]
#[command(
    name = "krescue",
    version,
    max_term_width = 110,
    after_help = help::EXIT_CODES,
    after_long_help = help::CONTRACT
)]
pub struct Args {
    /// Where and as what.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do; nothing opens the dashboard.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options that go before or after the command.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(next_help_heading = "Options before or after the command")]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct GlobalArgs {
    /// The broker's server.properties [default: that of the running broker, its unit, the usual places]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Log dirs, instead of log.dirs of the configuration; nothing else is searched for
    #[arg(long, global = true, value_name = "A,B", value_delimiter = ',')]
    pub log_dirs: Option<Vec<PathBuf>>,

    /// Brokers of the living cluster, apart by commas [default: the listener of this host's broker]
    #[arg(long, global = true, value_name = "HOST:PORT")]
    pub bootstrap: Option<String>,

    /// A client's configuration for the living cluster, as Kafka's own tools take it
    #[arg(long, global = true, value_name = "FILE")]
    pub command_config: Option<PathBuf>,

    /// The Kafka release whose boot is planned for [default: detected, else the newest known]
    #[arg(long, global = true, value_name = "V")]
    pub kafka_version: Option<KafkaVersion>,

    /// The clock for verdicts and producer expiry: RFC 3339, or ms since 1970 [default: now]
    #[arg(long, global = true, value_name = "TIME", value_parser = parse_time)]
    pub now: Option<Timestamp>,

    /// Topic overrides, a line each: TOPIC KEY=VALUE[,KEY=VALUE] [default: from __cluster_metadata-0]
    #[arg(long, global = true, value_name = "FILE")]
    pub topic_config: Option<PathBuf>,

    /// Where plans, jobs and the quarantine are kept [default: that of XDG, /var/lib/krescue, ~/.local/state/krescue]
    #[arg(long, global = true, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,

    /// Threads that read [default: the cores, at most 16; of them 8 on one device, 1 on a rotating disk]
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Change nothing in this session, whatever else is said
    #[arg(long, global = true)]
    pub read_only: bool,

    /// Start the dashboard armed: plans can be applied there
    #[arg(long, global = true)]
    pub allow_write: bool,

    /// Record what the dashboard or watch sees in a new file; replay shows it again
    #[arg(long, global = true, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// Use no characters beyond ASCII
    #[arg(long, global = true)]
    pub ascii: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Open the dashboard on embedded log dirs of a real crashed broker, in a temporary folder
    Demo(DemoArgs),
    /// Read every log: batches, checksums, indexes, findings; nothing is changed
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Scan(ScanArgs),
    /// Verify every batch and index entry of every log, below the recovery point too; can be stopped and resumed
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Verify(VerifyArgs),
    /// Plan what a boot would do, and more carefully; --apply does it
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Recover(RecoverArgs),
    /// Say whether the broker can be started: what the next boot refuses, empties, cuts, marks stray; --fix mends
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Preflight(PreflightArgs),
    /// Plan Kafka's truncation of one log; --apply does it
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Truncate(TruncateArgs),
    /// Say of each segment whether Kafka deletes it, why, and what would change that
    #[command(after_long_help = help::CONTRACT)]
    Segments(SegmentsArgs),
    /// Decode a file of a log dir: segment, index, snapshot, checkpoint
    #[command(after_help = help::DUMP_EXIT_CODES, after_long_help = help::DUMP)]
    Dump(DumpArgs),
    /// Say in what state the broker's log dirs are, from names, sizes and checkpoints
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Status(StatusArgs),
    /// Say what fills each log dir's volume, how fast, until when; with --bootstrap: every broker's log dirs
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Volumes(VolumesArgs),
    /// Say which replicas of the living cluster are behind, by how much, until when and why
    #[command(after_help = help::EXIT_CODES, after_long_help = help::REPLICAS)]
    Replicas(ReplicasArgs),
    /// Plan what goes to free space, the safest first; --apply does it
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Cleanup(CleanupArgs),
    /// Show, change or put back a topic's retention on the living cluster
    #[command(after_help = help::EXIT_CODES, after_long_help = help::LIVE)]
    Retention(RetentionArgs),
    /// Delete records below an offset or a time, through their leader
    #[command(after_help = help::EXIT_CODES, after_long_help = help::LIVE)]
    DeleteRecords(DeleteRecordsArgs),
    /// Cap what clients write to the living cluster
    #[command(after_help = help::EXIT_CODES, after_long_help = help::LIVE)]
    Quota(QuotaArgs),
    /// Move a replica to another log dir, while its broker serves or is down
    #[command(after_help = help::EXIT_CODES, after_long_help = help::LIVE)]
    Move(MoveArgs),
    /// Let a log dir of a running broker take no new replica, or take some again (Kafka 4.3 and newer)
    #[command(after_help = help::EXIT_CODES, after_long_help = help::LIVE)]
    Cordon(CordonArgs),
    /// Follow a booting broker, a line a second, until it is up (0), has died (1) or has lost something (3)
    #[command(after_long_help = help::CONTRACT)]
    Watch(WatchArgs),
    /// Show a recording again, with its pace on a terminal, in lines elsewhere
    Replay(ReplayArgs),
    /// Take back what the apply of a plan did, from the quarantine, as long as nothing was written since
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Undo(UndoArgs),
    /// What applies keep, so that they can be taken back
    Quarantine(QuarantineArgs),
    /// MirrorMaker 2, from log dirs: flows, lag, where groups go on on the other cluster
    #[command(after_help = help::EXIT_CODES, after_long_help = help::MIRROR)]
    Mirror(MirrorArgs),
    /// Say who did what with this state dir: applies, undos, purges, refusals
    Audit(AuditArgs),
    /// List the jobs of this host, running and ended
    #[command(after_help = help::JOBS_EXIT_CODES, after_long_help = help::JOBS)]
    Jobs(JobsArgs),
    /// Ask a job to stop after its current step
    #[command(after_help = help::STOP)]
    Stop(StopArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page (roff)
    Man,
    /// Run a job of the state dir; started by krescue itself.
    #[command(name = "__job", hide = true)]
    Job(JobArgs),
}
