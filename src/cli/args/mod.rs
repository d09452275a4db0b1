//! The command line as typed, a file a command.
//!
//! Outside checks call these; a change here is a change of contract.

mod answers;
mod audit;
mod cleanup;
mod completions;
mod demo;
mod dump;
mod jobs;
mod live;
mod mirror;
mod preflight;
mod quarantine;
mod recover;
mod replay;
mod replicas;
mod scan;
mod segments;
mod status;
mod truncate;
mod typed;
mod undo;
mod verify;
mod volumes;
mod watch;

pub use answers::{Answers, HandOverArg};
pub use audit::AuditArgs;
pub use cleanup::{CleanupArgs, CleanupWhat};
pub use completions::CompletionsArgs;
pub use demo::{DemoArgs, Scenario};
pub use dump::DumpArgs;
pub use jobs::{JobArgs, JobsArgs, StopArgs};
pub use live::{CordonArgs, DeleteRecordsArgs, MoveArgs, QuotaArgs, RetentionArgs};
pub use mirror::{
    ClusterAt, ClusterPlace, FailoverArgs, MirrorArgs, MirrorCommand, MirrorFlowsArgs,
    MirrorSources, PromoteArgs, TranslateArgs,
};
pub use preflight::PreflightArgs;
pub use quarantine::{LsArgs, PurgeArgs, QuarantineArgs, QuarantineCommand};
pub use recover::RecoverArgs;
pub use replay::ReplayArgs;
pub use replicas::ReplicasArgs;
pub use scan::ScanArgs;
pub use segments::SegmentsArgs;
pub use status::StatusArgs;
pub use truncate::{TargetArgs, TruncateArgs};
pub use typed::{Args, Command, GlobalArgs};
pub use undo::UndoArgs;
pub use verify::VerifyArgs;
pub use volumes::VolumesArgs;
pub use watch::WatchArgs;

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::path::PathBuf;

    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::plan::TruncationTarget;
    use crate::settings::Quarantine;
    use crate::terms::{LeaderEpoch, Offset, Timestamp};

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
