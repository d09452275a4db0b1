//! Options of `recover`.

use clap::Args as ClapArgs;

use super::{Answers, HandOverArg};
use crate::cli::value::{parse_decision, parse_partition};
use crate::plan::OnLoss;
use crate::settings::Quarantine;
use crate::terms::TopicPartition;

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
    /// Take a log dir with a clean-shutdown marker for one whose broker was killed: its marker goes first, and all behind the
    /// recovery points is read; for zeros that a power cut left under a marker, of which a boot dies
    #[arg(long)]
    pub distrust_marker: bool,
    /// Decide on one log where Kafka's way removes good records: set-aside, like-kafka, cut-here, leave
    #[arg(long, value_name = "TP=WAY", value_parser = parse_decision)]
    pub decide: Vec<(TopicPartition, OnLoss)>,
}
