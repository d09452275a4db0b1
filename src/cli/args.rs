//! The command line as typed.
//!
//! Options that say *where* and *as what* are global: they go before or after the command. What a command takes beside
//! them stands in its own struct. Outside checks call these; a change here is a change of contract.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use super::help;
use super::value::{
    HashPrefix, parse_decision, parse_duration, parse_hash, parse_partition, parse_time,
};
use crate::app::lines::truncation_option;
use crate::plan::{OnLoss, TruncationTarget};
use crate::settings::{Quarantine, parse_rate, parse_size};
use crate::terms::{KafkaVersion, LeaderEpoch, Offset, Timestamp, TopicPartition};

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

    /// Threads that read [default: the cores, at most 16]
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Change nothing in this session, whatever else is said
    #[arg(long, global = true)]
    pub read_only: bool,

    /// Start the dashboard armed: plans can be applied there
    #[arg(long, global = true)]
    pub allow_write: bool,

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
    /// Plan what a boot would do, and more carefully; --apply does it
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Recover(RecoverArgs),
    /// Plan Kafka's truncation of one log; --apply does it
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Truncate(TruncateArgs),
    /// Decode a file of a log dir: segment, index, snapshot, checkpoint
    Dump(DumpArgs),
    /// Say in what state the broker's log dirs are, from names, sizes and checkpoints
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Status(StatusArgs),
    /// Follow a booting broker, a line a second, until it is up (0), has died (1) or has lost something (3)
    #[command(after_long_help = help::CONTRACT)]
    Watch(WatchArgs),
    /// Take back what the apply of a plan did, from the quarantine, as long as nothing was written since
    #[command(after_help = help::EXIT_CODES, after_long_help = help::CONTRACT)]
    Undo(UndoArgs),
    /// What applies keep, so that they can be taken back
    Quarantine(QuarantineArgs),
    /// Say who did what with this state dir: applies, undos, purges, refusals
    Audit(AuditArgs),
    /// List the jobs of this host, running and ended
    Jobs(JobsArgs),
    /// Ask a job to stop after its current step
    Stop(StopArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page (roff)
    Man,
    /// Run a job of the state dir; started by krescue itself.
    #[command(name = "__job", hide = true)]
    Job(JobArgs),
}

/// The demo's log dirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Two small log dirs of a broker that was killed under load
    Crashed,
    /// The same batches multiplied, many partitions, some damaged
    Large,
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

/// What a log dir is handed over as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum HandOverArg {
    /// No checkpoint and no marker is written: a boot reads everything again
    None,
    /// Recovery points become the logs' ends: a boot reads the last segment of each log again
    #[default]
    Verify,
    /// Recovery points and an empty clean-shutdown marker: a boot reads nothing again
    Clean,
}

/// Whether a plan is carried out, and who says yes.
#[derive(Debug, Clone, Default, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct Answers {
    /// Carry the plan out, once it is confirmed
    #[arg(long)]
    pub apply: bool,
    /// Ask nothing and run the stored plan with this hash (8 or more of its hex digits)
    #[arg(long, value_name = "HASH", requires = "apply", value_parser = parse_hash)]
    pub yes: Option<HashPrefix>,
    /// Answer every confirmation of this plan with yes; for scripts
    #[arg(long, requires = "apply", conflicts_with = "yes")]
    pub yes_to_all: bool,
}

impl Answers {
    /// Returns the hash of the stored plan that is to be carried out, if one was named.
    pub fn stored(&self) -> Option<&HashPrefix> {
        self.yes.as_ref().filter(|_| self.apply)
    }
}

/// Arguments of `undo`.
#[derive(Debug, ClapArgs)]
pub struct UndoArgs {
    /// The plan that was carried out: 8 or more hex digits of its hash
    #[arg(value_name = "PLAN", value_parser = parse_hash)]
    pub plan: HashPrefix,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// What is done with the plan
    #[command(flatten)]
    pub answers: Answers,
}

