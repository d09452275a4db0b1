//! Options of `truncate`.

use clap::Args as ClapArgs;

use super::{Answers, HandOverArg};
use crate::app::lines::truncation_option;
use crate::cli::value::parse_partition;
use crate::plan::TruncationTarget;
use crate::settings::Quarantine;
use crate::terms::{LeaderEpoch, Offset, TopicPartition};

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
