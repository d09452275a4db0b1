//! Arguments of the commands that change a living cluster.

use clap::Args as ClapArgs;

use super::Answers;
use crate::cli::value::{parse_duration, parse_partition, parse_time};
use crate::plan::parse_topic_setting;
use crate::settings::{parse_rate, parse_size};
use crate::terms::{Timestamp, TopicPartition};

/// Arguments of `retention`.
#[derive(Debug, ClapArgs)]
#[group(skip)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct RetentionArgs {
    /// The topic
    #[arg(value_name = "TOPIC")]
    pub topic: String,
    /// Set a key of the topic; times and sizes take units (retention.ms=1h, retention.bytes=20GiB)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_topic_setting, num_args = 1..)]
    pub set: Vec<(String, String)>,
    /// Take the topic's own value of a key away
    #[arg(long, value_name = "KEY", num_args = 1..)]
    pub reset: Vec<String>,
    /// Put back what the topic had before krescue changed it
    #[arg(long, conflicts_with_all = ["set", "reset"])]
    pub restore: bool,
    /// Wait until the brokers have freed what goes, at most so long (such as 10m); then say why the rest stays
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub wait_freed: Option<u64>,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// What is done with the plan
    #[command(flatten)]
    pub answers: Answers,
}

/// Arguments of `delete-records`.
#[derive(Debug, ClapArgs)]
#[group(skip)]
#[command(group(clap::ArgGroup::new("below").required(true).args(["to_offset", "to_time", "free"])))]
pub struct DeleteRecordsArgs {
    /// The partition: TOPIC-N
    #[arg(value_name = "TP", value_parser = parse_partition)]
    pub partition: TopicPartition,
    /// The first offset that stays
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    pub to_offset: Option<i64>,
    /// The first record at or behind this time stays
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub to_time: Option<Timestamp>,
    /// So much goes from each replica, by the average of its records; whole segments only
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub free: Option<u64>,
    /// Once it is done, wait until the brokers have freed it, at most so long (such as 10m); then say why the rest stays
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub wait_freed: Option<u64>,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// What is done with the plan
    #[command(flatten)]
    pub answers: Answers,
}

/// Arguments of `quota`.
#[derive(Debug, ClapArgs)]
#[group(skip)]
#[command(group(clap::ArgGroup::new("cap").required(true).args(["producer_rate", "none", "restore"])))]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct QuotaArgs {
    /// What a client may write to each broker, such as 10MiB/s
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub producer_rate: Option<u64>,
    /// Take the cap away
    #[arg(long)]
    pub none: bool,
    /// Put back what was set before krescue changed it
    #[arg(long)]
    pub restore: bool,
    /// Only this client [default: all clients that have no quota of their own]
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// What is done with the plan
    #[command(flatten)]
    pub answers: Answers,
}

/// Arguments of `move`.
#[derive(Debug, ClapArgs)]
#[group(skip)]
#[command(group(clap::ArgGroup::new("where").required(true).args(["to", "cancel"])))]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct MoveArgs {
    /// The partition: TOPIC-N
    #[arg(value_name = "TP", value_parser = parse_partition)]
    pub partition: TopicPartition,
    /// The log dir that it goes to, as the broker writes it. A broker that runs moves it itself; while this host's broker is
    /// down krescue copies the files, compares them, and takes the source away
    #[arg(long, value_name = "DIR")]
    pub to: Option<String>,
    /// End the move that runs; the replica stays where it is
    #[arg(long)]
    pub cancel: bool,
    /// The broker whose replica it is [default: this host's]
    #[arg(long, value_name = "ID")]
    pub broker: Option<i32>,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// What is done with the plan
    #[command(flatten)]
    pub answers: Answers,
}

/// Arguments of `cordon`.
#[derive(Debug, ClapArgs)]
#[group(skip)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct CordonArgs {
    /// The log dir, as the broker writes it
    #[arg(value_name = "DIR")]
    pub dir: String,
    /// Let it take new replicas again
    #[arg(long)]
    pub lift: bool,
    /// The broker whose log dir it is [default: this host's]
    #[arg(long, value_name = "ID")]
    pub broker: Option<i32>,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// What is done with the plan
    #[command(flatten)]
    pub answers: Answers,
}