/// Arguments of `recover`.
#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct RecoverArgs {
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// What is done with the plan
    #[command(flatten)]
    pub answers: Answers,
    /// What the log dirs are handed over as [default: verify]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub hand_over: Option<HandOverArg>,
    /// Where cut bytes are copied to, or "none" [default: STATE/quarantine]
    #[arg(long, value_name = "DIR|none")]
    pub quarantine: Option<Quarantine>,
    /// Only these partitions
    #[arg(long, value_name = "TP", num_args = 1.., value_delimiter = ',', value_parser = parse_partition)]
    pub partition: Vec<TopicPartition>,
    /// Take Kafka's way where it removes good records
    #[arg(long)]
    pub like_kafka: bool,
    /// Decide on one log where Kafka's way removes good records: like-kafka, cut-here, leave
    #[arg(long, value_name = "TP=WAY", value_parser = parse_decision)]
    pub decide: Vec<(TopicPartition, OnLoss)>,
}

/// Where a truncated log is to end.
#[derive(Debug, Clone, ClapArgs)]
#[group(required = true, multiple = false)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct TargetArgs {
    /// At this offset: what has it or a higher one goes, batches as a whole
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    pub to_offset: Option<i64>,
    /// At the checkpointed high watermark, which is up to 5 s old
    #[arg(long)]
    pub to_high_watermark: bool,
    /// At the first open transaction below the high watermark, else there
    #[arg(long)]
    pub to_last_stable: bool,
    /// Where this leader epoch ends, by the log's own epochs
    #[arg(long, value_name = "E", value_parser = clap::value_parser!(i32).range(0..))]
    pub to_epoch: Option<i32>,
}

impl TargetArgs {
    /// Returns the target.
    pub fn target(&self) -> TruncationTarget {
        match (self.to_offset, self.to_epoch) {
            (Some(offset), _) => TruncationTarget::Offset(Offset(offset)),
            (None, Some(epoch)) => TruncationTarget::Epoch(LeaderEpoch(epoch)),
            (None, None) if self.to_high_watermark => TruncationTarget::HighWatermark,
            (None, None) => TruncationTarget::LastStable,
        }
    }

    /// Returns the words that say the same.
    pub fn words(&self) -> String {
        truncation_option(self.target())
    }
}

/// Arguments of `truncate`.
#[derive(Debug, ClapArgs)]
pub struct TruncateArgs {
    /// The partition: TOPIC-N
    #[arg(value_name = "TP", value_parser = parse_partition)]
    pub partition: TopicPartition,
    /// Where it is to end.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// What is done with the plan
    #[command(flatten)]
    pub answers: Answers,
    /// What its log dir is handed over as [default: clean where it was stopped cleanly, else verify]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub hand_over: Option<HandOverArg>,
    /// Where cut bytes are copied to, or "none" [default: STATE/quarantine]
    #[arg(long, value_name = "DIR|none")]
    pub quarantine: Option<Quarantine>,
}

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

/// Arguments of `status`.
#[derive(Debug, ClapArgs)]
pub struct StatusArgs {
    /// Print one JSON object in one line
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `watch`.
#[derive(Debug, ClapArgs)]
pub struct WatchArgs {
    /// The broker's log, "-" for the standard input [default: the file that the broker's process logs to]
    #[arg(long, value_name = "FILE|-")]
    pub log: Option<PathBuf>,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `quarantine`.
#[derive(Debug, ClapArgs)]
pub struct QuarantineArgs {
    /// What to do with it
    #[command(subcommand)]
    pub command: QuarantineCommand,
}

/// What to do with the quarantine.
#[derive(Debug, Subcommand)]
pub enum QuarantineCommand {
    /// List what each plan keeps: age, size, logs, and whether it can still be taken back
    Ls(LsArgs),
    /// Remove what plans keep; they cannot be taken back any more
    Purge(PurgeArgs),
}

/// Arguments of `quarantine ls`.
#[derive(Debug, ClapArgs)]
pub struct LsArgs {
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `quarantine purge`.
#[derive(Debug, ClapArgs)]
#[command(group(clap::ArgGroup::new("which").required(true).multiple(true).args(["older_than", "plan"])))]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct PurgeArgs {
    /// Only what is older, such as 30d, 12h, 90m
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub older_than: Option<u64>,
    /// Only what this plan keeps (8 or more hex digits of its hash)
    #[arg(long, value_name = "HASH", value_parser = parse_hash)]
    pub plan: Option<HashPrefix>,
    /// Ask nothing; for scripts
    #[arg(long)]
    pub yes_to_all: bool,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `audit`.
#[derive(Debug, ClapArgs)]
pub struct AuditArgs {
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// Only what concerns this plan (8 or more hex digits of its hash)
    #[arg(long, value_name = "HASH", value_parser = parse_hash)]
    pub plan: Option<HashPrefix>,
}

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

/// Arguments of `completions`.
#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of the hidden `__job`.
#[derive(Debug, ClapArgs)]
pub struct JobArgs {
    /// The job's id
    pub id: String,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn parse(words: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from(std::iter::once(&"krescue").chain(words))
    }

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn global_options_go_before_or_after_the_command() {
        for words in [
            ["--log-dirs", "/a,/b", "scan", "--threads", "1"],
            ["scan", "--log-dirs", "/a,/b", "--threads", "1"],
        ] {
            let args = parse(&words).unwrap();
            assert_eq!(
                args.global.log_dirs,
                Some(vec![PathBuf::from("/a"), PathBuf::from("/b")])
            );
            assert_eq!(args.global.threads.map(NonZeroUsize::get), Some(1));
            assert!(matches!(args.command, Some(Command::Scan(_))));
        }
    }

