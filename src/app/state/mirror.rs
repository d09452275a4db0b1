//! What is known of MirrorMaker 2, computed once a read, ready to be shown.

use std::sync::Arc;

use crate::app::text::{self, UNKNOWN};
use crate::mirror::{
    Facts, FailoverPosition, Flow, FlowName, FlowState, FlowStatus, Lint, LintSeverity,
    PartitionLag, VersionSource, failover_positions, flow_status, lint, version_of,
};
use crate::terms::{KafkaVersion, Offset, Timestamp};

/// What is known of MirrorMaker 2, computed once a read.
#[derive(Debug, Clone, Default)]
pub struct MirrorWorld {
    /// The flows.
    pub flows: Vec<MirrorFlow>,
    /// What the rules found, the worst first.
    pub lints: Vec<Lint>,
    /// How many rules are silent for want of a fact.
    pub silent: usize,
    /// Where the facts are from, a line each.
    pub sources: Vec<String>,
    /// The options of `krescue mirror` that name the same facts.
    pub words: Vec<String>,
    /// When the oldest of them were read.
    pub read_at: Option<Timestamp>,
    /// The clock that was given; ages are told by it instead of the screen's.
    pub clock: Option<Timestamp>,
}

/// One flow.
#[derive(Debug, Clone)]
pub struct MirrorFlow {
    /// Its ends.
    pub name: FlowName,
    /// Whether it runs.
    pub state: FlowState,
    /// The release, and how it is known.
    pub version: (KafkaVersion, VersionSource),
    /// What it copies, and how far it is.
    pub status: FlowStatus,
    /// Where each group would go on.
    pub positions: Vec<FailoverPosition>,
}

impl MirrorFlow {
    /// Returns what its state means.
    pub fn state_words(&self) -> &'static str {
        match self.state {
            FlowState::Active => "copies records",
            FlowState::HeartbeatOnly => "writes heartbeats, copies no records",
            FlowState::Off => "is off",
            FlowState::Invalid => "does not start: enabled is neither true nor false",
        }
    }

    /// Returns how far a partition is copied, in a sentence.
    pub fn partition_words(&self, topic: &str, partition: i32, now: Timestamp) -> String {
        let mut lags = self.status.partitions.iter();
        let is_it = |it: &&PartitionLag| it.topic == topic && it.partition == partition;
        let Some(lag) = lags.find(is_it) else {
            return String::new();
        };
        let remote = lag.remote_topic.as_deref().unwrap_or(UNKNOWN);
        let behind = match (lag.behind, lag.behind_at_most) {
            (Some(0), Some(most)) if most > 0 => {
                format!("all is copied by the ends; by the syncs at most {most} are not")
            }
            (Some(0), _) => "all is copied".to_owned(),
            (Some(behind), _) => {
                let records = text::plural(behind, "record", "records");
                let at = lag.newest_written.filter(|at| at.0 >= 0);
                let newest = at.map_or_else(String::new, |at| {
                    format!(", the newest written {}", text::age(at, now))
                });
                format!("{records} not copied{newest}")
            }
            (None, _) => "what is not copied cannot be told".to_owned(),
        };
        let race = lag.retention.first().map_or_else(String::new, |(at, by)| {
            let left = text::until(at, now);
            let word = by.word();
            format!(" · retention by {word} may take the first of them in {left}, not earlier")
        });
        let room = lag.retention.bytes.map_or_else(String::new, |bytes| {
            let left = text::bytes(u64::try_from(bytes).unwrap_or(0));
            format!(" · {left} more fit below retention.bytes")
        });
        format!("{topic}-{partition} is {remote}-{partition}: {behind}{race}{room}")
    }

    /// Returns what told a group's position, in a sentence.
    pub fn position_words(&self, group: &str, topic: &str, partition: i32) -> String {
        let mut positions = self.positions.iter();
        let found = positions
            .find(|it| it.group == group && it.topic == topic && it.partition == partition);
        let Some(it) = found else {
            return String::new();
        };
        let by = it.source.map_or_else(
            || "nothing tells where it goes on: start it by time".to_owned(),
            |source| format!("told by: {source}"),
        );
        let offset =
            |offset: Option<Offset>| offset.map_or_else(|| UNKNOWN.to_owned(), text::offset);
        format!(
            "{by} · {topic}-{partition} on the source · its commit on the target {}, checkpoint {}",
            offset(it.target_commit),
            offset(it.checkpoint)
        )
    }
}

impl MirrorWorld {
    /// Computes everything that is shown of `facts`.
    pub fn new(facts: &Facts, flows: &[Flow], given: Option<KafkaVersion>) -> Self {
        let found = lint(facts, flows);
        let sources = facts.clusters.iter().flat_map(|(alias, cluster)| {
            cluster.sources.iter().map(move |source| {
                format!("{alias}: {} on {}", source.places.join(", "), source.host)
            })
        });
        let read = facts.clusters.values().flat_map(|it| &it.sources);
        Self {
            flows: flows
                .iter()
                .map(|flow| MirrorFlow {
                    name: flow.name.clone(),
                    state: flow.state,
                    version: version_of(facts.clusters.get(&flow.name.target), given),
                    status: flow_status(facts, flow),
                    positions: failover_positions(facts, flow),
                })
                .collect(),
            silent: found.silent.len(),
            lints: together(found.lints),
            sources: sources.collect(),
            words: vec![],
            read_at: read.map(|source| source.read_at).min(),
            clock: None,
        }
    }

    /// Returns how many rules found an error, and how many something else that matters.
    pub fn lint_counts(&self) -> (usize, usize) {
        let count = |severity| {
            self.lints
                .iter()
                .filter(|it| it.severity() == severity)
                .count()
        };
        (count(LintSeverity::Error), count(LintSeverity::Warning))
    }

    /// Returns a flow by its name.
    pub fn flow(&self, name: &FlowName) -> Option<&MirrorFlow> {
        self.flows.iter().find(|flow| flow.name == *name)
    }
}

/// Puts findings together that say the same of a flow, so that fifty groups do not hide another finding.
fn together(lints: Vec<Lint>) -> Vec<Lint> {
    let mut all: Vec<(Lint, usize)> = vec![];
    for lint in lints {
        let same = |known: &Lint| {
            (known.code, &known.flow, &known.text) == (lint.code, &lint.flow, &lint.text)
        };
        match all.iter_mut().find(|(known, _)| same(known)) {
            Some((_, more)) => *more += 1,
            None => all.push((lint, 0)),
        }
    }
    all.into_iter()
        .map(|(mut lint, more)| {
            if let (Some(place), true) = (&mut lint.place, more > 0) {
                *place = format!("{place} and {more} more");
            }
            lint
        })
        .collect()
}

/// What was read, or why it could not be.
pub type MirrorRead = Result<Arc<MirrorWorld>, String>;
