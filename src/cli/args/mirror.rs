//! Arguments of `mirror`.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};

use super::Answers;

use crate::client::Address;
use crate::mirror::FlowName;
use crate::terms::KafkaVersion;

/// Arguments of `mirror`.
#[derive(Debug, ClapArgs)]
pub struct MirrorArgs {
    /// What the facts are from
    #[command(flatten)]
    pub sources: MirrorSources,
    /// Print JSON lines
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do
    #[command(subcommand)]
    pub command: MirrorCommand,
}

/// What the facts are from.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct MirrorSources {
    /// The properties file of MirrorMaker 2 [default: what its connectors' topics say]
    #[arg(long, global = true, value_name = "FILE")]
    pub mm2: Option<PathBuf>,
    /// A cluster by its alias: the log dirs of one of its brokers, or HOST:PORT of the living cluster; repeatable
    #[arg(long, global = true, value_name = "ALIAS=DIR[,DIR]|HOST:PORT", value_parser = parse_cluster)]
    pub cluster: Vec<ClusterPlace>,
    /// What `mirror facts` wrote on the clusters' hosts
    #[arg(long, global = true, value_name = "FILE", num_args = 1..)]
    pub facts: Vec<PathBuf>,
    /// The release of MirrorMaker 2 [default: what its connectors say of themselves, else 4.3.1]
    #[arg(long, global = true, value_name = "V")]
    pub mm2_version: Option<KafkaVersion>,
}

impl MirrorSources {
    /// Says whether nothing was named.
    pub fn is_empty(&self) -> bool {
        self.mm2.is_none() && self.cluster.is_empty() && self.facts.is_empty()
    }

    /// Returns the options that name the same.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![];
        let mut add = |option: &str, value: String| {
            words.push(option.to_owned());
            words.push(value);
        };
        if let Some(file) = &self.mm2 {
            add("--mm2", file.display().to_string());
        }
        for place in &self.cluster {
            add("--cluster", format!("{}={}", place.alias, place.at));
        }
        for file in &self.facts {
            add("--facts", file.display().to_string());
        }
        if let Some(version) = &self.mm2_version {
            add("--mm2-version", version.to_string());
        }
        words
    }
}

/// Where a cluster's facts are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterPlace {
    /// Its alias.
    pub alias: String,
    /// Log dirs of one of its brokers, or the brokers themselves.
    pub at: ClusterAt,
}

/// What a cluster's facts are read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterAt {
    /// Log dirs of one of its brokers.
    LogDirs(Vec<PathBuf>),
    /// Brokers that live, as given.
    Live(String),
}

impl std::fmt::Display for ClusterAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LogDirs(dirs) => {
                let dirs: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
                f.write_str(&dirs.join(","))
            }
            Self::Live(address) => f.write_str(address),
        }
    }
}

/// What `mirror` does.
#[derive(Debug, Subcommand)]
pub enum MirrorCommand {
    /// Say which flows run, what they copy, how far they are behind, when they last gave a sign of life
    Flows(MirrorFlowsArgs),
    /// Say where a group's commits lie on the other cluster, as `RemoteClusterUtils` would after MM2's next pass
    Translate(TranslateArgs),
    /// Say where every group goes on if the source is gone, and what is read again or lost
    Failover(FailoverArgs),
    /// Say what will bite, and which rules are silent for want of a fact
    Lint,
    /// Say by which steps the target becomes the cluster that is used, and the way back
    Promote(PromoteArgs),
    /// Print what this host knows as one JSON object, to be merged elsewhere by --facts
    Facts,
}

/// Arguments of `mirror flows`.
#[derive(Debug, ClapArgs)]
pub struct MirrorFlowsArgs {
    /// Show each topic and partition
    #[arg(long)]
    pub partitions: bool,
}

/// Arguments of `mirror translate`.
#[derive(Debug, ClapArgs)]
#[command(group(clap::ArgGroup::new("which").required(true).args(["group", "all"])))]
pub struct TranslateArgs {
    /// The group
    #[arg(value_name = "GROUP")]
    pub group: Option<String>,
    /// Every group that the filters let pass
    #[arg(long)]
    pub all: bool,
    /// Only this flow
    #[arg(long, value_name = "S->T", value_parser = parse_flow)]
    pub flow: Option<FlowName>,
}

/// Arguments of `mirror failover`.
#[derive(Debug, ClapArgs)]
#[group(skip)]
#[expect(clippy::struct_excessive_bools, reason = "a flag each, as typed")]
pub struct FailoverArgs {
    /// The flow, such as "primary->secondary"
    #[arg(value_name = "FLOW", value_parser = parse_flow)]
    pub flow: FlowName,
    /// Write a file GROUP.csv for each group, as kafka-consumer-groups.sh --reset-offsets --from-file takes it
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Only this group; repeatable
    #[arg(long, value_name = "GROUP")]
    pub group: Vec<String>,
    /// Plan to set the positions on the living target, for groups without members; --apply does it
    #[arg(long)]
    pub set: bool,
    /// Put back what the groups had before krescue set them
    #[arg(long, conflicts_with = "set")]
    pub restore: bool,
    /// What is done with the plan
    #[command(flatten)]
    pub answers: Answers,
}

/// Arguments of `mirror promote`.
#[derive(Debug, ClapArgs)]
pub struct PromoteArgs {
    /// The flow, such as "primary->secondary"
    #[arg(value_name = "FLOW", value_parser = parse_flow)]
    pub flow: FlowName,
}

fn parse_flow(text: &str) -> Result<FlowName, String> {
    FlowName::parse(text).ok_or_else(|| "not of the form SOURCE->TARGET (in quotes)".to_owned())
}

fn parse_cluster(text: &str) -> Result<ClusterPlace, String> {
    let form = || {
        "not of the form ALIAS=DIR[,DIR] or ALIAS=HOST:PORT, such as primary=/data1,/data2"
            .to_owned()
    };
    let (alias, place) = text.split_once('=').ok_or_else(form)?;
    let entries = place.split(',').map(str::trim);
    let entries: Vec<&str> = entries.filter(|entry| !entry.is_empty()).collect();
    if alias.trim().is_empty() || entries.is_empty() {
        return Err(form());
    }
    // What has a slash in it, or is there, is a dir.
    let is_dir = |entry: &&str| entry.contains('/') || Path::new(entry).is_dir();
    let live = !entries.iter().any(is_dir) && Address::parse_list(place).is_ok();
    Ok(ClusterPlace {
        alias: alias.trim().to_owned(),
        at: if live {
            ClusterAt::Live(entries.join(","))
        } else {
            ClusterAt::LogDirs(entries.into_iter().map(PathBuf::from).collect())
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_an_alias_and_its_log_dirs() {
        let place = parse_cluster("us-west=/data1, /data2,").unwrap();
        assert_eq!(place.alias, "us-west");
        let dirs = ["/data1", "/data2"].map(PathBuf::from);
        assert_eq!(place.at, ClusterAt::LogDirs(dirs.to_vec()));
        let live = parse_cluster("b=kafka-1:9092, kafka-2:9092").unwrap();
        assert_eq!(
            live.at,
            ClusterAt::Live("kafka-1:9092,kafka-2:9092".to_owned())
        );
        let odd = parse_cluster("b=data:1/x").unwrap();
        assert_eq!(odd.at, ClusterAt::LogDirs(vec!["data:1/x".into()]));
        for bad in ["/data1", "=/data1", "a=", "a=,"] {
            assert!(parse_cluster(bad).is_err(), "{bad}");
        }
    }
}