    #[test]
    fn answers_need_an_apply() {
        for words in [
            &["recover", "--yes-to-all"][..],
            &["recover", "--yes", "7f3a91c2"],
            &["recover", "--apply", "--yes", "7f3a91"],
            &["recover", "--apply", "--yes", "7f3a91c2", "--yes-to-all"],
            &["scan", "--structure", "--read-batches"],
            &["scan", "--threads", "0"],
            &["truncate", "orders-7"],
            &["truncate", "orders-7", "--to-offset", "-1"],
            &[
                "truncate",
                "orders-7",
                "--to-offset",
                "1",
                "--to-epoch",
                "1",
            ],
            &["truncate", "orders", "--to-last-stable"],
        ] {
            let error = parse(words).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{words:?}");
        }
    }

    #[test]
    fn the_contract_s_long_line_parses() {
        let args = parse(&[
            "--config",
            "F",
            "--log-dirs",
            "A,B",
            "--kafka-version",
            "4.4.0",
            "--now",
            "1700000000000",
            "recover",
            "--like-kafka",
            "--hand-over",
            "none",
            "--quarantine",
            "none",
            "--apply",
            "--yes-to-all",
        ])
        .unwrap();
        let Some(Command::Recover(recover)) = args.command else {
            panic!("not recover")
        };
        assert!(recover.answers.apply && recover.answers.yes_to_all && recover.like_kafka);
        assert_eq!(recover.hand_over, Some(HandOverArg::None));
        assert_eq!(recover.quarantine, Some(Quarantine::None));
        assert_eq!(args.global.now, Some(Timestamp(1_700_000_000_000)));
    }

    #[test]
    fn a_truncation_says_where_in_one_way() {
        for (words, target) in [
            (
                &["--to-offset", "5"][..],
                TruncationTarget::Offset(Offset(5)),
            ),
            (
                &["--to-epoch", "3"],
                TruncationTarget::Epoch(LeaderEpoch(3)),
            ),
            (&["--to-high-watermark"], TruncationTarget::HighWatermark),
            (&["--to-last-stable"], TruncationTarget::LastStable),
        ] {
            let all = [&["truncate", "a-b-0"], words].concat();
            let Some(Command::Truncate(truncate)) = parse(&all).unwrap().command else {
                panic!("not truncate")
            };
            assert_eq!(truncate.target.target(), target);
            assert_eq!(truncate.target.words(), words.join(" "));
            assert_eq!(truncate.partition.to_string(), "a-b-0");
        }
    }

    #[test]
    fn partitions_are_listed_with_spaces_or_commas() {
        let args = parse(&["recover", "--partition", "a-0,b-1", "c-2", "--json"]).unwrap();
        let Some(Command::Recover(recover)) = args.command else {
            panic!("not recover")
        };
        let names: Vec<String> = recover.partition.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["a-0", "b-1", "c-2"]);
    }
}
